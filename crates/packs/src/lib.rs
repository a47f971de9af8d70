//! Built-in servers that work with no set-up.
//!
//! A pack answers synchronously and touches nothing outside its own folder.

use std::path::PathBuf;

use serde_json::{Map, Value};

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

/// A built-in server, ready to answer.
#[derive(Debug)]
pub struct Pack;

impl Pack {
    /// Opens the built-in server.
    pub fn open(_kind: &Kind) -> std::io::Result<Self> {
        Ok(Self)
    }

    /// Returns the tool definitions in the form of `tools/list`.
    pub fn tools(&self) -> Vec<Value> {
        Vec::new()
    }

    /// Runs a tool and returns an MCP `CallToolResult`; a failing tool is a result with `isError`.
    ///
    /// `None` when there is no tool of that name.
    pub fn call(&self, _tool: &str, _arguments: &Map<String, Value>) -> Option<Value> {
        None
    }
}
