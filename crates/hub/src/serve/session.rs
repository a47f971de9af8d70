//! One client of the session era: what it said about itself, what it waits for.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::answer::Request;
use super::subscribe::{Watching, announcements, changed, lists_follow_the_catalog};
use super::{Reception, View, era};
use crate::caller::{Answer, Caller, Client, Questions, Wording};
use crate::jsonrpc::{ErrorObject, Fields, Id, notification_line, raw};
use crate::upstream::News;

/// A session. Nothing in it is shared with another.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) reception: Arc<Reception>,
    pub(crate) view: View,
    client: Mutex<Client>,
    /// Where messages go that belong to no request.
    lines: mpsc::Sender<String>,
    questions: Arc<Questions>,
    in_flight: InFlight,
    watching: Arc<Watching>,
}

/// Requests that can be cancelled by their id. A client that uses one twice at a time cancels both.
#[derive(Debug, Default)]
pub(crate) struct InFlight(Mutex<HashMap<Id, Vec<AbortHandle>>>);

impl InFlight {
    pub(crate) fn add(&self, id: Id, handle: AbortHandle) {
        let mut requests = self.0.lock();
        requests.retain(|_, handles| {
            handles.retain(|handle| !handle.is_finished());
            !handles.is_empty()
        });
        requests.entry(id).or_default().push(handle);
    }

    /// Cancels all of them.
    fn cancel_all(&self) {
        for handle in self.0.lock().drain().flat_map(|(_, handles)| handles) {
            handle.abort();
        }
    }

    /// Cancels the request that a `notifications/cancelled` names.
    pub(crate) fn cancel(&self, params: Option<&RawValue>) {
        let named =
            Fields::parse(params).ok().and_then(|fields| Id::from_json(fields.get("requestId")?.get()));
        let handles = named.and_then(|id| self.0.lock().remove(&id));
        for handle in handles.into_iter().flatten() {
            handle.abort();
        }
    }
}

impl Session {
    pub(crate) fn new(
        reception: &Arc<Reception>,
        view: View,
        client: Client,
        lines: mpsc::Sender<String>,
    ) -> Self {
        Self {
            reception: Arc::clone(reception),
            view,
            client: Mutex::new(client),
            lines,
            questions: Arc::default(),
            in_flight: InFlight::default(),
            watching: Arc::new(Watching::new(reception)),
        }
    }

    /// Reads who opens a session from the parameters of `initialize`.
    pub(crate) fn introduced(params: &Fields, principal: Arc<str>) -> Client {
        Client {
            info: params.get("clientInfo").map(ToOwned::to_owned),
            capabilities: params.object("capabilities"),
            principal,
            log_level: None,
        }
    }

    pub(crate) fn introduce(&self, client: Client) {
        *self.client.lock() = client;
    }

    pub(crate) fn client(&self) -> Client {
        self.client.lock().clone()
    }

    /// Returns the caller of a request whose messages go to `lines`, or of none at all.
    pub(crate) fn caller(&self, lines: Option<mpsc::Sender<String>>) -> Arc<Caller> {
        let lines = lines.unwrap_or_else(|| self.lines.clone());
        let wording = match self.view {
            View::Transparent { .. } => Wording::Verbatim,
            View::Surface { .. } => Wording::Labelled,
        };
        let caller = Caller::session(&self.client(), lines, Arc::clone(&self.questions)).worded(wording);
        Arc::new(caller.granted(Arc::clone(self.view.grant())))
    }

    /// Makes a request answerable.
    pub(crate) fn request(
        &self,
        id: Id,
        method: String,
        mut params: Fields,
        lines: Option<mpsc::Sender<String>>,
    ) -> Request {
        if method == "logging/setLevel" {
            self.client.lock().log_level = params.read("level");
        }
        era::with_log_level(&mut params, &self.client());
        Request {
            reception: Arc::clone(&self.reception),
            view: self.view.clone(),
            caller: self.caller(lines),
            id,
            method,
            params,
            watching: Some(Arc::clone(&self.watching)),
        }
    }

    /// Remembers a running request so that its client can cancel it.
    pub(crate) fn runs(&self, id: Id, handle: AbortHandle) {
        self.in_flight.add(id, handle);
    }

    /// Ends everything that is under way, with its questions.
    pub(crate) fn end(&self) {
        self.in_flight.cancel_all();
    }

    /// Takes a client's answer to a question.
    pub(crate) fn answered(&self, id: &Id, answer: Answer) {
        self.questions.answer(id, answer);
    }

    /// Takes a notification from the client.
    pub(crate) async fn notified(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/cancelled" => self.in_flight.cancel(params),
            "notifications/roots/list_changed" => {
                for upstream in self.reception.hub.upstreams() {
                    if self.view.shows(&upstream.name) {
                        upstream.notify(method, params).await;
                    }
                }
            }
            _ => {}
        }
    }

    /// Tells the client what happens, until the hub ends.
    pub(crate) async fn relay_news(&self) {
        let mut news = self.reception.hub.news();
        loop {
            match news.recv().await {
                Ok(News::Resource { server, params }) => {
                    if self.watching.wants(&server, &params) {
                        self.tell("notifications/resources/updated", Some(&params));
                    }
                }
                Ok(News::Task { server, id, mut params }) => {
                    let own = self.reception.tasks.own_name(&server, &self.caller(None), &id);
                    if let Some(name) = own.filter(|_| self.view.shows(&server)) {
                        params.set("taskId", raw(&name));
                        self.tell("notifications/tasks/status", Some(&raw(&params)));
                    }
                }
                Err(RecvError::Closed) => return,
                lists => {
                    let changes = changed(lists, &self.view);
                    let tools_follow =
                        lists_follow_the_catalog(&self.reception, &self.view, &self.caller(None));
                    for (_, method) in changes.into_iter().flat_map(|it| announcements(it, tools_follow)) {
                        self.tell(method, None);
                    }
                }
            }
        }
    }

    fn tell(&self, method: &str, params: Option<&RawValue>) {
        // A client that does not read loses announcements, nothing else.
        let _ = self.lines.try_send(notification_line(method, params));
    }
}

/// The answer when there are more requests than we take at once.
pub(crate) fn busy() -> ErrorObject {
    ErrorObject::new(ErrorObject::INTERNAL, "the hub has too many requests in flight; try again in a moment")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn t27_requests_that_share_an_id_all_end_when_they_are_cancelled() {
        let (ended, cancelled) = (InFlight::default(), InFlight::default());
        for in_flight in [&ended, &cancelled] {
            let running = [(); 2].map(|()| tokio::spawn(std::future::pending::<()>()));
            for request in &running {
                in_flight.add(Id::from_json("7").unwrap(), request.abort_handle());
            }
            ended.cancel_all();
            cancelled.cancel(Some(&raw(&serde_json::json!({"requestId": 7}))));
            for request in running {
                assert!(request.await.unwrap_err().is_cancelled());
            }
        }
    }
}
