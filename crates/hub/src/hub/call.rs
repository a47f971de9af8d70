//! One call of one tool: admitted, made, measured, and explained when it cannot be made.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use toolyard_core::tool::{Effect, Tool, ToolId};

use super::Hub;
use crate::caller::{Asking, Caller, Era};
use crate::jsonrpc::{ErrorObject, Fields, raw};
use crate::live::Snapshot;
use crate::policy::Refusal;
use crate::routing::Outcome;
use crate::upstream::{Failure, Repeat, Upstream};

/// Rounds of questions within one call.
const ROUNDS: usize = 16;
/// Tools of other servers that are named when one cannot be reached.
const OTHERS: usize = 3;

/// Why a call has no result of its tool.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    /// It makes no sense, or the configuration or the server forbids it.
    Refused(ErrorObject),
    /// The tool was called too often.
    TooOften(String),
    /// The server did not answer.
    Failed(Failure),
}

impl Hub {
    /// Calls a tool by its name in the catalog. A tool that fails is a result, not an error.
    pub async fn call(
        &self,
        snapshot: &Snapshot,
        tool: &str,
        params: Fields,
        caller: &Arc<Caller>,
    ) -> Result<Box<RawValue>, ErrorObject> {
        let Some(tool) = snapshot.catalog.get(tool) else { return Err(self.unknown_tool(snapshot, tool)) };
        match self.attempt(snapshot, tool, params, caller).await {
            Ok(result) => Ok(result),
            Err(Trouble::Refused(error)) => Err(error),
            Err(Trouble::TooOften(why)) => Ok(failed_call(&why)),
            Err(Trouble::Failed(failure)) => Ok(failed_call(&self.with_advice(snapshot, tool, &failure))),
        }
    }

    /// Calls a tool, or says why that has no result.
    pub(crate) async fn attempt(
        &self,
        snapshot: &Snapshot,
        tool: &Tool,
        mut params: Fields,
        caller: &Arc<Caller>,
    ) -> Result<Box<RawValue>, Trouble> {
        let id = tool.id.as_str();
        self.admit(id).map_err(|refusal| match &refusal {
            Refusal::Forbidden { .. } => Trouble::Refused(ErrorObject::invalid_params(refusal.to_string())),
            Refusal::TooOften { .. } => Trouble::TooOften(refusal.to_string()),
        })?;
        let upstream =
            self.upstream(&tool.server).ok_or_else(|| Trouble::Refused(self.unknown_tool(snapshot, id)))?;
        params.set("name", raw(&tool.name));
        let repeat = if tool.effect == Effect::Read { Repeat::Safe } else { Repeat::Unsafe };
        let start = Instant::now();
        let outcome = forward(&upstream, "tools/call", params, caller, repeat).await;
        if self.config().routing.performance.enable_metrics {
            let how = match &outcome {
                Ok(result) if !is_error(result) => Outcome::Answered,
                Ok(_) | Err(_) => Outcome::Failed,
            };
            self.memory.measures.note(id, start.elapsed(), how);
        }
        outcome.map_err(|failure| match failure {
            Failure::Refused(error) => Trouble::Refused(error),
            failure @ (Failure::NotStarted { .. }
            | Failure::Closed { .. }
            | Failure::Late { .. }
            | Failure::Excess { .. }
            | Failure::Senseless { .. }
            | Failure::Http { .. }
            | Failure::LoginNeeded(_)) => Trouble::Failed(failure),
        })
    }

    fn with_advice(&self, snapshot: &Snapshot, tool: &Tool, failure: &Failure) -> String {
        match failure {
            Failure::Closed { .. } if tool.effect != Effect::Read => {
                format!(
                    "{failure}. The call may or may not have been carried out: check before you repeat it"
                )
            }
            Failure::Closed { .. } | Failure::NotStarted { .. } | Failure::LoginNeeded(_) => {
                let others = self.similar(snapshot, tool);
                let others: Vec<&str> = others.iter().map(|other| other.id.as_str()).collect();
                if others.is_empty() {
                    format!("{failure}. `toolyard doctor {}` tells more", tool.server)
                } else {
                    format!("{failure}. Similar tools of other servers: {}", others.join(", "))
                }
            }
            Failure::Refused(_)
            | Failure::Late { .. }
            | Failure::Excess { .. }
            | Failure::Senseless { .. }
            | Failure::Http { .. } => failure.to_string(),
        }
    }

