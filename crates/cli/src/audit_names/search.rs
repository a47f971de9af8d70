//! Where old names stand in a text.
//!
//! A name counts where it is a word of its own: no letter, digit or `_` before or behind it. The longest name at a
//! place is the one that is meant. A text is read once, in pieces, whatever its size.

use std::io::{self, Read};
use std::ops::Range;

use aho_corasick::{AhoCorasick, BuildError, Input, MatchKind};

use super::encoding::{Encoding, Utf16};
use super::names::Names;

/// Bytes of a text that are looked at together.
const PIECE: usize = 256 * 1024;
/// Bytes before a name that may tell whether it is a word of its own.
const BEFORE: usize = 256;
/// Bytes behind a name that tell the same: one character and the one behind a hyphen.
const BEHIND: usize = 8;
/// How other programs write the tools of their MCP servers: `mcp__server__tool`.
const FOREIGN: &[u8] = b"mcp__";

/// One old name in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    /// Which name.
    pub(super) name: usize,
    /// The line, counted from 1.
    pub(super) line: u64,
    /// The column in characters, counted from 1.
    pub(super) column: u64,
}

/// Looks for all old names at once.
#[derive(Debug)]
pub(super) struct Searcher {
    automaton: AhoCorasick,
    forms: Vec<Form>,
    longest: usize,
}

/// What a name is made of, as far as it decides what a word is.
#[derive(Clone, Copy, Debug)]
struct Form {
    has_hyphen: bool,
    has_server: bool,
}

impl Searcher {
    pub(super) fn new(names: &Names) -> Result<Self, BuildError> {
        let spelled = || names.list.iter().map(|name| name.spelled.as_str());
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(spelled())?;
        let form = |name: &str| Form { has_hyphen: name.contains('-'), has_server: name.contains("__") };
        let longest = spelled().map(str::len).max().unwrap_or_default();
        Ok(Self { automaton, forms: spelled().map(form).collect(), longest })
    }

    /// Returns the first name in a part of a text.
    pub(super) fn first(&self, text: &[u8], part: Range<usize>) -> Option<(usize, Range<usize>)> {
        let mut from = part.start;
        loop {
            let found = self.automaton.find(Input::new(text).range(from..part.end))?;
            if self.is_word(text, found.range(), found.pattern().as_usize()) {
                return Some((found.pattern().as_usize(), found.range()));
            }
            from = found.start() + 1;
        }
    }

    /// Returns every name in a text; `None` when it is no text. `piece` is used again and again.
    pub(super) fn search(&self, file: &mut impl Read, piece: &mut Vec<u8>) -> io::Result<Option<Vec<Hit>>> {
        let mut head = Vec::with_capacity(4);
        file.take(4).read_to_end(&mut head)?;
        let encoding = Encoding::of(&head);
        match encoding {
            Encoding::Bytes => {
                let text = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&head);
                self.read_through(&mut text.chain(file), piece)
            }
            Encoding::Utf16Little | Encoding::Utf16Big => {
                self.read_through(&mut Utf16::new(head[2..].chain(file), encoding), piece)
            }
        }
    }

    fn read_through(&self, text: &mut impl Read, piece: &mut Vec<u8>) -> io::Result<Option<Vec<Hit>>> {
        let room = PIECE.max(4 * (self.longest + BEFORE + BEHIND));
        piece.resize(room, 0);
        let (mut hits, mut position) = (Vec::new(), Position::START);
        // Within the piece: how much of it is text, where the search goes on, and what was counted.
        let (mut length, mut next, mut counted) = (0, 0, 0);
        loop {
            let fresh = fill(text, &mut piece[length..])?;
            if piece[length..length + fresh].contains(&0) {
                return Ok(None);
            }
            length += fresh;
            let is_end = length < room;
            // What begins behind this may go on in the next piece.
            let surely = if is_end { length } else { length - self.longest - BEHIND };
            while let Some((name, range)) = self.first(&piece[..length], next..length) {
                if range.start >= surely {
                    break;
                }
                position.pass(&piece[counted..range.start]);
                counted = range.start;
                hits.push(Hit { name, line: position.line, column: position.column });
                next = range.end;
            }
            if is_end {
                return Ok(Some(hits));
            }
            next = next.max(surely);
            let kept = next.saturating_sub(BEFORE);
            if counted < kept {
                position.pass(&piece[counted..kept]);
                counted = kept;
            }
            piece.copy_within(kept..length, 0);
            (length, next, counted) = (length - kept, next - kept, counted - kept);
        }
    }

    /// Whether what was found is a word of its own.
    fn is_word(&self, text: &[u8], found: Range<usize>, name: usize) -> bool {
        let form = self.forms[name];
        let (before, behind) = (&text[..found.start], &text[found.end..]);
        let goes_on = match next_char(behind) {
            Some(('-', width)) if form.has_hyphen => {
                next_char(&behind[width..]).is_some_and(|(next, _)| is_part(next))
            }
            Some((next, _)) => is_part(next),
            None => false,
        };
        !goes_on && !is_joined(before, form)
    }
}

