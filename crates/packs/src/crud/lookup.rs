//! A name becomes an item: its slug or its title.
//!
//! Whoever reads may name a part of a title; whoever writes must name the whole of it, because a change to
//! the wrong item is worse than a question.

use rusqlite::Connection;
use serde_json::Value;

use super::{
    database::{self, Extent, Kept},
    entity::Entity,
};
use crate::{fold::fold, reply::shown, slug::slug};

/// A message names this many candidates.
const MOST_NAMED: usize = 5;

/// How much of a name must be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    Whole,
    /// A part is enough if it fits one item only.
    Part,
}

/// What a name led to.
#[derive(Debug)]
pub(super) enum Found {
    One(Kept),
    /// The reason, in words that say what to send instead.
    None(String),
}

/// Finds the one item that a name stands for; items that are not deleted come first.
pub(super) fn find(
    connection: &Connection,
    entity: &Entity,
    name: &str,
    naming: Naming,
) -> rusqlite::Result<Found> {
    let name = name.trim();
    if let Some(found) = database::item(connection, &entity.plural, name)? {
        return Ok(Found::One(found));
    }
    let items = database::items(connection, &entity.plural, Extent::All)?;
    let (wanted, wanted_slug) = (fold(name), slug(name));
    let whole = |item: &Kept| {
        title(entity, item).is_some_and(|title| fold(title) == wanted) || item.slug == wanted_slug
    };
    let partly = |item: &Kept| {
        title(entity, item).is_some_and(|title| fold(title).contains(&wanted))
            || (!wanted_slug.is_empty() && item.slug.contains(&wanted_slug))
    };
    for is_deleted in [false, true] {
        let fitting: Vec<&Kept> =
            items.iter().filter(|it| it.is_deleted == is_deleted && whole(it)).collect();
        match fitting.as_slice() {
            [] => {}
            [one] => return Ok(Found::One((*one).clone())),
            several => return Ok(Found::None(ambiguous(entity, name, several))),
        }
    }
    let parts: Vec<&Kept> = items.iter().filter(|it| !it.is_deleted && partly(it)).collect();
    Ok(match (parts.as_slice(), naming) {
        ([one], Naming::Part) => Found::One((*one).clone()),
        ([], _) => Found::None(unknown(entity, name, &nearest(entity, &wanted, &items))),
        ([_], Naming::Whole) => Found::None(unknown(entity, name, &parts)),
        (several, _) => Found::None(ambiguous(entity, name, several)),
    })
}

/// Returns the text that an item is named after.
pub(super) fn title<'i>(entity: &Entity, item: &'i Kept) -> Option<&'i str> {
    item.fields.get(entity.slug_from.as_ref()?).and_then(Value::as_str)
}

fn ambiguous(entity: &Entity, name: &str, fitting: &[&Kept]) -> String {
    format!(
        "`{}` can be any of {} {}: send the slug of the one that is meant, such as {}",
        shown(name),
        fitting.len(),
        entity.many(),
        named(entity, fitting)
    )
}

fn unknown(entity: &Entity, name: &str, near: &[&Kept]) -> String {
    let near = match near {
        [] => String::new(),
        near => format!(": did you mean {}? Send its slug", named(entity, near)),
    };
    format!(
        "there is no {} `{}`{near}; query_{} finds what there is",
        entity.one(),
        shown(name),
        entity.plural
    )
}

fn named(entity: &Entity, items: &[&Kept]) -> String {
    let names = items.iter().take(MOST_NAMED).map(|item| {
        let deleted = if item.is_deleted { ", deleted" } else { "" };
        match title(entity, item) {
            Some(title) => format!("`{}` ({}{deleted})", item.slug, shown(title)),
            None => format!("`{}`{}", item.slug, if item.is_deleted { " (deleted)" } else { "" }),
        }
    });
    names.collect::<Vec<_>>().join(", ")
}

fn nearest<'i>(entity: &Entity, wanted: &str, items: &'i [Kept]) -> Vec<&'i Kept> {
    const NEAR: f64 = 0.75;
    if 200 < wanted.len() {
        return Vec::new();
    }
    let score = |item: &Kept| {
        let by_title = title(entity, item).map_or(0.0, |title| strsim::jaro_winkler(wanted, &fold(title)));
        by_title.max(strsim::jaro_winkler(wanted, &item.slug))
    };
    let mut near: Vec<(f64, &Kept)> =
        items.iter().map(|item| (score(item), item)).filter(|(score, _)| NEAR < *score).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.id.cmp(&b.1.id)));
    near.into_iter().map(|(_, item)| item).take(3).collect()
}
