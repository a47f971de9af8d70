//! A text becomes a moment.
//!
//! Strict ISO 8601 is tried first, then the forms of every day. Whatever had to be assumed (the date,
//! the time of day, which of two hours when the clocks go back) is said in a remark.

use jiff::{
    Timestamp, Zoned,
    civil::{DateTime, Time},
    fmt::temporal::Pieces,
    tz::{AmbiguousOffset, Offset, TimeZone},
};

use super::{
    everyday, span,
    zone::{self, Zone, offset_name},
};
use crate::reply::shown;

/// A moment in a zone, and how it was read.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    pub(super) at: Zoned,
    /// The name that answers give to the zone.
    pub(super) zone: String,
    pub(super) said: Said,
    pub(super) remarks: Vec<String>,
}

/// Which halves of a moment the text names itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said {
    pub(super) date: bool,
    pub(super) time: bool,
}

/// Says why a text is no time.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` cannot be read as a time: {why}. Send for example {EXAMPLES}")]
pub(crate) struct Error {
    text: String,
    /// The reason alone, for messages that have examples of their own.
    pub(crate) why: String,
}

const EXAMPLES: &str =
    "`14:30`, `2026-03-01 9am`, `tomorrow noon`, `2026-03-01T14:30:00Z`, `9am in Tokyo` or `now`";

impl Moment {
    /// Takes a moment about which nothing had to be assumed, except what its zone was called.
    pub(super) fn exact(at: Zoned, zone: Zone) -> Self {
        let said = Said { date: true, time: true };
        Self { at, zone: zone.name, said, remarks: zone.remark.into_iter().collect() }
    }
}

/// Reads a moment; a text that names no zone of its own is meant in `zone`, else in the local one.
pub(super) fn read(text: &str, now: &Zoned, zone: Option<&Zone>) -> Result<Moment, Error> {
    let text = text.trim();
    let wrong = |why: String| Error { text: shown(text), why };
    let home = zone.cloned().unwrap_or_else(|| Zone::local(now.time_zone()));
    let lower = text.to_lowercase();
    if lower == "now" {
        return Ok(Moment::exact(now.with_time_zone(home.tz.clone()), home));
    }
    if let Some(instant) = unix(text) {
        return Ok(Moment::exact(instant.to_zoned(home.tz.clone()), home));
    }
    let relative = lower.ends_with(" ago") || lower.ends_with(" from now") || lower.starts_with("in ");
    if relative && let Ok(span) = span::read(text) {
        let here = now.with_time_zone(home.tz.clone());
        let at = here.checked_add(span).map_err(|error| wrong(error.to_string()))?;
        return Ok(Moment::exact(at, home));
    }
    if let Some((days, clock)) = lower.split_once(" at ").filter(|_| lower.starts_with("in "))
        && let Ok(span) = span::read(days)
        && span::is_calendar(&span)
    {
        let date = now.with_time_zone(home.tz.clone()).date().checked_add(span);
        let date = date.map_err(|error| wrong(error.to_string()))?;
        let found = everyday::read(clock, date).map_err(|error| wrong(error.to_string()))?;
        if let (None, Some(time), "") = (found.date, found.time, found.rest.as_str()) {
            return place(Some(date), Some(time), now, home).map_err(wrong);
        }
    }
    if let Ok(pieces) = Pieces::parse(text) {
        return iso(&pieces, zone, home).map_err(wrong);
    }
    let today = now.with_time_zone(home.tz.clone()).date();
    let found = everyday::read(text, today).map_err(|error| wrong(error.to_string()))?;
    let own = (!found.rest.is_empty()).then(|| zone::find(&found.rest, now.time_zone())).transpose();
    let own = own.map_err(|error| match (found.date, found.time) {
        (None, None) => wrong("it has neither a date nor a time of day".to_owned()),
        _ => wrong(error.to_string()),
    })?;
    if found.date.is_none() && found.time.is_none() {
        return Err(wrong("it has neither a date nor a time of day".to_owned()));
    }
    // "Today" is another day elsewhere, so it is read again once the zone is known.
    let found = match &own {
        Some(own) => {
            let there = now.with_time_zone(own.tz.clone()).date();
            everyday::read(text, there).map_err(|error| wrong(error.to_string()))?
        }
        None => found,
    };
    let mut moment = place(found.date, found.time, now, own.clone().unwrap_or(home)).map_err(wrong)?;
    moment.remarks.extend(unused(own.as_ref(), zone));
    Ok(moment)
}

