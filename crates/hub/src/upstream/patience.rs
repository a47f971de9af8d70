//! How long calls may take, and when their clock stands still.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::config::Limits;

/// How often a call that is waited for looks at the clock.
const BEAT: Duration = Duration::from_secs(1);
/// A look at the clock that comes this much too late: this process was stopped, or its machine slept.
const OVERSLEPT: Duration = Duration::from_secs(2);
/// Time that persons may take for all questions of one call.
const LONGEST_THOUGHT: Duration = Duration::from_secs(1800);

/// How long one request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeLimit {
    /// Until it is answered; progress begins it anew.
    pub(crate) answer: Duration,
    /// In all, however much progress is reported.
    pub(crate) total: Duration,
}

impl TimeLimit {
    /// Returns how long a call to a server may take.
    pub(crate) fn of(limits: &Limits) -> Self {
        Self { answer: limits.call, total: limits.call_total }
    }

    /// Returns a limit that progress does not extend.
    pub(crate) const fn fixed(limit: Duration) -> Self {
        Self { answer: limit, total: limit }
    }
}

/// Which of its limits a request has used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spent {
    /// Nothing was heard of it for too long.
    Answer,
    /// It took too long in all.
    Total,
    /// Its questions waited for too long.
    Questions,
}

/// How long a call may still take.
#[derive(Debug)]
pub(crate) struct Patience {
    limit: TimeLimit,
    clock: Mutex<Clock>,
}

#[derive(Debug)]
struct Clock {
    /// When it is over unless something is heard.
    answer: Instant,
    /// When it is over whatever is heard.
    total: Instant,
    /// Questions that wait for a person; the clock stands still meanwhile.
    open_questions: usize,
    /// Since when it stands still.
    stopped: Instant,
    /// How long it stood still before.
    stood: Duration,
}

impl Patience {
    pub(crate) fn new(limit: TimeLimit) -> Self {
        let now = Instant::now();
        let clock = Clock {
            answer: now + limit.answer,
            total: now + limit.total,
            open_questions: 0,
            stopped: now,
            stood: Duration::ZERO,
        };
        Self { limit, clock: Mutex::new(clock) }
    }

    pub(crate) fn renew(&self) {
        self.renew_at(Instant::now());
    }

    pub(crate) async fn ends(&self) -> Spent {
        loop {
            let before = Instant::now();
            let glance = self.clock.lock().next().0.clamp(before, before + BEAT);
            tokio::time::sleep_until(glance).await;
            let now = Instant::now();
            let late = now.saturating_duration_since(glance);
            if late >= OVERSLEPT {
                // The server may have answered in time, and nobody was there to read it.
                self.forgive(late);
            }
            if let Some(spent) = self.spent_at(now) {
                return spent;
            }
        }
    }

    /// Takes time off in which nobody could have noticed an answer.
    fn forgive(&self, late: Duration) {
        let mut clock = self.clock.lock();
        clock.answer += late;
        clock.total += late;
        if clock.open_questions > 0 {
            clock.stopped += late;
        }
    }

    fn renew_at(&self, now: Instant) {
        self.clock.lock().answer = now + self.limit.answer;
    }

    fn spent_at(&self, now: Instant) -> Option<Spent> {
        let clock = self.clock.lock();
        let (at, spent) = clock.next();
        (at <= now).then_some(spent)
    }

    fn stop_at(&self, now: Instant) {
        let mut clock = self.clock.lock();
        if clock.open_questions == 0 {
            clock.stopped = now;
        }
        clock.open_questions += 1;
    }

    fn go_on_at(&self, now: Instant) {
        let mut clock = self.clock.lock();
        clock.open_questions -= 1;
        if clock.open_questions == 0 {
            clock.answer = now + self.limit.answer;
            let stood = now.saturating_duration_since(clock.stopped);
            clock.total += stood;
            clock.stood += stood;
        }
    }
}

impl Clock {
    /// Returns the limit that is used up first, and when.
    fn next(&self) -> (Instant, Spent) {
        if self.open_questions > 0 {
            return (self.stopped + LONGEST_THOUGHT.saturating_sub(self.stood), Spent::Questions);
        }
        if self.total < self.answer { (self.total, Spent::Total) } else { (self.answer, Spent::Answer) }
    }
}

