//! What is sent becomes what is kept: dates as ISO 8601, references as slugs.
//!
//! Whatever had to be understood is said in a remark; whatever can mean two things is refused.

use jiff::{Zoned, civil::Time};
use rusqlite::Connection;
use serde_json::{Map, Value, json};

use super::{
    entity::{Entity, EntityField, FieldKind, Presence},
    lookup::{self, Found, Naming},
    schema,
};
use crate::{
    arguments::{fits, whole},
    reply::shown,
    time::{self, When, iso, weekday},
};

const DAYS: &str = "`2026-11-20`, `tomorrow`, `next friday` or `in 3 days`";
const MOMENTS: &str = "`tomorrow 9am`, `next friday 17:00`, `in 3 hours` or `2026-11-20T17:00`";

/// Reads what callers send.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) entities: &'a [Entity],
    pub(super) connection: &'a Connection,
    pub(super) now: &'a Zoned,
}

/// The fields that were read, what is wrong with the others, and how they were understood.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// `null` where a field is to be cleared.
    pub(super) values: Map<String, Value>,
    pub(super) problems: Vec<String>,
    pub(super) remarks: Vec<String>,
}

/// A value as it is kept, and how it was understood.
#[derive(Debug)]
pub(super) struct Understood {
    pub(super) value: Value,
    pub(super) remarks: Vec<String>,
}

impl From<Value> for Understood {
    fn from(value: Value) -> Self {
        Self { value, remarks: Vec::new() }
    }
}

