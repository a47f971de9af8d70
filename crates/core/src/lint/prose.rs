//! A description as its statements: sentences and list items, apart from code.
//!
//! Structure is read without knowing the language, so that every language is judged alike.

use std::sync::LazyLock;

use crate::language::{WordSet, folded};
use crate::text::is_unparted;

/// A description, read.
#[derive(Debug, Default)]
pub(super) struct Prose {
    /// Sentences and list items in their order, without marks of lists and headings.
    pub(super) statements: Vec<String>,
    /// The same before it is parted into sentences: list items and paragraphs.
    pub(super) paragraphs: Vec<String>,
    /// The text without code on one line, in lower case, to look for phrases.
    pub(super) lower: String,
    /// Whether it shows code or JSON.
    pub(super) has_code: bool,
}

/// What ends with a point that ends no sentence.
static ABBREVIATIONS: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.abbreviations));
/// A heading has no more words than this.
const MAX_LABEL_WORDS: usize = 6;

impl Prose {
    /// Reads a description.
    pub(super) fn of(description: &str) -> Self {
        let mut prose = Self::default();
        let (mut paragraph, mut is_fenced) = (String::new(), false);
        for line in description.lines() {
            if line.trim_start().starts_with("```") {
                is_fenced = !is_fenced;
                prose.has_code = true;
                prose.close(&mut paragraph);
                continue;
            }
            if is_fenced {
                continue;
            }
            let (text, begins) = unmarked(line);
            let is_label = is_label(text) && text.split_whitespace().count() <= MAX_LABEL_WORDS;
            if begins || is_label || text.is_empty() || entry(text).is_some() {
                prose.close(&mut paragraph);
            }
            if !paragraph.is_empty() {
                paragraph.push(' ');
            }
            paragraph.push_str(text);
            if is_label {
                prose.close(&mut paragraph);
            }
        }
        prose.close(&mut paragraph);
        prose.has_code |= description.contains("{\"") || description.contains("{ \"");
        prose.lower = prose.statements.join(" ").to_lowercase();
        prose
    }

    /// Whether it has one of these phrases; a phrase begins where a word begins.
    pub(super) fn has(&self, phrases: &[String]) -> bool {
        phrases.iter().any(|phrase| begins_word(&self.lower, phrase))
    }

    /// Returns the first sentence that is no heading.
    pub(super) fn lead(&self) -> Option<&str> {
        self.statements.iter().map(String::as_str).find(|it| !is_label(it))
    }

    fn close(&mut self, paragraph: &mut String) {
        let text = std::mem::take(paragraph);
        self.statements.extend(sentences(&text).map(str::to_owned));
        if !text.is_empty() {
            self.paragraphs.push(text);
        }
    }
}

/// Whether a text has a phrase that begins where a word begins.
pub(super) fn begins_word(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| !text[..at].ends_with(char::is_alphanumeric))
}

/// How much a text says: its words, and two characters of a script without spaces for a word.
pub(super) fn length(text: &str) -> usize {
    let unparted = text.chars().filter(|it| is_unparted(*it)).count();
    let is_word = |word: &&str| word.contains(|it: char| it.is_alphanumeric() && !is_unparted(it));
    text.split_whitespace().filter(is_word).count() + unparted.div_ceil(2)
}

/// Whether a statement only says what follows.
pub(super) fn is_label(statement: &str) -> bool {
    statement.ends_with([':', '：'])
}

/// Reads `name: text`, `name (type): text` and `name - text`, as lists of parameters are written.
pub(super) fn entry(line: &str) -> Option<(&str, &str)> {
    let is_mark = |it: char| matches!(it, '`' | '*' | '\'' | '"');
    let line = line.trim_start_matches(is_mark);
    let end = line.find(|it: char| !(it.is_alphanumeric() || matches!(it, '_' | '-' | '.')))?;
    let (name, rest) = line.split_at(end);
    let rest = rest.trim_start_matches(is_mark).trim_start();
    let rest = match rest.strip_prefix(['(', '（', '[']) {
        Some(kind) => {
            kind.split_once([')', '）', ']']).map_or("", |(_, rest)| rest).trim_start_matches(is_mark)
        }
        None => rest,
    };
    let text = rest.trim_start().strip_prefix([':', '：', '–', '—', '=', '-'])?;
    (!name.is_empty()).then_some((name, text.trim_start_matches(is_mark).trim()))
}

/// Takes the marks of lists, headings and emphasis from a line, and says whether it begins something new.
fn unmarked(line: &str) -> (&str, bool) {
    let line = line.trim();
    let bare = line.trim_start_matches(['#', '-', '*', '•', '·', '+', '>', '|']);
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = bare[digits..].strip_prefix(['.', ')']).filter(|rest| digits > 0 && rest.starts_with(' '));
    let text = numbered.unwrap_or(bare).trim().trim_end_matches("**");
    (text, text.len() < line.len())
}

/// Parts a paragraph into sentences; a point within a word or behind an abbreviation ends none.
fn sentences(paragraph: &str) -> impl Iterator<Item = &str> {
    let mut rest = paragraph.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (sentence, tail) = rest.split_at(sentence_end(rest));
        rest = tail.trim_start();
        Some(sentence.trim_end())
    })
}

fn sentence_end(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        let is_followed = chars.peek().is_some_and(|(_, next)| !next.is_whitespace());
        let ends = match char {
            '。' | '！' | '？' => true,
            '!' | '?' => !is_followed,
            '.' => !is_followed && !is_abbreviation(&text[..at]),
            _ => false,
        };
        if ends {
            return at + char.len_utf8();
        }
    }
    text.len()
}

fn is_abbreviation(before: &str) -> bool {
    let word =
        before.rsplit(|it: char| it.is_whitespace() || "([\"'".contains(it)).next().unwrap_or_default();
    ABBREVIATIONS.has(&folded(word))
}
