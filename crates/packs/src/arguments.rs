//! Arguments checked against a tool's own input schema.
//!
//! The schema that a client sees is the one that is enforced, so the two cannot drift apart. Every
//! mistake is reported at once, with what to send instead.

use serde_json::{Map, Value};

use crate::reply::{quoted, shown};

/// Arguments that fit the schema; `null` counts as not given.
#[derive(Debug)]
pub(crate) struct Arguments<'a>(&'a Map<String, Value>);

/// Says everything that is wrong with the arguments of one call.
#[derive(Debug, thiserror::Error)]
#[error("`{tool}` was not run. {}. It takes {known}", problems.join(". "))]
pub(crate) struct Error {
    tool: String,
    problems: Vec<String>,
    known: String,
}

impl<'a> Arguments<'a> {
    /// Returns a string argument; an absent one is `None`.
    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name)?.as_str()
    }

    /// Returns a string argument that the schema requires.
    pub(crate) fn required(&self, name: &str) -> &'a str {
        self.text(name).unwrap_or_default()
    }

    /// Returns a whole number, or `otherwise` when it is absent.
    pub(crate) fn whole(&self, name: &str, otherwise: usize) -> usize {
        self.0.get(name).and_then(whole).and_then(|it| usize::try_from(it).ok()).unwrap_or(otherwise)
    }

    /// Returns a list of strings; an absent one is empty.
    pub(crate) fn list(&self, name: &str) -> Vec<&'a str> {
        let items = self.0.get(name).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str).collect()
    }
}

/// Checks the arguments of a call against the tool's definition.
pub(crate) fn check<'a>(definition: &Value, given: &'a Map<String, Value>) -> Result<Arguments<'a>, Error> {
    let schema = &definition["inputSchema"];
    let nothing = Map::new();
    let known = schema["properties"].as_object().unwrap_or(&nothing);
    let mut problems = Vec::new();

    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if given.get(name).is_none_or(Value::is_null) {
            problems.push(format!("`{name}` is missing: send {}", wanted(&schema["properties"][name])));
        }
    }
    for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
        if let Some(wants) = known.get(name)
            && let Err(problem) = fits(wants, value)
        {
            problems.push(format!("`{name}` {problem}: send {}", wanted(wants)));
        }
    }
    for name in given.keys().filter(|name| !known.contains_key(*name)).take(5) {
        problems.push(match nearest(name, known) {
            Some(near) => format!("There is no argument `{}`: did you mean `{near}`", shown(name)),
            None => format!("There is no argument `{}`", shown(name)),
        });
    }
    if problems.is_empty() {
        return Ok(Arguments(given));
    }
    let tool = definition["name"].as_str().unwrap_or_default().to_owned();
    Err(Error { tool, problems, known: quoted(known.keys()) })
}

/// Says what is wrong with a value, if something is.
fn fits(schema: &Value, value: &Value) -> Result<(), String> {
    match schema["type"].as_str() {
        Some("string") => {
            let text = value.as_str().ok_or_else(|| format!("is {} and not a string", kind(value)))?;
            fits_text(schema, text)
        }
        Some("integer") => {
            let number = whole(value).ok_or_else(|| format!("is {} and not a whole number", kind(value)))?;
            match (schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
                (Some(least), _) if number < least => Err(format!("is {number}, under {least}")),
                (_, Some(most)) if most < number => Err(format!("is {number}, over {most}")),
                _ => Ok(()),
            }
        }
        Some("array") => {
            let items = value.as_array().ok_or_else(|| format!("is {} and not a list", kind(value)))?;
            if let Some(most) = limit(schema, "maxItems")
                && most < items.len()
            {
                return Err(format!("has {} items, over {most}", items.len()));
            }
            for item in items {
                fits(&schema["items"], item).map_err(|problem| format!("has an item that {problem}"))?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn fits_text(schema: &Value, text: &str) -> Result<(), String> {
    if let Some(choices) = schema["enum"].as_array()
        && !choices.iter().any(|choice| choice == text)
    {
        return Err(format!("is `{}`, which is no choice", shown(text)));
    }
    if limit(schema, "minLength").is_some() && text.trim().is_empty() {
        return Err("is empty".to_owned());
    }
    match limit(schema, "maxLength") {
        Some(most) if most < text.chars().count() => {
            Err(format!("has {} characters, over {most}", text.chars().count()))
        }
        _ => Ok(()),
    }
}

fn limit(schema: &Value, name: &str) -> Option<usize> {
    usize::try_from(schema[name].as_u64()?).ok()
}

/// Says what a schema wants, with an example.
fn wanted(schema: &Value) -> String {
    if let Some(choices) = schema["enum"].as_array() {
        return format!("one of {}", quoted(choices.iter().filter_map(Value::as_str)));
    }
    let example = schema["examples"].get(0).map(|it| format!(", for example {it}")).unwrap_or_default();
    match schema["type"].as_str() {
        Some("integer") => {
            format!("a whole number from {} to {}{example}", schema["minimum"], schema["maximum"])
        }
        Some("array") => format!("a list of strings{example}"),
        _ => format!("a string{example}"),
    }
}

/// Reads a whole number, also one that was written as `10.0`.
fn whole(value: &Value) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    value.as_i64().or_else(|| {
        let number = value.as_f64()?;
        (number.fract() == 0.0 && number.abs() < EXACT).then_some(number as i64)
    })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn nearest<'k>(name: &str, known: &'k Map<String, Value>) -> Option<&'k str> {
    if 64 < name.len() {
        return None;
    }
    let name = name.to_lowercase();
    let scored = known.keys().map(|key| (strsim::jaro_winkler(&name, key), key.as_str()));
    scored.filter(|(score, _)| 0.8 < *score).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, key)| key)
}
