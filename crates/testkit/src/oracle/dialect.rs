//! How a reply is written in the dialects of services, whole and in pieces.

use serde_json::{Map, Value, json};

use super::messages;
use super::saying::Said;

/// Tokens that every question has.
pub(super) const PROMPT_TOKENS: u64 = 10;
/// Tokens that every answer has.
pub(super) const ANSWER_TOKENS: u64 = 5;

/// A way in which services answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Ollama,
    OpenAi,
    Anthropic,
}

/// How a reply ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ending {
    /// The model was done.
    Natural,
    /// The reply became too long.
    Cut,
    /// It does not end.
    Missing,
}

/// Whether a stream ends with how many tokens it took, which clients have to ask for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tokens {
    Counted,
    Uncounted,
}

/// Gives the calls of a conversation their ids.
pub(super) type NextId<'a> = &'a mut dyn FnMut() -> String;

impl Dialect {
    /// Returns the dialect of a path.
    pub(super) fn of(path: &str) -> Self {
        match path {
            "/v1/messages" => Self::Anthropic,
            path if path.starts_with("/api/") => Self::Ollama,
            _ => Self::OpenAi,
        }
    }

    /// Returns the content type of a stream.
    pub(super) fn stream_type(self) -> &'static str {
        match self {
            Self::Ollama => "application/x-ndjson",
            Self::OpenAi | Self::Anthropic => "text/event-stream",
        }
    }

    /// Writes an error as the dialect has it.
    pub(super) fn error(self, message: &str) -> Value {
        match self {
            Self::Ollama => json!({ "error": message }),
            Self::OpenAi => json!({ "error": { "message": message, "type": "server_error", "code": null } }),
            Self::Anthropic => {
                json!({ "type": "error", "error": { "type": "api_error", "message": message } })
            }
        }
    }

    /// Writes a reply as one object.
    pub(super) fn whole(self, said: &[Said], ending: Ending, next_id: NextId<'_>) -> Value {
        if self == Self::Anthropic {
            return messages::whole(said, ending, next_id);
        }
        let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
        for piece in said {
            match piece {
                Said::Text(it) => text.push_str(it),
                Said::Reasoning(it) => reasoning.push_str(it),
                Said::Call { name, arguments } => calls.push((name, arguments.to_string())),
                Said::CallInPieces { name, arguments } => calls.push((name, arguments.concat())),
            }
        }
        let mut message = Map::from_iter([("role".to_owned(), json!("assistant"))]);
        message.insert("content".to_owned(), json!(text));
        if !reasoning.is_empty() {
            message.insert(self.reasoning().to_owned(), json!(reasoning));
        }
        if !calls.is_empty() {
            let calls = calls.into_iter().map(|(name, arguments)| match self {
                Self::Ollama => ollama_call(name, &arguments),
                Self::OpenAi | Self::Anthropic => openai_call(&next_id(), name, &arguments),
            });
            message.insert("tool_calls".to_owned(), calls.collect());
        }
        match self {
            Self::Ollama => ollama_last(&Value::Object(message), ending),
            Self::OpenAi | Self::Anthropic => {
                let choice = json!({ "index": 0, "message": message, "finish_reason": finish(said, ending) });
                json!({ "id": "chatcmpl-1", "object": "chat.completion", "model": "small", "choices": [choice], "usage": usage() })
            }
        }
    }

    /// Writes a reply as the chunks of a stream.
    pub(super) fn chunks(
        self,
        said: &[Said],
        ending: Ending,
        tokens: Tokens,
        next_id: NextId<'_>,
    ) -> Vec<String> {
        if self == Self::Anthropic {
            return messages::chunks(said, ending, next_id);
        }
        let mut pieces: Vec<Value> = Vec::new();
        if self == Self::OpenAi {
            pieces.push(openai_piece(&json!({ "role": "assistant", "content": "" }), None));
        }
        let mut calls = 0;
        for piece in said {
            match piece {
                Said::Text(it) => pieces.push(self.piece("content", it)),
                Said::Reasoning(it) => pieces.push(self.piece(self.reasoning(), it)),
                Said::Call { name, arguments } => {
                    pieces.extend(self.call(name, &[arguments.to_string()], calls, next_id));
                }
                Said::CallInPieces { name, arguments } => {
                    pieces.extend(self.call(name, arguments, calls, next_id));
                }
            }
            calls += usize::from(matches!(piece, Said::Call { .. } | Said::CallInPieces { .. }));
        }
        let mut chunks: Vec<String> = pieces.iter().map(|piece| self.chunk(piece)).collect();
        if !matches!(ending, Ending::Missing) {
            chunks.extend(self.last(said, ending, tokens));
        }
        chunks
    }

    /// Writes an object as one chunk of a stream.
    pub(super) fn chunk(self, object: &Value) -> String {
        match self {
            Self::Ollama => format!("{object}\n"),
            Self::OpenAi => format!("data: {object}\n\n"),
            Self::Anthropic => messages::event(object),
        }
    }

    fn last(self, said: &[Said], ending: Ending, tokens: Tokens) -> Vec<String> {
        match self {
            Self::Ollama => {
                vec![self.chunk(&ollama_last(&json!({ "role": "assistant", "content": "" }), ending))]
            }
            Self::OpenAi | Self::Anthropic => {
                let mut chunks = vec![self.chunk(&openai_piece(&json!({}), finish(said, ending)))];
                if matches!(tokens, Tokens::Counted) {
                    let object = "chat.completion.chunk";
                    chunks.push(self.chunk(
                        &json!({ "id": "chatcmpl-1", "object": object, "choices": [], "usage": usage() }),
                    ));
                }
                chunks.push("data: [DONE]\n\n".to_owned());
                chunks
            }
        }
    }

    /// Returns the member that holds reasoning.
    fn reasoning(self) -> &'static str {
        match self {
            Self::Ollama => "thinking",
            Self::OpenAi | Self::Anthropic => "reasoning_content",
        }
    }

    fn piece(self, member: &str, text: &str) -> Value {
        match self {
            Self::Ollama => {
                let mut message = json!({ "role": "assistant", "content": "" });
                message[member] = json!(text);
                ollama_piece(&message)
            }
            Self::OpenAi | Self::Anthropic => openai_piece(&json!({ member: text }), None),
        }
    }

    fn call(self, name: &str, arguments: &[String], index: usize, next_id: NextId<'_>) -> Vec<Value> {
        match self {
            Self::Ollama => {
                let call = ollama_call(name, &arguments.concat());
                vec![ollama_piece(&json!({ "role": "assistant", "content": "", "tool_calls": [call] }))]
            }
            Self::OpenAi | Self::Anthropic => {
                let mut first = openai_call(&next_id(), name, arguments.first().map_or("", String::as_str));
                first["index"] = json!(index);
                let rest = arguments.iter().skip(1);
                let rest = rest.map(|it| json!({ "index": index, "function": { "arguments": it } }));
                let calls = [first].into_iter().chain(rest);
                calls.map(|call| openai_piece(&json!({ "tool_calls": [call] }), None)).collect()
            }
        }
    }
}

