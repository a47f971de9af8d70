//! Values that a caller names in words of its own, and the fields that they are for.
//!
//! A caller that does not know the schema says `{"file": "a.md", "lines": 20}`; the tool takes `path` and `head`. Every
//! value is tried in every field that can take it, in the form that the schema wants; learnt weights say how well the two
//! go together, and all values are placed at once. What has no place is said to be unused.

mod conversion; // how a value had to be changed
mod entry; //      the values, one by one
mod measure; //    units
mod number; //     a text that says a number
mod convert; //    a value in the form that a field takes
mod relation; //   how the names of values and of fields relate
mod table; //      lists of objects

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::argument::{Argument, Evidence, Filling, Source};
use super::assignment::{Assigned, Assignment};
use super::features::{Features, few, kind, shape};
use super::reading;
use super::repository::{halves, is_owned};
use super::sources::{Named, Nearness, Now, Sources};
use super::weights::FeatureWeights;
use crate::form::{Field, Form, Kind};
use crate::text::terms;
use crate::thresholds::thresholds;
use crate::tool::vocabulary::vocabulary;
use conversion::Conversion;
use convert::converted;
use entry::{Entry, entries, type_of};
use relation::{Relation, bucket};
use table::tables;

pub use entry::{field_names, value_names};

/// What one value could fill, for fitting weights: each place with the value that it would get, and its features.
#[derive(Clone, Debug)]
pub struct ValueFeatures {
    /// The features of having no place.
    pub unused: Vec<u64>,
    /// The places: what each of their parameters' fields would get, and the features.
    pub options: Vec<PlaceFeatures>,
}

/// One place: what each of its fields gets, by its path, and the features.
pub type PlaceFeatures = (Vec<(Vec<String>, Value)>, Vec<u64>);

/// Where a value may go.
struct Place {
    /// What each field gets.
    fields: Vec<(usize, Value)>,
    /// The whole value of a parameter that is a list of objects.
    table: Option<(String, Value)>,
    conversion: Conversion,
}

/// A value and the places that it may have, the likeliest first.
struct Options<'e> {
    entry: &'e Entry<'e>,
    unused: f64,
    places: Vec<(f64, Place)>,
}

/// Places of one value that are tried together with those of others.
const MOST_TRIED: usize = 8;
/// Sets of places that are kept at the same time.
const WIDTH: usize = 24;
/// Words of a value that are looked for in what a tool says of itself.
const MOST_SAID: usize = 8;

/// What became of the values that the caller named.
#[derive(Debug, Default)]
pub(super) struct Placed {
    /// The names of those that have no place.
    unused: Vec<String>,
    /// The names of the others, each with the parameters that it is part of.
    used: Vec<(String, Vec<String>)>,
}

impl Placed {
    /// Returns the names of the values that no argument has.
    pub(super) fn unused(self, arguments: &[Argument]) -> Vec<String> {
        let is_sent = |parameter: &String| arguments.iter().any(|it| it.name == *parameter);
        let lost = self.used.into_iter().filter(|(_, parameters)| !parameters.iter().all(is_sent));
        self.unused.into_iter().chain(lost.map(|(name, _)| name)).collect()
    }
}

