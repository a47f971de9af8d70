//! How far servers are trusted: with tools that nobody has seen before, with texts, and with this machine.

use std::path::PathBuf;

use super::raw::{RawServerTrust, RawTrust};
use super::{Policy, Server, Transport};

/// What happens to a tool that nobody has seen before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// It is accepted as it is seen first.
    #[default]
    FirstUse,
    /// It waits until a person approves it.
    Ask,
}

/// What happens to tools and results whose texts look like instructions to a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScreeningMode {
    /// Nothing is screened.
    Allow,
    /// People are told of such tools, and programs of such results.
    #[default]
    Warn,
    /// Such tools are neither listed nor callable, too.
    Quarantine,
}

/// What a server's program may use of this machine, besides what it needs to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// Whether it may reach the network.
    pub network: bool,
    /// Files and folders that it may read.
    pub read: Vec<PathBuf>,
    /// Files and folders that it may read and change.
    pub write: Vec<PathBuf>,
}

impl Server {
    /// Returns what happens to tools that nobody has seen before; `None` where the server is part of the program.
    pub fn trusted(&self, policy: &Policy) -> Option<Trust> {
        match self.transport {
            Transport::Builtin(_) => None,
            Transport::Stdio { .. } | Transport::Http { .. } | Transport::Sse { .. } => {
                Some(self.trust.unwrap_or(policy.trust))
            }
        }
    }
}

pub(super) fn read(raw: RawTrust) -> Trust {
    match raw {
        RawTrust::FirstUse => Trust::FirstUse,
        RawTrust::Ask => Trust::Ask,
    }
}

/// Reads what a server says; a switch of another program says nothing here.
pub(super) fn of_server(raw: RawServerTrust) -> Option<Trust> {
    match raw {
        RawServerTrust::Word(word) => Some(read(word)),
        RawServerTrust::Switch(_) => None,
    }
}
