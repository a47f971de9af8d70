//! The argument reader: what it sees of a form, and what its readings say of the values of fields.

use std::ops::Range;

use serde_json::Value;
use toolyard_encoder::{FieldReading, FieldText};

use super::candidate::{Candidate, Origin, Similarity, is_no_statement, names_tool};
use super::equivalence::plain_text;
use super::request::ParsedRequest;
use crate::form::{Field, Form, Format, Kind};
use crate::text::is_unparted;
use crate::thresholds::thresholds;

/// A field as the reader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadField {
    /// Its name in words, with those above it.
    pub name: String,
    /// The beginning of what the schema says about it.
    pub description: String,
    /// What kind of value it takes, and whether it is required.
    pub kind: String,
    /// The values that it can have, where they are listed; yes and no are listed.
    pub options: Vec<String>,
}

impl ReadField {
    /// Returns it as a part of a question to the reader.
    pub fn text(&self) -> FieldText<'_> {
        let Self { name, description, kind, options } = self;
        FieldText { name, description, kind, options }
    }
}

/// Characters of a description that are looked at; the reader cuts them to tokens.
const MOST_CHARS: usize = 240;
/// Choices that are shown.
const MOST_OPTIONS: usize = 40;

/// Returns the fields of a form as the reader sees them, in their order.
pub fn read_fields(form: &Form) -> Vec<ReadField> {
    let read = |field: &Field| ReadField {
        name: field.spoken(),
        description: field
            .description
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .chars()
            .take(MOST_CHARS)
            .collect(),
        kind: kind(field),
        options: options(field),
    };
    form.fields().iter().map(read).collect()
}

fn kind(field: &Field) -> String {
    let own = match (field.kind, field.format) {
        (_, Some(Format::Date)) => "date",
        (_, Some(Format::DateTime | Format::Unix | Format::UnixMillis)) => "date and time",
        (_, Some(Format::Time)) => "time",
        (_, Some(Format::Email)) => "email",
        (_, Some(Format::Uri)) => "url",
        (Kind::Text, _) => "text",
        (Kind::Whole, _) => "integer",
        (Kind::Number, _) => "number",
        (Kind::Flag, _) => "boolean",
        (Kind::Object, _) => "object",
        (Kind::Any, _) => "any",
    };
    let list = if field.is_list || field.lists.contains(&true) { "list of " } else { "" };
    let needed = if field.is_required { " required" } else { " optional" };
    format!("{list}{own}{needed}")
}

fn options(field: &Field) -> Vec<String> {
    if field.choices.is_empty() && field.kind == Kind::Flag {
        return vec!["true".to_owned(), "false".to_owned()];
    }
    let written = |choice: &Value| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned);
    field.choices.iter().take(MOST_OPTIONS).map(written).collect()
}

/// Spans of the reader that are tried.
const MOST_SPANS: usize = 3;

/// Returns what counts as the likelihood of a place that the reader did not think of; a logarithm.
fn unthought() -> f64 {
    thresholds().arguments.read_unthought
}

/// Returns how likely the reader finds it that a field is left out; a logarithm.
pub(super) fn absence(reading: &FieldReading) -> f64 {
    f64::from(reading.given[0])
}

/// Returns how likely the reader finds a value of a field; a logarithm.
pub(super) fn belief(
    reading: &FieldReading,
    field: &Field,
    request: &ParsedRequest<'_>,
    candidate: &Candidate,
) -> f64 {
    let [_, in_text, meant] = reading.given.map(f64::from);
    let given = (in_text.exp() + meant.exp()).ln();
    if !reading.options.is_empty() {
        return given + options_belief(reading, field, &candidate.value).max(unthought());
    }
    if let (Value::Array(items), true) = (&candidate.value, field.is_list) {
        return in_text + items_belief(reading, request, items).max(unthought());
    }
    if candidate.bytes.is_empty() {
        return meant;
    }
    let own = place(request, &candidate.bytes);
    let found = reading.spans.iter().find(|(bytes, _)| place(request, bytes) == own);
    in_text + found.map_or(unthought(), |(_, likelihood)| f64::from(*likelihood)).max(unthought())
}

fn options_belief(reading: &FieldReading, field: &Field, value: &Value) -> f64 {
    let options = options(field);
    let place = |value: &Value| {
        let written = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        options.iter().position(|option| *option == written).and_then(|at| reading.options.get(at))
    };
    match value {
        Value::Array(items) => {
            items.iter().map(|it| place(it).map_or(unthought(), |it| f64::from(it[1]).ln())).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            place(value).map_or(unthought(), |it| f64::from(it[0]))
        }
    }
}

