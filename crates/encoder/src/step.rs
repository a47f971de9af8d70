//! The steps of a forward pass between two multiplications, each compiled for every path.

use std::ops::Range;

use crate::Error;
use crate::format::{Contents, Whole};
use crate::layout::{Accumulated, ROWS, WIDTH};
use crate::math::{self, LANES, Lane};
use crate::simd::{Path, Step};
use crate::tile::{Panels, Tiles, multiply, row_sums};

/// A matrix of whole numbers and what turns its products into floats.
#[derive(Debug)]
pub(super) struct Linear {
    place: Range<usize>,
    columns: usize,
    sums: Vec<[i32; WIDTH]>,
    scales: Vec<f32>,
    /// The sum of each row, for activations whose middle is not zero.
    totals: Vec<f32>,
    bias: Vec<f32>,
}

/// What was learnt about the size of each number.
#[derive(Debug)]
pub(super) struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

impl Linear {
    /// Finds its weights, of some rows and columns, and what is added to its products.
    pub(super) fn load(contents: &Contents<'_>, name: &str, shape: [usize; 2]) -> Result<Self, Error> {
        let [rows, columns] = shape;
        let Whole { place, scales } = contents.panels(&format!("{name}.weight"), rows, columns)?;
        let bias = contents.floats(&format!("{name}.bias"), &[rows])?;
        let sums = row_sums(&contents.bytes[place.clone()], columns);
        let totals = sums.as_flattened().iter().zip(&scales);
        let totals = totals.map(|(sum, scale)| *sum as f32 * scale).collect();
        Ok(Self { place, columns, sums, scales, totals, bias })
    }

    /// Maps rows, all of them at once.
    pub(super) fn apply(&self, path: Path, file: &[u8], rows: &[f32]) -> Vec<f32> {
        let count = rows.len() / self.columns;
        let mut tiles = Tiles::new(count, self.columns);
        let mut products = vec![[[0; WIDTH]; ROWS]; count.div_ceil(ROWS) * self.sums.len()];
        let mut out = vec![0.0; count * self.bias.len()];
        path.run(Round { rows, columns: self.columns, tiles: &mut tiles });
        multiply(path, &tiles, count, self.panels(file), &mut products);
        path.run(Finish { linear: self, products: &products, tiles: &tiles, rows: &mut out });
        out
    }

    /// Returns the weights as they are multiplied.
    pub(super) fn panels<'a>(&'a self, file: &'a [u8]) -> Panels<'a> {
        Panels::new(&file[self.place.clone()], self.columns, &self.sums)
    }

    /// Turns the products of one row into floats.
    #[inline(always)]
    fn finish(&self, products: &[Accumulated], tiles: &Tiles, row: usize, out: &mut [f32]) {
        let (step, middle) = tiles.scales[row];
        let products = &products[row / ROWS * self.sums.len()..];
        let learnt = self.scales.chunks(WIDTH).zip(self.totals.chunks(WIDTH)).zip(self.bias.chunks(WIDTH));
        for ((out, products), ((scales, totals), bias)) in out.chunks_mut(WIDTH).zip(products).zip(learnt) {
            let learnt = scales.iter().zip(totals).zip(bias);
            let products = products[row % ROWS].iter();
            for ((out, product), ((scale, total), bias)) in out.iter_mut().zip(products).zip(learnt) {
                *out = *product as f32 * (scale * step) + (total * middle + bias);
            }
        }
    }
}

impl Norm {
    /// Finds what was learnt.
    pub(super) fn load(contents: &Contents<'_>, name: &str) -> Result<Self, Error> {
        let hidden = contents.header.hidden;
        let weight = contents.floats(&format!("{name}.weight"), &[hidden])?;
        let bias = contents.floats(&format!("{name}.bias"), &[hidden])?;
        Ok(Self { weight, bias, epsilon: contents.header.layer_norm_eps })
    }

    #[inline(always)]
    pub(super) fn apply(&self, values: &mut [f32]) {
        math::normalise(values, &self.weight, &self.bias, self.epsilon);
    }
}

/// Tokens become the sum of what is known about the word and its place.
pub(super) struct LookUp<'a> {
    pub(super) file: &'a [u8],
    pub(super) words: &'a Whole,
    pub(super) positions: &'a Whole,
    /// What is added to every token of the first text, and of one that is read beside it.
    pub(super) segments: [&'a [f32]; 2],
    /// How many tokens belong to the first text.
    pub(super) first: usize,
    pub(super) norm: &'a Norm,
    pub(super) ids: &'a [u32],
    pub(super) states: &'a mut [f32],
}

impl Step for LookUp<'_> {
    #[inline(always)]
    fn run(self) {
        let hidden = self.segments[0].len();
        for (at, (state, id)) in self.states.chunks_exact_mut(hidden).zip(self.ids).enumerate() {
            let (word, word_scale) = self.words.row(self.file, *id as usize, hidden);
            let (position, position_scale) = self.positions.row(self.file, at, hidden);
            let known = word.iter().zip(position).zip(self.segments[usize::from(at >= self.first)]);
            for (value, ((word, position), segment)) in state.iter_mut().zip(known) {
                let word = f32::from(*word as i8) * word_scale;
                *value = word + f32::from(*position as i8) * position_scale + segment;
            }
            self.norm.apply(state);
        }
    }
}

