//! The hub itself: what serving and the command line stand on.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use serde_json::{Map, Value};
use tokio::sync::{broadcast, mpsc};
use tokio::task::JoinSet;
use toolyard_core::hazard;
use toolyard_core::tool::Tool;
use toolyard_history::Route;
use toolyard_telemetry::Metrics;

use crate::access::Access;
use crate::aliases;
use crate::audit::Audit;
use crate::caller::{Caller, Client, Era};
use crate::config::{Config, Mistake, Stance, Surface, Transport};
use crate::journal::Journal;
use crate::learnt::Learnt;
use crate::live::{Live, Snapshot};
use crate::meaning::Meanings;
use crate::pins::Pins;
use crate::policy::{Gate, Policy, Quotas};
use crate::process::Nursery;
use crate::routing::Memory;
use crate::screening::Screenings;
use crate::seal::Seal;
use crate::skills::{self, Skills};
use crate::store::{self, ServerStatus, Status, Store};
use crate::upstream::{Audience, Changes, Failure, News, State, Surroundings, Upstream};
use crate::vault::{Keyring, Vault};
use crate::workflows::Template;

mod advise; // what a language model finds for arguments
mod board; //  what servers offer, written in one place
mod call; //   one call of one tool
mod choose; // what a small model says about domains
mod consolidated; // tools that stand for several
mod decide; // what a request becomes
mod feedback; // what is kept of decisions, and said about them
mod execute; // runs of workflows
mod metadata; // what is known of a tool, with what was seen of it
mod migrate; // calls of old names
mod options; // how a hub is run
mod spans; //  what a collector is told
mod rank; //   how tools rank for words
mod ranker; // what a tool of the person says about that
mod screening; // texts that look like instructions to a model
mod results; // what the result of a call says
mod restart; // servers started again on request
mod schedule; // workflows that run by themselves
mod toolset; // what conversations are given
mod trust; //  tools that wait for a person
mod turns; //  servers started one after the other
mod workflow; // templates, called like tools

pub use advise::Adviser;
use board::{Board, Written, write_down};
pub(crate) use call::{CONFIRMATION, Trouble, forward, own_names};
pub use consolidated::ConsolidatedTools;
pub(crate) use consolidated::{Unfolded, listed as listed_consolidated};
pub use decide::Decided;
pub use execute::{Execution, Halted, Moment, NotTaken, Pause};
pub use feedback::{Correction, NotLearnt};
pub use migrate::{Deprecated, Migrated, migrate, renamed};
pub use options::{Learning, Options};
pub(crate) use results::{failed_call, is_error, text_of, texts, wants_input};
pub use screening::{Suspect, Suspects, alike};
pub use toolset::{Heard, Supply};
pub use trust::UndecidedTool;
pub use workflow::question;

/// What was learnt is written down within this time, or those who asked for it go on without.
const CATCHING_UP: Duration = Duration::from_secs(5);
/// News that nobody has read yet; slow readers lose the oldest.
const NEWS: usize = 256;
/// How often what was measured is kept.
const KEEPING: Duration = Duration::from_secs(5);

/// Connects to every server, knows every tool.
#[derive(Debug)]
pub struct Hub {
    /// Closes state that travels through clients.
    pub seal: Arc<Seal>,
    pub(crate) store: Arc<Store>,
    audit: Arc<Audit>,
    gate: Gate,
    access: Arc<Access>,
    quotas: Quotas,
    journal: Arc<Journal>,
    around: Surroundings,
    options: Options,
    live: Live,
    board: Arc<Board>,
    memory: Arc<Memory>,
    meanings: Arc<Meanings>,
    learnt: Learnt,
    metrics: Metrics,
    screenings: Arc<Screenings>,
    /// Decisions, as they are made.
    routes: broadcast::Sender<Route>,
    tracer: spans::Tracer,
    began: Instant,
    settings: RwLock<Settings>,
    supplies: toolset::Supplies,
    consolidations: consolidated::Remembered,
    questions: trust::Questions,
    background: Mutex<JoinSet<()>>,
}

/// What a configuration decides; replaced as a whole.
#[derive(Clone, Debug)]
struct Settings {
    config: Arc<Config>,
    policy: Arc<Policy>,
    upstreams: BTreeMap<Arc<str>, Arc<Upstream>>,
    /// Since when it is in force.
    since: Instant,
    /// Tells it from those before; a later one has a larger number.
    number: u64,
    /// What is wrong with what a person wrote about tools.
    metadata_problems: Arc<[String]>,
    /// Workflows that can be called like tools.
    templates: Arc<[Template]>,
    /// What is wrong with files of workflows.
    workflow_mistakes: Arc<[Mistake]>,
    /// Skills that a person wrote.
    skills: Arc<Skills>,
    /// What is wrong with files of skills.
    skill_mistakes: Arc<[Mistake]>,
    /// Second connections, in the session era, to servers that speak both.
    companions: BTreeMap<Arc<str>, Arc<Upstream>>,
}

