//! Fits the classifier of the screening, and chooses its thresholds.
//!
//! `cargo run --release -p toolyard-eval --example fit_screening -- REGISTRY FOLDER OUT [each]`: the honest tools of a
//! registry, a folder for vectors, and where the weights are written; with `each` it also says what each kind of attack
//! would give that was not fitted on. Weights come from the attacks in `crates/eval/data/attacks.jsonl` that are not held out and from the registry's servers for
//! fitting, thresholds from its servers for choosing. The same input gives the same file.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what it prints is its purpose")]

use std::path::{Path, PathBuf};

use toolyard_core::screen::{Alarm, Classifier, FEATURES, Feature, Features, Means, Plane, screen};
use toolyard_eval::attacks::{self, Specimen, Split};
use toolyard_eval::{MeaningModel, Progress};

/// Honest tools that are read for each use.
const TOOLS: usize = 10_000;
const ROUNDS: usize = 300;
/// Sums that are looked at together.
const HIDDEN: usize = 4;
const DECAY: f32 = 2e-4;
/// How much all attacks together count beside all honest sentences.
const ATTACKS: f32 = 0.35;
/// The share of honest tools, of servers for choosing, that may give an alarm and that may be taken for an attack.
const ALARMS: [f64; 2] = [0.01, 0.001];

/// One sentence: its numbers, what it is, and how much it counts.
#[derive(Clone)]
struct Row {
    vector: Vec<f32>,
    features: Features,
    is_attack: bool,
    bag: usize,
    weight: f32,
}

fn main() {
    let paths: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    let [registry, folder, out, each @ ..] = paths.as_slice() else {
        eprintln!("usage: fit_screening REGISTRY FOLDER OUT [each]");
        std::process::exit(2);
    };
    let model = MeaningModel::named("builtin", folder).expect("the model inside can be read");
    let progress = Progress { begin: &|part, steps| eprintln!("{part}: {steps}"), advance: &|_| {} };
    let benign = |split| attacks::benign(registry, split, TOOLS).expect("the registry can be read");
    let own: Vec<Specimen> = attacks::own().into_iter().filter(|it| !it.is_held_out).collect();
    let (honest, choosing) = (benign(Split::Fit), benign(Split::Choose));
    for specimens in [&own, &honest, &choosing] {
        attacks::learn(&model, specimens, progress);
    }
    let bags = |specimens: &[Specimen], is_attack: bool| -> Vec<Vec<Row>> {
        specimens.iter().enumerate().map(|(at, it)| sentences(&model, it, at, is_attack)).collect()
    };
    let (attack_bags, honest_bags, choosing_bags) =
        (bags(&own, true), bags(&honest, false), bags(&choosing, false));
    let honest_rows: Vec<Row> = honest_bags.into_iter().flatten().collect();
    let key = model.key().expect("a model is used");
    println!("{} attacks, {} honest sentences", own.len(), honest_rows.len());
    let mut families: Vec<&str> = own.iter().map(|it| it.family.as_str()).collect();
    families.sort_unstable();
    families.dedup();
    // What a kind of attack that was not seen would give, to judge the way of fitting without the held-out kinds.
    for family in families.iter().filter(|_| !each.is_empty()) {
        let (left, kept): (Vec<usize>, Vec<usize>) =
            (0..own.len()).partition(|at| own[*at].family == *family);
        let rows =
            kept.iter().flat_map(|at| attack_bags[*at].iter().cloned()).chain(honest_rows.iter().cloned());
        let classifier = trained(rows.collect(), key);
        let limit = thresholds(&choosing_bags, &classifier)[0];
        let found = left.iter().filter(|at| worst(&attack_bags[**at], &classifier) >= limit);
        let either = left.iter().filter(|at| {
            let by_rules = screen(&own[**at].excerpts, None, Means::Rules).alarm != Alarm::Clean;
            by_rules || worst(&attack_bags[**at], &classifier) >= limit
        });
        println!(
            "without {family}: classifier {} with rules {} of {}",
            found.count(),
            either.count(),
            left.len()
        );
    }
    let rows = attack_bags.iter().flatten().cloned().chain(honest_rows);
    let classifier = trained(rows.collect(), key);
    for (share, limit) in ALARMS.iter().zip(thresholds(&choosing_bags, &classifier)) {
        println!("threshold for {share} of {} honest tools: {limit:.3}", choosing_bags.len());
    }
    for (feature, weight) in FEATURES.iter().zip(&classifier.direct.features) {
        println!("{feature:?} {weight:.2}");
    }
    write(out, &classifier);
}

