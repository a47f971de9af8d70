//! Progress on its way to a client: no more than anybody can follow, and always the newest.
//!
//! Whatever is held back is either overtaken by a newer report or passed on a moment later.

use std::convert::Infallible;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Reports that pass at once, and how soon there is one more.
const BURST: u32 = 50;
const INTERVAL: Duration = Duration::from_millis(50);
/// Reports of one call that count; a server that has so much to report does nothing else.
const MOST: u32 = 100_000;

/// What one call reported.
#[derive(Debug)]
pub(super) struct Progress {
    state: Mutex<State>,
    held: Notify,
}

#[derive(Debug)]
struct State {
    heard: u32,
    credit: u32,
    /// When the credit was counted.
    counted: Instant,
    newest: Option<Box<RawValue>>,
}

/// Whether a report says that the server is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// It does.
    Counts,
    /// There were too many.
    Ignored,
}

impl Progress {
    pub(super) fn new() -> Self {
        let state = State { heard: 0, credit: BURST, counted: Instant::now(), newest: None };
        Self { state: Mutex::new(state), held: Notify::new() }
    }

    /// Counts a report.
    pub(super) fn hear(&self) -> Report {
        let mut state = self.state.lock();
        state.heard = state.heard.saturating_add(1);
        if state.heard > MOST { Report::Ignored } else { Report::Counts }
    }

    /// Takes a report for the client; returns it when it passes at once.
    pub(super) fn pass(&self, report: Box<RawValue>) -> Option<Box<RawValue>> {
        let mut state = self.state.lock();
        state.newest = Some(report);
        let passed = state.release();
        if passed.is_none() {
            self.held.notify_one();
        }
        passed
    }

    /// Returns what is still held back when the call ends.
    pub(super) fn rest(&self) -> Option<Box<RawValue>> {
        self.state.lock().newest.take()
    }

    /// Passes on what was held back, as soon as it may.
    pub(super) async fn relay(&self, pass: impl Fn(&RawValue)) -> Infallible {
        loop {
            self.held.notified().await;
            tokio::time::sleep(INTERVAL).await;
            let released = self.state.lock().release();
            if let Some(report) = released {
                pass(&report);
            }
        }
    }
}

impl State {
    fn release(&mut self) -> Option<Box<RawValue>> {
        let earned = self.counted.elapsed().as_millis() / INTERVAL.as_millis();
        if let Some(earned) = u32::try_from(earned).ok().filter(|earned| *earned < BURST) {
            self.credit = (self.credit + earned).min(BURST);
            self.counted += INTERVAL * earned;
        } else {
            (self.credit, self.counted) = (BURST, Instant::now());
        }
        let newest = self.newest.take_if(|_| self.credit > 0)?;
        self.credit -= 1;
        Some(newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::raw;

    #[tokio::test(start_paused = true)]
    async fn m6_a_flood_of_progress_becomes_a_trickle_that_ends_with_the_newest() {
        let progress = Progress::new();
        let passed = Mutex::new(Vec::new());
        let pass = |report: &RawValue| passed.lock().push(report.get().parse::<u32>().unwrap());
        let flood = async {
            for number in 0..10_000 {
                if let Some(report) = progress.pass(raw(&number)) {
                    pass(&report);
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            tokio::time::sleep(2 * INTERVAL).await;
        };
        tokio::select! {
            never = progress.relay(pass) => match never {},
            () = flood => {}
        }
        let passed = passed.into_inner();
        assert_eq!(passed.first(), Some(&0));
        assert_eq!(passed.last(), Some(&9_999));
        assert!(passed.is_sorted() && (200..300).contains(&passed.len()), "{}", passed.len());
        assert!(progress.rest().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn m6_what_is_held_back_when_the_call_ends_is_passed_on_and_a_few_reports_pass_at_once() {
        let progress = Progress::new();
        let at_once = (0..100).filter(|number| progress.pass(raw(number)).is_some()).count();
        assert_eq!(at_once, BURST as usize);
        assert_eq!(progress.rest().map(|it| it.get().to_owned()).as_deref(), Some("99"));
    }

    #[tokio::test]
    async fn m6_endless_reports_count_no_longer_as_a_sign_of_life() {
        let progress = Progress::new();
        for _ in 0..MOST {
            assert_eq!(progress.hear(), Report::Counts);
        }
        assert_eq!(progress.hear(), Report::Ignored);
    }
}
