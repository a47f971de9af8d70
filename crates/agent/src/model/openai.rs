//! The dialect of `/v1/chat/completions`, as OpenAI has it and many others have it nearly.

use std::ops::ControlFlow;

use serde_json::{Value, json};
use toolyard_core::turn::{ChatMessage, RawCall, ToolCall};
use toolyard_hub::config::LanguageModel;

use super::draft::{Draft, Drafted, Stop};
use super::{ModelRequest, error, functions};

/// Writes a question.
pub(super) fn body(model: &LanguageModel, question: &ModelRequest<'_>) -> Value {
    let messages: Vec<Value> = question.messages.iter().map(message).collect();
    let mut body = json!({
        "model": model.name,
        "messages": messages,
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    if !question.tools.is_empty() {
        body["tools"] = functions(question.tools);
    }
    for (name, value) in question.options {
        if body.get(name).is_none() {
            body[name] = value.clone();
        }
    }
    body
}

fn message(message: &ChatMessage) -> Value {
    let call = |call: &ToolCall| {
        let arguments = Value::Object(call.arguments.clone()).to_string();
        json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": arguments } })
    };
    match message {
        ChatMessage::System { text } => json!({ "role": "system", "content": text }),
        ChatMessage::User { text } => json!({ "role": "user", "content": text }),
        ChatMessage::Assistant { text, reasoning: _, calls } if calls.is_empty() => {
            json!({ "role": "assistant", "content": text })
        }
        ChatMessage::Assistant { text, reasoning: _, calls } => {
            let calls: Vec<Value> = calls.iter().map(call).collect();
            // Some services refuse an empty text beside calls.
            let content = (!text.is_empty()).then_some(text);
            json!({ "role": "assistant", "content": content, "tool_calls": calls })
        }
        ChatMessage::Tool { id, name: _, text } => {
            json!({ "role": "tool", "tool_call_id": id, "content": text })
        }
    }
}

/// Takes one object of an answer: a chunk of a stream, or the whole.
pub(super) fn take(event: &Value, draft: &mut Draft<'_>) -> ControlFlow<Stop> {
    if let Some(what) = error::complaint(event) {
        return ControlFlow::Break(Stop::Failed(what));
    }
    if let Some(usage) = event["usage"].as_object() {
        let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or_default();
        draft.usage.prompt_tokens = count("prompt_tokens");
        draft.usage.answer_tokens = count("completion_tokens");
    }
    let Some(choices) = event["choices"].as_array() else { return ControlFlow::Continue(()) };
    draft.is_known = true;
    let is_first = |choice: &&Value| choice["index"].as_u64().unwrap_or_default() == 0;
    let Some(choice) = choices.iter().find(is_first) else { return ControlFlow::Continue(()) };
    let is_whole = choice["message"].is_object();
    let said = if is_whole { &choice["message"] } else { &choice["delta"] };
    // Services that know both names of reasoning say the same under both.
    let reasoning = [&said["reasoning_content"], &said["reasoning"]].into_iter().find_map(Value::as_str);
    draft.think(reasoning.unwrap_or_default());
    content(&said["content"], draft);
    draft.say(said["refusal"].as_str().unwrap_or_default());
    for piece in said["tool_calls"].as_array().into_iter().flatten() {
        draft.count(piece["function"]["arguments"].as_str().map_or(0, str::len));
        add(&mut draft.calls, piece);
    }
    let finish = choice["finish_reason"].as_str().filter(|it| !it.is_empty());
    draft.is_cut |= finish == Some("length");
    draft.is_done |= is_whole || finish.is_some();
    if draft.is_endless() { ControlFlow::Break(Stop::Endless) } else { ControlFlow::Continue(()) }
}

/// Takes content, which some services write as a list of parts.
fn content(content: &Value, draft: &mut Draft<'_>) {
    if let Some(text) = content.as_str() {
        return draft.say(text);
    }
    for part in content.as_array().into_iter().flatten() {
        draft.say(part["text"].as_str().unwrap_or_default());
        for thought in part["thinking"].as_array().into_iter().flatten() {
            draft.think(thought["text"].as_str().unwrap_or_default());
        }
    }
}

/// Takes a piece of a call: the first has the id and the name, the others have more of the arguments.
///
/// The pieces of a call share an `index`. Where that is missing, or is the same for all, an id or a name that is
/// new begins another call.
fn add(calls: &mut Vec<Drafted>, piece: &Value) {
    let index = piece["index"].as_u64();
    let id = piece["id"].as_str().filter(|id| !id.is_empty());
    let function = &piece["function"];
    let name = function["name"].as_str().unwrap_or_default();
    let place = calls.iter().rposition(|it| is_part(it, index, id));
    let place = place.filter(|at| !begins(&calls[*at].call, id, name));
    let at = place.unwrap_or_else(|| {
        calls.push(Drafted { index, call: RawCall::default() });
        calls.len() - 1
    });
    let call = &mut calls[at].call;
    if call.id.is_none() {
        call.id = id.map(str::to_owned);
    }
    if call.name.is_empty() {
        name.clone_into(&mut call.name);
    }
    match &function["arguments"] {
        Value::String(more) => call.arguments.push_str(more),
        whole @ Value::Object(_) => call.arguments = whole.to_string(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {}
    }
}

/// Whether a piece with this index and id may belong to a call.
fn is_part(drafted: &Drafted, index: Option<u64>, id: Option<&str>) -> bool {
    match (index, id) {
        (Some(_), _) => drafted.index == index,
        (None, Some(id)) => drafted.call.id.as_deref() == Some(id),
        (None, None) => true,
    }
}

/// Whether a piece with this id and name begins a call after this one.
fn begins(call: &RawCall, id: Option<&str>, name: &str) -> bool {
    if let (Some(id), Some(own)) = (id, call.id.as_deref()) {
        return id != own;
    }
    let is_complete =
        || call.arguments.trim_end().ends_with('}') && serde_json::from_str::<Value>(&call.arguments).is_ok();
    !name.is_empty() && !call.name.is_empty() && (name != call.name || is_complete())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Assembles pieces and writes down the calls.
    fn assembled(pieces: &[Value]) -> String {
        let mut calls = Vec::new();
        for piece in pieces {
            add(&mut calls, piece);
        }
        let shown = calls.iter().map(|it| {
            let call = &it.call;
            format!("{} {}({})", call.id.as_deref().unwrap_or("-"), call.name, call.arguments)
        });
        shown.collect::<Vec<_>>().join("\n")
    }

    fn piece(index: impl Into<Value>, id: &str, name: &str, arguments: impl Into<Value>) -> Value {
        json!({ "index": index.into(), "id": id, "function": { "name": name, "arguments": arguments.into() } })
    }

    #[test]
    fn pieces_with_an_index_become_its_call() {
        let pieces = [
            piece(0, "a", "read", ""),
            piece(1, "b", "write", ""),
            piece(0, "", "", "{\"x\""),
            piece(1, "", "", "{}"),
            json!({ "index": 0, "function": { "arguments": ":1}" } }),
        ];
        insta::assert_snapshot!(assembled(&pieces), @r#"
        a read({"x":1})
        b write({})
        "#);
    }

    #[test]
    fn pieces_without_an_index_follow_the_id_or_the_last_call() {
        let pieces = [
            piece(Value::Null, "a", "read", "{\"x\":"),
            piece(Value::Null, "", "", "1"),
            piece(Value::Null, "b", "read", "{\"x\":2"),
            piece(Value::Null, "a", "", "}"),
            piece(Value::Null, "", "", "}"),
        ];
        insta::assert_snapshot!(assembled(&pieces), @r#"
        a read({"x":1})
        b read({"x":2})
        "#);
    }

    #[test]
    fn a_name_and_an_id_that_are_repeated_are_the_same_call() {
        let pieces =
            [piece(0, "a", "read", "{\"x\":"), piece(0, "a", "read", "1"), piece(0, "", "read", "}")];
        assert_eq!(assembled(&pieces), r#"a read({"x":1})"#);
    }

    #[test]
    fn whole_calls_under_one_index_are_told_apart() {
        let with_ids = [piece(0, "a", "read", "{}"), piece(0, "b", "read", "{\"x\":1}")];
        assert_eq!(assembled(&with_ids), "a read({})\nb read({\"x\":1})");
        let without =
            [piece(0, "", "read", "{}"), piece(0, "", "read", "{\"x\":1}"), piece(0, "", "list", "")];
        assert_eq!(assembled(&without), "- read({})\n- read({\"x\":1})\n- list()");
    }

    #[test]
    fn arguments_may_be_an_object() {
        let pieces = [
            piece(Value::Null, "", "read", json!({ "x": 1 })),
            piece(Value::Null, "", "read", json!({ "x": 2 })),
            piece(Value::Null, "", "list", Value::Null),
        ];
        assert_eq!(assembled(&pieces), "- read({\"x\":1})\n- read({\"x\":2})\n- list()");
    }
}
