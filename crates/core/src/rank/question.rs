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
            _ => Self { about: Unclear::Task, text: what(intent) },
        }
    }
}

fn which(first: &Tool, second: &Tool) -> String {
    let place = |tool: &Tool| {
        if first.server == second.server { String::new() } else { format!(" ({})", title(&tool.server)) }
    };
    format!("Which do you mean: {}{} or {}{}?", purpose(first), place(first), purpose(second), place(second))
}

fn what(intent: &Intent) -> String {
    let verb = match intent.action {
        Action::Search => "find",
        Action::List | Action::Read => "see",
        Action::Create => "create",
        Action::Update => "change",
        Action::Delete => "delete",
        Action::Execute => "run",
        Action::Send => "send, and to whom",
        Action::Move => "move, and where to",
        Action::Copy => "copy",
        Action::Convert => "convert, and into what",
        Action::Compute => "work out",
        Action::Compare => "compare",
        Action::Monitor => "check",
        Action::Unknown => "do",
    };
    match intent.target.as_str() {
        "" => format!("What would you like to {verb}?"),
        target => format!("What exactly about the {target} would you like to {verb}?"),
    }
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
