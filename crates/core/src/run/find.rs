//! A value for a parameter, looked for in a result whose form nobody declared.

use serde_json::{Map, Value, json};

use crate::arguments::{Form, FoundValue, from_result, is_of_type};
use crate::plan::{Sought, Which};
use crate::tool::purpose::is_content;
use crate::tool::vocabulary::vocabulary;
use crate::tool::words::words;

/// How deep a result is looked into.
const DEPTH: usize = 12;

/// Returns the value, or the values, that fit the parameter best.
///
/// A member with the parameter's own name is better than one that shares its last word, as `id` does with
/// `note_id`; a result that is itself a fitting text or number is the last resort.
pub(super) fn find(result: &Value, sought: &Sought, which: Which) -> Option<Value> {
    found(unwrapped(result), sought, which).filter(|value| !is_id(&sought.parameter) || is_word(value))
}

/// Whether a parameter takes an identifier, as its name says.
fn is_id(parameter: &str) -> bool {
    words(parameter).last().is_some_and(|last| vocabulary().parameters.ids.contains(&last.to_lowercase()))
}

/// Whether a value can be an identifier, or a list of them: a sentence about a thing is none.
fn is_word(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.trim().contains(char::is_whitespace),
        Value::Array(items) => items.iter().all(is_word),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
    }
}

fn found(result: &Value, sought: &Sought, which: Which) -> Option<Value> {
    if let Some(hash) = hash(result, sought) {
        return Some(hash);
    }
    let read = read(result, sought, which);
    match read {
        Some(found) if found.fit > 0.0 => Some(found.value),
        // The text of a whole result may be told, but it names nothing unless it is a name itself.
        read => by_name(result, sought, which).or_else(|| {
            let is_plain =
                |value: &Value| value.as_str().is_some_and(|text| !text.trim().contains(['\n', '{']));
            let is_fitting = |value: &Value| {
                let items = value.as_array();
                items.map_or_else(|| is_plain(value) || value.is_number(), |items| items.iter().all(is_plain))
            };
            let is_told = is_content(&sought.parameter);
            if let Some(table) = table(result).filter(|table| is_told && fits(table, &sought.schema)) {
                return Some(table);
            }
            let whole = read.map(|found| found.value).filter(|value| is_told || is_fitting(value));
            whole.or_else(|| title(result, sought, which))
        }),
    }
}

/// Characters of a title.
const TITLE: usize = 120;

/// Finds what can be the title of something new: what the thing found is called, in one line.
fn title(result: &Value, sought: &Sought, which: Which) -> Option<Value> {
    let last = words(&sought.parameter).last().map(str::to_lowercase)?;
    if !vocabulary().parameters.titles.contains(&last) {
        return None;
    }
    let called = |key: &String| {
        let found = gather(result, std::slice::from_ref(key), Grade::Same, &sought.schema);
        pick(found, if which == Which::All { Which::First } else { which })
    };
    let found = vocabulary().parameters.called.iter().find_map(called)?;
    let line = found.as_str()?.lines().next()?.chars().take(TITLE).collect::<String>();
    Some(Value::from(line))
}

/// Writes the rows of a result as lines with tabs between the cells: one row alone is not what was read.
fn table(result: &Value) -> Option<Value> {
    let is_cell = |cell: &Value| !cell.is_array() && !cell.is_object();
    let is_row = |row: &Value| row.as_array().is_some_and(|cells| cells.iter().all(is_cell));
    let is_table = |list: &&Vec<Value>| !list.is_empty() && list.iter().all(is_row);
    let members = result.as_object().into_iter().flat_map(Map::values);
    let rows = members.chain([result]).filter_map(Value::as_array).find(is_table)?;
    let written = |cell: &Value| match cell {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => cell.to_string(),
    };
    let line = |row: &Value| row.as_array().into_iter().flatten().map(written).collect::<Vec<_>>().join("\t");
    Some(Value::String(rows.iter().map(line).collect::<Vec<_>>().join("\n")))
}

/// A library wraps texts in an object with one member.
fn unwrapped(result: &Value) -> &Value {
    let members = result.as_object().filter(|members| members.len() == 1);
    let only = members.and_then(|members| members.iter().next());
    only.filter(|(key, inner)| is_content(key) && inner.is_string()).map_or(result, |(_, inner)| inner)
}

/// Finds the name of a revision in a text, which is known by its form.
fn hash(result: &Value, sought: &Sought) -> Option<Value> {
    let last = words(&sought.parameter).last().map(str::to_lowercase)?;
    let is_sought = vocabulary().parameters.revisions.contains(&last);
    let text = result.as_str().filter(|_| is_sought)?;
    let is_hash = |word: &&str| {
        (7..=40).contains(&word.len())
            && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
            && word.bytes().any(|byte| byte.is_ascii_digit())
    };
    text.split(|c: char| !c.is_ascii_alphanumeric()).find(is_hash).map(Value::from)
}

/// Reads a result as what it is about, which may be lines of text.
fn read(result: &Value, sought: &Sought, which: Which) -> Option<FoundValue> {
    let is_list = types(&sought.schema).contains(&"array");
    // Who asks for all of them gets a list, also where the parameter takes one.
    let wanted = if which == Which::All && !is_list {
        json!({ "type": "array", "items": sought.schema })
    } else {
        sought.schema.clone()
    };
    let schema = json!({ "type": "object", "properties": { sought.parameter.as_str(): wanted } });
    let form = Form::new(("", ""), schema);
    let field = form.of_parameter(&sought.parameter).find(|field| field.path.len() == 1)?;
    from_result(&form, field, result, if is_list { Which::All } else { which })
}

