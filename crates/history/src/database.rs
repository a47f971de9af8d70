//! The SQLite file of a history: opened, shared by several processes, replaced when it is damaged.
//!
//! A damaged file is moved aside and a new one begun, with the lessons that can still be read. Whoever has the old
//! file open notices before the next piece of work that the path leads to another one.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};

use crate::error::{Error, is_damage};
use crate::retention::Retention;
use crate::route::now_ms;

/// How long a change waits for others that write.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The version of the tables that this program writes.
const VERSION: i64 = 1;
/// Marks the file as ours: "Tyhi" in ASCII.
const APPLICATION: i64 = 0x5479_6869;

/// A route's row number holds its time, so that rows lie in the order of time and every index ends with it.
/// What is aggregated is apart from what is only shown, so that counting reads little. The tallies follow every
/// row that comes or goes; `UPDATE` of what they count, and `INSERT OR REPLACE`, would pass them by.
const SCHEMA: &str = "
    CREATE TABLE route (
        key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, who TEXT NOT NULL, client TEXT NOT NULL, session TEXT,
        words TEXT, decision TEXT NOT NULL, tool TEXT, confidence REAL NOT NULL, ran TEXT,
        routing_ms REAL NOT NULL, total_ms REAL NOT NULL, cached INTEGER NOT NULL, marks INTEGER NOT NULL,
        server TEXT AS (CASE WHEN instr(tool, '__') THEN substr(tool, 1, instr(tool, '__') - 1) END) VIRTUAL,
        ending TEXT AS (coalesce(ran, CASE decision WHEN 'failed' THEN 'failed' ELSE '' END)) VIRTUAL
    ) STRICT;
    CREATE INDEX route_tool ON route (tool, key) WHERE tool IS NOT NULL;
    CREATE INDEX route_server ON route (server, key) WHERE server IS NOT NULL;
    CREATE INDEX route_decision ON route (decision, key);
    CREATE INDEX route_session ON route (session, key) WHERE session IS NOT NULL;
    CREATE INDEX route_right ON route (key) WHERE marks & 1;
    CREATE INDEX route_wrong ON route (key) WHERE marks & 2;
    CREATE INDEX route_words ON route (key) WHERE words IS NOT NULL;
    CREATE TABLE detail (
        key INTEGER PRIMARY KEY, candidates TEXT NOT NULL, shape TEXT NOT NULL, arguments TEXT, quoting TEXT
    ) STRICT;
    CREATE TABLE decision_tally (
        slot INTEGER NOT NULL, decision TEXT NOT NULL, routes INTEGER NOT NULL, cached INTEGER NOT NULL,
        routing_ms REAL NOT NULL, total_ms REAL NOT NULL, PRIMARY KEY (slot, decision)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE tool_tally (
        hour INTEGER NOT NULL, tool TEXT NOT NULL, ending TEXT NOT NULL, routes INTEGER NOT NULL,
        total_ms REAL NOT NULL, PRIMARY KEY (hour, tool, ending)
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER route_added AFTER INSERT ON route BEGIN
        INSERT INTO decision_tally VALUES ((new.key >> 20) / 300000, new.decision, 1, new.cached,
            new.routing_ms, new.total_ms)
        ON CONFLICT DO UPDATE SET routes = routes + 1, cached = cached + excluded.cached,
            routing_ms = routing_ms + excluded.routing_ms, total_ms = total_ms + excluded.total_ms;
        INSERT INTO tool_tally VALUES ((new.key >> 20) / 3600000, coalesce(new.tool, ''), new.ending, 1, new.total_ms)
        ON CONFLICT DO UPDATE SET routes = routes + 1, total_ms = total_ms + excluded.total_ms;
    END;
    CREATE TRIGGER route_removed AFTER DELETE ON route BEGIN
        UPDATE decision_tally SET routes = routes - 1, cached = cached - old.cached,
            routing_ms = routing_ms - old.routing_ms, total_ms = total_ms - old.total_ms
        WHERE slot = (old.key >> 20) / 300000 AND decision = old.decision;
        DELETE FROM decision_tally
        WHERE slot = (old.key >> 20) / 300000 AND decision = old.decision AND routes = 0;
        UPDATE tool_tally SET routes = routes - 1, total_ms = total_ms - old.total_ms
        WHERE hour = (old.key >> 20) / 3600000 AND tool = coalesce(old.tool, '') AND ending = old.ending;
        DELETE FROM tool_tally WHERE hour = (old.key >> 20) / 3600000 AND tool = coalesce(old.tool, '')
            AND ending = old.ending AND routes = 0;
    END;
    CREATE TABLE feedback (
        id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, route TEXT, who TEXT NOT NULL, source TEXT NOT NULL,
        verdict INTEGER NOT NULL, meant TEXT, weight REAL NOT NULL, words TEXT
    ) STRICT;
    CREATE INDEX feedback_at ON feedback (at, source, verdict);
    CREATE INDEX feedback_route ON feedback (route, verdict) WHERE route IS NOT NULL;
    CREATE TABLE lesson (
        id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, who TEXT NOT NULL, words TEXT NOT NULL, right_tool TEXT,
        wrong_tool TEXT, weight REAL NOT NULL, source TEXT NOT NULL, route TEXT, undone INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX lesson_who ON lesson (who, undone, at);
    CREATE INDEX lesson_route ON lesson (route) WHERE route IS NOT NULL;
    CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;";

/// What a finished change outlives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The end of the process, however sudden.
    Process,
    /// The end of power, too.
    Power,
}

/// One connection to the file of a folder, opened when it is first used.
#[derive(Debug)]
pub(crate) struct Database {
    folder: PathBuf,
    path: PathBuf,
    retention: Retention,
    durability: Durability,
    opened: Option<Opened>,
}

#[derive(Debug)]
struct Opened {
    connection: Connection,
    file: FileId,
}

/// Tells files apart that have the same name one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl Database {
    /// Names the database of a folder.
    pub(crate) fn new(folder: &Path, retention: Retention, durability: Durability) -> Self {
        let path = folder.join("history.db");
        Self { folder: folder.to_owned(), path, retention, durability, opened: None }
    }

    /// Works on the file. When it proves damaged it is replaced, and the work done again on the new one.
    pub(crate) fn run<T>(
        &mut self,
        mut work: impl FnMut(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let path = self.path.clone();
        let opened = self.opened()?;
        let file = opened.file;
        match work(&mut opened.connection) {
            Err(err) if is_damage(&err) => {}
            result => return result.map_err(|source| Error::of(&path, source)),
        }
        // Closed before its files are moved: closing removes a log by its name.
        self.opened = None;
        self.opened = Some(self.open(Some(file))?);
        work(&mut self.opened()?.connection).map_err(|source| Error::of(&path, source))
    }

    fn opened(&mut self) -> Result<&mut Opened, Error> {
        let file = file_id(&self.path);
        if self.opened.as_ref().is_none_or(|opened| Some(opened.file) != file) {
            self.opened = None;
            self.opened = Some(self.open(None)?);
        }
        Ok(self.opened.as_mut().expect("was opened above"))
    }

    fn open(&self, damaged: Option<FileId>) -> Result<Opened, Error> {
        let unusable = |source| Error::Folder { folder: self.folder.clone(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(unusable)?;
        // One at a time, because a new file has no form yet on which SQLite could wait.
        let lock = private_file(&self.folder.join("history.lock"), Existing::Opened).map_err(unusable)?;
        lock.lock().map_err(unusable)?;
        let aside = if damaged.is_some() && damaged == file_id(&self.path) {
            Some(self.move_aside().map_err(unusable)?)
        } else {
            None
        };
        match self.connect() {
            Err(Error::Damaged { source, .. }) => {
                tracing::warn!("the history at `{}` cannot be read: {source}", self.path.display());
                let aside = self.move_aside().map_err(unusable)?;
                self.connect().inspect(|opened| rescue_lessons(&opened.connection, &aside))
            }
            Ok(opened) => {
                aside.iter().for_each(|aside| rescue_lessons(&opened.connection, aside));
                Ok(opened)
            }
            Err(err) => Err(err),
        }
    }

    fn connect(&self) -> Result<Opened, Error> {
        let wrong = |source| Error::of(&self.path, source);
        // Never opened here when it exists: closing a file a second time would drop the locks that other
        // connections of this process have on it.
        match private_file(&self.path, Existing::Refused) {
            Err(err) if err.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Error::Folder { folder: self.folder.clone(), source: err });
            }
            Ok(_) | Err(_) => {}
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(&self.path, flags).map_err(wrong)?;
        connection.busy_timeout(PATIENCE).map_err(wrong)?;
        // Kilobytes: pages of a month of routes are read once and not again.
        connection.pragma_update(None, "cache_size", -1024).map_err(wrong)?;
        let is_new = self.is_new(&connection)?;
        self.prepare(&mut connection, is_new).map_err(wrong)?;
        let file =
            file_id(&self.path).ok_or_else(|| wrong(rusqlite::Error::InvalidPath(self.path.clone())))?;
        Ok(Opened { connection, file })
    }

    /// Looks at a file before anything is written: one of somebody else is left as it is.
    fn is_new(&self, connection: &Connection) -> Result<bool, Error> {
        let wrong = |source| Error::of(&self.path, source);
        let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(wrong);
        let version = number("PRAGMA user_version")?;
        let application = number("PRAGMA application_id")?;
        let tables = number("SELECT count(*) FROM sqlite_schema")?;
        let is_new = version == 0 && application == 0 && tables == 0;
        if !is_new && application != APPLICATION {
            return Err(Error::Foreign { path: self.path.clone() });
        }
        if VERSION < version {
            return Err(Error::Newer { path: self.path.clone(), version, known: VERSION });
        }
        Ok(is_new)
    }

    fn prepare(&self, connection: &mut Connection, is_new: bool) -> rusqlite::Result<()> {
        if is_new {
            // Only possible while the file has no pages.
            connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL;")?;
        }
        let synchronous = match self.durability {
            Durability::Process => "NORMAL",
            Durability::Power => "FULL",
        };
        let log_bytes = self.retention.log_bytes();
        // What is deleted is overwritten, and nothing is spilled into files elsewhere: forgotten words are gone.
        connection.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; PRAGMA secure_delete = ON;
             PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = {log_bytes};
             PRAGMA wal_autocheckpoint = {};",
            log_bytes / 4096
        ))?;
        if is_new {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute_batch(SCHEMA)?;
            // Begins with the time, so that a new file never repeats a version of the one before it.
            transaction.execute("INSERT INTO counter VALUES ('lessons', ?1)", params![now_ms()])?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
            transaction.commit()?;
        }
        Ok(())
    }

    fn move_aside(&self) -> io::Result<PathBuf> {
        let aside = (now_ms()..)
            .map(|number| self.folder.join(format!("history.damaged-{number}.db")))
            .find(|path| !path.exists())
            .expect("numbers do not end");
        tracing::warn!(
            "the history at `{}` was damaged and moved to `{}`; a new one begins",
            self.path.display(),
            aside.display()
        );
        // The log goes along: with a new database it would be taken for that one's own.
        for suffix in ["-wal", "-shm", ""] {
            match std::fs::rename(beside(&self.path, suffix), beside(&aside, suffix)) {
                Err(err) if err.kind() != io::ErrorKind::NotFound => return Err(err),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(aside)
    }
}

/// Returns the path of a file that SQLite keeps beside a database.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Copies the lessons that a damaged file still gives. People taught them, so they are worth a try.
fn rescue_lessons(connection: &Connection, aside: &Path) {
    let rescue = || -> rusqlite::Result<usize> {
        let damaged = Connection::open(aside)?;
        let mut read = damaged.prepare(
            "SELECT id, at, who, words, right_tool, wrong_tool, weight, source, route, undone FROM lesson",
        )?;
        let mut rows = read.query([])?;
        let mut count = 0;
        // Row by row, until the damage is met.
        while let Ok(Some(row)) = rows.next() {
            let values: Vec<rusqlite::types::Value> =
                (0..10).map(|at| row.get(at)).collect::<rusqlite::Result<_>>()?;
            count += connection.execute(
                "INSERT OR IGNORE INTO lesson VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                rusqlite::params_from_iter(values),
            )?;
        }
        Ok(count)
    };
    match rescue() {
        Ok(count) => tracing::warn!("{count} lessons were taken over from the damaged history"),
        Err(err) => tracing::warn!("no lessons could be taken over from the damaged history: {err}"),
    }
}

fn file_id(path: &Path) -> Option<FileId> {
    let metadata = std::fs::metadata(path).ok()?;
    Some(FileId { device: metadata.dev(), inode: metadata.ino() })
}

/// What happens to a file that is there.
#[derive(Clone, Copy, Debug)]
enum Existing {
    Opened,
    Refused,
}

/// Makes a file that only its owner can read.
fn private_file(path: &Path, existing: Existing) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).mode(0o600);
    match existing {
        Existing::Opened => options.create(true),
        Existing::Refused => options.create_new(true),
    };
    options.open(path)
}
