//! How language models use the tools, as the settings say it.

use std::time::Duration;

use toolyard_core::turn::Bounds;

use super::LanguageModel;

/// How language models use the tools (the `agent` block).
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// The model that `toolyard chat` talks to.
    pub model: Option<LanguageModel>,
    /// What every model is given.
    pub budget: ToolBudget,
    /// What some models are given instead, by a glob over their names; the first that fits wins.
    pub models: Vec<(String, ToolBudget)>,
    /// What the model is told after results.
    pub bounds: Bounds,
    /// What the model is told about its work; a standard text when `None`.
    pub system: Option<String>,
    /// Whether a call that the hub is sure of runs without the model.
    pub direct: bool,
    /// Whether values that nobody said are asked about before a call.
    pub checks_values: bool,
    /// Whether the lazy search or browser tools help out where nothing else fits.
    pub web_fallback: bool,
    /// Characters of one result that a model is told.
    pub result_chars: usize,
    /// Tokens of a conversation that a model is sent.
    pub context_tokens: usize,
}

impl Agent {
    /// Silence after which a model is given up. A small computer reads a long conversation for minutes.
    pub const SILENCE: Duration = Duration::from_secs(300);
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            model: None,
            budget: ToolBudget::default(),
            models: Vec::new(),
            bounds: Bounds::default(),
            system: None,
            direct: false,
            checks_values: true,
            web_fallback: true,
            result_chars: 4000,
            context_tokens: 6000,
        }
    }
}

/// What a model is given at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolBudget {
    /// Which tools.
    pub binding: Binding,
    /// How many tools at most.
    pub tools: usize,
    /// How many tokens their definitions may have.
    pub tokens: usize,
}

impl Default for ToolBudget {
    fn default() -> Self {
        Self { binding: Binding::Likely, tools: 5, tokens: 1500 }
    }
}

/// Which tools a model is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// Those that the router finds likeliest for a message.
    Likely,
    /// Those of the tiers, domains and skills that a conversation has active.
    Toolset,
    /// `smart_route` alone.
    Route,
    /// `find_tools`, `describe_tool` and `call_tool`.
    Search,
    /// All of them.
    All,
}
