//! How long calls of each tool take and how often they fail, as seen and not as promised.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use parking_lot::Mutex;
/// How much the latest call counts against all before it.
const LATEST: f64 = 0.2;

/// What was seen of one tool's calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Calls so far.
    pub calls: u32,
    /// Calls that failed.
    pub failures: u32,
    /// Milliseconds of a call, recent ones counting more.
    pub latency_ms: f64,
}

impl Measured {
    fn add(&mut self, took: Duration, outcome: Outcome) {
        let took = took.as_secs_f64() * 1000.0;
        self.latency_ms =
            if self.calls == 0 { took } else { self.latency_ms + LATEST * (took - self.latency_ms) };
        self.calls += 1;
        self.failures += u32::from(outcome == Outcome::Failed);
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Answered,
    Failed,
}

/// What was seen of every tool's calls, and what of it is not yet kept.
#[derive(Debug, Default)]
pub(crate) struct Measures(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    all: HashMap<String, Measured>,
    /// Calls and failures since the last time it was kept.
    fresh: BTreeMap<String, Measured>,
}

impl Measures {
    /// Begins with what was kept before.
    pub(crate) fn load(&self, kept: impl IntoIterator<Item = (String, Measured)>) {
        self.0.lock().all.extend(kept);
    }

    /// Notes a call.
    pub(crate) fn note(&self, tool: &str, took: Duration, outcome: Outcome) {
        let mut seen = self.0.lock();
        let all = seen.all.entry(tool.to_owned()).or_default();
        all.add(took, outcome);
        let latency_ms = all.latency_ms;
        let fresh = seen.fresh.entry(tool.to_owned()).or_default();
        fresh.calls += 1;
        fresh.failures += u32::from(outcome == Outcome::Failed);
        fresh.latency_ms = latency_ms;
    }

    /// Returns what was seen of a tool.
    pub(crate) fn of(&self, tool: &str) -> Option<Measured> {
        self.0.lock().all.get(tool).copied()
    }

    /// Takes what is to be added to what is kept: more calls and failures, and the latency by now.
    pub(crate) fn take_fresh(&self) -> BTreeMap<String, Measured> {
        std::mem::take(&mut self.0.lock().fresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2_latency_follows_what_is_seen() {
        let measures = Measures::default();
        for (ms, outcome) in [(100, Outcome::Answered), (200, Outcome::Failed)] {
            measures.note("a", Duration::from_millis(ms), outcome);
        }
        let seen = Measured { calls: 2, failures: 1, latency_ms: 120.0 };
        assert_eq!(measures.of("a"), Some(seen));
        assert_eq!(measures.take_fresh(), BTreeMap::from([("a".to_owned(), seen)]));
        assert!(measures.take_fresh().is_empty());
        assert_eq!(measures.of("b"), None);
    }
}
