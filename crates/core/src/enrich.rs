//! What a language model may write about tools that nobody wrote about.
//!
//! A question holds the texts of strangers as data, behind a mark that they cannot know. An answer may have been steered
//! by them all the same, so nothing of it counts before it was screened like a definition; what is left out says why.

mod question; // what is asked
mod answer; //   what was answered, however it is written
mod screen; //   what of it may count
mod nearness; // which tool of a server a text is about

use std::collections::BTreeMap;

use serde::Serialize;

pub use answer::read;
pub use nearness::{by_vectors, by_words};
pub use question::{Questionnaire, shown};
pub use screen::screen;

/// Requests of one tool that count at most.
pub const MOST_REQUESTS: usize = 12;

/// What a model wrote about one tool, as it stands in its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suggested {
    /// What people say when they need it.
    pub requests: Vec<String>,
    /// Other tools, and when they are meant instead.
    pub not_for: Vec<(String, String)>,
    /// How many requests were not even read.
    pub unread: usize,
}

/// What of it may count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Screening {
    /// What people say when they need the tool.
    pub requests: Vec<String>,
    /// Other tools of the server, and when they are meant instead.
    pub not_for: BTreeMap<String, String>,
    /// What does not count.
    pub left_out: Vec<LeftOut>,
}

/// A text that does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its beginning.
    pub text: String,
    /// Why it does not count.
    #[serde(serialize_with = "in_words")]
    pub why: Objection,
}

/// What speaks against a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Objection {
    /// It is no request of a few words.
    #[error("it is too short or too long")]
    Length,
    /// It holds an address.
    #[error("it holds an address")]
    Address,
    /// It is written in signs that people do not type.
    #[error("it holds markup")]
    Markup,
    /// It talks to a model.
    #[error("it tells a model what to do")]
    Command,
    /// It praises.
    #[error("it praises")]
    Claim,
    /// It repeats words or lists them.
    #[error("it is a list of keywords")]
    Stuffed,
    /// It names another server.
    #[error("it names the server `{0}`")]
    OtherServer(String),
    /// It says what is said already.
    #[error("it repeats another text")]
    Repeated,
    /// It is the name of the tool in other letters.
    #[error("it is the name of the tool")]
    Name,
    /// It fits another tool of the server better.
    #[error("it fits `{0}` better")]
    OtherTool(String),
    /// It names a tool that there is not.
    #[error("there is no other tool `{0}`")]
    NoTool(String),
    /// There are enough without it.
    #[error("there are more than {MOST_REQUESTS}")]
    TooMany,
    /// So many were not even read.
    #[error("{0} more were not read")]
    Unread(usize),
}

/// Why an answer cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is something else.
    #[error("the answer is not JSON")]
    NotJson,
    /// It is about something else.
    #[error("the answer is about none of the tools")]
    NoTool,
}

impl Screening {
    /// Leaves a request out after all.
    pub fn leave_out(&mut self, request: &str, why: Objection) {
        self.requests.retain(|it| it != request);
        self.left_out.push(LeftOut { text: request.to_owned(), why });
    }
}

fn in_words<S: serde::Serializer>(why: &Objection, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(why)
}

#[cfg(test)]
mod tests;
