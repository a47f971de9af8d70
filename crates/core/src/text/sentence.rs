//! Where one sentence ends and the next begins.

use super::is_unparted;

/// A part with fewer words says nothing of its own.
const LEAST_WORDS: usize = 3;
/// A part of a script without spaces with fewer characters says nothing of its own.
const LEAST_CHARS: usize = 6;

/// Returns the sentences of a text, at most `most`; those that say nothing of their own are left out.
pub(crate) fn sentences(text: &str, most: usize) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        if !ends(char, next) {
            continue;
        }
        let end = at + char.len_utf8();
        found.push(&text[start..end]);
        start = end;
    }
    found.push(&text[start..]);
    let mut said: Vec<&str> = found.into_iter().map(str::trim).filter(|it| says_something(it)).collect();
    said.truncate(most);
    said
}

/// A full stop ends a sentence only before a space: `notes.md` and `3.5` have one within.
fn ends(char: char, next: Option<char>) -> bool {
    match char {
        '\n' | '。' | '！' | '？' => true,
        '.' | '!' | '?' | ';' => next.is_none_or(char::is_whitespace),
        _ => false,
    }
}

fn says_something(part: &str) -> bool {
    part.split_whitespace().count() >= LEAST_WORDS
        || part.chars().filter(|it| is_unparted(*it)).count() >= LEAST_CHARS
}

#[cfg(test)]
mod tests {
    use super::sentences;

    #[test]
    fn a_text_is_cut_where_sentences_end() {
        let cut = |text: &str| sentences(text, 4).join(" | ");
        assert_eq!(
            cut("Open notes.md and read it. Ok! Then mail version 3.5 to Ana\nand tell me about it"),
            "Open notes.md and read it. | Then mail version 3.5 to Ana | and tell me about it"
        );
        assert_eq!(cut("查一下北京的天气。然后告诉我该穿什么"), "查一下北京的天气。 | 然后告诉我该穿什么");
        assert_eq!(cut("hi. there"), "");
        assert_eq!(sentences("a b c. d e f. g h i.", 2), ["a b c.", "d e f."]);
    }
}
