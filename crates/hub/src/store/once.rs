//! Calls that a client may repeat without a second effect, under keys of its choice.
//!
//! A key is taken before its call is sent, so a hub that dies in between never sends it twice. Each client has room of
//! its own, and what is not over is not forgotten for what is new.

use rusqlite::{OptionalExtension, params};

use super::{Error, Store, is_alive, now};

/// How long a key is remembered, in seconds: a day.
const REMEMBERED: i64 = 24 * 60 * 60;
/// Keys of one client that are remembered at most; beyond, the oldest that were answered are forgotten.
const MOST_KEYS: i64 = 4096;
/// The place of a process's start in `/proc/PID/stat`, counted behind its name.
const START_FIELD: usize = 19;
/// What tables lack that an earlier version made.
const ADDED: [(&str, &str); 3] = [
    ("client", "ALTER TABLE once ADD COLUMN client TEXT NOT NULL DEFAULT ''"),
    ("question", "ALTER TABLE once ADD COLUMN question TEXT"),
    ("started", "ALTER TABLE once ADD COLUMN started TEXT"),
];

/// A call that has a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyedCall<'a> {
    /// The key, told apart from those of other clients.
    pub(crate) key: &'a str,
    /// Whose it is.
    pub(crate) client: &'a str,
    /// Tells it apart from other calls.
    pub(crate) call: &'a str,
}

/// What is known of the call of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Earlier {
    /// Nothing. The key is taken from here on.
    Nothing,
    /// It is under way in another process.
    Underway,
    /// It was sent, and nobody waited for its answer.
    CutOff,
    /// It was sent, and waits for the answer to this question.
    Asked(String),
    /// It was answered like this; with nothing where the answer was too long to be kept.
    Answered(Option<String>),
    /// The key belongs to another call.
    Other,
    /// Nothing, and the client has as many unfinished calls as are remembered.
    Full,
}

impl Store {
    /// Takes a key for a call, or says what became of the call that has it. Whoever asks knows that nobody else in this
    /// process has the key.
    pub(crate) fn take_key(&self, call: KeyedCall<'_>) -> Result<Earlier, Error> {
        self.write(
            "CREATE TABLE IF NOT EXISTS once (
                 key TEXT PRIMARY KEY, call TEXT NOT NULL, pid INTEGER NOT NULL, is_over INTEGER NOT NULL DEFAULT 0,
                 answer TEXT, since INTEGER NOT NULL)",
            [],
        )?;
        for (column, addition) in ADDED {
            if !self.has_column(column)? {
                let added = self.write(addition, []);
                // Another hub may have been faster.
                if !self.has_column(column)? {
                    added?;
                }
            }
        }
        self.write("DELETE FROM once WHERE since < ?1", params![now() - REMEMBERED])?;
        if let Some(earlier) = self.earlier(call)? {
            return Ok(earlier);
        }
        self.write(
            "DELETE FROM once WHERE is_over = 1 AND key IN (
                 SELECT key FROM once WHERE client = ?1 ORDER BY is_over, since DESC, rowid DESC LIMIT -1 OFFSET ?2)",
            params![call.client, MOST_KEYS - 1],
        )?;
        let own = std::process::id();
        let taken = self.write_rows(
            "INSERT OR IGNORE INTO once (key, client, call, pid, started, since) SELECT ?1, ?2, ?3, ?4, ?5, ?6
             WHERE (SELECT count(*) FROM once WHERE client = ?2) < ?7",
            params![call.key, call.client, call.call, own, started(own), now(), MOST_KEYS],
        )?;
        if taken > 0 {
            return Ok(Earlier::Nothing);
        }
        // Another hub took it in between, or there is no room.
        Ok(self.earlier(call)?.unwrap_or(Earlier::Full))
    }

    fn has_column(&self, name: &str) -> Result<bool, Error> {
        let connection = self.connection.lock();
        let found = connection
            .prepare_cached("SELECT 1 FROM pragma_table_info('once') WHERE name = ?1")
            .and_then(|mut statement| statement.exists(params![name]));
        found.map_err(|source| Error { path: self.path.clone(), source })
    }

    fn earlier(&self, call: KeyedCall<'_>) -> Result<Option<Earlier>, Error> {
        struct Row {
            call: String,
            pid: u32,
            started: Option<String>,
            is_over: bool,
            answer: Option<String>,
            question: Option<String>,
        }
        let connection = self.connection.lock();
        let found = connection
            .prepare_cached("SELECT call, pid, is_over, answer, question, started FROM once WHERE key = ?1")
            .and_then(|mut statement| {
                let row = |row: &rusqlite::Row<'_>| {
                    let (call, pid, is_over) = (row.get(0)?, row.get(1)?, row.get(2)?);
                    let (answer, question, started) = (row.get(3)?, row.get(4)?, row.get(5)?);
                    Ok(Row { call, pid, started, is_over, answer, question })
                };
                statement.query_row(params![call.key], row).optional()
            })
            .map_err(|source| Error { path: self.path.clone(), source })?;
        Ok(found.map(|row| match row {
            row if row.call != call.call => Earlier::Other,
            Row { is_over: true, answer, .. } => Earlier::Answered(answer),
            Row { question: Some(question), .. } => Earlier::Asked(question),
            // In a container every hub has the same number: this one is of the hub before.
            Row { pid, .. } if pid == 0 || pid == std::process::id() || !is_alive(pid) => Earlier::CutOff,
            // The number of a process is given to another one when it is free again.
            Row { pid, started: Some(then), .. } if started(pid).is_some_and(|now| now != then) => {
                Earlier::CutOff
            }
            Row { .. } => Earlier::Underway,
        }))
    }

    /// Keeps the answer to the call of a key; nothing where it is too long.
    pub(crate) fn keep_answer(&self, key: &str, answer: Option<&str>) -> Result<(), Error> {
        self.write(
            "UPDATE once SET is_over = 1, answer = ?2, question = NULL WHERE key = ?1",
            params![key, answer],
        )
    }

    /// Keeps the question that the call of a key waits with.
    pub(crate) fn keep_question(&self, key: &str, question: &str) -> Result<(), Error> {
        self.write("UPDATE once SET pid = 0, question = ?2 WHERE key = ?1", params![key, question])
    }

    /// Goes on with a call that asked; `false` when somebody else does.
    pub(crate) fn resume_key(&self, key: &str) -> Result<bool, Error> {
        let rows = self.write_rows(
            "UPDATE once SET pid = ?2, started = ?3, question = NULL WHERE key = ?1 AND question IS NOT NULL",
            params![key, std::process::id(), started(std::process::id())],
        )?;
        Ok(rows > 0)
    }

    /// Notes that nobody waits for the answer to the call of a key.
    pub(crate) fn cut_off(&self, key: &str) -> Result<(), Error> {
        self.write("UPDATE once SET pid = 0 WHERE key = ?1", params![key])
    }

    /// Gives a key back whose call was not sent.
    pub(crate) fn give_back(&self, key: &str) -> Result<(), Error> {
        self.write("DELETE FROM once WHERE key = ?1", params![key])
    }
}

