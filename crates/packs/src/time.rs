//! The clock and the calendar, in any time zone.
//!
//! Nothing here asks the operating system for the time except [`Clock`].

mod places; //  cities, countries and abbreviations that are no zone names
mod zone; //    a name becomes a zone
mod span; //    "3 days and 2 hours"
mod everyday; //  "tomorrow 9am", "March 1st"
mod moment; //  a text becomes a moment, with remarks on how it was read
mod tools; //   what the clients see

use jiff::{SignedDuration, Span, Timestamp, Unit, Zoned, civil::Time, tz::TimeZone};
use serde_json::{Value, json};

use self::{
    moment::{Moment, settle},
    zone::Zone,
};
use crate::{
    arguments::Arguments,
    reply::{Answer, Outcome, shown},
};

pub(crate) use self::{
    moment::Error as Unread,
    tools::{current, tools},
};

/// Where a pack takes the present moment and the local zone from.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The clock and the zone of this computer.
    System,
    /// A moment that never passes; its zone stands for the local one.
    Fixed(Zoned),
}

/// Why an answer cannot be worked out from times that were understood.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("the result is out of range: years from -9999 to 9999 can be worked with ({0})")]
    Range(jiff::Error),
}

/// A moment as a text says it, and what the text left open.
#[derive(Debug)]
pub(crate) struct When {
    pub(crate) at: Zoned,
    /// Whether the text names a day; without one it is today.
    pub(crate) has_date: bool,
    /// Whether the text names a time of day; without one it is the start of the day.
    pub(crate) has_time: bool,
    pub(crate) remarks: Vec<String>,
}

impl When {
    /// Puts the moment at a time of that day.
    pub(crate) fn with_time(self, time: Time) -> Self {
        let (tz, date) = (self.at.time_zone().clone(), self.at.date());
        let zone = Zone::local(&tz).name;
        match settle(date.to_datetime(time), &tz, &zone) {
            Ok((at, remarks)) => Self { at, remarks, ..self },
            // Only the very last day of the calendar has hours that cannot be reached.
            Err(_) => self,
        }
    }
}

/// Reads a day or a moment that is meant in the zone of `now`.
pub(crate) fn read(text: &str, now: &Zoned) -> Result<When, Unread> {
    let Moment { at, said, remarks, .. } = moment::read(text, now, None)?;
    Ok(When { at, has_date: said.date, has_time: said.time, remarks })
}

impl Clock {
    pub(crate) fn now(&self) -> Zoned {
        match self {
            // A computer that does not know its zone still has a clock.
            // Nobody asks for fractions of a second, and they make answers hard to read.
            Self::System => Timestamp::from_second(Timestamp::now().as_second())
                .unwrap_or_else(|_| Timestamp::now())
                .to_zoned(TimeZone::try_system().unwrap_or(TimeZone::UTC)),
            Self::Fixed(at) => at.clone(),
        }
    }
}

/// Tells the present moment, in the zone that was asked for or in the local one.
pub(crate) fn current_time(clock: &Clock, arguments: &Arguments<'_>) -> Outcome {
    let now = clock.now();
    let zone = asked_zone(arguments, "zone", &now)?.unwrap_or_else(|| Zone::local(now.time_zone()));
    let moment = Moment::exact(now.with_time_zone(zone.tz.clone()), zone);
    let date = moment.at.date();
    let mut data = describe(&moment);
    data["iso_week"] = json!(date.iso_week_date().week());
    data["day_of_year"] = json!(date.day_of_year());
    data["remarks"] = json!(moment.remarks);
    Ok(Answer { text: with_remarks(line(&moment), &[&moment]), data })
}

