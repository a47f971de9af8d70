//! Chats as OpenAI has them: `/v1/chat/completions`.

use serde_json::{Map, Value, json};
use toolyard_core::turn::{ChatMessage, ToolCall};

use super::answer::{Done, Said};
use super::chat::{self, Chat, Read, Unread};
use super::refusal::Refusal;
use super::reply::{Collected, Stamp};
use crate::model::{Dialect, Usage};

/// Members that are read here; the others pass to a model server that speaks the same dialect.
const READ: [&str; 8] =
    ["model", "messages", "tools", "stream", "stream_options", "n", "tool_choice", "parallel_tool_calls"];
/// What Ollama has under another name.
const AS_OLLAMA: [(&str, &str); 6] = [
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("seed", "seed"),
    ("stop", "stop"),
    ("max_tokens", "num_predict"),
    ("max_completion_tokens", "num_predict"),
];

/// Reads a request for a model server.
pub(super) fn read(body: &Value, server: Dialect) -> Result<Read, Refusal> {
    chat::settled(understood(body, server))
}

fn understood(body: &Value, server: Dialect) -> Result<Chat, Unread> {
    let Some(members) = body.as_object() else { return Err(Unread::wrong("the body must be an object")) };
    if body["n"].as_u64().is_some_and(|n| n > 1) {
        return Err(Unread::wrong("only one answer is given: leave `n` out, or set it to 1"));
    }
    if members.get("functions").is_some_and(|it| !it.is_null()) {
        return Err(Unread::Foreign("`functions`"));
    }
    let wants_no_tools = match &body["tool_choice"] {
        Value::Null => false,
        Value::String(choice) if choice == "auto" => false,
        Value::String(choice) if choice == "none" => true,
        // A client that forces a call means one of its own tools.
        Value::String(_) | Value::Object(_) | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            return Err(Unread::Foreign("a `tool_choice` that forces a call"));
        }
    };
    let foreign = if wants_no_tools { Vec::new() } else { chat::offers(&body["tools"])? };
    Ok(Chat {
        model: body["model"].as_str().filter(|name| !name.is_empty()).map(str::to_owned),
        messages: messages(body)?,
        foreign,
        options: match server {
            Dialect::OpenAi => own_options(members),
            Dialect::Ollama => ollama_options(members),
        },
        is_streamed: body["stream"] == true,
        counts_tokens: body["stream_options"]["include_usage"] == true,
        wants_no_tools,
    })
}

fn messages(body: &Value) -> Result<Vec<ChatMessage>, Unread> {
    let mut read: Vec<ChatMessage> = Vec::new();
    for (place, message) in chat::messages(body)?.iter().enumerate() {
        let text = chat::text(&message["content"])?;
        let next = match message["role"].as_str() {
            Some("system" | "developer") => ChatMessage::System { text },
            Some("user") => ChatMessage::User { text },
            Some("assistant") => {
                let reasoning = message["reasoning_content"].as_str().unwrap_or_default().to_owned();
                ChatMessage::Assistant { text, reasoning, calls: chat::calls(message, place) }
            }
            Some("tool") => {
                let id = message["tool_call_id"].as_str().unwrap_or_default().to_owned();
                let call = chat::answered(&read, Some(&id), None);
                ChatMessage::Tool { name: call.map(|it| it.name.clone()).unwrap_or_default(), id, text }
            }
            Some("function") => return Err(Unread::Foreign("a message of the role `function`")),
            other => return Err(chat::unknown_role(other, place)),
        };
        read.push(next);
    }
    Ok(read)
}

