//! What HTTP headers repeat of a request's body, so that proxies need not read it.
//!
//! Used in both directions: towards HTTP servers the headers are added, from HTTP
//! clients they are checked.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::jsonrpc::Fields;

/// A parameter that is repeated in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mirrored {
    /// The whole header name, in lower case.
    pub(crate) header: String,
    /// Keys that lead to the value in the arguments.
    pub(crate) path: Vec<String>,
}

/// Schemas deeper than this are not searched; the listing's own limit is far lower.
const DEPTH: usize = 64;

/// Finds the parameters that a tool wants in headers, or says why its annotations are invalid.
pub(crate) fn mirrored(schema: &Value) -> Result<Vec<Mirrored>, String> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found)?;
    let total = count_annotations(schema, 0);
    if total != found.len() {
        return Err(
            "`x-mcp-header` stands on a property that cannot be reached by `properties` alone".to_owned()
        );
    }
    for (at, one) in found.iter().enumerate() {
        if found[..at].iter().any(|other| other.header == one.header) {
            return Err(format!("two parameters want the header `{}`", one.header));
        }
    }
    Ok(found)
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<Mirrored>) -> Result<(), String> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Ok(()) };
    if path.len() >= DEPTH {
        return Ok(());
    }
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(header) = property.get("x-mcp-header") {
            let Some(header) = header.as_str().filter(|header| is_token(header)) else {
                return Err(format!("`x-mcp-header` of `{name}` is not a header name"));
            };
            if !matches!(property.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean"))
            {
                return Err(format!("`{name}` has `x-mcp-header` but is no string, integer or boolean"));
            }
            let header = format!("mcp-param-{}", header.to_ascii_lowercase());
            found.push(Mirrored { header, path: path.clone() });
        }
        collect(property, path, found)?;
        path.pop();
    }
    Ok(())
}

fn count_annotations(value: &Value, depth: usize) -> usize {
    if depth > 2 * DEPTH {
        return 0;
    }
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(key, member)| match (key.as_str(), member) {
                ("x-mcp-header", _) => 1,
                // A property may itself be called `x-mcp-header`.
                ("properties", Value::Object(properties)) => {
                    properties.values().map(|property| count_annotations(property, depth + 2)).sum()
                }
                ("default" | "const" | "enum" | "examples", _) => 0,
                (_, member) => count_annotations(member, depth + 1),
            })
            .sum(),
        Value::Array(items) => items.iter().map(|item| count_annotations(item, depth + 1)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Returns the argument at a path in the form of a header value; `None` when it is absent or null.
pub(crate) fn header_value(arguments: &Value, path: &[String]) -> Option<String> {
    let value = path.iter().try_fold(arguments, |value, key| value.get(key))?;
    match value {
        Value::String(text) => Some(encode(text)),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the value that `Mcp-Name` repeats, when the method has one.
pub(crate) fn name_of(method: &str, params: &Fields) -> Option<String> {
    match method {
        "tools/call" | "prompts/get" => params.text("name"),
        "resources/read" => params.text("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => params.text("taskId"),
        _ => None,
    }
}

const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";

/// Writes text as a header value, in Base64 where plain ASCII will not do.
pub(crate) fn encode(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && text.trim() == text;
    if is_plain && !(text.starts_with(OPEN) && text.ends_with(CLOSE)) {
        return text.to_owned();
    }
    format!("{OPEN}{}{CLOSE}", STANDARD.encode(text))
}

/// Reads a header value; `None` when it pretends to be Base64 and is not.
pub(crate) fn decode(value: &str) -> Option<String> {
    match value.strip_prefix(OPEN).and_then(|rest| rest.strip_suffix(CLOSE)) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

/// Whether a decoded header says the same as the body; numbers are compared as numbers.
pub(crate) fn agrees(header: &str, arguments: &Value, path: &[String]) -> bool {
    let Some(value) = path.iter().try_fold(arguments, |value, key| value.get(key)) else { return false };
    match value {
        Value::String(text) => header == text,
        Value::Bool(flag) => header == flag.to_string(),
        Value::Number(number) => header.parse::<f64>().ok() == number.as_f64(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Reads the input schema out of a raw tool definition.
pub(crate) fn input_schema(definition: &RawValue) -> Option<(String, Value)> {
    let fields: Fields = serde_json::from_str(definition.get()).ok()?;
    Some((fields.text("name")?, fields.read("inputSchema")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn finds_annotated_parameters_and_their_values() {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "where": { "type": "object", "properties": { "id": { "type": "integer", "x-mcp-header": "Id" } } },
        }});
        let found = mirrored(&schema).unwrap();
        let arguments = json!({ "region": "Zürich", "where": { "id": 42 } });
        let headers: Vec<_> =
            found.iter().map(|one| (one.header.as_str(), header_value(&arguments, &one.path))).collect();
        assert_eq!(
            headers,
            [
                ("mcp-param-region", Some("=?base64?WsO8cmljaA==?=".to_owned())),
                ("mcp-param-id", Some("42".to_owned())),
            ]
        );
    }

    #[test]
    fn refuses_annotations_that_no_client_could_follow() {
        let item = json!({ "type": "string", "x-mcp-header": "A" });
        for schema in [
            json!({ "properties": { "a": { "type": "array", "items": item } } }),
            json!({ "properties": { "a": { "type": "number", "x-mcp-header": "A" } } }),
            json!({ "properties": { "a": { "type": "string", "x-mcp-header": "A B" } } }),
            json!({ "properties": { "a": { "type": "string", "x-mcp-header": "" } } }),
            json!({ "properties": { "a": item, "b": { "type": "string", "x-mcp-header": "a" } } }),
            json!({ "oneOf": [{ "properties": { "a": item } }] }),
        ] {
            assert!(mirrored(&schema).is_err(), "{schema}");
        }
    }

    #[test]
    fn values_survive_the_way_through_a_header() {
        for text in ["us-west1", " padded ", "line1\nline2", "=?base64?literal?=", "", "世界"] {
            let header = encode(text);
            assert!(header.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "{header}");
            assert_eq!(decode(&header).as_deref(), Some(text));
        }
        assert_eq!(decode("=?base64?***?="), None);
    }
}
