//! A home of its own for each test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A home folder with nothing in it, and a working folder below it.
#[derive(Debug)]
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("desk")).unwrap();
        Self { folder }
    }

    /// A home with a configuration; `FAULT` in it is the path of the scriptable server.
    pub(crate) fn with(config: &str) -> Self {
        let place = Self::new();
        place.configure(config);
        place
    }

    pub(crate) fn configure(&self, config: &str) {
        let fault = testkit::bin("fault-server");
        self.write("config/toolyard/toolyard.json", &config.replace("FAULT", fault.to_str().unwrap()));
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    pub(crate) fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, relative: &str) -> String {
        self.tidy(&fs::read_to_string(self.path(relative)).unwrap())
    }

    /// The command as it would be typed in the working folder.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
        command
            .args(args)
            .current_dir(self.path("desk"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.folder.path())
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_DATA_HOME", self.path("data"))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs a command line and returns all that can be seen of it.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        self.seen(&self.output(args))
    }

    /// Returns stdout, stderr and the exit code, with what differs from run to run taken out.
    pub(crate) fn seen(&self, output: &Output) -> String {
        let mut text = self.tidy(&String::from_utf8_lossy(&output.stdout));
        if !output.stderr.is_empty() {
            text += &format!("[stderr]\n{}", self.tidy(&String::from_utf8_lossy(&output.stderr)));
        }
        text + &format!("[exit {}]", output.status.code().unwrap())
    }

    /// Runs a command line that answers with JSON on stdout, and with nothing else anywhere.
    pub(crate) fn json(&self, args: &[&str]) -> (serde_json::Value, i32) {
        let output = self.output(args);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        (serde_json::from_slice(&output.stdout).unwrap(), output.status.code().unwrap())
    }

    fn tidy(&self, text: &str) -> String {
        let fault = testkit::bin("fault-server");
        let text = text
            .replace(env!("CARGO_BIN_EXE_toolyard"), "[TOOLYARD]")
            .replace(fault.to_str().unwrap(), "[FAULT]")
            .replace(self.folder.path().to_str().unwrap(), "[HOME]");
        // What can be enforced depends on the kernel.
        let is_told = |line: &&str| !line.contains(" be confined with `sandbox`");
        let told: Vec<&str> = text.split('\n').filter(is_told).collect();
        without_times(&told.join("\n"))
    }
}

/// Replaces lengths of time, which no two runs share.
fn without_times(text: &str) -> String {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    for at in 1..words.len() {
        if words[at].starts_with("ms") && words[at - 1].bytes().all(|byte| byte.is_ascii_digit()) {
            words[at - 1] = "[N]".to_owned();
        }
    }
    words.join(" ")
}

/// The names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
