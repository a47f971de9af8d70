//! The values that a field could have: what stands in the text, in the form that the schema wants.

use std::ops::Range;

use serde_json::{Number, Value, json};

use super::Now;
use super::page::{Page, Role};
use super::quantity::{Manner, Quantity, Unit};
use super::token::Token;
use super::when::{self, When};
use super::world;
use crate::form::{Bound, Field, Form, Format, Kind, is_email, is_uri, is_zone};
use crate::lexicon::{Lexicon, Related, file_format, split_ending};
use crate::text::{each_term, fold};
use crate::tool::words::words;

/// A value that a field could have.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) value: Value,
    /// The tokens that say it; empty when none do.
    pub(super) tokens: Range<usize>,
    /// The bytes that it takes up.
    pub(super) bytes: Range<usize>,
    pub(super) manner: How,
}

/// How a text says a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum How {
    /// In these words.
    Words,
    Quoted,
    /// As a part of a token.
    Part,
    Number,
    /// As a number in another unit.
    Converted,
    Moment,
    /// As one of the choices.
    Choice(Likeness),
    /// As an example that the description gives.
    Example(Likeness),
    /// As a name that everybody knows another form of.
    Known,
    Flag,
    List,
    Literal,
}

/// How like the words of a text and a choice are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Likeness {
    /// A word of it goes with a word of the text.
    Related,
    /// Some of its words are there.
    Partial,
    /// In another language.
    Translated,
    /// In another form, such as a plural.
    Stem,
    Exact,
}

/// Values of a field that are compared.
const MAX_CANDIDATES: usize = 1600;

/// Returns the values that a field could have. All of them fit the schema.
pub(super) fn candidates(form: &Form, field: &Field, page: &Page<'_>, now: Now) -> Vec<Candidate> {
    let bound = form.paired_bound(field);
    let is_json = |field: &&Field| field.kind != Kind::Text || field.is_list;
    let is_taken = |value: &Value| form.fields().iter().filter(is_json).any(|it| form.takes(it, value));
    let literals = page.literals.iter().filter(|(_, value)| is_taken(value));
    let wholes = literals.map(|(bytes, _)| bytes.clone()).collect();
    let mut found = Gathering { form, field, page, bound, wholes, found: Vec::new() };
    if !field.choices.is_empty() {
        found.choices();
    } else {
        match field.kind {
            Kind::Flag if !field.is_list => found.flags(),
            Kind::Whole | Kind::Number => found.numbers(),
            Kind::Text => {
                found.texts();
                found.moments(now);
                found.examples();
                found.known();
            }
            Kind::Any => {
                found.numbers();
                found.texts();
            }
            Kind::Flag | Kind::Object => {}
        }
    }
    if matches!(field.format, Some(Format::Unix | Format::UnixMillis)) {
        found.moments(now);
    }
    found.literals();
    found.found
}

struct Gathering<'a> {
    form: &'a Form,
    field: &'a Field,
    page: &'a Page<'a>,
    /// Which bound of a range it takes where another field takes the other one.
    bound: Option<Bound>,
    /// Where JSON stands that a field takes as it is.
    wholes: Vec<Range<usize>>,
    found: Vec<Candidate>,
}

