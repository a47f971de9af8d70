//! Reads a request beside a tool and its parameters, and says of each parameter what the request gives.
//!
//! A network of its own that takes the words of an [`Encoder`]: its file holds neither a vocabulary nor vectors of
//! words. The same question gives the same readings, to the bit, on every processor.

mod sequence; // a question becomes tokens
mod heads; //    the states of tokens become readings

use std::fmt;
use std::ops::Range;

use crate::format::{Contents, floats};
use crate::simd::{Path, Step};
use crate::stack::Stack;
use crate::step::Norm;
use crate::{Encoder, Error};
use heads::{Heads, States};
use sequence::{Sequence, Token};

/// What the header of a reader says that it reads.
const ARGUMENTS: &str = "arguments";
/// The most pieces of a request that are read.
const MAX_REQUEST: usize = 200;

/// A request and the tool whose arguments it may give.
#[derive(Clone, Copy, Debug)]
pub struct ReaderInput<'a> {
    /// What a person wrote.
    pub request: &'a str,
    /// The name of the tool, in words.
    pub tool: &'a str,
    /// What the tool does.
    pub about: &'a str,
    /// What the tool takes.
    pub parameters: &'a [FieldText<'a>],
}

/// One parameter of a tool.
#[derive(Clone, Copy, Debug)]
pub struct FieldText<'a> {
    /// Its name, in words.
    pub name: &'a str,
    /// What it is for.
    pub description: &'a str,
    /// What kind of value it takes.
    pub kind: &'a str,
    /// The values that it may have, where these are listed.
    pub options: &'a [String],
}

/// What a request says of a tool and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestReading {
    /// Whether the tool can serve the request: the logarithm of the odds. 0 where nothing was read.
    pub fits: f32,
    /// What it says of each parameter, in their order.
    pub fields: Vec<FieldReading>,
}

/// What a request says of one parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldReading {
    /// The logarithms of how probable it is that the value is absent, given in the text, or meant but not in it.
    pub given: [f32; 3],
    /// Byte ranges of the request that may say the value, the likeliest first, with the logarithm of how probable
    /// their start and end are.
    pub spans: Vec<(Range<usize>, f32)>,
    /// Byte ranges of the request that say the items of a list, in order, with how probable their beginnings are.
    pub items: Vec<(Range<usize>, f32)>,
    /// For each option the logarithm of how probable it is among all, and how probable it is on its own. Options
    /// that were too many to be read have `-inf` and 0.
    pub options: Vec<[f32; 2]>,
}

/// A reader of arguments that is ready to use.
pub struct Reader {
    /// The file, which the weights point into.
    file: Box<dyn AsRef<[u8]> + Send + Sync>,
    /// The digest of the encoder whose words it takes.
    words: String,
    hidden: usize,
    max_tokens: usize,
    /// Where the table of positions lies.
    positions: Range<usize>,
    /// What is added to the tokens of the request, and to those behind it.
    types: Vec<f32>,
    /// What stands for the marks of a parameter and of an option.
    marks: Vec<f32>,
    norm: Norm,
    stack: Stack,
    heads: Heads,
    path: Path,
}

impl Reader {
    /// Opens a file of the format `TYENC001` that holds a reader made for this encoder.
    ///
    /// The bytes may be part of the program, mapped from a file or owned; they are not copied, nor is the encoder.
    pub fn open(file: impl AsRef<[u8]> + Send + Sync + 'static, encoder: &Encoder) -> Result<Self, Error> {
        let contents = Contents::read(file.as_ref())?;
        let header = &contents.header;
        let (hidden, reads) = (header.hidden, header.reads.as_deref().unwrap_or_default());
        if reads != ARGUMENTS {
            return Err(Error::Unsupported { what: "reads", found: reads.to_owned() });
        }
        let words = header.words.clone().unwrap_or_default();
        if words != encoder.digest {
            return Err(Error::Beside { expected: words, found: encoder.digest.clone() });
        }
        if hidden != encoder.dims() {
            return Err(Error::Dims { expected: encoder.dims(), found: hidden });
        }
        Ok(Self {
            words,
            hidden,
            max_tokens: header.max_tokens,
            positions: contents.table("embeddings.position", header.position, hidden)?,
            types: contents.floats("embeddings.type", &[2, hidden])?,
            marks: contents.floats("embeddings.marks", &[2, hidden])?,
            norm: Norm::load(&contents, "embeddings.LayerNorm")?,
            stack: Stack::load(&contents)?,
            heads: Heads::load(&contents)?,
            path: Path::detect(),
            file: Box::new(file),
        })
    }

