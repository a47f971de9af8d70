//! What a parameter is for, as far as the last word of its name tells.

use super::vocabulary::{Set, vocabulary};
use super::words::words;

/// Whether a parameter holds what is written or told.
pub(crate) fn is_content(parameter: &str) -> bool {
    last_word_in(parameter, &vocabulary().parameters.content)
}

/// Whether a parameter says which thing is meant.
pub(crate) fn is_identity(parameter: &str) -> bool {
    last_word_in(parameter, &vocabulary().parameters.identity)
}

fn last_word_in(parameter: &str, known: &Set) -> bool {
    let last = words(parameter).last().map(str::to_lowercase);
    last.is_some_and(|last| known.contains(&last))
}
