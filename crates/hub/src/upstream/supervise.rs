//! One server's life: started when needed, started again when it fell, stopped when idle.
//!
//! Each server has a task of its own, so that none waits for another. Calls take the
//! link directly; only starting goes through the task.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::handshake;
use super::link::{Link, Wire};
use super::listing::{self, Listing};
use super::{Audience, Failure, Sent, connect};
use crate::caller::{Caller, Era};
use crate::config::Server;
use crate::jsonrpc::{Fields, raw};
use crate::process::Nursery;
use crate::vault::Vault;

/// Where a server is in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Never reached.
    Configured,
    /// Not running; its tools are known from before.
    Known,
    /// Being started.
    Starting,
    /// Answers.
    Ready,
    /// Did not start, or fell.
    Failed {
        /// Why.
        reason: String,
        /// When it is tried again without being asked; `None` when the next call does.
        next_try: Option<Instant>,
    },
    /// Stopped on purpose; the next call starts it.
    Stopped,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Configured => "configured",
            Self::Known => "known",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Failed { .. } => "failed",
            Self::Stopped => "stopped",
        })
    }
}

/// What all servers of a hub share.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Starts children.
    pub(crate) nursery: Arc<Nursery>,
    /// Speaks HTTP.
    pub(crate) http: reqwest::Client,
    /// Keeps tokens.
    pub(crate) vault: Vault,
    /// Hears what is addressed to nobody in particular.
    pub(crate) audience: Audience,
    /// Told what servers offer.
    pub(crate) learnt: mpsc::UnboundedSender<Learnt>,
    /// Where the logs are.
    pub(crate) logs: PathBuf,
}

/// What was found out about a server.
#[derive(Debug)]
pub struct Learnt {
    /// The server.
    pub server: Arc<str>,
    /// What it offers; an error is why that could not be learnt.
    pub listing: Result<Arc<Listing>, String>,
}

/// One configured server.
#[derive(Debug)]
pub struct Upstream {
    /// Its name in the configuration.
    pub name: Arc<str>,
    /// How it is configured.
    pub config: Server,
    state: watch::Receiver<State>,
    current: Arc<Mutex<Current>>,
    /// How much clients can be asked now.
    ability_count: Arc<AtomicUsize>,
    orders: mpsc::UnboundedSender<Order>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Current {
    link: Option<Arc<Link>>,
    /// Whether the link is only there to be listed; whoever wants to use the server waits.
    is_learning: bool,
    last_used: Instant,
    /// Uses of the link by clients.
    uses: u64,
    /// How many abilities of clients the server was told of when it started.
    told: usize,
}

impl Current {
    /// Whether the server should be started again before its first use. In the session era it is told
    /// what it can ask once, when it starts, and a server that runs from the start has met nobody then.
    fn is_outdated(&self, abilities: usize) -> bool {
        let link = self.link.as_ref().filter(|_| self.uses == 0 && self.told < abilities);
        let link = link.filter(|link| !matches!(link.wire, Wire::Builtin(_)));
        link.and_then(|link| link.peer.get()).is_some_and(|peer| peer.era == Era::Session)
    }
}

#[derive(Debug)]
enum Order {
    Start(oneshot::Sender<Result<Arc<Link>, Failure>>),
    Learn(oneshot::Sender<()>),
    Stop(oneshot::Sender<()>),
}

impl Upstream {
    /// Takes charge of a server; `known` is what it offered the last time.
    pub fn new(name: Arc<str>, config: Server, known: Option<Arc<Listing>>, around: Surroundings) -> Self {
        Self::speaking(None, name, config, known, around)
    }

    /// Takes charge of a second connection to a server, for clients of the session era alone.
    pub fn companion(name: Arc<str>, config: Server, around: &Surroundings) -> Self {
        // What it offers is told by the first connection.
        let around = Surroundings { learnt: mpsc::unbounded_channel().0, ..around.clone() };
        Self::speaking(Some(Era::Session), name, Server { lazy: true, ..config }, None, around)
    }

