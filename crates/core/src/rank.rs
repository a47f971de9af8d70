//! A request becomes a decision: which tool is meant, how sure that is, and whether to act, ask or decline.
//!
//! Everything here is a function of what is handed in, so the same request in the same situation always
//! gives the same decision. Weights and thresholds are data, fitted by `training/`.

mod intent; //     what a request asks for, as far as its words tell
mod evidence; //   which kinds of values it holds, and which a tool needs
mod signals; //    how well a tool fits, as one number for each signal
mod confidence; // what a confidence is judged by
mod weights; //    how much each signal counts
mod contrary; //   tools that make another format than is wanted
mod imitation; //  tools that copy another
mod rerank; //     which tools are read beside a request
mod seed; //       the ranking of the first design
mod reason; //     why a tool fits, in words
mod question; //   the one question that settles what is open

use crate::catalog::Catalog;
use crate::hazard;
use crate::index::Index;
use crate::lexicon::Action;
use crate::thresholds::thresholds;
use crate::tool::words::words;
use crate::tool::{Effect, Tool};

pub use crate::index::Sense;
pub use confidence::{Judgement, Trait, Traits};
pub use intent::Intent;
pub use question::Inquiry;
pub use signals::{Signal, Signals};
pub use weights::{Gate, Table, Weights};

use contrary::Formats;
use signals::Comparison;

/// A request and what it may use.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What is wanted, in plain words.
    pub task: &'a str,
    /// How alike it and the tools are in meaning, where an encoder said so.
    pub sense: Option<&'a Sense>,
}

impl<'a> Request<'a> {
    /// A request that only words are known of.
    pub fn in_words(task: &'a str) -> Self {
        Self { task, sense: None }
    }
}

/// The tools that a request is compared with, and how they stand.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// Every tool.
    pub catalog: &'a Catalog,
    /// What requests are compared with.
    pub index: &'a Index,
    /// The server that the caller would rather use.
    pub preferred_server: Option<&'a str>,
    /// How a tool stands at the moment.
    pub availability: &'a (dyn Fn(&Tool) -> Availability + Sync),
    /// How right tools were for such requests before, from -1 to 1, by position; the others are unknown.
    pub liked: &'a [(usize, f32)],
}

impl std::fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope").field("preferred_server", &self.preferred_server).finish_non_exhaustive()
    }
}

impl<'a> Scope<'a> {
    /// All tools of a catalog, with nothing known against any of them.
    pub fn plain(catalog: &'a Catalog, index: &'a Index) -> Self {
        Self { catalog, index, preferred_server: None, availability: &|_| Availability::PLAIN, liked: &[] }
    }
}

/// How a tool stands at the moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Availability {
    /// Whether the caller may use it at all.
    pub is_visible: bool,
    /// Whether its server is reachable, as far as is known.
    pub is_up: bool,
    /// Its tier: 0 essential, 1 usual, 2 fallback.
    pub tier: u8,
    /// How lately this conversation used it, from 0 to 1.
    pub recent: f32,
    /// On which day the hub first saw it; 0 where that is not known.
    pub since: u64,
}

impl Availability {
    /// A tool that nothing is known against.
    pub const PLAIN: Self = Self { is_visible: true, is_up: true, tier: 1, recent: 0.0, since: 0 };
}

/// The knobs of one decision. No `Default`: the configuration knows.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// How tools are ranked.
    pub method: Method<'a>,
    /// Asks instead of acting below this confidence.
    pub confidence: f64,
    /// Candidates returned at most.
    pub candidates: usize,
    /// Whether candidates say why they fit.
    pub reasons: Reasons,
}

/// Whether candidates say why they fit, which takes longer than ranking them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reasons {
    /// Each says why.
    Given,
    /// Only the order counts.
    LeftOut,
}

/// How tools are ranked.
#[derive(Clone, Copy, Debug)]
pub enum Method<'a> {
    /// By all signals, with fitted weights.
    Fitted(&'a Weights),
    /// By category, keywords, use case and availability: 40, 30, 20 and 10.
    Seed,
}

