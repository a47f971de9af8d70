//! What speaks for a value of a field and against it, as named features that a scorer weighs.

mod bound; // whether it is an end of a range
mod look; //  what a value looks like
mod near; //  the words around it
mod words; // the names of what features are made of

use std::collections::HashMap;

use serde_json::Value;

use super::candidate::{Candidate, How, Likeness};
use super::page::{Page, Role};
use crate::form::{Field, Form, Kind};
use words::{few, how, kind, share};

/// Takes features in: as numbers, and with their names where somebody wants to know them.
pub(super) struct Sink<'n> {
    pub(super) ids: Vec<u64>,
    pub(super) names: Option<&'n mut HashMap<u64, String>>,
}

impl Sink<'_> {
    fn add(&mut self, parts: &[&str]) {
        let id = feature_id(parts);
        self.ids.push(id);
        if let Some(names) = &mut self.names {
            names.entry(id).or_insert_with(|| parts.join("|"));
        }
    }
}

/// The number of a feature: the same for its parts as for its whole name.
pub(super) fn feature_id(parts: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            take(b'|');
        }
        part.bytes().for_each(&mut take);
    }
    hash
}

/// What is the same for all values of a field.
pub(super) struct Setting<'a> {
    form: &'a Form,
    field: &'a Field,
    page: &'a Page<'a>,
    kind: &'static str,
    /// The place of the field among those of its kind, when the text has as many values as there are fields.
    place: Option<usize>,
    /// For each token, whether it ends the name of the field, written in one word or several.
    spelt: Vec<bool>,
    /// For each token, whether it begins like a word of the name, as it would in a related language.
    kin: Vec<bool>,
}

/// Words that turn a meaning around.
const NEGATIONS: [&str; 28] = [
    "not",
    "no",
    "don't",
    "dont",
    "without",
    "w/o",
    "never",
    "skip",
    "exclude",
    "excluding",
    "disable",
    "off",
    "isn't",
    "doesn't",
    "nicht",
    "kein",
    "keine",
    "ohne",
    "sans",
    "pas",
    "sin",
    "sem",
    "senza",
    "zonder",
    "без",
    "bez",
    "except",
    "leave",
];
/// Tokens before a word in which it can be turned around.
const NEAR: usize = 4;

impl<'a> Setting<'a> {
    pub(super) fn new(form: &'a Form, field: &'a Field, page: &'a Page<'a>) -> Self {
        let is_counted = |it: &Field| {
            matches!(it.kind, Kind::Whole | Kind::Number) && !it.is_list && it.choices.is_empty()
        };
        let like: Vec<&Field> = form.fields().iter().filter(|it| is_counted(it)).collect();
        let own = like.iter().position(|it| it.path == field.path);
        let free = page
            .quantities
            .iter()
            .filter(|(at, _)| !page.moments.iter().any(|it| it.tokens.contains(at)))
            .count();
        let required = like.iter().filter(|it| it.is_required).count();
        let place = own.filter(|_| free == like.len() || free == required && field.is_required);
        Self {
            form,
            field,
            page,
            kind: kind(field),
            place,
            spelt: near::spelt(field, page),
            kin: near::kin(field, page),
        }
    }

    /// The features of leaving a field out.
    pub(super) fn absent(&self, sink: &mut Sink<'_>) {
        let (field, page) = (self.field, self.page);
        let needed = if field.is_required { "must" } else { "may" };
        sink.add(&["no", self.kind, needed]);
        sink.add(&["no", "head", field.head()]);
        sink.add(&["no", "head", field.head(), needed]);
        if field.default.is_some() {
            sink.add(&["no", "default", self.kind]);
        }
        let named =
            field.name_terms.iter().filter(|name| page.tokens.iter().any(|it| it.term == **name)).count();
        sink.add(&["no", "named", share(named, field.name_terms.len()), needed]);
        sink.add(&["no", "fields", few(self.form.fields().len()), needed]);
        if field.path.len() > 1 {
            sink.add(&["no", "deep", needed]);
        }
        let is_number = matches!(field.kind, Kind::Whole | Kind::Number);
        if is_number {
            let count = page.quantities.len();
            sink.add(&["no", "numbers", few(count), needed]);
        }
        let words = page.tokens.len();
        sink.add(&[
            "no",
            "length",
            if words < 8 {
                "short"
            } else if words < 25 {
                "middle"
            } else {
                "long"
            },
            self.kind,
        ]);
        if !page.quoted.is_empty() && field.kind == Kind::Text {
            sink.add(&["no", "quoted", needed]);
        }
        if field.description_terms.iter().any(|it| it == "option" || it == "default") {
            sink.add(&["no", "says-optional", self.kind]);
        }
    }

