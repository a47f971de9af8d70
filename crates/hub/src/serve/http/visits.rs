//! Sessions by their id.
//!
//! The id is a seal over what the client said about itself. A hub that was restarted,
//! or that forgot an idle session, opens it again from the id alone: many clients never
//! notice that their session is gone.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::QUEUE;
use super::flow::{Broken, Lines};
use crate::caller::Client;
use crate::fair::{Holding, expendable};
use crate::hub::Hub;
use crate::jsonrpc::{Fields, raw};
use crate::serve::session::Session;
use crate::serve::{Reception, View, era};

/// How long an id can open a session again.
const LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);
/// Idle sessions are forgotten after this long; their id opens them again.
const IDLE: Duration = Duration::from_secs(30 * 60);
/// How often the store is asked whether another hub was told that a session is over.
const ASKED_AGAIN: Duration = Duration::from_secs(1);
/// Sessions in memory at once.
const MOST: usize = 10_000;
/// An introduction longer than this is not kept in the id; the session lives without it.
const INTRODUCTION_BYTES: usize = 2048;
const PURPOSE: &str = "session";
const HEADER: &str = "mcp-session-id";

/// The sessions of one HTTP server.
#[derive(Debug, Default)]
pub(crate) struct Visits {
    open: Arc<Mutex<HashMap<String, Arc<Visit>>>>,
    ended: Mutex<HashSet<String>>,
}

/// One session and the stream of what belongs to none of its requests.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) id: String,
    pub(crate) session: Arc<Session>,
    /// Streams of its requests whose connection broke.
    pub(crate) broken: Arc<Broken>,
    outgoing: Arc<Mutex<Option<mpsc::Receiver<String>>>>,
    last_used: Mutex<Instant>,
    /// When the store was last asked whether it is over.
    looked_up: Mutex<Instant>,
    /// Whose it is, as far as that is known.
    owner: String,
    relaying: JoinHandle<()>,
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.relaying.abort();
    }
}

/// What an id says.
#[derive(Serialize, Deserialize)]
struct Introduction {
    principal: String,
    info: Option<Box<RawValue>>,
    capabilities: Fields,
    view: String,
}

impl Visits {
    /// Opens a session for whoever introduces themselves.
    pub(crate) fn open(&self, reception: &Arc<Reception>, view: View, params: &Fields) -> Arc<Visit> {
        let mut client = Session::introduced(params, era::fresh_principal());
        let size = client.info.as_ref().map_or(0, |info| info.get().len());
        if size > INTRODUCTION_BYTES {
            client.info = None;
        }
        if raw(&client.capabilities).get().len() > INTRODUCTION_BYTES {
            client.capabilities = Fields::default();
        }
        let introduction = Introduction {
            principal: client.principal.to_string(),
            info: client.info.clone(),
            capabilities: client.capabilities.clone(),
            view: view.mark(),
        };
        let id = reception.hub.seal.close(PURPOSE, &introduction, LIFETIME);
        self.insert(reception, view, client, id)
    }

    fn insert(&self, reception: &Arc<Reception>, view: View, client: Client, id: String) -> Arc<Visit> {
        reception.hub.welcome(&client);
        let (lines, outgoing) = mpsc::channel(QUEUE);
        let session = Arc::new(Session::new(reception, view, client, lines));
        let relay = Arc::clone(&session);
        let (ended, visits) = (reception.hub.access().left(session.view.grant()), Arc::downgrade(&self.open));
        let named = id.clone();
        let called = Fields::parse(session.client().info.as_deref()).ok().and_then(|info| info.text("name"));
        let owner = session.view.grant().principal().or(called).unwrap_or_default();
        let visit = Arc::new(Visit {
            id: id.clone(),
            session,
            outgoing: Arc::new(Mutex::new(Some(outgoing))),
            broken: Arc::default(),
            last_used: Mutex::new(Instant::now()),
            looked_up: Mutex::new(Instant::now()),
            owner,
            relaying: tokio::spawn(async move {
                tokio::select! {
                    () = relay.relay_news() => {}
                    () = ended => {
                        relay.end();
                        // This task ends with the visit, so nothing may follow.
                        drop(visits.upgrade().and_then(|open| open.lock().remove(&named)));
                    }
                }
            }),
        });
        let mut open = self.open.lock();
        if open.len() >= MOST {
            open.retain(|_, visit| visit.idle().is_none_or(|idle| idle < IDLE));
            let expendable = expendable(open.iter().map(|(id, visit)| Holding {
                key: id,
                owner: &visit.owner,
                size: 1,
                since: visit.unused_since().map(Instant::into_std),
            }));
            let expendable = expendable.cloned();
            if let Some(expendable) = expendable.filter(|_| open.len() >= MOST) {
                open.remove(&expendable);
            }
        }
        Arc::clone(open.entry(id).or_insert(visit))
    }

