//! A program that is run for its output, with a time limit.

use std::{
    env,
    ffi::OsStr,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::reply::shown;

/// No more of an output is read.
const LONGEST: u64 = 64 * 1024;

#[derive(Debug, thiserror::Error)]
pub(in crate::home) enum Error {
    #[error("`{program}` could not be run: {source}")]
    Start { program: String, source: io::Error },
    #[error("`{program}` did not finish within {} s", limit.as_secs())]
    TimeOut { program: String, limit: Duration },
    #[error("`{program}` failed: {why}")]
    Failed { program: String, why: String },
}

/// Finds a program in the folders of a search path.
pub(super) fn find(path: &OsStr, name: &str) -> Option<PathBuf> {
    env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|it| is_program(it))
}

/// Runs a program and returns what it writes.
pub(super) fn run(program: &Path, arguments: &[&str], limit: Duration) -> Result<String, Error> {
    let name = || program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let refused = |source| Error::Start { program: name(), source };
    // Files instead of pipes: nothing blocks, whoever else keeps them open.
    let (output, complaint) =
        (tempfile::tempfile().map_err(refused)?, tempfile::tempfile().map_err(refused)?);
    let mut child = Command::new(program)
        .args(arguments)
        // The words of the output are read, so they must be English.
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(output.try_clone().map_err(refused)?)
        .stderr(complaint.try_clone().map_err(refused)?)
        .spawn()
        .map_err(refused)?;
    let deadline = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(refused)? {
            break status;
        }
        if deadline < Instant::now() {
            // A program that cannot be ended is gone already.
            let _ = child.kill();
            let _ = child.wait();
            return Err(Error::TimeOut { program: name(), limit });
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let output = text(output).map_err(refused)?;
    if status.success() {
        return Ok(output);
    }
    let complaint = text(complaint).map_err(refused)?;
    let why = complaint.lines().chain(output.lines()).map(str::trim).find(|line| !line.is_empty());
    Err(Error::Failed { program: name(), why: why.map_or_else(|| status.to_string(), shown) })
}

fn text(mut file: File) -> io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|seen| seen.is_file() && seen.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}
