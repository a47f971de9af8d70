//! Who descends from whom, and who is still alive; from `/proc`, so Linux only.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};

/// Says whether a process runs; one that ended but was not waited for does not.
pub fn is_alive(pid: u32) -> bool {
    parent(pid).is_some()
}

/// Lists the processes that descend from `root` and are alive, without itself.
pub fn descendants(root: u32) -> Vec<u32> {
    let parents: HashMap<u32, u32> = all().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = HashSet::from([root]);
    loop {
        let more: Vec<u32> = parents
            .iter()
            .filter(|(pid, parent)| found.contains(*parent) && !found.contains(*pid))
            .map(|(pid, _)| *pid)
            .collect();
        if more.is_empty() {
            break;
        }
        found.extend(more);
    }
    found.remove(&root);
    let mut found: Vec<u32> = found.into_iter().collect();
    found.sort_unstable();
    found
}

/// Lists the living processes that were started with `name=value` in their environment.
pub fn with_env(name: &str, value: &str) -> Vec<u32> {
    let wanted = format!("{name}={value}");
    let marked = |pid: &u32| {
        fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|it| it == wanted.as_bytes()))
    };
    all().filter(marked).filter(|pid| is_alive(*pid)).collect()
}

/// Kills a process at once; does nothing if it is gone.
pub fn kill9(pid: u32) {
    signal(pid, Signal::KILL);
}

/// Asks a process to end; does nothing if it is gone.
pub fn terminate(pid: u32) {
    signal(pid, Signal::TERM);
}

/// A variable that marks the processes of one test; dropping it kills those that are left.
#[derive(Debug)]
pub struct Marker {
    value: String,
}

impl Marker {
    /// The variable's name.
    pub const NAME: &str = "TESTKIT_MARKER";

    /// Makes a marker that no other test has.
    #[expect(clippy::new_without_default, reason = "each marker is different from every other")]
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self { value: format!("{}-{count}", std::process::id()) }
    }

    /// Gives the variable's value.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Lists the living processes that carry the marker.
    pub fn alive(&self) -> Vec<u32> {
        with_env(Self::NAME, &self.value)
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        for pid in self.alive() {
            kill9(pid);
        }
    }
}

fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // The process may have ended on its own since it was seen.
        let _ = kill_process(pid, signal);
    }
}

fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Gives the parent of a living process.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold anything, so the fields begin after the last one.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    match fields.next()? {
        "Z" | "X" => None,
        _ => fields.next()?.parse().ok(),
    }
}
