//! Text into the numbers of its pieces, as BERT does it.
//!
//! Names of special tokens in a text are text: nobody can end a sentence from inside it.

use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::Error;

/// A word with more letters than this is unknown, without looking.
const MAX_WORD_CHARS: usize = 100;

/// The pieces of words that a model knows.
#[derive(Debug)]
pub(super) struct WordPiece {
    /// One token a line.
    text: Box<str>,
    /// Where each token begins in the text, and one past the end.
    starts: Vec<u32>,
    /// Tokens by hash: the hash, which spares looking at most others, and the number or [`FREE`].
    slots: Vec<(u32, u32)>,
    /// The bytes of the longest token.
    longest: usize,
    casing: Casing,
    /// `[CLS]`, `[SEP]` and `[UNK]`.
    special: [u32; 3],
}

/// What becomes of letters before they are looked up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Casing {
    pub(super) lowercase: bool,
    pub(super) strip_accents: bool,
}

const FREE: u32 = u32::MAX;

impl WordPiece {
    /// Reads a vocabulary, one token a line; the number of a token is its line.
    pub(super) fn new(text: &str, casing: Casing) -> Result<Self, Error> {
        let end = u32::try_from(text.len() + 1).map_err(|_| Error::Vocabulary("it is too long"))?;
        let mut starts = vec![0];
        starts.extend((1..end).zip(text.bytes()).filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at));
        starts.push(end);
        let tokens = starts.len() - 1;
        let mut pieces = Self {
            text: text.into(),
            starts,
            slots: vec![(0, FREE); (tokens * 2).next_power_of_two()],
            longest: 0,
            casing,
            special: [FREE; 3],
        };
        for id in 0..tokens as u32 {
            let token = pieces.token(id);
            let (length, state) = (token.len(), hash(BASIS, token.as_bytes()));
            // The first of two equal tokens counts: a thousand of them must not make a chain of a thousand.
            if let Err(slot) = pieces.look(state, "", token) {
                pieces.longest = pieces.longest.max(length);
                pieces.slots[slot] = (state, id);
            }
        }
        for (at, name) in ["[CLS]", "[SEP]", "[UNK]"].into_iter().enumerate() {
            let id = pieces.look(hash(BASIS, name.as_bytes()), "", name);
            pieces.special[at] = id.map_err(|_| Error::Vocabulary("it lacks `[CLS]`, `[SEP]` or `[UNK]`"))?;
        }
        Ok(pieces)
    }

    /// Returns how many tokens there are.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the numbers of a text's pieces between those of beginning and end, at most `limit` in all.
    ///
    /// Reading stops when the limit is reached, so that a long text takes little more than a short one.
    pub(super) fn ids(&self, text: &str, limit: usize) -> Vec<u32> {
        let [begin, end, _] = self.special;
        let most = limit.saturating_sub(1);
        let mut ids = vec![begin];
        let (mut word, mut chars) = (String::new(), 0);
        for c in self.clean(text) {
            let stands_alone = is_punctuation(c) || is_ideograph(c);
            if stands_alone || c.is_whitespace() {
                self.split(&word, chars, &mut ids);
                word.clear();
                chars = 0;
            }
            if stands_alone {
                self.split(c.encode_utf8(&mut [0; 4]), 1, &mut ids);
            } else if !c.is_whitespace() {
                chars += 1;
                if chars <= MAX_WORD_CHARS {
                    word.push(c);
                }
            }
            if ids.len() >= most {
                break;
            }
        }
        self.split(&word, chars, &mut ids);
        ids.truncate(most);
        ids.push(end);
        ids
    }

    /// Drops control characters and, where the model wants it, case and accents.
    fn clean(&self, text: &str) -> impl Iterator<Item = char> {
        let Casing { lowercase, strip_accents } = self.casing;
        let visible = text.chars().filter(|c| !is_control(*c));
        // ASCII has neither accents nor anything to decompose.
        let decomposed = match strip_accents && !text.is_ascii() {
            true => Either::Left(visible.nfd().filter(|c| !is_accent(*c))),
            false => Either::Right(visible),
        };
        decomposed.flat_map(move |c| match lowercase {
            true => Either::Left(c.to_lowercase()),
            false => Either::Right(std::iter::once(c)),
        })
    }

    /// Adds the pieces of a word, or one unknown if it cannot be pieced together.
    fn split(&self, word: &str, chars: usize, ids: &mut Vec<u32>) {
        let before = ids.len();
        let mut rest = if chars > MAX_WORD_CHARS { "\n" } else { word };
        let mut mark = "";
        while !rest.is_empty() {
            let Some((id, end)) = self.longest_piece(mark, rest) else {
                ids.truncate(before);
                ids.push(self.special[2]);
                return;
            };
            ids.push(id);
            rest = &rest[end..];
            mark = "##";
        }
    }

    /// Finds the longest token that `rest` begins with, and where it ends.
    fn longest_piece(&self, mark: &str, rest: &str) -> Option<(u32, usize)> {
        let mut found = None;
        let mut state = hash(BASIS, mark.as_bytes());
        for (at, byte) in rest.bytes().enumerate().take(self.longest) {
            state = hash(state, &[byte]);
            if rest.is_char_boundary(at + 1)
                && let Ok(id) = self.look(state, mark, &rest[..=at])
            {
                found = Some((id, at + 1));
            }
        }
        found
    }

    /// Looks up a mark and a piece by their hash: the token, or the free slot where it would be.
    fn look(&self, state: u32, mark: &str, piece: &str) -> Result<u32, usize> {
        let mut slot = (state ^ (state >> 15)) as usize % self.slots.len();
        // Half of the slots are free, so this ends.
        while self.slots[slot].1 != FREE {
            let (hash, id) = self.slots[slot];
            if hash == state && self.token(id).strip_prefix(mark) == Some(piece) {
                return Ok(id);
            }
            slot = (slot + 1) % self.slots.len();
        }
        Err(slot)
    }

    fn token(&self, id: u32) -> &str {
        let id = id as usize;
        &self.text[self.starts[id] as usize..self.starts[id + 1] as usize - 1]
    }
}

/// One of two iterators over the same.
enum Either<A, B> {
    Left(A),
    Right(B),
}

impl<T, A: Iterator<Item = T>, B: Iterator<Item = T>> Iterator for Either<A, B> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        match self {
            Self::Left(items) => items.next(),
            Self::Right(items) => items.next(),
        }
    }
}

const BASIS: u32 = 0x811c_9dc5;

/// Continues an FNV-1a hash.
fn hash(state: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(state, |state, byte| (state ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

fn is_control(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => false,
        '\u{fffd}' => true,
        c if c.is_ascii() => c.is_ascii_control(),
        // What Unicode has not assigned yet stays: a newer text may know it.
        c => matches!(
            c.general_category(),
            GeneralCategory::Control | GeneralCategory::Format | GeneralCategory::PrivateUse
        ),
    }
}

fn is_accent(c: char) -> bool {
    !c.is_ascii() && c.general_category() == GeneralCategory::NonspacingMark
}

fn is_punctuation(c: char) -> bool {
    match c.is_ascii() {
        true => c.is_ascii_punctuation(),
        false => c.general_category_group() == GeneralCategoryGroup::Punctuation,
    }
}

fn is_ideograph(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}'
        | '\u{2b740}'..='\u{2b81f}'
        | '\u{2b820}'..='\u{2ceaf}'
        | '\u{f900}'..='\u{faff}'
        | '\u{2f800}'..='\u{2fa1f}')
}
