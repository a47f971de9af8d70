//! Fits weights: for each field the right value, or none, shall be likelier than every other.

use std::collections::HashMap;
use std::fmt::Write;

use serde_json::{Map, Value};
use toolyard_core::arguments::{
    Field, FieldFeatures, ValueFeatures, equivalent, field_features, value_features,
};

use crate::data::Case;
use crate::measure::sources;
use crate::named::NamedCall;

/// Wrong values of a field that are learnt from; the others are counted by them.
const MOST_WRONG: usize = 40;
const ROUNDS: usize = 6;
/// Rounds whose weights are averaged, which forgets the accidents of each.
const LAST: usize = 4;
const DESCENTS: usize = 2;
/// How much a call counts whose names nobody compared by meaning.
const UNCOMPARED: f32 = 0.3;
const RATE: f32 = 0.15;
const DECAY: f32 = 2e-3;
/// A feature that is rarer says nothing.
const LEAST_COUNT: u32 = 4;
/// Smaller weights are not written.
const LEAST_WEIGHT: f32 = 0.2;

/// One field of one request: the features of each value, the first `right` of them right.
struct Lesson<Feature> {
    options: Vec<Vec<Feature>>,
    right: usize,
    /// Where the wrong values begin that were sampled.
    sampled: usize,
    /// How many values each of those stands for, as a logarithm.
    wrong_share: f32,
    weight: f32,
}

/// Everything that is learnt from, with the names of its features.
#[derive(Default)]
struct Lessons {
    lessons: Vec<Lesson<u32>>,
    names: HashMap<u64, String>,
    numbers: HashMap<u64, u32>,
    counts: Vec<u32>,
}

impl Lessons {
    fn add(&mut self, lesson: Lesson<u64>) {
        let Lesson { options, right, sampled, wrong_share, weight } = lesson;
        let mut number = |id: u64| {
            let at = *self.numbers.entry(id).or_insert_with(|| {
                self.counts.push(0);
                self.counts.len() as u32 - 1
            });
            self.counts[at as usize] += 1;
            at
        };
        let options = options.into_iter().map(|ids| ids.into_iter().map(&mut number).collect()).collect();
        self.lessons.push(Lesson { options, right, sampled, wrong_share, weight });
    }

    /// Keeps the names of the features that were used.
    fn name(&mut self, names: HashMap<u64, String>) {
        for (id, name) in names {
            if self.numbers.contains_key(&id) {
                self.names.entry(id).or_insert(name);
            }
        }
    }

    /// Returns the weights as `FeatureWeights::parse` reads them.
    fn weights(mut self, dice: &mut Dice) -> String {
        println!("{} lessons, {} features", self.lessons.len(), self.counts.len());
        for lesson in &mut self.lessons {
            for option in &mut lesson.options {
                option.retain(|at| self.counts[*at as usize] >= LEAST_COUNT);
            }
        }
        // The mean of several descents depends less on the order in which each saw the lessons.
        let mut weights = vec![0.0_f32; self.counts.len()];
        for _ in 0..DESCENTS {
            let found = descend(&self.lessons, self.counts.len(), dice);
            weights.iter_mut().zip(found).for_each(|(mean, weight)| *mean += weight / DESCENTS as f32);
        }
        let mut written: Vec<(&String, f32)> = self
            .numbers
            .iter()
            .filter(|(_, at)| weights[**at as usize].abs() >= LEAST_WEIGHT)
            .filter_map(|(id, at)| Some((self.names.get(id)?, weights[*at as usize])))
            .filter(|(name, _)| !name.contains(['\t', '\n']))
            .collect();
        written.sort_by(|a, b| a.0.cmp(b.0));
        let mut text = String::new();
        for (name, weight) in written {
            let _ = writeln!(text, "{name}\t{weight:.2}");
        }
        text
    }
}

/// Fits which words fill which field.
pub(crate) fn fit(cases: &[&Case]) -> String {
    let mut lessons = Lessons::default();
    let mut dice = Dice::new(42);
    let (mut found, mut wanted) = (0_usize, 0_usize);
    for case in cases {
        let mut names = HashMap::new();
        for features in field_features(&case.form, &sources(&case.text, &Map::new()), &mut names) {
            let gold = gold(&case.form.fields()[features.field], &case.gold);
            wanted += usize::from(gold.is_some());
            let Some(lesson) = lesson(features, gold, case, &mut dice) else { continue };
            found += usize::from(gold.is_some());
            lessons.add(lesson);
        }
        lessons.name(names);
    }
    println!("{found} of {wanted} values can be found");
    lessons.weights(&mut dice)
}

/// Fits which value of a caller fills which field.
pub(crate) fn fit_values(calls: &[&NamedCall]) -> String {
    let mut lessons = Lessons::default();
    let mut dice = Dice::new(42);
    for call in calls {
        // Other models compare other things, or none is there.
        for (sources, weight) in [(call.sources(), 1.0), (call.without_nearness(), UNCOMPARED)] {
            let mut names = HashMap::new();
            for features in value_features(&call.form, &sources, &mut names) {
                lessons.add(value_lesson(features, &call.gold, weight));
            }
            lessons.name(names);
        }
    }
    lessons.weights(&mut dice)
}

