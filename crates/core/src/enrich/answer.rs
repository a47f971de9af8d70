//! What a language model answered, however it is written.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Error, Suggested};

/// Requests of one tool that are read.
const MOST_READ: usize = 40;
/// Confusions of one tool that are read.
const MOST_CONFUSIONS: usize = 8;
/// What a model says before its answer, where it thinks aloud.
const THOUGHT: &str = "</think>";

/// Reads what an answer says about `tools`, by their names. Models wrap JSON in prose and code blocks, and call its parts
/// otherwise than they were asked to.
pub fn read(said: &str, tools: &[&str]) -> Result<BTreeMap<String, Suggested>, Error> {
    let said = said.rsplit(THOUGHT).next().unwrap_or(said);
    let answer = parse(said).ok_or(Error::NotJson)?;
    let mut found: BTreeMap<String, Suggested> = BTreeMap::new();
    for (name, entry) in entries(&answer) {
        if let Some(known) = known(name, tools) {
            found.entry(known.to_owned()).or_insert_with(|| suggested(entry));
        }
    }
    if found.is_empty() { Err(Error::NoTool) } else { Ok(found) }
}

/// Returns the JSON in a text.
fn parse(said: &str) -> Option<Value> {
    let between = |open: char, close: char| said.get(said.find(open)?..=said.rfind(close)?);
    let objects = [Some(said.trim()), between('{', '}'), between('[', ']')];
    let mut parsed =
        objects.into_iter().flatten().filter_map(|text| serde_json::from_str::<Value>(text).ok());
    parsed.find(|value| value.is_object() || value.is_array())
}

/// Returns each tool that an answer is about, with what it says.
fn entries(answer: &Value) -> Vec<(&str, &Value)> {
    match answer {
        Value::Array(list) => list.iter().filter_map(|entry| Some((name_of(entry)?, entry))).collect(),
        Value::Object(members) => match (answer.get("tools"), name_of(answer)) {
            (Some(tools), _) => entries(tools),
            (None, Some(name)) => vec![(name, answer)],
            (None, None) => members.iter().map(|(name, entry)| (name.as_str(), entry)).collect(),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn name_of(entry: &Value) -> Option<&str> {
    ["name", "tool"].iter().find_map(|key| entry.get(key)?.as_str())
}

/// Returns the tool that a name means: as it is, in other letters, or with its server in front.
fn known<'a>(name: &str, tools: &[&'a str]) -> Option<&'a str> {
    let name = name.trim();
    let bare = name.rsplit_once("__").map_or(name, |(_, bare)| bare);
    let exact = tools.iter().find(|tool| **tool == name);
    exact.or_else(|| tools.iter().find(|tool| tool.eq_ignore_ascii_case(name) || **tool == bare)).copied()
}

fn suggested(entry: &Value) -> Suggested {
    let requests = ["requests", "examples"].iter().find_map(|key| entry.get(key));
    let list = requests.unwrap_or(entry).as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |value: &Value| {
        let text =
            value.as_str().or_else(|| ["text", "request"].iter().find_map(|key| value.get(key)?.as_str()));
        text.map(str::to_owned)
    };
    let not_for = entry.get("notFor").or_else(|| entry.get("not_for"));
    Suggested {
        requests: list.iter().take(MOST_READ).filter_map(text).collect(),
        not_for: not_for.map(confusions).unwrap_or_default(),
        unread: list.len().saturating_sub(MOST_READ),
    }
}

/// Returns tools that are meant instead, and when.
fn confusions(value: &Value) -> Vec<(String, String)> {
    let pair = |entry: &Value| {
        let part = |keys: &[&str]| keys.iter().find_map(|key| entry.get(key)?.as_str()).map(str::to_owned);
        Some((part(&["use", "tool"])?, part(&["when", "for"])?))
    };
    match value {
        Value::Array(list) => list.iter().take(MOST_CONFUSIONS).filter_map(pair).collect(),
        Value::Object(members) => {
            let said =
                members.iter().filter_map(|(tool, when)| Some((tool.clone(), when.as_str()?.to_owned())));
            said.take(MOST_CONFUSIONS).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}
