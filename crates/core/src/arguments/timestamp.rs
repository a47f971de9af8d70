//! Moments in the form that a schema wants them in.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use jiff::civil::{Date, Time};

use super::moment::Moment;
use super::sources::Now;
use crate::form::{Field, Format};
use crate::text::with_terms;
use crate::tool::vocabulary::vocabulary;

/// Words in the names of fields that take the last of several days, as terms.
static ENDS: LazyLock<HashSet<String>> = LazyLock::new(|| with_terms(&vocabulary().parameters.ends));
/// Words in the names of fields that take a date or a time, as terms.
static DATED: LazyLock<HashSet<String>> = LazyLock::new(|| with_terms(&vocabulary().parameters.dated));

/// Writes a moment in the form that a field wants; `None` when it lacks what the form needs.
pub(super) fn timestamp(moment: &Moment, field: &Field, now: Now) -> Option<String> {
    formatted(moment, field, now).or_else(|| unformatted(moment, field))
}

/// Writes a moment as the schema or the description of a field says.
fn formatted(moment: &Moment, field: &Field, now: Now) -> Option<String> {
    let is_end = field.name_terms.iter().any(|name| ENDS.contains(name));
    let date = moment.last.filter(|_| is_end).or(moment.date);
    if let Some(pattern) = pattern(&field.description) {
        return patterned(pattern, date, moment.time, now);
    }
    match field.format? {
        Format::Date => Some(date?.to_string()),
        Format::Time => Some(clock(moment.time?)),
        Format::DateTime => {
            let shown = shown_clock(&field.description);
            // Only what the schema itself calls a date-time has to name its zone.
            let is_strict = field.schema.get("format").is_some_and(|it| it == "date-time");
            // A day alone is said as well, unless a clock is shown.
            if moment.time.is_none() && !is_strict && shown.is_none() {
                return Some(date?.to_string());
            }
            let default = if is_end { Time::constant(23, 59, 59, 0) } else { Time::midnight() };
            let time = moment.time.unwrap_or(default);
            let at = date.unwrap_or(now.at.date());
            let is_zoned = is_strict || shown == Some(Clock::Zoned);
            let zone = if is_zoned { zone(now.offset) } else { String::new() };
            Some(format!("{at}T{:02}:{:02}:{:02}{zone}", time.hour(), time.minute(), time.second()))
        }
        Format::Unix | Format::UnixMillis => {
            let at = date?.to_datetime(moment.time.unwrap_or(Time::midnight()));
            let since = at.duration_since(Date::constant(1970, 1, 1).to_datetime(Time::midnight()));
            let seconds = since.as_secs() - i64::from(now.offset);
            Some(if field.format == Some(Format::Unix) { seconds } else { seconds * 1000 }.to_string())
        }
        Format::Duration | Format::Email | Format::Uri | Format::Uuid | Format::Other => None,
    }
}

/// How an example in a description writes the time of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    Plain,
    /// With the zone behind it.
    Zoned,
}

/// Finds a moment such as `2025-01-31T09:00:00Z` in a description.
fn shown_clock(description: &str) -> Option<Clock> {
    let bytes = description.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let at = (1..bytes.len()).find(|at| bytes[*at] == b'T' && is_digit(at - 1) && is_digit(at + 1))?;
    let end = description[at + 1..].trim_start_matches(|c: char| c.is_ascii_digit() || c == ':' || c == '.');
    Some(if end.starts_with(['Z', '+', '-']) { Clock::Zoned } else { Clock::Plain })
}

/// Writes a moment for a field whose name alone speaks of time.
fn unformatted(moment: &Moment, field: &Field) -> Option<String> {
    let is_dated = field.format.is_none() && field.name_terms.iter().any(|name| DATED.contains(name));
    is_dated.then_some(())?;
    match (moment.date, moment.time.map(clock)) {
        (Some(date), Some(clock)) => Some(format!("{date}T{clock}:00")),
        (Some(date), None) => Some(date.to_string()),
        (None, clock) => clock,
    }
}

fn clock(time: Time) -> String {
    format!("{:02}:{:02}", time.hour(), time.minute())
}

/// Writes an offset from UTC in seconds.
pub(super) fn zone(offset: i32) -> String {
    if offset == 0 {
        return "Z".to_owned();
    }
    let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.abs() / 60);
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Finds a pattern such as `YYYY-MM-DD HH:mm` or `%Y-%m-%d` in a description.
fn pattern(description: &str) -> Option<&str> {
    let is_part = |c: char| "yYmMdDhHsS%:/-.".contains(c);
    let mut best: Option<Range<usize>> = None;
    let mut start = None;
    let ends = description.char_indices().chain([(description.len(), '\0')]);
    for (at, c) in ends {
        let goes_on = is_part(c)
            || (c == ' ' || c == 'T')
                && start.is_some()
                && description[at + 1..].to_lowercase().starts_with(['h', '%']);
        match (goes_on, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                if is_pattern(&description[from..at]) && best.as_ref().is_none_or(|it| it.len() < at - from) {
                    best = Some(from..at);
                }
                start = None;
            }
            _ => {}
        }
    }
    best.map(|range| description[range].trim_end_matches(['.', ':', '-', '/', ' ']))
}

fn is_pattern(text: &str) -> bool {
    let lower = text.to_lowercase();
    let has = |part: &str| lower.contains(part);
    (has("yyyy") && has("mm"))
        || (has("%y") && has("%m"))
        || (has("hh") && has("mm") && has(":"))
        || has("%h:%m")
        || (has("dd") && has("mm") && (has("/") || has("-") || has(".")))
}

fn patterned(pattern: &str, date: Option<Date>, time: Option<Time>, now: Now) -> Option<String> {
    let lower = pattern.to_lowercase();
    let wants_day =
        lower.contains("dd") || lower.contains("%d") || lower.contains("yy") || lower.contains("%y");
    let wants_clock = lower.contains("hh") || lower.contains("%h");
    let date = match (date, wants_day) {
        (Some(date), _) => date,
        (None, true) if !wants_clock => return None,
        (None, _) => now.at.date(),
    };
    if wants_clock && !wants_day && time.is_none() {
        return None;
    }
    let time = time.unwrap_or(Time::midnight());
    let mut written = String::new();
    let mut rest = lower.as_str();
    let mut after_hour = false;
    while let Some(first) = rest.chars().next() {
        let run = if first == '%' { 2 } else { rest.len() - rest.trim_start_matches(first).len() };
        let part = rest.get(..run.min(rest.len()))?;
        match (part.trim_start_matches('%').chars().next(), first) {
            (Some('y'), _) if run == 2 && first != '%' => written += &format!("{:02}", date.year() % 100),
            (Some('y'), _) => written += &format!("{:04}", date.year()),
            (Some('m'), _) if after_hour => written += &format!("{:02}", time.minute()),
            (Some('m'), _) => written += &format!("{:02}", date.month()),
            (Some('d'), _) => written += &format!("{:02}", date.day()),
            (Some('h'), _) => {
                after_hour = true;
                written += &format!("{:02}", time.hour());
            }
            (Some('s'), _) => written += &format!("{:02}", time.second()),
            (Some('t'), _) => written.push('T'),
            _ => written += part,
        }
        rest = &rest[part.len()..];
    }
    Some(written)
}
