//! When workflows run by themselves.

use std::fmt;
use std::time::Duration;

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

/// Days after which a day of the week has come round, with some to spare for days that a time zone leaves out.
const LOOKED_AT: usize = 10;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A workflow that a serving hub runs by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The workflow, by its name.
    pub workflow: String,
    /// What it takes.
    pub values: Map<String, Value>,
    /// When it runs.
    pub times: Times,
}

/// When something happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Times {
    /// Again and again, after this long; counted from the first midnight of 1970 in UTC, so that every quarter of an hour
    /// begins with the hour.
    Every(Duration),
    /// At a time of the day.
    Daily {
        /// The time.
        at: Time,
        /// The days of the week; every day when empty.
        on: Vec<Weekday>,
        /// Where the day has that time.
        zone: TimeZone,
    },
}

impl Times {
    /// Returns the first time after another.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Every(period) => {
                let period = i64::try_from(period.as_millis()).ok().filter(|it| *it > 0)?;
                let next = after.as_millisecond().div_euclid(period) + 1;
                Timestamp::from_millisecond(next.checked_mul(period)?).ok()
            }
            Self::Daily { at, on, zone } => {
                let today = after.to_zoned(zone.clone()).date();
                let days = std::iter::successors(Some(today), |day: &Date| day.tomorrow().ok());
                days.take(LOOKED_AT)
                    .filter(|day| on.is_empty() || on.contains(&day.weekday()))
                    .filter_map(|day| Some(day.to_datetime(*at).to_zoned(zone.clone()).ok()?.timestamp()))
                    .find(|time| *time > after)
            }
        }
    }

    /// Returns where its times are meant; here, unless it says otherwise.
    pub fn zone(&self) -> TimeZone {
        match self {
            Self::Every(_) => TimeZone::system(),
            Self::Daily { zone, .. } => zone.clone(),
        }
    }

    /// Returns how long it is from one time to the next, about.
    pub fn period(&self) -> Duration {
        match self {
            Self::Every(period) => *period,
            Self::Daily { .. } => DAY,
        }
    }

    /// Returns the last time after `from` that is not after `until`: of several that were slept through, one counts.
    pub fn last_within(&self, from: Timestamp, until: Timestamp) -> Option<Timestamp> {
        let first = self.next(from).filter(|time| *time <= until)?;
        match self {
            Self::Every(period) => {
                let period = i64::try_from(period.as_millis()).ok()?;
                Timestamp::from_millisecond(until.as_millisecond().div_euclid(period) * period).ok()
            }
            Self::Daily { .. } => {
                std::iter::successors(Some(first), |time| self.next(*time).filter(|next| *next <= until))
                    .last()
            }
        }
    }
}

/// In words, as a person writes them.
impl fmt::Display for Times {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every(period) => {
                let period = SignedDuration::try_from(*period).unwrap_or(SignedDuration::MAX);
                write!(out, "every {period:#}")
            }
            Self::Daily { at, on, zone } => {
                write!(out, "at {}", at.strftime("%H:%M"))?;
                let days: Vec<String> = on.iter().map(|day| format!("{day:?}")[..3].to_owned()).collect();
                if !days.is_empty() {
                    write!(out, " on {}", days.join(", "))?;
                }
                zone.iana_name().map_or(Ok(()), |name| write!(out, " ({name})"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn daily(time: &str, on: &[Weekday], zone: &str) -> Times {
        let zone = TimeZone::get(zone).unwrap();
        Times::Daily { at: Time::strptime("%H:%M", time).unwrap(), on: on.to_vec(), zone }
    }

    #[test]
    fn r21_a_time_of_the_day_follows_the_clocks_of_its_zone() {
        let vienna = daily("08:00", &[], "Europe/Vienna");
        assert_eq!(vienna.next(at("2026-01-10T06:59:59Z")), Some(at("2026-01-10T07:00:00Z")));
        assert_eq!(vienna.next(at("2026-01-10T07:00:00Z")), Some(at("2026-01-11T07:00:00Z")));
        // The clocks go forward on 29 March.
        assert_eq!(vienna.next(at("2026-03-28T12:00:00Z")), Some(at("2026-03-29T06:00:00Z")));
        // 02:30 is left out that day, and comes an hour later.
        let night = daily("02:30", &[], "Europe/Vienna");
        assert_eq!(night.next(at("2026-03-28T12:00:00Z")), Some(at("2026-03-29T01:30:00Z")));
        // It comes twice when they go back, and once is enough.
        assert_eq!(night.next(at("2026-10-25T00:00:00Z")), Some(at("2026-10-25T00:30:00Z")));
        assert_eq!(night.next(at("2026-10-25T00:30:00Z")), Some(at("2026-10-26T01:30:00Z")));
    }

    #[test]
    fn r21_times_are_said_as_they_are_written() {
        assert_eq!(Times::Every(Duration::from_secs(6 * 3600)).to_string(), "every 6h");
        let days = daily("17:05", &[Weekday::Monday, Weekday::Friday], "Asia/Tokyo");
        assert_eq!(days.to_string(), "at 17:05 on Mon, Fri (Asia/Tokyo)");
    }

    #[test]
    fn r21_days_of_the_week_are_those_of_the_zone() {
        let monday = daily("00:30", &[Weekday::Monday], "Asia/Tokyo");
        // It is Sunday in London and Monday in Tokyo.
        assert_eq!(monday.next(at("2026-11-15T12:00:00Z")), Some(at("2026-11-15T15:30:00Z")));
        assert_eq!(monday.next(at("2026-11-15T15:30:00Z")), Some(at("2026-11-22T15:30:00Z")));
    }

    #[test]
    fn r21_lengths_of_time_begin_with_the_hour() {
        let quarter = Times::Every(Duration::from_secs(15 * 60));
        assert_eq!(quarter.next(at("2026-11-19T08:07:12.5Z")), Some(at("2026-11-19T08:15:00Z")));
        assert_eq!(quarter.next(at("2026-11-19T08:15:00Z")), Some(at("2026-11-19T08:30:00Z")));
        assert_eq!(Times::Every(Duration::ZERO).next(at("2026-11-19T08:15:00Z")), None);
    }

    #[test]
    fn r21_of_times_that_were_slept_through_the_last_counts() {
        let quarter = Times::Every(Duration::from_secs(15 * 60));
        let within = |from, until| quarter.last_within(at(from), at(until));
        assert_eq!(within("2026-11-19T08:15:00Z", "2026-11-19T08:29:59Z"), None);
        assert_eq!(within("2026-11-19T08:00:00Z", "2026-11-19T11:00:01Z"), Some(at("2026-11-19T11:00:00Z")));
        let morning = daily("08:00", &[], "UTC");
        let within = |from, until| morning.last_within(at(from), at(until));
        assert_eq!(within("2026-11-16T09:00:00Z", "2026-11-19T09:00:00Z"), Some(at("2026-11-19T08:00:00Z")));
        assert_eq!(within("2026-11-19T08:00:00Z", "2026-11-19T09:00:00Z"), None);
    }
}