    fn speaking(
        era: Option<Era>,
        name: Arc<str>,
        config: Server,
        known: Option<Arc<Listing>>,
        around: Surroundings,
    ) -> Self {
        let initial = if known.is_some() { State::Known } else { State::Configured };
        let (state_sender, state) = watch::channel(initial);
        let (orders, mailbox) = mpsc::unbounded_channel();
        let current = Arc::new(Mutex::new(Current {
            link: None,
            is_learning: false,
            last_used: Instant::now(),
            uses: 0,
            told: 0,
        }));
        let ability_count = Arc::clone(&around.audience.ability_count);
        let keeper = Keeper {
            name: Arc::clone(&name),
            config: config.clone(),
            around,
            known,
            era,
            state: state_sender,
            current: Arc::clone(&current),
            tending: None,
            listening: None,
            failures: 0,
            next_try: None,
            listed: None,
        };
        let task = tokio::spawn(keeper.run(mailbox));
        Self { name, config, state, current, ability_count, orders, task }
    }

    /// Returns where the server is in its life.
    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Asks a question and waits for the answer, starting the server when it does not run.
    pub async fn request(
        &self,
        method: &str,
        params: Fields,
        caller: &Arc<Caller>,
        repeat: Repeat,
    ) -> Result<Box<RawValue>, Failure> {
        let limit = self.config.limits.call;
        let link = self.link().await?;
        let first = link.request(method, params.clone(), caller, limit).await;
        match (&first, repeat) {
            // A write that was under way may have happened, so only reads are tried again.
            (Err(Failure::Closed { sent: Sent::No, .. }), _)
            | (Err(Failure::Closed { sent: Sent::Perhaps, .. }), Repeat::Safe) => {
                let link = self.link().await?;
                link.request(method, params, caller, limit).await
            }
            _ => first,
        }
    }

    /// Sends a notification if the server runs.
    pub async fn notify(&self, method: &str, params: Option<&RawValue>) {
        if let Some(link) = self.running() {
            link.notify(method, params).await;
        }
    }

    /// Returns what the server said about itself, starting it when it does not run.
    pub(crate) async fn link(&self) -> Result<Arc<Link>, Failure> {
        if let Some(link) = self.running() {
            return Ok(link);
        }
        let gone = || Failure::NotStarted {
            server: Arc::clone(&self.name),
            reason: "the hub is stopping".to_owned(),
        };
        let (reply, started) = oneshot::channel();
        self.orders.send(Order::Start(reply)).map_err(|_| gone())?;
        let link = started.await.map_err(|_| gone())??;
        self.used();
        Ok(link)
    }

    fn running(&self) -> Option<Arc<Link>> {
        let mut current = self.current.lock().expect("no holder panics");
        if current.is_learning || current.is_outdated(self.ability_count.load(Ordering::Acquire)) {
            return None;
        }
        let link = current.link.as_ref().filter(|link| link.closed_because().is_none()).cloned()?;
        current.last_used = Instant::now();
        current.uses += 1;
        Some(link)
    }

    fn used(&self) {
        let mut current = self.current.lock().expect("no holder panics");
        current.last_used = Instant::now();
        current.uses += 1;
    }

    /// Starts the server to learn what it offers; stops it again if nobody used it meanwhile.
    pub async fn learn(&self) {
        let (reply, done) = oneshot::channel();
        if self.orders.send(Order::Learn(reply)).is_ok() {
            let _ = done.await;
        }
    }

    /// Stops the server; the next call starts it again.
    pub async fn stop(&self) {
        let (reply, done) = oneshot::channel();
        if self.orders.send(Order::Stop(reply)).is_ok() {
            let _ = done.await;
        }
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        // What the task owns kills the child when it is dropped.
        self.task.abort();
    }
}

/// Whether a request may be sent a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// It changes nothing.
    Safe,
    /// It may have been carried out already.
    Unsafe,
}

/// After the first failure; doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A server that announces changes all the time is listed no more often than this.
const REFRESH_PAUSE: Duration = Duration::from_millis(100);
/// Servers may call their list stale at once; nobody needs it that fresh.
const SHORTEST_TTL: Duration = Duration::from_secs(30);

/// The task behind an [`Upstream`].
struct Keeper {
    name: Arc<str>,
    config: Server,
    around: Surroundings,
    known: Option<Arc<Listing>>,
    /// The era to speak whatever the server prefers.
    era: Option<Era>,
    state: watch::Sender<State>,
    current: Arc<Mutex<Current>>,
    tending: Option<JoinHandle<()>>,
    listening: Option<JoinHandle<()>>,
    failures: u32,
    next_try: Option<Instant>,
    listed: Option<Instant>,
}

