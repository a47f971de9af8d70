//! Calls that ask something and wait for their client to come back with the answer.
//!
//! A modern client is asked by a result that ends its request; it answers with a
//! retry. A modern server keeps nothing meanwhile, so its state travels, sealed. A
//! server of the session era waits inside its call, so the call is parked here.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use toolyard_core::tool::Tool;

use super::View;
use super::answer::Request;
use crate::caller::{Answer, Caller, Era, Question};
use crate::hub::{forward, wants_input};
use crate::jsonrpc::{ErrorObject, Fields, raw};
use crate::seal::digest;
use crate::upstream::Repeat;

/// Time for a person to answer.
const PATIENCE: Duration = Duration::from_secs(600);
/// Calls that wait at the same time; more are told that they cannot.
const MOST_PARKED: usize = 256;
const PURPOSE: &str = "request state";

/// The calls that wait.
#[derive(Debug, Default)]
pub(crate) struct Parked {
    count: AtomicU64,
    calls: Mutex<HashMap<u64, Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    running: Running,
    reply: oneshot::Sender<Answer>,
    since: Instant,
}

/// A call under way, and the questions it may put.
#[derive(Debug)]
struct Running {
    call: AbortOnDrop,
    questions: mpsc::Receiver<Question>,
}

#[derive(Debug)]
struct AbortOnDrop(JoinHandle<Answer>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What travels through the client between a question and its answer.
#[derive(Debug, Serialize, Deserialize)]
struct Travelling {
    principal: String,
    request: String,
    state: State,
}

#[derive(Debug, Serialize, Deserialize)]
enum State {
    /// A modern server's own state; `None` when it gave none.
    Theirs(Option<String>),
    /// The number of a parked call.
    Parked(u64),
}

/// The one key under which a parked call asks.
const KEY: &str = "question";

/// Forwards a request whose server may ask something before it answers.
pub(crate) async fn forwarded(request: Request, server: &str, repeat: Repeat) -> Answer {
    let hub = Arc::clone(&request.reception.hub);
    let gone =
        || ErrorObject::new(ErrorObject::INTERNAL, format!("server `{server}` is no longer configured"));
    let upstream = hub.upstream(server).ok_or_else(gone)?;
    let method = request.method.clone();
    exchange(request, server, move |params, caller| async move {
        forward(&upstream, &method, params, &caller, repeat).await.map_err(|failure| failure.to_error())
    })
    .await
}

/// Calls a tool for a modern client.
pub(crate) async fn call(request: Request, tool: Tool) -> Answer {
    let (hub, server) = (Arc::clone(&request.reception.hub), Arc::clone(&tool.server));
    exchange(request, &server, move |params, caller| async move {
        hub.call(&hub.snapshot(), tool.id.as_str(), params, &caller).await
    })
    .await
}

async fn exchange<W>(
    mut request: Request,
    server: &str,
    work: impl FnOnce(Fields, Arc<Caller>) -> W,
) -> Answer
where
    W: Future<Output = Answer> + Send + 'static,
{
    if request.caller.era == Era::Session {
        let caller = Arc::clone(&request.caller);
        return work(request.params, caller).await;
    }
    let fingerprint = digest(&[&request.method, server, &salient(&request.params)]);
    let travelled = match request.params.text("requestState") {
        Some(sealed) => Some(reopened(&request, &sealed, &fingerprint)?),
        None => None,
    };
    let responses = request.params.object("inputResponses");
    let running = match travelled {
        Some(State::Parked(number)) => {
            let waiting = request.reception.parked.take(number).ok_or_else(expired)?;
            let answer = responses.get(KEY).map(ToOwned::to_owned);
            let _ = waiting
                .reply
                .send(answer.ok_or_else(|| ErrorObject::invalid_params("the question was not answered")));
            waiting.running
        }
        Some(State::Theirs(state)) => {
            match state {
                Some(state) => request.params.set("requestState", raw(&state)),
                None => drop(request.params.remove("requestState")),
            }
            begin(&request, work)
        }
        None => begin(&request, work),
    };
    settle(&request, server, fingerprint, running).await
}

fn begin<W>(request: &Request, work: impl FnOnce(Fields, Arc<Caller>) -> W) -> Running
where
    W: Future<Output = Answer> + Send + 'static,
{
    let (asking, questions) = mpsc::channel(1);
    let caller = Arc::new(request.caller.asking_through(asking));
    Running { call: AbortOnDrop(tokio::spawn(work(request.params.clone(), caller))), questions }
}

/// Waits for the answer or for a question, whichever comes first.
async fn settle(request: &Request, server: &str, fingerprint: String, mut running: Running) -> Answer {
    let travelling =
        |state| Travelling { principal: request.caller.principal.to_string(), request: fingerprint, state };
    let seal = |it: &Travelling| request.reception.hub.seal.close(PURPOSE, it, PATIENCE);
    tokio::select! {
        answer = &mut running.call.0 => {
            let result = answer.unwrap_or_else(|err| Err(ErrorObject::new(ErrorObject::INTERNAL, err.to_string())))?;
            if !wants_input(&result) {
                return Ok(result);
            }
            let mut fields = Fields::parse(Some(&result)).unwrap_or_default();
            let theirs = fields.text("requestState");
            fields.set("requestState", raw(&seal(&travelling(State::Theirs(theirs)))));
            fields.set("inputRequests", raw(&labelled(request, &fields.object("inputRequests"), server)));
            Ok(raw(&fields))
        }
        Some(question) = running.questions.recv() => {
            let mut asked = Fields::default();
            asked.set("method", raw(&question.method));
            if let Some(params) = question.params {
                asked.set("params", params);
            }
            let mut requests = Fields::default();
            requests.set(KEY, raw(&asked));
            let waiting = Waiting { running, reply: question.reply, since: Instant::now() };
            let number = request.reception.parked.put(waiting)?;
            Ok(raw(&json!({
                "resultType": "input_required",
                "inputRequests": labelled(request, &requests, server),
                "requestState": seal(&travelling(State::Parked(number))),
            })))
        }
    }
}

/// What a retry must not change.
fn salient(params: &Fields) -> String {
    let mut kept = params.clone();
    kept.retain(|key| !matches!(key, "_meta" | "inputResponses" | "requestState"));
    raw(&kept).get().to_owned()
}

fn reopened(request: &Request, sealed: &str, fingerprint: &str) -> Result<State, ErrorObject> {
    let travelling: Travelling = request.reception.hub.seal.reopen(PURPOSE, sealed).ok_or_else(expired)?;
    if travelling.principal != *request.caller.principal || travelling.request != fingerprint {
        return Err(ErrorObject::invalid_params("`requestState` belongs to another request"));
    }
    Ok(travelling.state)
}

fn expired() -> ErrorObject {
    ErrorObject::invalid_params(
        "`requestState` is not known here, or its time is over; send the request without it",
    )
}

/// Says in the text which server asks, where the client sees only the hub.
fn labelled(request: &Request, requests: &Fields, server: &str) -> Fields {
    if matches!(request.view, View::Transparent { .. }) {
        return requests.clone();
    }
    let mut labelled = Fields::default();
    for (key, request) in requests.iter() {
        let mut request = Fields::parse(Some(request)).unwrap_or_default();
        let mut params = request.object("params");
        if let Some(message) = params.text("message") {
            params.set("message", raw(&format!("[{server}] {message}")));
            request.set("params", raw(&params));
        }
        labelled.set(key, raw(&request));
    }
    labelled
}

impl Parked {
    fn put(&self, waiting: Waiting) -> Result<u64, ErrorObject> {
        let mut calls = self.calls.lock().expect("no holder panics");
        calls.retain(|_, waiting| waiting.since.elapsed() < PATIENCE);
        if calls.len() >= MOST_PARKED {
            return Err(ErrorObject::new(
                ErrorObject::INTERNAL,
                "too many calls wait for an answer; try again later",
            ));
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        calls.insert(number, waiting);
        Ok(number)
    }

    fn take(&self, number: u64) -> Option<Waiting> {
        self.calls.lock().expect("no holder panics").remove(&number)
    }
}
