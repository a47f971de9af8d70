//! Texts and numbers that fit.
//!
//! One record must not be able to fill the file, so what is too long is cut rather than refused.

use serde_json::Value;

/// Characters of a request.
const WORDS_CHARS: usize = 8_000;
/// Characters of a reason or a question.
const SENTENCE_CHARS: usize = 1_000;
/// Characters of a name.
const NAME_CHARS: usize = 300;
/// Reasons that are kept of a route or a candidate.
const REASONS: usize = 16;
/// Bytes of arguments, or of their shape, as JSON.
const JSON_BYTES: usize = 32 << 10;

/// Cuts the words of a request.
pub(crate) fn words(text: &mut String) {
    clip(text, WORDS_CHARS);
}

/// Cuts a question.
pub(crate) fn sentence(text: &mut String) {
    clip(text, SENTENCE_CHARS);
}

/// Cuts a name.
pub(crate) fn name(text: &mut String) {
    clip(text, NAME_CHARS);
}

/// Cuts reasons, and how many there are.
pub(crate) fn reasons(reasons: &mut Vec<String>) {
    reasons.truncate(REASONS);
    reasons.iter_mut().for_each(sentence);
}

/// Returns a number that JSON and SQLite can hold.
pub(crate) fn finite(number: f64) -> f64 {
    if number.is_finite() { number } else { 0.0 }
}

/// Whether a value is short enough to be kept.
pub(crate) fn fits(value: &Value) -> bool {
    value.to_string().len() <= JSON_BYTES
}

fn clip(text: &mut String, chars: usize) {
    if let Some((end, _)) = text.char_indices().nth(chars) {
        text.truncate(end);
    }
}
