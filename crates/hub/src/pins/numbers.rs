//! Numbers, dates and times that stand alone in a text.
//!
//! A description that says how many messages wait, or which day it is, is another one every day and means the same.
//! What is part of a word, an address, a path, a version or a quotation is not touched: there a digit decides where
//! something goes.

/// Digits of a number at most, without groups. Longer ones are numbers of accounts, telephones or hosts.
const MOST_DIGITS: usize = 6;
/// Groups of three digits at most.
const MOST_GROUPS: usize = 4;

/// Returns a text in which every number, date and time that stands alone looks the same as others of its kind.
pub(super) fn blanked(text: &str) -> String {
    let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    // Numbers in a row are one: of a telephone, a card, an account.
    let is_part = |at: Option<usize>| {
        let beside = at.and_then(|at| words.get(at));
        beside.is_some_and(|it| it.contains(|c: char| c.is_ascii_digit()) && moment(bare(it)).is_none())
    };
    let blank = |(at, word): (usize, &&str)| {
        let bare = bare(word);
        let is_alone = !is_part(at.checked_sub(1)) && !is_part(at.checked_add(1));
        let blank = moment(bare).or_else(|| (is_alone && is_number(bare)).then_some("0"));
        blank.map_or_else(|| (*word).to_owned(), |blank| word.replacen(bare, blank, 1))
    };
    words.iter().enumerate().map(blank).collect()
}

/// Returns a word without what stands around it in a sentence.
fn bare(word: &str) -> &str {
    let is_after = |c: char| c.is_whitespace() || matches!(c, ')' | '.' | ',' | ';' | ':' | '!' | '?');
    word.strip_prefix('(').unwrap_or(word).trim_end_matches(is_after)
}

/// Returns what stands for a date, a time or both; `None` for everything else.
fn moment(text: &str) -> Option<&'static str> {
    if is_date(text) {
        return Some("0-0-0");
    }
    if is_time(text) {
        return Some("0:0");
    }
    let (date, time) = text.split_once('T')?;
    let time = time.strip_suffix('Z').unwrap_or(time);
    let (time, zone) = time.split_once(['+', '-']).unwrap_or((time, "00:00"));
    (is_date(date) && is_time(time) && is_time(zone)).then_some("0-0-0T0:0")
}

fn is_number(text: &str) -> bool {
    let mut groups = text.split(',');
    let first = groups.next().unwrap_or_default();
    let rest: Vec<&str> = groups.collect();
    match rest.as_slice() {
        [] => is_digits(first, 1..=MOST_DIGITS),
        rest => {
            rest.len() < MOST_GROUPS && is_digits(first, 1..=3) && rest.iter().all(|it| is_digits(it, 3..=3))
        }
    }
}

/// Whether it is a day, with the year at either end.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = match ['-', '/', '.'].into_iter().find(|it| text.contains(*it)) {
        Some(between) => text.split(between).collect(),
        None => return false,
    };
    let is_year = |text: &str| is_digits(text, 4..=4);
    let is_day = |text: &str| within(text, 1, 31);
    match parts.as_slice() {
        [year, month, day] if is_year(year) => within(month, 1, 12) && is_day(day),
        [one, other, year] if is_year(year) => is_day(one) && is_day(other),
        _ => false,
    }
}

/// Whether it is a time of day, such as `9:30` or `09:30:15.250`.
fn is_time(text: &str) -> bool {
    let (text, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let parts: Vec<&str> = text.split(':').collect();
    let is_whole = match parts.as_slice() {
        [hour, minute] => within(hour, 0, 24) && within(minute, 0, 59),
        [hour, minute, second] => within(hour, 0, 24) && within(minute, 0, 59) && within(second, 0, 60),
        _ => false,
    };
    is_whole && is_digits(fraction, 1..=MOST_DIGITS)
}

fn within(text: &str, least: u8, most: u8) -> bool {
    is_digits(text, 1..=2) && text.parse().is_ok_and(|number: u8| (least..=most).contains(&number))
}

fn is_digits(text: &str, length: std::ops::RangeInclusive<usize>) -> bool {
    length.contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t27_numbers_dates_and_times_that_stand_alone_look_alike() {
        for [one, other] in [
            ["Today is 2026-11-18.", "Today is 2027-01-02."],
            ["You have 9 unread (12 in all)", "You have 1,250 unread (13,000 in all)"],
            ["since 18.11.2026, 9:05", "since 1.12.2026, 23:59:60"],
            ["at 2026-11-18T09:05:00Z:", "at 2026-11-19T10:15:30.125+02:00:"],
            ["11/18/2026\n7 rows", "12/1/2026\n8 rows"],
        ] {
            assert_eq!(blanked(one), blanked(other), "{one}");
        }
    }

    #[test]
    fn t27_digits_that_lead_somewhere_are_told_apart() {
        for [one, other] in [
            ["see http://10.0.0.1:80/a", "see http://10.0.0.2:80/a"],
            ["host 10.0.0.1", "host 10.0.0.2"],
            ["host 127.1", "host 10.1"],
            ["host 2130706433", "host 3232235521"],
            ["at a.example:80", "at a.example:81"],
            ["port :80", "port :81"],
            ["reads /tmp/1", "reads /tmp/2"],
            ["call +49 30 1234567", "call +49 30 7654321"],
            ["call 030 123 456", "call 030 654 321"],
            ["card 4111 1111 1111 1111", "card 4222 2222 2222 2222"],
            ["use v2", "use v3"],
            ["use 1.2.3", "use 1.2.4"],
            ["say '1'", "say '2'"],
            ["say `1`", "say `2`"],
            ["fe80::1", "fe80::2"],
            ["-1", "-2"],
            ["$5", "$500"],
            ["#1", "#2"],
            ["2026-13-01", "2026-12-01"],
            ["1 file", "2026-11-18 file"],
            ["1  file", "1 file"],
            ["\u{661} file", "\u{662} file"],
            ["5\u{200b} files", "6\u{200b} files"],
            ["1,22", "1,23"],
        ] {
            assert_ne!(blanked(one), blanked(other), "{one}");
        }
    }
}
