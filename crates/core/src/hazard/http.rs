//! HTTP requests that only read: a safe method to a plain address, and nothing that says otherwise.

use serde_json::{Map, Value};

use super::key_is;
use super::lists::Lists;
use super::plain::{is_beside, is_plain};
use crate::tool::json::Members;
use crate::tool::words::words;
use crate::tool::{Tool, names_destruction};

/// Whether the words of a tool say that it does nothing but send the request it is given.
pub(super) fn is_sender(tool: &Tool) -> bool {
    let lists = Lists::builtin();
    let server: Vec<String> = words(&tool.server).map(str::to_lowercase).collect();
    let mut names = words(&tool.name).map(str::to_lowercase).peekable();
    let is_named = names.peek().is_some()
        && names.all(|word| lists.request_words.contains(&word) || server.contains(&word));
    is_named && tool.parameters.iter().any(|it| key_is(&it.name, &lists.address_keys))
}

/// Returns the method of a request of which every part is known to only read.
pub(super) fn only_reads(tool: &Tool, given: &Map<String, Value>) -> Option<String> {
    let lists = Lists::builtin();
    let method = match given.get("method") {
        Some(Value::String(method)) => method.clone(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            return None;
        }
        None => default_method(tool)?,
    };
    let is_part = |key: &str, value: &Value| match key.to_lowercase().as_str() {
        "method" => true,
        "headers" => is_object_of(value, |name, value| is_safe_header(name) && is_line(value)),
        "params" | "query" | "query_params" => {
            is_object_of(value, |name, value| !overrides(name) && is_line(value))
        }
        name if lists.body_keys.contains(name) => is_empty(value),
        _ if key_is(key, &lists.address_keys) => value.as_str().is_some_and(is_plain_address),
        _ => is_beside(key, value),
    };
    let is_own = |key: &str| tool.parameters.iter().any(|parameter| parameter.name == key);
    let has_address = given.keys().any(|key| key_is(key, &lists.address_keys));
    let is_safe = lists.safe_methods.contains(&method.to_lowercase());
    let is_known = given.iter().all(|(key, value)| is_own(key) && is_part(key, value));
    (has_address && is_safe && is_known).then(|| method.to_uppercase())
}

/// Whether an argument says that a request does more than read, whatever the tool is called.
pub(super) fn is_unsafe(members: &Map<String, Value>) -> bool {
    let lists = Lists::builtin();
    let is_request = members.keys().any(|key| key_is(key, &lists.address_keys));
    let method = members.get("method").or_else(|| members.get("verb"));
    let is_other = method.and_then(Value::as_str).is_some_and(|method| {
        !method.is_empty() && !lists.safe_methods.contains(&method.trim().to_lowercase())
    });
    let headers = members.get("headers").and_then(Value::as_object);
    is_request && (is_other || headers.is_some_and(|headers| headers.keys().any(|name| overrides(name))))
}

/// Whether a header is one that does not change what a request does.
pub(super) fn is_safe_header(name: &str) -> bool {
    Lists::builtin().safe_headers.contains(&name.trim().to_lowercase())
}

/// Whether an address of the web asks for nothing but what it names.
pub(super) fn is_plain_address(address: &str) -> bool {
    let Some(rest) = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://")) else {
        return false;
    };
    let is_sign =
        |c: char| is_plain(c) && c != '*' || matches!(c, '&' | '#' | '(' | ')' | ';' | '!' | '[' | ']');
    let decoded = decoded(rest);
    let path = decoded.find('/').map_or("", |at| &decoded[at..]);
    !rest.is_empty()
        && rest.chars().all(is_sign)
        && !overrides(&decoded)
        && !words(path).any(|word| names_destruction(&word.to_lowercase()))
}

/// An address as a server reads it: `%65` is a letter.
fn decoded(address: &str) -> String {
    let mut parts = address.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code.filter(u8::is_ascii) {
            Some(code) => text.extend([char::from(code)].into_iter().chain(part[2..].chars())),
            None => text.extend(['%'].into_iter().chain(part.chars())),
        }
    }
    text
}

/// Whether a name is one by which frameworks take another method than the one that was sent.
fn overrides(name: &str) -> bool {
    let name = name.to_lowercase();
    name.contains("override") || name.contains("_method") || name.contains("x-method") || name == "method"
}

fn default_method(tool: &Tool) -> Option<String> {
    let schema = Members::of(&tool.definition)?.get("inputSchema").and_then(Members::of)?;
    let method = schema.get("properties").and_then(Members::of)?.get("method").and_then(Members::of)?;
    serde_json::from_str(method.get("default")?.get()).ok()
}

fn is_object_of(value: &Value, is_known: impl Fn(&str, &Value) -> bool) -> bool {
    value.is_null()
        || value.as_object().is_some_and(|members| members.iter().all(|(name, value)| is_known(name, value)))
}

fn is_line(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.contains(char::is_control),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::Array(_) | Value::Object(_) => false,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
