//! A value in the form that a field takes.

use serde_json::{Number, Value};

use super::super::argument::Evidence;
use super::super::candidate::{Candidate, Origin, Similarity, candidates, unit_of};
use super::super::equivalence::plain_text;
use super::super::quantity::Unit;
use super::super::request::ParsedRequest;
use super::super::sources::Now;
use super::entry::{Entry, says_json};
use crate::form::{Field, Form, Format, Kind};
use crate::tool::vocabulary::vocabulary;
use crate::tool::words::{in_words, words};

/// How a value had to be changed to fit a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    /// Not at all.
    Same,
    /// A number or a yes became a text.
    Written,
    /// A text became a number.
    Number,
    /// A text became yes or no.
    Flag,
    /// A text became one of the choices: in other letters, or in other words.
    Choice(Similarity),
    /// A date or a time was written in another form.
    Moment,
    /// One value became a list, a list became one, items of a list changed.
    Wrapped,
    Split,
    Joined,
    Items,
    /// Objects and lists became the text of them.
    Json,
    /// A number was counted in another unit.
    Unit,
    /// A known name of something became its code.
    Known,
    /// `owner/name` became two values.
    Halves,
    /// A list of objects got other names.
    Table,
}

impl Conversion {
    /// Says how plainly a value that was changed so is what the caller said.
    pub(super) fn evidence(self) -> Evidence {
        match self {
            Self::Same
            | Self::Written
            | Self::Number
            | Self::Flag
            | Self::Wrapped
            | Self::Items
            | Self::Halves
            | Self::Choice(Similarity::Exact) => Evidence::Marked,
            Self::Moment
            | Self::Split
            | Self::Joined
            | Self::Json
            | Self::Unit
            | Self::Known
            | Self::Table
            | Self::Choice(Similarity::Stem | Similarity::Translated) => Evidence::Shape,
            Self::Choice(Similarity::Partial | Similarity::Related) => Evidence::Prose,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Written => "written",
            Self::Number => "number",
            Self::Flag => "flag",
            Self::Choice(Similarity::Exact) => "choice-exact",
            Self::Choice(Similarity::Stem) => "choice-stem",
            Self::Choice(Similarity::Translated) => "choice-translated",
            Self::Choice(Similarity::Partial) => "choice-partial",
            Self::Choice(Similarity::Related) => "choice-related",
            Self::Moment => "moment",
            Self::Wrapped => "wrapped",
            Self::Split => "split",
            Self::Joined => "joined",
            Self::Items => "items",
            Self::Json => "json",
            Self::Unit => "unit",
            Self::Known => "known",
            Self::Halves => "halves",
            Self::Table => "table",
        }
    }
}

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
        (Kind::Text, Value::String(text)) => Some(text_value(form, field, text, now)),
        (Kind::Text, Value::Object(_) | Value::Array(_)) => {
            Some((Value::from(value.to_string()), Conversion::Json))
        }
        (Kind::Text, Value::Number(_) | Value::Bool(_)) => {
            Some((Value::from(value.to_string()), Conversion::Written))
        }
        (Kind::Whole | Kind::Number, Value::Number(_)) => Some(counted(field, entry, value)),
        (Kind::Whole | Kind::Number, Value::String(text)) => number(form, field, text, now),
        (Kind::Flag, Value::String(text)) => {
            let flag = text.trim().to_lowercase().parse::<bool>().ok()?;
            Some((Value::Bool(flag), Conversion::Flag))
        }
        (Kind::Flag, Value::Bool(_)) | (Kind::Object, Value::Object(_)) | (Kind::Any, _) => {
            Some((value.clone(), Conversion::Same))
        }
        _ => None,
    }
}

/// Counts a number in the unit that a field wants, where the name of the value says another.
fn counted(field: &Field, entry: &Entry<'_>, value: &Value) -> (Value, Conversion) {
    let named = entry.path.last().into_iter().flat_map(|name| words(name));
    let own = named
        .filter(|word| word.len() > 2 || *word == "ms")
        .find_map(|word| Unit::named(&word.to_lowercase()));
    let units = own.zip(unit_of(field)).filter(|(own, wanted)| own != wanted);
    let number = units.zip(value.as_f64()).map(|((own, wanted), it)| it * own.seconds() / wanted.seconds());
    match number.and_then(Number::from_f64) {
        Some(number) => (whole(&Value::Number(number)), Conversion::Unit),
        None => (whole(value), Conversion::Same),
    }
}

/// A number without a fraction is written as one.
fn whole(value: &Value) -> Value {
    let number = value.as_f64().filter(|it| it.fract() == 0.0 && value.is_f64());
    number.map_or_else(|| value.clone(), |it| Value::Number(Number::from(it as i64)))
}

fn text_value(form: &Form, field: &Field, text: &str, now: Now) -> (Value, Conversion) {
    let same = (Value::from(text), Conversion::Same);
    if text.len() > MOST_READ {
        return same;
    }
    let is_dated = match field.format {
        Some(Format::Date) => text.len() != "2026-11-17".len() || !is_iso(text),
        Some(Format::DateTime) => !is_iso(text) || !text.contains('T'),
        Some(Format::Time) => true,
        Some(
            Format::Unix | Format::UnixMillis | Format::Email | Format::Uri | Format::Uuid | Format::Other,
        )
        | None => !is_iso(text),
    };
    let request = ParsedRequest::parse(text, now);
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
        Some(found) if found.value != same.0 => {
            let how = if found.origin == Origin::Moment { Conversion::Moment } else { Conversion::Known };
            (found.value.clone(), how)
        }
        _ => same,
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

fn number(form: &Form, field: &Field, text: &str, now: Now) -> Option<(Value, Conversion)> {
    let bare = text.trim().trim_start_matches('#');
    if let Some(value) = serde_json::from_str::<Value>(bare).ok().filter(Value::is_number) {
        return Some((whole(&value), Conversion::Number));
    }
    let request = ParsedRequest::parse(text, now);
    let found = candidates(form, field, &request);
    let numeric = |it: &&Candidate| matches!(it.origin, Origin::Converted | Origin::Number | Origin::Moment);
    // A number in the unit that is wanted is meant, and not the same number in another.
    let order =
        |origin: Origin| usize::from(origin == Origin::Converted) + 2 * usize::from(origin == Origin::Moment);
    let found = found.iter().filter(numeric).max_by_key(|it| (it.bytes.len(), order(it.origin)))?;
    let value = if field.is_list { found.value.get(0)?.clone() } else { found.value.clone() };
    Some((value, if found.origin == Origin::Moment { Conversion::Moment } else { Conversion::Number }))
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
    let (how, found) =
        found.iter().filter_map(|it| Some((similarity(it)?, it))).max_by_key(|(how, _)| *how)?;
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
