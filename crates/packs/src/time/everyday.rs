//! Dates and times as people write them: "tomorrow 9am", "March 1st, 14:30", "next Friday noon".
//!
//! Words that are neither a date nor a time are handed back: they may name a zone.

use std::iter::Peekable;

use jiff::{
    ToSpan,
    civil::{Date, Time, Weekday},
};

use crate::reply::shown;

/// What was found in a text.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) date: Option<Date>,
    pub(super) time: Option<Time>,
    /// Words left over, in their order.
    pub(super) rest: String,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("`{0}` is no time of day: hours go from 0 to 23 (1 to 12 with am or pm), minutes from 0 to 59")]
    Time(String),
    #[error("`{0}` is no date of the calendar")]
    Date(String),
    #[error("`{given}` can be read as {a} or as {b}: send the one that is meant")]
    EitherWay { given: String, a: Date, b: Date },
    #[error("it has two dates, or two times")]
    Twice,
    #[error("the number `{0}` could be a day, a year or an hour: write `9am`, `09:00` or `2026-03-09`")]
    Number(String),
    #[error("`{0}` names no hour: write for example `9am` or `19:00`")]
    Vague(String),
    #[error("a month needs a day beside it: write `March 1` or `2026-03-01`")]
    NoDay,
}

/// The parts of a date that stand apart, as in "March 1st 2026".
#[derive(Default)]
struct Parts {
    month: Option<i8>,
    day: Option<i8>,
    year: Option<i16>,
    number: Option<String>,
}

/// Finds the date and the time in a text; `today` is the date where the text was written.
pub(super) fn read(text: &str, today: Date) -> Result<Found, Error> {
    let lower = text.to_lowercase().replace(',', " ").replace("a.m.", "am").replace("p.m.", "pm");
    // Each is one word, so that it can be read as one.
    let lower =
        lower.replace("day after tomorrow", "overmorrow").replace("day before yesterday", "ereyesterday");
    let mut words = lower.split_whitespace().peekable();
    let mut found = Found::default();
    let mut parts = Parts::default();
    let mut rest: Vec<&str> = Vec::new();
    let mut half_day = None;
    while let Some(word) = words.next() {
        let half = words.peek().copied().filter(|next| matches!(*next, "am" | "pm"));
        if let Some((day, clock)) = word.split_once('t')
            && let Some(date) = numbered(day)?
            && let Some((time, zone)) = time(clock, half)?
        {
            set(&mut found.date, date)?;
            set(&mut found.time, time)?;
            rest.extend(zone);
            words.next_if(|_| half.is_some());
        } else if let Some((time, zone)) = time(word, half)? {
            set(&mut found.time, time)?;
            rest.extend(zone);
            words.next_if(|_| half.is_some());
        } else if let Some(date) = date(word, today, &mut words)? {
            set(&mut found.date, date)?;
        } else if matches!(word, "morning" | "afternoon" | "evening" | "night") {
            half_day = Some(word);
        } else if !parts.take(word)? && !matches!(word, "at" | "on" | "the" | "of" | "in" | "this") {
            rest.push(word);
        }
    }
    if let Some(date) = parts.date(today)? {
        set(&mut found.date, date)?;
    }
    if let Some(word) = half_day
        // "7:00 in the evening" is not seven in the morning.
        && found.time.is_none_or(|time| (word == "morning") != (time.hour() < 12))
    {
        return Err(Error::Vague(word.to_owned()));
    }
    // The zone's name is given back as it was written: its case matters to a reader.
    found.rest = rest
        .iter()
        .map(|word| text.split([' ', ',', '\t', '\n']).find(|it| it.to_lowercase() == **word).unwrap_or(word))
        .collect::<Vec<_>>()
        .join(" ");
    Ok(found)
}

fn set<T>(place: &mut Option<T>, value: T) -> Result<(), Error> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::Twice),
    }
}

/// Reads a time of day, and the zone that is stuck to it as in `14:30+02:00` or `14:30z`.
fn time<'w>(word: &'w str, half: Option<&str>) -> Result<Option<(Time, Option<&'w str>)>, Error> {
    match word {
        "noon" | "midday" => return Ok(Some((Time::constant(12, 0, 0, 0), None))),
        "midnight" => return Ok(Some((Time::midnight(), None))),
        _ if !word.starts_with(|it: char| it.is_ascii_digit()) => return Ok(None),
        _ => {}
    }
    let (word, half) = match (word.strip_suffix("am"), word.strip_suffix("pm")) {
        (Some(clock), _) => (clock, Some("am")),
        (_, Some(clock)) => (clock, Some("pm")),
        (None, None) => (word, half),
    };
    // A date such as 2026-03-01 has dashes too, but no colon before them.
    let colon = word.find(':');
    let cut = word.find(['+', '-', 'z']).filter(|cut| colon.is_some_and(|colon| colon < *cut));
    let (clock, zone) = match cut {
        Some(cut) => (&word[..cut], Some(&word[cut..])),
        None => (word, None),
    };
    let french = clock.split_once('h').filter(|(hour, _)| number::<i8>(hour, 2).is_some());
    let clock = match french {
        Some((hour, minute)) if colon.is_none() => format!("{hour}:{minute}"),
        _ => clock.to_owned(),
    };
    if half.is_none() && !clock.contains(':') {
        return Ok(None);
    }
    let bad = || Error::Time(shown(&format!("{word}{}", half.unwrap_or_default())));
    let time = clock_time(clock.trim_end_matches(':'), half).ok_or_else(bad)?;
    Ok(Some((time, zone)))
}

