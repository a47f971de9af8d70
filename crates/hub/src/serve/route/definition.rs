//! `smart_route` as clients are told of it. It never depends on which servers there are or run.

use serde_json::json;
use serde_json::value::RawValue;

use crate::config::Callers;
use crate::jsonrpc::raw;

/// The one tool of the surface `route`.
pub(crate) const NAME: &str = "smart_route";

const DESCRIPTION: &str = "Intelligently route your request to the best available tool(s). \
                           Just describe what you want to do in natural language.";

/// How much a definition says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// Every description, and the form of results.
    Full,
    /// The names and types of parameters.
    Compact,
}

/// Returns the definition. There are no annotations because what the protocol assumes without them is
/// true: it may write, destroy and reach beyond the hub.
pub(crate) fn definition(length: Length, callers: Callers) -> Box<RawValue> {
    let (text, number, flag) =
        (json!({"type": "string"}), json!({"type": "number"}), json!({"type": "boolean"}));
    let (object, array) = (json!({"type": "object"}), json!({"type": "array"}));
    // Clients that load tools only when they are searched for must always have the one that finds the others.
    let meta = json!({"anthropic/alwaysLoad": true});
    if callers == Callers::Small {
        // A small model fills in whatever it is shown, so it is shown what it needs: the rest is taken all the same.
        let task = json!({"type": "string", "description": "The person's message, copied word for word"});
        let context = json!({"type": "object", "properties": {"session": text}});
        return raw(&json!({
            "name": NAME,
            "description": DESCRIPTION,
            "inputSchema": {
                "type": "object", "properties": {"task": task, "context": context}, "required": ["task"],
            },
            "_meta": meta,
        }));
    }
    let context = json!({
        "previousResult": text, "serverPreference": text, "multiStepMode": flag,
        "arguments": object, "session": text, "confirm": text, "more": text,
    });
    if length == Length::Compact {
        let options = json!({
            "returnCandidates": flag, "maxResults": number, "allowMultiTool": flag, "dryRun": flag, "explain": flag,
        });
        return raw(&json!({
            "name": NAME,
            "description": DESCRIPTION,
            "inputSchema": {
                "type": "object",
                "properties": {
                    "task": text,
                    "values": object,
                    "message": text,
                    "context": {"type": "object", "properties": context},
                    "options": {"type": "object", "properties": options},
                },
                "required": ["task"],
            },
            "_meta": meta,
        }));
    }
    let described = |kind: &str, description: &str| json!({"type": kind, "description": description});
    let options = json!({
        "returnCandidates": described("boolean", "Return candidate tools instead of auto-executing"),
        "maxResults": described("number", "Max number of results to return"),
        "allowMultiTool": described("boolean", "Allow chaining multiple tools"),
        "dryRun": flag,
        "explain": flag,
    });
    let values = "Every concrete value (ids, names, paths, texts, numbers, dates, options), each under a short name \
                  of your choice";
    raw(&json!({
        "name": NAME,
        "description": DESCRIPTION,
        "inputSchema": {
            "type": "object",
            "properties": {
                "task": described("string", "One action in a few plain words"),
                "values": described("object", values),
                "message": described("string", "The person's own words"),
                "context": {
                    "type": "object",
                    "description": "Optional context (previous results, preferences, etc.)",
                    "properties": context,
                },
                "options": {"type": "object", "description": "Routing options", "properties": options},
            },
            "required": ["task"],
        },
        "outputSchema": {
            "type": "object",
            "properties": {
                "result": object, "executedTools": array, "confidence": number, "alternatives": array,
                "needsClarification": flag, "clarificationQuestion": text, "draft": object, "session": text,
            },
        },
        "_meta": meta,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens as the budgets count them.
    fn tokens(length: Length, callers: Callers) -> usize {
        raw(&json!({"tools": [definition(length, callers)]})).get().len().div_ceil(4)
    }

    #[test]
    fn r1_the_listing_is_small() {
        assert!(NAME.len() + DESCRIPTION.len() < 200);
        for callers in [Callers::Strong, Callers::Small] {
            let tokens = |length| tokens(length, callers);
            assert!(tokens(Length::Full) <= 420, "{}", tokens(Length::Full));
            assert!(tokens(Length::Compact) <= 250, "{}", tokens(Length::Compact));
        }
    }
}
