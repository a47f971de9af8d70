//! Values that show by themselves which field they are for, and values that the text need not say.
//!
//! Fitted weights know how people speak of what was in their examples. These rules hold for any tool, so they fill
//! what the weights left open, and never replace what they chose.

use std::ops::Range;

use serde_json::Value;

use super::argument::{Evidence, Source};
use super::assignment::{Assigned, Assignment};
use super::candidate::{Candidate, Origin, Similarity};
use super::codes;
use super::evidence::{is_behind_name, is_path, stands_alone};
use super::result::{Which, from_result};
use super::token::{is_within, overlap};
use crate::form::{Bound, Field, Kind, is_zone};
use crate::lexicon::{file_format, split_ending};
use crate::thresholds::thresholds;

/// Fills the fields that no weights are needed for, once the weights have chosen.
pub(super) fn apply(assignment: &mut Assignment<'_>) {
    // Who names values says them all, but for a choice that the action itself is.
    if assignment.sources.named.is_none() {
        assignment.fill_open(only_moment);
        json(assignment);
        assignment.fill_open(named_or_only);
    }
    assignment.fill_open(format_of_file);
    assignment.fill_open(said_choice);
    assignment.fill_open(earlier);
    assignment.fill_open(default);
    repeat(assignment);
}

/// The one moment of the text for a field that needs one, whatever the words around it.
fn only_moment(assignment: &Assignment<'_>, at: usize) -> Option<Assigned> {
    let field = &assignment.form.fields()[at];
    let moments = assignment.candidates[at].iter().filter(|it| it.origin == Origin::Moment);
    let longest = moments.clone().max_by_key(|it| it.tokens.len())?;
    let is_only = moments.clone().all(|it| is_within(&it.bytes, &longest.bytes));
    (field.is_required && field.format.is_some() && is_only)
        .then(|| assignment.assigned(at, longest, thresholds().arguments.only_of_format))
}

/// Gives JSON in the text to the one field that needs it and takes it as it is.
fn json(assignment: &mut Assignment<'_>) {
    let fields = assignment.form.fields();
    for at in 0..assignment.request.literals.len() {
        let (span, value) = assignment.request.literals[at].clone();
        let bytes = span.bytes;
        let takes = |field: &Field| {
            field.is_required
                && (field.kind != Kind::Text || field.is_list)
                && assignment.form.takes(field, &value)
        };
        let open: Vec<usize> =
            (0..fields.len()).filter(|at| assignment.is_open(*at) && takes(&fields[*at])).collect();
        let is_used = assignment.values.iter().flatten().any(|it| it.value == value);
        if let ([field], false) = (&open[..], is_used) {
            let (source, evidence) = (Source::Text, Evidence::Marked);
            assignment.values[*field] = Some(Assigned {
                value,
                source,
                confidence: thresholds().arguments.only_of_format,
                evidence,
                bytes,
            });
        }
    }
}

/// What stands right behind the name of a field, or the only value of its form.
fn named_or_only(assignment: &Assignment<'_>, at: usize) -> Option<Assigned> {
    let (form, request, field) = (assignment.form, &assignment.request, &assignment.form.fields()[at]);
    if field.kind != Kind::Text || !field.choices.is_empty() || field.format.is_some() {
        return None;
    }
    let used = used_words(assignment);
    let is_free = |it: &&Candidate| !used.iter().any(|used| overlap(used, &it.bytes));
    let free: Vec<&Candidate> = assignment.candidates[at].iter().filter(is_free).collect();
    let named = free.iter().filter(|it| is_behind_name(field, request, it) && stands_alone(request, it));
    let is_rival = |(other, it): &(usize, &Field)| {
        it.is_for_paths() && it.is_required && assignment.values[*other].is_none()
    };
    let is_alone = form.fields().iter().enumerate().filter(is_rival).count() < 2;
    // One path for two fields goes where the word before it says.
    let is_meant = |it: &&&Candidate| {
        let bound = request.bound_before(it.tokens.start);
        is_alone || bound.is_some() && bound == field.bound
    };
    let only = || only_one(assignment, field, free.iter().filter(is_meant).copied());
    let candidate = named.max_by_key(|it| it.bytes.len()).copied().or_else(only)?;
    Some(assignment.assigned(at, candidate, thresholds().arguments.only_of_format))
}

/// The one path of the text for a field that needs a path, and the one time zone for one that needs that.
///
/// Of two time zones the second follows from the first, whether or not it is needed. So does where something new goes
/// when a path stands behind a word such as `into`, and a well-known place for a tool that takes nothing but time zones.
fn only_one<'c>(
    assignment: &Assignment<'_>,
    field: &Field,
    found: impl Iterator<Item = &'c Candidate>,
) -> Option<&'c Candidate> {
    let (form, request) = (assignment.form, &assignment.request);
    let (is_for_paths, is_for_zones) = (field.is_for_paths(), field.is_for_zones());
    let is_needed = field.is_required || is_for_zones && form.paired_bound(field).is_some();
    let is_result = is_for_paths && field.is_for_results();
    let is_plain = |it: &Field| it.kind != Kind::Text || it.is_for_zones();
    let takes_places = is_for_zones && form.fields().iter().all(is_plain);
    if !is_for_paths && !is_for_zones || !is_needed && !is_result && !takes_places {
        return None;
    }
    let is_known = |it: &Candidate| {
        is_zone(&request.text[it.bytes.clone()])
            || codes::is_city_or_country(&request.tokens[it.tokens.clone()])
    };
    let is_meant = |it: &&Candidate| {
        is_needed
            || takes_places && is_known(it)
            || is_result && request.bound_before(it.tokens.start) == Some(Bound::Upper)
    };
    // Of a field for time zones nothing else is a candidate.
    let has_form = |it: &&Candidate| is_for_zones || is_path(&request.text[it.bytes.clone()]);
    let found: Vec<&Candidate> =
        found.filter(|it| !it.bytes.is_empty()).filter(has_form).filter(is_meant).collect();
    let longest = *found.iter().max_by_key(|it| it.bytes.len())?;
    found.iter().all(|it| is_within(&it.bytes, &longest.bytes)).then_some(longest)
}

