//! Words and names that stand for themselves, whoever reads them.

use serde_json::Value;

use super::folded::is_letter;
use super::key_is;
use super::lists::Lists;

/// One word of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// The word without its quotes.
    pub(super) text: String,
    /// Whether it may stand for the names of several files.
    pub(super) is_pattern: bool,
    /// Whether it may begin with anything, and so be a switch.
    pub(super) begins_with_pattern: bool,
}

/// Whether a character stands for itself in every shell. File patterns do not, but are names of files in all of them.
pub(super) fn is_plain(c: char) -> bool {
    is_letter(c) || matches!(c, '_' | '.' | '/' | ':' | '=' | ',' | '@' | '+' | '-' | '~' | '*' | '?' | '%')
}

/// Whether a text is a name, a path or a number, wherever it is put.
pub(super) fn is_name(text: &str) -> bool {
    text.chars().all(|c| c == ' ' || is_plain(c))
}

/// Whether an argument only says where or for how long.
pub(super) fn is_beside(key: &str, value: &Value) -> bool {
    let is_named = || key_is(key, &Lists::builtin().beside);
    match value {
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) => is_named(),
        Value::String(text) => is_named() && is_name(text) && !text.starts_with('-'),
        Value::Array(items) => items.is_empty(),
        Value::Object(items) => items.is_empty(),
    }
}
