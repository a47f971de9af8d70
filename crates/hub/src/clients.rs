//! The MCP clients that people already use: where they keep their servers, and in what form.
//!
//! Nothing here writes a file without a backup, and nothing writes a file that it could not read.

mod places;
mod notation;
mod form;
mod codex;
mod backup;
mod import;
mod connect;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::Value;

use crate::config;

pub use backup::{Receipt, Restored, undo};
pub use connect::{Connected, Entry, connect, connected};
pub use form::read;
pub use import::{Addition, Mention, Same, Takeover, apply, plan};
pub use places::{Os, locations, project_location};

/// A program that uses MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Client {
    /// Anthropic's desktop application.
    ClaudeDesktop,
    /// Anthropic's command line agent.
    ClaudeCode,
    /// The Cursor editor.
    Cursor,
    /// Visual Studio Code.
    VsCode,
    /// The Windsurf editor.
    Windsurf,
    /// LM Studio.
    LmStudio,
    /// OpenAI's command line agent.
    Codex,
    /// The Zed editor.
    Zed,
    /// Google's command line agent.
    GeminiCli,
}

impl Client {
    /// Every client that is known.
    pub const ALL: [Self; 9] = [
        Self::ClaudeDesktop,
        Self::ClaudeCode,
        Self::Cursor,
        Self::VsCode,
        Self::Windsurf,
        Self::LmStudio,
        Self::Codex,
        Self::Zed,
        Self::GeminiCli,
    ];

    /// Returns the name for the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Windsurf => "windsurf",
            Self::LmStudio => "lm-studio",
            Self::Codex => "codex",
            Self::Zed => "zed",
            Self::GeminiCli => "gemini-cli",
        }
    }

    /// Returns the name as its makers write it.
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Windsurf => "Windsurf",
            Self::LmStudio => "LM Studio",
            Self::Codex => "Codex",
            Self::Zed => "Zed",
            Self::GeminiCli => "Gemini CLI",
        }
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

/// A name that is not that of a client.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a known client; {advice}")]
pub struct UnknownClient {
    name: String,
    advice: String,
}

impl FromStr for Client {
    type Err = UnknownClient;

    fn from_str(name: &str) -> Result<Self, UnknownClient> {
        Self::ALL.into_iter().find(|client| client.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let advice = config::nearest(name, names).map_or_else(
                || format!("known are {}", names.join(", ")),
                |nearest| format!("did you mean `{nearest}`?"),
            );
            UnknownClient { name: name.to_owned(), advice }
        })
    }
}

/// Why a client's configuration, or ours, was not changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not in the form that its owner writes, so it is left alone.
    #[error("{}: {problem}; it was not changed", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The client cannot be given such an entry.
    #[error("{client} cannot be given a URL in its configuration; connect it over stdio")]
    NeedsCommand {
        /// The client.
        client: Client,
    },
    /// The file is not what it was when the change was planned or made.
    #[error("{} was changed in the meantime; {advice}", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// What to do now.
        advice: String,
    },
    /// There is no change to undo.
    #[error("there is nothing to undo")]
    NothingToUndo,
}

/// The configuration of one client, as it was found.
#[derive(Clone, PartialEq)]
pub struct Found {
    /// Whose it is.
    pub client: Client,
    /// Where it is.
    pub path: PathBuf,
    /// The folder of the project that it belongs to; `None` for that of the user.
    pub project: Option<PathBuf>,
    /// The servers by name, in the form of `mcpServers` in our own settings file.
    pub servers: Vec<(String, Value)>,
    /// What could not be taken over, in words.
    pub problems: Vec<String>,
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The entries may hold keys, so only their names are shown.
        let names: Vec<&String> = self.servers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Found")
            .field("client", &self.client)
            .field("path", &self.path)
            .field("project", &self.project)
            .field("servers", &names)
            .field("problems", &self.problems)
            .finish()
    }
}

/// Finds the configurations of all clients, those of the user and those of the project in `cwd`.
pub fn found(os: Os, home: &Path, cwd: &Path, env: &dyn Fn(&str) -> Option<String>) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for client in Client::ALL {
        let of_user = locations(client, os, home, env).into_iter().map(|path| (path, None));
        let of_project = project_location(client).map(|relative| (cwd.join(relative), Some(cwd.to_owned())));
        for (path, project) in of_user.chain(of_project) {
            if path.is_file() && !found.iter().any(|it| it.path == path && it.client == client) {
                found.push(look(client, path, project));
            }
        }
    }
    found
}

fn look(client: Client, path: PathBuf, project: Option<PathBuf>) -> Found {
    let (mut servers, problems) = match text_of(&path) {
        Ok(text) => read(client, &text),
        Err(error) => (Vec::new(), vec![error.to_string()]),
    };
    if let Some(project) = &project {
        for (_, server) in &mut servers {
            form::settle(server, project);
        }
    }
    Found { client, path, project, servers, problems }
}

/// Reads a client's file; a missing one is an error.
fn text_of(path: &Path) -> Result<String, Error> {
    // Claude Code keeps its history beside its servers, so its file can be large.
    const MOST_BYTES: usize = 32 * 1024 * 1024;
    let io = |source| Error::Io { path: path.to_owned(), source };
    let bytes = config::read_bytes_within(path, MOST_BYTES).map_err(io)?;
    String::from_utf8(bytes)
        .map_err(|_| Error::Unreadable { path: path.to_owned(), problem: "it is not UTF-8 text".to_owned() })
}
