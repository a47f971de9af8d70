//! Questions as forms, for clients that can show one to a person.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use toolyard_core::arguments::{Argument, Missing};
use toolyard_core::tool::Tool;

use super::reply::{purpose, shortened};
use crate::caller::{Caller, Wording};
use crate::jsonrpc::{Fields, raw};

/// Time for a person to answer.
const PATIENCE: Duration = Duration::from_secs(600);
/// Characters of an answer in a person's own words.
const MOST_CHARS: usize = 1000;
/// Bytes of what a schema says about a value.
const MOST_DESCRIPTION: usize = 300;

/// What became of a question.
#[derive(Clone, Debug)]
pub(super) enum Answered {
    /// The client cannot ask, or nobody answered.
    Not,
    /// The person does not want to.
    Declined,
    /// The person filled the form in.
    With(Fields),
}

/// Puts a form to the person behind a client.
pub(super) async fn put(caller: &Caller, message: &str, schema: &Value) -> Answered {
    if !takes_forms(caller) {
        return Answered::Not;
    }
    let params = raw(&json!({ "message": message, "requestedSchema": schema }));
    // It is the hub that asks, no server.
    let own = Arc::new(caller.clone().worded(Wording::Verbatim));
    let asked = tokio::time::timeout(PATIENCE, own.ask("", "elicitation/create", Some(params))).await;
    let Ok(Ok(answer)) = asked else { return Answered::Not };
    let answer = Fields::parse(Some(&answer)).unwrap_or_default();
    match answer.text("action").as_deref() {
        Some("accept") => Answered::With(answer.object("content")),
        Some(_) => Answered::Declined,
        None => Answered::Not,
    }
}

fn takes_forms(caller: &Caller) -> bool {
    let ways = caller.capabilities.object("elicitation");
    // A client that names no way knows forms alone.
    caller.can("elicitation") && (ways.is_empty() || ways.get("form").is_some() || ways.get("url").is_none())
}

/// The form of a choice between tools, or of other words.
pub(super) fn choice(offered: &[&Tool]) -> Value {
    let mut properties = json!({});
    if !offered.is_empty() {
        let names: Vec<&str> = offered.iter().map(|tool| tool.id.as_str()).collect();
        let titles: Vec<String> =
            offered.iter().map(|tool| format!("{} ({})", purpose(tool), tool.server)).collect();
        properties["choice"] =
            json!({ "type": "string", "title": "Choice", "enum": names, "enumNames": titles });
    }
    properties["details"] = json!({
        "type": "string", "title": "In other words", "maxLength": MOST_CHARS,
    });
    json!({ "type": "object", "properties": properties })
}

/// The form of missing values; `None` where one of them is no plain value, which forms cannot have.
pub(super) fn values(missing: &[Missing], guesses: &[Argument]) -> Option<Value> {
    let mut properties = Map::new();
    for it in missing {
        let is_plain = matches!(it.kind, "string" | "number" | "integer" | "boolean");
        if !is_plain || it.name.contains('.') {
            return None;
        }
        let mut field = json!({ "type": it.kind, "title": it.name });
        if !it.description.is_empty() {
            field["description"] = json!(shortened(&it.description, MOST_DESCRIPTION));
        }
        if !it.choices.is_empty() && it.choices.iter().all(Value::is_string) {
            field["enum"] = json!(it.choices);
        }
        if let Some(guess) = guesses.iter().find(|guess| guess.name == it.name) {
            field["default"] = guess.value.clone();
        }
        properties.insert(it.name.clone(), field);
    }
    let names: Vec<&str> = missing.iter().map(|it| it.name.as_str()).collect();
    Some(json!({ "type": "object", "properties": properties, "required": names }))
}

/// The form of a yes or no.
pub(super) fn consent() -> Value {
    json!({
        "type": "object",
        "properties": { "confirm": { "type": "boolean", "title": "Yes, do it", "default": false } },
        "required": ["confirm"],
    })
}

/// Reads a person's own words.
pub(super) fn details(content: &Fields) -> Option<String> {
    let said = content.text("details").map(|said| shortened(said.trim(), 4 * MOST_CHARS));
    said.filter(|said| !said.is_empty())
}
