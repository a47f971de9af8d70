//! Whether a request says a value that somebody else found in it.

use std::ops::Range;

use serde_json::{Map, Value};

use super::candidate::{Candidate, candidates, mentions, names_tool};
use super::equivalence::{equivalent, plain_text};
use super::request::ParsedRequest;
use super::sources::Sources;
use crate::form::{Field, Form};
use crate::text::is_unparted;

/// A request, and the form that values of it are for.
pub(super) struct Grounding<'a> {
    form: &'a Form,
    sources: &'a Sources<'a>,
    request: ParsedRequest<'a>,
    /// The request as texts are looked for in it, and where each byte of that stands in the request.
    plain: String,
    places: Vec<usize>,
    /// Values that are used already, each as often.
    used: Vec<Value>,
}

/// A text of more words is composed by whoever writes it.
const COMPOSED_WORDS: usize = 8;
/// Plain values inside one value that are looked for.
const MOST_LEAVES: usize = 40;

impl<'a> Grounding<'a> {
    pub(super) fn new(form: &'a Form, sources: &'a Sources<'a>) -> Self {
        let request = ParsedRequest::parse(sources.task, sources.now);
        let (plain, places) = placed(sources.task);
        Self { form, sources, request, plain, places, used: Vec::new() }
    }

    /// Marks what a value says as used: words are claimed once.
    pub(super) fn claim(&mut self, value: &Value) {
        leaves(value, &mut |leaf| self.used.push(leaf.clone()));
    }

    /// Returns a value as the request writes it, where the request or the schema of the parameter says all of it.
    pub(super) fn ground(&self, parameter: &str, value: &Value) -> Option<Value> {
        let mut mine: Vec<Value> = Vec::new();
        let is_grounded = self.is_grounded(&[parameter], value, &mut mine) && !mine.is_empty();
        is_grounded.then(|| {
            let written = self.as_written(value);
            let one = |value: &Value| Map::from_iter([(parameter.to_owned(), value.clone())]);
            if self.form.admits_part(&one(&written)) { written } else { value.clone() }
        })
    }

