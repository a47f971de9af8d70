//! Child processes, and everything that they start in turn.
//!
//! A child must not outlive the hub, however either of them ends. Each child leads a
//! process group and carries a marker in its environment that its descendants inherit;
//! a watchdog process is told the groups over a pipe, notices the hub's death by the
//! pipe's end, and kills the groups and whatever else bears the hub's marker.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::oneshot;

pub mod sandbox; // what a child may use of this machine
mod sweep; //       whoever bears a marker, ended on a thread of its own

use sandbox::{Temporary, Walls};
use sweep::{Left, Sweeper, kill_marked};

use crate::config::Confinement;
use crate::private;
use crate::secrets::Secrets;

/// Inherited by all descendants of a child, so that they can be found again.
const MARKER: &str = "TOOLYARD_CHILD";

/// Hubs behind hubs at most.
const DEEPEST: usize = 8;

/// What children see of our environment besides `LC_*`; everything else must be given in the configuration.
const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "LANG",
    "LANGUAGE",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
];

/// Time for a child to leave by itself once its input is closed, and again after SIGTERM.
const GRACE: Duration = Duration::from_millis(400);

/// What to start.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// Program, looked up on PATH.
    pub command: &'a str,
    /// Its arguments.
    pub args: &'a [String],
    /// Variables added to the scrubbed environment.
    pub env: &'a BTreeMap<String, String>,
    /// Folder it runs in.
    pub cwd: Option<&'a Path>,
    /// What it may use of this machine; everything when `None`.
    pub confinement: Option<&'a Confinement>,
}

/// Why a child did not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such program.
    #[error("command `{command}` was not found on PATH; install it or give its full path")]
    NotFound {
        /// The program.
        command: String,
    },
    /// The folder is not there.
    #[error("folder `{}` does not exist", .0.display())]
    NoFolder(PathBuf),
    /// The system refused.
    #[error("command `{command}` could not be started: {source}")]
    Refused {
        /// The program.
        command: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Hub starts hub starts hub.
    #[error(
        "{DEEPEST} hubs stand above this one, so one of them probably starts itself; it starts no servers"
    )]
    TooDeep,
    /// It cannot be confined as the configuration says.
    #[error(transparent)]
    Unconfined(#[from] sandbox::Error),
}

/// Starts children and answers for their end.
#[derive(Debug)]
pub struct Nursery {
    token: String,
    started: AtomicU64,
    watchdog: Arc<Mutex<Watchdog>>,
    sweeper: Arc<Sweeper>,
}

impl Nursery {
    /// `watchdog_program` is the executable that runs [`watch`] when its arguments are `watchdog TOKEN`.
    pub fn new(watchdog_program: Option<PathBuf>) -> Self {
        let mut bytes = [0; 12];
        getrandom::fill(&mut bytes).expect("the system has randomness");
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let watchdog = Watchdog { program: watchdog_program, process: None, groups: BTreeSet::new() };
        let watchdog = Arc::new(Mutex::new(watchdog));
        let sweeper = Arc::new(Sweeper::start(Arc::clone(&watchdog)));
        Self { token, started: AtomicU64::new(0), watchdog, sweeper }
    }

    /// Starts a child in a process group of its own.
    pub fn spawn(&self, launch: &Launch<'_>) -> Result<Child, Error> {
        if let Some(folder) = launch.cwd
            && !folder.is_dir()
        {
            return Err(Error::NoFolder(folder.to_owned()));
        }
        if hubs_above() >= DEEPEST {
            return Err(Error::TooDeep);
        }
        self.watchdog.lock().start(&self.token);
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let marker = format!("{}:{number}:", self.token);
        let (mut command, temporary) = match launch.confinement {
            Some(confinement) => {
                let (command, temporary) = self.confined(launch, confinement, number)?;
                (command, Some(temporary))
            }
            None => {
                let mut command = Command::new(launch.command);
                command.args(launch.args);
                (command, None)
            }
        };
        command
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| is_inherited(name)))
            .envs(temporary.as_ref().map(|temporary| ("TMPDIR", temporary.path())))
            .envs(launch.env)
            .env(MARKER, with_outer(&marker))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if let Some(folder) = launch.cwd {
            command.current_dir(folder);
        }
        // The program is looked up on the PATH that the child will have.
        let mut process = command.spawn().map_err(|source| {
            let command = launch.command.to_owned();
            if source.kind() == std::io::ErrorKind::NotFound {
                Error::NotFound { command }
            } else {
                Error::Refused { command, source }
            }
        })?;
        let group = process.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        if let Some(group) = group {
            self.watchdog.lock().add(group.as_raw_pid());
        }
        Ok(Child {
            stdin: process.stdin.take(),
            stdout: process.stdout.take(),
            stderr: process.stderr.take(),
            remains: Remains { group, marker, sweeper: Arc::clone(&self.sweeper), waiting: None, temporary },
            process,
        })
    }

    /// Returns the command that becomes a confined child, and the folder for its temporary files.
    fn confined(
        &self,
        launch: &Launch<'_>,
        confinement: &Confinement,
        number: u64,
    ) -> Result<(Command, Temporary), Error> {
        let own = self.watchdog.lock().program.clone();
        let own = own.ok_or_else(|| sandbox::Error::Failed("this program cannot start itself".to_owned()))?;
        if !sandbox::is_program(launch) {
            return Err(Error::NotFound { command: launch.command.to_owned() });
        }
        let temporary = Temporary::make(&format!("{}{number}", temporary_prefix(&self.token)))?;
        let walls = Walls::plan(launch, confinement, temporary.path())?;
        let mut command = Command::new(own);
        command.args(walls.arguments(launch));
        Ok((command, temporary))
    }
}

