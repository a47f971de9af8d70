//! Calls of consolidated tools on the wire, by name or through `call_tool`.
//!
//! Such a request goes on as if it had been sent for the original tool: what is active, confirmed, permitted and parked
//! is decided about that.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::answer::Request;
use super::tools;
use crate::caller::Answer;
use crate::config::{OwnTool, Surface};
use crate::hub::{Unfolded, failed_call};
use crate::jsonrpc::{Fields, raw};

/// Turns a call of a consolidated tool into one of an original tool, and returns what the request calls then; an error is
/// the answer.
pub(crate) async fn original(request: &mut Request, called: String) -> Result<String, Answer> {
    let hub = Arc::clone(&request.reception.hub);
    if !hub.config().servers.values().any(|server| server.consolidate.is_some()) {
        return Ok(called);
    }
    let surface = request.view.surface(&hub, &request.caller);
    let mut outer = request.params.object("arguments");
    let is_inner = surface != Surface::All && called == OwnTool::CallTool.name();
    let name = if is_inner { outer.text("name").unwrap_or_default() } else { called.clone() };
    let snapshot = tools::snapshot_with(request, &name).await;
    let consolidated = hub.consolidated_up_to(request.view.effect(), &snapshot);
    let Some((server, tool)) = consolidated.get(&name).filter(|(server, _)| request.view.shows(server))
    else {
        return Ok(called);
    };
    let given = match is_inner {
        true => inner(&outer, tool.confirmation()).map_err(|why| Ok(failed_call(&why)))?,
        false => request.params.get("arguments").map(ToOwned::to_owned),
    };
    match hub.unfold(&snapshot, (server, tool), given.as_deref()).map_err(Ok)? {
        Unfolded::Batch { server, calls } => {
            Err(Ok(Box::pin(hub.call_batch(&snapshot, &server, calls, &request.caller)).await))
        }
        Unfolded::One { tool, arguments } if is_inner => {
            outer.set("name", raw(&tool));
            outer.set("arguments", arguments);
            outer.remove("confirm");
            request.params.set("arguments", raw(&outer));
            Ok(called)
        }
        Unfolded::One { tool, arguments } => {
            request.params.set("name", raw(&tool));
            request.params.set("arguments", arguments);
            Ok(tool)
        }
    }
}

/// Returns the arguments that `call_tool` is given for a tool, with the confirmation that may stand beside them.
fn inner(outer: &Fields, confirmation: &str) -> Result<Option<Box<RawValue>>, String> {
    let given = tools::inner_arguments(outer)?;
    let Some(confirm) = outer.get("confirm") else { return Ok(Some(given)) };
    let mut fields = Fields::parse(Some(&given)).unwrap_or_default();
    if fields.get(confirmation).is_none() {
        fields.set(confirmation, confirm.to_owned());
    }
    Ok(Some(raw(&fields)))
}
