//! The task behind an upstream: starts, lists and stops its server, one thing at a time.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{Current, Learnt, Order, State, Surroundings};
use crate::caller::{Caller, Era};
use crate::config::Server;
use crate::jsonrpc::{Fields, raw};
use crate::upstream::link::{Link, Wire};
use crate::upstream::listing::{self, Listing};
use crate::upstream::patience::{TimeLimit, within};
use crate::upstream::{Failure, connect, handshake};

/// After the first failure; doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause; a server that ran for longer than this starts with a clean slate.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How long it is waited for that a listing is written down: another server's may be a large one, and nobody is to
/// call a tool before it was compared with what a person approved.
const WRITING: Duration = Duration::from_secs(10);
/// A server that announces changes all the time is listed no more often than this.
const REFRESH_PAUSE: Duration = Duration::from_millis(100);
/// Servers may call their list stale at once; nobody needs it that fresh.
const SHORTEST_TTL: Duration = Duration::from_secs(30);

/// One server's keeper.
pub(super) struct Keeper {
    pub(super) name: Arc<str>,
    pub(super) config: Server,
    pub(super) around: Surroundings,
    pub(super) known: Option<Arc<Listing>>,
    /// The era to speak whatever the server prefers.
    pub(super) era: Option<Era>,
    pub(super) state: watch::Sender<State>,
    pub(super) current: Arc<Mutex<Current>>,
    pub(super) tries: Tries,
    pub(super) tasks: Tasks,
}

/// What happened so far.
#[derive(Default)]
pub(super) struct Tries {
    /// Failures in a row.
    failures: u32,
    /// When it is started again without being asked.
    next: Option<Instant>,
    /// Until when calls do not start it either. A server that ran before it fell is started by the next call.
    closed_until: Option<Instant>,
    /// When it last became ready.
    ready: Option<Instant>,
    /// When it was last listed.
    listed: Option<Instant>,
}

/// What runs beside the keeper for the present connection.
#[derive(Default)]
pub(super) struct Tasks {
    tending: Option<JoinHandle<()>>,
    listening: Option<JoinHandle<()>>,
}

/// What a server is started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Learn,
    Use,
}

enum Event {
    Order(Order),
    Stop(oneshot::Sender<()>),
    Closed(Arc<str>),
    Stale,
    Idle,
    Retry,
    Over,
}

type Stops = mpsc::UnboundedReceiver<oneshot::Sender<()>>;

impl Keeper {
    /// Keeps the server until it is told to stop, or nobody can tell it anything any more.
    pub(super) async fn run(mut self, mut mailbox: mpsc::UnboundedReceiver<Order>, mut stops: Stops) {
        let mut event = if self.config.lazy { None } else { Some(Event::Retry) };
        let reply = loop {
            let now = match event.take() {
                Some(event) => event,
                None => self.next_event(&mut mailbox, &mut stops).await,
            };
            match now {
                Event::Over => break None,
                Event::Stop(reply) => break Some(reply),
                // Starting and listing may take long, and whoever stops the server does not wait for that.
                work @ (Event::Order(_) | Event::Closed(_) | Event::Stale | Event::Idle | Event::Retry) => {
                    tokio::select! {
                        biased;
                        Some(reply) = stops.recv() => break Some(reply),
                        () = self.work(work) => {}
                    }
                }
            }
        };
        // Closed first: a call that fails because of the stop must not start the server again.
        drop(mailbox);
        self.stop().await;
        if let Some(reply) = reply {
            let _ = reply.send(());
        }
    }

    async fn work(&mut self, event: Event) {
        match event {
            Event::Order(Order::Start(reply)) => {
                let before = self.current.lock().link.clone();
                // Nobody calls a tool before it was compared with what a person approved.
                self.current.lock().is_learning = true;
                let started = self.start(Purpose::Use).await;
                let is_same = |link: &Arc<Link>| before.as_ref().is_some_and(|it| Arc::ptr_eq(it, link));
                if started.as_ref().is_ok_and(|link| !is_same(link)) {
                    let _ = self.list().await;
                }
                self.release();
                let _ = reply.send(started);
            }
            Event::Order(Order::Learn(reply)) => {
                self.start_and_list(Purpose::Learn).await;
                let _ = reply.send(());
            }
            Event::Closed(reason) => self.fell(&reason),
            Event::Stale => drop(self.list().await),
            Event::Idle => self.rest().await,
            Event::Retry if self.config.lazy => self.start_and_list(Purpose::Learn).await,
            Event::Retry => self.start_and_list(Purpose::Use).await,
            Event::Stop(_) | Event::Over => unreachable!("handled by `run`"),
        }
    }

