//! What another configuration would have made of yesterday's requests.
//!
//! They are decided about twice, as the configuration is and as it would be, so that only the difference between the two
//! shows. Nothing is run, remembered or counted.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolyard_core::decide::Goal;
use toolyard_history::{History, Route, RouteOutcome, RouteSearch};
use toolyard_hub::clock::now_ms;
use toolyard_hub::hub::Hub;
use toolyard_hub::live::Snapshot;
use toolyard_hub::routing::Wanted;

use crate::failure::{ApiError, Reply, blocking};
use crate::{Shared, body, trial};

/// Requests that are decided about again.
const MOST: usize = 200;
/// How long that may take.
const BUDGET: Duration = Duration::from_secs(10);
/// Pages of history that are looked through for them.
const PAGES: usize = 20;
/// How far back requests are looked at.
const BACK_MS: i64 = 24 * 3600 * 1000;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Change {
    #[serde(default)]
    confidence_threshold: Option<f64>,
}

/// Tells which of yesterday's requests would be decided otherwise.
pub(crate) async fn take(State(shared): State<Arc<Shared>>, request: Request) -> Reply {
    let (_, Change { confidence_threshold }) = body::read::<Change>(request).await?;
    let now = shared.hub.config().routing.confidence_threshold;
    let then = confidence_threshold.unwrap_or(now);
    if !(0.0..=1.0).contains(&then) {
        let message = format!("`confidenceThreshold` is {then}");
        return Err(ApiError::bad_request(message, "choose a number from 0 to 1"));
    }
    let Ok(_turn) = shared.previews.try_acquire() else {
        let message = "another preview is under way";
        return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, message, "try again in a few seconds"));
    };
    let history = shared.history.clone();
    let routes = blocking(move || yesterday(&history)).await?;
    let (hub, snapshot, start) = (&shared.hub, shared.hub.snapshot(), Instant::now());
    snapshot.indexed().await;
    let mut known: HashMap<String, (RouteOutcome, RouteOutcome)> = HashMap::new();
    let (mut total, mut left, mut changed) = (0_usize, 0_usize, Vec::<Value>::new());
    for route in routes {
        let Some(words) = route.words else { continue };
        let outcomes = match known.get(&words) {
            Some(outcomes) => *outcomes,
            None if start.elapsed() > BUDGET => {
                left += 1;
                continue;
            }
            None => {
                let outcomes =
                    (decided(hub, &snapshot, &words, now).await, decided(hub, &snapshot, &words, then).await);
                known.insert(words.clone(), outcomes);
                outcomes
            }
        };
        total += 1;
        let (before, after) = outcomes;
        if before != after {
            changed.push(json!({
                "id": route.id, "words": words, "tool": route.tool, "before": before, "after": after,
            }));
        }
    }
    Ok(Json(json!({ "total": total, "changed": changed, "notLookedAt": left })))
}

/// Returns the latest routes whose words are kept.
fn yesterday(history: &History) -> Result<Vec<Route>, toolyard_history::Error> {
    let since = Some(now_ms().saturating_sub(BACK_MS));
    let mut search = RouteSearch { since, limit: MOST, ..RouteSearch::default() };
    let mut found: Vec<Route> = Vec::new();
    for _ in 0..PAGES {
        let page = history.routes(&search)?;
        let has_words = |route: &Route| route.words.as_ref().is_some_and(|words| !words.trim().is_empty());
        found.extend(page.items.into_iter().filter(has_words));
        search.before = page.next;
        if found.len() >= MOST || search.before.is_none() {
            break;
        }
    }
    found.truncate(MOST);
    Ok(found)
}

async fn decided(hub: &Hub, snapshot: &Arc<Snapshot>, words: &str, confidence: f64) -> RouteOutcome {
    let given = Map::new();
    let goal = Goal::in_words(words, &given);
    trial::outcome(&hub.rehearse(snapshot, &Wanted::plain(words), goal, confidence).await)
}
