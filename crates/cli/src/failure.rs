//! What went wrong, what to do next, and the exit code.

use std::process::ExitCode;

use toolyard_hub::config::Mistake;

/// Ends a command.
#[derive(Debug)]
pub(crate) struct Failure {
    /// 1: it did not work. 2: it was asked wrongly, by words or by configuration.
    exit: u8,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// Something did not work.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { exit: 1, message: message.into(), hint: None }
    }

    /// Something was asked wrongly.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: 2, message: message.into(), hint: None }
    }

    /// Adds what to do next.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Tells the person and returns the exit code.
    pub(crate) fn report(self) -> ExitCode {
        anstream::eprintln!("error: {}", self.message);
        if let Some(hint) = self.hint {
            anstream::eprintln!("  hint: {hint}");
        }
        ExitCode::from(self.exit)
    }
}

impl From<Vec<Mistake>> for Failure {
    fn from(mistakes: Vec<Mistake>) -> Self {
        let count = mistakes.len();
        let all: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        let message = if count == 1 { all.join("") } else { format!("{count} mistakes\n{}", all.join("\n")) };
        Self::usage(message)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(error.to_string())
    }
}
