//! One request, one answer, whoever carries it.

use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;
use toolyard_core::hazard::JsonAmbiguity;

use super::subscribe::Watching;
use super::{Reception, View, apps, era, offers, once, skills, subscribe, tasks, tools, transparent};
use crate::caller::{Answer, Caller, Era};
use crate::extensions::{self, TASKS};
use crate::jsonrpc::{ErrorObject, Fields, Id, raw};
use crate::upstream::link::{MODERN_VERSION, own_info};

/// One request with everything that its answer depends on.
pub(crate) struct Request {
    pub(crate) reception: Arc<Reception>,
    pub(crate) view: View,
    pub(crate) caller: Arc<Caller>,
    pub(crate) id: Id,
    pub(crate) method: String,
    pub(crate) params: Fields,
    /// What a session's client wants to hear about; a modern request has no session.
    pub(crate) watching: Option<Arc<Watching>>,
}

/// Answers a request.
pub(crate) async fn answer(request: Request) -> Answer {
    let (era, method) = (request.caller.era, request.method.clone());
    if method == "tools/call"
        && let Some(ambiguity) = request.params.ambiguity().filter(|it| !is_said(&request.view, it))
    {
        return Err(era::translated(era, ErrorObject::invalid_params(ambiguity.to_string())));
    }
    let key = if method == "tools/call" { once::key(&request.params) } else { Ok(None) };
    let result = match key {
        Ok(None) => on_view(request).await,
        Ok(Some(key)) => Box::pin(once::answer(request, &key, on_view)).await,
        Err(error) => Err(error),
    };
    result.map(|result| era::finished(era, &method, result)).map_err(|error| era::translated(era, error))
}

/// Whether something stands in the words of a person, which no server gets as they are.
fn is_said(view: &View, ambiguity: &JsonAmbiguity) -> bool {
    matches!((view, ambiguity), (View::Surface { .. }, JsonAmbiguity::Nul(key)) if key == "task")
}

async fn on_view(request: Request) -> Answer {
    match &request.view {
        View::Transparent { server, .. } => {
            let server = Arc::clone(server);
            transparent::answer(request, &server).await
        }
        View::Surface { .. } => {
            let caller = Arc::clone(&request.caller);
            let is_result = matches!(request.method.as_str(), "tools/call" | "tasks/get" | "tasks/result");
            let answer = on_surface(request).await;
            if is_result { answer.map(|result| apps::publish_marks(&caller, result)) } else { answer }
        }
    }
}

async fn on_surface(request: Request) -> Answer {
    match (request.method.as_str(), request.caller.era) {
        ("initialize", Era::Session) => Ok(greeting(&request)),
        ("server/discover", Era::Modern) => Ok(discovery(&request)),
        ("ping", Era::Session) => Ok(raw(&json!({}))),
        ("logging/setLevel", Era::Session) => offers::set_level(&request).await,
        ("tools/list", _) => Ok(tools::list(&request).await),
        ("tools/call", _) => tools::call(request).await,
        ("resources/list", _) => Ok(offers::resources(&request).await),
        ("resources/directory/read", _) => skills::directory(&request).await,
        ("skills/list", _) => Ok(skills::list(&request).await),
        ("skills/get", _) => skills::get(&request).await,
        ("resources/templates/list", _) => {
            Ok(offers::list(&request, "resourceTemplates", |listing| &listing.templates))
        }
        ("resources/read", _) => offers::read(request).await,
        ("resources/subscribe" | "resources/unsubscribe", Era::Session) => subscribe::change(&request).await,
        ("prompts/list", _) => Ok(offers::prompts(&request)),
        ("prompts/get", _) => offers::prompt(request).await,
        ("completion/complete", _) => offers::complete(request).await,
        ("subscriptions/listen", Era::Modern) => subscribe::listen(request).await,
        ("tasks/get" | "tasks/cancel", _)
        | ("tasks/update", Era::Modern)
        | ("tasks/result", Era::Session) => tasks::answer(request).await,
        (method, _) => Err(ErrorObject::unknown_method(method)),
    }
}

/// What the hub can do, whatever runs behind it.
fn capabilities(era: Era) -> serde_json::Value {
    let mut capabilities = json!({
        "tools": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true },
        "prompts": { "listChanged": true },
        "completions": {},
        "extensions": extensions::of_server(),
    });
    match era {
        Era::Session => {
            capabilities["logging"] = json!({});
            // Whose tasks a list would show is for each server to say, so there is none of all.
            capabilities["tasks"] = json!({ "cancel": {}, "requests": { "tools": { "call": {} } } });
        }
        Era::Modern => capabilities["extensions"][TASKS] = json!({}),
    }
    capabilities
}

fn greeting(request: &Request) -> Box<RawValue> {
    let version = era::negotiated(request.params.text("protocolVersion").as_deref());
    raw(&json!({
        "protocolVersion": version,
        "capabilities": capabilities(Era::Session),
        "serverInfo": own_info(),
        "instructions": tools::instructions(request),
    }))
}

fn discovery(request: &Request) -> Box<RawValue> {
    raw(&json!({
        "supportedVersions": [MODERN_VERSION],
        "capabilities": capabilities(Era::Modern),
        "serverInfo": own_info(),
        "instructions": tools::instructions(request),
    }))
}
