//! Clients over HTTP, both eras on one endpoint.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest, Path, Request as HttpRequest, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use axum::{Router, middleware};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use super::answer::{Request, answer};
use super::{Reception, View, era};
use crate::caller::{Caller, Era};
use crate::frame::{Bounds, excess};
use crate::jsonrpc::{ErrorObject, Fields, Id, Message, response_line};
use crate::upstream::SESSION_VERSIONS;
use crate::upstream::link::MODERN_VERSION;

pub(crate) mod guard; //   who may come in
pub(crate) mod headers; // whether headers and body agree
pub(crate) mod flow; //    a stream of events, and picking it up again
pub(crate) mod reply; //   one JSON object, or a stream of events
pub(crate) mod visits; //  sessions by their id

use flow::{Final, Work};
use reply::{Form, accepted, refused, respond, resumed, stream};
use visits::Visits;

/// Time for a request to come in whole.
const BODY: Duration = Duration::from_secs(30);
/// Messages of one request that may wait for a client that reads slowly.
const QUEUE: usize = 256;

/// A request as it came, before it is known who sends it.
pub(crate) struct Asked {
    pub(crate) id: Id,
    pub(crate) method: String,
    pub(crate) params: Fields,
}

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) reception: Arc<Reception>,
    pub(crate) visits: Visits,
    pub(crate) slots: Arc<Semaphore>,
    /// Turns true when the hub ends; open streams end with it.
    pub(crate) closing: watch::Receiver<bool>,
}

/// Pages that are served beside the endpoint, behind the same checks.
#[derive(Clone, Debug)]
pub struct Pages {
    /// The pages.
    pub router: Router,
    /// Whether a path has nothing to hide: a browser shows no token when it opens a page.
    pub is_public: fn(&str) -> bool,
}

impl Default for Pages {
    fn default() -> Self {
        Self { router: Router::new(), is_public: |_| false }
    }
}

/// Serves HTTP at a listener until `closing` turns true and the requests in flight are answered.
pub async fn serve(
    reception: Arc<Reception>,
    listener: TcpListener,
    mut closing: watch::Receiver<bool>,
    pages: Pages,
) -> std::io::Result<()> {
    let address = listener.local_addr()?;
    let router = router(reception, address, closing.clone(), pages);
    let listener = listener.tap_io(|stream| {
        if let Err(err) = stream.set_nodelay(true) {
            tracing::debug!("TCP_NODELAY could not be set: {err}");
        }
    });
    let ended = async move {
        let _ = closing.wait_for(|closing| *closing).await;
    };
    axum::serve(listener, router).with_graceful_shutdown(ended).await
}

fn router(
    reception: Arc<Reception>,
    address: SocketAddr,
    closing: watch::Receiver<bool>,
    Pages { router: pages, is_public }: Pages,
) -> Router {
    let serve = reception.hub.config().serve.clone();
    let shared = Arc::new(Shared {
        visits: Visits::default(),
        slots: Arc::new(Semaphore::new(serve.concurrency)),
        reception,
        closing,
    });
    let endpoint = || post(take).get(listen).delete(leave);
    let guard = guard::Guard::new(address, &serve);
    Router::new()
        .route("/mcp", endpoint())
        .route("/mcp/{profile}", endpoint())
        .route("/metrics", get(metrics))
        .route("/health", get(|| async { "ok\n" }))
        .with_state(shared)
        .merge(pages)
        .layer(DefaultBodyLimit::max(serve.body_bytes))
        .layer(middleware::from_fn(move |request: HttpRequest, next: Next| {
            let verdict = guard.check(&request, is_public(request.uri().path()));
            async move {
                match verdict {
                    Ok(()) => next.run(request).await,
                    Err((StatusCode::UNAUTHORIZED, why)) => {
                        (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], why)
                            .into_response()
                    }
                    Err(refusal) => refusal.into_response(),
                }
            }
        }))
}

/// Tells Prometheus what was counted.
async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (kind, shared.reception.hub.metrics_text()).into_response()
}

/// Refuses what would be too much at once, instead of slowing everything down.
fn shed() -> Response {
    let retry = [(header::RETRY_AFTER, "1")];
    (StatusCode::SERVICE_UNAVAILABLE, retry, "too many requests in flight; try again in a moment\n")
        .into_response()
}

type Profile = Option<Path<String>>;

