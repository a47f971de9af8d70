//! A task as the pieces that joints stand between: words, with what ends behind them and what may not be cut.

use std::ops::Range;

use super::joint::{Joint, Joints};
use crate::language;
use crate::lexicon::{Language, folded};
use crate::text::{QUOTES, is_unparted};

/// One word of a task, or a run of a script that does not part words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Where its letters stand.
    pub(super) span: Range<usize>,
    /// Folded for comparing.
    pub(super) word: String,
    /// What ends behind it.
    pub(super) stop: Option<Joint>,
    /// Whether it stands in quotes, brackets or code.
    pub(super) is_held: bool,
}

/// A task is cut within its first characters; what follows is content.
const MOST_CHARS: usize = 4000;

/// Parts a task.
pub(super) fn pieces(task: &str, language: Language) -> Vec<Piece> {
    let end = task.char_indices().nth(MOST_CHARS).map_or(task.len(), |(at, _)| at);
    let held = held(&task[..end]);
    let is_whole = matches!(language, Language::Zh | Language::Ja);
    let mut pieces = Vec::new();
    let mut at = 0;
    for chunk in task[..end].split_inclusive(char::is_whitespace) {
        let span = at..at + chunk.trim_end().len();
        at += chunk.len();
        if chunk.ends_with('\n') {
            // A line ends even where its last word has no point.
            push(task, span, &held, is_whole.then(|| Joints::of(language)), &mut pieces);
            if let Some(last) = pieces.last_mut().filter(|last| !last.is_held) {
                last.stop = last.stop.max(Some(Joint::Stop));
            }
        } else {
            push(task, span, &held, is_whole.then(|| Joints::of(language)), &mut pieces);
        }
    }
    pieces
}

fn push(
    task: &str,
    span: Range<usize>,
    held: &[Range<usize>],
    whole: Option<&Joints>,
    pieces: &mut Vec<Piece>,
) {
    let is_held = |at: usize| held.iter().any(|range| range.contains(&at));
    if span.is_empty() {
        return;
    }
    if let Some(joints) = whole.filter(|_| task[span.clone()].contains(is_unparted)) {
        return push_unparted(task, span, (held, joints), pieces);
    }
    let text = &task[span.clone()];
    let trimmed = text.trim_end_matches([',', ';', '.', '!', '?', ':', '،', '؛', '。', '、', '，', '।']);
    let ends = text[trimmed.len()..].chars().next_back();
    let stop = match ends.filter(|_| !is_held(span.end - 1) && !is_short_form(trimmed)) {
        Some(':') => Some(Joint::Colon),
        Some(',' | '،' | '、' | '，') => Some(Joint::Comma),
        Some(_) => Some(Joint::Stop),
        None => None,
    };
    let inner = if trimmed.is_empty() { text } else { trimmed };
    let span = span.start..span.start + inner.len();
    let word = folded(inner.trim_matches(['(', ')', '"', '“', '”', '*', '«', '»', '¿', '¡']));
    pieces.push(Piece { is_held: is_held(span.start), span, word, stop });
}

/// Joints of scripts without spaces stand in the middle of a run.
fn push_unparted(
    task: &str,
    span: Range<usize>,
    (held, joints): (&[Range<usize>], &Joints),
    pieces: &mut Vec<Piece>,
) {
    let is_held = |at: usize| held.iter().any(|range| range.contains(&at));
    let mut add = |span: Range<usize>, stop: Option<Joint>| {
        if !span.is_empty() {
            let word = folded(&task[span.clone()]);
            pieces.push(Piece { is_held: is_held(span.start), span, word, stop });
        }
    };
    let (mut from, mut at) = (span.start, span.start);
    while at < span.end {
        let Some(next) = task[at..].chars().next() else { break };
        let joint = joints.leading_text(&task[at..span.end]).filter(|_| !is_held(at));
        let stop = matches!(next, '。' | '！' | '？' | '!' | '?' | '；')
            .then_some(Joint::Stop)
            .filter(|_| !is_held(at));
        if let Some((bytes, _)) = joint {
            add(from..at, None);
            add(at..at + bytes, None);
            at += bytes;
            from = at;
        } else if stop.is_some() || matches!(next, '，' | '、' | ',') && !is_held(at) {
            add(from..at, stop.or(Some(Joint::Comma)));
            at += next.len_utf8();
            from = at;
        } else {
            at += next.len_utf8();
        }
    }
    add(from..span.end, None);
}

/// `e.g.` and the like end with a point that ends nothing.
fn is_short_form(word: &str) -> bool {
    language::all().iter().flat_map(|it| &it.abbreviations).any(|known| known == word)
}

/// Where quotes, brackets and code stand.
fn held(text: &str) -> Vec<Range<usize>> {
    // A fence is longer than the mark it begins with, so it is looked for first.
    const FENCES: [(&str, &str); 3] = [("```", "```"), ("(", ")"), ("[", "]")];
    let mut held: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let opened = FENCES.iter().chain(&QUOTES).find(|(open, _)| text[at..].starts_with(open));
        let closed = opened.and_then(|(open, close)| {
            let inside = at + open.len();
            text[inside..].find(close).map(|end| inside + end + close.len())
        });
        let closed = closed.or_else(|| single_quoted(text, at));
        match closed {
            Some(end) => {
                held.push(at..end);
                at = end;
            }
            None => at += next.len_utf8(),
        }
    }
    held
}

/// Returns the end of what stands in single quotes; an apostrophe inside a word opens nothing.
fn single_quoted(text: &str, at: usize) -> Option<usize> {
    let rest = text[at..].strip_prefix(['\'', '‘'])?;
    let is_open = text[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric());
    if !is_open || rest.starts_with(char::is_whitespace) {
        return None;
    }
    let start = text.len() - rest.len();
    let ends = rest.char_indices().filter(|(_, c)| matches!(c, '\'' | '’'));
    let is_end = |end: &usize| {
        let after = rest[*end..].chars().nth(1);
        after.is_none_or(|after| !after.is_alphanumeric()) && !rest[..*end].contains('\n')
    };
    ends.map(|(end, _)| end)
        .find(is_end)
        .map(|end| start + end + rest[end..].chars().next().map_or(0, char::len_utf8))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(task: &str) -> String {
        let pieces = pieces(task, Language::En);
        let show = |piece: &Piece| {
            let mark = if piece.is_held { "_" } else { "" };
            format!("{mark}{}{}", piece.word, if piece.stop.is_some() { "|" } else { "" })
        };
        pieces.iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn sentences_and_commas_end_pieces() {
        assert_eq!(shown("Read a.txt, then stop. Go!"), "read a.txt| then stop| go|");
        assert_eq!(shown("e.g. this\nthat"), "e.g this| that");
    }

    #[test]
    fn what_is_quoted_is_held() {
        assert_eq!(shown("say \"a, b and c\" now"), "say _a _b _and _c now");
        assert_eq!(shown("it's 'a and b' don't"), "it's _'a _and _b' don't");
        assert_eq!(shown("run `a; b` (c, d)"), "run _`a _b` _c _d");
    }
}
