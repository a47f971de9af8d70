//! Tasks of servers, each for the client that began it.
//!
//! Clients share the connection to a server, so to the server they are one. Where one server is passed through, its own
//! names of tasks stay, and the hub remembers whose they are. On a surface a task gets a sealed name: it says which
//! server has the task and whose it is, and two servers may call theirs alike.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::answer::Request;
use super::{View, apps, park};
use crate::caller::{Answer, Caller, Era};
use crate::extensions::TASKS;
use crate::hub::{Hub, forward};
use crate::jsonrpc::{ErrorObject, Fields, raw};
use crate::upstream::Repeat;

/// Tasks that are remembered; whoever has most loses the oldest.
const MOST: usize = 10_000;
/// Bytes of a server's own name for a task. One with a longer name is nobody's, because all that is remembered has bounds.
const MOST_NAME: usize = 4096;
const FAMILY: &str = "tasks/";
const PURPOSE: &str = "task";
/// How long a task has its name. How long it is kept is for its server to say.
const LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);
/// Where a message of the session era says which task it belongs to.
const RELATED: &str = "io.modelcontextprotocol/related-task";

/// Whose the tasks of servers are.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<HashMap<Arc<str>, VecDeque<OwnTask>>>);

/// A task of a client.
#[derive(Clone, Debug)]
struct OwnTask {
    server: Arc<str>,
    /// What the server calls it.
    id: String,
    /// What the client calls it.
    name: String,
}

impl OwnTask {
    fn is(&self, server: &str, id: &str) -> bool {
        *self.server == *server && self.id == id
    }
}

/// What the name of a task stands for.
#[derive(Debug, Serialize, Deserialize)]
struct Sealed {
    client: String,
    server: String,
    id: String,
}

impl Tasks {
    /// Remembers whose task a result has begun, where it has.
    pub(super) fn note(&self, server: &Arc<str>, caller: &Caller, result: &RawValue) {
        if let Some((_, id)) = begun(result) {
            self.keep(caller.client(), OwnTask { server: Arc::clone(server), name: id.clone(), id });
        }
    }

    /// Does the same on a surface, where the task gets another name.
    pub(super) fn named(
        &self,
        hub: &Hub,
        server: &Arc<str>,
        caller: &Caller,
        result: Box<RawValue>,
    ) -> Box<RawValue> {
        let Some((kind, id)) = begun(&result) else { return result };
        let client = caller.client();
        let sealed = Sealed { client: client.to_string(), server: server.to_string(), id: id.clone() };
        let name = hub.seal.close(PURPOSE, &sealed, LIFETIME);
        self.keep(client, OwnTask { server: Arc::clone(server), id, name: name.clone() });
        let mut fields = Fields::parse(Some(&result)).unwrap_or_default();
        match kind {
            Era::Modern => fields.set("taskId", raw(&name)),
            Era::Session => {
                let mut task = fields.object("task");
                task.set("taskId", raw(&name));
                fields.set("task", raw(&task));
            }
        }
        raw(&fields)
    }

    fn keep(&self, owner: Arc<str>, task: OwnTask) {
        let mut owners = self.0.lock();
        // A server that gives one name twice means the later task.
        owners.values_mut().for_each(|own| own.retain(|known| !known.is(&task.server, &task.id)));
        if owners.values().map(VecDeque::len).sum::<usize>() >= MOST
            && let Some(most) = owners.values_mut().max_by_key(|own| own.len())
        {
            most.pop_front();
        }
        owners.retain(|_, own| !own.is_empty());
        owners.entry(owner).or_default().push_back(task);
    }

    /// Returns what a client calls a task of its own.
    pub(super) fn own_name(&self, server: &str, caller: &Caller, id: &str) -> Option<String> {
        let owners = self.0.lock();
        let own = owners.get(&caller.client())?;
        own.iter().find(|task| task.is(server, id)).map(|task| task.name.clone())
    }

    /// Whether somebody else began a task.
    fn is_foreign(&self, server: &str, caller: &Caller, id: &str) -> bool {
        let is_known = |own: &VecDeque<OwnTask>| own.iter().any(|task| task.is(server, id));
        self.own_name(server, caller, id).is_none() && self.0.lock().values().any(is_known)
    }

    /// Says why a request is not passed on: the task that it names is another client's. What nobody began here is for
    /// the server to refuse.
    pub(super) fn refusal(&self, server: &Arc<str>, request: &Request) -> Option<ErrorObject> {
        let id = request.params.text("taskId").filter(|_| request.method.starts_with(FAMILY))?;
        self.is_foreign(server, &request.caller, &id).then(|| unknown(&id))
    }

    /// Leaves the tasks of others out of a list.
    pub(super) fn own(&self, server: &Arc<str>, caller: &Caller, listed: Box<RawValue>) -> Box<RawValue> {
        let Ok(mut fields) = Fields::parse(Some(&listed)) else { return listed };
        let tasks: Vec<Box<RawValue>> = fields.read("tasks").unwrap_or_default();
        let is_own = |task: &RawValue| {
            let id = Fields::parse(Some(task)).ok().and_then(|task| task.text("taskId"));
            id.is_some_and(|id| self.own_name(server, caller, &id).is_some())
        };
        let own: Vec<&RawValue> = tasks.iter().map(|task| &**task).filter(|task| is_own(task)).collect();
        if own.len() < tasks.len() || tasks.is_empty() {
            fields.set("tasks", raw(&own));
            return raw(&fields);
        }
        listed
    }
}

