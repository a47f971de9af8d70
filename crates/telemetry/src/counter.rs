//! Counts that many threads raise at once.
//!
//! Raising a count is one atomic operation and never allocates.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::label::OTHER;

/// Seconds that [`LastMinute`] looks back.
const WINDOW: u64 = 60;

/// Counts by a fixed set of names; any other name counts as `other`.
#[derive(Debug)]
pub(crate) struct Counts {
    names: &'static [&'static str],
    /// One per name, and one for the rest.
    cells: Box<[AtomicU64]>,
}

impl Counts {
    pub(crate) fn new(names: &'static [&'static str]) -> Self {
        Self { names, cells: (0..=names.len()).map(|_| AtomicU64::new(0)).collect() }
    }

    pub(crate) fn add(&self, name: &str) {
        let cell = self.names.iter().position(|known| *known == name).unwrap_or(self.names.len());
        self.cells[cell].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns every known name with its count, zero included, and `other` once it counted something.
    pub(crate) fn read(&self) -> Vec<(&'static str, u64)> {
        let names = self.names.iter().copied().chain([OTHER]);
        let counts = self.cells.iter().map(|cell| cell.load(Ordering::Relaxed));
        names.zip(counts).filter(|(name, count)| *name != OTHER || *count > 0).collect()
    }

    pub(crate) fn total(&self) -> u64 {
        self.cells.iter().map(|cell| cell.load(Ordering::Relaxed)).sum()
    }
}

/// Counts what happened within the last 60 seconds, in steps of one second.
#[derive(Debug)]
pub(crate) struct LastMinute {
    /// One per second of a minute: the second it counts in the upper half, the count in the lower half.
    slots: Box<[AtomicU64]>,
}

impl LastMinute {
    pub(crate) fn new() -> Self {
        Self { slots: (0..WINDOW).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Counts one event in the given second since the start.
    pub(crate) fn add(&self, second: u64) {
        let stamp = stamp(second);
        // The compare-and-swap inside keeps a slot whole when the minute comes round to it.
        self.slots[slot(second)].update(Ordering::Relaxed, Ordering::Relaxed, |held| match held >> 32 {
            counted if counted == stamp >> 32 && held as u32 == u32::MAX => held,
            counted if counted == stamp >> 32 => held + 1,
            _older => stamp + 1,
        });
    }

    /// Returns the events of the 60 seconds that end with the given one.
    pub(crate) fn total(&self, second: u64) -> u64 {
        let first = second.saturating_sub(WINDOW - 1);
        (first..=second)
            .map(|second| {
                let held = self.slots[slot(second)].load(Ordering::Relaxed);
                if held >> 32 == stamp(second) >> 32 { held & u64::from(u32::MAX) } else { 0 }
            })
            .sum()
    }
}

fn slot(second: u64) -> usize {
    usize::try_from(second % WINDOW).expect("less than 60")
}

/// The second, moved up by one so that an empty slot belongs to no second.
fn stamp(second: u64) -> u64 {
    (second + 1) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r15_a_request_counts_for_sixty_seconds() {
        let minute = LastMinute::new();
        minute.add(0);
        minute.add(0);
        minute.add(59);
        assert_eq!([0, 58, 59, 60, 118, 119].map(|second| minute.total(second)), [2, 2, 3, 1, 1, 0]);
    }

    #[test]
    fn r15_a_slot_of_an_earlier_minute_starts_again() {
        let minute = LastMinute::new();
        minute.add(5);
        minute.add(65);
        minute.add(65);
        assert_eq!(minute.total(65), 2);
    }
}
