//! Texts as the most careless reader takes them: without invisible characters, and wide letters as narrow ones.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use crate::tool::clean;

/// Returns a text without control and invisible characters, in Unicode's compatibility form.
pub(super) fn folded(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\n' | b'\t');
    if text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let normal: String = text.nfkc().collect();
    let joins = |c: char| matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}');
    Cow::Owned(clean(&normal).chars().filter(|c| !joins(*c)).collect())
}

/// Whether a character is a letter or a digit that no system turns into another one.
pub(super) fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || c.is_alphanumeric() && std::iter::once(c).nfkc().eq([c])
}
