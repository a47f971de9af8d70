//! What could be written: calls that the schema allows, requests, and notes for files of metadata.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::form::{Field, Form, Format, Kind};
use crate::metadata::{Facts, Metadata, Note, Sidecar, gist};
use crate::tool::Tool;
use crate::tool::words::in_words;

use super::{LintReport, Suggestion};

/// Values of an enumeration that fit in one request.
const MAX_REQUEST_VALUES: usize = 3;

/// What a file of metadata takes as one text.
const MAX_TEXT_CHARS: usize = 200;

/// Writes a call with typical arguments, as far as the schema knows them.
pub(super) fn example_call(tool: &Tool, form: &Form) -> Suggestion {
    let required = form.fields().iter().filter(|field| field.is_required);
    // Where nothing is required, a call with one value still shows more than one without any.
    let first =
        form.fields().iter().find(|field| !field.is_flag() && !form.fields().iter().any(|it| it.is_required));
    let mut arguments = Map::new();
    for field in required.chain(first) {
        place(&mut arguments, field);
    }
    let text = format!("Example: {} {}", tool.name, Value::Object(arguments));
    let known = form.fields().iter().filter(|field| field.is_required).filter_map(known_value);
    let known = known.take(MAX_REQUEST_VALUES).map(|value| match value {
        Value::String(text) => text,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    });
    let spoken = in_words(&[&tool.name]);
    let request: Vec<String> = std::iter::once(spoken.clone()).chain(known).collect();
    // A name of one word is no request, and what is only the name again teaches nothing.
    let is_request = request.len() > 1 && spoken.contains(' ');
    let request = request.join(" ");
    let is_request = is_request && request.chars().count() <= MAX_TEXT_CHARS;
    let note = is_request.then(|| Note { examples: vec![request], ..Note::default() });
    Suggestion { text, note }
}

/// Proposes what people want when they need a tool.
pub(super) fn use_cases(tool: &Tool, facts: &Facts) -> Option<Suggestion> {
    let mut use_cases = Metadata::of(tool, facts).use_cases;
    use_cases.retain(|text| text.chars().count() <= MAX_TEXT_CHARS);
    let first = use_cases.last()?.trim_end_matches('.');
    let text = format!("Use when the user wants to: {first}.");
    Some(Suggestion { text, note: Some(Note { use_cases, ..Note::default() }) })
}

/// Proposes how one tool sends readers on to another.
pub(super) fn not_for(tool: &Tool, other: &Tool) -> Suggestion {
    let said = gist(other);
    let said = if said.is_empty() { in_words(&[&other.name]) } else { said };
    let text = format!("Does not: {} Use `{}` for that.", ended(&said), other.name);
    // A file of metadata is about one server.
    let note = (tool.server == other.server)
        .then(|| Note { not_for: BTreeMap::from([(other.name.clone(), said)]), ..Note::default() });
    Suggestion { text, note }
}

/// Gathers all notes of a report into one file of metadata for each server.
pub fn sidecars(report: &LintReport) -> Vec<Sidecar> {
    let mut servers: BTreeMap<String, BTreeMap<String, Note>> = BTreeMap::new();
    for tool in &report.tools {
        let suggestions = tool.diagnostics.iter().filter_map(|it| it.suggestion.as_ref());
        for note in suggestions.filter_map(|it| it.note.as_ref()) {
            let tools = servers.entry(tool.server.clone()).or_default();
            // The file must know every tool that it names.
            for other in note.not_for.keys() {
                tools.entry(other.clone()).or_default();
            }
            let own = tools.entry(tool.name.clone()).or_default();
            own.use_cases.extend(note.use_cases.iter().cloned());
            own.examples.extend(note.examples.iter().cloned());
            own.not_for.extend(note.not_for.clone());
        }
    }
    servers.into_iter().map(|(server, tools)| Sidecar { server, tools, ..Sidecar::default() }).collect()
}

fn ended(sentence: &str) -> String {
    if sentence.ends_with(['.', '。', '!', '?', '…']) {
        sentence.to_owned()
    } else {
        format!("{sentence}.")
    }
}

/// Puts a value where its field lies.
fn place(arguments: &mut Map<String, Value>, field: &Field) {
    let (own, above) = field.path.split_last().expect("a field has a name");
    let mut at = arguments;
    for (name, is_list) in above.iter().zip(&field.lists) {
        let empty = || if *is_list { json!([{}]) } else { json!({}) };
        let inner = at.entry(name.clone()).or_insert_with(empty);
        let inner = if *is_list { inner.get_mut(0) } else { Some(inner) };
        let Some(Value::Object(inner)) = inner else { return };
        at = inner;
    }
    let value = known_value(field).unwrap_or_else(|| made_up(field));
    let is_whole = !field.is_list || value.is_array();
    at.insert(own.clone(), if is_whole { value } else { json!([value]) });
}

/// Returns a value that the schema itself names.
fn known_value(field: &Field) -> Option<Value> {
    let listed = field.schema.get("examples").and_then(|it| it.get(0));
    let listed = listed.or_else(|| field.schema.get("example")).or(field.choices.first());
    let listed = listed.or_else(|| field.default.as_ref().filter(|it| !it.is_null()));
    let said = || field.examples.first().filter(|_| field.kind == Kind::Text).map(|it| json!(it));
    listed.cloned().or_else(said)
}

fn made_up(field: &Field) -> Value {
    let least = || field.schema.get("minimum").cloned().unwrap_or_else(|| json!(1));
    match (field.kind, field.format) {
        (_, Some(Format::Date)) => json!("2026-01-31"),
        (_, Some(Format::DateTime)) => json!("2026-01-31T09:00:00Z"),
        (_, Some(Format::Time)) => json!("09:00:00Z"),
        (_, Some(Format::Email)) => json!("ana@example.com"),
        (_, Some(Format::Uri)) => json!("https://example.com"),
        (_, Some(Format::Uuid)) => json!("123e4567-e89b-12d3-a456-426614174000"),
        (_, Some(Format::Duration)) => json!("PT30M"),
        (_, Some(Format::Unix)) => json!(1_769_850_000),
        (_, Some(Format::UnixMillis)) => json!(1_769_850_000_000_u64),
        (Kind::Whole | Kind::Number, Some(Format::Other) | None) => least(),
        (Kind::Flag, Some(Format::Other) | None) => json!(true),
        (Kind::Object, Some(Format::Other) | None) => json!({}),
        (Kind::Text | Kind::Any, Some(Format::Other) | None) => {
            json!(format!("<{}>", in_words(&[field.name()])))
        }
    }
}
