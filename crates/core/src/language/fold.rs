//! The form in which words are compared, whatever the keyboard or the typesetter.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Undoes what keyboards and typesetters vary: width, ligatures and accents.
pub(crate) fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let is_accent = |c: &char| ('\u{300}'..='\u{36f}').contains(c);
    // Composing again puts back what is no accent, such as Hangul syllables and voiced kana.
    Cow::Owned(text.nfkd().filter(|c| !is_accent(c)).nfc().collect())
}

/// Returns a text folded and in lower case.
pub(crate) fn folded(text: &str) -> String {
    fold(text).to_lowercase()
}
