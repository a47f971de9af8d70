//! Arguments that a tool would take, made from its schema alone: an example of a call.
//!
//! What is made is checked like everything else: nothing is returned that does not fit the schema.

use std::cell::Cell;

use serde_json::{Map, Value, json};

use super::compile::implied_format;
use super::example::examples;
use super::{Form, Format, Kind, PLACES, ZONES, check, is_guarded, pattern};
use crate::text::terms;
use crate::tool::words::in_words;

/// Schemas inside schemas that are followed.
const MAX_DEPTH: usize = 8;
/// Ways to read one schema that has alternatives.
const MAX_VARIANTS: usize = 24;
/// Values that are looked for in one schema, with those inside it.
const MAX_STEPS: usize = 4000;
/// Items that a list is given where it asks for many.
const MAX_ITEMS: usize = 64;
/// How often what a pattern repeats is tried.
const MAX_REPEATED: usize = 40;
/// What schemas combine other schemas with.
const COMBINED: [&str; 7] = ["$ref", "allOf", "anyOf", "oneOf", "if", "then", "else"];
/// Seconds since 1970 at the beginning of 2026.
const MOMENT: i64 = 1_767_225_600;

impl Form {
    /// Makes the arguments of an example call: all that is required, with the values that the schema itself shows where
    /// it does. `None` where none were found that fit.
    pub fn sample(&self) -> Option<Map<String, Value>> {
        let sampler = Sampler { root: &self.schema, steps: Cell::new(MAX_STEPS) };
        let mut sample = sampler.variants(&self.schema, MAX_DEPTH).iter().find_map(|schema| {
            let made = sampler.object(schema, MAX_DEPTH, Extent::Needed)?;
            self.admits(&made).then_some(made)
        })?;
        let names: Vec<&str> = sample.keys().map(String::as_str).collect();
        let lacking: Vec<_> = self.lacks(&names, &sample);
        for field in lacking {
            let Some(value) = sampler.value(field.parameter(), &field.schema, MAX_DEPTH) else { continue };
            let mut more = sample.clone();
            more.insert(field.parameter().to_owned(), value);
            if self.admits(&more) {
                sample = more;
            }
        }
        Some(sample)
    }
}

/// How much of an object is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// What it cannot do without.
    Needed,
    /// At least one member, where it has any.
    Shown,
}

struct Sampler<'a> {
    root: &'a Value,
    /// What is left to be tried: schemas are written by strangers and may lead in circles.
    steps: Cell<usize>,
}

