//! A question becomes sequences of tokens:
//!
//! ```text
//! [CLS] request [SEP] tool : about { [P] name : description kind { [O] option }* }* [SEP]
//! ```
//!
//! Each part is cut behind some number of pieces, as in training. Parameters that do not fit in one sequence go into
//! further ones that begin in the same way; no parameter is split.

use std::iter;
use std::ops::Range;

use super::{FieldText, ReaderInput};
use crate::wordpiece::{Piece, WordPiece};

const MAX_TOOL: usize = 10;
const MAX_ABOUT: usize = 28;
const MAX_NAME: usize = 12;
const MAX_DESCRIPTION: usize = 36;
const MAX_KIND: usize = 14;
const MAX_OPTION: usize = 10;
/// The most tokens of one parameter with its options and all marks.
const MAX_PARAMETER: usize = 136;
/// The most parameters of one sequence.
const MAX_PARAMETERS: usize = 24;

/// The place of the token that a sequence begins with.
pub(super) const BEGINNING: usize = 0;

/// What the network reads at once.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) tokens: Vec<Token>,
    /// How many tokens belong to the request, with those that stand before it and behind it.
    pub(super) first: usize,
    pub(super) asked: Vec<Asked>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A number of the vocabulary.
    Word(u32),
    Mark(Mark),
}

/// What the vocabulary has no token for; its number is its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    FieldText = 0,
    Option = 1,
}

/// Where a parameter stands in a sequence.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// Its number in the question.
    pub(super) parameter: usize,
    /// Where its mark is.
    pub(super) mark: usize,
    /// Where the marks of its options are; those that were left out have none.
    pub(super) options: Vec<Option<usize>>,
}

/// Returns the sequences of a question whose request has these pieces, none longer than `max_tokens`.
pub(super) fn sequences(
    words: &WordPiece,
    question: &ReaderInput<'_>,
    request: &[Piece],
    max_tokens: usize,
) -> Vec<Sequence> {
    let [begin, end] = words.bounds();
    let mut head = vec![Token::Word(begin)];
    head.extend(request.iter().map(|piece| Token::Word(piece.id)));
    head.push(Token::Word(end));
    let first = head.len();
    extend(&mut head, words, question.tool, MAX_TOOL);
    extend(&mut head, words, ":", 1);
    extend(&mut head, words, question.about, MAX_ABOUT);

    let mut sequences = vec![Sequence { tokens: head.clone(), first, asked: Vec::new() }];
    for (at, parameter) in question.parameters.iter().enumerate() {
        let part = Part::new(words, parameter);
        // The last token is that of the end.
        let has_room = |it: &Sequence| {
            it.asked.len() < MAX_PARAMETERS && it.tokens.len() + part.tokens.len() < max_tokens
        };
        if !sequences.last().is_some_and(has_room) {
            sequences.push(Sequence { tokens: head.clone(), first, asked: Vec::new() });
        }
        if let Some(sequence) = sequences.last_mut() {
            sequence.put(at, part);
        }
    }
    for sequence in &mut sequences {
        sequence.tokens.push(Token::Word(end));
        sequence.cut(max_tokens);
    }
    sequences
}

impl Sequence {
    /// Returns the places of the tokens that answers are made from, in order: the first one, those of the request, and
    /// all marks.
    pub(super) fn answering(&self) -> Vec<usize> {
        let marks = self
            .asked
            .iter()
            .flat_map(|asked| iter::once(asked.mark).chain(asked.options.iter().copied().flatten()));
        iter::once(BEGINNING).chain(self.request()).chain(marks).collect()
    }

    /// Returns the places of the request's pieces.
    pub(super) fn request(&self) -> Range<usize> {
        1..(self.first - 1).clamp(1, self.tokens.len())
    }

    fn put(&mut self, parameter: usize, part: Part) {
        let mark = self.tokens.len();
        let options = part.options.into_iter().map(|option| option.map(|at| mark + at)).collect();
        self.tokens.extend(part.tokens);
        self.asked.push(Asked { parameter, mark, options });
    }

    /// Drops what is behind the limit. That happens only if not even one parameter fits.
    fn cut(&mut self, max_tokens: usize) {
        self.tokens.truncate(max_tokens);
        let length = self.tokens.len();
        self.asked.retain(|asked| asked.mark < length);
        for option in self.asked.iter_mut().flat_map(|asked| &mut asked.options) {
            *option = option.filter(|at| *at < length);
        }
    }
}

/// The tokens of one parameter, and where among them the marks of its options are.
struct Part {
    tokens: Vec<Token>,
    options: Vec<Option<usize>>,
}

impl Part {
    fn new(words: &WordPiece, parameter: &FieldText<'_>) -> Self {
        let mut tokens = vec![Token::Mark(Mark::FieldText)];
        extend(&mut tokens, words, parameter.name, MAX_NAME);
        extend(&mut tokens, words, ":", 1);
        extend(&mut tokens, words, parameter.description, MAX_DESCRIPTION);
        extend(&mut tokens, words, parameter.kind, MAX_KIND);
        let mut options = Vec::with_capacity(parameter.options.len());
        for option in parameter.options {
            let start = tokens.len();
            // Not even a mark fits behind a full part: a thousand options must not cost a thousand look-ups.
            if start < MAX_PARAMETER {
                tokens.push(Token::Mark(Mark::Option));
                extend(&mut tokens, words, option, MAX_OPTION);
            }
            let fits = start < tokens.len() && tokens.len() <= MAX_PARAMETER;
            if !fits {
                tokens.truncate(start);
            }
            options.push(fits.then_some(start));
        }
        Self { tokens, options }
    }
}

fn extend(tokens: &mut Vec<Token>, words: &WordPiece, text: &str, most: usize) {
    tokens.extend(words.pieces(text, most).into_iter().map(|piece| Token::Word(piece.id)));
}