/// Of the places of a value those are right where it makes a right argument; having none is right where none is.
fn value_lesson(
    ValueFeatures { unused, options }: ValueFeatures,
    gold: &Map<String, Value>,
    weight: f32,
) -> Lesson<u64> {
    let is_right = |(values, _): &(Vec<(Vec<String>, Value)>, Vec<u64>)| {
        values.iter().all(|(path, value)| found(path, gold).is_some_and(|it| equivalent(it, value)))
    };
    let (right, wrong): (Vec<_>, Vec<_>) = options.into_iter().partition(is_right);
    let only = |options: Vec<(_, Vec<u64>)>| options.into_iter().map(|(_, features)| features);
    let count = right.len().max(1);
    let options: Vec<Vec<u64>> = only(right).chain([unused]).chain(only(wrong)).collect();
    let sampled = options.len();
    Lesson { options, right: count, sampled, wrong_share: 0.0, weight }
}

/// Samples the values of a field; `None` when the right one is not among them.
fn lesson(
    features: FieldFeatures,
    gold: Option<&Value>,
    case: &Case,
    dice: &mut Dice,
) -> Option<Lesson<u64>> {
    let is_right = |value: &Value| gold.is_some_and(|gold| equivalent(gold, value));
    let (right, mut wrong): (Vec<_>, Vec<_>) =
        features.options.into_iter().partition(|(value, _)| is_right(value));
    let mut right: Vec<Vec<u64>> = right.into_iter().map(|(_, features)| features).collect();
    if gold.is_some() && right.is_empty() {
        return None;
    }
    let all = wrong.len();
    for at in 0..wrong.len().min(MOST_WRONG) {
        let other = at + dice.below(wrong.len() - at);
        wrong.swap(at, other);
    }
    wrong.truncate(MOST_WRONG);
    let wrong_share = (all as f32 / wrong.len().max(1) as f32).ln();
    let wrong = wrong.into_iter().map(|(_, features)| features);
    // Leaving it out is right where there is no value, and else the first of the wrong ones.
    let (options, right) = if gold.is_none() {
        (std::iter::once(features.absent).chain(wrong).collect(), 1)
    } else {
        let count = right.len();
        right.push(features.absent);
        (right.into_iter().chain(wrong).collect(), count)
    };
    let weight = match case.source {
        "written" => 2.0,
        "sgd" => 0.4,
        "invented" => 0.5,
        "api_bank_train" => 3.0,
        _ => 1.0,
    };
    let sampled = right + usize::from(gold.is_some());
    Some(Lesson { options, right, sampled, wrong_share, weight })
}

/// Finds the right value of a field; of a list of objects its first.
pub(crate) fn gold<'a>(field: &Field, arguments: &'a Map<String, Value>) -> Option<&'a Value> {
    found(&field.path, arguments)
}

fn found<'a>(path: &[String], arguments: &'a Map<String, Value>) -> Option<&'a Value> {
    let mut names = path.iter();
    let mut at = arguments.get(names.next()?)?;
    for name in names {
        let inner = if at.is_array() { at.get(0)? } else { at };
        at = inner.get(name)?;
    }
    Some(at).filter(|it| !it.is_null())
}

fn descend(lessons: &[Lesson<u32>], count: usize, dice: &mut Dice) -> Vec<f32> {
    let mut weights = vec![0.0_f32; count];
    let mut squares = vec![1e-2_f32; count];
    let mut order: Vec<usize> = (0..lessons.len()).collect();
    let mut slopes: Vec<f32> = Vec::new();
    let mut mean = vec![0.0_f32; count];
    for round in 0..ROUNDS {
        for at in 0..order.len() {
            let other = at + dice.below(order.len() - at);
            order.swap(at, other);
        }
        let mut loss = 0.0;
        for at in &order {
            let lesson = &lessons[*at];
            loss += slope(lesson, &weights, &mut slopes);
            for (option, slope) in lesson.options.iter().zip(&slopes) {
                if slope.abs() < 1e-5 {
                    continue;
                }
                for feature in option {
                    let feature = *feature as usize;
                    let step = slope * lesson.weight + DECAY * weights[feature];
                    squares[feature] += step * step;
                    weights[feature] -= RATE * step / squares[feature].sqrt();
                }
            }
        }
        println!("round {round}: loss {:.4}", loss / lessons.len() as f32);
        if round + LAST >= ROUNDS {
            mean.iter_mut().zip(&weights).for_each(|(mean, weight)| *mean += weight / LAST as f32);
        }
    }
    mean
}

/// The slope of the loss for the score of each value, and the loss.
fn slope(lesson: &Lesson<u32>, weights: &[f32], slopes: &mut Vec<f32>) -> f32 {
    let sum = |option: &Vec<u32>| option.iter().map(|at| weights[*at as usize]).sum::<f32>();
    slopes.clear();
    slopes.extend(lesson.options.iter().map(sum));
    // Sampled values stand for those that were left away.
    for score in slopes.iter_mut().skip(lesson.sampled) {
        *score += lesson.wrong_share;
    }
    let most = slopes.iter().copied().fold(f32::MIN, f32::max);
    slopes.iter_mut().for_each(|score| *score = (*score - most).exp());
    let total: f32 = slopes.iter().sum();
    let right: f32 = slopes[..lesson.right].iter().sum::<f32>().max(1e-20);
    for (at, slope) in slopes.iter_mut().enumerate() {
        let share = *slope / total;
        *slope = if at < lesson.right { share - *slope / right } else { share };
    }
    (total / right).ln()
}

/// Numbers that look random and are the same each time.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end.max(1)
    }
}
