//! Items on the disk: one SQLite file that several processes may use at once.
//!
//! Every change is one transaction that is on the disk when it returns. The fields of an item are one JSON
//! text, so that a declaration can change and nothing that was written before it is lost.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, TransactionBehavior, params};
use serde_json::{Map, Value};

use super::Error;
use crate::slug;

/// The version of the tables that this program writes.
pub(super) const VERSION: i64 = 1;
/// Marks the file as ours: "Tyrd" in ASCII.
const APPLICATION: i64 = 0x5479_7264;
/// How long a change waits for others that write.
const PATIENCE: Duration = Duration::from_secs(10);

/// A database of items.
#[derive(Debug)]
pub(super) struct Database {
    path: PathBuf,
    connection: Mutex<Connection>,
}

/// An item as it is kept.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) id: i64,
    pub(super) slug: String,
    pub(super) fields: Map<String, Value>,
    pub(super) created: String,
    pub(super) changed: String,
    pub(super) is_deleted: bool,
    /// 1 when it is new; every change adds 1.
    pub(super) version: i64,
}

/// Which items are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Those that are not deleted.
    Live,
    All,
}

impl Database {
    /// Opens the file in a folder; both are made when they do not exist.
    pub(super) fn open(folder: &Path, file: &str) -> Result<Self, Error> {
        let unusable = |source: io::Error| Error::Folder { folder: folder.to_owned(), source };
        make_folder(folder).map_err(unusable)?;
        let path = folder.join(file);
        // One at a time, because a new file has no form yet on which SQLite could wait.
        let lock = private_file(&folder.join(format!("{file}.lock"))).map_err(unusable)?;
        lock.lock().map_err(unusable)?;
        private_file(&path).map_err(unusable)?;
        let connection = connect(&path)?;
        Ok(Self { path, connection: Mutex::new(connection) })
    }

    /// Reads a state that no writer changes half-way.
    pub(super) fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        self.transact(TransactionBehavior::Deferred, work)
    }

    /// Makes a change, all of it or nothing, with nobody else writing in between.
    pub(super) fn write<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        self.transact(TransactionBehavior::Immediate, work)
    }

    fn transact<T>(
        &self,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let mut connection = self.connection.lock();
        let run = || {
            let transaction = connection.transaction_with_behavior(behavior)?;
            let result = work(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        run().map_err(|source| failed(&self.path, source))
    }
}

/// Returns the items of an entity, oldest first.
pub(super) fn items(connection: &Connection, entity: &str, extent: Extent) -> rusqlite::Result<Vec<Kept>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, slug, fields, created, changed, deleted, version FROM item
         WHERE entity = ?1 AND (?2 OR NOT deleted) ORDER BY id",
    )?;
    let rows = statement.query_map(params![entity, extent == Extent::All], kept)?;
    rows.collect()
}

/// Returns the item of exactly this slug, deleted or not.
pub(super) fn item(connection: &Connection, entity: &str, slug: &str) -> rusqlite::Result<Option<Kept>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, slug, fields, created, changed, deleted, version FROM item WHERE entity = ?1 AND slug = ?2",
    )?;
    statement.query_row(params![entity, slug], kept).optional()
}

/// Counts the items of an entity, deleted ones too.
pub(super) fn count(connection: &Connection, entity: &str) -> rusqlite::Result<i64> {
    let mut statement = connection.prepare_cached("SELECT count(*) FROM item WHERE entity = ?1")?;
    statement.query_row(params![entity], |row| row.get(0))
}

/// Adds an item under the first free slug.
pub(super) fn add(
    connection: &Connection,
    entity: &str,
    base: &str,
    fields: &Map<String, Value>,
    now: &str,
) -> rusqlite::Result<Kept> {
    let slug = slug::free(base, |slug| item(connection, entity, slug).map(|found| found.is_some()))?;
    let mut statement = connection.prepare_cached(
        "INSERT INTO item (entity, slug, fields, created, changed, deleted, version)
         VALUES (?1, ?2, ?3, ?4, ?4, 0, 1)",
    )?;
    statement.execute(params![entity, slug, written(fields), now])?;
    Ok(Kept {
        id: connection.last_insert_rowid(),
        slug,
        fields: fields.clone(),
        created: now.to_owned(),
        changed: now.to_owned(),
        is_deleted: false,
        version: 1,
    })
}