/// What a server is started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Learn,
    Use,
}

enum Event {
    Order(Order),
    Closed(Arc<str>),
    Stale,
    Idle,
    Retry,
    Over,
}

impl Keeper {
    async fn run(mut self, mut mailbox: mpsc::UnboundedReceiver<Order>) {
        if !self.config.lazy {
            let _ = self.start_and_list(Purpose::Use).await;
        }
        loop {
            match self.next_event(&mut mailbox).await {
                Event::Order(Order::Start(reply)) => {
                    let started = self.start(Purpose::Use).await;
                    let is_new = started.is_ok();
                    let _ = reply.send(started);
                    if is_new {
                        self.list().await;
                    }
                }
                Event::Order(Order::Learn(reply)) => {
                    self.learn().await;
                    let _ = reply.send(());
                }
                Event::Order(Order::Stop(reply)) => {
                    self.stop().await;
                    let _ = reply.send(());
                }
                Event::Closed(reason) => self.fell(&reason),
                Event::Stale => self.list().await,
                Event::Idle => {
                    tracing::debug!(server = %self.name, "stopped because it was idle");
                    self.stop().await;
                }
                Event::Retry if self.config.lazy => self.learn().await,
                Event::Retry => {
                    let _ = self.start_and_list(Purpose::Use).await;
                }
                Event::Over => return self.stop().await,
            }
        }
    }

    async fn next_event(&self, mailbox: &mut mpsc::UnboundedReceiver<Order>) -> Event {
        let (link, idle_at) = {
            let current = self.current.lock().expect("no holder panics");
            let idle_at = self.config.idle_stop.map(|after| current.last_used + after);
            (current.link.clone(), idle_at)
        };
        let Some(link) = link else {
            let retry_at = self.next_try.filter(|_| self.known.is_none() || !self.config.lazy);
            return tokio::select! {
                order = mailbox.recv() => order.map_or(Event::Over, Event::Order),
                () = at(retry_at) => Event::Retry,
            };
        };
        let fresh_for = self.known.as_ref().and_then(|known| known.fresh_for);
        let stale_at = fresh_for.map(|ttl| Instant::now() + ttl.max(SHORTEST_TTL));
        tokio::select! {
            biased;
            reason = link.closed() => Event::Closed(reason),
            order = mailbox.recv() => order.map_or(Event::Over, Event::Order),
            () = link.stale.notified() => {
                at(self.listed.map(|listed| listed + REFRESH_PAUSE).or(Some(Instant::now()))).await;
                Event::Stale
            }
            () = at(stale_at) => Event::Stale,
            () = at(idle_at) => {
                let current = self.current.lock().expect("no holder panics");
                let is_idle = link.is_idle() && current.last_used + self.config.idle_stop.unwrap_or_default() <= Instant::now();
                if is_idle { Event::Idle } else { Event::Order(Order::Start(oneshot::channel().0)) }
            }
        }
    }

    async fn start_and_list(&mut self, purpose: Purpose) -> Result<(), Failure> {
        self.start(purpose).await?;
        self.list().await;
        Ok(())
    }

