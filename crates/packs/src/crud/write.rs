//! What the tools that change something do: create and update.
//!
//! A change is decided and made within one transaction, so that two callers cannot take the same slug or
//! undo each other's fields unseen.

use rusqlite::Connection;
use serde_json::{Map, Value, json};

use super::{
    Records,
    database::{self, Kept},
    entity::Entity,
    item::{self, Length},
    lookup::{self, Found, Naming},
    schema,
    value::{Fields, Reader},
};
use crate::{
    arguments::{problems, refused},
    reply::{Answer, Outcome, Refusal, shown},
    slug::slug,
    time::iso,
};

/// One call creates one item, and at most this many more.
pub(super) const MOST_MORE: usize = 9;
/// The argument with the further items. The first one's fields are arguments themselves: nearly all calls
/// create one item, and language models write plain fields better than a list of objects.
pub(super) const MORE: &str = "more";

/// Creates items; one that cannot be created does not stop the others.
pub(super) fn create(
    records: &Records,
    entity: &Entity,
    definition: &Value,
    given: &Map<String, Value>,
) -> Outcome {
    let mut first = given.clone();
    let more: Map<String, Value> = first.shift_remove_entry(MORE).into_iter().collect();
    let wrong = problems(&json!({ "properties": definition["inputSchema"]["properties"] }), &more);
    if !wrong.is_empty() {
        return Err(refused(definition, wrong).into());
    }
    let further = more.get(MORE).and_then(Value::as_array);
    let items: Vec<&Map<String, Value>> =
        [&first].into_iter().chain(further.into_iter().flatten().filter_map(Value::as_object)).collect();
    let now = records.clock.now();
    let form = schema::new_item(entity);
    let batch = records.database.write(|connection| {
        let reader = Reader { entities: &records.entities, connection, now: &now };
        let mut batch = Batch::default();
        for (index, sent) in items.iter().enumerate() {
            let mut fields = reader.fields(entity, sent)?;
            fields.problems.splice(0..0, problems(&form, sent));
            if fields.problems.is_empty() {
                let kept = add(connection, entity, &mut fields.values, &iso(&now))?;
                batch.add(entity, &kept, &fields);
            } else {
                batch.fail(index, sent, &fields.problems);
            }
        }
        Ok(batch)
    })?;
    if batch.created.is_empty() {
        let nothing = format!("no {} was created", entity.one());
        return Err(Refusal::new(format!("{nothing}. {}", batch.reasons.join(". "))));
    }
    Ok(Answer::json(json!({
        "created": batch.created,
        "failed": batch.failed,
        "total": items.len(),
        "success_count": batch.created.len(),
        "remarks": item::limited(batch.remarks),
    })))
}

/// Changes, deletes or restores one item.
pub(super) fn update(
    records: &Records,
    entity: &Entity,
    definition: &Value,
    given: &Map<String, Value>,
) -> Outcome {
    let mut wrong = problems(&definition["inputSchema"], given);
    let deleted = given.get("deleted").and_then(Value::as_bool);
    let is_changed = |name: &String| given.contains_key(name);
    if wrong.is_empty() && deleted.is_none() && !entity.fields.iter().any(|it| is_changed(&it.name)) {
        wrong.push("There is nothing to change: send at least one field beside `slug`".to_owned());
    }
    let now = records.clock.now();
    records.database.write(|connection| {
        let reader = Reader { entities: &records.entities, connection, now: &now };
        let fields = reader.fields(entity, given)?;
        wrong.extend(fields.problems.iter().cloned());
        let name = given.get("slug").and_then(Value::as_str).unwrap_or_default();
        let found = match lookup::find(connection, entity, name, Naming::Whole)? {
            Found::One(kept) => Some(kept),
            Found::None(why) if wrong.is_empty() => return Ok(Err(Refusal::new(why))),
            Found::None(why) => {
                wrong.extend((!name.trim().is_empty()).then_some(why));
                None
            }
        };
        let Some(before) = found.filter(|_| wrong.is_empty()) else {
            return Ok(Err(refused(definition, wrong).into()));
        };
        if before.is_deleted && deleted.is_none() {
            return Ok(Err(Refusal::new(format!(
                "`{}` is deleted: send `deleted: false` along to restore and change it",
                before.slug
            ))));
        }
        let after = changed(&before, &fields, deleted, &iso(&now));
        let changes = changes(entity, &before, &after);
        let mut remarks = fields.remarks;
        let after = if changes.is_empty() {
            remarks.push("nothing was changed: it has these values already".to_owned());
            before
        } else {
            database::change(connection, &before, &after)?;
            after
        };
        let item = item::show(entity, &after, Length::Whole, &mut remarks);
        Ok(Ok(Answer::json(json!({ "item": item, "changes": changes, "remarks": item::limited(remarks) }))))
    })?
}

