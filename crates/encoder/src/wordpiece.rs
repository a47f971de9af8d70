//! Text into the numbers of its pieces, as BERT does it.
//!
//! Names of special tokens in a text are text: nobody can end a sentence from inside it.

mod letters; // what is left of a text, and where it was

use std::ops::Range;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::Error;
use letters::{Letter, letters};

pub(super) use letters::Casing;

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

/// A piece of a word, and the bytes of the text that it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) id: u32,
    pub(super) source: Range<usize>,
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

    /// Returns the numbers that stand before a text and behind it.
    pub(super) fn bounds(&self) -> [u32; 2] {
        [self.special[0], self.special[1]]
    }

    /// Returns the numbers of a text's pieces between those of beginning and end, at most `limit` in all.
    pub(super) fn ids(&self, text: &str, limit: usize) -> Vec<u32> {
        let [begin, end] = self.bounds();
        let mut ids = vec![begin];
        ids.extend(self.pieces(text, limit.saturating_sub(2)).iter().map(|piece| piece.id));
        ids.truncate(limit.saturating_sub(1));
        ids.push(end);
        ids
    }

    /// Returns the pieces of a text, at most so many.
    ///
    /// Reading stops when the limit is reached, so that a long text takes little more than a short one.
    pub(super) fn pieces(&self, text: &str, most: usize) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut word = Word::default();
        for letter in letters(text, self.casing) {
            let (is_space, stands_alone) = (letter.char.is_whitespace(), stands_alone(letter.char));
            if is_space || stands_alone {
                self.split(&mut word, &mut pieces);
            }
            if !is_space {
                word.push(letter);
            }
            if stands_alone {
                self.split(&mut word, &mut pieces);
            }
            if pieces.len() >= most {
                break;
            }
        }
        self.split(&mut word, &mut pieces);
        pieces.truncate(most);
        pieces
    }

    /// Adds the pieces of a word, or one unknown if it cannot be pieced together; the word is empty afterwards.
    fn split(&self, word: &mut Word, pieces: &mut Vec<Piece>) {
        let before = pieces.len();
        let (mut start, mut mark) = (0, "");
        while start < word.text.len() {
            let found = match word.chars > MAX_WORD_CHARS {
                true => None,
                false => self.longest_piece(mark, &word.text[start..]),
            };
            let Some((id, length)) = found else {
                pieces.truncate(before);
                pieces.push(Piece { id: self.special[2], source: word.source(0..word.text.len()) });
                break;
            };
            pieces.push(Piece { id, source: word.source(start..start + length) });
            start += length;
            mark = "##";
        }
        word.clear();
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

/// A word that is being read.
#[derive(Default)]
struct Word {
    text: String,
    /// For each byte of the text those that it comes from.
    sources: Vec<Range<usize>>,
    chars: usize,
}

impl Word {
    fn push(&mut self, letter: Letter) {
        self.chars += 1;
        if self.chars <= MAX_WORD_CHARS {
            self.text.push(letter.char);
            self.sources.resize(self.text.len(), letter.source);
        } else if let Some(last) = self.sources.last_mut() {
            last.end = letter.source.end;
        }
    }

    /// Returns which bytes some bytes of the word come from.
    fn source(&self, bytes: Range<usize>) -> Range<usize> {
        let joined = self.sources[bytes].iter().cloned();
        joined.reduce(|all, it| all.start.min(it.start)..all.end.max(it.end)).unwrap_or_default()
    }

    fn clear(&mut self) {
        self.text.clear();
        self.sources.clear();
        self.chars = 0;
    }
}

const BASIS: u32 = 0x811c_9dc5;

/// Continues an FNV-1a hash.
fn hash(state: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(state, |state, byte| (state ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Whether a letter is a word of its own.
fn stands_alone(c: char) -> bool {
    is_punctuation(c) || is_ideograph(c)
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

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = "[CLS]\n[SEP]\n[UNK]\ncafe\nnai\n##ve\nstra\n##ss\n##e\n東\n京\n!\n😀\n\u{1112}\n##\u{1161}\n##\u{11ab}\nab";

    /// Shows the pieces of a text with the parts that they come from.
    fn shown(text: &str, most: usize) -> String {
        let casing = Casing { lowercase: true, strip_accents: true };
        let words = WordPiece::new(WORDS, casing).unwrap();
        let pieces = words.pieces(text, most).into_iter();
        pieces.map(|it| format!("{}:{}", words.token(it.id), &text[it.source])).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn pieces_come_from_the_bytes_of_their_letters() {
        assert_eq!(shown("Café NAÏVE!", 9), "cafe:Café nai:NAÏ ##ve:VE !:!");
        assert_eq!(shown("cafe\u{301}\u{302} ab", 9), "cafe:cafe\u{301}\u{302} ab:ab");
        assert_eq!(shown("stra\u{301}sse", 9), "stra:stra\u{301} ##ss:ss ##e:e");
        assert_eq!(shown("東京😀\u{fe0f} ab", 9), "東:東 京:京 😀:😀\u{fe0f} ab:ab");
        assert_eq!(shown("한", 9), "\u{1112}:한 ##\u{1161}:한 ##\u{11ab}:한");
        assert_eq!(shown("a\u{200b}b \0ab", 9), "ab:a\u{200b}b ab:ab");
    }

    #[test]
    fn an_unknown_word_comes_from_all_of_its_bytes() {
        assert_eq!(shown("ab cafés! ", 9), "ab:ab [UNK]:cafés !:!");
        let long = "é".repeat(300);
        assert_eq!(shown(&format!("{long} ab"), 9), format!("[UNK]:{long} ab:ab"));
    }

    #[test]
    fn pieces_are_cut_behind_the_limit() {
        assert_eq!(shown("naive cafe", 2), "nai:nai ##ve:ve");
        assert_eq!(shown("naive cafe", 1), "nai:nai");
        assert_eq!(shown("naive", 0), "");
    }
}
