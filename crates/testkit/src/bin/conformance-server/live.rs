//! Tools that talk to the client while they run.
#![expect(deprecated, reason = "the suite tests sampling and logging in the legacy era")]

use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResponse, ClientCapabilities, ProtocolVersion};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::content::said;
use crate::fixture::{Fixture, complete, typed};
use crate::rounds;

/// The pause that the suite wants between two messages.
const PAUSE: Duration = Duration::from_millis(50);

type Context = RequestContext<RoleServer>;

/// Runs one of these tools.
pub(crate) async fn call(
    fixture: &Fixture,
    request: &CallToolRequestParams,
    context: &Context,
) -> Result<CallToolResponse, ErrorData> {
    let arguments = json!(request.arguments);
    let result = match request.name.as_ref() {
        "test_tool_with_logging" | "test_logging_tool" => log(context).await,
        "test_tool_with_progress" => progress(context).await,
        "test_sampling" => sample(context, &arguments["prompt"]).await,
        "test_elicitation" => elicit(context, contact(&arguments["message"]), "User response: ").await,
        "test_elicitation_sep1034_defaults" => elicit(context, defaults(), "Elicitation completed: ").await,
        "test_elicitation_sep1330_enums" => elicit(context, choices(), "Elicitation completed: ").await,
        "test_reconnection" => {
            sleep(PAUSE).await;
            said("Reconnection test completed")
        }
        "test_missing_capability" => {
            need_sampling(context)?;
            said("The client can sample")
        }
        "test_streaming_elicitation" => {
            progress(context).await;
            return Ok(rounds::one_question());
        }
        "test_trigger_tool_change" => tell_tools_changed(fixture, context).await,
        "test_trigger_prompt_change" => tell_prompts_changed(fixture, context).await,
        name => return Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None)),
    };
    Ok(complete(result))
}

fn is_modern(context: &Context) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

async fn log(context: &Context) -> Value {
    if !is_modern(context) || context.meta.log_level().is_some() {
        for words in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
            let message = json!({"level": "info", "logger": "conformance-server", "data": words});
            // The suite notices a message that did not arrive.
            let _ = context.peer.notify_logging_message(typed(message)).await;
            sleep(PAUSE).await;
        }
    }
    said("Logging test completed")
}

async fn progress(context: &Context) -> Value {
    for done in [0, 50, 100] {
        if let Some(token) = context.meta.get_progress_token() {
            let message = json!({"progressToken": token, "progress": done, "total": 100});
            // The suite notices a message that did not arrive.
            let _ = context.peer.notify_progress(typed(message)).await;
        }
        sleep(PAUSE).await;
    }
    said("Progress test completed")
}

async fn sample(context: &Context, prompt: &Value) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    let request = typed(json!({"messages": [message], "maxTokens": 100}));
    match context.peer.create_message(request).await {
        Ok(answer) => {
            let answer = json!(answer);
            let words = answer["content"]["text"].as_str().or(answer["content"][0]["text"].as_str());
            said(&format!("LLM response: {}", words.unwrap_or_default()))
        }
        Err(error) => failed(&error.to_string()),
    }
}

async fn elicit(context: &Context, question: Value, before: &str) -> Value {
    match context.peer.create_elicitation(typed(question)).await {
        Ok(answer) => {
            let answer = json!(answer);
            let action = answer["action"].as_str().unwrap_or_default();
            said(&format!("{before}action={action}, content={}", answer["content"]))
        }
        Err(error) => failed(&error.to_string()),
    }
}

fn failed(words: &str) -> Value {
    let mut result = said(words);
    result["isError"] = json!(true);
    result
}

fn need_sampling(context: &Context) -> Result<(), ErrorData> {
    let declared = context.client_capabilities().is_some_and(|it| it.sampling.is_some());
    let needed = || ClientCapabilities::builder().enable_sampling().build();
    if declared { Ok(()) } else { Err(ErrorData::missing_required_client_capability(needed())) }
}

async fn tell_tools_changed(fixture: &Fixture, context: &Context) -> Value {
    if !is_modern(context) {
        // A client that went away needs no notice.
        let _ = context.peer.notify_tool_list_changed().await;
    }
    for listener in fixture.listeners().await {
        // One that did not ask for it, or went away, gets nothing.
        let _ = listener.notify_tool_list_changed().await;
    }
    said("The tools changed")
}

async fn tell_prompts_changed(fixture: &Fixture, context: &Context) -> Value {
    if !is_modern(context) {
        // A client that went away needs no notice.
        let _ = context.peer.notify_prompt_list_changed().await;
    }
    for listener in fixture.listeners().await {
        // One that did not ask for it, or went away, gets nothing.
        let _ = listener.notify_prompt_list_changed().await;
    }
    said("The prompts changed")
}

fn contact(message: &Value) -> Value {
    json!({"mode": "form", "message": message, "requestedSchema": {
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"}
        },
        "required": ["username", "email"]
    }})
}

fn defaults() -> Value {
    json!({"mode": "form", "message": "Please check these values", "requestedSchema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": true}
        }
    }})
}

fn choices() -> Value {
    let options = json!(["option1", "option2", "option3"]);
    let titled = |kind: &str| {
        json!([
            {"const": "value1", "title": format!("First {kind}")},
            {"const": "value2", "title": format!("Second {kind}")},
            {"const": "value3", "title": format!("Third {kind}")}
        ])
    };
    json!({"mode": "form", "message": "Please choose", "requestedSchema": {
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": options},
            "titledSingle": {"type": "string", "oneOf": titled("Option")},
            "legacyEnum": {
                "type": "string", "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"]
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}}
        }
    }})
}
