//! What a value looks like and how much of the text it takes.

use super::Setting;
use super::words::{few, how, length, share};
use crate::fill::candidate::{Candidate, How};
use crate::fill::features::Sink;
use crate::fill::page::Role;
use crate::fill::quantity::{Manner, Unit};
use crate::form::Format;
use crate::form::{is_email, is_uri, is_uuid};
use crate::text::is_unparted;

impl Setting<'_> {
    /// What the value looks like.
    pub(super) fn shape(&self, candidate: &Candidate, sink: &mut Sink<'_>) -> &'static str {
        let page = self.page;
        let written = &page.text[candidate.bytes.clone()];
        let shape = match candidate.manner {
            How::Number | How::Converted => self.number(candidate, sink),
            How::Moment => "moment",
            How::List => "list",
            How::Literal => "literal",
            How::Words
            | How::Quoted
            | How::Part
            | How::Choice(_)
            | How::Example(_)
            | How::Known
            | How::Flag => shape(written),
        };
        sink.add(&["shape", shape, self.kind]);
        for name in &self.field.name_terms {
            sink.add(&["shape", shape, "n", name]);
        }
        for told in self.field.description_terms.iter().take(6) {
            sink.add(&["shape", shape, "d", told]);
        }
        let overlaps = |tokens: &std::ops::Range<usize>| {
            tokens.start < candidate.tokens.end && candidate.tokens.start < tokens.end
        };
        let has_moment = page.moments.iter().any(|it| overlaps(&it.tokens));
        if has_moment && candidate.manner != How::Moment {
            sink.add(&["in-moment", self.kind]);
        }
        if let Some((tokens, _)) = page.quoted.iter().find(|(tokens, _)| overlaps(tokens)) {
            let is_same = *tokens == candidate.tokens;
            sink.add(&["quoted", if is_same { "same" } else { "part" }, how(candidate.manner)]);
        }
        let is_example = self.field.examples.iter().any(|it| it.eq_ignore_ascii_case(written));
        if is_example {
            sink.add(&["example", self.kind]);
        } else if let Some(example) = self.field.examples.first() {
            let is_alike = shape == shape_of_example(example);
            sink.add(&["example-alike", if is_alike { "yes" } else { "no" }, shape]);
        }
        if self
            .field
            .format
            .is_some_and(|format| matches!(format, Format::Date | Format::DateTime | Format::Time))
        {
            sink.add(&["dated", how(candidate.manner)]);
        }
        shape
    }

    fn number(&self, candidate: &Candidate, sink: &mut Sink<'_>) -> &'static str {
        let page = self.page;
        let Some((at, quantity)) = page.quantities.iter().find(|(at, _)| *at == candidate.tokens.start)
        else {
            return "number";
        };
        let manner = match quantity.manner {
            Manner::Digits => "digits",
            Manner::Words => "spoken",
            Manner::Ordinal => "ordinal",
            Manner::Percent => "percent",
            Manner::Money => "money",
        };
        sink.add(&["number", manner, how(candidate.manner), self.kind]);
        let next = page.tokens.get(at + quantity.tokens).map_or("", |it| it.term.as_str());
        let suffix = if quantity.suffix.is_empty() { next } else { quantity.suffix.as_str() };
        let is_own = |word: &str| {
            !word.is_empty()
                && (self.field.name_terms.iter().any(|it| it == word)
                    || self.field.description_terms.iter().any(|it| it == word))
        };
        sink.add(&[
            "unit",
            if is_own(suffix) || is_own(next) { "own" } else { "none" },
            how(candidate.manner),
        ]);
        if let Some(unit) = quantity.unit {
            let is_timed = self
                .field
                .description_terms
                .iter()
                .chain(&self.field.name_terms)
                .any(|it| Unit::named(it).is_some_and(|it| it == unit));
            sink.add(&["time-unit", if is_timed { "same" } else { "other" }, how(candidate.manner)]);
        }
        if let Some(place) = self.place {
            let free = page
                .quantities
                .iter()
                .filter(|(at, _)| !page.moments.iter().any(|it| it.tokens.contains(at)));
            let own = free.clone().position(|(it, _)| it == at);
            sink.add(&["order", if own == Some(place) { "same" } else { "other" }]);
        }
        if quantity.manner == Manner::Words && quantity.value <= 1.0 {
            sink.add(&["number", "one", self.kind]);
        }
        manner
    }

    /// How much of the text a value takes, and whether it begins and ends where things begin and end.
    pub(super) fn extent(&self, candidate: &Candidate, sink: &mut Sink<'_>) {
        let (page, tokens) = (self.page, &candidate.tokens);
        let inside = &page.roles[tokens.clone()];
        sink.add(&["length", length(tokens.len()), self.kind]);
        for name in &self.field.name_terms {
            sink.add(&["length", length(tokens.len()), "n", name]);
        }
        if candidate.manner == How::List {
            let count = candidate.value.as_array().map_or(0, Vec::len);
            sink.add(&["items", few(count)]);
            let per_item = tokens.len() / count.max(1);
            sink.add(&["item-length", few(per_item)]);
        }
        if candidate.manner != How::Words {
            return;
        }
        let sentence = self.sentence(tokens.start);
        let ends = tokens.end >= sentence.end
            || page.roles[tokens.end..sentence.end.max(tokens.end)].iter().all(|it| *it == Role::Mark);
        sink.add(&[
            "ends",
            if ends {
                "sentence"
            } else if page.roles[tokens.end] == Role::Mark {
                "mark"
            } else {
                "open"
            },
            length(tokens.len()),
        ]);
        let begins = if tokens.start == sentence.start {
            "sentence"
        } else if page.roles[tokens.start - 1] == Role::Mark {
            "mark"
        } else {
            "open"
        };
        sink.add(&["begins", begins, self.kind]);
        sink.add(&["whole", begins, if ends { "sentence" } else { "open" }, "n", self.field.head()]);
        if page.is_crossed(tokens) {
            sink.add(&["crossed", self.kind]);
            sink.add(&["crossed", "n", self.field.head()]);
        }
        let marks = inside.iter().filter(|it| **it == Role::Mark).count();
        sink.add(&["marks", few(marks), length(tokens.len())]);
        let small = inside.iter().filter(|it| **it == Role::Small).count();
        sink.add(&["small", few(small), length(tokens.len())]);
        let has_verb = inside.contains(&Role::Verb);
        if has_verb {
            sink.add(&[
                "verb",
                if inside[0] == Role::Verb { "first" } else { "inside" },
                length(tokens.len()),
            ]);
        }
        // A name goes on as long as its words have capitals.
        let is_capital = |at: usize| page.tokens.get(at).is_some_and(|it| it.is_capital && !it.is_start);
        let is_joint = |at: usize| page.tokens.get(at).is_some_and(|it| it.lower == "&");
        let own = page.tokens[tokens.clone()].iter().filter(|it| it.is_capital).count();
        if own > 0 {
            let cut_before = tokens.start > 0 && is_capital(tokens.start - 1)
                || tokens.start > 1 && is_joint(tokens.start - 1) && is_capital(tokens.start - 2);
            let cut_behind = is_capital(tokens.end) || is_joint(tokens.end) && is_capital(tokens.end + 1);
            sink.add(&[
                "capitals",
                if cut_before || cut_behind { "cut" } else { "whole" },
                share(own, tokens.len()),
                self.kind,
            ]);
        }
        let counts = page.quantities.iter().any(|(at, _)| tokens.contains(at));
        if counts && tokens.len() > 1 {
            sink.add(&["counts", self.kind]);
        }
    }

    /// The tokens of the sentence around a token.
    pub(super) fn sentence(&self, at: usize) -> std::ops::Range<usize> {
        let tokens = &self.page.tokens;
        let start = (0..=at).rev().find(|it| tokens[*it].is_start).unwrap_or(0);
        let end = (at + 1..tokens.len()).find(|it| tokens[*it].is_start).unwrap_or(tokens.len());
        start..end
    }
}

/// What a text looks like.
fn shape(text: &str) -> &'static str {
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
