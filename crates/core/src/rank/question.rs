//! The one question that settles what a request left open.

use super::{Candidate, Intent, Judgement};
use crate::catalog::Catalog;
use crate::lexicon::Action;
use crate::thresholds::thresholds;
use crate::tool::Tool;

/// The one question that settles what a request left open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inquiry {
    /// What is unclear.
    pub about: Unclear,
    /// The question, for a person.
    pub text: String,
}

/// Asks whoever left open nearly everything.
const VAGUE: &str = "What should be done, and with what?";

/// What a request left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unclear {
    /// Nearly everything.
    Task,
    /// Which of several servers that can do it.
    Server,
    /// Which of several tools.
    Tool,
}

impl Inquiry {
    pub(super) fn about(
        catalog: &Catalog,
        intent: &Intent,
        judgement: Judgement,
        candidates: &[Candidate],
    ) -> Self {
        let tool = |at: usize| candidates.get(at).map(|candidate| &catalog.tools()[candidate.position]);
        let (first, second) = (tool(0), tool(1));
        let limits = &thresholds().decision;
        let is_vague = judgement.vague >= limits.vague || intent.confidence < limits.unclear_intent;
        match (first, second) {
            (Some(first), Some(second)) if !is_vague => {
                let is_twin = candidates[1].twin_of == Some(candidates[0].position);
                if is_twin {
                    let text = format!("In {} or in {}?", title(&first.server), title(&second.server));
                    return Self { about: Unclear::Server, text };
                }
                Self { about: Unclear::Tool, text: which(first, second) }
            }
            (Some(first), None) if !is_vague => {
                Self { about: Unclear::Tool, text: format!("Do you mean: {}?", purpose(first)) }
            }
            _ => Self { about: Unclear::Task, text: what(intent).to_owned() },
        }
    }
}

/// Asks what is wanted. Only of a search is it sure what its words ask for: other verbs have many meanings.
fn what(intent: &Intent) -> &'static str {
    if intent.action == Action::Search { "What would you like to find?" } else { VAGUE }
}

fn which(first: &Tool, second: &Tool) -> String {
    let place = |tool: &Tool| {
        if first.server == second.server { String::new() } else { format!(" ({})", title(&tool.server)) }
    };
    format!("Which do you mean: {}{} or {}{}?", purpose(first), place(first), purpose(second), place(second))
}

/// A tool's purpose in a few words: what its name says, as people write it.
fn purpose(tool: &Tool) -> String {
    match &tool.title {
        Some(title) if !title.is_empty() && title.chars().count() <= 48 => title.to_lowercase(),
        _ => crate::tool::words::words(&tool.name).map(str::to_lowercase).collect::<Vec<_>>().join(" "),
    }
}

fn title(server: &str) -> String {
    let mut chars = server.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
