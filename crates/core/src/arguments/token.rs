//! A text parted into tokens: words, numbers, names, addresses, marks.

use std::ops::Range;
use std::sync::LazyLock;

use crate::language::WordSet;
use crate::text::{each_term, fold, is_unparted};

/// A piece of a text.
#[derive(Clone, Debug)]
pub(super) struct Token {
    /// Where it stands, in bytes.
    pub(super) at: Range<usize>,
    /// As it is compared: folded and in lower case.
    pub(super) lower: String,
    /// As words of names and descriptions are compared; empty when it says nothing.
    pub(super) term: String,
    /// A mark and no word.
    pub(super) is_mark: bool,
    /// A line or sentence ends before it.
    pub(super) is_start: bool,
    pub(super) is_capital: bool,
}

/// A run of tokens, and the bytes of a text that it stands for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Span {
    pub(super) tokens: Range<usize>,
    pub(super) bytes: Range<usize>,
}

/// Words between the ends of a range.
static BETWEEN: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.lists.range_joins));

impl Token {
    /// Whether it may stand between the ends of a range.
    pub(super) fn is_between(&self) -> bool {
        matches!(self.lower.as_str(), "-" | "–" | "—" | ".." | "...") || BETWEEN.has(&self.lower)
    }
}

/// Whether two ranges have something in common.
pub(super) fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// Whether a range lies inside another one.
pub(super) fn is_within(inner: &Range<usize>, outer: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Tokens of a text that are looked at.
const MAX_TOKENS: usize = 320;

const OPENING: &str = "\"'“”‘’«»„([{<「『（【`*¿¡";
const CLOSING: &str = "\"'“”‘’«»)]}>」』）】`*.,;:!?…。、，；：！？";

/// Parts a text into tokens.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut is_start = true;
    for (at, chunk) in chunks(text) {
        if text[..at].ends_with('\n') {
            is_start = true;
        }
        part(text, at..at + chunk.len(), &mut |range: Range<usize>, is_mark: bool| {
            if tokens.len() < MAX_TOKENS {
                tokens.push(token(text, range.clone(), is_mark, is_start));
                is_start = is_mark && ".!?。！？".contains(&text[range]);
            }
        });
        if tokens.len() >= MAX_TOKENS {
            break;
        }
    }
    tokens
}

fn token(text: &str, at: Range<usize>, is_mark: bool, is_start: bool) -> Token {
    let written = &text[at.clone()];
    let lower = fold(written).to_lowercase();
    let mut term = String::new();
    if !is_mark {
        each_term(written, &mut |next| {
            if term.is_empty() {
                next.clone_into(&mut term);
            }
        });
    }
    let is_capital = written.starts_with(char::is_uppercase);
    Token { at, lower, term, is_mark, is_start, is_capital }
}

/// Runs without white space, with where they begin.
fn chunks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split(char::is_whitespace).filter(|chunk| !chunk.is_empty()).map(move |chunk| {
        // Both are parts of one text, so the difference of their addresses is the place.
        (chunk.as_ptr() as usize - text.as_ptr() as usize, chunk)
    })
}

/// Takes the marks off a chunk, and parts what is written without spaces.
fn part(text: &str, mut at: Range<usize>, emit: &mut impl FnMut(Range<usize>, bool)) {
    while let Some(first) = text[at.clone()].chars().next() {
        let is_negative = first == '-' && at.len() > 1;
        let is_pattern = first == '*' && is_pattern(&text[at.clone()]);
        if is_pattern
            || !(OPENING.contains(first) || (first.is_ascii_punctuation() && at.len() == first.len_utf8()))
            || is_negative
        {
            break;
        }
        emit(at.start..at.start + first.len_utf8(), true);
        at.start += first.len_utf8();
    }
    let mut closing = Vec::new();
    while let Some(last) = text[at.clone()].chars().next_back() {
        if !CLOSING.contains(last)
            || is_call(&text[at.clone()])
            || last == '*' && is_pattern(&text[at.clone()])
        {
            break;
        }
        closing.push(at.end - last.len_utf8()..at.end);
        at.end -= last.len_utf8();
    }
    if !at.is_empty() {
        inner(text, at, emit);
    }
    closing.into_iter().rev().for_each(|range| emit(range, true));
}

/// In `*.txt` and `src/*` a star stands for a name, in `*word*` it is a mark.
fn is_pattern(chunk: &str) -> bool {
    chunk.len() > 1 && chunk.starts_with('*') != chunk.ends_with('*')
}

