//! Calls per server and tool, within bounds.
//!
//! The first 64 servers and the first 200 tools have series of their own; the rest counts as `other`. A call of a tool
//! that has a series takes one shared lock and allocates nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::RwLock;

use crate::counter::Counts;
use crate::histogram::{CALLING, Distribution, Histogram};
use crate::label::{OTHER, clean};

/// Servers with series of their own.
const SERVERS: usize = 64;
/// Tools with series of their own, over all servers.
const TOOLS: usize = 200;
/// How a call can end.
const OUTCOMES: &[&str] =
    &["answered", "failed", "refused", "unreachable", "denied", "unconfirmed", "held-back", "abandoned"];
/// The outcomes in which the server or the tool is at fault. The others are decisions of the policy or of the client.
const ERRORS: &[&str] = &["failed", "refused", "unreachable"];

/// The outcomes of calls that the server saw to their end. The others are not timed: a call that the policy denied after
/// a microsecond says nothing about how fast a tool is.
const TIMED: &[&str] = &["answered", "failed", "refused", "unreachable"];

/// Counts calls by server, tool and outcome.
#[derive(Debug)]
pub(crate) struct CallCounts {
    known: RwLock<Known>,
}

/// The calls of one server at one moment.
#[derive(Clone, Debug)]
pub(crate) struct ServerReading {
    pub(crate) server: String,
    pub(crate) took: Distribution,
    pub(crate) tools: Vec<ToolReading>,
}

/// The calls of one tool at one moment.
#[derive(Clone, Debug)]
pub(crate) struct ToolReading {
    pub(crate) tool: String,
    /// Counts by outcome, without those that never happened.
    pub(crate) outcomes: Vec<(&'static str, u64)>,
    pub(crate) took: Distribution,
}

#[derive(Debug, Default)]
struct Known {
    servers: BTreeMap<Box<str>, ServerSeries>,
    /// Tools that have a series of their own.
    tools: usize,
}

#[derive(Debug)]
struct ServerSeries {
    took: Histogram,
    tools: BTreeMap<Box<str>, ToolSeries>,
}

#[derive(Debug)]
struct ToolSeries {
    outcomes: Counts,
    took: Histogram,
}

impl CallCounts {
    pub(crate) fn new() -> Self {
        Self { known: RwLock::new(Known::default()) }
    }

    pub(crate) fn record(&self, server: &str, tool: &str, outcome: &str, took: Duration) {
        let (server, tool) = (clean(server), clean(tool));
        if self.known.read().count(&server, &tool, outcome, took) {
            return;
        }
        let mut known = self.known.write();
        known.admit(&server, &tool);
        known.count(&server, &tool, outcome, took);
    }

    /// Returns the label of each server, in the same order: its name while there is room, else `other`.
    pub(crate) fn server_labels<'a>(&self, servers: impl Iterator<Item = &'a str>) -> Vec<String> {
        let mut known = self.known.write();
        servers.map(|server| known.admit_server(&clean(server)).to_owned()).collect()
    }

    /// Returns every server and tool that was called, by name.
    pub(crate) fn read(&self) -> Vec<ServerReading> {
        let known = self.known.read();
        known
            .servers
            .iter()
            .filter(|(_, series)| !series.tools.is_empty())
            .map(|(name, series)| series.read(name))
            .collect()
    }
}

impl Known {
    /// Counts a call where its series exists, and tells whether it did.
    fn count(&self, server: &str, tool: &str, outcome: &str, took: Duration) -> bool {
        let Some(server) = self.servers.get(self.server_key(server)) else { return false };
        let Some(series) = server.tools.get(self.tool_key(server, tool)) else { return false };
        series.outcomes.add(outcome);
        if TIMED.contains(&outcome) {
            series.took.observe(took);
            server.took.observe(took);
        }
        true
    }

    fn admit(&mut self, server: &str, tool: &str) {
        let server = self.admit_server(server);
        let series = &self.servers[server];
        let key = self.tool_key(series, tool);
        if series.tools.contains_key(key) {
            return;
        }
        if key != OTHER {
            self.tools += 1;
        }
        let fresh = ToolSeries { outcomes: Counts::new(OUTCOMES), took: Histogram::new(CALLING) };
        let series = self.servers.get_mut(server).expect("admitted above");
        series.tools.insert(key.into(), fresh);
    }

    fn admit_server<'a>(&mut self, server: &'a str) -> &'a str {
        let key = self.server_key(server);
        if !self.servers.contains_key(key) {
            let fresh = ServerSeries { took: Histogram::new(CALLING), tools: BTreeMap::new() };
            self.servers.insert(key.into(), fresh);
        }
        key
    }

    fn server_key<'a>(&self, server: &'a str) -> &'a str {
        let named = self.servers.len() - usize::from(self.servers.contains_key(OTHER));
        if named < SERVERS || self.servers.contains_key(server) { server } else { OTHER }
    }

    fn tool_key<'a>(&self, server: &ServerSeries, tool: &'a str) -> &'a str {
        if self.tools < TOOLS || server.tools.contains_key(tool) { tool } else { OTHER }
    }
}

impl ServerSeries {
    fn read(&self, server: &str) -> ServerReading {
        let tools = self.tools.iter().map(|(tool, series)| ToolReading {
            tool: tool.to_string(),
            outcomes: series.outcomes.read().into_iter().filter(|(_, count)| *count > 0).collect(),
            took: series.took.read(),
        });
        ServerReading { server: server.to_owned(), took: self.took.read(), tools: tools.collect() }
    }
}

impl ServerReading {
    pub(crate) fn calls(&self) -> u64 {
        self.tools.iter().map(ToolReading::calls).sum()
    }

    pub(crate) fn errors(&self) -> u64 {
        self.tools.iter().map(ToolReading::errors).sum()
    }
}

impl ToolReading {
    pub(crate) fn calls(&self) -> u64 {
        self.outcomes.iter().map(|(_, count)| count).sum()
    }

    pub(crate) fn errors(&self) -> u64 {
        self.outcomes.iter().filter(|(outcome, _)| ERRORS.contains(outcome)).map(|(_, count)| count).sum()
    }
}
