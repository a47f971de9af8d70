//! Why something could not be kept or read.
//!
//! Each says what to do about it, because the hub only passes it on.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why something could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder cannot be used.
    #[error("`{}` cannot hold the history: {source}; make it a folder that you can write to, or name another one",
        folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A newer program wrote the file.
    #[error(
        "the history at `{}` has version {version}, and this program knows versions up to {known}; \
         update Toolyard, or move the file away to begin a new history",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The file is a database of somebody else.
    #[error("`{}` is a database, but no history of Toolyard; move it away to begin one", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else writes for too long.
    #[error("the history at `{}` is being written by another program; try again", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged and could not be replaced.
    #[error("the history at `{}` is damaged ({source}); move the file away to begin a new one", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The database said no, as it does when the disk is full.
    #[error("the history at `{}` failed: {source}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
}

impl Error {
    /// Says what a failure of SQLite means for a file.
    pub(crate) fn of(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        if is_damage(&source) {
            return Self::Damaged { path, source };
        }
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            _ => Self::Database { path, source },
        }
    }
}

/// Whether the file itself is broken, rather than locked, full or forbidden.
pub(crate) fn is_damage(source: &rusqlite::Error) -> bool {
    matches!(source.sqlite_error_code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}
