//! The tools of a set as the product sees them, and what it decides about requests.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::value::to_raw_value;
use serde_json::{Map, Value};
use toolyard_core::catalog::{Advertised, Bounds, Catalog};
use toolyard_core::decide::{self, Conclusion, Decide, Draft, Goal, Next, World};
use toolyard_core::domain;
use toolyard_core::hazard;
use toolyard_core::index::{Index, Meaning};
use toolyard_core::metadata::{Knowledge, Library};
use toolyard_core::plan::{Input, Splitting};
use toolyard_core::rank::{
    self, Decision, Intent, Judgement, Method, Ranked, Reasons, Request, Rules, Scope, Verdict,
};
use toolyard_core::session::{self, Caps, Registered, Registry, Said, Stock, Toolset};
use toolyard_core::tool::{Effect, Tool};
use toolyard_encoder::Embedding;

use crate::arguments::WRITTEN;
use crate::bm25::Bm25;
use crate::sets::{Case, Collection, Listed, Unserved};
use crate::{Experiment, MOST};

/// The tools of a set as the product sees them.
#[derive(Debug)]
pub(crate) struct Bench {
    catalog: Catalog,
    index: Index,
    /// What conversations can be given.
    registry: Registry,
    /// What the tools mean, where something compares meanings.
    meaning: Option<Meaning>,
    /// The place in the set of each tool of the catalog.
    places: Vec<usize>,
    /// How many tools the catalog did not take.
    pub(crate) rejected: usize,
    /// How many tools have metadata that somebody wrote.
    pub(crate) written: usize,
}

/// What became of a request.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The places of the tools that may be meant, likeliest first.
    pub(crate) ranked: Vec<usize>,
    /// The same by plain BM25.
    pub(crate) bm25: Vec<usize>,
    pub(crate) step: Step,
    pub(crate) confidence: f64,
    /// Whether it would act if any confidence were enough.
    pub(crate) may_act: bool,
    /// Whether the first tool destroys something, so that a person is asked first.
    pub(crate) is_destructive: bool,
    /// The places of the tools of a plan for it, where several steps are expected.
    pub(crate) planned: Vec<usize>,
    /// Whether it is taken apart although nobody said that it has several steps.
    pub(crate) is_split: bool,
    pub(crate) given: Given,
}

/// What a conversation that begins with a request is given.
#[derive(Debug)]
pub(crate) struct Given {
    /// The places of the tools.
    pub(crate) tools: Vec<usize>,
    /// Those of them that come with domains.
    pub(crate) of_domains: Vec<usize>,
    /// The tokens of the list.
    pub(crate) tokens: usize,
}

/// What the product does about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Runs the first tool.
    Act,
    /// Would run the first tool, which destroys something, and has that confirmed.
    Confirm,
    Ask,
    Abstain,
}

/// What would become of a call of `smart_route`.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// These calls are made.
    Ran(Vec<Sent>),
    /// These calls are made, and what comes after them is named and asked about.
    Stopped(Vec<Sent>),
    /// This call is shown, to be confirmed.
    Confirm(Vec<Sent>),
    /// This call is handed back to be finished.
    Draft(Vec<Sent>),
    /// It is asked which of these tools is meant.
    Asked(Vec<usize>),
    /// No tool fits.
    Declined,
}

/// A call of a tool.
#[derive(Debug)]
pub(crate) struct Sent {
    /// The place of the tool.
    pub(crate) tool: usize,
    pub(crate) arguments: Map<String, Value>,
    /// How likely it is exactly what was asked.
    pub(crate) probability: f64,
    /// Whether nothing is missing or unused.
    pub(crate) is_whole: bool,
}

/// How the product takes a listing by default, except that a set without servers is one long listing.
const BOUNDS: Bounds = Bounds { tools: usize::MAX, name_chars: 128, description_chars: 16_384, nesting: 127 };

impl Bench {
    /// Takes in the tools at some places of a set.
    pub(crate) fn new(
        tools: &[Listed],
        among: impl IntoIterator<Item = usize>,
        settings: &Experiment,
    ) -> Self {
        let mut bench = Self::without_meaning(tools, among, settings);
        bench.meaning = settings.model.meaning(&bench.catalog, &bench.index);
        bench
    }

    /// Takes in all tools of a set, and shows how many vectors have to be computed for that.
    pub(crate) fn of_set(
        tools: &[Listed],
        settings: &Experiment,
        begin: impl Fn(usize),
        done: impl Fn(usize),
    ) -> Self {
        let mut bench = Self::without_meaning(tools, 0..tools.len(), settings);
        settings.model.learn(&bench.catalog, &bench.index, begin, done);
        bench.meaning = settings.model.meaning(&bench.catalog, &bench.index);
        bench
    }