/// Whether a name that begins behind this text is the end of a longer one.
fn is_joined(before: &[u8], form: Form) -> bool {
    let Some((last, width)) = last_char(before) else { return false };
    if last == '-' && form.has_hyphen {
        return last_char(&before[..before.len() - width]).is_some_and(|(other, _)| is_part(other));
    }
    if !is_part(last) || is_escape(before) {
        return false;
    }
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let prefix = before.iter().rev().take(BEFORE).take_while(|byte| is_of_name(byte)).count();
    let prefix = &before[before.len() - prefix..];
    !(form.has_server && prefix.starts_with(FOREIGN) && prefix.ends_with(b"__"))
}

/// Whether a text ends in an escape such as `\n`, whose letter is none of the word behind it.
fn is_escape(before: &[u8]) -> bool {
    let Some((b'n' | b'r' | b't', rest)) = before.split_last() else { return false };
    rest.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the first character of a text and its bytes. A byte that is no UTF-8 is taken for Latin-1.
fn next_char(text: &[u8]) -> Option<(char, usize)> {
    let first = *text.first()?;
    let whole = (1..=text.len().min(4)).find_map(|width| std::str::from_utf8(&text[..width]).ok());
    let read = whole.and_then(|whole| whole.chars().next()).map(|read| (read, read.len_utf8()));
    Some(read.unwrap_or((char::from(first), 1)))
}

/// Returns the last character of a text and its bytes.
fn last_char(text: &[u8]) -> Option<(char, usize)> {
    let last = *text.last()?;
    let mut starts = (1..=text.len().min(4)).map(|width| &text[text.len() - width..]);
    let whole = starts.find_map(|end| std::str::from_utf8(end).ok());
    let read = whole.and_then(|whole| whole.chars().next()).map(|read| (read, read.len_utf8()));
    Some(read.unwrap_or((char::from(last), 1)))
}

/// Reads until there is no more room or no more text.
fn fill(text: &mut impl Read, room: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < room.len() {
        match text.read(&mut room[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// A place in a text, as people count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub(super) line: u64,
    pub(super) column: u64,
}

impl Position {
    pub(super) const START: Self = Self { line: 1, column: 1 };

    /// Goes on behind these bytes.
    pub(super) fn pass(&mut self, bytes: &[u8]) {
        let in_line = match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(newline) => {
                self.line += bytes[..=newline].iter().filter(|byte| **byte == b'\n').count() as u64;
                self.column = 1;
                &bytes[newline + 1..]
            }
            None => bytes,
        };
        self.column += in_line.iter().filter(|byte| **byte & 0xc0 != 0x80).count() as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::Map;
    use toolyard_core::alias::{Alias, Phase};

    use super::super::names::Name;
    use super::*;

    fn searcher(spelled: &[&str]) -> Searcher {
        let alias = |old: &str| Alias {
            old: old.to_owned(),
            to: "s__new".to_owned(),
            fixed: Map::new(),
            renamed: BTreeMap::new(),
            usage: None,
            phase: Phase::Warn,
        };
        let name = |old: &&str| Name {
            spelled: (*old).to_owned(),
            new: "new".to_owned(),
            usage: String::new(),
            alias: alias(old),
        };
        Searcher::new(&Names { list: spelled.iter().map(name).collect() }).unwrap()
    }

    fn places(searcher: &Searcher, text: &[u8]) -> Vec<(u64, u64)> {
        let hits = searcher.search(&mut &*text, &mut Vec::new()).unwrap().expect("it is text");
        hits.into_iter().map(|hit| (hit.line, hit.column)).collect()
    }

    #[test]
    fn c8_a_name_counts_where_it_is_a_word_of_its_own() {
        let searcher = searcher(&["create_product", "studio__create_product", "get-it"]);
        let found = |text: &str| !places(&searcher, text.as_bytes()).is_empty();
        for text in [
            "create_product",
            "create_product(",
            "`create_product`",
            "create_product: makes one",
            "\"create_product\"",
            "call create_product.",
            "x.create_product()",
            "create_product-1",
            "«create_product»",
            "studio__create_product",
            "mcp__studio__create_product",
            "mcp__toolyard__studio__create_product",
            r#""use:\ncreate_product""#,
            "get-it",
            "-get-it-",
        ] {
            assert!(found(text), "{text}");
        }
        for text in [
            "create_products",
            "my_create_product",
            "create_product_image",
            "create_product2",
            "Xcreate_product",
            "äcreate_product",
            "create_productß",
            "shop__create_product",
            "my_studio__create_product",
            r"\\ncreate_product",
            "get-it-all",
            "for-get-it",
            "Create_Product",
            "",
        ] {
            assert!(!found(text), "{text}");
        }
    }

    #[test]
    fn c8_the_longest_name_at_a_place_is_meant() {
        let searcher = searcher(&["create", "create_product", "create_product_image"]);
        let hits = searcher.search(&mut &b"create_product_image create_product create"[..], &mut Vec::new());
        let names: Vec<usize> = hits.unwrap().unwrap().into_iter().map(|hit| hit.name).collect();
        assert_eq!(names, [2, 1, 0]);
    }

    #[test]
    fn c8_lines_and_columns_are_those_that_editors_show() {
        let searcher = searcher(&["old"]);
        assert_eq!(
            places(&searcher, "\u{feff}old\r\nä old\r\n\r\n  old old".as_bytes()),
            [(1, 1), (2, 3), (4, 3), (4, 7)]
        );
        assert_eq!(places(&searcher, b"\xe9 old \xff old"), [(1, 3), (1, 9)]);
    }

    #[test]
    fn c8_what_has_a_zero_byte_is_no_text() {
        let searcher = searcher(&["old"]);
        let mut late = vec![b' '; 3 * PIECE];
        late.extend_from_slice(b"old\0");
        for text in [&b"old\0"[..], &late] {
            assert_eq!(searcher.search(&mut &*text, &mut Vec::new()).unwrap(), None);
        }
    }

    #[test]
    fn c8_names_at_the_seams_of_pieces_are_found_once() {
        let searcher = searcher(&["create_product", "create"]);
        for shift in 0..40 {
            let mut text = vec![b'x'; PIECE - 20 + shift];
            text.extend_from_slice(b"\n create_product create_products");
            text.resize(2 * PIECE + 100, b' ');
            text.extend_from_slice(b"create");
            let columns = text.len() as u64 - (PIECE - 20 + shift) as u64 - 6;
            assert_eq!(places(&searcher, &text), [(2, 2), (2, columns)], "{shift}");
        }
    }

    proptest! {
        #[test]
        fn c8_whatever_a_text_is_made_of_every_place_found_has_the_name(
            text in prop::collection::vec(prop_oneof!["a_b", "_", "-", " ", "ä", "\n", "a", r"\\n", "__"], 0..60),
        ) {
            let text = text.concat();
            let searcher = searcher(&["a_b", "a"]);
            let hits = searcher.search(&mut text.as_bytes(), &mut Vec::new()).unwrap().expect("it is text");
            for hit in hits {
                let line = text.split('\n').nth(hit.line as usize - 1).expect("the line exists");
                let rest: String = line.chars().skip(hit.column as usize - 1).collect();
                let spelled = ["a_b", "a"][hit.name];
                prop_assert!(rest.starts_with(spelled));
                prop_assert!(rest[spelled.len()..].chars().next().is_none_or(|next| !is_part(next)));
            }
        }
    }
}
