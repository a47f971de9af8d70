//! The connections that are open: how many there may be, and which of them makes room for another.
//!
//! A newcomer is let in as long as somebody has a connection that does nothing: whoever has most gives one up.
//! A connection whose request is being answered is taken away only from whoever has very many, when all are at work.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::fair::Turn;

/// Time from the first byte of a request, or from the connection, until its headers are there.
const HEAD: Duration = Duration::from_secs(15);
/// Time that a connection may do nothing between requests. Clients keep theirs for less.
const IDLE: Duration = Duration::from_secs(120);
/// Bytes that clients that do not read may hold together before they are given up sooner.
const MOST_UNREAD: usize = 64 * 1024 * 1024;
/// Files that the hub needs besides connections: servers, databases, logs.
const OTHER_FILES: u64 = 256;
/// A connection that came less than this ago is spared as long as there is another.
const FRESH: Duration = Duration::from_secs(1);
/// Whoever has one in so many of all connections may lose a call when all are at work.
const MANY: usize = 8;
/// One in so many of all connections is given up at once.
const AT_ONCE: usize = 64;

/// All connections of one listener.
#[derive(Debug)]
pub(crate) struct Connections {
    most: usize,
    opened: AtomicU64,
    unread: AtomicUsize,
    open: Mutex<Open>,
}

/// Those that are open, and how many each owner has.
#[derive(Debug, Default)]
struct Open {
    connections: HashMap<u64, Arc<Connection>>,
    owners: HashMap<Owner, usize>,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    id: u64,
    /// Where it comes from.
    pub(crate) peer: SocketAddr,
    home: Arc<Connections>,
    owner: Mutex<Owner>,
    phase: Mutex<Phase>,
    /// Bytes of answers that the client has not taken yet.
    unread: AtomicUsize,
    /// The turns of requests whose answers these are.
    turns: Mutex<Vec<Arc<Turn>>>,
    displaced: Notify,
}

/// Whose a connection is. Names are whatever clients call themselves, so all of one source count together first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Owner {
    source: Source,
    name: Option<Arc<str>>,
}

/// What a client cannot invent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Source {
    /// Somebody at this address.
    Address(IpAddr),
    /// Who proved to be this on it.
    Principal(Arc<str>),
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// No request has come whole. `head` is when its first byte came.
    Waiting { since: Instant, head: Option<Instant>, is_used: bool },
    /// A request is being answered.
    Answering { since: Instant, role: Role },
}

/// What an answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It ends by itself.
    Call,
    /// It tells of whatever happens and never ends; its client comes back when it breaks.
    Listening,
}

/// Marks a response that never ends by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listens;

