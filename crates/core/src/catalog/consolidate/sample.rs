//! Arguments made up from a tool's schema, to see that calls come back unchanged.

use serde_json::{Map, Value, json};

use super::{Consolidated, Consolidation, OriginalCall, Resolved};
use crate::form::Form;
use crate::tool::Tool;
use crate::tool::json::Members;

/// Calls that are made up for each tool.
const CALLS: u64 = 6;
/// Schemas inside schemas that are filled in.
const MAX_DEPTH: usize = 6;
/// Steps from one reference to the next.
const MAX_REFERENCES: usize = 8;
/// Names of arguments that a new tool may take as something else, and one that nobody knows.
const HARD_NAMES: &str = "action view confirm extra items name unknown";

/// Makes up arguments for a tool. The seed 0 gives what is required alone, 1 gives everything; others vary.
pub fn sample(tool: &Tool, seed: u64) -> Map<String, Value> {
    let schema = Members::of(&tool.definition).and_then(|members| members.get("inputSchema"));
    let schema: Value = schema.and_then(|schema| serde_json::from_str(schema.get()).ok()).unwrap_or_default();
    let mut maker = Maker { root: &schema, state: seed, is_full: seed == 1, is_bare: seed == 0 };
    maker.object(&schema, MAX_DEPTH)
}

/// Returns the tools that cannot be called any more: neither by their own name nor through a new tool.
pub fn lost<'a>(consolidation: &Consolidation, tools: &'a [Tool]) -> Vec<&'a Tool> {
    let is_lost = |tool: &&Tool| match consolidation.owner(&tool.name) {
        Some(owner) => !is_kept(owner, tool),
        None => !consolidation.kept.contains(&tool.name),
    };
    tools.iter().filter(is_lost).collect()
}

/// Whether made-up calls of an original tool come back unchanged, in a form that the new tool's schema admits.
pub(super) fn is_kept(made: &Consolidated, tool: &Tool) -> bool {
    let schema = serde_json::from_str::<Value>(made.definition().get());
    let Ok(Value::Object(mut definition)) = schema else { return false };
    let form = Form::new(("", ""), definition.remove("inputSchema").unwrap_or_default());
    let original = Form::of(tool);
    (0..CALLS).all(|seed| {
        let arguments = sample(tool, seed);
        let Some(folded) = made.fold(&tool.name, &arguments) else { return false };
        let is_wrong = original.is_judged() && original.admits(&arguments) && !form.admits(&folded);
        let call = OriginalCall { tool: tool.name.clone(), arguments, is_confirmed: false };
        !is_wrong && made.resolve(&folded) == Ok(Resolved::One(call))
    })
}

struct Maker<'a> {
    root: &'a Value,
    state: u64,
    is_full: bool,
    is_bare: bool,
}

impl Maker<'_> {
    /// A step of a linear congruential generator: the same seed gives the same arguments everywhere.
    fn below(&mut self, most: usize) -> usize {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % most.max(1)
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Map<String, Value> {
        let schema = self.resolved(schema);
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = schema["properties"].as_object().cloned().unwrap_or_default();
        let mut made = Map::new();
        for (name, property) in &properties {
            let is_wanted = self.is_full || !self.is_bare && self.below(2) == 0;
            if required.contains(&name.as_str()) || is_wanted && depth > 1 {
                let value = self.value(property, depth - 1);
                made.insert(name.clone(), value);
            }
        }
        for name in required {
            made.entry(name).or_insert_with(|| json!("any"));
        }
        let is_open = schema.get("additionalProperties") != Some(&Value::Bool(false));
        if depth == MAX_DEPTH && is_open && !self.is_bare && !self.is_full && self.below(2) == 0 {
            let names: Vec<&str> = HARD_NAMES.split(' ').collect();
            let name = names[self.below(names.len())];
            made.entry(name).or_insert_with(|| json!("any"));
        }
        made
    }

    fn value(&mut self, schema: &Value, depth: usize) -> Value {
        let schema = self.resolved(schema);
        if let Some(known) = schema.get("const") {
            return known.clone();
        }
        if let Some(choices) = schema.get("enum").and_then(Value::as_array).filter(|it| !it.is_empty()) {
            return choices[self.below(choices.len())].clone();
        }
        let several = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(key)?.as_array().cloned());
        if let Some(several) = several.filter(|it| !it.is_empty() && depth > 0) {
            let at = self.below(several.len());
            return self.value(&several[at], depth - 1);
        }
        let least = |key: &str| schema.get(key).and_then(Value::as_u64).unwrap_or_default() as usize;
        let kind = match &schema["type"] {
            Value::Array(names) => names.first().and_then(Value::as_str),
            Value::String(name) => Some(name.as_str()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
        };
        match kind.unwrap_or_default() {
            "integer" | "number" => {
                schema.get("minimum").cloned().unwrap_or_else(|| json!(self.below(9) + 1))
            }
            "boolean" => json!(self.below(2) == 0),
            "null" => Value::Null,
            "array" => {
                let count = least("minItems").max(usize::from(self.is_full && depth > 0));
                let item = schema.get("items").cloned().unwrap_or_default();
                Value::Array((0..count).map(|_| self.value(&item, depth.saturating_sub(1))).collect())
            }
            "object" if depth > 0 => Value::Object(self.object(&schema, depth)),
            "object" => json!({}),
            _ => {
                let text = ["a", "some text", "2026-01-02"][self.below(3)];
                json!(format!("{text}{}", "x".repeat(least("minLength").saturating_sub(text.len()))))
            }
        }
    }

    fn resolved(&self, schema: &Value) -> Value {
        let mut at = schema.clone();
        for _ in 0..MAX_REFERENCES {
            let target = at.get("$ref").and_then(Value::as_str).and_then(|it| it.strip_prefix('#'));
            match target.and_then(|target| self.root.pointer(target)) {
                Some(next) => at = next.clone(),
                None => break,
            }
        }
        at
    }
}
