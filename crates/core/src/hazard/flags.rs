//! Switches, modes and words that stand for an action, among the members of one object.

use serde_json::{Map, Value};

use super::lists::{Lists, Set};
use crate::tool::words::words;
use crate::tool::{Effect, Hints, names_destruction};

/// An action is a word or two; what is longer is a text.
const ACTION_WORDS: usize = 4;
/// Bytes of an action of which every word is looked at.
const ACTION_BYTES: usize = 100;

/// Where the members stand among the arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Outermost,
    Inside,
}

/// Returns what among the members of an object makes a call destroy.
pub(super) fn sign(members: &Map<String, Value>, known: Effect, place: Place) -> Option<String> {
    let beside = Beside::of(members);
    members.iter().find_map(|(key, value)| {
        let names: Vec<String> = words(key).map(str::to_lowercase).collect();
        match value {
            Value::Bool(true) => switch(key, &names, known),
            Value::String(text) if text == "true" => switch(key, &names, known),
            Value::String(text) => {
                let does = action(beside, &names, text, place) || replaces(beside, &names, text);
                does.then(|| format!("`{key}` is `{text}`"))
            }
            Value::Array(items) if !items.is_empty() => deletions(key, &names),
            Value::Object(items) if !items.is_empty() => deletions(key, &names),
            Value::Null | Value::Bool(false) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
        }
    })
}

/// What the other members of an object tell, looked up once.
#[derive(Clone, Copy, Debug)]
struct Beside {
    /// There is an address, so a method is that of HTTP.
    is_request: bool,
    /// There is something to look for, so only that is replaced.
    has_part: bool,
}

impl Beside {
    fn of(members: &Map<String, Value>) -> Self {
        let lists = Lists::builtin();
        let is_part = |key: &String| words(key).any(|word| lists.parts.contains(&word.to_lowercase()));
        Self {
            is_request: members.keys().any(|key| super::key_is(key, &lists.request_keys)),
            has_part: members.keys().any(is_part),
        }
    }
}

fn switch(key: &str, names: &[String], known: Effect) -> Option<String> {
    is_switch(names, known).then(|| format!("`{key}` is true"))
}

/// Whether the words of a name are those of a switch that makes a call destroy.
pub(super) fn is_switch(names: &[String], known: Effect) -> bool {
    let lists = Lists::builtin();
    let has = |set: &Set| names.iter().any(|name| set.contains(name));
    let counts = has(&lists.flags) || (known != Effect::Read && has(&lists.flags_of_writes));
    counts && !has(&lists.not_flags)
}

fn action(beside: Beside, names: &[String], text: &str, place: Place) -> bool {
    let lists = Lists::builtin();
    let Some(last) = names.last() else { return false };
    // In a list of operations `type` says what each of them does.
    let says_what = lists.action_keys.contains(last) || (place == Place::Inside && last == "type");
    if !says_what || text.split_whitespace().count() > ACTION_WORDS {
        return false;
    }
    let is_method = last == "method" || last == "verb";
    let is_put = text.eq_ignore_ascii_case("put") && is_method && beside.is_request;
    let mut said = words(text).map(str::to_lowercase);
    let Some(first) = said.next() else { return false };
    let is_softened = lists.not_flags.contains(&first) || said.any(|word| lists.not_flags.contains(&word));
    let is_name = text.len() <= ACTION_BYTES && !is_softened;
    let destroys =
        names_destruction(&first) || is_name && Effect::infer(text, Hints::default()) == Effect::Destroy;
    is_put || !text.contains(char::is_whitespace) && destroys
}

/// Whether a way of writing loses what was there.
fn replaces(beside: Beside, names: &[String], text: &str) -> bool {
    let lists = Lists::builtin();
    let Some(last) = names.last() else { return false };
    let mut said = words(text).map(str::to_lowercase);
    // With words to look for, only these are replaced; without, all that was there is.
    let replaces = said.next().is_some_and(|first| first == "replace")
        && !beside.has_part
        && !said.any(|word| lists.parts.contains(&word));
    let is_mode = lists.mode_keys.contains(last);
    is_mode && (replaces || lists.modes.contains(&text.to_lowercase()))
        || replaces && lists.action_keys.contains(last) && text.split_whitespace().count() == 1
}

/// A list of what is to go, under a name that says so.
fn deletions(key: &str, names: &[String]) -> Option<String> {
    let lists = Lists::builtin();
    let is_named = |name: &String| lists.deletion_keys.contains(name);
    let says_otherwise = names.iter().any(|name| lists.not_flags.contains(name));
    let is_first_or_last = names.first().is_some_and(is_named) || names.last().is_some_and(is_named);
    (is_first_or_last && !says_otherwise).then(|| format!("`{key}`"))
}