fn items_belief(reading: &FieldReading, request: &ParsedRequest<'_>, items: &[Value]) -> f64 {
    let written =
        |value: &Value| plain_text(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let read = |(bytes, _): &(Range<usize>, f32)| plain_text(&request.text[place(request, bytes)]);
    let is_same = items.len() == reading.items.len()
        && items.iter().zip(&reading.items).all(|(item, it)| written(item) == read(it));
    let least = reading.items.iter().map(|(_, begin)| f64::from(*begin)).fold(1.0, f64::min);
    if is_same { least.ln() } else { unthought() }
}

/// Returns how likely the reader finds it that a field gets a value which the caller named; a logarithm against the
/// field being left out. `said` is what it read, and the value as the caller wrote it.
pub(super) fn value_belief(
    reading: &FieldReading,
    field: &Field,
    (text, said): (&str, &Value),
    value: &Value,
) -> f64 {
    let [absent, in_text, meant] = reading.given.map(f64::from);
    let given = (in_text.exp() + meant.exp()).ln();
    let own = if !reading.options.is_empty() {
        given + options_belief(reading, field, value).max(unthought())
    } else if field.is_list {
        in_text
    } else {
        let written = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
        let is_it = |(bytes, _): &&(Range<usize>, f32)| text[trimmed(text, bytes)] == *written.trim();
        let found = reading.spans.iter().find(is_it);
        in_text + found.map_or(unthought(), |(_, likelihood)| f64::from(*likelihood)).max(unthought())
    };
    (own - absent).clamp(unthought(), -unthought())
}

/// Returns values that the reader proposes and nobody else found.
pub(super) fn proposals(
    form: &Form,
    field: &Field,
    (request, reading): (&ParsedRequest<'_>, &FieldReading),
    known: &[Candidate],
) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    let mut propose = |value: Value, bytes: Range<usize>, origin: Origin| {
        let value = if field.is_list && !value.is_array() { Value::Array(vec![value]) } else { value };
        let tokens = request.tokens_in(&bytes);
        let is_known = known.iter().chain(&found).any(|it| it.value == value && it.bytes == bytes);
        let is_name = !tokens.is_empty() && names_tool(form, field, request, &tokens);
        if !is_known && !is_name && form.takes(field, &value) && !is_no_statement(field, &value) {
            found.push(Candidate { value, tokens, bytes, origin });
        }
    };
    let limits = &thresholds().arguments;
    for (at, [likelihood, alone]) in reading.options.iter().enumerate() {
        let share = f64::from(if field.is_list { *alone } else { likelihood.exp() });
        let Some(value) = option_value(field, at).filter(|_| share >= limits.read_option) else { continue };
        let origin =
            if field.kind == Kind::Flag { Origin::Flag } else { Origin::Choice(Similarity::Related) };
        propose(value, 0..0, origin);
    }
    let is_text = field.kind == Kind::Text && reading.options.is_empty();
    if is_text && field.is_list && !reading.items.is_empty() {
        let texts = reading.items.iter().map(|(bytes, _)| Value::from(&request.text[place(request, bytes)]));
        let whole = reading.items[0].0.start..reading.items[reading.items.len() - 1].0.end;
        propose(Value::Array(texts.collect()), whole, Origin::List);
    }
    for (bytes, _) in reading.spans.iter().take(MOST_SPANS).filter(|_| is_text && field.format.is_none()) {
        let bytes = place(request, bytes);
        propose(Value::from(&request.text[bytes.clone()]), bytes, Origin::Words);
    }
    found
}

fn option_value(field: &Field, at: usize) -> Option<Value> {
    match field.choices.is_empty() {
        true => Some(Value::Bool(at == 0)),
        false => field.choices.get(at).cloned(),
    }
}

/// Returns the range of a value: without marks around it, with the whole scheme of an address, and with all letters of a
/// path whose script has no spaces.
fn place(request: &ParsedRequest<'_>, bytes: &Range<usize>) -> Range<usize> {
    let own = trimmed(request.text, bytes);
    let Some(token) = request.tokens.iter().find(|it| it.at.contains(&own.start)) else { return own };
    let (said, behind) = (&request.text[own.clone()], &request.text[own.end..]);
    let is_torn = own.start == token.at.start && said.contains('/') && behind.starts_with(is_unparted);
    let start = if said.contains("://") { token.at.start } else { own.start };
    start..if is_torn { own.end.max(token.at.end) } else { own.end }
}

/// Returns a range without spaces and marks around it that no value begins or ends with.
fn trimmed(text: &str, bytes: &Range<usize>) -> Range<usize> {
    let is_mark = |c: char| c.is_whitespace() || "\"'`“”‘’„«»,;:!?。，、".contains(c);
    let own = &text[bytes.clone()];
    let begin = own.len() - own.trim_start_matches(is_mark).len();
    let own = own.trim_end_matches(is_mark).trim_end_matches('.');
    // A sign that stands alone at the end, such as that of a sum, belongs to the sentence.
    let is_sign = |c: char| !c.is_alphanumeric() && !c.is_whitespace();
    let end = own.strip_suffix(is_sign).filter(|it| it.ends_with(char::is_whitespace));
    let end = end.unwrap_or(own).trim_end().len();
    bytes.start + begin.min(end)..bytes.start + end.max(begin)
}