/// How the temporary folders of one hub's children begin.
fn temporary_prefix(token: &str) -> String {
    format!("toolyard-{token}-")
}

/// The process that outlives the hub for a moment, and what it has to know.
#[derive(Debug)]
struct Watchdog {
    program: Option<PathBuf>,
    process: Option<std::process::Child>,
    /// The process groups of the children that may run.
    groups: BTreeSet<i32>,
}

impl Watchdog {
    /// Starts it unless it runs.
    fn start(&mut self, token: &str) {
        let Some(program) = &self.program else { return };
        if self.process.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None))) {
            return;
        }
        let mut command = std::process::Command::new(program);
        command.args(["watchdog", token]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // A Ctrl-C in the terminal reaches the hub's group; the watchdog must survive it.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        match command.spawn() {
            Ok(child) => self.process = Some(child),
            Err(err) => {
                tracing::warn!("the watchdog did not start ({err}); children may outlive a killed hub");
            }
        }
        for group in self.groups.clone() {
            self.tell(&format!("+{group}\n"));
        }
    }

    fn add(&mut self, group: i32) {
        self.groups.insert(group);
        self.tell(&format!("+{group}\n"));
    }

    fn remove(&mut self, group: i32) {
        self.groups.remove(&group);
        self.tell(&format!("-{group}\n"));
    }

    fn tell(&mut self, line: &str) {
        if let Some(stdin) = self.process.as_mut().and_then(|process| process.stdin.as_mut()) {
            // One that died is replaced with the next child, and told everything then.
            let _ = stdin.write_all(line.as_bytes());
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            // Closing its input is what ends it; waiting leaves no zombie.
            drop(process.stdin.take());
            let _ = process.wait();
        }
    }
}

/// A hub may be a server of another hub, which must find our children as well.
fn with_outer(marker: &str) -> String {
    match std::env::var(MARKER) {
        Ok(outer) => format!("{outer},{marker}"),
        Err(_) => marker.to_owned(),
    }
}

/// How many hubs were started before this one, each by the one before.
fn hubs_above() -> usize {
    std::env::var(MARKER).map_or(0, |outer| outer.split(',').count())
}

fn is_inherited(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| INHERITED.contains(&name) || name.starts_with("LC_"))
}

/// A running child.
#[derive(Debug)]
pub struct Child {
    /// Its input, until taken.
    pub stdin: Option<ChildStdin>,
    /// Its output, until taken.
    pub stdout: Option<ChildStdout>,
    /// Its errors, until taken.
    pub stderr: Option<ChildStderr>,
    process: tokio::process::Child,
    remains: Remains,
}

impl Child {
    /// Returns the process id while it runs.
    pub fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Waits for its end and describes it.
    pub async fn ended(&mut self) -> String {
        match self.process.wait().await {
            Ok(status) => match (status.code(), std::os::unix::process::ExitStatusExt::signal(&status)) {
                (Some(code), _) => format!("it exited with code {code}"),
                (None, Some(signal)) => format!("it was killed by signal {signal}"),
                (None, None) => "it ended".to_owned(),
            },
            Err(err) => format!("its end could not be awaited: {err}"),
        }
    }

    /// Ends the child and all its descendants: first by closing its input, then by force.
    pub async fn stop(mut self) {
        drop(self.stdin.take());
        if tokio::time::timeout(GRACE, self.process.wait()).await.is_err() {
            self.remains.signal(Signal::TERM);
            let _ = tokio::time::timeout(GRACE, self.process.wait()).await;
        }
        let (waiting, gone) = oneshot::channel();
        self.remains.waiting = Some(waiting);
        // Dropping kills what is left.
        drop(self);
        let _ = gone.await;
    }
}

