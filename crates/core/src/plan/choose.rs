//! Which parts of a task are requests, and which tool each of them means, once tools were compared with them.
//!
//! A request is judged by itself, and by its company: who searched a vault for a note adds a tag there, too.

use crate::catalog::Catalog;
use crate::lexicon::Action;
use crate::route::{Candidate, Decision, Intent, Signal};
use crate::task::{Clause, Shape, StandIn, stand_ins};

/// How readily a likely cut is taken for a real one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Splitting {
    /// The caller said nothing: only what is surely several requests is taken apart.
    Careful,
    /// The caller expects several steps.
    Bold,
}

/// A part below this confidence is no request where its cut is only likely, for each way of splitting.
const LEAST: [(Splitting, f64); 2] = [(Splitting::Careful, 0.75), (Splitting::Bold, 0.02)];
/// Below this nothing fits a part at all.
const NOTHING: f64 = 0.02;
/// Words that only tell something by their form are a request all the same if a tool fits them as well as this.
const TOLD: f64 = 0.5;
/// Words before a request that begin with no known verb only tell something if a tool fits them so much less.
const WEAK: f64 = 0.25;
/// A question is one of its own if a tool fits it as well as this.
const ASKED: f64 = 0.3;
/// The same where it stands for something said before, or where the whole task is sure without it.
const ASKED_WITH_DOUBT: f64 = 0.5;
/// A whole task that is as sure as this is one request, unless its parts are sure as well.
const WHOLE: f64 = 0.8;

/// How much of that confidence a part needs whose cut is sure.
const SURE: f64 = 0.05;

/// Joins parts that are no requests of their own to those before them.
///
/// `decisions` are about the clauses, in order, and `whole` is about the task.
pub fn settle(
    task: &str,
    clauses: Vec<Clause>,
    (decisions, whole): (&[&Decision], &Decision),
    splitting: Splitting,
) -> Vec<Clause> {
    let least = LEAST.iter().find(|(known, _)| *known == splitting).map_or(0.0, |(_, least)| *least);
    let mut settled: Vec<(Clause, &Decision)> = Vec::new();
    for (clause, decision) in clauses.into_iter().zip(decisions) {
        let is_second = settled.len() == 1;
        let Some((before, known)) = settled.last_mut() else {
            settled.push((clause, decision));
            continue;
        };
        let is_bare = clause.span.is_empty() || before.span.is_empty() || clause.each.is_some();
        let same = first(decision).is_some() && first(decision) == first(known);
        let refers = stand_ins(&clause.words, clause.language).contains(&StandIn::One);
        // What the words show to be a request needs less to stay one.
        let bar = match clause.shape {
            Shape::Request => least * SURE,
            // A question that stands for something said before is often about that alone.
            Shape::Question => match (refers, whole.confidence < WHOLE) {
                (false, true) => least.min(ASKED),
                (false, false) | (true, true) => least.min(ASKED_WITH_DOUBT),
                (true, false) => least,
            },
            Shape::Unclear | Shape::Told => least,
        };
        // What is told before a request belongs to it.
        let is_meant = first(whole) == first(decision);
        let is_weak = known.confidence < WEAK * decision.confidence;
        let is_told = match before.shape {
            Shape::Told => known.confidence < least.max(TOLD) || same || is_meant,
            Shape::Unclear => is_weak && is_meant && whole.confidence >= WHOLE,
            Shape::Request | Shape::Question => false,
        };
        if is_second && is_told && !is_bare {
            before.join(task, &clause);
            let is_all = clause.shape != Shape::Request && decision.confidence < least.max(TOLD);
            before.shape = if is_all { before.shape } else { Shape::Request };
            *known = decision;
            continue;
        }
        let is_detail =
            first(whole) == first(known) && whole.confidence >= WHOLE && decision.confidence < bar;
        let is_part = clause.shape != Shape::Request && (decision.confidence < bar.max(NOTHING) || same)
            || same && refers
            || splitting == Splitting::Careful && is_detail;
        if is_part && !is_bare {
            before.join(task, &clause);
        } else {
            settled.push((clause, decision));
        }
    }
    settled.into_iter().map(|(clause, _)| clause).collect()
}

/// Words with content that say enough by themselves.
const TELLING: usize = 2;

/// Returns the words by which the tool of a request is found: where they say little but stand for something, with the
/// noun of an earlier request that says what that is.
pub fn spoken(clauses: &[Clause], at: usize) -> String {
    let words = &clauses[at].words;
    let intent = Intent::of(words);
    let is_telling = !intent.target.is_empty() || intent.keywords.len() > TELLING;
    if is_telling || stand_ins(words, clauses[at].language).is_empty() {
        return words.clone();
    }
    let targets = clauses[..at].iter().rev().map(|clause| Intent::of(&clause.words).target);
    match targets.into_iter().find(|target| !target.is_empty()) {
        Some(target) => format!("{words} {target}"),
        None => words.clone(),
    }
}

