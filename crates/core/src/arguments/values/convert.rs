//! A value in the form that a field takes.

use serde_json::Value;

use super::super::candidate::{Candidate, Origin, Similarity, candidates};
use super::super::codes;
use super::super::equivalence::plain_text;
use super::super::request::{AND, ParsedRequest};
use super::super::sources::Now;
use super::conversion::Conversion;
use super::entry::{Entry, says_json};
use super::number::{counted, number, seconds};
use crate::form::{Field, Form, Format, Kind, is_uri};
use crate::language::yes_or_no;
use crate::text::terms;
use crate::tool::vocabulary::vocabulary;
use crate::tool::words::{in_words, words};

/// Values that are taken apart at most.
const MOST_ITEMS: usize = 500;
/// Longer texts are content, and are sent as they are.
const MOST_READ: usize = 200;

/// Writes a value in the form that a field takes; `None` where it cannot be.
pub(super) fn converted(
    form: &Form,
    field: &Field,
    entry: &Entry<'_>,
    now: Now,
) -> Option<(Value, Conversion)> {
    let (value, conversion) = match (entry.value, field.is_list) {
        (Value::Array(items), true) => {
            let items: Option<Vec<(Value, Conversion)>> =
                items.iter().take(MOST_ITEMS).map(|item| one(form, field, (entry, item), now)).collect();
            let items = items?;
            let is_same = items.iter().all(|(_, how)| *how == Conversion::Same);
            let how = if is_same { Conversion::Same } else { Conversion::Items };
            (items.into_iter().map(|(item, _)| item).collect(), how)
        }
        (Value::String(text), true) if text.contains([',', '\n', ';']) => {
            let parts = text.split([',', '\n', ';']).map(str::trim).filter(|it| !it.is_empty());
            let parts: Option<Vec<Value>> =
                parts.map(|it| Some(one(form, field, (entry, &Value::from(it)), now)?.0)).collect();
            (Value::Array(parts?), Conversion::Split)
        }
        (Value::String(text), true) if has_joint(text) => {
            let whole =
                one(form, field, (entry, entry.value), now).map(|(whole, _)| Value::Array(vec![whole]));
            match (field.choices.is_empty(), whole) {
                // `salt and pepper` may be one or two.
                (true, whole) => (whole?, Conversion::Bare),
                (false, _) => {
                    let parts: Option<Vec<Value>> = parts_of(text)
                        .map(|it| Some(one(form, field, (entry, &Value::from(it)), now)?.0))
                        .collect();
                    (Value::Array(parts?), Conversion::Split)
                }
            }
        }
        (value, true) => (Value::Array(vec![one(form, field, (entry, value), now)?.0]), Conversion::Wrapped),
        (Value::Array(items), false) if field.kind == Kind::Text && !says_json(field) => {
            let texts: Option<Vec<String>> = items.iter().map(written).collect();
            (Value::from(texts?.join(",")), Conversion::Joined)
        }
        (value, false) => one(form, field, (entry, value), now)?,
    };
    form.takes(field, &value).then_some((value, conversion))
}

/// Converts one value that is no list.
fn one(
    form: &Form,
    field: &Field,
    (entry, value): (&Entry<'_>, &Value),
    now: Now,
) -> Option<(Value, Conversion)> {
    if !field.choices.is_empty() {
        return choice(form, field, (entry, value), now);
    }
    match (field.kind, value) {
        (Kind::Text, Value::String(text)) => text_value(form, field, text, now),
        (Kind::Text, Value::Object(_) | Value::Array(_)) => {
            Some((Value::from(value.to_string()), Conversion::Json))
        }
        (Kind::Text, Value::Number(_) | Value::Bool(_)) => {
            Some((Value::from(value.to_string()), Conversion::Written))
        }
        (Kind::Whole | Kind::Number, Value::Number(_)) => counted(field, entry, value),
        (Kind::Whole | Kind::Number, Value::String(text)) => number(form, field, (entry, text), now),
        (Kind::Flag, Value::String(text)) => Some((Value::Bool(yes_or_no(text)?), Conversion::Flag)),
        (Kind::Flag, Value::Bool(_)) | (Kind::Object, Value::Object(_)) | (Kind::Any, _) => {
            Some((value.clone(), Conversion::Same))
        }
        _ => None,
    }
}

/// Whether a text names several things with a word between them.
fn has_joint(text: &str) -> bool {
    text.len() <= MOST_READ && parts_of(text).nth(1).is_some()
}

/// Returns what stands between the words by which lists are joined.
fn parts_of(text: &str) -> impl Iterator<Item = String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let parts: Vec<String> =
        words.split(|word| AND.has(&word.to_lowercase())).map(|part| part.join(" ")).collect();
    parts.into_iter().filter(|part| !part.is_empty())
}

