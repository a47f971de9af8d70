//! A schema becomes the fields that can be filled in.

use serde_json::Value;

use super::bound::Bound;
use super::example::examples;
use super::{Field, Format, Kind, check};
use crate::text::{each_term, terms};
use crate::tool::vocabulary::vocabulary;

/// Fields that are looked at; a form with more of them is not filled from words.
const MAX_FIELDS: usize = 160;
/// Objects inside objects are followed this far.
const MAX_DEPTH: usize = 4;
const MAX_DESCRIPTION_TERMS: usize = 60;
/// A list of choices that is longer is looked at this far.
const MAX_CHOICES: usize = 400;

/// Returns the fields of a schema in its order.
pub(super) fn fields(schema: &Value) -> Vec<Field> {
    let mut fields = Vec::new();
    let walk = Walk { root: schema, path: Vec::new(), lists: Vec::new(), is_required: true };
    walk.members(schema, MAX_DEPTH, &mut fields);
    fields
}

/// A place in a schema on the way to its fields.
struct Walk<'a> {
    root: &'a Value,
    path: Vec<String>,
    lists: Vec<bool>,
    is_required: bool,
}

impl Walk<'_> {
    fn members(&self, schema: &Value, depth: usize, fields: &mut Vec<Field>) {
        let schema = check::resolved(self.root, schema);
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, property) in properties {
            if fields.len() >= MAX_FIELDS {
                return;
            }
            let mut path = self.path.clone();
            path.push(name.clone());
            let is_required = self.is_required && required.contains(&name.as_str());
            let mut lists = self.lists.clone();
            lists.push(false);
            Walk { root: self.root, path, lists, is_required }.member(property, depth, fields);
        }
    }

    fn member(mut self, property: &Value, depth: usize, fields: &mut Vec<Field>) {
        let shape = Shape::of(self.root, property);
        if shape.kind == Kind::Object && depth > 0 {
            let before = fields.len();
            let own = self.lists.len() - 1;
            self.lists[own] = shape.is_list;
            self.members(&shape.inner, depth - 1, fields);
            if fields.len() > before {
                return;
            }
            self.lists[own] = false;
        }
        fields.push(self.field(property, shape));
    }

    fn field(self, property: &Value, shape: Shape) -> Field {
        let resolved = check::resolved(self.root, property);
        let (own, parents) = self.path.split_last().expect("a field has a name");
        let described = |schema: &Value| schema.get("description").and_then(Value::as_str).map(str::to_owned);
        let description =
            described(property).or_else(|| described(resolved)).or_else(|| described(&shape.inner));
        let description = description.unwrap_or_default();
        let title = property.get("title").and_then(Value::as_str).unwrap_or_default();
        let mut parent_terms = Vec::new();
        for name in parents {
            each_term(name, &mut |term| parent_terms.push(term.to_owned()));
        }
        let name_terms = terms(own, 8);
        Field {
            bound: Bound::of(own, &name_terms),
            examples: examples(&description),
            name_terms,
            description_terms: terms(&format!("{title} {description}"), MAX_DESCRIPTION_TERMS),
            parent_terms,
            format: shape.format.or_else(|| implied_format(own, &description, shape.kind)),
            default: property.get("default").or_else(|| resolved.get("default")).cloned(),
            path: self.path,
            is_required: self.is_required,
            description,
            choices: shape.choices,
            kind: shape.kind,
            is_list: shape.is_list,
            schema: property.clone(),
            lists: self.lists,
        }
    }
}

/// What a property is, with its alternatives and references resolved.
struct Shape {
    kind: Kind,
    is_list: bool,
    choices: Vec<Value>,
    format: Option<Format>,
    /// The schema of a value without its list.
    inner: Value,
}

impl Shape {
    fn of(root: &Value, property: &Value) -> Self {
        let seen = alternatives(root, property, 4);
        let is_null = |it: &&Value| it.get("type").and_then(Value::as_str) == Some("null");
        // Of several forms of one value the simplest can be said in words. A text behind an object that says what it
        // takes, and that says nothing itself, is that object as JSON.
        let is_described = |it: &Value| kind(it) == Kind::Object && it.get("required").is_some();
        let is_bare = |it: &&Value| it.as_object().is_some_and(|it| it.len() == 1);
        let is_written = seen.first().is_some_and(|it| is_described(it));
        let rank = |it: &&Value| match kind(it) {
            Kind::Text if is_written && is_bare(it) => 5,
            Kind::Text | Kind::Whole | Kind::Number => 0,
            Kind::Flag => 1,
            Kind::Object if is_list(it) => 2,
            Kind::Any => 4,
            Kind::Object => 3,
        };
        let own = seen.iter().copied().filter(|it| !is_null(it)).min_by_key(rank).unwrap_or(property);
        if !is_list(own) {
            return Self::of_one(own, &seen);
        }
        let items = own.get("items").filter(|it| it.is_object());
        let item = items.or_else(|| own.get("prefixItems")?.get(0)).unwrap_or(&Value::Bool(true));
        let seen = alternatives(root, item, 3);
        let own = seen.first().copied().unwrap_or(item);
        let shape = Self { is_list: true, ..Self::of_one(own, &seen) };
        // A list of lists is not said in words.
        if is_list(own) { Self { kind: Kind::Any, ..shape } } else { shape }
    }

