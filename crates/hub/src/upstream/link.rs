//! Requests and answers over one connection to one server, whatever carries them.

mod asking;
mod progress;
#[cfg(test)]
mod tests;
mod wire;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use asking::{Asking, OpenQuestion};
use progress::{Progress, Report};

pub(crate) use wire::{Outgoing, Wire};

use super::patience::{Patience, Spent, TimeLimit, Waiting};
use super::{Audience, Changes, Failure, News, Sent};
use crate::caller::{Caller, Era};
use crate::frame::{Bounds, Excess, Frame};
use crate::jsonrpc::{ErrorObject, Fields, Id, Message, notification_line, raw, request_line, response_line};

/// The version that the modern era's `_meta` names.
pub(crate) const MODERN_VERSION: &str = "2026-07-28";
/// Prefix of the `_meta` keys that belong to the protocol and not to the caller.
pub(crate) const RESERVED: &str = "io.modelcontextprotocol/";

/// What a server says while it is at a call.
const PROGRESS: &str = "notifications/progress";

/// Equal announcements that come faster than this are one.
const STORM: Duration = Duration::from_millis(50);

/// A server may still be at a request that was given up this long ago.
const GIVEN_UP: Duration = Duration::from_secs(60);
const MOST_GIVEN_UP: usize = 256;
/// Questions of one server that may be open at once: to one client, and in all.
const MOST_QUESTIONS: usize = 64;
const MOST_QUESTIONS_IN_ALL: usize = 1024;

/// What the other side said about itself.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) era: Era,
    pub(crate) version: String,
    pub(crate) capabilities: Fields,
    pub(crate) info: Option<Box<RawValue>>,
    pub(crate) instructions: Option<String>,
}

/// A connection to one server.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) server: Arc<str>,
    pub(crate) bounds: Bounds,
    pub(crate) peer: OnceLock<Peer>,
    /// Told when the server says that what it offers has changed.
    pub(crate) stale: Arc<Notify>,
    /// Told to end the connection.
    pub(crate) stop: Notify,
    pub(crate) wire: Wire,
    /// How many resources of the server are watched.
    pub(crate) watchers: AtomicUsize,
    audience: Audience,
    announced: Mutex<Option<(Changes, Instant)>>,
    asked: AtomicU64,
    pending: Mutex<HashMap<u64, Pending>>,
    questions: Mutex<JoinSet<()>>,
    /// Requests that were given up lately, each with its client.
    given_up: Mutex<VecDeque<(u64, Arc<str>, Instant)>>,
    /// The server's questions that wait for an answer, so that it can take them back.
    open_questions: Mutex<HashMap<Id, OpenQuestion>>,
    /// Told when the server has taken one of our subscriptions.
    pub(crate) acknowledged: Notify,
    closed: watch::Sender<Option<Arc<str>>>,
}

#[derive(Debug)]
struct Pending {
    reply: oneshot::Sender<Result<Box<RawValue>, Failure>>,
    caller: Arc<Caller>,
    /// It carries nothing of its client, so what a server says meanwhile is about something else.
    is_listing: bool,
    /// The caller's own token, to be put back into progress notifications.
    progress_token: Option<Box<RawValue>>,
    patience: Arc<Patience>,
    progress: Arc<Progress>,
    sent: Sent,
}

impl Link {
    pub(crate) fn new(server: Arc<str>, bounds: Bounds, wire: Wire, audience: Audience) -> Self {
        Self {
            server,
            bounds,
            wire,
            audience,
            peer: OnceLock::new(),
            stale: Arc::new(Notify::new()),
            stop: Notify::new(),
            watchers: AtomicUsize::new(0),
            announced: Mutex::new(None),
            asked: AtomicU64::new(1),
            pending: Mutex::new(HashMap::new()),
            questions: Mutex::new(JoinSet::new()),
            given_up: Mutex::default(),
            open_questions: Mutex::default(),
            acknowledged: Notify::new(),
            closed: watch::Sender::new(None),
        }
    }