    fn without_meaning(
        tools: &[Listed],
        among: impl IntoIterator<Item = usize>,
        settings: &Experiment,
    ) -> Self {
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
        let library = settings.has_library.then(Library::builtin);
        let knowledge = Knowledge::gather(&catalog, library, &settings.metadata, |_| None);
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

    /// Ranks tools for words as the hub does: by words and vectors, and where that leaves it open, by reading.
    fn rank(&self, words: &str, settings: &Experiment, confidence: f64) -> Decision {
        self.rank_meant(words, settings.model.request(words).as_deref(), settings, (confidence, &[]))
    }

    /// Returns the place of the tool that comes first for words, where some tools were right or wrong for such words before.
    pub(crate) fn first(&self, words: &str, liked: &[(usize, f32)], settings: &Experiment) -> Option<usize> {
        let meant = settings.model.request(words);
        let decision = self.rank_meant(words, meant.as_deref(), settings, (settings.threshold, liked));
        decision.candidates.first().map(|it| self.places[it.position])
    }

    /// Returns the name of the tool at a place of the set; nothing where the catalog did not take it.
    pub(crate) fn id(&self, place: usize) -> Option<Arc<str>> {
        let position = self.places.iter().position(|own| *own == place)?;
        Some(self.catalog.tools()[position].id.as_str().into())
    }

    /// Returns the position of a tool in the catalog.
    pub(crate) fn position(&self, tool: &str) -> Option<usize> {
        self.catalog.position(tool)
    }

    /// Does the same with what the words mean.
    fn rank_meant(
        &self,
        words: &str,
        meant: Option<&[Embedding]>,
        settings: &Experiment,
        (confidence, liked): (f64, &[(usize, f32)]),
    ) -> Decision {
        let sense = self.meaning.as_ref().zip(meant);
        let sense = sense.map(|(it, meant)| it.sense(meant).expect("all vectors are of one model"));
        let method = settings.weights.as_ref().map_or(Method::Seed, Method::Fitted);
        let rules = Rules { method, confidence, candidates: decide::MOST_RANKED, reasons: Reasons::LeftOut };
        let request = Request { task: words, sense: sense.as_ref() };
        let scope = Scope { liked, ..Scope::plain(&self.catalog, &self.index) };
        match rank::rank(scope, request, rules) {
            Ranked::Clear(decision) => decision,
            Ranked::Unclear(open) => {
                let fits = settings.model.read(words, &self.catalog, open.tools());
                open.decide(&fits)
            }
        }
    }

    fn see(&self, task: &str, bm25: Option<&Bm25>, settings: &Experiment) -> Seen {
        let mut desk = Desk { bench: self, settings, known: HashMap::new() };
        let decision = desk.ranked(task);
        let conclusion = desk.decide(task, None, None);
        let first = decision.candidates.first().map(|first| first.position);
        let is_destructive = first.is_some_and(|first| desk.destroys(task, first, &decision.intent));
        let step = match conclusion {
            Conclusion::Call(_) | Conclusion::Draft(_) if is_destructive => Step::Confirm,
            Conclusion::Call(_) | Conclusion::Draft(_) | Conclusion::Plan(_) | Conclusion::Incomplete(_) => {
                Step::Act
            }
            Conclusion::Ask(_) => Step::Ask,
            Conclusion::Decline(_) => Step::Abstain,
        };
        // What else can hold it back is for the product to know, so it is asked, not rebuilt here.
        let acts = |decision: &Decision| decision.verdict == Verdict::Act;
        let may_act = acts(&decision) || acts(&self.rank(task, settings, 0.0));
        let planned = desk.decide(task, None, Some(Splitting::Bold)).tools();
        let is_split = desk.decide(task, None, Some(Splitting::Careful)).tools().len() > 1;
        let place = |position: usize| self.places[position];
        Seen {
            given: desk.give(task),
            planned: planned.into_iter().map(place).collect(),
            is_split,
            ranked: decision.candidates.iter().take(MOST).map(|it| place(it.position)).collect(),
            bm25: bm25.map(|bm25| bm25.rank(task, MOST)).unwrap_or_default(),
            step,
            confidence: decision.confidence,
            may_act,
            is_destructive,
        }
    }

    /// Decides about a call of `smart_route`, and says what would become of it and how its tool was judged.
    pub(crate) fn call(
        &self,
        task: &str,
        values: Option<&Map<String, Value>>,
        settings: &Experiment,
    ) -> (Outcome, Judgement) {
        let mut desk = Desk { bench: self, settings, known: HashMap::new() };
        let given = Map::new();
        let conclusion = desk.conclude(Goal { values, ..Goal::in_words(task, &given) });
        let judgement = conclusion.decision().map(|it| it.judgement).unwrap_or_default();
        let place = |position: usize| self.places[position];
        let sent = |draft: &Draft| {
            let found = draft.settled.found.iter().chain(&draft.settled.guesses);
            let arguments = found.map(|it| (it.name.clone(), it.value.clone())).collect();
            let is_whole = draft.settled.missing.is_empty() && draft.settled.unused.is_empty();
            let probability = draft.confidence * draft.exactness;
            vec![Sent { tool: place(draft.position), arguments, probability, is_whole }]
        };
        let outcome = match conclusion {
            Conclusion::Call(draft) => {
                let (tool, sent) = (&self.catalog.tools()[draft.position], sent(&draft));
                match self.confirms(tool, &sent[0].arguments, &Intent::of(task)) {
                    true => Outcome::Confirm(sent),
                    false if !draft.not_done.is_empty() => Outcome::Stopped(sent),
                    false => Outcome::Ran(sent),
                }
            }
            Conclusion::Draft(draft) => Outcome::Draft(sent(&draft)),
            Conclusion::Plan(prospect) => {
                let steps = prospect.plan.steps().iter().zip(&prospect.tools);
                let literal =
                    |(name, input): (&String, &Input)| Some((name.clone(), input.literal()?.clone()));
                let sent = steps.map(|(step, tool)| Sent {
                    tool: place(*tool),
                    arguments: step.arguments.iter().filter_map(literal).collect(),
                    probability: prospect.confidence,
                    is_whole: true,
                });
                let (mut sent, plan) = (sent.collect::<Vec<_>>(), &prospect.plan);
                match plan.steps().iter().position(|step| step.is_unsure) {
                    _ if plan.effect() == Effect::Destroy => Outcome::Confirm(sent),
                    Some(0) => Outcome::Confirm(sent),
                    Some(at) => {
                        sent.truncate(at);
                        Outcome::Stopped(sent)
                    }
                    None => Outcome::Ran(sent),
                }
            }
            Conclusion::Incomplete(lack) => {
                let (tool, probability) = (place(lack.position), lack.confidence);
                Outcome::Draft(vec![Sent { tool, arguments: Map::new(), probability, is_whole: false }])
            }
            Conclusion::Ask(question) => {
                let offered = question.decision.candidates.iter().take(OFFERED);
                Outcome::Asked(offered.map(|it| place(it.position)).collect())
            }
            Conclusion::Decline(_) => Outcome::Declined,
        };
        (outcome, judgement)
    }

    fn confirms(&self, tool: &Tool, arguments: &Map<String, Value>, intent: &Intent) -> bool {
        let Some(position) = self.catalog.position(tool.id.as_str()) else { return true };
        let known = self.index.knowledge.of(position).effect;
        rank::destroys(&self.index, &self.catalog, position, intent)
            || hazard::assess(tool, known, &Value::Object(arguments.clone())).effect == Effect::Destroy
    }

    /// Returns the tokens of a list of all tools.
    pub(crate) fn tokens(&self) -> usize {
        let bytes: usize = self.catalog.tools().iter().map(|tool| tool.listed().len()).sum();
        bytes.div_ceil(4)
    }

    /// Decides about every request, on all cores.
    pub(crate) fn see_all(
        &self,
        cases: &[Case],
        bm25: &Bm25,
        settings: &Experiment,
        done: impl Fn() + Sync,
    ) -> Vec<Seen> {
        in_parallel(cases, |case: &Case| {
            let seen = self.see(&case.task, Some(bm25), settings);
            done();
            seen
        })
    }

    /// Returns how long a decision takes, in microseconds: the median over a sample, on one core,
    /// without the time that the model takes.
    pub(crate) fn median_us(&self, cases: &[Case], settings: &Experiment) -> f64 {
        let step = cases.len().div_ceil(SAMPLE).max(1);
        let time = |case: &Case| {
            let meant = settings.model.request(&case.task);
            let rank = || self.rank_meant(&case.task, meant.as_deref(), settings, (settings.threshold, &[]));
            // What the model reads is known the second time.
            rank();
            let begin = Instant::now();
            std::hint::black_box(rank());
            begin.elapsed().as_secs_f64() * 1e6
        };
        let mut times: Vec<f64> = cases.iter().step_by(step).map(time).collect();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or_default()
    }

    /// Decides about requests that no tool can serve, each among the tools that are there for it.
    pub(crate) fn see_unserved(
        &self,
        collection: &Collection,
        settings: &Experiment,
        done: impl Fn() + Sync,
    ) -> Vec<Seen> {
        in_parallel(&collection.unserved, |request: &Unserved| {
            let seen = match request.among.as_slice() {
                [] => self.see(&request.task, None, settings),
                among => {
                    let own = Self::new(&collection.tools, among.iter().copied(), settings);
                    own.see(&request.task, None, settings)
                }
            };
            done();
            seen
        })
    }
}

/// One request on its way through the flow of the product, with what was ranked for it.
struct Desk<'a> {
    bench: &'a Bench,
    settings: &'a Experiment,
    known: HashMap<String, Arc<Decision>>,
}

