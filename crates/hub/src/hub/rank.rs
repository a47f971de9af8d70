//! How tools rank for words: the one place where words, catalog, configuration and conversation meet.

use std::sync::Arc;
use std::time::{Duration, Instant};

use toolyard_core::decide::normalised;
use toolyard_core::index::tool_text;
use toolyard_core::lessons::Similar;
use toolyard_core::rank::{
    self, Availability, Candidate, Decision, Method, Ranked, Reasons, Request, Rules, Scope, Sense, Verdict,
    Weights,
};
use toolyard_core::session::USUAL;
use toolyard_core::thresholds::thresholds;
use toolyard_core::tool::{Effect, Tool};
use toolyard_encoder::Embedding;

use super::Hub;
use super::call::effect_before_arguments;
use super::screening::quarantined;
use crate::clock::now_ms;
use crate::config::{self, Config, Transport};
use crate::learnt::Known;
use crate::live::Snapshot;
use crate::meaning::{Published, Readiness, Sensed};
use crate::policy::Policy;
use crate::routing::{Findings, Key, LOCAL, Measured, Provisional, Tally, Wanted, World, freshness};
use crate::screening::Screenings;
use crate::store::MeaningStatus;
use crate::upstream::State;

/// Candidates that can be asked for.
const MOST_CANDIDATES: usize = 50;

/// How many times longer than usual a request may take that comes before the vectors of its tools.
const FIRST_CALL: u32 = 20;
/// Tools that words make likely; their vectors are waited for.
const LIKELY: usize = 32;
/// Tools that a ranker of the person's own is asked about.
const ASKED_ABOUT: usize = 20;

/// What the configuration and the servers say about tools at one moment.
struct Scene {
    config: Arc<Config>,
    policy: Arc<Policy>,
    screenings: Arc<Screenings>,
    settings: u64,
    failed: Vec<Arc<str>>,
    /// What is known of the tools' meanings.
    meant: Option<Arc<Published>>,
    /// What people said about earlier decisions.
    learnt: Known,
}

impl Scene {
    fn world(&self, snapshot: &Snapshot) -> World {
        World {
            snapshot: snapshot.number,
            settings: self.settings,
            meaning: self.meant.as_ref().map_or((0, 0), |meant| meant.series()),
            lessons: self.learnt.number,
        }
    }

    fn availability(&self, snapshot: &Snapshot, tool: &Tool, key: &Key) -> Availability {
        let id = tool.id.as_str();
        let is_shown = key.servers.is_empty() || key.servers.iter().any(|server| **server == *tool.server);
        let tier = super::toolset::written_tier(&self.config, id).unwrap_or(USUAL);
        let effect = || snapshot.facts(tool).map_or(tool.effect, |facts| facts.effect);
        let is_held = || quarantined(&self.config, &self.screenings, snapshot, tool).is_some();
        Availability {
            is_visible: is_shown
                && tool.is_for_models()
                && self.is_within(snapshot, tool, key.effect)
                && self.policy.permits(tool, effect)
                && !is_held(),
            is_up: !self.failed.contains(&tool.server),
            tier,
            recent: freshness(&key.recent, id),
            since: snapshot.first_seen(tool),
        }
    }

    /// Whether a tool does no more than this, as far as is known before its arguments are.
    fn is_within(&self, snapshot: &Snapshot, tool: &Tool, most: Effect) -> bool {
        let server = || self.config.servers.get(&*tool.server);
        let is_builtin = || server().is_some_and(|it| matches!(it.transport, Transport::Builtin(_)));
        most == Effect::Destroy || effect_before_arguments(snapshot, tool, is_builtin) <= most
    }