/// Settles a wall-clock time in a zone, and says when that hour is missing or happens twice.
pub(super) fn settle(
    civil: DateTime,
    tz: &TimeZone,
    zone: &str,
) -> Result<(Zoned, Vec<String>), jiff::Error> {
    let choice = tz.to_ambiguous_zoned(civil);
    let offset = choice.offset();
    let at = choice.compatible()?;
    let remark = match offset {
        AmbiguousOffset::Unambiguous { .. } => None,
        AmbiguousOffset::Gap { .. } => Some(format!(
            "{} does not exist in {zone} on {}, because the clocks go forward: read as {}",
            civil.time(),
            civil.date(),
            at.time()
        )),
        AmbiguousOffset::Fold { before, after } => Some(format!(
            "{} happens twice in {zone} on {}, because the clocks go back: read as the first, at UTC{}; for \
             the second send {civil}{}",
            civil.time(),
            civil.date(),
            offset_name(before),
            offset_name(after)
        )),
    };
    Ok((at, remark.into_iter().collect()))
}

/// Takes what strict ISO 8601 says, with or without an offset or a `[zone]`.
fn iso(pieces: &Pieces<'_>, asked: Option<&Zone>, home: Zone) -> Result<Moment, String> {
    let named = pieces.to_time_zone().map_err(|error| error.to_string())?;
    let offset: Option<Offset> = pieces.to_numeric_offset();
    let own = match (named, offset) {
        (Some(tz), _) => Some(Zone::local(&tz)),
        (None, Some(offset)) => Some(Zone::fixed(offset)),
        (None, None) => None,
    };
    let time = pieces.time();
    let civil = pieces.date().to_datetime(time.unwrap_or(Time::midnight()));
    let mut moment = match (&own, offset) {
        // The offset decides the instant, whatever the zone does on that day.
        (Some(own), Some(offset)) => {
            let instant = offset.to_timestamp(civil).map_err(|error| error.to_string())?;
            Moment::exact(instant.to_zoned(own.tz.clone()), own.clone())
        }
        _ => {
            let zone = own.clone().unwrap_or(home);
            let (at, remarks) = settle(civil, &zone.tz, &zone.name).map_err(|error| error.to_string())?;
            let mut moment = Moment::exact(at, zone);
            moment.remarks.extend(remarks);
            moment
        }
    };
    moment.said.time = time.is_some();
    if time.is_none() {
        moment.remarks.push(format!("no time of day was given: read as the start of {}", pieces.date()));
    }
    moment.remarks.extend(unused(own.as_ref(), asked));
    Ok(moment)
}

fn place(
    date: Option<jiff::civil::Date>,
    time: Option<Time>,
    now: &Zoned,
    zone: Zone,
) -> Result<Moment, String> {
    let today = now.with_time_zone(zone.tz.clone()).date();
    let civil = date.unwrap_or(today).to_datetime(time.unwrap_or(Time::midnight()));
    let (at, remarks) = settle(civil, &zone.tz, &zone.name).map_err(|error| error.to_string())?;
    let mut moment = Moment::exact(at, zone);
    moment.said = Said { date: date.is_some(), time: time.is_some() };
    moment.remarks.extend(remarks);
    if date.is_none() {
        let zone = &moment.zone;
        moment.remarks.push(format!("no date was given: read as today, {today}, in {zone}"));
    }
    if time.is_none() {
        moment.remarks.push(format!("no time of day was given: read as the start of {}", civil.date()));
    }
    Ok(moment)
}

/// Says when the text names a zone and the argument names another.
fn unused(own: Option<&Zone>, asked: Option<&Zone>) -> Option<String> {
    match (own, asked) {
        (Some(own), Some(asked)) if own.name != asked.name => {
            Some(format!("the time itself says {}, so {} was not used for it", own.name, asked.name))
        }
        _ => None,
    }
}

/// Reads seconds or milliseconds since 1970, told apart by their length.
fn unix(text: &str) -> Option<Timestamp> {
    let digits = text.strip_prefix('@').unwrap_or(text);
    if !digits.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    match digits.len() {
        9..=11 => Timestamp::from_second(digits.parse().ok()?).ok(),
        12..=14 => Timestamp::from_millisecond(digits.parse().ok()?).ok(),
        _ => None,
    }
}
