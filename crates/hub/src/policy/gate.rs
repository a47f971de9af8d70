//! What is kept count of: calls per minute of a tool, calls at once and failures in a row of a server.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Refusal;
use super::breaker::Breaker;

const WINDOW: Duration = Duration::from_secs(60);

/// Counts calls, across configurations.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    calls: Mutex<HashMap<String, Vec<Instant>>>,
    turns: Mutex<HashMap<Counter, Arc<Semaphore>>>,
    breakers: Mutex<HashMap<Arc<str>, Breaker>>,
}

/// A server, and how many calls it may have at once: with another limit it has other turns.
type Counter = (Arc<str>, usize);

/// How a call ended, as far as its server is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The server answered, be it with an error.
    Answered,
    /// It could not be reached or did not answer.
    Failed,
}

/// The right to make one call of a server. A call that is given up on the way gives it back.
#[derive(Debug)]
pub(crate) struct Passage<'g> {
    gate: &'g Gate,
    server: Arc<str>,
    is_settled: bool,
    _turn: OwnedSemaphorePermit,
}

impl Gate {
    /// Counts a call of a tool, or says when the next one is allowed.
    pub(crate) fn count(&self, tool: &str, limit: Option<u32>, now: Instant) -> Result<(), Refusal> {
        let Some(limit) = limit else { return Ok(()) };
        let mut calls = self.calls.lock();
        let recent = calls.entry(tool.to_owned()).or_default();
        recent.retain(|&at| now.duration_since(at) < WINDOW);
        if recent.len() >= limit as usize {
            let oldest = recent.first().copied().unwrap_or(now);
            let wait = (WINDOW - now.duration_since(oldest)).as_secs() + 1;
            return Err(Refusal::TooOften { tool: tool.to_owned(), limit, wait });
        }
        recent.push(now);
        Ok(())
    }

    /// Waits for a turn at a server, for `patience` at most. Who came first goes first.
    pub(crate) async fn pass(
        &self,
        server: &Arc<str>,
        limit: usize,
        patience: Duration,
    ) -> Result<Passage<'_>, Refusal> {
        self.enter(server, Instant::now())?;
        let mut passage = Probe { gate: self, server: Some(Arc::clone(server)) };
        let turns = {
            let mut turns = self.turns.lock();
            Arc::clone(
                turns.entry((Arc::clone(server), limit)).or_insert_with(|| Arc::new(Semaphore::new(limit))),
            )
        };
        let turn = match tokio::time::timeout(patience, turns.acquire_owned()).await {
            Ok(turn) => turn.expect("turns are never closed"),
            Err(_) => return Err(Refusal::Busy { server: server.to_string(), limit, waited: patience }),
        };
        passage.server = None;
        Ok(Passage { gate: self, server: Arc::clone(server), is_settled: false, _turn: turn })
    }

    fn enter(&self, server: &Arc<str>, now: Instant) -> Result<(), Refusal> {
        self.breaker(server, |breaker| breaker.enter(now)).map_err(|rest| Refusal::Resting {
            server: server.to_string(),
            failures: rest.failures,
            wait: rest.wait.as_secs() + 1,
        })
    }

    fn breaker<T>(&self, server: &Arc<str>, change: impl FnOnce(&mut Breaker) -> T) -> T {
        change(self.breakers.lock().entry(Arc::clone(server)).or_default())
    }
}

/// A call that waits for its turn, and may be given up meanwhile.
struct Probe<'g> {
    gate: &'g Gate,
    server: Option<Arc<str>>,
}

impl Drop for Probe<'_> {
    fn drop(&mut self) {
        if let Some(server) = &self.server {
            self.gate.breaker(server, |breaker| breaker.abandoned(Instant::now()));
        }
    }
}

impl Passage<'_> {
    /// Notes how the call ended.
    pub(crate) fn settle(mut self, ended: Ended) {
        self.is_settled = true;
        self.gate.breaker(&self.server, |breaker| match ended {
            Ended::Answered => breaker.answered(),
            Ended::Failed => breaker.failed(Instant::now()),
        });
    }
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.gate.breaker(&self.server, |breaker| breaker.abandoned(Instant::now()));
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
            gate.count(tool, Some(2), start + Duration::from_secs(seconds)).map_err(|err| err.to_string())
        };
        assert_eq!(count("fs__read", 0), Ok(()));
        assert_eq!(count("fs__read", 10), Ok(()));
        insta::assert_snapshot!(
            count("fs__read", 20).unwrap_err(),
            @"tool `fs__read` was called 2 times within a minute, which is its limit; try again in 41 s"
        );
        assert_eq!(count("fs__list", 20), Ok(()), "another tool has its own count");
        assert_eq!(count("fs__read", 61), Ok(()));
        assert_eq!(gate.count("fs__read", None, start), Ok(()));
    }

    #[tokio::test]
    async fn r20_calls_of_one_server_take_turns_in_the_order_they_came() {
        let gate = Arc::new(Gate::default());
        let (fs, db): (Arc<str>, Arc<str>) = ("fs".into(), "db".into());
        let first = gate.pass(&fs, 1, Duration::ZERO).await.unwrap();
        insta::assert_snapshot!(
            gate.pass(&fs, 1, Duration::ZERO).await.unwrap_err(),
            @"server `fs` has 1 calls under way, which is its limit, and none ended within 0ns; try again when they are done, or raise `limits.concurrency`"
        );
        assert!(gate.pass(&db, 1, Duration::ZERO).await.is_ok(), "another server has its own turns");
        let (told, mut order) = tokio::sync::mpsc::unbounded_channel();
        let mut waiting = Vec::new();
        for number in 0..3 {
            let (gate, fs, told) = (Arc::clone(&gate), Arc::clone(&fs), told.clone());
            waiting.push(tokio::spawn(async move {
                let passage = gate.pass(&fs, 1, Duration::from_secs(600)).await.unwrap();
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
            gate.pass(&fs, 2, Duration::ZERO).await.unwrap().settle(Ended::Failed);
        }
        let refusal = gate.pass(&fs, 2, Duration::ZERO).await.unwrap_err();
        assert!(matches!(&refusal, Refusal::Resting { failures: 5, wait: 1..=6, .. }), "{refusal}");
        let other: Arc<str> = "db".into();
        assert!(gate.pass(&other, 2, Duration::ZERO).await.is_ok());
    }
}
