//! What counts once and was used.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
/// Numbers that were used, until they would not count any more.
#[derive(Debug, Default)]
pub(crate) struct Spent(Mutex<HashMap<u64, Instant>>);

impl Spent {
    /// Notes a number; `false` when it was used before.
    pub(crate) fn note(&self, number: u64, now: Instant, lifetime: Duration) -> bool {
        let mut spent = self.0.lock();
        spent.retain(|_, until| now < *until);
        spent.insert(number, now + lifetime).is_none()
    }
}