    async fn next_event(&self, mailbox: &mut mpsc::UnboundedReceiver<Order>, stops: &mut Stops) -> Event {
        let (link, idle_at) = {
            let current = self.current.lock();
            let idle_at = self.config.idle_stop.map(|after| current.last_used + after);
            (current.link.clone(), idle_at)
        };
        let Some(link) = link else {
            let retry_at = self.tries.next.filter(|_| self.known.is_none() || !self.config.lazy);
            return tokio::select! {
                Some(reply) = stops.recv() => Event::Stop(reply),
                order = mailbox.recv() => order.map_or(Event::Over, Event::Order),
                () = at(retry_at) => Event::Retry,
            };
        };
        let fresh_for = self.known.as_ref().and_then(|known| known.fresh_for);
        let listed = self.tries.listed.unwrap_or_else(Instant::now);
        let stale_at = fresh_for.map(|ttl| listed + ttl.max(SHORTEST_TTL));
        tokio::select! {
            biased;
            reason = link.closed() => Event::Closed(reason),
            Some(reply) = stops.recv() => Event::Stop(reply),
            order = mailbox.recv() => order.map_or(Event::Over, Event::Order),
            () = announced(&link, listed + REFRESH_PAUSE) => Event::Stale,
            () = at(stale_at) => Event::Stale,
            () = at(idle_at) => Event::Idle,
        }
    }

    /// Starts the server to know what it offers. One that is started for nothing else is stopped again.
    async fn start_and_list(&mut self, purpose: Purpose) {
        let is_temporary = {
            let mut current = self.current.lock();
            current.is_learning = current.link.is_none();
            current.is_learning && purpose == Purpose::Learn && self.config.lazy
        };
        if self.start(purpose).await.is_ok() {
            match self.list().await {
                // It runs but does not tell what it offers; asking again at once would not help.
                Err(reason) if self.known.is_none() => {
                    if let Some(link) = self.retired(|current| current.uses == 0) {
                        link.close("it was stopped");
                        self.drop_link();
                        self.failed(reason);
                    }
                }
                Ok(()) | Err(_) if is_temporary => self.stop().await,
                Ok(()) | Err(_) => {}
            }
        }
        self.release();
    }

    /// Lets everybody use the link, and look again who waited for that.
    fn release(&self) {
        self.current.lock().is_learning = false;
        self.state.send_modify(|_| {});
    }

    /// Takes the link away from callers, if it may be. Who has it already has counted as a use of it.
    fn retired(&self, may_be: impl FnOnce(&Current) -> bool) -> Option<Arc<Link>> {
        let mut current = self.current.lock();
        if may_be(&current) { current.link.take() } else { None }
    }

    /// Stops the server if it is idle; one that is at work is looked at again later.
    async fn rest(&mut self) {
        let Some(idle_stop) = self.config.idle_stop else { return };
        let now = Instant::now();
        let is_idle = |current: &Current| {
            current.last_used + idle_stop <= now && current.link.as_ref().is_some_and(|link| link.is_idle())
        };
        if let Some(link) = self.retired(is_idle) {
            tracing::debug!(server = %self.name, "stopped because it was idle");
            return self.end(Some(link)).await;
        }
        let mut current = self.current.lock();
        if current.last_used + idle_stop <= now {
            current.last_used = now;
        }
    }

    /// Returns the running link, or makes one.
    async fn start(&mut self, purpose: Purpose) -> Result<Arc<Link>, Failure> {
        let (running, is_outdated) = {
            let current = self.current.lock();
            let abilities = self.around.audience.ability_count.load(Ordering::Acquire);
            (current.link.clone(), purpose == Purpose::Use && current.is_outdated(abilities))
        };
        if is_outdated {
            self.stop().await;
        } else if let Some(link) = running {
            match link.closed_because() {
                None => return Ok(link),
                Some(reason) => self.fell(&reason),
            }
        }
        if let Some(closed_until) = self.tries.closed_until
            && let Some(pause) = closed_until.checked_duration_since(Instant::now())
            && let State::Failed { reason, .. } = &*self.state.borrow()
        {
            let reason = format!("{reason}; the next try is in {} s", pause.as_secs() + 1);
            return Err(Failure::NotStarted { server: Arc::clone(&self.name), reason });
        }
        self.state.send_replace(State::Starting);
        let told = match purpose {
            Purpose::Learn => 0,
            Purpose::Use => self.around.audience.ability_count.load(Ordering::Acquire),
        };
        let limit = self.config.limits.start;
        let started = within(limit, self.connect(purpose)).await.unwrap_or_else(|| {
            let reason = format!("it did not greet within {limit:?} (`limits.startMs`)");
            Err(Failure::NotStarted { server: Arc::clone(&self.name), reason })
        });
        match started {
            Ok(link) => {
                (self.tries.next, self.tries.closed_until) = (None, None);
                self.tries.ready = Some(Instant::now());
                let mut current = self.current.lock();
                (current.link, current.uses, current.told) = (Some(Arc::clone(&link)), 0, told);
                current.ready = self.tries.ready;
                drop(current);
                self.state.send_replace(State::Ready);
                Ok(link)
            }
            Err(failure) => {
                self.drop_link();
                let reason = match &failure {
                    Failure::NotStarted { reason, .. } => reason.clone(),
                    Failure::Closed { reason, .. } => reason.to_string(),
                    Failure::Refused(_)
                    | Failure::Late { .. }
                    | Failure::Excess { .. }
                    | Failure::Senseless { .. }
                    | Failure::Http { .. }
                    | Failure::LoginNeeded(_) => failure.to_string(),
                };
                self.failed(reason.clone());
                let needs_login = matches!(failure, Failure::LoginNeeded(_));
                let not_started = || Failure::NotStarted { server: Arc::clone(&self.name), reason };
                Err(if needs_login { failure } else { not_started() })
            }
        }
    }

