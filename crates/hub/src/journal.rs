//! Runs of workflows, written down before anything happens.
//!
//! Unlike the store, of which nothing is missed when it cannot be written, the journal fails loudly: what
//! is not written is not done. Each write is on the disk when it returns.

mod lease; // one hub at a time drives a run

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use toolyard_core::plan::Plan;
use toolyard_core::run::{Ending, Leaving, Run};

use crate::access::Grant;
use crate::private;

pub use lease::Lease;

use crate::pins::Pin;

/// Runs that are over and still kept.
const KEPT: i64 = 500;
/// Runs of one name among which one that did the same is looked for.
const LOOKED_AT: i64 = 20;
/// What `raw_record` reads.
const RECORDS: &str = "SELECT id, name, begun, changed, servers, state, pins, granted FROM run";

/// Why something could not be written down or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database said no, as it does when the disk is full.
    #[error("the journal of workflows at `{}` failed: {source}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The folder or the lock of a run cannot be used.
    #[error("`{}` cannot be used for the journal of workflows: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// What was written cannot be understood.
    #[error("the run `{id}` cannot be read back: {why}")]
    Unreadable {
        /// The run.
        id: String,
        /// Why.
        why: String,
    },
}

/// Where runs are written down; hubs on the same store share it.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    connection: Mutex<Option<Connection>>,
}

/// One run as it was written down.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Names the run.
    pub id: String,
    /// What its plan is called.
    pub name: String,
    /// When it was begun, in milliseconds since 1970.
    pub begun_ms: u64,
    /// When it was written the last time.
    pub changed_ms: u64,
    /// Tells the servers that it was begun with from others of the same names.
    pub servers: String,
    /// The tools of its plan as they were when it was begun.
    pub pins: BTreeMap<String, Pin>,
    /// What who began it may do, where that is not everything.
    pub grant: Option<Grant>,
    /// The run itself.
    pub run: Run,
}

/// What a run was begun with.
#[derive(Clone, Debug, Default)]
pub struct Beginning {
    /// Tells the servers from others of the same names.
    pub servers: String,
    /// The definitions of the tools.
    pub pins: BTreeMap<String, Pin>,
    /// What who began it may do, where that is not everything.
    pub grant: Option<Grant>,
}

impl Journal {
    /// Names the journal of a folder; it is opened when it is first used.
    pub fn new(folder: &Path) -> Arc<Self> {
        Arc::new(Self { folder: folder.to_owned(), connection: Mutex::default() })
    }

    /// Writes a new run down and returns what it is called, with the right to drive it.
    pub fn begin(&self, run: &Run, with: &Beginning) -> Result<(String, Lease), Error> {
        let id = fresh_id();
        // Nobody else can know the name yet, so the lease is free.
        let lease = self.lease(&id)?.ok_or_else(|| self.failed(rusqlite::Error::QueryReturnedNoRows))?;
        let state = written(run);
        let pins = serde_json::to_string(&with.pins).expect("own types serialise");
        let grant = with.grant.as_ref().map(|it| serde_json::to_string(it).expect("own types serialise"));
        self.with(|connection| {
            connection.execute(
                "INSERT INTO run (id, name, over, begun, changed, servers, state, pins, granted)
                 VALUES (?1, ?2, 0, ?3, ?3, ?4, ?5, ?6, ?7)",
                params![id, run.plan().name(), signed(now_ms()), with.servers, state, pins, grant],
            )?;
            connection.execute(
                "DELETE FROM run WHERE over = 1 AND id NOT IN
                 (SELECT id FROM run WHERE over = 1 ORDER BY changed DESC LIMIT ?1)",
                params![KEPT],
            )
        })?;
        Ok((id, lease))
    }

    /// Writes down where a run is.
    pub fn write(&self, id: &str, run: &Run) -> Result<(), Error> {
        // What is unknown waits for a person, not for a hub.
        let is_over = run.is_over();
        let state = written(run);
        let rows = self.with(|connection| {
            connection
                .prepare_cached("UPDATE run SET state = ?2, over = ?3, changed = ?4 WHERE id = ?1")?
                .execute(params![id, state, is_over, signed(now_ms())])
        })?;
        if rows == 1 { Ok(()) } else { Err(self.failed(rusqlite::Error::QueryReturnedNoRows)) }
    }

    /// Returns the run that is called so, or whose name begins so when there is only one.
    pub fn find(&self, id: &str) -> Result<Option<Kept>, Error> {
        let rows =
            self.rows("WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id = ?1 DESC LIMIT 2", params![id])?;
        let is_clear = rows.len() == 1 || rows.first().is_some_and(|row| row.id == id);
        rows.into_iter().next().filter(|_| is_clear && !id.is_empty()).map(RawRecord::read).transpose()
    }

    /// Returns all runs, the newest first. One that cannot be read back is left out and logged.
    pub fn list(&self) -> Result<Vec<Kept>, Error> {
        self.records("ORDER BY begun DESC, id")
    }

    /// Returns the runs that are not over, the oldest first.
    pub fn unfinished(&self) -> Result<Vec<Kept>, Error> {
        self.records("WHERE over = 0 ORDER BY begun, id")
    }

    /// Returns the last run that did the same as a plan, or is about to.
    pub fn last_like(&self, plan: &Plan) -> Result<Option<Kept>, Error> {
        let which = "WHERE name = ?1 ORDER BY begun DESC, id LIMIT ?2";
        let rows = self.rows(which, params![plan.name(), LOOKED_AT])?;
        let mut runs = rows.into_iter().filter_map(RawRecord::read_or_warn);
        Ok(runs.find(|kept| kept.run.plan().does_the_same_as(plan)))
    }

