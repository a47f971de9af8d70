//! Tools that stand for several of one server, where its settings ask for that.
//!
//! They are another way to see and to call the tools of a server. Ranking, policy and the audit log know the original
//! ones: a call is mapped back before anybody judges it, so a consolidated tool permits nothing more.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolyard_core::catalog::consolidate::{Consolidated, Consolidation, OriginalCall, Resolved, consolidate};
use toolyard_core::hazard::rounded;
use toolyard_core::tool::{Effect, Tool, ToolId};

use super::Hub;
use super::results::failed_call;
use crate::caller::Caller;
use crate::config::Stance;
use crate::jsonrpc::{ErrorObject, Fields, raw};
use crate::live::Snapshot;

/// The consolidated tools of all servers.
#[derive(Debug, Default)]
pub struct ConsolidatedTools(BTreeMap<Arc<str>, Consolidation>);

/// Those of the newest catalog, with what they were made from, by the most that they may do.
pub(super) type Remembered = Mutex<BTreeMap<Effect, ((u64, u64), Arc<ConsolidatedTools>)>>;

impl ConsolidatedTools {
    /// Returns the consolidated tool that clients call `id`, and its server.
    pub fn get(&self, id: &str) -> Option<(&Arc<str>, &Consolidated)> {
        self.0.iter().find_map(|(server, made)| {
            let rest = id.strip_prefix(&*ToolId::server_prefix(server))?;
            rest.strip_prefix("__")?;
            made.tools
                .iter()
                .find(|tool| ToolId::new(server, tool.name()).as_str() == id)
                .map(|tool| (server, tool))
        })
    }

