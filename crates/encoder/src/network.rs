//! The forward pass: from the numbers of tokens to one vector.

use crate::Error;
use crate::format::{Contents, Whole};
use crate::simd::Path;
use crate::stack::Stack;
use crate::step::{LookUp, Norm};

/// The weights of an encoder. The large ones are only places in its file.
#[derive(Debug)]
pub(super) struct Network {
    hidden: usize,
    words: Whole,
    positions: Whole,
    /// What is added to every token of a single sentence.
    segment: Vec<f32>,
    norm: Norm,
    stack: Stack,
    /// Where it learnt to read two texts together.
    pair: Option<Pair>,
}

/// What says how well two texts fit that are read together.
#[derive(Debug)]
struct Pair {
    /// What is added to every token of the second text.
    segment: Vec<f32>,
    weight: Vec<f32>,
    bias: f32,
}

impl Network {
    /// Finds all weights in a file.
    pub(super) fn load(contents: &Contents<'_>) -> Result<Self, Error> {
        let header = &contents.header;
        let hidden = header.hidden;
        let pair = || {
            let segment = contents.floats("reader.segment", &[hidden])?;
            let weight = contents.floats("reader.weight", &[hidden])?;
            let bias = contents.floats("reader.bias", &[1])?[0];
            Ok::<_, Error>(Pair { segment, weight, bias })
        };
        Ok(Self {
            hidden,
            words: contents.rows("embeddings.word_embeddings.weight", header.vocab, hidden)?,
            positions: contents.rows("embeddings.position_embeddings.weight", header.position, hidden)?,
            segment: contents.floats("embeddings.token_type_embeddings.weight", &[1, hidden])?,
            norm: Norm::load(contents, "embeddings.LayerNorm")?,
            stack: Stack::load(contents)?,
            pair: contents.has("reader.weight").then(pair).transpose()?,
        })
    }

    /// Returns the numbers of tokens as they lie in the file of the encoder.
    pub(super) fn words(&self) -> &Whole {
        &self.words
    }

    /// Returns the sum of the last states of all tokens.
    pub(super) fn embed(&self, path: Path, file: &[u8], ids: &[u32]) -> Vec<f32> {
        self.sum(path, file, (ids, ids.len()), &self.segment)
    }

    /// Whether it learnt to read two texts together.
    pub(super) fn can_read(&self) -> bool {
        self.pair.is_some()
    }

    /// Returns how well two texts fit, the first of which has `first` tokens, as a logarithm of odds.
    pub(super) fn read(&self, path: Path, file: &[u8], ids: &[u32], first: usize) -> Option<f32> {
        let pair = self.pair.as_ref()?;
        let sum = self.sum(path, file, (ids, first), &pair.segment);
        let product: f32 = sum.iter().zip(&pair.weight).map(|(sum, weight)| sum * weight).sum();
        Some(product / ids.len() as f32 + pair.bias)
    }

    /// Adds up the last states; the tokens behind the `first` ones belong to a second text.
    fn sum(&self, path: Path, file: &[u8], (ids, first): (&[u32], usize), second: &[f32]) -> Vec<f32> {
        let mut states = vec![0.0; ids.len() * self.hidden];
        path.run(LookUp {
            file,
            words: &self.words,
            positions: &self.positions,
            segments: [&self.segment, second],
            first,
            norm: &self.norm,
            ids,
            states: &mut states,
        });
        let mut sum = vec![0.0; self.hidden];
        for state in self.stack.run(path, file, states).chunks_exact(self.hidden) {
            sum.iter_mut().zip(state).for_each(|(sum, value)| *sum += value);
        }
        sum
    }
}
