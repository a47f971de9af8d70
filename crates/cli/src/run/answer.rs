//! What the steps of a run answered, for a person.

use std::collections::BTreeMap;

use owo_colors::OwoColorize;
use serde_json::Value;
use toolyard_core::plan::{Plan, Step};
use toolyard_core::run::{Account, CallId, Direction, Report, Upshot};
use toolyard_core::tool::{Effect, clean};
use toolyard_hub::hub::Moment;

use crate::call::{self, Save, readable};
use crate::failure::Failure;
use crate::output;

/// Characters of a heading; a whole file as an argument would hide the answer.
const HEADING_CHARS: usize = 160;

/// What was heard while a run was driven, by step and element.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    calls: BTreeMap<(String, Option<usize>), Answer>,
    /// Why something could not be saved.
    trouble: Option<Failure>,
}

#[derive(Debug)]
struct Answer {
    /// The call as it would be typed.
    call: String,
    text: String,
}

/// One answer with the line above it.
struct Shown {
    heading: String,
    text: String,
}

impl Answers {
    /// Notes what was sent and what was answered.
    pub(crate) fn note(&mut self, moment: Moment<'_>, save: Save<'_>) {
        match moment {
            Moment::Sent(call) if call.id.direction == Direction::Forth => {
                let said = call::typed(call.tool.as_str(), &call.arguments);
                self.calls.insert(place(&call.id), Answer { call: said, text: String::new() });
            }
            Moment::Answered(id, result) => {
                if let Some(answer) = self.calls.get_mut(&place(id)) {
                    let name = answer.call.split(' ').next().unwrap_or_default();
                    match call::words(name, result, save) {
                        Ok(text) => answer.text = text,
                        Err(trouble) => self.trouble = Some(trouble),
                    }
                }
            }
            Moment::Sent(_) | Moment::Came(..) => {}
        }
    }

    /// Shows what every step answered, in the order of the plan, except steps whose result another one took.
    /// Returns whether there was anything to show.
    pub(crate) fn show(&mut self, plan: &Plan, report: &Report) -> Result<bool, Failure> {
        let shown = self.shown(plan, report);
        for Shown { heading, text } in &shown {
            anstream::eprintln!("{}", heading.dimmed());
            output::text(text)?;
        }
        match self.trouble.take() {
            Some(trouble) => Err(trouble),
            None => Ok(!shown.is_empty()),
        }
    }

    fn shown(&self, plan: &Plan, report: &Report) -> Vec<Shown> {
        let is_done = |account: &&Account| account.fate == Upshot::Done;
        let done = |step: &str| report.accounts.iter().filter(is_done).any(|it| it.step == step);
        let mut shown = Vec::new();
        for step in plan.steps() {
            let takes = |other: &&Step| other.takes().contains(&step.name.as_str());
            if plan.steps().iter().filter(takes).any(|other| done(&other.name)) {
                continue;
            }
            let own = report.accounts.iter().filter(is_done).filter(|it| it.step == step.name);
            let heard: Vec<&Answer> =
                own.filter_map(|it| self.calls.get(&(it.step.clone(), it.element))).collect();
            shown.extend(heard.iter().map(|it| Shown::new(&it.call, &it.text)));
            // What an earlier process found is known as data alone; what it changed, the report tells.
            let was_read = heard.is_empty() && step.effect == Effect::Read && done(&step.name);
            let output = report.outputs.get(&step.name).filter(|_| was_read);
            shown.extend(output.map(|output| Shown::new(step.tool.as_str(), &readable(output))));
        }
        shown
    }
}

impl Shown {
    fn new(call: &str, text: &str) -> Self {
        let heading = match call.char_indices().nth(HEADING_CHARS) {
            Some((end, _)) => format!("{}…", &call[..end]),
            None => call.to_owned(),
        };
        let text = match text.trim_end() {
            "" => "(nothing)".to_owned(),
            text => data(text).map_or_else(|| text.to_owned(), |data| readable(&data)),
        };
        Self { heading: clean(&heading).replace('\n', " "), text: clean(&text).into_owned() }
    }
}

/// Reads a text that is plainly data.
fn data(text: &str) -> Option<Value> {
    text.trim_start().starts_with(['{', '[']).then(|| serde_json::from_str(text).ok()).flatten()
}

fn place(id: &CallId) -> (String, Option<usize>) {
    (id.step.clone(), id.element)
}
