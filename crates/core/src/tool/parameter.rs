//! The parameters of a tool, read from its input schema for a one-line summary.
//!
//! A schema may be wrong, hostile or huge: what cannot be read is `any`, and every walk has a bound.

use serde::Serialize;
use serde_json::value::RawValue;

use super::clean;
use super::json::{Members, items, text};

/// One parameter of a tool's input schema, as far as a one-line summary needs it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Parameter {
    /// The property's name in the schema.
    pub name: String,
    /// Whether the schema requires it.
    pub required: bool,
    /// A short type such as `string`, `integer` or `a|b|c` for an enumeration.
    pub kind: String,
}

/// More parameters than this are no summary.
const MAX_PARAMETERS: usize = 256;
/// Also stops references that lead back to themselves.
const MAX_STEPS: usize = 4;
const MAX_ALTERNATIVES: usize = 4;
const MAX_CHOICES: usize = 12;
const MAX_CHOICES_CHARS: usize = 60;
/// A definition may be referred to by every parameter and is read each time.
const MAX_SHARED_BYTES: usize = 4096;
const MAX_NAME_BYTES: usize = 128;
/// More than this says nothing new, or is there to be found by everything.
const MAX_REMARKS: usize = 24;
const MAX_REMARK_CHARS: usize = 160;
const MAX_VALUES: usize = 64;

impl Parameter {
    /// Reads the parameters of an input schema, required ones first, each group in the schema's order.
    ///
    /// A name with control or invisible characters is left out: no text for people or models may hold it.
    pub fn extract(schema: &RawValue) -> Vec<Self> {
        let Some(schema) = Members::of(schema) else { return Vec::new() };
        let Some(properties) = schema.get("properties").and_then(Members::of) else { return Vec::new() };
        let mut required: Vec<String> = schema
            .get("required")
            .and_then(|names| items(names, MAX_PARAMETERS))
            .map(|names| names.into_iter().filter_map(text).collect())
            .unwrap_or_default();
        required.sort_unstable();
        let shared = Shared(["$defs", "definitions"].map(|key| (key, schema.get(key).and_then(Members::of))));

        let mut parameters: Vec<Self> = properties
            .0
            .into_iter()
            .filter(|(name, _)| name.len() <= MAX_NAME_BYTES && is_showable(name))
            .take(MAX_PARAMETERS)
            .map(|(name, property)| {
                let required = required.binary_search(&name).is_ok();
                let Kind { words, nullable } = shared.kind(property, MAX_STEPS);
                let kind = if nullable && required { format!("{words} or null") } else { words };
                Self { name, required, kind }
            })
            .collect();
        parameters.sort_by_key(|parameter| !parameter.required);
        parameters
    }
}

/// Returns what the definition of a tool says about its parameters, for searching.
pub(crate) fn remarks(definition: &RawValue) -> Vec<String> {
    let remark = |property: Members| -> Option<String> {
        let remark = text(property.get("description")?)?;
        Some(remark.chars().take(MAX_REMARK_CHARS).collect())
    };
    properties(definition).into_iter().take(MAX_REMARKS).filter_map(remark).collect()
}

/// Returns the texts among which the definition of a tool leaves the choice, for all its parameters.
pub(crate) fn choices(definition: &RawValue) -> Vec<String> {
    let listed = |property: Members| -> Option<Vec<String>> {
        let own = property.get("enum");
        let each = || Members::of(property.get("items")?)?.get("enum");
        Some(items(own.or_else(each)?, MAX_VALUES)?.into_iter().filter_map(text).collect())
    };
    properties(definition).into_iter().take(MAX_REMARKS).filter_map(listed).flatten().collect()
}

fn properties(definition: &RawValue) -> Vec<Members<'_>> {
    let schema = Members::of(definition).and_then(|it| it.get("inputSchema")).and_then(Members::of);
    let properties = schema.and_then(|it| it.get("properties")).and_then(Members::of);
    properties.map(|it| it.0).unwrap_or_default().into_iter().filter_map(|it| Members::of(it.1)).collect()
}

fn is_showable(name: &str) -> bool {
    clean(name) == name && !name.contains(['\n', '\t'])
}

struct Kind {
    words: String,
    nullable: bool,
}

impl Kind {
    fn of(words: impl Into<String>) -> Self {
        Self { words: words.into(), nullable: false }
    }

    fn any() -> Self {
        Self::of("any")
    }

