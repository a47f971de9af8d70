//! Lists of objects: a parameter that takes several things of one kind.

use serde_json::{Map, Value};

use super::entry::Entry;
use super::relation::Relation;
use crate::form::{Field, Form};

/// Returns the parameters that take a value as a list of objects, and that list with the names that they want.
pub(super) fn tables(form: &Form, entry: &Entry<'_>) -> Vec<(String, Value)> {
    let items = match entry.value {
        Value::Array(items) if !items.is_empty() => items.as_slice(),
        Value::Object(_) => std::slice::from_ref(entry.value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Vec::new();
        }
    };
    let mut found: Vec<(String, Value)> = Vec::new();
    for field in form.fields().iter().filter(|it| it.lists.first() == Some(&true) && it.path.len() == 2) {
        let parameter = field.parameter();
        if found.iter().any(|(known, _)| known == parameter) {
            continue;
        }
        let leaves: Vec<&Field> = form.of_parameter(parameter).collect();
        let renamed: Option<Vec<Value>> = items.iter().map(|item| renamed(&leaves, item)).collect();
        let Some(renamed) = renamed.map(Value::Array) else { continue };
        let one = Map::from_iter([(parameter.to_owned(), renamed.clone())]);
        if form.admits_part(&one) {
            found.push((parameter.to_owned(), renamed));
        }
    }
    found
}

/// Gives the members of an object the names that a schema has for them; `None` where one has no name there.
fn renamed(leaves: &[&Field], item: &Value) -> Option<Value> {
    let Value::Object(members) = item else {
        // A bare value is the one thing that each object needs.
        let mut needed = leaves.iter().filter(|it| it.is_required);
        let only = needed.next().filter(|_| needed.next().is_none()).or(match leaves {
            [only] => Some(only),
            _ => None,
        })?;
        return Some(Value::Object(Map::from_iter([(only.path[1].clone(), item.clone())])));
    };
    let mut object = Map::new();
    for (name, value) in members {
        let leaf = leaves.iter().find(|it| it.path[1] == *name).or_else(|| nearest(leaves, name, value))?;
        object.insert(leaf.path[1].clone(), value.clone());
    }
    (object.len() == members.len()).then_some(Value::Object(object))
}

/// Returns the field whose name has most in common with another name.
fn nearest<'l, 'f>(leaves: &'l [&'f Field], name: &str, value: &Value) -> Option<&'l &'f Field> {
    let entry = Entry::new(vec![name], value);
    let related = |field: &Field| Relation::of_names(&field.path[1], &entry);
    let best = leaves.iter().max_by_key(|it| related(it))?;
    let is_only = leaves.iter().filter(|it| related(it) == related(best)).count() == 1;
    (related(best) > Relation::None && is_only).then_some(best)
}