impl Hub {
    /// Starts a hub on a configuration.
    pub fn start(config: Config, options: Options) -> Arc<Self> {
        let folder = config.store.folder.clone();
        let store = Arc::new(Store::open(&folder));
        let logs = folder.join("logs");
        if let Err(err) = crate::private::folder(&logs) {
            tracing::warn!("logs of servers are not kept: `{}` cannot be made: {err}", logs.display());
        }
        let (learnt, learning) = mpsc::unbounded_channel();
        let (live, snapshot) = Live::new(Snapshot::new(BTreeMap::new(), &[], Arc::new([])));
        let (seal, metrics) = (Arc::new(Seal::open(&folder)), Metrics::new());
        let audit = Arc::new(Audit::new(&folder, Arc::clone(&seal), metrics.clone()));
        let pins = Pins::open(Arc::clone(&store));
        let board = Arc::new(Board::new(snapshot, pins, Arc::clone(&audit)));
        let around = Surroundings {
            nursery: Arc::new(Nursery::new(options.watchdog.clone())),
            http: crate::web::client(),
            vault: Vault::open(&folder, Keyring::system()),
            audience: Audience {
                news: broadcast::Sender::new(NEWS),
                sole: Arc::default(),
                abilities: Arc::default(),
                ability_count: Arc::default(),
            },
            learnt,
            logs,
        };
        let settings = Settings {
            policy: Arc::new(Policy::new(config.policy.clone())),
            config: Arc::new(Config { servers: BTreeMap::new(), ..config.clone() }),
            upstreams: BTreeMap::new(),
            since: Instant::now(),
            number: 0,
            metadata_problems: Arc::new([]),
            templates: Arc::new([]),
            workflow_mistakes: Arc::new([]),
            skills: Arc::default(),
            skill_mistakes: Arc::new([]),
            companions: BTreeMap::new(),
        };
        let memory = Arc::new(Memory::default());
        memory.measures.load(store.measured());
        let hub = Arc::new(Self {
            audit,
            gate: Gate::default(),
            access: Arc::new(Access::open(&folder)),
            quotas: Quotas::default(),
            seal,
            store: Arc::clone(&store),
            journal: Journal::new(&folder),
            live,
            board: Arc::clone(&board),
            memory: Arc::clone(&memory),
            meanings: Arc::new(Meanings::new(Arc::clone(&store), around.http.clone())),
            learnt: Learnt::open(&folder, config.events.enabled.then_some(config.events.retention)),
            metrics,
            screenings: Arc::new(Screenings::new(Arc::clone(&store))),
            routes: broadcast::Sender::new(NEWS),
            tracer: spans::Tracer::default(),
            began: Instant::now(),
            settings: RwLock::new(settings),
            supplies: toolset::Supplies::default(),
            consolidations: consolidated::Remembered::default(),
            questions: trust::Questions::default(),
            background: Mutex::default(),
            around,
            options,
        });
        if let Some(collector) = &config.telemetry.otlp {
            hub.tracer.start(&hub, collector, &hub.around.http);
        }
        let news = hub.around.audience.news.clone();
        hub.in_background(write_down(learning, Arc::clone(&board), Arc::clone(&store), news.clone()));
        hub.in_background(keep_measures(memory, store));
        hub.in_background(Arc::clone(&hub.access).follow());
        if hub.options.learning == Learning::Background {
            hub.in_background(trust::watch(board, news));
            hub.in_background(Arc::clone(&hub.meanings).keep_up(hub.live.clone()));
            hub.in_background(Self::keep_screening(Arc::downgrade(&hub), hub.live.clone()));
        }
        hub.apply(config);
        hub
    }