/// Says when a process began, in ticks since a start of the system; `None` where the system does not tell, which is
/// everywhere but on Linux.
fn started(pid: u32) -> Option<String> {
    let about = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold anything, also spaces and brackets.
    let (_, fields) = about.rsplit_once(')')?;
    let ticks = fields.split_whitespace().nth(START_FIELD)?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Some(format!("{} {ticks}", boot.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(store: &Store, key: &str, client: &str) -> Earlier {
        store.take_key(KeyedCall { key, client, call: "call" }).unwrap()
    }

    #[test]
    fn t27_one_client_makes_nobody_forget_the_keys_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path());
        assert_eq!(take(&store, "hers", "grace"), Earlier::Nothing);
        store.keep_answer("hers", Some("answer")).unwrap();
        assert_eq!(take(&store, "unfinished", "ada"), Earlier::Nothing);
        fill(&store, 1);
        assert_eq!(take(&store, "one more", "ada"), Earlier::Nothing);
        assert_eq!(take(&store, "hers", "grace"), Earlier::Answered(Some("answer".to_owned())));
        assert_eq!(take(&store, "unfinished", "ada"), Earlier::CutOff, "what is not over is not forgotten");
        assert_eq!(take(&store, "filler 1", "ada"), Earlier::Nothing, "the oldest answer made room");
    }

    #[test]
    fn t27_a_client_full_of_unfinished_calls_gets_no_new_key() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path());
        assert_eq!(take(&store, "first", "ada"), Earlier::Nothing);
        fill(&store, 0);
        assert_eq!(take(&store, "one more", "ada"), Earlier::Full);
        assert_eq!(take(&store, "hers", "grace"), Earlier::Nothing);
        store.give_back("first").unwrap();
        store.give_back("filler 1").unwrap();
        assert_eq!(take(&store, "one more", "ada"), Earlier::Nothing);
    }

    #[test]
    fn t27_a_key_of_a_hub_that_died_is_cut_off_even_if_its_number_lives_on() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(take(&Store::open(folder.path()), "key", "ada"), Earlier::Nothing);
        assert_eq!(take(&Store::open(folder.path()), "key", "ada"), Earlier::CutOff);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn t27_a_key_of_a_hub_whose_number_another_program_got_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path());
        let mut other = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        assert_eq!(take(&store, "key", "ada"), Earlier::Nothing);
        let of = |began: Option<String>| {
            let row = "UPDATE once SET pid = ?1, started = ?2 WHERE key = 'key'";
            store.write(row, params![other.id(), began.as_deref()]).unwrap();
            take(&store, "key", "ada")
        };
        // Two processes may begin within one tick, so the other beginning is made up.
        let began = started(other.id()).unwrap();
        let seen = [of(Some(began.clone())), of(Some(format!("{began}0"))), of(None)];
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(seen, [Earlier::Underway, Earlier::CutOff, Earlier::Underway]);
    }

    #[test]
    fn t27_keys_of_an_earlier_version_are_still_known() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path());
        let table = "CREATE TABLE once (
            key TEXT PRIMARY KEY, call TEXT NOT NULL, pid INTEGER NOT NULL, is_over INTEGER NOT NULL DEFAULT 0,
            answer TEXT, since INTEGER NOT NULL)";
        store.write(table, []).unwrap();
        let row =
            "INSERT INTO once (key, call, pid, is_over, answer, since) VALUES ('old', 'call', 1, 1, 'a', ?1)";
        store.write(row, params![now()]).unwrap();
        assert_eq!(take(&store, "old", ""), Earlier::Answered(Some("a".to_owned())));
        assert_eq!(take(&store, "new", ""), Earlier::Nothing);
    }

    /// Gives a client as many more keys as there is room for.
    fn fill(store: &Store, is_over: i64) {
        let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
            INSERT INTO once (key, client, call, pid, since, is_over)
            SELECT 'filler ' || i, 'ada', 'call', 0, ?2, ?3 FROM n";
        store.write(rows, params![MOST_KEYS - 1, now(), is_over]).unwrap();
    }
}
