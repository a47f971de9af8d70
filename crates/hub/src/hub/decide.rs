//! Which tool is meant: the one place where words, catalog, configuration and conversation meet.

use std::sync::Arc;
use std::time::{Duration, Instant};

use toolyard_core::index::tool_text;
use toolyard_core::route::{
    self, Decision, Method, Reasons, Request, Rules, Situation, Standing, Verdict, Weights,
};
use toolyard_core::session::USUAL;
use toolyard_core::tool::Tool;

use super::Hub;
use crate::config::{self, Config};
use crate::live::Snapshot;
use crate::meaning::{Published, Readiness, Sensed};
use crate::policy::Policy;
use crate::routing::{Key, Measured, Provisional, Tally, Wanted, World, freshness, normalised};
use crate::store::MeaningStatus;
use crate::upstream::State;

/// Candidates that can be asked for.
const MOST_CANDIDATES: usize = 50;

/// A search that surely nothing fits finds only what shares a word with it.
const HOPELESS: f64 = 0.75;

/// How many times longer than usual a request may take that comes before the vectors of its tools.
const FIRST_CALL: u32 = 20;
/// Tools that words make likely; their vectors are waited for.
const LIKELY: usize = 32;

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
            meaning: self.meant.as_ref().map_or((0, 0), |meant| meant.series()),
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
        let (mut scene, start) = (self.scene(), Instant::now());
        let config = Arc::clone(&scene.config);
        let routing = &config.routing;
        let recent = wanted.conversation.map(|it| self.memory.recent.of(it, start)).unwrap_or_default();
        let mut key = Key {
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
        let is_clear = |scene: &Scene, key: &Key, seen: &Seen| {
            make(scene, snapshot, key, (seen, Reasons::LeftOut)).verdict == Verdict::Act
        };
        let Looked { seen, is_final, waited } =
            self.look_in_time(&mut scene, snapshot, &mut key, &is_clear).await;
        let decision = Arc::new(make(&scene, snapshot, &key, (&seen, Reasons::Given)));
        let took = start.elapsed().saturating_sub(waited);
        if took > routing.performance.max_routing_time {
            self.memory.cache.count_late();
            tracing::debug!("choosing a tool took {took:?}");
        }
        if let (false, Some(provisional)) = (is_final, wanted.provisional) {
            provisional.note();
        }
        // The model may answer the next time.
        if is_remembering && is_final && !matches!(seen.sensed, Sensed::Failed) {
            self.memory.cache.put(key, Arc::clone(&decision), start, routing.cache_size);
        }
        decision
    }

    /// Ranks tools for a search, the best first, with scores that compare only with one another. `provisional` is told
    /// when some of them were not understood yet.
    pub async fn find(
        &self,
        snapshot: &Snapshot,
        (query, limit): (&str, usize),
        provisional: &Provisional,
    ) -> Vec<(usize, f32)> {
        let mut scene = self.scene();
        let mut key = search(&scene, snapshot, query, limit);
        let looked = self.look_in_time(&mut scene, snapshot, &mut key, &|_, _, _| false).await;
        if !looked.is_final {
            provisional.note();
        }
        rank(&scene, snapshot, &key, &looked.seen)
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

    /// Looks at a request once the vectors are there that it needs: all of them for the first request of a new catalog,
    /// later those of the tools that its words make likely. Scene and key are brought up to date.
    async fn look_in_time(
        &self,
        scene: &mut Scene,
        snapshot: &Snapshot,
        key: &mut Key,
        is_clear: &(dyn Fn(&Scene, &Key, &Seen) -> bool + Sync),
    ) -> Looked {
        let start = Instant::now();
        let readiness = self.ready(scene, snapshot, key).await;
        let waited = start.elapsed();
        scene.meant = self.meanings.now();
        key.world = scene.world(snapshot);
        let seen = self.look(scene, snapshot, key, readiness).await;
        let is_final = match readiness {
            Readiness::Complete => true,
            Readiness::Likely => is_clear(scene, key, &seen),
            Readiness::Lacking => false,
        };
        Looked { seen, is_final, waited }
    }

    /// Waits for the vectors that a request needs, as long as a first call may take.
    async fn ready(&self, scene: &Scene, snapshot: &Snapshot, key: &Key) -> Readiness {
        let (routing, start) = (&scene.config.routing, Instant::now());
        let is_compared = routing.semantic_search.enabled && !key.task.is_empty();
        if !is_compared || matches!(scene.profile(), Method::Seed) {
            return Readiness::Complete;
        }
        let before = self.meanings.readiness(scene.meant.as_deref(), snapshot, &[]);
        if before == Readiness::Complete {
            return before;
        }
        let (likely, newest) = (likely(scene, snapshot, key), self.snapshot());
        if newest.number != snapshot.number {
            return self.meanings.readiness(scene.meant.as_deref(), snapshot, &likely);
        }
        let patience = routing.performance.max_routing_time * FIRST_CALL;
        let until = self.meanings.all_until(snapshot, patience);
        match self.meanings.wait(&newest, &likely, (Readiness::Complete, until)).await {
            Readiness::Lacking => {
                self.meanings.wait(&newest, &likely, (Readiness::Likely, start + patience)).await
            }
            enough @ (Readiness::Likely | Readiness::Complete) => enough,
        }
    }

    /// Compares a request and the tools by the vectors that are there now, and reads closely what that leaves open.
    async fn look(&self, scene: &Scene, snapshot: &Snapshot, key: &Key, readiness: Readiness) -> Seen {
        let mut seen = Seen { sensed: Sensed::Nothing, read: Vec::new() };
        let is_enough = |meant: &&Published| readiness > Readiness::Lacking || meant.covers(snapshot);
        let Some(meant) = scene.meant.as_deref().filter(is_enough) else { return seen };
        let routing = &scene.config.routing;
        let how = (&routing.semantic_search, routing.performance.max_routing_time);
        seen.sensed = self.meanings.sense(meant, (snapshot, &key.task), how).await;
        let unclear = unclear(scene, snapshot, key, &seen);
        if !unclear.is_empty() {
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

/// What was seen of a request, and whether that is all there is to see.
struct Looked {
    seen: Seen,
    /// Whether vectors that come later change nothing about what is decided.
    is_final: bool,
    /// How long vectors were waited for.
    waited: Duration,
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

/// The tools that words and metadata make likely, likeliest first.
fn likely(scene: &Scene, snapshot: &Snapshot, key: &Key) -> Vec<usize> {
    let key = Key { candidates: LIKELY, ..key.clone() };
    let unseen = Seen { sensed: Sensed::Nothing, read: Vec::new() };
    let decision = make(scene, snapshot, &key, (&unseen, Reasons::LeftOut));
    decision.candidates.iter().map(|candidate| candidate.position).collect()
}

/// The tools that should be read before deciding.
fn unclear(scene: &Scene, snapshot: &Snapshot, key: &Key, seen: &Seen) -> Vec<usize> {
    let Method::Fitted(weights) = scene.profile() else { return Vec::new() };
    scene.around(snapshot, key, |situation| {
        route::unclear(snapshot.index(), &snapshot.catalog, seen.request(key), situation, weights)
    })
}
