//! Fields as JSON Schema: what a caller sends, what a caller is shown, and what items can be filtered by.

use serde_json::{Value, json};

use super::entity::{Entity, EntityField, FieldKind, Presence};
use crate::tool::record;

/// Texts, texts in lists, and lists are at most this long.
const LONGEST_TEXT: usize = 20_000;
const LONGEST_NAME: usize = 200;
const MOST_TEXTS: usize = 50;

/// One argument of a query that looks at a field.
#[derive(Clone, Debug)]
pub(super) struct FieldFilter<'e> {
    pub(super) name: String,
    pub(super) field: &'e EntityField,
    pub(super) test: FieldTest,
}

/// How a filter compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldTest {
    /// The same value; for texts, a part of it.
    Is,
    /// At or above a number.
    Min,
    /// At or below a number.
    Max,
    /// Earlier than a time.
    Before,
    /// Later than a time.
    After,
}

/// Returns every filter of a query, field by field.
pub(super) fn filters(entity: &Entity) -> Vec<FieldFilter<'_>> {
    let mut filters = Vec::new();
    for field in &entity.fields {
        let ranges: &[(&str, FieldTest)] = match &field.kind {
            FieldKind::Integer { .. } | FieldKind::Number { .. } => {
                &[("_min", FieldTest::Min), ("_max", FieldTest::Max)]
            }
            FieldKind::Date | FieldKind::DateTime { .. } => {
                &[("_before", FieldTest::Before), ("_after", FieldTest::After)]
            }
            FieldKind::Text
            | FieldKind::Boolean
            | FieldKind::Enum(_)
            | FieldKind::Texts
            | FieldKind::Reference(_) => &[],
        };
        for (suffix, test) in [("", FieldTest::Is)].iter().chain(ranges) {
            filters.push(FieldFilter { name: format!("{}{suffix}", field.name), field, test: *test });
        }
    }
    filters
}

impl FieldFilter<'_> {
    /// Returns the schema of the filter's value.
    pub(super) fn schema(&self) -> Value {
        let name = &self.field.name;
        let mut schema = sent(&self.field.kind);
        let description = match (self.test, &self.field.kind) {
            (FieldTest::Is, FieldKind::Text) => format!("Only where `{name}` has this text, in any case."),
            (FieldTest::Is, FieldKind::Texts) => format!("Only where `{name}` has all of these."),
            (FieldTest::Is, FieldKind::Reference(_)) => format!("Only with this `{name}`, slug or title."),
            (FieldTest::Is, FieldKind::Date | FieldKind::DateTime { .. }) => {
                format!("Only with `{name}` on this day or at this time.")
            }
            (FieldTest::Is, _) => format!("Only with this `{name}`."),
            (FieldTest::Min, _) => format!("Only with a `{name}` of at least this."),
            (FieldTest::Max, _) => format!("Only with a `{name}` of at most this."),
            (FieldTest::Before, _) => format!("Only with `{name}` before this, which is not included."),
            (FieldTest::After, _) => format!("Only with `{name}` after this, which is not included."),
        };
        schema["description"] = description.into();
        if schema["enum"].is_null() {
            schema["examples"] = examples(self.field);
        }
        schema
    }
}

