//! The forward pass: from the numbers of tokens to one vector.
//!
//! Matrices are multiplied in whole numbers, with activations rounded row by row as they come; everything
//! else is done in floats.

use crate::Error;
use crate::format::{Contents, Whole};
use crate::layout::{Accumulated, ROWS, WIDTH};
use crate::simd::Path;
use crate::step::{Bend, Finish, Linear, LookUp, Merge, Mix, Norm, Round};
use crate::tile::{Tiles, multiply};

/// How many tokens go through the wide part of a layer at once; more would not fit in a cache.
const BLOCK: usize = 64;

/// The weights of an encoder. The large ones are only places in its file.
#[derive(Debug)]
pub(super) struct Network {
    hidden: usize,
    heads: usize,
    intermediate: usize,
    words: Whole,
    positions: Whole,
    /// What is added to every token of a single sentence.
    segment: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
    /// Where it learnt to read two texts together.
    reader: Option<Reader>,
}

/// What says how well two texts fit that are read together.
#[derive(Debug)]
struct Reader {
    /// What is added to every token of the second text.
    segment: Vec<f32>,
    weight: Vec<f32>,
    bias: f32,
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

impl Network {
    /// Finds all weights in a file.
    pub(super) fn load(contents: &Contents<'_>, file: &[u8]) -> Result<Self, Error> {
        let header = &contents.header;
        let (hidden, intermediate) = (header.hidden, header.intermediate);
        let norm = |name: &str| {
            let weight = contents.floats(&format!("{name}.weight"), &[hidden])?;
            let bias = contents.floats(&format!("{name}.bias"), &[hidden])?;
            Ok::<_, Error>(Norm { weight, bias, epsilon: header.layer_norm_eps })
        };
        let linear = |name: &str, rows, columns| {
            let weights = contents.panels(&format!("{name}.weight"), rows, columns)?;
            let bias = contents.floats(&format!("{name}.bias"), &[rows])?;
            Ok::<_, Error>(Linear::new(weights, columns, bias, file))
        };
        let layer = |at: usize| {
            let in_attention = format!("encoder.layer.{at}.attention");
            Ok::<_, Error>(Layer {
                query: linear(&format!("{in_attention}.self.query"), hidden, hidden)?,
                key: linear(&format!("{in_attention}.self.key"), hidden, hidden)?,
                value: linear(&format!("{in_attention}.self.value"), hidden, hidden)?,
                attended: linear(&format!("{in_attention}.output.dense"), hidden, hidden)?,
                attended_norm: norm(&format!("{in_attention}.output.LayerNorm"))?,
                widen: linear(&format!("encoder.layer.{at}.intermediate.dense"), intermediate, hidden)?,
                narrow: linear(&format!("encoder.layer.{at}.output.dense"), hidden, intermediate)?,
                norm: norm(&format!("encoder.layer.{at}.output.LayerNorm"))?,
            })
        };
        let reader = || {
            let segment = contents.floats("reader.segment", &[hidden])?;
            let weight = contents.floats("reader.weight", &[hidden])?;
            let bias = contents.floats("reader.bias", &[1])?[0];
            Ok::<_, Error>(Reader { segment, weight, bias })
        };
        Ok(Self {
            hidden,
            heads: header.heads,
            intermediate,
            words: contents.rows("embeddings.word_embeddings.weight", header.vocab, hidden)?,
            positions: contents.rows("embeddings.position_embeddings.weight", header.position, hidden)?,
            segment: contents.floats("embeddings.token_type_embeddings.weight", &[1, hidden])?,
            norm: norm("embeddings.LayerNorm")?,
            layers: (0..header.layers).map(layer).collect::<Result<_, _>>()?,
            reader: contents.has("reader.weight").then(reader).transpose()?,
        })
    }

    /// Returns the sum of the last states of all tokens.
    pub(super) fn embed(&self, path: Path, file: &[u8], ids: &[u32]) -> Vec<f32> {
        self.sum(path, file, (ids, ids.len()), &self.segment)
    }

    /// Whether it learnt to read two texts together.
    pub(super) fn can_read(&self) -> bool {
        self.reader.is_some()
    }

    /// Returns how well two texts fit, the first of which has `first` tokens, as a logarithm of odds.
    pub(super) fn read(&self, path: Path, file: &[u8], ids: &[u32], first: usize) -> Option<f32> {
        let reader = self.reader.as_ref()?;
        let sum = self.sum(path, file, (ids, first), &reader.segment);
        let product: f32 = sum.iter().zip(&reader.weight).map(|(sum, weight)| sum * weight).sum();
        Some(product / ids.len() as f32 + reader.bias)
    }

    /// Adds up the last states; the tokens behind the `first` ones belong to a second text.
    fn sum(&self, path: Path, file: &[u8], (ids, first): (&[u32], usize), second: &[f32]) -> Vec<f32> {
        let mut pass = Pass::new(self, path, file, ids.len());
        path.run(LookUp {
            file,
            words: &self.words,
            positions: &self.positions,
            segments: [&self.segment, second],
            first,
            norm: &self.norm,
            ids,
            states: &mut pass.states,
        });
        for layer in &self.layers {
            self.attend(layer, &mut pass);
            self.feed(layer, &mut pass);
        }
        let mut sum = vec![0.0; self.hidden];
        for state in pass.states.chunks_exact(self.hidden) {
            sum.iter_mut().zip(state).for_each(|(sum, value)| *sum += value);
        }
        sum
    }

    /// Lets every token look at every other.
    fn attend(&self, layer: &Layer, pass: &mut Pass<'_>) {
        let (hidden, heads) = (self.hidden, self.heads);
        let Pass { path, file, tokens, states, query, key, value, products, tiles, .. } = pass;
        let (path, tokens) = (*path, *tokens);
        path.run(Round { rows: states, columns: hidden, tiles });
        for (linear, rows) in
            [(&layer.query, &mut *query), (&layer.key, &mut *key), (&layer.value, &mut *value)]
        {
            multiply(path, tiles, tokens, linear.panels(file), products);
            path.run(Finish { linear, products, tiles, rows: &mut rows[..tokens * hidden] });
        }
        path.run(Mix { path, heads, hidden, tokens, query, key, value });
        path.run(Round { rows: &query[..tokens * hidden], columns: hidden, tiles });
        multiply(path, tiles, tokens, layer.attended.panels(file), products);
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

impl<'a> Pass<'a> {
    fn new(network: &Network, path: Path, file: &'a [u8], tokens: usize) -> Self {
        let (hidden, intermediate) = (network.hidden, network.intermediate);
        // Rows are taken four at a time, also the last ones.
        let padded = tokens.next_multiple_of(ROWS) * hidden;
        let block = tokens.min(BLOCK);
        let products = |rows: usize, width: usize| rows.div_ceil(ROWS) * width.div_ceil(WIDTH);
        let most = products(tokens, hidden).max(products(block, intermediate));
        Self {
            path,
            file,
            tokens,
            states: vec![0.0; tokens * hidden],
            query: vec![0.0; padded],
            key: vec![0.0; padded],
            value: vec![0.0; padded],
            products: vec![[[0; WIDTH]; ROWS]; most],
            tiles: Tiles::new(tokens, hidden),
            wide: Tiles::new(block, intermediate),
        }
    }
}