/// Takes one message.
async fn take(State(shared): State<Arc<Shared>>, profile: Profile, request: HttpRequest) -> Response {
    let Some(view) = shared.reception.view(profile.as_ref().map(|Path(name)| name.as_str())) else {
        return no_profile();
    };
    if let Err(response) = headers::negotiable(request.headers()) {
        return *response;
    }
    let headers = request.headers().clone();
    let body = match tokio::time::timeout(BODY, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => body,
        Ok(Err(rejection)) => return rejection.into_response(),
        Err(_) => return (StatusCode::REQUEST_TIMEOUT, "the body did not come in time\n").into_response(),
    };
    // Only whole requests take a place: who never finishes asking keeps nobody else out.
    let Ok(slot) = Arc::clone(&shared.slots).try_acquire_owned() else { return shed() };
    let bounds = Bounds { bytes: usize::MAX, nesting: 127 };
    if let Some((id, excess)) = excess(&body, bounds) {
        let error = ErrorObject::new(ErrorObject::INVALID_REQUEST, excess.to_string());
        return refused(StatusCode::BAD_REQUEST, id.as_ref(), error);
    }
    let message = match Message::parse(&body) {
        Ok(message) => message,
        Err(err) => return refused(StatusCode::BAD_REQUEST, None, err.to_error()),
    };
    match message {
        Message::Request { id, method, params } => {
            let Ok(params) = Fields::parse(params.as_deref()) else {
                return refused(
                    StatusCode::BAD_REQUEST,
                    Some(&id),
                    ErrorObject::invalid_params("`params` must be an object"),
                );
            };
            let asked = Asked { id, method, params };
            let named = headers::version(&headers);
            let is_modern = era::of(&asked.method, &asked.params) == Era::Modern
                || named.as_deref() == Some(MODERN_VERSION);
            match named {
                _ if is_modern => modern(&shared, view, &headers, (asked, slot)).await,
                Some(version) if !SESSION_VERSIONS.contains(&version.as_str()) => {
                    refused(StatusCode::BAD_REQUEST, Some(&asked.id), era::unsupported(&version))
                }
                _ => in_session(&shared, view, &headers, (asked, slot)).await,
            }
        }
        _ if let Some(error) = headers::unserved(&headers) => refused(StatusCode::BAD_REQUEST, None, error),
        Message::Notification { method, params } => {
            if let Some(visit) = shared.visits.find(&shared.reception, &view, &headers) {
                visit.session.notified(&method, params.as_deref()).await;
            } else if headers::version(&headers).as_deref() != Some(MODERN_VERSION) {
                return visits::not_found(&headers);
            }
            accepted()
        }
        Message::Response { id, outcome } => match shared.visits.find(&shared.reception, &view, &headers) {
            Some(visit) => {
                visit.session.answered(&id, outcome);
                accepted()
            }
            None => visits::not_found(&headers),
        },
    }
}

fn no_profile() -> Response {
    (StatusCode::NOT_FOUND, "there is no such profile; `serve.profiles` in the configuration names them\n")
        .into_response()
}

async fn modern(
    shared: &Arc<Shared>,
    view: View,
    headers: &HeaderMap,
    (asked, slot): (Asked, OwnedSemaphorePermit),
) -> Response {
    if let Err(error) = headers::agree(headers, &asked, &view, &shared.reception.hub) {
        return refused(StatusCode::BAD_REQUEST, Some(&asked.id), error);
    }
    let client = match era::modern_client(&asked.params, &guard::principal(headers)) {
        Ok(client) => client,
        Err(error) => return refused(StatusCode::BAD_REQUEST, Some(&asked.id), error),
    };
    shared.reception.hub.welcome(&client);
    let (lines, outgoing) = mpsc::channel(QUEUE);
    let caller = Arc::new(Caller::modern(&client, lines).apart(era::fresh_principal()));
    let Asked { id, method, params } = asked;
    let (reception, form) = (Arc::clone(&shared.reception), form(&view));
    let request = Request { reception, view, caller, id: id.clone(), method, params, watching: None };
    // Who listens for changes does nothing most of the time.
    let slot = Some(slot).filter(|_| request.method != "subscriptions/listen");
    let running = tokio::spawn(finish(request, slot));
    // The modern era cancels by closing the stream, so the work ends with the response.
    respond(Work::Cancelled(running), outgoing, shared.closing.clone(), (form, None)).await
}