    /// Takes a configuration over: only servers that changed are touched. Starting is the same from nothing.
    pub fn apply(self: &Arc<Self>, config: Config) {
        let old = self.settings();
        let mut upstreams = BTreeMap::new();
        let mut fresh = Vec::new();
        let (own, metadata_problems) = metadata::written(&config);
        let (templates, workflow_mistakes) = workflow::offered(&config);
        let (skills, skill_mistakes) = skills::read(&config);
        for mistake in &skill_mistakes {
            tracing::warn!("{mistake}");
        }
        config.off.iter().for_each(|(name, off)| tracing::warn!("{}", off.sentence(name)));
        self.board.write(|written| {
            let aliases = Arc::new(aliases::of(&config));
            let mut next = Written { own, templates: Arc::clone(&templates), aliases, ..Written::default() };
            next.audit = config.audit.clone();
            for (name, server) in config.ordered() {
                let name: Arc<str> = name.as_str().into();
                let fingerprint = store::fingerprint(&server.transport);
                let is_same = written.fingerprints.get(&name) == Some(&fingerprint);
                let known = if is_same {
                    written.listings.get(&name).cloned()
                } else {
                    self.store.listing(&name, &fingerprint)
                };
                if let Some(fault) = written.faults.get(&name).filter(|_| is_same) {
                    next.faults.insert(Arc::clone(&name), fault.clone());
                }
                next.limits.push((Arc::clone(&name), server.limits.clone()));
                next.fingerprints.insert(Arc::clone(&name), fingerprint);
                if let Some(known) = &known {
                    next.listings.insert(Arc::clone(&name), Arc::clone(known));
                }
                next.meet(&name, (server, &config.policy), &self.board);
                let kept = old.upstreams.get(&name).filter(|upstream| upstream.config == *server);
                let upstream = kept.cloned().unwrap_or_else(|| {
                    let is_known = known.is_some();
                    let made = Upstream::new(Arc::clone(&name), server.clone(), known, self.around.clone());
                    let made = Arc::new(made);
                    if !is_known && server.lazy {
                        fresh.push(Arc::clone(&made));
                    }
                    made
                });
                upstreams.insert(name, upstream);
            }
            *written = next;
            Some(Changes::ALL)
        });
        let replaced = old
            .upstreams
            .iter()
            .filter(|(name, upstream)| upstreams.get(*name).is_none_or(|new| !Arc::ptr_eq(new, upstream)));
        for upstream in replaced.map(|(_, upstream)| Arc::clone(upstream)) {
            self.in_background(async move { upstream.stop().await });
        }
        // They go with their servers, and with what is said to those.
        let companions = if old.config.servers == config.servers { old.companions } else { BTreeMap::new() };
        let policy = Arc::new(Policy::new(config.policy.clone()));
        self.meanings.choose(&config.routing.semantic_search);
        self.metrics.switch(config.routing.performance.enable_metrics);
        *self.settings.write() = Settings {
            config: Arc::new(config),
            policy,
            upstreams,
            since: Instant::now(),
            number: old.number + 1,
            metadata_problems: metadata_problems.into(),
            templates,
            workflow_mistakes,
            skills: Arc::new(skills),
            skill_mistakes: skill_mistakes.into(),
            companions,
        };
        let _ = self.around.audience.news.send(News::Catalog(Changes::ALL));
        self.board.stir();
        if self.options.learning == Learning::Background {
            self.in_background(turns::learn_in_turn(fresh));
            // The first request in plain words then finds what was known before ready.
            if self.config().serve.surface != Surface::All {
                self.meanings.want();
            }
        }
    }

