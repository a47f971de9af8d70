//! What the tools that only look answer: query and get.

use serde_json::{Map, Value, json};

use super::{
    Records,
    database::{self, Extent},
    entity::Entity,
    filter::Selection,
    item::{self, Length},
    lookup::{self, Found, Naming},
    value::Reader,
};
use crate::{
    arguments::{problems, refused, whole},
    reply::{Answer, Outcome, Refusal},
};

/// How many items a query returns when nothing else is asked for.
pub(super) const USUAL_LIMIT: usize = 20;
/// How many earlier versions are shown.
const MOST_EARLIER: usize = 20;

/// Finds items.
pub(super) fn query(
    records: &Records,
    entity: &Entity,
    definition: &Value,
    given: &Map<String, Value>,
) -> Outcome {
    let mut wrong = problems(&definition["inputSchema"], given);
    let now = records.clock.now();
    let extent = if is_true(given, "include_deleted") { Extent::All } else { Extent::Live };
    let (found, mut remarks) = records.database.read(|connection| {
        let reader = Reader { entities: &records.entities, connection, now: &now };
        let selection = Selection::read(entity, given, &reader, &mut wrong)?;
        let mut items = Vec::new();
        if wrong.is_empty() {
            items = database::items(connection, &entity.plural, extent)?;
            selection.apply(&mut items);
        }
        Ok((items, selection.remarks))
    })?;
    if !wrong.is_empty() {
        return Err(refused(definition, wrong).into());
    }
    let count = |name: &str, otherwise: usize| {
        given.get(name).and_then(whole).and_then(|it| usize::try_from(it).ok()).unwrap_or(otherwise)
    };
    let (offset, limit) = (count("offset", 0), count("limit", USUAL_LIMIT));
    let items: Vec<Value> = found
        .iter()
        .skip(offset)
        .take(limit)
        .map(|kept| item::show(entity, kept, Length::Listed, &mut remarks))
        .collect();
    Ok(Answer::json(json!({
        "items": items,
        "total_count": found.len(),
        "has_more": offset.saturating_add(limit) < found.len(),
        "offset": offset,
        "limit": limit,
        "remarks": item::limited(remarks),
    })))
}

/// Shows one item.
pub(super) fn get(
    records: &Records,
    entity: &Entity,
    definition: &Value,
    given: &Map<String, Value>,
) -> Outcome {
    let wrong = problems(&definition["inputSchema"], given);
    let Some(name) = given.get("slug").and_then(Value::as_str).filter(|_| wrong.is_empty()) else {
        return Err(refused(definition, wrong).into());
    };
    let most = if is_true(given, "history") { MOST_EARLIER } else { 0 };
    records.database.read(|connection| {
        let kept = match lookup::find(connection, entity, name, Naming::Part)? {
            Found::One(kept) => kept,
            Found::None(why) => return Ok(Err(Refusal::new(why))),
        };
        let mut remarks = Vec::new();
        let shown = item::show(entity, &kept, Length::Whole, &mut remarks);
        let before = database::earlier(connection, &kept, most)?;
        let earlier: Vec<Value> =
            before.iter().map(|kept| item::show(entity, kept, Length::Whole, &mut remarks)).collect();
        Ok(Ok(Answer::json(json!({
            "item": shown,
            "earlier": earlier,
            "earlier_count": kept.version - 1,
            "remarks": item::limited(remarks),
        }))))
    })?
}

fn is_true(given: &Map<String, Value>, name: &str) -> bool {
    given.get(name).and_then(Value::as_bool).unwrap_or(false)
}
