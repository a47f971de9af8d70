//! Who asked, and how to reach them while their request runs.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use crate::access::Grant;
use crate::extensions::{self, TASKS};
use crate::jsonrpc::{ErrorObject, Fields, Id, notification_line, raw, request_line};

/// Time for a person to answer a question.
pub(crate) const ANSWERING: Duration = Duration::from_secs(600);
/// Questions that a session's client may leave unanswered.
const MOST_UNANSWERED: usize = 64;
/// Bytes of notifications that wait for a client: the more of them wait, the shorter the next must be.
const WAITING_BYTES: usize = 1024 * 1024;

/// The two shapes of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    /// Up to 2025-11-25: `initialize`, sessions, requests in both directions.
    Session,
    /// From 2026-07-28: every request stands alone; questions travel in results.
    Modern,
}

/// The answer to a question that was put to a client.
pub type Answer = Result<Box<RawValue>, ErrorObject>;

/// One client for the duration of one request.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Which shape of the protocol it speaks.
    pub era: Era,
    /// Its `clientInfo`.
    pub info: Option<Box<RawValue>>,
    /// Its capabilities.
    pub capabilities: Fields,
    /// What its sealed state belongs to.
    pub principal: Arc<str>,
    /// Tells clients apart: what belongs to one is never shown to another.
    pub identity: Arc<str>,
    /// The lowest level of log messages that it wants.
    pub log_level: Option<Level>,
    /// How questions are put to it.
    pub wording: Wording,
    /// Where a modern server's questions are answered.
    pub(crate) asking: Asking,
    /// Whether a call was sent to a server for it.
    pub(crate) reached: Arc<AtomicBool>,
    /// What it may do.
    pub(crate) grant: Arc<Grant>,
    outlet: Outlet,
}

/// Where a modern server's questions are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asking {
    /// By the client's next request, where it is modern, too.
    PassedOn,
    /// Within the call, because there is more to it than this server.
    Within,
}

/// How a server's questions are put to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wording {
    /// As the server put them.
    Verbatim,
    /// With the name of the server that asks, because the client sees only the hub.
    Labelled,
}

#[derive(Clone, Debug)]
enum Outlet {
    /// Nobody listens: the command line, a listing of our own.
    Nowhere,
    /// Notifications and questions are lines to the client; answers come back through `questions`.
    Lines { lines: mpsc::Sender<String>, questions: Arc<Questions> },
    /// Notifications are lines; a question ends the request and waits for its retry.
    Parked { lines: mpsc::Sender<String>, questions: Option<mpsc::Sender<Question>> },
}

/// A question from an upstream that waits for its answer.
#[derive(Debug)]
pub struct Question {
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// Its parameters.
    pub params: Option<Box<RawValue>>,
    /// Takes the answer.
    pub reply: oneshot::Sender<Answer>,
}

impl Caller {
    /// A caller that can be told and asked nothing. For it a server lists what clients of every kind may use.
    pub fn nobody() -> Self {
        let mut capabilities = Fields::default();
        capabilities.set("extensions", raw(&extensions::of_client()));
        Self {
            era: Era::Session,
            info: None,
            capabilities,
            principal: "".into(),
            identity: "".into(),
            log_level: None,
            wording: Wording::Verbatim,
            asking: Asking::PassedOn,
            reached: Arc::default(),
            grant: Grant::owner(),
            outlet: Outlet::Nowhere,
        }
    }

    /// A caller whose client takes requests and notifications as lines.
    pub fn session(known: &Client, lines: mpsc::Sender<String>, questions: Arc<Questions>) -> Self {
        Self::new(Era::Session, known, Outlet::Lines { lines, questions })
    }

    /// A caller whose questions are answered by a retry of the request.
    pub fn modern(known: &Client, lines: mpsc::Sender<String>) -> Self {
        Self::new(Era::Modern, known, Outlet::Parked { lines, questions: None })
    }

    /// The same caller, told apart from all others: requests that show the same token may come from
    /// different people.
    pub fn apart(self, identity: Arc<str>) -> Self {
        Self { identity, ..self }
    }