    /// Asks whoever drives a run to stop it.
    pub fn ask_to_stop(&self, id: &str, leaving: Leaving) -> Result<(), Error> {
        let word = serde_json::to_string(&leaving).expect("own types serialise");
        self.with(|connection| {
            connection.execute("UPDATE run SET stop = ?2 WHERE id = ?1", params![id, word])
        })?;
        Ok(())
    }

    /// Returns whether somebody asked to stop a run, and takes the wish away.
    pub fn asked_to_stop(&self, id: &str) -> Result<Option<Leaving>, Error> {
        let word: Option<String> = self.with(|connection| {
            let sql = "SELECT stop FROM run WHERE id = ?1";
            let word = connection.prepare_cached(sql)?.query_row(params![id], |row| row.get(0)).optional()?;
            let word: Option<String> = word.flatten();
            if word.is_some() {
                connection.execute("UPDATE run SET stop = NULL WHERE id = ?1", params![id])?;
            }
            Ok(word)
        })?;
        Ok(word.and_then(|word| serde_json::from_str(&word).ok()))
    }

    /// Takes the right to drive a run; `None` when somebody else has it.
    pub fn lease(&self, id: &str) -> Result<Option<Lease>, Error> {
        Lease::take(&self.folder.join("runs"), id)
    }

    fn records(&self, which: &str) -> Result<Vec<Kept>, Error> {
        Ok(self.rows(which, [])?.into_iter().filter_map(RawRecord::read_or_warn).collect())
    }

    fn rows(&self, which: &str, with: impl Params) -> Result<Vec<RawRecord>, Error> {
        let sql = format!("{RECORDS} {which}");
        self.with(|connection| connection.prepare_cached(&sql)?.query_map(with, raw_record)?.collect())
    }

    fn with<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        let mut guard = self.connection.lock();
        if guard.is_none() {
            let made = private::folder(&self.folder).and_then(|()| private::database(&self.path()));
            made.map_err(|source| Error::File { path: self.folder.clone(), source })?;
            *guard = Some(connect(&self.path()).map_err(|source| self.failed(source))?);
        }
        let connection = guard.as_ref().expect("it was opened above");
        work(connection).map_err(|source| self.failed(source))
    }

    fn path(&self) -> PathBuf {
        self.folder.join("workflows.db")
    }

    fn failed(&self, source: rusqlite::Error) -> Error {
        Error::Database { path: self.path(), source }
    }
}

/// A file of its own: the store is put aside when it is damaged, and is not written through to the disk.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA cache_size = -512;
         CREATE TABLE IF NOT EXISTS run (
             id TEXT PRIMARY KEY, name TEXT NOT NULL, over INTEGER NOT NULL, begun INTEGER NOT NULL,
             changed INTEGER NOT NULL, servers TEXT NOT NULL, stop TEXT, state TEXT NOT NULL,
             pins TEXT NOT NULL DEFAULT '{}');",
    )?;
    // Runs of an earlier version know nothing of definitions and clients.
    for (column, kind) in [("pins", "TEXT NOT NULL DEFAULT '{}'"), ("granted", "TEXT")] {
        let look = format!("SELECT {column} FROM run LIMIT 0");
        if connection.prepare(&look).is_err() {
            // Another process may have added it meanwhile.
            let _ = connection.execute(&format!("ALTER TABLE run ADD COLUMN {column} {kind}"), []);
            connection.prepare(&look)?;
        }
    }
    Ok(connection)
}

struct RawRecord {
    id: String,
    name: String,
    begun: i64,
    changed: i64,
    servers: String,
    state: String,
    pins: String,
    grant: Option<String>,
}

fn raw_record(row: &Row<'_>) -> rusqlite::Result<RawRecord> {
    Ok(RawRecord {
        id: row.get(0)?,
        name: row.get(1)?,
        begun: row.get(2)?,
        changed: row.get(3)?,
        servers: row.get(4)?,
        state: row.get(5)?,
        pins: row.get(6)?,
        grant: row.get(7)?,
    })
}

impl RawRecord {
    fn read_or_warn(self) -> Option<Kept> {
        self.read().inspect_err(|err| tracing::warn!("{err}")).ok()
    }

    fn read(self) -> Result<Kept, Error> {
        let Self { id, name, begun, changed, servers, state, pins, grant } = self;
        let run: Run = match serde_json::from_str(&state) {
            Ok(run) => run,
            Err(err) => return Err(Error::Unreadable { id, why: err.to_string() }),
        };
        // What cannot be understood is not taken for everything.
        let grant = match grant.map(|it| serde_json::from_str(&it)).transpose() {
            Ok(grant) => grant,
            Err(err) => return Err(Error::Unreadable { id, why: err.to_string() }),
        };
        let unsigned = |ms: i64| u64::try_from(ms).unwrap_or_default();
        let pins = match serde_json::from_str(&pins) {
            Ok(pins) => pins,
            Err(err) => return Err(Error::Unreadable { id, why: err.to_string() }),
        };
        let (begun_ms, changed_ms) = (unsigned(begun), unsigned(changed));
        Ok(Kept { id, name, begun_ms, changed_ms, servers, pins, grant, run })
    }
}

impl Kept {
    /// Returns how the run ended, or that it did not yet.
    pub fn ending(&self) -> Ending {
        self.run.report().ending
    }
}

fn written(run: &Run) -> String {
    serde_json::to_string(run).expect("own types serialise")
}

fn signed(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

/// Returns the time as runs count it: a clock that goes on while no hub runs.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Short enough to be typed, and long enough that no two runs of one store meet.
fn fresh_id() -> String {
    let mut bytes = [0; 5];
    // Without randomness the clock still tells runs apart that one person starts.
    if getrandom::fill(&mut bytes).is_err() {
        bytes.copy_from_slice(&now_ms().to_be_bytes()[3..]);
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
