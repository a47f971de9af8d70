//! Dates and times in words.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use jiff::civil::{Date, Time};
use jiff::{Span, ToSpan};

use super::quantity::{self, Quantity, Unit, quantity};
use super::sources::Now;
use super::token::Token;
use crate::language::{self, WordSet};
use crate::text::fold;

/// A date, a time or both, in a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Moment {
    pub(super) tokens: Range<usize>,
    pub(super) date: Option<Date>,
    pub(super) time: Option<Time>,
    /// The last day, where days in a row are meant.
    pub(super) last: Option<Date>,
}

struct Calendar {
    months: HashMap<String, i8>,
    weekdays: HashMap<String, i8>,
    days: HashMap<String, i32>,
    next: Vec<String>,
    last: Vec<String>,
    this: Vec<String>,
    ago: Vec<String>,
    parts: HashMap<String, (i8, i8)>,
    within: WordSet,
    before: WordSet,
    ambiguous: WordSet,
    of: WordSet,
    between: WordSet,
    at: WordSet,
    clock: WordSet,
    /// Signs behind a year, a month and a day.
    marks: [Vec<String>; 3],
}

impl Calendar {
    fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Calendar> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            let list = |of: fn(&language::Calendar) -> &Vec<String>| {
                language::all()
                    .iter()
                    .flat_map(|it| of(&it.calendar))
                    .map(|it| fold(it).to_lowercase())
                    .collect()
            };
            Self {
                months: quantity::folded(|it| &it.calendar.months),
                weekdays: quantity::folded(|it| &it.calendar.weekdays),
                days: quantity::folded(|it| &it.calendar.days),
                next: list(|it| &it.next),
                last: list(|it| &it.last),
                this: list(|it| &it.this),
                ago: list(|it| &it.ago),
                parts: quantity::folded(|it| &it.calendar.parts),
                within: WordSet::of(|it| &it.calendar.within),
                before: WordSet::of(|it| &it.calendar.before),
                ambiguous: WordSet::of(|it| &it.calendar.ambiguous),
                of: WordSet::of(|it| &it.calendar.of),
                between: WordSet::of(|it| &it.calendar.between),
                at: WordSet::of(|it| &it.calendar.at),
                clock: WordSet::of(|it| &it.calendar.clock),
                marks: [list(|it| &it.marks.year), list(|it| &it.marks.month), list(|it| &it.marks.day)],
            }
        })
    }

    /// Which way a word points: to the next one, the one before, or the one we are in.
    fn pointer(&self, word: &str) -> Option<Pointer> {
        let has = |words: &[String]| words.iter().any(|it| it == word);
        if has(&self.next) {
            Some(Pointer::Next)
        } else if has(&self.last) {
            Some(Pointer::Last)
        } else {
            has(&self.this).then_some(Pointer::This)
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pointer {
    Next,
    Last,
    This,
}

/// Finds every date and time in a text: each for itself, and both where they stand together.
pub(super) fn moments(tokens: &[Token], now: Now) -> Vec<Moment> {
    let mut found: Vec<Moment> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let (rest, before) = (&tokens[at..], at.checked_sub(1).map(|it| tokens[it].lower.as_str()));
        let read =
            stamp(&rest[0].lower).or_else(|| days(rest, now.at.date())).or_else(|| clock(rest, before));
        let taken = read.as_ref().map_or(1, |it| it.tokens.end);
        found.extend(read.map(|it| Moment { tokens: at..at + taken, ..it }));
        at += taken;
    }
    share_years(tokens, &mut found);
    let joined: Vec<Moment> =
        found.windows(2).filter_map(|pair| joined(tokens, &pair[0], &pair[1])).collect();
    found.extend(joined);
    found
}

impl Moment {
    /// A day that is written in the first tokens.
    fn day(date: Date, tokens: usize) -> Self {
        Self { tokens: 0..tokens, date: Some(date), time: None, last: None }
    }

    /// Days in a row that are written in the first tokens.
    fn days(first: Date, last: Date, tokens: usize) -> Self {
        Self { last: Some(last), ..Self::day(first, tokens) }
    }
}

/// The year of the end of a range is that of its start as well: `from March 1 to October 31, 2025`.
fn share_years(tokens: &[Token], found: &mut [Moment]) {
    let has_year = |it: &Moment| {
        let is_year =
            |token: &Token| token.lower.len() == 4 && token.lower.parse().is_ok_and(|it: i16| it > 1800);
        tokens[it.tokens.clone()].iter().any(is_year)
    };
    for at in 1..found.len() {
        let (start, end) = (&found[at - 1], &found[at]);
        let is_range = tokens
            .get(start.tokens.end..end.tokens.start)
            .is_some_and(|it| it.len() == 1 && it[0].is_between());
        let (Some(from), Some(to)) = (start.date, end.date) else { continue };
        if !is_range || has_year(start) || !has_year(end) {
            continue;
        }
        let in_year = |year: i16| from.with().year(year).build().ok().filter(|it| *it <= to);
        if let Some(date) = in_year(to.year()).or_else(|| in_year(to.year() - 1)) {
            found[at - 1].date = Some(date);
        }
    }
}

/// Joins a date and a time that stand together, as in `tomorrow at 9`.
fn joined(tokens: &[Token], a: &Moment, b: &Moment) -> Option<Moment> {
    let between = tokens.get(a.tokens.end..b.tokens.start)?;
    let is_joint = |token: &Token| token.lower == "," || Calendar::builtin().between.has(&token.lower);
    let whole = a.tokens.start..b.tokens.end;
    (between.len() <= 2 && between.iter().all(is_joint)).then_some(())?;
    match (a.date, a.time, b.date, b.time) {
        (Some(date), None, None, Some(time)) | (None, Some(time), Some(date), None) => {
            Some(Moment { tokens: whole, date: Some(date), time: Some(time), last: None })
        }
        _ => None,
    }
}

/// Reads `2026-11-17T09:00`.
fn stamp(word: &str) -> Option<Moment> {
    let (date, time) = word.split_once(['t', '_'])?;
    let time = time.trim_end_matches('z');
    let time = time.split_once('+').map_or(time, |(time, _)| time);
    Some(Moment { time: Some(time.parse().ok()?), ..Moment::day(numbered(date)?, 1) })
}

fn days(tokens: &[Token], today: Date) -> Option<Moment> {
    let calendar = Calendar::builtin();
    let word = |at: usize| tokens.get(at).map_or("", |token| token.lower.as_str());
    if let Some(date) = numbered(word(0)) {
        return Some(Moment::day(date, 1));
    }
    if word(0) == "day" && matches!((word(1), word(2)), ("after", "tomorrow") | ("before", "yesterday")) {
        let step = if word(1) == "after" { 2 } else { -2 };
        return Some(Moment::day(moved(today, step.days())?, 3));
    }
    // Scripts without spaces give a token for each sign.
    let longest = (1..=3).rev().find_map(|count| {
        let joined: String = tokens.get(..count)?.iter().map(|it| it.lower.as_str()).collect();
        Some((*calendar.days.get(&joined)?, count))
    });
    if let Some((step, count)) = longest {
        return Some(Moment::day(moved(today, step.days())?, count));
    }
    marked(tokens, today)
        .or_else(|| relative(tokens, today))
        .or_else(|| weekday(tokens, today))
        .or_else(|| month(tokens, today))
}

/// Reads `2026-11-17`, `2026/11/17`, `17.11.2026` and `11/17/2026`.
fn numbered(word: &str) -> Option<Date> {
    let mark = ['-', '/', '.'].into_iter().find(|mark| word.matches(*mark).count() == 2)?;
    let parts: Vec<&str> = word.split(mark).collect();
    let number = |at: usize| parts[at].parse::<i16>().ok().filter(|_| parts[at].len() <= 4);
    let (a, b, c) = (number(0)?, number(1)?, number(2)?);
    let date = |year: i16, month: i16, day: i16| {
        Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
    };
    if parts[0].len() == 4 {
        return date(a, b, c);
    }
    let year = match parts[2].len() {
        4 => c,
        2 => 2000 + c,
        _ => return None,
    };
    // With slashes the month usually stands first, with dots the day does.
    if mark == '.' || a > 12 { date(year, b, a) } else { date(year, a, b) }
}

/// Reads `next week`, `last month`, `in 3 days`, `2 weeks ago`, `the past 7 days`.
fn relative(tokens: &[Token], today: Date) -> Option<Moment> {
    let calendar = Calendar::builtin();
    let word = |at: usize| tokens.get(at).map_or("", |token| token.lower.as_str());
    if let Some(pointer) = calendar.pointer(word(0)) {
        if let Some(unit) = Unit::named(word(1)).filter(|_| word(1).len() > 2) {
            return row(unit, pointer, today).map(|(first, last)| Moment::days(first, last, 2));
        }
        if let Some(count) = tokens.get(1..).and_then(quantity)
            && let Some(unit) = count.unit
            && pointer == Pointer::Last
        {
            let first = moved(today, span(unit, -count.value)?)?;
            return Some(Moment::days(first, today, with_unit(tokens, 1, &count)));
        }
        if word(1) == "weekend" {
            let saturday = on_weekday(today, 6, pointer)?;
            return Some(Moment::days(saturday, moved(saturday, 1.days())?, 2));
        }
    }
    let (skip, sign) = match word(0) {
        word if calendar.within.has(word) => (1, 1.0),
        word if calendar.before.has(word) => (1, -1.0),
        _ => (0, -1.0),
    };
    let count = tokens.get(skip..).and_then(quantity)?;
    let unit = count.unit.filter(|unit| unit.seconds() >= Unit::Day.seconds())?;
    let taken = with_unit(tokens, skip, &count);
    if skip == 1 {
        return Some(Moment::day(moved(today, span(unit, sign * count.value)?)?, taken));
    }
    let is_ago = calendar.ago.iter().any(|it| it == word(taken));
    let is_ahead = word(taken) == "from" && matches!(word(taken + 1), "now" | "today");
    let sign = if is_ahead { 1.0 } else { -1.0 };
    (is_ago || is_ahead).then_some(())?;
    Some(Moment::day(moved(today, span(unit, sign * count.value)?)?, taken + 1 + usize::from(is_ahead)))
}

/// Where a quantity that begins at `start` ends, with its unit where that is a word of its own: `7d`, `7 days`.
fn with_unit(tokens: &[Token], start: usize, count: &Quantity) -> usize {
    let end = start + count.tokens;
    end + usize::from(tokens.get(end).is_some_and(|it| it.lower == count.suffix))
}

fn moved(date: Date, by: Span) -> Option<Date> {
    date.checked_add(by).ok()
}

fn span(unit: Unit, count: f64) -> Option<Span> {
    let count = count.round() as i32;
    (count.unsigned_abs() < 10_000).then_some(())?;
    match unit {
        Unit::Day => Some(count.days()),
        Unit::Week => Some(count.weeks()),
        Unit::Month => Some(count.months()),
        Unit::Year => Some(count.years()),
        Unit::Millisecond | Unit::Second | Unit::Minute | Unit::Hour => None,
    }
}

/// The first and the last day of the week, month or year that a pointer points to.
fn row(unit: Unit, pointer: Pointer, today: Date) -> Option<(Date, Date)> {
    let step = match pointer {
        Pointer::Next => 1,
        Pointer::Last => -1,
        Pointer::This => 0,
    };
    match unit {
        Unit::Week => {
            let monday = moved(today, (-i32::from(today.weekday().to_monday_zero_offset())).days())?;
            let first = moved(monday, step.weeks())?;
            Some((first, moved(first, 6.days())?))
        }
        Unit::Month => {
            let first = moved(today.first_of_month(), step.months())?;
            Some((first, first.last_of_month()))
        }
        Unit::Year => {
            let first = moved(today.first_of_year(), step.years())?;
            Some((first, first.last_of_year()))
        }
        Unit::Day | Unit::Millisecond | Unit::Second | Unit::Minute | Unit::Hour => None,
    }
}

fn on_weekday(today: Date, weekday: i8, pointer: Pointer) -> Option<Date> {
    let ahead = i32::from((weekday - today.weekday().to_monday_one_offset()).rem_euclid(7));
    let own = i32::from(weekday - today.weekday().to_monday_one_offset());
    let step = match pointer {
        // The nearest day of that name that is still to come.
        Pointer::This => ahead,
        Pointer::Last if own < 0 => own,
        Pointer::Last => own - 7,
        // Next Friday, said on a Tuesday, is the Friday of the next week.
        Pointer::Next => own + 7,
    };
    moved(today, step.days())
}

fn weekday(tokens: &[Token], today: Date) -> Option<Moment> {
    let calendar = Calendar::builtin();
    let word = |at: usize| tokens.get(at).map_or("", |token| token.lower.as_str());
    let before = calendar.pointer(word(0));
    let at = usize::from(before.is_some());
    let (day, taken) = (1..=3).rev().find_map(|count| {
        let joined: String = tokens.get(at..at + count)?.iter().map(|it| it.lower.as_str()).collect();
        Some((*calendar.weekdays.get(&joined)?, count))
    })?;
    // `sun`, `sat` and `wed` are words of their own as well.
    let is_short = calendar.ambiguous.has(word(at));
    if is_short && before.is_none() && quantity(tokens.get(at + 1..)?).is_none() {
        return None;
    }
    let behind = calendar.pointer(word(at + taken)).filter(|it| before.is_none() && *it != Pointer::This);
    let date = on_weekday(today, day, before.or(behind).unwrap_or(Pointer::This))?;
    let mut end = at + taken + usize::from(behind.is_some());
    // "Friday the 27th" and "friday 4 december" name the date as well.
    end += usize::from(word(end) == "," || word(end) == "the" || word(end) == "le");
    let named = tokens.get(end..).and_then(|rest| month(rest, today)).filter(|it| it.last.is_none());
    if let Some(named) = named {
        return Some(Moment { tokens: 0..end + named.tokens.end, ..named });
    }
    Some(Moment::day(date, at + taken + usize::from(behind.is_some())))
}

/// Reads `March 3rd, 2026`, `3 de marzo`, `the 3rd of March`, `March 2026`.
fn month(tokens: &[Token], today: Date) -> Option<Moment> {
    let calendar = Calendar::builtin();
    let word = |at: usize| tokens.get(at).map_or("", |token| token.lower.trim_end_matches('.'));
    let day = |at: usize| {
        let digits = word(at).trim_end_matches(|c: char| c.is_alphabetic() || c == 'º');
        let is_day = word(at).len() <= 4 && !digits.is_empty();
        digits.parse::<i8>().ok().filter(|it| is_day && (1..=31).contains(it))
    };
    let skip = |at: usize| at + usize::from(word(at) == "," || calendar.of.has(word(at)));
    let year = |at: usize| word(at).parse::<i16>().ok().filter(|it| (1000..=2999).contains(it));
    let (month, day, mut end) = if let Some(month) = calendar.months.get(word(0)) {
        match day(1) {
            Some(day) => (*month, Some(day), 2),
            // `may` and `mar` alone are no months.
            None if year(skip(1)).is_some() || word(0).len() > 4 => (*month, None, 1),
            None => return None,
        }
    } else {
        let day = day(0)?;
        let at = skip(1);
        (*calendar.months.get(word(at))?, Some(day), at + 1)
    };
    let named = year(skip(end));
    if named.is_some() {
        end = skip(end) + 1;
    }
    in_month((named, month, day), today).map(|it| Moment { tokens: 0..end, ..it })
}

/// Reads `2026年10月8日`, `10月8日` and `2026년 10월 8일`: a sign stands behind each number.
fn marked(tokens: &[Token], today: Date) -> Option<Moment> {
    let [years, months, days] = &Calendar::builtin().marks;
    let part = |at: usize, marks: &[String]| {
        let word = tokens.get(at)?.lower.as_str();
        let (number, behind) = word.split_at(word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len()));
        let (behind, end) = match behind {
            "" => (tokens.get(at + 1)?.lower.as_str(), at + 2),
            behind => (behind, at + 1),
        };
        let is_marked = marks.iter().any(|mark| behind.starts_with(mark.as_str()));
        Some((number.parse::<i16>().ok().filter(|_| is_marked)?, end))
    };
    let year = part(0, years);
    let (month, end) = part(year.map_or(0, |(_, end)| end), months)?;
    let day = part(end, days);
    let in_day = |(number, _): (i16, usize)| i8::try_from(number).ok();
    let named = (year.map(|(number, _)| number), i8::try_from(month).ok()?, day.and_then(in_day));
    in_month(named, today).map(|it| Moment { tokens: 0..day.map_or(end, |(_, end)| end), ..it })
}

