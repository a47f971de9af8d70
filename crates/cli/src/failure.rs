//! What went wrong, what to do next, and the exit code.

use std::process::ExitCode;

use owo_colors::OwoColorize;
use serde_json::json;
use toolyard_core::tool::clean;
use toolyard_hub::config::Mistake;

use crate::output;

/// Ends a command.
#[derive(Debug)]
pub(crate) struct Failure {
    /// 1: it did not work. 2: it was asked wrongly, by words or by configuration. 3: a question is open.
    exit: u8,
    /// Empty when everything was said already.
    message: String,
    hint: Option<String>,
    mistakes: Vec<Mistake>,
}

/// How a failure is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// In words on stderr.
    Words,
    /// As an object on stdout.
    Json,
}

impl Failure {
    /// Something did not work.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { exit: 1, message: message.into(), hint: None, mistakes: Vec::new() }
    }

    /// Something was asked wrongly.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: 2, ..Self::new(message) }
    }

    /// A question is open.
    pub(crate) fn open(message: impl Into<String>) -> Self {
        Self { exit: 3, ..Self::new(message) }
    }

    /// Ends with an exit code; the output has already said why.
    pub(crate) fn silent(exit: u8) -> Self {
        Self { exit, ..Self::new("") }
    }

    /// Adds what to do next.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Returns the mistakes of the configuration, when they are what went wrong.
    pub(crate) fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }

    /// Tells the person, or the program, and returns the exit code.
    pub(crate) fn report(&self, form: Form) -> ExitCode {
        if !self.message.is_empty() {
            match form {
                Form::Words => self.say(),
                // Who closed the pipe does not want to read about it.
                Form::Json => drop(output::json(&self.to_json())),
            }
        }
        ExitCode::from(self.exit)
    }

    fn say(&self) {
        anstream::eprintln!("{} {}", "error:".red().bold(), clean(&self.message));
        if let Some(hint) = &self.hint {
            anstream::eprintln!("  {} {}", "hint:".bold(), clean(hint));
        }
    }

    /// Returns the failure as programs read it.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        let mut error = json!({ "message": self.message, "hint": self.hint });
        if !self.mistakes.is_empty() {
            error["mistakes"] = self.mistakes.iter().map(mistake_json).collect();
        }
        json!({ "error": error })
    }
}

/// Returns a mistake as programs read it.
pub(crate) fn mistake_json(mistake: &Mistake) -> serde_json::Value {
    let Mistake { path, line, column, message, hint } = mistake;
    json!({ "file": path, "line": line, "column": column, "message": message, "hint": hint })
}

impl From<Vec<Mistake>> for Failure {
    fn from(mistakes: Vec<Mistake>) -> Self {
        let all: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        let message = match all.len() {
            1 => all.join(""),
            count => format!("{count} mistakes\n{}", all.join("\n")),
        };
        Self { mistakes, ..Self::usage(message) }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            // Whoever read our output has seen enough, as `head` does.
            return Self::silent(0);
        }
        Self::new(error.to_string())
    }
}
