//! The action tables: what each action needs, takes and refuses, and that only `confirm` deletes.

use serde_json::{Value, json};

use crate::studio::Shop;

const SAMPLES: &[(&str, &str)] = &[
    ("slug", r#""soda""#),
    ("name", r#""Cola""#),
    ("description", r#""Brown""#),
    ("attributes", r#"{"size": 1}"#),
    ("image_path", r#""uploads/bottle.png""#),
    ("image_paths", r#"["uploads/bottle.png"]"#),
    ("default_strict", "true"),
    ("reanalyze", "false"),
    ("summary", r#""Honest""#),
    ("sections", r#"{"positioning": "Honest"}"#),
    ("text", r#""No red""#),
    ("topic", r#""colours""#),
    ("id", "1"),
];

struct Row {
    tool: &'static str,
    action: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
    confirm: bool,
}

const fn row(
    tool: &'static str,
    action: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
    confirm: bool,
) -> Row {
    Row { tool, action, required, optional, confirm }
}

const PRODUCT: &str = "manage_product";
const STYLE: &str = "manage_style_reference";

/// The tables as they were specified, and those of the tools that were added.
const ROWS: &[Row] = &[
    row(PRODUCT, "create", &["name"], &["description", "attributes"], false),
    row(PRODUCT, "update", &["slug"], &["name", "description", "attributes"], false),
    row(PRODUCT, "delete", &["slug"], &[], true),
    row(PRODUCT, "add_image", &["slug", "image_path"], &[], false),
    row(PRODUCT, "set_primary", &["slug", "image_path"], &[], false),
    row(STYLE, "create", &["name"], &["description", "image_path", "default_strict"], false),
    row(STYLE, "create_batch", &["image_paths"], &["default_strict"], false),
    row(STYLE, "update", &["slug"], &["name", "description", "default_strict"], false),
    row(STYLE, "delete", &["slug"], &[], true),
    row(STYLE, "add_image", &["slug", "image_path"], &["reanalyze"], false),
    row(STYLE, "reanalyze", &["slug"], &[], false),
    row("manage_brand", "create", &["name"], &["summary", "sections"], false),
    row("manage_brand", "update", &["slug"], &["name", "summary", "sections"], false),
    row("manage_brand", "delete", &["slug"], &[], true),
    row("update_memory", "propose", &["text"], &["topic"], false),
    row("update_memory", "confirm", &["id"], &[], false),
    row("update_memory", "discard", &["id"], &[], false),
    row("update_memory", "forget", &["id"], &[], true),
];

/// A workspace with one of everything, all named `soda`.
fn stocked() -> Shop {
    let shop = Shop::new();
    shop.ok(PRODUCT, json!({ "action": "create", "name": "Soda" }));
    shop.ok(PRODUCT, json!({ "action": "add_image", "slug": "soda", "image_path": "uploads/bottle.png" }));
    shop.ok(STYLE, json!({ "action": "create", "name": "Soda", "image_path": "uploads/snow.webp" }));
    shop.ok("manage_brand", json!({ "action": "create", "name": "Soda" }));
    shop.ok("update_memory", json!({ "action": "propose", "text": "Blue", "topic": "colours" }));
    shop
}

fn sample(name: &str) -> Value {
    let (_, value) = SAMPLES.iter().find(|(it, _)| *it == name).unwrap();
    serde_json::from_str(value).unwrap()
}

fn arguments(row: &Row, names: &[&str]) -> Value {
    let mut arguments = json!({ "action": row.action });
    for name in names {
        arguments[*name] = sample(name);
    }
    if row.confirm {
        arguments["confirm"] = json!(true);
    }
    arguments
}

/// What a person would see of everything there is.
fn everything(shop: &Shop) -> Value {
    json!([
        shop.ok("list_products", json!({})),
        shop.ok("get_style_reference", json!({})),
        shop.ok("load_brand", json!({})),
        shop.ok("recall_memory", json!({})),
        shop.ok("recall_memory", json!({ "status": "pending" })),
    ])
}

#[test]
fn c1_every_action_names_each_argument_that_is_missing_and_the_usage() {
    let shop = stocked();
    let before = everything(&shop);
    for row in ROWS {
        for missing in row.required {
            let given: Vec<&str> = row.required.iter().copied().filter(|it| it != missing).collect();
            let text = shop.refused(row.tool, arguments(row, &given));
            let wanted = format!("action `{}` needs `{missing}`", row.action);
            assert!(text.contains(&wanted), "{text}");
            let usage = format!("Usage: {}(action=\"{}\"", row.tool, row.action);
            assert!(text.contains(&usage), "{text}");
            for name in row.required.iter().chain(row.optional) {
                assert!(text.contains(&format!("{name}=")), "the usage lacks {name}: {text}");
            }
        }
    }
    assert_eq!(everything(&shop), before);
}

#[test]
fn c1_every_action_works_with_what_it_needs_and_with_everything_it_takes() {
    for row in ROWS {
        // An update without a change is refused, and has a test of its own.
        if row.action != "update" {
            stocked().ok(row.tool, arguments(row, row.required));
        }
        let all: Vec<&str> = row.required.iter().chain(row.optional).copied().collect();
        stocked().ok(row.tool, arguments(row, &all));
        for one in row.optional {
            let some: Vec<&str> = row.required.iter().copied().chain([*one]).collect();
            stocked().ok(row.tool, arguments(row, &some));
        }
    }
}

#[test]
fn c1_every_action_refuses_arguments_of_other_actions() {
    let shop = stocked();
    let before = everything(&shop);
    for row in ROWS {
        let same_tool = ROWS.iter().filter(|other| other.tool == row.tool);
        let mut foreign: Vec<&str> =
            same_tool.flat_map(|it| it.required.iter().chain(it.optional)).copied().collect();
        foreign.sort_unstable();
        foreign.dedup();
        foreign.retain(|name| !row.required.contains(name) && !row.optional.contains(name));
        for name in foreign {
            let mut given = arguments(row, row.required);
            given[name] = sample(name);
            let text = shop.refused(row.tool, given);
            assert!(text.contains(&format!("action `{}` does not take `{name}`", row.action)), "{text}");
        }
        if !row.confirm {
            let mut given = arguments(row, row.required);
            given["confirm"] = json!(true);
            let text = shop.refused(row.tool, given);
            assert!(text.contains("does not take `confirm`"), "{text}");
        }
    }
    assert_eq!(everything(&shop), before);
}

#[test]
fn c1_an_argument_that_says_its_default_counts_as_not_given() {
    let shop = stocked();
    shop.ok(PRODUCT, json!({ "action": "create", "name": "Cola", "slug": null, "confirm": false }));
    shop.ok(STYLE, json!({ "action": "create", "name": "Cola", "reanalyze": true, "confirm": false }));
}

#[test]
fn c1_an_update_needs_a_change() {
    let shop = stocked();
    for row in ROWS.iter().filter(|row| row.action == "update") {
        let text = shop.refused(row.tool, arguments(row, row.required));
        assert!(text.contains("nothing to change"), "{text}");
        assert!(row.optional.iter().all(|name| text.contains(&format!("`{name}`"))), "{text}");
    }
}

#[test]
fn c1_an_unknown_action_is_refused_with_the_choices() {
    let shop = stocked();
    let text = shop.refused(PRODUCT, json!({ "action": "destroy", "slug": "soda" }));
    assert!(text.contains("`create`, `update`, `delete`, `add_image`, `set_primary`"), "{text}");
    assert!(shop.refused(PRODUCT, json!({ "slug": "soda" })).contains("`action` is missing"));
}

#[test]
fn c3_nothing_is_deleted_without_confirm() {
    let shop = stocked();
    let before = everything(&shop);
    let deleting: Vec<&Row> = ROWS.iter().filter(|row| row.confirm).collect();
    assert_eq!(deleting.len(), 4);
    for row in deleting {
        for confirm in [Value::Null, json!(false)] {
            let mut given = arguments(row, row.required);
            given["confirm"] = confirm;
            let text = shop.refused(row.tool, given);
            assert!(text.contains("`confirm` to be true") && text.contains("confirm=true"), "{text}");
        }
        for confirm in [json!("true"), json!(1), json!("yes")] {
            let mut given = arguments(row, row.required);
            given["confirm"] = confirm;
            shop.refused(row.tool, given);
        }
    }
    assert_eq!(everything(&shop), before);
}

#[test]
fn c3_with_confirm_exactly_the_one_is_deleted_and_its_files_stay() {
    let shop = stocked();
    shop.ok(PRODUCT, json!({ "action": "create", "name": "Cola" }));
    let files = shop.snapshot();
    let gone = shop.ok(PRODUCT, json!({ "action": "delete", "slug": "soda", "confirm": true }));
    assert_eq!(gone["product"]["name"], "Soda");
    assert_eq!(shop.ok("list_products", json!({}))["products"][0]["slug"], "cola");
    let text = shop.refused("get_context", json!({ "entity_type": "product", "slug": "soda" }));
    assert!(text.contains("there is no product `soda`"), "{text}");
    shop.ok("get_context", json!({ "entity_type": "style_reference", "slug": "soda" }));
    assert_eq!(shop.snapshot(), files);
}

#[test]
fn c6_slugs_are_made_from_names_and_stay_when_the_name_changes() {
    let shop = Shop::new();
    let slug = |name: &str| {
        let made = shop.ok(PRODUCT, json!({ "action": "create", "name": name }));
        made["product"]["slug"].as_str().unwrap().to_owned()
    };
    assert_eq!(slug("Crème Brûlée No. 2"), "creme-brulee-no-2");
    assert_eq!(slug("creme brulee: no-2"), "creme-brulee-no-2-2");
    assert_eq!(slug("東京 Tea"), "東京-tea");
    assert_eq!(slug("!!!"), "item");
    let text = shop.refused(PRODUCT, json!({ "action": "create", "name": " CRÈME brûlée no. 2" }));
    assert!(text.contains("there is a product `Crème Brûlée No. 2` already"), "{text}");
    let changed = shop.ok(PRODUCT, json!({ "action": "update", "slug": "item", "name": "Bang" }));
    assert_eq!((&changed["product"]["slug"], &changed["product"]["name"]), (&json!("item"), &json!("Bang")));
    let text = shop.refused(PRODUCT, json!({ "action": "update", "slug": "creme-brule-no-2", "name": "x" }));
    assert!(text.contains("did you mean `creme-brulee-no-2`"), "{text}");
}

#[test]
fn c1_attributes_are_set_one_by_one_and_null_removes() {
    let shop = stocked();
    let set = |attributes: Value| {
        shop.ok(PRODUCT, json!({ "action": "update", "slug": "soda", "attributes": attributes }))["product"]
            ["attributes"]
            .clone()
    };
    assert_eq!(set(json!({ "size": "330 ml", "vegan": true })), json!({ "size": "330 ml", "vegan": true }));
    assert_eq!(set(json!({ "vegan": null, "price": 1.5 })), json!({ "size": "330 ml", "price": 1.5 }));
    for wrong in [json!({ "a": [1] }), json!({ "": 1 }), json!({ "a": {} }), json!({ "a": "x".repeat(1001) })]
    {
        shop.refused(PRODUCT, json!({ "action": "update", "slug": "soda", "attributes": wrong }));
    }
    assert_eq!(set(json!({ "size": "1 l" })), json!({ "size": "1 l", "price": 1.5 }));
}

#[test]
fn c1_the_first_image_is_primary_until_another_is_set() {
    let shop = stocked();
    shop.ok(PRODUCT, json!({ "action": "add_image", "slug": "soda", "image_path": "uploads/snow.webp" }));
    let primary = || shop.ok("list_products", json!({}))["products"][0]["primary_image"].clone();
    assert_eq!(primary(), "uploads/bottle.png");
    shop.ok(PRODUCT, json!({ "action": "set_primary", "slug": "soda", "image_path": "uploads/snow.webp" }));
    assert_eq!(primary(), "uploads/snow.webp");
    let other = json!({ "action": "set_primary", "slug": "soda", "image_path": "uploads/hero-banner.jpg" });
    let text = shop.refused(PRODUCT, other);
    assert!(text.contains("manage_product(action=\"add_image\", slug=\"soda\""), "{text}");
    assert_eq!(primary(), "uploads/snow.webp");
}

#[test]
fn c9_packaging_texts_have_four_fields() {
    let shop = stocked();
    for field in ["headline", "subheadline", "body", "tagline"] {
        let set = json!({ "slug": "soda", "field": field, "value": format!("A {field}") });
        let done = shop.ok("update_packaging_text", set);
        assert_eq!(done["packaging_text"][field], format!("A {field}"));
        assert_eq!(done["previous"], "");
    }
    let done = shop.ok("update_packaging_text", json!({ "slug": "soda", "field": "body", "value": "" }));
    assert_eq!((&done["previous"], &done["packaging_text"]["body"]), (&json!("A body"), &json!("")));
    let text =
        shop.refused("update_packaging_text", json!({ "slug": "soda", "field": "footer", "value": "x" }));
    assert!(text.contains("`headline`, `subheadline`, `body`, `tagline`"), "{text}");
    for missing in ["slug", "field", "value"] {
        let mut given = json!({ "slug": "soda", "field": "body", "value": "x" });
        given.as_object_mut().unwrap().remove(missing);
        assert!(shop.refused("update_packaging_text", given).contains(&format!("`{missing}` is missing")));
    }
}

#[test]
fn c2_pages_have_exact_borders() {
    let shop = Shop::new();
    for number in 0..5 {
        shop.ok(PRODUCT, json!({ "action": "create", "name": format!("P{number}") }));
        shop.ok(STYLE, json!({ "action": "create", "name": format!("S{number}") }));
    }
    for (tool, list, mode) in [
        ("list_products", "products", None),
        ("get_style_reference", "style_references", None),
        ("analyze_packaging", "analyses", Some("all")),
    ] {
        for (offset, limit, count, has_more) in [
            (0, 5, 5, false),
            (0, 4, 4, true),
            (4, 1, 1, false),
            (3, 1, 1, true),
            (5, 5, 0, false),
            (1000, 20, 0, false),
        ] {
            let mut given = json!({ "offset": offset, "limit": limit });
            if let Some(mode) = mode {
                given["mode"] = json!(mode);
            }
            let page = shop.ok(tool, given);
            let seen = (page[list].as_array().unwrap().len(), &page["has_more"], &page["total_count"]);
            assert_eq!(seen, (count, &json!(has_more), &json!(5)), "{tool} {offset} {limit}");
        }
        for wrong in [json!({ "offset": -1 }), json!({ "limit": 0 }), json!({ "limit": 101 })] {
            assert!(shop.refused(tool, wrong).contains("was not run"));
        }
    }
    assert!(
        shop.refused("analyze_packaging", json!({ "mode": "all", "limit": 21 })).contains("from 1 to 20")
    );
    shop.ok("analyze_packaging", json!({ "mode": "all", "limit": 20 }));
}

#[test]
fn c2_one_style_reference_or_all() {
    let shop = stocked();
    let one = shop.ok("get_style_reference", json!({ "slug": "soda" }));
    assert_eq!((&one["total_count"], &one["has_more"]), (&json!(1), &json!(false)));
    assert_eq!(one["style_references"][0]["images"][0]["path"], "uploads/snow.webp");
    assert!(
        shop.refused("get_style_reference", json!({ "slug": "no" }))
            .contains("there is no style reference `no`")
    );
}

#[test]
fn c9_analysis_modes_need_and_take_their_own_arguments() {
    let shop = stocked();
    let text = shop.refused("analyze_packaging", json!({}));
    assert!(text.contains("mode `single` needs `slug`"), "{text}");
    let text = shop.refused("analyze_packaging", json!({ "mode": "all", "slug": "soda" }));
    assert!(text.contains("mode `all` does not take `slug`"), "{text}");
    let text = shop.refused("analyze_packaging", json!({ "slug": "soda", "limit": 5 }));
    assert!(text.contains("mode `single` does not take `limit`"), "{text}");
    shop.ok("analyze_packaging", json!({ "slug": "soda", "offset": 0, "limit": 20 }));
}

#[test]
fn c9_a_brand_can_be_made_loaded_and_read() {
    let shop = Shop::new();
    let empty = shop.ok("load_brand", json!({}));
    assert_eq!((&empty["loaded"], &empty["brands"]), (&json!(false), &json!([])));
    assert!(empty["next_step"].as_str().unwrap().contains("manage_brand(action=\"create\""));
    assert!(shop.refused("fetch_brand_detail", json!({ "section": "positioning" })).contains("manage_brand"));
    let sections = json!({ "positioning": "Honest", "voice_guidelines": "Short" });
    shop.ok(
        "manage_brand",
        json!({ "action": "create", "name": "Sunny", "summary": "Lemonade", "sections": sections }),
    );
    let loaded = shop.ok("load_brand", json!({}));
    assert_eq!(loaded["loaded"], true);
    assert_eq!(loaded["brands"][0]["sections_missing"], json!(["visual_identity", "audience_profile"]));
    let detail = shop.ok("fetch_brand_detail", json!({ "section": "positioning" }));
    assert_eq!(detail["sections"], json!([{ "section": "positioning", "text": "Honest" }]));
    let detail = shop.ok("fetch_brand_detail", json!({ "section": "full_identity", "slug": "sunny" }));
    assert_eq!(detail["sections"].as_array().unwrap().len(), 4);
    let text = shop
        .refused("manage_brand", json!({ "action": "update", "slug": "sunny", "sections": { "logo": "x" } }));
    assert!(text.contains("there is no section `logo`"), "{text}");
    shop.ok("manage_brand", json!({ "action": "create", "name": "Second" }));
    assert_eq!(shop.ok("load_brand", json!({}))["loaded"], false);
    assert_eq!(shop.ok("load_brand", json!({ "slug": "second" }))["loaded"], true);
    assert!(
        shop.refused("fetch_brand_detail", json!({ "section": "positioning" })).contains("several brands")
    );
}