/// Returns a day, or all days of a month where none is named. Without a year the nearest is meant.
fn in_month((year, month, day): (Option<i16>, i8, Option<i8>), today: Date) -> Option<Moment> {
    let of = |year: i16| Date::new(year, month, day.unwrap_or(1)).ok();
    let first = match year {
        Some(year) => of(year)?,
        None => [-1, 0, 1].into_iter().filter_map(|step| of(today.year() + step)).min_by_key(|date| {
            (today.until(*date).map_or(i32::MAX, |span| span.get_days()).abs(), date.year())
        })?,
    };
    let last = day.is_none().then(|| first.last_of_month());
    Some(Moment { last, ..Moment::day(first, 0) })
}

/// Reads `9am`, `9:30 pm`, `14:00`, `noon`, `9h30`, `at 9`.
fn clock(tokens: &[Token], before: Option<&str>) -> Option<Moment> {
    let word = |at: usize| tokens.get(at).map_or("", |token| token.lower.as_str());
    let at = |time: Time, taken: usize| Moment { tokens: 0..taken, date: None, time: Some(time), last: None };
    if let Some((hour, minute)) = Calendar::builtin().parts.get(word(0)) {
        return Some(at(Time::new(*hour, *minute, 0, 0).ok()?, 1));
    }
    let first = word(0).replace("a.m", "am").replace("p.m", "pm");
    let (digits, half) = match first.strip_suffix("am").map(|it| (it, "am")) {
        Some(found) => found,
        None => first.strip_suffix("pm").map_or((first.as_str(), ""), |it| (it, "pm")),
    };
    let next = word(1).replace('.', "");
    let (half, mut taken) = if half.is_empty() && matches!(next.as_str(), "am" | "pm") {
        (next.as_str(), 2 + usize::from(word(2) == "." && word(1).contains('.')))
    } else {
        (half, 1)
    };
    let (hour, minute, second, is_full) = parts_of_clock(digits)?;
    let is_named = Calendar::builtin().clock.has(word(1));
    taken += usize::from(is_named);
    let is_after = before.is_some_and(|word| Calendar::builtin().at.has(word));
    if !(is_full || !half.is_empty() || is_named || is_after) || word(1) == "%" {
        return None;
    }
    let hour = match half {
        "pm" if hour < 12 => hour + 12,
        "am" if hour == 12 => 0,
        _ if word(taken) == "in"
            && word(taken + 1) == "the"
            && matches!(word(taken + 2), "evening" | "afternoon")
            && hour < 12 =>
        {
            taken += 3;
            hour + 12
        }
        _ => hour,
    };
    Some(at(Time::new(hour, minute, second, 0).ok()?, taken))
}

fn parts_of_clock(digits: &str) -> Option<(i8, i8, i8, bool)> {
    let mark = [':', 'h'].into_iter().find(|mark| digits.contains(*mark));
    let parts: Vec<&str> = mark.map_or_else(|| vec![digits], |mark| digits.split(mark).collect());
    let number = |at: usize| match parts.get(at) {
        None | Some(&"") => Some(0),
        Some(part) if part.len() <= 2 => part.parse::<i8>().ok(),
        Some(_) => None,
    };
    let is_written = parts[0].starts_with(|c: char| c.is_ascii_digit()) && parts.len() <= 3;
    let (hour, minute, second) = (number(0)?, number(1)?, number(2)?);
    (is_written && hour < 24 && minute < 60 && second < 60).then_some((hour, minute, second, mark.is_some()))
}
