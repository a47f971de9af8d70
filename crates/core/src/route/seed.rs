//! The ranking of the first design: category 40, keywords 30, use case 20, availability 10.

use super::signals::{Comparison, Signal};
use super::{Candidate, Intent, Judgement};
use crate::catalog::Catalog;
use crate::index::Index;
use crate::metadata::Metadata;
use crate::text::terms;

/// Use cases that share this much of their words are the same.
const SAME: f32 = 0.8;

pub(super) fn scores(index: &Index, catalog: &Catalog, comparison: &Comparison) -> Vec<f32> {
    let intent = &comparison.intent;
    let keywords: Vec<String> = intent.keywords.iter().flat_map(|word| terms(word, 4)).collect();
    let score = |(position, signals): (&usize, &[f32; Signal::ALL.len()])| {
        let metadata = Metadata::of(&catalog.tools()[*position], index.knowledge.of(*position));
        let known =
            terms(&metadata.keywords.iter().chain(&metadata.tags).cloned().collect::<Vec<_>>().join(" "), 64);
        let said = keywords.iter().filter(|keyword| known.contains(keyword)).count();
        let mut score = 0.0;
        if !metadata.category.is_empty() && metadata.category == intent.category {
            score += 0.4;
        }
        score += 0.3 * said as f32 / keywords.len().max(1) as f32;
        if metadata.use_cases.iter().any(|it| similarity(it, &intent.use_case) > SAME) {
            score += 0.2;
        }
        score + 0.1 * signals[Signal::Available as usize]
    };
    comparison.tools.iter().zip(&comparison.signals).map(score).collect()
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
    let none = if right < 0.2 { 1.0 } else { 0.0 };
    let vague = if intent.confidence < 0.5 { 1.0 } else { 0.0 };
    Judgement { right, none, vague }
}
