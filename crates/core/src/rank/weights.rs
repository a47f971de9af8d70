//! How much each signal counts: data, fitted on requests that were written for training.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::confidence::{Judgement, Trait, Traits};
use super::signals::{Comparison, Query, Signal};

/// How much each signal counts, by how closely a request was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// Where only words are compared.
    pub words: Table,
    /// Where meanings are compared as well.
    pub sense: Table,
    /// Where the request was read beside the likeliest tools besides.
    pub read: Table,
}

/// How much each signal counts, and what a confidence is judged by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// For each signal its weight, and what each gate adds to it.
    signals: BTreeMap<String, [f32; Gate::ALL.len() + 1]>,
    /// For each judgement the weight of each trait.
    judgements: BTreeMap<String, BTreeMap<String, f32>>,
}

/// What a request is like as a whole, which changes how much signals count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It is in another language than most tools.
    Foreign,
    /// Its words are those of tools.
    Coverage,
    /// It is long.
    Length,
    /// One tool has most of its words.
    Shared,
    /// Somebody wrote how people ask for some of the tools that may be meant; where nobody did, all signals of
    /// meaning compare with the same text.
    Phrased,
}

impl Gate {
    /// Every gate.
    pub const ALL: [Self; 5] = [Self::Foreign, Self::Coverage, Self::Length, Self::Shared, Self::Phrased];
}

pub(super) fn gates(query: &Query) -> [f32; Gate::ALL.len()] {
    [query.is_foreign, query.coverage, query.length(), query.shared, f32::from(query.is_phrased)]
}

impl Weights {
    /// Returns the weights that come with the product.
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Weights> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            serde_json::from_str(include_str!("../../data/weights.json")).expect("a test reads the weights")
        })
    }

    /// Returns these weights without a signal, for seeing what it is worth.
    pub fn without(&self, signals: &[Signal]) -> Self {
        let mut rest = self.clone();
        for signal in signals {
            rest.words.signals.remove(signal.name());
            rest.sense.signals.remove(signal.name());
            rest.read.signals.remove(signal.name());
        }
        rest
    }

    /// Whether reading counts, so that it is worth the time.
    pub(super) fn reads(&self) -> bool {
        [Signal::Reading, Signal::ReadingShare].iter().any(|it| self.read.signals.contains_key(it.name()))
    }

    /// Returns how much each signal counts for a request.
    pub(super) fn for_query(&self, query: &Query) -> [f32; Signal::ALL.len()] {
        self.table(query).for_query(query)
    }

    pub(super) fn judge(&self, query: &Query, traits: &Traits) -> Judgement {
        self.table(query).judge(traits)
    }

    fn table(&self, query: &Query) -> &Table {
        match query {
            Query { is_read: true, .. } => &self.read,
            Query { has_sense: true, .. } => &self.sense,
            Query { .. } => &self.words,
        }
    }
}

/// Adds up the signals of each tool.
pub(super) fn scores(comparison: &Comparison, counts: &[f32; Signal::ALL.len()]) -> Vec<f32> {
    let score =
        |signals: &[f32; Signal::ALL.len()]| signals.iter().zip(counts).map(|(it, count)| it * count).sum();
    comparison.signals.iter().map(score).collect()
}

impl Table {
    /// Makes a table of fitted numbers.
    pub fn new(
        signals: &[[f32; Gate::ALL.len() + 1]; Signal::ALL.len()],
        judgements: &[(&str, Traits)],
    ) -> Self {
        let named = |(at, weights): (usize, &[f32; Gate::ALL.len() + 1])| {
            (Signal::ALL[at].name().to_owned(), *weights)
        };
        let judged = |(name, traits): &(&str, Traits)| {
            let traits = Trait::ALL.iter().map(|it| (it.name().to_owned(), traits[*it as usize]));
            ((*name).to_owned(), traits.collect())
        };
        Self {
            signals: signals.iter().enumerate().map(named).collect(),
            judgements: judgements.iter().map(judged).collect(),
        }
    }

    /// Returns the same table with these judgements instead of those of the same name.
    #[must_use]
    pub fn judging(mut self, judgements: &[(&str, Traits)]) -> Self {
        let nothing = [[0.0; Gate::ALL.len() + 1]; Signal::ALL.len()];
        self.judgements.extend(Self::new(&nothing, judgements).judgements);
        self
    }

    fn of(&self, signal: Signal) -> [f32; Gate::ALL.len() + 1] {
        self.signals.get(signal.name()).copied().unwrap_or_default()
    }

    fn for_query(&self, query: &Query) -> [f32; Signal::ALL.len()] {
        let gates = gates(query);
        std::array::from_fn(|at| {
            let [own, added @ ..] = self.of(Signal::ALL[at]);
            own + added.iter().zip(gates).map(|(weight, gate)| weight * gate).sum::<f32>()
        })
    }

    fn judge(&self, traits: &Traits) -> Judgement {
        let judge = |name: &str| {
            let Some(weights) = self.judgements.get(name) else { return 0.0 };
            let weight = |it: &Trait| weights.get(it.name()).copied().unwrap_or(0.0);
            let sum: f32 = Trait::ALL.iter().map(|it| weight(it) * traits[*it as usize]).sum();
            1.0 / (1.0 + f64::from(-sum).exp())
        };
        Judgement { right: judge("right"), none: judge("none"), vague: judge("vague") }
    }
}
