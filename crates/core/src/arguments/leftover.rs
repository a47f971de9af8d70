//! What a request says that no argument has: it may be lost, or belong to no tool.

use std::ops::Range;

use super::argument::{Leftover, Remark};
use super::assignment::Assignment;
use super::request::Role;
use super::token::{Token, overlap};
use crate::language::NEGATIONS;

/// Finds what a request says that no argument has; `claimed` is used already.
pub(super) fn leftover(assignment: &Assignment<'_>, claimed: &[Range<usize>]) -> Leftover {
    let (request, form) = (&assignment.request, assignment.form);
    let said = assignment.values.iter().flatten().map(|it| &it.bytes);
    let said: Vec<&Range<usize>> = claimed.iter().chain(said).collect();
    let is_said = |bytes: &Range<usize>| said.iter().any(|it| overlap(it, bytes));
    let mut texts = Vec::new();
    let open = request.quoted.iter().filter(|it| !is_said(&it.bytes));
    let quoted: Vec<Range<usize>> = open.map(|it| it.bytes.clone()).collect();
    let is_quoted = |bytes: &Range<usize>| quoted.iter().any(|it| overlap(it, bytes));
    texts.extend(
        quoted.iter().map(|bytes| (bytes.start, Remark::Quoted, request.text[bytes.clone()].to_owned())),
    );
    let is_number =
        |at: usize| request.quantities.iter().any(|(start, it)| (*start..start + it.tokens).contains(&at));
    let is_dated = |at: usize| request.moments.iter().any(|it| it.tokens.contains(&at));
    let is_known = |token: &Token| {
        [&form.tool_terms, &form.server_terms].iter().any(|it| it.contains(&token.term))
            || form.has_term(&token.term)
            || token.term.is_empty()
    };
    for (at, token) in request.tokens.iter().enumerate() {
        let role = request.roles[at];
        if matches!(role, Role::Mark | Role::Small) && !is_number(at) && !is_dated(at)
            || is_said(&token.at)
            || is_quoted(&token.at)
        {
            continue;
        }
        let written = &request.text[token.at.clone()];
        let is_plain = written.chars().all(char::is_alphabetic);
        let remark = match role {
            _ if is_number(at) => Remark::Number,
            _ if is_dated(at) && role != Role::Mark => Remark::Moment,
            Role::Verb => continue,
            _ if is_plain && is_known(token) => continue,
            _ if !is_plain || token.is_capital && !token.is_start => Remark::Name,
            Role::Mark | Role::Small | Role::Digits | Role::Word => Remark::Word,
        };
        texts.push((token.at.start, remark, written.to_owned()));
    }
    texts.sort_by_key(|(at, _, _)| *at);
    let is_denial = |token: &Token| {
        NEGATIONS.has(&token.lower) && !is_said(&token.at) && !is_quoted(&token.at) && !is_known(token)
    };
    Leftover {
        texts: texts.into_iter().map(|(_, remark, text)| (remark, text)).collect(),
        is_no_order: request.is_question() || request.tokens.iter().any(is_denial),
    }
}
