//! How language models use the tools, as it is written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// How language models use the tools, in `toolyard chat` and `toolyard proxy-llm`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Agent")]
pub(in crate::config) struct RawAgent {
    /// The model: "ollama:MODEL", "anthropic:MODEL", or the URL of a chat endpoint with "#MODEL" at its end.
    #[schemars(length(min = 1))]
    pub(in crate::config) model: Option<String>,
    /// The key that the chat endpoint wants to see.
    #[schemars(length(min = 1))]
    pub(in crate::config) api_key: Option<String>,
    /// Milliseconds of silence after which the model is given up; 300000 by default.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub(in crate::config) timeout_ms: Option<u64>,
    /// Which tools the model is given; "likely" by default.
    pub(in crate::config) tools: Option<RawBinding>,
    /// How many tools at most; 5 by default.
    #[schemars(range(min = 1, max = 1000))]
    pub(in crate::config) max_tools: Option<usize>,
    /// How many tokens the definitions of these tools may have; 1500 by default.
    #[schemars(range(min = 100, max = 1_000_000))]
    pub(in crate::config) max_tokens: Option<usize>,
    /// The same for some models; the key is a name or a glob such as `qwen3:*`, the first that fits wins.
    pub(in crate::config) models: Option<BTreeMap<String, RawToolBudget>>,
    /// Replies with tool calls before the model has to answer; 2 by default.
    #[schemars(range(min = 0, max = 100))]
    pub(in crate::config) max_iterations: Option<usize>,
    /// What the model is told after results while it may call tools.
    pub(in crate::config) follow_up: Option<String>,
    /// What the model is told after the last results, without tools.
    pub(in crate::config) final_prompt: Option<String>,
    /// What the model is told about its work, instead of the standard text.
    pub(in crate::config) system: Option<String>,
    /// Whether a call that the hub is sure of runs without the model; false by default.
    pub(in crate::config) direct: Option<bool>,
    /// Whether values that nobody said are asked about before a call; true by default.
    pub(in crate::config) check_values: Option<bool>,
    /// Whether search or browser tools of tier 2 help out where nothing else fits; true by default.
    pub(in crate::config) web_fallback: Option<bool>,
    /// Characters of one result that the model is told; 4000 by default.
    #[schemars(range(min = 100, max = 10_000_000))]
    pub(in crate::config) result_chars: Option<usize>,
    /// Tokens of the conversation that the model is sent, the latest first; 6000 by default.
    #[schemars(range(min = 500, max = 10_000_000))]
    pub(in crate::config) context_tokens: Option<usize>,
}

/// What some models are given.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "ToolBudget")]
pub(in crate::config) struct RawToolBudget {
    /// Which tools.
    pub(in crate::config) tools: Option<RawBinding>,
    /// How many tools at most.
    #[schemars(range(min = 1, max = 1000))]
    pub(in crate::config) max_tools: Option<usize>,
    /// How many tokens their definitions may have.
    #[schemars(range(min = 100, max = 1_000_000))]
    pub(in crate::config) max_tokens: Option<usize>,
}

/// `likely`: those that the router finds likeliest for a message; `toolset`: those of the active tiers, domains and
/// skills; `route`: `smart_route` alone; `search`: tools that find and call others; `all`: all of them.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Binding")]
pub(in crate::config) enum RawBinding {
    Likely,
    Toolset,
    Route,
    Search,
    All,
}