    /// The same caller, its questions going to `questions`.
    pub fn asking_through(&self, questions: mpsc::Sender<Question>) -> Self {
        let outlet = match &self.outlet {
            Outlet::Nowhere => Outlet::Nowhere,
            Outlet::Lines { lines, .. } | Outlet::Parked { lines, .. } => {
                Outlet::Parked { lines: lines.clone(), questions: Some(questions) }
            }
        };
        Self { outlet, ..self.clone() }
    }

    /// The same caller, a modern server's questions being answered within the call.
    pub(crate) fn asked_within(self) -> Self {
        Self { asking: Asking::Within, ..self }
    }

    /// The same caller, it being noted whether something is sent for it.
    pub(crate) fn watched(&self, reached: Arc<AtomicBool>) -> Self {
        Self { reached, ..self.clone() }
    }

    /// The same caller, who may do this.
    pub fn granted(self, grant: Arc<Grant>) -> Self {
        Self { grant, ..self }
    }

    /// The same caller, asked in these words.
    pub fn worded(self, wording: Wording) -> Self {
        Self { wording, ..self }
    }

    /// Names the client in whose share the request falls. Modern clients that show nothing are told apart by
    /// what they call themselves.
    pub(crate) fn client(&self) -> Arc<str> {
        if let Some(principal) = self.grant.principal() {
            return principal.into();
        }
        let name = match self.era {
            Era::Session => None,
            Era::Modern => Fields::parse(self.info.as_deref()).ok().and_then(|info| info.text("name")),
        };
        name.map_or_else(|| Arc::clone(&self.principal), |name| format!("{} {name}", self.principal).into())
    }

    /// Names the client whose room what is kept for it takes: by its grant, else by what it calls itself, however many
    /// sessions it opens.
    pub(crate) fn owner(&self) -> String {
        let called = || Fields::parse(self.info.as_deref()).ok().and_then(|info| info.text("name"));
        self.grant.principal().or_else(called).unwrap_or_default()
    }

    /// Whether there is nobody behind the request.
    pub fn is_nobody(&self) -> bool {
        matches!(self.outlet, Outlet::Nowhere)
    }

    fn new(era: Era, known: &Client, outlet: Outlet) -> Self {
        Self {
            era,
            info: known.info.clone(),
            capabilities: known.capabilities.clone(),
            principal: Arc::clone(&known.principal),
            identity: Arc::clone(&known.principal),
            log_level: known.log_level,
            wording: Wording::Verbatim,
            asking: Asking::PassedOn,
            reached: Arc::default(),
            grant: Grant::owner(),
            outlet,
        }
    }

    /// Whether the client declared a capability.
    pub fn can(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some_and(|value| value.get() != "null")
    }

    /// Whether the client takes a task for the answer to a modern call.
    pub(crate) fn follows_tasks(&self) -> bool {
        self.capabilities.object("extensions").get(TASKS).is_some_and(|value| value.get() != "null")
    }

    /// The same caller, whose tasks the hub follows.
    pub(crate) fn with_tasks_followed(&self) -> Self {
        let mut caller = self.clone();
        let mut extensions = caller.capabilities.object("extensions");
        extensions.set(TASKS, raw(&Fields::default()));
        caller.capabilities.set("extensions", raw(&extensions));
        caller
    }

    /// Passes a notification on. A client that does not read loses notifications, nothing else.
    pub fn notify(&self, method: &str, params: Option<&RawValue>) {
        let (Outlet::Lines { lines, .. } | Outlet::Parked { lines, .. }) = &self.outlet else { return };
        let line = notification_line(method, params);
        let waiting = lines.max_capacity() - lines.capacity();
        if line.len().saturating_mul(waiting) > WAITING_BYTES || lines.try_send(line).is_err() {
            tracing::debug!(method, "a notification was dropped: the client does not keep up");
        }
    }

