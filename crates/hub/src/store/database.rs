//! The file of the store: made whole, and put aside when it is damaged.
//!
//! A new file gets its name once it is complete, so one that is empty was damaged. One that takes the place of a damaged
//! file says so from its first moment on, whatever happens in between: what was approved was in the other.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, ffi, params};

use super::{handles, now, pinned};
use crate::private;

/// The tables that hold what can be learnt again.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS server (
        name TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, listing TEXT NOT NULL, learnt INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS hub (pid INTEGER PRIMARY KEY, status TEXT NOT NULL, said INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS measured (
        tool TEXT PRIMARY KEY, calls INTEGER NOT NULL, failures INTEGER NOT NULL, latency_ms REAL NOT NULL);
    CREATE TABLE IF NOT EXISTS spent (number INTEGER PRIMARY KEY, until INTEGER NOT NULL);
    CREATE INDEX IF NOT EXISTS spent_until ON spent (until);
    CREATE TABLE IF NOT EXISTS vector (
        model INTEGER NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, text)
    ) WITHOUT ROWID;";
/// Stands in the names of files that were put aside.
const ASIDE: &str = "damaged-";

/// Opens the file, or a new one in its place where it is damaged.
pub(super) fn open(path: &Path) -> rusqlite::Result<Connection> {
    connect(path).or_else(|err| replaced(path, &err))
}

/// Opens the file, and makes it where there is none.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    match std::fs::metadata(path) {
        Ok(about) if about.is_file() && about.len() == 0 => {
            return Err(failure(ffi::SQLITE_NOTADB, "the file is empty"));
        }
        Err(err) if err.kind() == io::ErrorKind::NotFound => make(path)?,
        Ok(_) | Err(_) => {}
    }
    private::narrow_database(path);
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(2))?;
    connection
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -512;")?;
    prepare(&connection)?;
    Ok(connection)
}

/// Opens the file after an error. Only one that is no database is put aside; a full disk or a lock leaves it alone.
pub(super) fn replaced(path: &Path, err: &rusqlite::Error) -> rusqlite::Result<Connection> {
    if !is_damage(err) {
        return connect(path);
    }
    let names = (0..).map(|later| path.with_extension(format!("{ASIDE}{}", now() + later)));
    let aside = names.into_iter().find(|it| !it.exists()).expect("numbers do not end");
    tracing::warn!(
        "the store was damaged and is now `{}`; learning starts anew, and tools wait until they are approved again",
        aside.display()
    );
    // The journal goes along: with a new database it would be taken for that one's own.
    for suffix in ["-wal", "-shm", ""] {
        let beside = |path: &Path| PathBuf::from(format!("{}{suffix}", path.display()));
        let _ = std::fs::rename(beside(path), beside(&aside));
    }
    connect(path)
}

/// Opens a store of which nothing can be written, not even the journal.
pub(super) fn read_only(path: &Path) -> rusqlite::Result<Connection> {
    let mut address =
        url::Url::from_file_path(path).map_err(|()| rusqlite::Error::InvalidPath(path.to_owned()))?;
    address.set_query(Some("immutable=1"));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(address.as_str(), flags)?;
    connection.query_row("SELECT count(*) FROM server", [], |_| Ok(()))?;
    Ok(connection)
}

pub(super) fn in_memory() -> Connection {
    let memory = Connection::open_in_memory().expect("memory is there");
    prepare(&memory).expect("the schema is valid");
    memory
}

/// Whether there is, or was, a file that may hold approvals.
pub(super) fn is_there(path: &Path) -> bool {
    let is_missing = match std::fs::symlink_metadata(path) {
        Ok(_) => false,
        Err(err) => matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    };
    !is_missing || put_aside(path).is_some()
}

pub(super) fn is_damage(err: &rusqlite::Error) -> bool {
    matches!(err.sqlite_error_code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}

/// Makes a new file under another name, and gives it its own when nothing is missing. Another hub may be faster.
fn make(path: &Path) -> rusqlite::Result<()> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let fresh = path.with_extension(format!("new-{}-{number}", std::process::id()));
    let _ = std::fs::remove_file(&fresh);
    let made = fill(&fresh, put_aside(path).as_deref()).and_then(|()| {
        let placed = std::fs::hard_link(&fresh, path).or_else(|err| {
            // Not every file system has links.
            if err.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { std::fs::rename(&fresh, path) }
        });
        placed.map_err(|err| failure(ffi::SQLITE_CANTOPEN, &err.to_string()))
    });
    let _ = std::fs::remove_file(&fresh);
    made
}

fn fill(fresh: &Path, aside: Option<&Path>) -> rusqlite::Result<()> {
    private::database(fresh).map_err(|err| failure(ffi::SQLITE_CANTOPEN, &err.to_string()))?;
    let mut connection = Connection::open(fresh)?;
    connection.execute_batch("PRAGMA journal_mode = MEMORY;")?;
    let transaction = connection.transaction()?;
    prepare(&transaction)?;
    if let Some(aside) = aside {
        let sql = "INSERT INTO damage (path, since) VALUES (?1, ?2)";
        transaction.execute(sql, params![aside.to_string_lossy(), now()])?;
    }
    transaction.commit()?;
    connection.execute_batch("PRAGMA journal_mode = WAL;")
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(SCHEMA)?;
    connection.execute_batch(handles::SCHEMA)?;
    connection.execute_batch(pinned::SCHEMA)
}

/// Returns the damaged file that was put aside last.
fn put_aside(path: &Path) -> Option<PathBuf> {
    let names = std::fs::read_dir(path.parent()?).ok()?.flatten().map(|file| file.path());
    let is_one = |it: &PathBuf| {
        let since = it.extension().and_then(|it| it.to_str()?.strip_prefix(ASIDE));
        it.file_stem() == path.file_stem() && since.is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit()))
    };
    names.filter(is_one).max()
}

fn failure(code: i32, why: &str) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some(why.to_owned()))
}
