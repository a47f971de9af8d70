//! A chat, whichever dialect it was written in.

use serde_json::{Map, Value, json};
use toolyard_core::turn::{ChatMessage, Offer, ToolCall};

use super::refusal::Refusal;

/// A chat that is understood.
#[derive(Clone, Debug)]
pub(super) struct Chat {
    /// The model that is wanted.
    pub(super) model: Option<String>,
    /// The conversation so far.
    pub(super) messages: Vec<ChatMessage>,
    /// The client's own tools.
    pub(super) foreign: Vec<Offer>,
    /// What is sent to the model besides, as the model server wants it.
    pub(super) options: Map<String, Value>,
    /// Whether the answer is sent in pieces.
    pub(super) is_streamed: bool,
    /// Whether a stream ends with how many tokens it took.
    pub(super) counts_tokens: bool,
    /// Whether nothing at all may be called.
    pub(super) wants_no_tools: bool,
}

/// What was made of a request.
#[derive(Debug)]
pub(super) enum Read {
    /// A chat.
    Chat(Box<Chat>),
    /// A chat that only the model server understands, because of what is named here.
    Untouched(&'static str),
}

/// Why a part of a request cannot be read.
#[derive(Debug)]
pub(super) enum Unread {
    /// Only the model server understands it.
    Foreign(&'static str),
    /// It is wrong.
    Wrong(Refusal),
}

impl Unread {
    pub(super) fn wrong(why: impl Into<String>) -> Self {
        Self::Wrong(Refusal::bad_request(why))
    }
}

/// Turns what was read, or why it was not, into what is done with it.
pub(super) fn settled(read: Result<Chat, Unread>) -> Result<Read, Refusal> {
    match read {
        Ok(chat) => Ok(Read::Chat(Box::new(chat))),
        Err(Unread::Foreign(why)) => Ok(Read::Untouched(why)),
        Err(Unread::Wrong(refusal)) => Err(refusal),
    }
}

/// Returns the messages of a request.
pub(super) fn messages(body: &Value) -> Result<&[Value], Unread> {
    match body["messages"].as_array() {
        Some(messages) if messages.is_empty() => Err(Unread::Foreign("a chat without messages")),
        Some(messages) => Ok(messages),
        None => Err(Unread::wrong("`messages` must be a list")),
    }
}

/// Refuses a message of a role that nobody knows.
pub(super) fn unknown_role(role: Option<&str>, place: usize) -> Unread {
    Unread::wrong(format!("message {place} has the role `{}`, which is unknown", role.unwrap_or_default()))
}

/// Reads the text of a message, which may be a list of parts.
pub(super) fn text(content: &Value) -> Result<String, Unread> {
    match content {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => {
            let part = |part: &Value| match part["type"].as_str() {
                Some("text" | "input_text") | None => part["text"].as_str().map(str::to_owned),
                Some(_) => None,
            };
            let parts: Option<Vec<String>> = parts.iter().map(part).collect();
            parts.map(|parts| parts.join("\n")).ok_or(Unread::Foreign("content that is no text"))
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            Err(Unread::wrong("`content` must be a text or a list of parts"))
        }
    }
}

/// Reads the client's tools.
pub(super) fn offers(tools: &Value) -> Result<Vec<Offer>, Unread> {
    let tools = match tools {
        Value::Null => return Ok(Vec::new()),
        Value::Array(tools) => tools,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            return Err(Unread::wrong("`tools` must be a list"));
        }
    };
    tools.iter().map(offer).collect()
}

fn offer(tool: &Value) -> Result<Offer, Unread> {
    if tool["type"].as_str().is_some_and(|kind| kind != "function") {
        return Err(Unread::Foreign("a tool that is no function"));
    }
    let function = &tool["function"];
    let name = function["name"].as_str().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| Unread::wrong("every function in `tools` needs a name"))?;
    let mut definition = json!({ "name": name });
    if let Some(description) = function["description"].as_str() {
        definition["description"] = json!(description);
    }
    let schema = function.get("parameters").filter(|it| it.is_object()).cloned();
    definition["inputSchema"] = schema.unwrap_or_else(|| json!({ "type": "object", "properties": {} }));
    Ok(Offer::new(definition, false))
}

/// Reads the calls of a message. Those without an id are given one by their place.
pub(super) fn calls(message: &Value, place: usize) -> Vec<ToolCall> {
    let calls = message["tool_calls"].as_array().into_iter().flatten().enumerate();
    let call = |(at, call): (usize, &Value)| {
        let function = &call["function"];
        let arguments = match &function["arguments"] {
            Value::String(text) => serde_json::from_str(text).ok(),
            Value::Object(arguments) => Some(arguments.clone()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
        };
        let id = call["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
        ToolCall {
            id: id.unwrap_or_else(|| format!("call_{place}_{at}")),
            name: function["name"].as_str().unwrap_or_default().to_owned(),
            // What a model wrote wrongly long ago is no reason to refuse the conversation.
            arguments: arguments.unwrap_or_default(),
        }
    };
    calls.map(call).collect()
}

/// Finds the call that a result belongs to: by its id, else the first by this name that has no result yet.
pub(super) fn answered<'a>(
    earlier: &'a [ChatMessage],
    id: Option<&str>,
    name: Option<&str>,
) -> Option<&'a ToolCall> {
    let calls = |message: &'a ChatMessage| match message {
        ChatMessage::Assistant { calls, .. } => calls.as_slice(),
        ChatMessage::System { .. } | ChatMessage::User { .. } | ChatMessage::Tool { .. } => &[],
    };
    if let Some(id) = id {
        return earlier.iter().rev().flat_map(calls).find(|call| call.id == id);
    }
    let has_result = |call: &ToolCall| {
        earlier.iter().any(|it| matches!(it, ChatMessage::Tool { id, .. } if *id == call.id))
    };
    let is_named = |call: &ToolCall| name.is_none_or(|name| call.name == name);
    earlier.iter().flat_map(calls).find(|call| is_named(call) && !has_result(call))
}

/// Takes members out of a request by other names, those that are there.
pub(super) fn renamed(from: &Map<String, Value>, names: &[(&str, &str)]) -> Map<String, Value> {
    let mut taken = Map::new();
    for (theirs, ours) in names {
        if let Some(value) = from.get(*theirs).filter(|value| !value.is_null()) {
            taken.insert((*ours).to_owned(), value.clone());
        }
    }
    taken
}
