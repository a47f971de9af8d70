//! The dialect of Ollama's `/api/chat`: one JSON object per line.

use std::ops::ControlFlow;

use serde_json::{Map, Value, json};
use toolyard_core::turn::{ChatMessage, RawCall, ToolCall};
use toolyard_hub::config::LanguageModel;

use super::draft::{Draft, Drafted, Stop};
use super::{ModelRequest, error, functions};

/// Writes a question.
pub(super) fn body(model: &LanguageModel, question: &ModelRequest<'_>) -> Value {
    let messages: Vec<Value> = question.messages.iter().map(message).collect();
    let mut body = json!({ "model": model.name, "messages": messages, "stream": true });
    if !question.tools.is_empty() {
        body["tools"] = functions(question.tools);
    }
    let mut options = Map::new();
    for (name, value) in question.options {
        match (name.as_str(), value) {
            ("keep_alive" | "think" | "format", value) => body[name] = value.clone(),
            ("options", Value::Object(more)) => options.extend(more.clone()),
            (_, value) => drop(options.insert(name.clone(), value.clone())),
        }
    }
    if !options.is_empty() {
        body["options"] = Value::Object(options);
    }
    body
}

fn message(message: &ChatMessage) -> Value {
    let call = |call: &ToolCall| json!({ "function": { "name": call.name, "arguments": call.arguments } });
    match message {
        ChatMessage::System { text } => json!({ "role": "system", "content": text }),
        ChatMessage::User { text } => json!({ "role": "user", "content": text }),
        ChatMessage::Assistant { text, reasoning: _, calls } if calls.is_empty() => {
            json!({ "role": "assistant", "content": text })
        }
        ChatMessage::Assistant { text, reasoning: _, calls } => {
            let calls: Vec<Value> = calls.iter().map(call).collect();
            json!({ "role": "assistant", "content": text, "tool_calls": calls })
        }
        ChatMessage::Tool { id: _, name, text } => {
            json!({ "role": "tool", "tool_name": name, "content": text })
        }
    }
}

/// Takes one object of an answer.
pub(super) fn take(event: &Value, draft: &mut Draft<'_>) -> ControlFlow<Stop> {
    if let Some(what) = error::complaint(event) {
        return ControlFlow::Break(Stop::Failed(what));
    }
    let message = &event["message"];
    draft.is_known |= message.is_object() || event["done"].is_boolean();
    draft.think(message["thinking"].as_str().unwrap_or_default());
    draft.say(message["content"].as_str().unwrap_or_default());
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let call = raw(call);
        draft.count(call.arguments.len());
        draft.calls.push(Drafted { index: None, call });
    }
    if draft.is_endless() {
        return ControlFlow::Break(Stop::Endless);
    }
    if event["done"] != true {
        return ControlFlow::Continue(());
    }
    draft.is_cut = event["done_reason"] == "length";
    draft.usage.prompt_tokens = event["prompt_eval_count"].as_u64().unwrap_or_default();
    draft.usage.answer_tokens = event["eval_count"].as_u64().unwrap_or_default();
    draft.is_done = true;
    ControlFlow::Break(Stop::Done)
}

fn raw(call: &Value) -> RawCall {
    let function = &call["function"];
    let arguments = match &function["arguments"] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
    };
    let id = call["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
    RawCall { id, name: function["name"].as_str().unwrap_or_default().to_owned(), arguments }
}
