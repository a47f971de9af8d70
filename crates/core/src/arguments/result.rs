//! The value of an earlier result that fits a field: by name, by what it is, by its form.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::form::{Field, Form, Format, Kind, is_email, is_uri};
use crate::text::{terms, with_terms};
use crate::thresholds::thresholds;
use crate::tool::vocabulary::vocabulary;

/// Which of several equal things is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Which {
    /// The first, or the only one.
    First,
    /// The last.
    Last,
    /// The one at a place that is counted from 0.
    Nth(usize),
    /// Every one of them.
    All,
}

/// A value that was found in a result.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundValue {
    /// The value in the form that the field wants.
    pub value: Value,
    /// How well its name fits, from 0 (only its kind does) to 1.
    pub fit: f64,
}

/// Objects inside a result are followed this far.
const MAX_DEPTH: usize = 6;
/// Values of a result that are looked at.
const MAX_VALUES: usize = 2000;
/// Characters of a result that become one argument.
const MAX_TEXT: usize = 100_000;

/// Finds in an earlier result the value for a field of a form.
///
/// A result may be structured, JSON inside a text, or lines of text. [`Which::All`] gives a list where the
/// field takes one, and of a field that does not the first; [`each_of_result`] takes a list apart.
pub fn from_result(form: &Form, field: &Field, result: &Value, which: Which) -> Option<FoundValue> {
    let result = plain(result);
    let records = records(&result);
    if field.is_list && which == Which::All {
        let items = |it: FoundValue| it.value.as_array().cloned().unwrap_or_else(|| vec![it.value]);
        let found: Vec<FoundValue> =
            records.iter().filter_map(|record| of_record(form, field, record)).collect();
        let fit = found.iter().map(|it| it.fit).fold(f64::NAN, f64::min);
        let value = Value::Array(found.into_iter().flat_map(items).collect());
        return (!fit.is_nan() && form.takes(field, &value)).then_some(FoundValue { value, fit });
    }
    let record = match which {
        Which::First | Which::All => records.first(),
        Which::Last => records.last(),
        Which::Nth(at) => records.get(at),
    };
    let inner = record.and_then(|record| of_record(form, field, record));
    // What stands beside a list, such as its folder, belongs to each of its items.
    let outer = || of_record(form, field, &without_lists(&result));
    let whole = || whole_text(field, &result).filter(|value| form.takes(field, value));
    match inner {
        Some(inner) if inner.fit > 0.0 => Some(inner),
        inner => outer()
            .filter(|outer| outer.fit > 0.0)
            .or(inner)
            .or_else(|| whole().map(|value| FoundValue { value, fit: 0.0 })),
    }
}

/// Takes the list in a result apart; a result that holds none is one thing.
pub fn each_of_result(result: &Value) -> Vec<Value> {
    records(&plain(result))
}

/// Unwraps what a tool answered: its structured content, or the text of its blocks, or JSON inside a text.
fn plain(result: &Value) -> Value {
    if let Some(structured) = result.get("structuredContent").filter(|it| !it.is_null()) {
        return plain(structured);
    }
    let is_block = |it: &Value| it.get("type").is_some_and(Value::is_string);
    if let Some(blocks) = result.get("content").and_then(Value::as_array).filter(|it| it.iter().all(is_block))
    {
        let texts: Vec<&str> = blocks.iter().filter_map(|it| it["text"].as_str()).collect();
        return plain(&Value::String(texts.join("\n")));
    }
    if let Some(text) = result.as_str().map(str::trim).filter(|text| text.starts_with(['{', '['])) {
        return serde_json::from_str(text).unwrap_or_else(|_| result.clone());
    }
    // A hub wraps texts and lists to make objects of them.
    let only = result.as_object().filter(|members| members.len() == 1).and_then(|it| it.iter().next());
    match only {
        Some((key, inner)) if ["text", "value", "result"].contains(&key.as_str()) => plain(inner),
        _ => result.clone(),
    }
}

/// The things that a result is about: the items of its list, its lines, or itself.
fn records(result: &Value) -> Vec<Value> {
    match result {
        Value::Array(items) => items.iter().take(MAX_VALUES).cloned().collect(),
        Value::Object(members) => {
            let lists = members.values().filter_map(Value::as_array).filter(|it| !it.is_empty());
            // Of several lists the one of objects is what the result is about.
            let list = lists.max_by_key(|it| (it[0].is_object(), it.len()));
            let is_listing = members.values().filter(|it| it.is_object()).count() == 0;
            match list {
                Some(list) if is_listing => list.iter().take(MAX_VALUES).cloned().collect(),
                _ => vec![result.clone()],
            }
        }
        Value::String(text) => {
            let lines: Vec<&str> = text.lines().map(unmarked).filter(|line| !line.is_empty()).collect();
            if lines.len() < 2 || !is_list_of_lines(text) {
                return vec![Value::String(text.trim().to_owned())];
            }
            lines.into_iter().take(MAX_VALUES).map(|line| Value::String(line.to_owned())).collect()
        }
        Value::Null => Vec::new(),
        Value::Bool(_) | Value::Number(_) => vec![result.clone()],
    }
}

/// Whether lines are items and not a text that goes on: they are short, or marked as items.
fn is_list_of_lines(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let marked = lines.iter().filter(|line| unmarked(line) != line.trim()).count();
    let short = lines.iter().filter(|line| line.split_whitespace().count() <= 4).count();
    2 * marked >= lines.len() || 4 * short >= 3 * lines.len()
}

