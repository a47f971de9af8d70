//! How a reply is written in the dialect of Anthropic's Messages, whole and in pieces.

use serde_json::{Value, json};

use super::dialect::{ANSWER_TOKENS, Ending, NextId, PROMPT_TOKENS};
use super::saying::Said;

/// Writes a reply as one object.
pub(super) fn whole(said: &[Said], ending: Ending, next_id: NextId<'_>) -> Value {
    let block = |piece: &Said| match piece {
        Said::Text(text) => json!({ "type": "text", "text": text }),
        Said::Reasoning(text) => json!({ "type": "thinking", "thinking": text, "signature": "s" }),
        Said::Call { name, arguments } => used(&next_id(), name, arguments),
        Said::CallInPieces { name, arguments } => {
            let arguments = serde_json::from_str(&arguments.concat()).unwrap_or_else(|_| json!({}));
            used(&next_id(), name, &arguments)
        }
    };
    let content: Vec<Value> = said.iter().map(block).collect();
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "small", "content": content,
        "stop_reason": stop_reason(said, ending), "usage": { "input_tokens": PROMPT_TOKENS, "output_tokens": ANSWER_TOKENS },
    })
}

/// Writes a reply as the events of a stream.
pub(super) fn chunks(said: &[Said], ending: Ending, next_id: NextId<'_>) -> Vec<String> {
    let usage = json!({ "input_tokens": PROMPT_TOKENS, "output_tokens": 1 });
    let message =
        json!({ "id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": usage });
    let mut events = vec![json!({ "type": "message_start", "message": message }), json!({ "type": "ping" })];
    for (index, piece) in said.iter().enumerate() {
        let (block, deltas) = match piece {
            Said::Text(text) => {
                (json!({ "type": "text", "text": "" }), vec![json!({ "type": "text_delta", "text": text })])
            }
            Said::Reasoning(text) => (
                json!({ "type": "thinking", "thinking": "" }),
                vec![
                    json!({ "type": "thinking_delta", "thinking": text }),
                    json!({ "type": "signature_delta", "signature": "s" }),
                ],
            ),
            Said::Call { name, arguments } => {
                (used(&next_id(), name, &json!({})), vec![part(&arguments.to_string())])
            }
            Said::CallInPieces { name, arguments } => {
                (used(&next_id(), name, &json!({})), arguments.iter().map(|it| part(it)).collect())
            }
        };
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        let delta = |delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
        events.extend(deltas.into_iter().map(delta));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    if let Some(reason) = stop_reason(said, ending) {
        let delta = json!({ "stop_reason": reason, "stop_sequence": null });
        events.push(
            json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": ANSWER_TOKENS } }),
        );
        events.push(json!({ "type": "message_stop" }));
    }
    events.iter().map(event).collect()
}

/// Writes an object as an event of a stream.
pub(super) fn event(object: &Value) -> String {
    format!("event: {}\ndata: {object}\n\n", object["type"].as_str().unwrap_or_default())
}

fn used(id: &str, name: &str, input: &Value) -> Value {
    json!({ "type": "tool_use", "id": id, "name": name, "input": input })
}

fn part(json: &str) -> Value {
    json!({ "type": "input_json_delta", "partial_json": json })
}

fn stop_reason(said: &[Said], ending: Ending) -> Option<&'static str> {
    let calls = said.iter().any(|it| matches!(it, Said::Call { .. } | Said::CallInPieces { .. }));
    match ending {
        Ending::Natural => Some(if calls { "tool_use" } else { "end_turn" }),
        Ending::Cut => Some("max_tokens"),
        Ending::Missing => None,
    }
}
