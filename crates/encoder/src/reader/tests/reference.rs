//! The network in plain floats, one number after the other, to compare with.

use std::collections::BTreeMap;

use super::super::FieldReading;
use super::super::sequence::{Sequence, Token};
use super::MAX_TOKENS;
use crate::Encoder;
use crate::format::{Header, Kind};
use crate::pack::Sections;
use crate::safetensors::Matrix;
use crate::wordpiece::Piece;

const LAYERS: usize = 2;
const HIDDEN: usize = 32;
const HEADS: usize = 4;
const INTERMEDIATE: usize = 72;
const WIDTH: usize = 128;
const EPSILON: f32 = 1e-12;

type Row = Vec<f32>;

/// Weights by name.
pub(super) struct Weights(BTreeMap<String, Matrix>);

impl Weights {
    /// Makes up weights, the same at each call.
    pub(super) fn noise() -> Self {
        let mut weights = Self(BTreeMap::new());
        for (name, shape, size) in [
            ("embeddings.position", [MAX_TOKENS, HIDDEN], 0.2),
            ("embeddings.type", [2, HIDDEN], 0.2),
            ("embeddings.marks", [2, HIDDEN], 0.5),
        ] {
            weights.put(name, &shape, size);
        }
        weights.norm("embeddings.LayerNorm");
        for layer in 0..LAYERS {
            let name = |part: &str| format!("encoder.layer.{layer}.{part}");
            for part in ["self.query", "self.key", "self.value", "output.dense"] {
                weights.linear(&name(&format!("attention.{part}")), HIDDEN, HIDDEN);
            }
            weights.linear(&name("intermediate.dense"), INTERMEDIATE, HIDDEN);
            weights.linear(&name("output.dense"), HIDDEN, INTERMEDIATE);
            weights.norm(&name("attention.output.LayerNorm"));
            weights.norm(&name("output.LayerNorm"));
        }
        for (name, rows) in [
            ("given.inner", HIDDEN),
            ("given.outer", 3),
            ("token", 4 * WIDTH),
            ("parameter", 4 * WIDTH),
            ("bias", 4),
            ("option", WIDTH),
            ("choice", WIDTH),
            ("option_bias", 1),
            ("fits.inner", HIDDEN),
            ("fits.outer", 1),
        ] {
            weights.linear(name, rows, HIDDEN);
        }
        weights
    }

    fn linear(&mut self, name: &str, rows: usize, columns: usize) {
        self.put(&format!("{name}.weight"), &[rows, columns], 0.3);
        self.put(&format!("{name}.bias"), &[rows], 0.1);
    }

    fn norm(&mut self, name: &str) {
        self.put(&format!("{name}.weight"), &[HIDDEN], 0.1);
        self.put(&format!("{name}.bias"), &[HIDDEN], 0.1);
        let weight = self.0.get_mut(&format!("{name}.weight")).unwrap();
        weight.values.iter_mut().for_each(|value| *value += 1.0);
    }

    fn put(&mut self, name: &str, shape: &[usize], size: f32) {
        let mut state =
            name.bytes().fold(7_u64, |state, byte| state.wrapping_mul(31).wrapping_add(byte.into()));
        let noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 40) as f32 / 8_388_608.0 - 1.0) * size
        };
        let values = std::iter::repeat_with(noise).take(shape.iter().product()).collect();
        self.0.insert(name.to_owned(), Matrix { values, shape: shape.to_vec() });
    }

    /// Makes one number unusable.
    pub(super) fn spoil(&mut self, name: &str) {
        self.0.get_mut(name).unwrap().values[5] = f32::NAN;
    }

    /// Writes the file of a reader beside an encoder.
    pub(super) fn file(&self, encoder: &Encoder) -> Vec<u8> {
        let mut sections = Sections::default();
        for (name, matrix) in &self.0 {
            let few = matches!(
                name.as_str(),
                "given.outer.weight" | "bias.weight" | "option_bias.weight" | "fits.outer.weight"
            );
            match matrix.shape[..] {
                [rows, columns] if !few && !name.starts_with("embeddings.") => {
                    sections.whole(name, matrix, [rows, columns], Kind::Panels).unwrap();
                }
                _ => sections.floats(name, matrix, &matrix.shape).unwrap(),
            }
        }
        let header = Header {
            name: "tiny-reader".to_owned(),
            digest: String::new(),
            layers: LAYERS,
            hidden: HIDDEN,
            heads: HEADS,
            intermediate: INTERMEDIATE,
            vocab: encoder.words.len(),
            max_tokens: MAX_TOKENS,
            position: MAX_TOKENS,
            layer_norm_eps: EPSILON,
            lowercase: true,
            strip_accents: true,
            reads: Some("arguments".to_owned()),
            words: Some(encoder.digest.clone()),
            tensors: Vec::new(),
        };
        sections.file(header).unwrap()
    }

    fn row(&self, name: &str, row: usize) -> &[f32] {
        let matrix = &self.0[name];
        let columns = matrix.shape[1];
        &matrix.values[row * columns..][..columns]
    }

    fn apply(&self, name: &str, input: &[f32]) -> Row {
        let bias = &self.0[&format!("{name}.bias")].values;
        let weight = format!("{name}.weight");
        bias.iter().enumerate().map(|(row, bias)| dot(self.row(&weight, row), input) + bias).collect()
    }

    fn normalise(&self, name: &str, values: &[f32]) -> Row {
        let mean = values.iter().sum::<f32>() / values.len() as f32;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / values.len() as f32;
        let (weight, bias) =
            (&self.0[&format!("{name}.weight")].values, &self.0[&format!("{name}.bias")].values);
        let learnt = values.iter().zip(weight).zip(bias);
        learnt
            .map(|((value, weight), bias)| (value - mean) / (variance + EPSILON).sqrt() * weight + bias)
            .collect()
    }
}

