//! A text that fits a pattern.

use std::iter::Peekable;
use std::str::Chars;

/// What a class of characters offers first.
const DIGIT: char = '1';
const LETTER: char = 'a';
/// Groups inside groups that are followed.
const MAX_DEPTH: usize = 16;
/// Characters that are made.
const MAX_CHARS: usize = 1000;

/// Makes a text for a pattern: of alternatives the first, and of what may be repeated `times`, as far as its own bounds
/// allow. It is a guess: what looks ahead or back is passed over, so that the pattern itself has the last word.
pub(super) fn written(pattern: &str, times: usize) -> Option<String> {
    let mut writer = Writer { rest: pattern.chars().peekable(), times };
    let text = writer.alternatives(MAX_DEPTH)?;
    (writer.rest.next().is_none() && text.chars().count() <= MAX_CHARS).then_some(text)
}

struct Writer<'a> {
    rest: Peekable<Chars<'a>>,
    times: usize,
}

impl Writer<'_> {
    fn alternatives(&mut self, depth: usize) -> Option<String> {
        let depth = depth.checked_sub(1)?;
        let first = self.sequence(depth)?;
        while self.rest.next_if_eq(&'|').is_some() {
            self.sequence(depth)?;
        }
        Some(first)
    }

    fn sequence(&mut self, depth: usize) -> Option<String> {
        let mut text = String::new();
        while let Some(next) = self.rest.next_if(|it| !matches!(it, '|' | ')')) {
            let piece = match next {
                '^' | '$' => continue,
                '(' => self.group(depth)?,
                '[' => self.class()?.to_string(),
                '\\' => self.escaped()?,
                '.' => LETTER.to_string(),
                other => other.to_string(),
            };
            let count = self.count()?;
            if text.len() + piece.len() * count > MAX_CHARS * 4 {
                return None;
            }
            text += &piece.repeat(count);
        }
        Some(text)
    }

    fn group(&mut self, depth: usize) -> Option<String> {
        let mut is_seen_only = false;
        if self.rest.next_if_eq(&'?').is_some() {
            match self.rest.next()? {
                ':' => {}
                '=' | '!' => is_seen_only = true,
                // `(?<name>…)` is a group, `(?<=…)` and `(?<!…)` look back.
                '<' | 'P' => match self.rest.find(|it| matches!(it, '>' | '=' | '!'))? {
                    '>' => {}
                    _ => is_seen_only = true,
                },
                _ => return None,
            }
        }
        let text = self.alternatives(depth)?;
        self.rest.next_if_eq(&')')?;
        Some(if is_seen_only { String::new() } else { text })
    }

    /// Reads how often the piece before it stands.
    fn count(&mut self) -> Option<usize> {
        let (least, most) = match self.rest.peek() {
            Some('*') => (0, usize::MAX),
            Some('+') => (1, usize::MAX),
            Some('?') => (0, 1),
            Some('{') => {
                self.rest.next();
                let mut bounds = String::new();
                bounds.extend(std::iter::from_fn(|| self.rest.next_if(|it| *it != '}')));
                match bounds.split_once(',') {
                    Some((least, "")) => (least.parse().ok()?, usize::MAX),
                    Some((least, most)) => (least.parse().ok()?, most.parse().ok()?),
                    None => (bounds.parse().ok()?, bounds.parse().ok()?),
                }
            }
            _ => return Some(1),
        };
        self.rest.next();
        // Whether as little or as much as possible is taken makes no difference here.
        self.rest.next_if(|it| matches!(it, '?' | '+'));
        Some(self.times.max(least).min(most))
    }

    fn escaped(&mut self) -> Option<String> {
        Some(match self.rest.next()? {
            'b' | 'B' | 'A' | 'z' => String::new(),
            escape => standing_for(escape).to_string(),
        })
    }

    fn class(&mut self) -> Option<char> {
        let is_negated = self.rest.next_if_eq(&'^').is_some();
        let mut ranges: Vec<(char, char)> = Vec::new();
        loop {
            let first = match self.rest.next()? {
                ']' if !ranges.is_empty() => break,
                '\\' => standing_for(self.rest.next()?),
                other => other,
            };
            let mut ahead = self.rest.clone();
            let is_range = ahead.next() == Some('-') && ahead.next().is_some_and(|it| it != ']');
            let last = if is_range {
                self.rest.next();
                match self.rest.next()? {
                    '\\' => standing_for(self.rest.next()?),
                    other => other,
                }
            } else {
                first
            };
            ranges.push((first, last));
        }
        if !is_negated {
            return ranges.first().map(|range| range.0);
        }
        let is_out = |it: &char| !ranges.iter().any(|(first, last)| (first..=last).contains(&it));
        (LETTER..='z').chain('0'..='9').chain(' '..='~').find(is_out)
    }
}

/// A character that an escape stands for.
fn standing_for(escape: char) -> char {
    match escape {
        'd' => DIGIT,
        'w' | 'S' | 'D' => LETTER,
        's' => ' ',
        'W' => '-',
        't' => '\t',
        'n' => '\n',
        'r' => '\r',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r3_a_text_is_written_for_patterns_as_schemas_have_them() {
        for pattern in [
            "^[A-Z][A-Z0-9_]+-\\d+(?:-\\d+)*$",
            "^([01]\\d|2[0-3]):([0-5]\\d)$",
            "^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$",
            "^0x[a-fA-F0-9]{40}$",
            "^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$",
            "^(Time)?SlicerStyle(Light|Dark|Other)\\d$",
            "^(?<year>\\d{4})-(?P<month>\\d{2})$",
            "^[]a-]$",
            "^\\d{1,4}\\d{6,15}$",
            "colou?r|grey",
        ] {
            let fits = regex_lite::Regex::new(pattern).unwrap();
            for times in 0..3 {
                let text = written(pattern, times).unwrap();
                assert!(fits.is_match(&text), "{pattern}: {text}");
            }
        }
        for broken in ["(", "[a", "a)", "(?#x)", "a{x}", "\\"] {
            assert_eq!(written(broken, 1), None, "{broken}");
        }
        assert_eq!(written(&"(a+)".repeat(9).replace('+', "{999}"), 1), None, "too long a text");
    }
}
