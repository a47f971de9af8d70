//! The ranking of the first design: category 40, keywords 30, use case 20, availability 10.

use super::signals::{Comparison, Signal};
use super::{Candidate, Intent, Judgement};
use crate::catalog::Catalog;
use crate::index::Index;
use crate::metadata::Metadata;
use crate::text::terms;
use crate::thresholds::thresholds;

/// Sharpens scores until they share the belief as the examples of the first design expect.
pub(super) fn sharpness() -> f32 {
    thresholds().seed.sharpness as f32
}

pub(super) fn scores(index: &Index, catalog: &Catalog, comparison: &Comparison) -> Vec<f32> {
    let (intent, seed) = (&comparison.intent, &thresholds().seed);
    let keywords: Vec<String> = intent.keywords.iter().flat_map(|word| terms(word, 4)).collect();
    let score = |(position, signals): (&usize, &[f32; Signal::ALL.len()])| {
        let metadata = Metadata::of(&catalog.tools()[*position], index.knowledge.of(*position));
        let known =
            terms(&metadata.keywords.iter().chain(&metadata.tags).cloned().collect::<Vec<_>>().join(" "), 64);
        let said = keywords.iter().filter(|keyword| known.contains(keyword)).count();
        let mut score = 0.0;
        if !metadata.category.is_empty() && metadata.category == intent.category {
            score += seed.category as f32;
        }
        score += seed.keywords as f32 * said as f32 / keywords.len().max(1) as f32;
        if metadata.use_cases.iter().any(|it| similarity(it, &intent.use_case) > seed.same_use_case as f32) {
            score += seed.use_case as f32;
        }
        score + seed.availability as f32 * signals[Signal::Available as usize]
    };
    comparison.tools.iter().zip(&comparison.signals).map(score).collect()
}

/// Puts first, of tools with the same score, the one whose text shares most with the request. These weights make many equal.
pub(super) fn part(ranked: &mut [Candidate]) {
    let words = |it: &Candidate| it.signals[Signal::Words as usize];
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| words(b).total_cmp(&words(a))));
}

/// Cosine of two texts by their words.
fn similarity(a: &str, b: &str) -> f32 {
    let (a, b) = (terms(a, 64), terms(b, 64));
    let shared = a.iter().filter(|term| b.contains(term)).count() as f32;
    let lengths = (a.len() * b.len()) as f32;
    if lengths > 0.0 { shared / lengths.sqrt() } else { 0.0 }
}

pub(super) fn judge(ranked: &[Candidate], intent: &Intent) -> Judgement {
    let right = ranked.first().map_or(0.0, |first| f64::from(first.score));
    let none = if right < thresholds().seed.no_tool { 1.0 } else { 0.0 };
    let vague = if intent.confidence < thresholds().seed.vague { 1.0 } else { 0.0 };
    Judgement { right, none, vague }
}
