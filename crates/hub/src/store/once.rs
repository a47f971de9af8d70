//! Calls that a client may repeat without a second effect, under keys of its choice.
//!
//! A key is taken before its call is sent, so a hub that dies in between never sends it twice.

use rusqlite::{OptionalExtension, params};

use super::{Error, Store, is_alive, now};

/// How long a key is remembered, in seconds: a day.
const REMEMBERED: i64 = 24 * 60 * 60;
/// Keys that are remembered at most; beyond, the oldest are forgotten.
const MOST_KEYS: i64 = 4096;

/// What is known of the call of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Earlier {
    /// Nothing. The key is taken from here on.
    Nothing,
    /// It is under way, in this process or another.
    Underway,
    /// It was sent, and nobody waited for its answer.
    CutOff,
    /// It was answered like this; with nothing where the answer was too long to be kept.
    Answered(Option<String>),
    /// The key belongs to another call.
    Other,
}

impl Store {
    /// Takes a key for a call, or says what became of the call that has it.
    pub(crate) fn take_key(&self, key: &str, call: &str) -> Result<Earlier, Error> {
        self.write(
            "CREATE TABLE IF NOT EXISTS once (
                 key TEXT PRIMARY KEY, call TEXT NOT NULL, pid INTEGER NOT NULL, is_over INTEGER NOT NULL DEFAULT 0,
                 answer TEXT, since INTEGER NOT NULL)",
            [],
        )?;
        self.write("DELETE FROM once WHERE since < ?1", params![now() - REMEMBERED])?;
        self.write(
            "DELETE FROM once WHERE key IN (SELECT key FROM once ORDER BY since DESC LIMIT -1 OFFSET ?1)",
            params![MOST_KEYS],
        )?;
        let taken = self.write_rows(
            "INSERT OR IGNORE INTO once (key, call, pid, since) VALUES (?1, ?2, ?3, ?4)",
            params![key, call, std::process::id(), now()],
        )?;
        if taken > 0 {
            return Ok(Earlier::Nothing);
        }
        let connection = self.connection.lock();
        let found = connection
            .prepare_cached("SELECT call, pid, is_over, answer FROM once WHERE key = ?1")
            .and_then(|mut statement| {
                let row = |row: &rusqlite::Row<'_>| {
                    let (call, pid): (String, u32) = (row.get(0)?, row.get(1)?);
                    Ok((call, pid, row.get::<_, bool>(2)?, row.get::<_, Option<String>>(3)?))
                };
                statement.query_row(params![key], row).optional()
            })
            .map_err(|source| Error { path: self.path.clone(), source })?;
        Ok(match found {
            // Given back in between: whoever asks again will have it.
            None => Earlier::Underway,
            Some((other, ..)) if other != call => Earlier::Other,
            Some((_, _, true, answer)) => Earlier::Answered(answer),
            Some((_, 0, false, _)) => Earlier::CutOff,
            Some((_, pid, false, _)) if !is_alive(pid) => Earlier::CutOff,
            Some((_, _, false, _)) => Earlier::Underway,
        })
    }

    /// Keeps the answer to the call of a key; nothing where it is too long.
    pub(crate) fn keep_answer(&self, key: &str, answer: Option<&str>) -> Result<(), Error> {
        self.write("UPDATE once SET is_over = 1, answer = ?2 WHERE key = ?1", params![key, answer])
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
