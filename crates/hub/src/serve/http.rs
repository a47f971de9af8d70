//! Clients over HTTP, both eras on one endpoint.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest, Path, Request as HttpRequest, State};
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router, middleware};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use super::answer::{Request, answer};
use super::{Reception, View, era};
use crate::access::Grant;
use crate::caller::{Caller, Era};
use crate::fair::{Allotment, Turn, Turns};
use crate::frame::{Bounds, excess};
use crate::jsonrpc::{ErrorObject, Fields, Id, Message, response_line};
use crate::upstream::SESSION_VERSIONS;
use crate::upstream::link::MODERN_VERSION;

pub(crate) mod connections; // which connections are open, and which makes room
mod stall; //              a client that does not read
mod listen; //             the accept loop
pub(crate) mod guard; //   who may come in
pub(crate) mod headers; // whether headers and body agree
pub(crate) mod flow; //    a stream of events, and picking it up again
pub(crate) mod reply; //   one JSON object, or a stream of events
pub(crate) mod visits; //  sessions by their id
pub mod tls; //            HTTPS with a certificate from files

use connections::{Connection, Connections, Listens};
use flow::{Final, Work};
use reply::{Form, accepted, refused, respond, resumed, stream};
use tls::Certificate;
use visits::Visits;

/// Time for a request to come in whole.
const BODY: Duration = Duration::from_secs(30);
/// Messages of one request that may wait for a client that reads slowly.
const QUEUE: usize = 256;
/// Requests of one client that may wait for others of it.
const WAITING: usize = 1024;
/// Bytes of a request or an answer that count as much as a request does.
const WEIGHT: usize = 64 * 1024;

/// A request as it came, and how it came.
struct Arrival {
    asked: Asked,
    headers: HeaderMap,
    connection: Option<Arc<Connection>>,
    /// How many turns it takes.
    weight: usize,
}

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
    pub(crate) turns: Arc<Turns>,
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
    closing: watch::Receiver<bool>,
    pages: Pages,
) -> std::io::Result<()> {
    let address = listener.local_addr()?;
    let connections = Connections::new(reception.hub.config().serve.connections);
    let certificate = reception.hub.config().serve.tls.as_ref().map(Certificate::load).transpose();
    let certificate = certificate.map_err(std::io::Error::other)?;
    let router = router(reception, address, connections.most(), closing.clone(), pages);
    let Some(certificate) = certificate else {
        return listen::listen(listener, router, connections, closing, |stream| {
            std::future::ready(Ok(stream))
        })
        .await;
    };
    tokio::select! {
        served = listen::listen(listener, router, connections, closing, |stream| certificate.accept(stream)) => served,
        () = certificate.follow() => unreachable!("the files are followed for ever"),
    }
}

pub(crate) fn router(
    reception: Arc<Reception>,
    address: SocketAddr,
    connections: usize,
    closing: watch::Receiver<bool>,
    Pages { router: pages, is_public }: Pages,
) -> Router {
    let serve = reception.hub.config().serve.clone();
    let shared = Arc::new(Shared {
        visits: Visits::default(),
        turns: Turns::new(Allotment {
            all: serve.concurrency,
            // Whoever has a connection for every request leaves some to others.
            share: serve.client_concurrency.min(serve.concurrency).min((connections / 2).max(1)),
            reserved: 0,
            waiting: WAITING,
        }),
        reception,
        closing,
    });
    let endpoint = || post(take).get(listen).delete(leave);
    let guard = Arc::new(guard::Guard::new(address, &serve, Arc::clone(shared.reception.hub.access())));
    Router::new()
        .route("/mcp", endpoint())
        .route("/mcp/{profile}", endpoint())
        .route("/metrics", get(metrics))
        .route("/health", get(|| async { "ok\n" }))
        .with_state(shared)
        .merge(pages)
        .layer(DefaultBodyLimit::max(serve.body_bytes))
        .layer(middleware::from_fn(move |request: HttpRequest, next: Next| {
            Arc::clone(&guard).let_in(request, next, is_public)
        }))
}

