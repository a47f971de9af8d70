//! Text made comparable: lower case, without accents.
//!
//! What a person types ("sao paulo", "creme brulee") finds what was written ("São Paulo").

use unicode_normalization::UnicodeNormalization;

/// Lowers the case and takes accents off letters, whether they were written as one character or as two.
pub(crate) fn fold(text: &str) -> String {
    let is_accent = |letter: &char| ('\u{300}'..='\u{36f}').contains(letter);
    let mut out = String::with_capacity(text.len());
    // Composing again puts back what is no accent, such as Hangul syllables and voiced kana.
    for letter in text.nfd().filter(|it| !is_accent(it)).nfc().flat_map(char::to_lowercase) {
        match spelled(letter) {
            Some(plain) => out.push_str(plain),
            None => out.push(letter),
        }
    }
    out
}

/// Splits folded text into words: runs of letters and digits.
pub(crate) fn words(folded: &str) -> impl Iterator<Item = &str> {
    folded.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// What is written for a letter that Unicode does not take apart into a plain letter and an accent.
fn spelled(letter: char) -> Option<&'static str> {
    Some(match letter {
        'æ' => "ae",
        'đ' | 'ð' => "d",
        'ı' => "i",
        'ł' => "l",
        'ø' => "o",
        'œ' => "oe",
        'ß' => "ss",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{fold, words};

    #[test]
    fn accents_and_case_do_not_matter() {
        let folded = fold("Crème BRÛLÉE, cafe\u{301}; Straße 東京");
        assert_eq!(words(&folded).collect::<Vec<_>>(), ["creme", "brulee", "cafe", "strasse", "東京"]);
    }

    #[test]
    fn letters_that_have_no_accent_stay_and_are_the_same_however_they_are_written() {
        assert_eq!(fold("Łódź Æsir Đà Nẵng İzmir"), "lodz aesir da nang izmir");
        assert_eq!(fold("한글 が"), "한글 が");
        assert_eq!(fold("\u{1112}\u{1161}\u{11ab} か\u{3099}"), "한 が");
    }
}
