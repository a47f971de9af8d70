//! A tool's input schema as a form: the fields that can be filled in, however deep they lie.
//!
//! Reading a schema is costly; [`Catalog::form`](crate::catalog::Catalog::form) reads each tool's once.

mod format; //  texts that have a format
mod check; //   whether a value fits a schema
mod example; // examples in descriptions
mod bound; //   which end of a range a field takes
mod compile; // a schema becomes fields
mod need; //    what is needed beside what is required
mod signature; // a form as one line
mod pattern; // texts that fit a pattern
mod sample; //  arguments for an example

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::text::{terms, with_terms};
use crate::tool::json::{Members, nesting};
use crate::tool::vocabulary::vocabulary;
use crate::tool::words::{in_words, words};
use crate::tool::{Tool, clean};

pub(crate) use bound::Bound;
pub use check::is_of_type;
pub(crate) use format::{is_email, is_uri, is_uuid, is_zone};

/// A tool's input schema, read for being filled in.
#[derive(Clone, Debug)]
pub struct Form {
    schema: Value,
    fields: Vec<Field>,
    /// The words of the tool's own name and description, as terms.
    pub(crate) tool_terms: Vec<String>,
    /// The terms of the name of its server.
    pub(crate) server_terms: Vec<String>,
    /// The words of the tool's own name, as terms.
    pub(crate) tool_name_terms: Vec<String>,
}

/// One value that a form asks for.
#[derive(Clone, Debug)]
pub struct Field {
    /// Where it lies: the parameter's name, then the names below it.
    pub path: Vec<String>,
    /// Whether the form is incomplete without it.
    pub is_required: bool,
    /// What the schema says about it, without its enclosing lists.
    pub description: String,
    /// The values that are allowed, where they are listed.
    pub choices: Vec<Value>,
    pub(crate) kind: Kind,
    /// Whether the value is a list, which has values of its kind.
    pub is_list: bool,
    pub(crate) format: Option<Format>,
    pub(crate) default: Option<Value>,
    /// The schema of the whole value.
    pub(crate) schema: Value,
    /// For each name of the path, whether there is a list of objects.
    pub(crate) lists: Vec<bool>,
    /// The words of its own name, of its title and description, and of the names above it, as terms.
    pub(crate) name_terms: Vec<String>,
    pub(crate) description_terms: Vec<String>,
    pub(crate) parent_terms: Vec<String>,
    /// The values that its description gives as examples.
    pub(crate) examples: Vec<String>,
    /// Which end of a range or of a way it takes, by its name.
    pub(crate) bound: Option<Bound>,
}

/// What kind of value is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Text,
    Whole,
    Number,
    Flag,
    Object,
    Any,
}

/// The format that a value is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Format {
    Date,
    DateTime,
    Time,
    /// A length of time, as `PT45M`.
    Duration,
    /// Seconds since 1970, and the thousandth part of it.
    Unix,
    UnixMillis,
    Email,
    Uri,
    Uuid,
    Other,
}

/// A value that is needed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Missing {
    /// Where it lies, such as `filter.city`.
    pub name: String,
    /// What the schema says about it.
    pub description: String,
    /// The values that are allowed, where they are listed.
    pub choices: Vec<Value>,
    /// The type that the schema names, such as `string`, or `array` for a list.
    pub kind: &'static str,
}

/// Deeper definitions are not read.
const MAX_NESTING: usize = 100;
const MAX_TOOL_TERMS: usize = 80;
/// The last words of the names of fields that take time zones, as terms.
static ZONES: LazyLock<HashSet<String>> = LazyLock::new(|| with_terms(&vocabulary().parameters.zones));
/// The last words of the names of fields that take paths, as terms.
static PLACES: LazyLock<HashSet<String>> = LazyLock::new(|| with_terms(&vocabulary().parameters.places));
/// Characters of a description that are shown.
const MAX_SHOWN: usize = 500;
/// Schemas inside schemas whose values are gathered.
const MAX_LITERAL_DEPTH: usize = 8;