    /// Returns the consolidated tool that stands for a tool, and its name.
    pub fn owner(&self, tool: &Tool) -> Option<(ToolId, &Consolidated)> {
        let owner = self.0.get(&tool.server)?.owner(&tool.name)?;
        Some((ToolId::new(&tool.server, owner.name()), owner))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Shows a consolidated tool under the name by which clients call it.
pub(crate) fn listed(id: &ToolId, tool: &Consolidated) -> Box<RawValue> {
    let mut fields = Fields::parse(Some(tool.definition())).unwrap_or_default();
    fields.set("name", raw(&id.as_str()));
    raw(&fields)
}

impl Hub {
    /// Returns the consolidated tools of the servers whose settings ask for them. Tools that may not be called are not
    /// part of any.
    pub fn consolidated(&self, snapshot: &Snapshot) -> Arc<ConsolidatedTools> {
        self.consolidated_up_to(Effect::Destroy, snapshot)
    }

    /// Returns them as somebody sees them whose calls may do this at most.
    pub(crate) fn consolidated_up_to(&self, effect: Effect, snapshot: &Snapshot) -> Arc<ConsolidatedTools> {
        let key = (snapshot.number, self.settings.read().number);
        if let Some((known, made)) = self.consolidations.lock().get(&effect)
            && *known == key
        {
            return Arc::clone(made);
        }
        let config = self.config();
        let mut all = BTreeMap::new();
        for (name, server) in &config.servers {
            let Some(declared) = &server.consolidate else { continue };
            let tools = snapshot.catalog.of_server(name).iter();
            let tools: Vec<Tool> =
                tools.filter(|tool| self.permits_up_to(effect, snapshot, tool)).cloned().collect();
            let made = consolidate(name, &tools, declared);
            for problem in &made.problems {
                tracing::warn!("{problem}");
            }
            all.insert(Arc::from(name.as_str()), made);
        }
        let made = Arc::new(ConsolidatedTools(all));
        self.consolidations.lock().insert(effect, (key, Arc::clone(&made)));
        made
    }

    /// Calls a consolidated tool.
    pub(super) async fn call_consolidated(
        &self,
        snapshot: &Snapshot,
        name: &str,
        mut params: Fields,
        caller: &Arc<Caller>,
    ) -> Result<Box<RawValue>, ErrorObject> {
        let consolidated = self.consolidated_up_to(caller.grant.permissions.effect, snapshot);
        let Some(found) = consolidated.get(name) else { return Err(self.unknown_tool(snapshot, name)) };
        match self.unfold(snapshot, found, params.get("arguments")) {
            Ok(Unfolded::One { tool, arguments }) => {
                params.set("arguments", arguments);
                Box::pin(self.call(snapshot, &tool, params, caller)).await
            }
            Ok(Unfolded::Batch { server, calls }) => {
                Ok(Box::pin(self.call_batch(snapshot, &server, calls, caller)).await)
            }
            Err(answer) => Ok(answer),
        }
    }

    /// Calls several tools one by one, and reports which calls worked. Each is judged like any other.
    pub(crate) async fn call_batch(
        &self,
        snapshot: &Snapshot,
        server: &str,
        calls: Vec<OriginalCall>,
        caller: &Arc<Caller>,
    ) -> Box<RawValue> {
        let (total, mut created, mut failed) = (calls.len(), Vec::new(), Vec::new());
        for (at, call) in calls.into_iter().enumerate() {
            let given = Value::Object(call.arguments.clone());
            let id = ToolId::new(server, &call.tool);
            let mut params = Fields::default();
            params.set("name", raw(&id.as_str()));
            params.set("arguments", self.original_arguments(snapshot, &id, call));
            let answer = self.call(snapshot, id.as_str(), params, caller).await;
            let (text, is_error) = match answer {
                Ok(result) => read_result(&result),
                Err(error) => (error.message, true),
            };
            match is_error {
                true => failed.push(json!({ "item": at + 1, "arguments": given, "error": text })),
                false => created.push(json!({ "item": at + 1, "result": text })),
            }
        }
        let report = json!({
            "created": created, "failed": failed, "total": total, "success_count": created.len(),
        });
        raw(&json!({
            "content": [{ "type": "text", "text": format!("{report:#}") }],
            "structuredContent": report,
            "isError": created.is_empty(),
        }))
    }

    /// Maps a call of a consolidated tool back; an error is a result that says what is missing.
    pub(crate) fn unfold(
        &self,
        snapshot: &Snapshot,
        (server, tool): (&Arc<str>, &Consolidated),
        arguments: Option<&RawValue>,
    ) -> Result<Unfolded, Box<RawValue>> {
        if let Some(ambiguity) = arguments.and_then(|given| rounded(given.get())) {
            return Err(failed_call(&format!("{ambiguity}. Nothing was done.")));
        }
        let given: Map<String, Value> = match arguments.map(|given| serde_json::from_str(given.get())) {
            None => Map::new(),
            Some(Ok(given)) => given,
            Some(Err(_)) => return Err(failed_call("`arguments` must be an object. Nothing was done.")),
        };
        match tool.resolve(&given) {
            Ok(Resolved::One(call)) => {
                let id = ToolId::new(server, &call.tool);
                let arguments = self.original_arguments(snapshot, &id, call);
                Ok(Unfolded::One { tool: id.as_str().to_owned(), arguments })
            }
            Ok(Resolved::Batch(calls)) => Ok(Unfolded::Batch { server: Arc::clone(server), calls }),
            Err(error) => Err(failed_call(&format!("{error}. Nothing was done."))),
        }
    }

    /// Writes the arguments of an original call, with the confirmation as that tool has it where it is asked for one.
    fn original_arguments(&self, snapshot: &Snapshot, id: &ToolId, call: OriginalCall) -> Box<RawValue> {
        let mut arguments = call.arguments;
        if let (true, Some(tool)) = (call.is_confirmed, snapshot.catalog.get(id.as_str())) {
            let ruling = self.judge(snapshot, tool, Some(&raw(&arguments)), None);
            if ruling.stance == Stance::Ask {
                arguments.insert(self.confirmation(tool).to_owned(), Value::Bool(true));
            }
        }
        raw(&arguments)
    }
}

/// What a call of a consolidated tool becomes.
#[derive(Debug)]
pub(crate) enum Unfolded {
    /// One call of this tool.
    One { tool: String, arguments: Box<RawValue> },
    /// Several calls of tools of this server.
    Batch { server: Arc<str>, calls: Vec<OriginalCall> },
}

fn read_result(result: &RawValue) -> (String, bool) {
    let result: Value = serde_json::from_str(result.get()).unwrap_or_default();
    let texts = result["content"].as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
    (texts.collect::<Vec<_>>().join("\n"), result["isError"] == true)
}