impl Gathering<'_> {
    /// Keeps a value if the schema takes it.
    fn keep(&mut self, value: Value, tokens: Range<usize>, bytes: Range<usize>, manner: How) {
        if self.is_elsewhere(&value, &tokens, manner) || self.is_inside(&bytes) {
            return;
        }
        let zone = value.as_str().filter(|_| self.field.wants_zone_names()).and_then(world::zone);
        let value = zone.map_or(value, Value::from);
        let value = match (&value, self.field.is_list) {
            (Value::Array(_), _) | (_, false) => value,
            (_, true) => Value::Array(vec![value]),
        };
        if self.found.len() < MAX_CANDIDATES && self.form.takes(self.field, &value) {
            self.found.push(Candidate { value, tokens, bytes, manner });
        }
    }

    /// Whether a value is for another field: a tag or a word such as `to` is no path and a time no time zone, however
    /// near they stand, what comes from somewhere does not go there, and `the sheet Q1` has no value but `Q1`.
    fn is_elsewhere(&self, value: &Value, tokens: &Range<usize>, manner: How) -> bool {
        if tokens.is_empty() {
            return false;
        }
        let text = value.as_str().unwrap_or_default();
        let is_small = tokens.len() == 1 && self.page.roles[tokens.start] == Role::Small;
        self.field.is_for_paths() && (text.starts_with(['#', '@']) || is_small && manner != How::Quoted)
            || self.field.is_for_zones() && manner != How::Quoted && !self.may_be_zone(text, tokens)
            || !self.field.is_for_zones() && self.hides_zone(tokens)
            || self.bound.is_some_and(|bound| self.page.denies(bound, tokens))
            || self.field.is_for_paths() && self.is_of_other_format(text)
            || manner == How::Words && (self.is_name_of_other(tokens) || self.begins_with_name(tokens))
    }

    /// Whether words begin with what a field named after a verb is for, and go on: of `add the tag robots` a field
    /// `add`, described as tags to add, takes `robots`.
    fn begins_with_name(&self, tokens: &Range<usize>) -> bool {
        let page = self.page;
        let first = tokens.clone().find(|at| page.roles[*at] != Role::Small);
        let is_deed = Lexicon::builtin().verb(self.field.head()).is_some();
        let is_meant = |at: usize| {
            let token = &page.tokens[at];
            !token.is_capital && self.field.description_terms.first().is_some_and(|word| *word == token.term)
        };
        is_deed && first.is_some_and(|at| at + 1 < tokens.end && is_meant(at))
    }

    /// Whether the ending of a file says that it is for another field: `a.csv` is for `csv_path`.
    fn is_of_other_format(&self, text: &str) -> bool {
        let Some(format) = split_ending(text).and_then(|(_, ending)| file_format(ending)) else {
            return false;
        };
        let of = |field: &Field| field.name_terms.iter().find_map(|it| file_format(it));
        let is_other = |it: &Field| it.is_for_paths() && of(it) == Some(format);
        match of(self.field) {
            Some(own) => own != format,
            None => self.form.fields().iter().any(is_other),
        }
    }

    /// Whether a plain word only names another field, whose value comes behind it.
    fn is_name_of_other(&self, tokens: &Range<usize>) -> bool {
        let page = self.page;
        let token = &page.tokens[tokens.start];
        let is_name = |it: &Field| it.path != self.field.path && it.head() == token.term;
        let is_followed =
            page.roles.get(tokens.end).is_some_and(|role| matches!(role, Role::Word | Role::Digits));
        tokens.len() == 1
            && is_followed
            && !token.is_capital
            && token.lower.chars().all(char::is_alphabetic)
            && self.form.fields().iter().any(is_name)
    }

    /// Whether a value is a part of JSON that is meant as a whole.
    fn is_inside(&self, bytes: &Range<usize>) -> bool {
        let is_text = self.field.kind == Kind::Text && !self.field.is_list;
        let holds =
            |it: &Range<usize>| (is_text || it != bytes) && it.start <= bytes.start && bytes.end <= it.end;
        !bytes.is_empty() && self.wholes.iter().any(holds)
    }

    /// Whether a text names a time zone or a place.
    fn may_be_zone(&self, text: &str, tokens: &Range<usize>) -> bool {
        let named = &self.page.tokens[tokens.clone()];
        let is_name = |token: &Token| token.is_capital && token.lower.chars().all(char::is_alphabetic);
        is_zone(text) || world::is_place(named) || named.iter().all(is_name) && !named[0].is_start
    }

    /// Whether a time goes on with a place that another field takes, as in `9am London`.
    fn hides_zone(&self, tokens: &Range<usize>) -> bool {
        let page = self.page;
        let named = &page.tokens[tokens.clone()];
        let is_time = page.moments.iter().any(|it| it.time.is_some() && it.tokens.start == tokens.start);
        let is_place = |at: usize| is_zone(&page.text[named[at].at.clone()]) || world::is_place(&named[at..]);
        is_time && self.form.fields().iter().any(Field::is_for_zones) && (1..named.len()).any(is_place)
    }

    fn texts(&mut self) {
        let page = self.page;
        for (tokens, bytes) in &page.quoted {
            let value = json!(page.text[bytes.clone()].trim());
            self.keep(value, tokens.clone(), bytes.clone(), How::Quoted);
        }
        for tokens in &page.spans {
            let bytes = page.bytes(tokens);
            let written = &page.text[bytes.clone()];
            let is_torn = is_torn(written, &page.text[bytes.end..]);
            if self.fits_format(written)
                && !is_torn
                && !is_said_of_tool(self.form, self.field, page, tokens)
                && !self.is_dated(tokens)
            {
                self.keep(json!(written), tokens.clone(), bytes, How::Words);
            }
        }
        for (at, bytes) in &page.parts {
            if self.fits_format(&page.text[bytes.clone()]) {
                self.keep(json!(&page.text[bytes.clone()]), *at..*at + 1, bytes.clone(), How::Part);
            }
        }
        for (at, quantity) in &page.quantities {
            let tokens = *at..*at + quantity.tokens;
            let bytes = page.bytes(&tokens);
            let written = number(quantity.value).map(|it| it.to_string());
            if let Some(written) = written.filter(|it| *it != page.text[bytes.clone()]) {
                self.keep(json!(written), tokens, bytes, How::Number);
            }
        }
        if self.field.is_list {
            self.lists(|page, item| Some(json!(&page.text[page.bytes(item)])));
        } else if self.field.description.to_lowercase().contains("comma") {
            self.joined();
        }
    }

    /// Lists as one text, where the description wants commas.
    fn joined(&mut self) {
        let page = self.page;
        for list in &page.lists {
            let items: Vec<&str> = list.iter().map(|item| &page.text[page.bytes(item)]).collect();
            let tokens = list[0].start..list[list.len() - 1].end;
            let bytes = page.bytes(&tokens);
            self.keep(json!(items.join(",")), tokens, bytes, How::List);
        }
    }

    /// A moment is written in the form that the field wants, not as it was said.
    fn is_dated(&self, tokens: &Range<usize>) -> bool {
        let wants = matches!(self.field.format, Some(Format::Date | Format::DateTime | Format::Time));
        wants
            && self.page.moments.iter().any(|it| it.tokens.start < tokens.end && tokens.start < it.tokens.end)
    }

    /// A field for addresses takes nothing else, whether or not its schema says so.
    fn fits_format(&self, written: &str) -> bool {
        match self.field.format {
            Some(Format::Email) => is_email(written),
            Some(Format::Uri) => is_uri(written) || (written.contains('.') && !written.contains(' ')),
            Some(Format::Date | Format::DateTime | Format::Time) => {
                written.contains(|c: char| c.is_ascii_digit())
            }
            _ => true,
        }
    }

    fn lists(&mut self, item: impl Fn(&Page<'_>, &Range<usize>) -> Option<Value>) {
        let page = self.page;
        for list in &page.lists {
            let values: Option<Vec<Value>> = list.iter().map(|it| item(page, it)).collect();
            let tokens = list[0].start..list[list.len() - 1].end;
            if let Some(values) = values {
                let bytes = page.bytes(&tokens);
                self.keep(Value::Array(values), tokens, bytes, How::List);
            }
        }
    }

    fn numbers(&mut self) {
        let page = self.page;
        let unit = unit_of(self.field);
        for (at, quantity) in &page.quantities {
            let tokens = *at..*at + quantity.tokens;
            let bytes = page.bytes(&tokens);
            let converted = converted(quantity, unit);
            if let Some(value) = self.numeric(quantity.value) {
                self.keep(value, tokens.clone(), bytes.clone(), How::Number);
            }
            if let Some(value) = converted.and_then(|it| self.numeric(it)) {
                self.keep(value, tokens, bytes, How::Converted);
            }
        }
        for (at, bytes) in &page.parts {
            let value = page.text[bytes.clone()].parse().ok().and_then(|it| self.numeric(it));
            if let Some(value) = value {
                self.keep(value, *at..*at + 1, bytes.clone(), How::Part);
            }
        }
        if self.field.is_list {
            let kind = self.field.kind;
            self.lists(|page, item| {
                let (_, quantity) =
                    page.quantities.iter().find(|(at, it)| *at == item.start && it.tokens == item.len())?;
                numeric(kind, quantity.value)
            });
        }
    }

    fn numeric(&self, value: f64) -> Option<Value> {
        numeric(self.field.kind, value)
    }

    fn moments(&mut self, now: Now) {
        let page = self.page;
        for found in &page.moments {
            // A date with its time is one moment.
            let is_part = |whole: &When| {
                whole.tokens.len() > found.tokens.len()
                    && whole.tokens.start <= found.tokens.start
                    && found.tokens.end <= whole.tokens.end
            };
            let is_whole =
                matches!(self.field.format, Some(Format::DateTime | Format::Unix | Format::UnixMillis));
            if is_whole && page.moments.iter().any(is_part) {
                continue;
            }
            let loose = || when::loose(found, self.field);
            let Some(written) = when::rendered(found, self.field, now).or_else(loose) else { continue };
            let value = match self.field.kind {
                Kind::Whole | Kind::Number => written.parse::<i64>().map_or(Value::Null, |it| json!(it)),
                Kind::Text | Kind::Flag | Kind::Object | Kind::Any => json!(written),
            };
            let bytes = page.bytes(&found.tokens);
            self.keep(value, found.tokens.clone(), bytes, How::Moment);
        }
    }

    fn flags(&mut self) {
        if !self.field.is_required && !is_spoken_of(self.form, self.field, self.page) {
            return;
        }
        self.keep(json!(true), 0..0, 0..0, How::Flag);
        self.keep(json!(false), 0..0, 0..0, How::Flag);
    }

    fn choices(&mut self) {
        let is_flag = |it: &Value| {
            it.as_str().is_some_and(|it| ["true", "false"].contains(&it.to_lowercase().as_str()))
        };
        if self.field.choices.len() == 2 && self.field.choices.iter().all(is_flag) {
            for choice in &self.field.choices {
                self.keep(choice.clone(), 0..0, 0..0, How::Flag);
            }
            return;
        }
        let mut matched: Vec<(usize, Value)> = Vec::new();
        for choice in &self.field.choices {
            let counted = choice.as_f64().and_then(|it| self.counted(it));
            let Some((likeness, tokens)) = counted.or_else(|| self.likeness(&spelled(choice))) else {
                continue;
            };
            let bytes = if tokens.is_empty() { 0..0 } else { self.page.bytes(&tokens) };
            self.keep(choice.clone(), tokens.clone(), bytes, How::Choice(likeness));
            if likeness >= Likeness::Translated {
                matched.push((tokens.start, choice.clone()));
            }
        }
        if self.field.kind == Kind::Flag && self.found.is_empty() {
            self.flags();
        }
        if self.field.is_list && matched.len() > 1 {
            matched.sort_by_key(|(at, _)| *at);
            let values = matched.into_iter().map(|(_, value)| value).collect();
            self.keep(Value::Array(values), 0..0, 0..0, How::List);
        }
    }

    /// Values that the description gives as examples and the text means.
    fn examples(&mut self) {
        for example in &self.field.examples {
            if let Some((likeness, tokens)) = self.likeness(example)
                && likeness >= Likeness::Translated
                && !tokens.is_empty()
            {
                let bytes = self.page.bytes(&tokens);
                self.keep(json!(example), tokens, bytes, How::Example(likeness));
            }
        }
    }

    /// Codes and places that the text names.
    fn known(&mut self) {
        let page = self.page;
        let codes = world::codes(self.field, &page.tokens);
        for (value, tokens) in codes.into_iter().chain(world::places(self.field, page.text, &page.tokens)) {
            let bytes = page.bytes(&tokens);
            self.keep(json!(value), tokens, bytes, How::Known);
        }
    }

    fn literals(&mut self) {
        if self.field.kind == Kind::Text && !self.field.is_list {
            for (tokens, bytes) in &self.page.closed {
                self.keep(json!(&self.page.text[bytes.clone()]), tokens.clone(), bytes.clone(), How::Literal);
            }
        }
        for (bytes, value) in &self.page.literals {
            let inside = |at: usize| bytes.contains(&self.page.tokens[at].at.start);
            let start = (0..self.page.tokens.len()).find(|at| inside(*at)).unwrap_or(0);
            let end = (start..self.page.tokens.len())
                .take_while(|at| inside(*at))
                .last()
                .map_or(start, |it| it + 1);
            if self.field.kind == Kind::Text && !self.field.is_list {
                self.keep(json!(&self.page.text[bytes.clone()]), start..end, bytes.clone(), How::Literal);
            }
            self.keep(value.clone(), start..end, bytes.clone(), How::Literal);
        }
    }

    /// Finds where a text has a number.
    fn counted(&self, number: f64) -> Option<(Likeness, Range<usize>)> {
        let (at, found) = self.page.quantities.iter().find(|(_, it)| it.value == number)?;
        Some((Likeness::Exact, *at..at + found.tokens))
    }

    /// Finds where a text means a choice, and how like it is.
    fn likeness(&self, choice: &str) -> Option<(Likeness, Range<usize>)> {
        let tokens = &self.page.tokens;
        let folded: Vec<String> = words(choice).map(|word| fold(word).to_lowercase()).collect();
        let mut wanted: Vec<String> = Vec::new();
        for word in &folded {
            each_term(word, &mut |term| wanted.push(term.to_owned()));
        }
        if folded.is_empty() {
            return None;
        }
        let whole = fold(choice).to_lowercase();
        let is_exact =
            |at: usize| tokens[at].lower == whole || matches(&tokens[at..], &folded, |it| &it.lower);
        if let Some(at) = (0..tokens.len()).find(|at| is_exact(*at)) {
            let taken = if tokens[at].lower == whole { 1 } else { folded.len() };
            return Some((Likeness::Exact, at..at + taken));
        }
        if wanted.is_empty() {
            return None;
        }
        if let Some(at) = (0..tokens.len()).find(|at| matches(&tokens[*at..], &wanted, |it| &it.term)) {
            return Some((Likeness::Stem, at..at + wanted.len()));
        }
        if wanted.iter().all(|term| self.page.english.contains(term)) {
            return Some((Likeness::Translated, 0..0));
        }
        let begins = |term: &str| wanted.iter().any(|it| it == term || common(it, term) >= 5);
        let hits: Vec<usize> = (0..tokens.len())
            .filter(|at| !tokens[*at].term.is_empty() && begins(&tokens[*at].term))
            .collect();
        if let (Some(first), Some(last)) = (hits.first(), hits.last()) {
            let is_near = last - first < 2 * wanted.len();
            return Some((Likeness::Partial, if is_near { *first..last + 1 } else { *first..first + 1 }));
        }
        let related = Related::builtin();
        let goes_with = |at: &usize| {
            related
                .of(&tokens[*at].term)
                .any(|(term, share)| share >= 0.1 && wanted.iter().any(|it| **it == *term))
        };
        (0..tokens.len()).find(goes_with).map(|at| (Likeness::Related, at..at + 1))
    }
}