impl Connections {
    /// Allows so many connections, or as many as the system has files for.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let spared = files.map_or(u64::MAX, |files| files.saturating_sub(OTHER_FILES).max(files / 2));
        let most = most.min(usize::try_from(spared).unwrap_or(usize::MAX)).max(1);
        if let Some(files) = files.filter(|_| most as u64 == spared) {
            tracing::info!(
                "at most {most} connections are open at once, because this process may open {files} files (`ulimit -n`)"
            );
        }
        Arc::new(Self {
            most,
            opened: AtomicU64::new(0),
            unread: AtomicUsize::new(0),
            open: Mutex::default(),
        })
    }

    /// Returns how many there may be.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Takes a connection in; `None` when every other one is at work.
    pub(crate) fn admit(self: &Arc<Self>, peer: SocketAddr) -> Option<Admission> {
        let mut open = self.open.lock();
        let owner = Owner { source: Source::Address(peer.ip().to_canonical()), name: None };
        // Whoever has three quarters of all gives up their own, so that others need not ask for room.
        if open.owners.get(&owner).is_some_and(|count| *count >= self.most - self.most / 4) {
            self.displace(&mut open, Some(&owner), Duration::ZERO);
        }
        let is_full = open.connections.len() >= self.most;
        // One that has just come is about to ask something, unless all that came do not.
        let has_room = !is_full
            || self.displace(&mut open, None, FRESH)
            || self.cut(&mut open)
            || self.displace(&mut open, None, Duration::ZERO);
        if !has_room {
            return None;
        }
        let id = self.opened.fetch_add(1, Ordering::Relaxed);
        let connection = Arc::new(Connection {
            id,
            peer,
            home: Arc::clone(self),
            owner: Mutex::new(owner.clone()),
            phase: Mutex::new(Phase::Waiting { since: Instant::now(), head: None, is_used: false }),
            unread: AtomicUsize::new(0),
            turns: Mutex::default(),
            displaced: Notify::new(),
        });
        open.connections.insert(id, Arc::clone(&connection));
        *open.owners.entry(owner).or_default() += 1;
        Some(Admission(connection))
    }

    /// Gives up a connection that does nothing, whosever it is; says whether there was one.
    pub(crate) fn make_room(&self) -> bool {
        self.displace(&mut self.open.lock(), None, Duration::ZERO)
    }

    /// Gives up the connections that are missed least of whoever has most, or of `owner`. With many connections it
    /// gives up several at once, so that not every newcomer has to look at all of them. Those that did nothing for less
    /// than `idle` stay.
    fn displace(&self, open: &mut Open, owner: Option<&Owner>, idle: Duration) -> bool {
        let mut expendable: HashMap<Owner, Vec<(Expense, u64)>> = HashMap::new();
        for (id, connection) in &open.connections {
            let whose = connection.owner.lock();
            if owner.is_none_or(|owner| *owner == *whose)
                && let Some(expense) = connection.expense()
                && expense.1.elapsed() >= idle
            {
                expendable.entry(whose.clone()).or_default().push((expense, *id));
            }
        }
        let sources = open.sources();
        let count = |(owner, _): &(Owner, Vec<_>)| {
            (sources.get(&owner.source).copied(), open.owners.get(owner).copied())
        };
        let Some((_, mut cheapest)) = expendable.into_iter().max_by_key(count) else { return false };
        cheapest.sort_unstable();
        for (_, id) in cheapest.into_iter().take((self.most / AT_ONCE).max(1)) {
            open.give_up(id);
        }
        true
    }

    /// Ends the call that began last of whoever has most connections at the source that has most, if these are very
    /// many.
    fn cut(&self, open: &mut Open) -> bool {
        let most = open.sources().into_iter().max_by_key(|(_, count)| *count);
        let Some((source, _)) = most.filter(|(_, count)| *count * MANY > self.most) else { return false };
        let newest = open.connections.iter().filter_map(|(id, it)| {
            let owner = it.owner.lock();
            let since = it.phase.lock().call().filter(|_| owner.source == source)?;
            Some((open.owners.get(&*owner).copied(), since, *id))
        });
        let Some((_, _, id)) = newest.max() else { return false };
        open.give_up(id);
        true
    }

    /// Whether clients that do not read hold more than they may.
    pub(crate) fn is_pressed(&self) -> bool {
        self.unread.load(Ordering::Relaxed) > MOST_UNREAD
    }
}

impl Open {
    /// Returns how many connections each source has.
    fn sources(&self) -> HashMap<Source, usize> {
        let mut sources = HashMap::new();
        for (owner, count) in &self.owners {
            *sources.entry(owner.source.clone()).or_default() += count;
        }
        sources
    }

    fn give_up(&mut self, id: u64) {
        if let Some(connection) = self.remove(id) {
            connection.displaced.notify_one();
        }
    }

    fn remove(&mut self, id: u64) -> Option<Arc<Connection>> {
        let connection = self.connections.remove(&id)?;
        let owner = connection.owner.lock().clone();
        self.forget(&owner);
        Some(connection)
    }

    /// Counts one connection less.
    fn forget(&mut self, owner: &Owner) {
        if let Some(count) = self.owners.get_mut(owner) {
            *count -= 1;
            if *count == 0 {
                self.owners.remove(owner);
            }
        }
    }
}

/// What it costs a client to lose a connection, least first; then the one that was used longest ago.
type Expense = (u8, Instant);

impl Phase {
    /// Returns since when a call is being answered, if one is.
    fn call(&self) -> Option<Instant> {
        match *self {
            Self::Answering { since, .. } => Some(since),
            Self::Waiting { .. } => None,
        }
    }
}

/// The place of a connection; it is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Admission(pub(crate) Arc<Connection>);

impl Drop for Admission {
    fn drop(&mut self) {
        drop(self.0.home.open.lock().remove(self.0.id));
        self.0.took(usize::MAX);
    }
}

impl Connection {
    /// Notes whose it is, which was proved.
    pub(crate) fn belongs_to(&self, principal: &str) {
        self.is_of(Owner { source: Source::Principal(principal.into()), name: None });
    }

    /// Notes what whoever uses it is called, which proves nothing.
    pub(crate) fn is_used_by(&self, name: &str) {
        let name = Some(name).filter(|name| !name.is_empty()).map(Into::into);
        self.is_of(Owner { source: Source::Address(self.peer.ip().to_canonical()), name });
    }

    fn is_of(&self, owner: Owner) {
        if *self.owner.lock() == owner {
            return;
        }
        // The register is locked first, as everywhere.
        let mut open = self.home.open.lock();
        let before = std::mem::replace(&mut *self.owner.lock(), owner.clone());
        if open.connections.contains_key(&self.id) {
            open.forget(&before);
            *open.owners.entry(owner).or_default() += 1;
        }
    }