fn convert_time(clock: &Clock, arguments: &Arguments<'_>) -> Outcome {
    let now = clock.now();
    let source =
        moment::read(arguments.required("time"), &now, asked_zone(arguments, "from_zone", &now)?.as_ref())?;
    let zone = zone::find(arguments.required("to_zone"), now.time_zone())?;
    let target = Moment::exact(source.at.with_time_zone(zone.tz.clone()), zone);
    let day = match target.at.date().cmp(&source.at.date()) {
        std::cmp::Ordering::Less => " (the day before)",
        std::cmp::Ordering::Equal => "",
        std::cmp::Ordering::Greater => " (the day after)",
    };
    let ahead = target.at.offset().seconds() - source.at.offset().seconds();
    let text = format!("{} is {}{day}", line(&source), line(&target));
    Ok(Answer {
        text: with_remarks(text, &[&source, &target]),
        data: json!({
            "source": describe(&source),
            "target": describe(&target),
            "hours_ahead": f64::from(ahead) / 3600.0,
            "remarks": remarks(&[&source, &target]),
        }),
    })
}

fn time_difference(clock: &Clock, arguments: &Arguments<'_>) -> Outcome {
    let now = clock.now();
    let start =
        moment::read(arguments.required("start"), &now, asked_zone(arguments, "start_zone", &now)?.as_ref())?;
    let end_zone = match asked_zone(arguments, "end_zone", &now)? {
        None => asked_zone(arguments, "start_zone", &now)?,
        given => given,
    };
    let end = moment::read(arguments.required("end"), &now, end_zone.as_ref())?;
    // Days and months are counted by the calendar of the place where the time begins.
    let local_end = end.at.with_time_zone(start.at.time_zone().clone());
    let span = start.at.until((Unit::Year, &local_end)).map_err(Error::Range)?;
    let total = start.at.duration_until(&end.at);

    let mut notes = remarks(&[&start, &end]);
    let moved = local_end.offset().seconds() - start.at.offset().seconds();
    if moved != 0 {
        let way = if 0 < moved { "forward" } else { "back" };
        let moved = i64::from(moved.abs());
        let by = spelled(
            &[(moved / 3600, "hour"), (moved % 3600 / 60, "minute")],
            SignedDuration::from_secs(moved % 60),
        );
        notes.push(format!("between the two the clocks in {} go {way} by {by}", start.zone));
    }
    let order = match total.cmp(&SignedDuration::ZERO) {
        std::cmp::Ordering::Less => "end is before start",
        std::cmp::Ordering::Equal => "same moment",
        std::cmp::Ordering::Greater => "end is after start",
    };
    let words = spelled(
        &[
            (span.get_years().into(), "year"),
            (span.get_months().into(), "month"),
            (span.get_days().into(), "day"),
            (span.get_hours().into(), "hour"),
            (span.get_minutes(), "minute"),
        ],
        below_a_minute(&span),
    );
    let head = format!(
        "{words}{} ({} seconds): from {} to {}",
        if total.is_negative() { ", backwards" } else { "" },
        seconds(total),
        line(&start),
        line(&end)
    );
    Ok(Answer {
        text: join(head, &notes),
        data: json!({
            "start": describe(&start),
            "end": describe(&end),
            "order": order,
            "total_seconds": seconds(total),
            "years": span.get_years().abs(),
            "months": span.get_months().abs(),
            "days": span.get_days().abs(),
            "hours": span.get_hours().abs(),
            "minutes": span.get_minutes().abs(),
            "seconds": seconds(below_a_minute(&span).abs()),
            "words": words,
            "remarks": notes,
        }),
    })
}

fn add_time(clock: &Clock, arguments: &Arguments<'_>) -> Outcome {
    let now = clock.now();
    let zone = asked_zone(arguments, "zone", &now)?;
    let start = moment::read(arguments.text("time").unwrap_or("now"), &now, zone.as_ref())?;
    let span = span::read(arguments.required("span"))?;
    let result = later(&start, &span)?;
    let text = format!("{} plus {} is {}", line(&start), shown(&span.to_string()), line(&result));
    Ok(Answer {
        text: with_remarks(text, &[&start, &result]),
        data: json!({
            "start": describe(&start),
            "span": span.to_string(),
            "result": describe(&result),
            "remarks": remarks(&[&start, &result]),
        }),
    })
}

