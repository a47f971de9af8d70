//! Runs promtool where it is installed.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs promtool and returns what it said, `Err` when it found fault. `None` when it is not installed.
pub(crate) fn promtool(arguments: &[&str], folder: &Path, input: &str) -> Option<Result<String, String>> {
    let started = Command::new("promtool")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(err) => {
            let said = format!("skipped: promtool cannot be started: {err}\n");
            std::io::stderr().write_all(said.as_bytes()).unwrap();
            return None;
        }
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
    Some(if ended.status.success() { Ok(said) } else { Err(said) })
}
