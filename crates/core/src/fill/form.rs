//! A tool's input schema as a form: the fields that can be filled in, however deep they lie.

use serde_json::{Map, Value, json};

use super::example::examples;
use super::sign::is_zone;
use super::{Missing, check};
use crate::text::{each_term, terms};
use crate::tool::json::{Members, nesting};
use crate::tool::words::words;
use crate::tool::{Tool, clean};

/// A tool's input schema, read for being filled in.
#[derive(Clone, Debug)]
pub struct Form {
    pub(super) schema: Value,
    fields: Vec<Field>,
    /// The words of the tool's own name and description, as terms.
    pub(super) about: Vec<String>,
    /// The words of its tool's name, as terms.
    pub(super) names: Vec<String>,
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
    pub(super) kind: Kind,
    /// Whether the value is a list, which has values of this kind.
    pub(super) is_list: bool,
    pub(super) format: Option<Format>,
    pub(super) default: Option<Value>,
    /// The schema of the whole value.
    pub(super) schema: Value,
    /// For each name of the path, whether there is a list of objects.
    pub(super) lists: Vec<bool>,
    /// The words of its own name, as terms; of its description, of the names above it.
    pub(super) names: Vec<String>,
    pub(super) words: Vec<String>,
    pub(super) above: Vec<String>,
}

/// What kind of value is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Text,
    Whole,
    Number,
    Flag,
    Object,
    Any,
}

/// The form that a text is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Format {
    Date,
    DateTime,
    Time,
    /// Seconds since 1970, and the thousandth part of it.
    Unix,
    UnixMillis,
    Email,
    Uri,
    Uuid,
    Other,
}

/// Fields that are looked at; a form with more of them is not filled from words.
const MAX_FIELDS: usize = 160;
/// Objects inside objects are followed this far.
const MAX_DEPTH: usize = 4;
/// Deeper definitions are not read.
const MAX_NESTING: usize = 100;
const MAX_DESCRIPTION_TERMS: usize = 60;
/// The last words of the names of fields that take time zones, as terms.
const ZONES: [&str; 4] = ["timezone", "timezon", "zone", "tz"];
/// The last words of the names of fields that take paths, as terms.
const PLACES: [&str; 9] =
    ["path", "file", "filename", "filepath", "dir", "directori", "directory", "folder", "destin"];
/// Words in the names of fields that say where something new goes.
const RESULTS: [&str; 6] = ["output", "out", "destination", "dest", "target", "save"];
const MAX_ABOUT_TERMS: usize = 80;
/// Characters of a description that are shown.
const MAX_TOLD: usize = 500;
/// A list of choices that is longer is looked at this far.
const MAX_CHOICES: usize = 400;

impl Form {
    /// Reads the form of a tool.
    pub fn of(tool: &Tool) -> Self {
        let schema = Members::of(&tool.definition)
            .and_then(|definition| definition.get("inputSchema"))
            .filter(|schema| nesting(schema) <= MAX_NESTING)
            .and_then(|schema| serde_json::from_str(schema.get()).ok());
        let schema = schema.unwrap_or_else(|| Value::Object(Map::new()));
        Self::new((&tool.name, &tool.description), schema)
    }