/// Tells Prometheus what was counted.
async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (kind, shared.reception.hub.metrics_text()).into_response()
}

/// Waits until a client may have another request under way; `Err` when too many of its requests wait.
async fn turn(
    shared: &Shared,
    (source, client): (String, String),
    weight: usize,
) -> Result<Arc<Turn>, Box<Response>> {
    if let Some(turn) = shared.turns.take(&source, &client, weight).await {
        return Ok(Arc::new(turn));
    }
    let retry = [(header::RETRY_AFTER, "1")];
    let said = "too many requests of this client wait; try again when some are answered\n";
    Err(Box::new((StatusCode::SERVICE_UNAVAILABLE, retry, said).into_response()))
}

/// Names the client whose turns a request takes, and whose connection it uses: by its grant, else by its address and,
/// within that, by what it calls itself. A header that nobody checked makes nobody another.
fn client_of(grant: &Grant, connection: Option<&Connection>, name: Option<&str>) -> (String, String) {
    let principal = grant.principal();
    if let Some(connection) = connection {
        match &principal {
            Some(principal) => connection.belongs_to(principal),
            None => connection.is_used_by(name.unwrap_or_default()),
        }
    }
    match principal {
        Some(principal) => (principal, String::new()),
        None => {
            let address = connection.map(|it| it.peer.ip().to_canonical().to_string());
            (address.unwrap_or_default(), name.unwrap_or_default().to_owned())
        }
    }
}

type Profile = Option<Path<String>>;