/// Code such as `sum(x)` keeps its brackets.
fn is_call(chunk: &str) -> bool {
    chunk.ends_with(')') && chunk.find('(').is_some_and(|at| at > 0)
}

fn inner(text: &str, at: Range<usize>, emit: &mut impl FnMut(Range<usize>, bool)) {
    let chunk = &text[at.clone()];
    let possessive = ["'s", "’s"].iter().find(|end| chunk.ends_with(**end) && chunk.len() > end.len());
    if let Some(end) = possessive {
        let cut = at.end - end.len();
        inner(text, at.start..cut, emit);
        return emit(cut..at.end, false);
    }
    // "Paris,France" and "10,000" differ by what stands around the comma.
    let cut = chunk.char_indices().find(|(place, c)| {
        let next = chunk[place + c.len_utf8()..].chars().next();
        ",;，、；。".contains(*c) && !chunk.contains("://") && next.is_some_and(char::is_alphabetic)
    });
    if let Some((place, mark)) = cut.filter(|(place, _)| *place > 0) {
        let cut = at.start + place;
        inner(text, at.start..cut, emit);
        emit(cut..cut + mark.len_utf8(), true);
        return part(text, cut + mark.len_utf8()..at.end, emit);
    }
    if !chunk.contains(is_unparted) {
        return emit(at, false);
    }
    if let Some(end) = path_end(chunk, text[at.end..].starts_with(char::is_whitespace)) {
        emit(at.start..at.start + end, false);
        return part(text, at.start + end..at.end, emit);
    }
    let mut run = at.start;
    for (place, c) in chunk.char_indices() {
        let here = at.start + place;
        let is_name = |c: char| c.is_ascii_alphanumeric();
        let is_inside =
            c == '.' && chunk[..place].ends_with(is_name) && chunk[place + 1..].starts_with(is_name);
        let is_mark = (CLOSING.contains(c) || OPENING.contains(c)) && !is_inside;
        if is_unparted(c) || is_mark {
            if run < here {
                emit(run..here, false);
            }
            emit(here..here + c.len_utf8(), is_mark);
            run = here + c.len_utf8();
        }
    }
    if run < at.end {
        emit(run..at.end, false);
    }
}

/// Returns where a path ends that has letters of a script without spaces, such as `/home/音乐/a.mp3`. A last part without
/// an ending is sure only where a space follows.
fn path_end(chunk: &str, is_parted: bool) -> Option<usize> {
    let is_path = chunk.starts_with(['/', '~']) || chunk.get(1..3) == Some(":\\");
    let (mut end, mut has_letters) = (0, false);
    for part in chunk.split_inclusive(['/', '\\']).take_while(|_| is_path) {
        let Some((first, _)) = part.char_indices().find(|(_, c)| is_unparted(*c)) else {
            end += part.len();
            continue;
        };
        let is_name = |c: char| c.is_ascii_alphanumeric();
        let dot = part.rfind('.').filter(|dot| *dot > first && part[dot + 1..].starts_with(is_name));
        let whole = match dot {
            _ if part.contains(|c| CLOSING.contains(c) && c != '.') || part[..first].contains('.') => None,
            _ if part.ends_with(['/', '\\']) => Some(part.len()),
            Some(dot) => {
                Some(dot + 1 + part[dot + 1..].find(|c| !is_name(c)).unwrap_or(part.len() - dot - 1))
            }
            None => (is_parted && first == 0).then_some(part.len()),
        };
        has_letters |= whole.is_some();
        match whole {
            Some(whole) if whole == part.len() => end += whole,
            other => {
                end += other.unwrap_or(first);
                break;
            }
        }
    }
    (has_letters && end > 0).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r9_a_path_may_have_letters_that_are_written_without_spaces() {
        let first = |text: &str| tokens(text).iter().map(|it| text[it.at.clone()].to_owned()).next().unwrap();
        for (text, path) in [
            ("/Users/lin/录音/周例会.mp3", "/Users/lin/录音/周例会.mp3"),
            ("/home/user/数据/原始 这个目录", "/home/user/数据/原始"),
            ("/data/写真/旅行.jpgを開いて", "/data/写真/旅行.jpg"),
            ("/home/a.txtを開いて", "/home/a.txt"),
            ("C:\\文件\\报告.docx 打开", "C:\\文件\\报告.docx"),
        ] {
            assert_eq!(first(text), path);
        }
    }
}
