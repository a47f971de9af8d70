//! What was wrong with something a server listed.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::tool::{Tool, clean};

/// One thing that a server listed and we could not take as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The server as the configuration names it.
    pub server: Arc<str>,
    /// The tool's name, cleaned and shortened for showing; `None` if it has none or several are meant.
    pub tool: Option<String>,
    /// What is wrong, as a clause without a full stop.
    pub message: String,
    /// What became of it.
    pub severity: Severity,
}

/// What became of something that was not in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It is left out.
    Rejected,
    /// It is kept, changed.
    Altered,
}

impl Problem {
    pub(super) fn new(
        server: &Arc<str>,
        name: Option<&str>,
        severity: Severity,
        message: impl Into<String>,
    ) -> Self {
        Self { server: Arc::clone(server), tool: name.map(shown), message: message.into(), severity }
    }

    pub(super) fn too_many(server: &Arc<str>, limit: usize, cut: usize) -> Self {
        let message = format!("it lists more than {limit} tools; the last {cut} are cut");
        Self::new(server, None, Severity::Rejected, message)
    }

    pub(super) fn taken(tool: &Tool, holder: &Tool) -> Self {
        let message = if tool.server == holder.server && tool.name == holder.name {
            "the name is listed twice; the first one counts".to_owned()
        } else {
            format!("its id `{}` belongs to `{}` of `{}`", tool.id, shown(&holder.name), holder.server)
        };
        Self::new(&tool.server, Some(&tool.name), Severity::Rejected, message)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, tool, message, severity } = self;
        match (tool, severity) {
            (Some(tool), Severity::Rejected) => write!(f, "`{server}`: tool `{tool}` left out: {message}"),
            (None, Severity::Rejected) => write!(f, "`{server}`: left out: {message}"),
            (Some(tool), Severity::Altered) => write!(f, "`{server}`: tool `{tool}` changed: {message}"),
            (None, Severity::Altered) => write!(f, "`{server}`: changed: {message}"),
        }
    }
}

const SHOWN_CHARS: usize = 60;

/// A stranger's name as it may stand in a message of ours.
pub(super) fn shown(name: &str) -> String {
    // Cleaning reads the whole text, and the name of a rejected tool may be as long as a message.
    let start: String = name.chars().take(4 * SHOWN_CHARS).collect();
    let line = clean(&start).replace(['\n', '\t'], " ");
    let mut shown: String = line.chars().take(SHOWN_CHARS).collect();
    if shown.len() < line.len() || start.len() < name.len() {
        shown.push('…');
    }
    shown
}
