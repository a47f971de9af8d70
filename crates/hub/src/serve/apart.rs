//! Groups of a last resort on the surface `all`: kept apart until somebody asks for one by its name.
//!
//! Twenty tools of a browser that is seldom needed crowd out those that always are. They are called by name, found and
//! routed to as ever; only the first list is without them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::value::RawValue;
use toolyard_core::tool::Tool;

use super::answer::Request;
use super::{View, era, route, tools};
use crate::caller::Era;
use crate::config::Surface;
use crate::jsonrpc::Fields;
use crate::live::Snapshot;

/// Whether the list has a tool without being asked.
pub(super) fn is_listed(request: &Request, tool: &Tool, asked: &BTreeSet<Arc<str>>) -> bool {
    let is_named = match &request.view {
        View::Surface { servers, .. } => servers.iter().any(|name| **name == *tool.server),
        View::Transparent { .. } => true,
    };
    is_named || asked.contains(&tool.server) || !request.reception.hub.is_fallback(tool)
}

/// Returns the groups that the session asked for; nothing for a modern client, whose list never depends on a call.
pub(super) fn asked(request: &Request) -> BTreeSet<Arc<str>> {
    let session = Some(&request.caller).filter(|caller| caller.era == Era::Session);
    let session = session.and_then(|caller| route::conversation(caller, None));
    session.map(|it| request.reception.toolsets.asked(&it)).unwrap_or_default()
}

/// Returns the groups that are kept apart, each with the number of its tools.
pub(super) fn groups(request: &Request, snapshot: &Snapshot) -> BTreeMap<Arc<str>, usize> {
    let is_apart =
        |tool: &&Tool| tools::is_seen(request, snapshot, tool) && !is_listed(request, tool, &BTreeSet::new());
    let mut groups = BTreeMap::new();
    for tool in snapshot.catalog.tools().iter().filter(is_apart) {
        *groups.entry(Arc::clone(&tool.server)).or_default() += 1;
    }
    groups
}

/// Says which groups are kept apart; nothing where none is.
pub(super) fn instructions(request: &Request) -> String {
    let groups = groups(request, &request.reception.hub.snapshot());
    let named: Vec<String> = groups.iter().map(|(name, tools)| format!("{name} ({tools})")).collect();
    match named.as_slice() {
        [] => String::new(),
        named => format!(
            " The tools of these are listed once find_tools was asked for the server: {}.",
            named.join(", ")
        ),
    }
}

/// Lists a group from now on where a session asks for it by name, and says how its tools are called.
pub(super) fn ask(request: &Request, snapshot: &Snapshot, arguments: &Fields) -> Option<&'static str> {
    let is_all = request.view.surface(&request.reception.hub, &request.caller) == Surface::All;
    let server = arguments.text("server").filter(|_| is_all)?;
    let (server, _) = groups(request, snapshot).remove_entry(server.as_str())?;
    if request.caller.era == Era::Session
        && let Some(session) = route::conversation(&request.caller, None)
    {
        if request.reception.toolsets.ask(&session, &request.caller.owner(), server) {
            request.caller.notify("notifications/tools/list_changed", None);
        }
        if era::known_client(request.caller.info.as_deref()).is_some_and(|it| it.heeds_list_changed) {
            return Some("They are listed now; call them by name, or with call_tool.");
        }
    }
    Some("Call them with call_tool {\"name\": …, \"arguments\": {…}}; your list of tools may not show them.")
}

/// Returns the tools with which groups that are kept apart are found and called.
pub(super) fn search_tools(request: &Request, snapshot: &Snapshot) -> Vec<Box<RawValue>> {
    match groups(request, snapshot).is_empty() {
        true => Vec::new(),
        false => tools::search_tools(request),
    }
}
