//! What a tool answered, as data.

use serde_json::Value;

/// Returns what a `CallToolResult` says: its structured content, else the JSON in its text, else its text.
///
/// ```
/// use serde_json::json;
/// use toolyard_core::run::reading;
///
/// let answer = json!({"content": [{"type": "text", "text": "{\"id\": 7}"}]});
/// assert_eq!(reading(&answer), json!({"id": 7}));
/// ```
pub fn reading(result: &Value) -> Value {
    if let Some(structured) = result.get("structuredContent").filter(|it| !it.is_null()) {
        // A common library wraps whatever is not an object in one member of this name.
        return match structured.as_object() {
            Some(members) if members.len() == 1 => members.get("result").unwrap_or(structured).clone(),
            Some(_) | None => structured.clone(),
        };
    }
    let Some(content) = result.get("content").and_then(Value::as_array) else { return result.clone() };
    let texts: Vec<&str> = content.iter().filter_map(|part| part["text"].as_str()).collect();
    match texts.as_slice() {
        [] => Value::Array(content.clone()),
        [only] => read(only).unwrap_or_else(|| Value::from(*only)),
        several => {
            let all: Option<Vec<Value>> = several.iter().map(|text| read(text)).collect();
            all.map_or_else(|| Value::from(several.join("\n")), Value::Array)
        }
    }
}

/// Only what is plainly data is taken as data: the text `7` may well be a name.
fn read(text: &str) -> Option<Value> {
    let is_data = text.trim_start().starts_with(['{', '[']);
    is_data.then(|| serde_json::from_str(text).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r10_a_result_is_read_as_what_it_says() {
        let text = |texts: &[&str]| {
            let content: Vec<Value> =
                texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
            reading(&json!({ "content": content }))
        };
        assert_eq!(text(&["hello"]), json!("hello"));
        assert_eq!(text(&["[1, 2]"]), json!([1, 2]));
        assert_eq!(text(&["{\"a\": 1}", "{\"a\": 2}"]), json!([{"a": 1}, {"a": 2}]));
        assert_eq!(text(&["{\"a\": 1}", "and so on"]), json!("{\"a\": 1}\nand so on"));
        assert_eq!(text(&["{broken"]), json!("{broken"));
        assert_eq!(text(&["42"]), json!("42"));
        let wrapped = json!({"content": [], "structuredContent": {"result": [1]}});
        assert_eq!(reading(&wrapped), json!([1]));
        let whole = json!({"content": [], "structuredContent": {"result": [1], "more": true}});
        assert_eq!(reading(&whole), json!({"result": [1], "more": true}));
        let picture = json!({"content": [{"type": "image", "data": "AA=="}]});
        assert_eq!(reading(&picture), json!([{"type": "image", "data": "AA=="}]));
    }
}
