//! A plan from requests whose tools are chosen: what each step is given, and where from.
//!
//! What the words of a request say is known. What they leave out is carried over from an earlier step of the same
//! server, or looked for in an earlier result when that is there. What nobody has is asked for before anything runs.

mod bind;
mod name;
mod need;
mod read;
mod repeat;
mod undo;

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Input, Plan, Step};
use crate::arguments::{Filling, Form, Missing};
use crate::lexicon::Action;
use crate::task::Clause;
use crate::tool::{Effect, Tool, ToolId};

pub use read::read;
pub use repeat::repetition;
pub use undo::inverse;

/// A request, and the tool that is chosen for it.
#[derive(Clone, Debug)]
pub struct ChosenStep<'a> {
    /// The request.
    pub clause: &'a Clause,
    /// The tool.
    pub tool: &'a Tool,
    /// What the tool takes.
    pub form: &'a Form,
    /// What it does.
    pub action: Action,
    /// What a call does to the world.
    pub effect: Effect,
    /// What the words of the request fill in.
    pub filling: Filling,
    /// How long a call takes, as far as is known.
    pub estimate_ms: u64,
    /// The tool that takes it back, and what that takes.
    pub inverse: Option<(&'a Tool, &'a Form)>,
    /// Whether the values that words filled in may not be what was asked.
    pub is_unsure: bool,
}

/// What nobody has, and which step needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// The request, by its place.
    pub at: usize,
    /// The tool.
    pub tool: ToolId,
    /// The values.
    pub missing: Vec<Missing>,
}

/// Draws the plan for requests in the order in which they are done.
pub fn draw(name: &str, chosen_steps: &[ChosenStep<'_>]) -> Result<Plan, Gap> {
    let mut steps: Vec<Step> = Vec::with_capacity(chosen_steps.len());
    for (at, chosen) in chosen_steps.iter().enumerate() {
        let bound = bind::bind(chosen, &chosen_steps[..at], &steps);
        if !bound.missing.is_empty() {
            return Err(Gap { at, tool: chosen.tool.id.clone(), missing: bound.missing });
        }
        let mut step = Step {
            each: bound.each,
            retries: if chosen.effect == Effect::Read { RETRIES } else { 0 },
            estimate_ms: chosen.estimate_ms,
            words: chosen.clause.words.clone(),
            is_unsure: chosen.is_unsure,
            ..Step::new(name::name(chosen, &steps), chosen.tool.id.clone(), chosen.effect, bound.arguments)
        };
        step.after = waits(chosen, &step, &chosen_steps[..at], &steps);
        step.undo = undo::undo(chosen, &step);
        steps.push(step);
    }
    Ok(Plan::new(in_short(name), steps)
        .expect("steps use only those before them, and their names are their own"))
}

/// Cuts a long task between two words.
fn in_short(task: &str) -> String {
    let Some((cut, _)) = task.char_indices().nth(NAME_CHARS) else { return task.to_owned() };
    let end = task[..cut].rfind(char::is_whitespace).unwrap_or(cut);
    format!("{}…", task[..end].trim_end())
}

/// How often a call that only reads is tried again.
const RETRIES: u32 = 2;
/// A plan's name is a beginning of the task.
const NAME_CHARS: usize = 60;

/// Returns the steps that must be over before one although it does not use their results.
fn waits(chosen: &ChosenStep<'_>, step: &Step, earlier: &[ChosenStep<'_>], steps: &[Step]) -> Vec<String> {
    let used = step.needs();
    let mut after: Vec<String> = Vec::new();
    for (at, (before, known)) in earlier.iter().zip(steps).enumerate() {
        let is_last = at + 1 == steps.len();
        let only_reads = chosen.effect == Effect::Read && before.effect == Effect::Read;
        // What changes things on one server is done in the order in which it was said, nothing is destroyed while
        // something else is still under way, and nothing overtakes a step that is asked about.
        let is_ordered = before.is_unsure
            || !only_reads && (chosen.tool.server == before.tool.server || chosen.effect == Effect::Destroy);
        if (is_ordered || is_last && chosen.clause.is_after) && !used.contains(&known.name.as_str()) {
            after.push(known.name.clone());
        }
    }
    after
}

/// What the parameters of a step are given.
#[derive(Debug, Default)]
struct Bound {
    arguments: BTreeMap<String, Input>,
    each: Option<Input>,
    missing: Vec<Missing>,
}

impl Bound {
    fn set(&mut self, parameter: &str, value: Value) {
        self.arguments.insert(parameter.to_owned(), Input::Literal(value));
    }
}

#[cfg(test)]
mod tests;
