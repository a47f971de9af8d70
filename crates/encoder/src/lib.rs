//! Text to vector: the sentence encoder that is part of the program. Pure: no I/O, no clock, no threads.
//!
//! A BERT-type sentence encoder in whole numbers of eight bits. The weights come in as bytes and stay where
//! they are. The same text gives the same vector, to the bit, on every processor: the fast paths compute the
//! same integers as the plain one, and sums of floats run in one order everywhere.
//!
//! A [`Reader`] is a second network beside it, of the same kind and with the same words, that reads a request
//! together with the parameters of a tool.

mod layout; //      how numbers lie in tiles
mod math; //        arithmetic that gives the same bits everywhere
mod simd; //        the inner loops, for each kind of processor
mod tile; //        matrices of whole numbers, and their product
mod step; //        what happens between two products
mod vector; //      vectors, and which of them are near
mod wordpiece; //   text to tokens
mod format; //      the file of an encoder
mod safetensors; // the file of a trained model
mod pack; //        a trained model becomes the file of an encoder
mod stack; //       the layers that tokens go through
mod network; //     tokens to a vector, and two texts to how well they fit
mod reader; //      a request beside a tool's parameters to what it says of each
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing; // every path of the processor, for fuzz targets

use std::fmt;

use format::Contents;
use network::Network;
use simd::Path;
use wordpiece::WordPiece;

pub use reader::{FieldReading, FieldText, Reader, ReaderInput, RequestReading};
pub use vector::{Embedding, Packed, Vectors};

/// A sentence encoder that is ready to use.
pub struct Encoder {
    /// The file, which the network points into.
    file: Box<dyn AsRef<[u8]> + Send + Sync>,
    title: Title,
    /// By which a reader knows the encoder whose words it takes.
    digest: String,
    max_tokens: usize,
    words: WordPiece,
    network: Network,
    path: Path,
}

/// The tokens of a request that is read beside a text, and of the text, as in training.
const MAX_READ_REQUEST: usize = 64;
const MAX_READ_TEXT: usize = 96;

/// What tells an encoder from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title {
    /// The name of the model.
    pub name: String,
    /// What tells the vectors of this model from those of any other, also of the same name.
    pub key: String,
    /// How many numbers a vector has.
    pub dims: usize,
}

impl Title {
    /// Reads it from the beginning of a file of the format `TYENC001`; the rest is not touched.
    pub fn read(file: &[u8]) -> Result<Self, Error> {
        Ok(Contents::read(file)?.header.title())
    }
}

/// Why bytes are not an encoder, or a vector does not belong to it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is some other file.
    #[error("this is no encoder file")]
    Magic,
    /// Something should lie behind the end.
    #[error("the file ends too early")]
    Truncated,
    /// The header, `config.json` or `tokenizer.json` cannot be read.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A size is zero or too large.
    #[error("`{what}` is {size}; it must be between 1 and {most}")]
    Size {
        /// The name of the size.
        what: &'static str,
        /// What it is.
        size: usize,
        /// What it may be.
        most: usize,
    },
    /// The heads cannot share the width evenly.
    #[error("{heads} heads cannot share a width of {hidden}")]
    Heads {
        /// The width.
        hidden: usize,
        /// The number of heads.
        heads: usize,
    },
    /// A tensor is not there.
    #[error("tensor `{name}` is missing")]
    Missing {
        /// The name of the tensor.
        name: String,
    },
    /// A tensor has another shape or kind than the others suggest.
    #[error("tensor `{name}` does not fit the model")]
    Shape {
        /// The name of the tensor.
        name: String,
    },
    /// A tensor holds something that is not a usable number.
    #[error("tensor `{name}` holds a number that cannot be computed with")]
    Numbers {
        /// The name of the tensor.
        name: String,
    },
    /// The vocabulary cannot be used.
    #[error("the vocabulary cannot be used: {0}")]
    Vocabulary(&'static str),
    /// It is a kind of model that this encoder is not.
    #[error("`{what}` is `{found}`, which is not supported")]
    Unsupported {
        /// The name of the property.
        what: &'static str,
        /// What it is.
        found: String,
    },
    /// A reader takes the words of another encoder.
    #[error("the reader belongs to encoder `{expected}`, not to `{found}`")]
    Beside {
        /// The digest of its encoder.
        expected: String,
        /// The digest of the encoder beside it.
        found: String,
    },
    /// Stored bytes are not a vector.
    #[error("the stored bytes are no vector")]
    Packed,
    /// A vector comes from another model.
    #[error("a vector of {found} numbers where there are {expected} in each")]
    Dims {
        /// How many numbers the others have.
        expected: usize,
        /// How many it has.
        found: usize,
    },
}

impl Encoder {
    /// Opens a file of the format `TYENC001`.
    ///
    /// The bytes may be part of the program, mapped from a file or owned; they are not copied. Loading them is
    /// fastest if they begin at a multiple of 64.
    pub fn open(file: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Self, Error> {
        let bytes = file.as_ref();
        let contents = Contents::read(bytes)?;
        let words = WordPiece::new(contents.vocabulary()?, contents.header.casing())?;
        if words.len() != contents.header.vocab {
            return Err(Error::Vocabulary("it has another number of tokens than the model"));
        }
        let network = Network::load(&contents)?;
        let header = contents.header;
        Ok(Self {
            title: header.title(),
            digest: header.digest,
            max_tokens: header.max_tokens,
            words,
            network,
            path: Path::detect(),
            file: Box::new(file),
        })
    }

    /// Reads the files of a BERT-type sentence encoder: `model.safetensors`, `tokenizer.json` or `vocab.txt`,
    /// and `config.json`.
    ///
    /// The vector of a text is the mean of its tokens' vectors, as all-MiniLM-L6-v2 wants it.
    pub fn from_parts(safetensors: &[u8], tokenizer: &str, config: &str) -> Result<Self, Error> {
        Self::open(pack::pack(safetensors, tokenizer, config)?)
    }

    /// Returns the meaning of a text; what is beyond the limit of tokens does not count.
    pub fn encode(&self, text: &str) -> Embedding {
        let ids = self.words.ids(text, self.max_tokens);
        Embedding::new(self.network.embed(self.path, (*self.file).as_ref(), &ids))
    }

    /// Whether it learnt to read a request and a tool's text together.
    pub fn can_read(&self) -> bool {
        self.network.can_read()
    }

    /// Reads a request and a tool's text together, and returns how well they fit, as a logarithm of odds; nothing
    /// where it did not learn to.
    ///
    /// That is closer than comparing two vectors, and takes as long as making one.
    pub fn read(&self, request: &str, text: &str) -> Option<f32> {
        let mut ids = self.words.ids(request, MAX_READ_REQUEST.min(self.max_tokens));
        let first = ids.len();
        ids.extend(&self.words.ids(text, MAX_READ_TEXT)[1..]);
        ids.truncate(self.max_tokens);
        self.network.read(self.path, (*self.file).as_ref(), &ids, first)
    }

    /// Returns the name of the model.
    pub fn name(&self) -> &str {
        &self.title.name
    }

    /// Returns what tells the vectors of this model from those of any other, also of the same name.
    pub fn key(&self) -> &str {
        &self.title.key
    }

    /// Returns how many numbers a vector has.
    pub fn dims(&self) -> usize {
        self.title.dims
    }
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder")
            .field("key", &self.title.key)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