/// Gives fields the values that the caller named.
pub(super) fn place(assignment: &mut Assignment<'_>, weights: &FeatureWeights) -> Placed {
    let Some(placer) = Placer::new(assignment.form, assignment.sources) else { return Placed::default() };
    let is_open = |at: usize| !assignment.is_given(at);
    let options: Vec<Options<'_>> =
        (0..placer.entries.len()).map(|at| placer.options(at, weights, &is_open)).collect();
    let chosen = best(&options);
    let (mut unused, mut used) = (Vec::new(), Vec::new());
    for (at, choice) in chosen.iter().enumerate() {
        let own = &options[at];
        let Some(choice) = *choice else {
            if !is_said_anyway(assignment, own.entry) {
                unused.push(own.entry.name());
            }
            continue;
        };
        let (score, place) = &own.places[choice];
        // What others took was no choice any more.
        let is_free = |place: &Place| {
            let others = chosen.iter().enumerate().filter(|(other, _)| *other != at);
            let mut taken = others.filter_map(|(other, choice)| Some(&options[other].places[(*choice)?].1));
            !taken.any(|taken| collide(taken, place))
        };
        let free = own.places.iter().filter(|(_, place)| is_free(place)).map(|(score, _)| score.exp());
        let confidence = score.exp() / (free.sum::<f64>() + own.unused.exp());
        // Whether the first thing is 0 or 1, a number that is called otherwise does not say.
        let is_counted = place.fields.iter().any(|(at, value)| {
            let head = assignment.form.fields()[*at].head();
            let is_called_so = own.entry.terms.iter().any(|term| term == head);
            value.is_u64() && !is_called_so && vocabulary().parameters.counted.contains(head)
        });
        // A field that may be left out has no need of what is called otherwise.
        let is_unnamed = place.table.is_none() && !place.fields.is_empty() && {
            let is_it = |(at, _): &(usize, Value)| {
                let field = &assignment.form.fields()[*at];
                !field.is_required && Relation::of(assignment.form, field, own.entry) == Relation::None
            };
            place.fields.iter().all(is_it)
        };
        // A flag may as well be the opposite of one that is called a little otherwise: `mop` and `noMop`.
        let is_turned = place.fields.iter().any(|(at, value)| {
            let field = &assignment.form.fields()[*at];
            value.is_boolean() && Relation::of(assignment.form, field, own.entry) < Relation::AlmostSame
        });
        let is_unsure = is_counted || is_turned || place.conversion == Conversion::Bare;
        let confidence =
            if is_unsure { confidence.min(thresholds().arguments.only_place) } else { confidence };
        // A no is not worth a guess.
        if *own.entry.value == Value::Bool(false) && confidence < thresholds().arguments.implied {
            if !is_said_anyway(assignment, own.entry) {
                unused.push(own.entry.name());
            }
            continue;
        }
        let evidence = if is_unnamed { Evidence::Prose } else { place.conversion.evidence() };
        let parameters = place.fields.iter().map(|(at, _)| assignment.form.fields()[*at].parameter());
        let tables = place.table.iter().map(|(parameter, _)| parameter.as_str());
        used.push((own.entry.name(), parameters.chain(tables).map(str::to_owned).collect()));
        let assigned = |value: &Value| Assigned::unsaid(value.clone(), Source::Named, confidence, evidence);
        for (field, value) in &place.fields {
            assignment.values[*field] = Some(assigned(value));
        }
        if let Some((parameter, value)) = &place.table {
            assignment.tables.insert(parameter.clone(), assigned(value));
        }
    }
    leftover(assignment, &options, &mut unused);
    Placed { unused, used }
}

/// Sends values under the caller's names where a tool does not say what it takes.
pub(super) fn as_they_are(form: &Form, sources: &Sources<'_>, mut filling: Filling) -> Filling {
    if let Some(Named { values, .. }) = sources.named.filter(|_| form.is_unlisted()) {
        let (confidence, evidence) = (thresholds().arguments.only_place, Evidence::Prose);
        let is_new = |name: &str| !sources.given.contains_key(name);
        let own = values.iter().filter(|(name, value)| !value.is_null() && is_new(name.as_str()));
        filling.arguments.extend(own.map(|(name, value)| Argument {
            name: name.clone(),
            value: value.clone(),
            source: Source::Named,
            confidence,
            evidence,
        }));
        filling.unused.clear();
    }
    filling
}

