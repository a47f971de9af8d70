//! The tools of a set as the product sees them, and what it decides about requests.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::value::to_raw_value;
use serde_json::{Map, Value};
use toolyard_core::catalog::{Advertised, Bounds, Catalog};
use toolyard_core::domain;
use toolyard_core::embed::Embedding;
use toolyard_core::fill::{self, Form, Wish};
use toolyard_core::hazard;
use toolyard_core::index::{Index, Meaning};
use toolyard_core::metadata::{Knowledge, Library};
use toolyard_core::plan::{self, Splitting};
use toolyard_core::route::{
    self, Decision, Method, Reasons, Request, Rules, Sense, Situation, Standing, Verdict,
};
use toolyard_core::session::{self, Caps, Registered, Registry, Said, Stock, Toolset};
use toolyard_core::task::clauses;
use toolyard_core::tool::Effect;

use super::arguments::WRITTEN;
use super::bm25::Bm25;
use super::sets::{Case, Listed, Unserved};
use super::{MOST, Way};

/// The tools of a set as the product sees them.
#[derive(Debug)]
pub(super) struct Yard {
    catalog: Catalog,
    index: Index,
    /// What conversations can be given.
    registry: Registry,
    /// What the tools mean, where something compares meanings.
    meaning: Option<Meaning>,
    /// The place in the set of each tool of the catalog.
    places: Vec<usize>,
    /// How many tools the catalog did not take.
    pub(super) rejected: usize,
    /// How many tools have metadata that somebody wrote.
    pub(super) written: usize,
}

/// What became of a request.
#[derive(Debug)]
pub(super) struct Seen {
    /// The places of the tools that may be meant, likeliest first.
    pub(super) ranked: Vec<usize>,
    /// The same by plain BM25.
    pub(super) bm25: Vec<usize>,
    pub(super) step: Step,
    pub(super) confidence: f64,
    /// Whether it would act if any confidence were enough.
    pub(super) may_act: bool,
    /// Whether the first tool destroys something, so that a person is asked first.
    pub(super) is_destructive: bool,
    /// The places of the tools of a plan for it, where several steps are expected.
    pub(super) planned: Vec<usize>,
    /// Whether it is taken apart although nobody said that it has several steps.
    pub(super) is_split: bool,
    pub(super) given: Given,
}

/// What a conversation that begins with a request is given.
#[derive(Debug)]
pub(super) struct Given {
    /// The places of the tools.
    pub(super) tools: Vec<usize>,
    /// Those of them that come with domains.
    pub(super) of_domains: Vec<usize>,
    /// The tokens of the list.
    pub(super) tokens: usize,
}

/// What the product does about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Runs the first tool.
    Act,
    /// Would run the first tool, which destroys something, and has that confirmed.
    Confirm,
    Ask,
    Abstain,
}

/// A request that is vaguer than this is given no tools of its own.
const VAGUE: f64 = 0.5;

/// Candidates that are weighed when a conversation is given its tools.
const WEIGHED: usize = 20;

/// How the product takes a listing by default, except that a set without servers is one long listing.
const BOUNDS: Bounds = Bounds { tools: usize::MAX, name_chars: 128, description_chars: 16_384, nesting: 127 };

impl Yard {
    /// Takes in the tools at some places of a set.
    pub(super) fn new(tools: &[Listed], among: impl IntoIterator<Item = usize>, way: &Way) -> Self {
        let mut yard = Self::without_meaning(tools, among, way);
        yard.meaning = way.model.meaning(&yard.catalog, &yard.index);
        yard
    }

    /// Takes in all tools of a set, and shows how many vectors have to be computed for that.
    pub(super) fn of_set(tools: &[Listed], way: &Way, begin: impl Fn(usize), done: impl Fn(usize)) -> Self {
        let mut yard = Self::without_meaning(tools, 0..tools.len(), way);
        way.model.learn(&yard.catalog, &yard.index, begin, done);
        yard.meaning = way.model.meaning(&yard.catalog, &yard.index);
        yard
    }