/// What to do about a request, and why.
#[derive(Clone, Debug)]
pub struct Decision {
    /// What the request asks for.
    pub intent: Intent,
    /// Whether to act, ask or decline.
    pub verdict: Verdict,
    /// The probability that the first candidate is right.
    pub confidence: f64,
    /// How much each signal counted.
    pub counts: Signals,
    /// What was judged besides.
    pub judgement: Judgement,
    /// The tools that may be meant, likeliest first.
    pub candidates: Vec<Candidate>,
}

impl Decision {
    /// Judges anew by how well each of the first candidates fits the request, as logarithms of odds: which one is meant,
    /// and whether any is. It acts from a confidence on, and declines where it is so probable that no tool fits.
    pub fn read_beside(
        &self,
        scope: (&Catalog, &Index),
        fits: &[f64],
        (confidence, no_tool): (f64, f64),
    ) -> Self {
        let mut read = self.clone();
        let rest: f64 = self.candidates.iter().skip(fits.len()).map(|it| f64::from(it.probability)).sum();
        let belief = |(it, fit): (&Candidate, &f64)| f64::from(it.probability) * fit.exp();
        let some = rest + self.candidates.iter().zip(fits).map(belief).sum::<f64>();
        let (none, some) =
            (self.judgement.none * thresholds().reading.nothing.exp(), (1.0 - self.judgement.none) * some);
        read.judgement.none = none / (none + some).max(f64::MIN_POSITIVE);
        read.told_apart(scope, fits, (confidence, no_tool))
    }

    /// Ranks the first candidates anew by how well each fits what else is known, as logarithms of odds; the others fall
    /// behind them. It acts from a confidence on, and declines where it is so probable that no tool fits.
    pub fn told_apart(
        &self,
        scope: (&Catalog, &Index),
        fits: &[f64],
        (confidence, no_tool): (f64, f64),
    ) -> Self {
        let mut told = self.clone();
        told.candidates.truncate(fits.len());
        let beliefs: Vec<f64> =
            told.candidates.iter().zip(fits).map(|(it, fit)| f64::from(it.probability) * fit.exp()).collect();
        let total: f64 = beliefs.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        for (candidate, belief) in told.candidates.iter_mut().zip(beliefs) {
            candidate.probability = (belief / total) as f32;
        }
        told.candidates.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        told.candidates.extend(self.candidates[fits.len()..].iter().cloned());
        // A tool of another server that does the same will do as well, unless one of the servers is named.
        let is_passed_over = |it: &Candidate| it.signals[Signal::OtherNamed as usize] > 0.0;
        let twins = |a: &Candidate, b: &Candidate| {
            let is_twin = a.twin_of == Some(b.position) || b.twin_of == Some(a.position);
            is_twin && !is_passed_over(a) && !is_passed_over(b)
        };
        let is_same =
            |it: &&Candidate| it.position == told.candidates[0].position || twins(it, &told.candidates[0]);
        let first: f64 = told.candidates.iter().filter(is_same).map(|it| f64::from(it.probability)).sum();
        // What fits best of what is there may still be nothing that was asked for.
        told.confidence = first.min(1.0) * (1.0 - told.judgement.none);
        told.judgement.right = told.confidence;
        let (catalog, index) = scope;
        let is_sure =
            told.confidence >= confidence && !removes_nothing(index, &told.candidates, &told.intent);
        told.verdict = match self.verdict {
            Verdict::Abstain => Verdict::Abstain,
            _ if is_sure => Verdict::Act,
            // An action in plain words says better what is not here than a message does.
            _ if self.judgement.none >= no_tool
                && self.judgement.vague < thresholds().decision.maybe_vague =>
            {
                Verdict::Abstain
            }
            Verdict::Act | Verdict::Ask(_) => {
                Verdict::Ask(Inquiry::about(catalog, &told.intent, told.judgement, &told.candidates))
            }
        };
        told
    }
}

/// Whether to act, ask or decline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The first candidate is meant.
    Act,
    /// One question settles it.
    Ask(Inquiry),
    /// No tool fits.
    Abstain,
}

/// A tool that may be meant.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its position in the catalog.
    pub position: usize,
    /// What all signals give together; comparable only within one decision.
    pub score: f32,
    /// Its share of the belief, from 0 to 1.
    pub probability: f32,
    /// Every signal.
    pub signals: Signals,
    /// Why it fits, strongest first.
    pub reasons: Vec<String>,
    /// A better candidate of another server that does the same.
    pub twin_of: Option<usize>,
}