fn first(decision: &Decision) -> Option<usize> {
    decision.candidates.first().map(|candidate| candidate.position)
}

/// What it is worth that a step uses the server of the step before it, as a logarithm of odds.
const SAME_SERVER: f32 = 4.5;
/// What it is worth that a tool does what the verb of a step says. A step begins with its verb, so the verb tells
/// more than that of a request in any words.
const SAME_ACTION: f32 = 0.5;
/// What it is worth that the whole task means a tool, too.
const IN_WHOLE: f32 = 2.0;

/// No candidate is less likely than this.
const LEAST_LIKELY: f32 = 1e-4;

/// The tool that a request means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Its position in the catalog.
    pub position: usize,
    /// The probability that it is right.
    pub confidence: f64,
}

/// Chooses a tool for each request: the likeliest ones together. A request that nothing fits has none.
pub fn choose(catalog: &Catalog, decisions: &[&Decision], whole: &Decision) -> Vec<Option<Choice>> {
    let company = Company { catalog, whole };
    // The best way to each candidate of each request: its worth, and the candidate before it.
    let mut ways: Vec<Vec<(f32, Option<usize>)>> = Vec::new();
    let mut before: Option<usize> = None;
    for (at, decision) in decisions.iter().enumerate() {
        let reach = |candidate: &Candidate| {
            let own = company.alone(candidate);
            let here = Placed::of(decision, candidate);
            let from = before.into_iter().flat_map(|last| {
                let others =
                    company.candidates(decisions[last]).map(move |it| Placed::of(decisions[last], it));
                ways[last].iter().zip(others)
            });
            let worth = from.map(|((worth, _), other)| worth + company.together(other, here));
            let best = worth.enumerate().max_by(|a, b| a.1.total_cmp(&b.1).then_with(|| b.0.cmp(&a.0)));
            best.map_or((own, None), |(place, worth)| (own + worth, Some(place)))
        };
        let here: Vec<(f32, Option<usize>)> = company.candidates(decision).map(reach).collect();
        if !here.is_empty() {
            before = Some(at);
        }
        ways.push(here);
    }
    let mut places: Vec<Option<usize>> = vec![None; decisions.len()];
    let mut next: Option<usize> = None;
    for (at, ways) in ways.iter().enumerate().rev().filter(|(_, ways)| !ways.is_empty()) {
        let best = (0..ways.len()).max_by(|a, b| ways[*a].0.total_cmp(&ways[*b].0).then_with(|| b.cmp(a)));
        let Some(place) = next.or(best) else { continue };
        places[at] = Some(place);
        next = ways[place].1;
    }
    let placed = |(place, it): (&Option<usize>, &&Decision)| Some(Placed::of(it, &it.candidates[(*place)?]));
    let chosen: Vec<Option<Placed>> = places.iter().zip(decisions).map(placed).collect();
    let judged = |at: usize| {
        let position = chosen[at]?.position;
        let (before, after) = chosen.split_at(at);
        let near = [before.iter().rev().find_map(|it| *it), after[1..].iter().find_map(|it| *it)];
        Some(Choice { position, confidence: company.confidence(decisions[at], position, &near) })
    };
    (0..decisions.len()).map(judged).collect()
}

/// Candidates of a request that are looked at.
const CANDIDATES: usize = 8;

/// A tool, and what the request asks for that it is to serve.
#[derive(Clone, Copy)]
struct Placed {
    position: usize,
    action: Action,
}

impl Placed {
    fn of(decision: &Decision, candidate: &Candidate) -> Self {
        Self { position: candidate.position, action: decision.intent.action }
    }
}

/// What tools are worth beside others.
struct Company<'a> {
    catalog: &'a Catalog,
    whole: &'a Decision,
}

impl Company<'_> {
    fn candidates<'d>(&self, decision: &'d Decision) -> impl Iterator<Item = &'d Candidate> {
        decision.candidates.iter().take(CANDIDATES)
    }

    fn alone(&self, candidate: &Candidate) -> f32 {
        let in_whole = self.whole.candidates.iter().any(|it| it.position == candidate.position);
        candidate.probability.max(LEAST_LIKELY).ln()
            + if in_whole { IN_WHOLE } else { 0.0 }
            + SAME_ACTION * candidate.signals[Signal::Action as usize]
    }

    /// What two tools are worth beside one another. One tool for two requests that ask for different things is no company
    /// for itself: it fits at most one of them.
    fn together(&self, a: Placed, b: Placed) -> f32 {
        let tools = self.catalog.tools();
        let is_company = a.position != b.position || a.action == b.action;
        if is_company && tools[a.position].server == tools[b.position].server { SAME_SERVER } else { 0.0 }
    }

    /// How likely a tool is right: what its decision says of the likeliest, shared out among all candidates by what they
    /// are worth beside what was chosen before and after.
    fn confidence(&self, decision: &Decision, position: usize, near: &[Option<Placed>]) -> f64 {
        let worth = |it: &Candidate| {
            let here = Placed::of(decision, it);
            let beside: f32 = near.iter().flatten().map(|other| self.together(*other, here)).sum();
            (self.alone(it) + beside).exp()
        };
        let total: f32 = self.candidates(decision).map(worth).sum();
        let own = self.candidates(decision).find(|it| it.position == position).map_or(0.0, worth);
        let is_in_whole = self.whole.candidates.iter().take(5).any(|it| it.position == position);
        let odds = FITTED[0]
            + FITTED[1] * logit(decision.confidence * f64::from(own / total))
            + FITTED[2] * f64::from(is_in_whole);
        1.0 / (1.0 + (-odds).exp())
    }
}

