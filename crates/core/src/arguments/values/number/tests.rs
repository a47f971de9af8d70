//! Numbers that a caller writes as text, and what they count.

use jiff::civil::date;
use serde_json::{Map, Value, json};

use crate::arguments::{Evidence, Filling, Form, Named, Now, Sources, fill};

fn placed(field: &Value, value: &Value) -> Filling {
    let schema = json!({"type": "object", "properties": {"level": field}, "required": ["level"]});
    named(schema, &json!({"level": value}))
}

fn named(schema: Value, values: &Value) -> Filling {
    let form = Form::new(("set_it", "Sets it"), schema);
    let (given, values) = (Map::new(), values.as_object().cloned().unwrap());
    let now = Now { at: date(2026, 11, 19).at(10, 0, 0, 0), offset: 0 };
    let named = Some(Named { values: &values, nearness: None });
    fill(&form, &Sources { task: "Set it", given: &given, named, reading: None, earlier: &[], now })
}

/// What is sent, or nothing.
fn sent(field: &Value, value: &Value) -> Value {
    let filling = placed(field, value);
    assert_eq!(filling.unused.is_empty(), !filling.arguments.is_empty(), "{filling:?}");
    filling.object().remove("level").unwrap_or_default()
}

/// A field for numbers with this description.
fn number(description: &str) -> Value {
    json!({"type": "number", "description": description})
}

#[test]
fn v1_a_text_is_a_number_only_as_a_whole() {
    let hours = number("How many hours");
    for (text, hour) in [("7h 30m", 7.5), ("90 minutes", 1.5), ("2 hours", 2.0), ("3", 3.0), ("7.5", 7.5)] {
        assert_eq!(sent(&hours, &json!(text)).as_f64(), Some(hour), "{text}");
    }
    for text in
        ["8 to 16:30", "20 to 30", "until 11pm", "2 or 3", "up 10", "not above 30", "2 kg", "2 hours 5"]
    {
        assert_eq!(sent(&hours, &json!(text)), Value::Null, "{text}");
    }
    let it = json!({"type": "integer", "description": "The ticket"});
    assert_eq!(sent(&it, &json!("#5120")), 5120);
    for text in ["5120, 5121", "5120 and 5121", "team 12 of Anna", "one third"] {
        assert_eq!(sent(&it, &json!(text)), Value::Null, "{text}");
    }
    let count = named(
        json!({"type": "object", "properties": {"lines": {"type": "integer"}}}),
        &json!({"lines": "20 lines"}),
    );
    assert_eq!(count.object().get("lines"), Some(&json!(20)));
}

#[test]
fn v1_a_number_is_counted_in_the_unit_that_is_wanted() {
    let field = |name: &str, description: &str, values: Value| {
        let schema = json!({"type": "object", "properties": {name: number(description)}, "required": [name]});
        named(schema, &values).object().remove(name).unwrap_or_default()
    };
    assert_eq!(field("weight_grams", "", json!({"weight_kg": 2})), 2000);
    assert_eq!(field("weight_grams", "", json!({"weight": "2.3 kg"})), 2300);
    assert_eq!(field("ttl_ms", "", json!({"ttl": "5 s"})), 5000);
    assert_eq!(field("radius_m", "", json!({"radius": "2 miles"})).as_f64(), Some(3218.688));
    assert_eq!(field("radius", "Radius in meters", json!({"radius": "500 m"})), 500);
    assert_eq!(field("weight_grams", "", json!({"weight": "2 litres"})), Value::Null);
    assert_eq!(field("size", "", json!({"size": "2 kg"})), Value::Null);
}

#[test]
fn v1_a_percentage_is_a_share_only_where_shares_are_counted() {
    let share = json!({"type": "number", "minimum": 0, "maximum": 1});
    let percent = json!({"type": "number", "description": "How far, in percent"});
    for text in ["15%", "15 %", "15 percent"] {
        assert_eq!(sent(&share, &json!(text)).as_f64(), Some(0.15), "{text}");
        assert_eq!(sent(&percent, &json!(text)).as_f64(), Some(15.0), "{text}");
        assert_eq!(sent(&number("How far"), &json!(text)), Value::Null, "{text}");
    }
}

#[test]
fn v1_money_is_written_in_the_unit_of_the_field() {
    let cents = number("The amount in cents");
    for text in ["$29", "29 USD", "29.00 EUR", "29 euros"] {
        assert_eq!(sent(&cents, &json!(text)), 2900, "{text}");
        assert_eq!(sent(&number("The amount"), &json!(text)), 29, "{text}");
    }
    assert_eq!(sent(&number("The amount"), &json!("1.190,00 EUR")), 1190);
    assert_eq!(sent(&number("The amount"), &json!("50 of 120")), Value::Null);
    let evidence = |filling: Filling| filling.arguments[0].evidence;
    assert_eq!(evidence(placed(&cents, &json!(29))), Evidence::Prose, "nobody says that these are cents");
    assert_eq!(evidence(placed(&number("The amount"), &json!(29))), Evidence::Marked);
    assert_eq!(evidence(placed(&number("In milliseconds"), &json!(29))), Evidence::Prose);
    let currency = json!({"type": "object", "properties": {
        "price": {"type": "number"}, "currency": {"type": "string", "default": "usd"},
    }});
    let filling = named(currency, &json!({"price": "29 EUR"}));
    let price = filling.arguments.iter().find(|it| it.name == "price");
    assert_eq!(
        price.map(|it| it.evidence),
        Some(Evidence::Prose),
        "what becomes of the currency? {filling:?}"
    );
}