    /// Passes a log message on, if the client wants messages of its level.
    pub fn log(&self, params: &RawValue) {
        let level = Fields::parse(Some(params)).ok().and_then(|fields| fields.read::<Level>("level"));
        let is_wanted = match (self.era, self.log_level) {
            // The modern era logs only for requests that ask for it.
            (Era::Modern, None) => false,
            (Era::Session, None) => true,
            (_, Some(lowest)) => level.is_none_or(|level| level >= lowest),
        };
        if is_wanted {
            self.notify("notifications/message", Some(params));
        }
    }

    /// Puts a server's question to the client and waits for its answer; dropping the future takes it back.
    pub async fn ask(&self, server: &str, method: &str, params: Option<Box<RawValue>>) -> Answer {
        let params = match self.wording {
            Wording::Verbatim => params,
            Wording::Labelled => params.map(|params| labelled(params, server)),
        };
        let capability = method.split('/').next().unwrap_or(method);
        if !self.can(capability) {
            let message = format!("the client does not support `{capability}`");
            return Err(ErrorObject::new(ErrorObject::METHOD_NOT_FOUND, message));
        }
        let gone = || ErrorObject::new(ErrorObject::INTERNAL, "the client went away before it answered");
        match &self.outlet {
            Outlet::Nowhere | Outlet::Parked { questions: None, .. } => {
                Err(ErrorObject::unknown_method(method))
            }
            Outlet::Lines { lines, questions } => {
                let Some((id, open)) = questions.open(lines.clone()) else {
                    let message = format!("the client has left {MOST_UNANSWERED} questions unanswered");
                    return Err(ErrorObject::new(ErrorObject::INTERNAL, message));
                };
                let asked = async {
                    lines.send(request_line(&id, method, params.as_deref())).await.map_err(|_| gone())?;
                    open.answer().await.unwrap_or_else(|| Err(gone()))
                };
                tokio::select! {
                    biased;
                    answer = asked => answer,
                    // Whoever would have been asked has left.
                    () = lines.closed() => Err(gone()),
                    () = tokio::time::sleep(ANSWERING) => {
                        let message = format!("nobody answered within {} minutes", ANSWERING.as_secs() / 60);
                        Err(ErrorObject::new(ErrorObject::INTERNAL, message))
                    }
                }
            }
            Outlet::Parked { questions: Some(questions), .. } => {
                let (reply, answer) = oneshot::channel();
                let question = Question { method: method.to_owned(), params, reply };
                questions.send(question).await.map_err(|_| gone())?;
                answer.await.unwrap_or_else(|_| Err(gone()))
            }
        }
    }
}

/// How grave a log message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the protocol's")]
pub enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// What is known of a client: from `initialize`, or from the request itself.
#[derive(Clone, Debug)]
pub struct Client {
    /// Its `clientInfo`.
    pub info: Option<Box<RawValue>>,
    /// Its capabilities.
    pub capabilities: Fields,
    /// Tells clients apart.
    pub principal: Arc<str>,
    /// The lowest level of log messages that it wants.
    pub log_level: Option<Level>,
}

impl Client {
    /// Returns the name in its `clientInfo`.
    pub fn name(&self) -> Option<String> {
        Fields::parse(self.info.as_deref()).ok()?.text("name")
    }
}

/// The questions that a session's client has not answered yet.
#[derive(Debug, Default)]
pub struct Questions {
    asked: AtomicU64,
    open: Mutex<HashMap<Id, oneshot::Sender<Answer>>>,
}

impl Questions {
    /// Takes a client's response to a question.
    pub fn answer(&self, id: &Id, answer: Answer) {
        let waiting = self.open.lock().remove(id);
        if let Some(waiting) = waiting {
            let _ = waiting.send(answer);
        }
    }

    fn open(self: &Arc<Self>, lines: mpsc::Sender<String>) -> Option<(Id, Open)> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let id = Id::from_json(raw(&format!("hub-{number}")).get()).expect("a string is an id");
        let (reply, answer) = oneshot::channel();
        let mut open = self.open.lock();
        if open.len() >= MOST_UNANSWERED {
            return None;
        }
        open.insert(id.clone(), reply);
        Some((id.clone(), Open { questions: Arc::clone(self), lines, id, answer: Some(answer) }))
    }
}

