//! Built-in servers that work with no set-up.
//!
//! A pack answers synchronously and touches nothing outside its own folder. Whatever arguments it is
//! given, it answers with a result: mistakes come back as `isError` results that a model can act on.

#![forbid(unsafe_code)]

mod fold; //      text made comparable: lower case, no accents
mod reply; //     what a tool answers
mod arguments; // arguments checked against a tool's own schema
mod tool; //      one tool: its definition and the function behind it
mod time; //      the clock and the calendar
mod notes; //     a folder of Markdown

use std::path::PathBuf;

use serde_json::{Map, Value};

pub use crate::time::Clock;
use crate::{notes::Vault, tool::Tool};

/// Which built-in server a configuration asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Clock and calendar in any time zone.
    Time,
    /// A folder of Markdown notes.
    Notes {
        /// The folder; made, with a few sample notes, when it does not exist.
        folder: PathBuf,
    },
}

/// Why a built-in server cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder of notes can neither be used nor made.
    #[error("cannot use `{}` as the folder of notes", folder.display())]
    Folder {
        /// The folder as it was given.
        folder: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
}

/// A built-in server, ready to answer.
#[derive(Debug)]
pub struct Pack(Server);

#[derive(Debug)]
enum Server {
    Time { clock: Clock, tools: Vec<Tool<Clock>> },
    Notes { vault: Vault, tools: Vec<Tool<Vault>> },
}

impl Pack {
    /// Opens the built-in server.
    pub fn open(kind: &Kind) -> Result<Self, Error> {
        Self::open_with_clock(kind, Clock::System)
    }

    /// Opens the built-in server with a clock of the caller's choice.
    pub fn open_with_clock(kind: &Kind, clock: Clock) -> Result<Self, Error> {
        match kind {
            Kind::Time => Ok(Self(Server::Time { clock, tools: time::tools() })),
            Kind::Notes { folder } => {
                let vault =
                    Vault::open(folder).map_err(|source| Error::Folder { folder: folder.clone(), source })?;
                Ok(Self(Server::Notes { vault, tools: notes::tools() }))
            }
        }
    }

    /// Returns the tool definitions in the form of `tools/list`.
    pub fn tools(&self) -> Vec<Value> {
        match &self.0 {
            Server::Time { tools, .. } => tools.iter().map(|tool| tool.definition.clone()).collect(),
            Server::Notes { tools, .. } => tools.iter().map(|tool| tool.definition.clone()).collect(),
        }
    }

    /// Runs a tool and returns an MCP `CallToolResult`; a failing tool is a result with `isError`.
    ///
    /// `None` when there is no tool of that name.
    pub fn call(&self, tool: &str, arguments: &Map<String, Value>) -> Option<Value> {
        match &self.0 {
            Server::Time { clock, tools } => tool::call(tools, clock, tool, arguments),
            Server::Notes { vault, tools } => tool::call(tools, vault, tool, arguments),
        }
    }
}
