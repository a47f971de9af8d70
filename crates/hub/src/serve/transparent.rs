//! One server passed through: its own names, its own words.

use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;
use toolyard_core::tool::Effect;

use super::answer::Request;
use super::{era, park, subscribe};
use crate::audit::Fate;
use crate::caller::{Answer, Era};
use crate::hub::{forward, is_error};
use crate::jsonrpc::{ErrorObject, raw};
use crate::upstream::link::{MODERN_VERSION, Peer, own_info};
use crate::upstream::{Failure, Repeat};

/// Answers with what the server answers. Calls are written down, and refused where the configuration says so.
pub(crate) async fn answer(request: Request, server: &Arc<str>) -> Answer {
    if request.method != "tools/call" {
        return passed(request, server).await;
    }
    let hub = Arc::clone(&request.reception.hub);
    let underway = hub.admit(server, &request.params, &request.caller)?;
    let answer = passed(request, server).await;
    underway.end(match &answer {
        Ok(result) if is_error(result) => Fate::Failed,
        Ok(_) => Fate::Answered,
        Err(_) => Fate::Refused,
    });
    answer
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
    let mut result = crate::jsonrpc::Fields::default();
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