/// What the reference says of one parameter, before anything is chosen.
pub(super) struct Expected {
    given: Row,
    start: Row,
    end: Row,
    begin: Row,
    inside: Row,
    options: Vec<[f32; 2]>,
    pieces: Vec<Piece>,
}

pub(super) struct Reference {
    weights: Weights,
    words: Vec<Row>,
}

impl Reference {
    pub(super) fn new(weights: Weights, encoder: &Encoder) -> Self {
        let row = |id| {
            let (row, scale) = encoder.network.words().row((*encoder.file).as_ref(), id, HIDDEN);
            row.iter().map(|value| f32::from(*value as i8) * scale).collect()
        };
        Self { weights, words: (0..encoder.words.len()).map(row).collect() }
    }

    /// Returns the logarithm of the odds that the tool of a sequence fits.
    pub(super) fn fits(&self, sequence: &Sequence) -> f32 {
        let first = &self.states(sequence)[0];
        let inner: Row = self.weights.apply("fits.inner", first).into_iter().map(gelu).collect();
        self.weights.apply("fits.outer", &inner)[0]
    }

    /// Reads one sequence.
    pub(super) fn read(&self, sequence: &Sequence, pieces: &[Piece]) -> Vec<Expected> {
        let states = self.states(sequence);
        let tokens: Vec<Row> =
            states[1..=pieces.len()].iter().map(|it| self.weights.apply("token", it)).collect();
        let asked = sequence.asked.iter().map(|asked| {
            let mark = &states[asked.mark];
            let inner: Row = self.weights.apply("given.inner", mark).into_iter().map(gelu).collect();
            let (parameter, bias) = (self.weights.apply("parameter", mark), self.weights.apply("bias", mark));
            let way = |way: usize| -> Row {
                let part = way * WIDTH..(way + 1) * WIDTH;
                tokens
                    .iter()
                    .map(|it| compare(&it[part.clone()], &parameter[part.clone()]) + bias[way])
                    .collect()
            };
            let choice = self.weights.apply("choice", mark);
            let places = asked.options.iter().map(|place| &states[place.expect("no option was cut")]);
            let scores: Row = places
                .map(|it| {
                    compare(&self.weights.apply("option", it), &choice)
                        + self.weights.apply("option_bias", it)[0]
                })
                .collect();
            Expected {
                given: log_softmax(&self.weights.apply("given.outer", &inner)),
                start: log_softmax(&way(0)),
                end: log_softmax(&way(1)),
                begin: way(2).into_iter().map(sigmoid).collect(),
                inside: way(3).into_iter().map(sigmoid).collect(),
                options: log_softmax(&scores)
                    .into_iter()
                    .zip(scores)
                    .map(|(log, it)| [log, sigmoid(it)])
                    .collect(),
                pieces: pieces.to_vec(),
            }
        });
        asked.collect()
    }

    fn states(&self, sequence: &Sequence) -> Vec<Row> {
        let embedded = sequence.tokens.iter().enumerate().map(|(at, token)| {
            let known = match token {
                Token::Word(id) => &self.words[*id as usize][..],
                Token::Mark(mark) => self.weights.row("embeddings.marks", *mark as usize),
            };
            let position = self.weights.row("embeddings.position", at);
            let kind = self.weights.row("embeddings.type", usize::from(at >= sequence.first));
            self.weights.normalise("embeddings.LayerNorm", &add(known, &add(position, kind)))
        });
        (0..LAYERS).fold(embedded.collect(), |states, layer| self.layer(layer, &states))
    }

