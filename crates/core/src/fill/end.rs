//! The two ends of a range or of a way: which one a field takes, and which one a text speaks of.

use std::ops::Range;

use super::form::{Field, Form};
use super::page::Page;
use crate::tool::words::words;

/// One of two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The lower one, where something begins or comes from.
    Low,
    /// The upper one, where something ends or goes to.
    High,
}

/// Words in the names of fields that take the lower end, as terms.
const LOW: [&str; 18] = [
    "min", "minimum", "from", "start", "begin", "since", "after", "lower", "low", "first", "origin", "sourc",
    "old", "depart", "departur", "checkin", "offset", "input",
];
/// Words in the names of fields that take the upper end, as terms.
const HIGH: [&str; 18] = [
    "max", "maximum", "to", "end", "until", "till", "befor", "upper", "high", "last", "destin", "target",
    "new", "return", "arriv", "checkout", "finish", "output",
];

/// Words before where something goes, and before where it comes from.
const TO: [&str; 12] =
    ["to", "into", "onto", "as", "nach", "zu", "vers", "hacia", "para", "verso", "в", "到"];
const FROM: [&str; 9] = ["from", "von", "aus", "depuis", "desde", "da", "из", "с", "从"];

impl End {
    /// Returns the end that a field takes by its name.
    pub(super) fn of(field: &Field) -> Option<Self> {
        // Terms leave out small words such as `from`, which matter most here.
        let name = field.path.last().map_or("", String::as_str);
        let small: Vec<String> = words(name).map(str::to_lowercase).collect();
        let said = |word: &str| field.names.iter().chain(&small).any(|name| name == word);
        let has = |ends: &[&str]| ends.iter().any(|word| said(word));
        match (has(&LOW), has(&HIGH)) {
            (true, false) => Some(Self::Low),
            (false, true) => Some(Self::High),
            (true, true) | (false, false) => None,
        }
    }

    /// Returns the end that a field takes if another field of the form takes the other one of the same.
    pub(super) fn of_pair(form: &Form, field: &Field) -> Option<Self> {
        let end = Self::of(field)?;
        let is_end = |name: &str| LOW.contains(&name) || HIGH.contains(&name);
        let rest = |field: &Field| -> Vec<String> {
            field.names.iter().filter(|name| !is_end(name)).cloned().collect()
        };
        let is_other = |it: &Field| Self::of(it).is_some_and(|other| other != end) && rest(it) == rest(field);
        form.fields().iter().any(is_other).then_some(end)
    }

    /// Whether the words around a value say that it is the other end.
    pub(super) fn is_denied(self, page: &Page<'_>, tokens: &Range<usize>) -> bool {
        let before = Self::before(page, tokens.start);
        let behind = page.tokens[tokens.end..].iter().find(|token| !token.is_mark);
        let goes_on = behind.is_some_and(|token| TO.contains(&token.lower.as_str()));
        match self {
            Self::Low => before == Some(Self::High),
            Self::High => before == Some(Self::Low) || before.is_none() && goes_on,
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