/// Takes the mark of an item off a line: `- `, `* `, `3. `, `[FILE] `.
fn unmarked(line: &str) -> &str {
    let line = line.trim();
    if let Some(rest) =
        ["- ", "* ", "• ", "[FILE] ", "[DIR] "].iter().find_map(|mark| line.strip_prefix(mark))
    {
        return rest.trim();
    }
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = digits.strip_prefix(". ").or_else(|| digits.strip_prefix(") "));
    rest.filter(|_| digits.len() < line.len()).map_or(line, str::trim)
}

fn without_lists(result: &Value) -> Value {
    let members = result.as_object().into_iter().flatten().filter(|(_, it)| !it.is_array());
    Value::Object(members.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Finds the member of one thing that fits best.
fn of_record(form: &Form, field: &Field, record: &Value) -> Option<FoundValue> {
    let mut leaves = Vec::new();
    gather(record, &mut Vec::new(), MAX_DEPTH, &mut leaves);
    let mut best: Option<FoundValue> = None;
    for (path, leaf) in leaves {
        let Some(value) = rendered(form, field, leaf) else { continue };
        let fit = if path.is_empty() { bare_fit(field, &value) } else { name_fit(field, &path) };
        if fit >= 0.0 && best.as_ref().is_none_or(|best| fit > best.fit) {
            best = Some(FoundValue { value, fit });
        }
    }
    best
}

fn gather<'a>(
    value: &'a Value,
    path: &mut Vec<&'a str>,
    depth: usize,
    leaves: &mut Vec<(Vec<&'a str>, &'a Value)>,
) {
    if leaves.len() >= MAX_VALUES {
        return;
    }
    match value {
        Value::Object(members) if depth > 0 => {
            for (name, member) in members {
                path.push(name);
                gather(member, path, depth - 1, leaves);
                path.pop();
            }
        }
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            leaves.push((path.clone(), value))
        }
    }
}

/// How well the name of a member fits a field; negative when nothing speaks for it.
fn name_fit(field: &Field, path: &[&str]) -> f64 {
    let own = path.last().map_or("", |name| *name);
    let name = field.path.last().map_or("", String::as_str);
    if own.eq_ignore_ascii_case(name) {
        return 1.0;
    }
    let (had, wanted) = (terms(own, 8), &field.name_terms);
    let shared = had.iter().filter(|term| wanted.contains(term)).count();
    let by_name = 2.0 * shared as f64 / (had.len() + wanted.len()).max(1) as f64;
    // `id` of an issue is what `issue_id` asks for, and `name` of a city is what `city` asks for.
    let above: Vec<String> = path[..path.len() - 1].iter().flat_map(|name| terms(name, 4)).collect();
    let is_identity = vocabulary().parameters.naming.contains(own);
    let fits = &thresholds().arguments;
    let by_place =
        if above.iter().any(|term| wanted.contains(term)) && is_identity { fits.result_place } else { 0.0 };
    let described = had.iter().filter(|term| field.description_terms.contains(term)).count();
    let by_words = fits.result_description * described as f64 / had.len().max(1) as f64;
    let fit = by_name.max(by_place).max(by_words);
    if fit > 0.0 { fit } else { -1.0 }
}

/// Words in the names of fields that take a path, as terms.
static PATHS: LazyLock<HashSet<String>> = LazyLock::new(|| with_terms(&vocabulary().parameters.paths));

/// How well a value without a name fits: its form has to speak for it.
fn bare_fit(field: &Field, value: &Value) -> f64 {
    let Value::String(text) = value else { return thresholds().arguments.result_other };
    let is_path = text.contains('/') || text.rsplit_once('.').is_some_and(|(_, end)| end.len() <= 4);
    match field.format {
        Some(Format::Uri) if is_uri(text) => thresholds().arguments.result_format,
        Some(Format::Email) if is_email(text) => thresholds().arguments.result_format,
        _ if is_path && field.name_terms.iter().any(|name| PATHS.contains(name)) => {
            thresholds().arguments.result_path
        }
        _ => 0.0,
    }
}

/// Writes a value in the form that a field wants.
fn rendered(form: &Form, field: &Field, value: &Value) -> Option<Value> {
    let as_text = || (value.is_number() || value.is_boolean()).then(|| Value::String(value.to_string()));
    let as_number = || {
        let text = value.as_str()?.trim().trim_start_matches('#');
        serde_json::from_str::<Value>(text).ok().filter(Value::is_number)
    };
    let single = || (field.is_list && !value.is_array()).then(|| Value::Array(vec![value.clone()]));
    let first = || value.as_array().filter(|_| !field.is_list)?.first().cloned();
    let linked = || match field.format {
        Some(Format::Uri) => Some(Value::String(part(value.as_str()?, is_uri)?)),
        Some(Format::Email) => Some(Value::String(part(value.as_str()?, is_email)?)),
        _ => None,
    };
    let forms = [Some(value.clone()), as_text(), as_number(), single(), first(), linked()];
    forms.into_iter().flatten().find(|value| form.takes(field, value))
}

/// The part of a line that has a form of its own.
fn part(line: &str, is_one: fn(&str) -> bool) -> Option<String> {
    let trimmed = line.split_whitespace().map(|it| it.trim_matches(|c: char| "<>()[],;\"'".contains(c)));
    trimmed.map(|it| it.trim_end_matches('.')).find(|it| is_one(it)).map(str::to_owned)
}

/// The whole result as a text, for fields that take any.
fn whole_text(field: &Field, result: &Value) -> Option<Value> {
    let is_free = field.kind == Kind::Text && field.choices.is_empty() && !field.is_list;
    let text = match result.as_str() {
        Some(text) => text.to_owned(),
        None => serde_json::to_string_pretty(result).ok()?,
    };
    (is_free && text.len() <= MAX_TEXT && !text.is_empty()).then_some(Value::String(text))
}