/// Adds the calendar part on the calendar and the clock part in elapsed time.
fn later(start: &Moment, span: &Span) -> Result<Moment, Error> {
    let calendar = Span::new()
        .try_years(span.get_years())
        .and_then(|it| it.try_months(span.get_months()))
        .and_then(|it| it.try_weeks(span.get_weeks()))
        .and_then(|it| it.try_days(span.get_days()))
        .map_err(Error::Range)?;
    let mut result = Moment { remarks: Vec::new(), ..start.clone() };
    if !calendar.is_zero() {
        let date = start.at.datetime().checked_add(calendar).map_err(Error::Range)?;
        (result.at, result.remarks) =
            settle(date, start.at.time_zone(), &start.zone).map_err(Error::Range)?;
    }
    let clock = span.years(0).months(0).weeks(0).days(0);
    result.at = result.at.checked_add(clock).map_err(Error::Range)?;
    Ok(result)
}

fn asked_zone(arguments: &Arguments<'_>, name: &str, now: &Zoned) -> Result<Option<Zone>, zone::Error> {
    arguments.text(name).map(|text| zone::find(text, now.time_zone())).transpose()
}

/// Returns a moment as data, in the form of [`tools::moment_schema`].
fn describe(moment: &Moment) -> Value {
    let at = &moment.at;
    let known = at.time_zone().to_offset_info(at.timestamp());
    json!({
        "iso": iso(at),
        "zone": moment.zone,
        "abbreviation": known.abbreviation(),
        "utc_offset": zone::offset_name(at.offset()),
        "date": at.date().to_string(),
        "time": at.time().to_string(),
        "weekday": weekday(at),
        "daylight_saving": known.dst().is_dst(),
        "unix_seconds": at.timestamp().as_second(),
    })
}

/// Writes a moment as ISO 8601 with its offset.
pub(crate) fn iso(at: &Zoned) -> String {
    at.timestamp().display_with_offset(at.offset()).to_string()
}

/// Returns a moment as a person would write it.
fn line(moment: &Moment) -> String {
    let at = &moment.at;
    let offset = zone::offset_name(at.offset());
    let place = if moment.zone.starts_with("UTC") {
        moment.zone.clone()
    } else {
        format!("{}, UTC{offset}", moment.zone)
    };
    format!("{} {} {} ({place})", weekday(at), at.date(), at.time())
}

/// Names the day of the week.
pub(crate) fn weekday(at: &Zoned) -> &'static str {
    use jiff::civil::Weekday;
    match at.weekday() {
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
        Weekday::Sunday => "Sunday",
    }
}

/// Spells out the parts that are not zero, whatever their sign.
fn spelled(parts: &[(i64, &str)], rest: SignedDuration) -> String {
    let plural = |one: bool| if one { "" } else { "s" };
    let mut words: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count != 0)
        .map(|(count, unit)| format!("{} {unit}{}", count.abs(), plural(count.abs() == 1)))
        .collect();
    let rest = rest.abs();
    if !rest.is_zero() {
        words.push(format!("{} second{}", seconds(rest), plural(rest == SignedDuration::from_secs(1))));
    }
    if words.is_empty() { "no time".to_owned() } else { words.join(", ") }
}

fn below_a_minute(span: &Span) -> SignedDuration {
    SignedDuration::from_secs(span.get_seconds())
        + SignedDuration::from_millis(span.get_milliseconds())
        + SignedDuration::from_micros(span.get_microseconds())
        + SignedDuration::from_nanos(span.get_nanoseconds())
}

/// Returns whole seconds as a whole number.
fn seconds(duration: SignedDuration) -> Value {
    if duration.subsec_nanos() == 0 { json!(duration.as_secs()) } else { json!(duration.as_secs_f64()) }
}

fn remarks(moments: &[&Moment]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for remark in moments.iter().flat_map(|moment| &moment.remarks) {
        if !all.contains(remark) {
            all.push(remark.clone());
        }
    }
    all
}

fn with_remarks(text: String, moments: &[&Moment]) -> String {
    join(text, &remarks(moments))
}

fn join(mut text: String, remarks: &[String]) -> String {
    for remark in remarks {
        text.push_str("\nNote: ");
        text.push_str(remark);
    }
    text
}
