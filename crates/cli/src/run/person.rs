//! The person at the terminal, while a workflow runs.

use std::io::{self, BufRead, IsTerminal, Write};

use owo_colors::OwoColorize;
use toolyard_core::run::{Asked, CallId, Confirmation, Direction, Outcome};
use toolyard_core::tool::clean;
use toolyard_hub::hub::{Execution, Moment, question};

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
}

impl Screen {
    pub(crate) fn new(id: &str, is_quiet: bool) -> Self {
        Self { waiting: Waiting::begin(format!("run {id}")), is_quiet }
    }

    /// Shows one moment.
    pub(crate) fn tell(&self, moment: Moment<'_>) {
        match moment {
            Moment::Sent(call) => self.waiting.say(&format!("{}: {}", named(&call.id), call.tool)),
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
            if matches!(asked.asked, Asked::Plan) {
                writeln!(sees, "{}", execution.run().plan().render())?;
            }
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