    /// Sends a request and waits for its answer; dropping the future cancels it.
    pub(crate) async fn request(
        self: &Arc<Self>,
        method: &str,
        params: Fields,
        caller: &Arc<Caller>,
        limit: TimeLimit,
    ) -> Result<Box<RawValue>, Failure> {
        if let Wire::Builtin(pack) = &self.wire {
            return super::listing::builtin(pack, method, &params).await;
        }
        let id = self.asked.fetch_add(1, Ordering::Relaxed);
        let patience = Arc::new(Patience::new(limit));
        let (params, progress_token) = self.prepare(id, method, params, caller);
        let (reply, answer) = oneshot::channel();
        // What waits in the queue of a child was not sent yet.
        let sent = if matches!(self.wire, Wire::Lines(_)) { Sent::No } else { Sent::Perhaps };
        let progress = Arc::new(Progress::new());
        let pending = Pending {
            reply,
            caller: Arc::clone(caller),
            is_listing: method.ends_with("/list"),
            progress_token,
            patience: Arc::clone(&patience),
            progress: Arc::clone(&progress),
            sent,
        };
        self.pending.lock().insert(id, pending);
        // Looked at after the insertion: whoever closes the link ends what is pending after that.
        if let Some(reason) = self.closed_because() {
            self.pending.lock().remove(&id);
            return Err(self.closed_failure(reason, Sent::No));
        }
        let mut in_flight = InFlight { link: self, id, answered: false };
        let raw_params = raw(&params);
        let line = request_line(&Id::number(id), method, Some(&raw_params));
        let outcome = tokio::select! {
            outcome = self.exchange(Outgoing { line, id: Some(id) }, method, &params, answer) => outcome,
            spent = patience.ends() => Err(self.late(method, limit, spent)),
            never = progress.relay(|report| caller.notify(PROGRESS, Some(report))) => match never {},
        };
        in_flight.answered = !matches!(outcome, Err(Failure::Late { .. }));
        outcome.map_err(|failure| match self.wire.secrets() {
            Some(secrets) => failure.without(secrets),
            None => failure,
        })
    }

    fn late(&self, method: &str, limit: TimeLimit, spent: Spent) -> Failure {
        let (limit, setting) = match spent {
            Spent::Answer => (limit.answer, "limits.callMs"),
            Spent::Total => (limit.total, "limits.callTotalMs"),
            Spent::Questions => {
                return self.senseless("nobody answered its questions, and it gave up on none".to_owned());
            }
        };
        Failure::Late { server: Arc::clone(&self.server), method: method.to_owned(), limit, setting }
    }

    async fn exchange(
        self: &Arc<Self>,
        outgoing: Outgoing,
        method: &str,
        params: &Fields,
        mut answer: oneshot::Receiver<Result<Box<RawValue>, Failure>>,
    ) -> Result<Box<RawValue>, Failure> {
        let dropped = || {
            self.closed_failure(self.closed_because().unwrap_or_else(|| "it closed".into()), Sent::Perhaps)
        };
        match &self.wire {
            Wire::Lines(lines) => {
                // A queue that nobody empties any more belongs to a link that is about to close, which answers.
                let _ = lines.send(outgoing).await;
                answer.await.unwrap_or_else(|_| Err(dropped()))
            }
            Wire::Http(http) => tokio::select! {
                biased;
                answered = &mut answer => answered.unwrap_or_else(|_| Err(dropped())),
                posted = http.post(self, outgoing.line, Some((method, params)), outgoing.id) => match (posted, answer.try_recv()) {
                    (_, Ok(answered)) => answered,
                    (Err(failure), _) => Err(failure),
                    (Ok(()), Err(_)) => Err(self.closed_failure("it ended its reply without an answer".into(), Sent::Perhaps)),
                },
            },
            Wire::Sse(sse) => {
                sse.post(self, outgoing.line).await?;
                answer.await.unwrap_or_else(|_| Err(dropped()))
            }
            Wire::Builtin(_) => unreachable!("answered in `request`"),
        }
    }