    fn without_meaning(tools: &[Listed], among: impl IntoIterator<Item = usize>, way: &Way) -> Self {
        // Servers in the order of the set, as those of a hub are in the order of its settings.
        let mut servers: Vec<Advertised> = Vec::new();
        let mut at_server: HashMap<&str, usize> = HashMap::new();
        let mut names: HashSet<(&str, String)> = HashSet::new();
        let mut given: Vec<(usize, &str, String)> = Vec::new();
        for place in among {
            let Listed { server, name, definition } = &tools[place];
            // A second tool of the same name must stay apart; the mark adds no word to it.
            let mut own = name.clone();
            while !names.insert((server, own.clone())) {
                own.push('_');
            }
            let mut definition = definition.clone();
            definition["name"] = Value::String(own.clone());
            let raw = to_raw_value(&definition).expect("a JSON value has a text");
            let at = *at_server.entry(server).or_insert_with(|| {
                servers.push(Advertised { server: Arc::from(&**server), tools: Vec::new() });
                servers.len() - 1
            });
            servers[at].tools.push(raw);
            given.push((place, server, own));
        }
        let (catalog, _) = Catalog::gather(servers.into_iter().map(|server| (server, BOUNDS)));
        let mut places = vec![usize::MAX; catalog.len()];
        let mut rejected = 0;
        for (place, server, name) in given {
            match catalog.find(server, &name).and_then(|tool| catalog.position(tool.id.as_str())) {
                Some(position) => places[position] = place,
                None => rejected += 1,
            }
        }
        let library = way.has_library.then(Library::builtin);
        let knowledge = Knowledge::gather(&catalog, library, &[], |_| None);
        let written = knowledge.written();
        let mut registry = Registry::default();
        let domains = domain::infer(&catalog, &knowledge, |_| None);
        for (at, (tool, domain)) in catalog.tools().iter().zip(domains).enumerate() {
            let (name, action) = (tool.id.as_str().into(), knowledge.of(at).action);
            let entry = Registered { name, group: Arc::clone(&tool.server), action, tags: vec![domain] };
            registry.add_tool(entry, None);
        }
        let index = Index::new(&catalog, knowledge);
        Self { index, catalog, registry, meaning: None, places, rejected, written }
    }

    fn sense(&self, request: Option<&[Embedding]>) -> Option<Sense> {
        let meaning = self.meaning.as_ref()?;
        Some(meaning.sense(request?).expect("all vectors are of one model"))
    }

    fn decide(&self, task: &str, sense: Option<&Sense>, way: &Way, rules: Rules) -> Decision {
        let situation = Situation { preferred_server: None, standing: &|_| Standing::PLAIN };
        let first = Request { task, sense, read: &[] };
        let read = way.weights.as_ref().map(|weights| {
            let unclear = route::unclear(&self.index, &self.catalog, first, &situation, weights);
            way.model.read(task, &self.catalog, &unclear)
        });
        let request = Request { read: read.as_deref().unwrap_or_default(), ..first };
        let profile = way.weights.as_ref().map_or(Method::Seed, Method::Fitted);
        route::route(&self.index, &self.catalog, request, &situation, (profile, rules))
    }

    /// Whether the call would be confirmed first, by its tool or by the arguments that the words give it.
    fn destroys(&self, task: &str, position: usize, decision: &Decision) -> bool {
        let tool = &self.catalog.tools()[position];
        let given = Map::new();
        let wish = Wish { task, given: &given, earlier: &[], now: WRITTEN };
        let filled = Value::Object(fill::fill(&Form::of(tool), &wish).object());
        let known = self.index.knowledge.of(position).effect;
        route::destroys(&self.index, &self.catalog, position, &decision.intent)
            || hazard::assess(tool, known, &filled).effect == Effect::Destroy
    }

    fn see(&self, task: &str, bm25: Option<&Bm25>, way: &Way) -> Seen {
        let rules = Rules { confidence: way.threshold, candidates: WEIGHED, reasons: Reasons::LeftOut };
        let sense = self.sense(way.model.request(task).as_deref());
        let decision = self.decide(task, sense.as_ref(), way, rules);
        let first = decision.candidates.first();
        let is_destructive = first.is_some_and(|first| self.destroys(task, first.position, &decision));
        let acts = |decision: &Decision| decision.verdict == Verdict::Act;
        let step = match decision.verdict {
            Verdict::Act if is_destructive => Step::Confirm,
            Verdict::Act => Step::Act,
            Verdict::Ask(_) => Step::Ask,
            Verdict::Abstain => Step::Abstain,
        };
        // What else can hold it back is for the product to know, so it is asked, not rebuilt here.
        let bold = || self.decide(task, sense.as_ref(), way, Rules { confidence: 0.0, ..rules });
        let may_act = acts(&decision) || acts(&bold());
        let planned = self.plan(task, &decision, (way, rules), Splitting::Bold);
        let is_split = self.plan(task, &decision, (way, rules), Splitting::Careful).len() > 1;
        Seen {
            given: self.give(task, &decision, (way, rules)),
            planned: planned.into_iter().map(|position| self.places[position]).collect(),
            is_split,
            ranked: decision
                .candidates
                .iter()
                .take(MOST)
                .map(|candidate| self.places[candidate.position])
                .collect(),
            bm25: bm25.map(|bm25| bm25.rank(task, MOST)).unwrap_or_default(),
            step,
            confidence: decision.confidence,
            may_act,
            is_destructive,
        }
    }