    /// Returns tools of other servers that do what this one does, as far as its text tells.
    pub(crate) fn similar<'s>(&self, snapshot: &'s Snapshot, tool: &Tool) -> Vec<&'s Tool> {
        if !snapshot.is_indexed() {
            // Who never searches does not wait for an index because a server is down.
            let others = snapshot.catalog.tools().iter().filter(|other| other.server != tool.server);
            let alike = others.filter(|other| other.name == tool.name && self.permits(other));
            return alike.take(OTHERS).collect();
        }
        let query = format!("{} {}", tool.name, tool.description.chars().take(200).collect::<String>());
        let tools = snapshot.catalog.tools();
        let others = self.find_by_words(snapshot, &query, 10).into_iter().map(|(at, _)| &tools[at]);
        others.filter(|other| other.server != tool.server).take(OTHERS).collect()
    }

    /// Marks something that counts once as used; `false` when it was before. Hubs on the same store agree.
    pub(crate) fn spend(&self, number: u64, lifetime: Duration) -> bool {
        let is_new = self.memory.spent.note(number, Instant::now(), lifetime);
        is_new && self.store.spend(number, lifetime).unwrap_or(true)
    }

    /// Says that there is no such tool, and which ones are near.
    pub fn unknown_tool(&self, snapshot: &Snapshot, name: &str) -> ErrorObject {
        let shown: String = toolyard_core::tool::clean(name).chars().take(100).collect();
        // Comparing costs the product of the lengths, and the name may be as long as a message.
        let is_name = name.len() <= 2 * ToolId::MAX_CHARS;
        let near = snapshot
            .catalog
            .tools()
            .iter()
            .filter(|_| is_name)
            .map(|tool| (strsim::jaro_winkler(tool.id.as_str(), name), tool.id.as_str()))
            .filter(|(likeness, _)| *likeness > 0.85)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let hint = near.map(|(_, id)| format!("; did you mean `{id}`?")).unwrap_or_default();
        ErrorObject::invalid_params(format!("there is no tool `{shown}`{hint}"))
    }
}

/// Sends a request on, answering a modern server's questions on behalf of a session client.
pub(crate) async fn forward(
    upstream: &Upstream,
    method: &str,
    mut params: Fields,
    caller: &Arc<Caller>,
    repeat: Repeat,
) -> Result<Box<RawValue>, Failure> {
    for _ in 0..ROUNDS {
        let result = upstream.request(method, params.clone(), caller, repeat).await?;
        let is_passed_on = caller.era == Era::Modern && caller.asking == Asking::PassedOn;
        if is_passed_on || !wants_input(&result) {
            return Ok(result);
        }
        let wanted = Fields::parse(Some(&result)).unwrap_or_default();
        let mut responses = Fields::default();
        for (key, request) in wanted.object("inputRequests").iter() {
            let request = Fields::parse(Some(request)).unwrap_or_default();
            let method = request.text("method").unwrap_or_default();
            let answer =
                caller.ask(&upstream.name, &method, request.get("params").map(ToOwned::to_owned)).await;
            responses.set(key, answer.map_err(Failure::Refused)?);
        }
        params.set("inputResponses", raw(&responses));
        match wanted.get("requestState") {
            Some(state) => params.set("requestState", state.to_owned()),
            None => drop(params.remove("requestState")),
        }
    }
    let what = format!("it asked more than {ROUNDS} times within one `{method}`");
    Err(Failure::Senseless { server: Arc::clone(&upstream.name), what })
}

/// Whether a result asks for input instead of answering.
pub(crate) fn wants_input(result: &RawValue) -> bool {
    // The text is searched first because results may be large and questions are rare.
    result.get().contains("\"input_required\"")
        && Fields::parse(Some(result))
            .is_ok_and(|fields| fields.text("resultType").as_deref() == Some("input_required"))
}

/// Makes the result of a call that the hub could not make, for a model to act on.
pub(crate) fn failed_call(message: &str) -> Box<RawValue> {
    raw(&serde_json::json!({ "content": [{ "type": "text", "text": message }], "isError": true }))
}

/// Whether a tool says of its own result that it failed.
pub(crate) fn is_error(result: &RawValue) -> bool {
    // The text is searched first because results may be large and failures are rare.
    result.get().contains("\"isError\"")
        && Fields::parse(Some(result)).is_ok_and(|fields| fields.read("isError") == Some(true))
}
