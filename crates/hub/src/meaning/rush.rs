//! Whose vectors somebody waits for: they are computed before all others, on all cores.

use parking_lot::Mutex;

/// The tools whose vectors requests wait for.
#[derive(Debug, Default)]
pub(super) struct Rush(Mutex<Awaited>);

#[derive(Debug, Default)]
struct Awaited {
    /// The snapshot that the tools belong to.
    snapshot: u64,
    /// The tools by position, those that were asked for first in front.
    tools: Vec<usize>,
    /// How many requests wait.
    waiting: usize,
    /// Grows with everything that changes what is to be computed next.
    turn: u64,
}

/// A request that waits until it is dropped.
pub(super) struct Waiting<'a>(&'a Rush);

impl Rush {
    /// Lets these tools of a snapshot go before all others while the result lives.
    pub(super) fn wait(&self, snapshot: u64, tools: &[usize]) -> Waiting<'_> {
        let mut awaited = self.0.lock();
        if awaited.snapshot != snapshot {
            awaited.tools.clear();
        }
        let fresh: Vec<usize> = tools.iter().copied().filter(|tool| !awaited.tools.contains(tool)).collect();
        let is_other = awaited.snapshot != snapshot || awaited.waiting == 0 || !fresh.is_empty();
        awaited.tools.extend(fresh);
        (awaited.snapshot, awaited.waiting) = (snapshot, awaited.waiting + 1);
        awaited.turn += u64::from(is_other);
        Waiting(self)
    }

    /// Returns a number that changes with what is to be computed next, and whether somebody waits.
    pub(super) fn turn(&self) -> (u64, bool) {
        let awaited = self.0.lock();
        (awaited.turn, awaited.waiting > 0)
    }

    /// Returns the tools of a snapshot that are waited for.
    pub(super) fn tools(&self, snapshot: u64) -> Vec<usize> {
        let awaited = self.0.lock();
        if awaited.snapshot == snapshot { awaited.tools.clone() } else { Vec::new() }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut awaited = self.0.0.lock();
        awaited.waiting -= 1;
        if awaited.waiting == 0 {
            awaited.tools.clear();
            awaited.turn += 1;
        }
    }
}