/// How far a request got by words and vectors.
#[derive(Debug)]
pub enum Ranked<'a> {
    /// The decision about it.
    Clear(Decision),
    /// It should be read beside the likeliest tools first.
    Unclear(Rerank<'a>),
}

/// A request that should be read beside the likeliest tools before it is decided about.
#[derive(Debug)]
pub struct Rerank<'a> {
    ranking: Ranking<'a>,
    tools: Vec<usize>,
}

/// Compares a request with tools.
pub fn rank<'a>(scope: Scope<'a>, request: Request<'a>, rules: Rules<'a>) -> Ranked<'a> {
    let ranking = Ranking::new(scope, request, rules);
    let tools = ranking.unclear();
    if tools.is_empty() {
        Ranked::Clear(ranking.decide())
    } else {
        Ranked::Unclear(Rerank { ranking, tools })
    }
}

/// Decides about a request by words and vectors alone.
pub fn decide(scope: Scope, request: Request, rules: Rules) -> Decision {
    Ranking::new(scope, request, rules).decide()
}

impl Rerank<'_> {
    /// Returns the tools to be read beside the request, likeliest first.
    pub fn tools(&self) -> &[usize] {
        &self.tools
    }

    /// Decides, with how well the request fits these tools by position.
    pub fn decide(mut self, fits: &[(usize, f32)]) -> Decision {
        let Ranking { scope, comparison, .. } = &mut self.ranking;
        rerank::note(scope.index, scope.catalog, comparison, fits);
        self.ranking.decide()
    }
}

/// A request, compared with tools and not decided about yet.
#[derive(Debug)]
struct Ranking<'a> {
    scope: Scope<'a>,
    task: &'a str,
    rules: Rules<'a>,
    comparison: Comparison,
}

impl<'a> Ranking<'a> {
    fn new(scope: Scope<'a>, request: Request<'a>, rules: Rules<'a>) -> Self {
        Self { scope, task: request.task, rules, comparison: signals::compare(scope, request) }
    }

    /// Returns the tools that should be read beside the request. There are none where it is clear already, and where no
    /// meanings are compared.
    fn unclear(&self) -> Vec<usize> {
        let Method::Fitted(weights) = self.rules.method else { return Vec::new() };
        if !self.comparison.query.has_sense || !weights.reads() {
            return Vec::new();
        }
        let (ranked, judgement) = self.judged(&weights.for_query(&self.comparison.query));
        let Scope { index, catalog, .. } = self.scope;
        if rerank::is_clear(judgement) { Vec::new() } else { rerank::likeliest(index, catalog, &ranked) }
    }

    fn decide(self) -> Decision {
        let Scope { index, catalog, .. } = self.scope;
        let counts = match self.rules.method {
            Method::Fitted(weights) => weights.for_query(&self.comparison.query),
            Method::Seed => [0.0; Signal::ALL.len()],
        };
        let (mut candidates, judgement) = self.judged(&counts);
        candidates.truncate(self.rules.candidates.max(1));
        // Decisions are remembered, and hundreds of tools were compared.
        candidates.shrink_to_fit();
        mark_twins(index, catalog, &mut candidates);
        if let (Method::Fitted(_), Reasons::Given) = (self.rules.method, self.rules.reasons) {
            reason::explain(self.scope, self.task, &counts, &mut candidates);
        }
        let intent = self.comparison.intent;
        // What may be too vague to act on cannot be sure.
        let confidence = judgement.right.min(1.0 - judgement.vague);
        let mut verdict = verdict(catalog, &intent, judgement, &candidates, self.rules);
        if verdict == Verdict::Act && removes_nothing(index, &candidates, &intent) {
            verdict = Verdict::Ask(Inquiry::about(catalog, &intent, judgement, &candidates));
        }
        Decision { intent, verdict, confidence, counts, judgement, candidates }
    }

