//! What was learnt, kept in SQLite across restarts.
//!
//! A hub without its store works, it only has to learn again; so nothing here stops it.

mod database; // the file: made whole, put aside when it is damaged
mod handles; //  short handles of long texts
mod once; //     calls that may be repeated without a second effect
mod pinned; //   approved definitions

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

pub use pinned::Approval;
pub(crate) use pinned::{Approvals, Approver, Damage, FreshPin, OriginRow, PinRow};

use crate::private;
use crate::routing::{Measured, Tally};
use crate::seal::digest;
use crate::upstream::Listing;

pub(crate) use handles::Handled;
pub(crate) use once::{Earlier, KeyedCall};

/// Why something could not be kept or read.
#[derive(Debug, thiserror::Error)]
#[error("the store at `{}` failed: {source}", path.display())]
pub struct Error {
    path: PathBuf,
    source: rusqlite::Error,
}

/// The database of one folder; several hubs may share it.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Mutex<Connection>,
    /// Whether the connection stands in for a file that holds approvals and cannot be read.
    is_stand_in: AtomicBool,
}

/// What a running hub says about itself, for `toolyard status`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Status {
    /// Its process.
    pub pid: u32,
    /// Where it serves.
    pub serving: String,
    /// The configuration file it runs on.
    pub config: Option<PathBuf>,
    /// Its servers.
    pub servers: Vec<ServerStatus>,
    /// How far it understands its tools.
    #[serde(default)]
    pub meaning: MeaningStatus,
    /// How often it remembered which tool is meant.
    #[serde(default)]
    pub routes: Tally,
}

/// How far tools are understood by meaning.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct MeaningStatus {
    /// What compares meanings; `None` where nothing does yet.
    pub model: Option<String>,
    /// How many texts have a vector.
    pub known: usize,
    /// How many texts there are.
    pub all: usize,
    /// Why it is not the model that the configuration names.
    pub trouble: Option<String>,
}

/// What is known of one server.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct ServerStatus {
    /// Its name in the configuration.
    pub name: String,
    /// `stdio`, `http`, `sse` or `builtin`.
    pub transport: String,
    /// Where it is in its life.
    pub state: String,
    /// Why it failed or is off, when it did or is.
    pub reason: Option<String>,
    /// How many tools it has, when that is known.
    pub tools: Option<usize>,
    /// What was wrong with what it offered.
    pub problems: Vec<String>,
    /// Tools that wait until a person approves them.
    #[serde(default)]
    pub waiting: usize,
}

impl ServerStatus {
    /// The state of a server that lacks an environment variable.
    pub(crate) const OFF: &str = "off";

    /// Whether the server lacks an environment variable.
    pub fn is_off(&self) -> bool {
        self.state == Self::OFF
    }
}

impl Store {
    /// Opens the store of a folder. A damaged file is put aside; an unwritable folder keeps nothing new.
    pub fn open(folder: &Path) -> Self {
        let path = folder.join("toolyard.db");
        let connection = private::folder(folder)
            .map_err(|err| err.to_string())
            .and_then(|()| database::open(&path).map_err(|err| err.to_string()));
        let mut is_stand_in = false;
        let connection = connection.unwrap_or_else(|err| {
            let readable = database::read_only(&path);
            let what = if readable.is_ok() { "nothing new" } else { "nothing" };
            tracing::warn!(
                "{what} will be remembered: the store at `{}` cannot be written: {err}",
                path.display()
            );
            readable.unwrap_or_else(|_| {
                is_stand_in = database::is_there(&path);
                database::in_memory()
            })
        });
        Self { path, connection: Mutex::new(connection), is_stand_in: is_stand_in.into() }
    }

    /// Returns what was learnt of a server under the same configuration.
    pub fn listing(&self, server: &str, fingerprint: &str) -> Option<Arc<Listing>> {
        let connection = self.connection.lock();
        let text: Option<String> = connection
            .prepare_cached("SELECT listing FROM server WHERE name = ?1 AND fingerprint = ?2")
            .and_then(|mut statement| {
                statement.query_row(params![server, fingerprint], |row| row.get(0)).optional()
            })
            .unwrap_or_default();
        serde_json::from_str(&text?).ok().map(Arc::new)
    }

