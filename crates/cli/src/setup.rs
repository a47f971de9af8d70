//! From the command line to a running hub.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use toolyard_hub::config::{self, Config, Folders};
use toolyard_hub::hub::{Hub, Learning, Options};
use toolyard_hub::upstream::Upstream;
use tracing::Level;

use crate::common::Common;
use crate::failure::Failure;

/// Logs go to stderr: stdout belongs to the protocol and to results.
///
/// `quietest` is what is logged unless more is asked for.
pub(crate) fn start_log(quietest: Level, verbose: u8) {
    let level = match verbose {
        0 => quietest,
        1 => Level::INFO,
        _ => Level::DEBUG,
    };
    let wants_colours = std::io::stderr().is_terminal() && env("NO_COLOR").is_none_or(|it| it.is_empty());
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(wants_colours)
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

/// Lends a hub to one command; no server runs until the command needs it.
pub(crate) async fn with_hub<T>(
    common: &Common,
    command: impl AsyncFnOnce(&Arc<Hub>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_config(Source::find(common)?.load()?, command).await
}

/// Does the same with settings that were read before.
pub(crate) async fn with_config<T>(
    mut config: Config,
    command: impl AsyncFnOnce(&Arc<Hub>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    for server in config.servers.values_mut() {
        server.lazy = true;
    }
    let hub = hub(config, Learning::OnDemand);
    let outcome = command(&hub).await;
    hub.close().await;
    outcome
}

/// Returns a server that the command line names.
pub(crate) fn server(hub: &Hub, name: &str) -> Result<Arc<Upstream>, Failure> {
    hub.upstream(name).ok_or_else(|| no_server(&hub.config(), name))
}

/// Says which profiles there are, where there is none of that name.
pub(crate) fn known_profile(config: &Config, name: &str) -> Result<(), Failure> {
    if config.serve.profiles.contains_key(name) {
        return Ok(());
    }
    let names: Vec<&str> = config.serve.profiles.keys().map(String::as_str).collect();
    let known = if names.is_empty() { "there is none".to_owned() } else { names.join(", ") };
    Err(Failure::usage(format!("there is no profile `{name}`"))
        .hint(format!("profiles stand in `serve.profiles`; {known}")))
}

/// Says that there is no such server, and which ones there are; or that it is off.
pub(crate) fn no_server(config: &Config, name: &str) -> Failure {
    if let Some(off) = config.off.get(name) {
        return Failure::new(format!("server `{name}` is off: {}", off.reason())).hint(off.fix());
    }
    let names: Vec<&str> = config.servers.keys().map(String::as_str).collect();
    let hint = match names.is_empty() {
        true => "no server is configured; add one with `toolyard add`".to_owned(),
        false => format!("configured servers: {}", names.join(", ")),
    };
    Failure::usage(format!("there is no server `{name}`")).hint(hint)
}
