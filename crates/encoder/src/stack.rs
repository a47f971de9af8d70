//! The layers of a network: tokens look at one another, and each is thought over.
//!
//! Matrices are multiplied in whole numbers, with activations rounded row by row as they come; everything
//! else is done in floats.

use crate::Error;
use crate::format::Contents;
use crate::layout::{Accumulated, ROWS, WIDTH};
use crate::simd::Path;
use crate::step::{Bend, Finish, Linear, Merge, Mix, Norm, Round};
use crate::tile::{Tiles, multiply};

/// How many tokens go through the wide part of a layer at once; more would not fit in a cache.
const BLOCK: usize = 64;

/// Layers one above the other. The large weights are only places in a file.
#[derive(Debug)]
pub(super) struct Stack {
    hidden: usize,
    heads: usize,
    intermediate: usize,
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    attended: Linear,
    attended_norm: Norm,
    widen: Linear,
    narrow: Linear,
    norm: Norm,
}

/// The numbers of one text on their way through the layers.
struct Pass<'a> {
    path: Path,
    file: &'a [u8],
    tokens: usize,
    /// One row for each token.
    states: Vec<f32>,
    query: Vec<f32>,
    key: Vec<f32>,
    value: Vec<f32>,
    products: Vec<Accumulated>,
    tiles: Tiles,
    wide: Tiles,
}

impl Stack {
    /// Finds the weights of all layers in a file.
    pub(super) fn load(contents: &Contents<'_>) -> Result<Self, Error> {
        let header = &contents.header;
        let layers = (0..header.layers).map(|at| Layer::load(contents, at)).collect::<Result<_, _>>()?;
        let (hidden, heads, intermediate) = (header.hidden, header.heads, header.intermediate);
        Ok(Self { hidden, heads, intermediate, layers })
    }

    /// Sends the states of tokens through all layers, and returns what became of them.
    pub(super) fn run(&self, path: Path, file: &[u8], states: Vec<f32>) -> Vec<f32> {
        let mut pass = Pass::new(self, path, file, states);
        for layer in &self.layers {
            self.offer(layer, &mut pass);
            self.attend(layer, &mut pass);
            self.feed(layer, &mut pass);
        }
        pass.states
    }

    /// As [`Self::run`], but returns what became of some tokens only.
    ///
    /// In the last layer nobody looks at what the others become, so that they need not go through it.
    pub(super) fn run_for(&self, path: Path, file: &[u8], states: Vec<f32>, wanted: &[usize]) -> Vec<f32> {
        let mut pass = Pass::new(self, path, file, states);
        for (at, layer) in self.layers.iter().enumerate() {
            self.offer(layer, &mut pass);
            if at + 1 == self.layers.len() {
                let rows = wanted.iter().flat_map(|token| &pass.states[token * self.hidden..][..self.hidden]);
                pass.states = rows.copied().collect();
                path.run(Round { rows: &pass.states, columns: self.hidden, tiles: &mut pass.tiles });
            }
            self.attend(layer, &mut pass);
            self.feed(layer, &mut pass);
        }
        pass.states
    }

    /// Computes what tokens can look at; their rounded states stay in `tiles`.
    fn offer(&self, layer: &Layer, pass: &mut Pass<'_>) {
        let Pass { path, file, tokens, states, key, value, products, tiles, .. } = pass;
        path.run(Round { rows: states, columns: self.hidden, tiles });
        for (linear, rows) in [(&layer.key, key), (&layer.value, value)] {
            multiply(*path, tiles, *tokens, linear.panels(file), products);
            path.run(Finish { linear, products, tiles, rows: &mut rows[..*tokens * self.hidden] });
        }
    }

    /// Lets every token whose state is in `tiles` look at all.
    fn attend(&self, layer: &Layer, pass: &mut Pass<'_>) {
        let (hidden, heads) = (self.hidden, self.heads);
        let Pass { path, file, tokens, states, query, key, value, products, tiles, .. } = pass;
        let (path, tokens, looking) = (*path, *tokens, states.len() / hidden);
        multiply(path, tiles, looking, layer.query.panels(file), products);
        let query = &mut query[..looking.next_multiple_of(ROWS) * hidden];
        path.run(Finish { linear: &layer.query, products, tiles, rows: &mut query[..looking * hidden] });
        path.run(Mix { path, heads, hidden, tokens, query, key, value });
        path.run(Round { rows: &query[..looking * hidden], columns: hidden, tiles });
        multiply(path, tiles, looking, layer.attended.panels(file), products);
        path.run(Merge { linear: &layer.attended, products, tiles, norm: &layer.attended_norm, states });
    }

    /// Sends every token through the wide layer and back.
    fn feed(&self, layer: &Layer, pass: &mut Pass<'_>) {
        let Pass { path, file, states, products, tiles, wide, .. } = pass;
        let path = *path;
        for states in states.chunks_mut(BLOCK * self.hidden) {
            let tokens = states.len() / self.hidden;
            path.run(Round { rows: states, columns: self.hidden, tiles });
            multiply(path, tiles, tokens, layer.widen.panels(file), products);
            path.run(Bend { linear: &layer.widen, products, tiles, tokens, bent: wide });
            multiply(path, wide, tokens, layer.narrow.panels(file), products);
            path.run(Merge { linear: &layer.narrow, products, tiles: wide, norm: &layer.norm, states });
        }
    }
}

impl Layer {
    fn load(contents: &Contents<'_>, at: usize) -> Result<Self, Error> {
        let (hidden, intermediate) = (contents.header.hidden, contents.header.intermediate);
        let linear = |name: &str, rows, columns| {
            Linear::load(contents, &format!("encoder.layer.{at}.{name}"), [rows, columns])
        };
        let norm = |name: &str| Norm::load(contents, &format!("encoder.layer.{at}.{name}"));
        Ok(Self {
            query: linear("attention.self.query", hidden, hidden)?,
            key: linear("attention.self.key", hidden, hidden)?,
            value: linear("attention.self.value", hidden, hidden)?,
            attended: linear("attention.output.dense", hidden, hidden)?,
            attended_norm: norm("attention.output.LayerNorm")?,
            widen: linear("intermediate.dense", intermediate, hidden)?,
            narrow: linear("output.dense", hidden, intermediate)?,
            norm: norm("output.LayerNorm")?,
        })
    }
}

impl<'a> Pass<'a> {
    fn new(stack: &Stack, path: Path, file: &'a [u8], states: Vec<f32>) -> Self {
        let (hidden, intermediate) = (stack.hidden, stack.intermediate);
        let tokens = states.len() / hidden;
        // Rows are taken four at a time, also the last ones.
        let padded = tokens.next_multiple_of(ROWS) * hidden;
        let block = tokens.min(BLOCK);
        let products = |rows: usize, width: usize| rows.div_ceil(ROWS) * width.div_ceil(WIDTH);
        let most = products(tokens, hidden).max(products(block, intermediate));
        Self {
            path,
            file,
            tokens,
            states,
            query: vec![0.0; padded],
            key: vec![0.0; padded],
            value: vec![0.0; padded],
            products: vec![[[0; WIDTH]; ROWS]; most],
            tiles: Tiles::new(tokens, hidden),
            wide: Tiles::new(block, intermediate),
        }
    }
}
