//! How a decision came about: before what it depends on was known, or long before it was asked for.

use std::sync::atomic::{AtomicBool, Ordering};

/// Notes that a decision was made before the tools were understood, so that the same request may be decided otherwise
/// soon, and whether it was remembered.
#[derive(Debug, Default)]
pub struct Provisional {
    is_early: AtomicBool,
    is_remembered: AtomicBool,
}

impl Provisional {
    /// Notes that such a decision was made.
    pub(crate) fn note(&self) {
        self.is_early.store(true, Ordering::Relaxed);
    }

    /// Notes that a decision was remembered.
    pub(crate) fn note_remembered(&self) {
        self.is_remembered.store(true, Ordering::Relaxed);
    }

    /// Returns whether such a decision was made.
    pub fn is_noted(&self) -> bool {
        self.is_early.load(Ordering::Relaxed)
    }

    /// Returns whether a decision was remembered.
    pub fn is_remembered(&self) -> bool {
        self.is_remembered.load(Ordering::Relaxed)
    }
}
