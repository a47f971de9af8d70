//! The file of an encoder: what its header says, and where its tensors lie.
//!
//! Little-endian: the magic, the length of the header in four bytes, the header as JSON, then the tensors at
//! multiples of 64 bytes. Nothing in a file is believed before it was compared with the file's length.

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::tile::panel_bytes;
use crate::wordpiece::Casing;
use crate::{Error, Title};

/// The first bytes of every file, with the version of the format.
pub(super) const MAGIC: &[u8; 8] = b"TYENC001";
/// Where a section may begin: multiples of what a processor loads at once.
pub(super) const ALIGNMENT: usize = 64;
/// The tensor that holds the vocabulary.
pub(super) const VOCABULARY: &str = "vocabulary";

const MAX_HEADER_BYTES: usize = 1 << 20;
const MAX_HIDDEN: usize = 4_096;
const MAX_INTERMEDIATE: usize = 16_384;
const MAX_LAYERS: usize = 64;
const MAX_VOCABULARY: usize = 1 << 20;
const MAX_TOKENS: usize = 512;

/// What is known of an encoder besides its weights.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Header {
    pub(super) name: String,
    /// Tells apart encoders of one name: the beginning of a hash of the weights.
    pub(super) digest: String,
    pub(super) layers: usize,
    pub(super) hidden: usize,
    pub(super) heads: usize,
    pub(super) intermediate: usize,
    pub(super) vocab: usize,
    pub(super) max_tokens: usize,
    /// The rows of the table of positions.
    pub(super) position: usize,
    pub(super) layer_norm_eps: f32,
    pub(super) lowercase: bool,
    pub(super) strip_accents: bool,
    /// What a reader finds in texts; an encoder has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reads: Option<String>,
    /// The digest of the encoder whose words a reader takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) words: Option<String>,
    pub(super) tensors: Vec<Tensor>,
}

impl Header {
    /// Returns what tells the encoder from others.
    pub(super) fn title(&self) -> Title {
        let key = format!("{}-{}", self.name, self.digest);
        Title { name: self.name.clone(), key, dims: self.hidden }
    }

    /// Returns what becomes of letters before they are looked up.
    pub(super) fn casing(&self) -> Casing {
        Casing { lowercase: self.lowercase, strip_accents: self.strip_accents }
    }

    /// Checks that the sizes make an encoder, and one that fits in memory.
    pub(super) fn check(&self) -> Result<(), Error> {
        let within = [
            ("layers", self.layers, MAX_LAYERS),
            ("hidden", self.hidden, MAX_HIDDEN),
            ("heads", self.heads, MAX_HIDDEN),
            ("intermediate", self.intermediate, MAX_INTERMEDIATE),
            ("vocab", self.vocab, MAX_VOCABULARY),
            ("position", self.position, MAX_VOCABULARY),
            ("max_tokens", self.max_tokens, MAX_TOKENS.min(self.position)),
        ];
        for (what, size, most) in within {
            if size == 0 || size > most {
                return Err(Error::Size { what, size, most });
            }
        }
        if !self.hidden.is_multiple_of(self.heads) {
            return Err(Error::Heads { hidden: self.hidden, heads: self.heads });
        }
        Ok(())
    }
}

/// One entry of the header.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) shape: Vec<usize>,
    pub(super) offset: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scales: Option<usize>,
}

/// How the numbers of a tensor are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(super) enum Kind {
    #[serde(rename = "f32")]
    Floats,
    #[serde(rename = "text")]
    Text,
    /// Rows of whole numbers, with one scale a row.
    #[serde(rename = "i8")]
    Rows,
    /// The same, in the order in which they are multiplied.
    #[serde(rename = "i8-panels")]
    Panels,
}

/// A file whose header has been read.
pub(super) struct Contents<'a> {
    pub(super) header: Header,
    pub(super) bytes: &'a [u8],
    /// Where offsets count from.
    start: usize,
    places: HashMap<String, usize>,
}

