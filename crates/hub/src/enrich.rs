//! What a language model writes about tools that nobody wrote about.
//!
//! Nothing is sent unless somebody asks for it, once or in the settings. What was answered and screened is kept as a draft at once, so that no
//! answer is paid for twice; it counts when a person has seen it. `core::enrich` says what is asked and what may count.

mod files; //    the file of a server, and its draft
mod survey; //   which tools nobody wrote about
mod ask; //      one question to a model
mod sift; //     what of an answer may count
mod offline; //  questions and answers as lines of a file

use std::path::PathBuf;
use std::time::SystemTime;

use toolyard_core::enrich::Screening;
use toolyard_core::metadata::{Note, Provenance};

use crate::chat;

pub use ask::{BatchAnswer, ask};
pub use files::EnrichFile;
pub use offline::{AnswerLine, answers, prompt};
pub use sift::Sifter;
pub use survey::{Batch, EnrichSelection, Survey, survey};

/// The name under which notes say where they come from.
const BY: &str = "enrich";
/// Bytes of a token, about.
const TOKEN_BYTES: usize = 4;

/// Why something was not written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The model cannot be asked.
    #[error("{0}")]
    Model(#[from] chat::Error),
    /// The model answers something else.
    #[error("`{model}` answered twice with what cannot be used: {why}")]
    Answer {
        /// The model.
        model: String,
        /// What is wrong.
        why: toolyard_core::enrich::Error,
    },
    /// A file cannot be read or written.
    #[error("`{}` {what}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A line of a file of answers makes no sense.
    #[error("line {line}: {what}")]
    Line {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
}

/// What was written about one tool, as far as it may count.
#[derive(Clone, Debug, PartialEq)]
pub struct Sifted {
    /// The tool, by the server's own name.
    pub tool: String,
    /// Tells the definition that it was written for from others.
    pub definition: String,
    /// What may count, and what not.
    pub screening: Screening,
}

impl Sifted {
    /// Returns what is kept of it; `None` where nothing may count.
    pub fn note(&self, model: &str, at: SystemTime) -> Option<Note> {
        let Screening { requests, not_for, .. } = &self.screening;
        let at = jiff::Timestamp::try_from(at).unwrap_or_default();
        let source = Provenance {
            by: BY.to_owned(),
            model: model.to_owned(),
            at: at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            definition: self.definition.clone(),
        };
        let note = Note {
            examples: requests.clone(),
            not_for: not_for.clone(),
            source: Some(source),
            ..Note::default()
        };
        (!requests.is_empty()).then_some(note)
    }
}

/// Returns how many tokens a text has, about.
fn tokens(text: &str) -> usize {
    text.len().div_ceil(TOKEN_BYTES)
}

#[cfg(test)]
mod tests;
