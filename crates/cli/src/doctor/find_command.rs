//! A program on PATH.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::setup::env;

/// Finds the program that a command would start.
pub(super) fn find(command: &str, given: &BTreeMap<String, String>) -> Option<PathBuf> {
    if command.contains('/') {
        return Some(PathBuf::from(command)).filter(|path| is_program(path));
    }
    // The server is started with the PATH that it is given.
    let path = given.get("PATH").cloned().or_else(|| env("PATH"))?;
    std::env::split_paths(&path).map(|folder| folder.join(command)).find(|file| is_program(file))
}

/// Says how to get a program that is missing.
pub(super) fn advice(command: &str) -> String {
    match command {
        "npx" | "npm" | "node" => "install Node.js (https://nodejs.org)".to_owned(),
        "uvx" | "uv" => "install uv (https://docs.astral.sh/uv)".to_owned(),
        "pipx" | "python" | "python3" => "install Python (https://www.python.org)".to_owned(),
        "docker" => "install Docker (https://docs.docker.com/get-docker)".to_owned(),
        path if path.contains('/') => {
            "correct `command` in the configuration, or make the file executable".to_owned()
        }
        _ => "install it, or give its full path as `command` in the configuration".to_owned(),
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
