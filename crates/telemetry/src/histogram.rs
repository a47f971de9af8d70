//! Durations in buckets.
//!
//! Recording is two atomic operations. The count of a reading is always the sum of its buckets, even if it is taken while
//! others record.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets for routing, in nanoseconds: 0.1 ms to 1 s.
pub(crate) const ROUTING: &[u64] = &[
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
];

/// Upper bounds of the buckets for calls, in nanoseconds: 1 ms to 60 s.
pub(crate) const CALLING: &[u64] = &[
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
    60_000_000_000,
];

/// Counts durations by bucket.
#[derive(Debug)]
pub(crate) struct Histogram {
    bounds: &'static [u64],
    /// One per bound, and one for what is longer than all of them.
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
}

/// What a histogram held at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Distribution {
    bounds: &'static [u64],
    /// Counts per bucket, not cumulative; one more than bounds.
    pub(crate) buckets: Vec<u64>,
    sum: u64,
}

impl Histogram {
    pub(crate) fn new(bounds: &'static [u64]) -> Self {
        let buckets = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, buckets, sum: AtomicU64::new(0) }
    }

    pub(crate) fn observe(&self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        // A bucket holds what is at most its bound.
        let bucket = self.bounds.partition_point(|bound| *bound < nanos);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(nanos, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> Distribution {
        Distribution {
            bounds: self.bounds,
            buckets: self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).collect(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

impl Distribution {
    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    pub(crate) fn sum_seconds(&self) -> f64 {
        seconds(self.sum)
    }

    /// Returns the upper bounds in seconds, without the infinite one.
    pub(crate) fn bounds_seconds(&self) -> impl Iterator<Item = f64> {
        self.bounds.iter().copied().map(seconds)
    }

    /// Estimates the duration in seconds that a share of all durations stays under, as `histogram_quantile` of
    /// Prometheus does: evenly within a bucket, and the last bound for what is longer than it.
    pub(crate) fn quantile(&self, share: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let wanted = share * count as f64;
        let mut below = 0.0;
        let mut lower = 0.0;
        for (held, upper) in self.buckets.iter().zip(self.bounds_seconds()) {
            let held = *held as f64;
            if held > 0.0 && below + held >= wanted {
                return Some(lower + (upper - lower) * ((wanted - below) / held).clamp(0.0, 1.0));
            }
            below += held;
            lower = upper;
        }
        Some(lower)
    }
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}