    /// Reads a schema that belongs to what has this name and description.
    pub fn new((name, description): (&str, &str), schema: Value) -> Self {
        let mut fields = Vec::new();
        let walk = Walk { root: &schema, path: Vec::new(), lists: Vec::new(), is_required: true };
        walk.members(&schema, MAX_DEPTH, &mut fields);
        let about = format!("{name} {}", unquoted(description));
        Self { names: terms(name, MAX_ABOUT_TERMS), about: terms(&about, MAX_ABOUT_TERMS), schema, fields }
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
    pub(super) fn has_term(&self, term: &String) -> bool {
        self.fields.iter().any(|field| field.names.contains(term) || field.words.contains(term))
    }

    /// Whether arguments fit the schema in every respect.
    pub fn admits(&self, arguments: &Map<String, Value>) -> bool {
        check::fits(&self.schema, &self.schema, &Value::Object(arguments.clone()))
    }

    /// Whether a value fits where a field lies.
    pub(super) fn takes(&self, field: &Field, value: &Value) -> bool {
        check::fits(&self.schema, &field.schema, value)
    }

    /// Whether the arguments that are there fit, whatever else may be needed.
    pub fn admits_part(&self, arguments: &Map<String, Value>) -> bool {
        arguments.iter().all(|(name, value)| match self.property(name) {
            Some(property) => check::fits(&self.schema, property, value),
            None => self.is_open(),
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
        let property = self.property(name)?;
        property.get("default").or_else(|| check::resolved(&self.schema, property).get("default"))
    }

    /// Whether the schema has a parameter of this name.
    pub fn has(&self, name: &str) -> bool {
        self.property(name).is_some()
    }

    /// Returns the schema of a parameter.
    pub fn schema_of(&self, name: &str) -> Option<&Value> {
        self.property(name)
    }

    /// Returns a schema for some of the parameters alone, each of which may be `null`.
    ///
    /// What is said about them is made safe to show and cut; a value is still judged by the whole schema.
    pub(super) fn part(&self, names: &[&str]) -> Value {
        let mut properties = Map::new();
        for name in names {
            let own = self.property(name).map_or_else(|| Value::Object(Map::new()), told);
            properties.insert((*name).to_owned(), json!({ "anyOf": [own, { "type": "null" }] }));
        }
        let mut part = json!({
            "type": "object", "properties": properties, "required": names, "additionalProperties": false,
        });
        for key in ["$defs", "definitions"] {
            let is_used = part.to_string().contains(&format!("\"#/{key}/"));
            if let Some(definitions) = self.schema.get(key).filter(|_| is_used) {
                part[key] = told(definitions);
            }
        }
        part
    }

    /// Returns the values that the schema of a parameter itself names: choices, constants, defaults.
    pub(super) fn literals(&self, name: &str) -> Vec<&Value> {
        let mut found = Vec::new();
        if let Some(property) = self.property(name) {
            gather_literals(&self.schema, property, MAX_DEPTH * 2, &mut found);
        }
        found
    }

    fn property(&self, name: &str) -> Option<&Value> {
        check::resolved(&self.schema, &self.schema).get("properties")?.get(name)
    }

    fn is_open(&self) -> bool {
        check::resolved(&self.schema, &self.schema).get("additionalProperties") != Some(&Value::Bool(false))
    }
}

impl Field {
    /// Returns the parameter that it belongs to.
    pub fn parameter(&self) -> &str {
        &self.path[0]
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

    /// Whether it takes a list.
    pub fn is_list(&self) -> bool {
        self.is_list
    }

    /// Whether it takes a path, by its name.
    pub(crate) fn is_for_paths(&self) -> bool {
        PLACES.contains(&self.head())
    }

    /// Whether it says where something new goes or what it becomes, by its name.
    pub(crate) fn is_for_results(&self) -> bool {
        let name = self.path.last().map_or("", String::as_str);
        words(name).any(|word| RESULTS.contains(&word.to_lowercase().as_str()))
    }

    /// Whether it takes a time zone, by its name.
    pub(super) fn is_for_zones(&self) -> bool {
        ZONES.contains(&self.head())
    }

    /// Whether it takes time zones by their names alone, as its description says.
    pub(super) fn wants_zone_names(&self) -> bool {
        let says = |word: &str| self.description.to_lowercase().contains(word);
        let is_shown = || examples(&self.description).iter().any(|it| it.contains('/') && is_zone(it));
        self.is_for_zones() && !says("city") && (says("iana") || is_shown())
    }

    /// The last word of its name, which says what it is.
    pub(super) fn head(&self) -> &str {
        self.names.last().map_or("", String::as_str)
    }
}

/// A schema as it is shown to somebody who reads it: without long texts, and without what leads elsewhere.
fn told(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let is_near =
                |target: &str| target.starts_with("#/$defs/") || target.starts_with("#/definitions/");
            let leads_away = |key: &str, value: &Value| key == "$ref" && !value.as_str().is_some_and(is_near);
            let shown = members.iter().filter(|(key, value)| !leads_away(key, value));
            let shown = shown.map(|(key, value)| {
                let text = value.as_str().filter(|_| matches!(key.as_str(), "description" | "title"));
                let cut = |text: &str| Value::String(clean(text).chars().take(MAX_TOLD).collect());
                (key.clone(), text.map_or_else(|| told(value), cut))
            });
            Value::Object(shown.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(told).collect()),
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
        let own = self.path.last().map_or("", String::as_str);
        let said = |schema: &Value| schema.get("description").and_then(Value::as_str).map(str::to_owned);
        let description = said(property).or_else(|| said(resolved)).or_else(|| said(&shape.inner));
        let description = description.unwrap_or_default();
        let title = property.get("title").and_then(Value::as_str).unwrap_or_default();
        let mut above = Vec::new();
        for name in &self.path[..self.path.len() - 1] {
            each_term(name, &mut |term| above.push(term.to_owned()));
        }
        Field {
            names: terms(own, 8),
            words: terms(&format!("{title} {description}"), MAX_DESCRIPTION_TERMS),
            above,
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
        let mut seen = Vec::new();
        alternatives(root, property, 4, &mut seen);
        let is_null = |it: &&Value| it.get("type").and_then(Value::as_str) == Some("null");
        let listed: Vec<Value> = seen.iter().flat_map(|it| choices(it)).take(MAX_CHOICES).collect();
        // Of several forms of one value the simplest can be said in words.
        let rank = |it: &&Value| match kind(it) {
            Kind::Text | Kind::Whole | Kind::Number => 0,
            Kind::Flag => 1,
            Kind::Object if is_list(it) => 2,
            Kind::Any => 4,
            Kind::Object => 3,
        };
        let own = seen.iter().copied().filter(|it| !is_null(it)).min_by_key(rank).unwrap_or(property);
        if is_list(own) {
            let items = own.get("items").filter(|it| it.is_object()).cloned();
            let items = items.or_else(|| own.get("prefixItems").and_then(|it| it.get(0)).cloned());
            let item = items.unwrap_or(Value::Bool(true));
            let inner = Self::of_item(root, &item);
            return Self { is_list: true, ..inner };
        }
        let format = own.get("format").and_then(Value::as_str).map(format);
        Self { kind: kind(own), is_list: false, choices: listed, format, inner: own.clone() }
    }

    fn of_item(root: &Value, item: &Value) -> Self {
        let mut seen = Vec::new();
        alternatives(root, item, 3, &mut seen);
        let listed: Vec<Value> = seen.iter().flat_map(|it| choices(it)).take(MAX_CHOICES).collect();
        let own = seen.first().copied().unwrap_or(item);
        // A list of lists is not said in words.
        let kind = if is_list(own) { Kind::Any } else { kind(own) };
        let format = own.get("format").and_then(Value::as_str).map(format);
        Self { kind, is_list: false, choices: listed, format, inner: own.clone() }
    }
}

/// Gathers the schemas that a value may follow.
fn alternatives<'a>(root: &'a Value, schema: &'a Value, depth: usize, seen: &mut Vec<&'a Value>) {
    let schema = check::resolved(root, schema);
    let inner = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(key)?.as_array());
    match inner {
        Some(inner) if depth > 0 && schema.get("enum").is_none() && schema.get("properties").is_none() => {
            for each in inner.iter().take(8) {
                alternatives(root, each, depth - 1, seen);
            }
        }
        _ => seen.push(schema),
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
        _ => Format::Other,
    }
}

/// Reads from names and descriptions what many schemas do not say in `format`.
fn implied_format(name: &str, description: &str, kind: Kind) -> Option<Format> {
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
    let is_date_in_words = has("date")
        && ["since", "until", "after", "before", "start", "end", "from", "to"].contains(&name.as_str());
    if is_date_in_words && !has("time") {
        return Some(Format::Date);
    }
    let has_day = has("yyyy-mm-dd") || has("%y-%m-%d");
    let has_clock = has("hh:mm") || has("%h:%m") || has("thh");
    if has("iso 8601")
        || has("iso8601")
        || has("rfc 3339")
        || has("rfc3339")
        || has("iso format")
        || has("iso timestamp")
        || has("iso date")
    {
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
