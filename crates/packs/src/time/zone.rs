//! A name becomes a time zone: IANA names, cities, countries, abbreviations, offsets.
//!
//! A name that could mean two things is read the usual way and the reading is said; one that means
//! nothing is answered with the nearest names.

use std::sync::LazyLock;

use jiff::{
    Timestamp,
    tz::{Offset, TimeZone, TimeZoneDatabase},
};

use super::places::{ABBREVIATIONS, COUNTRIES, PLACES};
use crate::{
    fold::fold,
    reply::{quoted, shown},
};

/// A time zone, under the name that an answer gives it.
#[derive(Clone, Debug)]
pub(super) struct Zone {
    pub(super) tz: TimeZone,
    pub(super) name: String,
    /// How a name with several meanings was read.
    pub(super) remark: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("`{0}` has several time zones: send one of {1}, or a city")]
    Several(String, String),
    #[error("UTC offsets go from -12:00 to +14:00, so `{0}` is none: send for example `UTC+2` or `+05:30`")]
    Offset(String),
    #[error(
        "`{name}` is no time zone that is known here: send an IANA name such as `Europe/Paris`, a large city, \
         or an offset such as `UTC+2`{near}"
    )]
    Unknown { name: String, near: String },
}

/// The zones that come with the program, for computers that have none or few.
static BUNDLED: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Every place that a zone is named after, folded, with the zone's name.
static CITIES: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let named = BUNDLED.available().map(|name| name.to_string());
    // `Etc/GMT+5` and the like are no cities.
    let mut cities: Vec<(String, String)> = named
        .filter(|name| name.contains('/') && !name.starts_with("Etc/"))
        .map(|name| (plain(name.rsplit('/').next().unwrap_or(&name)), name))
        .collect();
    // Old names such as `America/Buenos_Aires` sort before `America/Argentina/Buenos_Aires`.
    cities.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| b.1.len().cmp(&a.1.len())));
    cities
});

/// Everything that a person may have meant: cities, whole zone names, other places.
static NAMES: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let whole = CITIES.iter().map(|(_, zone)| (plain(zone), zone.clone()));
    let places = PLACES.iter().map(|(place, zone)| ((*place).to_owned(), (*zone).to_owned()));
    CITIES.iter().cloned().chain(whole).chain(places).collect()
});

impl Zone {
    /// Returns the zone of this computer.
    pub(super) fn local(tz: &TimeZone) -> Self {
        Self { name: name(tz), tz: tz.clone(), remark: None }
    }

    /// Returns the zone that is always this far from UTC.
    pub(super) fn fixed(offset: Offset) -> Self {
        let tz = if offset.is_zero() { TimeZone::UTC } else { TimeZone::fixed(offset) };
        Self::local(&tz)
    }
}

/// Finds the zone that a text names.
pub(super) fn find(text: &str, local: &TimeZone) -> Result<Zone, Error> {
    let wanted = plain(text);
    let wanted = [" timezone", " time zone", " local time", " time", " zone"]
        .iter()
        .find_map(|tail| wanted.strip_suffix(tail))
        .unwrap_or(&wanted);
    if matches!(wanted, "local" | "here" | "system" | "localtime" | "my") {
        return Ok(Zone::local(local));
    }
    if let Some(offset) = offset(text) {
        return offset.map(Zone::fixed);
    }
    if let Some(zone) = abbreviation(wanted) {
        return Ok(zone);
    }
    if let Some((_, zones)) = COUNTRIES.iter().find(|(country, _)| *country == wanted) {
        return Err(Error::Several(shown(text.trim()), quoted(*zones)));
    }
    if let Some(zone) = iana(&text.trim().replace(' ', "_")) {
        return Ok(zone);
    }
    let place = PLACES.iter().find(|(place, _)| *place == wanted).map(|(_, zone)| *zone);
    let city = || CITIES.iter().find(|(city, _)| city == wanted).map(|(_, zone)| zone.as_str());
    if let Some(zone) = place.or_else(city).and_then(iana) {
        return Ok(zone);
    }
    // "Paris, France" and "Portland, OR": the town decides.
    if let Some((town, _)) = text.split_once(',')
        && let Ok(zone) = find(town, local)
    {
        return Ok(zone);
    }
    Err(Error::Unknown { name: shown(text.trim()), near: nearest(wanted) })
}

