//! Which tool is meant: the one place where words, catalog, configuration and conversation meet.

use std::sync::Arc;
use std::time::{Duration, Instant};

use toolyard_core::index::tool_text;
use toolyard_core::route::{self, Decision, Method, Reasons, Request, Rules, Situation, Standing, Weights};
use toolyard_core::session::USUAL;
use toolyard_core::tool::Tool;

use super::Hub;
use crate::config::{self, Config};
use crate::live::Snapshot;
use crate::meaning::{Published, Sensed};
use crate::policy::Policy;
use crate::routing::{Key, Measured, Tally, Wanted, World, freshness, normalised};
use crate::store::MeaningStatus;
use crate::upstream::State;

/// Candidates that can be asked for.
const MOST_CANDIDATES: usize = 50;

/// A search that surely nothing fits finds only what shares a word with it.
const HOPELESS: f64 = 0.75;

/// What the configuration and the servers say about tools at one moment.
struct Scene {
    config: Arc<Config>,
    policy: Arc<Policy>,
    settings: u64,
    failed: Vec<Arc<str>>,
    /// What is known of the tools' meanings.
    meant: Option<Arc<Published>>,
}

impl Scene {
    fn world(&self, snapshot: &Snapshot) -> World {
        World {
            snapshot: snapshot.number,
            settings: self.settings,
            meaning: self.meant.as_ref().map_or(0, |meant| meant.number),
        }
    }

    fn standing(&self, snapshot: &Snapshot, tool: &Tool, key: (&[String], &[Arc<str>])) -> Standing {
        let (servers, recent) = key;
        let id = tool.id.as_str();
        let is_shown = servers.is_empty() || servers.iter().any(|server| **server == *tool.server);
        let tier = super::toolset::tier(&self.config, id).unwrap_or(USUAL);
        let effect = || snapshot.facts(tool).map_or(tool.effect, |facts| facts.effect);
        Standing {
            is_visible: is_shown && self.policy.permits(tool, effect),
            is_up: !self.failed.contains(&tool.server),
            tier,
            recent: freshness(recent, id),
            liked: 0.0,
        }
    }

    /// Looks at a request in its surroundings.
    fn around<T>(&self, snapshot: &Snapshot, key: &Key, look: impl FnOnce(&Situation) -> T) -> T {
        let standing = |tool: &Tool| self.standing(snapshot, tool, (&key.servers, &key.recent));
        look(&Situation { preferred_server: key.preferred_server.as_deref(), standing: &standing })
    }

    fn profile(&self) -> Method<'static> {
        match self.config.routing.profile {
            config::Ranking::Fitted => Method::Fitted(Weights::builtin()),
            config::Ranking::Seed => Method::Seed,
        }
    }
}

impl Hub {
    /// Decides which tool is meant, or finds that it was decided before.
    pub async fn decide(&self, snapshot: &Snapshot, wanted: &Wanted<'_>) -> Arc<Decision> {
        let (scene, start) = (self.scene(), Instant::now());
        let routing = &scene.config.routing;
        let recent = wanted.conversation.map(|it| self.memory.recent.of(it, start)).unwrap_or_default();
        let key = Key {
            task: normalised(wanted.task),
            preferred_server: wanted.preferred_server.map(str::to_owned),
            servers: wanted.servers.to_vec(),
            recent,
            failed: scene.failed.clone(),
            candidates: wanted.candidates.unwrap_or(routing.max_candidates).clamp(1, MOST_CANDIDATES),
            world: scene.world(snapshot),
        };
        let is_remembering = routing.enable_caching && routing.cache_size > 0;
        let known = if is_remembering { self.memory.cache.get(&key, start, routing.cache_ttl) } else { None };
        if let Some(known) = known {
            return known;
        }
        let seen = self.look(&scene, snapshot, &key, start).await;
        let decision = Arc::new(make(&scene, snapshot, &key, (&seen, Reasons::Given)));
        if start.elapsed() > routing.performance.max_routing_time {
            self.memory.cache.count_late();
            tracing::debug!("choosing a tool took {:?}", start.elapsed());
        }
        // The model may answer the next time.
        if is_remembering && !matches!(seen.sensed, Sensed::Failed) {
            self.memory.cache.put(key, Arc::clone(&decision), start, routing.cache_size);
        }
        decision
    }

    /// Ranks tools for a search, the best first, with scores that compare only with one another.
    pub async fn find(&self, snapshot: &Snapshot, query: &str, limit: usize) -> Vec<(usize, f32)> {
        let scene = self.scene();
        let key = search(&scene, snapshot, query, limit);
        let seen = self.look(&scene, snapshot, &key, Instant::now()).await;
        rank(&scene, snapshot, &key, &seen)
    }

    /// Does the same by words and metadata alone, at once.
    pub(super) fn find_by_words(&self, snapshot: &Snapshot, query: &str, limit: usize) -> Vec<(usize, f32)> {
        let scene = self.scene();
        let key = search(&scene, snapshot, query, limit);
        rank(&scene, snapshot, &key, &Seen { sensed: Sensed::Nothing, read: Vec::new() })
    }

    /// Notes that a conversation used a tool, which makes it likelier to be meant again.
    pub fn note_use(&self, conversation: &str, tool: &str) {
        self.memory.recent.note(conversation, tool, Instant::now());
    }

