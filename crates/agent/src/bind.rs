//! Which tools a model is offered for a message, and how briefly they are described.

use std::sync::Arc;

use serde_json::{Map, Value};
use toolyard_core::metadata::gist;
use toolyard_core::session::FALLBACK;
use toolyard_core::tool::{Effect, Parameters, Tool};
use toolyard_core::turn::Offer;
use toolyard_hub::config::{Agent, ToolBudget};
use toolyard_hub::hub::Supply;
use toolyard_hub::live::Snapshot;
use toolyard_hub::policy::glob_fits;

/// Bytes of one token, as budgets count them.
pub(crate) const TOKEN_BYTES: usize = 4;
/// Tools of a group of a last resort that a small model can still tell apart.
const MOST_FALLBACK: usize = 7;
/// Characters of a parameter's description that are shown.
const DESCRIPTION_CHARS: usize = 80;

/// The tools that a model is offered.
#[derive(Clone, Debug, Default)]
pub struct Bound {
    /// The tools.
    pub offers: Vec<Offer>,
    /// About how many tokens their definitions have.
    pub tokens: usize,
    /// Why these.
    pub why: String,
}

impl Bound {
    /// Returns the names of the tools that the model is shown.
    pub fn names(&self) -> Vec<String> {
        self.offers.iter().filter(|offer| offer.is_shown).map(|offer| offer.name.clone()).collect()
    }
}

/// Returns what a model of this name is given.
pub fn budget<'a>(settings: &'a Agent, model: &str) -> &'a ToolBudget {
    let fitting = settings.models.iter().find(|(glob, _)| glob_fits(glob, model));
    fitting.map_or(&settings.budget, |(_, budget)| budget)
}

/// Offers tools by name, as many as the budget allows: first texts are shortened, then the last ones are left out. Of a
/// group of a last resort there may be more, because its tools are of use together only.
pub(crate) fn offered(
    snapshot: &Snapshot,
    supply: &Supply,
    names: &[Arc<str>],
    (own, budget): (Vec<Offer>, &ToolBudget),
) -> (Vec<Offer>, usize) {
    let is_fallback = |name: &str| supply.registry.tier(name) == Some(FALLBACK);
    let mut kept: Vec<&Arc<str>> = Vec::new();
    for name in names {
        let most = if is_fallback(name) { budget.tools.max(MOST_FALLBACK) } else { budget.tools };
        if kept.len() + own.len() < most {
            kept.push(name);
        }
    }
    let define = |parameters: Parameters| -> Vec<Offer> {
        let one = |name: &&Arc<str>| snapshot.catalog.get(name).map(|tool| offer(snapshot, tool, parameters));
        own.iter().cloned().chain(kept.iter().filter_map(one)).collect()
    };
    let mut offers = define(Parameters::All);
    if tokens(&offers) > budget.tokens {
        offers = define(Parameters::Required);
    }
    while tokens(&offers) > budget.tokens && offers.len() > 1 {
        offers.pop();
    }
    let tokens = tokens(&offers);
    (offers, tokens)
}

/// Counts the tokens of definitions.
pub(crate) fn tokens(offers: &[Offer]) -> usize {
    let bytes: usize = offers.iter().map(|offer| offer.definition.to_string().len()).sum();
    bytes.div_ceil(TOKEN_BYTES)
}

/// Offers one tool, briefly described; its calls are checked against all that its schema says.
pub(crate) fn offer(snapshot: &Snapshot, tool: &Tool, parameters: Parameters) -> Offer {
    let listed = tool.listed_briefly(&gist(tool), parameters, None);
    let listed: Value = serde_json::from_str(&listed).unwrap_or_default();
    let form = toolyard_core::form::Form::of(tool);
    let only_reads = snapshot.facts(tool).map_or(tool.effect, |facts| facts.effect) == Effect::Read;
    Offer { name: tool.id.as_str().to_owned(), definition: brief(&listed), form, only_reads, is_shown: true }
}

/// Takes a definition as it is listed, without what a model does not need.
pub(crate) fn brief(listed: &Value) -> Value {
    let mut definition = Map::new();
    for key in ["name", "description"] {
        definition.insert(key.to_owned(), listed[key].clone());
    }
    definition.insert("inputSchema".to_owned(), brief_schema(&listed["inputSchema"]));
    Value::Object(definition)
}

fn brief_schema(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let is_kept = |key: &str, value: &Value| match key {
                "$schema" | "title" | "examples" | "$id" => !value.is_string() && !value.is_array(),
                "additionalProperties" => value.is_object(),
                _ => true,
            };
            let one = |(key, value): (&String, &Value)| {
                let value = match (key.as_str(), value.as_str()) {
                    ("description", Some(text)) => Value::String(shortened(text)),
                    ("enum" | "const" | "default" | "required", _) => value.clone(),
                    _ => brief_schema(value),
                };
                (key.clone(), value)
            };
            Value::Object(members.iter().filter(|(key, value)| is_kept(key, value)).map(one).collect())
        }
        Value::Array(items) => items.iter().map(brief_schema).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

fn shortened(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(DESCRIPTION_CHARS) {
        None => text,
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_keeps_what_a_model_needs() {
        let listed = json!({
            "name": "a__b", "title": "A", "description": "Does it", "annotations": { "readOnlyHint": true },
            "inputSchema": {
                "$schema": "https://json-schema.org/draft", "type": "object", "additionalProperties": false,
                "properties": {
                    "title": { "type": "string", "title": "Title", "description": "x".repeat(200) },
                    "order": { "enum": ["title"], "default": "title", "examples": ["title"] },
                },
                "required": ["title"],
            },
        });
        let expected = json!({
            "name": "a__b", "description": "Does it",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "title": { "type": "string", "description": format!("{}…", "x".repeat(80)) },
                    "order": { "enum": ["title"], "default": "title" },
                },
                "required": ["title"],
            },
        });
        assert_eq!(brief(&listed), expected);
    }
}