    /// Notes that bytes came in.
    pub(crate) fn heard(&self) {
        if let Phase::Waiting { head: head @ None, .. } = &mut *self.phase.lock() {
            *head = Some(Instant::now());
        }
    }

    /// Notes that a request came whole.
    pub(crate) fn begin(self: &Arc<Self>) -> Answering {
        *self.phase.lock() = Phase::Answering { since: Instant::now(), role: Role::Call };
        Answering(Arc::clone(self))
    }

    /// Notes bytes of an answer that the client has to take.
    pub(crate) fn owes(&self, bytes: usize) {
        self.unread.fetch_add(bytes, Ordering::Relaxed);
        self.home.unread.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Notes bytes that the client took; headers and the like, which nobody noted, do not count.
    pub(crate) fn took(&self, bytes: usize) {
        let before = self
            .unread
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |unread| Some(unread.saturating_sub(bytes)));
        let before = before.unwrap_or_else(|unread| unread);
        self.home.unread.fetch_sub(before.min(bytes), Ordering::Relaxed);
        if before > 0 && before <= bytes {
            let done = std::mem::take(&mut *self.turns.lock());
            drop(done);
        }
    }

    /// Keeps the turn of a request until its answer is taken.
    pub(crate) fn keeps(&self, turn: Arc<Turn>) {
        if self.unread.load(Ordering::Relaxed) > 0 {
            self.turns.lock().push(turn);
        }
    }

    /// Whether clients that do not read hold more than they may, and this one holds part of it.
    pub(crate) fn is_pressed(&self) -> bool {
        self.unread.load(Ordering::Relaxed) > 0 && self.home.is_pressed()
    }

    fn expense(&self) -> Option<Expense> {
        match *self.phase.lock() {
            // Its client has not taken the whole answer yet.
            Phase::Waiting { .. } if self.unread.load(Ordering::Relaxed) > 0 => None,
            Phase::Waiting { since, is_used: false, .. } => Some((0, since)),
            Phase::Waiting { since, is_used: true, .. } => Some((1, since)),
            Phase::Answering { since, role: Role::Listening } => Some((2, since)),
            Phase::Answering { role: Role::Call, .. } => None,
        }
    }

    fn ends(&self) -> Option<Instant> {
        match *self.phase.lock() {
            // Whoever does not read is given up by other rules.
            Phase::Waiting { .. } if self.unread.load(Ordering::Relaxed) > 0 => None,
            Phase::Waiting { head: Some(head), .. } => Some(head + HEAD),
            Phase::Waiting { since, is_used: false, .. } => Some(since + HEAD),
            Phase::Waiting { since, is_used: true, .. } => Some(since + IDLE),
            Phase::Answering { .. } => None,
        }
    }

    /// Waits until it has to make room for another.
    pub(crate) async fn displaced(&self) {
        self.displaced.notified().await;
    }

    /// Waits until it has done nothing for too long.
    pub(crate) async fn overdue(&self) {
        loop {
            let (ends, now) = (self.ends(), Instant::now());
            if ends.is_some_and(|ends| ends <= now) {
                return;
            }
            // Looked at now and then, so that a request costs no timer.
            tokio::time::sleep_until(ends.unwrap_or(now + HEAD).min(now + HEAD)).await;
        }
    }
}

/// A request that is being answered on a connection, until its answer is handed over.
#[derive(Debug)]
pub(crate) struct Answering(pub(crate) Arc<Connection>);

