//! What conversations are given: what was written, over what holds otherwise.

use std::time::Duration;

use toolyard_core::session::Caps;
use toolyard_core::tool::Parameters;

use super::super::mistake::Report;
use super::super::raw::{RawBudget, RawOwnTool, RawParameters, RawToolset};
use super::super::{Activating, LanguageModel, OwnTool, Toolset};

/// How long a model may take before words decide.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Puts what was written over what holds otherwise; `model_at` is where a wrong model is reported.
pub(super) fn resolve(
    raw: RawToolset,
    otherwise: Toolset,
    model_at: usize,
    report: &mut Report<'_>,
) -> Toolset {
    let RawBudget { tools, tokens } = raw.budget.unwrap_or_default();
    let caps = otherwise.caps;
    let timeout = raw.timeout_ms.map(Duration::from_millis);
    let chooser = match raw.model {
        Some(written) => {
            let how = (raw.api_key, timeout.unwrap_or(TIMEOUT));
            LanguageModel::read(&written, how, ("toolset.model", model_at), report)
        }
        None => otherwise.chooser.map(|it| LanguageModel { timeout: timeout.unwrap_or(it.timeout), ..it }),
    };
    Toolset {
        core: raw.core.unwrap_or(otherwise.core),
        own: raw.own_tools.map_or(otherwise.own, |written| {
            let is_written = |own: &OwnTool| written.iter().any(|it| own_tool(*it) == *own);
            OwnTool::ALL.into_iter().filter(is_written).collect()
        }),
        tier: raw.tier.map_or(otherwise.tier, |tier| tier.0),
        caps: Caps {
            max_tools: raw.max_tools.unwrap_or(caps.max_tools),
            max_domains: raw.max_domains.unwrap_or(caps.max_domains),
            max_skills: raw.max_skills.unwrap_or(caps.max_skills),
            max_listed: tools.unwrap_or(caps.max_listed),
        },
        activating: match raw.auto_activate {
            Some(true) => Activating::Automatic,
            Some(false) => Activating::Asked,
            None => otherwise.activating,
        },
        tokens: tokens.or(otherwise.tokens),
        parameters: raw.parameters.map_or(otherwise.parameters, |written| match written {
            RawParameters::All => Parameters::All,
            RawParameters::Required => Parameters::Required,
        }),
        chooser,
    }
}

fn own_tool(written: RawOwnTool) -> OwnTool {
    match written {
        RawOwnTool::SmartRoute => OwnTool::SmartRoute,
        RawOwnTool::ActivateSkill => OwnTool::ActivateSkill,
        RawOwnTool::FindTools => OwnTool::FindTools,
        RawOwnTool::CallTool => OwnTool::CallTool,
    }
}
