//! How language models use the tools: what was written, over what holds otherwise.

use std::time::Duration;

use toolyard_core::turn::Bounds;

use super::super::mistake::Report;
use super::super::raw::{RawAgent, RawBinding, RawToolBudget};
use super::super::{Agent, Binding, LanguageModel, ToolBudget};

/// Puts what was written over what holds otherwise; `model_at` is where a wrong model is reported.
pub(super) fn resolve(raw: RawAgent, model_at: usize, report: &mut Report<'_>) -> Agent {
    let standard = Agent::default();
    let own = RawToolBudget { tools: raw.tools, max_tools: raw.max_tools, max_tokens: raw.max_tokens };
    let shared = budget(&own, &standard.budget);
    let timeout = raw.timeout_ms.map_or(Agent::SILENCE, Duration::from_millis);
    let how = (raw.api_key, timeout);
    Agent {
        model: raw
            .model
            .and_then(|written| LanguageModel::read(&written, how, ("agent.model", model_at), report)),
        models: raw.models.into_iter().flatten().map(|(glob, raw)| (glob, budget(&raw, &shared))).collect(),
        budget: shared,
        bounds: Bounds {
            iterations: raw.max_iterations.unwrap_or(standard.bounds.iterations),
            follow_up: raw.follow_up.unwrap_or(standard.bounds.follow_up),
            last: raw.final_prompt.unwrap_or(standard.bounds.last),
            at_limit: standard.bounds.at_limit,
        },
        system: raw.system,
        direct: raw.direct.unwrap_or(standard.direct),
        checks_values: raw.check_values.unwrap_or(standard.checks_values),
        web_fallback: raw.web_fallback.unwrap_or(standard.web_fallback),
        result_chars: raw.result_chars.unwrap_or(standard.result_chars),
        context_tokens: raw.context_tokens.unwrap_or(standard.context_tokens),
    }
}

fn budget(raw: &RawToolBudget, otherwise: &ToolBudget) -> ToolBudget {
    ToolBudget {
        binding: raw.tools.map_or(otherwise.binding, |written| match written {
            RawBinding::Likely => Binding::Likely,
            RawBinding::Toolset => Binding::Toolset,
            RawBinding::Route => Binding::Route,
            RawBinding::Search => Binding::Search,
            RawBinding::All => Binding::All,
        }),
        tools: raw.max_tools.unwrap_or(otherwise.tools),
        tokens: raw.max_tokens.unwrap_or(otherwise.tokens),
    }
}