impl Reader<'_> {
    /// Reads the fields of an item. A value that does not fit its schema is passed over: the check of the
    /// schema reports it.
    pub(super) fn fields(&self, entity: &Entity, given: &Map<String, Value>) -> rusqlite::Result<Fields> {
        let mut fields = Fields::default();
        for field in &entity.fields {
            let Some(value) = given.get(&field.name) else { continue };
            if value.is_null() {
                if field.presence == Presence::Required {
                    let (name, one) = (&field.name, entity.one());
                    fields.problems.push(format!("`{name}` cannot be empty: every {one} has one"));
                }
                fields.values.insert(field.name.clone(), field.absent());
            } else if fits(&schema::sent(&field.kind), value).is_ok() {
                match self.value(field, value)? {
                    Ok(understood) => {
                        fields.values.insert(field.name.clone(), understood.value);
                        fields.remarks.extend(understood.remarks);
                    }
                    Err(problem) => fields.problems.push(problem),
                }
            }
        }
        Ok(fields)
    }

    fn value(&self, field: &EntityField, value: &Value) -> rusqlite::Result<Result<Understood, String>> {
        let text = value.as_str().unwrap_or_default().trim();
        let name = &field.name;
        Ok(match &field.kind {
            FieldKind::Text if text.is_empty() => Ok(field.absent().into()),
            FieldKind::Text => Ok(json!(text).into()),
            FieldKind::Integer { .. } => Ok(json!(whole(value)).into()),
            FieldKind::Number { .. } | FieldKind::Boolean | FieldKind::Enum(_) => Ok(value.clone().into()),
            FieldKind::Texts => Ok(distinct(value).into()),
            FieldKind::Date => self.day(name, text),
            FieldKind::DateTime { default_time } => self.moment(name, text, *default_time),
            FieldKind::Reference(to) => match self.reference(name, to, text)? {
                Ok((_, true)) => Err(format!(
                    "`{name}` is `{}`, which is deleted: restore it with `deleted: false`, or send another",
                    shown(text)
                )),
                Ok((slug, false)) if slug == text => Ok(json!(slug).into()),
                Ok((slug, false)) => {
                    let remark = format!("`{name}`: `{}` is `{slug}`", shown(text));
                    Ok(Understood { value: json!(slug), remarks: vec![remark] })
                }
                Err(problem) => Err(problem),
            },
        })
    }

    /// Finds the slug that a reference means, and whether that item is deleted.
    pub(super) fn reference(
        &self,
        name: &str,
        to: &str,
        text: &str,
    ) -> rusqlite::Result<Result<(String, bool), String>> {
        let Some(entity) = self.entities.iter().find(|entity| entity.plural == to) else {
            return Ok(Err(format!("`{name}` refers to `{to}`, which are not kept here")));
        };
        Ok(match lookup::find(self.connection, entity, text, Naming::Whole)? {
            Found::One(item) => Ok((item.slug, item.is_deleted)),
            Found::None(why) => Err(format!("`{name}`: {why}")),
        })
    }

    /// Reads a time for a field of this kind, whether it is to be kept or to be compared with.
    pub(super) fn when(&self, name: &str, text: &str, kind: &FieldKind) -> Result<When, String> {
        let examples = if *kind == FieldKind::Date { DAYS } else { MOMENTS };
        let when = time::read(text, self.now).map_err(|error| {
            format!(
                "`{name}` is `{}`, which cannot be read: {}. Send for example {examples}",
                shown(text),
                error.why
            )
        })?;
        if *kind == FieldKind::Date && !when.has_date {
            return Err(format!(
                "`{name}` is `{}`, which names no day: send for example {DAYS}",
                shown(text)
            ));
        }
        Ok(when)
    }

    fn day(&self, name: &str, text: &str) -> Result<Understood, String> {
        let when = self.when(name, text, &FieldKind::Date)?;
        let date = when.at.date();
        let (kept, is_past) = (date.to_string(), date < self.now.date());
        let mut remarks = Vec::new();
        if kept != text || is_past {
            remarks.push(read_as(name, text, &format!("{} {kept}", weekday(&when.at)), is_past));
        }
        // "In 3 days" keeps the present time of day, which nobody has said.
        if when.has_time && when.at.time() != self.now.time() {
            remarks.push(format!("`{name}` holds a day: the time of day {} is not kept", when.at.time()));
        }
        Ok(Understood { value: json!(kept), remarks })
    }

    fn moment(&self, name: &str, text: &str, default: Option<Time>) -> Result<Understood, String> {
        let mut when = self.when(name, text, &FieldKind::DateTime { default_time: default })?;
        let hourless = || {
            format!("`{name}` is `{}`, which names no time of day: send for example {MOMENTS}", shown(text))
        };
        if !when.has_time {
            // Tonight is not nine in the morning.
            let default = default.filter(|_| !text.to_lowercase().contains("tonight"));
            when = when.with_time(default.ok_or_else(hourless)?);
            if when.at.date() == self.now.date() && when.at <= *self.now {
                return Err(hourless());
            }
            when.remarks.push(format!("no time of day was given: read as {}", when.at.time()));
        }
        let is_past = when.at < *self.now;
        if is_past && !when.has_date {
            return Err(format!(
                "`{name}` is `{}`, and that is past today: send it with the day, for example {MOMENTS}",
                shown(text)
            ));
        }
        let kept = iso(&when.at);
        let mut remarks = Vec::new();
        if kept != text || is_past {
            remarks.push(read_as(name, text, &format!("{} {kept}", weekday(&when.at)), is_past));
        }
        remarks.extend(when.remarks.iter().map(|remark| format!("`{name}`: {remark}")));
        Ok(Understood { value: json!(kept), remarks })
    }
}

/// Says how a text was read.
pub(super) fn read_as(name: &str, text: &str, meaning: &str, is_past: bool) -> String {
    let past = if is_past { ", which is past" } else { "" };
    format!("`{name}`: `{}` was read as {meaning}{past}", shown(text))
}

/// Takes the ends off the texts of a list, and leaves out those that are blank or there already.
fn distinct(value: &Value) -> Value {
    let mut kept: Vec<&str> = Vec::new();
    for text in value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::trim) {
        if !text.is_empty() && !kept.contains(&text) {
            kept.push(text);
        }
    }
    json!(kept)
}
