//! How everything is, on one page.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use serde::Deserialize;
use serde_json::json;
use toolyard_hub::clock::now_ms;
use toolyard_hub::store::ServerStatus;

use crate::Shared;
use crate::failure::{ApiError, Reply, blocking};

/// How far back charts go unless somebody says otherwise.
const HOURS: i64 = 24;
/// How far back charts can go.
const MOST_HOURS: i64 = 24 * 90;
/// Points of a chart.
const POINTS: i64 = 48;
/// Two points of a chart are at least this far apart.
const SHORTEST_STEP_MS: i64 = 60_000;

#[derive(Debug, Deserialize)]
pub(crate) struct Span {
    hours: Option<i64>,
}

/// Shows the numbers of the hub and what was decided lately.
pub(crate) async fn show(State(shared): State<Arc<Shared>>, Query(span): Query<Span>) -> Reply {
    let span_ms = span.hours.unwrap_or(HOURS).clamp(1, MOST_HOURS) * 3_600_000;
    let step_ms = (span_ms / POINTS).max(SHORTEST_STEP_MS);
    let (history, since) = (shared.history.clone(), now_ms().saturating_sub(span_ms));
    let (summary, lessons, undone) = blocking(move || {
        let summary = history.summary(since, step_ms)?;
        Ok::<_, ApiError>((summary, history.lessons()?.len(), history.undone()?.len()))
    })
    .await?;
    let (hub, snapshot) = (&shared.hub, shared.hub.snapshot());
    let tools = snapshot.catalog.tools().iter().filter(|tool| hub.permits(&snapshot, tool)).count();
    let servers = hub.servers();
    let count = |is_one: fn(&ServerStatus) -> bool| servers.iter().filter(|it| is_one(it)).count();
    let (up, failed) = (count(is_up), count(has_failed));
    Ok(Json(json!({
        "numbers": shared.hub.metrics().snapshot(),
        "summary": summary,
        "servers": { "up": up, "failed": failed, "idle": servers.len() - up - failed, "total": servers.len() },
        "tools": tools,
        "version": env!("CARGO_PKG_VERSION"),
        "uptimeSeconds": shared.since.elapsed().as_secs(),
        "learning": { "lessons": lessons, "undone": undone },
        "meaning": hub.meaning_progress(),
        "cache": hub.tally(),
        "droppedRoutes": shared.history.dropped(),
    })))
}

fn is_up(server: &ServerStatus) -> bool {
    server.state == "ready"
}

fn has_failed(server: &ServerStatus) -> bool {
    server.state == "failed" || server.is_off()
}
