//! Walls around a child: which files it may read and write, and whether it may reach the network.
//!
//! A confined server is started through this program, which puts itself behind the walls and then becomes the
//! server ([`enter`]). Everything that is started in turn is behind the same walls, and nothing takes them down. What
//! the system cannot enforce is refused before anything is started; a server that should be confined never runs free.

mod grants; // what a program needs to run at all

#[cfg(target_os = "linux")]
mod linux; // Landlock for files and signals, seccomp for sockets
#[cfg(target_os = "linux")]
use linux as system;

#[cfg(not(target_os = "linux"))]
mod other; // nothing
#[cfg(not(target_os = "linux"))]
use other as system;

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::Launch;
use crate::config::Confinement;

/// The word after which this program becomes a confined server.
pub(super) const COMMAND: &str = "sandboxed";

/// Why a server cannot be confined.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system has no such walls.
    #[error(
        "its `sandbox` cannot be enforced: {missing}; {fix}, or delete `sandbox` if you trust the server"
    )]
    Unsupported {
        /// What is missing.
        missing: &'static str,
        /// What helps.
        fix: &'static str,
    },
    /// Something that it may use is not there.
    #[error("`{}` in `sandbox.{key}` does not exist; make it, or take it out of the settings", path.display())]
    NoPath {
        /// The file or folder.
        path: PathBuf,
        /// Where it is written.
        key: &'static str,
    },
    /// The folder for its temporary files cannot be made.
    #[error("no temporary folder can be made for it in `{}`: {source}", folder.display())]
    Temporary {
        /// Where.
        folder: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The walls did not hold, or the program behind them did not start.
    #[error("it was not started: {0}")]
    Failed(String),
}

/// What this system can enforce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfinementSupport {
    /// What is missing to confine a server at all, and what helps.
    pub missing: Option<(&'static str, &'static str)>,
    /// Whether confined servers can be kept from sending signals to others.
    pub signals: bool,
}

/// Says what this system can enforce.
pub fn confinement_support() -> ConfinementSupport {
    system::support()
}

/// What a child may do, as the program is told that starts it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Walls {
    network: bool,
    /// Files and folders that it may read and run.
    read: Vec<PathBuf>,
    /// Files and folders with which it may do anything.
    write: Vec<PathBuf>,
}

impl Walls {
    /// Plans the walls of a server, or says why there can be none.
    pub(super) fn plan(
        launch: &Launch<'_>,
        confinement: &Confinement,
        temporary: &Path,
    ) -> Result<Self, Error> {
        if let Some((missing, fix)) = system::support().missing {
            return Err(Error::Unsupported { missing, fix });
        }
        for (key, paths) in [("read", &confinement.read), ("write", &confinement.write)] {
            if let Some(path) = paths.iter().find(|path| !path.exists()) {
                return Err(Error::NoPath { path: path.clone(), key });
            }
        }
        let mut read = grants::of_program(launch);
        read.extend(confinement.read.iter().cloned());
        read.sort();
        read.dedup();
        let mut write = confinement.write.clone();
        write.push(temporary.to_owned());
        Ok(Self { network: confinement.network, read, write })
    }

    /// Returns the arguments with which this program becomes the server.
    pub(super) fn arguments(&self, launch: &Launch<'_>) -> Vec<OsString> {
        let walls = serde_json::to_string(self).expect("own types serialise");
        let own = [OsString::from(COMMAND), walls.into(), "--".into(), launch.command.into()];
        own.into_iter().chain(launch.args.iter().map(OsString::from)).collect()
    }
}

/// Whether there is a program to start, where the child would find it.
pub(super) fn is_program(launch: &Launch<'_>) -> bool {
    grants::program(launch).is_some_and(|file| file.is_file())
}

/// Puts this process behind walls and becomes the program; returns only when that failed.
///
/// The words are what follows `sandboxed`: the walls, `--`, the program and its arguments. Must be called while the
/// process has one thread.
pub fn enter(mut words: impl Iterator<Item = OsString>) -> Error {
    let failed = |what: &str| Error::Failed(what.to_owned());
    let walls = words.next().and_then(|walls| serde_json::from_str::<Walls>(walls.to_str()?).ok());
    let (Some(walls), Some(dashes), Some(program)) = (walls, words.next(), words.next()) else {
        return failed("this command is for the hub alone");
    };
    if dashes != OsStr::new("--") {
        return failed("this command is for the hub alone");
    }
    if let Err(err) = system::confine(&walls) {
        return err;
    }
    let err = Command::new(&program).args(words).exec();
    Error::Failed(format!("`{}`: {err}", program.to_string_lossy()))
}

/// A folder for the temporary files of one child, gone with it.
#[derive(Debug)]
pub(super) struct Temporary(PathBuf);

impl Temporary {
    /// Makes the folder; `name` tells it from all others.
    pub(super) fn make(name: &str) -> Result<Self, Error> {
        let folder = std::env::temp_dir();
        let path = folder.join(name);
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|source| Error::Temporary { folder, source })?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Removes what a hub left that could not do so itself.
    pub(super) fn remove_all(prefix: &str) {
        let found = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
        for folder in found.filter(|it| it.file_name().to_string_lossy().starts_with(prefix)) {
            let _ = std::fs::remove_dir_all(folder.path());
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
