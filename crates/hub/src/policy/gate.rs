//! What is kept count of: calls of a tool within a period, calls at once and failures in a row of a server.
//!
//! What a client's calls can bring about counts for that client alone: it takes a server away from nobody else.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use toolyard_core::metadata::RateLimit;

use super::Refusal;
use super::breaker::Breaker;
use crate::fair::{Allotment, Turn, Turns};

/// One turn in so many is left to clients that have hardly any.
const RESERVED: usize = 4;
/// Counts of failures that are kept; clients that are not kept waiting go first.
const MOST_BREAKERS: usize = 10_000;

/// Counts calls, across configurations.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    calls: Mutex<HashMap<String, Vec<Instant>>>,
    turns: Mutex<HashMap<Counter, Arc<Turns>>>,
    breakers: Mutex<HashMap<Source, Breaker>>,
}

/// A server, and how many calls it may have at once: with another limit it has other turns.
type Counter = (Arc<str>, usize);

/// Whose calls a breaker counts: those of a server that everybody makes, or one client.
type Source = (Arc<str>, Option<Arc<str>>);

/// How a call ended, as far as its server is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The server answered, be it with an error.
    Answered,
    /// It was there and did not answer, which a call may bring about.
    Failed,
    /// It did not start or could not be reached, whoever called.
    Absent,
}

/// The right to make one call of a server. A call that is given up on the way gives it back.
#[derive(Debug)]
pub(crate) struct Passage<'g> {
    gate: &'g Gate,
    server: Arc<str>,
    client: Arc<str>,
    begun: Instant,
    is_settled: bool,
    _turn: Turn,
}

impl Gate {
    /// Counts a call of a tool, or says when the next one is allowed by all of its limits.
    pub(crate) fn count(&self, tool: &str, limits: &[RateLimit], now: Instant) -> Result<(), Refusal> {
        let Some(longest) = limits.iter().map(|limit| limit.period).max() else { return Ok(()) };
        let mut calls = self.calls.lock();
        let recent = calls.entry(tool.to_owned()).or_default();
        recent.retain(|&at| now.duration_since(at) < Duration::from_secs(longest));
        let reached = limits.iter().filter_map(|limit| {
            let period = Duration::from_secs(limit.period);
            let within = &recent[recent.partition_point(|&at| now.duration_since(at) >= period)..];
            // The next call is allowed when so few are left that one more fits.
            let blocking = within.get(within.len().checked_sub(limit.calls as usize)?)?;
            Some(((period - now.duration_since(*blocking)).as_secs() + 1, *limit))
        });
        if let Some((wait, limit)) = reached.max_by_key(|(wait, _)| *wait) {
            return Err(Refusal::TooOften { tool: tool.to_owned(), limit, wait });
        }
        recent.push(now);
        Ok(())
    }

    /// Waits for a turn at a server, for `patience` at most. Of one client's calls the first goes first; of several
    /// clients each has its turn, and none has all of them.
    pub(crate) async fn pass(
        &self,
        server: &Arc<str>,
        client: &str,
        limit: usize,
        patience: Duration,
    ) -> Result<Passage<'_>, Refusal> {
        let client: Arc<str> = client.into();
        self.enter(server, &client, Instant::now())?;
        let probe = Probe { gate: self, server, client: &client };
        let turns = {
            let mut turns = self.turns.lock();
            Arc::clone(
                turns.entry((Arc::clone(server), limit)).or_insert_with(|| Turns::new(allotment(limit))),
            )
        };
        let Ok(Some(turn)) = tokio::time::timeout(patience, turns.take(&client, "", 1)).await else {
            let limit = if turns.is_full() { limit } else { limit - limit / RESERVED };
            return Err(Refusal::Busy { server: server.to_string(), limit, waited: patience });
        };
        std::mem::forget(probe);
        let (server, begun) = (Arc::clone(server), Instant::now());
        Ok(Passage { gate: self, server, client, begun, is_settled: false, _turn: turn })
    }

    fn enter(&self, server: &Arc<str>, client: &Arc<str>, now: Instant) -> Result<(), Refusal> {
        let entered = self.breakers(server, client, |all, own| {
            all.enter(now)?;
            own.enter(now).inspect_err(|_| all.abandoned(now))
        });
        entered.map_err(|rest| Refusal::Resting {
            server: server.to_string(),
            failures: rest.failures,
            wait: rest.wait.as_secs() + 1,
        })
    }

    /// Changes what is counted of a server for everybody, and for one client.
    fn breakers<T>(
        &self,
        server: &Arc<str>,
        client: &Arc<str>,
        change: impl FnOnce(&mut Breaker, &mut Breaker) -> T,
    ) -> T {
        let mut breakers = self.breakers.lock();
        let (for_all, for_one) = ((Arc::clone(server), None), (Arc::clone(server), Some(Arc::clone(client))));
        if breakers.len() >= MOST_BREAKERS && !breakers.contains_key(&for_one) {
            breakers.retain(|(_, client), breaker| client.is_none() || breaker.is_resting());
        }
        let (mut all, mut own) =
            (breakers.remove(&for_all).unwrap_or_default(), breakers.remove(&for_one).unwrap_or_default());
        let changed = change(&mut all, &mut own);
        breakers.extend([(for_all, all), (for_one, own)]);
        changed
    }

    fn abandoned(&self, server: &Arc<str>, client: &Arc<str>) {
        let now = Instant::now();
        self.breakers(server, client, |all, own| {
            all.abandoned(now);
            own.abandoned(now);
        });
    }
}

