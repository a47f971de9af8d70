//! Collections of items declared as data: each declaration becomes four tools over one database.
//!
//! Nothing is ever destroyed: deleting marks an item, and every change keeps the version before it.

mod entity; //   what a collection is, and the fields of its items
mod declare; //  a declaration, read from JSON
mod schema; //   fields as JSON Schema
mod database; // items on the disk
mod lookup; //   a name becomes an item
mod value; //    what is sent becomes what is kept
mod item; //     what is kept becomes what is shown
mod filter; //   which items a query means, and in which order
mod read; //     query and get
mod write; //    create and update
mod tools; //    what the clients see

use std::path::{Path, PathBuf};

use self::database::Database;
use crate::time::Clock;

pub use self::entity::Entity;
pub(crate) use self::tools::tools;

/// Why a declaration or a database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The declaration has mistakes; each says where it is and what to write.
    #[error("the declaration of entities cannot be used: {}", problems.join("; "))]
    Declaration {
        /// Every mistake, beginning with its place.
        problems: Vec<String>,
    },
    /// The folder can neither be used nor made.
    #[error("cannot use `{}` as a folder for the database: {source}", folder.display())]
    Folder {
        /// The folder as it was given.
        folder: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The file is no database, or parts of it are broken.
    #[error(
        "the database `{}` is damaged ({why}) and was left as it is: put a backup in its place, or move it away to \
         begin anew",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The file is a database of another program.
    #[error("`{}` is a database of another program and was left as it is: choose another folder", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer program.
    #[error(
        "the database `{}` has version {version}, and this program knows versions up to {known}: use the newer \
         program",
        path.display(),
        known = database::VERSION
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version that the file says.
        version: i64,
    },
    /// Others have been writing for too long.
    #[error("the database `{}` is being written by another program: try again in a moment", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The database said no, as it does when the disk is full.
    #[error("the database `{}` cannot be used, and nothing was changed: {source}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
}

/// Collections of items, ready to be read and changed.
#[derive(Debug)]
pub(crate) struct Records {
    entities: Vec<Entity>,
    database: Database,
    clock: Clock,
}

impl Records {
    /// Opens the database `file` in a folder; both are made when they do not exist.
    pub(crate) fn open(
        folder: &Path,
        file: &str,
        entities: Vec<Entity>,
        clock: Clock,
    ) -> Result<Self, Error> {
        let problems = declare::joint_problems(&entities);
        if !problems.is_empty() {
            return Err(Error::Declaration { problems });
        }
        Ok(Self { entities, database: Database::open(folder, file)?, clock })
    }
}
