//! Numbers as people say them: `12`, `2.5k`, `forty two`, `half an hour`, `third`, `50%`.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::token::Token;
pub(super) use crate::language::Unit;
use crate::language::{self, WordSet};
use crate::text::fold;

/// A number in a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Quantity {
    pub(super) value: f64,
    /// The tokens it is written in.
    pub(super) tokens: usize,
    pub(super) notation: Notation,
    /// The unit of time that it counts.
    pub(super) unit: Option<Unit>,
    /// Letters that are written together with it, as in `5km`, or behind it as a word of time.
    pub(super) suffix: String,
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    Digits,
    Words,
    Ordinal,
    Percent,
    Money,
}

impl Unit {
    pub(super) fn seconds(self) -> f64 {
        match self {
            Self::Millisecond => 0.001,
            Self::Second => 1.0,
            Self::Minute => 60.0,
            Self::Hour => 3600.0,
            Self::Day => 86_400.0,
            Self::Week => 604_800.0,
            Self::Month => 2_592_000.0,
            Self::Year => 31_536_000.0,
        }
    }

    /// Returns the unit that a word names.
    pub(super) fn named(word: &str) -> Option<Self> {
        Words::builtin().units.get(word).copied()
    }
}

struct Words {
    units: HashMap<String, Unit>,
    numbers: HashMap<String, f64>,
    scales: HashMap<String, f64>,
    ordinals: HashMap<String, f64>,
    bare_scales: WordSet,
    ordinal_endings: WordSet,
    percent: WordSet,
}

impl Words {
    fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Words> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            let named = |(unit, words): (&Unit, &'static Vec<String>)| {
                words.iter().map(|word| (fold(word).to_lowercase(), *unit)).collect::<Vec<_>>()
            };
            Self {
                units: language::all().iter().flat_map(|it| &it.calendar.units).flat_map(named).collect(),
                numbers: folded(|it| &it.numbers.words),
                scales: folded(|it| &it.numbers.scales),
                ordinals: folded(|it| &it.numbers.ordinals),
                bare_scales: WordSet::of(|it| &it.numbers.bare_scales),
                ordinal_endings: WordSet::of(|it| &it.numbers.ordinal_endings),
                percent: WordSet::of(|it| &it.numbers.percent),
            }
        })
    }
}

/// Whether a word says that hundredths are counted.
pub(super) fn is_percent(word: &str) -> bool {
    Words::builtin().percent.has(word)
}

/// Gathers words of all languages, in the form in which tokens are compared.
pub(super) fn folded<T: Copy>(of: fn(&language::Words) -> &HashMap<String, T>) -> HashMap<String, T> {
    let words = language::all().iter().flat_map(of);
    words.map(|(word, value)| (fold(word).to_lowercase(), *value)).collect()
}

/// Reads a number that begins at the first token.
pub(super) fn quantity(tokens: &[Token]) -> Option<Quantity> {
    let first = tokens.first().filter(|token| !token.is_mark)?;
    let mut found = digits(&first.lower).or_else(|| spoken(tokens)).or_else(|| ordinal(&first.lower))?;
    let next = |at: usize| tokens.get(at).filter(|token| !token.is_mark).map(|it| it.lower.as_str());
    if found.notation == Notation::Digits
        && found.suffix.is_empty()
        && let Some(scale) = next(found.tokens).and_then(|word| Words::builtin().scales.get(word))
        && found.value < 1000.0
    {
        found.value *= scale;
        found.tokens += 1;
    }
    if found.suffix.is_empty()
        && let Some(word) = next(found.tokens)
        && let Some(unit) = Unit::named(word).filter(|_| word.chars().count() > 1 || !word.is_ascii())
    {
        found.unit = Some(unit);
        word.clone_into(&mut found.suffix);
    }
    let has_mark = tokens.get(found.tokens).is_some_and(|it| it.lower == "%");
    if has_mark || next(found.tokens).is_some_and(is_percent) {
        found.notation = Notation::Percent;
    }
    Some(found)
}

