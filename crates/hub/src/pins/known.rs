//! What is known of approvals, and of what was said about them.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use serde::Serialize;

use super::sighting::SeenTool;
use super::{MOST_LINES, WaitingFor};
use crate::store::{self, Approvals, Damage, OriginRow, PinRow};

/// What is approved, and what a server was told of.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) revision: i64,
    pub(super) approved: HashMap<String, ApprovedTools>,
    pub(super) lost: Option<Lost>,
    pub(super) origins: HashMap<String, OriginRow>,
    pub(super) told: HashMap<String, Told>,
}

/// Why it is not known what was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    Damaged(Damage),
    Unread(String),
}

/// That it is not known what was approved, for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LostApprovals {
    /// What happened, and what to do.
    pub what: String,
    /// The damaged file, where it was put aside.
    pub file: Option<PathBuf>,
}

impl Known {
    /// Takes over what the store says. What was known before stays where that cannot be read.
    pub(super) fn take(&mut self, read: Result<Approvals, store::Error>) {
        match read {
            Ok(read) => {
                self.revision = read.revision;
                self.approved = by_server(read.pins);
                self.lost = read.damage.map(Lost::Damaged);
            }
            Err(err) => self.lost = Some(Lost::Unread(err.to_string())),
        }
    }

    /// Whether it is not known what was approved of a server.
    pub(super) fn is_lost(&self, server: &str) -> bool {
        match &self.lost {
            None => false,
            Some(Lost::Damaged(damage)) => !damage.reviewed.contains(server),
            Some(Lost::Unread(_)) => true,
        }
    }

    /// Says why a tool waits, where it does.
    pub(super) fn waiting(&self, server: &str, seen: &SeenTool) -> Option<WaitingFor> {
        match self.approved.get(server).and_then(|it| it.get(&seen.name)) {
            None if self.is_lost(server) => Some(WaitingFor::Unknown),
            None => Some(WaitingFor::New),
            Some(rows) if rows.iter().any(|row| row.pin == seen.pin || seen.is_like(row)) => None,
            Some(_) => Some(WaitingFor::Changed),
        }
    }
}

/// The approved definitions of a server's tools.
pub(super) type ApprovedTools = HashMap<String, Vec<PinRow>>;

/// What was said about a server already.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) withheld: BTreeSet<String>,
    pub(super) renumbered: BTreeSet<String>,
    pub(super) lines: usize,
}

impl Told {
    /// Whether one more line is said; the last says that it is the last.
    pub(super) fn says_on(&mut self, server: &str) -> bool {
        self.lines += 1;
        if self.lines == MOST_LINES {
            tracing::warn!(
                server,
                "its tools change all the time; `toolyard list` tells, the log does not any more"
            );
        }
        self.lines < MOST_LINES
    }
}

fn by_server(rows: Vec<(String, PinRow)>) -> HashMap<String, ApprovedTools> {
    let mut servers: HashMap<String, ApprovedTools> = HashMap::new();
    for (server, row) in rows {
        servers.entry(server).or_default().entry(row.tool.clone()).or_default().push(row);
    }
    servers
}

pub(super) fn by_tool(rows: Vec<PinRow>) -> ApprovedTools {
    let mut tools = ApprovedTools::new();
    for row in rows {
        tools.entry(row.tool.clone()).or_default().push(row);
    }
    tools
}