/// How the confidence of a step follows from that share and from a place in the whole task: a step among others is right
/// more often than the same words alone. The requests of `training/data/steps.jsonl` would have it 1.9, 0.62 and 0.85,
/// but all of them can be done.
const FITTED: [f64; 3] = [1.4, 0.62, 0.9];

fn logit(share: f64) -> f64 {
    let share = share.clamp(1e-4, 1.0 - 1e-4);
    (share / (1.0 - share)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Advertised, Bounds};
    use crate::index::Index;
    use crate::metadata::Knowledge;
    use crate::route::{self, Method, Reasons, Request, Rules, Scope, Weights};
    use crate::task::clauses;

    fn desk() -> Catalog {
        let bounds = Bounds { tools: 99, name_chars: 99, description_chars: 999, nesting: 20 };
        let tool = |name: &str, description: &str| {
            let schema = serde_json::json!({"type": "object", "properties": {"path": {"type": "string"}}});
            let definition =
                serde_json::json!({"name": name, "description": description, "inputSchema": schema});
            serde_json::value::to_raw_value(&definition).unwrap()
        };
        let servers = [
            ("vault", vec![tool("search_notes", "Search notes"), tool("add_tag", "Add a tag to an item")]),
            ("shop", vec![tool("search_goods", "Search goods"), tool("add_label", "Add a tag to an item")]),
        ];
        let servers = servers.map(|(server, tools)| (Advertised { server: server.into(), tools }, bounds));
        Catalog::gather(servers).0
    }

    fn decide(catalog: &Catalog, index: &Index, task: &str) -> Decision {
        let method = Method::Fitted(Weights::builtin());
        let rules = Rules { method, confidence: 0.7, candidates: 8, reasons: Reasons::LeftOut };
        route::decide(Scope::plain(catalog, index), Request::in_words(task), rules)
    }

    #[test]
    fn r9_one_tool_is_no_company_for_itself_where_two_things_are_asked_for() {
        let catalog = desk();
        let tool = |id: &str| catalog.position(id).unwrap();
        let index = Index::new(&catalog, Knowledge::gather(&catalog, None, &[], |_| None));
        let company = Company { catalog: &catalog, whole: &decide(&catalog, &index, "search and tag") };
        let (search, tag) = (tool("vault__search_notes"), tool("vault__add_tag"));
        let worth = |a: usize, b: usize, actions: [Action; 2]| {
            let [first, second] = actions;
            company.together(Placed { position: a, action: first }, Placed { position: b, action: second })
        };
        let (same, other) = ([Action::Create, Action::Create], [Action::Search, Action::Create]);
        assert_eq!([worth(search, tag, other), worth(tag, tag, same)], [SAME_SERVER, SAME_SERVER]);
        assert_eq!([worth(tag, tag, other), worth(search, tool("shop__add_label"), other)], [0.0, 0.0]);
    }

    #[test]
    fn r9_a_request_is_understood_in_its_company() {
        let catalog = desk();
        let index = Index::new(&catalog, Knowledge::gather(&catalog, None, &[], |_| None));
        for (task, expected) in [
            ("search notes about cats and add tag pet", ["vault__search_notes", "vault__add_tag"]),
            ("search goods about cats and add tag pet", ["shop__search_goods", "shop__add_label"]),
        ] {
            let whole = decide(&catalog, &index, task);
            let decisions: Vec<Decision> =
                clauses(task).iter().map(|clause| decide(&catalog, &index, &clause.words)).collect();
            let chosen = choose(&catalog, &decisions.iter().collect::<Vec<_>>(), &whole);
            let names: Vec<&str> =
                chosen.iter().map(|it| catalog.tools()[it.unwrap().position].id.as_str()).collect();
            assert_eq!(names, expected);
            // Alone, the second step could mean the tool of either server.
            let (alone, beside) = (decisions[1].confidence, chosen[1].unwrap().confidence);
            assert!(beside > alone, "{task}: {alone} alone, {beside} in company");
        }
    }
}
