//! Descendants that left the process group of their child, found by the marker in their environment and ended.
//!
//! Looking at all processes takes a while, and what is killed takes a moment to die. Both happen on a thread
//! that belongs to the nursery, so that nobody who drops a child waits.

use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::oneshot;

use super::sandbox::Temporary;
use super::{MARKER, Watchdog};

/// How long is looked for whoever bears a marker, and how long between: what is being started during one
/// look is found by the next, and what dies is seen until it is gone.
const LOOKING: Duration = Duration::from_secs(2);
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// What is left of a child whose group was killed.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) group: Option<Pid>,
    pub(super) marker: String,
    /// Who waits until nothing is left.
    pub(super) waiting: Option<oneshot::Sender<()>>,
    /// What it wrote for the while.
    pub(super) temporary: Option<Temporary>,
}

/// The thread that ends descendants. Whoever drops the last reference to it waits until it is done.
#[derive(Debug)]
pub(super) struct Sweeper {
    queue: Option<mpsc::Sender<Left>>,
    thread: Option<JoinHandle<()>>,
}

impl Sweeper {
    pub(super) fn start(watchdog: Arc<Mutex<Watchdog>>) -> Self {
        let (queue, left) = mpsc::channel();
        let thread = std::thread::spawn(move || run(&left, &watchdog));
        Self { queue: Some(queue), thread: Some(thread) }
    }

    pub(super) fn sweep(&self, left: Left) {
        if let Some(queue) = &self.queue {
            let _ = queue.send(left);
        }
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(queue: &mpsc::Receiver<Left>, watchdog: &Mutex<Watchdog>) {
    while let Ok(first) = queue.recv() {
        // Servers often end together; one look at all processes is enough for all of them.
        let (left, markers): (Vec<_>, Vec<_>) = std::iter::once(first)
            .chain(queue.try_iter())
            .map(|it| ((it.group, it.waiting, it.temporary), it.marker))
            .unzip();
        let end = Instant::now() + LOOKING;
        while kill_marked(&markers) > 0 && Instant::now() < end {
            std::thread::sleep(BETWEEN_LOOKS);
        }
        for (group, waiting, temporary) in left {
            // Nobody is left who could write there.
            drop(temporary);
            if let Some(group) = group {
                // The number may be another's from now on.
                watchdog.lock().remove(group.as_raw_pid());
            }
            if let Some(waiting) = waiting {
                let _ = waiting.send(());
            }
        }
    }
}

/// Kills every process whose environment has one of the markers, including those that left the group.
pub(super) fn kill_marked(markers: &[String]) -> usize {
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    let mut killed = 0;
    for process in processes.flatten() {
        let Some(id) = process.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let Ok(environment) = std::fs::read(process.path().join("environ")) else { continue };
        if markers.iter().any(|marker| bears(&environment, marker))
            && let Some(pid) = Pid::from_raw(id)
            && kill_process(pid, Signal::KILL).is_ok()
        {
            killed += 1;
        }
    }
    killed
}

/// Whether an environment has the marker, alone or among those of hubs around or within ours.
pub(super) fn bears(environment: &[u8], marker: &str) -> bool {
    let variables = environment.split(|&byte| byte == 0);
    let values =
        variables.filter_map(|variable| variable.strip_prefix(MARKER.as_bytes())?.strip_prefix(b"="));
    let mut markers = values.flat_map(|value| value.split(|&byte| byte == b','));
    markers.any(|one| one.starts_with(marker.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::bears;

    #[test]
    fn a_hub_within_a_hub_bears_the_markers_of_both() {
        let environment = b"PATH=/bin\0TOOLYARD_CHILD=aa:1:,bb:22:\0HOME=/";
        assert!(bears(environment, "aa:1:") && bears(environment, "bb:22:") && bears(environment, "bb:"));
        assert!(!bears(environment, "cc:") && !bears(environment, "bb:2:") && !bears(b"X=aa:1:", "aa:1:"));
    }
}
