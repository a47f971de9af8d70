//! What speaks for a value of a field and against it, as named features that a scorer weighs.

mod names; //   how features name what they are made of
mod shape; //   what a value looks like
mod extent; //  how much of the text it takes
mod context; // the words around it
mod range; //   whether it is a bound of a range

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use serde_json::Value;

use super::candidate::{Candidate, Origin, Similarity};
use super::request::{ParsedRequest, Role};
use super::weights::feature_id;
use crate::form::{Field, Form, Kind};
use crate::language::NEGATIONS;
use crate::text::with_terms;
use crate::tool::vocabulary::vocabulary;
pub(super) use names::{few, kind};
use names::{length_of_request, origin, share, similarity};
pub(super) use shape::shape;

/// The features of one value: as numbers, and with their names where somebody wants to know them.
pub(super) struct Features<'n> {
    pub(super) ids: Vec<u64>,
    pub(super) names: Option<&'n mut HashMap<u64, String>>,
}

impl Features<'_> {
    pub(super) fn add(&mut self, parts: &[&str]) {
        let id = feature_id(parts);
        self.ids.push(id);
        if let Some(names) = &mut self.names {
            names.entry(id).or_insert_with(|| parts.join("|"));
        }
    }
}

/// Extracts the features of the values of one field.
pub(super) struct Extractor<'a> {
    form: &'a Form,
    pub(super) field: &'a Field,
    pub(super) request: &'a ParsedRequest<'a>,
    kind: &'static str,
    /// Whether the field is required, as features name it.
    needed: &'static str,
    /// The place of the field among those of its kind, when the text has as many values as there are fields.
    place: Option<usize>,
    /// For each token, whether it ends the name of the field, written in one word or several.
    spelt: Vec<bool>,
    /// For each token, whether it begins like a word of the name, as it would in a related language.
    kin: Vec<bool>,
}

/// Words of flags that do not tell what is switched, as terms.
static FLAGS: LazyLock<HashSet<String>> = LazyLock::new(|| with_terms(&vocabulary().parameters.flags));
/// Tokens before a word in which it can be turned around.
const NEAR: usize = 4;

impl<'a> Extractor<'a> {
    pub(super) fn new(form: &'a Form, field: &'a Field, request: &'a ParsedRequest<'a>) -> Self {
        let is_counted = |it: &&Field| {
            matches!(it.kind, Kind::Whole | Kind::Number) && !it.is_list && it.choices.is_empty()
        };
        let like: Vec<&Field> = form.fields().iter().filter(is_counted).collect();
        let own = like.iter().position(|it| it.path == field.path);
        let count = request.bare_quantities().count();
        let required = like.iter().filter(|it| it.is_required).count();
        Self {
            form,
            field,
            request,
            kind: kind(field),
            needed: if field.is_required { "must" } else { "may" },
            place: own.filter(|_| count == like.len() || count == required && field.is_required),
            spelt: context::spelt(field, request),
            kin: context::kin(field, request),
        }
    }

    /// The features of leaving a field out.
    pub(super) fn absent(&self, features: &mut Features<'_>) {
        let (field, request, needed) = (self.field, self.request, self.needed);
        features.add(&["no", self.kind, needed]);
        features.add(&["no", "head", field.head()]);
        features.add(&["no", "head", field.head(), needed]);
        if field.default.is_some() {
            features.add(&["no", "default", self.kind]);
        }
        let is_named = |name: &&String| request.tokens.iter().any(|it| it.term == **name);
        let named = field.name_terms.iter().filter(is_named).count();
        features.add(&["no", "named", share(named, field.name_terms.len()), needed]);
        features.add(&["no", "fields", few(self.form.fields().len()), needed]);
        if field.path.len() > 1 {
            features.add(&["no", "deep", needed]);
        }
        if matches!(field.kind, Kind::Whole | Kind::Number) {
            features.add(&["no", "numbers", few(request.quantities.len()), needed]);
        }
        features.add(&["no", "length", length_of_request(request.tokens.len()), self.kind]);
        if !request.quoted.is_empty() && field.kind == Kind::Text {
            features.add(&["no", "quoted", needed]);
        }
        if field.description_terms.iter().any(|it| it == "option" || it == "default") {
            features.add(&["no", "says-optional", self.kind]);
        }
    }

    /// The features of a value.
    pub(super) fn present(&self, candidate: &Candidate, features: &mut Features<'_>) {
        features.add(&["how", origin(candidate.origin), self.kind]);
        if candidate.origin == Origin::Flag {
            self.flag(candidate, features);
        } else if let Origin::Choice(similarity) | Origin::Example(similarity) = candidate.origin {
            self.choice(similarity, candidate, features);
        }
        if candidate.tokens.is_empty() {
            return;
        }
        let shape = self.shape(candidate, features);
        self.surroundings(candidate, shape, features);
        self.cues(candidate, shape, features);
        self.bounds(candidate, features);
        self.extent(candidate, features);
    }

    fn flag(&self, candidate: &Candidate, features: &mut Features<'_>) {
        let is_yes =
            candidate.value.as_bool().or_else(|| candidate.value.as_str()?.to_lowercase().parse().ok());
        let value = if is_yes == Some(true) { "yes" } else { "no" };
        let request = self.request;
        let is_negation = |at: usize| NEGATIONS.has(&request.tokens[at].lower);
        let place = |term: &String| {
            let own = request.tokens.iter().position(|it| it.term == *term);
            own.or_else(|| request.english.iter().position(|it| it == term))
        };
        let names = self.field.name_terms.iter().filter(|it| !FLAGS.contains(*it));
        let hits: Vec<usize> = names.clone().filter_map(place).collect();
        let negated = hits
            .iter()
            .any(|at| *at <= request.tokens.len() && (at.saturating_sub(NEAR)..*at).any(is_negation));
        let turned = if negated { "not" } else { "plain" };
        features.add(&["flag", value, share(hits.len(), names.count()), turned]);
        let described = self.field.description_terms.iter().filter(|it| request.has_term(it)).count();
        features.add(&["flag", value, "told", few(described), turned]);
        let default = match &self.field.default {
            Some(Value::Bool(true)) => "yes",
            Some(Value::Bool(false)) => "no",
            _ => "none",
        };
        features.add(&["flag", value, "default", default]);
        features.add(&["flag", value, "head", self.field.head(), few(hits.len())]);
        let negation = if (0..request.tokens.len()).any(is_negation) { "negation" } else { "none" };
        features.add(&["flag", value, negation, few(hits.len())]);
        if self.field.is_required {
            features.add(&["flag", value, "must"]);
        }
    }

    fn choice(&self, like: Similarity, candidate: &Candidate, features: &mut Features<'_>) {
        let like = similarity(like);
        features.add(&["choice", like, self.needed]);
        features.add(&["choice", like, few(self.field.choices.len())]);
        if self.field.default.as_ref() == Some(&candidate.value) {
            features.add(&["choice", like, "default"]);
        }
        let size = candidate.value.as_str().map_or(0, str::len);
        features.add(&["choice", like, "size", few(size)]);
        match self.request.roles[candidate.tokens.clone()] {
            [Role::Small] => features.add(&["choice", like, "small"]),
            [Role::Verb] => features.add(&["choice", like, "verb"]),
            _ => {}
        }
    }
}