    /// Sends a notification; a connection that breaks meanwhile is noticed elsewhere. A child that does not
    /// read loses it, so that nobody waits for such a child.
    pub(crate) async fn notify(self: &Arc<Self>, method: &str, params: Option<&RawValue>) {
        let line = notification_line(method, params);
        match &self.wire {
            Wire::Lines(lines) => drop(lines.try_send(Outgoing { line, id: None })),
            Wire::Http(_) | Wire::Sse(_) | Wire::Builtin(_) => self.send(line).await,
        }
    }

    async fn send(self: &Arc<Self>, line: String) {
        match &self.wire {
            Wire::Lines(lines) => {
                let _ = lines.send(Outgoing { line, id: None }).await;
            }
            Wire::Http(http) => {
                if let Err(failure) = http.post(self, line, None, None).await {
                    tracing::debug!(server = %self.server, "a message was not delivered: {failure}");
                }
            }
            Wire::Sse(sse) => {
                if let Err(failure) = sse.post(self, line).await {
                    tracing::debug!(server = %self.server, "a message was not delivered: {failure}");
                }
            }
            Wire::Builtin(_) => {}
        }
    }

    /// Puts the hub's own progress token and, for modern servers, the caller's identity into `_meta`.
    fn prepare(
        &self,
        id: u64,
        method: &str,
        mut params: Fields,
        caller: &Caller,
    ) -> (Fields, Option<Box<RawValue>>) {
        let mut meta = params.object("_meta");
        let token = meta.remove("progressToken");
        // A server that reports progress is alive, so calls always ask for it.
        if token.is_some() || method == "tools/call" {
            meta.set("progressToken", raw(&id));
        }
        match self.peer.get().map(|peer| peer.era) {
            Some(Era::Modern) => {
                meta.set("io.modelcontextprotocol/protocolVersion", raw(&MODERN_VERSION));
                meta.set("io.modelcontextprotocol/clientInfo", caller.info.clone().unwrap_or_else(own_info));
                meta.set("io.modelcontextprotocol/clientCapabilities", raw(&caller.capabilities));
            }
            Some(Era::Session) => meta.retain(|key| !key.starts_with(RESERVED)),
            None => {}
        }
        if meta.is_empty() {
            params.remove("_meta");
        } else {
            params.set("_meta", raw(&meta));
        }
        (params, token)
    }

    /// Takes one line from the server.
    pub(crate) fn receive_frame(self: &Arc<Self>, frame: Frame, scope: Option<u64>) {
        match frame {
            Frame::Line(line) => self.receive_line(&line, scope),
            Frame::Rejected { id, excess } => {
                self.reject(id.as_ref().and_then(Id::as_number).or(scope), excess)
            }
        }
    }

    fn receive_line(self: &Arc<Self>, line: &[u8], scope: Option<u64>) {
        // A few bytes that are no UTF-8 must not cost a whole listing or result.
        match Message::parse(String::from_utf8_lossy(line).as_bytes()) {
            Ok(message) => self.receive(message, scope),
            Err(err) => {
                tracing::debug!(server = %self.server, "a line from the server was ignored: {err}");
                // An answer that cannot be read is still the answer: its call need not wait for a better one.
                if let Some(id) = answered_id(line) {
                    self.settle(id, Err(self.senseless(err.to_string())));
                }
            }
        }
    }

    fn reject(&self, id: Option<u64>, excess: Excess) {
        tracing::warn!(server = %self.server, "a message from the server was not taken: {excess}");
        if let Some(id) = id {
            self.settle(id, Err(Failure::Excess { server: Arc::clone(&self.server), excess }));
        }
    }

    /// Takes one message; `scope` is the request whose own stream it came on.
    pub(crate) fn receive(self: &Arc<Self>, message: Message, scope: Option<u64>) {
        match message {
            Message::Response { id, outcome } => {
                let Some(id) = id.as_number() else { return };
                let outcome = outcome.map_err(Failure::Refused).and_then(|result| {
                    let is_object = result.get().starts_with('{');
                    if is_object {
                        Ok(result)
                    } else {
                        Err(self.senseless("its result is not an object".to_owned()))
                    }
                });
                self.settle(id, outcome);
            }
            Message::Notification { method, params } => self.hear(&method, params, scope),
            Message::Request { id, method, params } => self.asked_by_server(id, method, params, scope),
        }
    }

