//! Values that belong to another field, or to no field at all.

use std::ops::Range;

use serde_json::Value;

use super::super::codes;
use super::super::request::Role;
use super::super::token::{Token, is_within};
use super::{Collector, Origin};
use crate::form::{Field, Kind, is_zone};
use crate::lexicon::{Lexicon, file_format, split_ending};
use crate::tool::vocabulary::vocabulary;

impl Collector<'_> {
    /// Whether a value is for another field: a tag or a word such as `to` is no path and a time no time zone, however
    /// near they stand, what comes from somewhere does not go there, and `the sheet Q1` has no value but `Q1`.
    pub(super) fn belongs_elsewhere(&self, value: &Value, tokens: &Range<usize>, origin: Origin) -> bool {
        if tokens.is_empty() {
            return false;
        }
        let text = value.as_str().unwrap_or_default();
        let is_small = tokens.len() == 1 && self.request.roles[tokens.start] == Role::Small;
        self.field.is_for_paths() && (text.starts_with(['#', '@']) || is_small && origin != Origin::Quoted)
            || origin != Origin::Quoted && self.has_mark_of_name(text)
            || self.field.is_for_zones() && origin != Origin::Quoted && !self.may_be_zone(text, tokens)
            || !self.field.is_for_zones() && self.hides_zone(tokens)
            || self.bound.is_some_and(|bound| self.request.denies(bound, tokens))
            || self.field.is_for_paths() && self.has_format_of_other(text)
            || origin == Origin::Words && (self.names_other(tokens) || self.begins_with_name(tokens))
    }

    /// Whether a value begins with a mark that the name of the field already says: of `#robots` a field `tags` takes
    /// `robots`.
    fn has_mark_of_name(&self, text: &str) -> bool {
        let mark = text.chars().next().filter(|mark| text.len() > mark.len_utf8());
        let name = mark.and_then(|mark| vocabulary().marks.get(mark.encode_utf8(&mut [0; 4]) as &str));
        name.is_some_and(|name| self.field.head() == name)
    }

    /// Whether a value is a part of JSON that is meant as a whole.
    pub(super) fn is_part_of_literal(&self, bytes: &Range<usize>) -> bool {
        let is_text = self.field.kind == Kind::Text && !self.field.is_list;
        let holds = |it: &Range<usize>| (is_text || it != bytes) && is_within(bytes, it);
        !bytes.is_empty() && self.literals.iter().any(holds)
    }

    /// Whether words begin with what a field named after a verb is for, and go on: of `add the tag robots` a field
    /// `add`, described as tags to add, takes `robots`.
    fn begins_with_name(&self, tokens: &Range<usize>) -> bool {
        let first = tokens.clone().find(|at| self.request.roles[*at] != Role::Small);
        let is_deed = Lexicon::builtin().verb(self.field.head()).is_some();
        let is_meant = |at: usize| {
            let token = &self.request.tokens[at];
            !token.is_capital && self.field.description_terms.first() == Some(&token.term)
        };
        is_deed && first.is_some_and(|at| at + 1 < tokens.end && is_meant(at))
    }

    /// Whether the ending of a file says that it is for another field: `a.csv` is for `csv_path`.
    fn has_format_of_other(&self, text: &str) -> bool {
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
    fn names_other(&self, tokens: &Range<usize>) -> bool {
        let token = &self.request.tokens[tokens.start];
        let is_name = |it: &Field| it.path != self.field.path && it.head() == token.term;
        let behind = self.request.roles.get(tokens.end);
        tokens.len() == 1
            && matches!(behind, Some(Role::Word | Role::Digits))
            && !token.is_capital
            && token.lower.chars().all(char::is_alphabetic)
            && self.form.fields().iter().any(is_name)
    }

    /// Whether a text names a time zone or a place.
    fn may_be_zone(&self, text: &str, tokens: &Range<usize>) -> bool {
        let named = &self.request.tokens[tokens.clone()];
        let is_name = |token: &Token| token.is_capital && token.lower.chars().all(char::is_alphabetic);
        is_zone(text) || codes::is_city_or_country(named) || named.iter().all(is_name) && !named[0].is_start
    }

    /// Whether a time goes on with a place that another field takes, as in `9am London`.
    fn hides_zone(&self, tokens: &Range<usize>) -> bool {
        let request = self.request;
        let named = &request.tokens[tokens.clone()];
        let is_time = request.moments.iter().any(|it| it.time.is_some() && it.tokens.start == tokens.start);
        let keeps_time = |at: usize| {
            is_zone(&request.text[named[at].at.clone()]) || codes::is_city_or_country(&named[at..])
        };
        is_time && self.form.fields().iter().any(Field::is_for_zones) && (1..named.len()).any(keeps_time)
    }
}
