//! Texts before and after.

use proptest::prelude::*;
use serde_json::{Map, json};
use toolyard_core::alias::{Alias, Phase};

use super::*;

fn names() -> Names {
    let name = |spelled: &str, new: &str, fixed: Value, renamed: &[(&str, &str)]| {
        let fixed: Map<String, Value> = fixed.as_object().unwrap().clone();
        let renamed = renamed.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned())).collect();
        let (old, to) = (spelled.to_owned(), format!("studio__{new}"));
        let alias = Alias { old, to, fixed, renamed, usage: None, phase: Phase::Warn };
        Name { spelled: spelled.to_owned(), new: new.to_owned(), usage: String::new(), alias }
    };
    let create = json!({"action": "create"});
    let delete = json!({"action": "delete", "confirm": true});
    let slug = [("product_slug", "slug")];
    Names {
        list: vec![
            name("create_product", "manage_product", create.clone(), &slug),
            name("delete_product", "manage_product", delete, &slug),
            name("list_styles", "get_style", json!({}), &[]),
        ],
    }
}

fn rewritten(text: &str) -> (String, Vec<Option<String>>) {
    let names = names();
    let rewritten = rewrite(text.as_bytes(), &names, &Searcher::new(&names).unwrap());
    let remarks = rewritten.places.into_iter().map(|place| place.remark).collect();
    (String::from_utf8(rewritten.text).unwrap(), remarks)
}

/// Rewrites a text in which nothing is left to do.
fn surely(text: &str) -> String {
    let (text, remarks) = rewritten(text);
    assert!(remarks.iter().all(Option::is_none), "{text}: {remarks:?}");
    text
}

#[test]
fn c8_a_call_in_words_gets_its_new_arguments() {
    for (before, after) in [
        ("create_product()", r#"manage_product(action="create")"#),
        (r#"create_product(name="x")"#, r#"manage_product(action="create", name="x")"#),
        ("create_product(...)", r#"manage_product(action="create", ...)"#),
        (
            "delete_product(product_slug='a b', force = [1, 2])",
            r#"manage_product(action="delete", confirm=True, slug='a b', force = [1, 2])"#,
        ),
        (r#"create_product(action="create", name=n)"#, r#"manage_product(action="create", name=n)"#),
        ("list_styles()", "get_style()"),
        ("the tool list_styles, and list_styles(1)", "the tool get_style, and get_style(1)"),
    ] {
        assert_eq!(surely(before), after);
    }
    let lines = "x = create_product(\r\n    name=\"x\",\r\n    product_slug=s,\r\n)\r\n";
    let after = "x = manage_product(action=\"create\",\r\n    name=\"x\",\r\n    slug=s,\r\n)\r\n";
    assert_eq!(surely(lines), after);
}

#[test]
fn c8_a_call_in_json_gets_its_new_arguments() {
    for (before, after) in [
        (
            r#"{"name": "create_product", "arguments": {"product_slug": "x", "n": [1, {"a": 2}]}}"#,
            r#"{"name": "manage_product", "arguments": {"action": "create", "slug": "x", "n": [1, {"a": 2}]}}"#,
        ),
        (
            r#"{"name":"delete_product","arguments":{}}"#,
            r#"{"name":"manage_product","arguments":{"action": "delete", "confirm": true}}"#,
        ),
        (r#"{"name": "list_styles"}"#, r#"{"name": "get_style"}"#),
    ] {
        assert_eq!(surely(before), after);
        serde_json::from_str::<Value>(after).unwrap();
    }
}

#[test]
fn c8_where_a_call_cannot_be_read_with_certainty_only_the_name_changes() {
    for (before, after) in [
        ("Use `create_product` first.", "Use `manage_product` first."),
        ("create_product(\"x\")", "manage_product(\"x\")"),
        ("create_product(name=f(x))", "manage_product(name=f(x))"),
        ("create_product(name=\"a\" \"b\")", "manage_product(name=\"a\" \"b\")"),
        ("def create_product():", "def manage_product():"),
        ("fn create_product() -> u8", "fn manage_product() -> u8"),
        ("create_product() {", "manage_product() {"),
        ("client.create_product()", "client.manage_product()"),
        ("create_product(name=\"x\"", "manage_product(name=\"x\""),
        ("create_product(action=\"delete\")", "manage_product(action=\"delete\")"),
        ("create_product(slug=1, product_slug=2)", "manage_product(slug=1, product_slug=2)"),
        (r#"{"name": "create_product"}"#, r#"{"name": "manage_product"}"#),
        (
            r#"{"name": "create_product", "arguments": {"a": 1, "a": 2}}"#,
            r#"{"name": "manage_product", "arguments": {"a": 1, "a": 2}}"#,
        ),
        (
            r#""{\"name\": \"create_product\", \"arguments\": {}}""#,
            r#""{\"name\": \"manage_product\", \"arguments\": {}}""#,
        ),
    ] {
        let (text, remarks) = rewritten(before);
        assert_eq!(text, after);
        assert_eq!(
            remarks,
            [Some(r#"give action="create", write slug for product_slug"#.to_owned())],
            "{before}"
        );
    }
    let (text, remarks) = rewritten("create_product(name=[list_styles])");
    assert_eq!((text.as_str(), remarks.len()), ("manage_product(name=[get_style])", 2));
}

proptest! {
    #[test]
    fn c8_fixing_twice_changes_nothing_the_second_time_and_nothing_else_ever(
        pieces in prop::collection::vec(
            prop_oneof![
                "create_product", "delete_product", "list_styles", "[(]", "[)]", "name=", "product_slug=", "\"x\"",
                ", ", "\\.\\.\\.", "\\{\"name\": \"", "\", \"arguments\": \\{", "\\}", " ", "\n", "é", "[a-z]", "action=",
            ],
            0..40,
        ),
    ) {
        let names = names();
        let searcher = Searcher::new(&names).unwrap();
        let text = pieces.concat();
        let once = rewrite(text.as_bytes(), &names, &searcher);
        let twice = rewrite(&once.text, &names, &searcher);
        prop_assert!(twice.places.is_empty());
        prop_assert_eq!(&twice.text, &once.text);
        if once.places.is_empty() {
            prop_assert_eq!(once.text, text.into_bytes());
        }
    }
}
