//! All metadata of a tool in one piece, for people and for files.

use serde::Serialize;

use super::{Facts, Note, infer};
use crate::lexicon::{Action, Categories};
use crate::text::terms;
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
    /// Tools that usually follow.
    pub can_chain_with: Vec<String>,
    /// Calls per minute that its service allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<u32>,
}

const KEYWORDS: usize = 12;

impl Metadata {
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
            can_chain_with: note.chains_with.clone(),
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
            chains_with: self.can_chain_with,
            rate_limit: self.rate_limit,
            source: None,
        }
    }
}

/// Returns what a tool acts on.
pub(crate) fn targets(tool: &Tool, facts: &Facts) -> Vec<String> {
    let written = facts.note.as_ref().map(|note| note.targets.as_slice()).unwrap_or_default();
    if written.is_empty() { infer::targets(tool) } else { written.to_vec() }
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