/// Writes a changed item and keeps the version before it.
pub(super) fn change(connection: &Connection, before: &Kept, after: &Kept) -> rusqlite::Result<()> {
    let mut keep = connection.prepare_cached(
        "INSERT INTO earlier (item, version, fields, changed, deleted) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    keep.execute(params![
        before.id,
        before.version,
        written(&before.fields),
        before.changed,
        before.is_deleted
    ])?;
    let mut write = connection.prepare_cached(
        "UPDATE item SET fields = ?2, changed = ?3, deleted = ?4, version = ?5 WHERE id = ?1",
    )?;
    write.execute(params![
        after.id,
        written(&after.fields),
        after.changed,
        after.is_deleted,
        after.version
    ])?;
    Ok(())
}

/// Returns the versions that an item had before, newest first.
pub(super) fn earlier(connection: &Connection, of: &Kept, most: usize) -> rusqlite::Result<Vec<Kept>> {
    let mut statement = connection.prepare_cached(
        "SELECT ?1, ?2, fields, ?3, changed, deleted, version FROM earlier
         WHERE item = ?1 ORDER BY version DESC LIMIT ?4",
    )?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let rows = statement.query_map(params![of.id, of.slug, of.created, most], kept)?;
    rows.collect()
}

fn kept(row: &Row<'_>) -> rusqlite::Result<Kept> {
    let text: String = row.get(2)?;
    let fields = serde_json::from_str(&text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(2, rusqlite::types::Type::Text, Box::new(error))
    })?;
    Ok(Kept {
        id: row.get(0)?,
        slug: row.get(1)?,
        fields,
        created: row.get(3)?,
        changed: row.get(4)?,
        is_deleted: row.get(5)?,
        version: row.get(6)?,
    })
}

fn written(fields: &Map<String, Value>) -> String {
    serde_json::to_string(fields).expect("JSON has only texts as keys")
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes a file that only its owner can read, unless it is there.
fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn connect(path: &Path) -> Result<Connection, Error> {
    let wrong = |source| failed(path, source);
    let mut connection = Connection::open(path).map_err(wrong)?;
    connection.busy_timeout(PATIENCE).map_err(wrong)?;
    let number = |connection: &Connection, name: &str| -> rusqlite::Result<i64> {
        connection.pragma_query_value(None, name, |row| row.get(0))
    };
    // Looked at before anything is written: a file of somebody else is left as it is.
    let version = number(&connection, "user_version").map_err(wrong)?;
    let application = number(&connection, "application_id").map_err(wrong)?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(wrong)?;
    let is_new = version == 0 && application == 0 && tables == 0;
    if !is_new && application != APPLICATION {
        return Err(Error::Foreign { path: path.to_owned() });
    }
    if VERSION < version {
        return Err(Error::Newer { path: path.to_owned(), version });
    }
    let health: String = connection
        .pragma_query_value(None, "quick_check", |row| row.get(0))
        .map_err(|source| failed(path, source))?;
    if health != "ok" {
        return Err(Error::Damaged { path: path.to_owned(), why: health });
    }
    connection
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")
        .map_err(wrong)?;
    if is_new {
        create(&mut connection).map_err(wrong)?;
    }
    Ok(connection)
}

fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(
        "CREATE TABLE item (
             id INTEGER PRIMARY KEY, entity TEXT NOT NULL, slug TEXT NOT NULL, fields TEXT NOT NULL,
             created TEXT NOT NULL, changed TEXT NOT NULL, deleted INTEGER NOT NULL, version INTEGER NOT NULL,
             UNIQUE (entity, slug)) STRICT;
         CREATE TABLE earlier (
             item INTEGER NOT NULL REFERENCES item (id), version INTEGER NOT NULL, fields TEXT NOT NULL,
             changed TEXT NOT NULL, deleted INTEGER NOT NULL, PRIMARY KEY (item, version)) STRICT, WITHOUT ROWID;",
    )?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

fn failed(path: &Path, source: rusqlite::Error) -> Error {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            Error::Damaged { path, why: source.to_string() }
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy { path },
        _ => Error::Database { path, source },
    }
}
