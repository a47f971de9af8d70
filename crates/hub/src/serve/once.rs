//! Calls that a client may repeat without a second effect: the same call with the same key gives the first answer.
//!
//! Only what reached a server counts. A call that was refused before may be made again under its key. One that asks
//! something keeps its key: a repetition is asked the same, and the request that answers goes on with the call.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::watch;

use super::answer::Request;
use super::{Reception, View};
use crate::caller::{ANSWERING, Answer};
use crate::hub::{Hub, wants_input};
use crate::jsonrpc::{ErrorObject, Fields, raw};
use crate::seal::digest;
use crate::store::{Earlier, KeyedCall};

/// Where a request has its key, in `_meta`.
const KEY: &str = "toolyard/idempotencyKey";
/// Bytes of a key.
const MOST_KEY_BYTES: usize = 256;
/// Bytes of an answer that is kept.
const MOST_ANSWER_BYTES: usize = 64 * 1024;
/// How long an answer is kept.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// What answers are sealed for.
const PURPOSE: &str = "once";

/// The calls with keys that are not over.
#[derive(Debug, Default)]
pub(crate) struct Underways {
    /// Whoever repeats one of these waits for it.
    running: Mutex<HashMap<String, watch::Receiver<()>>>,
    /// Those that asked something and wait here for the answer.
    asked: Mutex<HashMap<String, Asked>>,
}

/// A call that asked something.
#[derive(Clone, Debug)]
struct Asked {
    /// Tells it apart from other calls.
    call: String,
    /// Whether something was sent to a server; the call has it as long as it waits.
    reached: Weak<AtomicBool>,
    question: Box<RawValue>,
}

/// An answer as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    result: Option<Box<RawValue>>,
    error: Option<ErrorObject>,
}

/// Returns the key of a request that has one.
pub(crate) fn key(params: &Fields) -> Result<Option<String>, ErrorObject> {
    let meta = params.object("_meta");
    let Some(value) = meta.get(KEY) else { return Ok(None) };
    match serde_json::from_str::<String>(value.get()) {
        Ok(key) if !key.is_empty() && key.len() <= MOST_KEY_BYTES => Ok(Some(key)),
        Ok(_) | Err(_) => {
            let what = format!("`{KEY}` must be a text of 1 to {MOST_KEY_BYTES} bytes, such as a UUID");
            Err(ErrorObject::invalid_params(what))
        }
    }
}

/// Answers a call, or a repetition of it with the answer that it got.
pub(crate) async fn answer(
    mut request: Request,
    key: &str,
    call: impl AsyncFnOnce(Request) -> Answer,
) -> Answer {
    let reception = Arc::clone(&request.reception);
    // Clients without names are one: over stdio, each process of a client would be another.
    let grant = Arc::clone(&request.caller.grant);
    let client = grant.name().unwrap_or_default();
    let id = digest(&["once", client, key]);
    let fingerprint = fingerprint(&request);
    let ended = loop {
        match reception.underways.enter(&id) {
            Ok(ended) => break ended,
            // Its end closes the channel.
            Err(mut underway) => drop(underway.changed().await),
        }
    };
    let mut place = Place {
        reception: &reception,
        id: &id,
        is_taken: false,
        reached: Arc::default(),
        outcome: None,
        _ended: ended,
    };
    let is_retry = request.params.get("requestState").is_some();
    if let Some(asked) = reception.underways.waiting(&id) {
        if asked.call != fingerprint {
            return repeated(&reception.hub, Earlier::Other);
        }
        if !is_retry {
            return Ok(asked.question);
        }
        // The call that waits goes on, and it notes there what it sends.
        place.reached = asked.reached.upgrade().unwrap_or_default();
    }
    let question = match taken(&reception.hub, KeyedCall { key: &id, client, call: &fingerprint }, is_retry) {
        Ok(question) => question,
        Err(answer) => return answer,
    };
    if question.is_some() {
        place.reached.store(true, Ordering::Relaxed);
    }
    place.is_taken = true;
    request.caller = Arc::new(request.caller.watched(Arc::clone(&place.reached)));
    let answer = call(request).await;
    place.outcome = Some(match (&answer, question) {
        (Ok(result), _) if wants_input(result) => {
            let (reached, question) = (Arc::downgrade(&place.reached), result.clone());
            reception.underways.asks(&id, Asked { call: fingerprint, reached, question });
            Outcome::Asked(sealed(&reception.hub, &answer, ANSWERING))
        }
        // An answer that was not taken leaves the question as it was.
        (Err(error), Some(question)) if error.code == ErrorObject::INVALID_PARAMS => {
            Outcome::Asked(Some(question))
        }
        (Ok(_) | Err(_), _) => Outcome::Answered(sealed(&reception.hub, &answer, KEPT)),
    });
    answer
}

/// Takes the key of a call; returns the question that the call answers, or what a repetition is answered.
fn taken(hub: &Hub, call: KeyedCall<'_>, is_retry: bool) -> Result<Option<String>, Answer> {
    // Who cannot remember cannot promise.
    let failed = |err: crate::store::Error| {
        let what = format!("`{KEY}` cannot be honoured, so nothing was called: {err}");
        Err(ErrorObject::new(ErrorObject::INTERNAL, what))
    };
    match hub.store.take_key(call).map_err(failed)? {
        Earlier::Nothing => Ok(None),
        Earlier::Asked(question) if is_retry => {
            let is_ours = hub.store.resume_key(call.key).map_err(failed)?;
            if is_ours { Ok(Some(question)) } else { Err(repeated(hub, Earlier::Underway)) }
        }
        earlier @ (Earlier::Asked(_)
        | Earlier::Underway
        | Earlier::CutOff
        | Earlier::Answered(_)
        | Earlier::Other
        | Earlier::Full) => Err(repeated(hub, earlier)),
    }
}

