//! `owner/name`: two fields that one word of the text fills, in this order.
//!
//! Weights that were fitted to how people speak take either half for either field. What hosts of code write so
//! leaves no choice.

use std::ops::Range;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::argument::{Evidence, Source};
use super::assignment::{Assigned, Assignment};
use super::request::{ParsedRequest, Role};
use crate::form::{Field, Form, Kind};
use crate::language::WordSet;
use crate::lexicon::{Language, Lexicon};
use crate::thresholds::thresholds;
use crate::tool::vocabulary::{Set, vocabulary};
use crate::tool::words::words;

/// Words before a repository.
static BEFORE: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.prepositions.repository));
/// Parts of the names of hosts whose addresses begin with owner and name.
const HOSTS: [&str; 4] = ["github", "gitlab", "bitbucket", "codeberg"];

/// Fills the field of an owner and that of what is owned from the one word that says both; returns where it stands.
pub(super) fn fill(assignment: &mut Assignment<'_>) -> Vec<Range<usize>> {
    let (form, request) = (assignment.form, &assignment.request);
    let Some(fields) = fields(form).filter(|fields| fields.iter().all(|at| assignment.is_open(*at))) else {
        return Vec::new();
    };
    let pairs: Vec<(usize, [Range<usize>; 2])> =
        (0..request.tokens.len()).filter_map(|at| Some((at, owner_and_name(request, at)?))).collect();
    let is_announced = |at: usize| {
        let before = request.tokens[..at].iter().rev().find(|token| !token.is_mark);
        before.is_some_and(|token| BEFORE.has(&token.lower))
    };
    // A path or a branch looks the same, so of several the place in the sentence decides.
    let mut announced = pairs.iter().filter(|(at, _)| is_announced(*at));
    let (_, places) = match (pairs.as_slice(), announced.next(), announced.next()) {
        ([only], _, _) | (_, Some(only), None) => only.clone(),
        _ => return Vec::new(),
    };
    let values = places.clone().map(|bytes| json!(&request.text[bytes]));
    if fields.iter().zip(&values).all(|(at, value)| form.takes(&form.fields()[*at], value)) {
        for (at, (value, bytes)) in fields.into_iter().zip(values.into_iter().zip(places.clone())) {
            let (source, evidence) = (Source::Text, Evidence::Shape);
            let confidence = thresholds().arguments.repository;
            assignment.values[at] = Some(Assigned { value, source, confidence, evidence, bytes });
        }
        return places.into();
    }
    Vec::new()
}

/// Whether a name is that of something that belongs to an owner, such as a repository.
pub(super) fn is_owned(name: &str) -> bool {
    words(name).any(|word| vocabulary().parameters.owned.contains(&word.to_lowercase()))
}

/// Returns owner and name for the fields that take them, where a value is both in one word.
pub(super) fn halves(form: &Form, value: &Value) -> Option<[(usize, Value); 2]> {
    let (fields, text) = (fields(form)?, value.as_str()?.trim());
    let [owner, name] = in_one_word(text)?;
    let values = [owner, name].map(|bytes| json!(&text[bytes]));
    let takes = |(at, value): (&usize, &Value)| form.takes(&form.fields()[*at], value);
    if !fields.iter().zip(&values).all(takes) {
        return None;
    }
    let [owner, name] = values;
    Some([(fields[0], owner), (fields[1], name)])
}

/// Returns the fields of an owner and of what is owned, where a form has one of each.
fn fields(form: &Form) -> Option<[usize; 2]> {
    let has =
        |field: &Field, known: &Set| words(field.name()).any(|word| known.contains(&word.to_lowercase()));
    let is_text = |field: &Field| field.kind == Kind::Text && !field.is_list && field.choices.is_empty();
    // Of several that may be meant, such as the owner and the organization of a copy, the one that is needed.
    let only = |is: &dyn Fn(&Field) -> bool| {
        let found = form.fields().iter().enumerate().filter(|(_, field)| is_text(field) && is(field));
        let found: Vec<(usize, bool)> = found.map(|(at, field)| (at, field.is_required)).collect();
        let mut needed = found.iter().filter(|(_, is_required)| *is_required);
        match (found.as_slice(), needed.next(), needed.next()) {
            ([(at, _)], _, _) | (_, Some((at, _)), None) => Some(*at),
            _ => None,
        }
    };
    let (owners, owned) = (&vocabulary().parameters.owners, &vocabulary().parameters.owned);
    let owner = only(&|field| has(field, owners))?;
    let owned = only(&|field| has(field, owned) && !has(field, owners))?;
    Some([owner, owned])
}

/// Returns owner and name of a token that is written `owner/name`, or of an address that begins so.
fn owner_and_name(request: &ParsedRequest<'_>, at: usize) -> Option<[Range<usize>; 2]> {
    let token = request.tokens[at].at.clone();
    let halves = in_one_word(&request.text[token.clone()]).filter(|_| request.roles[at] != Role::Mark)?;
    Some(halves.map(|it| token.start + it.start..token.start + it.end))
}

/// Returns where owner and name stand in a word that says both.
fn in_one_word(written: &str) -> Option<[Range<usize>; 2]> {
    let (start, path) = match written.split_once("://") {
        Some((_, rest)) => {
            let (host, path) = rest.split_once('/')?;
            HOSTS.iter().any(|known| host.contains(known)).then_some(())?;
            (written.len() - path.len(), path)
        }
        None => (0, written),
    };
    let is_address = start > 0;
    let mut segments = path.split('/');
    let (owner, name) = (segments.next()?, segments.next()?);
    if segments.next().is_some() && !is_address {
        return None;
    }
    let is_name = |it: &str| {
        it.starts_with(|c: char| c.is_ascii_alphanumeric())
            && it.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
            && it.contains(|c: char| c.is_ascii_alphabetic())
    };
    let lexicon = Lexicon::builtin();
    // `and/or` is neither.
    let is_small = |it: &str| lexicon.is_stop(&it.to_lowercase(), Language::En);
    let is_pair = is_name(owner) && is_name(name) && !(is_small(owner) && is_small(name));
    let from = start + owner.len() + 1;
    let end = from + name.strip_suffix(".git").unwrap_or(name).len();
    is_pair.then(|| [start..start + owner.len(), from..end])
}
