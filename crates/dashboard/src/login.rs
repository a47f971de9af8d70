//! Logins at servers that want to know who the person is.
//!
//! The page opens the address of the server in the browser; the hub waits for the browser to come back to this machine,
//! and keeps the tokens. From another machine that cannot work, so the command to type is told as well.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde_json::json;
use tokio::sync::oneshot;
use toolyard_hub::config::{Auth, Transport};
use toolyard_hub::oauth::{Authority, Settings};
use toolyard_hub::vault::{Keyring, Vault};

use crate::Shared;
use crate::failure::{ApiError, Reply};
use crate::servers::no_server;

/// Time in which a server says where its login page is.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns where and how to log in, or why there is no login.
pub(crate) fn settings(transport: &Transport) -> Result<(&str, Settings), &'static str> {
    let (Transport::Http { url, headers, auth } | Transport::Sse { url, headers, auth }) = transport else {
        return Err("it is not reached over HTTP");
    };
    if headers.keys().any(|header| header.eq_ignore_ascii_case("authorization")) {
        return Err("its `Authorization` header in the configuration is used");
    }
    match auth {
        Auth::Off => Err("`auth` is off for it in the configuration"),
        Auth::Automatic { .. } => Settings::of(auth).map(|it| (url.as_str(), it)).ok_or("it takes none"),
    }
}

/// Begins a login and tells the address to open; the rest happens in the browser.
pub(crate) async fn begin(State(shared): State<Arc<Shared>>, Path(name): Path<String>) -> Reply {
    let upstream = shared.hub.upstream(&name).ok_or_else(|| no_server(&shared, &name))?;
    let (url, settings) = settings(&upstream.config.transport).map_err(|why| {
        ApiError::conflict(format!("`{name}` has no login: {why}"), "servers behind a URL may have one")
    })?;
    let command = format!("toolyard login {name}");
    let hint = format!("type `{command}` in a terminal");
    let folder = shared.hub.config().store.folder.clone();
    let vault = Vault::open(&folder, Keyring::system());
    let authority = Authority::new(&name, url, settings, vault);
    let authority = authority.map_err(|err| ApiError::conflict(err.to_string(), hint.clone()))?;
    let (tell, told) = oneshot::channel();
    let server = name.clone();
    shared.in_background(async move {
        let mut tell = Some(tell);
        let opened = |address: &_| {
            if let Some(tell) = tell.take() {
                let _ = tell.send(Ok(format!("{address}")));
            }
        };
        let outcome = authority.login(None, &[], opened).await;
        match (outcome, tell) {
            (Ok(()), _) => tracing::info!("logged in at `{server}` from the dashboard"),
            (Err(err), Some(tell)) => drop(tell.send(Err(err.to_string()))),
            (Err(err), None) => tracing::warn!("the login at `{server}` did not work: {err}"),
        }
    });
    let gone = || "it did not say where to log in".to_owned();
    let told =
        tokio::time::timeout(PATIENCE, told).await.ok().and_then(Result::ok).unwrap_or_else(|| Err(gone()));
    let url = told.map_err(|why| {
        ApiError::new(StatusCode::BAD_GATEWAY, format!("the login at `{name}` did not work: {why}"), hint)
    })?;
    Ok(Json(json!({ "url": url, "command": command })))
}