impl<'a> Contents<'a> {
    /// Reads the header.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(Error::Magic)?;
        let (length, rest) = rest.split_first_chunk().ok_or(Error::Truncated)?;
        let length = u32::from_le_bytes(*length) as usize;
        if length > MAX_HEADER_BYTES {
            return Err(Error::Size { what: "header", size: length, most: MAX_HEADER_BYTES });
        }
        let header: Header = serde_json::from_slice(rest.get(..length).ok_or(Error::Truncated)?)?;
        header.check()?;
        let places = header.tensors.iter().enumerate().map(|(at, it)| (it.name.clone(), at)).collect();
        let start = (bytes.len() - rest.len() + length).next_multiple_of(ALIGNMENT);
        Ok(Self { header, bytes, start, places })
    }

    /// Whether there is a tensor of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// Returns floats, as many as the shape says.
    pub(super) fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, Error> {
        let tensor = self.tensor(name, Kind::Floats, shape)?;
        let place = self.place(tensor.offset, shape.iter().product::<usize>() * 4)?;
        self.numbers(name, place)
    }

    /// Returns where rows of floats lie, which are usable numbers.
    pub(super) fn table(&self, name: &str, rows: usize, columns: usize) -> Result<Range<usize>, Error> {
        let tensor = self.tensor(name, Kind::Floats, &[rows, columns])?;
        let place = self.place(tensor.offset, rows * columns * 4)?;
        let mut numbers = floats(&self.bytes[place.clone()]);
        match numbers.all(f32::is_finite) {
            true => Ok(place),
            false => Err(Error::Numbers { name: name.to_owned() }),
        }
    }

    /// Returns the vocabulary.
    pub(super) fn vocabulary(&self) -> Result<&'a str, Error> {
        let tensor = self.find(VOCABULARY, Kind::Text)?;
        let &[length] = &tensor.shape[..] else { return Err(Error::Shape { name: VOCABULARY.to_owned() }) };
        let place = self.place(tensor.offset, length)?;
        std::str::from_utf8(&self.bytes[place]).map_err(|_| Error::Vocabulary("it is not UTF-8"))
    }

    /// Returns where the rows of a table lie, and their scales.
    pub(super) fn rows(&self, name: &str, rows: usize, columns: usize) -> Result<Whole, Error> {
        self.whole(name, Kind::Rows, [rows, columns], rows * columns)
    }

    /// Returns where a matrix in panels lies, and the scales of its rows.
    pub(super) fn panels(&self, name: &str, rows: usize, columns: usize) -> Result<Whole, Error> {
        self.whole(name, Kind::Panels, [rows, columns], panel_bytes(rows, columns))
    }

    fn whole(&self, name: &str, kind: Kind, shape: [usize; 2], length: usize) -> Result<Whole, Error> {
        let tensor = self.tensor(name, kind, &shape)?;
        let scales = tensor.scales.ok_or_else(|| Error::Shape { name: name.to_owned() })?;
        let place = self.place(tensor.offset, length)?;
        // The least byte has no counterpart of the other sign; some paths would multiply with another number.
        // A table is not multiplied, and looking through it would bring all of it into memory.
        if kind == Kind::Panels && self.bytes[place.clone()].contains(&0x80) {
            return Err(Error::Numbers { name: name.to_owned() });
        }
        let scales = self.numbers(name, self.place(scales, shape[0] * 4)?)?;
        Ok(Whole { place, scales })
    }

    fn tensor(&self, name: &str, kind: Kind, shape: &[usize]) -> Result<&Tensor, Error> {
        let tensor = self.find(name, kind)?;
        if tensor.shape != shape {
            return Err(Error::Shape { name: name.to_owned() });
        }
        Ok(tensor)
    }

    fn find(&self, name: &str, kind: Kind) -> Result<&Tensor, Error> {
        let at = self.places.get(name).ok_or_else(|| Error::Missing { name: name.to_owned() })?;
        let tensor = &self.header.tensors[*at];
        if tensor.kind != kind {
            return Err(Error::Shape { name: name.to_owned() });
        }
        Ok(tensor)
    }

    fn place(&self, offset: usize, length: usize) -> Result<Range<usize>, Error> {
        let start = self.start.checked_add(offset).ok_or(Error::Truncated)?;
        let end = start.checked_add(length).ok_or(Error::Truncated)?;
        if end > self.bytes.len() { Err(Error::Truncated) } else { Ok(start..end) }
    }

    fn numbers(&self, name: &str, place: Range<usize>) -> Result<Vec<f32>, Error> {
        let numbers: Vec<f32> = floats(&self.bytes[place]).collect();
        match numbers.iter().all(|number| number.is_finite()) {
            true => Ok(numbers),
            false => Err(Error::Numbers { name: name.to_owned() }),
        }
    }
}

/// Returns the floats that bytes stand for.
pub(super) fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four))
}

/// Whole numbers in a file, and what brings each row back to its size.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) place: Range<usize>,
    pub(super) scales: Vec<f32>,
}
