//! Calls of old names on the wire, wherever a request names a tool.
//!
//! Such a request goes on as if it had been sent for the new tool: what is active, confirmed, permitted and parked is
//! decided about that. Whoever does not see the server of the new tool does not learn that there was an old name.

use serde_json::value::RawValue;
use toolyard_core::alias::Alias;

use super::answer::Request;
use super::{route, tools};
use crate::config::Surface;
use crate::hub::{Deprecated, Migrated, failed_call, migrate, renamed};
use crate::jsonrpc::{Fields, raw};
use crate::live::Snapshot;
use crate::skills;

/// Where a request names a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Naming {
    /// It calls the tool itself.
    Direct,
    /// `call_tool` and `describe_tool` name it.
    Inner,
    /// It is the whole task of `smart_route`.
    Task,
}

/// Turns a request that names a tool by an old name into one for the tool that it stands for, or answers it.
pub(crate) async fn current(
    request: &mut Request,
    called: &str,
) -> Result<Option<Deprecated>, Box<RawValue>> {
    let snapshot = request.reception.hub.snapshot();
    if snapshot.aliases.is_empty() || snapshot.catalog.get(called).is_some() {
        return Ok(None);
    }
    let surface = request.view.surface(&request.reception.hub, &request.caller);
    let mut outer = request.params.object("arguments");
    let (naming, name) = match called {
        "call_tool" | "describe_tool" if surface != Surface::All => {
            (Naming::Inner, outer.text("name").unwrap_or_default())
        }
        route::NAME if surface != Surface::All => {
            (Naming::Task, outer.text("task").unwrap_or_default().trim().to_owned())
        }
        _ => (Naming::Direct, called.to_owned()),
    };
    let Some(alias) = meant(request, &snapshot, &name)? else { return Ok(None) };
    // Whether the tool is there, or one that has the old name, is known once its server was heard of.
    let snapshot = tools::snapshot_with(request, &alias.to).await;
    let Some(alias) = meant(request, &snapshot, &name)? else { return Ok(None) };
    let turn =
        |given: Option<&RawValue>| migrate(&snapshot, &name, &alias, given).map_err(|why| failed_call(&why));
    let Migrated { tool, arguments, deprecated } = match naming {
        Naming::Direct => turn(request.params.get("arguments"))?,
        Naming::Inner => {
            // What is wrong with them is said where they are read.
            let Ok(given) = tools::inner_arguments(&outer) else { return Ok(None) };
            turn(Some(&given))?
        }
        Naming::Task => {
            let Some(given) = routed(request, &outer) else { return Ok(None) };
            turn(given.as_deref())?
        }
    };
    match naming {
        Naming::Direct => {
            request.params.set("name", raw(&tool));
            request.params.set("arguments", arguments);
            return Ok(Some(deprecated));
        }
        Naming::Inner => {
            outer.set("name", raw(&tool));
            outer.set("arguments", arguments);
        }
        Naming::Task => {
            let mut context = route::object(&outer, "context");
            context.set("arguments", arguments);
            outer.remove("arguments");
            outer.set("task", raw(&tool));
            outer.set("context", raw(&context));
        }
    }
    request.params.set("arguments", raw(&outer));
    Ok(Some(deprecated))
}

/// Returns what a name stands for, as far as the client sees the tool's server.
fn meant(request: &Request, snapshot: &Snapshot, name: &str) -> Result<Option<Alias>, Box<RawValue>> {
    let config = request.reception.hub.config();
    let sees = |to: &str| match snapshot.catalog.get(to) {
        Some(tool) => request.view.shows(&tool.server),
        None => request.view.shows(skills::owner(to, &config).map_or("", String::as_str)),
    };
    renamed(snapshot, name, sees).transpose().map_err(|why| failed_call(&why))
}

/// Returns the arguments that `smart_route` is given for a tool; `None` where the task is an answer to a question, or
/// where they cannot be read.
#[expect(clippy::option_option, reason = "no arguments are as good as some")]
fn routed(request: &Request, outer: &Fields) -> Option<Option<Box<RawValue>>> {
    let context = route::object(outer, "context");
    let goes_on = ["confirm", "more"].iter().any(|key| context.get(key).or(outer.get(key)).is_some());
    let session = context.text("session").or(outer.text("session"));
    if goes_on || session.is_some_and(|handle| route::is_waiting(request, &handle)) {
        return None;
    }
    let given = context.get("arguments").or(outer.get("arguments")).filter(|given| given.get() != "null");
    match given {
        None => Some(None),
        Some(given) if given.get().starts_with('{') => Some(Some(given.to_owned())),
        Some(given) => {
            let text: String = serde_json::from_str(given.get()).ok()?;
            let given = RawValue::from_string(text.trim().to_owned()).ok()?;
            given.get().starts_with('{').then_some(Some(given))
        }
    }
}
