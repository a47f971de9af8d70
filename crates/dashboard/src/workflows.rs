//! Workflows that can be started, and their runs.
//!
//! A run that has a question waits for `resume` with an answer; nothing is agreed to by starting it.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, Request, State};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use toolyard_core::run::{Account, Direction, Ending, Leaving, Upshot};
use toolyard_hub::caller::Caller;
use toolyard_hub::hub::{Execution, NotTaken, question};
use toolyard_hub::journal::{Journal, Kept};
use toolyard_hub::workflows::Template;

use crate::failure::{ApiError, Reply, blocking};
use crate::{Shared, body, show};

/// Runs that are listed, the newest first.
const MOST_RUNS: usize = 100;
/// A short run is over within this time, and its end is part of the answer.
const MOMENT: Duration = Duration::from_secs(2);

/// Lists workflows and runs.
pub(crate) async fn list(State(shared): State<Arc<Shared>>) -> Reply {
    let templates: Vec<Value> = shared.hub.templates().iter().map(shown_template).collect();
    let mistakes: Vec<String> = shared.hub.workflow_mistakes().iter().map(ToString::to_string).collect();
    let journal = Arc::clone(shared.hub.journal());
    let runs = blocking(move || {
        let kept = journal.list()?;
        Ok::<_, ApiError>(kept.iter().take(MOST_RUNS).map(|it| shown_run(&journal, it)).collect::<Vec<_>>())
    });
    Ok(Json(json!({ "templates": templates, "runs": runs.await?, "mistakes": mistakes })))
}

