//! The names of what features are made of.

use crate::fill::candidate::How;
use crate::fill::page::{Page, Role, Stance};
use crate::form::{Field, Format, Kind};

pub(super) fn kind(field: &Field) -> &'static str {
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

pub(super) fn how(how: How) -> &'static str {
    match how {
        How::Words => "words",
        How::Quoted => "quoted",
        How::Part => "part",
        How::Number => "number",
        How::Converted => "converted",
        How::Moment => "moment",
        How::Choice(_) => "choice",
        How::Example(_) => "example",
        How::Known => "known",
        How::Flag => "flag",
        How::List => "list",
        How::Literal => "literal",
    }
}

pub(super) fn role_name(page: &Page<'_>, at: Option<usize>) -> &'static str {
    match at.and_then(|at| page.roles.get(at)) {
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

pub(super) fn at_distance(distance: usize) -> &'static str {
    ["0", "1", "2", "3", "4"].get(distance).copied().unwrap_or("far")
}

pub(super) fn few(count: usize) -> &'static str {
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