fn clock_time(clock: &str, half: Option<&str>) -> Option<Time> {
    let mut fields = clock.split(':');
    let hour = number::<i8>(fields.next()?, 2)?;
    let minute = fields.next().map_or(Some(0), |it| number::<i8>(it, 2))?;
    let (second, fraction) = match fields.next() {
        None => (0, 0),
        Some(field) => {
            let (second, fraction) = field.split_once('.').unwrap_or((field, "0"));
            let nanos = number::<i32>(&format!("{fraction:0<9}"), 9)?;
            (number::<i8>(second, 2)?, nanos)
        }
    };
    let hour = match half {
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some("am") => hour % 12,
        Some(_) => hour % 12 + 12,
        None => hour,
    };
    if fields.next().is_some() {
        return None;
    }
    Time::new(hour, minute, second, fraction).ok()
}

/// Reads a date that is one word (or "next friday").
fn date<'w>(
    word: &str,
    today: Date,
    words: &mut Peekable<impl Iterator<Item = &'w str>>,
) -> Result<Option<Date>, Error> {
    let bad = || Error::Date(shown(word));
    let moved = |days: i64| today.checked_add(days.days()).map(Some).map_err(|_| bad());
    match word {
        "today" | "tonight" | "now" => return Ok(Some(today)),
        "tomorrow" => return moved(1),
        "yesterday" => return moved(-1),
        "overmorrow" => return moved(2),
        "ereyesterday" => return moved(-2),
        "next" | "last" => {
            let Some(day) = words.peek().and_then(|it| weekday(it)) else { return Ok(None) };
            words.next();
            let way = if word == "next" { 1 } else { -1 };
            return today.nth_weekday(way, day).map(Some).map_err(|_| bad());
        }
        _ => {}
    }
    if let Some(day) = weekday(word) {
        return today.nth_weekday(1, day).map(Some).map_err(|_| bad());
    }
    numbered(word)
}

/// Reads a date that is written in numbers.
fn numbered(word: &str) -> Result<Option<Date>, Error> {
    for mark in ['-', '/', '.'] {
        let fields: Vec<&str> = word.split(mark).collect();
        if let [a, b, c] = fields.as_slice()
            && fields.iter().all(|field| field.bytes().all(|it| it.is_ascii_digit()) && !field.is_empty())
        {
            let date = fielded(a, b, c, mark).map_err(|error| error.unwrap_or(Error::Date(shown(word))))?;
            return Ok(Some(date));
        }
    }
    Ok(None)
}

/// Reads three numbers as a date; `Err(None)` when the calendar has no such day.
fn fielded(a: &str, b: &str, c: &str, mark: char) -> Result<Date, Option<Error>> {
    let build = |year: &str, month: &str, day: &str| {
        Date::new(number::<i16>(year, 4)?, number::<i8>(month, 2)?, number::<i8>(day, 2)?).ok()
    };
    if a.len() == 4 {
        return build(a, b, c).ok_or(None);
    }
    if c.len() != 4 {
        return Err(None);
    }
    match (build(c, b, a), build(c, a, b)) {
        // 01.03.2026 is the first of March wherever dots are used.
        (Some(day_first), _) if mark == '.' => Ok(day_first),
        (Some(day_first), Some(month_first)) if day_first != month_first => {
            let given = format!("{a}{mark}{b}{mark}{c}");
            Err(Some(Error::EitherWay { given, a: day_first, b: month_first }))
        }
        (Some(date), _) | (None, Some(date)) => Ok(date),
        (None, None) => Err(None),
    }
}

impl Parts {
    /// Takes a word that is a part of a date; `false` when it is none.
    fn take(&mut self, word: &str) -> Result<bool, Error> {
        if let Some(month) = month(word) {
            set(&mut self.month, month)?;
            return Ok(true);
        }
        let digits =
            ["st", "nd", "rd", "th", "."].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
        if let Some(year) = number::<i16>(word, 4).filter(|_| word.len() == 4) {
            set(&mut self.year, year)?;
            self.number = Some(word.to_owned());
        } else if let Some(day) = number::<i8>(digits, 2) {
            set(&mut self.day, day)?;
            self.number = Some(word.to_owned());
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn date(&self, today: Date) -> Result<Option<Date>, Error> {
        let Some(month) = self.month else {
            return match &self.number {
                Some(number) => Err(Error::Number(shown(number))),
                None => Ok(None),
            };
        };
        let day = self.day.ok_or(Error::NoDay)?;
        let year = self.year.unwrap_or(today.year());
        let date = Date::new(year, month, day);
        date.map(Some).map_err(|_| Error::Date(format!("{year:04}-{month:02}-{day:02}")))
    }
}

fn number<T: std::str::FromStr>(text: &str, longest: usize) -> Option<T> {
    let digits = !text.is_empty() && text.len() <= longest && text.bytes().all(|it| it.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" | "mon" => Weekday::Monday,
        "tuesday" | "tue" | "tues" => Weekday::Tuesday,
        "wednesday" | "wed" => Weekday::Wednesday,
        "thursday" | "thu" | "thur" | "thurs" => Weekday::Thursday,
        "friday" | "fri" => Weekday::Friday,
        "saturday" | "sat" => Weekday::Saturday,
        "sunday" | "sun" => Weekday::Sunday,
        _ => return None,
    })
}

fn month(word: &str) -> Option<i8> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let word = word.trim_end_matches('.');
    let at = MONTHS.iter().position(|month| *month == word || (word.len() == 3 && month.starts_with(word)));
    let at = at.or(if word == "sept" { Some(8) } else { None })?;
    i8::try_from(at + 1).ok()
}
