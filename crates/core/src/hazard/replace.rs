//! Whole texts that take the place of what was there.

use serde_json::{Map, Value};

use super::lists::{Lists, Set};
use super::{LATER, key_is};
use crate::tool::json::Members;
use crate::tool::words::words;
use crate::tool::{Effect, Hints, Tool};

/// How a tool's name says that it writes over something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    /// Changes what is there: `update_page`.
    Replaces,
    /// Writes to what an argument names: `write_file`.
    Writes,
}

/// Returns what in the arguments replaces a whole text that may be there already.
pub(super) fn sign(tool: &Tool, arguments: &Map<String, Value>) -> Option<String> {
    let verb = verb(&tool.name)?;
    let (members, key) = holders(arguments).find_map(|members| Some((members, written(members)?)))?;
    let objects = if std::ptr::eq(members, arguments) { vec![arguments] } else { vec![arguments, members] };
    if is_spared(tool, &objects) {
        return None;
    }
    match (target(tool, &objects), verb) {
        (Some(target), _) => Some(format!("`{key}` replaces what is in `{target}`")),
        (None, Verb::Replaces) => Some(format!("`{key}` replaces what is there")),
        // Nothing says what it would be written over.
        (None, Verb::Writes) => None,
    }
}

/// The verb of a name, where it is one that writes over something: the first verb, or one behind `or`.
fn verb(name: &str) -> Option<Verb> {
    let lists = Lists::builtin();
    let names: Vec<String> = words(name).map(str::to_lowercase).collect();
    let of = |word: &String| match () {
        () if lists.replacing.contains(word) => Some(Verb::Replaces),
        () if lists.writing.contains(word) => Some(Verb::Writes),
        () => None,
    };
    let is_other_verb =
        |word: &String| lists.adding.contains(word) || Effect::infer(word, Hints::default()) == Effect::Read;
    let first = names.iter().find(|word| of(word).is_some() || is_other_verb(word)).and_then(of);
    let linked = || {
        let links = names.windows(2).filter(|pair| matches!(pair[0].as_str(), "or" | "and"));
        links.filter_map(|pair| of(&pair[1])).next()
    };
    first.or_else(linked)
}

/// The arguments, and the objects right among them: `{"files": [{"path": …, "content": …}]}`.
fn holders(arguments: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    let inner = arguments.values().flat_map(|value| match value {
        Value::Object(members) => vec![members],
        Value::Array(items) => items.iter().filter_map(Value::as_object).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    });
    std::iter::once(arguments).chain(inner)
}

/// The argument that holds a whole text.
fn written(members: &Map<String, Value>) -> Option<&str> {
    let is_whole = |value: &Value| match value {
        // An empty text in the place of a whole one loses the most.
        Value::String(_) => true,
        Value::Array(items) => !items.is_empty(),
        Value::Object(items) => !items.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    };
    let texts = &Lists::builtin().texts;
    members.iter().find(|(key, value)| is_whole(value) && key_is(key, texts)).map(|(key, _)| key.as_str())
}

/// Whether something says that nothing is lost: a part is named, a mode adds, or the server says so.
fn is_spared(tool: &Tool, objects: &[&Map<String, Value>]) -> bool {
    let lists = Lists::builtin();
    let given = || objects.iter().flat_map(|members| members.iter()).filter(|(_, value)| !value.is_null());
    let has_part = given().any(|(key, _)| words(key).any(|word| lists.parts.contains(&word.to_lowercase())));
    if has_part || given().any(|(key, value)| spares(key, value)) {
        return true;
    }
    let Some(definition) = Members::of(&tool.definition) else { return false };
    let only_adds = |annotations: Members<'_>| {
        annotations.get("destructiveHint").is_some_and(|hint| hint.get() == "false")
    };
    if definition.get("annotations").and_then(Members::of).is_some_and(only_adds) || tells_of_adding(tool) {
        return true;
    }
    let properties = definition.get("inputSchema").and_then(Members::of);
    let properties = properties.and_then(|schema| schema.get("properties")).and_then(Members::of);
    let defaults = properties.map_or_else(Vec::new, |it| it.0).into_iter().filter_map(|(name, schema)| {
        let default = Members::of(schema)?.get("default")?;
        Some((name, serde_json::from_str::<Value>(default.get()).ok()?))
    });
    // What is left out is what the schema says it is.
    let is_left_out = |name: &String| !objects[0].contains_key(name);
    defaults.filter(|(name, _)| is_left_out(name)).any(|(name, value)| spares(&name, &value))
}

/// Whether an argument says that what is there stays.
fn spares(key: &str, value: &Value) -> bool {
    let lists = Lists::builtin();
    let is_mode = || key_is(key, &lists.mode_keys) || key_is(key, &lists.action_keys);
    let joined = || words(key).map(str::to_lowercase).collect::<String>();
    let has = |set: &Set| words(key).any(|word| set.contains(&word.to_lowercase()));
    match value {
        Value::Bool(true) => lists.sparing.contains(&joined()),
        Value::Bool(false) => has(&lists.overwriting) && !lists.sparing.contains(&joined()),
        Value::String(mode) if mode != LATER && is_mode() => {
            words(mode).next().is_some_and(|first| lists.adding.contains(&first.to_lowercase()))
        }
        Value::String(_) | Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Whether the first sentence of a tool's description begins with adding, and speaks of nothing that exists.
fn tells_of_adding(tool: &Tool) -> bool {
    let sentence = tool.description.split(['.', '\n']).next().unwrap_or_default();
    let mut said = words(sentence).map(str::to_lowercase);
    let adds = said
        .next()
        .is_some_and(|first| Lists::builtin().adding.contains(first.strip_suffix('s').unwrap_or(&first)));
    let is_old = |word: &String| {
        Lists::builtin().existing.iter().any(|beginning| word.starts_with(beginning.as_str()))
    };
    adds && !said.any(|word| is_old(&word))
}

/// The argument that names what is written to: one that the tool requires, or else the first.
fn target<'a>(tool: &Tool, objects: &[&'a Map<String, Value>]) -> Option<&'a str> {
    let lists = Lists::builtin();
    let names_something = |key: &str, value: &Value| {
        let is_name = matches!(value, Value::String(text) if !text.is_empty()) || value.is_number();
        let is_way = key_is(key, &lists.mode_keys) || key_is(key, &lists.action_keys);
        is_name && !is_way && !key_is(key, &lists.texts)
    };
    let members = objects.iter().rev().flat_map(|members| members.iter());
    let mut names = members.filter(|(key, value)| names_something(key, value)).map(|(key, _)| key.as_str());
    let first = names.next()?;
    let is_required = |name: &str| tool.parameters.iter().any(|it| it.required && it.name == name);
    Some(std::iter::once(first).chain(names).find(|name| is_required(name)).unwrap_or(first))
}