    /// The features of a value.
    pub(super) fn present(&self, candidate: &Candidate, sink: &mut Sink<'_>) {
        sink.add(&["how", how(candidate.manner), self.kind]);
        match candidate.manner {
            How::Flag => self.flag(candidate, sink),
            How::Choice(likeness) | How::Example(likeness) => self.choice(likeness, candidate, sink),
            How::Words
            | How::Quoted
            | How::Part
            | How::Number
            | How::Converted
            | How::Moment
            | How::Known
            | How::List
            | How::Literal => {}
        }
        if candidate.tokens.is_empty() {
            return;
        }
        let shape = self.shape(candidate, sink);
        self.surroundings(candidate, shape, sink);
        self.cues(candidate, shape, sink);
        self.bounds(candidate, sink);
        self.extent(candidate, sink);
    }

    fn flag(&self, candidate: &Candidate, sink: &mut Sink<'_>) {
        let is_yes =
            candidate.value.as_bool().or_else(|| candidate.value.as_str()?.to_lowercase().parse().ok());
        let said = if is_yes == Some(true) { "yes" } else { "no" };
        let page = self.page;
        let is_said = |term: &String| {
            page.tokens
                .iter()
                .position(|it| it.term == *term)
                .or_else(|| page.english.iter().position(|it| it == term))
        };
        let telling: Vec<&String> = self
            .field
            .name_terms
            .iter()
            .filter(|it| {
                !["is", "has", "includ", "enabl", "should", "use", "only", "allow", "with"]
                    .contains(&it.as_str())
            })
            .collect();
        let hits: Vec<usize> = telling.iter().filter_map(|it| is_said(it)).collect();
        let negated = hits.iter().any(|at| {
            let from = at.saturating_sub(NEAR);
            page.tokens
                .get(from..*at)
                .is_some_and(|it| it.iter().any(|it| NEGATIONS.contains(&it.lower.as_str())))
        });
        let turned = if negated { "not" } else { "plain" };
        sink.add(&["flag", said, share(hits.len(), telling.len()), turned]);
        let told = self.field.description_terms.iter().filter(|it| is_said(it).is_some()).count();
        sink.add(&["flag", said, "told", few(told), turned]);
        let default = match &self.field.default {
            Some(Value::Bool(true)) => "yes",
            Some(Value::Bool(false)) => "no",
            _ => "none",
        };
        sink.add(&["flag", said, "default", default]);
        sink.add(&["flag", said, "head", self.field.head(), few(hits.len())]);
        let has_negation = page.tokens.iter().any(|it| NEGATIONS.contains(&it.lower.as_str()));
        sink.add(&["flag", said, if has_negation { "negation" } else { "none" }, few(hits.len())]);
        if self.field.is_required {
            sink.add(&["flag", said, "must"]);
        }
    }

    fn choice(&self, likeness: Likeness, candidate: &Candidate, sink: &mut Sink<'_>) {
        let like = match likeness {
            Likeness::Related => "related",
            Likeness::Partial => "partial",
            Likeness::Translated => "translated",
            Likeness::Stem => "stem",
            Likeness::Exact => "exact",
        };
        let needed = if self.field.is_required { "must" } else { "may" };
        sink.add(&["choice", like, needed]);
        sink.add(&["choice", like, few(self.field.choices.len())]);
        if self.field.default.as_ref() == Some(&candidate.value) {
            sink.add(&["choice", like, "default"]);
        }
        let text = candidate.value.as_str().unwrap_or_default();
        sink.add(&["choice", like, "size", few(text.len())]);
        if candidate.tokens.len() == 1 && self.page.roles[candidate.tokens.start] == Role::Small {
            sink.add(&["choice", like, "small"]);
        }
        if candidate.tokens.len() == 1 && self.page.roles[candidate.tokens.start] == Role::Verb {
            sink.add(&["choice", like, "verb"]);
        }
    }
}
