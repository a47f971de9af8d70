//! Label values out of names that strangers chose.
//!
//! A label value is short, visible text. Two names that clean to the same value share one series, so no series is ever
//! written twice.

use std::borrow::Cow;

/// The value that counts whatever has no room of its own.
pub(crate) const OTHER: &str = "other";
/// Characters that a label value keeps.
const LENGTH: usize = 100;

/// Makes a label value out of a name: without characters that cannot be seen, and not too long. A clean name is
/// returned as it is, without allocating.
pub(crate) fn clean(name: &str) -> Cow<'_, str> {
    if name.is_empty() {
        return Cow::Borrowed("unknown");
    }
    if name.len() <= LENGTH && name.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.chars().take(LENGTH).map(|letter| if is_hidden(letter) { '_' } else { letter }).collect())
}

/// Tells whether a character is drawn as nothing, or changes how its neighbours are drawn.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}
