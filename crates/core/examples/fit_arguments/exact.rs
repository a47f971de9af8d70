//! Fits how likely a whole call is exact.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use toolyard_core::arguments::{Filling, Form, Sources, equivalent};

/// What speaks for and against a call, and whether it is exact.
pub(crate) struct Judged {
    traits: Vec<(&'static str, f64)>,
    is_exact: bool,
}

const ROUNDS: usize = 4000;
const RATE: f64 = 0.5;
const DECAY: f64 = 1e-3;

impl Judged {
    /// Judges a call; `None` where something is missing, so that it would not be made.
    pub(crate) fn of(
        form: &Form,
        sources: &Sources<'_>,
        filling: &Filling,
        gold: &Map<String, Value>,
    ) -> Option<Self> {
        filling.missing.is_empty().then(|| Self {
            traits: filling.traits(form, sources),
            is_exact: is_exact(form, &filling.object(), gold),
        })
    }
}

/// Whether arguments are exactly the right ones; defaults of the schema may be there.
pub(crate) fn is_exact(form: &Form, sent: &Map<String, Value>, gold: &Map<String, Value>) -> bool {
    let is_default =
        |name: &str, value: &Value| form.default_of(name).is_some_and(|it| equivalent(it, value));
    let is_right = |(name, gold): (&String, &Value)| sent.get(name).is_some_and(|it| equivalent(gold, it));
    let is_wanted = |(name, value): (&String, &Value)| gold.contains_key(name) || is_default(name, value);
    gold.iter().all(is_right) && sent.iter().all(is_wanted)
}

/// Fits weights by logistic regression, and prints how well they part exact calls from others.
pub(crate) fn fit(title: &str, judged: &[Judged]) -> BTreeMap<&'static str, f64> {
    // Half of them, to see what they are worth on the other half.
    let half = |start: usize| judged.iter().skip(start).step_by(2).collect::<Vec<_>>();
    let (kept, held) = (half(0), half(1));
    report(title, &held, &descend(&kept));
    descend(&judged.iter().collect::<Vec<_>>())
}

fn probability(judged: &Judged, weights: &BTreeMap<&'static str, f64>) -> f64 {
    let sum: f64 = judged.traits.iter().map(|(name, value)| weights.get(name).unwrap_or(&0.0) * value).sum();
    1.0 / (1.0 + (-sum).exp())
}

fn descend(judged: &[&Judged]) -> BTreeMap<&'static str, f64> {
    let mut weights: BTreeMap<&'static str, f64> = BTreeMap::new();
    let mut squares: BTreeMap<&'static str, f64> = BTreeMap::new();
    for _ in 0..ROUNDS {
        let mut slopes: BTreeMap<&'static str, f64> = BTreeMap::new();
        for it in judged {
            let error = probability(it, &weights) - f64::from(u8::from(it.is_exact));
            for (name, value) in &it.traits {
                *slopes.entry(name).or_default() += error * value / judged.len() as f64;
            }
        }
        for (name, slope) in slopes {
            let weight = weights.entry(name).or_default();
            let slope = slope + DECAY * *weight;
            let square = squares.entry(name).or_insert(1e-8);
            *square += slope * slope;
            *weight -= RATE * slope / square.sqrt();
        }
    }
    weights
}

fn report(title: &str, judged: &[&Judged], weights: &BTreeMap<&'static str, f64>) {
    let mut ranked: Vec<(f64, bool)> =
        judged.iter().map(|it| (probability(it, weights), it.is_exact)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let exact = ranked.iter().filter(|it| it.1).count();
    println!("{title}: {} calls, exact {:.3}", ranked.len(), exact as f64 / ranked.len() as f64);
    for threshold in [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95] {
        let above: Vec<_> = ranked.iter().filter(|it| it.0 >= threshold).collect();
        let right = above.iter().filter(|it| it.1).count();
        println!(
            "{title}: from {threshold:.2} on {:.3} of them, exact {:.3}",
            above.len() as f64 / ranked.len() as f64,
            right as f64 / above.len().max(1) as f64
        );
    }
}

/// Writes weights as the product reads them.
pub(crate) fn written(weights: &BTreeMap<&'static str, f64>) -> Value {
    let rounded = |weight: f64| (weight * 1000.0).round() / 1000.0;
    json!(weights.iter().map(|(name, weight)| (*name, rounded(*weight))).collect::<BTreeMap<_, _>>())
}
