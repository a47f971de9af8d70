//! The letters of a text as a model knows them, and the bytes that each comes from.
//!
//! Control characters are left out and, where the model wants it, case and accents. A letter may become several,
//! which then all come from its bytes; an accent belongs to the letter that it stands on.

use std::iter;
use std::ops::Range;

use unicode_normalization::char::{canonical_combining_class, decompose_canonical};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// What becomes of letters before they are looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Casing {
    pub(crate) lowercase: bool,
    pub(crate) strip_accents: bool,
}

/// A letter and the bytes of the text that it comes from.
#[derive(Clone, Debug)]
pub(super) struct Letter {
    pub(super) char: char,
    pub(super) source: Range<usize>,
}

/// Returns the letters of a text.
pub(super) fn letters(text: &str, casing: Casing) -> impl Iterator<Item = Letter> {
    let visible = text.char_indices().filter(|(_, char)| !is_control(*char));
    let visible = visible.map(|(at, char)| Letter { char, source: at..at + char.len_utf8() });
    // ASCII has neither accents nor anything to decompose.
    let decomposed = match casing.strip_accents && !text.is_ascii() {
        true => Either::Left(without_accents(visible)),
        false => Either::Right(visible),
    };
    decomposed.flat_map(move |Letter { char, source }| match casing.lowercase {
        true => Either::Left(char.to_lowercase().map(move |char| Letter { char, source: source.clone() })),
        false => Either::Right(iter::once(Letter { char, source })),
    })
}

/// Takes letters apart, with what combines with them, and drops the accents.
fn without_accents(letters: impl Iterator<Item = Letter>) -> impl Iterator<Item = Letter> {
    let mut letters = letters.peekable();
    let clusters = iter::from_fn(move || {
        let mut cluster = Vec::new();
        decompose(&letters.next()?, &mut cluster);
        while let Some(mark) = letters.next_if(|next| combines(next.char)) {
            decompose(&mark, &mut cluster);
        }
        Some(bare(cluster))
    });
    clusters.flatten()
}

/// A part of a letter, and its class: by it, marks on one letter are put in order.
type Part = (u8, Letter);

fn decompose(letter: &Letter, parts: &mut Vec<Part>) {
    decompose_canonical(letter.char, |char| {
        parts.push((canonical_combining_class(char), Letter { char, source: letter.source.clone() }));
    });
}

fn bare(mut parts: Vec<Part>) -> Vec<Letter> {
    for marks in parts.chunk_by_mut(|_, (class, _)| *class != 0) {
        marks.sort_by_key(|(class, _)| *class);
    }
    let end = parts.iter().map(|(_, part)| part.source.end).max();
    let mut letters: Vec<Letter> =
        parts.into_iter().map(|(_, part)| part).filter(|part| !is_accent(part.char)).collect();
    if let (Some(last), Some(end)) = (letters.last_mut(), end) {
        last.source.end = end;
    }
    letters
}

fn combines(char: char) -> bool {
    is_accent(char) || canonical_combining_class(char) != 0
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    use super::*;

    const BERT: Casing = Casing { lowercase: true, strip_accents: true };

    /// Shows each letter with the part of the text that it comes from.
    fn shown(text: &str) -> String {
        let shown = |letter: Letter| format!("{}:{}", letter.char, &text[letter.source]);
        letters(text, BERT).map(shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_letter_comes_from_its_bytes_and_those_of_its_accents() {
        assert_eq!(shown("Aé"), "a:A e:é");
        assert_eq!(shown("e\u{301}\u{302}x"), "e:e\u{301}\u{302} x:x");
        assert_eq!(shown("a\0\u{200d}b"), "a:a b:b");
        assert_eq!(shown("\u{301}İ"), "i:İ");
        assert_eq!(shown("한"), "\u{1112}:한 \u{1161}:한 \u{11ab}:한");
        assert_eq!(shown("❤\u{fe0f}東"), "❤:❤\u{fe0f} 東:東");
    }

    proptest! {
        #[test]
        fn letters_are_those_of_the_usual_normal_form(text in "[a-zA-Zé\u{300}-\u{345}\u{302e}\u{1b44}\u{f73}한İß\\PC]{0,12}") {
            let expected = text.chars().filter(|c| !is_control(*c)).nfd();
            let expected: String = expected.filter(|c| !is_accent(*c)).flat_map(char::to_lowercase).collect();
            let found: Vec<Letter> = letters(&text, BERT).collect();
            prop_assert_eq!(found.iter().map(|letter| letter.char).collect::<String>(), expected);
            for letter in found {
                prop_assert!(text.get(letter.source.clone()).is_some_and(|part| !part.is_empty()), "{letter:?}");
            }
        }
    }
}
