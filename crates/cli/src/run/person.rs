//! The person at the terminal, while a workflow runs.

use std::io::{self, BufRead, IsTerminal, Write};

use owo_colors::OwoColorize;
use toolyard_core::run::{CallId, Confirmation, Direction, Outcome};
use toolyard_core::tool::clean;
use toolyard_hub::hub::{Execution, Moment, question};

use super::answer::Answers;
use super::steps;
use crate::call::Save;
use crate::learn::Waiting;

/// Who answers what is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answering {
    /// Everything is agreed to.
    Yes,
    /// The person at the terminal, where there is one.
    Person,
}

/// Shows what happens on stderr: one line for each call that came back, and what is waited for.
pub(crate) struct Screen {
    waiting: Waiting,
    is_quiet: bool,
    answers: Answers,
}

impl Screen {
    pub(crate) fn new(id: &str, is_quiet: bool) -> Self {
        Self { waiting: Waiting::begin(format!("run {id}")), is_quiet, answers: Answers::default() }
    }

    /// Shows one moment, and keeps what a person wants to see at the end.
    pub(crate) fn tell(&mut self, moment: Moment<'_>, save: Save<'_>) {
        if !self.is_quiet {
            self.answers.note(moment, save);
        }
        match moment {
            Moment::Sent(call) => self.waiting.say(&format!("{}: {}", named(&call.id), call.tool)),
            Moment::Answered(..) => {}
            Moment::Came(..) if self.is_quiet || !io::stderr().is_terminal() => {}
            Moment::Came(id, outcome) => self.waiting.suspend(|| {
                let (mark, why) = match outcome {
                    Outcome::Value(_) => ("✓".green().to_string(), ""),
                    Outcome::ToolFailed(why) | Outcome::Refused(why) => ("✗".red().to_string(), why.as_str()),
                    Outcome::NotSent(why) | Outcome::Lost(why) => ("…".yellow().to_string(), why.as_str()),
                };
                let why = clean(why).replace('\n', " ");
                anstream::eprintln!("{mark} {} {}", named(id), why.dimmed());
            }),
        }
    }

    /// Takes the line away, and gives what was answered.
    pub(super) fn answers(self) -> Answers {
        self.answers
    }

    /// Asks; `None` when there is nobody to ask.
    pub(crate) fn ask(
        &self,
        execution: &Execution,
        asked: &Confirmation,
        answering: Answering,
    ) -> io::Result<Option<bool>> {
        if answering == Answering::Yes {
            return Ok(Some(true));
        }
        if self.is_quiet || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return Ok(None);
        }
        self.waiting.suspend(|| {
            let mut sees = anstream::stderr();
            writeln!(sees, "{}", steps::before(execution.run(), asked))?;
            write!(sees, "{} Type yes: ", question(asked).bold())?;
            sees.flush()?;
            let mut line = String::new();
            io::stdin().lock().read_line(&mut line)?;
            Ok(Some(matches!(line.trim().to_lowercase().as_str(), "y" | "yes")))
        })
    }
}

fn named(id: &CallId) -> String {
    let element = id.element.map(|at| format!("[{at}]")).unwrap_or_default();
    let undo = if id.direction == Direction::Back { "undo " } else { "" };
    format!("{undo}{}{element}", id.step)
}
