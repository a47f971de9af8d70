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

    /// Returns an argument of any kind; an absent one is `None`.
    pub(crate) fn value(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// Returns a number, with or without a fraction; an absent one is `None`.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.value(name)?.as_f64()
    }

    /// Returns a yes or no; an absent one is `None`.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.value(name)?.as_bool()
    }

    /// Returns a list of strings; an absent one is empty.
    pub(crate) fn list(&self, name: &str) -> Vec<&'a str> {
        let items = self.0.get(name).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str).collect()
    }
}

/// Checks the arguments of a call against the tool's definition.
pub(crate) fn check<'a>(definition: &Value, given: &'a Map<String, Value>) -> Result<Arguments<'a>, Error> {
    let problems = problems(&definition["inputSchema"], given);
    if problems.is_empty() { Ok(Arguments(given)) } else { Err(refused(definition, problems)) }
}

/// Refuses a call for these problems, and says what the tool takes.
pub(crate) fn refused(definition: &Value, problems: Vec<String>) -> Error {
    let known = definition["inputSchema"]["properties"].as_object();
    let tool = definition["name"].as_str().unwrap_or_default().to_owned();
    Error { tool, problems, known: quoted(known.into_iter().flat_map(Map::keys)) }
}

/// Says everything in which an object does not fit the schema; `null` counts as not given.
pub(crate) fn problems(schema: &Value, given: &Map<String, Value>) -> Vec<String> {
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
        problems.push(match nearest(name, known.keys().map(String::as_str)) {
            Some(near) => format!("There is no argument `{}`: did you mean `{near}`", shown(name)),
            None => format!("There is no argument `{}`", shown(name)),
        });
    }
    problems
}

/// Says what is wrong with a value, if something is.
pub(crate) fn fits(schema: &Value, value: &Value) -> Result<(), String> {
    match type_name(schema) {
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
        Some("number") => {
            let number = value.as_f64().ok_or_else(|| format!("is {} and not a number", kind(value)))?;
            match (schema["minimum"].as_f64(), schema["maximum"].as_f64()) {
                (Some(least), _) if number < least => Err(format!("is {number}, under {least}")),
                (_, Some(most)) if most < number => Err(format!("is {number}, over {most}")),
                _ => Ok(()),
            }
        }
        Some("boolean") if !value.is_boolean() => Err(format!("is {} and not true or false", kind(value))),
        Some("object") if !value.is_object() => Err(format!("is {} and not an object", kind(value))),
        Some("array") => {
            let items = value.as_array().ok_or_else(|| format!("is {} and not a list", kind(value)))?;
            if let Some(most) = limit(schema, "maxItems")
                && most < items.len()
            {
                return Err(format!("has {} items, over {most}", items.len()));
            }
            if let Some(least) = limit(schema, "minItems")
                && items.len() < least
            {
                return Err(format!("has {} items, under {least}", items.len()));
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

/// Returns the type that a schema asks for; of several, the first that is not `null`.
fn type_name(schema: &Value) -> Option<&str> {
    let several = schema["type"].as_array().into_iter().flatten().filter_map(Value::as_str);
    schema["type"].as_str().or_else(|| several.into_iter().find(|name| *name != "null"))
}

/// Says what a schema wants, with an example.
fn wanted(schema: &Value) -> String {
    if let Some(choices) = schema["enum"].as_array() {
        return format!("one of {}", quoted(choices.iter().filter_map(Value::as_str)));
    }
    let example = schema["examples"].get(0).map(|it| format!(", for example {it}")).unwrap_or_default();
    match type_name(schema) {
        Some("integer") if schema["minimum"].is_null() || schema["maximum"].is_null() => {
            format!("a whole number{example}")
        }
        Some("integer") => {
            format!("a whole number from {} to {}{example}", schema["minimum"], schema["maximum"])
        }
        Some("number") => format!("a number{example}"),
        Some("boolean") => "true or false".to_owned(),
        Some("object") => format!("an object{example}"),
        Some("array") if schema["items"]["type"] == "object" => format!("a list of objects{example}"),
        Some("array") => format!("a list of strings{example}"),
        _ => format!("a string{example}"),
    }
}

/// Reads a whole number, also one that was written as `10.0`.
pub(crate) fn whole(value: &Value) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    value.as_i64().or_else(|| {
        let number = value.as_f64()?;
        (number.fract() == 0.0 && number.abs() < EXACT).then_some(number as i64)
    })
}

pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Returns the name that was most likely meant, if one is near.
pub(crate) fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if 64 < name.len() {
        return None;
    }
    let name = name.to_lowercase();
    let scored = known.into_iter().map(|key| (strsim::jaro_winkler(&name, key), key));
    scored.filter(|(score, _)| 0.8 < *score).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, key)| key)
}