    /// Gives a conversation that begins with a task its tools, as the surface `toolset` does: at most ten.
    fn give(&self, task: &str, whole: &Decision, (way, rules): (&Way, Rules)) -> Given {
        let shares = |decision: &Decision| -> Vec<(Arc<str>, f32)> {
            let id = |position: usize| self.catalog.tools()[position].id.as_str().into();
            decision.candidates.iter().map(|it| (id(it.position), it.probability)).collect()
        };
        let mut parts = vec![shares(whole)];
        let cut = clauses(task);
        for at in (0..cut.len()).filter(|_| cut.len() > 1).take(4) {
            let spoken = plan::spoken(&cut, at);
            let sense = self.sense(way.model.request(&spoken).as_deref());
            parts.push(shares(&self.decide(&spoken, sense.as_ref(), way, rules)));
        }
        let ranked = session::merged(parts);
        let domains = session::meant(&self.registry, task, &ranked);
        let caps = Caps { max_listed: MOST, ..Caps::STANDARD };
        let most = if whole.judgement.vague < VAGUE { caps.max_tools } else { 0 };
        let bound = session::needed(&self.registry, &domains, &ranked, most);
        let skills = BTreeMap::new();
        let stock = Stock { registry: &self.registry, core: &[], tier: None, skills: &skills, caps };
        let names: Vec<Arc<str>> = ranked.into_iter().map(|(name, _)| name).collect();
        let message = Said { domains: &domains, ranked: &names, bound: &bound };
        let mut toolset = Toolset::default();
        let names = toolset.select(&stock, &message).tool_names;
        let places = |names: &mut dyn Iterator<Item = &Arc<str>>| -> Vec<usize> {
            names.filter_map(|name| self.catalog.position(name)).map(|at| self.places[at]).collect()
        };
        let listed = |name: &Arc<str>| self.catalog.get(name).map_or(0, |tool| tool.listed().len());
        Given {
            tools: places(&mut names.iter()),
            of_domains: places(&mut names.iter().filter(|name| !toolset.bound().contains(name))),
            tokens: names.iter().map(listed).sum::<usize>().div_ceil(4),
        }
    }

    /// Returns the tokens of a list of all tools.
    pub(super) fn tokens(&self) -> usize {
        let bytes: usize = self.catalog.tools().iter().map(|tool| tool.listed().len()).sum();
        bytes.div_ceil(4)
    }

    /// Plans a task as the product does: which tool each of its requests means.
    fn plan(
        &self,
        task: &str,
        whole: &Decision,
        (way, rules): (&Way, Rules),
        splitting: Splitting,
    ) -> Vec<usize> {
        let decide = |words: &str| {
            let sense = self.sense(way.model.request(words).as_deref());
            self.decide(words, sense.as_ref(), way, rules)
        };
        let cut = clauses(task);
        if cut.len() < 2 {
            return whole.candidates.first().map(|first| first.position).into_iter().collect();
        }
        let alone: Vec<Decision> = (0..cut.len()).map(|at| decide(&plan::spoken(&cut, at))).collect();
        let seen: Vec<&Decision> = alone.iter().collect();
        let settled = plan::settle(task, cut, (&seen, whole), splitting);
        let decisions: Vec<Decision> =
            (0..settled.len()).map(|at| decide(&plan::spoken(&settled, at))).collect();
        let seen: Vec<&Decision> = decisions.iter().collect();
        plan::choose(&self.catalog, &seen, whole)
            .into_iter()
            .flatten()
            .map(|choice| choice.position)
            .collect()
    }

    /// Decides about every request, on all cores.
    pub(super) fn see_all(
        &self,
        cases: &[Case],
        bm25: &Bm25,
        way: &Way,
        done: impl Fn() + Sync,
    ) -> Vec<Seen> {
        in_parallel(cases, |case: &Case| {
            let seen = self.see(&case.task, Some(bm25), way);
            done();
            seen
        })
    }

    /// Returns how long a decision takes, in microseconds: the median over a sample, on one core,
    /// without the time that the model takes.
    pub(super) fn median_us(&self, cases: &[Case], way: &Way) -> f64 {
        let rules = Rules { confidence: way.threshold, candidates: OFFERED, reasons: Reasons::LeftOut };
        let step = cases.len().div_ceil(SAMPLE).max(1);
        let mut times: Vec<f64> = cases
            .iter()
            .step_by(step)
            .map(|case| {
                let meant = way.model.request(&case.task);
                // What the model reads for it is known the second time.
                self.decide(&case.task, self.sense(meant.as_deref()).as_ref(), way, rules);
                let begin = Instant::now();
                let sense = self.sense(meant.as_deref());
                std::hint::black_box(self.decide(&case.task, sense.as_ref(), way, rules));
                begin.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or_default()
    }
}

/// Alternatives that a question offers at most.
pub(super) const OFFERED: usize = 5;

/// Decisions that are timed at most.
const SAMPLE: usize = 200;

/// Decides about requests that no tool can serve, each among the tools that are there for it.
pub(super) fn see_unserved(
    yard: &Yard,
    tools: &[Listed],
    unserved: &[Unserved],
    way: &Way,
    done: impl Fn() + Sync,
) -> Vec<Seen> {
    in_parallel(unserved, |request: &Unserved| {
        let seen = match request.among.as_slice() {
            [] => yard.see(&request.task, None, way),
            among => Yard::new(tools, among.iter().copied(), way).see(&request.task, None, way),
        };
        done();
        seen
    })
}

/// Maps items in order, on all cores.
fn in_parallel<T: Sync, R: Send>(items: &[T], map: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let workers = std::thread::available_parallelism().map_or(1, |count| count.get());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, map(item)));
        }
    };
    let mut all: Vec<(usize, R)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().flat_map(join).collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, mapped)| mapped).collect()
}
