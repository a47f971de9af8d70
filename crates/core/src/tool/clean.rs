//! Text from strangers, made safe to show to a person and to a model.
//!
//! What is left reads the same for both: nothing that moves a cursor, hides words or reorders them.

use std::borrow::Cow;

/// Removes escape sequences, control characters, bidirectional controls, invisible characters and those of private use.
///
/// Newlines and tabs stay, and so do the joiners without which emoji, Arabic and Indic scripts
/// would read wrong. Unicode's own line separators become newlines.
///
/// ```
/// use toolyard_core::tool::clean;
///
/// assert_eq!(clean("\u{1b}[31mred\u{1b}[0m\u{200b}dish"), "reddish");
/// ```
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| c == '\r' || is_hidden(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '\u{1b}' => skip_escape(after),
            '\u{9b}' => skip_control_sequence(after),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_control_string(after),
            '\u{2028}' | '\u{2029}' => {
                out.push('\n');
                after
            }
            c => {
                if stays(out.chars().next_back(), c, after.chars().next()) {
                    out.push(c);
                }
                after
            }
        };
    }
    if out == text { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

/// Whether a character is shown to nobody, or moves what is shown. Some of them stay where a script needs them.
pub(super) fn is_hidden(c: char) -> bool {
    !matches!(c, '\n' | '\t' | '\r') && (c.is_control() || is_invisible(c))
}

fn stays(before: Option<char>, c: char, after: Option<char>) -> bool {
    let around = |is: fn(char) -> bool| before.is_some_and(is) && after.is_some_and(is);
    match c {
        '\n' | '\t' => true,
        '\u{200c}' => around(is_joining),
        '\u{200d}' => {
            let emoji = before.is_some_and(|c| c == '\u{fe0f}' || is_pictograph(c));
            around(is_joining) || (emoji && after.is_some_and(is_pictograph))
        }
        // A digit with a selector is an emoji only on a key cap; elsewhere the selector is a hidden bit.
        '\u{fe0e}' | '\u{fe0f}' if before.is_some_and(is_on_key_cap) => after == Some('\u{20e3}'),
        '\u{fe0e}' | '\u{fe0f}' => before.is_some_and(takes_presentation),
        c => !c.is_control() && !is_invisible(c),
    }
}

/// Skips what follows an ESC, as far as it belongs to the sequence.
fn skip_escape(rest: &str) -> &str {
    match rest.bytes().next() {
        Some(b'[') => skip_control_sequence(&rest[1..]),
        Some(b']' | b'P' | b'X' | b'^' | b'_') => skip_control_string(&rest[1..]),
        Some(b' '..=b'~') => skip_one(skip_while(rest, b' '..=b'/'), b'0'..=b'~'),
        _ => rest,
    }
}

fn skip_control_sequence(rest: &str) -> &str {
    skip_one(skip_while(skip_while(rest, b'0'..=b'?'), b' '..=b'/'), b'@'..=b'~')
}

/// Skips a string that runs to BEL or ST. One without its end hides nothing: its text stays.
fn skip_control_string(rest: &str) -> &str {
    // Stopping at any control keeps the whole pass linear, and is what terminals do as well.
    let Some(end) = rest.find(char::is_control) else { return rest };
    let tail = &rest[end..];
    ["\u{7}", "\u{9c}", "\u{1b}\\"].iter().find_map(|mark| tail.strip_prefix(mark)).unwrap_or(rest)
}

fn skip_while(rest: &str, range: std::ops::RangeInclusive<u8>) -> &str {
    rest.trim_start_matches(|c: char| u8::try_from(c).is_ok_and(|byte| range.contains(&byte)))
}

fn skip_one(rest: &str, range: std::ops::RangeInclusive<u8>) -> &str {
    match rest.bytes().next() {
        Some(byte) if range.contains(&byte) => &rest[1..],
        _ => rest,
    }
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{e000}'..='\u{f8ff}'
        | '\u{fdd0}'..='\u{fdef}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{13430}'..='\u{1343f}'
        | '\u{e0000}'..='\u{e0fff}'
        | '\u{f0000}'..='\u{10ffff}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// Letters whose shape depends on a joiner or non-joiner between them.
fn is_joining(c: char) -> bool {
    let script = matches!(c,
        '\u{620}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{18af}'
        | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}');
    script && !is_invisible(c)
}

fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

fn is_on_key_cap(c: char) -> bool {
    matches!(c, '#' | '*' | '0'..='9')
}

/// Characters that exist both as text and as emoji.
fn takes_presentation(c: char) -> bool {
    is_pictograph(c)
        || matches!(
            c,
            '©' | '®'
                | '\u{203c}'
                | '\u{2049}'
                | '\u{2122}'
                | '\u{2139}'
                | '\u{3030}'
                | '\u{303d}'
                | '\u{3297}'
                | '\u{3299}'
        )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_text_is_borrowed_as_it_is() {
        let text = "Reads a file.\n\tGrüße, 日本語, ✅ done";
        assert!(matches!(clean(text), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn escape_sequences_go_with_everything_that_belongs_to_them() {
        assert_eq!(clean("\u{1b}[1;31mred\u{1b}[0m"), "red");
        assert_eq!(clean("\u{1b}]0;owned\u{7}title"), "title");
        assert_eq!(clean("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\"), "link");
        assert_eq!(clean("\u{1b}(Bascii\u{1b}cfull reset"), "asciifull reset");
        assert_eq!(clean("\u{9b}2Jc1 form\u{9d}0;t\u{9c}!"), "c1 form!");
    }

    #[test]
    fn an_unfinished_control_string_loses_its_start_and_keeps_its_text() {
        assert_eq!(clean("a\u{1b}]0;not hidden"), "a0;not hidden");
        assert_eq!(clean("a\u{1b}]0;not\nhidden\u{7}"), "a0;not\nhidden");
        assert_eq!(clean("end\u{1b}"), "end");
        assert_eq!(clean("end\u{1b}[12"), "end");
    }

    #[test]
    fn hidden_and_reordering_characters_go() {
        assert_eq!(clean("de\u{200b}le\u{2060}te\u{feff}"), "delete");
        assert_eq!(clean("safe\u{202e}txt.exe\u{2066}"), "safetxt.exe");
        assert_eq!(clean("x\u{e0049}\u{e0067}\u{e006e}y"), "xy");
        assert_eq!(clean("a\u{fe01}\u{e0100}b\u{fe0f}"), "ab");
        assert_eq!(clean("list \u{e000}\u{f8ff}\u{f0000}\u{10fffd}item"), "list item");
        assert_eq!(clean("1\u{fe0e}2\u{fe0f}3#\u{fe0f}"), "123#");
        assert_eq!(clean("bell\u{7} back\u{8} nul\0\r\n"), "bell back nul\n");
        assert_eq!(clean("one\u{2028}two"), "one\ntwo");
    }

    #[test]
    fn joiners_stay_where_a_script_or_an_emoji_needs_them() {
        for text in ["👩‍💻", "❤️‍🔥", "1️⃣", "🏳️‍🌈", "می‌خواهم", "क्‍ष"]
        {
            assert_eq!(clean(text), text);
        }
        assert_eq!(clean("de\u{200d}lete 👩\u{200d}\u{200d}"), "delete 👩");
    }

    proptest! {
        #[test]
        fn what_was_cleaned_is_clean(text in "[\\x{0}-\\x{10ffff}]{0,40}|[\u{1b}\u{9b}\u{9d}\u{7}\u{200d}\u{fe0f}👩क\\[\\]\\\\;a1 ]{0,30}") {
            let once = clean(&text).into_owned();
            prop_assert!(matches!(clean(&once), Cow::Borrowed(_)), "{once:?}");
            prop_assert!(!once.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
        }
    }
}
