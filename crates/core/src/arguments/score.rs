//! How likely each candidate of a field is, and how likely it is that the field is left out.

use std::collections::HashMap;

use serde_json::Value;

use super::candidate::{Candidate, candidates};
use super::features::{Extractor, Features};
use super::request::ParsedRequest;
use super::sources::Sources;
use super::weights::FeatureWeights;
use crate::form::Form;

/// What a field could be, for fitting weights: each value with its features.
#[derive(Clone, Debug)]
pub struct FieldFeatures {
    /// The position of the field in its form.
    pub field: usize,
    /// The features of leaving it out.
    pub absent: Vec<u64>,
    /// The values and their features.
    pub options: Vec<(Value, Vec<u64>)>,
}

/// Lists what every field could be; the names of features are added to `names`.
pub fn field_features(
    form: &Form,
    sources: &Sources<'_>,
    names: &mut HashMap<u64, String>,
) -> Vec<FieldFeatures> {
    let request = ParsedRequest::parse(sources.task, sources.now);
    let mut all = Vec::new();
    for (at, field) in form.fields().iter().enumerate() {
        let extractor = Extractor::new(form, field, &request);
        let mut features = Features { ids: Vec::new(), names: Some(names) };
        extractor.absent(&mut features);
        let absent = std::mem::take(&mut features.ids);
        let options = candidates(form, field, &request).into_iter().map(|candidate| {
            extractor.present(&candidate, &mut features);
            (candidate.value, std::mem::take(&mut features.ids))
        });
        all.push(FieldFeatures { field: at, absent, options: options.collect() });
    }
    all
}

/// One candidate of one field, with how likely it is.
pub(super) struct Scored<'c> {
    pub(super) candidate: &'c Candidate,
    pub(super) likelihood: f64,
}

/// The likeliest candidates of a field, the best first, and how likely it is that the field is left out.
pub(super) struct Scores<'c> {
    pub(super) absent: f64,
    pub(super) best: Vec<Scored<'c>>,
}

/// Values of one field that are tried together with those of others.
const MOST_TRIED: usize = 10;
/// Keeps logarithms finite.
const LEAST: f64 = 1e-12;

impl<'c> Scores<'c> {
    pub(super) fn new(
        extractor: &Extractor<'_>,
        candidates: &'c [Candidate],
        weights: &FeatureWeights,
    ) -> Self {
        let mut features = Features { ids: Vec::new(), names: None };
        extractor.absent(&mut features);
        let absent = f64::from(weights.sum(&features.ids));
        let scored = candidates.iter().map(|candidate| {
            features.ids.clear();
            extractor.present(candidate, &mut features);
            (f64::from(weights.sum(&features.ids)), candidate)
        });
        let mut scored: Vec<(f64, &Candidate)> = scored.collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        let most = scored.first().map_or(absent, |it| it.0.max(absent));
        let total: f64 =
            scored.iter().map(|(score, _)| (score - most).exp()).sum::<f64>() + (absent - most).exp();
        let likelihood = |score: f64| ((score - most).exp() / total).max(LEAST);
        let best = scored.into_iter().take(MOST_TRIED);
        let best = best.map(|(score, candidate)| Scored { candidate, likelihood: likelihood(score) });
        Self { absent: likelihood(absent), best: best.collect() }
    }
}