/// Returns where the text says the values of other fields, alone or in lists.
fn used_words(assignment: &Assignment<'_>) -> Vec<Range<usize>> {
    let mut used = Vec::new();
    // A choice is not said by the ending of a file that has it.
    let values = assignment.values.iter().zip(assignment.form.fields());
    for assigned in values.filter(|(_, field)| field.choices.is_empty()).filter_map(|(it, _)| it.as_ref()) {
        let items = assigned.value.as_array().map_or(std::slice::from_ref(&assigned.value), Vec::as_slice);
        for item in items.iter().filter_map(Value::as_str).filter(|item| !item.is_empty()) {
            used.extend(assignment.request.text.match_indices(item).map(|(at, it)| at..at + it.len()));
        }
    }
    used
}

/// The format of a file, which the file's own name says: what is written to `report.docx` has the format docx.
fn format_of_file(assignment: &Assignment<'_>, at: usize) -> Option<Assigned> {
    let (fields, field) = (assignment.form.fields(), &assignment.form.fields()[at]);
    if field.head() != "format" || field.is_list {
        return None;
    }
    // `output_file` belongs to `output_format`.
    let qualifier =
        |it: &Field| it.name_terms.split_last().map(|(_, rest)| rest.to_vec()).unwrap_or_default();
    let file = fields.iter().position(|it| it.is_for_paths() && qualifier(it) == qualifier(field))?;
    let found = assignment.values[file].as_ref().map(|it| &it.value);
    let path = found.or_else(|| assignment.sources.given.get(fields[file].parameter()))?.as_str()?;
    let format = file_format(split_ending(path)?.1)?;
    let is_it = |choice: &&Value| choice.as_str().and_then(file_format) == Some(format);
    let value = field.choices.iter().find(is_it).filter(|it| field.default.as_ref() != Some(it))?.clone();
    let confidence = thresholds().arguments.file_ending;
    Some(Assigned::unsaid(value, Source::Implied, confidence, Evidence::Shape))
}

/// The one choice that an action says in its own word: `Restart a deployment` for `restart`.
fn said_choice(assignment: &Assignment<'_>, at: usize) -> Option<Assigned> {
    let field = &assignment.form.fields()[at];
    assignment.sources.named.filter(|_| !field.is_list && !field.is_flag())?;
    let is_said = |it: &&Candidate| {
        matches!(it.origin, Origin::Choice(Similarity::Exact | Similarity::Stem)) && !it.bytes.is_empty()
    };
    let mut said = assignment.candidates[at].iter().filter(is_said);
    let first = said.next()?;
    let is_only = said.all(|it| it.value == first.value);
    is_only.then(|| assignment.assigned(at, first, thresholds().arguments.said_choice))
}

/// What an earlier result has for a field that is needed.
fn earlier(assignment: &Assignment<'_>, at: usize) -> Option<Assigned> {
    let field = Some(&assignment.form.fields()[at]).filter(|field| field.is_required)?;
    let found = assignment.sources.earlier.iter().rev().find_map(|result| {
        from_result(assignment.form, field, result, Which::First)
            .filter(|found| found.fit >= thresholds().arguments.earlier)
    })?;
    let (value, confidence) = (found.value, found.fit);
    Some(Assigned::unsaid(value, Source::Earlier, confidence, Evidence::Marked))
}

/// What the schema itself determines: the default of what is needed, or a value without a choice.
fn default(assignment: &Assignment<'_>, at: usize) -> Option<Assigned> {
    let field = Some(&assignment.form.fields()[at]).filter(|field| field.is_required)?;
    let only = field.choices.first().filter(|_| field.choices.len() == 1 && !field.is_list);
    let value = field.default.as_ref().or(only).filter(|it| !it.is_null())?;
    let value = Some(value).filter(|value| assignment.form.takes(field, value))?.clone();
    Some(Assigned::unsaid(value, Source::Default, 1.0, Evidence::Marked))
}

/// Gives a field that repeats another one the value of that.
fn repeat(assignment: &mut Assignment<'_>) {
    let form = assignment.form;
    for (at, field) in form.fields().iter().enumerate() {
        let Some(own) = form.repeated_by(field).filter(|_| !assignment.is_given(at)) else { continue };
        let assigned = assignment.values[own].clone();
        let given = assignment.sources.given.get(form.fields()[own].parameter()).cloned();
        let (source, evidence) = (Source::Implied, Evidence::Marked);
        let given = given.map(|value| Assigned::unsaid(value, source, 1.0, evidence));
        let repeated = assigned.or(given).filter(|it| form.takes(field, &it.value));
        assignment.values[at] = repeated.map(|it| Assigned { source, ..it });
    }
}
