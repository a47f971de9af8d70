//! Approved definitions, and where servers came from.
//!
//! Hubs that share a store agree: whoever approves first has approved, and every change has a number that others see.

use std::collections::HashSet;
use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::{Error, Store, now};

/// The tables.
pub(super) const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS pin (
        server TEXT NOT NULL, tool TEXT NOT NULL, pin TEXT NOT NULL, raw TEXT NOT NULL, definition TEXT,
        approver TEXT NOT NULL, approved INTEGER NOT NULL, PRIMARY KEY (server, tool, pin));
    CREATE TABLE IF NOT EXISTS origin (
        server TEXT PRIMARY KEY, address TEXT NOT NULL, version TEXT NOT NULL, moved TEXT, since INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS revision (name TEXT PRIMARY KEY, number INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS damage (path TEXT PRIMARY KEY, since INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS reviewed (server TEXT PRIMARY KEY);";

/// One approved definition, as it is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PinRow {
    /// The tool by the server's own name.
    pub(crate) tool: String,
    /// The digest of what is shown.
    pub(crate) pin: String,
    /// The digest of the text itself, by which the same text is known at once.
    pub(crate) raw: String,
}

/// What is approved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Approvals {
    /// Every approved definition with its server, without the texts.
    pub(crate) pins: Vec<(String, PinRow)>,
    /// Present while approvals are missing.
    pub(crate) damage: Option<Damage>,
    /// Grows whenever something was approved, by this hub or another.
    pub(crate) revision: i64,
}

/// That a damaged store was put aside with what was approved in it. Until a person has looked at a server again, nothing
/// of it is approved by being seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Where the damaged file is now.
    pub(crate) aside: PathBuf,
    /// The servers that a person has looked at since.
    pub(crate) reviewed: HashSet<String>,
}

/// An approved definition to be kept.
#[derive(Clone, Debug)]
pub(crate) struct FreshPin {
    pub(crate) row: PinRow,
    /// The text, unless it is too long to be shown again.
    pub(crate) definition: Option<String>,
}

/// Who approves. A tool may have several approved definitions: settings files that share a store may name different
/// servers alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approver {
    /// A tool that nobody approved before is accepted as it is seen.
    FirstUse,
    /// A person, beside what was approved before.
    Person,
}

/// How a definition was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The text that was approved, where it was kept.
    pub definition: Option<String>,
    /// Whether a person did it.
    pub by_person: bool,
    /// When, in seconds since 1970.
    pub at: i64,
}

/// Where a server comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OriginRow {
    pub(crate) server: String,
    /// The digest of its command or address.
    pub(crate) address: String,
    /// The version that it says it has.
    pub(crate) version: String,
    /// What of it changed the last time, in words.
    pub(crate) moved: Option<String>,
    /// Since when it is so, in seconds since 1970.
    pub(crate) since: i64,
}

impl Store {
    /// Returns what is approved. A store that cannot be read is an error: nothing approved is something else.
    pub(crate) fn approvals(&self) -> Result<Approvals, Error> {
        self.return_to_file()?;
        self.with(|connection| {
            // One view of all tables, whatever others write meanwhile.
            let connection = connection.transaction()?;
            let mut pins =
                connection.prepare_cached("SELECT server, tool, pin, raw FROM pin ORDER BY rowid")?;
            let pins = pins.query_map([], |row| {
                Ok((row.get(0)?, PinRow { tool: row.get(1)?, pin: row.get(2)?, raw: row.get(3)? }))
            })?;
            let pins = pins.collect::<rusqlite::Result<_>>()?;
            Ok(Approvals { pins, damage: damage(&connection)?, revision: revision(&connection)? })
        })
    }