    /// Returns what the request says of the tool and of each parameter.
    ///
    /// The encoder must be the one that the reader was opened beside; beside another it finds everything absent.
    pub fn read(&self, encoder: &Encoder, question: &ReaderInput<'_>) -> RequestReading {
        let mut fields: Vec<FieldReading> = question.parameters.iter().map(FieldReading::absent).collect();
        if encoder.digest != self.words || encoder.dims() != self.hidden {
            return RequestReading { fits: 0.0, fields };
        }
        let mut fits = Vec::new();
        let file = (*self.file).as_ref();
        let request = encoder.words.pieces(question.request, MAX_REQUEST);
        for sequence in sequence::sequences(&encoder.words, question, &request, self.max_tokens) {
            let (states, tokens) = (self.look_up(encoder, &sequence), sequence.answering());
            let values = self.stack.run_for(self.path, file, states, &tokens);
            let states = States { path: self.path, file, tokens: &tokens, values: &values };
            fits.push(self.heads.fits(&states));
            for (at, reading) in self.heads.read(&states, &sequence, &request) {
                fields[at] = reading;
            }
        }
        // There is at least one sequence.
        RequestReading { fits: fits.iter().sum::<f32>() / fits.len().max(1) as f32, fields }
    }

    /// Returns what is known of each token before it is read beside the others.
    fn look_up(&self, encoder: &Encoder, sequence: &Sequence) -> Vec<f32> {
        let mut states = vec![0.0; sequence.tokens.len() * self.hidden];
        self.path.run(LookUp { reader: self, encoder, sequence, states: &mut states });
        states
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("words", &self.words).field("path", &self.path).finish_non_exhaustive()
    }
}

impl FieldReading {
    /// What is said of a parameter that was not read.
    fn absent(parameter: &FieldText<'_>) -> Self {
        Self {
            given: [0.0, f32::NEG_INFINITY, f32::NEG_INFINITY],
            spans: Vec::new(),
            items: Vec::new(),
            options: vec![CUT_OPTION; parameter.options.len()],
        }
    }
}

/// What is said of an option that was not read.
const CUT_OPTION: [f32; 2] = [f32::NEG_INFINITY, 0.0];

/// Tokens become the sum of what is known about the word or mark, its place and its text.
struct LookUp<'a> {
    reader: &'a Reader,
    encoder: &'a Encoder,
    sequence: &'a Sequence,
    states: &'a mut [f32],
}

impl Step for LookUp<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { reader, encoder, sequence, states } = self;
        let (hidden, words) = (reader.hidden, encoder.network.words());
        let positions = &(*reader.file).as_ref()[reader.positions.clone()];
        let positions = positions.chunks_exact(hidden * size_of::<f32>());
        let tokens = sequence.tokens.iter().zip(positions).enumerate();
        for ((at, (token, position)), state) in tokens.zip(states.chunks_exact_mut(hidden)) {
            match token {
                Token::Word(id) => {
                    let (word, scale) = words.row((*encoder.file).as_ref(), *id as usize, hidden);
                    state.iter_mut().zip(word).for_each(|(value, it)| *value = f32::from(*it as i8) * scale);
                }
                Token::Mark(mark) => {
                    state.copy_from_slice(&reader.marks[*mark as usize * hidden..][..hidden])
                }
            }
            let kind = &reader.types[usize::from(at >= sequence.first) * hidden..];
            for ((value, position), kind) in state.iter_mut().zip(floats(position)).zip(kind) {
                *value += position + kind;
            }
            reader.norm.apply(state);
        }
    }
}

#[cfg(test)]
mod tests;