    /// Ends the wait for an answer.
    pub(crate) fn settle(&self, id: u64, outcome: Result<Box<RawValue>, Failure>) {
        let pending = self.pending.lock().remove(&id);
        if pending.is_none() {
            self.given_up.lock().retain(|(given_up, _, _)| *given_up != id);
        }
        if let Some(pending) = pending {
            if let Some(report) = pending.progress.rest() {
                pending.caller.notify(PROGRESS, Some(&report));
            }
            let _ = pending.reply.send(outcome);
        }
    }

    fn hear(&self, method: &str, params: Option<Box<RawValue>>, scope: Option<u64>) {
        if let Some(changes) = Changes::announced(method) {
            return self.announce(changes);
        }
        match method {
            PROGRESS => self.progress(params.as_deref()),
            "notifications/resources/updated" | "notifications/tasks" | "notifications/tasks/status" => {
                if let Some(news) = params.and_then(|it| News::of_one(&self.server, method, it)) {
                    let _ = self.audience.news.send(news);
                }
            }
            "notifications/message" => {
                if let (Some(caller), Some(params)) = (self.addressee(scope), params) {
                    caller.log(&params);
                }
            }
            // Answers the hub's own subscriptions; clients have theirs from the hub.
            "notifications/subscriptions/acknowledged" => self.acknowledged.notify_waiters(),
            "notifications/cancelled" => self.take_back(params.as_deref()),
            _ => {
                if let Some(caller) = self.addressee(scope) {
                    caller.notify(method, params.as_deref());
                }
            }
        }
    }

    /// Ends a question of the server; the client is told under the id that it knows.
    fn take_back(&self, params: Option<&RawValue>) {
        let named = Fields::parse(params).ok().and_then(|it| Id::from_json(it.get("requestId")?.get()));
        let question = named.and_then(|id| self.open_questions.lock().remove(&id));
        if let Some(OpenQuestion { asking, task, .. }) = question {
            asking.take_back(&task);
        }
    }

    fn announce(&self, changes: Changes) {
        self.stale.notify_one();
        let mut announced = self.announced.lock();
        let is_storm = announced.is_some_and(|(last, at)| last == changes && at.elapsed() < STORM);
        if !is_storm {
            *announced = Some((changes, Instant::now()));
            let _ = self.audience.news.send(News::Announced { server: Arc::clone(&self.server), changes });
        }
    }

    fn progress(&self, params: Option<&RawValue>) {
        let Ok(mut fields) = Fields::parse(params) else { return };
        let Some(id) = fields.read::<u64>("progressToken") else { return };
        let (caller, token, progress) = {
            let pending = self.pending.lock();
            let Some(pending) = pending.get(&id) else { return };
            match pending.progress.hear() {
                Report::Counts => pending.patience.renew(),
                Report::Ignored => return,
            }
            (Arc::clone(&pending.caller), pending.progress_token.clone(), Arc::clone(&pending.progress))
        };
        if let Some(token) = token {
            fields.set("progressToken", token);
            if let Some(report) = progress.pass(raw(&fields)) {
                caller.notify(PROGRESS, Some(&report));
            }
        }
    }

