//! All metadata of a tool in one piece, for people and for files.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Facts, Knowledge, Note, RateLimit, chain, infer, targets};
use crate::catalog::Catalog;
use crate::lexicon::{Action, Categories};
use crate::text::terms;
use crate::tool::words::in_words;
use crate::tool::{Effect, Tool};

/// All metadata of a tool: written where somebody did, inferred where nobody did.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The name that clients of the hub use.
    pub name: String,
    /// What it does, in a sentence.
    pub description: String,
    /// What it does, as its server says.
    pub long_description: String,
    /// What it does, in a word.
    pub action: Action,
    /// What it does it to.
    pub targets: Vec<String>,
    /// Its field of use.
    pub category: String,
    /// Words to file it under.
    pub tags: Vec<String>,
    /// Words that people use for it.
    pub keywords: Vec<String>,
    /// What people want when they need it.
    pub use_cases: Vec<String>,
    /// Requests as people type them.
    pub examples: Vec<String>,
    /// What a call does to the world.
    pub effect: Effect,
    /// What it cannot do without.
    pub required_params: Vec<String>,
    /// What it takes besides.
    pub optional_params: Vec<String>,
    /// Arguments of a call, as an example; they fit its schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example_call: Option<Map<String, Value>>,
    /// Tools that usually follow.
    pub can_chain_with: Vec<String>,
    /// What people do with it and other tools, in a line each.
    pub typical_workflows: Vec<String>,
    /// Milliseconds that a call takes: measured, or as somebody wrote before any call was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_latency: Option<u64>,
    /// How often its service lets it be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
}

const KEYWORDS: usize = 12;
/// Values that a request says, and characters of one of them.
const MOST_SAID: usize = 3;
const MAX_SAID: usize = 60;

impl Metadata {
    /// Brings together what is known of a tool and what its schema and the other tools of its server say: an example
    /// call, and what usually follows.
    pub fn complete(catalog: &Catalog, knowledge: &Knowledge, position: usize) -> Self {
        let tool = &catalog.tools()[position];
        let mut known = Self::of(tool, knowledge.of(position));
        let form = catalog.form(position);
        if known.example_call.as_ref().is_none_or(|written| !form.admits(written)) {
            known.example_call = form.sample();
        }
        if known.examples.is_empty() {
            known.examples = vec![request(tool, known.example_call.as_ref())];
        }
        if known.can_chain_with.is_empty() {
            known.can_chain_with = chain::followers(catalog, knowledge, position);
        }
        if known.typical_workflows.is_empty() {
            let pair = |next: &String| format!("{}, then {next}", tool.name);
            known.typical_workflows = known.can_chain_with.iter().map(pair).collect();
        }
        known
    }

    /// Brings together what is known of a tool.
    pub fn of(tool: &Tool, facts: &Facts) -> Self {
        let empty = Note::default();
        let note = facts.note.as_deref().unwrap_or(&empty);
        let or = |written: &[String], inferred: fn(&Tool, &Facts) -> Vec<String>| {
            if written.is_empty() { inferred(tool, facts) } else { written.to_vec() }
        };
        let category = facts.category.map(|at| Categories::builtin().name(at).to_owned());
        let parameters = |required: bool| {
            let fitting = tool.parameters.iter().filter(|parameter| parameter.required == required);
            fitting.map(|parameter| parameter.name.clone()).collect()
        };
        Self {
            name: tool.id.as_str().to_owned(),
            description: infer::first_sentence(&tool.description).to_owned(),
            long_description: tool.description.clone(),
            action: facts.action,
            targets: targets(tool, facts),
            category: category.unwrap_or_default(),
            tags: or(&note.tags, tags),
            keywords: or(&note.keywords, |tool, _| {
                terms(&format!("{} {}", tool.name, infer::first_sentence(&tool.description)), KEYWORDS)
            }),
            use_cases: or(&note.use_cases, use_cases),
            examples: or(&note.examples, |_, _| Vec::new()),
            effect: facts.effect,
            required_params: parameters(true),
            optional_params: parameters(false),
            example_call: note.example_call.clone(),
            can_chain_with: note.chains_with.clone(),
            typical_workflows: note.typical_workflows.clone(),
            estimated_latency: note.estimated_latency,
            rate_limit: note.rate_limit,
        }
    }

    /// Returns it as the entry of a file that a person can edit.
    pub fn note(self) -> Note {
        Note {
            action: Some(self.action),
            targets: self.targets,
            category: Some(self.category).filter(|category| !category.is_empty()),
            effect: Some(self.effect),
            tags: self.tags,
            keywords: self.keywords,
            use_cases: self.use_cases,
            examples: self.examples,
            not_for: std::collections::BTreeMap::new(),
            example_call: self.example_call,
            chains_with: self.can_chain_with,
            typical_workflows: self.typical_workflows,
            estimated_latency: self.estimated_latency,
            rate_limit: self.rate_limit,
            source: None,
        }
    }
}

fn tags(tool: &Tool, facts: &Facts) -> Vec<String> {
    let mut tags = vec![facts.action.as_str().to_owned()];
    tags.extend(infer::targets(tool));
    tags.push(tool.server.to_lowercase());
    tags
}

fn use_cases(tool: &Tool, facts: &Facts) -> Vec<String> {
    let targets = infer::targets(tool).join(" ");
    let short = format!("{} {targets}", facts.action.as_str()).trim().to_owned();
    let sentence = infer::first_sentence(&tool.description);
    [short, sentence.to_owned()].into_iter().filter(|text| !text.is_empty()).collect()
}

/// Says an example call as somebody could type it. A value that only repeats the name of its parameter says nothing.
fn request(tool: &Tool, call: Option<&Map<String, Value>>) -> String {
    let said = call.into_iter().flatten().filter_map(|(name, value)| {
        let spoken = in_words(&[name]);
        match value {
            Value::String(text) if *text != spoken && text.chars().count() <= MAX_SAID => {
                Some(format!("{spoken} {text}"))
            }
            Value::Number(number) => Some(format!("{spoken} {number}")),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    });
    let said: Vec<String> = said.take(MOST_SAID).collect();
    let what = in_words(&[&tool.name]);
    if said.is_empty() { what } else { format!("{what}: {}", said.join(", ")) }
}
