//! The values that a caller named, one by one.

use serde_json::{Map, Value};

use crate::form::{Bound, Field, Form, Kind};
use crate::text::terms;
use crate::tool::words::in_words;

/// One value with its name.
pub(super) struct Entry<'a> {
    /// Its name, and the names of the objects around it.
    pub(super) path: Vec<&'a str>,
    pub(super) value: &'a Value,
    /// The words of its own name and of those above it, as terms.
    pub(super) terms: Vec<String>,
    pub(super) parent_terms: Vec<String>,
    /// Which end of a range or of a way its name says.
    pub(super) bound: Option<Bound>,
    /// Whether it lies in an object.
    pub(super) is_part: bool,
}

/// Values that are placed at most.
const MOST_ENTRIES: usize = 60;
/// Objects inside objects are followed this far.
const MAX_DEPTH: usize = 3;
const MAX_TERMS: usize = 8;
/// Characters of a description that are read.
const MOST_DESCRIBED: usize = 100;

impl<'a> Entry<'a> {
    pub(super) fn new(path: Vec<&'a str>, value: &'a Value) -> Self {
        let (name, above) = path.split_last().map_or(("", &[][..]), |(name, above)| (*name, above));
        let terms_of_name = terms(name, MAX_TERMS);
        Self {
            bound: Bound::of(name, &terms_of_name),
            terms: terms_of_name,
            parent_terms: above.iter().flat_map(|it| terms(it, MAX_TERMS)).collect(),
            is_part: !above.is_empty(),
            path,
            value,
        }
    }

    /// Returns its name as the caller wrote it.
    pub(super) fn name(&self) -> String {
        self.path.join(".")
    }
}

/// Returns the names of values as an encoder reads them, one for each value that is placed.
pub fn value_names(form: &Form, values: &Map<String, Value>) -> Vec<String> {
    entries(form, values).iter().map(|entry| in_words(&entry.path)).collect()
}

/// Returns the fields of a form as an encoder reads them: each by its name, and by its name and description.
pub fn field_names(form: &Form) -> Vec<[String; 2]> {
    let texts = |field: &Field| {
        let name = field.spoken();
        let description: String = field.description.chars().take(MOST_DESCRIBED).collect();
        let described = if description.is_empty() { name.clone() } else { format!("{name}: {description}") };
        [name, described]
    };
    form.fields().iter().map(texts).collect()
}

/// Takes values apart: an object is one value only where a field takes it whole.
pub(super) fn entries<'a>(form: &Form, values: &'a Map<String, Value>) -> Vec<Entry<'a>> {
    let mut found = Vec::new();
    gather(form, values, &mut Vec::new(), &mut found);
    found
}

fn gather<'a>(
    form: &Form,
    values: &'a Map<String, Value>,
    path: &mut Vec<&'a str>,
    found: &mut Vec<Entry<'a>>,
) {
    for (name, value) in values {
        if found.len() >= MOST_ENTRIES || value.is_null() {
            continue;
        }
        path.push(name);
        match value {
            Value::Object(members) if path.len() < MAX_DEPTH && !is_taken_whole(form, name, value) => {
                gather(form, members, path, found);
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => found.push(Entry::new(path.clone(), value)),
        }
        path.pop();
    }
}

/// Whether a field takes any object, or the text of one under the same name.
fn is_taken_whole(form: &Form, name: &str, value: &Value) -> bool {
    let own = terms(name, MAX_TERMS);
    let is_free = |field: &Field| matches!(field.kind, Kind::Object | Kind::Any) && form.takes(field, value);
    let is_text = |field: &Field| {
        let is_named = field.name_terms.iter().any(|it| own.contains(it));
        field.kind == Kind::Text && field.choices.is_empty() && (is_named || says_json(field))
    };
    form.fields().iter().any(|field| !field.is_list && (is_free(field) || is_text(field)))
}

/// Whether a text field takes JSON, as its name or its description says.
pub(super) fn says_json(field: &Field) -> bool {
    field.name_terms.iter().chain(&field.description_terms).any(|it| it == "json")
}

/// Returns what kind of value it is, as features name it.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "flag",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "whole",
        Value::String(_) => "text",
        Value::Array(items) if items.iter().all(Value::is_object) => "objects",
        Value::Array(items) if items.iter().all(Value::is_number) => "numbers",
        Value::Array(_) => "texts",
        Value::Object(_) => "object",
    }
}