/// A text that does not have the form that a field wants, and cannot be brought into it, has no place there.
fn text_value(form: &Form, field: &Field, text: &str, now: Now) -> Option<(Value, Conversion)> {
    let same = (Value::from(text), Conversion::Same);
    if text.len() > MOST_READ {
        return Some(same);
    }
    if let Some(zone) = codes::zone(text.trim()).filter(|_| field.wants_zone_names()) {
        return Some((zone.into(), Conversion::Known));
    }
    let is_dated = match field.format {
        Some(Format::Date) => text.len() != "2026-11-17".len() || !is_iso(text),
        Some(Format::DateTime) => !is_iso(text) || !text.contains('T'),
        Some(Format::Time) => true,
        Some(Format::Duration) => false,
        Some(
            Format::Unix | Format::UnixMillis | Format::Email | Format::Uri | Format::Uuid | Format::Other,
        )
        | None => !is_iso(text),
    };
    let request = ParsedRequest::parse(text, now);
    if let Some(seconds) = seconds(&request).filter(|_| field.format == Some(Format::Duration)) {
        let length = jiff::SignedDuration::try_from_secs_f64(seconds).ok()?;
        return Some((Value::from(length.to_string()), Conversion::Moment));
    }
    let found = candidates(form, field, &request);
    let is_all = |bytes: &std::ops::Range<usize>| {
        let rest = [&text[..bytes.start], &text[bytes.end..]];
        rest.iter().all(|it| !it.contains(char::is_alphanumeric))
    };
    // A name becomes a code only where one is asked for.
    let asks_for_code =
        || field.is_for_zones() || field.description_terms.iter().any(|it| it == "code" || it == "iso");
    let is_meant =
        |origin: Origin| origin == Origin::Moment && is_dated || origin == Origin::Known && asks_for_code();
    let known = found.iter().filter(|it| is_meant(it.origin));
    let known = known.filter(|it| is_all(&it.bytes)).max_by_key(|it| it.bytes.len());
    match known {
        // Who writes `usd` has seen it written so.
        Some(found) if !found.value.as_str().is_some_and(|it| it.eq_ignore_ascii_case(text)) => {
            let how = if found.origin == Origin::Moment { Conversion::Moment } else { Conversion::Known };
            Some((found.value.clone(), how))
        }
        _ => has_form(field, text).then_some(same),
    }
}

/// Whether a text has the form that a field wants, or is one that its description speaks of.
fn has_form(field: &Field, text: &str) -> bool {
    let is_shown = || {
        let said = terms(text, MOST_READ);
        let words: Vec<&String> = said.iter().filter(|it| it.chars().all(char::is_alphabetic)).collect();
        !words.is_empty() && words.iter().all(|it| field.description_terms.contains(it))
    };
    match field.format {
        Some(Format::Date | Format::DateTime) => is_iso(text) || is_shown(),
        Some(Format::Time) => text.contains(|c: char| c.is_ascii_digit()) || is_shown(),
        Some(Format::Duration) => text.starts_with(['P', 'p']) || is_shown(),
        Some(Format::Email) => text.contains('@') || is_shown(),
        Some(Format::Uri) => is_uri(text) || text.contains(['.', '/']) && !text.contains(' ') || is_shown(),
        Some(Format::Unix | Format::UnixMillis | Format::Uuid | Format::Other) | None => true,
    }
}

/// Whether a text begins like a date that machines write.
fn is_iso(text: &str) -> bool {
    let pattern = "0000-00-00";
    text.len() >= pattern.len()
        && text.bytes().zip(pattern.bytes()).all(|(own, wanted)| match wanted {
            b'0' => own.is_ascii_digit(),
            _ => own == wanted,
        })
}

fn choice(
    form: &Form,
    field: &Field,
    (entry, value): (&Entry<'_>, &Value),
    now: Now,
) -> Option<(Value, Conversion)> {
    if field.choices.contains(value) {
        return Some((value.clone(), Conversion::Same));
    }
    let text = written(value)?;
    let plain = plain_text(&text);
    let spelt = |it: &Value| written(it).unwrap_or_default();
    let parted = |it: &str| words(it).map(plain_text).collect::<Vec<_>>().join(" ");
    let mark = vocabulary().marks.get(text.as_str());
    let is_same = |it: &&Value| {
        let spelt = spelt(it);
        plain_text(&spelt) == plain || parted(&spelt) == parted(&text) || mark == Some(&spelt)
    };
    if let Some(found) = field.choices.iter().find(is_same) {
        return Some((found.clone(), Conversion::Choice(Similarity::Exact)));
    }
    // `"ascending": true` means the choice `asc` as little as any other.
    if !value.is_string() || text.len() > MOST_READ {
        return None;
    }
    // The name of a value says what its words are about, `sort: newest first`, and is no choice itself.
    let name = in_words(&entry.path);
    let task = format!("{name} {text}");
    let request = ParsedRequest::parse(&task, now);
    let found = candidates(form, field, &request);
    let similarity = |it: &Candidate| {
        let Origin::Choice(similarity) = it.origin else { return None };
        (it.bytes.end > name.len()).then_some(similarity)
    };
    let found = || found.iter().filter_map(|it| Some((similarity(it)?, it)));
    let (how, best) = found().max_by_key(|(how, _)| *how)?;
    // Of two that are said alike neither is meant alone.
    if found().any(|(other, it)| other == how && it.value != best.value) {
        return None;
    }
    let found = best;
    let value = if field.is_list { found.value.get(0)?.clone() } else { found.value.clone() };
    Some((value, Conversion::Choice(how)))
}

/// Returns a plain value as text.
fn written(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests;