async fn in_session(
    shared: &Arc<Shared>,
    view: View,
    headers: &HeaderMap,
    (asked, slot): (Asked, OwnedSemaphorePermit),
) -> Response {
    let visit = if asked.method == "initialize" {
        shared.visits.open(&shared.reception, view, &asked.params)
    } else {
        match shared.visits.find(&shared.reception, &view, headers) {
            Some(visit) => visit,
            None => return visits::not_found(headers),
        }
    };
    let (lines, outgoing) = mpsc::channel(QUEUE);
    let Asked { id, method, params } = asked;
    let is_opening = method == "initialize";
    let form = if is_opening { Form::Shortest } else { form(&visit.session.view) };
    let home = Some(Arc::clone(&visit.broken));
    let request = visit.session.request(id.clone(), method, params, Some(lines));
    let running = tokio::spawn(finish(request, Some(slot)));
    visit.session.runs(id, running.abort_handle());
    // A broken connection is no cancellation here: the client says so when it wants to cancel.
    let mut response = respond(Work::Finished(running), outgoing, shared.closing.clone(), (form, home)).await;
    if is_opening && let Ok(id) = HeaderValue::from_str(&visit.id) {
        response.headers_mut().insert("mcp-session-id", id);
    }
    response
}

/// A server that is passed through may speak before it answers, so its stream is open from the start.
fn form(view: &View) -> Form {
    match view {
        View::Transparent { .. } => Form::Stream,
        View::Surface { .. } => Form::Shortest,
    }
}

/// Answers a request and writes the answer down; its place is free when that is done.
async fn finish(request: Request, _slot: Option<OwnedSemaphorePermit>) -> Final {
    let (id, era) = (request.id.clone(), request.caller.era);
    let outcome = answer(request).await;
    let status = match (&outcome, era) {
        (Err(error), Era::Modern) => match error.code {
            ErrorObject::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
            ErrorObject::MISSING_CAPABILITY
            | ErrorObject::UNSUPPORTED_VERSION
            | ErrorObject::HEADER_MISMATCH => StatusCode::BAD_REQUEST,
            _ => StatusCode::OK,
        },
        _ => StatusCode::OK,
    };
    Final { status, line: response_line(Some(&id), &outcome) }
}

/// Opens the stream of what belongs to no request.
async fn listen(
    State(shared): State<Arc<Shared>>,
    method: Method,
    profile: Profile,
    headers: HeaderMap,
) -> Response {
    let Some(view) = shared.reception.view(profile.as_ref().map(|Path(name)| name.as_str())) else {
        return no_profile();
    };
    if method != Method::GET || headers::version(&headers).as_deref() == Some(MODERN_VERSION) {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    if let Some(error) = headers::unserved(&headers) {
        return refused(StatusCode::BAD_REQUEST, None, error);
    }
    if !headers::accepts(&headers, "text/event-stream") {
        return (StatusCode::NOT_ACCEPTABLE, "this answers with text/event-stream\n").into_response();
    }
    let Some(visit) = shared.visits.find(&shared.reception, &view, &headers) else {
        return visits::not_found(&headers);
    };
    let last_event = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    if let Some(last) = last_event {
        return match visit.broken.resume(last).await {
            Some(flow) => resumed(flow, Arc::clone(&visit.broken)),
            None => {
                (StatusCode::BAD_REQUEST, "this Last-Event-ID cannot be resumed; ask again\n").into_response()
            }
        };
    }
    match visit.take_stream() {
        Some(outgoing) => stream(outgoing, shared.closing.clone()),
        None => (StatusCode::CONFLICT, "this session has its stream open already\n").into_response(),
    }
}

/// Ends a session.
async fn leave(State(shared): State<Arc<Shared>>, profile: Profile, headers: HeaderMap) -> Response {
    let Some(view) = shared.reception.view(profile.as_ref().map(|Path(name)| name.as_str())) else {
        return no_profile();
    };
    if headers::version(&headers).as_deref() == Some(MODERN_VERSION) {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    if let Some(error) = headers::unserved(&headers) {
        return refused(StatusCode::BAD_REQUEST, None, error);
    }
    match shared.visits.end(&shared.reception, &view, &headers) {
        Some(()) => StatusCode::NO_CONTENT.into_response(),
        None => visits::not_found(&headers),
    }
}
