//! The web dashboard of a Toolyard hub: a JSON API over [`Hub`], history and metrics, and the page that uses it.
//!
//! It decides nothing itself. What it shows comes from the hub and from history, and what it does goes through the hub,
//! with the same confirmations as everywhere else.

#![forbid(unsafe_code)]

mod failure; //   errors, as the page reads them
mod body; //      what is asked in a request
mod protect; //   what every request must show, and every response says
mod page; //      the files of the page
mod scores; //    how well tools are documented
mod show; //      tools and steps as the page reads them
mod live; //      what happens, as it happens
mod overview; //  how everything is
mod trial; //     what a request would become
mod call; //      a tool, run from the page
mod routes; //    what was decided, and what people say about it
mod tools; //     every tool
mod servers; //   every server
mod login; //     logins at servers
mod workflows; // workflows and their runs
mod settings; //  what the configuration says
mod preview; //   what another configuration would change

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::middleware;
use axum::routing::{any, get, post};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use toolyard_history::History;
use toolyard_hub::access::Grant;
use toolyard_hub::caller::{Caller, Client};
use toolyard_hub::hub::Hub;
use toolyard_hub::jsonrpc::{Fields, raw};
use toolyard_hub::seal::digest;

use failure::ApiError;
use scores::Scores;

pub use page::is_public;

/// Live streams that are open at the same time.
const READERS: usize = 32;

/// The dashboard of one hub.
#[derive(Debug)]
pub struct Dashboard {
    hub: Arc<Hub>,
    history: History,
    closing: watch::Receiver<bool>,
}

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Shared {
    hub: Arc<Hub>,
    history: History,
    closing: watch::Receiver<bool>,
    since: Instant,
    scores: Arc<Scores>,
    readers: Arc<Semaphore>,
    previews: Semaphore,
    /// How often each server was restarted from here.
    restarts: Mutex<BTreeMap<String, u32>>,
    /// Runs of workflows and logins that go on after their request was answered; they end with the dashboard.
    background: Mutex<JoinSet<()>>,
}

impl Dashboard {
    /// Makes the dashboard of a hub; none where the hub keeps no history.
    pub fn new(hub: Arc<Hub>) -> Option<Self> {
        let history = hub.history()?.clone();
        // Without a sender it never turns true.
        Some(Self { hub, history, closing: watch::channel(false).1 })
    }

    /// The same dashboard, whose live streams end when `closing` turns true.
    pub fn until(self, closing: watch::Receiver<bool>) -> Self {
        Self { closing, ..self }
    }

    /// Returns everything under `/dashboard`. Whoever serves it checks tokens, Host and Origin;
    /// [`is_public`] says what needs no token.
    pub fn router(self) -> Router {
        let Self { hub, history, closing } = self;
        let shared = Arc::new(Shared {
            hub,
            history,
            closing,
            since: Instant::now(),
            scores: Arc::default(),
            readers: Arc::new(Semaphore::new(READERS)),
            previews: Semaphore::new(1),
            restarts: Mutex::default(),
            background: Mutex::default(),
        });
        let api = Router::new()
            .route("/overview", get(overview::show))
            .route("/live", get(live::stream))
            .route("/try", post(trial::take))
            .route("/run", post(call::take))
            .route("/routes", get(routes::list))
            .route("/routes/{id}", get(routes::show))
            .route("/feedback", post(routes::feedback))
            .route("/lessons", get(routes::lessons))
            .route("/lessons/{id}/undo", post(routes::undo))
            .route("/lessons/{id}/redo", post(routes::redo))
            .route("/sessions", get(routes::sessions))
            .route("/tools", get(tools::list))
            .route("/tools/{id}", get(tools::show))
            .route("/servers", get(servers::list))
            .route("/servers/{name}/log", get(servers::log))
            .route("/servers/{name}/restart", post(servers::restart))
            .route("/servers/{name}/login", post(login::begin))
            .route("/workflows", get(workflows::list))
            .route("/workflows/{name}/start", post(workflows::start))
            .route("/runs/{id}/resume", post(workflows::resume))
            .route("/runs/{id}/cancel", post(workflows::cancel))
            .route("/settings", get(settings::show))
            .route("/settings/preview", post(preview::take))
            .route("/", any(unknown))
            .route("/{*rest}", any(unknown));
        Router::new()
            .merge(page::router())
            .route("/dashboard/{*rest}", any(unknown))
            .nest("/dashboard/api", api)
            .layer(middleware::from_fn(protect::protect))
            .with_state(shared)
    }
}

/// Says that there is no such path.
async fn unknown() -> ApiError {
    ApiError::not_found("there is nothing at this address", "the page at /dashboard uses what there is")
}

impl Shared {
    /// Who calls tools from the page: nobody that a server could ask something.
    fn caller(&self, parts: &Parts) -> Arc<Caller> {
        // Whoever serves the page put there whom it let in.
        let grant = parts.extensions.get::<Arc<Grant>>().cloned().unwrap_or_else(Grant::owner);
        let client = Client {
            info: Some(raw(&json!({ "name": "toolyard-dashboard", "version": env!("CARGO_PKG_VERSION") }))),
            capabilities: Fields::default(),
            principal: principal(&parts.headers, &grant).into(),
            log_level: None,
        };
        // What a server tells meanwhile has no place on the page.
        let (lines, _) = tokio::sync::mpsc::channel(1);
        Arc::new(Caller::session(&client, lines, Arc::default()).granted(grant))
    }

    /// Does something that goes on after its request was answered.
    fn in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut background = self.background.lock();
        while background.try_join_next().is_some() {}
        background.spawn(work);
    }
}

/// Tells callers of tools apart by their names, or by what they authorise themselves with, as the hub does. Lessons do
/// not: whoever has the token is the person whose hub it is.
fn principal(headers: &HeaderMap, grant: &Grant) -> String {
    grant.principal().unwrap_or_else(|| match headers.get(header::AUTHORIZATION) {
        None => "local".to_owned(),
        Some(shown) => digest(&["http", &String::from_utf8_lossy(shown.as_bytes())]),
    })
}
