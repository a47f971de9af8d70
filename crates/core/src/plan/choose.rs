//! Which parts of a task are requests, and which tool each of them means, once tools were compared with them.
//!
//! A request is judged by itself, and by its company: who searched a vault for a note adds a tag there, too.

use crate::catalog::Catalog;
use crate::lexicon::Action;
use crate::rank::{Candidate, Decision, Intent, Signal};
use crate::task::{Clause, Shape, StandIn, stand_ins};
use crate::thresholds::thresholds;

/// How readily a likely cut is taken for a real one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Splitting {
    /// The caller said nothing: only what is surely several requests is taken apart.
    Careful,
    /// The caller expects several steps.
    Bold,
}

/// Joins parts that are no requests of their own to those before them.
///
/// `decisions` are about the clauses, in order, and `whole` is about the task.
pub fn settle(
    task: &str,
    clauses: Vec<Clause>,
    (decisions, whole): (&[&Decision], &Decision),
    splitting: Splitting,
) -> Vec<Clause> {
    let limits = &thresholds().plan;
    let least = match splitting {
        Splitting::Careful => limits.careful_part,
        Splitting::Bold => limits.bold_part,
    };
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
            Shape::Request => least * limits.sure_part,
            // A question that stands for something said before is often about that alone.
            Shape::Question => match (refers, whole.confidence < limits.whole) {
                (false, true) => least.min(limits.question),
                (false, false) | (true, true) => least.min(limits.doubtful_question),
                (true, false) => least,
            },
            Shape::Unclear | Shape::Told => least,
        };
        // What is told before a request belongs to it.
        let is_meant = first(whole) == first(decision);
        let is_weak = known.confidence < limits.weak_opening * decision.confidence;
        let is_told = match before.shape {
            Shape::Told => known.confidence < least.max(limits.told) || same || is_meant,
            Shape::Unclear => is_weak && is_meant && whole.confidence >= limits.whole,
            Shape::Request | Shape::Question => false,
        };
        if is_second && is_told && !is_bare {
            before.join(task, &clause);
            let is_all = clause.shape != Shape::Request && decision.confidence < least.max(limits.told);
            before.shape = if is_all { before.shape } else { Shape::Request };
            *known = decision;
            continue;
        }
        let is_detail =
            first(whole) == first(known) && whole.confidence >= limits.whole && decision.confidence < bar;
        let is_part = clause.shape != Shape::Request
            && (decision.confidence < bar.max(limits.no_part) || same)
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
        let worth = &thresholds().plan;
        candidate.probability.max(worth.least_likely as f32).ln()
            + if in_whole { worth.in_whole as f32 } else { 0.0 }
            + worth.same_action as f32 * candidate.signals[Signal::Action as usize]
    }

    /// What two tools are worth beside one another. One tool for two requests that ask for different things is no company
    /// for itself: it fits at most one of them.
    fn together(&self, a: Placed, b: Placed) -> f32 {
        let tools = self.catalog.tools();
        let is_company = a.position != b.position || a.action == b.action;
        let is_same = tools[a.position].server == tools[b.position].server;
        if is_company && is_same { thresholds().plan.same_server as f32 } else { 0.0 }
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
        // A step among others is right more often than the same words alone.
        let limits = &thresholds().plan;
        let odds = limits.step_bias
            + limits.step_share * logit(decision.confidence * f64::from(own / total))
            + limits.step_in_whole * f64::from(is_in_whole);
        1.0 / (1.0 + (-odds).exp())
    }
}

fn logit(share: f64) -> f64 {
    let share = share.clamp(thresholds().plan.least_likely, 1.0 - thresholds().plan.least_likely);
    (share / (1.0 - share)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Advertised, Bounds};
    use crate::index::Index;
    use crate::metadata::Knowledge;
    use crate::rank::{self, Method, Reasons, Request, Rules, Scope, Weights};
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
        rank::decide(Scope::plain(catalog, index), Request::in_words(task), rules)
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
        assert_eq!(
            [worth(search, tag, other), worth(tag, tag, same)],
            [thresholds().plan.same_server as f32; 2]
        );
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