impl Sampler<'_> {
    fn value(&self, name: &str, schema: &Value, depth: usize) -> Option<Value> {
        self.values(name, schema, depth).next()
    }

    /// Returns values that fit, the likeliest first.
    fn values(&self, name: &str, schema: &Value, depth: usize) -> impl Iterator<Item = Value> {
        let variants =
            if depth == 0 || !self.has_steps() { Vec::new() } else { self.variants(schema, depth) };
        let made = variants.into_iter().flat_map(move |variant| self.candidates(name, &variant, depth - 1));
        made.filter(|value| check::fits(self.root, schema, value))
    }

    fn has_steps(&self) -> bool {
        let left = self.steps.get().checked_sub(1);
        self.steps.set(left.unwrap_or_default());
        left.is_some()
    }

    /// Reads a schema that refers to others or combines them as the plain schemas that it allows.
    fn variants(&self, schema: &Value, depth: usize) -> Vec<Map<String, Value>> {
        let Some(own) = schema.as_object() else { return vec![Map::new()] };
        let plain = own.iter().filter(|(key, _)| !COMBINED.contains(&key.as_str()));
        let mut all = vec![plain.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>()];
        let Some(depth) = depth.checked_sub(1).filter(|_| self.has_steps()) else { return all };
        let referred = check::resolved(self.root, schema);
        if !std::ptr::eq(referred, schema) {
            all = combined(&all, &self.variants(referred, depth));
        }
        let listed = |key: &str| own.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for part in listed("allOf") {
            all = combined(&all, &self.variants(part, depth));
        }
        for key in ["anyOf", "oneOf"] {
            let branches: Vec<_> =
                listed(key).iter().flat_map(|branch| self.variants(branch, depth)).collect();
            all = combined(&all, &branches);
        }
        if let Some(condition) = own.get("if") {
            let chosen = |branch: &str| self.variants(own.get(branch).unwrap_or(&Value::Bool(true)), depth);
            let mut branches = chosen("else");
            branches.extend(combined(&self.variants(condition, depth), &chosen("then")));
            all = combined(&all, &branches);
        }
        all
    }

    fn candidates(&self, name: &str, schema: &Map<String, Value>, depth: usize) -> Vec<Value> {
        let is_empty = |it: &Value| match it {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            Value::Bool(_) | Value::Number(_) => false,
        };
        let mut found: Vec<Value> = schema.get("const").cloned().into_iter().collect();
        let listed = |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten().cloned();
        let written = listed("examples").chain(schema.get("default").cloned()).chain(listed("enum"));
        let (empty, written): (Vec<Value>, Vec<Value>) = written.partition(is_empty);
        found.extend(written);
        for kind in kinds(schema) {
            match kind {
                "string" => found.extend(texts(name, schema).into_iter().map(Value::String)),
                "integer" | "number" => found.extend(numbers(name, schema, kind)),
                "boolean" => found.extend(flags(name)),
                "array" => found.extend(self.list(name, schema, depth)),
                "object" => {
                    let made =
                        [Extent::Shown, Extent::Needed].map(|extent| self.object(schema, depth, extent));
                    found.extend(made.into_iter().flatten().map(Value::Object));
                }
                _ => {}
            }
        }
        found.extend(empty);
        found.push(Value::Null);
        found
    }

    fn list(&self, name: &str, schema: &Map<String, Value>, depth: usize) -> Option<Value> {
        let count =
            |key: &str| schema.get(key).and_then(Value::as_u64).and_then(|it| usize::try_from(it).ok());
        let anything = Value::Bool(true);
        let (first, rest) = match (schema.get("prefixItems"), schema.get("items")) {
            (Some(first), rest) => (first.as_array(), rest),
            (None, Some(Value::Array(first))) => (Some(first), schema.get("additionalItems")),
            (None, rest) => (None, rest),
        };
        let first: &[Value] = first.map_or(&[], Vec::as_slice);
        let rest = rest.or_else(|| schema.get("contains")).unwrap_or(&anything);
        let most = count("maxItems").unwrap_or(MAX_ITEMS);
        let wanted = count("minItems").unwrap_or_default().max(first.len()).max(1).min(most).min(MAX_ITEMS);
        let is_unique = schema.get("uniqueItems") == Some(&Value::Bool(true));
        let mut items: Vec<Value> = Vec::new();
        for at in 0..wanted {
            let item = first.get(at).unwrap_or(rest);
            let is_new = |it: &Value| !is_unique || !items.contains(it);
            let numbered = if at == 0 { name.to_owned() } else { format!("{name} {}", at + 1) };
            let made = self.values(&numbered, item, depth).find(is_new);
            items.push(made?);
        }
        Some(Value::Array(items))
    }

    fn object(
        &self,
        schema: &Map<String, Value>,
        depth: usize,
        extent: Extent,
    ) -> Option<Map<String, Value>> {
        let anything = Value::Bool(true);
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let others = schema.get("additionalProperties").filter(|it| it.is_object()).unwrap_or(&anything);
        let mut made = Map::new();
        let mut waiting: Vec<&str> = strings(schema.get("required")).rev().collect();
        let dependent = schema.get("dependentRequired").and_then(Value::as_object).unwrap_or(&none);
        while let Some(name) = waiting.pop() {
            if made.contains_key(name) {
                continue;
            }
            let value = self.value(name, properties.get(name).unwrap_or(others), depth)?;
            made.insert(name.to_owned(), value);
            waiting.extend(strings(dependent.get(name)));
        }
        let least = schema.get("minProperties").and_then(Value::as_u64).unwrap_or_default();
        let least = least.max(u64::from(extent == Extent::Shown));
        for (name, property) in properties {
            if made.len() as u64 >= least {
                break;
            }
            if let Some(value) = self.value(name, property, depth).filter(|_| !made.contains_key(name)) {
                made.insert(name.clone(), value);
            }
        }
        // The order of the schema is the order in which people know the parameters.
        let mut ordered = Map::new();
        for name in properties.keys().chain(made.keys()) {
            if let Some(value) = made.get(name) {
                ordered.insert(name.clone(), value.clone());
            }
        }
        Some(ordered)
    }
}

/// Every variant of the one together with every variant of the other.
fn combined(all: &[Map<String, Value>], others: &[Map<String, Value>]) -> Vec<Map<String, Value>> {
    if others.is_empty() {
        return all.to_vec();
    }
    all.iter().flat_map(|one| others.iter().map(move |other| merged(one, other))).take(MAX_VARIANTS).collect()
}