    /// Ranks the tools, and judges the first of them.
    fn judged(&self, counts: &Signals) -> (Vec<Candidate>, Judgement) {
        let Self { scope: Scope { index, catalog, .. }, comparison, .. } = self;
        match self.rules.method {
            Method::Fitted(weights) => {
                let scores = contradicted(catalog, self.task, comparison, counts);
                let mut ranked = without_equals(index, catalog, order(index, comparison, &scores, 1.0));
                // An imitation makes nothing less sure.
                let imitations = imitation::take(self.scope, &mut ranked);
                let traits = confidence::traits(comparison, &ranked);
                imitation::put_back(&mut ranked, imitations);
                let judgement = settle(&mut ranked, weights.judge(&comparison.query, &traits));
                (ranked, judgement)
            }
            // The seed's scores lie between 0 and 1; sharpened, they share the belief as its examples expect.
            Method::Seed => {
                let scores = seed::scores(index, catalog, comparison);
                let mut ranked = order(index, comparison, &scores, seed::sharpness());
                seed::part(&mut ranked);
                let judgement = seed::judge(&ranked, &comparison.intent);
                (ranked, judgement)
            }
        }
    }
}

/// What weights are fitted on.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The signals of each tool that may be meant.
    pub tools: Vec<(usize, Signals)>,
    /// How the request as a whole opens each gate.
    pub gates: [f32; Gate::ALL.len()],
}

/// Compares a request with tools, for fitting weights.
pub fn observe(scope: Scope, request: Request, fits: &[(usize, f32)]) -> Observed {
    let mut comparison = signals::compare(scope, request);
    rerank::note(scope.index, scope.catalog, &mut comparison, fits);
    let gates = weights::gates(&comparison.query);
    Observed { tools: comparison.tools.into_iter().zip(comparison.signals).collect(), gates }
}

/// Returns the first tool and what its confidence is judged by, for fitting.
pub fn traits(
    scope: Scope,
    request: Request,
    fits: &[(usize, f32)],
    weights: &Weights,
) -> (Option<usize>, Traits) {
    let mut comparison = signals::compare(scope, request);
    rerank::note(scope.index, scope.catalog, &mut comparison, fits);
    let scores = weights::scores(&comparison, &weights.for_query(&comparison.query));
    let ranked = order(scope.index, &comparison, &scores, 1.0);
    let traits = confidence::traits(&comparison, &ranked);
    (ranked.first().map(|first| first.position), traits)
}

/// Takes off what tools lose that make another format than the request wants.
fn contradicted(catalog: &Catalog, task: &str, comparison: &Comparison, counts: &Signals) -> Vec<f32> {
    let mut scores = weights::scores(comparison, counts);
    let Some(formats) = Formats::wanted(task) else { return scores };
    for (score, position) in scores.iter_mut().zip(&comparison.tools) {
        if formats.are_against(&catalog.tools()[*position]) {
            *score -= thresholds().ranking.contrary as f32;
        }
    }
    scores
}

/// Whether a person said of these very words that a tool is meant.
fn is_settled(candidate: &Candidate) -> bool {
    f64::from(candidate.signals[Signal::Liked as usize]) >= thresholds().lessons.settled
}

/// Puts a tool first that a person said is meant by these very words. There is nothing left to judge then.
fn settle(ranked: &mut [Candidate], judgement: Judgement) -> Judgement {
    let Some(at) = ranked.iter().position(is_settled) else { return judgement };
    ranked[..=at].rotate_right(1);
    let right = judgement.right.max(thresholds().lessons.settled_confidence);
    Judgement { right, none: 0.0, vague: 0.0 }
}

/// Whether running a tool for a request has to be confirmed first: it destroys, or it changes something and
/// the request asks for something to be removed.
pub fn destroys(index: &Index, catalog: &Catalog, position: usize, intent: &Intent) -> bool {
    let tool = &catalog.tools()[position];
    match index.knowledge.of(position).effect {
        Effect::Destroy => true,
        Effect::Write => removes(tool, intent),
        Effect::Read => false,
    }
}

/// Whether a request for a tool that changes something is one to remove something: it says so first, or it says so
/// somewhere and the tool offers to.
pub fn removes(tool: &Tool, intent: &Intent) -> bool {
    intent.action == Action::Delete || intent.clues.removes && hazard::offers_destruction(tool)
}

/// Whether something is to be removed and the first candidate only reads: it cannot be what was meant.
fn removes_nothing(index: &Index, candidates: &[Candidate], intent: &Intent) -> bool {
    let reads = |first: &Candidate| {
        let known = index.knowledge.of(first.position);
        known.effect == Effect::Read && known.action != Action::Delete
    };
    intent.action == Action::Delete && candidates.first().is_some_and(reads)
}