/// Waits for something, for so long at most; time in which this process was stopped does not count.
pub(crate) async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    let patience = Patience::new(TimeLimit::fixed(limit));
    tokio::select! {
        biased;
        done = work => Some(done),
        _ = patience.ends() => None,
    }
}

/// Stops the clock of calls while a person thinks.
pub(crate) struct Waiting(Vec<Arc<Patience>>);

impl Waiting {
    pub(crate) fn new(calls: Vec<Arc<Patience>>) -> Self {
        let now = Instant::now();
        for call in &calls {
            call.stop_at(now);
        }
        Self(calls)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let now = Instant::now();
        for call in &self.0 {
            call.go_on_at(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn r20_a_call_that_takes_nine_seconds_is_within_the_limits_that_nobody_wrote() {
        let (patience, start) = begun(TimeLimit::of(&Limits::default()));
        assert_eq!(patience.spent_at(start + 9 * SECOND), None);
        assert_eq!(patience.spent_at(start + 60 * SECOND), Some(Spent::Answer));
    }

    #[test]
    fn r20_progress_begins_the_time_anew_but_not_for_ever() {
        let (patience, start) = begun(TimeLimit::of(&Limits::default()));
        for second in 0..600 {
            assert_eq!(patience.spent_at(start + second * SECOND), None, "{second}");
            patience.renew_at(start + second * SECOND);
        }
        assert_eq!(patience.spent_at(start + 600 * SECOND), Some(Spent::Total));
    }

    #[test]
    fn r20_while_a_person_thinks_neither_limit_is_used_up() {
        let (patience, start) = begun(TimeLimit { answer: 5 * SECOND, total: 10 * SECOND });
        patience.stop_at(start + 4 * SECOND);
        patience.stop_at(start + 100 * SECOND);
        patience.go_on_at(start + 200 * SECOND);
        assert_eq!(patience.spent_at(start + 1000 * SECOND), None, "one question is still open");
        patience.go_on_at(start + 1004 * SECOND);
        assert_eq!(patience.spent_at(start + 1008 * SECOND), None);
        assert_eq!(patience.spent_at(start + 1009 * SECOND), Some(Spent::Answer));
        patience.renew_at(start + 1008 * SECOND);
        assert_eq!(patience.spent_at(start + 1009 * SECOND), None);
        assert_eq!(patience.spent_at(start + 1010 * SECOND), Some(Spent::Total), "six seconds were left");
    }

    #[test]
    fn m1_questions_that_nobody_answers_do_not_hold_a_call_for_ever() {
        let (patience, start) = begun(TimeLimit { answer: 5 * SECOND, total: 10 * SECOND });
        let mut now = start;
        for _ in 0..17 {
            patience.stop_at(now);
            now += 100 * SECOND;
            assert_eq!(patience.spent_at(now), None);
            patience.go_on_at(now);
        }
        patience.stop_at(now);
        assert_eq!(patience.spent_at(now + 99 * SECOND), None);
        assert_eq!(patience.spent_at(now + 100 * SECOND), Some(Spent::Questions));
    }

    #[tokio::test(start_paused = true)]
    async fn t27_time_in_which_the_process_was_stopped_does_not_count() {
        let start = Instant::now();
        let call = tokio::spawn(within(10 * SECOND, std::future::pending::<()>()));
        tokio::time::sleep(3 * SECOND).await;
        tokio::time::advance(20 * SECOND).await;
        tokio::time::sleep(6 * SECOND).await;
        assert!(!call.is_finished(), "nine seconds are used up, and twenty were lost");
        assert_eq!(call.await.unwrap(), None);
        let used = start.elapsed() - 20 * SECOND;
        assert!((10 * SECOND..12 * SECOND).contains(&used), "{used:?}");
    }

    fn begun(limit: TimeLimit) -> (Patience, Instant) {
        let patience = Patience::new(limit);
        let start = patience.clock.lock().answer - limit.answer;
        (patience, start)
    }
}
