//! How plainly a request says a value of a field.

use super::argument::Evidence;
use super::candidate::{Candidate, Origin, Similarity};
use super::request::{ParsedRequest, Role};
use super::token::Token;
use crate::form::{Field, Form};
use crate::text::is_file_ending;
use crate::tool::purpose::is_identity;

/// Says how plainly a request says a value of a field.
pub(super) fn evidence(
    form: &Form,
    field: &Field,
    request: &ParsedRequest<'_>,
    candidate: &Candidate,
) -> Evidence {
    let written = &request.text[candidate.bytes.clone()];
    let before = &request.text[..candidate.bytes.start];
    let is_named = || {
        is_behind_name(field, request, candidate)
            && (is_unlike_prose(written) || stands_alone(request, candidate))
    };
    let is_tagged = || before.ends_with('#') || written.starts_with('#');
    // Everything behind a colon.
    let is_announced = || {
        let behind = &request.text[candidate.bytes.end..];
        before.trim_end().ends_with(':') && !behind.contains(char::is_alphanumeric)
    };
    let names_thing = || field.is_for_paths() || is_identity(field.parameter());
    match candidate.origin {
        Origin::Quoted | Origin::Literal | Origin::Choice(Similarity::Exact) => Evidence::Marked,
        Origin::Words | Origin::Part if is_tagged() || is_announced() => Evidence::Marked,
        Origin::Words if is_named() => Evidence::Marked,
        Origin::Words if is_unlike_prose(written) && is_whole(form, request, candidate) => {
            if names_thing() && is_path(written) { Evidence::Marked } else { Evidence::Shape }
        }
        Origin::Part | Origin::Number | Origin::Converted | Origin::Moment | Origin::Known => Evidence::Shape,
        Origin::Example(Similarity::Exact) => Evidence::Shape,
        Origin::Words | Origin::Choice(_) | Origin::Example(_) | Origin::Flag | Origin::List => {
            Evidence::Prose
        }
    }
}

/// Whether a value surely begins where it does: the word before `copy.md` in `AI copy.md` may belong to it, unless it is
/// a word for what the tool is about or begins the request. Nothing stands before the root of a path.
fn is_whole(form: &Form, request: &ParsedRequest<'_>, candidate: &Candidate) -> bool {
    let before = candidate.tokens.start.checked_sub(1).filter(|at| *at > 0);
    is_rooted(&request.text[candidate.bytes.clone()])
        || before.is_none_or(|before| {
            let term = &request.tokens[before].term;
            request.roles[before] != Role::Word || form.tool_terms.contains(term) || form.has_term(term)
        })
}

/// Whether a text is written like nothing that a sentence has: a path, an address, a tag, a number of something.
fn is_unlike_prose(text: &str) -> bool {
    let is_one = !text.contains(char::is_whitespace);
    is_one && (is_path(text) || text.contains(|c: char| c.is_ascii_digit() || "#@_/:=".contains(c)))
}

/// Whether the name of a field stands right before a value.
///
/// A field `add` that is described as tags to add is named by `add the tag`.
pub(super) fn is_behind_name(field: &Field, request: &ParsedRequest<'_>, candidate: &Candidate) -> bool {
    let before = candidate.tokens.start.checked_sub(1).map(|at| &request.tokens[at]);
    let is_said = || request.tokens.iter().any(|token| token.term == field.head());
    let is_name =
        |term: &String| term == field.head() || field.description_terms.first() == Some(term) && is_said();
    // A field `at` is named by a small word, which has no term.
    let is_own = |token: &Token| field.name().eq_ignore_ascii_case(&token.lower);
    before.is_some_and(|token| is_own(token) || !token.term.is_empty() && is_name(&token.term))
}

/// Whether a value is in quotes, a path, a tag, or one word that ends there.
pub(super) fn stands_alone(request: &ParsedRequest<'_>, candidate: &Candidate) -> bool {
    let behind = request.roles[candidate.tokens.end..].first();
    let is_last = candidate.tokens.len() == 1
        && behind.is_none_or(|role| matches!(role, Role::Mark | Role::Small))
        && request.roles[candidate.tokens.start] == Role::Word;
    let written = &request.text[candidate.bytes.clone()];
    candidate.origin == Origin::Quoted || is_path(written) || written.starts_with('#') || is_last
}

/// Whether a text is written like a path or a file name.
pub(super) fn is_path(text: &str) -> bool {
    if text.contains(char::is_whitespace) || text.contains("://") || text.contains('@') {
        return false;
    }
    let has_extension = text.rsplit_once('.').is_some_and(|(stem, extension)| {
        stem.ends_with(|it: char| it.is_alphanumeric() || "_-)".contains(it)) && is_file_ending(extension)
    });
    has_extension || is_rooted(text)
}

fn is_rooted(text: &str) -> bool {
    ["/", "./", "../", "~/"].iter().any(|root| text.starts_with(root) && text.len() > root.len())
}
