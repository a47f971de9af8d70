//! How much each client does: calls per minute, and calls at once.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Refusal;
use crate::access::{Grant, Holder};

const WINDOW: Duration = Duration::from_secs(60);

/// Counts the calls of clients, whatever tools they call.
#[derive(Debug, Default)]
pub(crate) struct Quotas {
    calls: Mutex<HashMap<Holder, VecDeque<Instant>>>,
    /// A client whose limit changed has other turns.
    turns: Mutex<HashMap<(Holder, usize), Arc<Semaphore>>>,
}

/// The right of a client to make one call; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct ClientTurn(
    #[expect(dead_code, reason = "it lasts as long as the call")] Option<OwnedSemaphorePermit>,
);

impl Quotas {
    /// Counts a call of a client, or says when the next one is allowed.
    pub(crate) fn count(&self, grant: &Grant, now: Instant) -> Result<(), Refusal> {
        let Some(limit) = grant.rate else { return Ok(()) };
        let mut calls = self.calls.lock();
        let recent = calls.entry(grant.holder.clone()).or_default();
        while recent.front().is_some_and(|at| now.saturating_duration_since(*at) >= WINDOW) {
            recent.pop_front();
        }
        if recent.len() >= limit as usize {
            let since = recent.front().map_or(WINDOW, |at| now.saturating_duration_since(*at));
            let wait = WINDOW.saturating_sub(since).as_secs() + 1;
            return Err(Refusal::ClientTooOften { client: named(grant), limit, wait });
        }
        recent.push_back(now);
        Ok(())
    }

    /// Waits until the client may make one more call at the same time, for `patience` at most.
    pub(crate) async fn turn(&self, grant: &Grant, patience: Duration) -> Result<ClientTurn, Refusal> {
        let Some(limit) = grant.concurrency else { return Ok(ClientTurn(None)) };
        let turns = {
            let mut turns = self.turns.lock();
            let own = turns.entry((grant.holder.clone(), limit));
            Arc::clone(own.or_insert_with(|| Arc::new(Semaphore::new(limit))))
        };
        match tokio::time::timeout(patience, turns.acquire_owned()).await {
            Ok(turn) => Ok(ClientTurn(Some(turn.expect("turns are never closed")))),
            Err(_) => Err(Refusal::ClientBusy { client: named(grant), limit, waited: patience }),
        }
    }
}

fn named(grant: &Grant) -> String {
    grant.name().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Registration;

    fn grant(name: &str) -> Grant {
        Registration { rate: Some(2), concurrency: Some(1), ..Registration::new(name) }.into()
    }

    #[test]
    fn t27_calls_per_minute_are_counted_for_each_client_alone() {
        let (quotas, start) = (Quotas::default(), Instant::now());
        let count = |name: &str, seconds| {
            let at = start + Duration::from_secs(seconds);
            quotas.count(&grant(name), at).map_err(|err| err.to_string())
        };
        assert_eq!(count("ana", 0), Ok(()));
        assert_eq!(count("ana", 10), Ok(()));
        insta::assert_snapshot!(
            count("ana", 20).unwrap_err(),
            @"client `ana` made 2 calls within a minute, which is its limit; try again in 41 s"
        );
        assert_eq!(count("ben", 20), Ok(()), "another client has its own count");
        assert_eq!(count("ana", 61), Ok(()));
        for _ in 0..100 {
            assert_eq!(quotas.count(&Grant::owner(), start), Ok(()));
        }
    }

    #[tokio::test]
    async fn t27_calls_at_once_are_counted_for_each_client_alone() {
        let (quotas, ana, ben) = (Quotas::default(), grant("ana"), grant("ben"));
        let first = quotas.turn(&ana, Duration::ZERO).await.unwrap();
        insta::assert_snapshot!(
            quotas.turn(&ana, Duration::ZERO).await.unwrap_err(),
            @"client `ana` has 1 calls under way, which is its limit, and none ended within 0ns; try again when they are done"
        );
        assert!(quotas.turn(&ben, Duration::ZERO).await.is_ok());
        drop(first);
        assert!(quotas.turn(&ana, Duration::ZERO).await.is_ok());
    }
}
