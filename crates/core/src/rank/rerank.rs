//! Where vectors leave it open, the encoder reads the request beside the text of each of the likeliest tools.

use super::signals::{Comparison, Signal};
use super::{Candidate, Judgement};
use crate::catalog::Catalog;
use crate::index::{Index, tool_text};
use crate::thresholds::thresholds;

/// Tools that are read at most: each takes as long as encoding it.
const MOST: usize = 8;

/// Whether a request needs no closer look.
pub(super) fn is_clear(judgement: Judgement) -> bool {
    judgement.right >= thresholds().rerank.clear && judgement.vague < thresholds().decision.maybe_vague
}

/// Returns the tools that are worth reading, likeliest first; of those that read alike one.
pub(super) fn likeliest(index: &Index, catalog: &Catalog, ranked: &[Candidate]) -> Vec<usize> {
    let Some(best) = ranked.first() else { return Vec::new() };
    let mut chosen: Vec<usize> = Vec::new();
    let least = best.score - thresholds().rerank.reach as f32;
    for candidate in ranked.iter().take_while(|it| it.score > least) {
        if !chosen.iter().any(|other| reads_alike(index, catalog, *other, candidate.position)) {
            chosen.push(candidate.position);
        }
        if chosen.len() == MOST {
            break;
        }
    }
    chosen
}

/// Notes how well tools fitted that were read; the others fit no better than the worst of these.
pub(super) fn note(index: &Index, catalog: &Catalog, comparison: &mut Comparison, read: &[(usize, f32)]) {
    if read.is_empty() {
        return;
    }
    comparison.query.is_read = true;
    let best = read.iter().map(|(_, fit)| *fit).fold(f32::NEG_INFINITY, f32::max);
    let worst = read.iter().map(|(_, fit)| *fit).fold(f32::INFINITY, f32::min);
    let total: f32 = read.iter().map(|(_, fit)| (fit - best).exp()).sum();
    let unit = thresholds().rerank.unit as f32;
    for (tool, signals) in comparison.tools.iter().zip(&mut comparison.signals) {
        let fit =
            read.iter().find(|(other, _)| reads_alike(index, catalog, *other, *tool)).map(|(_, fit)| *fit);
        signals[Signal::Reading as usize] = fit.unwrap_or(worst) / unit;
        signals[Signal::ReadingShare as usize] = fit.map_or(0.0, |fit| (fit - best).exp() / total);
    }
}

/// Whether reading one tool says how the other fits: a copy of it, or one that differs in what is not read.
fn reads_alike(index: &Index, catalog: &Catalog, one: usize, other: usize) -> bool {
    let group = index.copies.group(one);
    let is_copy = one == other || (group.is_some() && index.copies.group(other) == group);
    let (one, other) = (&catalog.tools()[one], &catalog.tools()[other]);
    is_copy || (one.description == other.description && tool_text(one) == tool_text(other))
}