/// Whether a value that has no place is nothing that could get lost: a no, or what the action says and the tool does in
/// any case.
fn is_said_anyway(assignment: &Assignment<'_>, entry: &Entry<'_>) -> bool {
    match entry.value {
        // It does get lost where something is done unless one says no.
        Value::Bool(is_wanted) => {
            let is_done_anyway = |at: usize| {
                let field = &assignment.form.fields()[at];
                assignment.is_open(at) && field.default == Some(Value::Bool(true))
            };
            !is_wanted && !(0..assignment.form.fields().len()).any(is_done_anyway)
        }
        Value::String(text) => {
            let said = terms(text, MOST_SAID);
            let action = terms(assignment.sources.task, MOST_SAID * MOST_SAID);
            let is_done = |it: &String| assignment.form.tool_terms.contains(it) && action.contains(it);
            !said.is_empty() && said.iter().all(is_done)
        }
        Value::Null => true,
        Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Gives the one value that is left to the one field that is needed, whatever their names.
fn leftover(assignment: &mut Assignment<'_>, options: &[Options<'_>], unused: &mut Vec<String>) {
    let fields = assignment.form.fields();
    let needed: Vec<usize> =
        (0..fields.len()).filter(|at| fields[*at].is_required && assignment.is_open(*at)).collect();
    let ([at], [name]) = (&needed[..], &unused[..]) else { return };
    let own = options.iter().find(|it| it.entry.name() == *name);
    let is_it = |place: &&Place| matches!(&place.fields[..], [(field, _)] if field == at);
    let place = own.and_then(|own| own.places.iter().map(|(_, place)| place).find(is_it));
    if let Some(Place { fields, .. }) = place {
        let (value, confidence) = (fields[0].1.clone(), thresholds().arguments.only_place);
        let assigned = Assigned::unsaid(value, Source::Named, confidence, Evidence::Prose);
        assignment.values[*at] = Some(assigned);
        unused.clear();
    }
}

/// Lists what every value could fill; the names of features are added to `names`.
pub fn value_features(
    form: &Form,
    sources: &Sources<'_>,
    names: &mut HashMap<u64, String>,
) -> Vec<ValueFeatures> {
    let Some(placer) = Placer::new(form, sources) else { return Vec::new() };
    let mut all = Vec::new();
    for at in 0..placer.entries.len() {
        let mut features = Features { ids: Vec::new(), names: Some(&mut *names) };
        let (places, relations) = (placer.places(at, &|_| true), placer.relations(at));
        relations.unused(&places, &mut features);
        let unused = std::mem::take(&mut features.ids);
        let options = places.into_iter().map(|place| {
            relations.placed(&place, &mut features);
            let own = place.fields.into_iter().map(|(at, value)| (form.fields()[at].path.clone(), value));
            let table = place.table.into_iter().map(|(parameter, value)| (vec![parameter], value));
            (own.chain(table).collect(), std::mem::take(&mut features.ids))
        });
        all.push(ValueFeatures { unused, options: options.collect() });
    }
    all
}

/// Returns a value that is given to a parameter under its own name, in the form that it takes; `None` where it has none.
pub fn taken(form: &Form, name: &str, value: &Value, now: Now) -> Option<Value> {
    let is_it = |field: &&Field| matches!(&field.path[..], [own] if own == name);
    let field = form.fields().iter().find(is_it);
    let converted = field.and_then(|field| converted(form, field, &Entry::new(vec![name], value), now));
    let as_it_is = || {
        let retyped = form.retyped(name, value.clone());
        let alone = Map::from_iter([(name.to_owned(), retyped.clone())]);
        form.admits_part(&alone).then_some(retyped)
    };
    converted.map(|(value, _)| value).or_else(as_it_is)
}

/// Says an action and values in words, as the argument reader sees them: every value behind its name.
pub fn spoken(task: &str, values: &Map<String, Value>) -> String {
    let written = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    values.iter().fold(task.to_owned(), |text, (name, value)| format!("{text}\n{name}: {}", written(value)))
}

/// The values that are to be placed.
struct Placer<'a> {
    form: &'a Form,
    sources: &'a Sources<'a>,
    entries: Vec<Entry<'a>>,
    nearness: Option<&'a Nearness>,
    /// What the reader saw.
    text: String,
}

impl<'a> Placer<'a> {
    fn new(form: &'a Form, sources: &'a Sources<'a>) -> Option<Self> {
        let Named { values, nearness } = sources.named?;
        let text = spoken(sources.task, values);
        Some(Self { form, sources, entries: entries(form, values), nearness, text })
    }

    /// Returns how likely the reader finds it that a field has a value; a logarithm, 0 where it was not asked.
    fn read(&self, place: &Place, entry: &Entry<'_>) -> f64 {
        let one = |(at, value): &(usize, Value)| {
            let reading = self.sources.reading_of_values(*at)?;
            Some(reading::value_belief(reading, &self.form.fields()[*at], (&self.text, entry.value), value))
        };
        place.fields.iter().filter_map(one).sum()
    }