impl Underways {
    /// Enters a call, or returns the end of the one that is under way. Dropping what it returns ends it.
    fn enter(&self, id: &str) -> Result<watch::Sender<()>, watch::Receiver<()>> {
        match self.running.lock().entry(id.to_owned()) {
            Entry::Occupied(underway) => Err(underway.get().clone()),
            Entry::Vacant(free) => {
                let (ended, underway) = watch::channel(());
                free.insert(underway);
                Ok(ended)
            }
        }
    }

    /// Remembers a call that asked, as long as it waits here.
    fn asks(&self, id: &str, call: Asked) {
        let mut asked = self.asked.lock();
        asked.retain(|_, it| it.reached.strong_count() > 0);
        asked.insert(id.to_owned(), call);
    }

    /// Returns the call that asked and waits here.
    fn waiting(&self, id: &str) -> Option<Asked> {
        let asked = self.asked.lock();
        asked.get(id).filter(|it| it.reached.strong_count() > 0).cloned()
    }
}

/// A call under way. However it ends, its key says how.
struct Place<'a> {
    reception: &'a Reception,
    id: &'a str,
    /// Whether the key is this call's.
    is_taken: bool,
    /// Whether something was sent to a server.
    reached: Arc<AtomicBool>,
    /// How it ended, if it did.
    outcome: Option<Outcome>,
    _ended: watch::Sender<()>,
}

/// How a call ended, sealed; with nothing where that is too long to be kept.
enum Outcome {
    Answered(Option<String>),
    Asked(Option<String>),
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let store = &self.reception.hub.store;
        let noted = match (self.reached.load(Ordering::Relaxed), &self.outcome) {
            _ if !self.is_taken => Ok(()),
            (false, _) => store.give_back(self.id),
            (true, Some(Outcome::Answered(answer))) => {
                self.reception.underways.asked.lock().remove(self.id);
                store.keep_answer(self.id, answer.as_deref())
            }
            (true, Some(Outcome::Asked(Some(question)))) => store.keep_question(self.id, question),
            (true, Some(Outcome::Asked(None)) | None) => store.cut_off(self.id),
        };
        // Only now may a repetition look.
        self.reception.underways.running.lock().remove(self.id);
        if let Err(err) = noted {
            tracing::warn!("what became of a call with `{KEY}` could not be kept: {err}");
        }
    }
}

/// Answers a repetition.
fn repeated(hub: &Hub, earlier: Earlier) -> Answer {
    let error = |code: i64, message: &str| Err(ErrorObject::new(code, format!("`{KEY}`: {message}")));
    let cut_off =
        "the first call was cut off and may or may not have been carried out; check, then take a new key";
    match earlier {
        Earlier::Asked(question) => match hub.seal.reopen::<Kept>(PURPOSE, &question) {
            Some(Kept { result: Some(result), .. }) => Ok(result),
            // Nobody answered in time.
            Some(Kept { result: None, .. }) | None => error(ErrorObject::INTERNAL, cut_off),
        },
        Earlier::Answered(Some(answer)) => match hub.seal.reopen::<Kept>(PURPOSE, &answer) {
            Some(Kept { result: Some(result), .. }) => Ok(result),
            Some(Kept { error: Some(error), .. }) => Err(error),
            Some(Kept { result: None, error: None }) | None => error(
                ErrorObject::INTERNAL,
                "the call was made, and its answer cannot be read any more; take a new key to make it again",
            ),
        },
        Earlier::Answered(None) => error(
            ErrorObject::INTERNAL,
            "the call was made, and its answer was too long to be kept; take a new key to make it again",
        ),
        Earlier::CutOff => error(ErrorObject::INTERNAL, cut_off),
        Earlier::Full => error(
            ErrorObject::INTERNAL,
            "too many calls of this client are not over, so nothing was called; call without a key, or later",
        ),
        Earlier::Underway => {
            error(ErrorObject::INTERNAL, "the first call is still under way; ask again later")
        }
        Earlier::Other => {
            error(ErrorObject::INVALID_PARAMS, "another call has this key; take a new one for each call")
        }
        Earlier::Nothing => error(ErrorObject::INTERNAL, "the call was not made; make it again"),
    }
}

/// Seals an answer; nothing where it is too long to be kept.
fn sealed(hub: &Hub, answer: &Answer, lifetime: Duration) -> Option<String> {
    let kept = match answer {
        Ok(result) if result.get().len() > MOST_ANSWER_BYTES => return None,
        Ok(result) => Kept { result: Some(result.clone()), error: None },
        Err(error) => Kept { result: None, error: Some(error.clone()) },
    };
    Some(hub.seal.close(PURPOSE, &kept, lifetime))
}

/// Tells calls apart by where they were made, by what their client may do there, and by everything that they say but
/// what accompanies them and what answers a question.
fn fingerprint(request: &Request) -> String {
    let mut own = request.params.clone();
    own.retain(|key| !matches!(key, "_meta" | "requestState" | "inputResponses"));
    let place = match &request.view {
        View::Surface { servers, profile, .. } => raw(&("surface", profile, servers)),
        View::Transparent { server, .. } => raw(&("server", &**server)),
    };
    digest(&[place.get(), raw(&request.caller.grant.permissions).get(), raw(&own).get()])
}