    fn in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut background = self.background.lock();
        while background.try_join_next().is_some() {}
        background.spawn(work);
    }

    fn settings(&self) -> Settings {
        self.settings.read().clone()
    }

    /// Returns the configuration in force.
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&self.settings.read().config)
    }

    /// Returns for how long the configuration has been in force.
    pub fn configured_for(&self) -> Duration {
        self.settings.read().since.elapsed()
    }

    /// Returns what is wrong with what a person wrote about tools, in sentences that name the file.
    pub fn metadata_problems(&self) -> Arc<[String]> {
        Arc::clone(&self.settings.read().metadata_problems)
    }

    /// Returns what is wrong with old names of tools, as far as servers were heard of.
    pub fn alias_problems(&self) -> Vec<String> {
        let (snapshot, config) = (self.snapshot(), self.config());
        let is_awaited = |to: &str| {
            let owner = skills::owner(to, &config).map(String::as_str);
            owner.is_some_and(|server| !snapshot.listings.contains_key(server))
        };
        snapshot.aliases.problems(&snapshot.catalog, is_awaited)
    }

    /// Returns the catalog as it is now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.live.now()
    }

    /// Returns a server by name.
    pub fn upstream(&self, name: &str) -> Option<Arc<Upstream>> {
        self.settings.read().upstreams.get(name).cloned()
    }

    /// Returns a server as a client of this era would meet it without the hub: one that speaks both
    /// eras behaves in each as its own rules say, so a session client gets a session.
    pub(crate) async fn upstream_in(&self, name: &str, era: Era) -> Result<Option<Arc<Upstream>>, Failure> {
        let Some(upstream) = self.upstream(name) else { return Ok(None) };
        let link = upstream.link().await?;
        let speaks = link.peer.get().map(|peer| peer.era);
        if era == Era::Modern || speaks == Some(Era::Session) {
            return Ok(Some(upstream));
        }
        let companion = {
            let mut settings = self.settings.write();
            let made = settings.companions.entry(Arc::clone(&upstream.name)).or_insert_with(|| {
                let (name, config) = (Arc::clone(&upstream.name), upstream.config.clone());
                Arc::new(Upstream::companion(name, config, &self.around))
            });
            Arc::clone(made)
        };
        // A server that speaks the modern era alone is bridged.
        Ok(Some(if companion.link().await.is_ok() { companion } else { upstream }))
    }

    /// Returns all servers.
    pub fn upstreams(&self) -> Vec<Arc<Upstream>> {
        self.settings.read().upstreams.values().cloned().collect()
    }

    /// Listens to what happens at servers.
    pub fn news(&self) -> broadcast::Receiver<News> {
        self.around.audience.news.subscribe()
    }

    /// Names the only client there can be, which may then be asked outside of its requests.
    pub fn set_sole_client(&self, caller: Option<Arc<Caller>>) {
        *self.around.audience.sole.lock() = caller;
    }

    /// Notes what a client can be asked.
    pub fn welcome(&self, client: &Client) {
        self.around.audience.welcome(&client.capabilities);
    }

    /// Whether clients may see a tool.
    pub fn permits(&self, snapshot: &Snapshot, tool: &Tool) -> bool {
        let effect = || snapshot.facts(tool).map_or(tool.effect, |facts| facts.effect);
        self.policy().permits(tool, effect) && self.quarantined(snapshot, tool).is_none()
    }

    /// Whether a tool is asked about before a call with the arguments that it requires, whatever they are.
    pub(crate) fn asks_before(&self, snapshot: &Snapshot, tool: &Tool) -> bool {
        let known = self.known_effect(snapshot, tool);
        let required = tool.parameters.iter().filter(|parameter| parameter.required);
        let arguments: Map<String, Value> =
            required.map(|parameter| (parameter.name.clone(), hazard::LATER.into())).collect();
        let effect = hazard::assess(tool, known, &Value::Object(arguments)).effect;
        self.policy().decide(tool.id.as_str(), &tool.server, effect).0 == Stance::Ask
    }

    pub(crate) fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.settings.read().policy)
    }

    /// Returns what is known of each server, for people.
    pub fn servers(&self) -> Vec<ServerStatus> {
        let (settings, snapshot) = (self.settings(), self.snapshot());
        let faults = self.board.faults();
        let status = |upstream: &Arc<Upstream>| {
            let (state, listing) = (upstream.state(), snapshot.listings.get(&upstream.name));
            let gathered = snapshot.problems.iter().filter(|problem| *problem.server == *upstream.name);
            let mut problems: Vec<String> = listing.map(|it| it.problems.clone()).unwrap_or_default();
            problems.extend(gathered.map(ToString::to_string));
            let reason = match &state {
                State::Failed { reason, .. } => Some(reason.clone()),
                State::Configured | State::Known | State::Starting | State::Ready | State::Stopped => {
                    faults.get(&upstream.name).cloned()
                }
            };
            ServerStatus {
                name: upstream.name.to_string(),
                transport: transport_word(&upstream.config.transport).to_owned(),
                state: state.to_string(),
                reason,
                tools: listing.map(|_| snapshot.catalog.of_server(&upstream.name).len()),
                problems,
                waiting: snapshot.withheld.iter().filter(|it| it.server == upstream.name).count(),
            }
        };
        let off = settings.config.off.iter().map(|(name, off)| ServerStatus {
            name: name.clone(),
            transport: off.transport.to_owned(),
            state: ServerStatus::OFF.to_owned(),
            reason: Some(format!("{}; {}", off.reason(), off.fix())),
            tools: None,
            problems: Vec::new(),
            waiting: 0,
        });
        let mut servers: Vec<ServerStatus> = settings.upstreams.values().map(status).chain(off).collect();
        servers.sort_by(|a, b| a.name.cmp(&b.name));
        servers
    }

    /// Keeps the store told about this hub until dropped; for `toolyard status` in another terminal.
    pub async fn report_status(&self, serving: &str, config: Option<PathBuf>) {
        let _forget = Forget { store: Arc::clone(&self.store) };
        let mut last = None;
        loop {
            let status = Status {
                pid: std::process::id(),
                serving: serving.to_owned(),
                config: config.clone(),
                servers: self.servers(),
                meaning: self.meaning_progress(),
                routes: self.tally(),
            };
            if last.as_ref() != Some(&status) {
                if let Err(err) = self.store.keep_status(&status) {
                    tracing::debug!("{err}");
                }
                last = Some(status);
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// Returns what the hubs that run on the same store say about themselves.
    pub fn running_hubs(&self) -> Vec<Status> {
        self.store.statuses()
    }

    /// Learns what the chosen servers offer; `each` is told as they are done.
    pub async fn learn(&self, which: impl Fn(&Upstream) -> bool, each: impl Fn(&Upstream)) {
        let mut learning = JoinSet::new();
        let mut asked = Vec::new();
        for upstream in self.upstreams().into_iter().filter(|upstream| which(upstream)) {
            asked.push((Arc::clone(&upstream), self.board.heard(&upstream.name)));
            learning.spawn(async move {
                upstream.learn().await;
                upstream
            });
        }
        while let Some(learnt) = learning.join_next().await {
            if let Ok(upstream) = learnt {
                each(&upstream);
            }
        }
        // What was learnt is written down by another task; it is done when it has caught up. A server
        // that rests after a failure has nothing new to say.
        let caught_up = async {
            let mut written = self.board.stirs();
            for (upstream, before) in asked {
                let mut states = upstream.changes();
                while self.board.heard(&upstream.name) <= before
                    && !matches!(upstream.state(), State::Failed { .. })
                {
                    tokio::select! {
                        Ok(()) = written.changed() => {}
                        Ok(()) = states.changed() => {}
                        else => break,
                    }
                }
            }
        };
        let _ = tokio::time::timeout(CATCHING_UP, caught_up).await;
    }

    /// Waits until every server was heard of at least once, or for `patience`. Most clients list tools
    /// once and never again, so the first list of a new configuration is worth a moment.
    pub async fn first_heard(&self, patience: Duration, which: impl Fn(&Upstream) -> bool) {
        let mut written = self.board.stirs();
        let is_heard = || {
            let upstreams = self.upstreams();
            let mut awaited = upstreams.iter().filter(|upstream| which(upstream));
            awaited.all(|upstream| self.board.is_settled(&upstream.name))
        };
        let heard = async { while !is_heard() && written.changed().await.is_ok() {} };
        let _ = tokio::time::timeout(patience, heard).await;
    }

    /// Stops all servers and waits until they are gone.
    pub async fn close(&self) {
        let (upstreams, companions) = {
            let mut settings = self.settings.write();
            (std::mem::take(&mut settings.upstreams), std::mem::take(&mut settings.companions))
        };
        self.board.stir();
        let mut stopping = JoinSet::new();
        for upstream in upstreams.into_values().chain(companions.into_values()) {
            stopping.spawn(async move { upstream.stop().await });
        }
        while stopping.join_next().await.is_some() {}
        self.meanings.close().await;
        keep_fresh(&self.memory, &self.store);
        self.audit.close();
        self.tracer.close().await;
        if let Some(history) = self.history() {
            history.flush();
        }
    }
}

/// Keeps what was measured, a moment after it was, so that no call waits for the disk.
async fn keep_measures(memory: Arc<Memory>, store: Arc<Store>) {
    loop {
        tokio::time::sleep(KEEPING).await;
        let (memory, store) = (Arc::clone(&memory), Arc::clone(&store));
        let _ = tokio::task::spawn_blocking(move || keep_fresh(&memory, &store)).await;
    }
}

fn keep_fresh(memory: &Memory, store: &Store) {
    let fresh = memory.measures.take_fresh();
    if !fresh.is_empty()
        && let Err(err) = store.keep_measured(&fresh)
    {
        tracing::debug!("{err}; what was measured is lost when the hub ends");
    }
}

/// Takes a hub's status back when it ends.
struct Forget {
    store: Arc<Store>,
}

impl Drop for Forget {
    fn drop(&mut self) {
        let _ = self.store.drop_status(std::process::id());
    }
}

fn transport_word(transport: &Transport) -> &'static str {
    match transport {
        Transport::Stdio { .. } => "stdio",
        Transport::Http { .. } => "http",
        Transport::Sse { .. } => "sse",
        Transport::Builtin(_) => "builtin",
    }
}