/// What may be left of a child: its process group and whoever bears its marker.
#[derive(Debug)]
struct Remains {
    group: Option<Pid>,
    marker: String,
    sweeper: Arc<Sweeper>,
    /// Who waits until nothing is left.
    waiting: Option<oneshot::Sender<()>>,
    temporary: Option<Temporary>,
}

impl Remains {
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Remains {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        // Whoever left the group is found by looking at all processes, which others must not wait for.
        let marker = std::mem::take(&mut self.marker);
        let (waiting, temporary) = (self.waiting.take(), self.temporary.take());
        self.sweeper.sweep(Left { group: self.group, marker, waiting, temporary });
    }
}

/// The watchdog's whole life: hears of process groups until `hub` (a pipe from the hub) ends, then kills
/// what the hub left.
pub fn watch(token: &str, mut hub: impl BufRead) {
    let mut groups = BTreeSet::new();
    let mut line = String::new();
    while hub.read_line(&mut line).is_ok_and(|read| read > 0) {
        match (line.get(..1), line.get(1..).and_then(|number| number.trim().parse::<i32>().ok())) {
            (Some("+"), Some(group)) => drop(groups.insert(group)),
            (Some("-"), Some(group)) => drop(groups.remove(&group)),
            _ => {}
        }
        line.clear();
    }
    // A child may have started others without the marker; they are still in its group.
    for group in groups.into_iter().filter_map(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    // A child that was being started when the hub died bears no marker until it has
    // replaced its image, so one clean look proves nothing.
    let mut clean_looks = 0;
    for _ in 0..100 {
        clean_looks = if kill_marked(&[format!("{token}:")]) == 0 { clean_looks + 1 } else { 0 };
        if clean_looks >= 5 {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Temporary::remove_all(&temporary_prefix(token));
}

/// The bounded log of one server's stderr, in two files of which the older is dropped.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    secrets: Secrets,
    written: u64,
}

/// Bytes of one of the two log files.
const LOG_BYTES: u64 = 512 * 1024;
/// No log of ours is larger.
const MOST_READ: u64 = 2 * LOG_BYTES;
/// Bytes of one line in the log; the rest of the line is cut.
const LOG_LINE_BYTES: usize = 4096;

impl Log {
    /// Opens the log at `path`. Values of `secrets` never reach it.
    pub fn open(path: PathBuf, secrets: impl IntoIterator<Item = String>) -> Self {
        let written = std::fs::symlink_metadata(&path).map_or(0, |metadata| metadata.len());
        Self { path, secrets: Secrets::of(secrets), written }
    }

    /// Appends a line. A full disk loses log lines and nothing else.
    pub fn line(&mut self, line: &[u8]) {
        // Secrets go before the line is cut: a part of one would not be recognised.
        let mut text = self.secrets.hide(&String::from_utf8_lossy(line)).into_owned();
        text.truncate(text.floor_char_boundary(LOG_LINE_BYTES));
        text.push('\n');
        if self.written + text.len() as u64 > LOG_BYTES {
            let _ = std::fs::rename(&self.path, self.path.with_extension("log.1"));
            self.written = 0;
        }
        if private::append(&self.path).and_then(|mut file| file.write_all(text.as_bytes())).is_ok() {
            self.written += text.len() as u64;
        }
    }

    /// Copies a child's stderr until it ends.
    pub async fn copy(mut self, stderr: ChildStderr) {
        let mut lines = crate::frame::Frames::new(stderr, LOG_LINES);
        while let Ok(Some(frame)) = lines.next().await {
            match frame {
                crate::frame::Frame::Line(line) => self.line(&line),
                crate::frame::Frame::Rejected { .. } => self.line(b"(a very long line was left out)"),
            }
            // A flood on stderr must not keep a thread from serving others.
            tokio::task::consume_budget().await;
        }
    }
}

/// Log lines are text, so their nesting means nothing.
const LOG_LINES: crate::frame::Bounds = crate::frame::Bounds { bytes: 64 * 1024, nesting: usize::MAX };

/// Returns the last lines of a server's log, oldest first.
pub fn read_log(path: &Path, lines: usize) -> std::io::Result<Vec<String>> {
    let read = |path: &Path| {
        let mut bytes = Vec::new();
        private::reading(path)?.take(MOST_READ).read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>(bytes)
    };
    let older = read(&path.with_extension("log.1")).unwrap_or_default();
    let newer = match read(path) {
        Ok(bytes) => bytes,
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(err) => return Err(err),
    };
    let text = String::from_utf8_lossy(&older).into_owned() + &String::from_utf8_lossy(&newer);
    let all: Vec<&str> = text.lines().collect();
    Ok(all[all.len().saturating_sub(lines)..].iter().map(|&line| line.to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t27_a_link_in_the_place_of_a_log_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, path) = (folder.path().join("victim"), folder.path().join("git.log"));
        std::fs::write(&victim, "theirs\n").unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        Log::open(path.clone(), []).line(b"from a server");
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "theirs\n");
        assert!(read_log(&path, 5).is_err());
    }

    #[test]
    fn the_log_is_bounded_and_hides_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("git.log");
        let mut log = Log::open(path.clone(), ["hunter2-token".to_owned(), "on".to_owned()]);
        for at in 0..30_000 {
            log.line(format!("{at} is on; token hunter2-token").as_bytes());
        }
        let total: u64 = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|file| file.unwrap().metadata().unwrap().len())
            .sum();
        assert!(total <= 2 * LOG_BYTES, "{total} bytes");
        assert_eq!(read_log(&path, 2).unwrap(), ["29998 is on; token ***", "29999 is on; token ***"]);
    }

    /// Waits until a shell and the child that left its group run; returns the marker of both.
    async fn detached(child: &mut Child) -> String {
        let mut output = crate::frame::Frames::new(child.stdout.take().unwrap(), LOG_LINES);
        output.next().await.unwrap();
        let marker = child.remains.marker.clone();
        eventually("the shell and its detached child run", || marked(&marker) >= 2).await;
        marker
    }

    #[tokio::test]
    async fn stopping_a_child_ends_descendants_that_left_its_group() {
        let nursery = Nursery::new(None);
        let script = "setsid sleep 1000 & trap '' TERM; echo ready; while :; do sleep 1; done";
        let mut child = spawn(&nursery, script);
        let marker = detached(&mut child).await;
        child.stop().await;
        eventually("both are gone", || marked(&marker) == 0).await;
    }

    #[tokio::test]
    async fn dropping_a_child_ends_its_descendants_and_keeps_nobody_waiting() {
        let nursery = Nursery::new(None);
        let mut child = spawn(&nursery, "setsid sleep 1000 & echo ready; sleep 1000");
        let marker = detached(&mut child).await;
        // Nothing that the thread of the sweeper needs is waited for.
        let watchdog = nursery.watchdog.lock();
        drop(child);
        drop(watchdog);
        eventually("all are gone", || marked(&marker) == 0).await;
    }

    #[tokio::test]
    async fn a_nursery_leaves_nobody_behind() {
        let nursery = Nursery::new(None);
        let mut child = spawn(&nursery, "setsid sleep 1000 & echo ready; sleep 1000");
        let marker = detached(&mut child).await;
        drop(nursery);
        drop(child);
        assert_eq!(marked(&marker), 0);
    }

    #[test]
    fn a_secret_of_several_lines_is_hidden_line_by_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.log");
        let mut log =
            Log::open(path.clone(), ["-----BEGIN KEY-----\nMIIabcdef\n-----END KEY-----\n".to_owned()]);
        log.line(b"loaded MIIabcdef");
        assert_eq!(read_log(&path, 1).unwrap(), ["loaded ***"]);
    }

    #[tokio::test]
    async fn a_child_sees_only_what_it_is_given() {
        let nursery = Nursery::new(None);
        let mut child = spawn(&nursery, "env | cut -d= -f1 | sort | tr '\\n' ' '");
        let mut output = crate::frame::Frames::new(child.stdout.take().unwrap(), LOG_LINES);
        let Some(crate::frame::Frame::Line(names)) = output.next().await.unwrap() else {
            panic!("no output")
        };
        let names = String::from_utf8(names).unwrap();
        assert!(names.contains("GIVEN") && names.contains("PATH"), "{names}");
        assert!(!names.contains("CARGO"), "{names}");
    }

    #[tokio::test]
    async fn a_missing_command_says_what_to_do() {
        let nursery = Nursery::new(None);
        let env = BTreeMap::new();
        let launch =
            Launch { command: "no-such-command-here", args: &[], env: &env, cwd: None, confinement: None };
        let error = nursery.spawn(&launch).unwrap_err().to_string();
        assert_eq!(
            error,
            "command `no-such-command-here` was not found on PATH; install it or give its full path"
        );
    }

    fn spawn(nursery: &Nursery, script: &str) -> Child {
        let args = ["-c".to_owned(), script.to_owned()];
        let env = BTreeMap::from([("GIVEN".to_owned(), "1".to_owned())]);
        nursery
            .spawn(&Launch { command: "sh", args: &args, env: &env, cwd: None, confinement: None })
            .unwrap()
    }

    /// A process that replaces its image or that was killed is seen as it was for as long as the system is busy.
    async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
        for _ in 0..3000 {
            if holds() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("never came to hold: {what}");
    }

    fn marked(marker: &str) -> usize {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let environments = processes.filter_map(|process| std::fs::read(process.path().join("environ")).ok());
        environments.filter(|environment| sweep::bears(environment, marker)).count()
    }
}
