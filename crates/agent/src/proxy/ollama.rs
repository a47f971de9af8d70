//! Chats as Ollama has them: `/api/chat`.

use serde_json::{Map, Value, json};
use toolyard_core::turn::{ChatMessage, ToolCall};

use super::answer::{Done, Said};
use super::chat::{self, Chat, Read, Unread};
use super::refusal::Refusal;
use super::reply::{Collected, Stamp};
use crate::model::Dialect;

/// Members that pass to a model server that speaks the same dialect.
const PASSED: [(&str, &str); 4] =
    [("options", "options"), ("keep_alive", "keep_alive"), ("think", "think"), ("format", "format")];
/// What OpenAI has under another name.
const AS_OPENAI: [(&str, &str); 5] = [
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("seed", "seed"),
    ("stop", "stop"),
    ("num_predict", "max_tokens"),
];

/// Reads a request for a model server.
pub(super) fn read(body: &Value, server: Dialect) -> Result<Read, Refusal> {
    chat::settled(understood(body, server))
}

fn understood(body: &Value, server: Dialect) -> Result<Chat, Unread> {
    let Some(members) = body.as_object() else { return Err(Unread::wrong("the body must be an object")) };
    Ok(Chat {
        model: body["model"].as_str().filter(|name| !name.is_empty()).map(str::to_owned),
        messages: messages(body)?,
        foreign: chat::offers(&body["tools"])?,
        options: match server {
            Dialect::Ollama => chat::renamed(members, &PASSED),
            Dialect::OpenAi => openai_options(members),
        },
        is_streamed: body["stream"] != false,
        counts_tokens: true,
        wants_no_tools: false,
    })
}

fn messages(body: &Value) -> Result<Vec<ChatMessage>, Unread> {
    let mut read: Vec<ChatMessage> = Vec::new();
    for (place, message) in chat::messages(body)?.iter().enumerate() {
        if message["images"].as_array().is_some_and(|images| !images.is_empty()) {
            return Err(Unread::Foreign("content that is no text"));
        }
        let text = chat::text(&message["content"])?;
        let next = match message["role"].as_str() {
            Some("system") => ChatMessage::System { text },
            Some("user") => ChatMessage::User { text },
            Some("assistant") => {
                let reasoning = message["thinking"].as_str().unwrap_or_default().to_owned();
                ChatMessage::Assistant { text, reasoning, calls: chat::calls(message, place) }
            }
            Some("tool") => {
                let id = message["tool_call_id"].as_str().filter(|id| !id.is_empty());
                let name = message["tool_name"].as_str().or_else(|| message["name"].as_str());
                let call = chat::answered(&read, id, name);
                let (known, called) = call.map(|it| (it.id.clone(), it.name.clone())).unwrap_or_default();
                ChatMessage::Tool { id: known, name: name.map_or(called, str::to_owned), text }
            }
            other => return Err(chat::unknown_role(other, place)),
        };
        read.push(next);
    }
    Ok(read)
}

fn openai_options(members: &Map<String, Value>) -> Map<String, Value> {
    let nothing = Map::new();
    let given = members.get("options").and_then(Value::as_object).unwrap_or(&nothing);
    let mut options = chat::renamed(given, &AS_OPENAI);
    // Less than nothing means that there is no limit.
    if options.get("max_tokens").is_some_and(|it| it.as_i64().is_some_and(|it| it < 0)) {
        options.remove("max_tokens");
    }
    let format = match members.get("format") {
        Some(Value::String(format)) if format == "json" => Some(json!({ "type": "json_object" })),
        Some(schema @ Value::Object(_)) => {
            Some(json!({ "type": "json_schema", "json_schema": { "name": "answer", "schema": schema } }))
        }
        _ => None,
    };
    options.extend(format.map(|format| ("response_format".to_owned(), format)));
    options
}

