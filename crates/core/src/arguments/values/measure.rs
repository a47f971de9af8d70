//! Units of measure: what a number counts, as its own name or the name and description of its field say.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::super::quantity::Unit;
use crate::form::Field;
use crate::tool::words::words;

/// A unit: what it measures, and how much of the basic unit it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measure {
    dimension: Dimension,
    size: f64,
}

/// What a unit measures. Temperatures have no common zero, so neither scale is counted in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Dimension {
    Time,
    Mass,
    Length,
    Volume,
    Data,
    Speed,
    Celsius,
    Fahrenheit,
}

/// What is lost by counting in binary fractions is rounded away.
const PRECISION: f64 = 1e6;
/// What may be a minute or a metre.
const MINUTE: &str = "m";
/// Shorter words of a description are seldom units.
const LEAST_LETTERS: usize = 3;

static MEASURES: LazyLock<HashMap<String, Measure>> = LazyLock::new(|| {
    let read: HashMap<Dimension, HashMap<String, f64>> =
        serde_json::from_str(include_str!("../../../data/measures.json"))
            .expect("a test reads the units of measure");
    let of = |(dimension, units): (Dimension, HashMap<String, f64>)| {
        units.into_iter().map(move |(unit, size)| (unit, Measure { dimension, size }))
    };
    read.into_iter().flat_map(of).collect()
});

impl Measure {
    /// Returns the unit that a word names, in the singular or in the plural. `m` is a minute only beside other times.
    pub(super) fn named(word: &str) -> Option<Self> {
        let word = word.to_lowercase();
        let singular = || MEASURES.get(word.strip_suffix('s')?);
        let time = Unit::named(&word).filter(|_| word != MINUTE).map(Self::of_time);
        time.or_else(|| MEASURES.get(&word).or_else(singular).copied())
    }

    /// Returns the unit that is written behind a number, where what is counted may be known.
    pub(super) fn behind(word: &str, beside: Option<Self>) -> Option<Self> {
        match beside {
            Some(Self { dimension: Dimension::Time, .. }) if word == MINUTE => {
                Some(Self::of_time(Unit::Minute))
            }
            Some(_) | None => Self::named(word),
        }
    }

    fn of_time(unit: Unit) -> Self {
        Self { dimension: Dimension::Time, size: unit.seconds() }
    }

    /// Returns the unit that a name says: with its last word, or with another word that is long enough.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        let words: Vec<&str> = words(name).collect();
        let (last, others) = words.split_last()?;
        let own = Self::named(last).filter(|_| !others.is_empty() || is_long(last));
        own.or_else(|| others.iter().filter(|it| is_long(it)).find_map(|it| Self::named(it)))
    }

    /// Returns the unit that a field counts in. A description that names several says none.
    pub(super) fn of_field(field: &Field) -> Option<Self> {
        let described = || {
            let found: Vec<Self> =
                words(&field.description).filter(|it| is_long(it)).filter_map(Self::named).collect();
            found.first().copied().filter(|first| found.iter().all(|it| it == first))
        };
        Self::of_name(field.name()).or_else(described)
    }

    /// Returns how many of the basic unit a number of these is.
    pub(super) fn basic(self, number: f64) -> (Self, f64) {
        (Self { size: 1.0, ..self }, number * self.size)
    }

    /// Returns a number of this unit in another; `None` where they measure different things.
    pub(super) fn counted_in(self, other: Self, number: f64) -> Option<f64> {
        let value = number * self.size / other.size;
        (self.dimension == other.dimension).then_some((value * PRECISION).round() / PRECISION)
    }

    /// Returns how many seconds a number of these is; `None` where it is no length of time.
    pub(super) fn in_seconds(self, number: f64) -> Option<f64> {
        (self.dimension == Dimension::Time).then_some(number * self.size)
    }

    /// Whether it is so small that whoever says a bare number seldom means it.
    pub(super) fn is_fine(self) -> bool {
        self.dimension == Dimension::Time && self.size < Unit::Second.seconds()
    }
}

/// Whether a word is long enough to be a unit wherever it stands.
fn is_long(word: &str) -> bool {
    word.len() >= LEAST_LETTERS || word == "ms"
}
