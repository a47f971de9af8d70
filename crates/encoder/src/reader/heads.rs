//! The states of tokens become readings: is it given, where, and which option?

use std::iter;
use std::ops::Range;

use super::sequence::{Asked, BEGINNING, Sequence};
use super::{CUT_OPTION, FieldReading};
use crate::Error;
use crate::format::Contents;
use crate::math;
use crate::simd::Path;
use crate::step::Linear;
use crate::wordpiece::Piece;

/// The numbers by which tokens and parameters are compared.
const WIDTH: usize = 128;
/// In how many ways they are compared: where a value starts and ends, where an item begins, and what is inside.
const WAYS: usize = 4;

/// How many of the best starts and ends are combined.
const BEST_ENDS: usize = 14;
/// The most spans of a reading.
const MAX_SPANS: usize = 10;
/// A span has fewer tokens than this between its ends.
const MAX_SPAN_TOKENS: usize = 150;
/// How probable it must be that an item begins with a token; the same as in `training/reference_reader.py`.
const ITEM_BEGINS: f32 = 0.4;
/// How probable it must be that a token continues an item; the same as there.
const ITEM_CONTINUES: f32 = 0.5;

/// What turns states into readings.
#[derive(Debug)]
pub(super) struct Heads {
    given_inner: Linear,
    given_outer: Dense,
    token: Linear,
    parameter: Linear,
    bias: Dense,
    option: Linear,
    choice: Linear,
    option_bias: Dense,
    fits_inner: Linear,
    fits_outer: Dense,
}

/// The last states of some tokens of a sequence, and what computes with them.
pub(super) struct States<'a> {
    pub(super) path: Path,
    pub(super) file: &'a [u8],
    /// The places of the tokens, in order.
    pub(super) tokens: &'a [usize],
    pub(super) values: &'a [f32],
}

/// A small matrix of floats.
#[derive(Debug)]
struct Dense {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

/// The scores of a sequence, a row for each parameter, token or option.
struct Scores {
    given: Vec<f32>,
    token: Vec<f32>,
    parameter: Vec<f32>,
    bias: Vec<f32>,
    choice: Vec<f32>,
}

impl Heads {
    /// Finds all weights in a file.
    pub(super) fn load(contents: &Contents<'_>) -> Result<Self, Error> {
        let hidden = contents.header.hidden;
        let linear = |name: &str, rows| Linear::load(contents, name, [rows, hidden]);
        let dense = |name: &str, rows| {
            let weight = contents.floats(&format!("{name}.weight"), &[rows, hidden])?;
            Ok::<_, Error>(Dense { weight, bias: contents.floats(&format!("{name}.bias"), &[rows])? })
        };
        Ok(Self {
            given_inner: linear("given.inner", hidden)?,
            given_outer: dense("given.outer", 3)?,
            token: linear("token", WAYS * WIDTH)?,
            parameter: linear("parameter", WAYS * WIDTH)?,
            bias: dense("bias", WAYS)?,
            option: linear("option", WIDTH)?,
            choice: linear("choice", WIDTH)?,
            option_bias: dense("option_bias", 1)?,
            fits_inner: linear("fits.inner", hidden)?,
            fits_outer: dense("fits.outer", 1)?,
        })
    }

    /// Returns the reading of each parameter of a sequence, with its number in the question.
    pub(super) fn read(
        &self,
        states: &States<'_>,
        sequence: &Sequence,
        request: &[Piece],
    ) -> Vec<(usize, FieldReading)> {
        let scores = self.score(states, sequence);
        let readings = sequence.asked.iter().enumerate().map(|(at, asked)| {
            let [start, end, begin, inside] = scores.ways(at);
            let reading = FieldReading {
                given: scores.given(at),
                spans: spans(start, end, request),
                items: items(&begin, &inside, request),
                options: self.options(states, asked, &scores.choice[at * WIDTH..][..WIDTH]),
            };
            (asked.parameter, reading)
        });
        readings.collect()
    }

    /// Returns the logarithm of the odds that the tool of a sequence can serve the request.
    pub(super) fn fits(&self, states: &States<'_>) -> f32 {
        let mut inner = states.map(&self.fits_inner, &states.rows(iter::once(BEGINNING)));
        math::gelu(&mut inner);
        self.fits_outer.apply(&inner)[0]
    }

    fn score(&self, states: &States<'_>, sequence: &Sequence) -> Scores {
        let parameters = states.rows(sequence.asked.iter().map(|asked| asked.mark));
        let mut inner = states.map(&self.given_inner, &parameters);
        math::gelu(&mut inner);
        Scores {
            given: self.given_outer.apply(&inner),
            token: states.map(&self.token, &states.rows(sequence.request())),
            parameter: states.map(&self.parameter, &parameters),
            bias: self.bias.apply(&parameters),
            choice: states.map(&self.choice, &parameters),
        }
    }

