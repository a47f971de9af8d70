//! What a tool answers: text for a reader, the same facts as data, or a refusal to act on.

use serde_json::{Value, json};

/// A tool's answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// For a person or a model to read.
    pub(crate) text: String,
    /// The same facts, in the form of the tool's output schema.
    pub(crate) data: Value,
}

impl Answer {
    /// Answers with the facts alone, as JSON that a person can read too.
    pub(crate) fn json(data: Value) -> Self {
        Self { text: format!("{data:#}"), data }
    }
}

/// Why a tool did not do what was asked, in words that say what to do instead.
///
/// It is not an `Error` itself, so that every module's own error turns into one with `?`.
#[derive(Debug)]
pub(crate) struct Refusal(String);

impl Refusal {
    /// Refuses in these words.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the words, for a report that names several.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

pub(crate) type Outcome = Result<Answer, Refusal>;

impl<E: std::error::Error> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// Turns an outcome into an MCP `CallToolResult`.
pub(crate) fn result(outcome: Outcome) -> Value {
    match outcome {
        Ok(Answer { text, data }) => json!({
            "content": [{ "type": "text", "text": text }],
            "structuredContent": data,
            "isError": false,
        }),
        Err(Refusal(text)) => json!({
            "content": [{ "type": "text", "text": text }],
            "isError": true,
        }),
    }
}

/// Makes a stranger's text fit for a message: one line, no control characters, not too long.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut out = String::new();
    for (at, letter) in text.chars().enumerate() {
        if at == LONGEST {
            out.push('…');
            break;
        }
        if letter.is_control() || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}') {
            out.extend(letter.escape_default());
        } else {
            out.push(letter);
        }
    }
    out
}

/// Lists names for a message, each in backticks.
pub(crate) fn quoted<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    names.into_iter().map(|name| format!("`{}`", shown(name.as_ref()))).collect::<Vec<_>>().join(", ")
}