/// Fits, and fits again: in an attack of several sentences only the worst need be one.
fn trained(mut rows: Vec<Row>, encoder: &str) -> Classifier {
    let mut classifier = fitted(&rows, encoder);
    for _ in 0..2 {
        only_the_worst(&mut rows, &classifier);
        classifier = fitted(&rows, encoder);
    }
    classifier
}

/// Returns the score of the worst sentence.
fn worst(rows: &[Row], classifier: &Classifier) -> f32 {
    rows.iter().map(|row| classifier.score(&row.vector, &row.features)).fold(f32::MIN, f32::max)
}

/// Returns the scores above which the allowed shares of honest tools lie.
fn thresholds(bags: &[Vec<Row>], classifier: &Classifier) -> [f32; 2] {
    let mut scores: Vec<f32> = bags.iter().map(|rows| worst(rows, classifier)).collect();
    scores.sort_by(f32::total_cmp);
    ALARMS.map(|share| scores[((1.0 - share) * scores.len() as f64) as usize])
}

/// Returns the sentences that the classifier reads. The first sentence of our own definitions is honest.
fn sentences(model: &MeaningModel, specimen: &Specimen, bag: usize, is_attack: bool) -> Vec<Row> {
    let read = specimen.excerpts.iter().filter(|it| !it.features.is_plain());
    let row = |it: &toolyard_core::screen::Excerpt| {
        let vector = model.vector_of(&it.text).expect("a model is used").values().to_vec();
        Row { vector, features: it.features, is_attack, bag, weight: 1.0 }
    };
    read.map(row).collect()
}

/// Lets the sentences of an attack count that look worst, and drops the others.
fn only_the_worst(rows: &mut [Row], classifier: &Classifier) {
    let scores: Vec<f32> = rows.iter().map(|row| classifier.score(&row.vector, &row.features)).collect();
    let mut best = std::collections::HashMap::new();
    for (row, score) in rows.iter().zip(&scores).filter(|(row, _)| row.is_attack) {
        let known = best.entry(row.bag).or_insert(*score);
        *known = known.max(*score);
    }
    for (row, score) in rows.iter_mut().zip(&scores).filter(|(row, _)| row.is_attack) {
        row.weight = if *score >= best[&row.bag] || *score > 0.0 { 1.0 } else { 0.0 };
    }
}

/// Where the weights of a plane lie among all: those of the vector, those of the features, what is added to everything.
struct Layout {
    dims: usize,
}

impl Layout {
    fn plane(&self) -> usize {
        self.dims + FEATURES.len() + 1
    }

    /// All weights: the plane that counts by itself, those that count together, and how much each of these says.
    fn all(&self) -> usize {
        (HIDDEN + 1) * self.plane() + HIDDEN
    }

    fn is_bias(&self, at: usize) -> bool {
        at < (HIDDEN + 1) * self.plane() && at % self.plane() == self.plane() - 1
    }

    fn sum(&self, weights: &[f32], plane: usize, row: &Row) -> f32 {
        let own = &weights[plane * self.plane()..][..self.plane()];
        let said: f32 = own.iter().zip(&row.vector).map(|(weight, value)| weight * value).sum();
        let seen = used(row).map(|at| own[self.dims + at]).sum::<f32>();
        said + seen + own[self.plane() - 1]
    }

    fn learn(&self, gradient: &mut [f32], plane: usize, (row, error): (&Row, f32)) {
        let own = &mut gradient[plane * self.plane()..][..self.plane()];
        own.iter_mut().zip(&row.vector).for_each(|(sum, value)| *sum += error * value);
        used(row).for_each(|at| own[self.dims + at] += error);
        own[self.plane() - 1] += error;
    }

    fn classifier(&self, weights: &[f32], encoder: &str) -> Classifier {
        let plane = |at: usize| {
            let own = &weights[at * self.plane()..][..self.plane()];
            let (vector, rest) = own.split_at(self.dims);
            let features = rest[..FEATURES.len()].to_vec();
            Plane { bias: rest[FEATURES.len()], features, vector: vector.to_vec() }
        };
        let says = &weights[(HIDDEN + 1) * self.plane()..];
        let hidden = says.iter().enumerate().map(|(at, weight)| (*weight, plane(at + 1))).collect();
        let source = "crates/eval/examples/fit_screening.rs".to_owned();
        Classifier { source, encoder: encoder.to_owned(), direct: plane(0), hidden }
    }
}