fn by_name(result: &Value, sought: &Sought, which: Which) -> Option<Value> {
    let parameter: Vec<String> = words(&sought.parameter).map(str::to_lowercase).collect();
    let wants_list = types(&sought.schema).contains(&"array");
    // For a list of paths, each path is looked for, unless there is a fitting list.
    let each = if wants_list { sought.schema.get("items").unwrap_or(&Value::Null) } else { &sought.schema };
    for grade in [Grade::Same, Grade::LastWord, Grade::Beginning] {
        if wants_list && let Some(list) = gather(result, &parameter, grade, &sought.schema).into_iter().next()
        {
            return Some(list);
        }
        let found = gather(result, &parameter, grade, each);
        if !found.is_empty() {
            let which = if wants_list { Which::All } else { which };
            return pick(found, which);
        }
    }
    let whole = Some(result).filter(|_| fits(result, &sought.schema) && !result.is_object());
    match (whole, which, result) {
        (Some(whole), Which::All, Value::Array(_)) => Some(whole.clone()),
        (Some(whole), Which::All, _) => Some(Value::Array(vec![whole.clone()])),
        (Some(whole), ..) => Some(whole.clone()),
        // A list of plain values stands for its elements.
        (None, _, Value::Array(items)) => {
            let fitting = items.iter().filter(|item| fits(item, each) && !item.is_object());
            pick(fitting.cloned().collect(), which)
        }
        (None, ..) => None,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Grade {
    Same,
    LastWord,
    /// Servers that save words write `p` for a path.
    Beginning,
}

fn pick(mut found: Vec<Value>, which: Which) -> Option<Value> {
    match which {
        Which::All => (!found.is_empty()).then_some(Value::Array(found)),
        Which::First => found.into_iter().next(),
        Which::Last => found.pop(),
        Which::Nth(at) => found.into_iter().nth(at),
    }
}

fn gather(result: &Value, parameter: &[String], grade: Grade, schema: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    walk(result, DEPTH, &mut |key, value| {
        let key: Vec<String> = words(key).map(str::to_lowercase).collect();
        let is_named = match grade {
            Grade::Same => key == parameter,
            Grade::LastWord => key.last().is_some() && key.last() == parameter.last(),
            Grade::Beginning => {
                let begins = |(key, parameter): (&String, &String)| parameter.starts_with(key.as_str());
                key.len() == 1 && key.last().zip(parameter.last()).is_some_and(begins)
            }
        };
        if is_named && fits(value, schema) {
            found.push(value.clone());
        }
    });
    found
}

/// Visits the members of all objects, outer ones and earlier ones first.
fn walk(value: &Value, depth: usize, visit: &mut impl FnMut(&str, &Value)) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                visit(key, member);
            }
            for member in members.values() {
                walk(member, depth, visit);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, depth, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(word) => vec![word],
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

fn fits(value: &Value, schema: &Value) -> bool {
    if let Some(choices) = schema["enum"].as_array() {
        return choices.contains(value);
    }
    !value.is_null() && schema.as_object().is_none_or(|schema| is_of_type(schema, value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r9_a_value_is_found_by_its_name_its_last_word_or_as_the_whole() {
        let text = json!({"type": "string"});
        let found = |result: Value, parameter: &str, schema: &Value, which| {
            find(&result, &Sought { parameter: parameter.to_owned(), schema: schema.clone() }, which)
        };
        assert_eq!(found(json!("3 channels were listed"), "channel_id", &text, Which::First), None);
        assert_eq!(found(json!("C024"), "channel_id", &text, Which::First), Some(json!("C024")));
        let notes = json!({"total": 2, "notes": [{"path": "a.md", "id": 1}, {"path": "b.md", "id": 2}]});
        assert_eq!(found(notes.clone(), "path", &text, Which::First), Some(json!("a.md")));
        assert_eq!(found(notes.clone(), "path", &text, Which::Last), Some(json!("b.md")));
        assert_eq!(found(notes.clone(), "path", &text, Which::Nth(1)), Some(json!("b.md")));
        assert_eq!(found(notes.clone(), "path", &text, Which::Nth(2)), None);
        assert_eq!(found(notes.clone(), "notePath", &text, Which::All), Some(json!(["a.md", "b.md"])));
        let paths = json!({"type": "array", "items": {"type": "string"}});
        assert_eq!(found(notes.clone(), "path", &paths, Which::First), Some(json!(["a.md", "b.md"])));
        assert_eq!(
            found(notes.clone(), "note_id", &json!({"type": "integer"}), Which::First),
            Some(json!(1))
        );
        assert_eq!(
            found(notes, "note_id", &text, Which::First),
            Some(json!("1")),
            "an id may be written as text"
        );
        assert_eq!(found(json!("just text"), "content", &text, Which::First), Some(json!("just text")));
        let brief = json!([{"p": "a.md", "t": "A"}, {"p": "b.md", "t": "B"}]);
        assert_eq!(found(brief.clone(), "path", &text, Which::Last), Some(json!("b.md")));
        assert_eq!(found(brief, "owner", &text, Which::First), None);
        let commit = json!({"commits": [{"sha": "abc123", "message": "Fix the fence\n\nIt fell."}]});
        assert_eq!(found(commit, "title", &text, Which::First), Some(json!("Fix the fence")));
        let log = json!("Commit: 8bb887b4c49b\nAuthor: decade\n");
        assert_eq!(found(log, "revision", &text, Which::First), Some(json!("8bb887b4c49b")));
        let sheet = json!({"range": "A1:B2", "values": [["region", "amount"], ["North", 12]]});
        let told = json!("region\tamount\nNorth\t12");
        assert_eq!(found(sheet, "content", &text, Which::First), Some(told));
        assert_eq!(found(json!(["x", "y"]), "file", &text, Which::Last), Some(json!("y")));
    }
}