impl Form {
    /// Reads the form of a tool.
    pub fn of(tool: &Tool) -> Self {
        let schema = Members::of(&tool.definition)
            .and_then(|definition| definition.get("inputSchema"))
            .filter(|schema| nesting(schema) <= MAX_NESTING)
            .and_then(|schema| serde_json::from_str(schema.get()).ok());
        let schema = schema.unwrap_or_else(|| Value::Object(Map::new()));
        Self::new((&tool.name, &tool.description), schema).of_server(&tool.server)
    }

    /// Reads a schema that belongs to what has this name and description.
    pub fn new((name, description): (&str, &str), schema: Value) -> Self {
        Self {
            fields: compile::fields(&schema),
            tool_terms: terms(&format!("{name} {}", unquoted(description)), MAX_TOOL_TERMS),
            tool_name_terms: terms(name, MAX_TOOL_TERMS),
            server_terms: Vec::new(),
            schema,
        }
    }

    /// Returns it as the form of a tool of a server, whose name is no value.
    #[must_use]
    pub fn of_server(self, server: &str) -> Self {
        Self { server_terms: terms(server, MAX_TOOL_TERMS), ..self }
    }

    /// Returns the form without some of its parameters, whose values come from elsewhere.
    pub fn without(&self, names: &[&str]) -> Self {
        let mut form = self.clone();
        form.fields.retain(|field| !names.contains(&field.parameter()));
        if let Some(required) = form.schema.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| !name.as_str().is_some_and(|name| names.contains(&name)));
        }
        form
    }

    /// Returns the fields in the order of the schema.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Returns the fields of one parameter.
    pub fn of_parameter(&self, name: &str) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(move |field| field.path[0] == name)
    }

    /// Returns the field that another one repeats: some tools want what they destroy to be named twice, as `path` and
    /// `confirmPath`.
    pub(crate) fn repeated_by(&self, field: &Field) -> Option<usize> {
        let [name] = field.path.as_slice() else { return None };
        let named: Vec<String> = words(name).map(str::to_lowercase).collect();
        let (_, rest) =
            named.split_first().filter(|(first, rest)| *first == "confirm" && !rest.is_empty())?;
        self.fields.iter().position(|it| {
            it.path.len() == 1 && words(it.parameter()).map(str::to_lowercase).eq(rest.iter().cloned())
        })
    }

    /// Whether one of its fields has this term in its name or its description.
    pub(crate) fn has_term(&self, term: &String) -> bool {
        self.fields
            .iter()
            .any(|field| field.name_terms.contains(term) || field.description_terms.contains(term))
    }

    /// Whether arguments fit the schema in every respect.
    pub fn admits(&self, arguments: &Map<String, Value>) -> bool {
        check::fits(&self.schema, &self.schema, &Value::Object(arguments.clone()))
    }

    /// Whether a value fits where a field lies.
    pub(crate) fn takes(&self, field: &Field, value: &Value) -> bool {
        check::fits(&self.schema, &field.schema, value)
    }

    /// Whether the arguments that are there fit, whatever else may be needed.
    pub fn admits_part(&self, arguments: &Map<String, Value>) -> bool {
        arguments.iter().all(|(name, value)| match self.schema_of(name) {
            Some(property) => check::fits(&self.schema, property, value),
            None => self.takes_others(),
        })
    }

    /// Whether everything in the schema is understood, so that what does not fit is wrong for certain.
    pub fn is_judged(&self) -> bool {
        check::is_judged(&self.schema)
    }

    /// Returns the names of the parameters that the schema requires.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        let root = check::resolved(&self.schema, &self.schema);
        root["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
    }

    /// Returns the default of a parameter, where the schema has one.
    pub fn default_of(&self, name: &str) -> Option<&Value> {
        let property = self.schema_of(name)?;
        property.get("default").or_else(|| check::resolved(&self.schema, property).get("default"))
    }

    /// Whether the schema has a parameter of this name.
    pub fn has(&self, name: &str) -> bool {
        self.schema_of(name).is_some()
    }

    /// Returns a value in the type that a parameter takes, where only the spelling differs: `"7"` for a number, `7` for a
    /// text. What fits, or fits neither way, stays as it is.
    pub fn retyped(&self, name: &str, value: Value) -> Value {
        let Some(schema) = self.schema_of(name).and_then(Value::as_object) else { return value };
        if is_of_type(schema, &value) {
            return value;
        }
        let other = match &value {
            Value::String(text) => serde_json::from_str(text).ok(),
            Value::Number(_) | Value::Bool(_) => Some(Value::from(value.to_string())),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        };
        other.filter(|other| is_of_type(schema, other)).unwrap_or(value)
    }

    /// Returns the schema of a parameter.
    pub fn schema_of(&self, name: &str) -> Option<&Value> {
        check::resolved(&self.schema, &self.schema).get("properties")?.get(name)
    }

    /// Returns a schema for some of the parameters alone, each of which may be `null`.
    ///
    /// What is said about them is made safe to show and cut; a value is still judged by the whole schema.
    pub(crate) fn part(&self, names: &[&str]) -> Value {
        let mut properties = Map::new();
        for name in names {
            let own = self.schema_of(name).map_or_else(|| Value::Object(Map::new()), shown);
            properties.insert((*name).to_owned(), json!({ "anyOf": [own, { "type": "null" }] }));
        }
        let mut part = json!({
            "type": "object", "properties": properties, "required": names, "additionalProperties": false,
        });
        for key in ["$defs", "definitions"] {
            let is_used = part.to_string().contains(&format!("\"#/{key}/"));
            if let Some(definitions) = self.schema.get(key).filter(|_| is_used) {
                part[key] = shown(definitions);
            }
        }
        part
    }

    /// Returns the values that the schema of a parameter itself names: choices, constants, defaults.
    pub(crate) fn literals(&self, name: &str) -> Vec<&Value> {
        let mut found = Vec::new();
        if let Some(property) = self.schema_of(name) {
            gather_literals(&self.schema, property, MAX_LITERAL_DEPTH, &mut found);
        }
        found
    }

    fn takes_others(&self) -> bool {
        check::resolved(&self.schema, &self.schema).get("additionalProperties") != Some(&Value::Bool(false))
    }
}

