//! The two ends of a range or of a way: which one a field takes, and which one a text speaks of.

use super::form::Field;
use super::page::Page;

/// One of two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The lower one, where something begins or comes from.
    Low,
    /// The upper one, where something ends or goes to.
    High,
}

/// Words in the names of fields that take the lower end, as terms.
const LOW: [&str; 17] = [
    "min", "minimum", "from", "start", "begin", "since", "after", "lower", "low", "first", "origin", "sourc",
    "old", "depart", "departur", "checkin", "offset",
];
/// Words in the names of fields that take the upper end, as terms.
const HIGH: [&str; 17] = [
    "max", "maximum", "to", "end", "until", "till", "befor", "upper", "high", "last", "destin", "target",
    "new", "return", "arriv", "checkout", "finish",
];

/// Words before where something goes, and before where it comes from.
const TO: [&str; 12] =
    ["to", "into", "onto", "as", "nach", "zu", "vers", "hacia", "para", "verso", "в", "到"];
const FROM: [&str; 9] = ["from", "von", "aus", "depuis", "desde", "da", "из", "с", "从"];

impl End {
    /// Returns the end that a field takes by its name.
    pub(super) fn of(field: &Field) -> Option<Self> {
        let has = |words: &[&str]| field.names.iter().any(|name| words.contains(&name.as_str()));
        match (has(&LOW), has(&HIGH)) {
            (true, false) => Some(Self::Low),
            (false, true) => Some(Self::High),
            (true, true) | (false, false) => None,
        }
    }

    /// Returns the end that the word before a token speaks of.
    pub(super) fn before(page: &Page<'_>, at: usize) -> Option<Self> {
        // A quotation mark may stand between.
        let word = page.tokens[..at].iter().rev().find(|token| !token.is_mark)?;
        match word.lower.as_str() {
            word if TO.contains(&word) => Some(Self::High),
            word if FROM.contains(&word) => Some(Self::Low),
            _ => None,
        }
    }
}
