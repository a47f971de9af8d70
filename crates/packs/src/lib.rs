//! Built-in servers that work with no set-up.
//!
//! A pack answers synchronously and touches nothing outside its own folder, but for the network and the sound system of
//! the home pack and the services that a studio is given. Whatever arguments it is given, it answers with a result:
//! mistakes come back as `isError` results that a model can act on.

#![forbid(unsafe_code)]

mod fold; //      text made comparable: lower case, no accents
mod slug; //      titles as names that can be typed
mod reply; //     what a tool answers
mod arguments; // arguments checked against a tool's own schema
mod tool; //      one tool: its definition and the function behind it
mod sandbox; //   a folder that nothing leads out of
mod picture; //   facts of an image file
mod time; //      the clock and the calendar
mod notes; //     a folder of Markdown
pub mod crud; //  collections declared as data
mod desk; //      tasks, goals, reminders, reading, ideas
mod studio; //    a workspace for brands
mod home; //      devices of a house, clock and volume
mod overview; //  what there is

use std::{ffi::OsStr, path::PathBuf};

use serde_json::{Map, Value};

pub use crate::{
    crud::Entity,
    home::{BadNetwork, Network},
    overview::{Overview, PACKS},
    studio::{Abilities, OldName, Outside, ReferenceImage, SearchHit, Services},
    time::Clock,
};
use crate::{
    crud::Records,
    home::{Home, OpenError},
    notes::Vault,
    studio::Studio,
    tool::Tool,
};

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
    /// Tasks, goals, reminders, a reading list and ideas.
    Desk {
        /// The folder of the database; made when it does not exist.
        folder: PathBuf,
    },
    /// A workspace for brands: products, style references, tasks and files.
    Studio {
        /// The folder; made when it does not exist.
        folder: PathBuf,
        /// What it may ask of the world outside; without it, only what works alone is offered.
        outside: Option<Outside>,
    },
    /// Devices of a house by Z-Wave, the date and the time, and the volume of this computer.
    Home {
        /// Where a simulated house keeps its state; made when it does not exist.
        folder: PathBuf,
        /// Which network the devices are in.
        network: Network,
    },
    /// Collections that the configuration declares.
    Entities {
        /// The folder of the database; made when it does not exist.
        folder: PathBuf,
        /// What is kept there.
        entities: Vec<Entity>,
    },
}

