//! How a hub is run.

use std::path::PathBuf;

/// How a hub is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The executable that becomes the watchdog of child processes.
    pub watchdog: Option<PathBuf>,
    /// Whether servers that were never reached are learnt in the background.
    pub learning: Learning,
}

/// Whether servers that were never reached are learnt in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learning {
    /// One after the other, as a serving hub does.
    Background,
    /// Only when asked, as a single command does.
    OnDemand,
}
