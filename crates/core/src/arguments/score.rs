//! How likely each candidate of a field is, and how likely it is that the field is left out.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::Value;
use toolyard_encoder::FieldReading;

use super::candidate::{Candidate, candidates};
use super::equivalence::equivalent;
use super::features::{Extractor, Features};
use super::reading::{absence, belief};
use super::request::ParsedRequest;
use super::sources::Sources;
use super::weights::FeatureWeights;
use crate::form::{Field, Form};
use crate::thresholds::thresholds;

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

/// Returns where a request says a value of a field, in bytes: every place at which it could be read.
pub fn said_in(form: &Form, field: &Field, sources: &Sources<'_>, value: &Value) -> Vec<Range<usize>> {
    let request = ParsedRequest::parse(sources.task, sources.now);
    let found = candidates(form, field, &request).into_iter();
    let mut places: Vec<Range<usize>> = found
        .filter(|it| !it.bytes.is_empty() && equivalent(&it.value, value))
        .map(|candidate| candidate.bytes)
        .collect();
    places.sort_by_key(|it| (it.start, it.end));
    places.dedup();
    places
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
        reading: Option<&FieldReading>,
    ) -> Self {
        let mut features = Features { ids: Vec::new(), names: None };
        extractor.absent(&mut features);
        // Rules and reader see much of the same, so that what both say is not twice as sure.
        let temper = if reading.is_some() { thresholds().arguments.read_share } else { 1.0 };
        let absent = temper * (f64::from(weights.sum(&features.ids)) + reading.map_or(0.0, absence));
        let read = |candidate: &Candidate| {
            reading.map_or(0.0, |it| belief(it, extractor.field, extractor.request, candidate))
        };
        let scored = candidates.iter().map(|candidate| {
            features.ids.clear();
            extractor.present(candidate, &mut features);
            (temper * (f64::from(weights.sum(&features.ids)) + read(candidate)), candidate)
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
