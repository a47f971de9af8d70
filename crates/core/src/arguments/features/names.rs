//! How features name what they are made of.

use super::super::candidate::{Origin, Similarity};
use super::super::request::{ParsedRequest, Role, Stance};
use crate::form::{Field, Format, Kind};

pub(in crate::arguments) fn kind(field: &Field) -> &'static str {
    if !field.choices.is_empty() {
        return if field.is_list { "choices" } else { "choice" };
    }
    match (field.kind, field.is_list, field.format) {
        (Kind::Text, false, Some(Format::Date | Format::DateTime | Format::Time)) => "date",
        (Kind::Text, false, Some(Format::Uri | Format::Email | Format::Uuid)) => "address",
        (Kind::Text, false, _) => "text",
        (Kind::Whole, false, _) => "whole",
        (Kind::Number, false, _) => "number",
        (Kind::Flag, _, _) => "flag",
        (Kind::Text | Kind::Any, true, _) => "texts",
        (Kind::Whole | Kind::Number, true, _) => "numbers",
        (Kind::Object, _, _) => "object",
        (Kind::Any, false, _) => "any",
    }
}

pub(super) fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Words => "words",
        Origin::Quoted => "quoted",
        Origin::Part => "part",
        Origin::Number => "number",
        Origin::Converted => "converted",
        Origin::Moment => "moment",
        Origin::Choice(_) => "choice",
        Origin::Example(_) => "example",
        Origin::Known => "known",
        Origin::Flag => "flag",
        Origin::List => "list",
        Origin::Literal => "literal",
    }
}

pub(super) fn role(request: &ParsedRequest<'_>, at: Option<usize>) -> &'static str {
    match at.and_then(|at| request.roles.get(at)) {
        None => "edge",
        Some(Role::Mark) => "mark",
        Some(Role::Small) => "small",
        Some(Role::Verb) => "verb",
        Some(Role::Digits) => "digits",
        Some(Role::Word) => "word",
    }
}

pub(super) fn stance(stance: Stance) -> &'static str {
    match stance {
        Stance::Only => "only",
        Stance::Asks => "asks",
        Stance::Before => "before",
        Stance::After => "after",
        Stance::Unclear => "unclear",
    }
}

pub(super) fn similarity(similarity: Similarity) -> &'static str {
    match similarity {
        Similarity::Related => "related",
        Similarity::Partial => "partial",
        Similarity::Translated => "translated",
        Similarity::Stem => "stem",
        Similarity::Exact => "exact",
    }
}

pub(super) fn distance(tokens: usize) -> &'static str {
    ["0", "1", "2", "3", "4"].get(tokens).copied().unwrap_or("far")
}

pub(in crate::arguments) fn few(count: usize) -> &'static str {
    match count {
        0 => "0",
        1 => "1",
        2 => "2",
        3 => "3",
        4..=6 => "few",
        7..=15 => "some",
        _ => "many",
    }
}

pub(super) fn length(count: usize) -> &'static str {
    match count {
        1 => "1",
        2 => "2",
        3 => "3",
        4 => "4",
        5..=6 => "5",
        7..=9 => "7",
        10..=15 => "10",
        16..=30 => "16",
        _ => "31",
    }
}

pub(super) fn length_of_request(tokens: usize) -> &'static str {
    match tokens {
        0..8 => "short",
        8..25 => "middle",
        _ => "long",
    }
}

pub(super) fn share(count: usize, of: usize) -> &'static str {
    if count == 0 {
        "none"
    } else if count >= of {
        "all"
    } else if 2 * count >= of {
        "half"
    } else {
        "some"
    }
}