    fn of_one(own: &Value, seen: &[&Value]) -> Self {
        Self {
            kind: kind(own),
            is_list: false,
            choices: seen.iter().flat_map(|it| choices(it)).take(MAX_CHOICES).collect(),
            format: own.get("format").and_then(Value::as_str).map(format),
            inner: own.clone(),
        }
    }
}

/// Returns the schemas that a value may follow.
fn alternatives<'a>(root: &'a Value, schema: &'a Value, depth: usize) -> Vec<&'a Value> {
    let schema = check::resolved(root, schema);
    let inner = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(key)?.as_array());
    match inner {
        Some(inner) if depth > 0 && schema.get("enum").is_none() && schema.get("properties").is_none() => {
            inner.iter().take(8).flat_map(|each| alternatives(root, each, depth - 1)).collect()
        }
        _ => vec![schema],
    }
}

fn choices(schema: &Value) -> Vec<Value> {
    let listed = schema.get("enum").and_then(Value::as_array).cloned().unwrap_or_default();
    let listed = listed.into_iter().chain(schema.get("const").cloned());
    listed.filter(|choice| !choice.is_null()).collect()
}

fn is_list(schema: &Value) -> bool {
    type_of(schema) == Some("array")
}

fn type_of(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(name) => Some(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn kind(schema: &Value) -> Kind {
    match type_of(schema) {
        Some("string") => Kind::Text,
        Some("integer") => Kind::Whole,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Flag,
        Some("object") => Kind::Object,
        Some(_) => Kind::Any,
        None if schema.get("properties").is_some() => Kind::Object,
        None => match choices(schema).first() {
            Some(Value::String(_)) => Kind::Text,
            Some(Value::Number(_)) => Kind::Number,
            Some(Value::Bool(_)) => Kind::Flag,
            Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => Kind::Any,
        },
    }
}

fn format(name: &str) -> Format {
    match name {
        "date" => Format::Date,
        "date-time" | "datetime" => Format::DateTime,
        "time" => Format::Time,
        "email" => Format::Email,
        "uri" | "url" | "uri-reference" => Format::Uri,
        "uuid" => Format::Uuid,
        "duration" => Format::Duration,
        _ => Format::Other,
    }
}

/// Reads from names and descriptions what many schemas do not say in `format`.
pub(super) fn implied_format(name: &str, description: &str, kind: Kind) -> Option<Format> {
    let (name, said) = (name.to_lowercase(), description.to_lowercase());
    let has = |word: &str| said.contains(word);
    if matches!(kind, Kind::Whole | Kind::Number) {
        let is_unix = has("unix") || has("epoch") || (name.contains("timestamp") && kind == Kind::Whole);
        let is_fine = has("millisecond") || has("(ms)") || name.ends_with("ms");
        return is_unix.then_some(if is_fine { Format::UnixMillis } else { Format::Unix });
    }
    if kind != Kind::Text {
        return None;
    }
    let is_date_in_words = has("date") && vocabulary().parameters.days.contains(&name);
    if is_date_in_words && !has("time") {
        return Some(Format::Date);
    }
    if has("8601") && has("duration") {
        return Some(Format::Duration);
    }
    let has_day = has("yyyy-mm-dd") || has("%y-%m-%d");
    let has_clock = has("hh:mm") || has("%h:%m") || has("thh");
    let names_standard =
        ["iso 8601", "iso8601", "rfc 3339", "rfc3339", "iso format", "iso timestamp", "iso date"];
    if names_standard.into_iter().any(has) {
        let is_day = name.ends_with("date") && !has("time");
        return Some(if is_day { Format::Date } else { Format::DateTime });
    }
    match (has_day, has_clock) {
        (true, true) => Some(Format::DateTime),
        (true, false) => Some(Format::Date),
        (false, true) => Some(Format::Time),
        (false, false) => named_format(&name),
    }
}

fn named_format(name: &str) -> Option<Format> {
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    if ends(&["email", "e_mail"]) {
        Some(Format::Email)
    } else if ends(&["url", "uri"]) {
        Some(Format::Uri)
    } else if name == "date" || ends(&["_date", "startdate", "enddate", "duedate", "birthdate"]) {
        Some(Format::Date)
    } else {
        None
    }
}
