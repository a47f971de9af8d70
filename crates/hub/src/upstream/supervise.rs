//! One server's life: started when needed, started again when it fell, stopped when idle.
//!
//! Each server has a task of its own, so that none waits for another. Calls take the
//! link directly; only starting goes through the task.

use parking_lot::Mutex;
use serde_json::value::RawValue;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::link::{Link, Wire};
use super::listing::Listing;
use super::patience::TimeLimit;
use super::{Audience, Failure, Sent};
use crate::caller::{Caller, Era};
use crate::config::{Server, Transport};
use crate::jsonrpc::Fields;
use crate::process::Nursery;
use crate::vault::Vault;

mod keeper; // the task that starts, lists and stops

use keeper::Keeper;

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
    /// How it is reached; tells servers apart that have the same name one after the other.
    pub transport: Transport,
    /// What it offers; an error is why that could not be learnt.
    pub listing: Result<Arc<Listing>, String>,
    /// Told when it is written down.
    pub(crate) written: oneshot::Sender<()>,
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
    stops: mpsc::UnboundedSender<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Current {
    link: Option<Arc<Link>>,
    /// Whether the link is not listed yet, or only there to be; whoever wants to use the server waits.
    is_learning: bool,
    last_used: Instant,
    /// Uses of the link by clients.
    uses: u64,
    /// How many abilities of clients the server was told of when it started.
    told: usize,
    /// When the link was made.
    ready: Option<Instant>,
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
            ready: None,
        }));
        let ability_count = Arc::clone(&around.audience.ability_count);
        let (stops, halt) = mpsc::unbounded_channel();
        let keeper = Keeper {
            name: Arc::clone(&name),
            config: config.clone(),
            around,
            known,
            era,
            state: state_sender,
            current: Arc::clone(&current),
            tries: keeper::Tries::default(),
            tasks: keeper::Tasks::default(),
        };
        let task = tokio::spawn(keeper.run(mailbox, halt));
        Self { name, config, state, current, ability_count, orders, stops, task }
    }

    /// Returns where the server is in its life.
    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Returns for how long the server has been running; `None` when it does not.
    pub fn ready_for(&self) -> Option<Duration> {
        let ready = self.current.lock().ready.filter(|_| self.state() == State::Ready);
        ready.map(|ready| ready.elapsed())
    }

    /// Asks a question and waits for the answer, starting the server when it does not run.
    pub async fn request(
        &self,
        method: &str,
        params: Fields,
        caller: &Arc<Caller>,
        repeat: Repeat,
    ) -> Result<Box<RawValue>, Failure> {
        let limit = TimeLimit::of(&self.config.limits);
        let link = self.link().await?;
        if method == "tools/call" {
            caller.reached.store(true, Ordering::Relaxed);
        }
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
        let gone =
            || Failure::NotStarted { server: Arc::clone(&self.name), reason: "it was stopped".to_owned() };
        let (reply, started) = oneshot::channel();
        self.orders.send(Order::Start(reply)).map_err(|_| gone())?;
        let link = started.await.map_err(|_| gone())??;
        self.used();
        Ok(link)
    }

    /// Returns what tells of every change of the server's state from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<State> {
        let mut changes = self.state.clone();
        changes.mark_unchanged();
        changes
    }

    /// Returns the connection if there is one, and counts that as a use of the server.
    pub(crate) fn running(&self) -> Option<Arc<Link>> {
        let mut current = self.current.lock();
        if current.is_learning || current.is_outdated(self.ability_count.load(Ordering::Acquire)) {
            return None;
        }
        let link = current.link.as_ref().filter(|link| link.closed_because().is_none()).cloned()?;
        current.last_used = Instant::now();
        current.uses += 1;
        Some(link)
    }

    /// Whether the server runs, and what it offers is known.
    pub(crate) fn is_running(&self) -> bool {
        let current = self.current.lock();
        let is_open = current.link.as_ref().is_some_and(|link| link.closed_because().is_none());
        is_open && !current.is_learning && !current.is_outdated(self.ability_count.load(Ordering::Acquire))
    }

    fn used(&self) {
        let mut current = self.current.lock();
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

    /// Stops the server for good.
    pub async fn stop(&self) {
        let (reply, done) = oneshot::channel();
        if self.stops.send(reply).is_ok() {
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
