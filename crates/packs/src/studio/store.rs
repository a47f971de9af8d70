//! The studio's database: one SQLite file that several programs may use at once.
//!
//! Every change is one immediate transaction: it happens whole or not at all, and nobody writes in between.

use std::{fs, io, path::Path, time::Duration};

use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::reply::Refusal;

/// The name of the database in the workspace folder.
pub(super) const FILE: &str = "studio.db";

/// The studio's database.
#[derive(Debug)]
pub(super) struct Store {
    connection: Mutex<Connection>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(
        "`{FILE}` was written by a newer version of the program (format {found}, known is {KNOWN}): update it"
    )]
    Newer { found: i64 },
    #[error("another program keeps `{FILE}` locked: nothing was changed; try again")]
    Locked,
    #[error("`{FILE}` cannot be used: {0}")]
    Sqlite(rusqlite::Error),
    #[error("`{FILE}` cannot be made: {0}")]
    Make(io::Error),
}

const KNOWN: i64 = 1;

const TABLES: &str = "
    CREATE TABLE brand (
        slug TEXT PRIMARY KEY, name TEXT NOT NULL, summary TEXT NOT NULL, sections TEXT NOT NULL,
        created TEXT NOT NULL, changed TEXT NOT NULL);
    CREATE TABLE product (
        slug TEXT PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL, attributes TEXT NOT NULL,
        packaging TEXT NOT NULL, created TEXT NOT NULL, changed TEXT NOT NULL);
    CREATE TABLE product_image (
        owner TEXT NOT NULL REFERENCES product (slug) ON DELETE CASCADE, path TEXT NOT NULL,
        is_primary INTEGER NOT NULL, facts TEXT NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (owner, path));
    CREATE TABLE style_reference (
        slug TEXT PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL, default_strict INTEGER NOT NULL,
        analysis TEXT NOT NULL, created TEXT NOT NULL, changed TEXT NOT NULL);
    CREATE TABLE style_reference_image (
        owner TEXT NOT NULL REFERENCES style_reference (slug) ON DELETE CASCADE, path TEXT NOT NULL,
        is_primary INTEGER NOT NULL, facts TEXT NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (owner, path));
    CREATE TABLE generated (
        path TEXT PRIMARY KEY, prompt TEXT NOT NULL, product TEXT NOT NULL, style_reference TEXT NOT NULL,
        strict INTEGER NOT NULL, created TEXT NOT NULL);
    CREATE TABLE memory (
        id INTEGER PRIMARY KEY AUTOINCREMENT, topic TEXT NOT NULL, text TEXT NOT NULL, status TEXT NOT NULL,
        created TEXT NOT NULL);
    CREATE TABLE research (
        id INTEGER PRIMARY KEY AUTOINCREMENT, question TEXT NOT NULL, status TEXT NOT NULL, report TEXT NOT NULL,
        queries TEXT NOT NULL, lease INTEGER NOT NULL, created TEXT NOT NULL);
    CREATE TABLE finding (
        id INTEGER PRIMARY KEY AUTOINCREMENT, research INTEGER REFERENCES research (id), query TEXT NOT NULL,
        hits TEXT NOT NULL, created TEXT NOT NULL);
";

impl Store {
    /// Opens the database of a workspace folder, or makes it.
    pub(super) fn open(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE);
        make_private(&path).map_err(Error::Make)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let mut connection = Connection::open_with_flags(&path, flags)?;
        connection.busy_timeout(Duration::from_secs(10))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        prepare(&mut connection)?;
        Ok(Self { connection: Mutex::new(connection) })
    }

    /// Reads; everything that is read belongs to the same moment.
    pub(super) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let mut connection = self.connection.lock();
        let reading =
            connection.transaction_with_behavior(TransactionBehavior::Deferred).map_err(Error::from)?;
        work(&reading)
    }

    /// Changes something; a refusal changes nothing.
    pub(super) fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let mut connection = self.connection.lock();
        let writing =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(Error::from)?;
        let done = work(&writing)?;
        writing.commit().map_err(Error::from)?;
        Ok(done)
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(_) | None => Self::Sqlite(error),
        }
    }
}

/// Makes the tables of a new database and refuses one from the future.
fn prepare(connection: &mut Connection) -> Result<(), Error> {
    let setup = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = setup.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match found {
        0 => {
            setup.execute_batch(TABLES)?;
            setup.pragma_update(None, "user_version", KNOWN)?;
        }
        KNOWN => {}
        found => return Err(Error::Newer { found }),
    }
    setup.commit()?;
    Ok(())
}

/// Makes an empty file that only its owner may read; SQLite gives its side files the same rights.
fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}
