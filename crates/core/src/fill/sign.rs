//! Values that show by themselves which field they are for: a path where a path is needed, and what stands right
//! behind the name of a field.
//!
//! Fitted weights know how people speak of what was in their examples. These signs hold for any tool, so they fill
//! what the weights left open, and never replace what they chose.

use std::ops::Range;

use super::ballot::Elected;
use super::candidate::{Candidate, How, Likeness, candidates};
use super::page::{Page, Role};
use super::token::Token;
use super::{Evidence, Source, Wish, world};
use crate::form::{Bound, Field, Form, Kind, is_zone};
use crate::tool::purpose::is_identity;

/// How sure a value is that only its form or its place speaks for.
const SIGN: f64 = 0.6;
const MAX_EXTENSION: usize = 5;

/// Fills open fields whose value shows itself.
pub(super) fn fill(form: &Form, wish: &Wish<'_>, page: &Page<'_>, elected: &mut Vec<Elected>) {
    for (at, field) in form.fields().iter().enumerate() {
        let is_open = field.kind == Kind::Text
            && field.choices.is_empty()
            && field.format.is_none()
            && !wish.given.contains_key(field.parameter())
            && !elected.iter().any(|it| it.field == at);
        if !is_open {
            continue;
        }
        let found = candidates(form, field, page, wish.now);
        let used = used(form, page, elected);
        let is_free =
            |it: &&Candidate| !used.iter().any(|at| at.start < it.bytes.end && it.bytes.start < at.end);
        let rivals = form.fields().iter().enumerate().filter(|(other, it)| {
            it.is_for_paths() && it.is_required && !elected.iter().any(|chosen| chosen.field == *other)
        });
        let is_alone = rivals.count() < 2;
        // One path for two fields goes where the word before it says.
        let is_meant = |it: &&Candidate| {
            is_alone || page.bound_before(it.tokens.start).is_some_and(|bound| field.bound == Some(bound))
        };
        let named = named(field, page, found.iter().filter(is_free));
        let shown = || only_one((form, field), page, found.iter().filter(is_free).filter(is_meant));
        if let Some(candidate) = named.or_else(shown) {
            let (value, evidence) = (candidate.value.clone(), evidence(form, field, page, candidate));
            elected.push(Elected { field: at, value, source: Source::Text, confidence: SIGN, evidence });
        }
    }
}

/// Gives JSON in the text to the one field that needs it and takes it as it is.
pub(super) fn json(form: &Form, wish: &Wish<'_>, page: &Page<'_>, elected: &mut Vec<Elected>) {
    for (_, value) in &page.literals {
        let is_open = |(at, field): &(usize, &Field)| {
            field.is_required
                && (field.kind != Kind::Text || field.is_list)
                && !wish.given.contains_key(field.parameter())
                && !elected.iter().any(|it| it.field == *at)
                && form.takes(field, value)
        };
        let open: Vec<usize> = form.fields().iter().enumerate().filter(is_open).map(|(at, _)| at).collect();
        if let [field] = open[..]
            && !elected.iter().any(|it| it.value == *value)
        {
            elected.push(Elected {
                field,
                value: value.clone(),
                source: Source::Text,
                confidence: SIGN,
                evidence: Evidence::Marked,
            });
        }
    }
}

/// The one path of the text for a field that needs a path, and the one time zone for one that needs that.
///
/// Of two time zones the second is told by the first, whether or not it is needed. So is where something new goes when a
/// path stands behind a word such as `into`, and a well-known place for a tool that is told nothing but time zones.
fn only_one<'c>(
    (form, field): (&Form, &Field),
    page: &Page<'_>,
    found: impl Iterator<Item = &'c Candidate>,
) -> Option<&'c Candidate> {
    let is_second = field.is_for_zones() && form.paired_bound(field).is_some();
    let has_form = match field {
        field if field.is_for_paths() => is_place,
        // Nothing else is a candidate there.
        field if field.is_for_zones() => |_: &str| true,
        _ => return None,
    };
    let is_goal = field.is_for_paths() && field.is_for_results();
    let is_told = |it: &Field| it.kind != Kind::Text || it.is_for_zones();
    let takes_places = field.is_for_zones() && form.fields().iter().all(is_told);
    if !field.is_required && !is_second && !is_goal && !takes_places {
        return None;
    }
    let is_known = |it: &Candidate| {
        is_zone(&page.text[it.bytes.clone()]) || world::is_place(&page.tokens[it.tokens.clone()])
    };
    let is_meant = |it: &&Candidate| {
        field.is_required
            || is_second
            || takes_places && is_known(it)
            || is_goal && page.bound_before(it.tokens.start) == Some(Bound::Upper)
    };
    let places: Vec<&Candidate> = found
        .filter(|it| !it.bytes.is_empty() && has_form(&page.text[it.bytes.clone()]))
        .filter(is_meant)
        .collect();
    let longest = *places.iter().max_by_key(|it| it.bytes.len())?;
    let is_within = |it: &&Candidate| within(&it.bytes, &longest.bytes);
    places.iter().all(is_within).then_some(longest)
}

