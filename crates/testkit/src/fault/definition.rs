//! What the server offers: tools, resources, prompts.

use serde_json::{Value, json};

/// The resource that `touch_resource` changes unless told otherwise.
pub const NOTE_URI: &str = "fault://note";

/// Describes every tool of the good server, in the order it lists them.
pub fn tools() -> Vec<Value> {
    let mut tools = vec![echo(), structured()];
    tools.extend(readers());
    tools.extend(writers());
    tools
}

/// Describes a tool that was added while the server ran.
pub fn added_tool(name: &str) -> Value {
    tool(name, "Was added while the server ran; answers with its own name", READ, &json!({}))
}

/// Describes the resources.
pub fn resources() -> Value {
    json!([
        {
            "uri": NOTE_URI, "name": "note", "title": "A note", "mimeType": "text/plain", "size": 11,
            "description": "A text that changes when it is touched",
            "annotations": {"audience": ["user"], "priority": 0.5},
            "_meta": {"example.com/kept": true}, "x-vendor": "resource"
        },
        {"uri": "fault://pixel", "name": "pixel", "mimeType": "image/png", "description": "One pixel"}
    ])
}

/// Describes the resource templates.
pub fn resource_templates() -> Value {
    json!([{
        "uriTemplate": "fault://item/{id}", "name": "item", "mimeType": "application/json",
        "description": "An item by its id", "x-vendor": "template"
    }])
}

/// Describes the prompts.
pub fn prompts() -> Value {
    json!([{
        "name": "greet", "title": "Greet", "description": "Greets somebody",
        "arguments": [{"name": "who", "description": "Whom to greet", "required": true}],
        "x-vendor": "prompt"
    }])
}

/// Reads a resource; `None` if there is none of this address.
pub fn resource_contents(uri: &str) -> Option<Value> {
    match uri {
        NOTE_URI => Some(json!([{"uri": uri, "mimeType": "text/plain", "text": "hello there"}])),
        "fault://pixel" => Some(json!([{"uri": uri, "mimeType": "image/png", "blob": PIXEL}])),
        _ => {
            let id = uri.strip_prefix("fault://item/")?;
            let text = json!({"id": id}).to_string();
            Some(json!([{"uri": uri, "mimeType": "application/json", "text": text, "x-vendor": 1}]))
        }
    }
}

/// A picture of one pixel.
pub const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The annotations that tell what a tool does to the world.
#[derive(Clone, Copy)]
struct Effect {
    read_only: bool,
    destructive: bool,
    idempotent: bool,
}

const READ: Effect = Effect { read_only: true, destructive: false, idempotent: true };
const WRITE: Effect = Effect { read_only: false, destructive: false, idempotent: false };
const DESTROY: Effect = Effect { read_only: false, destructive: true, idempotent: false };

/// Has everything that a definition can carry, and fields that no specification knows.
fn echo() -> Value {
    json!({
        "name": "echo",
        "title": "Echo",
        "description": "Repeats a text",
        "inputSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {"text": {"type": "string", "description": "What to repeat", "x-hint": "short"}},
            "required": ["text"],
            "additionalProperties": false
        },
        "annotations": {
            "title": "Echo a text", "readOnlyHint": true, "destructiveHint": false,
            "idempotentHint": true, "openWorldHint": false, "x-hint": 1
        },
        "icons": [{"src": "data:image/png;base64,AA==", "mimeType": "image/png", "sizes": ["1x1"]}],
        "_meta": {"example.com/kept": {"deeply": [1, 2.50, 1e3, null]}},
        "x-vendor": {"unknown": "field"}
    })
}

fn structured() -> Value {
    let mut tool = tool("structured", "Answers with structured content", READ, &json!({}));
    tool["outputSchema"] = json!({
        "type": "object",
        "properties": {"answer": {"type": "integer"}, "words": {"type": "array", "items": {"type": "string"}}},
        "required": ["answer"]
    });
    tool
}

fn readers() -> Vec<Value> {
    let ms = json!({"type": "integer", "minimum": 0});
    vec![
        tool("add", "Adds two numbers", READ, &json!({"a": {"type": "number"}, "b": {"type": "number"}})),
        tool("pid", "Tells the process id of the server", READ, &json!({})),
        tool("sleep", "Answers after some milliseconds", READ, &json!({"ms": ms})),
        tool("hang", "Never answers", READ, &json!({})),
        tool("fail", "Fails with a message for the model", READ, &json!({})),
        tool("progress", "Reports progress", READ, &json!({"steps": ms, "ms": ms})),
        tool("big", "Answers with a text of this many bytes", READ, &json!({"bytes": ms})),
        tool("deep", "Answers with structured content nested this deep", READ, &json!({"levels": ms})),
        tool("contents", "Answers with every kind of content", READ, &json!({})),
        tool("count_read", "Tells how often `count` ran", READ, &json!({})),
        tool(
            "log",
            "Sends a log message",
            READ,
            &json!({"level": {"type": "string"}, "text": {"type": "string"}}),
        ),
        tool("env", "Tells the names of its environment's variables", READ, &json!({})),
        tool("client", "Tells what the client said of itself", READ, &json!({})),
        tool("cancelled", "Tells which requests were cancelled", READ, &json!({})),
    ]
}

fn writers() -> Vec<Value> {
    let flag = json!({"type": "boolean"});
    let ms = json!({"type": "integer", "minimum": 0});
    vec![
        tool("count", "Counts its calls", WRITE, &json!({"label": {"type": "string"}, "ms": ms})),
        tool("ask", "Asks the user for a name", WRITE, &json!({})),
        tool("sample", "Asks the client's model for a sentence", WRITE, &json!({})),
        tool("roots", "Asks the client for its roots", WRITE, &json!({})),
        tool("add_tool", "Adds a tool to the listing", WRITE, &json!({"name": {"type": "string"}})),
        tool("touch_resource", "Changes a resource", WRITE, &json!({"uri": {"type": "string"}})),
        tool(
            "fork",
            "Starts a process that ignores SIGTERM",
            WRITE,
            &json!({"setsid": flag, "inherit": flag}),
        ),
        tool("die", "Exits without an answer", DESTROY, &json!({})),
    ]
}

fn tool(name: &str, description: &str, effect: Effect, properties: &Value) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": properties},
        "annotations": {
            "readOnlyHint": effect.read_only,
            "destructiveHint": effect.destructive,
            "idempotentHint": effect.idempotent
        }
    })
}
