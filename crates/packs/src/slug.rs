//! A title becomes a name that can be typed: "Buy groceries" is `buy-groceries`.
//!
//! Letters of every script stay, so that a title in Greek or Japanese has a name of its own too.

use unicode_normalization::char::is_combining_mark;

use crate::fold::fold;

/// A slug has at most this many characters, before a number is put behind it.
const LONGEST: usize = 60;

/// Makes a slug of a text; empty when the text has no letter and no digit.
pub(crate) fn slug(text: &str) -> String {
    let folded = fold(text);
    let mut words: Vec<String> = vec![String::new()];
    for letter in folded.chars() {
        let last = words.last_mut().expect("there is always a last word");
        if letter.is_alphanumeric() || (is_combining_mark(letter) && !last.is_empty()) {
            last.push(letter);
        } else if !matches!(letter, '\'' | '’' | 'ʼ' | '\u{200c}' | '\u{200d}') && !last.is_empty() {
            // Apostrophes and joiners stand inside words; everything else parts them.
            words.push(String::new());
        }
    }
    let mut slug = String::new();
    let mut length = 0;
    for word in words.iter().filter(|word| !word.is_empty()) {
        let more = word.chars().count() + usize::from(length != 0);
        if LONGEST < length + more && length != 0 {
            break;
        }
        if length != 0 {
            slug.push('-');
        }
        slug.extend(word.chars().take(LONGEST));
        length += more;
    }
    slug
}

/// Finds the first of `base`, `base-2`, `base-3` … that is free.
pub(crate) fn free<E>(base: &str, mut is_taken: impl FnMut(&str) -> Result<bool, E>) -> Result<String, E> {
    let mut slug = base.to_owned();
    let mut number = 1_u64;
    while is_taken(&slug)? {
        number += 1;
        slug = format!("{base}-{number}");
    }
    Ok(slug)
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, free, slug};

    #[test]
    fn d1_a_title_of_any_script_becomes_a_slug() {
        let slugs = [
            "Buy groceries",
            "  Don't panic!  ",
            "Crème brûlée & Straße 7",
            "東京へ行く",
            "Купить хлеб",
            "हिन्दी सीखें",
            "שלום עולם",
            "오늘 할 일",
            "ภาษาไทย",
            "C++ / Rust",
            "🎉",
        ]
        .map(slug);
        assert_eq!(
            slugs,
            [
                "buy-groceries",
                "dont-panic",
                "creme-brulee-strasse-7",
                "東京へ行く",
                "купить-хлеб",
                "हिन्दी-सीखें",
                "שלום-עולם",
                "오늘-할-일",
                "ภาษาไทย",
                "c-rust",
                "",
            ]
        );
    }

    #[test]
    fn d1_a_long_title_is_cut_between_words() {
        let long = slug(&"wonderful ".repeat(30));
        assert_eq!(long, ["wonderful"; 6].join("-"));
        assert_eq!(slug(&"x".repeat(500)).len(), LONGEST);
    }

    #[test]
    fn d1_a_taken_slug_gets_the_first_free_number() {
        let taken = ["a", "a-2", "a-4"];
        let found: Result<String, ()> = free("a", |slug| Ok(taken.contains(&slug)));
        assert_eq!(found, Ok("a-3".to_owned()));
    }
}
