//! Tools that imitate a tool of another server: copied, with praise or with more words around.
//!
//! Whatever an imitation says besides, it does not come before its original. It may where its server speaks for it: it
//! is named or preferred, was right before, or the original cannot be reached.

use super::signals::Signal;
use super::{Candidate, Scope};
use crate::index::Index;
use crate::text::terms;
use crate::thresholds::thresholds;
use crate::tool::Tool;

/// Candidates that are compared with the others.
const MOST_COMPARED: usize = 12;
/// A tool that says less could be anything: every server can have a `search`.
const TELLING_TERMS: usize = 6;
/// The rest of a long text tells nothing new.
const MOST_TERMS: usize = 200;

/// Takes the imitations out of a ranking, each with the position of its original: what speaks for them speaks for that.
pub(super) fn take(scope: Scope, ranked: &mut Vec<Candidate>) -> Vec<(usize, Candidate)> {
    let mut taken = Vec::new();
    let mut at = 0;
    while at < ranked.len().min(MOST_COMPARED) {
        let this = &ranked[at];
        match ranked[at + 1..].iter().position(|other| is_imitation(scope, this, other)) {
            Some(beyond) => {
                let imitation = ranked.remove(at);
                let original = &mut ranked[at + beyond];
                original.probability += imitation.probability;
                taken.push((original.position, imitation));
            }
            None => at += 1,
        }
    }
    taken
}

/// Puts imitations behind their originals.
pub(super) fn put_back(ranked: &mut Vec<Candidate>, taken: Vec<(usize, Candidate)>) {
    for (original, mut imitation) in taken.into_iter().rev() {
        let Some(at) = ranked.iter().position(|it| it.position == original) else { continue };
        imitation.score = ranked[at].score;
        imitation.probability = 0.0;
        ranked.insert(at + 1, imitation);
    }
}

/// Whether a candidate imitates another one, and nothing speaks for its server.
fn is_imitation(scope: Scope, this: &Candidate, other: &Candidate) -> bool {
    let tools = scope.catalog.tools();
    let (own, original) = (&tools[this.position], &tools[other.position]);
    if own.server == original.server || is_backed(this, other) {
        return false;
    }
    let since = |tool: &Tool| (scope.availability)(tool).since;
    let (index, pair) = (scope.index, (this.position, other.position));
    // Of those that came on one day the server that the settings name first is preferred. Which of two texts holds the
    // other says nothing: a copy can be shorter than its original.
    let place = |tool: &Tool| scope.catalog.place(&tool.server);
    let is_later = (since(own), place(own)) > (since(original), place(original));
    // Whoever comes later has copied, with more words or with fewer.
    is_later
        && (holds(index, (own, pair.0), (original, pair.1))
            || holds(index, (original, pair.1), (own, pair.0)))
}

/// Whether something besides its texts speaks for a candidate's server.
fn is_backed(this: &Candidate, other: &Candidate) -> bool {
    let more = |signal: Signal| this.signals[signal as usize] > other.signals[signal as usize];
    let less = |signal: Signal| this.signals[signal as usize] < other.signals[signal as usize];
    [Signal::Named, Signal::Available, Signal::Recent, Signal::Liked, Signal::Preferred].into_iter().any(more)
        || [Signal::OtherNamed, Signal::Tier].into_iter().any(less)
}

/// Whether a tool has everything of another: its name, its parameters, and nearly all that it says.
fn holds(index: &Index, (own, at): (&Tool, usize), (inner, inner_at): (&Tool, usize)) -> bool {
    let name = index.words.name_terms(at);
    let is_named_so = index.words.name_terms(inner_at).iter().all(|term| name.contains(term));
    let takes = |name: &str| own.parameters.iter().any(|it| it.name == name);
    if !is_named_so || !inner.parameters.iter().all(|it| takes(&it.name)) {
        return false;
    }
    let parameters: Vec<&str> = inner.parameters.iter().map(|it| it.name.as_str()).collect();
    let text = format!("{} {} {}", inner.name, inner.description, parameters.join(" "));
    let said = terms(&text, MOST_TERMS);
    let has = |term: &String| index.words.term(term).is_some_and(|term| index.words.has(at, term));
    let shared = said.iter().filter(|term| has(term)).count();
    said.len() >= TELLING_TERMS && shared as f64 >= thresholds().ranking.copied * said.len() as f64
}
