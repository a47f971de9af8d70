//! What the surface `toolset` lists, within its budget.

use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;
use toolyard_core::metadata::gist;
use toolyard_core::session::Toolset;
use toolyard_core::tool::{Parameters, Tool, ToolId};

use super::super::answer::Request;
use super::super::route::{self, Length};
use super::super::{apps, tools};
use crate::caller::Era;
use crate::config::OwnTool;
use crate::hub::{CONFIRMATION, Supply, listed_consolidated};
use crate::jsonrpc::raw;
use crate::live::Snapshot;

/// Bytes of one token, as budgets count them.
const TOKEN_BYTES: usize = 4;

/// Returns the definitions of the hub's own tools. They are the same for everybody who sees the same view.
fn own_definition(request: &Request, own: OwnTool, length: Length) -> Box<RawValue> {
    let session =
        json!({ "type": "string", "description": "The session of an earlier answer, where one was given" });
    match own {
        OwnTool::SmartRoute => {
            apps::with_own_page(request, route::definition(length, request.view.callers()))
        }
        OwnTool::ActivateSkill => raw(&json!({
            "name": own.name(),
            "description": "Activates a skill: returns its instructions and makes its tools callable at once.",
            "inputSchema": { "type": "object", "properties": {
                "name": { "type": "string", "description": "The skill" },
                "session": session,
            }, "required": ["name"] },
            "annotations": { "readOnlyHint": true, "idempotentHint": true, "openWorldHint": false },
        })),
        OwnTool::FindTools | OwnTool::CallTool => tools::search_tool(request, own.name(), Some(session)),
    }
}

/// Names the tools of the list. The list of a modern client never changes, so it always has a way to call others.
fn names(request: &Request, supply: &Supply, toolset: &Toolset) -> Vec<Arc<str>> {
    let mut names = toolset.listed(&supply.stock());
    let call_tool = OwnTool::CallTool.name();
    if request.caller.era == Era::Modern && !names.iter().any(|name| **name == *call_tool) {
        names.push(call_tool.into());
    }
    names
}

/// A tool as it is listed.
pub(super) type Definition = (Arc<str>, Box<RawValue>);

/// Writes the list down within its budget: first texts are shortened, then what was given last is left out.
pub(super) fn definitions(
    request: &Request,
    snapshot: &Snapshot,
    supply: &Supply,
    toolset: &Toolset,
) -> Vec<Definition> {
    let names = names(request, supply, toolset);
    let consolidated = request.reception.hub.consolidated_up_to(request.view.effect(), snapshot);
    // A family of which one tool is listed is no shorter than that tool.
    let owner = |name: &str| {
        let (id, owner) = consolidated.owner(snapshot.catalog.get(name)?)?;
        let members = owner.actions().iter().filter(|action| {
            let member = snapshot.catalog.get(name).map(|tool| ToolId::new(&tool.server, &action.tool));
            member.is_some_and(|member| names.iter().any(|name| **name == *member.as_str()))
        });
        (members.count() > 1).then_some((id, owner))
    };
    let define = |length: Length| -> Vec<Definition> {
        let mut shown: Vec<ToolId> = Vec::new();
        let one = |name: &Arc<str>| {
            if let Some((id, owner)) = owner(name) {
                if shown.contains(&id) {
                    return None;
                }
                shown.push(id.clone());
                return Some((id.as_str().into(), listed_consolidated(&id, owner)));
            }
            let definition = match snapshot.catalog.get(name) {
                Some(tool) => {
                    RawValue::from_string(described(request, (snapshot, supply), tool, length)).ok()?
                }
                None => own_definition(request, OwnTool::named(name)?, length),
            };
            Some((Arc::clone(name), definition))
        };
        names.iter().filter_map(one).collect()
    };
    let bytes = |list: &[Definition]| list.iter().map(|(_, it)| it.get().len() + 1).sum::<usize>();
    let most = supply.settings.tokens.map_or(usize::MAX, |tokens| tokens.saturating_mul(TOKEN_BYTES));
    let mut list = define(Length::Full);
    if bytes(&list) > most {
        list = define(Length::Compact);
    }
    while bytes(&list) > most && list.len() > supply.settings.own.len() {
        list.pop();
    }
    list
}

fn described(
    request: &Request,
    (snapshot, supply): (&Snapshot, &Supply),
    tool: &Tool,
    length: Length,
) -> String {
    let parameters = supply.settings.parameters;
    if length == Length::Full && parameters == Parameters::All {
        return tools::listed(request, snapshot, tool);
    }
    let hub = &request.reception.hub;
    let asks = hub.asks_before(snapshot, tool) && !tools::has_own_confirmation(request, tool);
    let confirm = asks.then_some((hub.confirmation(tool), CONFIRMATION));
    apps::with_page_address(snapshot, tool, tool.listed_briefly(&gist(tool), parameters, confirm))
}
