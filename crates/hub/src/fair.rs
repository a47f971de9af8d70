//! What clients share, divided fairly: turns, of which each client has a share and a queue of its own, and room.
//!
//! When all turns are taken, clients are served one after the other, however many requests each of them has waiting.
//! When there is no room, whoever takes most of it gives some up.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Who has fewer turns than this may take one that is reserved.
const FEW: usize = 2;

/// How many turns there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allotment {
    /// In all.
    pub(crate) all: usize,
    /// Of one client.
    pub(crate) share: usize,
    /// Kept for clients that have hardly any.
    pub(crate) reserved: usize,
    /// Requests of one client that may wait.
    pub(crate) waiting: usize,
}

/// Turns and who waits for them.
#[derive(Debug)]
pub(crate) struct Turns {
    allotment: Allotment,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    taken: usize,
    clients: HashMap<Arc<str>, Queue>,
    /// Clients with waiting requests, in the order in which they are served.
    order: VecDeque<Arc<str>>,
}

#[derive(Debug, Default)]
struct Queue {
    taken: usize,
    waiting: VecDeque<Ticket>,
}

#[derive(Debug)]
struct Ticket {
    weight: usize,
    reply: oneshot::Sender<Turn>,
}

/// Some turns of a client; they are free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Arc<Turns>,
    client: Arc<str>,
    weight: AtomicUsize,
}

impl Turns {
    pub(crate) fn new(allotment: Allotment) -> Arc<Self> {
        Arc::new(Self { allotment, state: Mutex::default() })
    }

    /// Waits for `weight` turns at once; `None` when too many requests of this client wait already.
    pub(crate) async fn take(self: &Arc<Self>, client: &str, weight: usize) -> Option<Turn> {
        let weight = weight.clamp(1, self.allotment.share.min(self.allotment.all));
        let turn = {
            let (reply, turn) = oneshot::channel();
            let mut state = self.state.lock();
            let client: Arc<str> = match state.clients.get_key_value(client) {
                Some((known, _)) => Arc::clone(known),
                None => client.into(),
            };
            let queue = state.clients.entry(Arc::clone(&client)).or_default();
            if queue.waiting.len() >= self.allotment.waiting {
                queue.waiting.retain(|ticket| !ticket.reply.is_closed());
            }
            if queue.waiting.len() >= self.allotment.waiting {
                return None;
            }
            queue.waiting.push_back(Ticket { weight, reply });
            if queue.waiting.len() == 1 && !state.order.contains(&client) {
                state.order.push_back(client);
            }
            self.serve(&mut state);
            turn
        };
        turn.await.ok()
    }

    /// Whether every turn is taken, by whomever.
    pub(crate) fn is_full(&self) -> bool {
        self.state.lock().taken >= self.allotment.all
    }

    /// Gives turns to those who wait, each client in its turn.
    fn serve(self: &Arc<Self>, state: &mut State) {
        let mut passed = 0;
        while passed < state.order.len() {
            let Some(client) = state.order.pop_front() else { return };
            let Some(queue) = state.clients.get_mut(&client) else { continue };
            while queue.waiting.front().is_some_and(|ticket| ticket.reply.is_closed()) {
                queue.waiting.pop_front();
            }
            let Some(weight) = queue.waiting.front().map(|ticket| ticket.weight) else {
                if queue.taken == 0 {
                    state.clients.remove(&client);
                }
                continue;
            };
            let open = self.allotment.all - if queue.taken < FEW { 0 } else { self.allotment.reserved };
            let fits = state.taken + weight <= open && queue.taken + weight <= self.allotment.share;
            if let Some(ticket) = queue.waiting.pop_front_if(|_| fits) {
                queue.taken += weight;
                state.taken += weight;
                let turn =
                    Turn { turns: Arc::clone(self), client: Arc::clone(&client), weight: weight.into() };
                if let Err(turn) = ticket.reply.send(turn) {
                    // Nobody waits for it any more. It must not give itself back while the lock is held.
                    queue.taken -= weight;
                    state.taken -= weight;
                    turn.forget();
                }
                passed = 0;
            } else {
                passed += 1;
            }
            state.order.push_back(client);
        }
    }
}

impl Turn {
    /// Takes as many more as the answer is heavy, without asking: the client waits longer for its next one.
    pub(crate) fn grow(&self, weight: usize) {
        let mut state = self.turns.state.lock();
        state.taken += weight;
        if let Some(queue) = state.clients.get_mut(&self.client) {
            queue.taken += weight;
        }
        self.weight.fetch_add(weight, Ordering::Relaxed);
    }

    fn forget(self) {
        self.weight.store(0, Ordering::Relaxed);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let weight = *self.weight.get_mut();
        if weight == 0 {
            return;
        }
        let mut state = self.turns.state.lock();
        state.taken -= weight;
        if let Some(queue) = state.clients.get_mut(&self.client) {
            queue.taken -= weight;
            if queue.taken == 0 && queue.waiting.is_empty() {
                state.clients.remove(&self.client);
            }
        }
        self.turns.serve(&mut state);
    }
}

/// Something that is kept for a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holding<'h, K> {
    pub(crate) key: K,
    /// The client.
    pub(crate) owner: &'h str,
    /// The room that it takes.
    pub(crate) size: usize,
    /// How long it was not used; `None` for what is in use.
    pub(crate) idle: Option<Duration>,
}

