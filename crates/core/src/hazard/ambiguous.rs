//! Arguments that two readers may take differently, so that what was judged is not what a server acts on.
//!
//! What is judged here is sent on as it was written, byte for byte. That is no protection where a server reads these
//! bytes in another way, so such a call is refused. Refused is only what is really read in two ways:
//!
//! - a key that an object has twice, or two keys that are one after Unicode normalisation or without invisible
//!   characters; of the outermost object, whose keys are the names of parameters, also two that differ by case alone,
//!   because common readers of JSON match the names of fields in any case
//! - half of a surrogate pair, which readers keep, replace or refuse
//! - a number that is infinite to some readers and an error to others
//! - a NUL in a key or in anything but a whole text, because some readers end a command or a path there
//!
//! Integers beyond 2^53, long decimals and `-0` are common (ids, amounts) and pass untouched: no judgement is based on
//! the value of a number. Only where arguments have to be taken apart and written anew, as for the parameters of a
//! workflow, a number that would be rounded is refused ([`rounded`]). A byte order mark is not JSON, and is refused where
//! a message is parsed.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::folded::folded;
use super::key_is;
use super::lists::Lists;
use crate::tool::clean;

/// Characters of a name or number that are shown.
const SHOWN: usize = 100;

/// Why arguments can be read in two ways.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonAmbiguity {
    /// An object has a key twice.
    #[error("`{0}` is there twice in one object, so what is meant is not clear; say it once")]
    Repeated(String),
    /// Two keys of an object are the same to some readers.
    #[error("`{0}` and `{1}` are one name to some readers, so what is meant is not clear; keep one of them")]
    Alike(String, String),
    /// A text has half of a surrogate pair.
    #[error(
        "`{0}` is half a character, which servers read differently; write the whole character, or leave it out"
    )]
    Surrogate(String),
    /// A number is larger than the largest that readers have in common.
    #[error("the number `{0}` is too large to be read the same everywhere; write a smaller one, or a text")]
    Number(String),
    /// A number does not survive being read here.
    #[error("the number `{0}` would be rounded on its way; write it as a text")]
    Rounded(String),
    /// A text has a NUL in it.
    #[error("`{0}` has a NUL character, where some servers end the text; leave it out")]
    Nul(String),
}

/// Says why a JSON text can be read in two ways; `None` where it cannot, and for what is not JSON.
///
/// ```
/// use toolyard_core::hazard::ambiguous;
///
/// let said = |json: &str| ambiguous(json).map(|it| it.to_string()).unwrap_or_default();
/// assert!(said(r#"{"a": [{"b": 1, "\u0062": 2}]}"#).starts_with("`b` is there twice"));
/// assert!(said(r#"{"path": "a", "Path": "b"}"#).starts_with("`path` and `Path` are one name"));
/// assert_eq!(said(r#"{"id": 1234567890123456789012, "b": {"b": 1}}"#), "");
/// ```
pub fn ambiguous(json: &str) -> Option<JsonAmbiguity> {
    let endless = |number: &str| number.parse::<f64>().is_ok_and(f64::is_infinite);
    let half = tokens(json, |token| match token {
        Token::Half(half) => Some(JsonAmbiguity::Surrogate(half.to_owned())),
        Token::Number(number) => endless(number).then(|| JsonAmbiguity::Number(shown(number))),
    });
    half.or_else(|| look(json, Walk::outermost()))
}

/// Returns a number of a JSON text that is not the same after it was read and written again.
///
/// ```
/// use toolyard_core::hazard::rounded;
///
/// assert!(rounded(r#"{"id": 12345678901234567890123}"#).is_some());
/// assert_eq!(rounded(r#"{"id": 1234567890123456789, "price": 0.10, "n": -0, "text": "1e999"}"#), None);
/// ```
pub fn rounded(json: &str) -> Option<JsonAmbiguity> {
    tokens(json, |token| match token {
        Token::Number(number) => loses(number).then(|| JsonAmbiguity::Rounded(shown(number))),
        Token::Half(_) => None,
    })
}

/// Returns the first of these names that is one with another to some readers.
pub fn alike<'n>(names: impl Iterator<Item = &'n str>) -> Option<JsonAmbiguity> {
    let mut seen = Names::new(Case::Same);
    names.map(Cow::Borrowed).find_map(|name| seen.add(name))
}

/// Returns a key that an object of a JSON text has twice, exactly or after normalisation.
pub(super) fn repeated(json: &str) -> Option<String> {
    match look(json, Walk { case: Case::Other, is_text: true })? {
        JsonAmbiguity::Repeated(key) | JsonAmbiguity::Alike(key, _) => Some(key),
        JsonAmbiguity::Surrogate(_)
        | JsonAmbiguity::Number(_)
        | JsonAmbiguity::Rounded(_)
        | JsonAmbiguity::Nul(_) => None,
    }
}