/// The features of a row that count. Where a sentence stands says nothing about it, but what stands there differs between
/// our attacks and a registry.
fn used(row: &Row) -> impl Iterator<Item = usize> {
    let is_used =
        |feature: Feature| !matches!(feature, Feature::AtResult | Feature::AtValue | Feature::AtParameter);
    FEATURES
        .iter()
        .enumerate()
        .filter(move |(_, it)| row.features.has(**it) && is_used(**it))
        .map(|(at, _)| at)
}

/// Descends the whole gradient with momentum. Where it begins is made up, and always the same.
fn fitted(rows: &[Row], encoder: &str) -> Classifier {
    let layout = Layout { dims: rows[0].vector.len() };
    let sum = |is_attack: bool| -> f32 {
        rows.iter().filter(|row| row.is_attack == is_attack).map(|row| row.weight).sum()
    };
    let (attacks, honest) = (sum(true), sum(false));
    let mut state = 1_u64;
    let mut made_up = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u32 << 24) as f32 - 0.5
    };
    let mut weights: Vec<f32> = (0..layout.all())
        .map(|at| if at < layout.plane() || layout.is_bias(at) { 0.0 } else { made_up() })
        .collect();
    weights[layout.plane() - 1] = -3.0;
    let says = (HIDDEN + 1) * layout.plane();
    let (mut mean, mut square) = (vec![0.0_f32; layout.all()], vec![0.0_f32; layout.all()]);
    for round in 1..=ROUNDS {
        let mut gradient = vec![0.0_f32; layout.all()];
        for row in rows.iter().filter(|row| row.weight > 0.0) {
            let hidden: Vec<f32> =
                (1..=HIDDEN).map(|plane| layout.sum(&weights, plane, row).tanh()).collect();
            let together: f32 = hidden.iter().zip(&weights[says..]).map(|(it, weight)| it * weight).sum();
            let said = 1.0 / (1.0 + (-layout.sum(&weights, 0, row) - together).exp());
            let (right, all) =
                if row.is_attack { (1.0, ATTACKS / attacks) } else { (0.0, (1.0 - ATTACKS) / honest) };
            let error = (said - right) * row.weight * all;
            layout.learn(&mut gradient, 0, (row, error));
            for (at, it) in hidden.iter().enumerate() {
                gradient[says + at] += error * it;
                let slope = error * weights[says + at] * (1.0 - it * it);
                layout.learn(&mut gradient, at + 1, (row, slope));
            }
        }
        let (fade, rate) = (0.9_f32, if round < ROUNDS / 2 { 0.03 } else { 0.01 });
        for (at, weight) in weights.iter_mut().enumerate() {
            let slope = gradient[at] + if layout.is_bias(at) { 0.0 } else { DECAY * *weight };
            mean[at] = fade * mean[at] + (1.0 - fade) * slope;
            square[at] = 0.99 * square[at] + 0.01 * slope * slope;
            let sure = 1.0 - fade.powi(round as i32);
            let wide = 1.0 - 0.99_f32.powi(round as i32);
            *weight -= rate * (mean[at] / sure) / ((square[at] / wide).sqrt() + 1e-6);
        }
    }
    layout.classifier(&weights, encoder)
}

fn write(out: &Path, classifier: &Classifier) {
    let round = |value: &f32| (f64::from(*value) * 1e4).round() / 1e4;
    let plane = |it: &Plane| {
        serde_json::json!({
            "bias": round(&it.bias),
            "features": it.features.iter().map(round).collect::<Vec<_>>(),
            "vector": it.vector.iter().map(round).collect::<Vec<_>>(),
        })
    };
    let hidden: Vec<_> = classifier.hidden.iter().map(|(weight, it)| (round(weight), plane(it))).collect();
    let file = serde_json::json!({
        "source": "fitted by crates/eval/examples/fit_screening.rs: attacks of crates/eval/data/attacks.jsonl that are not held out, honest sentences of a third of the servers of public registries",
        "encoder": classifier.encoder,
        "direct": plane(&classifier.direct),
        "hidden": hidden,
    });
    std::fs::write(out, format!("{file}\n")).expect("the weights can be written");
}
