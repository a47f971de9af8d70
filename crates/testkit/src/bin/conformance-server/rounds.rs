//! Tools that answer with a question, and go on when they are called again.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse, InputRequests,
    InputRequiredResult, InputResponses,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::content::said;
use crate::fixture::{Fixture, complete, finished, typed};

/// Runs one of these tools.
pub(crate) fn call(
    fixture: &Fixture,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let answers = request.input_responses.as_ref();
    let state = request.request_state.as_deref();
    Ok(match request.name.as_ref() {
        "test_input_required_result_elicitation" => match name_in(answers, "user_name")? {
            Some(name) => complete(said(&format!("Hello, {name}!"))),
            None => one_question(),
        },
        "test_input_required_result_sampling" => match answer(answers, "capital_question") {
            Some(answer) => complete(said(&answer.to_string())),
            None => ask(json!({"capital_question": sampling("What is the capital of France?")}), None),
        },
        "test_input_required_result_list_roots" => match answer(answers, "client_roots") {
            Some(answer) => complete(said(&answer["roots"].to_string())),
            None => ask(json!({"client_roots": roots()}), None),
        },
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            confirm(fixture, answers, state)?
        }
        "test_input_required_result_multiple_inputs" => three(fixture, answers, state)?,
        "test_input_required_result_multi_round" => two_rounds(fixture, answers, state),
        "test_input_required_result_capabilities" => within_capabilities(context),
        name => return Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None)),
    })
}

/// Gives the prompt that asks first.
pub(crate) fn prompt(request: &GetPromptRequestParams) -> GetPromptResponse {
    match answer(request.input_responses.as_ref(), "user_context") {
        Some(answer) => {
            let text = format!("Use this context: {}", answer["content"]["context"]);
            let message = json!({"role": "user", "content": {"type": "text", "text": text}});
            GetPromptResponse::Complete(finished(json!({"messages": [message]})))
        }
        None => {
            let question = elicitation("What context should the prompt use?", "context", "string");
            GetPromptResponse::InputRequired(required(json!({"user_context": question}), None))
        }
    }
}

/// Asks for a name.
pub(crate) fn one_question() -> CallToolResponse {
    ask(json!({"user_name": elicitation("What is your name?", "name", "string")}), None)
}

/// Gives the name that answers a question; an answer that is none is an error.
pub(crate) fn name_in(answers: Option<&InputResponses>, key: &str) -> Result<Option<String>, ErrorData> {
    let Some(answer) = answers.and_then(|answers| answers.get(key)) else { return Ok(None) };
    match answer["content"]["name"].as_str() {
        Some(name) => Ok(Some(name.to_owned())),
        None => Err(ErrorData::invalid_params(format!("`{key}` is no answer to what was asked"), None)),
    }
}

/// Gives the request for one value from the user.
pub(crate) fn elicitation(message: &str, field: &str, kind: &str) -> Value {
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": {
        "type": "object", "properties": {field: {"type": kind}}, "required": [field]
    }}})
}

fn confirm(
    fixture: &Fixture,
    answers: Option<&InputResponses>,
    state: Option<&str>,
) -> Result<CallToolResponse, ErrorData> {
    if answer(answers, "confirm").is_none() {
        let question = elicitation("Please confirm", "ok", "boolean");
        return Ok(ask(json!({"confirm": question}), Some(fixture.new_state("confirm"))));
    }
    check(fixture, "confirm", state)?;
    Ok(complete(said("state-ok")))
}

fn three(
    fixture: &Fixture,
    answers: Option<&InputResponses>,
    state: Option<&str>,
) -> Result<CallToolResponse, ErrorData> {
    if !["user_name", "greeting", "client_roots"].iter().all(|key| answer(answers, key).is_some()) {
        let questions = json!({
            "user_name": elicitation("What is your name?", "name", "string"),
            "greeting": sampling("Generate a greeting"),
            "client_roots": roots()
        });
        return Ok(ask(questions, Some(fixture.new_state("three"))));
    }
    check(fixture, "three", state)?;
    Ok(complete(said("All three were answered")))
}

fn two_rounds(fixture: &Fixture, answers: Option<&InputResponses>, state: Option<&str>) -> CallToolResponse {
    if answer(answers, "step2").is_some() && fixture.knows_state("second", state) {
        return complete(said("Both rounds were answered"));
    }
    if answer(answers, "step1").is_some() && fixture.knows_state("first", state) {
        let question = elicitation("Step 2: What is your favorite color?", "color", "string");
        return ask(json!({"step2": question}), Some(fixture.new_state("second")));
    }
    let question = elicitation("Step 1: What is your name?", "name", "string");
    ask(json!({"step1": question}), Some(fixture.new_state("first")))
}

fn within_capabilities(context: &RequestContext<RoleServer>) -> CallToolResponse {
    let can = json!(context.client_capabilities());
    let mut questions = json!({});
    if can.get("elicitation").is_some() {
        questions["user_name"] = elicitation("What is your name?", "name", "string");
    }
    if can.get("sampling").is_some() {
        questions["greeting"] = sampling("Generate a greeting");
    }
    if can.get("roots").is_some() {
        questions["client_roots"] = roots();
    }
    ask(questions, None)
}

fn check(fixture: &Fixture, step: &str, state: Option<&str>) -> Result<(), ErrorData> {
    match fixture.knows_state(step, state) {
        true => Ok(()),
        false => Err(ErrorData::invalid_params("requestState is not what was handed out", None)),
    }
}

fn answer<'a>(answers: Option<&'a InputResponses>, key: &str) -> Option<&'a Value> {
    answers?.get(key)
}

fn sampling(prompt: &str) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    json!({"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}})
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

fn ask(questions: Value, state: Option<String>) -> CallToolResponse {
    CallToolResponse::InputRequired(required(questions, state))
}

fn required(questions: Value, state: Option<String>) -> InputRequiredResult {
    InputRequiredResult::new(Some(typed::<InputRequests>(questions)), state)
}