    fn relations(&self, at: usize) -> Relations<'_> {
        let (form, entry) = (self.form, &self.entries[at]);
        let cosines = self.nearness.and_then(|it| it.cosines.get(at)).map_or(&[][..], Vec::as_slice);
        let relations = form.fields().iter().map(|field| Relation::of(form, field, entry)).collect();
        Relations { form, entry, cosines, relations }
    }

    /// Scores the places of one value.
    fn options(&self, at: usize, weights: &FeatureWeights, is_open: &dyn Fn(usize) -> bool) -> Options<'_> {
        let (mut places, relations) = (self.places(at, is_open), self.relations(at));
        if let Some(own) = places.iter().position(|it| self.is_repository(at, it)) {
            let sure = thresholds().arguments.repository;
            let only = vec![(sure.ln(), places.swap_remove(own))];
            return Options { entry: &self.entries[at], unused: (1.0 - sure).ln(), places: only };
        }
        let mut features = Features { ids: Vec::new(), names: None };
        relations.unused(&places, &mut features);
        let unused = f64::from(weights.sum(&features.ids));
        let score = |place: Place| {
            features.ids.clear();
            relations.placed(&place, &mut features);
            let read = thresholds().values.read * self.read(&place, &self.entries[at]);
            (f64::from(weights.sum(&features.ids)) + read, place)
        };
        let mut scored: Vec<(f64, Place)> = places.into_iter().map(score).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        let most = scored.first().map_or(unused, |(score, _)| score.max(unused));
        let total: f64 =
            scored.iter().map(|(score, _)| (score - most).exp()).sum::<f64>() + (unused - most).exp();
        let logarithm = |score: f64| score - most - total.ln();
        scored.truncate(MOST_TRIED);
        let places = scored.into_iter().map(|(score, place)| (logarithm(score), place)).collect();
        Options { entry: &self.entries[at], unused: logarithm(unused), places }
    }

    /// Whether a value is `owner/name`, is called a repository, and is put into fields for the two.
    fn is_repository(&self, at: usize, place: &Place) -> bool {
        let name = self.entries[at].path.last();
        place.conversion == Conversion::Halves && name.is_some_and(|name| is_owned(name))
    }

    /// Returns every place that a value can have.
    fn places(&self, at: usize, is_open: &dyn Fn(usize) -> bool) -> Vec<Place> {
        let (form, entry) = (self.form, &self.entries[at]);
        let mut places: Vec<Place> = Vec::new();
        for (field, own) in form.fields().iter().enumerate().filter(|(field, _)| is_open(*field)) {
            if let Some((value, conversion)) = converted(form, own, entry, self.sources.now) {
                places.push(Place { fields: vec![(field, value)], table: None, conversion });
            }
        }
        let is_free = |parameter: &str| {
            let mut fields = form.fields().iter().enumerate();
            fields.all(|(at, field)| field.parameter() != parameter || is_open(at))
        };
        for table in tables(form, entry).into_iter().filter(|(parameter, _)| is_free(parameter)) {
            places.push(Place { fields: Vec::new(), table: Some(table), conversion: Conversion::Table });
        }
        let halves = halves(form, entry.value).filter(|it| it.iter().all(|(at, _)| is_open(*at)));
        if let Some(fields) = halves {
            // Neither half is the whole.
            places.retain(|it| !it.fields.iter().any(|(at, _)| fields.iter().any(|(half, _)| half == at)));
            places.push(Place { fields: fields.into(), table: None, conversion: Conversion::Halves });
        }
        places
    }
}

/// Returns the likeliest set of places in which no field is filled twice.
fn best(options: &[Options<'_>]) -> Vec<Option<usize>> {
    let mut beam: Vec<(f64, Vec<Option<usize>>)> = vec![(0.0, Vec::new())];
    for (at, own) in options.iter().enumerate() {
        let mut next = Vec::new();
        for (score, chosen) in &beam {
            let with = |choice: Option<usize>| [chosen.as_slice(), &[choice]].concat();
            next.push((score + own.unused, with(None)));
            for (choice, (logarithm, place)) in own.places.iter().enumerate() {
                let before = options[..at].iter().zip(chosen);
                let mut taken = before.filter_map(|(other, choice)| Some(&other.places[(*choice)?].1));
                if !taken.any(|taken| collide(taken, place)) {
                    next.push((score + logarithm, with(Some(choice))));
                }
            }
        }
        next.sort_by(|a, b| b.0.total_cmp(&a.0));
        next.truncate(WIDTH);
        beam = next;
    }
    beam.swap_remove(0).1
}

/// Whether two places cannot both be had.
fn collide(a: &Place, b: &Place) -> bool {
    let is_shared = a.fields.iter().any(|(own, _)| b.fields.iter().any(|(other, _)| own == other));
    let is_same = |table: &Option<(String, Value)>| table.as_ref().map(|(parameter, _)| parameter.clone());
    is_shared || a.table.is_some() && is_same(&a.table) == is_same(&b.table)
}

/// How one value relates to the fields of a form.
struct Relations<'a> {
    form: &'a Form,
    entry: &'a Entry<'a>,
    /// For each field how alike it and the name of the value are.
    cosines: &'a [[f32; 2]],
    relations: Vec<Relation>,
}