    fn scope<'a>(
        &self,
        snapshot: &'a Snapshot,
        key: &'a Key,
        availability: &'a (dyn Fn(&Tool) -> Availability + Sync),
        liked: &'a [(usize, f32)],
    ) -> Scope<'a> {
        let preferred_server = key.preferred_server.as_deref();
        Scope { catalog: &snapshot.catalog, index: snapshot.index(), preferred_server, availability, liked }
    }

    /// Returns which tools were right or wrong for such a request before, by position.
    fn liked(&self, snapshot: &Snapshot, key: &Key, meaning: Option<&Embedding>) -> Vec<(usize, f32)> {
        let similar = Similar { words: &key.task, meaning, who: &key.person, now: now_ms() };
        let likings = self.learnt.lessons.likings(&similar).into_iter();
        likings.filter_map(|it| Some((snapshot.catalog.position(&it.tool)?, it.value))).collect()
    }

    fn rules(&self, key: &Key, reasons: Reasons) -> Rules<'static> {
        let confidence = self.config.routing.confidence_threshold;
        Rules { method: self.profile(), confidence, candidates: key.candidates, reasons }
    }

    /// Ranks by words and metadata alone, at once.
    fn by_words(&self, snapshot: &Snapshot, key: &Key, reasons: Reasons) -> Decision {
        let liked = self.liked(snapshot, key, None);
        self.decided(snapshot, (key, None), &liked, self.rules(key, reasons))
    }

    /// Ranks by what is known at once.
    fn decided(
        &self,
        snapshot: &Snapshot,
        (key, sense): (&Key, Option<&Sense>),
        liked: &[(usize, f32)],
        rules: Rules<'_>,
    ) -> Decision {
        let availability = |tool: &Tool| self.availability(snapshot, tool, key);
        let scope = self.scope(snapshot, key, &availability, liked);
        rank::decide(scope, Request { task: &key.task, sense }, rules)
    }

    fn profile(&self) -> Method<'static> {
        match self.config.routing.profile {
            config::Ranking::Fitted => Method::Fitted(Weights::builtin()),
            config::Ranking::Seed => Method::Seed,
        }
    }
}

impl Hub {
    /// Ranks tools for words and decides which is meant, or finds that it was decided before.
    pub async fn rank(&self, snapshot: &Snapshot, wanted: &Wanted<'_>) -> Arc<Decision> {
        let (mut scene, start) = (self.scene_learnt().await, Instant::now());
        let config = Arc::clone(&scene.config);
        let routing = &config.routing;
        let recent = wanted.conversation.map(|it| self.memory.recent.of(it, start)).unwrap_or_default();
        let mut key = Key {
            task: normalised(wanted.task),
            preferred_server: wanted.preferred_server.map(str::to_owned),
            person: wanted.person.into(),
            servers: wanted.servers.to_vec(),
            effect: wanted.effect,
            recent,
            failed: scene.failed.clone(),
            candidates: wanted.candidates.unwrap_or(routing.max_candidates).clamp(1, MOST_CANDIDATES),
            world: scene.world(snapshot),
        };
        let is_remembering = routing.enable_caching && routing.cache_size > 0;
        // What was used lately has no say about others, and only makes surer what was sure without it.
        let stands = |known: &Decision| {
            let mut recent = known.candidates.iter().map(|it| is_recent(&key.recent, snapshot, it));
            let is_first = recent.next() == Some(true);
            !recent.any(|it| it) && (!is_first || known.verdict == Verdict::Act)
        };
        let age = (start, routing.cache_ttl);
        let known = is_remembering.then(|| self.memory.cache.get(&key, age, stands)).flatten();
        if let Some(known) = known {
            if let Some(provisional) = wanted.provisional {
                provisional.note_remembered();
            }
            return known;
        }
        let ranking = self.rank_in_time(&mut scene, snapshot, &mut key, Reasons::Given).await;
        let decision = Arc::new(ranking.decision);
        let took = start.elapsed().saturating_sub(ranking.waited);
        if took > routing.performance.max_routing_time {
            self.memory.cache.count_late();
            tracing::debug!("choosing a tool took {took:?}");
        }
        // Vectors that come later change nothing about what is clear already.
        let is_final = match ranking.readiness {
            Readiness::Complete => true,
            Readiness::Likely => decision.verdict == Verdict::Act,
            Readiness::Lacking => false,
        };
        if let (false, Some(provisional)) = (is_final, wanted.provisional) {
            provisional.note();
        }
        // The model may answer the next time.
        if is_remembering && is_final && !ranking.has_failed {
            // What was used lately and is no candidate had no say.
            if !decision.candidates.iter().any(|it| is_recent(&key.recent, snapshot, it)) {
                key.recent.clear();
            }
            self.memory.cache.put(key, Arc::clone(&decision), start, routing.cache_size);
        }
        decision
    }

    /// Ranks tools for words as if this were the least confidence to act with. Nothing is remembered or counted.
    pub(super) async fn rank_unnoticed(
        &self,
        snapshot: &Snapshot,
        wanted: &Wanted<'_>,
        confidence: f64,
    ) -> Decision {
        let mut scene = self.scene();
        let mut config = Config::clone(&scene.config);
        config.routing.confidence_threshold = confidence;
        // It is a tool, and each call of it would count.
        config.routing.ranker = None;
        let mut key = Key {
            task: normalised(wanted.task),
            preferred_server: wanted.preferred_server.map(str::to_owned),
            person: wanted.person.into(),
            servers: wanted.servers.to_vec(),
            effect: wanted.effect,
            recent: Vec::new(),
            failed: scene.failed.clone(),
            candidates: wanted.candidates.unwrap_or(config.routing.max_candidates).clamp(1, MOST_CANDIDATES),
            world: scene.world(snapshot),
        };
        scene.config = Arc::new(config);
        self.rank_in_time(&mut scene, snapshot, &mut key, Reasons::LeftOut).await.decision
    }

