//! What a value looks like.

use super::super::candidate::{Candidate, Origin};
use super::super::quantity::{Notation, Unit};
use super::super::token::overlap;
use super::names::origin;
use super::{Extractor, Features};
use crate::form::{Format, is_email, is_uri, is_uuid};
use crate::text::is_unparted;

impl Extractor<'_> {
    /// What the value looks like.
    pub(super) fn shape(&self, candidate: &Candidate, features: &mut Features<'_>) -> &'static str {
        let (request, field) = (self.request, self.field);
        let written = &request.text[candidate.bytes.clone()];
        let shape = match candidate.origin {
            Origin::Number | Origin::Converted => self.number(candidate, features),
            Origin::Moment => "moment",
            Origin::List => "list",
            Origin::Literal => "literal",
            Origin::Words
            | Origin::Quoted
            | Origin::Part
            | Origin::Choice(_)
            | Origin::Example(_)
            | Origin::Known
            | Origin::Flag => shape(written),
        };
        features.add(&["shape", shape, self.kind]);
        for name in &field.name_terms {
            features.add(&["shape", shape, "n", name]);
        }
        for described in field.description_terms.iter().take(6) {
            features.add(&["shape", shape, "d", described]);
        }
        let has_moment = request.moments.iter().any(|it| overlap(&it.tokens, &candidate.tokens));
        if has_moment && candidate.origin != Origin::Moment {
            features.add(&["in-moment", self.kind]);
        }
        if let Some(quoted) = request.quoted.iter().find(|it| overlap(&it.tokens, &candidate.tokens)) {
            let extent = if quoted.tokens == candidate.tokens { "same" } else { "part" };
            features.add(&["quoted", extent, origin(candidate.origin)]);
        }
        if field.examples.iter().any(|it| it.eq_ignore_ascii_case(written)) {
            features.add(&["example", self.kind]);
        } else if let Some(example) = field.examples.first() {
            let is_alike = shape == shape_of_example(example);
            features.add(&["example-alike", if is_alike { "yes" } else { "no" }, shape]);
        }
        if matches!(field.format, Some(Format::Date | Format::DateTime | Format::Time)) {
            features.add(&["dated", origin(candidate.origin)]);
        }
        shape
    }

    fn number(&self, candidate: &Candidate, features: &mut Features<'_>) -> &'static str {
        let (request, field) = (self.request, self.field);
        let Some((at, quantity)) = request.quantities.iter().find(|(at, _)| *at == candidate.tokens.start)
        else {
            return "number";
        };
        let notation = match quantity.notation {
            Notation::Digits => "digits",
            Notation::Words => "spoken",
            Notation::Ordinal => "ordinal",
            Notation::Percent => "percent",
            Notation::Money => "money",
        };
        let how = origin(candidate.origin);
        features.add(&["number", notation, how, self.kind]);
        let mut own = field.name_terms.iter().chain(&field.description_terms);
        let next = request.tokens.get(at + quantity.tokens).map_or("", |it| it.term.as_str());
        let suffix = if quantity.suffix.is_empty() { next } else { quantity.suffix.as_str() };
        let is_own = own.clone().any(|it| !it.is_empty() && (it == suffix || it == next));
        features.add(&["unit", if is_own { "own" } else { "none" }, how]);
        if let Some(unit) = quantity.unit {
            let is_timed = own.any(|it| Unit::named(it) == Some(unit));
            features.add(&["time-unit", if is_timed { "same" } else { "other" }, how]);
        }
        if let Some(place) = self.place {
            let own = request.bare_quantities().position(|it| it == *at);
            features.add(&["order", if own == Some(place) { "same" } else { "other" }]);
        }
        if quantity.notation == Notation::Words && quantity.value <= 1.0 {
            features.add(&["number", "one", self.kind]);
        }
        notation
    }
}

/// What a text looks like.
pub(in crate::arguments) fn shape(text: &str) -> &'static str {
    let is_single = !text.contains(char::is_whitespace);
    let has = |is_so: fn(char) -> bool| text.chars().any(is_so);
    let digits = has(|c| c.is_ascii_digit());
    if has(is_unparted) {
        return if text.chars().count() == 1 { "sign" } else { "signs" };
    }
    if is_single {
        if text.contains("://") || is_uri(text) && text.contains("//") {
            return "url";
        }
        if is_email(text) {
            return "email";
        }
        if is_uuid(text) {
            return "uuid";
        }
        match text.chars().next() {
            Some('#') => return "tag",
            Some('@') => return "handle",
            _ => {}
        }
        if text.starts_with(['/', '~', '.']) || text.matches('/').count() >= 2 {
            return "path";
        }
        if text.contains('/') {
            return "halves";
        }
        if text.rsplit_once('.').is_some_and(|(name, end)| {
            !name.is_empty()
                && (1..=5).contains(&end.len())
                && end.chars().all(char::is_alphanumeric)
                && has(char::is_alphabetic)
        }) {
            return "file";
        }
        let is_plain = text.chars().all(|c| c.is_ascii_digit());
        if is_plain {
            return if text.len() >= 6 { "long-digits" } else { "digits" };
        }
        if digits && has(char::is_alphabetic) {
            return if text.len() >= 16 { "hash" } else { "id" };
        }
        if digits {
            return "numeral";
        }
        if text.contains('_') {
            return "snake";
        }
        if text.len() > 1 && text.chars().all(char::is_uppercase) {
            return "upper";
        }
        if text.chars().skip(1).any(char::is_uppercase) {
            return "camel";
        }
        return if text.starts_with(char::is_uppercase) { "capital" } else { "lower" };
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let capitals = words.iter().filter(|it| it.starts_with(char::is_uppercase)).count();
    if capitals == words.len() {
        "capitals"
    } else if capitals * 2 >= words.len() && words.len() <= 6 {
        "mostly-capitals"
    } else if words.len() > 6 {
        "phrase"
    } else if digits {
        "words-digits"
    } else if words[0].starts_with(char::is_uppercase) {
        "capital-words"
    } else {
        "words"
    }
}

fn shape_of_example(example: &str) -> &'static str {
    match example.parse::<f64>() {
        Ok(_) => "digits",
        Err(_) => shape(example),
    }
}
