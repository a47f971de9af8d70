//! What is kept becomes what is shown.
//!
//! An item may be older than its declaration: a field it lacks shows its default, and a value that does not
//! fit any more is reported and not shown as something else.

use serde_json::{Map, Value, json};

use super::{
    database::Kept,
    entity::{Entity, EntityField, FieldKind},
};
use crate::reply::shown;

/// A list shows this many characters of a text.
const LONGEST_LISTED: usize = 300;
/// An answer has this many remarks.
const MOST_REMARKS: usize = 10;

/// How much of a text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    Whole,
    Listed,
}

/// Returns what an item holds in a field; nothing when that does not fit the field.
pub(super) fn value(field: &EntityField, item: &Kept) -> Value {
    let value = match item.fields.get(&field.name) {
        None | Some(Value::Null) => field.absent(),
        Some(value) if holds(&field.kind, value) => value.clone(),
        Some(_) => Value::Null,
    };
    // A list that is not there is an empty one.
    if value.is_null() && field.kind == FieldKind::Texts { json!([]) } else { value }
}

/// Shows an item, and remarks on what could not be shown as it is.
pub(super) fn show(entity: &Entity, item: &Kept, length: Length, remarks: &mut Vec<String>) -> Value {
    let mut data = Map::new();
    data.insert("slug".to_owned(), json!(item.slug));
    for field in &entity.fields {
        let mut value = value(field, item);
        if let Some(odd) = unfit(field, item) {
            remarks.push(format!(
                "`{}` of `{}` is kept as {}, which does not fit its declaration and is not shown: change it with \
                 update_{}",
                field.name,
                item.slug,
                shown(&odd.to_string()),
                entity.singular
            ));
        }
        if length == Length::Listed
            && let Some(cut) = value.as_str().and_then(cut)
        {
            value = json!(cut);
            let remark = format!(
                "long texts are cut at {LONGEST_LISTED} characters: get_{} shows all",
                entity.singular
            );
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
        data.insert(field.name.clone(), value);
    }
    data.insert("created".to_owned(), json!(item.created));
    data.insert("changed".to_owned(), json!(item.changed));
    data.insert("deleted".to_owned(), json!(item.is_deleted));
    Value::Object(data)
}

/// Limits the remarks of one answer.
pub(super) fn limited(mut remarks: Vec<String>) -> Vec<String> {
    if MOST_REMARKS < remarks.len() {
        let more = remarks.len() - MOST_REMARKS;
        remarks.truncate(MOST_REMARKS);
        remarks.push(format!("and {more} more remarks of this kind"));
    }
    remarks
}

fn unfit<'i>(field: &EntityField, item: &'i Kept) -> Option<&'i Value> {
    item.fields.get(&field.name).filter(|value| !value.is_null() && !holds(&field.kind, value))
}

/// Whether a field of this kind can show the value.
fn holds(kind: &FieldKind, value: &Value) -> bool {
    match kind {
        FieldKind::Text | FieldKind::Date | FieldKind::DateTime { .. } | FieldKind::Reference(_) => {
            value.is_string()
        }
        FieldKind::Integer { .. } => value.is_i64(),
        FieldKind::Number { .. } => value.is_number(),
        FieldKind::Boolean => value.is_boolean(),
        FieldKind::Enum(choices) => {
            value.as_str().is_some_and(|it| choices.iter().any(|choice| choice == it))
        }
        FieldKind::Texts => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
    }
}

fn cut(text: &str) -> Option<String> {
    let (end, _) = text.char_indices().nth(LONGEST_LISTED)?;
    Some(format!("{}…", &text[..end]))
}