fn shown_template(template: &Template) -> Value {
    let definition = template.definition();
    json!({
        "name": template.name,
        "title": definition["title"],
        "description": definition["description"],
        "inputs": definition["inputSchema"],
        "steps": template.steps().iter().map(show::step).collect::<Vec<_>>(),
    })
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Start {
    #[serde(default)]
    inputs: Map<String, Value>,
}

/// Starts a workflow; it goes on after the answer.
pub(crate) async fn start(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    request: Request,
) -> Reply {
    let (parts, Start { inputs }) = body::read(request).await?;
    let templates = shared.hub.templates();
    let template = templates.iter().find(|it| it.name == name).ok_or_else(|| {
        let shown: String = toolyard_core::tool::clean(&name).chars().take(60).collect();
        let hint = "the list of workflows shows those whose servers are configured";
        ApiError::not_found(format!("there is no workflow `{shown}`"), hint)
    })?;
    let plan = shared.hub.plan_of(template, &inputs).await.map_err(|problems| {
        let message = format!("`{name}` cannot run: {}", problems.join("; "));
        ApiError::bad_request(message, "correct what it takes and start it again")
    })?;
    let caller = shared.caller(&parts);
    let execution = shared.hub.begin_for(plan, &caller).await?;
    go_on(&shared, caller, execution).await
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Resume {
    /// The answer to the question that is open.
    #[serde(default)]
    confirm: Option<bool>,
    /// The digest of the question that was shown, where the page says which one it was.
    #[serde(default)]
    digest: Option<String>,
}

/// Goes on with a run that was interrupted, or answers its question.
pub(crate) async fn resume(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    request: Request,
) -> Reply {
    let (parts, Resume { confirm, digest }) = body::read(request).await?;
    let mut execution = shared.hub.take_up(&id).await?;
    let Some(asked) = execution.run().asked().cloned() else {
        return go_on(&shared, shared.caller(&parts), execution).await;
    };
    if digest.is_some_and(|shown| shown != asked.digest) {
        let message = "the question has changed since it was shown";
        return Err(ApiError::conflict(message, "reload the run and read what it asks"));
    }
    let answered = match confirm {
        Some(true) => execution.agree(&asked.digest),
        Some(false) => execution.decline(&asked.digest),
        None => return told(&shared, execution.id.clone(), Some(execution)).await,
    };
    shared.hub.metrics().confirmation(if confirm == Some(true) { "confirmed" } else { "refused" });
    answered.map_err(|stale| ApiError::conflict(stale.to_string(), "reload the run"))?;
    go_on(&shared, shared.caller(&parts), execution).await
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Cancel {
    /// Whether what was done is taken back where that is known.
    #[serde(default)]
    undo: bool,
}

/// Stops a run, whoever drives it.
pub(crate) async fn cancel(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    request: Request,
) -> Reply {
    let (parts, Cancel { undo }) = body::read(request).await?;
    let leaving = if undo { Leaving::Nothing } else { Leaving::Everything };
    match shared.hub.take_up(&id).await {
        Ok(mut execution) => {
            execution.cancel(leaving);
            go_on(&shared, shared.caller(&parts), execution).await
        }
        Err(NotTaken::Driven(id)) => {
            let (journal, driven) = (Arc::clone(shared.hub.journal()), id.clone());
            blocking(move || journal.ask_to_stop(&driven, leaving)).await?;
            told(&shared, id, None).await
        }
        Err(other @ (NotTaken::Missing(_) | NotTaken::Journal(_))) => Err(other.into()),
    }
}

/// Drives a run in the background, and tells how far it got in a moment.
async fn go_on(shared: &Arc<Shared>, caller: Arc<Caller>, mut execution: Execution) -> Reply {
    let (hub, id) = (Arc::clone(&shared.hub), execution.id.clone());
    let (ended, paused) = oneshot::channel();
    shared.in_background(async move {
        if let Err(halted) = execution.drive(&hub, &caller, &mut |_| {}).await {
            tracing::error!("{halted}");
        }
        // Whoever is told may take the run up again.
        drop(execution);
        let _ = ended.send(());
    });
    let _ = tokio::time::timeout(MOMENT, paused).await;
    told(shared, id, None).await
}

/// Tells how a run is; an execution that is held counts as nobody driving it.
async fn told(shared: &Shared, id: String, held: Option<Execution>) -> Reply {
    drop(held);
    let journal = Arc::clone(shared.hub.journal());
    let shown = blocking(move || {
        let kept = journal.find(&id)?.ok_or(NotTaken::Missing(id))?;
        Ok::<_, NotTaken>(shown_run(&journal, &kept))
    });
    Ok(Json(shown.await?))
}

fn shown_run(journal: &Journal, kept: &Kept) -> Value {
    let (report, asked) = (kept.run.report(), kept.run.asked());
    // Taking the lease is the only way to know; it is given back at once.
    let is_driven = || matches!(journal.lease(&kept.id), Ok(None));
    let state = match report.ending {
        Ending::Open if is_driven() => "running",
        Ending::Open if asked.is_some() => "waiting",
        Ending::Open => "interrupted",
        Ending::Completed => "completed",
        Ending::Undone => "undone",
        Ending::Failed => "failed",
        Ending::Cancelled => "cancelled",
        Ending::Unknown => "unknown",
    };
    let steps = kept.run.plan().steps().iter().map(|step| {
        let own: Vec<&Account> = report.accounts.iter().filter(|it| it.step == step.name).collect();
        let grave = own.iter().max_by_key(|it| gravity(it.fate));
        json!({
            "id": step.name,
            "tool": step.tool.as_str(),
            "effect": step.effect,
            "state": grave.map(|it| it.fate).unwrap_or(Upshot::NotStarted),
            "needs": step.needs(),
            "calls": own.iter().filter(|it| it.direction == Direction::Forth).count(),
            "error": grave.and_then(|it| it.why.as_ref()),
        })
    });
    json!({
        "id": kept.id,
        "name": kept.name,
        "state": state,
        "started": kept.begun_ms,
        "changed": kept.changed_ms,
        "steps": steps.collect::<Vec<_>>(),
        "why": report.why,
        "words": report.sentence(),
        "advice": report.advice,
        "needsConfirmation": asked.map(question),
        "digest": asked.map(|it| it.digest.as_str()),
    })
}

/// Of several calls of one step, the gravest fate is the step's.
fn gravity(fate: Upshot) -> u8 {
    match fate {
        Upshot::Skipped => 0,
        Upshot::Done => 1,
        Upshot::Undone => 2,
        Upshot::NotStarted => 3,
        Upshot::Failed => 4,
        Upshot::NotUndone => 5,
        Upshot::Unknown => 6,
        Upshot::Running => 7,
    }
}