/// Returns the schema of an item to create.
pub(super) fn new_item(entity: &Entity) -> Value {
    let mut properties = json!({});
    for field in &entity.fields {
        properties[&field.name] = described(field, Nullable::No);
    }
    let required: Vec<&String> = entity
        .fields
        .iter()
        .filter(|field| field.presence == Presence::Required)
        .map(|field| &field.name)
        .collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// Returns the schema of a field that is to change; `null` clears it, or puts its default back.
pub(super) fn change(field: &EntityField) -> Value {
    let nullable = match field.presence {
        Presence::Required => Nullable::No,
        Presence::Optional | Presence::Default(_) => Nullable::Yes,
    };
    described(field, nullable)
}

/// Returns the schema of an item as it is shown.
pub(super) fn shown_item(entity: &Entity) -> Value {
    let mut properties = json!({
        "slug": { "type": "string", "description": "Names the item for good." },
    });
    for field in &entity.fields {
        properties[&field.name] = shown_field(field);
    }
    properties["created"] = json!({ "type": "string", "description": "When it was created, ISO 8601." });
    properties["changed"] = json!({ "type": "string", "description": "When it was last changed, ISO 8601." });
    properties["deleted"] = json!({ "type": "boolean", "description": "Whether it is deleted." });
    record(&properties)
}

/// Returns the schema of a field as it is shown. An item can be older than the declaration and have none.
fn shown_field(field: &EntityField) -> Value {
    let mut schema = match &field.kind {
        FieldKind::Text | FieldKind::Date | FieldKind::DateTime { .. } | FieldKind::Reference(_) => {
            json!({ "type": "string" })
        }
        FieldKind::Integer { .. } => json!({ "type": "integer" }),
        FieldKind::Number { .. } => json!({ "type": "number" }),
        FieldKind::Boolean => json!({ "type": "boolean" }),
        FieldKind::Enum(choices) => json!({ "type": "string", "enum": choices }),
        FieldKind::Texts => return json!({ "type": "array", "items": { "type": "string" } }),
    };
    allow_null(&mut schema);
    schema
}

/// Returns the schema of what a caller sends for a field of this kind.
pub(super) fn sent(kind: &FieldKind) -> Value {
    match kind {
        FieldKind::Text => json!({ "type": "string", "maxLength": LONGEST_TEXT }),
        FieldKind::Integer { minimum, maximum } => {
            let mut schema = json!({ "type": "integer" });
            set(&mut schema, "minimum", minimum.map(Value::from));
            set(&mut schema, "maximum", maximum.map(Value::from));
            schema
        }
        FieldKind::Number { minimum, maximum } => {
            let mut schema = json!({ "type": "number" });
            set(&mut schema, "minimum", minimum.clone().map(Value::Number));
            set(&mut schema, "maximum", maximum.clone().map(Value::Number));
            schema
        }
        FieldKind::Boolean => json!({ "type": "boolean" }),
        FieldKind::Date | FieldKind::DateTime { .. } | FieldKind::Reference(_) => {
            json!({ "type": "string", "minLength": 1, "maxLength": LONGEST_NAME })
        }
        FieldKind::Enum(choices) => json!({ "type": "string", "enum": choices }),
        FieldKind::Texts => json!({
            "type": "array",
            "items": { "type": "string", "minLength": 1, "maxLength": LONGEST_NAME },
            "maxItems": MOST_TEXTS,
        }),
    }
}

/// Returns examples of what can be sent for a field.
pub(super) fn examples(field: &EntityField) -> Value {
    if !field.examples.is_empty() {
        return json!(field.examples);
    }
    match &field.kind {
        FieldKind::Text => json!(["some text"]),
        FieldKind::Integer { minimum, .. } => json!([minimum.unwrap_or(1)]),
        FieldKind::Number { minimum: Some(minimum), .. } => json!([minimum]),
        FieldKind::Number { minimum: None, .. } => json!([1.5]),
        FieldKind::Boolean => json!([true]),
        FieldKind::Date => json!(["2026-11-20", "tomorrow", "next friday", "in 3 days"]),
        FieldKind::DateTime { .. } => json!(["tomorrow 9am", "next friday 17:00", "2026-11-20T17:00"]),
        FieldKind::Enum(choices) => json!([choices.first()]),
        FieldKind::Texts => json!([["home"]]),
        FieldKind::Reference(to) => json!([format!("one-of-{}", to.replace('_', "-"))]),
    }
}

/// Describes a field by its name, where the declaration does not.
pub(super) fn own_words(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Nullable {
    Yes,
    No,
}

fn described(field: &EntityField, nullable: Nullable) -> Value {
    let mut schema = sent(&field.kind);
    if field.presence == Presence::Required && field.kind == FieldKind::Text {
        schema["minLength"] = json!(1);
    }
    if nullable == Nullable::Yes {
        allow_null(&mut schema);
    }
    schema["description"] = field.description.as_str().into();
    if let Presence::Default(default) = &field.presence
        && nullable == Nullable::No
    {
        schema["default"] = default.clone();
    }
    if schema["enum"].is_null() {
        schema["examples"] = examples(field);
    }
    schema
}

fn allow_null(schema: &mut Value) {
    schema["type"] = json!([schema["type"], "null"]);
    if let Some(choices) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        choices.push(Value::Null);
    }
}

fn set(schema: &mut Value, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        schema[key] = value;
    }
}
