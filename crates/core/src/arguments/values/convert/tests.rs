//! Texts, flags and choices in the form that a field takes.

use jiff::civil::date;
use serde_json::{Map, Value, json};

use crate::arguments::{Evidence, Filling, Form, Named, Now, Sources, fill, taken};

fn now() -> Now {
    Now { at: date(2026, 11, 19).at(10, 0, 0, 0), offset: 0 }
}

fn placed(field: &Value, values: &Value) -> Filling {
    let schema = json!({"type": "object", "properties": {"level": field}, "required": ["level"]});
    let form = Form::new(("set_it", "Sets it"), schema);
    let (given, values) = (Map::new(), values.as_object().cloned().unwrap());
    let named = Some(Named { values: &values, nearness: None });
    fill(&form, &Sources { task: "Set it", given: &given, named, reading: None, earlier: &[], now: now() })
}

fn sent(field: &Value, value: &str) -> Value {
    placed(field, &json!({"level": value})).object().remove("level").unwrap_or_default()
}

#[test]
fn v1_a_text_without_the_form_that_is_wanted_has_no_place() {
    let at = json!({"type": "string", "description": "When, as RFC 3339"});
    assert_eq!(sent(&at, "2026-11-20T09:00:00Z"), "2026-11-20T09:00:00Z");
    assert_eq!(sent(&at, "Potsdam Hbf"), Value::Null);
    let mail = json!({"type": "string", "format": "email"});
    assert_eq!(
        (sent(&mail, "anna@example.com"), sent(&mail, "Anna")),
        (json!("anna@example.com"), Value::Null)
    );
    let length = json!({"type": "string", "description": "Validity as an ISO 8601 duration"});
    assert_eq!(sent(&length, "45 minutes"), "PT45M");
    assert_eq!(sent(&length, "PT45M"), "PT45M");
    assert_eq!(sent(&length, "2 days"), "PT48H");
    assert_eq!(sent(&length, "soon"), Value::Null);
}

#[test]
fn v1_what_is_a_code_already_keeps_its_letters() {
    let currency =
        json!({"type": "string", "description": "Three-letter ISO code in lower case, such as usd"});
    assert_eq!(sent(&currency, "usd"), "usd");
}

#[test]
fn v1_yes_and_no_are_flags_in_every_language() {
    let flag = json!({"type": "boolean"});
    for (word, is_yes) in
        [("yes", true), ("no", false), ("Ja", true), ("on", true), ("off", false), ("true", true)]
    {
        assert_eq!(sent(&flag, word), is_yes, "{word}");
    }
    assert_eq!(sent(&flag, "maybe"), Value::Null);
}

#[test]
fn v1_a_no_is_not_lost_where_something_is_done_unless_one_says_no() {
    let values = json!({"customer can see it": false});
    let public = json!({"type": "boolean", "default": true});
    let hidden = json!({"type": "boolean", "default": false});
    let with = |field: &Value| {
        let schema = json!({"type": "object", "properties": {"public": field}});
        let form = Form::new(("add_comment", "Adds a comment"), schema);
        let (given, values) = (Map::new(), values.as_object().cloned().unwrap());
        let named = Some(Named { values: &values, nearness: None });
        let sources =
            Sources { task: "Add a comment", given: &given, named, reading: None, earlier: &[], now: now() };
        fill(&form, &sources).unused
    };
    assert_eq!(with(&public), ["customer can see it"]);
    assert_eq!(with(&hidden), Vec::<String>::new());
}

#[test]
fn v1_several_choices_in_one_text_are_several() {
    let fields = json!({"type": "array", "items": {"enum": ["hours", "phone", "website"]}});
    assert_eq!(sent(&fields, "opening hours and phone number"), json!(["hours", "phone"]));
    assert_eq!(sent(&json!({"enum": ["hours", "phone"]}), "hours and phone"), Value::Null);
    let tags =
        placed(&json!({"type": "array", "items": {"type": "string"}}), &json!({"level": "salt and pepper"}));
    assert_eq!(tags.arguments[0].evidence, Evidence::Prose, "one, or two? {tags:?}");
}

#[test]
fn v1_what_is_given_to_a_parameter_is_brought_into_its_form_or_not_taken() {
    let schema = json!({"type": "object", "properties": {
        "unit_amount": {"type": "integer", "description": "In cents"},
        "start": {"type": "string", "format": "date-time"},
        "id": {"type": "string"},
    }});
    let form = Form::new(("create", "Creates it"), schema);
    let of = |name: &str, value: Value| taken(&form, name, &value, now());
    assert_eq!(of("unit_amount", json!("29.00 USD")), Some(json!(2900)));
    assert_eq!(of("unit_amount", json!("a lot")), None);
    assert_eq!(of("start", json!("tomorrow 3pm")), Some(json!("2026-11-20T15:00:00Z")));
    assert_eq!(of("start", json!("soon")), None);
    assert_eq!(of("id", json!(7)), Some(json!("7")));
}