/// Writes what is said as lines of a stream.
pub(super) fn lines(stamp: &Stamp, said: &Said) -> String {
    match said {
        Said::Text(text) => line(&piece(stamp, &json!({ "role": "assistant", "content": text }))),
        Said::Reasoning(text) => {
            line(&piece(stamp, &json!({ "role": "assistant", "content": "", "thinking": text })))
        }
        Said::Done(done) => {
            let mut lines = String::new();
            if !done.foreign.is_empty() {
                let calls: Vec<Value> = done.foreign.iter().map(call).collect();
                let message = json!({ "role": "assistant", "content": "", "tool_calls": calls });
                lines += &line(&piece(stamp, &message));
            }
            lines + &line(&last(stamp, &json!({ "role": "assistant", "content": "" }), done))
        }
        Said::Failed(failed) => line(&failed.object(Dialect::Ollama)),
    }
}

/// Writes an answer as one object.
pub(super) fn object(stamp: &Stamp, all: &Collected, done: &Done) -> Value {
    let mut message = json!({ "role": "assistant", "content": all.text });
    if !all.reasoning.is_empty() {
        message["thinking"] = json!(all.reasoning);
    }
    if !done.foreign.is_empty() {
        message["tool_calls"] = done.foreign.iter().map(call).collect();
    }
    last(stamp, &message, done)
}

fn line(object: &Value) -> String {
    format!("{object}\n")
}

fn piece(stamp: &Stamp, message: &Value) -> Value {
    let now = jiff::Timestamp::now().to_string();
    json!({ "model": stamp.model, "created_at": now, "message": message, "done": false })
}

fn last(stamp: &Stamp, message: &Value, done: &Done) -> Value {
    let nanoseconds = u64::try_from(stamp.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    json!({
        "model": stamp.model,
        "created_at": jiff::Timestamp::now().to_string(),
        "message": message,
        "done": true,
        "done_reason": "stop",
        "total_duration": nanoseconds,
        "prompt_eval_count": done.usage.prompt_tokens,
        "eval_count": done.usage.answer_tokens,
        "toolyard": done.log,
    })
}

fn call(call: &ToolCall) -> Value {
    json!({ "id": call.id, "function": { "name": call.name, "arguments": call.arguments } })
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

    #[test]
    fn i1_results_find_their_calls_without_ids() {
        let called = |name: &str| json!({ "function": { "name": name, "arguments": { "x": 1 } } });
        let body = json!({ "messages": [
            { "role": "user", "content": "Hi" },
            { "role": "assistant", "content": "", "thinking": "Hm.", "tool_calls": [called("a"), called("b"), called("a")] },
            { "role": "tool", "tool_name": "b", "content": "of b" },
            { "role": "tool", "tool_name": "a", "content": "of the first a" },
            { "role": "tool", "content": "of the other a" },
        ] });
        let chat = chat(&body, Dialect::OpenAi);
        let results = chat.messages.iter().filter_map(|it| match it {
            ChatMessage::Tool { id, name, text } => Some(format!("{id} {name}: {text}")),
            ChatMessage::System { .. } | ChatMessage::User { .. } | ChatMessage::Assistant { .. } => None,
        });
        insta::assert_snapshot!(results.collect::<Vec<_>>().join("\n"), @r"
        call_1_1 b: of b
        call_1_0 a: of the first a
        call_1_2 a: of the other a
        ");
        assert!(chat.is_streamed);
    }

    #[test]
    fn options_pass_in_the_same_dialect_and_are_translated_for_the_other() {
        let body = json!({
            "model": "m", "messages": [{ "role": "user", "content": "Hi" }], "stream": false, "keep_alive": "5m",
            "options": { "temperature": 0.5, "num_ctx": 4096, "num_predict": 7, "stop": ["x"] },
            "format": { "type": "object" },
        });
        let options = |server| Value::Object(chat(&body, server).options).to_string();
        insta::assert_snapshot!(options(Dialect::Ollama), @r#"{"options":{"temperature":0.5,"num_ctx":4096,"num_predict":7,"stop":["x"]},"keep_alive":"5m","format":{"type":"object"}}"#);
        insta::assert_snapshot!(options(Dialect::OpenAi), @r#"{"temperature":0.5,"stop":["x"],"max_tokens":7,"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"}}}}"#);
        assert!(!chat(&body, Dialect::OpenAi).is_streamed);
    }

    #[test]
    fn images_are_left_to_the_model_server() {
        let body = json!({ "messages": [{ "role": "user", "content": "Hi", "images": ["aGk="] }] });
        assert!(matches!(read(&body, Dialect::Ollama), Ok(Read::Untouched(_))));
    }
}