/// Reads `1,234.5`, `-3`, `$20`, `50%`, `2.5k`, `10GB`, `3rd`, `#12`, `5-day`.
fn digits(word: &str) -> Option<Quantity> {
    let (mut rest, mut notation) = (word, Notation::Digits);
    if let Some(tail) = rest.strip_prefix(['$', '€', '£', '¥', '₹']) {
        (rest, notation) = (tail, Notation::Money);
    }
    let sign = if rest.starts_with('-') { -1.0 } else { 1.0 };
    let unsigned = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    let unsigned = unsigned.strip_prefix('#').unwrap_or(unsigned);
    let is_number = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let (number, suffix) = unsigned.split_at(unsigned.find(|c| !is_number(c)).unwrap_or(unsigned.len()));
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let number = number.strip_suffix(['.', ',']).unwrap_or(number);
    let mut value = sign * plain(number)?;
    let mut unit = None;
    let mut kept = String::new();
    match suffix {
        "" => {}
        "%" => notation = Notation::Percent,
        ending if Words::builtin().ordinal_endings.has(ending) => notation = Notation::Ordinal,
        "k" => value *= 1e3,
        "m" | "mio" | "mm" if notation == Notation::Money => value *= 1e6,
        "bn" | "b" if notation == Notation::Money => value *= 1e9,
        "$" | "€" | "£" | "usd" | "eur" => notation = Notation::Money,
        "°" | "°c" | "°f" => suffix.clone_into(&mut kept),
        power if power.strip_prefix('e').is_some_and(|it| it.parse::<i8>().is_ok()) => {
            value = format!("{value}{power}").parse().ok()?;
        }
        _ => {
            let letters = suffix.trim_start_matches('-');
            // `72-year-old` counts years.
            let letters = letters.split_once('-').map_or(letters, |(unit, _)| unit);
            let is_unit = letters.chars().all(char::is_alphabetic) && letters.chars().count() <= 10;
            if !is_unit || letters.is_empty() {
                return None;
            }
            unit = Unit::named(letters).filter(|_| !matches!(letters, "m"));
            letters.clone_into(&mut kept);
        }
    }
    Some(Quantity { value, tokens: 1, notation, unit, suffix: kept })
}

/// Reads digits with separators; `1,234` is one thousand and more, `1,5` is one and a half.
fn plain(number: &str) -> Option<f64> {
    if number.len() > 24 {
        return None;
    }
    // `1.190,00`, as it is written where the comma is before the fraction.
    if let Some((thousands, fraction)) = number.split_once(',')
        && !fraction.contains(['.', ','])
        && thousands.contains('.')
        && thousands.split('.').skip(1).all(|group| group.len() == 3)
    {
        return format!("{}.{fraction}", thousands.replace('.', "")).parse().ok();
    }
    let groups: Vec<&str> = number.split(',').collect();
    let is_grouped = groups.len() > 1
        && groups[1..].iter().all(|group| group.split('.').next().is_some_and(|it| it.len() == 3));
    if groups.len() == 2 && !is_grouped && !number.contains('.') {
        return number.replace(',', ".").parse().ok();
    }
    if groups.len() > 1 && !is_grouped {
        return None;
    }
    number.replace(',', "").parse().ok()
}

/// Reads `forty two`, `twelve thousand`, `a dozen`, `half`, `five and a half`.
fn spoken(tokens: &[Token]) -> Option<Quantity> {
    let words = Words::builtin();
    let (mut total, mut part, mut taken, mut at) = (0.0, None::<f64>, 0, 0);
    while let Some(token) = tokens.get(at).filter(|token| !token.is_mark && at < 8) {
        let word = token.lower.as_str();
        let pieces: Vec<&str> = word.split('-').collect();
        let known: Option<Vec<f64>> = pieces.iter().map(|it| words.numbers.get(*it).copied()).collect();
        if let Some(known) = known {
            let value: f64 = known.iter().sum();
            // `twenty two` is one number, `two two` and `five ten` are two.
            let goes_on =
                part.is_none_or(|part| part % 10.0 == 0.0 && value < 10.0 && part > 0.0 || part >= 100.0);
            if !goes_on {
                break;
            }
            part = Some(part.unwrap_or(0.0) + value);
        } else if let Some(scale) = words.scales.get(word) {
            let is_bare = part.is_none() && at == 0;
            if is_bare && !words.bare_scales.has(word) {
                break;
            }
            if *scale >= 1000.0 {
                total += part.unwrap_or(1.0) * scale;
                part = Some(0.0);
            } else {
                part = Some(part.unwrap_or(1.0) * scale);
            }
        } else if matches!(word, "a" | "an") && at == 0 {
            at += 1;
            continue;
        } else if word == "half" && taken == 0 {
            part = Some(0.5);
            at += usize::from(tokens.get(at + 1).is_some_and(|it| matches!(it.lower.as_str(), "a" | "an")));
        } else if word == "half" && tokens[taken..at].iter().any(|it| it.lower == "and") {
            part = Some(part.unwrap_or(0.0) + 0.5);
        } else if taken > 0 && (word == "and" || matches!(word, "a" | "an") && tokens[at - 1].lower == "and")
        {
            at += 1;
            continue;
        } else {
            break;
        }
        at += 1;
        taken = at;
    }
    let value = total + part?;
    let (notation, unit, suffix) = (Notation::Words, None, String::new());
    (taken > 0).then_some(Quantity { value, tokens: taken, notation, unit, suffix })
}

fn ordinal(word: &str) -> Option<Quantity> {
    let value = *Words::builtin().ordinals.get(word)?;
    Some(Quantity { value, tokens: 1, notation: Notation::Ordinal, unit: None, suffix: String::new() })
}