/// Takes one message.
async fn take(
    State(shared): State<Arc<Shared>>,
    Extension(grant): Extension<Arc<Grant>>,
    profile: Profile,
    request: HttpRequest,
) -> Response {
    let Some(view) = shared.reception.view(named(&profile), &grant) else {
        return no_profile();
    };
    if let Err(response) = headers::negotiable(request.headers()) {
        return *response;
    }
    let headers = request.headers().clone();
    let connection = request.extensions().get::<Arc<Connection>>().cloned();
    let body = match tokio::time::timeout(BODY, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => body,
        Ok(Err(rejection)) => return rejection.into_response(),
        Err(_) => return (StatusCode::REQUEST_TIMEOUT, "the body did not come in time\n").into_response(),
    };
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
            let named = headers::version(&headers);
            let is_modern =
                era::of(&method, &params) == Era::Modern || named.as_deref() == Some(MODERN_VERSION);
            // Only whole requests take a turn: who never finishes asking keeps nobody else out.
            let weight = 1 + body.len() / WEIGHT;
            let arrival = Arrival { asked: Asked { id, method, params }, headers, connection, weight };
            match named {
                _ if is_modern => modern(&shared, view, arrival).await,
                Some(version) if !SESSION_VERSIONS.contains(&version.as_str()) => {
                    refused(StatusCode::BAD_REQUEST, Some(&arrival.asked.id), era::unsupported(&version))
                }
                _ => in_session(&shared, view, arrival).await,
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

fn named(profile: &Profile) -> Option<&str> {
    profile.as_ref().map(|Path(name)| name.as_str())
}

fn no_profile() -> Response {
    let said = "there is no such profile for this client; `serve.profiles` in the configuration names those that there \
                are, and `toolyard client list` shows which of them a client may use\n";
    (StatusCode::NOT_FOUND, said).into_response()
}

async fn modern(shared: &Arc<Shared>, view: View, arrival: Arrival) -> Response {
    let Arrival { asked, headers, connection, weight } = arrival;
    if let Err(error) = headers::agree(&headers, &asked, &view, &shared.reception.hub) {
        return refused(StatusCode::BAD_REQUEST, Some(&asked.id), error);
    }
    let principal = guard::principal(&headers, view.grant());
    let client = match era::modern_client(&asked.params, &principal) {
        Ok(client) => client,
        Err(error) => return refused(StatusCode::BAD_REQUEST, Some(&asked.id), error),
    };
    // Who listens for changes does nothing most of the time.
    let is_listening = asked.method == "subscriptions/listen";
    let whose = client_of(view.grant(), connection.as_deref(), client.name().as_deref());
    let turn = match turn(shared, whose, weight).await {
        Ok(turn) => Some(turn).filter(|_| !is_listening),
        Err(refusal) => return *refusal,
    };
    shared.reception.hub.welcome(&client);
    let grant = Arc::clone(view.grant());
    let (lines, outgoing) = mpsc::channel(QUEUE);
    let caller = Arc::new(Caller::modern(&client, lines).apart(era::fresh_principal()).granted(grant));
    let Asked { id, method, params } = asked;
    let (reception, form) = (Arc::clone(&shared.reception), form(&view));
    let request = Request { reception, view, caller, id: id.clone(), method, params, watching: None };
    let running = tokio::spawn(finish(request, turn.clone()));
    // The modern era cancels by closing the stream, so the work ends with the response.
    let mut response =
        respond(Work::Cancelled(running), outgoing, shared.closing.clone(), (form, None)).await;
    if is_listening {
        response.extensions_mut().insert(Listens);
    }
    response.extensions_mut().extend(lasting(turn));
    response
}

/// The turn of a request lasts until its answer is taken.
fn lasting(turn: Option<Arc<Turn>>) -> Extensions {
    let mut extensions = Extensions::new();
    if let Some(turn) = turn {
        extensions.insert(turn);
    }
    extensions
}

async fn in_session(shared: &Arc<Shared>, view: View, arrival: Arrival) -> Response {
    let Arrival { asked, headers, connection, weight } = arrival;
    let visit = if asked.method == "initialize" {
        shared.visits.open(&shared.reception, view, &asked.params)
    } else {
        match shared.visits.find(&shared.reception, &view, &headers) {
            Some(visit) => visit,
            None => return visits::not_found(&headers),
        }
    };
    // Whoever opens a session is nobody yet.
    let principal = Some(visit.session.client().principal).filter(|_| asked.method != "initialize");
    let whose = client_of(visit.session.view.grant(), connection.as_deref(), principal.as_deref());
    let turn = match turn(shared, whose, weight).await {
        Ok(turn) => turn,
        Err(refusal) => return *refusal,
    };
    let (lines, outgoing) = mpsc::channel(QUEUE);
    let Asked { id, method, params } = asked;
    let is_opening = method == "initialize";
    let form = if is_opening { Form::Shortest } else { form(&visit.session.view) };
    let home = Some(Arc::clone(&visit.broken));
    let request = visit.session.request(id.clone(), method, params, Some(lines));
    let (kept, own_turn) = (Arc::clone(&visit), Arc::clone(&turn));
    let running = tokio::spawn(Box::pin(async move {
        // A session with a request under way is not forgotten.
        let _visit = kept;
        finish(request, Some(own_turn)).await
    }));
    visit.session.runs(id, running.abort_handle());
    // A broken connection is no cancellation here: the client says so when it wants to cancel.
    let mut response = respond(Work::Finished(running), outgoing, shared.closing.clone(), (form, home)).await;
    response.extensions_mut().extend(lasting(Some(turn)));
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

/// Answers a request and writes the answer down; a long answer takes more turns until it is taken.
async fn finish(request: Request, turn: Option<Arc<Turn>>) -> Final {
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
    let line = response_line(Some(&id), &outcome);
    if let Some(turn) = turn {
        turn.grow(line.len() / WEIGHT);
    }
    Final { status, line }
}

/// Opens the stream of what belongs to no request.
async fn listen(
    State(shared): State<Arc<Shared>>,
    Extension(grant): Extension<Arc<Grant>>,
    method: Method,
    profile: Profile,
    headers: HeaderMap,
) -> Response {
    let Some(view) = shared.reception.view(named(&profile), &grant) else {
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
async fn leave(
    State(shared): State<Arc<Shared>>,
    Extension(grant): Extension<Arc<Grant>>,
    profile: Profile,
    headers: HeaderMap,
) -> Response {
    let Some(view) = shared.reception.view(named(&profile), &grant) else {
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
