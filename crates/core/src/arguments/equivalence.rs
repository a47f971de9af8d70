//! When two values of an argument are the same to whoever reads them.

use jiff::civil::{DateTime, date};
use serde_json::Value;

use super::moment::{Moment, moments};
use super::sources::Now;
use super::token::tokens;
use crate::text::fold;

/// Whether two values differ in case, space or the form of numbers and dates alone.
pub fn equivalent(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equivalent(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equivalent(a, b)))
        }
        (Value::Array(_) | Value::Object(_), _) | (_, Value::Array(_) | Value::Object(_)) => false,
        (Value::String(a), Value::String(b)) if json(a).is_some() && json(b).is_some() => {
            json(a).zip(json(b)).is_some_and(|(a, b)| equivalent(&a, &b))
        }
        _ => {
            let (a, b) = (plain(a), plain(b));
            let is_number =
                |a: &str, b: &str| a.parse::<f64>().is_ok_and(|a| b.parse().is_ok_and(|b: f64| a == b));
            a == b || is_number(&a, &b) || moment(&a).is_some_and(|a| moment(&b) == Some(a))
        }
    }
}

/// Reads a text that is an object or a list as JSON.
fn json(text: &str) -> Option<Value> {
    let is_whole = text.trim_start().starts_with(['{', '[']);
    is_whole.then(|| serde_json::from_str(text).ok()).flatten()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), plain_text)
}

/// Returns a text without what differs in case, space and accents.
pub(super) fn plain_text(text: &str) -> String {
    fold(text).to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reads a text that is a date or a time and nothing else.
fn moment(text: &str) -> Option<Moment> {
    if text.len() > 40 || !text.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let tokens = tokens(text);
    let now = Now { at: DateTime::from(date(2000, 1, 1)), offset: 0 };
    let whole = moments(&tokens, now).into_iter().find(|it| it.tokens == (0..tokens.len()))?;
    Some(Moment { tokens: 0..0, ..whole })
}