impl Answering {
    /// Notes what the answer is for.
    pub(crate) fn serves(&self, role: Role) {
        if let Phase::Answering { role: known, .. } = &mut *self.0.phase.lock() {
            *known = role;
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        *self.0.phase.lock() = Phase::Waiting { since: Instant::now(), head: None, is_used: true };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fair::{Allotment, Turns};
    use futures_util::FutureExt;

    fn peer(last: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, last], 1000))
    }

    fn is_displaced(it: &Admission) -> bool {
        !it.0.home.open.lock().connections.contains_key(&it.0.id)
    }

    #[tokio::test(start_paused = true)]
    async fn m2_whoever_has_most_connections_makes_room_and_calls_are_cut_last() {
        let all = Connections::new(4);
        let calls = [all.admit(peer(1)).unwrap(), all.admit(peer(1)).unwrap()];
        let busy = calls.each_ref().map(|it| it.0.begin());
        let (idle, other) = (all.admit(peer(1)).unwrap(), all.admit(peer(2)).unwrap());
        tokio::time::sleep(FRESH).await;
        let third = all.admit(peer(3)).unwrap();
        assert!(is_displaced(&idle) && !is_displaced(&other), "the address with most gives one up");
        idle.0.displaced().await;
        drop(idle);
        let fourth = all.admit(peer(4)).unwrap();
        assert!(
            is_displaced(&other) && !is_displaced(&third),
            "then whoever has one that did nothing for long"
        );
        let answering = [&other, &third, &fourth].map(|it| it.0.begin());
        tokio::time::sleep(FRESH).await;
        answering[2].serves(Role::Listening);
        let fifth = all.admit(peer(5)).unwrap();
        assert!(is_displaced(&fourth), "a client comes back to a stream that broke");
        assert!(calls.iter().all(|it| !is_displaced(it)));
        assert!(all.admit(peer(6)).is_some() && is_displaced(&calls[1]), "whoever has most loses a call");
        assert!(!is_displaced(&fifth), "before one that has just come");
        drop(busy);
    }

    #[tokio::test]
    async fn m2_a_connection_that_never_asked_goes_before_one_that_did_and_the_one_longest_unused_first() {
        let all = Connections::new(100);
        let used = [all.admit(peer(1)).unwrap(), all.admit(peer(1)).unwrap()];
        let fresh = all.admit(peer(1)).unwrap();
        drop(used[1].0.begin());
        drop(used[0].0.begin());
        for expected in [&fresh, &used[1], &used[0]] {
            assert!(!is_displaced(expected) && all.make_room() && is_displaced(expected));
        }
        assert!(!all.make_room());
    }

    #[tokio::test(start_paused = true)]
    async fn m2_a_principal_with_many_connections_gives_up_its_own() {
        let all = Connections::new(4);
        let mine: Vec<Admission> = (1..4).map(|last| all.admit(peer(last)).unwrap()).collect();
        let other = all.admit(peer(9)).unwrap();
        mine.iter().for_each(|it| it.0.belongs_to("me"));
        tokio::time::sleep(FRESH).await;
        let _newcomer = all.admit(peer(10)).unwrap();
        assert!(is_displaced(&mine[0]) && !is_displaced(&other));
    }

    #[tokio::test(start_paused = true)]
    async fn m2_many_names_at_one_address_keep_nobody_out() {
        let all = Connections::new(8);
        let mine: Vec<Admission> = (0..7).map(|_| all.admit(peer(1)).unwrap()).collect();
        let other = all.admit(peer(2)).unwrap();
        for (number, it) in mine.iter().enumerate() {
            it.0.is_used_by(&format!("name-{number}"));
        }
        other.0.is_used_by("somebody");
        let _busy: Vec<Answering> = mine.iter().chain([&other]).map(|it| it.0.begin()).collect();
        tokio::time::sleep(FRESH).await;
        assert!(all.admit(peer(3)).is_some(), "calls of the address that has most make room");
        assert_eq!(mine.iter().filter(|it| is_displaced(it)).count(), 1);
        assert!(!is_displaced(&other));
    }

    #[tokio::test(start_paused = true)]
    async fn m2_half_a_request_an_idle_connection_and_a_call_have_their_own_time() {
        let all = Connections::new(4);
        let (half, idle, call) =
            (all.admit(peer(1)).unwrap(), all.admit(peer(1)).unwrap(), all.admit(peer(1)).unwrap());
        half.0.heard();
        drop(idle.0.begin());
        let _answering = call.0.begin();
        let start = Instant::now();
        half.0.overdue().await;
        assert_eq!(start.elapsed().as_secs(), HEAD.as_secs());
        idle.0.overdue().await;
        assert_eq!(start.elapsed().as_secs(), IDLE.as_secs());
        assert!(tokio::time::timeout(100 * IDLE, call.0.overdue()).await.is_err());
    }

    #[tokio::test]
    async fn m2_what_clients_do_not_read_is_counted_until_they_are_gone() {
        let all = Connections::new(4);
        let (one, other) = (all.admit(peer(1)).unwrap(), all.admit(peer(2)).unwrap());
        one.0.owes(MOST_UNREAD);
        one.0.took(10);
        other.0.owes(11);
        assert!(all.is_pressed() && one.0.is_pressed() && other.0.is_pressed());
        other.0.took(500);
        assert!(!all.is_pressed());
        other.0.owes(11);
        other.0.took(11);
        let turns = Turns::new(Allotment { all: 2, share: 1, reserved: 0, waiting: 1 });
        one.0.keeps(Arc::new(turns.take("a", "", 1).await.unwrap()));
        assert!(
            turns.take("a", "", 1).now_or_never().is_none(),
            "the next answer waits until this one is taken"
        );
        drop(one);
        assert!(turns.take("a", "", 1).now_or_never().is_some());
        assert_eq!(all.unread.load(Ordering::Relaxed), 0);
    }
}