impl Kind {
    /// Returns the word by which settings ask for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Notes { .. } => "notes",
            Self::Desk { .. } => "desk",
            Self::Studio { .. } => "studio",
            Self::Home { .. } => "home",
            Self::Entities { .. } => "entities",
        }
    }

    /// Returns the tools that its users always need, where skills bring the others.
    pub fn core(&self) -> &'static [&'static str] {
        match self {
            Self::Studio { .. } => &["load_brand", "propose_choices", "list_products", "check_interrupt"],
            Self::Time
            | Self::Notes { .. }
            | Self::Desk { .. }
            | Self::Home { .. }
            | Self::Entities { .. } => &[],
        }
    }

    /// Returns the names that its tools had before, with the calls that do the same.
    pub fn old_names(&self) -> Vec<OldName> {
        match self {
            Self::Studio { .. } => studio::old_names(),
            Self::Time
            | Self::Notes { .. }
            | Self::Desk { .. }
            | Self::Home { .. }
            | Self::Entities { .. } => Vec::new(),
        }
    }
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
    /// The collections cannot be opened.
    #[error(transparent)]
    Records(#[from] crud::Error),
    /// The workspace of a studio can neither be used nor made.
    #[error("cannot use `{}` as the workspace of a studio", folder.display())]
    Workspace {
        /// The folder as it was given.
        folder: PathBuf,
        /// What the operating system or the database said.
        source: std::io::Error,
    },
    /// The folder of the home pack can neither be used nor made.
    #[error("cannot use `{}` as the folder of the home pack", folder.display())]
    HomeFolder {
        /// The folder as it was given.
        folder: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The address of a Z-Wave network is none.
    #[error(transparent)]
    Network(#[from] BadNetwork),
}

/// A built-in server, ready to answer.
#[derive(Debug)]
pub struct Pack(Server);

#[derive(Debug)]
enum Server {
    Time { clock: Clock, tools: Vec<Tool<Clock>> },
    Notes { vault: Vault, tools: Vec<Tool<Vault>> },
    Records { records: Records, tools: Vec<Tool<Records>> },
    Studio { studio: Studio, tools: Vec<Tool<Studio>> },
    Home { home: Box<Home>, tools: Vec<Tool<Home>> },
}

impl Pack {
    /// Opens the built-in server.
    pub fn open(kind: &Kind) -> Result<Self, Error> {
        Self::open_with_clock(kind, Clock::System)
    }

    /// Opens the built-in server with a clock of the caller's choice.
    pub fn open_with_clock(kind: &Kind, clock: Clock) -> Result<Self, Error> {
        Self::open_with_path(kind, clock, &std::env::var_os("PATH").unwrap_or_default())
    }

    /// Opens the built-in server with a clock and a search path for programs of the caller's choice.
    pub fn open_with_path(kind: &Kind, clock: Clock, path: &OsStr) -> Result<Self, Error> {
        match kind {
            Kind::Time => Ok(Self(Server::Time { clock, tools: time::tools() })),
            Kind::Notes { folder } => {
                let vault =
                    Vault::open(folder).map_err(|source| Error::Folder { folder: folder.clone(), source })?;
                Ok(Self(Server::Notes { vault, tools: notes::tools() }))
            }
            Kind::Desk { folder } => {
                Ok(Self::collections(Records::open(folder, "desk.db", desk::entities(), clock)?))
            }
            Kind::Entities { folder, entities } => {
                Ok(Self::collections(Records::open(folder, "entities.db", entities.clone(), clock)?))
            }
            Kind::Studio { folder, outside } => {
                let studio = Studio::open(folder, outside.clone(), clock)
                    .map_err(|source| Error::Workspace { folder: folder.clone(), source })?;
                Ok(Self(Server::Studio { studio, tools: studio::tools(outside.as_ref()) }))
            }
            Kind::Home { folder, network } => {
                let home = Home::open(folder, network, clock, path).map_err(|error| match error {
                    OpenError::Network(error) => Error::Network(error),
                    OpenError::Folder(source) => Error::HomeFolder { folder: folder.clone(), source },
                })?;
                let tools = home::tools(&home);
                Ok(Self(Server::Home { home: Box::new(home), tools }))
            }
        }
    }

    fn collections(records: Records) -> Self {
        Self(Server::Records { tools: crud::tools(&records), records })
    }

    /// Returns the tool definitions in the form of `tools/list`.
    pub fn tools(&self) -> Vec<Value> {
        match &self.0 {
            Server::Time { tools, .. } => tool::definitions(tools),
            Server::Notes { tools, .. } => tool::definitions(tools),
            Server::Records { tools, .. } => tool::definitions(tools),
            Server::Studio { tools, .. } => tool::definitions(tools),
            Server::Home { tools, .. } => tool::definitions(tools),
        }
    }

    /// Runs a tool and returns an MCP `CallToolResult`; a failing tool is a result with `isError`.
    ///
    /// `None` when there is no tool of that name.
    pub fn call(&self, tool: &str, arguments: &Map<String, Value>) -> Option<Value> {
        match &self.0 {
            Server::Time { clock, tools } => tool::call(tools, clock, tool, arguments),
            Server::Notes { vault, tools } => tool::call(tools, vault, tool, arguments),
            Server::Records { records, tools } => tool::call(tools, records, tool, arguments),
            Server::Studio { studio, tools } => tool::call(tools, studio, tool, arguments),
            Server::Home { home, tools } => tool::call(tools, home.as_ref(), tool, arguments),
        }
    }
}
