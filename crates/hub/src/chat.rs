//! A question to a language model: Ollama's `/api/chat`, `/v1/chat/completions` as OpenAI has it, or Anthropic's
//! `/v1/messages`.
//!
//! An answer is held to a schema where the service can do that, and is a stranger's text all the same. Neither keys
//! nor the path of an address are part of an error.

use std::time::Duration;

use futures_util::StreamExt;
use reqwest::Client;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::{LanguageModel, ModelApi};
use crate::web;

/// Why a model did not help.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It took too long.
    #[error("`{model}` did not answer within {limit:?}")]
    Late {
        /// The model.
        model: String,
        /// How long it had.
        limit: Duration,
    },
    /// It cannot be reached, or its answer is of no use.
    #[error("`{model}` {what}")]
    Useless {
        /// The model.
        model: String,
        /// What is wrong.
        what: String,
    },
}

impl Error {
    /// Says what is wrong with a model.
    pub(crate) fn useless(model: &LanguageModel, what: impl Into<String>) -> Self {
        Self::Useless { model: model.name.clone(), what: what.into() }
    }
}

/// Something that is said to a model, or by it.
#[derive(Clone, Debug)]
pub(crate) enum Turn {
    /// What it is to do.
    Rules(String),
    /// What it is asked.
    Question(String),
    /// What it answered before.
    Answer(String),
}

/// Bytes of an answer that are read.
const MOST_BYTES: usize = 256 * 1024;
/// Tokens of an answer, for a service that wants to be told.
const MOST_TOKENS: u32 = 4096;
/// What schemas may have for a service that promises to keep them.
const STRICT: [&str; 10] = [
    "type",
    "enum",
    "const",
    "description",
    "items",
    "properties",
    "required",
    "additionalProperties",
    "anyOf",
    "$ref",
];

/// What services answer: Ollama with `message`, Anthropic with `content`, others with `choices`.
#[derive(Deserialize)]
struct Answer {
    message: Option<Spoken>,
    #[serde(default)]
    choices: Vec<Choice>,
    #[serde(default)]
    content: Vec<Block>,
}

/// A part of what Anthropic answers: a text, or the input of the tool that stands for the form of the answer.
#[derive(Deserialize)]
struct Block {
    text: Option<String>,
    input: Option<Value>,
}

impl Answer {
    fn said(self) -> Option<String> {
        let spoken = self.message.or_else(|| self.choices.into_iter().next().map(|it| it.message));
        let input = self.content.iter().find_map(|block| block.input.as_ref()).map(Value::to_string);
        let text = || self.content.iter().find_map(|block| block.text.clone());
        spoken.and_then(|it| it.content).or(input).or_else(text)
    }
}

#[derive(Deserialize)]
struct Choice {
    message: Spoken,
}

#[derive(Deserialize)]
struct Spoken {
    content: Option<String>,
}

/// Asks a model for an object of the form of `schema`; returns what it says.
pub(crate) async fn ask(
    client: &Client,
    model: &LanguageModel,
    turns: &[Turn],
    (schema, limit): (&Value, Duration),
) -> Result<String, Error> {
    let late = |_| Error::Late { model: model.name.clone(), limit: model.timeout };
    tokio::time::timeout(limit, send(client, model, body(model, turns, schema))).await.map_err(late)?
}

async fn send(client: &Client, model: &LanguageModel, body: Value) -> Result<String, Error> {
    let failed =
        |err: reqwest::Error| Error::useless(model, format!("cannot be reached: {}", web::cause(&err)));
    let request = client.post(&model.url);
    let mut request =
        request.header(reqwest::header::CONTENT_TYPE, "application/json").body(body.to_string());
    for (name, value) in model.headers() {
        request = request.header(name, value);
    }
    let response = request.send().await.map_err(failed)?;
    let status = response.status();
    if !status.is_success() {
        return Err(Error::useless(model, format!("answers HTTP {}", status.as_u16())));
    }
    let (mut bytes, mut stream) = (Vec::new(), response.bytes_stream());
    while let Some(chunk) = stream.next().await {
        bytes.extend_from_slice(&chunk.map_err(failed)?);
        if bytes.len() > MOST_BYTES {
            return Err(Error::useless(model, "answers without end"));
        }
    }
    let answer: Answer = serde_json::from_slice(&bytes)
        .map_err(|_| Error::useless(model, "answers with something else than a message"))?;
    answer.said().ok_or_else(|| Error::useless(model, "answers without a message"))
}

