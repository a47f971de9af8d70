//! Arguments without their values, or without those that look like secrets.

use serde_json::{Map, Value, json};
use toolyard_core::tool::clean;

/// Objects within objects that are told apart.
const DEPTH: usize = 6;
/// Members of one object.
const MEMBERS: usize = 64;
/// Characters of a name.
const NAME_CHARS: usize = 64;
/// Characters of a text.
const TEXT_CHARS: usize = 1000;
/// Items of a list.
const ITEMS: usize = 50;

/// Returns the names and types of arguments; of a list, the type of its first item.
pub(crate) fn of(value: &Value) -> Value {
    shape(value, DEPTH)
}

fn shape(value: &Value, depth: usize) -> Value {
    match value {
        Value::Object(members) if depth > 0 => {
            let shown =
                members.iter().take(MEMBERS).map(|(key, value)| (named(key), shape(value, depth - 1)));
            Value::Object(shown.collect())
        }
        Value::Array(items) if depth > 0 => {
            Value::Array(items.first().map(|first| shape(first, depth - 1)).into_iter().collect())
        }
        Value::Object(_) => json!("object"),
        Value::Array(_) => json!("array"),
        Value::Null => json!("null"),
        Value::Bool(_) => json!("boolean"),
        Value::Number(_) => json!("number"),
        Value::String(_) => json!("string"),
    }
}

/// Returns arguments with `…` for what its name calls a secret, and long texts cut.
pub(super) fn without_secrets(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let shown = |(key, value): (&String, &Value)| {
                let value = if is_secret(key) { json!("…") } else { without_secrets(value) };
                (named(key), value)
            };
            Value::Object(members.iter().take(MEMBERS).map(shown).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().take(ITEMS).map(without_secrets).collect()),
        Value::String(text) if text.chars().nth(TEXT_CHARS).is_some() => {
            json!(text.chars().take(TEXT_CHARS).chain(['…']).collect::<String>())
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn named(key: &str) -> String {
    clean(key).chars().take(NAME_CHARS).collect()
}

/// Better one value too few than a password.
fn is_secret(key: &str) -> bool {
    let key: String = key.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
    let signs = [
        "token",
        "secret",
        "passw",
        "passphrase",
        "credential",
        "authorization",
        "cookie",
        "privatekey",
        "apikey",
        "accesskey",
        "signature",
        "mnemonic",
        "otp",
        "pin",
    ];
    signs.iter().any(|sign| if sign.len() <= 3 { key == *sign } else { key.contains(sign) })
}