fn merged(one: &Map<String, Value>, other: &Map<String, Value>) -> Map<String, Value> {
    let mut both = one.clone();
    for (key, value) in other {
        match (both.get_mut(key), value) {
            (Some(Value::Object(ours)), Value::Object(theirs)) if key == "properties" => {
                for (name, property) in theirs {
                    let own = ours.get(name).filter(|own| *own != property).cloned();
                    let both = own.map(|own| json!({ "allOf": [own, property] }));
                    ours.insert(name.clone(), both.unwrap_or_else(|| property.clone()));
                }
            }
            (Some(Value::Array(ours)), Value::Array(theirs)) if key == "required" => {
                ours.extend(theirs.iter().cloned());
            }
            _ => {
                both.insert(key.clone(), value.clone());
            }
        }
    }
    both
}

fn strings(list: Option<&Value>) -> impl DoubleEndedIterator<Item = &str> {
    list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice).iter().filter_map(Value::as_str)
}

/// The types that a schema names or is about; anything can be a text.
fn kinds(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(names @ Value::Array(_)) => strings(Some(names)).collect(),
        _ => {
            let about =
                [("properties", "object"), ("required", "object"), ("items", "array"), ("minimum", "number")];
            let implied = about.iter().filter(|(key, _)| schema.contains_key(*key));
            implied.map(|(_, kind)| *kind).chain(["string"]).collect()
        }
    }
}

fn texts(name: &str, schema: &Map<String, Value>) -> Vec<String> {
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let mut found = examples(description);
    let format = schema.get("format").and_then(Value::as_str);
    found.extend(format.and_then(formatted).map(str::to_owned));
    if format.is_none() {
        found.extend(implied_format(name, description, Kind::Text).and_then(in_format).map(str::to_owned));
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        found.extend((0..=MAX_REPEATED).filter_map(|times| pattern::written(pattern, times)));
    }
    let head = terms(name, MAX_DEPTH).pop().unwrap_or_default();
    found.extend(PLACES.contains(&head).then(|| "/path/to/file".to_owned()));
    found.extend(ZONES.contains(&head).then(|| "Europe/Berlin".to_owned()));
    let spoken = in_words(&[name.to_owned()]);
    let spoken = if spoken.is_empty() { "text".to_owned() } else { spoken };
    found.push(sized(&spoken, schema));
    found.push(spoken);
    found
}

/// Brings a text to the length that a schema wants.
fn sized(text: &str, schema: &Map<String, Value>) -> String {
    let bound = |key: &str| schema.get(key).and_then(Value::as_u64).and_then(|it| usize::try_from(it).ok());
    let least = bound("minLength").unwrap_or_default().min(MAX_STEPS);
    let most = bound("maxLength").unwrap_or(usize::MAX);
    let length = text.chars().count().max(least).min(most);
    text.chars().chain([' ']).cycle().take(length).collect()
}

fn formatted(format: &str) -> Option<&'static str> {
    match format {
        "date" => in_format(Format::Date),
        "date-time" => in_format(Format::DateTime),
        "time" => Some("09:30:00Z"),
        "email" | "idn-email" => in_format(Format::Email),
        "uri" | "url" | "iri" | "uri-reference" => in_format(Format::Uri),
        "uuid" => in_format(Format::Uuid),
        "ipv4" => Some("192.0.2.1"),
        "ipv6" => Some("2001:db8::1"),
        "hostname" | "idn-hostname" => Some("example.com"),
        "duration" => Some("PT1H"),
        "json" => Some("{}"),
        _ => None,
    }
}

fn in_format(format: Format) -> Option<&'static str> {
    match format {
        Format::Date => Some("2026-01-31"),
        Format::DateTime => Some("2026-01-31T09:30:00Z"),
        Format::Time => Some("09:30"),
        Format::Email => Some("someone@example.com"),
        Format::Uri => Some("https://example.com"),
        Format::Uuid => Some("123e4567-e89b-42d3-a456-426614174000"),
        Format::Duration => Some("PT30M"),
        Format::Unix | Format::UnixMillis | Format::Other => None,
    }
}