fn order(index: &Index, comparison: &Comparison, scores: &[f32], temper: f32) -> Vec<Candidate> {
    let best = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let nothing = ((thresholds().ranking.nothing as f32 - best) * temper).exp();
    let total: f32 = nothing + scores.iter().map(|score| ((score - best) * temper).exp()).sum::<f32>();
    let mut ranked: Vec<Candidate> = comparison
        .tools
        .iter()
        .zip(&comparison.signals)
        .zip(scores)
        .map(|((position, signals), score)| Candidate {
            position: *position,
            score: *score,
            probability: ((score - best) * temper).exp() / total,
            signals: *signals,
            reasons: Vec::new(),
            twin_of: None,
        })
        .collect();
    // Ties break on the name, so the same request always lists tools in the same order.
    ranked.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| index.words.rank(a.position).cmp(&index.words.rank(b.position)))
    });
    ranked
}

/// Likely tools among which equals are looked for.
const MOST_COMPARED: usize = 8;

/// Leaves out tools that are others under a second name, such as `wiki_get_page` beside `get_page` of the server `wiki`:
/// either will do, so what speaks for one speaks for the other.
fn without_equals(index: &Index, catalog: &Catalog, ranked: Vec<Candidate>) -> Vec<Candidate> {
    let (tools, mut kept) = (catalog.tools(), Vec::<Candidate>::with_capacity(ranked.len()));
    for candidate in ranked {
        let is_equal = |other: &&mut Candidate| {
            let (a, b) = (&tools[other.position], &tools[candidate.position]);
            a.server == b.server
                && a.parameters == b.parameters
                && index.knowledge.of(other.position).action == index.knowledge.of(candidate.position).action
                && bare_name(a).eq(bare_name(b))
        };
        let is_looked_at = kept.len() < MOST_COMPARED;
        match kept.iter_mut().filter(|_| is_looked_at).find(is_equal) {
            Some(other) => other.probability += candidate.probability,
            None => kept.push(candidate),
        }
    }
    kept
}

/// Returns the words of a tool's name without those of its server's.
fn bare_name(tool: &Tool) -> impl Iterator<Item = String> {
    let server: Vec<String> = words(&tool.server).map(str::to_lowercase).collect();
    words(&tool.name).map(str::to_lowercase).filter(move |word| !server.contains(word))
}

/// Marks tools of other servers that do what a better candidate does.
fn mark_twins(index: &Index, catalog: &Catalog, candidates: &mut [Candidate]) {
    for at in 1..candidates.len() {
        let (better, rest) = candidates.split_at_mut(at);
        let this = &mut rest[0];
        let is_twin = |other: &Candidate| {
            let (a, b) = (other.position, this.position);
            let tools = catalog.tools();
            tools[a].server != tools[b].server
                && index.knowledge.of(a).action == index.knowledge.of(b).action
                && shares_name(index, a, b)
        };
        this.twin_of = better.iter().find(|other| is_twin(other)).map(|other| other.position);
    }
}

fn shares_name(index: &Index, a: usize, b: usize) -> bool {
    let (a, b) = (index.words.name_terms(a), index.words.name_terms(b));
    let shared = a.iter().filter(|term| b.contains(term)).count();
    3 * shared >= 2 * a.len().max(b.len()).max(1)
}

/// A vague request is asked about, a clear one that nothing fits is declined.
fn verdict(
    catalog: &Catalog,
    intent: &Intent,
    judgement: Judgement,
    candidates: &[Candidate],
    rules: Rules,
) -> Verdict {
    let (limits, ask) =
        (&thresholds().decision, || Verdict::Ask(Inquiry::about(catalog, intent, judgement, candidates)));
    if candidates.is_empty() {
        return if judgement.vague >= limits.vague || intent.is_empty() { ask() } else { Verdict::Abstain };
    }
    if judgement.right >= rules.confidence && judgement.vague < limits.vague {
        return Verdict::Act;
    }
    let is_hopeless = judgement.none >= limits.no_tool && judgement.right < limits.maybe_right;
    if is_hopeless && judgement.vague < limits.maybe_vague { Verdict::Abstain } else { ask() }
}

#[cfg(test)]
mod tests;
