//! Which tool of a server a text is about, by words and by vectors.
//!
//! People's own words are often far from every definition, and that is why they are wanted. So a text is another tool's
//! only where it is clearly nearer to that one.

use std::collections::{HashMap, HashSet};

use toolyard_encoder::Embedding;

use crate::index::tool_text;
use crate::text::terms;
use crate::thresholds::thresholds;
use crate::tool::Tool;

/// Terms of a text that are compared.
const MOST_TERMS: usize = 64;

/// Returns the tool that each request for the tool at `own` fits clearly better, by its words.
pub fn by_words(tools: &[&Tool], own: usize, requests: &[String]) -> Vec<Option<usize>> {
    let texts: Vec<HashSet<String>> =
        tools.iter().map(|tool| terms(&tool_text(tool), MOST_TERMS).into_iter().collect()).collect();
    let mut having: HashMap<&str, usize> = HashMap::new();
    for term in texts.iter().flatten() {
        *having.entry(term).or_default() += 1;
    }
    let rarity = |term: &str| {
        let having = having.get(term).copied().unwrap_or_default();
        ((1 + tools.len()) as f64 / (1 + having) as f64).ln() + 1.0
    };
    let nearest = |request: &String| {
        let terms = terms(request, MOST_TERMS);
        let all: f64 = terms.iter().map(|term| rarity(term)).sum();
        let share = |text: &HashSet<String>| {
            let shared: f64 = terms.iter().filter(|term| text.contains(*term)).map(|term| rarity(term)).sum();
            if all > 0.0 { shared / all } else { 0.0 }
        };
        let shares: Vec<f64> = texts.iter().map(share).collect();
        elsewhere(&shares, own, thresholds().enrich.word_margin)
    };
    requests.iter().map(nearest).collect()
}

/// Does the same by vectors: those of the tools' own texts, and those of the requests for the tool at `own`.
pub fn by_vectors(tools: &[Embedding], own: usize, requests: &[Embedding]) -> Vec<Option<usize>> {
    let nearest = |request: &Embedding| {
        let cosines: Vec<f64> = tools.iter().map(|tool| f64::from(tool.cosine(request))).collect();
        elsewhere(&cosines, own, thresholds().enrich.sense_margin)
    };
    requests.iter().map(nearest).collect()
}

/// Returns the nearest tool where it is another one, by more than the margin.
fn elsewhere(nearness: &[f64], own: usize, margin: f64) -> Option<usize> {
    let (at, most) = nearness.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
    (at != own && *most > nearness.get(own)? + margin).then_some(at)
}