/// Returns the server of a task that a client names, and what that calls it.
pub(super) fn meant(request: &Request, name: &str) -> Option<(Arc<str>, String)> {
    match &request.view {
        View::Transparent { server, .. } => {
            let is_foreign = request.reception.tasks.is_foreign(server, &request.caller, name);
            (!is_foreign).then(|| (Arc::clone(server), name.to_owned()))
        }
        View::Surface { .. } => {
            let Sealed { client, server, id } = request.reception.hub.seal.reopen(PURPOSE, name)?;
            let is_own = client == *request.caller.client() && request.view.shows(&server);
            is_own.then(|| (server.into(), id))
        }
    }
}

/// Answers a request about a task of any server that the surface shows.
pub(crate) async fn answer(mut request: Request) -> Answer {
    if request.caller.era == Era::Modern && !request.caller.follows_tasks() {
        return Err(undeclared());
    }
    let name = request.params.text("taskId");
    let name = name.ok_or_else(|| ErrorObject::invalid_params("a `taskId` is needed"))?;
    let (server, id) = meant(&request, &name).ok_or_else(|| unknown(&name))?;
    let hub = Arc::clone(&request.reception.hub);
    let upstream = hub.upstream(&server).ok_or_else(|| unknown(&name))?;
    request.params.set("taskId", raw(&id));
    let repeat = match request.method.as_str() {
        "tasks/get" | "tasks/result" => Repeat::Safe,
        _ => Repeat::Unsafe,
    };
    let answer = forward(&upstream, &request.method, request.params.clone(), &request.caller, repeat).await;
    let mut state = answer.map_err(|failure| failure.to_error())?;
    if request.method == "tasks/result" {
        state = hub.screen_result(state).await;
    }
    let state = Fields::parse(Some(&state)).unwrap_or_default();
    Ok(raw(&shown(&request, &server, &name, state).await))
}

/// Puts what a server says of a task into the words of the client: its name for the task, and who asks.
pub(super) async fn shown(request: &Request, server: &str, name: &str, mut state: Fields) -> Fields {
    if matches!(request.view, View::Transparent { .. }) {
        return state;
    }
    if let Some(result) = state.remove("result") {
        state.set("result", apps::publish_marks(&request.caller, result));
    }
    if state.get("taskId").is_some() {
        state.set("taskId", raw(&name));
    }
    let mut meta = state.object("_meta");
    if meta.get(RELATED).is_some() {
        meta.set(RELATED, raw(&json!({ "taskId": name })));
        state.set("_meta", raw(&meta));
    }
    if state.get("inputRequests").is_some() {
        let asked = park::worded(request, &state.object("inputRequests"), server);
        state.set("inputRequests", raw(&asked));
    }
    if let Some(result) = state.get("result") {
        let result = request.reception.hub.screen_result(result.to_owned()).await;
        state.set("result", result);
    }
    state
}

/// Says that a client has no such task.
pub(super) fn unknown(name: &str) -> ErrorObject {
    let shown: String = toolyard_core::tool::clean(name).chars().take(100).collect();
    ErrorObject::invalid_params(format!("this client has no task `{shown}`"))
}

/// Says that a client has to declare that it follows tasks.
pub(super) fn undeclared() -> ErrorObject {
    let needed = json!({ "requiredCapabilities": { "extensions": { TASKS: {} } } });
    let message = format!("the client did not declare the extension `{TASKS}`");
    ErrorObject { data: Some(raw(&needed)), ..ErrorObject::new(ErrorObject::MISSING_CAPABILITY, message) }
}

/// Returns the task that a result has begun: a session server wraps it, a modern one does not.
fn begun(result: &RawValue) -> Option<(Era, String)> {
    if !result.get().contains("\"taskId\"") {
        return None;
    }
    let fields = Fields::parse(Some(result)).ok()?;
    let is_task = fields.text("resultType").is_some_and(|kind| kind == "task");
    let plain = fields.text("taskId").filter(|_| is_task).map(|id| (Era::Modern, id));
    let begun = plain.or_else(|| Some((Era::Session, fields.object("task").text("taskId")?)));
    begun.filter(|(_, id)| id.len() <= MOST_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t27_whoever_has_most_tasks_loses_the_oldest() {
        let (tasks, server): (Tasks, Arc<str>) = (Tasks::default(), "fs".into());
        let caller = |principal: &str| {
            let mut caller = Caller::nobody();
            caller.principal = principal.into();
            caller
        };
        let (ana, ben) = (caller("ana"), caller("ben"));
        let own = |number: usize| OwnTask {
            server: Arc::clone(&server),
            id: number.to_string(),
            name: number.to_string(),
        };
        tasks.note(&server, &ana, &raw(&json!({"task": {"taskId": "hers"}})));
        for number in 0..=MOST {
            tasks.keep("ben".into(), own(number));
        }
        tasks.note(&server, &ben, &raw(&json!({"resultType": "task", "taskId": "his"})));
        let owns = |caller: &Caller, id: &str| tasks.own_name("fs", caller, id).is_some();
        assert!(owns(&ana, "hers") && owns(&ben, "his"));
        assert!(!owns(&ben, "hers") && !owns(&ben, "0"));
    }
}