    /// Joins alternatives; `null` is not one, it only says that there may be no value.
    fn one_of(kinds: Vec<Self>) -> Self {
        let nullable = kinds.iter().any(|kind| kind.nullable || kind.words == "null");
        let mut words: Vec<String> = Vec::new();
        for kind in kinds {
            if kind.words != "null" && !words.contains(&kind.words) {
                words.push(kind.words);
            }
        }
        match words.is_empty() {
            true if nullable => Self::of("null"),
            true => Self::any(),
            false if words.len() > MAX_ALTERNATIVES || words.iter().any(|word| word == "any") => {
                Self { words: "any".to_owned(), nullable }
            }
            false => Self { words: words.join(" or "), nullable },
        }
    }
}

/// The definitions that the properties of one schema may refer to.
struct Shared<'a>([(&'static str, Option<Members<'a>>); 2]);

impl<'a> Shared<'a> {
    fn kind(&self, schema: &'a RawValue, steps: usize) -> Kind {
        let Some(steps) = steps.checked_sub(1) else { return Kind::any() };
        let Some(schema) = Members::of(schema) else { return Kind::any() };
        if let Some(target) = schema.get("$ref").and_then(text) {
            return self.referred(&target).map_or_else(Kind::any, |target| self.kind(target, steps));
        }
        if let Some(choices) = schema.get("enum") {
            return choices_kind(choices);
        }
        if let Some(value) = schema.get("const") {
            return Kind::of(choice(value));
        }
        let alternatives =
            ["anyOf", "oneOf"].iter().find_map(|key| items(schema.get(key)?, MAX_ALTERNATIVES + 2));
        if let Some(alternatives) = alternatives {
            return Kind::one_of(alternatives.into_iter().map(|schema| self.kind(schema, steps)).collect());
        }
        if let Some([only]) = schema.get("allOf").and_then(|all| items(all, 2)).as_deref() {
            return self.kind(only, steps);
        }
        let Some(kind) = schema.get("type") else {
            return if schema.get("properties").is_some() { Kind::of("object") } else { Kind::any() };
        };
        match text(kind) {
            Some(name) => self.named(&name, &schema, steps),
            None => {
                let names = items(kind, MAX_ALTERNATIVES + 2).unwrap_or_default();
                let names = names.into_iter().filter_map(text);
                Kind::one_of(names.map(|name| self.named(&name, &schema, steps)).collect())
            }
        }
    }

    fn named(&self, name: &str, schema: &Members<'a>, steps: usize) -> Kind {
        match name {
            "array" => match schema.get("items") {
                Some(each) => {
                    let each = self.kind(each, steps).words;
                    if each == "any" { Kind::of("array") } else { Kind::of(format!("array of {each}")) }
                }
                None => Kind::of("array"),
            },
            "string" | "integer" | "number" | "boolean" | "object" | "null" => Kind::of(name),
            _ => Kind::any(),
        }
    }

    /// Follows `#/$defs/Name`; other references need a whole schema reader.
    fn referred(&self, target: &str) -> Option<&'a RawValue> {
        let (place, name) = target.strip_prefix("#/")?.split_once('/')?;
        let (_, definitions) = self.0.iter().find(|(key, _)| *key == place)?;
        definitions.as_ref()?.get(name).filter(|schema| schema.get().len() <= MAX_SHARED_BYTES)
    }
}

fn choices_kind(choices: &RawValue) -> Kind {
    let Some(values) = items(choices, MAX_CHOICES + 1) else { return Kind::any() };
    let nullable = values.iter().any(|value| value.get() == "null");
    let mut words = String::new();
    for (at, value) in values.into_iter().filter(|value| value.get() != "null").enumerate() {
        let next = choice(value);
        let parted = if at == 0 { "" } else { "|" };
        if at == MAX_CHOICES || words.len() + parted.len() + next.len() > MAX_CHOICES_CHARS {
            words.push_str(parted);
            words.push('…');
            break;
        }
        words.push_str(parted);
        words.push_str(&next);
    }
    if words.is_empty() { Kind::of("any") } else { Kind { words, nullable } }
}