/// Leaves some turns of a server to clients that have hardly any, where there are enough to leave one.
fn allotment(limit: usize) -> Allotment {
    Allotment { all: limit, share: limit, reserved: limit / RESERVED, waiting: usize::MAX }
}

/// A call that waits for its turn, and may be given up meanwhile.
struct Probe<'g> {
    gate: &'g Gate,
    server: &'g Arc<str>,
    client: &'g Arc<str>,
}

impl Drop for Probe<'_> {
    fn drop(&mut self) {
        self.gate.abandoned(self.server, self.client);
    }
}

impl Passage<'_> {
    /// Notes how the call ended.
    pub(crate) fn settle(mut self, ended: Ended) {
        self.is_settled = true;
        let (begun, now) = (self.begun, Instant::now());
        self.gate.breakers(&self.server, &self.client, |all, own| match ended {
            Ended::Answered => {
                all.answered(now);
                own.answered(now);
            }
            Ended::Failed => {
                all.abandoned(now);
                own.failed(begun, now);
            }
            Ended::Absent => {
                all.failed(begun, now);
                own.abandoned(now);
            }
        });
    }
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.gate.abandoned(&self.server, &self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r20_a_tool_that_is_called_too_often_waits() {
        let (gate, start) = (Gate::default(), Instant::now());
        let count = |tool, seconds| {
            let limit = [RateLimit::per_minute(2)];
            gate.count(tool, &limit, start + Duration::from_secs(seconds)).map_err(|err| err.to_string())
        };
        assert_eq!(count("fs__read", 0), Ok(()));
        assert_eq!(count("fs__read", 10), Ok(()));
        insta::assert_snapshot!(
            count("fs__read", 20).unwrap_err(),
            @"tool `fs__read` was called 2 times within a minute, which is its limit; try again in 41 s"
        );
        assert_eq!(count("fs__list", 20), Ok(()), "another tool has its own count");
        assert_eq!(count("fs__read", 61), Ok(()));
        assert_eq!(gate.count("fs__read", &[], start), Ok(()));
    }

    #[test]
    fn r20_every_limit_of_a_tool_holds_over_its_own_period() {
        let (gate, start) = (Gate::default(), Instant::now());
        let limits = [RateLimit { calls: 1, period: 2 }, RateLimit { calls: 3, period: 100 }];
        let count = |seconds| {
            gate.count("fs__read", &limits, start + Duration::from_secs(seconds))
                .map_err(|err| err.to_string())
        };
        assert_eq!(count(0), Ok(()));
        insta::assert_snapshot!(
            count(1).unwrap_err(),
            @"tool `fs__read` was called once within 2 s, which is its limit; try again in 2 s"
        );
        assert_eq!([count(2), count(4)], [Ok(()), Ok(())]);
        insta::assert_snapshot!(
            count(6).unwrap_err(),
            @"tool `fs__read` was called 3 times within 100 s, which is its limit; try again in 95 s"
        );
        assert_eq!(count(100), Ok(()));
    }

    #[tokio::test]
    async fn r20_calls_of_one_server_take_turns_in_the_order_they_came() {
        let gate = Arc::new(Gate::default());
        let (fs, db): (Arc<str>, Arc<str>) = ("fs".into(), "db".into());
        let first = gate.pass(&fs, "a", 1, Duration::ZERO).await.unwrap();
        insta::assert_snapshot!(
            gate.pass(&fs, "a", 1, Duration::ZERO).await.unwrap_err(),
            @"server `fs` has 1 calls under way, which is its limit, and none ended within 0ns; try again when they are done, or raise `limits.concurrency`"
        );
        assert!(gate.pass(&db, "a", 1, Duration::ZERO).await.is_ok(), "another server has its own turns");
        let (told, mut order) = tokio::sync::mpsc::unbounded_channel();
        let mut waiting = Vec::new();
        for number in 0..3 {
            let (gate, fs, told) = (Arc::clone(&gate), Arc::clone(&fs), told.clone());
            waiting.push(tokio::spawn(async move {
                let passage = gate.pass(&fs, "a", 1, Duration::from_secs(600)).await.unwrap();
                told.send(number).unwrap();
                passage.settle(Ended::Answered);
            }));
            // Each is in the queue before the next one begins.
            tokio::task::yield_now().await;
        }
        first.settle(Ended::Answered);
        for expected in 0..3 {
            assert_eq!(order.recv().await, Some(expected));
        }
    }

    #[tokio::test]
    async fn r8_a_server_that_does_not_answer_is_left_alone_and_said_when_it_is_tried_again() {
        let (gate, fs): (Gate, Arc<str>) = (Gate::default(), "fs".into());
        for _ in 0..5 {
            gate.pass(&fs, "a", 2, Duration::ZERO).await.unwrap().settle(Ended::Absent);
        }
        let refusal = gate.pass(&fs, "a", 2, Duration::ZERO).await.unwrap_err();
        assert!(matches!(&refusal, Refusal::Resting { failures: 5, wait: 1..=6, .. }), "{refusal}");
        assert!(gate.pass(&fs, "b", 2, Duration::ZERO).await.is_err(), "it is there for nobody");
        let other: Arc<str> = "db".into();
        assert!(gate.pass(&other, "a", 2, Duration::ZERO).await.is_ok());
    }

    #[tokio::test]
    async fn m2_one_clients_calls_never_take_every_turn_of_a_server() {
        let (gate, fs): (Gate, Arc<str>) = (Gate::default(), "fs".into());
        let mut hung = Vec::new();
        while let Ok(passage) = gate.pass(&fs, "a", 32, Duration::ZERO).await {
            hung.push(passage);
        }
        assert_eq!(hung.len(), 24);
        insta::assert_snapshot!(
            gate.pass(&fs, "a", 32, Duration::ZERO).await.unwrap_err(),
            @"server `fs` has 24 calls under way, which is its limit, and none ended within 0ns; try again when they are done, or raise `limits.concurrency`"
        );
        assert!(gate.pass(&fs, "b", 32, Duration::ZERO).await.is_ok());
    }

    #[tokio::test]
    async fn m2_a_client_whose_calls_fail_takes_a_server_away_from_nobody_else() {
        let (gate, fs): (Gate, Arc<str>) = (Gate::default(), "fs".into());
        for _ in 0..5 {
            gate.pass(&fs, "a", 2, Duration::ZERO).await.unwrap().settle(Ended::Failed);
        }
        let refusal = gate.pass(&fs, "a", 2, Duration::ZERO).await.unwrap_err();
        assert!(matches!(&refusal, Refusal::Resting { failures: 5, .. }), "{refusal}");
        gate.pass(&fs, "b", 2, Duration::ZERO).await.unwrap().settle(Ended::Answered);
        assert!(gate.pass(&fs, "a", 2, Duration::ZERO).await.is_err(), "what others get changes nothing");
    }

    #[tokio::test]
    async fn m2_calls_that_hang_do_not_close_a_server_that_answers_others() {
        let (gate, fs): (Gate, Arc<str>) = (Gate::default(), "fs".into());
        let mut hung = Vec::new();
        for _ in 0..20 {
            hung.push(gate.pass(&fs, "a", 32, Duration::ZERO).await.unwrap());
        }
        gate.pass(&fs, "b", 32, Duration::ZERO).await.unwrap().settle(Ended::Answered);
        for passage in hung {
            passage.settle(Ended::Failed);
        }
        assert!(gate.pass(&fs, "b", 32, Duration::ZERO).await.is_ok());
    }
}
