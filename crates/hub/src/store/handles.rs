//! Short handles of texts that are too long for a model to repeat.

use std::time::Duration;

use rusqlite::{OptionalExtension, params};

use super::{Error, Store, now};

/// The table.
pub(super) const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS handle (
        name TEXT PRIMARY KEY, text TEXT NOT NULL, owner TEXT NOT NULL, until INTEGER NOT NULL);";
/// Handles that are kept; beyond, the oldest of whoever has most goes.
const MOST: i64 = 1000;

/// A text with a handle, and whose room it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handled<'t> {
    pub(crate) handle: &'t str,
    pub(crate) text: &'t str,
    pub(crate) owner: &'t str,
}

impl Store {
    /// Keeps a text under a handle for a while.
    pub(crate) fn keep_text(&self, of: Handled<'_>, lifetime: Duration) -> Result<(), Error> {
        let until = now().saturating_add(i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX));
        self.write("DELETE FROM handle WHERE until < ?1", params![now()])?;
        let room = "DELETE FROM handle WHERE (SELECT COUNT(*) FROM handle) >= ?1 AND name = (
            SELECT name FROM handle WHERE owner = (
                SELECT owner FROM handle GROUP BY owner ORDER BY COUNT(*) DESC LIMIT 1)
            ORDER BY until, rowid LIMIT 1)";
        self.write(room, params![MOST])?;
        let row = "INSERT OR IGNORE INTO handle (name, text, owner, until) VALUES (?1, ?2, ?3, ?4)";
        self.write(row, params![of.handle, of.text, of.owner, until])
    }

    /// Returns the text of a handle.
    pub(crate) fn text_of(&self, handle: &str) -> Option<String> {
        let connection = self.connection.lock();
        let sql = "SELECT text FROM handle WHERE name = ?1 AND until >= ?2";
        let found = connection.prepare_cached(sql).and_then(|mut statement| {
            statement.query_row(params![handle, now()], |row| row.get(0)).optional()
        });
        found.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c3_a_handle_stands_for_its_text_also_for_the_next_hub_and_for_others() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (Store::open(folder.path()), Store::open(folder.path()));
        let minute = Duration::from_secs(60);
        one.keep_text(Handled { handle: "a", text: "long", owner: "ana" }, minute).unwrap();
        assert_eq!(other.text_of("a").as_deref(), Some("long"));
        assert_eq!(other.text_of("b"), None);
        drop(one);
        assert_eq!(Store::open(folder.path()).text_of("a").as_deref(), Some("long"));
    }

    #[test]
    fn t27_thousands_of_confirmations_of_one_client_displace_none_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path());
        let minute = Duration::from_secs(60);
        store.keep_text(Handled { handle: "early", text: "bob's", owner: "bob" }, minute).unwrap();
        let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
            INSERT INTO handle (name, text, owner, until) SELECT 'hers ' || i, 'hers', 'ana', ?2 FROM n";
        store.write(rows, params![MOST - 1, now() + 50]).unwrap();
        for handle in ["late", "later"] {
            store.keep_text(Handled { handle, text: "cy's", owner: "cy" }, minute).unwrap();
        }
        assert!(["early", "late", "later"].iter().all(|it| store.text_of(it).is_some()));
        assert_eq!((store.text_of("hers 1"), store.text_of("hers 2")), (None, None));
    }
}