impl Desk<'_> {
    fn ranked(&mut self, words: &str) -> Arc<Decision> {
        if let Some(known) = self.known.get(words) {
            return Arc::clone(known);
        }
        let decision = Arc::new(self.bench.rank(words, self.settings, self.settings.threshold));
        self.known.insert(words.to_owned(), Arc::clone(&decision));
        decision
    }

    /// Decides about words alone.
    fn decide(&mut self, task: &str, tool: Option<usize>, splitting: Option<Splitting>) -> Conclusion {
        let given = Map::new();
        self.conclude(Goal { tool, splitting, ..Goal::in_words(task, &given) })
    }

    /// Drives a request to its end, as the hub does; no language model is asked.
    fn conclude(&mut self, goal: Goal<'_>) -> Conclusion {
        let Bench { catalog, index, .. } = self.bench;
        let confirms = |tool: &Tool, arguments: &Map<String, Value>, intent: &Intent| {
            self.bench.confirms(tool, arguments, intent)
        };
        let world = World {
            catalog,
            index,
            shows: &|_| true,
            confirms: &confirms,
            estimate_ms: &|_| 0,
            now: WRITTEN,
            confidence: self.settings.threshold,
            plans: true,
            advises: false,
            compares: self.bench.meaning.is_some(),
        };
        let mut decide = Decide::new(world, goal);
        loop {
            match decide.advance() {
                Next::Rank(words) => {
                    let decision = self.ranked(&words);
                    decide.ranked(words, decision);
                }
                Next::Compare(comparison) => {
                    let nearness = self.settings.model.compare(&comparison);
                    decide.compared(comparison.position, nearness);
                }
                Next::Read(wanted) => {
                    let reading = self.settings.model.read_arguments(catalog, &wanted);
                    decide.read(wanted, reading);
                }
                Next::Consult(consult) => decide.advised(&consult, Default::default()),
                Next::Done(conclusion) => return *conclusion,
            }
        }
    }

    /// Whether the call would be confirmed first, by its tool or by the arguments that the words give it.
    fn destroys(&mut self, task: &str, position: usize, intent: &Intent) -> bool {
        let arguments = match self.decide(task, Some(position), None) {
            Conclusion::Call(draft) | Conclusion::Draft(draft) => {
                let found = draft.settled.found.into_iter().chain(draft.settled.guesses);
                found.map(|it| (it.name, it.value)).collect()
            }
            Conclusion::Plan(_) | Conclusion::Incomplete(_) | Conclusion::Ask(_) | Conclusion::Decline(_) => {
                Map::new()
            }
        };
        self.bench.confirms(&self.bench.catalog.tools()[position], &arguments, intent)
    }

    /// Gives a conversation that begins with a task its tools, as the surface `toolset` does: at most ten.
    fn give(&mut self, task: &str) -> Given {
        let decisions: Vec<Arc<Decision>> =
            decide::parts(task).iter().map(|words| self.ranked(words)).collect();
        let Bench { catalog, registry, places, .. } = self.bench;
        let caps = Caps { max_listed: MOST, ..Caps::STANDARD };
        let meant = |ranked: &[(Arc<str>, f32)]| session::meant(registry, task, ranked);
        let needs = decide::needs(catalog, registry, &decisions, caps.max_tools, meant);
        let skills = BTreeMap::new();
        let stock = Stock { registry, core: &[], tier: None, skills: &skills, caps };
        let names: Vec<Arc<str>> = needs.ranked.into_iter().map(|(name, _)| name).collect();
        let message = Said { domains: &needs.domains, ranked: &names, bound: &needs.bound };
        let mut toolset = Toolset::default();
        let names = toolset.select(&stock, &message).tool_names;
        let at_places = |names: &mut dyn Iterator<Item = &Arc<str>>| -> Vec<usize> {
            names.filter_map(|name| catalog.position(name)).map(|at| places[at]).collect()
        };
        let listed = |name: &Arc<str>| catalog.get(name).map_or(0, |tool| tool.listed().len());
        Given {
            tools: at_places(&mut names.iter()),
            of_domains: at_places(&mut names.iter().filter(|name| !toolset.bound().contains(name))),
            tokens: names.iter().map(listed).sum::<usize>().div_ceil(4),
        }
    }
}

/// Alternatives that a question offers at most.
pub(crate) const OFFERED: usize = 5;

/// Decisions that are timed at most.
const SAMPLE: usize = 200;

/// Maps items in order, on all cores.
pub(crate) fn in_parallel<T: Sync, R: Send>(items: &[T], map: impl Fn(&T) -> R + Sync) -> Vec<R> {
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
