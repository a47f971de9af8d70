//! Reaches the keyring of the operating system through its own command line.
//!
//! A library for this costs some forty crates; the command lines are there wherever the keyring is. The
//! secret goes through standard input, never through the arguments, which other users can list.

use std::env;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// An unlock dialog may wait for a person; a dead service must not hold us for ever.
const PATIENCE: Duration = Duration::from_secs(30);
const SERVICE: &str = "toolyard";

/// The command line of a keyring.
#[derive(Clone, Debug)]
pub enum Keyring {
    /// `secret-tool`, for the Secret Service of Linux desktops.
    SecretTool(PathBuf),
    /// `security`, for the keychain of macOS.
    Security(PathBuf),
}

impl Keyring {
    /// Finds the keyring of this machine; `None` on a machine without one, such as a server.
    pub fn system() -> Option<Self> {
        if cfg!(target_os = "macos") {
            return on_path("security").map(Self::Security);
        }
        let bus = env::var_os("DBUS_SESSION_BUS_ADDRESS").is_some()
            || env::var_os("XDG_RUNTIME_DIR").is_some_and(|folder| Path::new(&folder).join("bus").exists());
        if cfg!(target_os = "linux") && bus { on_path("secret-tool").map(Self::SecretTool) } else { None }
    }

    /// Looks a value up; an error is a keyring that does not answer.
    pub(super) fn find(&self, account: &str) -> Result<Option<String>, String> {
        let said = match self {
            Self::SecretTool(program) => {
                run(Command::new(program).args(["lookup", "service", SERVICE, "account", account]), "")?
            }
            Self::Security(program) => run(
                Command::new(program).args(["find-generic-password", "-s", SERVICE, "-a", account, "-w"]),
                "",
            )?,
        };
        // `secret-tool` ends with 1 and no word, `security` with 44, for a value that is not there.
        match (self, said.code) {
            (_, Some(0)) => Ok(Some(said.out.trim().to_owned()).filter(|text| !text.is_empty())),
            (Self::SecretTool(_), Some(1)) if said.err.trim().is_empty() => Ok(None),
            (Self::Security(_), Some(44)) => Ok(None),
            _ => Err(said.reason()),
        }
    }

    /// Stores a value; base64 only, so no quoting is needed.
    pub(super) fn keep(&self, account: &str, value: &str) -> Result<(), String> {
        let said = match self {
            Self::SecretTool(program) => {
                let label = "--label=Toolyard logins";
                run(
                    Command::new(program).args(["store", label, "service", SERVICE, "account", account]),
                    value,
                )?
            }
            Self::Security(program) => {
                let line = format!("add-generic-password -U -s {SERVICE} -a {account} -w {value}\n");
                run(Command::new(program).arg("-i"), &line)?
            }
        };
        if said.code == Some(0) { Ok(()) } else { Err(said.reason()) }
    }
}

struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Said {
    /// The first line of what went wrong. Never standard output, which may hold the value.
    fn reason(&self) -> String {
        let line = self.err.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).take(200);
        let line: String = line.collect();
        if line.is_empty() { format!("its command line ended with {:?}", self.code) } else { line }
    }
}

fn run(command: &mut Command, input: &str) -> Result<Said, String> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|err| err.to_string())?;
    // The pipes hold more than either side ever writes, so the order of writing and waiting is free.
    if let Some(mut pipe) = child.stdin.take() {
        // A program that ends without reading is told apart by its exit code.
        _ = pipe.write_all(input.as_bytes());
    }
    let code = wait(&mut child)?;
    let (mut out, mut err) = (String::new(), String::new());
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_string(&mut out).map_err(|err| err.to_string())?;
    }
    if let Some(mut pipe) = child.stderr.take() {
        pipe.read_to_string(&mut err).map_err(|err| err.to_string())?;
    }
    Ok(Said { code, out, err })
}

fn wait(child: &mut Child) -> Result<Option<i32>, String> {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().map_err(|err| err.to_string())? {
            return Ok(status.code());
        }
        if Instant::now() >= end {
            _ = child.kill();
            _ = child.wait();
            return Err(format!("no answer in {} s", PATIENCE.as_secs()));
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| path.is_file())
}
