//! Tasks of a server that is passed through: clients share its connection, and each sees only its own tasks.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::value::RawValue;

use super::answer::Request;
use crate::caller::Caller;
use crate::jsonrpc::{ErrorObject, Fields, raw};

/// Tasks that are remembered; whoever has most loses the oldest.
const MOST: usize = 10_000;
const FAMILY: &str = "tasks/";

/// Whose the tasks of servers are.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<HashMap<Arc<str>, VecDeque<OwnTask>>>);

/// A server, and what it calls a task.
type OwnTask = (Arc<str>, String);

impl Tasks {
    /// Remembers whose task a result has begun, where it has.
    pub(super) fn note(&self, server: &Arc<str>, caller: &Caller, result: &RawValue) {
        if let Some(id) = begun(result) {
            self.keep(caller.client(), (Arc::clone(server), id));
        }
    }

    fn keep(&self, owner: Arc<str>, task: OwnTask) {
        let mut owners = self.0.lock();
        // A server that gives one name twice means the later task.
        owners.values_mut().for_each(|own| own.retain(|known| *known != task));
        if owners.values().map(VecDeque::len).sum::<usize>() >= MOST
            && let Some(most) = owners.values_mut().max_by_key(|own| own.len())
        {
            most.pop_front();
        }
        owners.retain(|_, own| !own.is_empty());
        owners.entry(owner).or_default().push_back(task);
    }

    fn owns(&self, server: &Arc<str>, caller: &Caller, id: &str) -> bool {
        let owners = self.0.lock();
        let own = owners.get(&caller.client());
        own.is_some_and(|own| own.iter().any(|(at, known)| at == server && known == id))
    }

    /// Says why a request is not passed on: the task that it names is another client's. What nobody began here is for
    /// the server to refuse.
    pub(super) fn refusal(&self, server: &Arc<str>, request: &Request) -> Option<ErrorObject> {
        let id = request.params.text("taskId").filter(|_| request.method.starts_with(FAMILY))?;
        let is_known = |own: &VecDeque<OwnTask>| own.iter().any(|(at, known)| at == server && *known == id);
        if self.owns(server, &request.caller, &id) || !self.0.lock().values().any(is_known) {
            return None;
        }
        let shown: String = toolyard_core::tool::clean(&id).chars().take(100).collect();
        Some(ErrorObject::invalid_params(format!("this client has no task `{shown}`")))
    }

    /// Leaves the tasks of others out of a list.
    pub(super) fn own(&self, server: &Arc<str>, caller: &Caller, listed: Box<RawValue>) -> Box<RawValue> {
        let Ok(mut fields) = Fields::parse(Some(&listed)) else { return listed };
        let tasks: Vec<Box<RawValue>> = fields.read("tasks").unwrap_or_default();
        let is_own = |task: &RawValue| {
            let id = Fields::parse(Some(task)).ok().and_then(|task| task.text("taskId"));
            id.is_some_and(|id| self.owns(server, caller, &id))
        };
        let own: Vec<&RawValue> = tasks.iter().map(|task| &**task).filter(|task| is_own(task)).collect();
        if own.len() < tasks.len() || tasks.is_empty() {
            fields.set("tasks", raw(&own));
            return raw(&fields);
        }
        listed
    }
}

/// Returns the task that a result has begun: a session server wraps it, a modern one does not.
fn begun(result: &RawValue) -> Option<String> {
    if !result.get().contains("\"taskId\"") {
        return None;
    }
    let fields = Fields::parse(Some(result)).ok()?;
    let is_task = fields.text("resultType").is_some_and(|kind| kind == "task");
    let plain = fields.text("taskId").filter(|_| is_task);
    plain.or_else(|| fields.object("task").text("taskId"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn t27_whoever_has_most_tasks_loses_the_oldest() {
        let (tasks, server): (Tasks, Arc<str>) = (Tasks::default(), "fs".into());
        let caller = |principal: &str| {
            let mut caller = Caller::nobody();
            caller.principal = principal.into();
            caller
        };
        let (ana, ben) = (caller("ana"), caller("ben"));
        tasks.note(&server, &ana, &raw(&json!({"task": {"taskId": "hers"}})));
        for number in 0..=MOST {
            tasks.keep("ben".into(), (Arc::clone(&server), number.to_string()));
        }
        tasks.note(&server, &ben, &raw(&json!({"resultType": "task", "taskId": "his"})));
        assert!(tasks.owns(&server, &ana, "hers") && tasks.owns(&server, &ben, "his"));
        assert!(!tasks.owns(&server, &ben, "hers") && !tasks.owns(&server, &ben, "0"));
    }
}