impl Relations<'_> {
    fn cosine(&self, at: usize, which: usize) -> Option<f32> {
        self.cosines.get(at).map(|it| it[which])
    }

    /// Whether a field is the nearest of all by its cosine.
    fn is_nearest(&self, at: usize, which: usize) -> bool {
        let own = self.cosine(at, which);
        own.is_some() && self.cosines.iter().all(|it| Some(it[which]) <= own)
    }

    /// The features of having no place.
    fn unused(&self, places: &[Place], features: &mut Features<'_>) {
        let own = type_of(self.entry.value);
        let fields = places.iter().flat_map(|place| &place.fields).map(|(at, _)| *at);
        let closest = fields.clone().map(|at| self.relations[at]).max().unwrap_or(Relation::None);
        features.add(&["none", own]);
        features.add(&["none", "places", few(places.len())]);
        features.add(&["none", "closest", closest.name()]);
        features.add(&["none", "closest", closest.name(), own]);
        if let Some(term) = self.entry.terms.last() {
            features.add(&["none", "head", term]);
        }
        for which in 0..2 {
            let nearest = fields.clone().filter_map(|at| self.cosine(at, which)).fold(f32::NAN, f32::max);
            features.add(&["none", "cosine", ["name", "all"][which], bucket(nearest)]);
        }
        if self.entry.is_part {
            features.add(&["none", "part"]);
        }
    }

    /// The features of a place.
    fn placed(&self, place: &Place, features: &mut Features<'_>) {
        let own = type_of(self.entry.value);
        let how = place.conversion.name();
        features.add(&["how", how, own]);
        if let Some((parameter, _)) = &place.table {
            let relation = Relation::of_names(parameter, self.entry);
            features.add(&["table", relation.name()]);
            features.add(&["table", own]);
            return;
        }
        for (at, value) in &place.fields {
            self.field(*at, value, place, features);
        }
    }

    fn field(&self, at: usize, value: &Value, place: &Place, features: &mut Features<'_>) {
        let (field, entry): (&Field, _) = (&self.form.fields()[at], self.entry);
        let (own, how) = (type_of(entry.value), place.conversion.name());
        let needed = if field.is_required { "must" } else { "may" };
        let relation = self.relations[at].name();
        features.add(&["field", kind(field), needed]);
        features.add(&["name", relation, needed]);
        features.add(&["name", relation, kind(field)]);
        features.add(&["how", how, own, kind(field)]);
        features.add(&["how", how, "name", relation]);
        let is_best = self.relations.iter().filter(|it| **it >= self.relations[at]).count();
        features.add(&["best", relation, few(is_best)]);
        for which in 0..2 {
            let (name, cosine) = (["name", "all"][which], self.cosine(at, which).unwrap_or(f32::NAN));
            let nearest = if self.is_nearest(at, which) { "nearest" } else { "other" };
            features.add(&["cosine", name, bucket(cosine), nearest]);
            features.add(&["cosine", name, bucket(cosine), relation]);
        }
        let (entry_head, head) = (entry.terms.last().map_or("", String::as_str), field.head());
        features.add(&["head", head, needed]);
        features.add(&["pair", entry_head, head]);
        for term in &entry.terms {
            features.add(&["word", term, head]);
        }
        let described = entry.terms.iter().filter(|it| field.description_terms.contains(it)).count();
        features.add(&["described", relation_of(described, entry.terms.len())]);
        let above = entry
            .parent_terms
            .iter()
            .any(|it| field.parent_terms.contains(it) || field.name_terms.contains(it));
        if !field.parent_terms.is_empty() || !entry.parent_terms.is_empty() {
            features.add(&["above", if above { "same" } else { "other" }]);
        }
        if field.bound.is_some() || entry.bound.is_some() {
            let which = match (field.bound, entry.bound) {
                (Some(own), Some(other)) if own == other => "same",
                (Some(_), Some(_)) => "other",
                (Some(_), None) => "field",
                (None, _) => "value",
            };
            features.add(&["bound", which]);
            features.add(&["bound", which, relation]);
        }
        if field.path.len() > 1 {
            features.add(&["deep", needed]);
        }
        if let Some(text) = entry.value.as_str() {
            let shape = shape(text);
            features.add(&["shape", shape, kind(field)]);
            features.add(&["shape", shape, "n", head]);
            if field.examples.iter().any(|it| it.eq_ignore_ascii_case(text)) {
                features.add(&["example"]);
            }
        }
        if field.default.as_ref() == Some(value) {
            features.add(&["default"]);
        }
        let rivals = self.form.fields().iter().filter(|it| kind(it) == kind(field)).count();
        features.add(&["rivals", few(rivals), needed]);
        if field.kind == Kind::Flag && !entry.value.is_boolean() {
            features.add(&["flag", own]);
        }
    }
}

/// How many of some words there are.
fn relation_of(count: usize, of: usize) -> &'static str {
    match count {
        0 => "none",
        _ if count >= of => "all",
        _ => "some",
    }
}

#[cfg(test)]
mod tests;