    /// Keeps what was learnt of a server.
    pub fn keep_listing(&self, server: &str, fingerprint: &str, listing: &Listing) -> Result<(), Error> {
        let text = serde_json::to_string(listing).expect("own types serialise");
        self.write(
            "INSERT INTO server (name, fingerprint, listing, learnt) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (name) DO UPDATE SET fingerprint = ?2, listing = ?3, learnt = ?4",
            params![server, fingerprint, text, now()],
        )
    }

    /// Keeps what a running hub says about itself.
    pub fn keep_status(&self, status: &Status) -> Result<(), Error> {
        let text = serde_json::to_string(status).expect("own types serialise");
        self.write(
            "INSERT INTO hub (pid, status, said) VALUES (?1, ?2, ?3)
             ON CONFLICT (pid) DO UPDATE SET status = ?2, said = ?3",
            params![status.pid, text, now()],
        )
    }

    /// Forgets a hub that ends.
    pub fn drop_status(&self, pid: u32) -> Result<(), Error> {
        self.write("DELETE FROM hub WHERE pid = ?1", params![pid])
    }

    /// Returns what the hubs that still run say about themselves.
    pub fn statuses(&self) -> Vec<Status> {
        let connection = self.connection.lock();
        let Ok(mut statement) = connection.prepare("SELECT status FROM hub ORDER BY pid") else {
            return Vec::new();
        };
        let Ok(rows) = statement.query_map([], |row| row.get::<_, String>(0)) else { return Vec::new() };
        let all = rows.flatten().filter_map(|text| serde_json::from_str::<Status>(&text).ok());
        all.filter(|status| is_alive(status.pid)).collect()
    }

    /// Returns what was seen of every tool's calls.
    pub(crate) fn measured(&self) -> Vec<(String, Measured)> {
        let connection = self.connection.lock();
        let Ok(mut statement) = connection.prepare("SELECT tool, calls, failures, latency_ms FROM measured")
        else {
            return Vec::new();
        };
        let rows = statement.query_map([], |row| {
            Ok((row.get(0)?, Measured { calls: row.get(1)?, failures: row.get(2)?, latency_ms: row.get(3)? }))
        });
        rows.map(|rows| rows.flatten().collect()).unwrap_or_default()
    }

    /// Adds to what was seen of tools' calls. Several hubs may do so.
    pub(crate) fn keep_measured(&self, fresh: &BTreeMap<String, Measured>) -> Result<(), Error> {
        for (tool, seen) in fresh {
            self.write(
                "INSERT INTO measured (tool, calls, failures, latency_ms) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (tool) DO UPDATE SET
                     calls = calls + ?2, failures = failures + ?3, latency_ms = ?4",
                params![tool, seen.calls, seen.failures, seen.latency_ms],
            )?;
        }
        Ok(())
    }

