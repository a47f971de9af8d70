//! What was decided, what people say about it, and what was learnt from that.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, Request, State};
use serde::Deserialize;
use serde_json::{Value, json};
use toolyard_history::{FeedbackSource, Rating, Route, RouteSearch};
use toolyard_hub::clock::now_ms;
use toolyard_hub::hub::{Correction, NotLearnt};
use toolyard_hub::routing::LOCAL;

use crate::failure::{ApiError, Reply, blocking};
use crate::{Shared, body};

/// Routes of one page.
const PAGE: usize = 50;
/// Routes of the longest page.
const MOST: usize = 200;
/// Lessons that are shown beside a route.
const MOST_NEAR: usize = 8;
/// Sessions that are listed.
const MOST_SESSIONS: usize = 200;
/// How far back sessions are listed.
const SESSIONS_MS: i64 = 30 * 24 * 3600 * 1000;

#[derive(Debug, Deserialize)]
pub(crate) struct Sought {
    text: Option<String>,
    tool: Option<String>,
    server: Option<String>,
    decision: Option<String>,
    session: Option<String>,
    marked: Option<String>,
    since: Option<i64>,
    before: Option<String>,
    limit: Option<usize>,
}

/// Lists routes, the newest first.
pub(crate) async fn list(State(shared): State<Arc<Shared>>, Query(sought): Query<Sought>) -> Reply {
    let search = RouteSearch {
        text: body::filled(sought.text),
        tool: body::filled(sought.tool),
        server: body::filled(sought.server),
        decision: body::word("decision", sought.decision)?,
        session: body::filled(sought.session),
        marked: body::word("marked", sought.marked)?,
        since: sought.since,
        before: body::filled(sought.before),
        limit: sought.limit.unwrap_or(PAGE).clamp(1, MOST),
    };
    let history = shared.history.clone();
    let page = blocking(move || history.routes(&search)).await?;
    Ok(Json(json!(page)))
}

/// Shows one route, with what was said and learnt about it.
pub(crate) async fn show(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Reply {
    let route = find(&shared, &id).await?;
    let history = shared.history.clone();
    let (feedback, mut lessons, undone) =
        blocking(move || Ok::<_, ApiError>((history.feedback(&id)?, history.lessons()?, history.undone()?)))
            .await?;
    lessons.retain(|it| it.route.as_ref() == Some(&route.id));
    let undone: Vec<_> = undone.into_iter().filter(|it| it.route.as_ref() == Some(&route.id)).collect();
    let similar = match &route.words {
        Some(words) => near(&shared, words, &route.who).await?,
        None => Vec::new(),
    };
    Ok(Json(json!({
        "route": route, "feedback": feedback, "lessons": lessons, "undone": undone, "similar": similar,
    })))
}

async fn find(shared: &Shared, id: &str) -> Result<Route, ApiError> {
    let (history, wanted) = (shared.history.clone(), id.to_owned());
    let found = blocking(move || {
        // What was decided a moment ago may still be on its way to the disk.
        match history.route(&wanted)? {
            None => {
                history.flush();
                history.route(&wanted)
            }
            found @ Some(_) => Ok(found),
        }
    });
    found.await?.ok_or_else(|| {
        let shown: String = toolyard_core::tool::clean(id).chars().take(60).collect();
        let hint = "routes are kept for a limited time; reload the list";
        ApiError::not_found(format!("there is no route `{shown}`"), hint)
    })
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Said {
    route: String,
    verdict: Rating,
    #[serde(default)]
    meant: Option<String>,
}

/// Takes what a person says about a route.
pub(crate) async fn feedback(State(shared): State<Arc<Shared>>, request: Request) -> Reply {
    let (_, said) = body::read::<Said>(request).await?;
    let route = find(&shared, &said.route).await?;
    let meant = body::filled(said.meant);
    if said.verdict == Rating::Wrong && meant.is_some() && route.tool == meant {
        let message = format!("`{}` cannot be both wrong and meant", meant.unwrap_or_default());
        return Err(ApiError::bad_request(message, "choose another tool, or say that it was right"));
    }
    let (verdict, who, source) = (said.verdict, LOCAL.to_owned(), FeedbackSource::Dashboard);
    let given = Correction { route: Some(route.id), words: None, verdict, meant, source, who };
    let lesson = match shared.hub.feedback(given).await {
        Ok(lesson) => lesson,
        // What was said is kept all the same.
        Err(NotLearnt::NoWords(_)) => None,
        Err(why @ (NotLearnt::NoTool(_) | NotLearnt::NotOffered(_))) => {
            return Err(ApiError::bad_request(why.to_string(), "choose one of the list of tools"));
        }
        Err(why @ (NotLearnt::NotKept | NotLearnt::NoRoute(_) | NotLearnt::History(_))) => {
            let message = format!("the feedback was not kept: {why}");
            return Err(ApiError::internal(message, "look at the folder in `store.folder`"));
        }
    };
    Ok(Json(json!({ "ok": true, "lesson": lesson })))
}

/// Returns lessons about words like these, the nearest first.
async fn near(shared: &Shared, words: &str, who: &str) -> Result<Vec<Value>, ApiError> {
    let (_, mut near) = shared.hub.likings(words, who).await;
    near.retain(|(_, nearness)| *nearness > 0.0);
    near.sort_by(|a, b| b.1.total_cmp(&a.1));
    near.truncate(MOST_NEAR);
    let history = shared.history.clone();
    let lessons = blocking(move || history.lessons()).await?;
    let shown = near.into_iter().filter_map(|(id, similarity)| {
        let mut lesson = json!(lessons.iter().find(|it| it.id == id)?);
        lesson["similarity"] = json!(similarity);
        Some(lesson)
    });
    Ok(shown.collect())
}

/// Lists what was learnt, and what of it was taken back.
pub(crate) async fn lessons(State(shared): State<Arc<Shared>>) -> Reply {
    let history = shared.history.clone();
    let (lessons, undone) =
        blocking(move || Ok::<_, ApiError>((history.lessons()?, history.undone()?))).await?;
    Ok(Json(json!({ "lessons": lessons, "undone": undone })))
}

/// Takes a lesson back.
pub(crate) async fn undo(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Reply {
    let hub = Arc::clone(&shared.hub);
    let done = blocking(move || hub.unlearn(&id, true)).await?;
    changed(done, "there is no such lesson, or it was taken back before")
}

/// Lets a lesson count that was taken back.
pub(crate) async fn redo(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Reply {
    let hub = Arc::clone(&shared.hub);
    let done = blocking(move || hub.unlearn(&id, false)).await?;
    changed(done, "there is no such lesson that was taken back")
}

fn changed(done: bool, otherwise: &str) -> Reply {
    if done {
        Ok(Json(json!({ "ok": true })))
    } else {
        Err(ApiError::not_found(otherwise, "reload the list of lessons"))
    }
}

/// Lists the conversations of the last weeks.
pub(crate) async fn sessions(State(shared): State<Arc<Shared>>) -> Reply {
    let history = shared.history.clone();
    let since = now_ms().saturating_sub(SESSIONS_MS);
    let sessions = blocking(move || history.sessions(since, MOST_SESSIONS)).await?;
    Ok(Json(json!({ "sessions": sessions })))
}
