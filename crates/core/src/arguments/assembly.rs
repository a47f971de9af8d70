//! Values become arguments: nested where the schema is, complete or not at all.

use serde_json::{Map, Value};

use super::argument::{Argument, Evidence, Filling, Source};
use super::assignment::{Assigned, Assignment};
use super::sources::Sources;
use crate::form::{Field, Form, Missing};

/// Values that are asked for where it is not clear which of them the schema needs.
const MOST_ASKED: usize = 8;

/// Puts values together, with what the caller gave, and says what is missing.
pub(super) fn assemble(assignment: &Assignment<'_>) -> Filling {
    let (form, given) = (assignment.form, assignment.sources.given);
    let mut filling = Filling::default();
    filling.arguments.extend(given.iter().map(|(name, value)| Argument {
        name: name.clone(),
        value: value.clone(),
        source: Source::Given,
        confidence: 1.0,
        evidence: Evidence::Marked,
    }));
    for name in parameters(form).filter(|name| !given.contains_key(*name)) {
        match whole(assignment, name) {
            Some(argument) => filling.arguments.push(argument),
            None if is_required(form, name) => filling.missing.extend(missing(assignment, name)),
            None => {}
        }
    }
    // A schema may require what it does not describe.
    let undescribed = form.required().filter(|name| !form.has(name) && !given.contains_key(*name));
    filling.missing.extend(undescribed.map(|name| Missing {
        name: name.to_owned(),
        description: String::new(),
        choices: Vec::new(),
        kind: "any",
    }));
    sound(form, assignment.sources, &mut filling);
    require(form, assignment.sources, &mut filling);
    filling
}

/// Lets go of parts of objects that may be left out and are not whole, so that what they took is free for others.
pub(super) fn release(assignment: &mut Assignment<'_>) {
    let form = assignment.form;
    for name in parameters(form).filter(|name| !is_required(form, name)) {
        let is_nested = form.of_parameter(name).any(|field| field.path.len() > 1);
        if is_nested && whole(assignment, name).is_none() {
            for (value, field) in assignment.values.iter_mut().zip(form.fields()) {
                value.take_if(|_| field.parameter() == name);
            }
        }
    }
}

/// Sends nothing of what was found that the schema as a whole does not take, and asks instead.
fn sound(form: &Form, sources: &Sources<'_>, filling: &mut Filling) {
    if !filling.missing.is_empty() || is_callers(sources, filling) || form.admits(&filling.object()) {
        return;
    }
    filling.arguments.retain(|it| it.source == Source::Given || is_required(form, &it.name));
    if !form.admits(&filling.object()) {
        filling.arguments.retain(|it| it.source == Source::Given);
        let open = form.fields().iter().filter(|field| !sources.given.contains_key(field.parameter()));
        filling.missing = open.take(MOST_ASKED).map(Field::missing).collect();
    }
}

/// Asks for what the tool needs with these arguments although its schema does not simply require it.
fn require(form: &Form, sources: &Sources<'_>, filling: &mut Filling) {
    if filling.missing.is_empty() && !is_callers(sources, filling) {
        let known = filling.object();
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        filling.missing = form.lacks(&names, &known).into_iter().map(Field::missing).collect();
    }
}

/// Whether the caller gave all arguments that there are.
fn is_callers(sources: &Sources<'_>, filling: &Filling) -> bool {
    !sources.given.is_empty() && filling.arguments.iter().all(|it| it.source == Source::Given)
}

fn is_required(form: &Form, name: &str) -> bool {
    form.required().any(|required| required == name)
}

/// Returns the parameters that fields belong to, each once.
fn parameters(form: &Form) -> impl Iterator<Item = &str> {
    let fields = form.fields();
    let is_first = |at: &usize| *at == 0 || fields[at - 1].parameter() != fields[*at].parameter();
    (0..fields.len()).filter(is_first).map(|at| fields[at].parameter())
}

/// Returns the fields of a parameter that have a value.
fn parts<'p>(
    assignment: &'p Assignment<'_>,
    name: &'p str,
) -> impl Iterator<Item = (&'p Field, &'p Assigned)> {
    let fields = assignment.form.fields().iter().zip(&assignment.values);
    fields
        .filter(move |(field, _)| field.parameter() == name)
        .filter_map(|(field, it)| Some((field, it.as_ref()?)))
}

/// Returns an argument where its parts are all that the schema wants of it.
fn whole(assignment: &Assignment<'_>, name: &str) -> Option<Argument> {
    if let Some(Assigned { value, source, confidence, evidence, .. }) = assignment.tables.get(name).cloned() {
        return Some(Argument { name: name.to_owned(), value, source, confidence, evidence });
    }
    let (_, first) = parts(assignment, name).next()?;
    let mut object = Map::new();
    for (field, part) in parts(assignment, name) {
        place(&mut object, &field.path, &field.lists, part.value.clone());
    }
    assignment.form.admits_part(&object).then_some(())?;
    Some(Argument {
        name: name.to_owned(),
        value: object.remove(name)?,
        source: first.source,
        confidence: parts(assignment, name).map(|(_, it)| it.confidence).fold(1.0, f64::min),
        evidence: parts(assignment, name).map(|(_, it)| it.evidence).min().unwrap_or(Evidence::Prose),
    })
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
fn missing(assignment: &Assignment<'_>, name: &str) -> Vec<Missing> {
    let fields: Vec<&Field> = assignment.form.of_parameter(name).collect();
    let is_filled = |field: &Field| parts(assignment, name).any(|(it, _)| it.path == field.path);
    let needed: Vec<Missing> =
        fields.iter().filter(|it| it.is_required && !is_filled(it)).map(|it| it.missing()).collect();
    if !needed.is_empty() {
        return needed;
    }
    let description = fields.first().filter(|it| it.path.len() == 1).map(|it| it.description.clone());
    let description = description.unwrap_or_default();
    vec![Missing { name: name.to_owned(), description, choices: Vec::new(), kind: "object" }]
}
