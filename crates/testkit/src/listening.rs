//! A program that serves HTTP and says where.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::Value;

/// A running program that serves HTTP; dropping it kills it.
#[derive(Debug)]
pub struct Listening {
    child: Child,
    url: String,
}

impl Listening {
    /// Starts a program and waits until it prints a line of JSON with its `url`.
    ///
    /// # Panics
    ///
    /// If it cannot be started or ends without such a line.
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let mut lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let url = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let line: Value = serde_json::from_str(&line).ok()?;
            Some(line["url"].as_str()?.to_owned())
        });
        // Whatever else it prints is taken, so that it is never stuck on a full pipe.
        thread::spawn(move || lines.for_each(drop));
        let url = url.unwrap_or_else(|| panic!("{command:?} ended without saying where it listens"));
        Self { child, url }
    }

    /// Starts the fixture of the conformance suite on a free port.
    ///
    /// # Panics
    ///
    /// If it was not built.
    pub fn conformance() -> Self {
        let mut command = Command::new(crate::bin("conformance-server"));
        command.args(["--http", "127.0.0.1:0"]);
        Self::start(command)
    }

    /// Gives the address it serves MCP at.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Gives its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It may have ended on its own.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