/// A question that is taken back when nobody waits for its answer any more.
struct Open {
    questions: Arc<Questions>,
    lines: mpsc::Sender<String>,
    id: Id,
    answer: Option<oneshot::Receiver<Answer>>,
}

impl Open {
    async fn answer(mut self) -> Option<Answer> {
        self.answer.take()?.await.ok()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let unanswered = self.questions.open.lock().remove(&self.id);
        if unanswered.is_some() {
            let id = RawValue::from_string(self.id.as_json().to_owned()).unwrap_or_else(|_| raw(&()));
            let params = raw(&serde_json::json!({ "requestId": id }));
            let _ = self.lines.try_send(notification_line("notifications/cancelled", Some(&params)));
        }
    }
}

/// Says in the text of a question which server asks.
pub(crate) fn labelled(params: Box<RawValue>, server: &str) -> Box<RawValue> {
    let Ok(mut fields) = Fields::parse(Some(&params)) else { return params };
    match fields.text("message") {
        Some(message) => {
            fields.set("message", raw(&format!("[{server}] {message}")));
            raw(&fields)
        }
        None => params,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(room: usize) -> (Caller, mpsc::Receiver<String>, Arc<Questions>) {
        let mut capabilities = Fields::default();
        capabilities.set("elicitation", raw(&serde_json::json!({})));
        let client = Client { info: None, capabilities, principal: "ann".into(), log_level: None };
        let ((lines, queue), questions) = (mpsc::channel(room), Arc::<Questions>::default());
        (Caller::session(&client, lines, Arc::clone(&questions)), queue, questions)
    }

    #[tokio::test(start_paused = true)]
    async fn m1_a_question_that_nobody_answers_expires_and_is_taken_back() {
        let (caller, mut queue, questions) = caller(10);
        let answer = caller.ask("fs", "elicitation/create", None).await;
        assert_eq!(answer.unwrap_err().message, "nobody answered within 10 minutes");
        assert!(queue.recv().await.unwrap().contains("elicitation/create"));
        assert!(queue.recv().await.unwrap().contains("notifications/cancelled"));
        assert!(questions.open.lock().is_empty());
    }

    #[tokio::test]
    async fn m1_a_question_to_somebody_who_left_is_over_at_once() {
        let (caller, queue, questions) = caller(10);
        let asking = tokio::spawn(async move { caller.ask("fs", "elicitation/create", None).await });
        tokio::task::yield_now().await;
        assert_eq!(questions.open.lock().len(), 1);
        drop(queue);
        assert!(asking.await.unwrap().unwrap_err().message.contains("went away"));
        assert!(questions.open.lock().is_empty());
    }

    #[tokio::test]
    async fn m1_a_client_leaves_only_so_many_questions_unanswered() {
        let (caller, _queue, _questions) = caller(1000);
        let caller = Arc::new(caller);
        let mut asking = Vec::new();
        for _ in 0..MOST_UNANSWERED {
            let caller = Arc::clone(&caller);
            asking.push(tokio::spawn(async move { caller.ask("fs", "elicitation/create", None).await }));
            tokio::task::yield_now().await;
        }
        let refused = caller.ask("fs", "elicitation/create", None).await.unwrap_err();
        assert_eq!(refused.message, "the client has left 64 questions unanswered");
        asking.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[tokio::test]
    async fn m2_notifications_that_nobody_reads_are_bounded_in_bytes() {
        let (caller, mut queue, _questions) = caller(256);
        let long = raw(&"x".repeat(WAITING_BYTES / 2));
        for _ in 0..256 {
            caller.notify("notifications/message", Some(&long));
        }
        let mut bytes = 0;
        while let Ok(line) = queue.try_recv() {
            bytes += line.len();
        }
        assert!((WAITING_BYTES / 2..2 * WAITING_BYTES).contains(&bytes), "{bytes}");
    }
}
