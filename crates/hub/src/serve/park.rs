//! Calls that ask something and wait for their client to come back with the answer.
//!
//! A modern client is asked by a result that ends its request; it answers with a
//! retry. A modern server keeps nothing meanwhile, so its state travels, sealed. A
//! server of the session era waits inside its call, so the call is parked here.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use toolyard_core::tool::Tool;

use super::answer::Request;
use super::{Reception, View};
use crate::caller::{Answer, Caller, Era, Question, labelled};
use crate::hub::{forward, wants_input};
use crate::jsonrpc::{ErrorObject, Fields, raw};
use crate::seal::digest;
use crate::upstream::Repeat;

/// Time for a person to answer.
const PATIENCE: Duration = Duration::from_secs(600);
/// Calls that wait at the same time; more are told that they cannot.
const MOST_PARKED: usize = 256;
/// Questions in one result.
const MOST_QUESTIONS: usize = 32;
const PURPOSE: &str = "request state";

/// The calls that wait.
#[derive(Debug, Default)]
pub(crate) struct Parked {
    calls: Mutex<HashMap<u64, Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    running: Running,
    question: Asked,
    /// Gives the call up when nobody comes back.
    _patience: AbortOnDrop<()>,
}

/// A question that is on its way to the client.
#[derive(Debug)]
struct Asked {
    requests: Fields,
    reply: oneshot::Sender<Answer>,
}

/// A call under way, and the questions it may put.
#[derive(Debug)]
struct Running {
    call: AbortOnDrop<Answer>,
    questions: mpsc::Receiver<Question>,
}

#[derive(Debug)]
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
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

/// Does work for a client; a modern one is asked by a result that its retry answers. The questions are
/// said to be those of `server`, where it has a name.
pub(crate) async fn exchange<W>(
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
            let Some(answer) = responses.get(KEY) else {
                return put_aside(&request, server, fingerprint, (waiting.running, waiting.question));
            };
            let _ = waiting.question.reply.send(Ok(answer.to_owned()));
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
    tokio::select! {
        answer = &mut running.call.0 => {
            let result = answer.unwrap_or_else(|err| Err(ErrorObject::new(ErrorObject::INTERNAL, err.to_string())))?;
            if !wants_input(&result) {
                return Ok(result);
            }
            let mut fields = Fields::parse(Some(&result)).unwrap_or_default();
            let theirs = fields.text("requestState");
            fields.set("requestState", raw(&sealed(request, fingerprint, State::Theirs(theirs))));
            if fields.get("inputRequests").is_some() {
                let asked = fields.object("inputRequests");
                if asked.iter().nth(MOST_QUESTIONS).is_some() {
                    let message = format!("server `{server}` asks more than {MOST_QUESTIONS} questions at once");
                    return Err(ErrorObject::new(ErrorObject::INTERNAL, message));
                }
                fields.set("inputRequests", raw(&worded(request, &asked, server)));
            }
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
            put_aside(request, server, fingerprint, (running, Asked { requests, reply: question.reply }))
        }
    }
}

/// Parks a call until its client comes back with the answer to its question.
fn put_aside(
    request: &Request,
    server: &str,
    fingerprint: String,
    (running, question): (Running, Asked),
) -> Answer {
    let requests = worded(request, &question.requests, server);
    let number = request.reception.parked.put(&request.reception, running, question)?;
    let mut result = Fields::default();
    result.set("resultType", raw(&"input_required"));
    result.set("inputRequests", raw(&requests));
    result.set("requestState", raw(&sealed(request, fingerprint, State::Parked(number))));
    Ok(raw(&result))
}

fn sealed(request: &Request, fingerprint: String, state: State) -> String {
    let principal = request.caller.principal.to_string();
    request.reception.hub.seal.close(
        PURPOSE,
        &Travelling { principal, request: fingerprint, state },
        PATIENCE,
    )
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
fn worded(request: &Request, requests: &Fields, server: &str) -> Fields {
    if matches!(request.view, View::Transparent { .. }) || server.is_empty() {
        return requests.clone();
    }
    let mut worded = Fields::default();
    for (key, request) in requests.iter() {
        let mut request = Fields::parse(Some(request)).unwrap_or_default();
        if let Some(params) = request.get("params") {
            request.set("params", labelled(params.to_owned(), server));
        }
        worded.set(key, raw(&request));
    }
    worded
}

impl Parked {
    fn put(&self, reception: &Arc<Reception>, running: Running, question: Asked) -> Result<u64, ErrorObject> {
        let mut calls = self.calls.lock();
        if calls.len() >= MOST_PARKED {
            return Err(ErrorObject::new(
                ErrorObject::INTERNAL,
                "too many calls wait for an answer; try again later",
            ));
        }
        // Seals outlive the process, so numbers that begin anew with it would be taken for one another.
        let number = getrandom::u64().expect("the system has randomness");
        let house = Arc::downgrade(reception);
        let _patience = AbortOnDrop(tokio::spawn(async move {
            tokio::time::sleep(PATIENCE).await;
            if let Some(house) = house.upgrade() {
                // Its own timer is dropped with it, so nothing may follow.
                drop(house.parked.take(number));
            }
        }));
        calls.insert(number, Waiting { running, question, _patience });
        Ok(number)
    }

    fn take(&self, number: u64) -> Option<Waiting> {
        self.calls.lock().remove(&number)
    }
}