    /// Returns the running link, or makes one.
    async fn start(&mut self, purpose: Purpose) -> Result<Arc<Link>, Failure> {
        let (running, is_outdated) = {
            let current = self.current.lock().expect("no holder panics");
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
        if let Some(next_try) = self.next_try
            && let Some(pause) = next_try.checked_duration_since(Instant::now())
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
        let started = tokio::time::timeout(limit, self.connect(purpose)).await.unwrap_or_else(|_| {
            let reason = format!("it did not greet within {limit:?} (`limits.startMs`)");
            Err(Failure::NotStarted { server: Arc::clone(&self.name), reason })
        });
        match started {
            Ok(link) => {
                (self.failures, self.next_try) = (0, None);
                let mut current = self.current.lock().expect("no holder panics");
                (current.link, current.uses, current.told) = (Some(Arc::clone(&link)), 0, told);
                drop(current);
                self.state.send_replace(State::Ready);
                Ok(link)
            }
            Err(failure) => {
                self.drop_link();
                let reason = match &failure {
                    Failure::NotStarted { reason, .. } => reason.clone(),
                    Failure::Closed { reason, .. } => reason.to_string(),
                    other => other.to_string(),
                };
                self.failed(reason.clone());
                Err(match failure {
                    kept @ Failure::LoginNeeded(_) => kept,
                    _ => Failure::NotStarted { server: Arc::clone(&self.name), reason },
                })
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
        self.tending = Some(tending);
        // A server that is only started to be listed has nobody to ask.
        let abilities = match purpose {
            Purpose::Learn => Fields::default(),
            Purpose::Use => self.around.audience.abilities.lock().expect("no holder panics").clone(),
        };
        match handshake::shake(&link, remembered, &abilities).await {
            Ok(()) => {}
            Err(failure) if connect::may_be_older(&self.config, &failure) => {
                let (link, tending) =
                    connect::open_older(&self.name, &self.config, &self.around).await.map_err(|_| failure)?;
                self.tending = Some(tending);
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
        self.listening = match (peer.era, &link.wire) {
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

    async fn list(&mut self) {
        let link = self.current.lock().expect("no holder panics").link.clone();
        let Some(link) = link else { return };
        let listing =
            tokio::time::timeout(self.config.limits.start, listing::list(&link, &self.config.limits)).await;
        let listing = listing.unwrap_or_else(|_| {
            let limit = self.config.limits.start;
            Err(Failure::Late { server: Arc::clone(&self.name), method: "tools/list".to_owned(), limit })
        });
        self.listed = Some(Instant::now());
        let listing = match listing {
            Ok(listing) => {
                let listing = Arc::new(listing);
                self.known = Some(Arc::clone(&listing));
                Ok(listing)
            }
            Err(failure) => Err(failure.to_string()),
        };
        let _ = self.around.learnt.send(Learnt { server: Arc::clone(&self.name), listing });
    }

    async fn learn(&mut self) {
        let is_temporary = {
            let mut current = self.current.lock().expect("no holder panics");
            current.is_learning = current.link.is_none() && self.config.lazy;
            current.is_learning
        };
        let learnt = self.start_and_list(Purpose::Learn).await;
        if is_temporary && learnt.is_ok() {
            if self.known.is_none() {
                // It runs but does not tell what it offers; asking again at once would not help.
                self.drop_link();
                self.failed("it did not say what it offers".to_owned());
            } else {
                self.stop().await;
            }
        }
        self.current.lock().expect("no holder panics").is_learning = false;
    }

    fn fell(&mut self, reason: &str) {
        tracing::warn!(server = %self.name, "the server went away: {reason}");
        self.drop_link();
        if self.config.lazy {
            self.state.send_replace(State::Failed { reason: reason.to_owned(), next_try: None });
        } else {
            self.failed(reason.to_owned());
        }
    }

    fn failed(&mut self, reason: String) {
        self.failures += 1;
        let pause = pause_after(self.failures, jitter());
        let next_try = Instant::now() + pause;
        self.next_try = Some(next_try);
        tracing::warn!(server = %self.name, "the server failed: {reason}; the next try is in {pause:?}");
        let _ =
            self.around.learnt.send(Learnt { server: Arc::clone(&self.name), listing: Err(reason.clone()) });
        self.state.send_replace(State::Failed { reason, next_try: Some(next_try) });
    }

    fn drop_link(&mut self) {
        if let Some(link) = self.current.lock().expect("no holder panics").link.take() {
            link.close("it was stopped");
        }
        for task in [self.tending.take(), self.listening.take()].into_iter().flatten() {
            task.abort();
        }
    }

    async fn stop(&mut self) {
        let link = self.current.lock().expect("no holder panics").link.take();
        if let Some(listening) = self.listening.take() {
            listening.abort();
        }
        if let Some(link) = link {
            if let Wire::Http(http) = &link.wire {
                http.end_session(&self.name).await;
            }
            link.stop.notify_one();
            link.close("it was stopped");
        }
        if let Some(tending) = self.tending.take() {
            let _ = tending.await;
        }
        self.state.send_replace(State::Stopped);
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.drop_link();
    }
}

/// Subscriptions last as long as their connection.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);

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