impl Whole {
    /// Returns one row, and its scale.
    #[inline(always)]
    pub(super) fn row<'a>(&self, file: &'a [u8], row: usize, columns: usize) -> (&'a [u8], f32) {
        (&file[self.place.clone()][row * columns..][..columns], self.scales[row])
    }
}

/// Rows become whole numbers.
pub(super) struct Round<'a> {
    pub(super) rows: &'a [f32],
    pub(super) columns: usize,
    pub(super) tiles: &'a mut Tiles,
}

impl Step for Round<'_> {
    #[inline(always)]
    fn run(self) {
        for (row, values) in self.rows.chunks_exact(self.columns).enumerate() {
            self.tiles.put(row, values);
        }
    }
}

/// Products become floats.
pub(super) struct Finish<'a> {
    pub(super) linear: &'a Linear,
    pub(super) products: &'a [Accumulated],
    pub(super) tiles: &'a Tiles,
    pub(super) rows: &'a mut [f32],
}

impl Step for Finish<'_> {
    #[inline(always)]
    fn run(self) {
        for (row, out) in self.rows.chunks_exact_mut(self.linear.bias.len()).enumerate() {
            self.linear.finish(self.products, self.tiles, row, out);
        }
    }
}

/// Products become floats and, bent, whole numbers again.
pub(super) struct Bend<'a> {
    pub(super) linear: &'a Linear,
    pub(super) products: &'a [Accumulated],
    pub(super) tiles: &'a Tiles,
    pub(super) tokens: usize,
    pub(super) bent: &'a mut Tiles,
}

impl Step for Bend<'_> {
    #[inline(always)]
    fn run(self) {
        let mut wide = vec![0.0; self.linear.bias.len()];
        for row in 0..self.tokens {
            self.linear.finish(self.products, self.tiles, row, &mut wide);
            math::gelu(&mut wide);
            self.bent.put(row, &wide);
        }
    }
}

/// Products become floats that change the states.
pub(super) struct Merge<'a> {
    pub(super) linear: &'a Linear,
    pub(super) products: &'a [Accumulated],
    pub(super) tiles: &'a Tiles,
    pub(super) norm: &'a Norm,
    pub(super) states: &'a mut [f32],
}

impl Step for Merge<'_> {
    #[inline(always)]
    fn run(self) {
        let hidden = self.linear.bias.len();
        let mut change = vec![0.0; hidden];
        for (row, state) in self.states.chunks_exact_mut(hidden).enumerate() {
            self.linear.finish(self.products, self.tiles, row, &mut change);
            for (value, change) in state.iter_mut().zip(&change) {
                *value += change;
            }
            self.norm.apply(state);
        }
    }
}

/// Each query becomes the values of all tokens, mixed by how well their keys answer it.
pub(super) struct Mix<'a> {
    pub(super) path: Path,
    pub(super) heads: usize,
    pub(super) hidden: usize,
    pub(super) tokens: usize,
    /// Its rows are a multiple of [`ROWS`]; those behind the last token do not matter.
    pub(super) query: &'a mut [f32],
    pub(super) key: &'a [f32],
    pub(super) value: &'a [f32],
}

impl Step for Mix<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { path, heads, hidden, tokens, query, key, value } = self;
        let size = hidden / heads;
        let scale = 1.0 / (size as f32).sqrt();
        let (across, along) = (tokens.div_ceil(LANES), size.div_ceil(LANES));
        let mut keys: Vec<Lane> = vec![[0.0; LANES]; size * across];
        let mut values: Vec<Lane> = vec![[0.0; LANES]; tokens * along];
        let mut scores: Vec<Lane> = vec![[0.0; LANES]; ROWS * across];
        let mut mixed: Vec<Lane> = vec![[0.0; LANES]; ROWS * along];
        for start in (0..hidden).step_by(size) {
            for token in 0..tokens {
                let place = token * hidden + start;
                let keys = &mut keys[token / LANES * size..][..size];
                for (lane, key) in keys.iter_mut().zip(&key[place..][..size]) {
                    lane[token % LANES] = key * scale;
                }
                for (at, part) in value[place..][..size].chunks(LANES).enumerate() {
                    values[at * tokens + token][..part.len()].copy_from_slice(part);
                }
            }
            for queries in query.chunks_exact_mut(ROWS * hidden) {
                let row = |at: usize| &queries[at * hidden + start..][..size];
                path.product([row(0), row(1), row(2), row(3)], &keys, &mut scores);
                for scores in scores.chunks_exact_mut(across) {
                    math::softmax(scores, tokens);
                }
                let row = |at: usize| &scores[at * across..][..across].as_flattened()[..tokens];
                path.product([row(0), row(1), row(2), row(3)], &values, &mut mixed);
                for (at, mixed) in mixed.chunks_exact(along).enumerate() {
                    queries[at * hidden + start..][..size].copy_from_slice(&mixed.as_flattened()[..size]);
                }
            }
        }
    }
}