    async fn connect(&mut self, purpose: Purpose) -> Result<Arc<Link>, Failure> {
        let remembered = self.era.or(self.known.as_ref().map(|known| known.era));
        let first = self.connect_once(remembered, purpose).await;
        match (&first, remembered) {
            // Some older servers leave when they are asked what they do not know.
            (Err(Failure::Closed { .. }), None | Some(Era::Modern)) => {
                self.drop_link();
                self.connect_once(Some(Era::Session), purpose).await
            }
            // It was replaced by one of another era since it was last met.
            (Err(Failure::Refused(_)), Some(Era::Session)) if self.era.is_none() => {
                self.drop_link();
                self.connect_once(None, purpose).await
            }
            _ => first,
        }
    }

    async fn connect_once(
        &mut self,
        remembered: Option<Era>,
        purpose: Purpose,
    ) -> Result<Arc<Link>, Failure> {
        let (link, tending) = connect::open(&self.name, &self.config, &self.around).await?;
        self.tasks.tending = Some(tending);
        // A server that is only started to be listed has nobody to ask.
        let abilities = match purpose {
            Purpose::Learn => Fields::default(),
            Purpose::Use => self.around.audience.abilities.lock().clone(),
        };
        match handshake::shake(&link, remembered, &abilities).await {
            Ok(()) => {}
            Err(failure) if connect::may_be_older(&self.config, &failure) => {
                let (link, tending) =
                    connect::open_older(&self.name, &self.config, &self.around).await.map_err(|_| failure)?;
                self.tasks.tending = Some(tending);
                handshake::shake(&link, Some(Era::Session), &abilities).await?;
                self.listen(&link);
                return Ok(link);
            }
            Err(failure) => return Err(failure),
        }
        // The first call may come before the server is listed anew.
        if let (Wire::Http(http), Some(known)) = (&link.wire, &self.known) {
            http.set_mirrored(listing::headers_of(&mut Listing::clone(known)));
        }
        self.listen(&link);
        Ok(link)
    }

    /// Hears what the server says unasked.
    fn listen(&mut self, link: &Arc<Link>) {
        let peer = link.peer.get().expect("set by the handshake");
        let changes =
            |capability: &str| peer.capabilities.object(capability).read::<bool>("listChanged") == Some(true);
        let link = Arc::clone(link);
        self.tasks.listening = match (peer.era, &link.wire) {
            (Era::Session, Wire::Http(_)) => Some(tokio::spawn(async move {
                if let Wire::Http(http) = &link.wire {
                    http.listen(&link).await;
                }
            })),
            (Era::Modern, _) => {
                let filter = json!({ "notifications": {
                    "toolsListChanged": changes("tools"),
                    "promptsListChanged": changes("prompts"),
                    "resourcesListChanged": changes("resources"),
                }});
                let wanted = changes("tools") || changes("prompts") || changes("resources");
                wanted.then(|| {
                    tokio::spawn(async move {
                        let params = Fields::parse(Some(&raw(&filter))).unwrap_or_default();
                        let nobody = Arc::new(Caller::nobody());
                        let _ = link.request("subscriptions/listen", params, &nobody, FOR_EVER).await;
                    })
                })
            }
            (Era::Session, _) => None,
        };
    }