impl Field {
    /// Returns the parameter that it belongs to.
    pub fn parameter(&self) -> &str {
        &self.path[0]
    }

    /// Returns its own name, without those above it.
    pub(crate) fn name(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    /// Returns its name in plain words, with those above it.
    pub(crate) fn spoken(&self) -> String {
        in_words(&self.path)
    }

    /// Whether it is yes or no.
    pub fn is_flag(&self) -> bool {
        self.kind == Kind::Flag
    }

    /// Returns where it lies, as people write it: `filter.city`.
    pub fn place(&self) -> String {
        self.path.join(".")
    }

    /// Returns what is asked where it has no value.
    pub fn missing(&self) -> Missing {
        Missing {
            name: self.place(),
            description: self.description.clone(),
            choices: self.choices.clone(),
            kind: if self.is_list { "array" } else { self.type_name() },
        }
    }

    /// The type that its schema names for one value.
    pub fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Text => "string",
            Kind::Whole => "integer",
            Kind::Number => "number",
            Kind::Flag => "boolean",
            Kind::Object => "object",
            Kind::Any => "any",
        }
    }

    /// Whether it takes a path, by its name.
    pub(crate) fn is_for_paths(&self) -> bool {
        PLACES.contains(self.head())
    }

    /// Whether it says where something new goes or what it becomes, by its name.
    pub(crate) fn is_for_results(&self) -> bool {
        words(self.name()).any(|word| vocabulary().parameters.results.contains(&word.to_lowercase()))
    }

    /// Whether it is filled in only where somebody says so in plain words: `force`, `dry_run`, `password`.
    pub(crate) fn is_guarded(&self) -> bool {
        is_guarded(self.name())
    }

    /// Whether it takes a time zone, by its name.
    pub(crate) fn is_for_zones(&self) -> bool {
        ZONES.contains(self.head())
    }

    /// Whether it takes time zones by their names alone, as its description says.
    pub(crate) fn wants_zone_names(&self) -> bool {
        let says = |word: &str| self.description.to_lowercase().contains(word);
        let is_shown = || self.examples.iter().any(|it| it.contains('/') && is_zone(it));
        self.is_for_zones() && !says("city") && (says("iana") || is_shown())
    }

    /// The last word of its name, which says what it is.
    pub(crate) fn head(&self) -> &str {
        self.name_terms.last().map_or("", String::as_str)
    }
}

