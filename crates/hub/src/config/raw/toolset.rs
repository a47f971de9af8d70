//! What conversations are given, as it is written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// 0 essential, 1 utility, 2 fallback.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
pub(in crate::config) struct Tier(#[schemars(range(min = 0, max = 2))] pub(in crate::config) u8);

/// Skills by name, or files and folders with skills.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Skills")]
pub(in crate::config) enum RawSkills {
    Written(BTreeMap<String, RawSkill>),
    Files(Vec<String>),
}

/// A set of tools with instructions.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Skill")]
pub(in crate::config) struct RawSkill {
    /// When to use the skill.
    #[schemars(length(min = 1))]
    pub(in crate::config) when: String,
    /// What a model is told when it activates the skill.
    #[serde(default)]
    pub(in crate::config) instructions: String,
    /// The tools, as `server__tool`.
    #[serde(default)]
    pub(in crate::config) tools: Vec<String>,
}

/// What conversations are given on the surface `toolset`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Toolset")]
pub(in crate::config) struct RawToolset {
    /// Tools that are always there, as `server__tool`.
    pub(in crate::config) core: Option<Vec<String>>,
    /// Which of Toolyard's own tools are listed; all by default. The others can be called all the same.
    pub(in crate::config) own_tools: Option<Vec<RawOwnTool>>,
    /// Tools up to this tier are always there; 0 by default.
    pub(in crate::config) tier: Option<Tier>,
    /// Tools of active domains at most; 10 by default.
    #[schemars(range(min = 1, max = 1000))]
    pub(in crate::config) max_tools: Option<usize>,
    /// Domains that are active at once; 3 by default.
    #[schemars(range(min = 1, max = 100))]
    pub(in crate::config) max_domains: Option<usize>,
    /// Skills that are active at once; 3 by default.
    #[schemars(range(min = 1, max = 100))]
    pub(in crate::config) max_skills: Option<usize>,
    /// Whether words that a skill is for activate it; false by default.
    pub(in crate::config) auto_activate: Option<bool>,
    /// How large the whole list may be.
    pub(in crate::config) budget: Option<RawBudget>,
    /// Which parameters of tools are listed; "all" by default.
    pub(in crate::config) parameters: Option<RawParameters>,
    /// A language model that says which domains a message is about: "ollama:MODEL", "anthropic:MODEL", or the
    /// URL of a chat endpoint with "#MODEL" at its end. The router says it by default.
    #[schemars(length(min = 1))]
    pub(in crate::config) model: Option<String>,
    /// The key that the chat endpoint wants to see.
    #[schemars(length(min = 1))]
    pub(in crate::config) api_key: Option<String>,
    /// Milliseconds that the model may take before words decide; 2000 by default.
    #[schemars(range(min = 1, max = 60_000))]
    pub(in crate::config) timeout_ms: Option<u64>,
}

/// One of Toolyard's own tools.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "OwnTool")]
pub(in crate::config) enum RawOwnTool {
    SmartRoute,
    ActivateSkill,
    FindTools,
    CallTool,
}

/// How large a list may be.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Budget")]
pub(in crate::config) struct RawBudget {
    /// Tools; 15 by default.
    #[schemars(range(min = 4, max = 1000))]
    pub(in crate::config) tools: Option<usize>,
    /// Tokens, at four bytes each; any number by default.
    #[schemars(range(min = 500, max = 10_000_000))]
    pub(in crate::config) tokens: Option<usize>,
}

/// Which parameters of tools are listed.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Parameters")]
pub(in crate::config) enum RawParameters {
    All,
    Required,
}
