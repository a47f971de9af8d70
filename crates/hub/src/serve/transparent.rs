//! One server passed through: its own names, its own words.

use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;
use toolyard_core::tool::{Effect, may_hide, unveiled};

use super::answer::Request;
use super::{era, park, skills, subscribe};
use crate::audit::Fate;
use crate::caller::{Answer, Era};
use crate::hub::{Hub, forward, is_error, own_names, wants_input};
use crate::jsonrpc::{ErrorObject, Fields, raw};
use crate::upstream::link::{MODERN_VERSION, Peer, own_info};
use crate::upstream::{Failure, Repeat};

/// Methods that change nothing at a server, besides those that are answered here.
const READING: [&str; 18] = [
    "initialize",
    "server/discover",
    "ping",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "subscriptions/listen",
    "tasks/get",
    "skills/list",
    "skills/get",
    "resources/directory/read",
];

/// Answers with what the server answers. Tools that wait for a person are neither listed nor called; other calls are
/// written down, and refused where the configuration says so.
///
/// What nobody can see is removed from definitions here too: a listing that hides nothing passes byte for byte.
pub(crate) async fn answer(mut request: Request, server: &Arc<str>) -> Answer {
    let hub = Arc::clone(&request.reception.hub);
    let may = request.view.effect();
    match request.method.as_str() {
        "tools/call" => {}
        "tools/list" => {
            let listed = plainly_listed(hub.passable(server, passed(request, server).await?), server);
            return Ok(if may < Effect::Destroy { permitted(&hub, (server, may), listed) } else { listed });
        }
        "skills/list" | "skills/get" => {
            return skills::passable(&hub, server, passed(request, server).await?);
        }
        "resources/read" => return read(request, server).await,
        // What a server does at a method that nobody knows is known to nobody.
        method if may < Effect::Destroy && !READING.contains(&method) => {
            let name = request.caller.grant.name().unwrap_or_default();
            let why =
                format!("the scope of client `{name}` permits no `{method}`, which may change anything");
            return Err(ErrorObject::invalid_params(why));
        }
        _ => return passed_apart(request, server).await,
    }
    // What a server lists is compared with what was approved before anything is called.
    if let Some(upstream) = hub.upstream(server).filter(|it| !it.is_running()) {
        let _ = upstream.link().await;
    }
    let underway = hub.admit(server, &request.params, &request.caller)?;
    let _turn = match hub.client_turn(server, &request.caller).await {
        Ok(turn) => turn,
        Err(held) => {
            underway.end(Fate::HeldBack);
            return Err(held);
        }
    };
    let name = request.params.text("name").unwrap_or_default();
    if let Some(tool) = hub.snapshot().catalog.find(server, &name) {
        own_names(tool, &mut request.params)?;
    }
    let answer = passed_apart(request, server).await;
    underway.end(match &answer {
        Ok(result) if is_error(result) => Fate::Failed,
        Ok(_) => Fate::Answered,
        Err(_) => Fate::Refused,
    });
    answer
}

/// Reads a resource; a file of a skill only as it was approved.
async fn read(request: Request, server: &Arc<str>) -> Answer {
    let hub = Arc::clone(&request.reception.hub);
    let uri = request.params.text("uri").unwrap_or_default();
    let file = skills::wanted(&request, &uri).await?;
    let result = passed_apart(request, server).await?;
    match file {
        Some(_) if wants_input(&result) => Ok(skills::without_contents(&result)),
        Some(file) => skills::verified(&hub, &file, &result),
        None => Ok(result),
    }
}

/// Passes a request on, keeping tasks apart: all clients share one connection, so to the server they are one.
async fn passed_apart(request: Request, server: &Arc<str>) -> Answer {
    let (reception, caller) = (Arc::clone(&request.reception), Arc::clone(&request.caller));
    if let Some(refusal) = reception.tasks.refusal(server, &request) {
        return Err(refusal);
    }
    let is_list = request.method == "tasks/list";
    let result = passed(request, server).await?;
    if is_list {
        return Ok(reception.tasks.own(server, &caller, result));
    }
    reception.tasks.note(server, &caller, &result);
    Ok(result)
}