/// One allowed value as a person would write it.
fn choice(value: &RawValue) -> String {
    let written = text(value).unwrap_or_else(|| value.get().to_owned());
    let shown = if is_showable(&written) { written } else { clean(&written).replace(['\n', '\t'], " ") };
    if shown.len() > MAX_CHOICES_CHARS { "…".to_owned() } else { shown }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn required_parameters_come_first_and_each_has_a_short_kind() {
        insta::assert_snapshot!(summary(r##"{
            "type": "object",
            "properties": {
                "limit": {"type": "integer", "default": 10},
                "path": {"type": "string"},
                "mode": {"enum": ["r", "w", null]},
                "level": {"enum": [1, 2.50, true]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "rows": {"type": "array", "items": {"type": "array", "items": {}}},
                "since": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
                "until": {"type": ["string", "null"]},
                "id": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
                "options": {"properties": {}},
                "colour": {"$ref": "#/$defs/Colour"},
                "fixed": {"const": "yes"},
                "whatever": true
            },
            "required": ["path", "until", "missing"],
            "$defs": {"Colour": {"type": "string", "enum": ["red", "green"]}}
        }"##), @r"
        path* string
        until* string or null
        limit integer
        mode r|w
        level 1|2.50|true
        tags array of string
        rows array of array
        since string
        id string or integer
        options object
        colour red|green
        fixed yes
        whatever any
        ");
    }

    #[test]
    fn a_long_enumeration_is_cut() {
        let many: Vec<String> = (0..500).map(|at| format!("choice-{at}")).collect();
        let schema = serde_json::json!({"properties": {"x": {"enum": many}}});
        insta::assert_snapshot!(summary(&schema.to_string()), @"x choice-0|choice-1|choice-2|choice-3|choice-4|choice-5|…");
    }

    #[test]
    fn odd_schemas_give_any_or_nothing() {
        assert_eq!(summary(r#"{"properties": 7}"#), "");
        assert_eq!(summary("[]"), "");
        assert_eq!(summary(r#"{"properties": {"a": 1, "b": {"type": 5}}, "required": "a"}"#), "a any\nb any");
        assert_eq!(summary(r#"{"properties": {"a": {"type": "str\u001b[1m"}, "b\u200b": {}}}"#), "a any");
        assert_eq!(
            summary(r#"{"properties": {"a": {"enum": []}, "b": {"anyOf": []}, "c": {"type": "null"}}}"#),
            "a any\nb any\nc null"
        );
    }

    #[test]
    fn a_schema_that_refers_to_itself_or_never_ends_is_cut_short() {
        let looped = r##"{"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}]}}}"##;
        assert_eq!(summary(looped), "a any");
        let deep = r#"{"type":"array","items":"#.repeat(100_000) + "{}" + &"}".repeat(100_000);
        assert_eq!(
            summary(&format!(r#"{{"properties":{{"a":{deep}}}}}"#)),
            "a array of array of array of array"
        );
    }

    #[test]
    fn what_can_be_chosen_is_read() {
        let definition = r#"{"inputSchema": {"properties": {
            "unit": {"enum": ["celsius", "fahrenheit", 3, null]},
            "days": {"type": "array", "items": {"enum": ["monday"]}},
            "free": {"type": "string", "description": "anything"},
            "broken": {"enum": "no list"}, "none": true}}}"#;
        let definition = RawValue::from_string(definition.to_owned()).expect("JSON");
        assert_eq!(choices(&definition), ["celsius", "fahrenheit", "monday"]);
        assert_eq!(remarks(&definition), ["anything"]);
        let nothing = RawValue::from_string("[]".to_owned()).expect("JSON");
        assert!(choices(&nothing).is_empty());
    }

    proptest! {
        #[test]
        fn no_schema_panics(words in proptest::collection::vec(prop::sample::select(vec![
            "{", "}", "[", "]", ":", ",", "1", "null", "\"properties\"", "\"type\"", "\"anyOf\"", "\"enum\"", "\"items\"",
            "\"$ref\"", "\"#/$defs/a\"", "\"$defs\"", "\"a\"", "\"required\"", "\"array\"", "{\"a\":{\"type\":", "}}",
        ]), 0..40)) {
            if let Ok(schema) = RawValue::from_string(words.concat()) {
                Parameter::extract(&schema);
            }
        }
    }

    fn summary(schema: &str) -> String {
        let schema = RawValue::from_string(schema.to_owned()).unwrap();
        let lines = Parameter::extract(&schema).into_iter().map(|it| {
            let star = if it.required { "*" } else { "" };
            format!("{}{star} {}", it.name, it.kind)
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}
