//! Spans of time as people write them: "3 days and 2 hours", "an hour ago", `P1DT2H`.

use jiff::Span;

use crate::reply::shown;

#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` cannot be read as a span of time: send for example `3 days`, `2 weeks 4 hours`, `90 minutes ago` \
     or `P1DT2H` (units from years to nanoseconds)"
)]
pub(super) struct Error(String);

/// Reads a span; a leading minus or a trailing "ago" makes it negative.
pub(super) fn read(text: &str) -> Result<Span, Error> {
    let wrong = || Error(shown(text.trim()));
    if let Ok(span) = text.trim().parse::<Span>() {
        return Ok(span);
    }
    let lower = text.to_lowercase().replace("half an hour", "30 minutes").replace("half a day", "12 hours");
    let words: Vec<&str> = lower
        .split(|letter: char| letter.is_whitespace() || letter == ',')
        .filter(|word| !matches!(*word, "" | "and" | "in" | "plus" | "from" | "now" | "later"))
        .map(in_digits)
        .collect();
    let (words, back) = match words.as_slice() {
        [words @ .., "ago" | "earlier" | "before"] => (words, " ago"),
        ["minus", words @ ..] => (words, " ago"),
        words => (words, ""),
    };
    format!("{}{back}", words.join(" ")).parse().map_err(|_| wrong())
}

/// Whether a span moves by whole days on the calendar.
pub(super) fn is_calendar(span: &Span) -> bool {
    span.years(0).months(0).weeks(0).days(0).is_zero()
}

fn in_digits(word: &str) -> &str {
    match word {
        "a" | "an" | "one" => "1",
        "two" => "2",
        "three" => "3",
        "four" => "4",
        "five" => "5",
        "six" => "6",
        "seven" => "7",
        "eight" => "8",
        "nine" => "9",
        "ten" => "10",
        "eleven" => "11",
        "twelve" => "12",
        _ => word,
    }
}
