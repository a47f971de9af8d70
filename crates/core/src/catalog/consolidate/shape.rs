//! A tool's input schema as far as it can be joined with others: named parameters beside one another.
//!
//! A schema that says more, such as which parameters exclude one another, cannot be joined without losing that.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::tool::Tool;
use crate::tool::json::{Members, nesting};

/// The parameters of one tool.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// Each parameter with its schema, in the order of the schema.
    pub(super) parameters: Vec<(String, Value)>,
    pub(super) required: Vec<String>,
    pub(super) openness: Openness,
    /// What `$ref` leads to, by name.
    pub(super) definitions: Map<String, Value>,
}

/// Whether a tool takes arguments that its schema does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Openness {
    /// It refuses them.
    Closed,
    /// The schema says nothing, which allows them.
    Unsaid,
    /// The schema says so.
    Open,
}

/// Schemas that are nested deeper are not joined.
const MAX_NESTING: usize = 60;
/// Where definitions lie.
const PLACES: [&str; 2] = ["#/$defs/", "#/definitions/"];
/// What is said about a value beside what it must be.
const REMARKS: &str = "description title default examples $comment";

impl Shape {
    /// Reads the parameters of a tool; `None` where its schema says more than that.
    pub(super) fn of(tool: &Tool) -> Option<Self> {
        let members = Members::of(&tool.definition)?;
        let schema = match members.get("inputSchema") {
            Some(schema) if nesting(schema) <= MAX_NESTING => serde_json::from_str(schema.get()).ok()?,
            Some(_) => return None,
            None => Value::Object(Map::new()),
        };
        Self::read(schema)
    }

    fn read(schema: Value) -> Option<Self> {
        let Value::Object(root) = schema else { return None };
        let mut shape = Self {
            parameters: Vec::new(),
            required: Vec::new(),
            openness: Openness::Unsaid,
            definitions: Map::new(),
        };
        for (key, value) in root {
            match (key.as_str(), value) {
                ("properties", Value::Object(each)) => shape.parameters = each.into_iter().collect(),
                ("required", Value::Array(names)) => shape.required = strings(names)?,
                ("additionalProperties", Value::Bool(false)) => shape.openness = Openness::Closed,
                ("additionalProperties", _) => shape.openness = Openness::Open,
                ("$defs" | "definitions", Value::Object(each)) => shape.definitions.extend(each),
                ("type", Value::String(kind)) if kind == "object" => {}
                ("$schema" | "title" | "description" | "$id" | "$comment", Value::String(_)) => {}
                _ => return None,
            }
        }
        for name in shape.required.clone() {
            if !shape.parameters.iter().any(|(known, _)| *known == name) {
                shape.parameters.push((name, Value::Object(Map::new())));
            }
        }
        shape.is_joinable().then_some(shape)
    }

    /// Whether its parts mean the same in another schema.
    fn is_joinable(&self) -> bool {
        let named = self.parameters.iter().map(|(_, schema)| schema).chain(self.definitions.values());
        let mut references = BTreeSet::new();
        let is_plain = named.into_iter().all(|schema| is_portable(schema, &mut references));
        is_plain && references.iter().all(|name| self.definitions.contains_key(name))
    }

    /// Returns the definitions that a schema needs, its own and those that they need in turn.
    pub(super) fn needed(&self, schema: &Value) -> Map<String, Value> {
        let mut found = Map::new();
        let mut open: Vec<&Value> = vec![schema];
        while let Some(next) = open.pop() {
            let mut references = BTreeSet::new();
            is_portable(next, &mut references);
            for name in references {
                if let Some(definition) = self.definitions.get(&name).filter(|_| !found.contains_key(&name)) {
                    open.push(definition);
                    found.insert(name, definition.clone());
                }
            }
        }
        found.sort_keys();
        found
    }

    /// Returns what a value of a parameter must be, with everything that this refers to: equal texts mean equal
    /// schemas.
    pub(super) fn essence(&self, schema: &Value) -> String {
        let needed = self.needed(schema);
        format!("{} {}", bare(schema), Value::Object(needed))
    }
}

/// Returns a schema without what is only said about it.
pub(super) fn bare(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(members) = schema.as_object_mut() {
        members.retain(|key, _| !REMARKS.split(' ').any(|remark| remark == key));
        members.sort_keys();
    }
    schema
}

/// Gives definitions other names wherever a schema refers to them; the place is `$defs`.
pub(super) fn renamed(schema: &Value, names: &dyn Fn(&str) -> String) -> Value {
    match schema {
        Value::Object(members) => {
            let each = members.iter().map(|(key, value)| match (key.as_str(), value) {
                ("$ref", Value::String(target)) => {
                    let name = PLACES.iter().find_map(|place| target.strip_prefix(place));
                    let target = name.map(|name| format!("#/$defs/{}", names(name)));
                    (key.clone(), target.map_or_else(|| value.clone(), Value::String))
                }
                ("const" | "enum" | "default" | "examples", _) => (key.clone(), value.clone()),
                ("properties", Value::Object(each)) => {
                    let each = each.iter().map(|(name, inner)| (name.clone(), renamed(inner, names)));
                    (key.clone(), Value::Object(each.collect()))
                }
                _ => (key.clone(), renamed(value, names)),
            });
            Value::Object(each.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| renamed(item, names)).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

/// Whether a value of this schema is a single one: a text, a number, a flag, or one of several of these.
pub(super) fn is_scalar(schema: &Value) -> bool {
    let is_simple = |name: &Value| !matches!(name.as_str(), Some("object" | "array") | None);
    let Some(members) = schema.as_object() else { return false };
    let branches = ["anyOf", "oneOf"].iter().find_map(|key| members.get(*key)?.as_array());
    match (members.get("type"), branches) {
        (Some(Value::Array(names)), None) => names.iter().all(is_simple),
        (Some(name), None) => is_simple(name),
        (None, Some(branches)) => branches.iter().all(is_scalar),
        (Some(_), Some(_)) => false,
        (None, None) => members.contains_key("enum") || members.contains_key("const"),
    }
}

fn strings(values: Vec<Value>) -> Option<Vec<String>> {
    values.into_iter().map(|value| value.as_str().map(str::to_owned)).collect()
}

/// Gathers the definitions that a schema refers to; whether it can stand in another document without them changing.
///
/// What depends on the version of JSON Schema cannot: lists in `items`, flags in `exclusiveMinimum`.
fn is_portable(schema: &Value, references: &mut BTreeSet<String>) -> bool {
    match schema {
        Value::Object(members) => members.iter().all(|(key, value)| match (key.as_str(), value) {
            ("$ref", Value::String(target)) => {
                let name = PLACES.iter().find_map(|place| target.strip_prefix(place));
                let name = name.filter(|name| !name.contains(['/', '%', '~']));
                references.extend(name.map(str::to_owned));
                name.is_some()
            }
            ("properties" | "patternProperties", Value::Object(each)) => {
                each.values().all(|inner| is_portable(inner, references))
            }
            ("$id" | "$anchor" | "$dynamicRef" | "$recursiveRef" | "$defs" | "definitions", _)
            | ("items", Value::Array(_))
            | ("exclusiveMinimum" | "exclusiveMaximum", Value::Bool(_)) => false,
            ("const" | "enum" | "default" | "examples", _) => true,
            _ => is_portable(value, references),
        }),
        Value::Array(items) => items.iter().all(|item| is_portable(item, references)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}