/// What became of the items of one call.
#[derive(Default)]
struct Batch {
    created: Vec<Value>,
    failed: Vec<Value>,
    reasons: Vec<String>,
    remarks: Vec<String>,
}

impl Batch {
    fn add(&mut self, entity: &Entity, kept: &Kept, fields: &Fields) {
        self.remarks.extend(fields.remarks.iter().map(|remark| format!("{}: {remark}", kept.slug)));
        self.created.push(item::show(entity, kept, Length::Whole, &mut self.remarks));
    }

    fn fail(&mut self, index: usize, sent: &Map<String, Value>, problems: &[String]) {
        let place = index.checked_sub(1).map(|at| format!("{MORE}[{at}]: ")).unwrap_or_default();
        self.reasons.push(format!("{place}{}", problems.join(". ")));
        let sent = shown(&Value::Object(sent.clone()).to_string());
        self.failed.push(json!({ "index": index, "item": sent, "problems": problems }));
    }
}

/// Adds an item, with the defaults of the fields that were not sent.
fn add(
    connection: &Connection,
    entity: &Entity,
    values: &mut Map<String, Value>,
    now: &str,
) -> rusqlite::Result<Kept> {
    for field in &entity.fields {
        if values.get(&field.name).is_none_or(Value::is_null) {
            values.insert(field.name.clone(), field.absent());
        }
    }
    values.retain(|_, value| !value.is_null());
    let title = entity.slug_from.as_ref().and_then(|name| values.get(name)).and_then(Value::as_str);
    let plain = entity.singular.replace('_', "-");
    let base = match title.map(slug) {
        Some(slug) if !slug.is_empty() => slug,
        // A title of emoji alone.
        Some(_) => plain,
        None => numbered(connection, entity, &plain)?,
    };
    database::add(connection, &entity.plural, &base, values, now)
}

/// Items that are named after nothing are counted: `sample-1`, `sample-2`.
fn numbered(connection: &Connection, entity: &Entity, plain: &str) -> rusqlite::Result<String> {
    Ok(format!("{plain}-{}", 1 + database::count(connection, &entity.plural)?))
}

fn changed(before: &Kept, fields: &Fields, deleted: Option<bool>, now: &str) -> Kept {
    let mut after = before.clone();
    for (name, value) in &fields.values {
        if value.is_null() {
            after.fields.shift_remove(name);
        } else {
            after.fields.insert(name.clone(), value.clone());
        }
    }
    after.is_deleted = deleted.unwrap_or(before.is_deleted);
    now.clone_into(&mut after.changed);
    after.version += 1;
    after
}

/// Says field by field what changes.
fn changes(entity: &Entity, before: &Kept, after: &Kept) -> Vec<String> {
    let mut changes = Vec::new();
    for field in &entity.fields {
        if before.fields.get(&field.name) != after.fields.get(&field.name) {
            let (was, is) = (item::value(field, before), item::value(field, after));
            changes.push(format!("{}: {} -> {}", field.name, in_words(&was), in_words(&is)));
        }
    }
    if before.is_deleted != after.is_deleted {
        changes.push(format!("deleted: {} -> {}", before.is_deleted, after.is_deleted));
    }
    changes
}

fn in_words(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => shown(text),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => shown(&value.to_string()),
    }
}
