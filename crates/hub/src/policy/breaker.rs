//! A server that fails again and again is left alone for a while, then tried with one call.

use std::time::{Duration, Instant};

/// Failures in a row after which a server is left alone.
const MOST_FAILURES: u32 = 5;
/// How long, the first time; then twice as long each time.
const REST: Duration = Duration::from_secs(5);
const LONGEST_REST: Duration = Duration::from_secs(300);

/// What was seen of one server lately.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    failures: u32,
    state: State,
    /// When it answered last.
    answered: Option<Instant>,
}

#[derive(Debug, Default, PartialEq)]
enum State {
    /// Calls go through.
    #[default]
    Closed,
    /// None does until then; the next rest is twice this one.
    Open { until: Instant, rest: Duration },
    /// One call is under way to see whether the server is back.
    Probing { rest: Duration },
}

/// Why a call is not tried: failures in a row, and how long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rest {
    pub(super) failures: u32,
    pub(super) wait: Duration,
}

impl Breaker {
    /// Lets a call through, or says how long it has to wait.
    pub(super) fn enter(&mut self, now: Instant) -> Result<(), Rest> {
        match self.state {
            State::Closed => Ok(()),
            State::Open { until, rest } if now >= until => {
                self.state = State::Probing { rest };
                Ok(())
            }
            State::Open { until, .. } => Err(Rest { failures: self.failures, wait: until - now }),
            State::Probing { rest } => Err(Rest { failures: self.failures, wait: rest.min(REST) }),
        }
    }

    /// Notes that the server answered, whatever it said.
    pub(super) fn answered(&mut self, now: Instant) {
        *self = Self { answered: Some(now), ..Self::default() };
    }

    /// Notes that the server did not answer a call. One that answered others meanwhile is there.
    pub(super) fn failed(&mut self, begun: Instant, now: Instant) {
        if self.state == State::Closed && self.answered.is_some_and(|answered| answered >= begun) {
            return;
        }
        self.failures = self.failures.saturating_add(1);
        let rest = match self.state {
            State::Probing { rest } => (2 * rest).min(LONGEST_REST),
            State::Closed if self.failures >= MOST_FAILURES => REST,
            // A call that began before the rest did adds nothing to it.
            State::Closed | State::Open { .. } => return,
        };
        self.state = State::Open { until: now + rest, rest };
    }

    /// Whether calls are kept waiting.
    pub(super) fn is_resting(&self) -> bool {
        self.state != State::Closed
    }

    /// Notes that a call was given up, so nothing was learnt.
    pub(super) fn abandoned(&mut self, now: Instant) {
        if let State::Probing { rest } = self.state {
            self.state = State::Open { until: now, rest };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(start: Instant) -> Breaker {
        let mut breaker = Breaker::default();
        for _ in 0..MOST_FAILURES {
            assert_eq!(breaker.enter(start), Ok(()));
            breaker.failed(start, start);
        }
        breaker
    }

    #[test]
    fn r8_a_server_that_fails_in_a_row_is_left_alone_and_probed_once() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut breaker = failing(start);
        assert_eq!(breaker.enter(at(1)), Err(Rest { failures: 5, wait: Duration::from_secs(4) }));
        assert_eq!(breaker.enter(at(5)), Ok(()), "one call sees whether it is back");
        assert!(breaker.enter(at(5)).is_err(), "and only one");
        breaker.failed(at(6), at(6));
        assert_eq!(breaker.enter(at(7)), Err(Rest { failures: 6, wait: Duration::from_secs(9) }));
        assert_eq!(breaker.enter(at(16)), Ok(()));
        breaker.answered(at(16));
        assert_eq!(breaker.enter(at(16)), Ok(()));
        breaker.failed(at(17), at(17));
        assert_eq!(breaker.enter(at(16)), Ok(()), "it begins to count anew");
    }

    #[test]
    fn r8_an_answer_in_between_is_enough_and_a_probe_given_up_teaches_nothing() {
        let start = Instant::now();
        let mut breaker = Breaker::default();
        for _ in 0..3 * MOST_FAILURES {
            breaker.failed(start, start);
            breaker.failed(start, start);
            breaker.answered(start);
        }
        assert_eq!(breaker.enter(start), Ok(()));
        let mut breaker = failing(start);
        let later = start + REST;
        assert_eq!(breaker.enter(later), Ok(()));
        breaker.abandoned(later);
        assert_eq!(breaker.enter(later), Ok(()));
    }

    #[test]
    fn r8_a_rest_has_an_end_however_often_a_server_fails() {
        let mut now = Instant::now();
        let mut breaker = failing(now);
        for _ in 0..40 {
            now += LONGEST_REST;
            assert_eq!(breaker.enter(now), Ok(()));
            breaker.failed(now, now);
        }
        assert_eq!(breaker.enter(now).unwrap_err().wait, LONGEST_REST);
    }
}