fn ollama_call(name: &str, arguments: &str) -> Value {
    let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments));
    json!({ "function": { "name": name, "arguments": arguments } })
}

fn openai_call(id: &str, name: &str, arguments: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
}

fn ollama_piece(message: &Value) -> Value {
    json!({ "model": "small", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false })
}

fn ollama_last(message: &Value, ending: Ending) -> Value {
    let reason = if matches!(ending, Ending::Cut) { "length" } else { "stop" };
    json!({
        "model": "small",
        "created_at": "2026-01-01T00:00:00Z",
        "message": message,
        "done": true,
        "done_reason": reason,
        "prompt_eval_count": PROMPT_TOKENS,
        "eval_count": ANSWER_TOKENS,
    })
}

fn openai_piece(delta: &Value, finish: Option<&str>) -> Value {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "small", "choices": [choice] })
}

fn finish(said: &[Said], ending: Ending) -> Option<&'static str> {
    let calls = said.iter().any(|it| matches!(it, Said::Call { .. } | Said::CallInPieces { .. }));
    match ending {
        Ending::Natural => Some(if calls { "tool_calls" } else { "stop" }),
        Ending::Cut => Some("length"),
        Ending::Missing => None,
    }
}

fn usage() -> Value {
    let total = PROMPT_TOKENS + ANSWER_TOKENS;
    json!({ "prompt_tokens": PROMPT_TOKENS, "completion_tokens": ANSWER_TOKENS, "total_tokens": total })
}