/// Returns what is missed least: what was longest unused, of whoever takes most room with such. What is in use stays.
pub(crate) fn expendable<'h, K>(all: impl Iterator<Item = Holding<'h, K>>) -> Option<K> {
    struct Share<K> {
        size: usize,
        longest: Duration,
        key: K,
    }
    let mut shares: HashMap<&str, Share<K>> = HashMap::new();
    for Holding { key, owner, size, idle } in all {
        let Some(idle) = idle else { continue };
        match shares.get_mut(owner) {
            None => drop(shares.insert(owner, Share { size, longest: idle, key })),
            Some(share) => {
                share.size += size;
                if idle > share.longest {
                    (share.longest, share.key) = (idle, key);
                }
            }
        }
    }
    shares.into_values().max_by_key(|it| (it.size, it.longest)).map(|it| it.key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use tokio::task::JoinHandle;

    fn turns(all: usize, share: usize, waiting: usize) -> Arc<Turns> {
        Turns::new(Allotment { all, share, reserved: 0, waiting })
    }

    async fn queued(turns: &Arc<Turns>, client: &'static str) -> JoinHandle<Option<Turn>> {
        let turns = Arc::clone(turns);
        let task = tokio::spawn(async move { turns.take(client, 1).await });
        tokio::task::yield_now().await;
        task
    }

    #[tokio::test]
    async fn m2_a_client_waits_for_its_own_requests_and_for_nobody_elses() {
        let turns = turns(10, 2, 2);
        let (first, _second) = (turns.take("a", 1).await.unwrap(), turns.take("a", 1).await.unwrap());
        let third = queued(&turns, "a").await;
        let fourth = queued(&turns, "a").await;
        assert!(turns.take("a", 1).await.is_none(), "too many wait");
        assert!(turns.take("b", 1).await.is_some());
        drop(first);
        assert!(third.await.unwrap().is_some() && fourth.await.unwrap().is_some());
    }

    #[tokio::test]
    async fn m2_clients_that_have_hardly_any_turn_find_one_reserved() {
        let turns = Turns::new(Allotment { all: 8, share: 8, reserved: 4, waiting: 10 });
        let mut held = Vec::new();
        while let Some(turn) = turns.take("a", 1).now_or_never() {
            held.push(turn.unwrap());
        }
        assert_eq!(held.len(), 4);
        while let Some(turn) = turns.take("b", 1).now_or_never() {
            held.push(turn.unwrap());
        }
        assert_eq!(held.len(), 6);
        assert!(turns.take("c", 1).now_or_never().is_some());
    }

    #[tokio::test]
    async fn m2_when_all_turns_are_taken_clients_are_served_one_after_the_other() {
        let turns = turns(1, 1, 10);
        let held = turns.take("a", 1).await.unwrap();
        let (told, mut order) = tokio::sync::mpsc::unbounded_channel();
        let mut tasks = Vec::new();
        for client in ["a", "a", "a", "b", "c"] {
            let (turns, told) = (Arc::clone(&turns), told.clone());
            tasks.push(tokio::spawn(async move {
                let _turn = turns.take(client, 1).await.unwrap();
                told.send(client).unwrap();
            }));
            tokio::task::yield_now().await;
        }
        drop((held, told));
        let mut served = String::new();
        while let Some(client) = order.recv().await {
            served.push_str(client);
        }
        assert_eq!(served, "abcaa");
        assert!(turns.state.lock().clients.is_empty());
    }

    #[tokio::test]
    async fn m2_who_gives_up_waiting_keeps_no_place_and_no_turn() {
        let turns = turns(1, 1, 1);
        let held = turns.take("a", 1).await.unwrap();
        let given_up = queued(&turns, "a").await;
        given_up.abort();
        assert!(given_up.await.is_err());
        let next = queued(&turns, "a").await;
        drop(held);
        drop(next.await.unwrap().unwrap());
        assert!(turns.state.lock().clients.is_empty());
        assert_eq!(turns.state.lock().taken, 0);
        assert!(turns.take("a", 1).await.is_some());
    }

    #[tokio::test]
    async fn m2_a_heavy_answer_delays_its_own_client_only() {
        let turns = turns(10, 4, 10);
        let heavy = turns.take("a", 1).await.unwrap();
        heavy.grow(8);
        let next = queued(&turns, "a").await;
        drop(turns.take("b", 1).await.unwrap());
        assert!(!next.is_finished());
        drop(heavy);
        assert!(next.await.unwrap().is_some());
        assert!(turns.take("b", 100).await.is_some(), "more than a share is a whole share");
    }

    #[test]
    fn m2_whoever_has_most_loses_what_was_longest_unused_and_nothing_that_is_in_use() {
        let idle = |seconds| Some(Duration::from_secs(seconds));
        let held = |(key, owner, idle)| Holding { key, owner, size: 1, idle };
        let all = [
            ("one", "ana", idle(900)),
            ("two", "ben", idle(3)),
            ("three", "ben", None),
            ("four", "ben", idle(5)),
            ("five", "cy", None),
        ];
        assert_eq!(expendable(all.into_iter().map(held)), Some("four"));
        assert_eq!(expendable(all.into_iter().filter(|(_, owner, _)| *owner == "cy").map(held)), None);
        let large = Holding { key: "six", owner: "ana", size: 9, idle: idle(1) };
        assert_eq!(expendable(all.into_iter().map(held).chain([large])), Some("one"), "by the room it takes");
    }
}
