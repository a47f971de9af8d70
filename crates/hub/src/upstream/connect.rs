//! Opens a connection of the kind that the configuration asks for.

use std::sync::Arc;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::task::JoinHandle;
use toolyard_packs::Kind;
use url::Url;

use super::http::{Endpoint, HttpWire};
use super::link::{Link, Wire};
use super::supervise::Surroundings;
use super::{Failure, sse, stdio};
use crate::config::{Server, Transport};
use crate::frame::Bounds;
use crate::oauth::{Authority, Settings};
use crate::process::{Launch, Log};
use crate::secrets::Secrets;
use crate::services;

/// Opens the connection; the task belongs to it and ends with it.
pub(crate) async fn open(
    server: &Arc<str>,
    config: &Server,
    around: &Surroundings,
) -> Result<(Arc<Link>, JoinHandle<()>), Failure> {
    let not_started = |reason: String| Failure::NotStarted { server: Arc::clone(server), reason };
    let bounds = bounds(config);
    match &config.transport {
        Transport::Stdio { command, args, env, cwd } => {
            let confinement = config.sandbox.as_ref();
            let launch = Launch { command, args, env, cwd: cwd.as_deref(), confinement };
            let log = Log::open(log_path(&around.logs, server), env.values().cloned());
            stdio::connect(server, bounds, around, &launch, log).map_err(|err| not_started(err.to_string()))
        }
        Transport::Http { .. } => {
            let wire = Wire::Http(HttpWire::new(endpoint(server, config, around)?));
            Ok(passive(server, bounds, wire, around))
        }
        Transport::Sse { .. } => {
            sse::connect(server, bounds, endpoint(server, config, around)?, around.audience.clone()).await
        }
        Transport::Builtin(kind) => {
            let mut kind = kind.clone();
            if let Kind::Studio { outside: Some(outside), .. } = &mut kind {
                *outside = services::outside(&config.services, &around.http);
            }
            let opened = tokio::task::spawn_blocking(move || toolyard_packs::Pack::open(&kind)).await;
            let pack = opened
                .map_err(|err| not_started(err.to_string()))?
                .map_err(|err| not_started(err.to_string()))?;
            Ok(passive(server, bounds, Wire::Builtin(Arc::new(pack)), around))
        }
    }
}

/// Whether a failed greeting looks like a server that knows only the older HTTP+SSE transport.
pub(crate) fn may_be_older(config: &Server, failure: &Failure) -> bool {
    matches!(config.transport, Transport::Http { .. })
        && matches!(failure, Failure::Http { status: 400..=499, .. } | Failure::Senseless { .. })
}

/// Opens the older HTTP+SSE transport at the same address.
pub(crate) async fn open_older(
    server: &Arc<str>,
    config: &Server,
    around: &Surroundings,
) -> Result<(Arc<Link>, JoinHandle<()>), Failure> {
    sse::connect(server, bounds(config), endpoint(server, config, around)?, around.audience.clone()).await
}

fn bounds(config: &Server) -> Bounds {
    Bounds { bytes: config.limits.message_bytes, nesting: config.limits.nesting }
}

/// Returns where a server's log is.
pub fn log_path(folder: &std::path::Path, server: &str) -> std::path::PathBuf {
    folder.join(format!("{}.log", toolyard_core::tool::ToolId::server_prefix(server)))
}

/// A connection that has nothing to read on its own; it ends when it is told to.
fn passive(
    server: &Arc<str>,
    bounds: Bounds,
    wire: Wire,
    around: &Surroundings,
) -> (Arc<Link>, JoinHandle<()>) {
    let link = Arc::new(Link::new(Arc::clone(server), bounds, wire, around.audience.clone()));
    let waiting = Arc::clone(&link);
    let tending = tokio::spawn(async move {
        waiting.stop.notified().await;
        waiting.close("it was stopped");
    });
    (link, tending)
}

fn endpoint(server: &Arc<str>, config: &Server, around: &Surroundings) -> Result<Endpoint, Failure> {
    let (Transport::Http { url, headers, auth } | Transport::Sse { url, headers, auth }) = &config.transport
    else {
        unreachable!("only HTTP transports have an endpoint");
    };
    let not_started = |reason: String| Failure::NotStarted { server: Arc::clone(server), reason };
    let url = Url::parse(url).map_err(|err| not_started(format!("`{url}` is no address: {err}")))?;
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let name =
            HeaderName::try_from(name).map_err(|_| not_started(format!("`{name}` is no header name")))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| {
            not_started(format!("the value of header `{name}` has characters that HTTP forbids"))
        })?;
        value.set_sensitive(true);
        map.insert(name, value);
    }
    let has_own_token = map.contains_key(reqwest::header::AUTHORIZATION);
    let settings = Settings::of(auth).filter(|_| !has_own_token);
    let authority =
        settings.map(|settings| Authority::new(server, url.as_str(), settings, around.vault.clone()));
    let authority = authority.transpose().map_err(|err| not_started(err.to_string()))?;
    let secrets = Secrets::default();
    headers.values().for_each(|value| secrets.add_header(value));
    secrets.add_url(&url);
    Ok(Endpoint { client: around.http.clone(), url, headers: map, authority, secrets })
}