/// Writes a question in the dialect of its service.
fn body(model: &LanguageModel, turns: &[Turn], schema: &Value) -> Value {
    let api = model.api();
    if api == ModelApi::Anthropic {
        return messages(model, turns, schema);
    }
    let message = |turn: &Turn| {
        let (role, content) = match turn {
            Turn::Rules(said) => ("system", said),
            Turn::Question(said) => ("user", said),
            Turn::Answer(said) => ("assistant", said),
        };
        json!({ "role": role, "content": content })
    };
    let messages: Vec<Value> = turns.iter().map(message).collect();
    let mut body = json!({ "model": model.name, "messages": messages, "stream": false });
    if api == ModelApi::Ollama {
        body["format"] = schema.clone();
        body["options"] = json!({ "temperature": 0 });
    } else {
        let form = json!({ "name": "answer", "schema": schema, "strict": is_strict(schema) });
        body["response_format"] = json!({ "type": "json_schema", "json_schema": form });
        body["temperature"] = json!(0);
    }
    body
}

/// Writes a question to Anthropic: a tool that has to be called holds the answer to its form.
fn messages(model: &LanguageModel, turns: &[Turn], schema: &Value) -> Value {
    let mut rules: Vec<&str> = Vec::new();
    let mut messages: Vec<Value> = Vec::new();
    for turn in turns {
        match turn {
            Turn::Rules(said) => rules.push(said),
            Turn::Question(said) => messages.push(json!({ "role": "user", "content": said })),
            Turn::Answer(said) => messages.push(json!({ "role": "assistant", "content": said })),
        }
    }
    let tool = json!({ "name": "answer", "description": "Takes your answer.", "input_schema": schema });
    json!({
        "model": model.name, "max_tokens": MOST_TOKENS, "temperature": 0, "system": rules.join("\n\n"),
        "messages": messages, "tools": [tool], "tool_choice": { "type": "tool", "name": "answer" },
    })
}

/// Whether a schema has only what every service can keep: a service refuses others when it is told to be strict.
fn is_strict(schema: &Value) -> bool {
    let Value::Object(members) = schema else { return schema.is_boolean() };
    let is_known = |key: &String| STRICT.contains(&key.as_str());
    let is_closed = || {
        let properties = members.get("properties").and_then(Value::as_object);
        let names: Vec<&Value> =
            members.get("required").and_then(Value::as_array).into_iter().flatten().collect();
        let is_needed = |name: &String| names.iter().any(|it| *it == name);
        members.get("additionalProperties") == Some(&Value::Bool(false))
            && properties.is_some_and(|all| all.keys().all(is_needed) && all.values().all(is_strict))
    };
    let is_object = members.get("type").is_some_and(|it| it == "object");
    let choices = members.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    members.keys().all(is_known)
        && (!is_object || is_closed())
        && choices.chain(members.get("items")).all(|it| it.is_object() && is_strict(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r9_each_service_is_asked_in_its_dialect() {
        let asked = |url: &str, schema: Value| {
            let key = Some("secret".to_owned());
            let timeout = Duration::from_secs(1);
            let model = LanguageModel { url: url.to_owned(), name: "m".to_owned(), key, timeout };
            let body = body(&model, &[Turn::Rules("r".to_owned()), Turn::Question("q".to_owned())], &schema);
            body.to_string()
        };
        let open = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}});
        insta::assert_snapshot!(asked("http://h/api/chat", open.clone()), @r#"{"model":"m","messages":[{"role":"system","content":"r"},{"role":"user","content":"q"}],"stream":false,"format":{"type":"object","properties":{"a":{"type":"string","pattern":"x"}}},"options":{"temperature":0}}"#);
        insta::assert_snapshot!(asked("https://h/v1/messages", open.clone()), @r#"{"model":"m","max_tokens":4096,"temperature":0,"system":"r","messages":[{"role":"user","content":"q"}],"tools":[{"name":"answer","description":"Takes your answer.","input_schema":{"type":"object","properties":{"a":{"type":"string","pattern":"x"}}}}],"tool_choice":{"type":"tool","name":"answer"}}"#);
        insta::assert_snapshot!(asked("http://h/v1/chat/completions?k=1", open), @r#"{"model":"m","messages":[{"role":"system","content":"r"},{"role":"user","content":"q"}],"stream":false,"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object","properties":{"a":{"type":"string","pattern":"x"}}},"strict":false}},"temperature":0}"#);
    }

    #[test]
    fn r9_a_service_is_told_to_be_strict_where_it_can_be() {
        let object = |field: Value| json!({"type": "object", "properties": {"a": field}, "required": ["a"], "additionalProperties": false});
        assert!(is_strict(&object(json!({"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "null"}]}))));
        assert!(is_strict(&object(json!({"type": "array", "items": {"type": "integer"}}))));
        assert!(!is_strict(&object(json!({"type": "array", "items": {"type": "integer", "minimum": 1}}))));
        assert!(!is_strict(&object(json!({"type": "object", "properties": {}}))));
        assert!(!is_strict(&object(json!({"anyOf": [{}, {"type": "string", "format": "date"}]}))));
        assert!(!is_strict(
            &json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false})
        ));
    }
}
