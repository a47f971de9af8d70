//! Writes Toolyard itself into a client's configuration, in that client's own form.

use std::io;
use std::path::Path;

use jsonc_parser::cst::CstObject;
use serde_json::{Map, Value, json};

use super::notation::servers_key;
use super::{Client, Error, Receipt, backup, codex, text_of};
use crate::config::edit;

/// The name of our entry.
pub(super) const NAME: &str = "toolyard";

/// How a client reaches Toolyard.
#[derive(Clone, PartialEq, Eq)]
pub enum Entry {
    /// It runs a command.
    Command {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
    },
    /// It connects to a hub that runs already.
    Url {
        /// The endpoint.
        url: String,
        /// The bearer token, when the hub wants one.
        token: Option<String>,
    },
}

impl Entry {
    /// Returns the entry that runs the given program of Toolyard.
    pub fn stdio(program: &Path) -> Self {
        let args = ["serve", "--stdio"].map(str::to_owned).into();
        Self::Command { command: program.to_string_lossy().into_owned(), args }
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Command { command, args } => {
                f.debug_struct("Command").field("command", command).field("args", args).finish()
            }
            Self::Url { url, token } => {
                f.debug_struct("Url").field("url", url).field("token", &token.is_some()).finish()
            }
        }
    }
}

/// What connecting came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connected {
    /// The client's file was written.
    Written(Receipt),
    /// The entry was there already; nothing was written.
    Already,
}

/// Writes our entry into a client's file, which is made when it does not exist.
pub fn connect(client: Client, path: &Path, entry: &Entry, backups: &Path) -> Result<Connected, Error> {
    let text = match text_of(path) {
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => String::new(),
        read => read?,
    };
    let changed = connected(client, &text, entry).map_err(|error| match error {
        Error::Unreadable { problem, .. } => Error::Unreadable { path: path.to_owned(), problem },
        Error::Io { .. } | Error::NeedsCommand { .. } | Error::Changed { .. } | Error::NothingToUndo => error,
    })?;
    if changed == text {
        return Ok(Connected::Already);
    }
    backup::replace(path, changed.as_bytes(), backups).map(Connected::Written)
}

/// Returns the text of a client's configuration with our entry in it; the rest stays as it is.
pub fn connected(client: Client, text: &str, entry: &Entry) -> Result<String, Error> {
    if client == Client::ClaudeDesktop && matches!(entry, Entry::Url { .. }) {
        return Err(Error::NeedsCommand { client });
    }
    if client == Client::Codex {
        return codex::connected(text, NAME, entry).map_err(unreadable);
    }
    edit::change(text, |root| {
        let servers = edit::object_under(&edit::root_object(root)?, servers_key(client))?;
        match servers.get(NAME) {
            None => {
                servers.append(NAME, edit::input(&Value::Object(wanted(client, entry))));
            }
            Some(property) => update(&property.object_value_or_set(), &wanted(client, entry)),
        }
        Ok(())
    })
    .map_err(|error| unreadable(error.to_string()))
}

/// Changes the keys that say how we are reached; what else a person wrote there is theirs.
fn update(written: &CstObject, wanted: &Map<String, Value>) {
    for stale in ["type", "command", "args", "url", "serverUrl", "httpUrl", "headers"] {
        if let Some(property) = written.get(stale).filter(|_| !wanted.contains_key(stale)) {
            property.remove();
        }
    }
    for (key, value) in wanted {
        match written.get(key) {
            Some(property) if property.value().and_then(|it| it.to_serde_value()).as_ref() == Some(value) => {
            }
            Some(property) => property.set_value(edit::input(value)),
            None => {
                written.append(key, edit::input(value));
            }
        }
    }
}

fn wanted(client: Client, entry: &Entry) -> Map<String, Value> {
    let mut wanted = Map::new();
    let mut put = |key: &str, value: Value| wanted.insert(key.to_owned(), value);
    match (client, entry) {
        (Client::ClaudeCode | Client::VsCode, Entry::Command { .. }) => put("type", json!("stdio")),
        (Client::ClaudeCode | Client::VsCode, Entry::Url { .. }) => put("type", json!("http")),
        // Versions of Zed before this key was optional do not start a server without it.
        (Client::Zed, _) => put("source", json!("custom")),
        (
            Client::ClaudeDesktop
            | Client::Cursor
            | Client::Windsurf
            | Client::LmStudio
            | Client::Codex
            | Client::GeminiCli,
            _,
        ) => None,
    };
    match entry {
        Entry::Command { command, args } => {
            put("command", json!(command));
            put("args", json!(args));
        }
        Entry::Url { url, token } => {
            let key = match client {
                Client::Windsurf => "serverUrl",
                Client::GeminiCli => "httpUrl",
                Client::ClaudeDesktop
                | Client::ClaudeCode
                | Client::Cursor
                | Client::VsCode
                | Client::LmStudio
                | Client::Codex
                | Client::Zed => "url",
            };
            put(key, json!(url));
            if let Some(token) = token {
                put("headers", json!({ "Authorization": format!("Bearer {token}") }));
            }
        }
    }
    wanted
}

/// The path is added by the caller that knows it.
fn unreadable(problem: String) -> Error {
    Error::Unreadable { path: "the configuration".into(), problem }
}
