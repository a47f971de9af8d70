//! Fields become arguments: nested where the schema is, complete or not at all.

use serde_json::{Map, Value};

use super::ballot::Elected;
use super::{Argument, Evidence, Filling, Missing, Source, Wish};
use crate::form::{Field, Form};

/// Puts fields together, with what the caller gave, and says what is missing.
pub(super) fn assemble(form: &Form, wish: &Wish<'_>, leaves: &[Elected]) -> Filling {
    let mut filling = Filling::default();
    for (name, value) in wish.given {
        filling.arguments.push(Argument {
            name: name.clone(),
            value: value.clone(),
            source: Source::Given,
            confidence: 1.0,
            evidence: Evidence::Marked,
        });
    }
    let mut names: Vec<&str> = Vec::new();
    for field in form.fields() {
        if !names.contains(&field.parameter()) && !wish.given.contains_key(field.parameter()) {
            names.push(field.parameter());
        }
    }
    for name in names {
        let own: Vec<&Elected> =
            leaves.iter().filter(|it| form.fields()[it.field].parameter() == name).collect();
        let argument = argument(form, name, &own);
        let is_whole = argument
            .as_ref()
            .is_some_and(|it| form.admits_part(&[(it.name.clone(), it.value.clone())].into_iter().collect()));
        filling.arguments.extend(argument.filter(|_| is_whole));
        if !is_whole && form.required().any(|required| required == name) {
            filling.missing.extend(open(form, name, &own));
        }
    }
    // A schema may require what it does not describe.
    for name in form.required().filter(|name| !form.has(name) && !wish.given.contains_key(*name)) {
        filling.missing.push(Missing {
            name: name.to_owned(),
            description: String::new(),
            choices: Vec::new(),
            kind: "any",
        });
    }
    filling
}

/// Lets go of parts of objects that may be left out and are not whole, so that what they took is free for others.
pub(super) fn release(form: &Form, leaves: &mut Vec<Elected>) {
    let is_nested = |it: &&Elected| form.fields()[it.field].path.len() > 1;
    let mut names: Vec<&str> =
        leaves.iter().filter(is_nested).map(|it| form.fields()[it.field].parameter()).collect();
    names.dedup();
    for name in names {
        let is_own = |it: &&Elected| form.fields()[it.field].parameter() == name;
        let own: Vec<&Elected> = leaves.iter().filter(is_own).collect();
        let is_whole = argument(form, name, &own)
            .is_some_and(|it| form.admits_part(&Map::from_iter([(it.name, it.value)])));
        if !is_whole && !form.required().any(|required| required == name) {
            leaves.retain(|it| form.fields()[it.field].parameter() != name);
        }
    }
}

fn argument(form: &Form, name: &str, leaves: &[&Elected]) -> Option<Argument> {
    let first = leaves.first()?;
    let mut whole = Map::new();
    for leaf in leaves {
        let field = &form.fields()[leaf.field];
        place(&mut whole, &field.path, &field.lists, leaf.value.clone());
    }
    let confidence = leaves.iter().map(|it| it.confidence).fold(1.0, f64::min);
    let evidence = leaves.iter().map(|it| it.evidence).min().unwrap_or(Evidence::Prose);
    let value = whole.remove(name)?;
    Some(Argument { name: name.to_owned(), value, source: first.source, confidence, evidence })
}

/// Puts a value where its path leads; a list of objects gets one.
fn place(into: &mut Map<String, Value>, path: &[String], lists: &[bool], value: Value) {
    let ([name, rest @ ..], [is_list, lists @ ..]) = (path, lists) else { return };
    if rest.is_empty() {
        into.insert(name.clone(), value);
        return;
    }
    let empty = || Value::Object(Map::new());
    let inner = into
        .entry(name.clone())
        .or_insert_with(|| if *is_list { Value::Array(vec![empty()]) } else { empty() });
    let inner = if *is_list { inner.get_mut(0) } else { Some(inner) };
    if let Some(Value::Object(inner)) = inner {
        place(inner, rest, lists, value);
    }
}

/// The fields of a parameter that are still open; where none of them is needed for itself, the parameter.
fn open(form: &Form, name: &str, leaves: &[&Elected]) -> Vec<Missing> {
    let is_filled = |field: &Field| leaves.iter().any(|it| form.fields()[it.field].path == field.path);
    let fields: Vec<&Field> = form.of_parameter(name).collect();
    let needed: Vec<Missing> =
        fields.iter().filter(|it| it.is_required && !is_filled(it)).map(|it| it.missing()).collect();
    if !needed.is_empty() {
        return needed;
    }
    let description = fields.first().filter(|it| it.path.len() == 1).map(|it| it.description.clone());
    let description = description.unwrap_or_default();
    vec![Missing { name: name.to_owned(), description, choices: Vec::new(), kind: "object" }]
}
