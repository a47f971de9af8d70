//! Switches, modes and words that stand for an action, among the members of one object.

use serde_json::{Map, Value};

use super::lists::Lists;
use crate::tool::words::words;
use crate::tool::{Effect, names_destruction};

/// An action is a word or two; what is longer is a text.
const ACTION_WORDS: usize = 4;

/// Returns what among the members of an object makes a call destroy.
pub(super) fn sign(members: &Map<String, Value>, known: Effect, is_outermost: bool) -> Option<String> {
    members.iter().find_map(|(key, value)| {
        let names: Vec<String> = words(key).map(str::to_lowercase).collect();
        match value {
            Value::Bool(true) => switch(key, &names, known),
            Value::String(text) if text == "true" => switch(key, &names, known),
            Value::String(text) => {
                action(members, key, &names, text, is_outermost).or_else(|| mode(members, key, &names, text))
            }
            Value::Array(items) if !items.is_empty() => deletions(key, &names),
            Value::Object(items) if !items.is_empty() => deletions(key, &names),
            Value::Null | Value::Bool(false) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
        }
    })
}

fn switch(key: &str, names: &[String], known: Effect) -> Option<String> {
    is_switch(names, known).then(|| format!("`{key}` is true"))
}

/// Whether the words of a name are those of a switch that makes a call destroy.
pub(super) fn is_switch(names: &[String], known: Effect) -> bool {
    let lists = Lists::builtin();
    let has = |set: &super::lists::Set| names.iter().any(|name| set.contains(name));
    let counts = has(&lists.flags) || (known != Effect::Read && has(&lists.flags_of_writes));
    counts && !has(&lists.not_flags)
}

fn action(
    members: &Map<String, Value>,
    key: &str,
    names: &[String],
    text: &str,
    is_outermost: bool,
) -> Option<String> {
    let lists = Lists::builtin();
    let last = names.last()?;
    // In a list of operations `type` says what each of them does.
    let says_what = lists.action_keys.contains(last) || (!is_outermost && last == "type");
    if !says_what || text.split_whitespace().count() > ACTION_WORDS {
        return None;
    }
    let is_request = || members.keys().any(|other| super::key_is(other, &lists.request_keys));
    let replaces = text.eq_ignore_ascii_case("put") && (last == "method" || last == "verb") && is_request();
    let first = words(text).next()?.to_lowercase();
    let is_identifier = !text.contains(char::is_whitespace);
    (replaces || is_identifier && names_destruction(&first)).then(|| format!("`{key}` is `{text}`"))
}

fn mode(members: &Map<String, Value>, key: &str, names: &[String], text: &str) -> Option<String> {
    let lists = Lists::builtin();
    let is_mode = names.last().is_some_and(|last| lists.mode_keys.contains(last));
    // With words to look for, only these are replaced; without, all that was there is.
    let looks_for = |key: &String| words(key).any(|word| lists.parts.contains(&word.to_lowercase()));
    let replaces = text.eq_ignore_ascii_case("replace") && !members.keys().any(looks_for);
    (is_mode && (replaces || lists.modes.contains(&text.to_lowercase())))
        .then(|| format!("`{key}` is `{text}`"))
}

/// A list of what is to go, under a name that says so.
fn deletions(key: &str, names: &[String]) -> Option<String> {
    let is_named = |name: &String| {
        matches!(name.as_str(), "delete" | "deletes" | "deletions" | "drop" | "purge" | "destroy" | "erase")
    };
    let says_otherwise = names.iter().any(|name| Lists::builtin().not_flags.contains(name));
    let is_first_or_last = names.first().is_some_and(is_named) || names.last().is_some_and(is_named);
    (is_first_or_last && !says_otherwise).then(|| format!("`{key}`"))
}
