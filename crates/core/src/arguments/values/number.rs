//! A text that says a number. What else stands in it may be part of what is meant, so nothing may be left over.

use serde_json::{Number, Value};

use super::super::candidate::{Candidate, HUNDRED, Origin, candidates, is_minor, numeric, of_percent};
use super::super::codes;
use super::super::quantity::{Notation, Quantity, is_percent};
use super::super::request::ParsedRequest;
use super::super::sources::Now;
use super::super::token::Token;
use super::conversion::Conversion;
use super::entry::Entry;
use super::measure::Measure;
use crate::form::{Field, Form, Format};

/// Reads a text as the number that a field takes.
pub(super) fn number(
    form: &Form,
    field: &Field,
    (entry, text): (&Entry<'_>, &str),
    now: Now,
) -> Option<(Value, Conversion)> {
    let bare = text.trim().trim_start_matches('#');
    if let Some(value) = serde_json::from_str::<Value>(bare).ok().filter(Value::is_number) {
        let (value, how) = counted(field, entry, &value)?;
        return Some((value, if how == Conversion::Same { Conversion::Number } else { how }));
    }
    let request = ParsedRequest::parse(text, now);
    let is_timestamp = matches!(field.format, Some(Format::Unix | Format::UnixMillis));
    let wanted = Measure::of_field(field);
    if !is_timestamp && let Some((own, number)) = measured(&request, wanted) {
        let number = numeric(field.kind, own.counted_in(wanted?, number)?)?;
        return Some((number, if Some(own) == wanted { Conversion::Number } else { Conversion::Unit }));
    }
    if let Some(amount) = money(&request) {
        let has_currency = form.fields().iter().any(codes::is_for_currencies);
        return match (is_minor(field), has_currency) {
            (true, _) => Some((numeric(field.kind, amount * HUNDRED)?, Conversion::Unit)),
            (false, true) => Some((numeric(field.kind, amount)?, Conversion::Bare)),
            (false, false) => Some((numeric(field.kind, amount)?, Conversion::Number)),
        };
    }
    if let [(at, only)] = &request.quantities[..]
        && only.notation == Notation::Percent
    {
        let is_all = rest(&request, (*at, only)).all(|it| is_own(field, entry, it) || is_percent(&it.lower));
        let number = of_percent(field, only.value).filter(|_| is_all)?;
        return Some((numeric(field.kind, number)?, Conversion::Number));
    }
    let found = candidates(form, field, &request);
    let is_numeric = |it: &&Candidate| matches!(it.origin, Origin::Number | Origin::Moment);
    let is_whole = |it: &&Candidate| {
        let outside = request.tokens.iter().enumerate().filter(|(at, _)| !it.tokens.contains(at));
        let mut outside = outside.map(|(_, token)| token);
        let has_unit = request.quantities.iter().any(|(at, own)| {
            it.tokens.contains(at) && own.notation != Notation::Ordinal && !own.suffix.is_empty()
        });
        !has_unit && outside.all(|token| token.is_mark || is_own(field, entry, token))
    };
    let order = |origin: Origin| usize::from(origin == Origin::Moment);
    let found = found.iter().filter(is_numeric).filter(is_whole);
    let found = found.max_by_key(|it| (it.bytes.len(), order(it.origin)))?;
    let value = if field.is_list { found.value.get(0)?.clone() } else { found.value.clone() };
    Some((value, if found.origin == Origin::Moment { Conversion::Moment } else { Conversion::Number }))
}

/// Counts a number in the unit that a field wants, where the name of the value says another. `None` where it counts
/// something else.
pub(super) fn counted(field: &Field, entry: &Entry<'_>, value: &Value) -> Option<(Value, Conversion)> {
    let own = entry.path.last().and_then(|name| Measure::of_name(name));
    let wanted = Measure::of_field(field);
    let says_minor = entry.terms.iter().any(|it| it == "cent");
    match (own, wanted) {
        (Some(own), Some(wanted)) if own != wanted => match own.counted_in(wanted, value.as_f64()?) {
            Some(number) => Some((whole(&Value::Number(Number::from_f64(number)?)), Conversion::Unit)),
            // What a description speaks of beside may be measured otherwise.
            None if Measure::of_name(field.name()).is_none() => Some((whole(value), Conversion::Same)),
            None => None,
        },
        (None, Some(wanted)) if wanted.is_fine() => Some((whole(value), Conversion::Bare)),
        (None, _) if is_minor(field) && !says_minor => Some((whole(value), Conversion::Bare)),
        (Some(_) | None, _) => Some((whole(value), Conversion::Same)),
    }
}

/// A number without a fraction is written as one.
fn whole(value: &Value) -> Value {
    let number = value.as_f64().filter(|it| it.fract() == 0.0 && value.is_f64());
    number.map_or_else(|| value.clone(), |it| Value::Number(Number::from(it as i64)))
}

/// Reads a text that is nothing but numbers with their units, one or several that add up, as in `1h 30m`.
fn measured(request: &ParsedRequest<'_>, wanted: Option<Measure>) -> Option<(Measure, f64)> {
    let (mut at, mut sum, mut beside) = (0, None::<(Measure, f64)>, wanted);
    for (start, quantity) in &request.quantities {
        let is_joined = request.tokens[at..*start].iter().all(|token| token.is_mark && token.lower != ":");
        let behind = *start + quantity.tokens;
        let next = request.tokens.get(behind).filter(|token| !token.is_mark);
        let (unit, taken) = match next {
            Some(next) if quantity.suffix.is_empty() || quantity.suffix == next.lower => {
                (Measure::behind(&next.lower, beside)?, 1)
            }
            Some(_) | None => (Measure::behind(&quantity.suffix, beside)?, 0),
        };
        if !is_joined {
            return None;
        }
        sum = Some(match sum {
            None => (unit, quantity.value),
            Some((first, before)) => {
                let ((basic, more), (_, known)) = (unit.basic(quantity.value), first.basic(before));
                (first.basic(0.0).0 == basic).then_some((basic, known + more))?
            }
        });
        (at, beside) = (behind + taken, Some(unit));
    }
    sum.filter(|_| request.tokens[at..].iter().all(|token| token.is_mark))
}

/// Reads a text that is nothing but a length of time, in seconds.
pub(super) fn seconds(request: &ParsedRequest<'_>) -> Option<f64> {
    let (unit, number) = measured(request, None)?;
    unit.in_seconds(number)
}

/// Reads a text that is nothing but an amount of money.
fn money(request: &ParsedRequest<'_>) -> Option<f64> {
    let [(at, only)] = &request.quantities[..] else { return None };
    let mut names = rest(request, (*at, only));
    let is_named = names.clone().next().is_some() && names.all(|it| codes::is_currency(&it.lower));
    let is_marked = only.notation == Notation::Money && rest(request, (*at, only)).next().is_none();
    (is_named || is_marked).then_some(only.value)
}

/// The words beside a number.
fn rest<'r>(
    request: &'r ParsedRequest<'_>,
    (at, number): (usize, &Quantity),
) -> impl Iterator<Item = &'r Token> + Clone {
    let own = at..at + number.tokens;
    let others = request.tokens.iter().enumerate().filter(move |(place, _)| !own.contains(place));
    others.map(|(_, token)| token).filter(|token| !token.is_mark)
}

/// Whether a word says no more than what the value or the field is called.
fn is_own(field: &Field, entry: &Entry<'_>, token: &Token) -> bool {
    field.name_terms.contains(&token.term) || entry.terms.contains(&token.term)
}

#[cfg(test)]
mod tests;
