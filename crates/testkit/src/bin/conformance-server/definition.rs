//! What is listed.

use serde_json::{Value, json};

/// Describes the tools, in the order they are listed.
pub(crate) fn tools() -> Value {
    let mut tools: Vec<Value> = PLAIN.iter().map(|(name, about)| plain(name, about)).collect();
    tools.extend(with_arguments());
    tools.push(schema_2020_12());
    json!(tools)
}

/// Tools without arguments.
const PLAIN: [(&str, &str); 27] = [
    ("test_simple_text", "Answers with a text"),
    ("test_image_content", "Answers with a picture"),
    ("test_audio_content", "Answers with a sound"),
    ("test_embedded_resource", "Answers with a resource"),
    ("test_multiple_content_types", "Answers with a text, a picture and a resource"),
    ("test_error_handling", "Always fails"),
    ("test_tool_with_logging", "Logs while it runs"),
    ("test_logging_tool", "Logs while it runs, for those who want it"),
    ("test_tool_with_progress", "Reports progress while it runs"),
    ("test_elicitation_sep1034_defaults", "Asks with a default for every kind of value"),
    ("test_elicitation_sep1330_enums", "Asks with every kind of choice"),
    ("test_reconnection", "Answers after a moment"),
    ("test_missing_capability", "Needs a client that samples"),
    ("test_streaming_elicitation", "Reports progress, then asks"),
    ("test_trigger_tool_change", "Says that the tools changed"),
    ("test_trigger_prompt_change", "Says that the prompts changed"),
    ("test_input_required_result_elicitation", "Asks the user for a name"),
    ("test_input_required_result_sampling", "Asks the client's model"),
    ("test_input_required_result_list_roots", "Asks for the client's roots"),
    ("test_input_required_result_request_state", "Asks and checks its state"),
    ("test_input_required_result_multiple_inputs", "Asks three things at once"),
    ("test_input_required_result_multi_round", "Asks twice, one after the other"),
    ("test_input_required_result_tampered_state", "Asks and refuses a changed state"),
    ("test_input_required_result_capabilities", "Asks only what the client can answer"),
    ("failing_job", "Fails in the background"),
    ("protocol_error_job", "Breaks in the background"),
    ("test_tool_with_task", "Asks for a name, then works in the background"),
];

fn plain(name: &str, about: &str) -> Value {
    json!({"name": name, "description": about, "inputSchema": {"type": "object", "properties": {}}})
}

fn with_arguments() -> Vec<Value> {
    let text = json!({"type": "string"});
    let one = |name: &str, about: &str, argument: &str, schema: &Value| {
        let input = json!({"type": "object", "properties": {argument: schema}, "required": [argument]});
        json!({"name": name, "description": about, "inputSchema": input})
    };
    let region = json!({"type": "string", "x-mcp-header": "Region"});
    vec![
        one("test_sampling", "Asks the client's model", "prompt", &text),
        one("test_elicitation", "Asks the user", "message", &text),
        one("test_custom_headers", "Takes an argument that travels in a header, too", "region", &region),
        one("greet", "Greets somebody", "name", &text),
        one("slow_compute", "Works in the background", "seconds", &json!({"type": "number"})),
        one("confirm_delete", "Asks in the background", "filename", &text),
        json!({
            "name": "multi_input", "description": "Asks two things in the background",
            "inputSchema": {"type": "object", "properties": {}}
        }),
    ]
}

/// Has the keywords of JSON Schema 2020-12 that a listing must not lose.
fn schema_2020_12() -> Value {
    json!({
        "name": "json_schema_2020_12_tool",
        "description": "Has a schema of many keywords",
        "inputSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
                }
            },
            "properties": {
                "name": {"type": "string"},
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"},
                "email": {"type": "string"}
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": false
        }
    })
}

/// Describes the resources.
pub(crate) fn resources() -> Value {
    json!([
        {"uri": "test://static-text", "name": "text", "description": "A text", "mimeType": "text/plain"},
        {"uri": "test://static-binary", "name": "binary", "description": "A picture", "mimeType": "image/png"},
        {"uri": "test://watched-resource", "name": "watched", "description": "A text that may change",
         "mimeType": "text/plain"}
    ])
}

/// Describes the resource templates.
pub(crate) fn resource_templates() -> Value {
    json!([{
        "uriTemplate": "test://template/{id}/data", "name": "data", "description": "Data by id",
        "mimeType": "application/json"
    }])
}

/// Describes the prompts.
pub(crate) fn prompts() -> Value {
    let argument = |name: &str| json!({"name": name, "description": "A test argument", "required": true});
    json!([
        {"name": "test_simple_prompt", "description": "A prompt"},
        {"name": "test_prompt_with_arguments", "description": "A prompt with two arguments",
         "arguments": [argument("arg1"), argument("arg2")]},
        {"name": "test_prompt_with_embedded_resource", "description": "A prompt with a resource",
         "arguments": [argument("resourceUri")]},
        {"name": "test_prompt_with_image", "description": "A prompt with a picture"},
        {"name": "test_input_required_result_prompt", "description": "A prompt that asks first"}
    ])
}
