//! From the command line to a running hub.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use toolyard_hub::config::{self, Config, Folders};
use toolyard_hub::hub::{Hub, Learning, Options};

use crate::args::Common;
use crate::failure::Failure;

/// Logs go to stderr: stdout belongs to the protocol and to results.
pub(crate) fn start_log(verbose: u8) {
    let level = match verbose {
        0 => tracing::Level::WARN,
        1 => tracing::Level::INFO,
        _ => tracing::Level::DEBUG,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .init();
}

/// Where settings come from.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) folders: Folders,
    /// The file, when there is one.
    pub(crate) path: Option<PathBuf>,
}

impl Source {
    /// Finds the settings that the command line means.
    pub(crate) fn find(common: &Common) -> Result<Self, Failure> {
        let folders = Folders::of_user(&env).ok_or_else(|| {
            Failure::usage("there is no home folder").hint("set HOME, or give the file with --config")
        })?;
        let cwd = std::env::current_dir()?;
        let path = config::find(common.config.as_deref(), &cwd, &folders.config);
        Ok(Self { folders, path })
    }

    /// Reads the settings; without a file they are the built-in servers.
    pub(crate) fn load(&self) -> Result<Config, Failure> {
        match &self.path {
            Some(path) => Ok(config::load(path, &env, &self.folders)?),
            None => Ok(config::default(&self.folders)),
        }
    }
}

pub(crate) fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Starts a hub.
pub(crate) fn hub(config: Config, learning: Learning) -> Arc<Hub> {
    Hub::start(config, Options { watchdog: std::env::current_exe().ok(), learning })
}
