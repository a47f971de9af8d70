//! The dialect of Anthropic's `/v1/messages`: blocks of content, and events that fill them.

use std::ops::ControlFlow;

use serde_json::{Value, json};
use toolyard_core::turn::{ChatMessage, RawCall};
use toolyard_hub::config::LanguageModel;

use super::draft::{Draft, Drafted, Stop};
use super::{ModelRequest, error};

/// Tokens that a reply may have, unless the options say otherwise: the service wants to be told.
const MOST_TOKENS: u64 = 4096;

/// Writes a question.
pub(super) fn body(model: &LanguageModel, question: &ModelRequest<'_>) -> Value {
    let mut body = json!({ "model": model.name, "max_tokens": MOST_TOKENS, "messages": messages(question), "stream": true });
    if let Some(most) = question.options.get("max_tokens") {
        body["max_tokens"] = most.clone();
    }
    let rules = question.messages.iter().filter_map(|message| match message {
        ChatMessage::System { text } => Some(text.as_str()),
        ChatMessage::User { .. } | ChatMessage::Assistant { .. } | ChatMessage::Tool { .. } => None,
    });
    let rules: Vec<&str> = rules.collect();
    if !rules.is_empty() {
        body["system"] = json!(rules.join("\n\n"));
    }
    if !question.tools.is_empty() {
        body["tools"] = question.tools.iter().map(tool).collect();
    }
    for (name, value) in question.options {
        if body.get(name).is_none() {
            body[name] = value.clone();
        }
    }
    body
}

/// Writes the conversation. What one side says in a row is one message: results of calls belong together.
fn messages(question: &ModelRequest<'_>) -> Vec<Value> {
    let mut written: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in question.messages {
        let (role, blocks) = match message {
            ChatMessage::System { .. } => continue,
            ChatMessage::User { text } => ("user", vec![json!({ "type": "text", "text": text })]),
            ChatMessage::Assistant { text, reasoning: _, calls } => {
                // The service refuses an empty text.
                let said = (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text }));
                let calls = calls.iter().map(|call| {
                    json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments })
                });
                ("assistant", said.into_iter().chain(calls).collect())
            }
            ChatMessage::Tool { id, name: _, text } => {
                ("user", vec![json!({ "type": "tool_result", "tool_use_id": id, "content": text })])
            }
        };
        match written.last_mut() {
            Some((last, content)) if *last == role => content.extend(blocks),
            Some(_) | None if blocks.is_empty() => {}
            Some(_) | None => written.push((role, blocks)),
        }
    }
    written.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

fn tool(tool: &Value) -> Value {
    let mut written = json!({ "name": tool["name"] });
    if let Some(description) = tool.get("description") {
        written["description"] = description.clone();
    }
    let nothing = || json!({ "type": "object", "properties": {} });
    written["input_schema"] = tool.get("inputSchema").cloned().unwrap_or_else(nothing);
    written
}

/// Takes one event of a stream, or a whole message.
pub(super) fn take(event: &Value, draft: &mut Draft<'_>) -> ControlFlow<Stop> {
    if let Some(what) = error::complaint(event) {
        return ControlFlow::Break(Stop::Failed(what));
    }
    let index = event["index"].as_u64();
    match event["type"].as_str().unwrap_or_default() {
        "message_start" => {
            draft.is_known = true;
            count(&event["message"]["usage"], draft);
        }
        "content_block_start" => block(&event["content_block"], index, draft),
        "content_block_delta" => {
            let delta = &event["delta"];
            draft.say(delta["text"].as_str().unwrap_or_default());
            draft.think(delta["thinking"].as_str().unwrap_or_default());
            if let Some(part) = delta["partial_json"].as_str() {
                draft.count(part.len());
                if let Some(drafted) = draft.calls.iter_mut().rfind(|it| it.index == index) {
                    drafted.call.arguments.push_str(part);
                }
            }
        }
        "message_delta" => {
            stop(&event["delta"], draft);
            count(&event["usage"], draft);
        }
        "message_stop" => return ControlFlow::Break(if draft.is_known { Stop::Done } else { Stop::Closed }),
        "message" => {
            draft.is_known = true;
            for (at, content) in event["content"].as_array().into_iter().flatten().enumerate() {
                block(content, Some(at as u64), draft);
            }
            stop(event, draft);
            count(&event["usage"], draft);
            draft.is_done = true;
        }
        _ => {}
    }
    if draft.is_endless() { ControlFlow::Break(Stop::Endless) } else { ControlFlow::Continue(()) }
}

/// Takes a block: all of it, or what it begins with.
fn block(block: &Value, index: Option<u64>, draft: &mut Draft<'_>) {
    draft.say(block["text"].as_str().unwrap_or_default());
    draft.think(block["thinking"].as_str().unwrap_or_default());
    if block["type"] != "tool_use" {
        return;
    }
    // Of a stream the input comes in pieces, and is empty here.
    let input = block["input"].as_object().filter(|input| !input.is_empty());
    let arguments = input.map(|_| block["input"].to_string()).unwrap_or_default();
    draft.count(arguments.len());
    let text = |key: &str| block[key].as_str().filter(|it| !it.is_empty()).map(str::to_owned);
    let call = RawCall { id: text("id"), name: text("name").unwrap_or_default(), arguments };
    draft.calls.push(Drafted { index, call });
}

fn stop(said: &Value, draft: &mut Draft<'_>) {
    let reason = said["stop_reason"].as_str();
    draft.is_cut |= matches!(reason, Some("max_tokens" | "model_context_window_exceeded"));
    draft.is_done |= reason.is_some();
}

/// Counts tokens. What the service read from its cache is part of the question.
fn count(usage: &Value, draft: &mut Draft<'_>) {
    let number = |key: &str| usage[key].as_u64();
    if let Some(input) = number("input_tokens") {
        let cached =
            ["cache_creation_input_tokens", "cache_read_input_tokens"].iter().filter_map(|key| number(key));
        draft.usage.prompt_tokens = input + cached.sum::<u64>();
    }
    if let Some(output) = number("output_tokens") {
        draft.usage.answer_tokens = output;
    }
}