    /// Puts back case, accents and marks that somebody changed who copied from the request.
    fn as_written(&self, value: &Value) -> Value {
        match value {
            Value::String(text) if !self.sources.task.contains(text.as_str()) => {
                let found =
                    self.occurrences(text).next().map(|it| self.places[it.start]..self.places[it.end]);
                Value::String(
                    found.map_or_else(|| text.clone(), |it| self.sources.task[it].trim().to_owned()),
                )
            }
            Value::Array(items) => items.iter().map(|item| self.as_written(item)).collect(),
            Value::Object(members) => {
                members.iter().map(|(name, value)| (name.clone(), self.as_written(value))).collect()
            }
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn is_grounded(&self, path: &[&str], value: &Value, mine: &mut Vec<Value>) -> bool {
        match value {
            Value::Array(items) => items.iter().all(|item| self.is_grounded(path, item, mine)),
            Value::Object(members) => members.iter().all(|(name, value)| {
                let inner: Vec<&str> = path.iter().copied().chain([name.as_str()]).collect();
                let is_named = self.form.fields().iter().any(|field| begins(field, &inner));
                (is_named || self.occurrences(name).next().is_some()) && self.is_grounded(&inner, value, mine)
            }),
            leaf @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                mine.push(leaf.clone());
                let (_, before) = mine.split_last().expect("it was put there");
                let uses = || self.used.iter().chain(before).filter(|it| equivalent(it, leaf)).count();
                mine.len() <= MOST_LEAVES
                    && (self.form.literals(path[0]).contains(&leaf) || self.count(path, leaf) > uses())
            }
        }
    }

    /// How often the request says one plain value.
    fn count(&self, path: &[&str], leaf: &Value) -> usize {
        let field = self.form.fields().iter().find(|field| field.path == path);
        match leaf {
            // Several flags may be set by the same words.
            Value::Bool(_) if field.is_some_and(|field| mentions(&self.request, self.form, field)) => {
                usize::MAX
            }
            Value::Number(number) => {
                let equal =
                    self.request.quantities.iter().filter(|(_, it)| Some(it.value) == number.as_f64());
                equal.count().max(self.count_candidates(field, leaf))
            }
            Value::String(text) => {
                let is_of_tool = field.is_some_and(|field| self.is_of_tool(field, text));
                let written = if is_of_tool { 0 } else { self.occurrences(text).count() };
                written.max(self.count_candidates(field, leaf))
            }
            Value::Bool(_) | Value::Null | Value::Array(_) | Value::Object(_) => 0,
        }
    }

    /// In how many places the request says a value of a field in another form: as a date, in words, in another unit.
    fn count_candidates(&self, field: Option<&Field>, leaf: &Value) -> usize {
        let Some(field) = field else { return 0 };
        let is_it = |it: &Candidate| match it.value.as_array() {
            Some(items) => items.iter().any(|item| equivalent(item, leaf)),
            None => equivalent(&it.value, leaf),
        };
        let found = candidates(self.form, field, &self.request);
        let mut places: Vec<usize> =
            found.iter().filter(|it| !it.bytes.is_empty() && is_it(it)).map(|it| it.bytes.start).collect();
        places.sort_unstable();
        places.dedup();
        places.len()
    }

    /// Finds where a text stands in the request, as whole words.
    fn occurrences(&self, text: &str) -> impl Iterator<Item = Range<usize>> {
        let wanted = plain_text(text);
        let is_apart = |inner: Option<char>, outer: Option<char>| match (inner, outer) {
            (Some(inner), Some(outer)) => {
                !(inner.is_alphanumeric() && outer.is_alphanumeric())
                    || is_unparted(inner)
                    || is_unparted(outer)
            }
            _ => true,
        };
        let is_whole = |it: &Range<usize>| {
            let (before, found, after) =
                (&self.plain[..it.start], &self.plain[it.clone()], &self.plain[it.end..]);
            is_apart(found.chars().next(), before.chars().next_back())
                && is_apart(found.chars().next_back(), after.chars().next())
        };
        let found = self.plain.match_indices(wanted.as_str()).filter(|_| !wanted.is_empty());
        let found: Vec<Range<usize>> = found.map(|(at, it)| at..at + it.len()).filter(is_whole).collect();
        found.into_iter()
    }

    /// Whether a text says which tool or field is meant, and nothing for it; what is quoted is meant as it stands.
    fn is_of_tool(&self, field: &Field, text: &str) -> bool {
        let is_it = |written: &str| plain_text(written) == plain_text(text);
        let is_quoted = self.request.quoted.iter().any(|it| is_it(&self.request.text[it.bytes.clone()]));
        let own = ParsedRequest::parse(text, self.sources.now);
        !is_quoted && names_tool(self.form, field, &own, &(0..own.tokens.len()))
    }
}

/// Returns the arguments of a call that neither `said`, nor the schema, nor a default gives, by where they lie.
///
/// Long texts are composed rather than copied, and flags follow from what is asked; only those that unlock something
/// have to be said.
pub fn unsaid(form: &Form, sources: &Sources<'_>, arguments: &Map<String, Value>) -> Vec<(String, Value)> {
    let grounding = Grounding::new(form, sources);
    let mut found = Vec::new();
    for (name, value) in arguments.iter().filter(|(name, value)| form.default_of(name) != Some(value)) {
        grounding.gather_unsaid(&mut vec![name.as_str()], value, &mut found);
    }
    found
}

impl Grounding<'_> {
    fn gather_unsaid<'v>(&self, path: &mut Vec<&'v str>, value: &'v Value, found: &mut Vec<(String, Value)>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.gather_unsaid(path, item, found)),
            Value::Object(members) => members.iter().for_each(|(name, value)| {
                path.push(name);
                self.gather_unsaid(path, value, found);
                path.pop();
            }),
            leaf @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                let field = self.form.fields().iter().find(|field| field.path == *path);
                let is_fine = match leaf {
                    Value::Null => true,
                    Value::Bool(_) => !field.is_some_and(Field::is_guarded),
                    Value::String(text) => self.says_most(text),
                    Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
                };
                let is_said = || {
                    self.form.literals(path[0]).contains(&leaf)
                        || field.is_some_and(|field| field.choices.contains(leaf))
                        || self.count(path, leaf) > 0
                };
                if !is_fine && !is_said() && found.len() < MOST_LEAVES {
                    found.push((path.join("."), leaf.clone()));
                }
            }
        }
    }

    /// Whether at least half of a text stands in the request, or whether it is too long to have been copied.
    fn says_most(&self, text: &str) -> bool {
        let words: Vec<&str> =
            text.split(|c: char| !c.is_alphanumeric()).filter(|it| !it.is_empty()).collect();
        let chars =
            |words: &mut dyn Iterator<Item = &&str>| words.map(|it| it.chars().count()).sum::<usize>();
        let said = chars(&mut words.iter().filter(|word| self.says_word(word)));
        words.len() > COMPOSED_WORDS || 2 * said >= chars(&mut words.iter())
    }

    /// Whether the request has a word, a number of the same value, or is written in other letters.
    fn says_word(&self, word: &str) -> bool {
        let is_number = || {
            let number: Option<f64> = word.parse().ok();
            number.is_some_and(|it| self.request.quantities.iter().any(|(_, said)| said.value == it))
        };
        let is_latin = |text: &str| text.chars().any(|c| c.is_ascii_alphabetic());
        self.occurrences(word).next().is_some()
            || is_number()
            || is_latin(word) && !is_latin(self.sources.task)
    }
}

