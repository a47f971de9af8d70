//! What clients share, divided fairly: turns, of which each client has a share and a queue of its own, and room.
//!
//! When all turns are taken, clients are served one after the other, however many requests each of them has waiting.
//! Clients that nothing proves apart share a source, such as an address: sources are served one after the other, however
//! many names each of them uses, and names of one source take turns among themselves.
//! When there is no room, whoever takes most of it gives some up.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

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
    sources: HashMap<Arc<str>, Source>,
    /// Sources with waiting requests, in the order in which they are served.
    order: VecDeque<Arc<str>>,
}

#[derive(Debug, Default)]
struct Source {
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
    source: Arc<str>,
    client: Arc<str>,
    weight: AtomicUsize,
}

impl Turns {
    pub(crate) fn new(allotment: Allotment) -> Arc<Self> {
        Arc::new(Self { allotment, state: Mutex::default() })
    }

    /// Waits for `weight` turns at once; `None` when too many requests of this client of a source wait already.
    pub(crate) async fn take(self: &Arc<Self>, source: &str, client: &str, weight: usize) -> Option<Turn> {
        let weight = weight.clamp(1, self.allotment.share.min(self.allotment.all));
        let turn = {
            let (reply, turn) = oneshot::channel();
            let mut state = self.state.lock();
            let source_name = known(&state.sources, source);
            let source = state.sources.entry(Arc::clone(&source_name)).or_default();
            let client = known(&source.clients, client);
            let queue = source.clients.entry(Arc::clone(&client)).or_default();
            if queue.waiting.len() >= self.allotment.waiting {
                queue.waiting.retain(|ticket| !ticket.reply.is_closed());
            }
            if queue.waiting.len() >= self.allotment.waiting {
                return None;
            }
            queue.waiting.push_back(Ticket { weight, reply });
            if queue.waiting.len() == 1 && !source.order.contains(&client) {
                source.order.push_back(client);
            }
            if !state.order.contains(&source_name) {
                state.order.push_back(source_name);
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

    /// Gives turns to those who wait, each source in its turn.
    fn serve(self: &Arc<Self>, state: &mut State) {
        let mut passed = 0;
        while passed < state.order.len() {
            let Some(name) = state.order.pop_front() else { return };
            let Some(source) = state.sources.get_mut(&name) else { continue };
            let is_served = self.serve_one_of(&name, source, &mut state.taken);
            if source.order.is_empty() {
                if source.clients.is_empty() {
                    state.sources.remove(&name);
                }
            } else {
                state.order.push_back(name);
                passed += 1;
            }
            if is_served {
                passed = 0;
            }
        }
    }

    /// Serves the next client of a source whose request fits; `false` where none does.
    fn serve_one_of(self: &Arc<Self>, name: &Arc<str>, source: &mut Source, taken: &mut usize) -> bool {
        for _ in 0..source.order.len() {
            let Some(client) = source.order.pop_front() else { return false };
            let Some(queue) = source.clients.get_mut(&client) else { continue };
            while queue.waiting.front().is_some_and(|ticket| ticket.reply.is_closed()) {
                queue.waiting.pop_front();
            }
            let Some(weight) = queue.waiting.front().map(|ticket| ticket.weight) else {
                if queue.taken == 0 {
                    source.clients.remove(&client);
                }
                continue;
            };
            let kept = self.allotment.kept_from(queue.taken, source.taken);
            let fits =
                *taken + weight <= self.allotment.all - kept && queue.taken + weight <= self.allotment.share;
            let ticket = queue.waiting.pop_front_if(|_| fits);
            source.order.push_back(Arc::clone(&client));
            let Some(ticket) = ticket else { continue };
            let (turns, source_name) = (Arc::clone(self), Arc::clone(name));
            let turn = Turn { turns, source: source_name, client, weight: weight.into() };
            match ticket.reply.send(turn) {
                Ok(()) => {
                    queue.taken += weight;
                    source.taken += weight;
                    *taken += weight;
                }
                // Nobody waits for it any more. It must not give itself back while the lock is held.
                Err(turn) => turn.forget(),
            }
            return true;
        }
        false
    }
}

impl Allotment {
    /// Returns how many turns are not for a client that has so many already, and its source so many. Half of what is
    /// reserved is for sources that have hardly any, whatever names others use.
    fn kept_from(&self, client: usize, source: usize) -> usize {
        match (client < FEW, source < FEW) {
            (_, true) => 0,
            (true, false) => self.reserved / 2,
            (false, false) => self.reserved,
        }
    }
}

/// Returns a name as it is kept already, where it is.
fn known<T>(all: &HashMap<Arc<str>, T>, name: &str) -> Arc<str> {
    all.get_key_value(name).map_or_else(|| name.into(), |(known, _)| Arc::clone(known))
}

impl Turn {
    /// Takes as many more as the answer is heavy, without asking: the client waits longer for its next one.
    pub(crate) fn grow(&self, weight: usize) {
        let mut state = self.turns.state.lock();
        state.taken += weight;
        if let Some(source) = state.sources.get_mut(&self.source) {
            source.taken += weight;
            if let Some(queue) = source.clients.get_mut(&self.client) {
                queue.taken += weight;
            }
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
        if let Some(source) = state.sources.get_mut(&self.source) {
            source.taken -= weight;
            if let Some(queue) = source.clients.get_mut(&self.client) {
                queue.taken -= weight;
                if queue.taken == 0 && queue.waiting.is_empty() {
                    source.clients.remove(&self.client);
                }
            }
            if source.clients.is_empty() {
                state.sources.remove(&self.source);
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
    /// Since when it was not used; `None` for what is in use.
    pub(crate) since: Option<Instant>,
}

/// Returns what is missed least: what was longest unused, of whoever takes most room with such. What is in use stays.
pub(crate) fn expendable<'h, K>(all: impl Iterator<Item = Holding<'h, K>>) -> Option<K> {
    struct Share<K> {
        size: usize,
        since: Instant,
        key: K,
    }
    let mut shares: HashMap<&str, Share<K>> = HashMap::new();
    for Holding { key, owner, size, since } in all {
        let Some(since) = since else { continue };
        match shares.get_mut(owner) {
            None => drop(shares.insert(owner, Share { size, since, key })),
            Some(share) => {
                share.size += size;
                if since < share.since {
                    (share.since, share.key) = (since, key);
                }
            }
        }
    }
    shares.into_values().max_by_key(|it| (it.size, Reverse(it.since))).map(|it| it.key)
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
        let task = tokio::spawn(async move { turns.take(client, "", 1).await });
        tokio::task::yield_now().await;
        task
    }

    #[tokio::test]
    async fn m2_a_client_waits_for_its_own_requests_and_for_nobody_elses() {
        let turns = turns(10, 2, 2);
        let (first, _second) = (turns.take("a", "", 1).await.unwrap(), turns.take("a", "", 1).await.unwrap());
        let third = queued(&turns, "a").await;
        let fourth = queued(&turns, "a").await;
        assert!(turns.take("a", "", 1).await.is_none(), "too many wait");
        assert!(turns.take("b", "", 1).await.is_some());
        drop(first);
        assert!(third.await.unwrap().is_some() && fourth.await.unwrap().is_some());
    }

    #[tokio::test]
    async fn m2_clients_that_have_hardly_any_turn_find_one_reserved() {
        let turns = Turns::new(Allotment { all: 8, share: 8, reserved: 4, waiting: 10 });
        let mut held = Vec::new();
        while let Some(turn) = turns.take("a", "", 1).now_or_never() {
            held.push(turn.unwrap());
        }
        assert_eq!(held.len(), 4);
        while let Some(turn) = turns.take("b", "", 1).now_or_never() {
            held.push(turn.unwrap());
        }
        assert_eq!(held.len(), 6);
        assert!(turns.take("c", "", 1).now_or_never().is_some());
    }

    #[tokio::test]
    async fn m2_when_all_turns_are_taken_clients_are_served_one_after_the_other() {
        let turns = turns(1, 1, 10);
        let held = turns.take("a", "", 1).await.unwrap();
        let (told, mut order) = tokio::sync::mpsc::unbounded_channel();
        let mut tasks = Vec::new();
        for client in ["a", "a", "a", "b", "c"] {
            let (turns, told) = (Arc::clone(&turns), told.clone());
            tasks.push(tokio::spawn(async move {
                let _turn = turns.take(client, "", 1).await.unwrap();
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
        assert!(turns.state.lock().sources.is_empty());
    }

    #[tokio::test]
    async fn m2_who_gives_up_waiting_keeps_no_place_and_no_turn() {
        let turns = turns(1, 1, 1);
        let held = turns.take("a", "", 1).await.unwrap();
        let given_up = queued(&turns, "a").await;
        given_up.abort();
        assert!(given_up.await.is_err());
        let next = queued(&turns, "a").await;
        drop(held);
        drop(next.await.unwrap().unwrap());
        assert!(turns.state.lock().sources.is_empty());
        assert_eq!(turns.state.lock().taken, 0);
        assert!(turns.take("a", "", 1).await.is_some());
    }

    #[tokio::test]
    async fn m2_a_heavy_answer_delays_its_own_client_only() {
        let turns = turns(10, 4, 10);
        let heavy = turns.take("a", "", 1).await.unwrap();
        heavy.grow(8);
        let next = queued(&turns, "a").await;
        drop(turns.take("b", "", 1).await.unwrap());
        assert!(!next.is_finished());
        drop(heavy);
        assert!(next.await.unwrap().is_some());
        assert!(turns.take("b", "", 100).await.is_some(), "more than a share is a whole share");
    }

    #[test]
    fn m2_whoever_has_most_loses_what_was_longest_unused_and_nothing_that_is_in_use() {
        let now = Instant::now();
        let idle = |seconds| now.checked_sub(std::time::Duration::from_secs(seconds));
        let held = |(key, owner, since)| Holding { key, owner, size: 1, since };
        let all = [
            ("one", "ana", idle(900)),
            ("two", "ben", idle(3)),
            ("three", "ben", None),
            ("four", "ben", idle(5)),
            ("five", "cy", None),
        ];
        assert_eq!(expendable(all.into_iter().map(held)), Some("four"));
        assert_eq!(expendable(all.into_iter().filter(|(_, owner, _)| *owner == "cy").map(held)), None);
        let large = Holding { key: "six", owner: "ana", size: 9, since: idle(1) };
        assert_eq!(expendable(all.into_iter().map(held).chain([large])), Some("one"), "by the room it takes");
    }

    #[tokio::test]
    async fn t27_many_names_at_one_address_get_the_turns_of_one() {
        let turns = Turns::new(Allotment { all: 8, share: 4, reserved: 4, waiting: 10 });
        let names: Vec<String> = (0..20).map(|at| format!("name {at}")).collect();
        let taken = names.iter().filter_map(|it| turns.take("far", it, 1).now_or_never().flatten());
        let held: Vec<Turn> = taken.collect();
        assert_eq!(held.len(), 6, "some are left to other addresses");
        assert!(turns.take("near", "one", 1).now_or_never().is_some());
        drop(held);

        let turns = self::turns(1, 1, 10);
        let held = turns.take("far", "x", 1).await.unwrap();
        let (told, mut order) = tokio::sync::mpsc::unbounded_channel();
        for (source, name) in [("far", "a"), ("far", "b"), ("far", "c"), ("near", "d"), ("near", "e")] {
            let (turns, told) = (Arc::clone(&turns), told.clone());
            tokio::spawn(async move {
                let _turn = turns.take(source, name, 1).await.unwrap();
                told.send(name).unwrap();
            });
            tokio::task::yield_now().await;
        }
        drop((held, told));
        let mut served = String::new();
        while let Some(name) = order.recv().await {
            served.push_str(name);
        }
        assert_eq!(served, "adbec");
        assert!(turns.state.lock().sources.is_empty());
    }
}
