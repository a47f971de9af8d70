//! `owner/name`: two fields that one word of the text fills, in this order.
//!
//! Weights that were fitted to how people speak take either half for either field. What hosts of code write so
//! leaves no choice.

use std::ops::Range;

use serde_json::json;

use super::ballot::Elected;
use super::page::{Page, Role};
use super::{Evidence, Source, Wish};
use crate::form::{Field, Form, Kind};
use crate::lexicon::{Language, Lexicon};
use crate::tool::words::words;

/// Words in the names of fields that take who owns something.
const OWNERS: [&str; 8] =
    ["owner", "org", "organization", "organisation", "namespace", "workspace", "username", "user"];
/// Words in the names of fields that take what is owned.
const OWNED: [&str; 4] = ["repo", "repository", "reponame", "project"];
/// Words before a repository.
const BEFORE: [&str; 14] =
    ["in", "of", "for", "on", "at", "repo", "repository", "project", "the", "von", "de", "du", "del", "di"];
/// Parts of the names of hosts whose addresses begin with owner and name.
const HOSTS: [&str; 4] = ["github", "gitlab", "bitbucket", "codeberg"];

/// How sure it is that such a word means both.
const OWNED_BY: f64 = 0.95;

/// Fills the field of an owner and that of what is owned from the one word that says both.
pub(super) fn fill(form: &Form, wish: &Wish<'_>, page: &Page<'_>) -> Vec<(Elected, Range<usize>)> {
    let Some(fields) = fields(form) else { return Vec::new() };
    let is_given = |at: usize| wish.given.contains_key(form.fields()[at].parameter());
    if fields.iter().any(|at| is_given(*at)) {
        return Vec::new();
    }
    let said: Vec<(usize, [Range<usize>; 2])> =
        (0..page.tokens.len()).filter_map(|at| Some((at, halves(page, at)?))).collect();
    let is_told = |at: &usize| {
        let before = page.tokens[..*at].iter().rev().find(|token| !token.is_mark);
        before.is_some_and(|token| BEFORE.contains(&token.lower.as_str()))
    };
    // A path or a branch looks the same, so of several the place in the sentence decides.
    let mut told = said.iter().filter(|(at, _)| is_told(at));
    let meant = match (said.as_slice(), told.next(), told.next()) {
        ([only], _, _) => only,
        (_, Some(only), None) => only,
        _ => return Vec::new(),
    };
    let values = meant.1.clone().map(|bytes| (json!(&page.text[bytes.clone()]), bytes));
    let takes = |(at, (value, _)): (&usize, &(_, _))| form.takes(&form.fields()[*at], value);
    if !fields.iter().zip(&values).all(takes) {
        return Vec::new();
    }
    let elected = |(field, (value, bytes))| {
        (
            Elected { field, value, source: Source::Text, confidence: OWNED_BY, evidence: Evidence::Shape },
            bytes,
        )
    };
    fields.into_iter().zip(values).map(elected).collect()
}

/// Returns the fields of an owner and of what is owned, where a form has one of each.
fn fields(form: &Form) -> Option<[usize; 2]> {
    let has = |field: &Field, known: &[&str]| {
        let name = field.path.last().map_or("", String::as_str);
        words(name).any(|word| known.contains(&word.to_lowercase().as_str()))
    };
    let is_text = |field: &Field| field.kind == Kind::Text && !field.is_list && field.choices.is_empty();
    let only = |is: &dyn Fn(&Field) -> bool| {
        let mut found = form.fields().iter().enumerate().filter(|(_, field)| is_text(field) && is(field));
        let (at, _) = found.next()?;
        found.next().is_none().then_some(at)
    };
    let owner = only(&|field| has(field, &OWNERS))?;
    let owned = only(&|field| has(field, &OWNED) && !has(field, &OWNERS))?;
    Some([owner, owned])
}

/// Returns the halves of a token that is written `owner/name`, or of an address that begins so.
fn halves(page: &Page<'_>, at: usize) -> Option<[Range<usize>; 2]> {
    let token = page.tokens[at].at.clone();
    let written = &page.text[token.clone()];
    let (skipped, path) = match written.split_once("://") {
        Some((_, rest)) => {
            let (host, path) = rest.split_once('/')?;
            HOSTS.iter().any(|known| host.contains(known)).then_some(())?;
            (written.len() - path.len(), path)
        }
        None => (0, written),
    };
    let is_address = skipped > 0;
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
    let is_pair = is_name(owner) && is_name(name) && !is_small(owner) && !is_small(name);
    if !is_pair || page.roles[at] == Role::Mark {
        return None;
    }
    let start = token.start + skipped;
    let from = start + owner.len() + 1;
    let end = from + name.strip_suffix(".git").unwrap_or(name).len();
    Some([start..start + owner.len(), from..end])
}
