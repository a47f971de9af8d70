//! Which tools a conversation needs for a message.

use std::sync::Arc;

use crate::catalog::Catalog;
use crate::plan;
use crate::rank::{Candidate, Decision};
use crate::session::{Meant, Registry, merged, needed};
use crate::task::clauses;
use crate::thresholds::thresholds;

/// Candidates of each part of a message that are looked at.
pub const MOST_RANKED: usize = 20;
/// Requests of one message that are looked at each by itself.
const MOST_CLAUSES: usize = 4;

/// What a message needs.
#[derive(Clone, Debug)]
pub struct Needs {
    /// The domains that it is about, in the order in which it mentions them.
    pub domains: Vec<Meant>,
    /// The tools that may be meant, likeliest first, each with its share of the belief.
    pub ranked: Vec<(Arc<str>, f32)>,
    /// Tools that are needed for this message and not afterwards.
    pub bound: Vec<Arc<str>>,
}

/// Returns the words to rank for a message: all of them, and those of each of its requests.
pub fn parts(message: &str) -> Vec<String> {
    let cut = clauses(message);
    let spoken = (0..cut.len()).filter(|_| cut.len() > 1).take(MOST_CLAUSES).map(|at| plan::spoken(&cut, at));
    std::iter::once(message.to_owned()).chain(spoken).collect()
}

/// Returns what a message needs: how its parts rank, the whole first, and which domains it is about.
pub fn needs(
    catalog: &Catalog,
    registry: &Registry,
    decisions: &[Arc<Decision>],
    most: usize,
    domains: impl FnOnce(&[(Arc<str>, f32)]) -> Vec<Meant>,
) -> Needs {
    let share = |it: &Candidate| {
        let known = registry.get(catalog.tools()[it.position].id.as_str())?;
        Some((Arc::clone(&known.name), it.probability))
    };
    let ranked = merged(decisions.iter().map(|it| it.candidates.iter().filter_map(share).collect()));
    let domains = domains(&ranked);
    let is_clear = decisions.first().is_some_and(|whole| whole.judgement.vague < thresholds().toolset.vague);
    let bound = needed(registry, &domains, &ranked, if is_clear { most } else { 0 });
    Needs { domains, ranked, bound }
}