/// Whether a number has more digits than are kept when it is read.
fn loses(number: &str) -> bool {
    if number.parse::<u64>().is_ok() || number.parse::<i64>().is_ok() {
        return false;
    }
    let digits = |number: &str| {
        let mantissa = number.split(['e', 'E']).next().unwrap_or(number);
        let all: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        all.trim_matches('0').to_owned()
    };
    number
        .parse::<f64>()
        .map_or(true, |read| !read.is_finite() || digits(&format!("{read:e}")) != digits(number))
}

/// A part of a JSON text that not every reader has a value for.
enum Token<'t> {
    Number(&'t str),
    /// An escape that is half a character.
    Half(&'t str),
}

/// Returns the first thing that is wrong with a number or an escape of a JSON text.
fn tokens(json: &str, wrong: impl Fn(Token<'_>) -> Option<JsonAmbiguity>) -> Option<JsonAmbiguity> {
    let mut rest = json;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '"' => match string(after) {
                Ok(after) => after,
                Err(half) => return wrong(Token::Half(half)),
            },
            '-' | '0'..='9' => {
                let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
                let end = after.find(|c| !is_part(c)).map_or(rest.len(), |end| end + 1);
                if let Some(wrong) = wrong(Token::Number(&rest[..end])) {
                    return Some(wrong);
                }
                &rest[end..]
            }
            _ => after,
        };
    }
    None
}

/// Skips a string whose quote is open; fails with an escape that is half a character.
fn string(text: &str) -> Result<&str, &str> {
    let unit = |text: &str| u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\\']) {
        if rest[at..].starts_with('"') {
            return Ok(&rest[at + 1..]);
        }
        let escape = &rest[at..];
        let (is_whole, length) = match unit(escape) {
            Some(0xd800..=0xdbff) => {
                (unit(&escape[6..]).is_some_and(|low| (0xdc00..=0xdfff).contains(&low)), 12)
            }
            Some(0xdc00..=0xdfff) => (false, 6),
            Some(_) => (true, 6),
            None => (true, 1 + escape[1..].chars().next().map_or(0, char::len_utf8)),
        };
        if !is_whole {
            return Err(&escape[..6]);
        }
        rest = escape.get(length..).unwrap_or_default();
    }
    Ok("")
}

fn look(json: &str, walk: Walk) -> Option<JsonAmbiguity> {
    let found = RefCell::new(None);
    let mut deserializer = serde_json::Deserializer::from_str(json);
    // The first one ends the reading with an error.
    let _ = Keys { found: &found, walk, key: "" }.deserialize(&mut deserializer);
    found.into_inner()
}

fn shown(text: &str) -> String {
    clean(text).chars().take(SHOWN).collect()
}

/// Whether names that differ by case are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Same,
    Other,
}

/// Where in the arguments a value stands.
#[derive(Clone, Copy, Debug)]
struct Walk {
    case: Case,
    /// Whether it is a whole text, such as the content of a file, which may hold any character.
    is_text: bool,
}

impl Walk {
    fn outermost() -> Self {
        Self { case: Case::Same, is_text: false }
    }
}

/// The names of one object.
struct Names<'n> {
    case: Case,
    /// Each name by its form that is compared.
    seen: HashMap<String, Cow<'n, str>>,
}

impl<'n> Names<'n> {
    fn new(case: Case) -> Self {
        Self { case, seen: HashMap::new() }
    }

    fn add(&mut self, name: Cow<'n, str>) -> Option<JsonAmbiguity> {
        let mut form = folded(&name).into_owned();
        if self.case == Case::Same {
            form = form.to_lowercase();
        }
        match self.seen.get(&form) {
            Some(other) if *other == name => Some(JsonAmbiguity::Repeated(shown(&name))),
            Some(other) => {
                let plain = |name: &str| name.escape_default().take(SHOWN).collect();
                Some(JsonAmbiguity::Alike(plain(other), plain(&name)))
            }
            None => {
                self.seen.insert(form, name);
                None
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Keys<'f> {
    found: &'f RefCell<Option<JsonAmbiguity>>,
    walk: Walk,
    key: &'f str,
}

impl Keys<'_> {
    fn stop<E: serde::de::Error>(&self, why: JsonAmbiguity) -> Result<(), E> {
        *self.found.borrow_mut() = Some(why);
        Err(E::custom("it can be read in two ways"))
    }
}

impl<'de> DeserializeSeed<'de> for Keys<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        match text.contains('\0') && !self.walk.is_text {
            true => self.stop(JsonAmbiguity::Nul(shown(self.key))),
            false => Ok(()),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.walk.case = Case::Other;
        while items.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut names = Names::new(self.walk.case);
        while let Some(key) = members.next_key::<Cow<'de, str>>()? {
            if key.contains('\0') {
                return self.stop(JsonAmbiguity::Nul(shown(&key)));
            }
            let is_text = self.walk.is_text || key_is(&key, &Lists::builtin().texts);
            if let Some(why) = names.add(key.clone()) {
                return self.stop(why);
            }
            let walk = Walk { case: Case::Other, is_text };
            members.next_value_seed(Keys { found: self.found, walk, key: &key })?;
        }
        Ok(())
    }
}
