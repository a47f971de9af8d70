//! A tool, run from the page with the arguments that it shows.
//!
//! What the hub would ask about runs only once its question was shown and agreed to.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::{Request, State};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolyard_core::rank::Intent;
use toolyard_hub::config::Stance;
use toolyard_hub::jsonrpc::{Fields, raw};

use crate::failure::{ApiError, Reply};
use crate::{Shared, body, show};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Asked {
    /// The words that the call is made for.
    #[serde(default)]
    task: String,
    tool: String,
    /// Sent as they were written.
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
    #[serde(default)]
    confirm: bool,
}

/// Runs a tool, or says what has to be agreed to first.
pub(crate) async fn take(State(shared): State<Arc<Shared>>, request: Request) -> Reply {
    let (parts, asked) = body::read::<Asked>(request).await?;
    let (hub, snapshot, caller) = (&shared.hub, shared.hub.snapshot(), shared.caller(&parts));
    let arguments = asked.arguments.unwrap_or_else(|| raw(&json!({})));
    if Fields::parse(Some(&arguments)).is_err() {
        return Err(ApiError::bad_request(
            "`arguments` must be an object",
            "write them as {\"name\": value}",
        ));
    }
    let Some(tool) = snapshot.catalog.get(&asked.tool) else {
        let unknown = hub.unknown_tool(&snapshot, &asked.tool);
        return Err(ApiError::not_found(unknown.message, "the list of tools shows every tool"));
    };
    let intent = (!asked.task.trim().is_empty()).then(|| Intent::of(asked.task.trim()));
    let ruling = hub.judge(&snapshot, tool, Some(&arguments), intent.as_ref());
    if ruling.stance == Stance::Ask {
        let void = hub.void_answer(&caller, tool).filter(|_| asked.confirm);
        let is_confirmed = asked.confirm && void.is_none();
        shared.hub.metrics().confirmation(if is_confirmed { "confirmed" } else { "asked" });
        if !is_confirmed {
            hub.ask_about(&caller, tool);
            return Ok(Json(json!({
                "outcome": "unconfirmed",
                "result": null,
                "ms": 0,
                "needsConfirmation": void.unwrap_or_else(|| ruling.reason(tool)),
            })));
        }
    }
    let mut params = Fields::default();
    params.set("arguments", arguments);
    let start = Instant::now();
    // Here it was confirmed, or need not be.
    let answer = hub.call_confirmed(&snapshot, tool, params, &caller).await;
    let ms = show::round(start.elapsed().as_secs_f64() * 1000.0);
    Ok(Json(match answer {
        Ok(result) => {
            let fields = Fields::parse(Some(&result)).unwrap_or_default();
            let has_failed = fields.read::<bool>("isError") == Some(true);
            let outcome = if has_failed { "failed" } else { "answered" };
            // What cannot be read as JSON again is shown as the text that came.
            let result = serde_json::from_str(result.get()).unwrap_or_else(|_| Value::from(result.get()));
            json!({ "outcome": outcome, "result": result, "ms": ms })
        }
        Err(error) => {
            let outcome = if ruling.stance == Stance::Deny { "denied" } else { "refused" };
            json!({ "outcome": outcome, "result": null, "message": error.message, "ms": ms })
        }
    }))
}
