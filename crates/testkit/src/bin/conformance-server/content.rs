//! Tools, resources and prompts that always answer the same.

use serde_json::{Value, json};
use testkit::fault::definition::PIXEL;

/// A sound without samples.
const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

/// Gives the result of a tool that does nothing else.
pub(crate) fn tool(name: &str) -> Option<Value> {
    let image = json!({"type": "image", "data": PIXEL, "mimeType": "image/png"});
    let content = match name {
        "test_simple_text" => json!([text("This is a simple text response for testing.")]),
        "test_image_content" => json!([image]),
        "test_audio_content" => json!([{"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}]),
        "test_embedded_resource" => json!([{"type": "resource", "resource": {
            "uri": "test://embedded-resource", "mimeType": "text/plain",
            "text": "This is an embedded resource content."
        }}]),
        "test_multiple_content_types" => json!([
            text("Multiple content types test:"), image,
            {"type": "resource", "resource": {
                "uri": "test://mixed-content-resource", "mimeType": "application/json",
                "text": r#"{"test":"data","value":123}"#
            }}
        ]),
        "test_error_handling" => {
            let words = text("This tool intentionally returns an error for testing");
            return Some(json!({"content": [words], "isError": true}));
        }
        "test_custom_headers" | "json_schema_2020_12_tool" => json!([text("The arguments were accepted.")]),
        _ => return None,
    };
    Some(json!({"content": content}))
}

/// Reads a resource.
pub(crate) fn resource(uri: &str) -> Option<Value> {
    let content = match uri {
        "test://static-text" => json!({
            "uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."
        }),
        "test://static-binary" => json!({"uri": uri, "mimeType": "image/png", "blob": PIXEL}),
        "test://watched-resource" => json!({"uri": uri, "mimeType": "text/plain", "text": "Nothing new."}),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()})
        }
    };
    Some(json!({"contents": [content]}))
}

/// Gives a prompt that asks nothing back.
pub(crate) fn prompt(name: &str, arguments: &Value) -> Option<Value> {
    let argument = |name: &str| arguments[name].as_str().unwrap_or_default();
    let contents = match name {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            vec![text(&format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        "test_prompt_with_embedded_resource" => vec![
            json!({"type": "resource", "resource": {
                "uri": argument("resourceUri"), "mimeType": "text/plain",
                "text": "Embedded resource content for testing."
            }}),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => vec![
            json!({"type": "image", "data": PIXEL, "mimeType": "image/png"}),
            text("Please analyze the image above."),
        ],
        _ => return None,
    };
    let messages: Vec<Value> = contents.iter().map(|it| json!({"role": "user", "content": it})).collect();
    Some(json!({"messages": messages}))
}

/// Gives one content of text.
pub(crate) fn text(words: &str) -> Value {
    json!({"type": "text", "text": words})
}

/// Gives the result of a tool that only says something.
pub(crate) fn said(words: &str) -> Value {
    json!({"content": [text(words)]})
}
