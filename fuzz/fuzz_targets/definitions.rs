//! Lists of tools, as servers send them: cleaning, pins, differences, screening.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use toolyard_core::catalog::consolidate::{consolidate, lost};
use toolyard_core::catalog::{Advertised, Catalog};
use toolyard_core::hazard::{ambiguous, rounded};
use toolyard_core::screen::{Means, ToolNames, excerpts_of_text, excerpts_of_tool, screen};
use toolyard_core::tool::{Tool, ToolId, clean, unveiled};
use toolyard_fuzz::LISTING;
use toolyard_hub::pins::{Pin, difference};

#[derive(Deserialize)]
struct Listing {
    tools: Vec<Box<RawValue>>,
}

fuzz_target!(|data: &[u8]| {
    let Ok(Listing { tools }) = serde_json::from_slice(data) else { return };
    for (definition, next) in tools.iter().zip(tools.iter().skip(1)) {
        let is_same = Pin::of(definition) == Pin::of(next);
        let changes = difference(Some(definition.get()), next.get(), |_| false);
        assert_eq!(changes.is_empty(), is_same, "a person sees every change, and no other: {changes:?}");
    }
    let listed = Advertised { server: "desk".into(), tools };
    let (catalog, _) = Catalog::gather([(listed, LISTING)]);
    let foreign = ToolNames::of(&catalog).beside(&"other".into());
    for tool in catalog.tools() {
        check(tool);
        let excerpts = excerpts_of_tool(tool, &foreign);
        assert!(excerpts.len() <= 400);
        let screened = screen(&excerpts, None, Means::Both);
        assert!(screened.signs.iter().all(|sign| clean(&sign.words) == sign.words), "{screened:?}");
        let _ = screen(&excerpts_of_text(&tool.description, &foreign), None, Means::Rules);
    }
    let consolidation = consolidate("desk", catalog.tools(), &[]);
    let lost: Vec<&str> =
        lost(&consolidation, catalog.tools()).into_iter().map(|tool| tool.name.as_str()).collect();
    assert!(lost.is_empty(), "they cannot be called: {lost:?}");
});

fn check(tool: &Tool) {
    let id = tool.id.as_str();
    assert!(
        id.len() <= ToolId::MAX_CHARS && id.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)),
        "{id}"
    );
    assert!(tool.description.chars().count() <= LISTING.description_chars + 1);
    assert!(matches!(unveiled(&tool.definition), Ok(None)), "what was cleaned is clean");
    serde_json::from_str::<Value>(&tool.listed()).expect("what is listed is JSON");
    let own = tool.own.as_deref().unwrap_or(&tool.definition);
    let Ok(value) = serde_json::from_str::<Value>(tool.definition.get()) else { return };
    assert_visible(&value);
    if ambiguous(own.get()).is_none() && rounded(own.get()).is_none() {
        let turned =
            serde_json::from_str::<Value>(own.get()).map(|it| reversed(&it)).expect("it was read before");
        let turned = serde_json::to_string_pretty(&turned).expect("a value is JSON");
        let turned = RawValue::from_string(turned).expect("it is JSON");
        assert_eq!(Pin::of(&turned), Pin::of(own), "order and layout change nothing: {own}");
    }
    let named: serde_json::Map<String, Value> =
        tool.parameters.iter().map(|parameter| (parameter.name.clone(), "x".into())).collect();
    // A schema may have the same name twice.
    let count = named.len();
    let named = RawValue::from_string(Value::Object(named).to_string()).expect("it is JSON");
    if let Ok(own) = tool.own_arguments(&named) {
        assert_eq!(
            serde_json::from_str::<Value>(own.get()).map(|it| it.as_object().map(serde_json::Map::len)).ok(),
            Some(Some(count)),
            "no argument is lost: {own}"
        );
    }
}

/// Every string can be seen as it is.
fn assert_visible(value: &Value) {
    // Carriage returns are carried on; what is shown to people loses them too.
    let visible = |text: &str| text.split('\r').for_each(|line| assert_eq!(clean(line), line));
    match value {
        Value::String(text) => visible(text),
        Value::Array(items) => items.iter().for_each(assert_visible),
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            visible(key);
            assert_visible(value);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The same with the members of objects in another order.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(reversed).collect(),
        Value::Object(members) => {
            members.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect()
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