    /// Returns how often decisions were remembered.
    pub fn tally(&self) -> Tally {
        self.memory.cache.tally()
    }

    /// Returns what was seen of a tool's calls, now and before.
    pub fn measured(&self, tool: &str) -> Option<Measured> {
        self.memory.measures.of(tool)
    }

    /// Returns how far tools are understood by meaning.
    pub fn meaning_progress(&self) -> MeaningStatus {
        self.meanings.status()
    }

    /// Understands the tools of a snapshot as far as the time allows, for somebody who waits.
    pub async fn understand(&self, snapshot: &Arc<Snapshot>, patience: Duration) {
        self.meanings.understand(Arc::clone(snapshot), patience).await;
    }

    /// Compares a request and the tools by the vectors that are there now, and reads closely what that leaves open.
    async fn look(&self, scene: &Scene, snapshot: &Snapshot, key: &Key, start: Instant) -> Seen {
        let routing = &scene.config.routing;
        let left = || routing.performance.max_routing_time.saturating_sub(start.elapsed());
        let meant = scene.meant.as_deref();
        let asked = (snapshot, key.task.as_str());
        let sensed = self.meanings.sense(meant, asked, (&routing.semantic_search, left())).await;
        let mut seen = Seen { sensed, read: Vec::new() };
        let unclear = unclear(scene, snapshot, key, &seen);
        if let Some(meant) = meant.filter(|_| !unclear.is_empty() && !left().is_zero()) {
            let texts = unclear.iter().map(|at| tool_text(&snapshot.catalog.tools()[*at])).collect();
            let fits = self.meanings.read(meant, &key.task, texts).await;
            seen.read = unclear.into_iter().zip(fits).collect();
        }
        seen
    }

    fn scene(&self) -> Scene {
        let settings = self.settings.read().expect("no holder panics");
        let is_failed = |state: State| matches!(state, State::Failed { .. });
        let failed = settings.upstreams.iter().filter(|(_, upstream)| is_failed(upstream.state()));
        Scene {
            config: Arc::clone(&settings.config),
            policy: Arc::clone(&settings.policy),
            settings: settings.number,
            failed: failed.map(|(name, _)| Arc::clone(name)).collect(),
            meant: self.meanings.now(),
        }
    }
}

/// What a search asks.
fn search(scene: &Scene, snapshot: &Snapshot, query: &str, limit: usize) -> Key {
    Key {
        task: normalised(query),
        preferred_server: None,
        servers: Vec::new(),
        recent: Vec::new(),
        failed: Vec::new(),
        candidates: limit,
        world: scene.world(snapshot),
    }
}

/// Ranks tools for a search.
fn rank(scene: &Scene, snapshot: &Snapshot, key: &Key, seen: &Seen) -> Vec<(usize, f32)> {
    let limit = key.candidates;
    let decision = make(scene, snapshot, key, (seen, Reasons::LeftOut));
    let mut found: Vec<(usize, f32)> =
        decision.candidates.iter().map(|candidate| (candidate.position, candidate.score)).collect();
    let hits = snapshot.index().words.search(&key.task, limit);
    if decision.judgement.none >= HOPELESS {
        // Something is always nearest in meaning.
        found.retain(|(position, _)| hits.iter().any(|hit| hit.position == *position));
    }
    // Who asks for many gets what shares fewer words, too.
    let least = found.last().map_or(0.0, |(_, score)| *score);
    for hit in hits {
        let is_new = found.len() < limit && !found.iter().any(|(position, _)| *position == hit.position);
        if is_new && scene.standing(snapshot, &snapshot.catalog.tools()[hit.position], (&[], &[])).is_visible
        {
            found.push((hit.position, least - 1.0 / (1.0 + hit.score)));
        }
    }
    found.truncate(limit);
    found
}

/// What was seen of a request by its meaning.
struct Seen {
    sensed: Sensed,
    /// How well it fits the tools that were read beside it, by position.
    read: Vec<(usize, f32)>,
}

impl Seen {
    fn request<'a>(&'a self, key: &'a Key) -> Request<'a> {
        let sense = match &self.sensed {
            Sensed::Known(sense) => Some(sense),
            Sensed::Nothing | Sensed::Failed => None,
        };
        Request { task: &key.task, sense, read: &self.read }
    }
}

/// Decides; everything that it depends on is in the scene, the snapshot and the key.
fn make(scene: &Scene, snapshot: &Snapshot, key: &Key, (seen, reasons): (&Seen, Reasons)) -> Decision {
    let confidence = scene.config.routing.confidence_threshold;
    let rules = Rules { confidence, candidates: key.candidates, reasons };
    let how = (scene.profile(), rules);
    scene.around(snapshot, key, |situation| {
        route::route(snapshot.index(), &snapshot.catalog, seen.request(key), situation, how)
    })
}

/// The tools that should be read before deciding.
fn unclear(scene: &Scene, snapshot: &Snapshot, key: &Key, seen: &Seen) -> Vec<usize> {
    let Method::Fitted(weights) = scene.profile() else { return Vec::new() };
    scene.around(snapshot, key, |situation| {
        route::unclear(snapshot.index(), &snapshot.catalog, seen.request(key), situation, weights)
    })
}