    /// Returns what is said of each option of a parameter, given what its mark is compared by.
    fn options(&self, states: &States<'_>, asked: &Asked, choice: &[f32]) -> Vec<[f32; 2]> {
        let rows = states.rows(asked.options.iter().copied().flatten());
        let offered = states.map(&self.option, &rows);
        let compared = offered.chunks_exact(WIDTH).zip(self.option_bias.apply(&rows));
        let scores: Vec<f32> = compared.map(|(option, bias)| compare(option, choice) + bias).collect();
        let mut shares = scores.clone();
        math::log_softmax(&mut shares);
        let mut read = shares.into_iter().zip(scores).map(|(share, score)| [share, math::sigmoid(score)]);
        let said = asked.options.iter().map(|place| place.and_then(|_| read.next()).unwrap_or(CUT_OPTION));
        said.collect()
    }
}

impl Scores {
    fn given(&self, parameter: usize) -> [f32; 3] {
        let mut given = self.given.as_chunks().0[parameter];
        math::log_softmax(&mut given);
        given
    }

    /// Compares a parameter with each token of the request, in each way.
    fn ways(&self, parameter: usize) -> [Vec<f32>; WAYS] {
        let row = &self.parameter[parameter * WAYS * WIDTH..][..WAYS * WIDTH];
        std::array::from_fn(|way| {
            let (place, bias) = (way * WIDTH, self.bias[parameter * WAYS + way]);
            let tokens = self.token.chunks_exact(WAYS * WIDTH);
            tokens.map(|token| compare(&token[place..][..WIDTH], &row[place..][..WIDTH]) + bias).collect()
        })
    }
}

impl States<'_> {
    /// Gathers the states of some tokens.
    fn rows(&self, tokens: impl Iterator<Item = usize>) -> Vec<f32> {
        let hidden = self.values.len() / self.tokens.len().max(1);
        let places = tokens.map(|token| self.tokens.partition_point(|it| *it < token));
        places.flat_map(|place| &self.values[place * hidden..][..hidden]).copied().collect()
    }

    fn map(&self, linear: &Linear, rows: &[f32]) -> Vec<f32> {
        linear.apply(self.path, self.file, rows)
    }
}

impl Dense {
    fn apply(&self, rows: &[f32]) -> Vec<f32> {
        let columns = self.weight.len() / self.bias.len();
        let weights = || self.weight.chunks_exact(columns).zip(&self.bias);
        let of_row = |row| weights().map(move |(weight, bias)| math::dot(row, weight) + bias);
        rows.chunks_exact(columns).flat_map(of_row).collect()
    }
}

fn compare(a: &[f32], b: &[f32]) -> f32 {
    math::dot(a, b) / (WIDTH as f32).sqrt()
}

/// Returns the likeliest spans, given the scores of starts and ends.
fn spans(mut start: Vec<f32>, mut end: Vec<f32>, request: &[Piece]) -> Vec<(Range<usize>, f32)> {
    math::log_softmax(&mut start);
    math::log_softmax(&mut end);
    let (starts, ends) = (best(&start), best(&end));
    let mut pairs = Vec::with_capacity(starts.len() * ends.len());
    for from in starts {
        let reach = from..from.saturating_add(MAX_SPAN_TOKENS);
        let reached = ends.iter().filter(|to| reach.contains(to));
        pairs.extend(reached.map(|to| (from, *to, start[from] + end[*to])));
    }
    pairs.sort_by(|(.., a), (.., b)| b.total_cmp(a));
    pairs.truncate(MAX_SPANS);
    pairs.into_iter().map(|(from, to, likely)| (bytes(request, from, to), likely)).collect()
}

/// Returns the places of the best scores, the best first.
fn best(scores: &[f32]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..scores.len()).collect();
    places.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    places.truncate(BEST_ENDS);
    places
}

/// Returns the items of a list, given the scores of beginnings and insides.
fn items(begin: &[f32], inside: &[f32], request: &[Piece]) -> Vec<(Range<usize>, f32)> {
    let mut items: Vec<(Range<usize>, f32)> = Vec::new();
    let mut is_open = false;
    for (at, (begin, inside)) in begin.iter().zip(inside).enumerate() {
        let begins = math::sigmoid(*begin);
        if begins > ITEM_BEGINS {
            items.push((bytes(request, at, at), begins));
            is_open = true;
        } else if is_open
            && math::sigmoid(*inside) > ITEM_CONTINUES
            && let Some((item, _)) = items.last_mut()
        {
            item.end = item.end.max(request[at].source.end);
        } else {
            is_open = false;
        }
    }
    items
}

/// Returns the bytes from one piece to another.
fn bytes(request: &[Piece], from: usize, to: usize) -> Range<usize> {
    let start = request[from].source.start;
    start..request[to].source.end.max(start)
}