    /// Returns whose request a message belongs to. When several clients have requests in flight and
    /// the message does not say, nobody: one client must not see what is meant for another. A request that
    /// was given up counts for a while, because its server may still be at it; a listing counts where nothing
    /// else is in flight.
    fn addressee(&self, scope: Option<u64>) -> Option<Arc<Caller>> {
        let pending = self.pending.lock();
        if let Some(scope) = scope {
            return pending.get(&scope).map(|pending| Arc::clone(&pending.caller));
        }
        let mut given_up = self.given_up.lock();
        given_up.retain(|(_, _, since)| since.elapsed() < GIVEN_UP);
        let (listing, calling): (Vec<&Pending>, Vec<&Pending>) =
            pending.values().filter(|it| !it.caller.is_nobody()).partition(|it| it.is_listing);
        let meant = if calling.is_empty() { listing } else { calling };
        let callers: Vec<&Arc<Caller>> = meant.into_iter().map(|it| &it.caller).collect();
        // Whoever leaves a question open keeps nobody else from being asked.
        let open = self.open_questions.lock();
        let is_asked = |caller: &Caller| {
            open.values().any(|it| !it.task.is_finished() && it.identity == caller.identity)
        };
        let free: Vec<&Arc<Caller>> = callers.iter().copied().filter(|caller| !is_asked(caller)).collect();
        let candidates = if free.is_empty() { callers } else { free };
        let Some((first, others)) = candidates.split_first() else {
            return self.audience.sole.lock().clone();
        };
        let is_clear = others.iter().all(|other| other.identity == first.identity)
            && given_up.iter().all(|(_, identity, _)| *identity == first.identity);
        is_clear.then(|| Arc::clone(first))
    }

    /// Returns the clocks that stand still while a caller is asked: those of its own calls.
    fn clocks_of(&self, caller: Option<&Arc<Caller>>, scope: Option<u64>) -> Vec<Arc<Patience>> {
        let Some(caller) = caller else { return Vec::new() };
        let pending = self.pending.lock();
        let is_meant = |id: u64, it: &Pending| match scope {
            Some(scope) => scope == id,
            None => it.caller.identity == caller.identity,
        };
        pending.iter().filter(|(id, it)| is_meant(**id, it)).map(|(_, it)| Arc::clone(&it.patience)).collect()
    }

    fn asked_by_server(
        self: &Arc<Self>,
        id: Id,
        method: String,
        params: Option<Box<RawValue>>,
        scope: Option<u64>,
    ) {
        let caller = self.addressee(scope);
        let patience = self.clocks_of(caller.as_ref(), scope);
        let (link, name) = (Arc::clone(self), id.clone());
        let client: Arc<str> = caller.as_ref().map_or_else(|| "".into(), |caller| caller.client());
        let identity: Arc<str> = caller.as_ref().map_or_else(|| "".into(), |it| Arc::clone(&it.identity));
        let mut open = self.open_questions.lock();
        if open.len() >= MOST_QUESTIONS {
            open.retain(|_, question| !question.task.is_finished());
        }
        let of_client = open.values().filter(|question| question.client == client).count();
        let mut questions = self.questions.lock();
        while questions.try_join_next().is_some() {}
        if of_client >= MOST_QUESTIONS || open.len() >= MOST_QUESTIONS_IN_ALL {
            // Who asks faster than it hears the answers gets none.
            tracing::debug!(server = %self.server, "a question of the server was dropped: too many are open");
            return;
        }
        let server = Arc::clone(&self.server);
        let asking = Arc::new(Asking::new(async move {
            match (method.as_str(), caller) {
                ("ping", _) => Ok(raw(&serde_json::json!({}))),
                ("elicitation/create" | "sampling/createMessage" | "roots/list", Some(caller)) => {
                    let _waiting = Waiting::new(patience);
                    caller.ask(&server, &method, params).await
                }
                ("elicitation/create" | "sampling/createMessage" | "roots/list", None) => {
                    let message =
                        "several clients use this server now, so the question has no clear addressee";
                    Err(ErrorObject::new(ErrorObject::INTERNAL, message))
                }
                (_, _) => Err(ErrorObject::unknown_method(&method)),
            }
        }));
        let asked = Arc::clone(&asking);
        let task = questions.spawn(async move {
            let answer = asked.answer().await;
            link.send(response_line(Some(&id), &answer)).await;
        });
        open.insert(name, OpenQuestion { asking, task, client, identity });
    }