/// Calls for every plain value inside a value.
fn leaves(value: &Value, each: &mut impl FnMut(&Value)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| leaves(item, each)),
        Value::Object(members) => members.values().for_each(|member| leaves(member, each)),
        leaf @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => each(leaf),
    }
}

fn begins(field: &Field, path: &[&str]) -> bool {
    field.path.len() >= path.len() && field.path.iter().zip(path).all(|(own, it)| own == it)
}

/// A text as others are looked for in it, and where each of its bytes and its end come from.
fn placed(text: &str) -> (String, Vec<usize>) {
    let (mut plain, mut places) = (String::with_capacity(text.len()), Vec::with_capacity(text.len() + 1));
    for (at, c) in text.char_indices() {
        let is_space = c.is_whitespace();
        if is_space && (plain.is_empty() || plain.ends_with(' ')) {
            continue;
        }
        let folded = if is_space { " ".to_owned() } else { plain_text(c.encode_utf8(&mut [0; 4])) };
        places.extend(folded.bytes().map(|_| at));
        plain += &folded;
    }
    places.push(text.len());
    (plain, places)
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use serde_json::json;

    use super::*;
    use crate::arguments::Now;

    /// Returns where values lie that nobody said.
    fn places(said: &str, arguments: &Value) -> Vec<String> {
        let schema = json!({ "type": "object", "properties": {
            "path": { "type": "string" },
            "zone": { "type": "string", "description": "IANA time zone" },
            "time": { "type": "string" },
            "due": { "type": "string", "format": "date" },
            "limit": { "type": "integer", "default": 10 },
            "order": { "type": "string", "enum": ["newest", "oldest"] },
            "force": { "type": "boolean" },
            "deep": { "type": "boolean" },
            "filter": { "type": "object", "properties": { "city": { "type": "string" } } },
        } });
        let form = Form::new(("find", "Finds"), schema);
        let (given, now) = (Map::new(), Now { at: date(2026, 11, 17).at(9, 0, 0, 0), offset: 0 });
        let sources = Sources { task: said, given: &given, named: None, reading: None, earlier: &[], now };
        let arguments = arguments.as_object().expect("an object");
        unsaid(&form, &sources, arguments).into_iter().map(|(place, _)| place).collect()
    }

    #[test]
    fn what_the_words_say_in_any_form_is_said() {
        let said = "what is in docs/plan.md and what time is it in New York, 5 of them, due tomorrow at 9";
        let arguments = json!({
            "path": "docs/plan.md", "zone": "America/New_York", "limit": 5, "due": "2026-11-18", "time": "09:00",
        });
        assert_eq!(places(said, &arguments), [""; 0]);
        // A default, a choice and a plain flag need no words; a translation cannot be compared.
        assert_eq!(places("list them", &json!({ "limit": 10, "order": "oldest", "deep": true })), [""; 0]);
        assert_eq!(
            places("ロンドンの午前9時", &json!({ "zone": "Europe/London", "time": "09:00" })),
            [""; 0]
        );
    }

    #[test]
    fn what_nobody_said_is_found_where_it_lies() {
        let arguments = json!({
            "path": "/home/user/file.txt", "zone": "America/New_York", "limit": 7, "force": true,
            "filter": { "city": "Paris" },
        });
        let expected = ["path", "zone", "limit", "force", "filter.city"];
        assert_eq!(places("what time is it in Tokyo", &arguments), expected);
    }

    #[test]
    fn a_composed_text_is_not_compared() {
        let text = "Dear Ann, I am writing to you about the garden and the bees.";
        assert_eq!(places("write to Ann", &json!({ "path": text })), [""; 0]);
    }
}
