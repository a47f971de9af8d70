//! Questions and answers as lines of JSON in files, for models that are asked elsewhere and people who write themselves.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Batch, Error};

/// One answer of a file.
#[derive(Clone, Debug, Deserialize)]
pub struct AnswerLine {
    /// The server that it is about.
    pub server: String,
    /// What was answered: text, or the JSON itself.
    answer: Value,
    /// Who answered.
    #[serde(default)]
    pub model: Option<String>,
    /// The definitions that it was written for, by tool.
    #[serde(default)]
    pub definitions: BTreeMap<String, String>,
}

impl AnswerLine {
    /// Returns what was answered, as text.
    pub fn said(&self) -> String {
        self.answer.as_str().map_or_else(|| self.answer.to_string(), str::to_owned)
    }
}

/// Returns a question as a line of a file. The same line with the member `answer` is one of a file of answers.
pub fn prompt(batch: &Batch) -> Value {
    let message = |role: &str, content: &str| json!({ "role": role, "content": content });
    json!({
        "server": *batch.server,
        "definitions": batch.tools,
        "messages": [message("system", &batch.rules), message("user", &batch.data)],
        "schema": batch.schema,
    })
}

/// Reads a file of answers. A line that cannot be read is an error: what it was about would be missing in silence.
pub fn answers(text: &str) -> Result<Vec<AnswerLine>, Error> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            serde_json::from_str(line)
                .map_err(|err| Error::Line { line: at + 1, what: format!("is no answer: {err}") })
        })
        .collect()
}
