//! Calls that a client may repeat without a second effect: the same call with the same key gives the first answer.
//!
//! Only what reached a server counts. A call that was refused before may be made again under its key.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::watch;

use super::Reception;
use super::answer::Request;
use crate::caller::Answer;
use crate::hub::{Hub, wants_input};
use crate::jsonrpc::{ErrorObject, Fields, raw};
use crate::seal::digest;
use crate::store::Earlier;

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

/// The calls under way that have keys; whoever repeats one waits for it.
#[derive(Debug, Default)]
pub(crate) struct Underways(Mutex<HashMap<String, watch::Receiver<()>>>);

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
    let id = digest(&["once", request.caller.grant.name().unwrap_or_default(), key]);
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
        answer: None,
        _ended: ended,
    };
    match reception.hub.store.take_key(&id, &fingerprint(&request.params)) {
        Ok(Earlier::Nothing) => {}
        Ok(earlier) => return repeated(&reception.hub, earlier),
        Err(err) => {
            // Who cannot remember cannot promise.
            let what = format!("`{KEY}` cannot be honoured, so nothing was called: {err}");
            return Err(ErrorObject::new(ErrorObject::INTERNAL, what));
        }
    }
    let caller = request.caller.watched();
    place.reached = Arc::clone(&caller.reached);
    place.is_taken = true;
    request.caller = Arc::new(caller);
    let answer = call(request).await;
    match &answer {
        // The question is answered by another request, which carries on under the same key.
        Ok(result) if wants_input(result) => place.reached = Arc::default(),
        Ok(_) | Err(_) => place.answer = Some(kept(&reception.hub, &answer)),
    }
    answer
}

impl Underways {
    /// Enters a call, or returns the end of the one that is under way. Dropping what it returns ends it.
    fn enter(&self, id: &str) -> Result<watch::Sender<()>, watch::Receiver<()>> {
        match self.0.lock().entry(id.to_owned()) {
            Entry::Occupied(underway) => Err(underway.get().clone()),
            Entry::Vacant(free) => {
                let (ended, underway) = watch::channel(());
                free.insert(underway);
                Ok(ended)
            }
        }
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
    /// The answer, once there is one; within, what of it is kept.
    answer: Option<Option<String>>,
    _ended: watch::Sender<()>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.reception.underways.0.lock().remove(self.id);
        if !self.is_taken {
            return;
        }
        let store = &self.reception.hub.store;
        let noted = match (self.reached.load(Ordering::Relaxed), &self.answer) {
            (false, _) => store.give_back(self.id),
            (true, Some(answer)) => store.keep_answer(self.id, answer.as_deref()),
            (true, None) => store.cut_off(self.id),
        };
        if let Err(err) = noted {
            tracing::warn!("what became of a call with `{KEY}` could not be kept: {err}");
        }
    }
}

/// Answers a repetition.
fn repeated(hub: &Hub, earlier: Earlier) -> Answer {
    let error = |code: i64, message: &str| Err(ErrorObject::new(code, format!("`{KEY}`: {message}")));
    match earlier {
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
        Earlier::CutOff => error(
            ErrorObject::INTERNAL,
            "the first call was cut off and may or may not have been carried out; check, then take a new key",
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
fn kept(hub: &Hub, answer: &Answer) -> Option<String> {
    let kept = match answer {
        Ok(result) if result.get().len() > MOST_ANSWER_BYTES => return None,
        Ok(result) => Kept { result: Some(result.clone()), error: None },
        Err(error) => Kept { result: None, error: Some(error.clone()) },
    };
    Some(hub.seal.close(PURPOSE, &kept, KEPT))
}

/// Tells calls apart by everything but what accompanies them.
fn fingerprint(params: &Fields) -> String {
    let mut own = params.clone();
    own.remove("_meta");
    digest(&[raw(&own).get()])
}
