//! One request to one server, in as many rounds as its answer takes.
//!
//! A modern client that asked for nothing but this is handed every question and every task as it is. For all others
//! questions are put within the call, and tasks are waited for.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use crate::caller::{Asking, Caller, Era};
use crate::extensions::TASKS;
use crate::hub::{failed_call, wants_input};
use crate::jsonrpc::{ErrorObject, Fields, raw};
use crate::upstream::link::Link;
use crate::upstream::patience::TimeLimit;
use crate::upstream::{Failure, Repeat, Upstream};

/// Rounds of questions within one call.
const ROUNDS: usize = 16;
/// How often a task is looked at whose server says nothing about that, and the bounds of what it may say.
const USUAL_PAUSE: Duration = Duration::from_millis(500);
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Time for a server to take note that nobody waits for a task any more.
const GOODBYE: Duration = Duration::from_secs(5);

/// Sends a request on, answering a modern server's questions on behalf of a session client.
pub(crate) async fn forward(
    upstream: &Upstream,
    method: &str,
    mut params: Fields,
    caller: &Arc<Caller>,
    repeat: Repeat,
) -> Result<Box<RawValue>, Failure> {
    let is_passed_on = caller.era == Era::Modern && caller.asking == Asking::PassedOn;
    let mut caller = Arc::clone(caller);
    for _ in 0..ROUNDS {
        let result = match upstream.request(method, params.clone(), &caller, repeat).await {
            // It has done nothing yet, and will do it as a task.
            Err(Failure::Refused(error))
                if !is_passed_on && !caller.follows_tasks() && wants_tasks(&error) =>
            {
                caller = Arc::new(caller.with_tasks_followed());
                continue;
            }
            other => other?,
        };
        if is_passed_on {
            return Ok(result);
        }
        if !wants_input(&result) {
            let is_begun = method == "tools/call" && Task::modern(&result).is_some();
            return if is_begun { finished(upstream, result, &caller).await } else { Ok(result) };
        }
        let wanted = Fields::parse(Some(&result)).unwrap_or_default();
        let responses = answers(upstream, &wanted.object("inputRequests"), &caller).await?;
        params.set("inputResponses", raw(&responses));
        match wanted.get("requestState") {
            Some(state) => params.set("requestState", state.to_owned()),
            None => drop(params.remove("requestState")),
        }
    }
    let what = format!("it asked more than {ROUNDS} times within one `{method}`");
    Err(Failure::Senseless { server: Arc::clone(&upstream.name), what })
}

/// Puts a server's questions to a client.
async fn answers(upstream: &Upstream, requests: &Fields, caller: &Caller) -> Result<Fields, Failure> {
    let mut responses = Fields::default();
    for (key, request) in requests.iter() {
        let request = Fields::parse(Some(request)).unwrap_or_default();
        let method = request.text("method").unwrap_or_default();
        let answer = caller.ask(&upstream.name, &method, request.get("params").map(ToOwned::to_owned)).await;
        responses.set(key, answer.map_err(Failure::Refused)?);
    }
    Ok(responses)
}

/// Whether a server says that it does this as a task only.
fn wants_tasks(error: &ErrorObject) -> bool {
    let data = Fields::parse(error.data.as_deref()).unwrap_or_default();
    error.code == ErrorObject::MISSING_CAPABILITY
        && data.object("requiredCapabilities").object("extensions").get(TASKS).is_some()
}

/// A task of a server, as an answer tells of it.
struct Task {
    id: String,
    pause: Duration,
    /// A modern task holds its result, one of the session era is asked for it.
    era: Era,
}

impl Task {
    fn modern(result: &RawValue) -> Option<Self> {
        let fields = Self::fields(result)?;
        let is_task = fields.text("resultType").as_deref() == Some("task");
        is_task.then(|| Self::read(&fields, Era::Modern))?
    }

    fn session(result: &RawValue) -> Option<Self> {
        Self::read(&Self::fields(result)?.object("task"), Era::Session)
    }

    fn fields(result: &RawValue) -> Option<Fields> {
        // Results may be large, and tasks are rare.
        result.get().contains("\"taskId\"").then(|| Fields::parse(Some(result)).ok())?
    }

    fn read(fields: &Fields, era: Era) -> Option<Self> {
        Some(Self { id: fields.text("taskId")?, pause: pause(fields), era })
    }

