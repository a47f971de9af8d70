//! Whether a decision was made before what it depends on was known.

use std::sync::atomic::{AtomicBool, Ordering};

/// Notes that a decision was made before the tools were understood, so that the same request may be decided otherwise
/// soon.
#[derive(Debug, Default)]
pub struct Provisional(AtomicBool);

impl Provisional {
    /// Notes that such a decision was made.
    pub(crate) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether such a decision was made.
    pub fn is_noted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