    /// Finds the session that the headers name, opening it again when it was forgotten.
    pub(crate) fn find(
        &self,
        reception: &Arc<Reception>,
        view: &View,
        headers: &HeaderMap,
    ) -> Option<Arc<Visit>> {
        let id = headers.get(HEADER)?.to_str().ok()?;
        let found = self.open.lock().get(id).cloned();
        if let Some(visit) = found {
            if visit.session.view.mark() != view.mark() {
                return None;
            }
            *visit.last_used.lock() = Instant::now();
            self.look_up(&reception.hub, &visit);
            return Some(visit);
        }
        let introduction: Introduction = reception.hub.seal.reopen(PURPOSE, id)?;
        let is_ended = self.ended.lock().contains(&introduction.principal)
            || reception.hub.has_ended(number(&introduction.principal));
        if is_ended || introduction.view != view.mark() {
            return None;
        }
        let client = Client {
            info: introduction.info,
            capabilities: introduction.capabilities,
            principal: introduction.principal.into(),
            log_level: None,
        };
        Some(self.insert(reception, view.clone(), client, id.to_owned()))
    }

    /// Ends a session in a moment if another hub over the same store was told that it is over.
    fn look_up(&self, hub: &Arc<Hub>, visit: &Arc<Visit>) {
        {
            let mut looked_up = visit.looked_up.lock();
            if looked_up.elapsed() < ASKED_AGAIN {
                return;
            }
            *looked_up = Instant::now();
        }
        let (hub, visit, open) = (Arc::clone(hub), Arc::downgrade(visit), Arc::downgrade(&self.open));
        tokio::task::spawn_blocking(move || {
            let Some(visit) = visit.upgrade() else { return };
            if hub.has_ended(number(&visit.session.client().principal)) {
                drop(open.upgrade().and_then(|open| open.lock().remove(&visit.id)));
                visit.session.end();
            }
        });
    }

    /// Ends the session that the headers name.
    pub(crate) fn end(&self, reception: &Arc<Reception>, view: &View, headers: &HeaderMap) -> Option<()> {
        let id = headers.get(HEADER)?.to_str().ok()?;
        let introduction: Introduction = reception.hub.seal.reopen(PURPOSE, id)?;
        if introduction.view != view.mark() {
            return None;
        }
        let visit = self.open.lock().remove(id);
        if let Some(visit) = visit {
            visit.session.end();
        }
        let number = number(&introduction.principal);
        let was_over = reception.hub.has_ended(number);
        let is_new = {
            let mut ended = self.ended.lock();
            // Those are in the store.
            if ended.len() >= MOST {
                ended.clear();
            }
            ended.insert(introduction.principal)
        };
        if is_new && !was_over {
            reception.hub.end_session(number, LIFETIME);
        }
        (is_new && !was_over).then_some(())
    }
}

/// The number under which the store remembers that a session has ended.
fn number(principal: &str) -> u64 {
    let digest = Sha256::new_with_prefix(b"session ended").chain_update(principal).finalize();
    digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Says what is wrong with the session that a request names, or does not.
pub(crate) fn not_found(headers: &HeaderMap) -> Response {
    if headers.contains_key(HEADER) {
        return (StatusCode::NOT_FOUND, "this session is over; send `initialize` again\n").into_response();
    }
    (StatusCode::BAD_REQUEST, "the Mcp-Session-Id header is missing; send `initialize` first\n")
        .into_response()
}

impl Visit {
    /// Returns how long it was not used; `None` while a request or its stream is under way.
    fn idle(self: &Arc<Self>) -> Option<Duration> {
        self.unused_since().map(|it| it.elapsed())
    }

    fn unused_since(self: &Arc<Self>) -> Option<Instant> {
        let is_in_use = Arc::strong_count(self) > 1 || self.outgoing.lock().is_none();
        (!is_in_use).then(|| *self.last_used.lock())
    }

    /// Takes the stream, unless it is taken. It can be taken again when it is dropped.
    pub(crate) fn take_stream(&self) -> Option<Outgoing> {
        let receiver = self.outgoing.lock().take()?;
        Some(Outgoing { receiver: Some(receiver), home: Arc::clone(&self.outgoing) })
    }
}

/// A session's stream in use.
#[derive(Debug)]
pub(crate) struct Outgoing {
    receiver: Option<mpsc::Receiver<String>>,
    home: Arc<Mutex<Option<mpsc::Receiver<String>>>>,
}

impl Lines for Outgoing {
    async fn next(&mut self) -> Option<String> {
        self.receiver.as_mut()?.recv().await
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        *self.home.lock() = self.receiver.take();
    }
}