async fn passed(request: Request, server: &Arc<str>) -> Answer {
    let hub = Arc::clone(&request.reception.hub);
    let gone = || {
        let config = hub.config();
        let off = config.off.get(&**server).map(|off| off.sentence(server));
        let why = off.unwrap_or_else(|| format!("server `{server}` is no longer configured"));
        ErrorObject::new(ErrorObject::INTERNAL, why)
    };
    let upstream = hub.upstream_in(server, request.caller.era).await.map_err(|failure| failure.to_error())?;
    let upstream = upstream.ok_or_else(gone)?;
    let link = upstream.link().await.map_err(|failure| failure.to_error())?;
    let peer = link.peer.get().expect("a running server has shaken hands").clone();
    match (request.method.as_str(), request.caller.era, peer.era) {
        ("initialize", Era::Session, _) => Ok(greeting(&request, &peer)),
        ("server/discover", _, Era::Session) => Ok(discovery(&peer)),
        ("ping", Era::Session, _) | ("logging/setLevel", Era::Session, Era::Modern) => Ok(raw(&json!({}))),
        ("initialize", Era::Modern, _) | ("ping" | "logging/setLevel", Era::Modern, Era::Session) => {
            Err(ErrorObject::unknown_method(&request.method))
        }
        ("resources/subscribe" | "resources/unsubscribe", Era::Session, _) => {
            subscribe::change(&request).await
        }
        ("subscriptions/listen", Era::Modern, _) => subscribe::listen(request).await,
        ("tools/call" | "prompts/get" | "resources/read", Era::Modern, Era::Session) => {
            let repeat = repeat(&request, server);
            park::forwarded(request, server, repeat).await
        }
        (method, _, _) => {
            let repeat = repeat(&request, server);
            let passed = forward(&upstream, method, request.params.clone(), &request.caller, repeat).await;
            match passed {
                Err(failure) if method == "tools/call" && !matches!(failure, Failure::Refused(_)) => {
                    Ok(crate::hub::failed_call(&failure.to_string()))
                }
                other => other.map_err(|failure| failure.to_error()),
            }
        }
    }
}

/// Leaves out of a list what somebody may not call whose calls may do this at most.
fn permitted(hub: &Hub, (server, may): (&str, Effect), listed: Box<RawValue>) -> Box<RawValue> {
    let Ok(mut fields) = Fields::parse(Some(&listed)) else { return listed };
    let tools: Vec<Box<RawValue>> = fields.read("tools").unwrap_or_default();
    let snapshot = hub.snapshot();
    let is_permitted = |tool: &RawValue| {
        let name = Fields::parse(Some(tool)).ok().and_then(|tool| tool.text("name"));
        let known = name.and_then(|name| snapshot.catalog.find(server, &name));
        // One that is not known yet is listed when it is.
        known.is_some_and(|tool| hub.permits_client(may, &snapshot, tool))
    };
    let tools: Vec<&RawValue> = tools.iter().map(|tool| &**tool).filter(|tool| is_permitted(tool)).collect();
    fields.set("tools", raw(&tools));
    raw(&fields)
}

/// Returns a listing whose definitions hide nothing; one whose names could not be told apart then is left out.
fn plainly_listed(listing: Box<RawValue>, server: &str) -> Box<RawValue> {
    if !may_hide(listing.get()) {
        return listing;
    }
    let mut fields = Fields::parse(Some(&listing)).unwrap_or_default();
    let Some(tools) = fields.read::<Vec<Box<RawValue>>>("tools") else { return listing };
    let (mut shown, mut is_changed) = (Vec::with_capacity(tools.len()), false);
    for definition in tools {
        match unveiled(&definition) {
            Ok(None) => shown.push(definition),
            Ok(Some(seen)) => {
                is_changed = true;
                shown.push(seen.definition);
            }
            Err(err) => {
                is_changed = true;
                tracing::warn!(%server, "a tool is left out: {err}");
            }
        }
    }
    if !is_changed {
        return listing;
    }
    fields.set("tools", raw(&shown));
    raw(&fields)
}

/// A call may be repeated when its tool only reads, and so may what is known to list or get. Of methods
/// that we do not know, nothing is known.
fn repeat(request: &Request, server: &str) -> Repeat {
    match request.method.as_str() {
        "tools/call" => {}
        "tools/list"
        | "resources/list"
        | "resources/templates/list"
        | "prompts/list"
        | "resources/read"
        | "prompts/get"
        | "completion/complete"
        | "server/discover"
        | "skills/list"
        | "skills/get"
        | "resources/directory/read"
        | "logging/setLevel"
        | "tasks/get"
        | "tasks/list" => return Repeat::Safe,
        _ => return Repeat::Unsafe,
    }
    let snapshot = request.reception.hub.snapshot();
    let tool = request
        .params
        .text("name")
        .and_then(|name| snapshot.catalog.find(server, &name).map(|tool| tool.effect));
    if tool == Some(Effect::Read) { Repeat::Safe } else { Repeat::Unsafe }
}

fn greeting(request: &Request, peer: &Peer) -> Box<RawValue> {
    let mut result = Fields::default();
    let version = era::negotiated(request.params.text("protocolVersion").as_deref());
    result.set("protocolVersion", raw(&version));
    result.set("capabilities", raw(&peer.capabilities));
    result.set("serverInfo", peer.info.clone().unwrap_or_else(own_info));
    if let Some(instructions) = &peer.instructions {
        result.set("instructions", raw(instructions));
    }
    raw(&result)
}

fn discovery(peer: &Peer) -> Box<RawValue> {
    let mut capabilities = peer.capabilities.clone();
    // The modern era sets log levels per request.
    capabilities.retain(|name| name != "logging" && name != "tasks");
    raw(&json!({
        "supportedVersions": [MODERN_VERSION],
        "capabilities": capabilities,
        "serverInfo": peer.info.clone().unwrap_or_else(own_info),
        "instructions": peer.instructions,
    }))
}