/// Whether a run of words ends before a mark that closes what was opened in it: `name = 'Ana` before `'`.
fn is_torn(written: &str, behind: &str) -> bool {
    let Some(closing) = behind.chars().next() else { return false };
    // An apostrophe stands behind a letter and opens nothing.
    let is_opened = |open: char| {
        written.match_indices(open).any(|(at, _)| !written[..at].ends_with(char::is_alphanumeric))
    };
    match closing {
        '\'' | '"' | '`' => is_opened(closing) && written.matches(closing).count() % 2 == 1,
        ')' => written.matches('(').count() > written.matches(')').count(),
        ']' => written.matches('[').count() > written.matches(']').count(),
        '}' => written.matches('{').count() > written.matches('}').count(),
        _ => false,
    }
}

/// Words of the tool's own name say which tool is meant, and those of the field's name that it is meant: `a text`
/// is no text.
pub(super) fn is_said_of_tool(form: &Form, field: &Field, page: &Page<'_>, tokens: &Range<usize>) -> bool {
    let is_own = |at: usize| match page.roles[at] {
        Role::Mark | Role::Small => true,
        role @ (Role::Verb | Role::Word) => {
            let token = &page.tokens[at];
            // A request begins with what is to be done, whether or not that is known as a verb.
            let own = if role == Role::Verb || at == 0 { &form.tool_terms } else { &form.tool_name_terms };
            // Of a name such as `data-platform-ci` the term is but the first part.
            let is_plain = token.lower.chars().all(char::is_alphabetic);
            let is_own = own.contains(&token.term) || field.name_terms.contains(&token.term);
            is_plain && is_own && (token.is_start || !token.is_capital)
        }
        Role::Digits => false,
    };
    tokens.clone().all(is_own)
}