    /// Ranks tools for a search, the best first, with scores that compare only with one another. `provisional` is told
    /// when some of them were not understood yet.
    pub async fn find(
        &self,
        snapshot: &Snapshot,
        query: &str,
        limit: usize,
        provisional: &Provisional,
    ) -> Findings {
        let mut scene = self.scene_learnt().await;
        let mut key = search(&scene, snapshot, query, limit);
        let ranking = self.rank_in_time(&mut scene, snapshot, &mut key, Reasons::LeftOut).await;
        if ranking.readiness != Readiness::Complete {
            provisional.note();
        }
        let tools = found(&scene, snapshot, &key, &ranking.decision);
        Findings { tools, is_close: !ranking.decision.judgement.fits_nothing() }
    }

    /// Does the same by words and metadata alone, at once.
    pub(super) fn find_by_words(&self, snapshot: &Snapshot, query: &str, limit: usize) -> Vec<(usize, f32)> {
        let scene = self.scene();
        let key = search(&scene, snapshot, query, limit);
        found(&scene, snapshot, &key, &scene.by_words(snapshot, &key, Reasons::LeftOut))
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

    /// Ranks once the vectors are there that a request needs: all of them for the first request of a new catalog, later
    /// those of the tools that its words make likely. Scene and key are brought up to date.
    async fn rank_in_time(
        &self,
        scene: &mut Scene,
        snapshot: &Snapshot,
        key: &mut Key,
        reasons: Reasons,
    ) -> Ranking {
        let start = Instant::now();
        let readiness = self.ready(scene, snapshot, key).await;
        let waited = start.elapsed();
        scene.meant = self.meanings.now();
        scene.learnt = self.known_lessons(&scene.config, scene.meant.as_ref()).await;
        key.world = scene.world(snapshot);
        let is_enough = |meant: &&Published| readiness > Readiness::Lacking || meant.covers(snapshot);
        let Some(meant) = scene.meant.as_deref().filter(is_enough) else {
            let liked = scene.liked(snapshot, key, None);
            let own = self.with_ranker(scene, snapshot, (key, None), liked).await;
            let decision = scene.decided(snapshot, (key, None), &own.liked, scene.rules(key, reasons));
            return Ranking { decision, readiness, has_failed: own.has_failed, waited: waited + own.waited };
        };
        let routing = &scene.config.routing;
        let how = (&routing.semantic_search, routing.performance.max_routing_time);
        let sensed = self.meanings.sense(meant, (snapshot, &key.task), how).await;
        let has_failed = matches!(sensed, Sensed::Failed);
        let (sense, whole) = match &sensed {
            Sensed::Known(sense, whole) => (Some(sense), Some(whole)),
            Sensed::Nothing | Sensed::Failed => (None, None),
        };
        let availability = |tool: &Tool| scene.availability(snapshot, tool, key);
        let liked = scene.liked(snapshot, key, whole);
        let own = self.with_ranker(scene, snapshot, (key, sense), liked).await;
        let scope = scene.scope(snapshot, key, &availability, &own.liked);
        let decision = match rank::rank(scope, Request { task: &key.task, sense }, scene.rules(key, reasons))
        {
            Ranked::Clear(decision) => decision,
            Ranked::Unclear(open) => {
                let texts = open.tools().iter().map(|at| tool_text(&snapshot.catalog.tools()[*at])).collect();
                let fits = self.meanings.read(meant, &key.task, texts).await;
                let fits: Vec<(usize, f32)> = open.tools().iter().copied().zip(fits).collect();
                open.decide(&fits)
            }
        };
        Ranking { decision, readiness, has_failed: has_failed || own.has_failed, waited: waited + own.waited }
    }

    /// Adds what the person's own ranker says to what was learnt.
    async fn with_ranker(
        &self,
        scene: &Scene,
        snapshot: &Snapshot,
        (key, sense): (&Key, Option<&Sense>),
        mut liked: Vec<(usize, f32)>,
    ) -> Own {
        let Some(ranker) = &scene.config.routing.ranker else {
            return Own { liked, has_failed: false, waited: Duration::ZERO };
        };
        let start = Instant::now();
        let rules = Rules { candidates: ASKED_ABOUT, ..scene.rules(key, Reasons::LeftOut) };
        let nearest = scene.decided(snapshot, (key, sense), &liked, rules).candidates;
        let nearest: Vec<usize> = nearest.iter().map(|it| it.position).collect();
        let said = self.hear_ranker(ranker, (snapshot, &key.task), &nearest).await;
        let has_failed = said.is_none();
        // What a person said of a tool stands.
        let known: Vec<usize> = liked.iter().map(|(position, _)| *position).collect();
        liked.extend(said.into_iter().flatten().filter(|(position, _)| !known.contains(position)));
        Own { liked, has_failed, waited: start.elapsed() }
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

    fn scene(&self) -> Scene {
        let settings = self.settings.read();
        let is_failed = |state: State| matches!(state, State::Failed { .. });
        let failed = settings.upstreams.iter().filter(|(_, upstream)| is_failed(upstream.state()));
        Scene {
            config: Arc::clone(&settings.config),
            policy: Arc::clone(&settings.policy),
            screenings: Arc::clone(&self.screenings),
            settings: settings.number,
            failed: failed.map(|(name, _)| Arc::clone(name)).collect(),
            meant: self.meanings.now(),
            learnt: Known::default(),
        }
    }

    /// Returns the same with what people said about earlier decisions.
    async fn scene_learnt(&self) -> Scene {
        let scene = self.scene();
        let learnt = self.known_lessons(&scene.config, scene.meant.as_ref()).await;
        Scene { learnt, ..scene }
    }

    async fn known_lessons(&self, config: &Config, meant: Option<&Arc<Published>>) -> Known {
        if config.learning.enabled {
            self.learnt.known(&self.meanings, meant).await
        } else {
            Known::default()
        }
    }
}

/// Whether a conversation used a candidate lately.
fn is_recent(recent: &[Arc<str>], snapshot: &Snapshot, candidate: &Candidate) -> bool {
    let id = snapshot.catalog.tools()[candidate.position].id.as_str();
    recent.iter().any(|used| **used == *id)
}

/// What a search asks.
fn search(scene: &Scene, snapshot: &Snapshot, query: &str, limit: usize) -> Key {
    Key {
        task: normalised(query),
        preferred_server: None,
        person: LOCAL.into(),
        servers: Vec::new(),
        effect: Effect::Destroy,
        recent: Vec::new(),
        failed: Vec::new(),
        candidates: limit,
        world: scene.world(snapshot),
    }
}

/// Returns what a search found.
fn found(scene: &Scene, snapshot: &Snapshot, key: &Key, decision: &Decision) -> Vec<(usize, f32)> {
    let limit = key.candidates;
    let mut found: Vec<(usize, f32)> =
        decision.candidates.iter().map(|candidate| (candidate.position, candidate.score)).collect();
    let hits = snapshot.index().words.search(&key.task, limit);
    if decision.judgement.none >= thresholds().decision.no_tool {
        // Something is always nearest in meaning.
        found.retain(|(position, _)| hits.iter().any(|hit| hit.position == *position));
    }
    // Who asks for many gets what shares fewer words, too.
    let least = found.last().map_or(0.0, |(_, score)| *score);
    for hit in hits {
        let is_new = found.len() < limit && !found.iter().any(|(position, _)| *position == hit.position);
        if is_new && scene.availability(snapshot, &snapshot.catalog.tools()[hit.position], key).is_visible {
            found.push((hit.position, least - 1.0 / (1.0 + hit.score)));
        }
    }
    found.truncate(limit);
    found
}

/// What is known to be right or wrong, with what the person's own ranker says.
struct Own {
    liked: Vec<(usize, f32)>,
    /// Whether it did not answer.
    has_failed: bool,
    /// How long it was waited for.
    waited: Duration,
}

/// A decision, and what it was made from.
struct Ranking {
    decision: Decision,
    readiness: Readiness,
    /// Whether the model, or a ranker, did not answer.
    has_failed: bool,
    /// How long vectors and a ranker were waited for.
    waited: Duration,
}

/// The tools that words and metadata make likely, likeliest first.
fn likely(scene: &Scene, snapshot: &Snapshot, key: &Key) -> Vec<usize> {
    let decision = scene.by_words(snapshot, &Key { candidates: LIKELY, ..key.clone() }, Reasons::LeftOut);
    decision.candidates.iter().map(|candidate| candidate.position).collect()
}