/// Says how plainly the text says a value of a field.
pub(super) fn evidence(form: &Form, field: &Field, page: &Page<'_>, candidate: &Candidate) -> Evidence {
    let written = page.text.get(candidate.bytes.clone()).unwrap_or_default();
    let is_named =
        || is_behind_name(field, page, candidate) && (has_form(written) || stands_alone(page, candidate));
    let is_tagged = || page.text[..candidate.bytes.start].ends_with('#') || written.starts_with('#');
    let names_things = || field.is_for_paths() || is_identity(field.parameter());
    let is_path = || names_things() && is_place(written) && is_whole(form, page, candidate);
    match candidate.manner {
        How::Quoted | How::Literal | How::Choice(Likeness::Exact) => Evidence::Marked,
        How::Words | How::Part if is_tagged() || is_told(page, candidate) => Evidence::Marked,
        How::Words if is_path() || is_named() => Evidence::Marked,
        How::Words if has_form(written) && is_whole(form, page, candidate) => Evidence::Shape,
        How::Part | How::Number | How::Converted | How::Moment | How::Known => Evidence::Shape,
        How::Example(Likeness::Exact) => Evidence::Shape,
        How::Words | How::Choice(_) | How::Example(_) | How::Flag | How::List => Evidence::Prose,
    }
}

/// Whether a value surely begins where it does: the word before `copy.md` in `AI copy.md` may belong to it, unless it is
/// a word for what the tool is about or begins the request. Nothing stands before the root of a path.
fn is_whole(form: &Form, page: &Page<'_>, candidate: &Candidate) -> bool {
    if page.text.get(candidate.bytes.clone()).is_some_and(is_rooted) {
        return true;
    }
    let Some(before) = candidate.tokens.start.checked_sub(1).filter(|at| *at > 0) else { return true };
    let term = &page.tokens[before].term;
    page.roles[before] != Role::Word || form.tool_terms.contains(term) || form.has_term(term)
}

/// Whether a value is everything behind a colon.
fn is_told(page: &Page<'_>, candidate: &Candidate) -> bool {
    let (before, behind) = (&page.text[..candidate.bytes.start], &page.text[candidate.bytes.end..]);
    before.trim_end().ends_with(':') && !behind.contains(char::is_alphanumeric)
}

/// Whether a text is written like nothing that a sentence has: a path, an address, a tag, a number of something.
fn has_form(text: &str) -> bool {
    let is_one = !text.contains(char::is_whitespace);
    is_one && (is_place(text) || text.contains(|c: char| c.is_ascii_digit() || "#@_/:=".contains(c)))
}

/// What stands right behind the name of a field: in quotes, as a path, behind `#`, or as one word that ends there.
///
/// A field `add` that is described as tags to add is named by `add the tag`.
fn named<'c>(
    field: &Field,
    page: &Page<'_>,
    found: impl Iterator<Item = &'c Candidate>,
) -> Option<&'c Candidate> {
    found
        .filter(|it| is_behind_name(field, page, it) && stands_alone(page, it))
        .max_by_key(|it| it.bytes.len())
}

/// Whether the name of a field stands right before a value.
fn is_behind_name(field: &Field, page: &Page<'_>, candidate: &Candidate) -> bool {
    let before = candidate.tokens.start.checked_sub(1).map(|at| &page.tokens[at]);
    let is_said = page.tokens.iter().any(|token| token.term == field.head());
    let is_name = |term: &str| {
        term == field.head() || is_said && field.description_terms.first().is_some_and(|first| first == term)
    };
    // A field `at` is named by a small word, which has no term.
    let is_own = |token: &Token| field.path.last().is_some_and(|own| own.eq_ignore_ascii_case(&token.lower));
    before.is_some_and(|token| is_own(token) || !token.term.is_empty() && is_name(&token.term))
}

/// Whether a value is in quotes, a path, a tag, or one word that ends there.
fn stands_alone(page: &Page<'_>, candidate: &Candidate) -> bool {
    let behind = page.roles[candidate.tokens.end..].first();
    let is_last = candidate.tokens.len() == 1
        && behind.is_none_or(|role| matches!(role, Role::Mark | Role::Small))
        && page.roles[candidate.tokens.start] == Role::Word;
    let written = page.text.get(candidate.bytes.clone()).unwrap_or_default();
    candidate.manner == How::Quoted || is_place(written) || written.starts_with('#') || is_last
}

/// Where the text says the values of other fields, alone or in lists.
///
/// A choice is not said by the ending of a file that has it.
fn used(form: &Form, page: &Page<'_>, elected: &[Elected]) -> Vec<Range<usize>> {
    let parts = |it: &'_ Elected| -> Vec<String> {
        let items = it.value.as_array().map_or(std::slice::from_ref(&it.value), Vec::as_slice);
        items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
    };
    let said = elected.iter().filter(|it| form.fields()[it.field].choices.is_empty());
    let values = said.flat_map(parts).filter(|value| !value.is_empty());
    let places = |value: String| -> Vec<Range<usize>> {
        page.text.match_indices(&value).map(|(at, it)| at..at + it.len()).collect()
    };
    values.flat_map(places).collect()
}

fn within(inner: &Range<usize>, outer: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Whether a text is written like a path or a file name.
fn is_place(text: &str) -> bool {
    if text.contains(char::is_whitespace) || text.contains("://") || text.contains('@') {
        return false;
    }
    let has_extension = text.rsplit_once('.').is_some_and(|(stem, extension)| {
        stem.ends_with(|it: char| it.is_alphanumeric() || "_-)".contains(it))
            && (1..=MAX_EXTENSION).contains(&extension.len())
            && extension.chars().all(|it| it.is_ascii_alphanumeric())
            && extension.contains(|it: char| it.is_ascii_alphabetic())
    });
    has_extension || is_rooted(text)
}

fn is_rooted(text: &str) -> bool {
    ["/", "./", "../", "~/"].iter().any(|root| text.starts_with(root) && text.len() > root.len())
}
