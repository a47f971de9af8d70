//! Calls that ask something and wait for their client to come back with the answer.
//!
//! A modern client is asked by a result that ends its request; it answers with a
//! retry. A modern server keeps nothing meanwhile, so its state travels, sealed. A
//! server of the session era waits inside its call, so the call is parked here.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use toolyard_core::tool::Tool;

use super::View;
use super::answer::Request;
use crate::caller::{ANSWERING, Answer, Caller, Era, Question, labelled};
use crate::hub::{forward, wants_input};
use crate::jsonrpc::{ErrorObject, Fields, raw};
use crate::seal::digest;
use crate::upstream::Repeat;

/// Calls that wait at the same time, of one client and in all. One more takes the place of the oldest.
const MOST_OF_ONE: usize = 64;
const MOST_PARKED: usize = 1024;
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
    client: Arc<str>,
    since: Instant,
    /// Gives the call up when nobody comes back, or nobody may.
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

/// A task that ends with its owner.
#[derive(Debug)]
pub(crate) struct AbortOnDrop<T>(pub(crate) JoinHandle<T>);

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
    let number = request.reception.parked.put(request, running, question);
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
        ANSWERING,
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
pub(super) fn worded(request: &Request, requests: &Fields, server: &str) -> Fields {
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
    fn put(&self, request: &Request, running: Running, question: Asked) -> u64 {
        // Seals outlive the process, so numbers that begin anew with it would be taken for one another.
        let number = getrandom::u64().expect("the system has randomness");
        let house = Arc::downgrade(&request.reception);
        let left = request.reception.hub.access().left(&request.caller.grant);
        let _patience = AbortOnDrop(tokio::spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(ANSWERING) => {}
                () = left => {}
            }
            if let Some(house) = house.upgrade() {
                // Its own timer is dropped with it, so nothing may follow.
                drop(house.parked.take(number));
            }
        }));
        let (client, since) = (request.caller.client(), Instant::now());
        let mut calls = self.calls.lock();
        let displaced = displaced(&calls, &client).and_then(|number| calls.remove(&number));
        calls.insert(number, Waiting { running, question, client, since, _patience });
        drop(calls);
        // Dropped without the lock: a call that ends may wake others.
        drop(displaced);
        number
    }

    fn take(&self, number: u64) -> Option<Waiting> {
        self.calls.lock().remove(&number)
    }
}

/// Returns the call that makes room for one more of a client: its own oldest, or that of whoever has most.
fn displaced(calls: &HashMap<u64, Waiting>, client: &str) -> Option<u64> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for call in calls.values() {
        *counts.entry(&call.client).or_default() += 1;
    }
    let whose = if counts.get(client).is_some_and(|count| *count >= MOST_OF_ONE) {
        client
    } else if calls.len() >= MOST_PARKED {
        counts.into_iter().max_by_key(|(_, count)| *count)?.0
    } else {
        return None;
    };
    let own = calls.iter().filter(|(_, call)| *call.client == *whose);
    own.min_by_key(|(_, call)| call.since).map(|(number, _)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn waiting(client: &str, since: Instant) -> Waiting {
        Waiting {
            running: Running {
                call: AbortOnDrop(tokio::spawn(std::future::pending())),
                questions: mpsc::channel(1).1,
            },
            question: Asked { requests: Fields::default(), reply: oneshot::channel().0 },
            client: client.into(),
            since,
            _patience: AbortOnDrop(tokio::spawn(std::future::pending())),
        }
    }

    #[tokio::test]
    async fn m1_one_call_too_many_takes_the_place_of_the_oldest_of_the_same_client() {
        let start = Instant::now();
        let at = |second: usize| start + Duration::from_secs(second as u64);
        let mut calls: HashMap<u64, Waiting> = HashMap::new();
        calls.insert(1, waiting("grace", start));
        for number in 0..MOST_OF_ONE {
            assert_eq!(displaced(&calls, "ada"), None);
            calls.insert(100 + number as u64, waiting("ada", at(1 + number)));
        }
        assert_eq!(displaced(&calls, "ada"), Some(100));
        assert_eq!(displaced(&calls, "grace"), None, "another client has its own room");
    }

    #[tokio::test]
    async fn m1_when_everything_is_full_whoever_has_most_gives_one_up() {
        let start = Instant::now();
        let mut calls: HashMap<u64, Waiting> = HashMap::new();
        let mut number = 0;
        for client in 0..MOST_PARKED - 2 {
            calls.insert(number, waiting(&format!("client {client}"), start));
            number += 1;
        }
        calls.insert(number, waiting("ada", start + Duration::from_secs(1)));
        calls.insert(number + 1, waiting("ada", start + Duration::from_secs(2)));
        assert_eq!(displaced(&calls, "grace"), Some(number));
    }
}
