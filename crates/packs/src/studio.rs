//! A workspace for brands: products, style references, tasks, files, memory, and research and images where offered.
//!
//! Everything is kept in one folder: the database `studio.db`, images that users bring in `uploads/`, images that were
//! made in `generated/`, and task files in `tasks/`. A file `STOP` in it, made by a person or a user interface, ends
//! long jobs. Reading and writing are different tools, what destroys needs `confirm: true`, and answers are JSON.

mod outside; //     what is asked of the world outside
mod store; //       the database
mod describe; //    descriptions in one form
mod schema; //      pieces of schemas
mod action; //      which arguments an action takes
mod slug; //        names that never change
mod upload; //      image files
mod interrupt; //   Stop
mod product; //     what is sold
mod packaging; //   how it looks and what it says
mod analysis; //    what images have in common
mod style; //       how new images should look
mod style_tools;
mod brand; //       what the studio works for
mod brand_tools;
mod overview; //    everything about one thing
mod proposal; //    questions to the user
mod checklist; //   a task file as text
mod tasks; //       task files
mod files; //       text files
mod memory; //      facts that the user confirmed
mod generate; //    images that a model makes
mod research; //    what the web says
mod old_names; //   names that are gone

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

pub(crate) use self::old_names::old_names;
pub use self::{
    old_names::OldName,
    outside::{Abilities, Outside, ReferenceImage, SearchHit, Services},
};
use self::{research::Background, store::Store};
use crate::{Clock, sandbox::Sandbox, tool::Tool};

/// An open workspace.
#[derive(Debug)]
pub(crate) struct Studio {
    folder: PathBuf,
    sandbox: Sandbox,
    store: Store,
    clock: Clock,
    outside: Option<Outside>,
    background: Arc<Background>,
}

impl Studio {
    /// Opens the folder; what is missing is made.
    pub(crate) fn open(folder: &Path, outside: Option<Outside>, clock: Clock) -> io::Result<Self> {
        for inside in [upload::UPLOADS, upload::GENERATED, tasks::FOLDER] {
            fs::create_dir_all(folder.join(inside))?;
        }
        let folder = fs::canonicalize(folder)?;
        let sandbox = Sandbox::open(&folder)?;
        let store = Store::open(&folder).map_err(io::Error::other)?;
        Ok(Self { folder, sandbox, store, clock, outside, background: Arc::default() })
    }

    /// Returns the present moment, ISO 8601 in UTC.
    fn now(&self) -> String {
        self.clock.now().timestamp().to_string()
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        self.background.end();
    }
}

/// Returns the tools of the studio; those that need the world outside only where it is offered.
pub(crate) fn tools(outside: Option<&Outside>) -> Vec<Tool<Studio>> {
    let mut tools = brand::tools();
    tools.extend(product::tools());
    tools.extend(packaging::tools());
    tools.extend(style::tools());
    tools.extend(overview::tools());
    tools.extend(proposal::tools());
    tools.extend(tasks::tools());
    tools.extend(interrupt::tools());
    tools.extend(files::tools());
    tools.extend(memory::tools());
    if let Some(outside) = outside {
        let abilities = outside.abilities();
        if abilities.pictures {
            tools.extend(generate::tools(outside));
        }
        if abilities.search {
            tools.extend(research::tools(outside));
        }
    }
    tools
}
