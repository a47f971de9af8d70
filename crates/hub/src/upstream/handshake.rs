//! Which era a server speaks, and what it says about itself.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;

use super::Failure;
use super::link::{Link, MODERN_VERSION, Peer, Wire, own_info};
use super::patience::TimeLimit;
use crate::caller::{Caller, Era};
use crate::extensions;
use crate::jsonrpc::{Fields, raw};

/// Versions of the session era that we speak, newest first.
pub const SESSION_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Some servers do not answer what they do not know; after this long they are greeted the old way too.
const SILENCE: Duration = Duration::from_millis(1500);
/// The handshake as a whole is limited by the caller.
const NO_LIMIT: TimeLimit = TimeLimit::fixed(Duration::from_secs(24 * 3600));

/// Learns how the server wants to be spoken to. `remembered` is what worked the last time; `abilities` is
/// what a server of the session era is told that it may ask.
pub(crate) async fn shake(
    link: &Arc<Link>,
    remembered: Option<Era>,
    abilities: &Fields,
) -> Result<(), Failure> {
    let peer = match (&link.wire, remembered) {
        (Wire::Builtin(_), _) => builtin(),
        (Wire::Sse(_), _) | (_, Some(Era::Session)) => initialize(link, abilities).await?,
        (_, Some(Era::Modern)) => match discover(link).await {
            Err(Failure::Refused(error)) if !error.is_modern() => initialize(link, abilities).await?,
            other => other?,
        },
        (_, None) => probe(link, abilities).await?,
    };
    link.peer.set(peer).expect("a link shakes hands once");
    Ok(())
}

async fn probe(link: &Arc<Link>, abilities: &Fields) -> Result<Peer, Failure> {
    let mut discovering = std::pin::pin!(discover(link));
    let first = tokio::select! {
        found = &mut discovering => Some(found),
        () = tokio::time::sleep(SILENCE), if matches!(link.wire, Wire::Lines(_)) => None,
    };
    match first {
        Some(Err(Failure::Refused(error))) if !error.is_modern() => initialize(link, abilities).await,
        Some(Err(Failure::Http { .. } | Failure::Senseless { .. })) => initialize(link, abilities).await,
        Some(found) => found,
        None => {
            let mut initializing = std::pin::pin!(initialize(link, abilities));
            tokio::select! {
                biased;
                // Both may have answered by now, and this answer says more.
                found = &mut discovering => match found {
                    Ok(peer) => Ok(peer),
                    Err(_) => initializing.await,
                },
                greeted = &mut initializing => match greeted {
                    // It was only slow to start: its answer to the first greeting is there or on its way.
                    Err(Failure::Refused(error)) if error.is_modern() => discovering.await,
                    greeted => greeted,
                },
            }
        }
    }
}

async fn discover(link: &Arc<Link>) -> Result<Peer, Failure> {
    set_version(link, Some(MODERN_VERSION));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
        "io.modelcontextprotocol/clientInfo": own_info(),
        "io.modelcontextprotocol/clientCapabilities": Caller::nobody().capabilities,
    });
    let mut params = Fields::default();
    params.set("_meta", raw(&meta));
    let nobody = Arc::new(Caller::nobody());
    let result = read(link, &link.request("server/discover", params, &nobody, NO_LIMIT).await?)?;
    let versions: Vec<String> = result.read("supportedVersions").unwrap_or_default();
    if !versions.iter().any(|version| version == MODERN_VERSION) {
        return Err(senseless(link, format!("it offers the versions {versions:?}, none of which we speak")));
    }
    let info = result.object("_meta").remove("io.modelcontextprotocol/serverInfo");
    Ok(Peer {
        era: Era::Modern,
        version: MODERN_VERSION.to_owned(),
        capabilities: result.object("capabilities"),
        info: result.get("serverInfo").map(ToOwned::to_owned).or(info),
        instructions: result.text("instructions"),
    })
}

async fn initialize(link: &Arc<Link>, abilities: &Fields) -> Result<Peer, Failure> {
    set_version(link, None);
    let mut params = Fields::default();
    params.set("protocolVersion", raw(&SESSION_VERSIONS[0]));
    let mut capabilities = abilities.clone();
    capabilities.set("extensions", raw(&extensions::of_client()));
    params.set("capabilities", raw(&capabilities));
    params.set("clientInfo", own_info());
    let nobody = Arc::new(Caller::nobody());
    let result = read(link, &link.request("initialize", params, &nobody, NO_LIMIT).await?)?;
    let version = result.text("protocolVersion").unwrap_or_default();
    if !SESSION_VERSIONS.contains(&version.as_str()) {
        return Err(senseless(link, format!("it wants protocol version `{version}`, which we do not speak")));
    }
    set_version(link, Some(&version));
    link.notify("notifications/initialized", None).await;
    Ok(Peer {
        era: Era::Session,
        version,
        capabilities: result.object("capabilities"),
        info: result.get("serverInfo").map(ToOwned::to_owned),
        instructions: result.text("instructions"),
    })
}

fn builtin() -> Peer {
    let mut capabilities = Fields::default();
    capabilities.set("tools", raw(&json!({})));
    Peer {
        era: Era::Session,
        version: SESSION_VERSIONS[0].to_owned(),
        capabilities,
        info: Some(own_info()),
        instructions: None,
    }
}

fn set_version(link: &Link, version: Option<&str>) {
    if let Wire::Http(http) = &link.wire {
        http.set_version(version);
    }
}

fn read(link: &Link, result: &RawValue) -> Result<Fields, Failure> {
    serde_json::from_str(result.get())
        .map_err(|_| senseless(link, "its greeting is not an object".to_owned()))
}

fn senseless(link: &Link, what: String) -> Failure {
    Failure::Senseless { server: Arc::clone(&link.server), what }
}
