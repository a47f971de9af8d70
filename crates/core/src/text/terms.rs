//! Text becomes terms: the form in which words of tools and of requests are compared.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::stem::stem;
use crate::language::{WordSet, fold};
use crate::tool::words::camel_words;

/// Longer runs are keys or encoded data, not words.
const MAX_TERM_BYTES: usize = 48;
/// `e-mail` and `GitHub` are also found as one word; longer pairs are just two words.
const MAX_JOINED_BYTES: usize = 14;
/// Words that nearly every text has.
static NOISE: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.noise));

/// Calls `emit` with every term of `text`, in order, repeated as often as it occurs.
///
/// Words are folded (case, accents, width), identifiers are taken apart, English endings are cut,
/// and scripts that do not part words give overlapping pairs of characters.
pub(crate) fn each_term(text: &str, emit: &mut impl FnMut(&str)) {
    let text = fold(text);
    let mut buffer = String::new();
    for chunk in text.split(|c: char| !(c.is_alphanumeric() || c == '-' || is_unparted(c))) {
        if !chunk.contains('-') {
            each_run(chunk, &mut buffer, emit);
            continue;
        }
        let mut parts = chunk.split('-').filter(|part| !part.is_empty());
        if let (Some(first), Some(second), None) = (parts.next(), parts.next(), parts.next()) {
            joined(first, second, &mut buffer, emit);
        }
        for part in chunk.split('-') {
            each_run(part, &mut buffer, emit);
        }
    }
}

/// Returns the different terms of `text` in the order in which they first occur, at most `limit`.
pub fn terms(text: &str, limit: usize) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    each_term(text, &mut |term| {
        if terms.len() < limit && !terms.iter().any(|known| known == term) {
            terms.push(term.to_owned());
        }
    });
    terms
}

/// Returns words as they are and as terms, to look up what may be either.
pub(crate) fn with_terms<'a>(words: impl IntoIterator<Item = &'a String>) -> HashSet<String> {
    words.into_iter().flat_map(|word| terms(word, 1).into_iter().chain([word.clone()])).collect()
}

/// Scripts written without spaces between words.
pub(crate) fn is_unparted(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3005}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Parts a chunk where it changes between scripts with and without spaces.
fn each_run(chunk: &str, buffer: &mut String, emit: &mut impl FnMut(&str)) {
    if chunk.is_ascii() {
        return each_word(chunk, buffer, emit);
    }
    let mut rest = chunk;
    while let Some(first) = rest.chars().next() {
        let unparted = is_unparted(first);
        let end = rest.find(|c| is_unparted(c) != unparted).unwrap_or(rest.len());
        let (run, tail) = rest.split_at(end);
        rest = tail;
        if unparted {
            pairs(run, emit);
        } else {
            each_word(run, buffer, emit);
        }
    }
}

fn pairs(run: &str, emit: &mut impl FnMut(&str)) {
    let starts = run.char_indices().map(|(at, _)| at);
    let ends = run.char_indices().skip(2).map(|(at, _)| at).chain([run.len()]);
    for (start, end) in starts.zip(ends) {
        emit(&run[start..end]);
    }
}

fn each_word(run: &str, buffer: &mut String, emit: &mut impl FnMut(&str)) {
    let mut words = camel_words(run);
    if let (Some(first), Some(second), None) = (words.next(), words.next(), words.next()) {
        joined(first, second, buffer, emit);
    }
    for word in camel_words(run) {
        let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
        // `oauth2` is found as `oauth` as well; `s3` only as it is.
        if letters.len() < word.len() && letters.len() > 2 {
            term(letters, buffer, emit);
        }
        term(word, buffer, emit);
    }
}

fn joined(first: &str, second: &str, buffer: &mut String, emit: &mut impl FnMut(&str)) {
    if first.len() + second.len() <= MAX_JOINED_BYTES {
        term(&format!("{first}{second}"), buffer, emit);
    }
}

fn term(word: &str, buffer: &mut String, emit: &mut impl FnMut(&str)) {
    if word.is_empty() || word.len() > MAX_TERM_BYTES {
        return;
    }
    buffer.clear();
    if word.is_ascii() {
        buffer.push_str(word);
        buffer.make_ascii_lowercase();
    } else {
        buffer.extend(word.chars().flat_map(char::to_lowercase));
    }
    if !NOISE.has(buffer) {
        stem(buffer);
        emit(buffer);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spaced(text: &str) -> String {
        let mut terms = Vec::new();
        each_term(text, &mut |term| terms.push(term.to_owned()));
        terms.join(" ")
    }

    #[test]
    fn identifiers_and_sentences_give_the_same_terms() {
        assert_eq!(spaced("create_issue"), spaced("Creating the issues"));
        assert_eq!(spaced("readTextFile"), spaced("read text files"));
        assert_eq!(spaced("fetch-URLs"), "fetchurl fetch url");
    }

    #[test]
    fn names_written_as_two_words_are_found_as_one() {
        assert_eq!(spaced("GitHub e-mail"), "github git hub email e mail");
        assert_eq!(spaced("oauth2 s3"), "oauth oauth2 s3");
    }

    #[test]
    fn accents_case_and_width_make_no_difference() {
        assert_eq!(spaced("CAFÉ"), spaced("cafe\u{301}"));
        assert_eq!(spaced("ＡＰＩ"), "api");
        assert_eq!(spaced("Ελλάδα"), spaced("ελλαδα"));
    }

    #[test]
    fn scripts_without_spaces_give_pairs() {
        assert_eq!(spaced("検索する"), "検索 索す する");
        assert_eq!(spaced("PDF变换"), "pdf 变换");
        assert_eq!(spaced("本"), "本");
        assert_eq!(spaced("ガギ"), "ガギ");
    }

    proptest! {
        #[test]
        fn no_text_panics_and_no_term_is_empty_or_endless(text in any::<String>()) {
            each_term(&text, &mut |term| {
                assert!(!term.is_empty() && term.len() <= 3 * MAX_TERM_BYTES && !term.contains(' '));
            });
        }
    }
}