fn numbers(name: &str, schema: &Map<String, Value>, kind: &str) -> Vec<Value> {
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let format =
        implied_format(name, description, if kind == "integer" { Kind::Whole } else { Kind::Number });
    let moment = match format {
        Some(Format::Unix) => Some(MOMENT),
        Some(Format::UnixMillis) => Some(MOMENT * 1000),
        _ => None,
    };
    let mut found: Vec<Value> = moment.map(Value::from).into_iter().collect();
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let step = bound("multipleOf").filter(|it| *it > 0.0);
    let least = bound("minimum").or_else(|| bound("exclusiveMinimum"));
    let most = bound("maximum").or_else(|| bound("exclusiveMaximum"));
    let middle = least.zip(most).map(|(least, most)| least + (most - least) / 2.0);
    let onward = step.zip(least).map(|(step, least)| (least / step).floor() * step);
    let shown = examples(description).into_iter().filter_map(|it| it.parse().ok());
    let near = |edge: Option<f64>, by: f64| edge.map(|edge| edge + by);
    let tried = shown.chain(
        [Some(1.0), least, near(least, 1.0), step, onward, near(onward, step.unwrap_or(1.0))]
            .into_iter()
            .flatten(),
    );
    let tried = tried
        .chain([middle.map(f64::floor), middle, most, near(most, -1.0), Some(0.0)].into_iter().flatten());
    #[expect(clippy::cast_possible_truncation, reason = "only whole numbers that fit are cast")]
    found.extend(tried.map(|it: f64| {
        let is_exact = it.fract() == 0.0 && it.abs() < MOMENT as f64 * 1e6;
        if is_exact { Value::from(it as i64) } else { Value::from(it) }
    }));
    found
}

/// What is filled in only where somebody says so is off in an example.
fn flags(name: &str) -> [Value; 2] {
    let is_guarded = is_guarded(name);
    [Value::Bool(!is_guarded), Value::Bool(is_guarded)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(schema: Value) -> String {
        let form = Form::new(("t", ""), schema);
        form.sample().map_or_else(|| "none".to_owned(), |sample| Value::Object(sample).to_string())
    }

    #[test]
    fn r3_an_example_call_has_what_is_required_with_the_values_that_a_schema_shows() {
        let schema = json!({
            "type": "object",
            "properties": {
                "issue_key": {"type": "string", "description": "Key of an issue (e.g. 'PROJ-123')"},
                "mode": {"enum": ["add", "remove"]},
                "limit": {"type": "integer", "minimum": 5, "multipleOf": 4},
                "since": {"type": "string", "format": "date"},
                "force": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string", "minLength": 6}, "minItems": 2, "uniqueItems": true},
                "who": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/person"}]},
                "never": {"type": "string"},
            },
            "required": ["issue_key", "mode", "limit", "since", "force", "tags", "who"],
            "$defs": {"person": {"type": "object", "properties": {"email": {"type": "string"}}, "required": ["email"]}},
        });
        insta::assert_snapshot!(sample(schema), @r#"{"issue_key":"PROJ-123","mode":"add","limit":8,"since":"2026-01-31","force":false,"tags":["tags t","tags 2"],"who":null}"#);
    }

    #[test]
    fn r3_alternatives_conditions_and_dependencies_are_kept() {
        insta::assert_snapshot!(sample(json!({
            "properties": {"url": {"type": "string"}, "path": {"type": "string"}},
            "oneOf": [{"required": ["path"]}, {"required": ["url"]}],
        })), @r#"{"path":"/path/to/file"}"#);
        insta::assert_snapshot!(sample(json!({
            "allOf": [{"properties": {"kind": {"const": "a"}}, "required": ["kind"]}],
            "if": {"properties": {"kind": {"const": "a"}}}, "then": {"required": ["size"]},
            "properties": {"size": {"type": "number", "exclusiveMinimum": 1, "maximum": 2}},
        })), @r#"{"size":2,"kind":"a"}"#);
        insta::assert_snapshot!(sample(json!({
            "required": ["card"], "dependentRequired": {"card": ["holder"]}, "minProperties": 3,
            "properties": {"card": {"pattern": "^\\d{4}$"}, "holder": {"maxLength": 3, "type": "string"}, "note": {"type": "boolean"}},
        })), @r#"{"card":"1111","holder":"hol","note":true}"#);
    }

    #[test]
    fn r3_there_is_no_example_of_what_nothing_fits_or_what_never_ends() {
        let nothing = json!({"properties": {"a": {"type": "string", "pattern": "("}}, "required": ["a"]});
        let endless = json!({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]});
        let broad = json!({
            "$defs": {"n": {"anyOf": [{"$ref": "#/$defs/m"}, {"$ref": "#/$defs/m"}], "not": {}},
                "m": {"properties": {"a": {"$ref": "#/$defs/n"}, "b": {"$ref": "#/$defs/n"}}, "required": ["a", "b"]}},
            "properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"],
        });
        assert_eq!([nothing, endless, broad].map(sample), ["none", "none", "none"]);
        assert_eq!(sample(json!({})), "{}");
    }
}