    /// Ends the connection for everybody who waits on it.
    pub(crate) fn close(&self, reason: &str) {
        let reason: Arc<str> = reason.into();
        self.closed.send_if_modified(|closed| {
            let first = closed.is_none();
            closed.get_or_insert_with(|| Arc::clone(&reason));
            first
        });
        let pending = std::mem::take(&mut *self.pending.lock());
        for (_, pending) in pending {
            let _ = pending.reply.send(Err(self.closed_failure(Arc::clone(&reason), pending.sent)));
        }
        // Nobody is left to hear the answers to its questions.
        self.questions.lock().abort_all();
    }

    /// Notes that a request is with the server, or at least beyond our reach.
    pub(crate) fn is_sent(&self, id: u64) {
        if let Some(pending) = self.pending.lock().get_mut(&id) {
            pending.sent = Sent::Perhaps;
        }
    }

    /// Waits for the end of the connection and says how it came.
    pub(crate) async fn closed(&self) -> Arc<str> {
        let mut closed = self.closed.subscribe();
        let reason = closed.wait_for(Option::is_some).await;
        reason.ok().and_then(|reason| reason.clone()).unwrap_or_else(|| "it closed".into())
    }

    pub(crate) fn closed_because(&self) -> Option<Arc<str>> {
        self.closed.borrow().clone()
    }

    /// Whether nobody waits for an answer or watches a resource. What the hub asks on its own behalf
    /// does not count: its subscription to changes lasts as long as the connection.
    pub(crate) fn is_idle(&self) -> bool {
        let pending = self.pending.lock();
        self.watchers.load(Ordering::Relaxed) == 0 && pending.values().all(|it| it.caller.is_nobody())
    }

    fn senseless(&self, what: String) -> Failure {
        Failure::Senseless { server: Arc::clone(&self.server), what }
    }

    fn closed_failure(&self, reason: Arc<str>, sent: Sent) -> Failure {
        Failure::Closed { server: Arc::clone(&self.server), reason, sent }
    }
}

/// Returns the id of a message that cannot be read but looks like an answer.
fn answered_id(line: &[u8]) -> Option<u64> {
    let is_request = line.windows(8).any(|part| part == b"\"method\"");
    (!is_request).then(|| crate::frame::id_of(line)).flatten().as_ref().and_then(Id::as_number)
}

/// The hub's own identity towards servers, when no client stands behind a request.
pub(crate) fn own_info() -> Box<RawValue> {
    raw(&serde_json::json!({ "name": "toolyard", "version": env!("CARGO_PKG_VERSION") }))
}

/// A request that is cancelled at the server when its future goes away unanswered.
struct InFlight<'a> {
    link: &'a Arc<Link>,
    id: u64,
    answered: bool,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let mut all = self.link.pending.lock();
        let pending = all.remove(&self.id);
        if self.answered || self.link.closed_because().is_some() {
            return;
        }
        if let Some(Pending { caller, .. }) = pending.filter(|it| !it.is_listing && !it.caller.is_nobody()) {
            let mut given_up = self.link.given_up.lock();
            if given_up.len() == MOST_GIVEN_UP {
                given_up.pop_front();
            }
            given_up.push_back((self.id, Arc::clone(&caller.identity), Instant::now()));
        }
        // Only now: an answer that comes finds it in one place or the other.
        drop(all);
        // For a modern HTTP server the closed response stream says it already.
        let is_modern = self.link.peer.get().is_some_and(|peer| peer.era == Era::Modern);
        if matches!(self.link.wire, Wire::Http(_)) && is_modern {
            return;
        }
        let params =
            raw(&serde_json::json!({ "requestId": self.id, "reason": "the caller no longer waits" }));
        let link = Arc::clone(self.link);
        if let Wire::Lines(lines) = &link.wire {
            let line = notification_line("notifications/cancelled", Some(&params));
            let _ = lines.try_send(Outgoing { line, id: None });
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let mut questions = self.link.questions.lock();
            questions.spawn_on(
                async move { link.notify("notifications/cancelled", Some(&params)).await },
                &runtime,
            );
        }
    }
}