/// Whether a word of a request speaks of a field, and not only of its tool.
pub(super) fn is_spoken_of(form: &Form, field: &Field, page: &Page<'_>) -> bool {
    let is_said = |term: &String| {
        let is_there = page.tokens.iter().any(|it| it.term == *term) || page.english.contains(term);
        is_there && !form.tool_terms.contains(term)
    };
    field.name_terms.iter().chain(&field.description_terms).any(is_said)
}

fn matches<'t>(tokens: &'t [Token], wanted: &[String], form: impl Fn(&'t Token) -> &'t String) -> bool {
    tokens.len() >= wanted.len() && tokens.iter().zip(wanted).all(|(token, wanted)| form(token) == wanted)
}

/// The letters with which two words begin.
fn common(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// A choice as it would be said.
fn spelled(choice: &Value) -> String {
    choice.as_str().map_or_else(|| choice.to_string(), str::to_owned)
}

fn number(value: f64) -> Option<Number> {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        Some(Number::from(value as i64))
    } else {
        Number::from_f64(value)
    }
}

fn numeric(kind: Kind, value: f64) -> Option<Value> {
    if kind == Kind::Whole && value.fract() != 0.0 {
        return None;
    }
    number(value).map(Value::Number)
}

/// The unit of time that a field counts in, as its name or description says.
fn unit_of(field: &Field) -> Option<Unit> {
    let said = field.path.last().into_iter().flat_map(|name| words(name)).chain(words(&field.description));
    said.filter(|word| word.len() > 2 || *word == "ms").find_map(|word| Unit::named(&word.to_lowercase()))
}

fn converted(quantity: &Quantity, wanted: Option<Unit>) -> Option<f64> {
    if quantity.manner == Manner::Percent {
        return Some(quantity.value / 100.0);
    }
    let (own, wanted) = (quantity.unit?, wanted?);
    let value = quantity.value * own.seconds() / wanted.seconds();
    (own != wanted).then_some((value * 1e6).round() / 1e6)
}