fn own_options(members: &Map<String, Value>) -> Map<String, Value> {
    let is_open = |(name, value): &(&String, &Value)| !READ.contains(&name.as_str()) && !value.is_null();
    members.iter().filter(is_open).map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn ollama_options(members: &Map<String, Value>) -> Map<String, Value> {
    let mut options = chat::renamed(members, &AS_OLLAMA);
    if let Some(Value::String(stop)) = options.get("stop") {
        options.insert("stop".to_owned(), json!([stop]));
    }
    let format = members.get("response_format").unwrap_or(&Value::Null);
    match format["type"].as_str() {
        Some("json_object") => drop(options.insert("format".to_owned(), json!("json"))),
        Some("json_schema") => {
            options.insert("format".to_owned(), format["json_schema"]["schema"].clone());
        }
        Some(_) | None => {}
    }
    options
}

/// Writes what is said as events of a stream.
pub(super) fn events(stamp: &Stamp, said: &Said) -> String {
    match said {
        Said::Text(text) => event(&chunk(stamp, &json!({ "content": text }), None)),
        Said::Reasoning(text) => event(&chunk(stamp, &json!({ "reasoning_content": text }), None)),
        Said::Done(done) => ending(stamp, done),
        Said::Failed(failed) => event(&failed.object(Dialect::OpenAi)),
    }
}

/// Writes the first event of a stream.
pub(super) fn opening(stamp: &Stamp) -> String {
    event(&chunk(stamp, &json!({ "role": "assistant", "content": "" }), None))
}

/// Writes an answer as one object.
pub(super) fn object(stamp: &Stamp, all: &Collected, done: &Done) -> Value {
    let calls: Vec<Value> = done.foreign.iter().map(call).collect();
    let content = if all.text.is_empty() && !calls.is_empty() { Value::Null } else { json!(all.text) };
    let mut message = json!({ "role": "assistant", "content": content });
    if !all.reasoning.is_empty() {
        message["reasoning_content"] = json!(all.reasoning);
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    let choice = json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": finish(done) });
    json!({
        "id": format!("chatcmpl-{}", stamp.id),
        "object": "chat.completion",
        "created": stamp.created.as_second(),
        "model": stamp.model,
        "choices": [choice],
        "usage": usage(done.usage),
        "toolyard": done.log,
    })
}

fn ending(stamp: &Stamp, done: &Done) -> String {
    let mut events = String::new();
    if !done.foreign.is_empty() {
        let calls = done.foreign.iter().enumerate().map(|(index, it)| {
            let mut call = call(it);
            call["index"] = json!(index);
            call
        });
        events += &event(&chunk(stamp, &json!({ "tool_calls": calls.collect::<Vec<_>>() }), None));
    }
    let mut last = chunk(stamp, &json!({}), Some(finish(done)));
    last["toolyard"] = json!(done.log);
    events += &event(&last);
    if stamp.counts_tokens {
        let mut counted = chunk(stamp, &Value::Null, None);
        counted["choices"] = json!([]);
        counted["usage"] = usage(done.usage);
        events += &event(&counted);
    }
    events + "data: [DONE]\n\n"
}

fn event(object: &Value) -> String {
    format!("data: {object}\n\n")
}

fn chunk(stamp: &Stamp, delta: &Value, finish: Option<&str>) -> Value {
    json!({
        "id": format!("chatcmpl-{}", stamp.id),
        "object": "chat.completion.chunk",
        "created": stamp.created.as_second(),
        "model": stamp.model,
        "choices": [{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }],
    })
}

fn call(call: &ToolCall) -> Value {
    let arguments = Value::Object(call.arguments.clone()).to_string();
    json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": arguments } })
}

fn finish(done: &Done) -> &'static str {
    if done.foreign.is_empty() { "stop" } else { "tool_calls" }
}

fn usage(usage: Usage) -> Value {
    let Usage { prompt_tokens, answer_tokens } = usage;
    json!({
        "prompt_tokens": prompt_tokens,
        "completion_tokens": answer_tokens,
        "total_tokens": prompt_tokens + answer_tokens,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(body: &Value, server: Dialect) -> Chat {
        match read(body, server).expect("it is right") {
            Read::Chat(chat) => *chat,
            Read::Untouched(why) => panic!("{why}"),
        }
    }

    /// Writes down why a request is no chat for us.
    fn unread(change: impl FnOnce(&mut Value)) -> String {
        let mut body = json!({ "model": "m", "messages": [{ "role": "user", "content": "Hi" }] });
        change(&mut body);
        match read(&body, Dialect::OpenAi) {
            Ok(Read::Chat(_)) => "chat".to_owned(),
            Ok(Read::Untouched(why)) => format!("untouched: {why}"),
            Err(refusal) => format!("{}: {}", refusal.status.as_u16(), refusal.message),
        }
    }

    #[test]
    fn i1_a_conversation_is_read_with_its_calls_and_results() {
        let arguments = "{\"path\":\"a\"}";
        let called = json!([{ "id": "c1", "type": "function", "function": { "name": "read", "arguments": arguments } }]);
        let body = json!({ "messages": [
            { "role": "developer", "content": "Be brief." },
            { "role": "user", "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] },
            { "role": "assistant", "content": null, "tool_calls": called },
            { "role": "tool", "tool_call_id": "c1", "content": "hello" },
        ] });
        let shown: Vec<String> =
            chat(&body, Dialect::OpenAi).messages.iter().map(|it| json!(it).to_string()).collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        {"role":"system","text":"Be brief."}
        {"role":"user","text":"a\nb"}
        {"role":"assistant","text":"","calls":[{"id":"c1","name":"read","arguments":{"path":"a"}}]}
        {"role":"tool","id":"c1","name":"read","text":"hello"}
        "#);
    }

    #[test]
    fn options_pass_in_the_same_dialect_and_are_translated_for_the_other() {
        let body = json!({
            "model": "m", "messages": [{ "role": "user", "content": "Hi" }], "stream": true, "user": "u", "stop": "x",
            "temperature": 0.5, "max_tokens": 7, "tool_choice": "auto", "response_format": { "type": "json_object" },
        });
        let options = |server| Value::Object(chat(&body, server).options).to_string();
        insta::assert_snapshot!(options(Dialect::OpenAi), @r#"{"user":"u","stop":"x","temperature":0.5,"max_tokens":7,"response_format":{"type":"json_object"}}"#);
        insta::assert_snapshot!(options(Dialect::Ollama), @r#"{"temperature":0.5,"stop":["x"],"num_predict":7,"format":"json"}"#);
    }

    #[test]
    fn what_cannot_be_translated_is_left_to_the_model_server_or_refused() {
        let image = json!([{ "type": "image_url", "image_url": { "url": "data:" } }]);
        let lines = [
            unread(|_| {}),
            unread(|body| body["messages"][0]["content"] = image),
            unread(|body| body["functions"] = json!([])),
            unread(|body| body["tool_choice"] = json!("required")),
            unread(|body| body["tools"] = json!([{ "type": "custom", "custom": {} }])),
            unread(|body| body["tools"] = json!([{ "type": "function", "function": {} }])),
            unread(|body| body["n"] = json!(2)),
            unread(|body| body["messages"] = json!("Hi")),
            unread(|body| body["messages"][0]["role"] = json!("king")),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r"
        chat
        untouched: content that is no text
        untouched: `functions`
        untouched: a `tool_choice` that forces a call
        untouched: a tool that is no function
        400: every function in `tools` needs a name
        400: only one answer is given: leave `n` out, or set it to 1
        400: `messages` must be a list
        400: message 0 has the role `king`, which is unknown
        ");
    }
}