    /// Marks a number as used for a while; `false` when it was before, by this hub or another.
    pub(crate) fn spend(&self, number: u64, lifetime: Duration) -> Result<bool, Error> {
        let until = now().saturating_add(i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX));
        self.write("DELETE FROM spent WHERE until < ?1", params![now()])?;
        let rows = self.write_rows(
            "INSERT OR IGNORE INTO spent (number, until) VALUES (?1, ?2)",
            params![number.cast_signed(), until],
        )?;
        Ok(rows > 0)
    }

    /// Whether a number was marked as used and still counts.
    pub(crate) fn is_spent(&self, number: u64) -> bool {
        let connection = self.connection.lock();
        let sql = "SELECT 1 FROM spent WHERE number = ?1 AND until >= ?2";
        let found = connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.exists(params![number.cast_signed(), now()]));
        found.unwrap_or(false)
    }

    /// Returns the stored vectors of texts, each `None` where there is none.
    pub(crate) fn vectors(&self, model: i64, texts: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
        let connection = self.connection.lock();
        let sql = "SELECT vector FROM vector WHERE model = ?1 AND text = ?2";
        let Ok(mut statement) = connection.prepare_cached(sql) else { return vec![None; texts.len()] };
        let mut vector = |text: &&[u8]| statement.query_row(params![model, text], |row| row.get(0)).ok();
        texts.iter().map(&mut vector).collect()
    }

    /// Returns every stored vector: what stands for the model, what stands for the text, and its bytes.
    pub(crate) fn all_vectors(&self) -> Vec<(i64, Vec<u8>, Vec<u8>)> {
        let connection = self.connection.lock();
        let sql = "SELECT model, text, vector FROM vector ORDER BY model, text";
        let Ok(mut statement) = connection.prepare_cached(sql) else { return Vec::new() };
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        rows.map(|rows| rows.flatten().collect()).unwrap_or_default()
    }

    /// Keeps vectors of texts, all or none. Others may keep the same.
    pub(crate) fn keep_vectors(&self, model: i64, rows: &[(&[u8], Vec<u8>)]) -> Result<(), Error> {
        let mut connection = self.connection.lock();
        let mut keep = || -> rusqlite::Result<()> {
            let transaction = connection.transaction()?;
            {
                let sql = "INSERT OR REPLACE INTO vector (model, text, vector) VALUES (?1, ?2, ?3)";
                let mut statement = transaction.prepare_cached(sql)?;
                for (text, vector) in rows {
                    statement.execute(params![model, text, vector])?;
                }
            }
            transaction.commit()
        };
        keep().map_err(|source| Error { path: self.path.clone(), source })
    }

    fn write(&self, sql: &str, values: impl rusqlite::Params + Copy) -> Result<(), Error> {
        self.write_rows(sql, values).map(drop)
    }

    fn write_rows(&self, sql: &str, values: impl rusqlite::Params + Copy) -> Result<usize, Error> {
        self.with(|connection| {
            connection.prepare_cached(sql).and_then(|mut statement| statement.execute(values))
        })
    }

    /// Works on the file. When it proves damaged it is put aside, and the work done on a new one.
    fn with<T>(&self, mut work: impl FnMut(&mut Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        let mut connection = self.connection.lock();
        let mut done = work(&mut connection);
        if let Err(err) = &done
            && database::is_damage(err)
        {
            // Closed before its files are moved: closing removes a journal by its name.
            drop(std::mem::replace(&mut *connection, database::in_memory()));
            self.is_stand_in.store(true, Ordering::Relaxed);
            done = database::replaced(&self.path, err).and_then(|replaced| {
                *connection = replaced;
                self.is_stand_in.store(false, Ordering::Relaxed);
                work(&mut connection)
            });
        }
        done.map_err(|source| Error { path: self.path.clone(), source })
    }

    /// Tries the file again for which the connection stands in.
    fn return_to_file(&self) -> Result<(), Error> {
        let mut connection = self.connection.lock();
        if self.is_stand_in.load(Ordering::Relaxed) {
            *connection =
                database::open(&self.path).map_err(|source| Error { path: self.path.clone(), source })?;
            self.is_stand_in.store(false, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Says whether something new can be kept in a folder.
pub fn check(folder: &Path) -> Result<(), String> {
    let path = folder.join("toolyard.db");
    private::folder(folder).map_err(|err| format!("`{}` cannot be used: {err}", folder.display()))?;
    let written = database::connect(&path).and_then(|connection| {
        connection.execute_batch("BEGIN IMMEDIATE; DELETE FROM spent WHERE until < 0; ROLLBACK;")
    });
    written.map_err(|source| Error { path, source }.to_string())
}

/// Returns what a listing depends on: another command under the same name is another server.
pub fn fingerprint(transport: &crate::config::Transport) -> String {
    use crate::config::Transport;
    let pairs =
        |map: &BTreeMap<String, String>| map.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>();
    let parts = match transport {
        Transport::Stdio { command, args, env, cwd } => {
            vec![
                "stdio".to_owned(),
                command.clone(),
                args.join("\0"),
                pairs(env).join("\0"),
                format!("{cwd:?}"),
            ]
        }
        Transport::Http { url, headers, .. } => {
            vec!["http".to_owned(), url.clone(), pairs(headers).join("\0")]
        }
        Transport::Sse { url, headers, .. } => vec!["sse".to_owned(), url.clone(), pairs(headers).join("\0")],
        Transport::Builtin(kind) => {
            vec!["builtin".to_owned(), format!("{kind:?}"), env!("CARGO_PKG_VERSION").to_owned()]
        }
    };
    digest(&parts.iter().map(String::as_str).collect::<Vec<_>>())
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

fn is_alive(pid: u32) -> bool {
    rustix::process::Pid::from_raw(pid.cast_signed())
        .is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_store_is_put_aside_and_works_again() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("toolyard.db"), "this is no database, however long it may be")
            .unwrap();
        let store = Store::open(folder.path());
        store.keep_status(&status(std::process::id())).unwrap();
        assert_eq!(Store::open(folder.path()).statuses(), [status(std::process::id())]);
        let kept = std::fs::read_dir(folder.path()).unwrap().flatten();
        assert!(kept.map(|file| file.file_name()).any(|name| name.to_string_lossy().contains("damaged")));
    }

    #[test]
    fn an_unwritable_folder_is_no_reason_to_stop() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a-file");
        std::fs::write(&file, "").unwrap();
        let store = Store::open(&file.join("below"));
        store.keep_status(&status(std::process::id())).unwrap();
        assert_eq!(store.statuses().len(), 1);
    }

    #[test]
    fn t27_a_store_that_can_only_be_read_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        Store::open(folder.path()).keep_status(&status(std::process::id())).unwrap();
        assert_eq!(check(folder.path()), Ok(()));
        // The header says that only a newer SQLite may write; the mode of a file means nothing to root.
        let path = folder.path().join("toolyard.db");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[18] = 3;
        std::fs::write(&path, bytes).unwrap();
        let said = check(folder.path()).unwrap_err();
        assert!(said.contains("readonly database"), "{said}");
        assert!(check(&path.join("below")).unwrap_err().contains("cannot be used"));
    }

    #[test]
    fn t27_the_store_is_for_its_owner_alone_and_so_it_stays() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mode =
            |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
        for _ in 0..2 {
            let store = Store::open(folder.path());
            store.keep_status(&status(std::process::id())).unwrap();
            assert_eq!(
                ["toolyard.db", "toolyard.db-wal", "toolyard.db-shm", ""].map(mode),
                [0o600, 0o600, 0o600, 0o700]
            );
            drop(store);
            let widen = |name: &str, mode: u32| {
                let wide = std::fs::Permissions::from_mode(mode);
                std::fs::set_permissions(folder.path().join(name), wide).unwrap();
            };
            widen("toolyard.db", 0o644);
            widen("", 0o755);
        }
    }

    #[test]
    fn hubs_that_ended_are_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path());
        store.keep_status(&status(u32::MAX / 4)).unwrap();
        assert_eq!(store.statuses(), []);
    }

    #[test]
    fn r2_what_was_seen_of_calls_outlives_the_hub_and_adds_up() {
        let folder = tempfile::tempdir().unwrap();
        let seen = |calls, latency_ms| {
            BTreeMap::from([("a__b".to_owned(), Measured { calls, failures: 1, latency_ms })])
        };
        Store::open(folder.path()).keep_measured(&seen(2, 10.0)).unwrap();
        Store::open(folder.path()).keep_measured(&seen(3, 20.0)).unwrap();
        let kept = Measured { calls: 5, failures: 2, latency_ms: 20.0 };
        assert_eq!(Store::open(folder.path()).measured(), [("a__b".to_owned(), kept)]);
    }

    #[test]
    fn c3_what_was_used_stays_used_after_a_restart_and_for_other_hubs() {
        let folder = tempfile::tempdir().unwrap();
        let minute = Duration::from_secs(60);
        let (one, other) = (Store::open(folder.path()), Store::open(folder.path()));
        assert!(one.spend(u64::MAX, minute).unwrap());
        assert!(!one.spend(u64::MAX, minute).unwrap());
        assert!(!other.spend(u64::MAX, minute).unwrap());
        assert!(other.spend(7, minute).unwrap());
    }

    fn status(pid: u32) -> Status {
        Status {
            pid,
            serving: "stdio".to_owned(),
            config: None,
            servers: Vec::new(),
            meaning: MeaningStatus::default(),
            routes: Tally::default(),
        }
    }
}