/// Writes an offset as `+05:30`.
pub(super) fn offset_name(offset: Offset) -> String {
    let seconds = offset.seconds();
    let sign = if seconds < 0 { '-' } else { '+' };
    let (hours, minutes, rest) = (seconds.abs() / 3600, seconds.abs() % 3600 / 60, seconds.abs() % 60);
    if rest == 0 {
        format!("{sign}{hours:02}:{minutes:02}")
    } else {
        format!("{sign}{hours:02}:{minutes:02}:{rest:02}")
    }
}

fn name(tz: &TimeZone) -> String {
    match (tz.iana_name(), tz.to_fixed_offset()) {
        (Some(name), _) => name.to_owned(),
        (None, Ok(offset)) => format!("UTC{}", offset_name(offset)),
        (None, Err(_)) => "local time".to_owned(),
    }
}

fn iana(name: &str) -> Option<Zone> {
    // The computer's own zones first: they are kept up to date.
    let tz = jiff::tz::db().get(name).or_else(|_| BUNDLED.get(name)).ok()?;
    let mut zone = Zone::local(&tz);
    // By an old custom of the operating systems these names count the other way round.
    let offset = tz.to_offset(Timestamp::UNIX_EPOCH);
    if zone.name.starts_with("Etc/GMT") && !offset.is_zero() {
        zone.remark = Some(format!("`{}` is UTC{}: its sign is inverted", zone.name, offset_name(offset)));
    }
    Some(zone)
}

fn abbreviation(wanted: &str) -> Option<Zone> {
    let (letters, minutes, meaning) = ABBREVIATIONS.iter().find(|(letters, ..)| *letters == wanted)?;
    let mut zone = Zone::fixed(Offset::from_seconds(minutes * 60).ok()?);
    if *letters != "z" {
        let letters = letters.to_uppercase();
        let meaning = if meaning.is_empty() { String::new() } else { format!(" ({meaning})") };
        zone.remark = Some(format!("{letters} is read as {}{meaning}", zone.name));
    }
    Some(zone)
}

/// Reads `UTC+2`, `GMT-3:30`, `+05:30` or `+0530`; `None` when the text is no offset at all.
fn offset(text: &str) -> Option<Result<Offset, Error>> {
    let lower = text.trim().to_lowercase().replace('\u{2212}', "-").replace(' ', "");
    let rest = lower.strip_prefix("utc").or_else(|| lower.strip_prefix("gmt")).unwrap_or(&lower);
    let (sign, digits) = match rest.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some(halves) => halves,
        None if 2 < digits.len() => digits.split_at_checked(digits.len() - 2)?,
        None => (digits, "0"),
    };
    let short = |part: &str| (1..=2).contains(&part.len()) && part.bytes().all(|it| it.is_ascii_digit());
    if !short(hours) || !short(minutes) {
        return None;
    }
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let total = sign * (hours * 60 + minutes);
    let offset = (minutes < 60 && (-12 * 60..=14 * 60).contains(&total))
        .then(|| Offset::from_seconds(total * 60).ok())
        .flatten();
    Some(offset.ok_or_else(|| Error::Offset(shown(text.trim()))))
}

/// Folds a name and puts single spaces between its words.
fn plain(text: &str) -> String {
    let folded = fold(text);
    let words = folded.split(|letter: char| letter.is_whitespace() || matches!(letter, '_' | '-' | '.'));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Says which zones have a name like this one, if any.
fn nearest(wanted: &str) -> String {
    if 64 < wanted.len() {
        return String::new();
    }
    let length = wanted.chars().count();
    let allowed = (length / 3).clamp(1, 3);
    let mut near: Vec<(usize, &str)> = NAMES
        .iter()
        .filter(|(name, _)| name.chars().count().abs_diff(length) <= allowed)
        .map(|(name, zone)| (strsim::osa_distance(wanted, name), zone.as_str()))
        .filter(|(distance, _)| *distance <= allowed)
        .collect();
    near.sort_unstable();
    let mut zones: Vec<&str> = Vec::new();
    for (_, zone) in near {
        if !zones.contains(&zone) && zones.len() < 3 {
            zones.push(zone);
        }
    }
    if zones.is_empty() { String::new() } else { format!("; did you mean {}?", quoted(zones)) }
}