    /// Keeps which servers a person has looked at since the store was damaged; once that is all of them, the damage is
    /// forgotten.
    pub(crate) fn keep_reviewed(&self, servers: &[&str], is_all: bool) -> Result<(), Error> {
        self.with(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for server in servers {
                transaction
                    .execute("INSERT OR IGNORE INTO reviewed (server) VALUES (?1)", params![server])?;
            }
            if is_all {
                transaction.execute_batch("DELETE FROM damage; DELETE FROM reviewed;")?;
            }
            count_up(&transaction)?;
            transaction.commit()
        })
    }

    /// Returns how the definition of a tool was approved the last time.
    pub(crate) fn approval(&self, server: &str, tool: &str) -> Option<Approval> {
        let connection = self.connection.lock();
        let sql = "SELECT definition, approver, approved FROM pin WHERE server = ?1 AND tool = ?2
                   ORDER BY approved DESC, rowid DESC LIMIT 1";
        let mut statement = connection.prepare_cached(sql).ok()?;
        let read = statement.query_row(params![server, tool], |row| {
            let by_person = row.get::<_, String>(1)? == word(Approver::Person);
            Ok(Approval { definition: row.get(0)?, by_person, at: row.get(2)? })
        });
        read.optional().ok().flatten()
    }

    /// Returns the approved definitions of a tool with their pins, as far as their texts were kept.
    pub(crate) fn approved_texts(&self, server: &str, tool: &str) -> Vec<(String, String)> {
        let connection = self.connection.lock();
        let sql = "SELECT pin, definition FROM pin
                   WHERE server = ?1 AND tool = ?2 AND definition IS NOT NULL ORDER BY rowid DESC";
        let Ok(mut statement) = connection.prepare_cached(sql) else { return Vec::new() };
        let rows = statement.query_map(params![server, tool], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.map(|rows| rows.flatten().collect()).unwrap_or_default()
    }

    /// Keeps approved definitions, all or none, and returns what is approved of the server then: another hub may have
    /// been faster.
    pub(crate) fn keep_pins(
        &self,
        server: &str,
        fresh: &[FreshPin],
        approver: Approver,
    ) -> Result<Vec<PinRow>, Error> {
        self.return_to_file()?;
        self.with(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let sql = match approver {
                Approver::FirstUse => {
                    "INSERT INTO pin (server, tool, pin, raw, definition, approver, approved)
                     SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7
                     WHERE NOT EXISTS (SELECT 1 FROM pin WHERE server = ?1 AND tool = ?2)
                     AND (NOT EXISTS (SELECT 1 FROM damage)
                          OR EXISTS (SELECT 1 FROM reviewed WHERE server = ?1))"
                }
                Approver::Person => {
                    "INSERT OR REPLACE INTO pin (server, tool, pin, raw, definition, approver, approved)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
                }
            };
            {
                let mut insert = transaction.prepare_cached(sql)?;
                for FreshPin { row, definition } in fresh {
                    let PinRow { tool, pin, raw } = row;
                    insert.execute(params![server, tool, pin, raw, definition, word(approver), now()])?;
                }
            }
            count_up(&transaction)?;
            let rows = rows_of(&transaction, server)?;
            transaction.commit()?;
            Ok(rows)
        })
    }

    /// Forgets what was approved of a server.
    pub fn forget_pins(&self, server: &str) -> Result<(), Error> {
        self.with(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute("DELETE FROM pin WHERE server = ?1", params![server])?;
            transaction.execute("DELETE FROM origin WHERE server = ?1", params![server])?;
            transaction.execute("DELETE FROM reviewed WHERE server = ?1", params![server])?;
            count_up(&transaction)?;
            transaction.commit()
        })
    }

    /// Returns a number that grows whenever something was approved, by this hub or another; `None` where it cannot be
    /// read.
    pub(crate) fn pin_revision(&self) -> Option<i64> {
        revision(&self.connection.lock()).ok()
    }

    /// Returns when each tool of each server was first approved, in seconds since 1970.
    pub(crate) fn first_seen(&self) -> Vec<(String, String, i64)> {
        let connection = self.connection.lock();
        let sql = "SELECT server, tool, min(approved) FROM pin GROUP BY server, tool";
        let Ok(mut statement) = connection.prepare_cached(sql) else { return Vec::new() };
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        rows.map(|rows| rows.flatten().collect()).unwrap_or_default()
    }

    /// Returns where every server came from.
    pub(crate) fn origins(&self) -> Vec<OriginRow> {
        let connection = self.connection.lock();
        let sql = "SELECT server, address, version, moved, since FROM origin";
        let Ok(mut statement) = connection.prepare_cached(sql) else { return Vec::new() };
        let rows = statement.query_map([], |row| {
            Ok(OriginRow {
                server: row.get(0)?,
                address: row.get(1)?,
                version: row.get(2)?,
                moved: row.get(3)?,
                since: row.get(4)?,
            })
        });
        rows.map(|rows| rows.flatten().collect()).unwrap_or_default()
    }

    /// Keeps where a server comes from.
    pub(crate) fn keep_origin(&self, origin: &OriginRow) -> Result<(), Error> {
        let OriginRow { server, address, version, moved, since } = origin;
        self.write(
            "INSERT INTO origin (server, address, version, moved, since) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (server) DO UPDATE SET address = ?2, version = ?3, moved = ?4, since = ?5",
            params![server, address, version, moved, since],
        )
    }
}

fn revision(connection: &Connection) -> rusqlite::Result<i64> {
    let mut statement = connection.prepare_cached("SELECT number FROM revision WHERE name = 'pin'")?;
    Ok(statement.query_row([], |row| row.get(0)).optional()?.unwrap_or_default())
}

fn damage(connection: &Connection) -> rusqlite::Result<Option<Damage>> {
    // One that can only be read may be from before there was such a table.
    if !connection.table_exists(None, "damage")? {
        return Ok(None);
    }
    let mut statement = connection.prepare_cached("SELECT path FROM damage ORDER BY since DESC LIMIT 1")?;
    let aside: Option<String> = statement.query_row([], |row| row.get(0)).optional()?;
    let Some(aside) = aside else { return Ok(None) };
    let mut statement = connection.prepare_cached("SELECT server FROM reviewed")?;
    let reviewed = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(Some(Damage { aside: aside.into(), reviewed }))
}

fn rows_of(connection: &Connection, server: &str) -> rusqlite::Result<Vec<PinRow>> {
    let mut statement =
        connection.prepare_cached("SELECT tool, pin, raw FROM pin WHERE server = ?1 ORDER BY rowid")?;
    let rows = statement.query_map(params![server], |row| {
        Ok(PinRow { tool: row.get(0)?, pin: row.get(1)?, raw: row.get(2)? })
    })?;
    rows.collect()
}

fn count_up(connection: &Connection) -> rusqlite::Result<usize> {
    connection.execute(
        "INSERT INTO revision (name, number) VALUES ('pin', 1)
         ON CONFLICT (name) DO UPDATE SET number = number + 1",
        [],
    )
}

fn word(approver: Approver) -> &'static str {
    match approver {
        Approver::FirstUse => "first-use",
        Approver::Person => "person",
    }
}