    /// Learns what the server offers; the error says why that could not be learnt.
    async fn list(&mut self) -> Result<(), String> {
        let link = self.current.lock().link.clone();
        let Some(link) = link else { return Ok(()) };
        let listing = within(self.config.limits.start, listing::list(&link, &self.config.limits)).await;
        let listing = listing.unwrap_or_else(|| {
            let limit = self.config.limits.start;
            let (server, method) = (Arc::clone(&self.name), "tools/list".to_owned());
            Err(Failure::Late { server, method, limit, setting: "limits.startMs" })
        });
        self.tries.listed = Some(Instant::now());
        let listing = listing.map(Arc::new).map_err(|failure| failure.to_string());
        if let Ok(listing) = &listing {
            self.known = Some(Arc::clone(listing));
        }
        let written = self.tell(listing.clone());
        let _ = tokio::time::timeout(WRITING, written).await;
        listing.map(drop)
    }

    /// Tells what was learnt; what is returned ends when it is written down.
    fn tell(&self, listing: Result<Arc<Listing>, String>) -> oneshot::Receiver<()> {
        let (server, transport) = (Arc::clone(&self.name), self.config.transport.clone());
        let (written, told) = oneshot::channel();
        let _ = self.around.learnt.send(Learnt { server, transport, listing, written });
        told
    }

    /// The server went away by itself.
    fn fell(&mut self, reason: &str) {
        self.drop_link();
        if self.tries.ready.is_some_and(|ready| ready.elapsed() > LONGEST_PAUSE) {
            self.tries.failures = 0;
        }
        if self.config.lazy {
            tracing::warn!(server = %self.name, "the server went away: {reason}");
            self.state.send_replace(State::Failed { reason: reason.to_owned(), next_try: None });
        } else {
            self.tries.failures += 1;
            let pause = pause_after(self.tries.failures, jitter());
            tracing::warn!(server = %self.name, "the server went away: {reason}; the next try is in {pause:?}");
            self.tries.next = Some(Instant::now() + pause);
            self.state.send_replace(State::Failed { reason: reason.to_owned(), next_try: self.tries.next });
        }
    }

    /// The server could not be brought to work.
    fn failed(&mut self, reason: String) {
        self.tries.failures += 1;
        let pause = pause_after(self.tries.failures, jitter());
        let next_try = Instant::now() + pause;
        (self.tries.next, self.tries.closed_until) = (Some(next_try), Some(next_try));
        tracing::warn!(server = %self.name, "the server failed: {reason}; the next try is in {pause:?}");
        drop(self.tell(Err(reason.clone())));
        self.state.send_replace(State::Failed { reason, next_try: Some(next_try) });
    }

    fn drop_link(&mut self) {
        if let Some(link) = self.current.lock().link.take() {
            link.close("it was stopped");
        }
        for task in [self.tasks.tending.take(), self.tasks.listening.take()].into_iter().flatten() {
            task.abort();
        }
    }

    async fn stop(&mut self) {
        let link = self.current.lock().link.take();
        self.end(link).await;
    }

    /// Ends the connection in good order; one that is not established yet has no order to keep.
    async fn end(&mut self, link: Option<Arc<Link>>) {
        match link {
            None => self.drop_link(),
            Some(link) => {
                if let Some(listening) = self.tasks.listening.take() {
                    listening.abort();
                }
                if let Wire::Http(http) = &link.wire {
                    http.end_session(&self.name).await;
                }
                link.stop.notify_one();
                link.close("it was stopped");
                if let Some(tending) = self.tasks.tending.take() {
                    let _ = tending.await;
                }
                self.tries.failures = 0;
            }
        }
        self.state.send_replace(State::Stopped);
    }
}

/// Waits until the server says that its list is stale, but not before `earliest`.
async fn announced(link: &Link, earliest: Instant) {
    // Waiting comes first: an announcement that is waited for and then dropped would be lost.
    tokio::time::sleep_until(earliest).await;
    link.stale.notified().await;
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.drop_link();
    }
}

/// Subscriptions last as long as their connection.
const FOR_EVER: TimeLimit = TimeLimit::fixed(Duration::from_secs(365 * 24 * 3600));

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Returns how long to wait after so many failures in a row; `jitter` is between 0 and 1.
fn pause_after(failures: u32, jitter: f64) -> Duration {
    let doubled = FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(10));
    doubled.min(LONGEST_PAUSE).mul_f64(0.75 + jitter / 2.0)
}

fn jitter() -> f64 {
    f64::from(getrandom::u32().unwrap_or_default()) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_stay_bounded() {
        let pauses: Vec<u64> =
            (1..=10).map(|n| pause_after(n, 0.5).as_millis().try_into().unwrap()).collect();
        assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000, 60000]);
        assert!(pause_after(3, 0.0) < pause_after(3, 1.0));
        assert!(pause_after(u32::MAX, 1.0) <= Duration::from_secs(75));
    }
}