    fn named(&self) -> Fields {
        let mut params = Fields::default();
        params.set("taskId", raw(&self.id));
        params
    }
}

fn pause(fields: &Fields) -> Duration {
    // The modern era writes the unit into the name.
    let said = fields.read::<u64>("pollIntervalMs").or_else(|| fields.read("pollInterval"));
    said.map_or(USUAL_PAUSE, Duration::from_millis).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
}

/// Waits for the result of the task that a call has begun, where it has; gives the task up when nobody waits any more.
pub(super) async fn finished(
    upstream: &Upstream,
    begun: Box<RawValue>,
    caller: &Arc<Caller>,
) -> Result<Box<RawValue>, Failure> {
    let Some(task) = Task::modern(&begun).or_else(|| Task::session(&begun)) else { return Ok(begun) };
    let caller = Arc::new(caller.with_tasks_followed());
    let limit = upstream.config.limits.call_total;
    let mut unfinished = Unfinished { link: upstream.running(), task: &task };
    match tokio::time::timeout(limit, follow(upstream, &task, &caller)).await {
        Ok(outcome) => {
            // One that is over needs no goodbye; of any other its server does not know that nobody waits.
            if outcome.is_ok() {
                unfinished.link = None;
            }
            outcome
        }
        Err(_) => Err(Failure::Late {
            server: Arc::clone(&upstream.name),
            method: "tools/call".to_owned(),
            limit,
            setting: "limits.callTotalMs",
        }),
    }
}

async fn follow(upstream: &Upstream, task: &Task, caller: &Arc<Caller>) -> Result<Box<RawValue>, Failure> {
    let senseless =
        |what: &str| Failure::Senseless { server: Arc::clone(&upstream.name), what: what.to_owned() };
    let (mut wait, mut answered) = (task.pause, HashSet::new());
    loop {
        tokio::time::sleep(wait).await;
        let state = upstream.request("tasks/get", task.named(), caller, Repeat::Safe).await?;
        let mut state = Fields::parse(Some(&state)).map_err(|_| senseless("its task is not an object"))?;
        wait = pause(&state);
        match (state.text("status").as_deref(), task.era) {
            (Some("working"), _) => {}
            (Some("input_required"), Era::Modern) => {
                let mut asked = state.object("inputRequests");
                asked.retain(|key| !answered.contains(key));
                if asked.is_empty() {
                    continue;
                }
                if answered.len() >= ROUNDS {
                    return Err(senseless("its task asks on and on"));
                }
                answered.extend(asked.iter().map(|(key, _)| key.to_owned()));
                let mut update = task.named();
                update.set("inputResponses", raw(&answers(upstream, &asked, caller).await?));
                upstream.request("tasks/update", update, caller, Repeat::Unsafe).await?;
            }
            // It asks while it is asked for its result, and says there how it failed.
            (Some("input_required" | "completed" | "failed" | "cancelled"), Era::Session) => {
                return upstream.request("tasks/result", task.named(), caller, Repeat::Safe).await;
            }
            (Some("completed"), Era::Modern) => {
                let result = state.remove("result").filter(|result| result.get().starts_with('{'));
                return result.ok_or_else(|| senseless("its task is completed and has no result"));
            }
            (Some("failed"), Era::Modern) => {
                let error = state.read("error");
                return Err(
                    error.map_or_else(|| senseless("its task failed without an error"), Failure::Refused)
                );
            }
            (Some("cancelled"), Era::Modern) => {
                return Ok(failed_call(&format!(
                    "server `{}` cancelled the task of this call",
                    upstream.name
                )));
            }
            (Some(_) | None, _) => return Err(senseless("its task is in no state that is known")),
        }
    }
}

/// Tells the server of a task that nobody waits for it any more, unless its link was taken.
struct Unfinished<'t> {
    link: Option<Arc<Link>>,
    task: &'t Task,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let (Some(link), Ok(runtime)) = (self.link.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let (params, nobody) = (self.task.named(), Arc::new(Caller::nobody().with_tasks_followed()));
        runtime.spawn(async move {
            let _ = link.request("tasks/cancel", params, &nobody, TimeLimit::fixed(GOODBYE)).await;
        });
    }
}
