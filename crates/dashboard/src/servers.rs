//! Every server: how it is, what it wrote, and starting it again.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use toolyard_core::tool::clean;
use toolyard_hub::config::Transport;
use toolyard_hub::process::read_log;
use toolyard_hub::store::ServerStatus;
use toolyard_hub::upstream::log_path;

use crate::failure::{ApiError, Reply, blocking};
use crate::{Shared, login};

/// Lines of a log.
const LINES: usize = 200;
/// Lines of the longest piece of a log.
const MOST_LINES: usize = 5000;

/// Lists servers.
pub(crate) async fn list(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let servers: Vec<Value> = shared.hub.servers().iter().map(|it| shown(&shared, it)).collect();
    Json(json!({ "servers": servers }))
}

fn shown(shared: &Shared, status: &ServerStatus) -> Value {
    let upstream = shared.hub.upstream(&status.name);
    let has_failed = status.state == "failed" || status.is_off();
    let mut shown = json!({
        "name": status.name,
        "state": status.state,
        "transport": status.transport,
        "tools": status.tools,
        "canLogin": upstream.as_ref().is_some_and(|it| login::settings(&it.config.transport).is_ok()),
        "problems": status.problems,
        "restarts": shared.restarts.lock().get(&status.name).copied().unwrap_or_default(),
    });
    if let Some(reason) = &status.reason {
        // A server that works may have failed to tell what it offers.
        shown[if has_failed { "why" } else { "lastError" }] = json!(reason);
    }
    if let Some(uptime) = upstream.and_then(|it| it.ready_for()) {
        shown["uptimeSeconds"] = json!(uptime.as_secs());
    }
    shown
}

#[derive(Debug, Deserialize)]
pub(crate) struct Tail {
    lines: Option<usize>,
}

/// Shows the end of what a server wrote to its stderr.
pub(crate) async fn log(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    Query(tail): Query<Tail>,
) -> Reply {
    let config = shared.hub.config();
    // Only names of the configuration become names of files.
    let server = config.servers.get(&name);
    let server = server.ok_or_else(|| no_server(&shared, &name))?;
    let path = log_path(&config.store.folder.join("logs"), &name);
    let most = tail.lines.unwrap_or(LINES).clamp(1, MOST_LINES);
    let lines = blocking(move || read_log(&path, most)).await?;
    let lines: Vec<String> = lines.iter().map(|line| clean(line).into_owned()).collect();
    let note = lines.is_empty().then_some(match &server.transport {
        Transport::Stdio { .. } => "it has written nothing so far",
        Transport::Http { .. } | Transport::Sse { .. } => "a server behind a URL keeps its own log",
        Transport::Builtin(_) => "a built-in server writes no log",
    });
    Ok(Json(json!({ "server": name, "lines": lines, "note": note })))
}

/// Stops a server and starts it again.
pub(crate) async fn restart(State(shared): State<Arc<Shared>>, Path(name): Path<String>) -> Reply {
    let started = shared.hub.restart(&name).await.ok_or_else(|| no_server(&shared, &name))?;
    *shared.restarts.lock().entry(name.clone()).or_default() += 1;
    started.map_err(|failure| {
        let hint = format!("its log may say why; `toolyard doctor {name}` tells what helps");
        ApiError::new(StatusCode::BAD_GATEWAY, failure.to_string(), hint)
    })?;
    let state = shared.hub.upstream(&name).map(|it| it.state().to_string());
    Ok(Json(json!({ "name": name, "state": state })))
}

/// Says that there is no such server, or why it is off.
pub(crate) fn no_server(shared: &Shared, name: &str) -> ApiError {
    let config = shared.hub.config();
    if let Some(off) = config.off.get(name) {
        return ApiError::conflict(format!("server `{name}` is off: {}", off.reason()), off.fix());
    }
    let shown: String = clean(name).chars().take(60).collect();
    ApiError::not_found(
        format!("there is no server `{shown}`"),
        "the list of servers shows those that there are",
    )
}