    fn layer(&self, layer: usize, states: &[Row]) -> Vec<Row> {
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        let all = |part: &str| -> Vec<Row> {
            states.iter().map(|it| self.weights.apply(&name(part), it)).collect()
        };
        let (queries, keys, values) =
            (all("attention.self.query"), all("attention.self.key"), all("attention.self.value"));
        let size = HIDDEN / HEADS;
        let layer = states.iter().zip(&queries).map(|(state, query)| {
            let mut mixed = vec![0.0; HIDDEN];
            for head in 0..HEADS {
                let part = head * size..(head + 1) * size;
                let scores = keys
                    .iter()
                    .map(|key| dot(&query[part.clone()], &key[part.clone()]) / (size as f32).sqrt());
                for (share, value) in log_softmax(&scores.collect::<Row>()).iter().zip(&values) {
                    part.clone().for_each(|at| mixed[at] += share.exp() * value[at]);
                }
            }
            let attended = self.weights.apply(&name("attention.output.dense"), &mixed);
            let state = self.weights.normalise(&name("attention.output.LayerNorm"), &add(state, &attended));
            let wide: Row =
                self.weights.apply(&name("intermediate.dense"), &state).into_iter().map(gelu).collect();
            let narrow = self.weights.apply(&name("output.dense"), &wide);
            self.weights.normalise(&name("output.LayerNorm"), &add(&state, &narrow))
        });
        layer.collect()
    }
}

/// How far rounding to eight bits may lead away, in logarithms and in shares.
const TOLERANCE: f32 = 0.05;

impl Expected {
    /// Compares a reading with what is expected.
    pub(super) fn check(&self, reading: &FieldReading, request: &str) {
        near(&reading.given, &self.given, request);
        near(reading.options.as_flattened(), self.options.as_flattened(), request);
        let place = |at: usize, is_start: bool| {
            let found = self
                .pieces
                .iter()
                .position(|it| if is_start { it.source.start == at } else { it.source.end == at });
            found.expect("a span begins and ends with a piece")
        };
        for (range, likely) in &reading.spans {
            let (start, end) = (place(range.start, true), place(range.end, false));
            assert!(start <= end && end - start < 150, "{range:?}");
            near(&[*likely], &[self.start[start] + self.end[end]], request);
        }
        let best =
            (0..self.pieces.len()).flat_map(|start| (start..self.pieces.len()).map(move |end| (start, end)));
        let best = best
            .filter(|(start, end)| end - start < 150)
            .map(|(start, end)| self.start[start] + self.end[end]);
        let best = best.fold(f32::NEG_INFINITY, f32::max);
        assert!(
            (reading.spans[0].1 - best).abs() < TOLERANCE,
            "{} is not the best, {best}",
            reading.spans[0].1
        );
        self.check_items(reading);
    }

    /// Compares the items; what is near to a threshold may fall on either side.
    fn check_items(&self, reading: &FieldReading) {
        for (at, piece) in self.pieces.iter().enumerate() {
            let begun = reading.items.iter().find(|(range, _)| range.start == piece.source.start);
            if (self.begin[at] - 0.4).abs() > TOLERANCE {
                assert_eq!(begun.is_some(), self.begin[at] > 0.4, "{piece:?} of {:?}", reading.items);
            }
            if let Some((_, begins)) = begun {
                assert!((begins - self.begin[at]).abs() < TOLERANCE, "{begins} for {}", self.begin[at]);
            }
            let is_within =
                |place: usize| reading.items.iter().any(|(it, _)| it.start < place && it.end >= place);
            let follows = at > 0 && is_within(self.pieces[at - 1].source.end) && begun.is_none();
            if follows && (self.inside[at] - 0.5).abs() > TOLERANCE {
                assert_eq!(
                    is_within(piece.source.end),
                    self.inside[at] > 0.5,
                    "{piece:?} of {:?}",
                    reading.items
                );
            }
        }
    }
}

fn near(found: &[f32], expected: &[f32], request: &str) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < TOLERANCE, "{found}, not {expected}, for {request:?}");
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(a: &[f32], b: &[f32]) -> Row {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

fn compare(a: &[f32], b: &[f32]) -> f32 {
    dot(a, b) / (WIDTH as f32).sqrt()
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

fn log_softmax(scores: &[f32]) -> Row {
    let all = scores.iter().map(|score| score.exp()).sum::<f32>().ln();
    scores.iter().map(|score| score - all).collect()
}

/// The Gaussian error linear unit; its integral is added up in small steps.
fn gelu(x: f32) -> f32 {
    const STEPS: usize = 200;
    let step = f64::from(x) / STEPS as f64;
    let density = |at: f64| (-at * at / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let area: f64 = (0..STEPS).map(|at| density((at as f64 + 0.5) * step) * step).sum();
    (f64::from(x) * (0.5 + area)) as f32
}