fn is_guarded(name: &str) -> bool {
    words(name).any(|word| vocabulary().parameters.guarded.contains(&word.to_lowercase()))
}

/// A schema as it is shown to somebody who reads it: without long texts, and without what leads elsewhere.
fn shown(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let is_near =
                |target: &str| target.starts_with("#/$defs/") || target.starts_with("#/definitions/");
            let leads_away = |key: &str, value: &Value| key == "$ref" && !value.as_str().is_some_and(is_near);
            let kept = members.iter().filter(|(key, value)| !leads_away(key, value));
            let kept = kept.map(|(key, value)| {
                let text = value.as_str().filter(|_| matches!(key.as_str(), "description" | "title"));
                let cut = |text: &str| Value::String(clean(text).chars().take(MAX_SHOWN).collect());
                (key.clone(), text.map_or_else(|| shown(value), cut))
            });
            Value::Object(kept.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(shown).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

fn gather_literals<'a>(root: &'a Value, schema: &'a Value, depth: usize, found: &mut Vec<&'a Value>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let schema = check::resolved(root, schema);
    found.extend(schema.get("enum").and_then(Value::as_array).into_iter().flatten());
    found.extend(["const", "default"].iter().filter_map(|key| schema.get(key)));
    let listed =
        ["anyOf", "oneOf", "allOf", "prefixItems"].iter().filter_map(|key| schema.get(key)?.as_array());
    let named = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::values);
    for inner in listed.flatten().chain(named).chain(schema.get("items")) {
        gather_literals(root, inner, depth, found);
    }
}

/// A description without what it quotes: examples are what people say to a tool, not what it is.
fn unquoted(text: &str) -> String {
    let straight = text.replace(['“', '”'], "\"");
    let outside: Vec<&str> = straight.split('"').step_by(2).collect();
    outside.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_a_value_under_its_own_name_is_spelt_as_its_parameter_takes_it() {
        let properties = json!({
            "n": {"type": "integer"}, "text": {"type": "string"}, "flag": {"type": "boolean"},
            "list": {"type": "array"}, "any": {}, "either": {"type": ["string", "null"]},
        });
        let form = Form::new(("t", ""), json!({"type": "object", "properties": properties}));
        for (name, given, taken) in [
            ("n", json!("7"), json!(7)),
            ("n", json!("seven"), json!("seven")),
            ("n", json!("7.5"), json!("7.5")),
            ("text", json!(2026), json!("2026")),
            ("text", json!("2026"), json!("2026")),
            ("flag", json!("true"), json!(true)),
            ("list", json!("[1, 2]"), json!([1, 2])),
            ("list", json!(1), json!(1)),
            ("either", json!(1.50), json!("1.5")),
            ("any", json!("7"), json!("7")),
            ("unknown", json!("7"), json!("7")),
        ] {
            assert_eq!(form.retyped(name, given.clone()), taken, "{name}: {given}");
        }
    }
}
