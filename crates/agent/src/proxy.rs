//! A model server with the hub's tools, for clients that know nothing of MCP: the endpoints of OpenAI and Ollama.
//!
//! The hub's tools are called here and told to the client afterwards. The client's own tools are handed to the client
//! and never called here. Whatever is no chat passes to the model server unchanged.

mod server; //  where the model server is, and what it speaks
mod guard; //   who may come in
mod refusal; // errors, in the form that each dialect has
mod confirm; // calls that wait for a person's word
mod chat; //    a request, whichever dialect it was written in
mod openai; //  requests and answers as OpenAI has them
mod ollama; //  requests and answers as Ollama has them
mod answer; //  one turn, as a stream of what is said
mod reply; //   that stream as a response
mod pass; //    everything else

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest, Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, post};
use axum::serve::ListenerExt;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use toolyard_hub::config::{Agent, LanguageModel};
use toolyard_hub::hub::Hub;
use url::Url;

use crate::model::{self, Dialect};
use chat::{Chat, Read};
use confirm::Confirmations;
use guard::{Guard, principal};
use refusal::Refusal;
use reply::Stamp;

pub use server::{BadServer, locate};

/// Bytes that a request may have.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// Time for a chat to come in whole.
const BODY: Duration = Duration::from_secs(30);

/// What stands between clients and a model server.
#[derive(Clone, Debug)]
pub struct Proxy {
    /// The hub whose tools there are.
    pub hub: Arc<Hub>,
    /// How models use the tools.
    pub agent: Agent,
    /// The address of the model server, without `/v1` or `/api`; [`locate`] finds it.
    pub upstream: Url,
    /// What the model server speaks.
    pub dialect: Dialect,
    /// The key that the model server wants to see.
    pub key: Option<String>,
    /// The token that clients have to show; without one only this machine is served.
    pub token: Option<String>,
}

/// What all requests share.
#[derive(Debug)]
struct Shared {
    proxy: Proxy,
    client: reqwest::Client,
    confirmations: Confirmations,
    slots: Arc<Semaphore>,
}

/// Serves clients at a listener until the future is dropped.
///
/// Without a token, an address that others can reach is refused.
pub async fn serve(listener: TcpListener, proxy: Proxy) -> io::Result<()> {
    let address = listener.local_addr()?;
    if proxy.token.is_none() && !address.ip().is_loopback() {
        let why = format!("{address} can be reached from outside, and no token protects it");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let listener = listener.tap_io(|stream| {
        if let Err(err) = stream.set_nodelay(true) {
            tracing::debug!("TCP_NODELAY could not be set: {err}");
        }
    });
    axum::serve(listener, router(proxy)).await
}

fn router(proxy: Proxy) -> Router {
    let guard = Guard::new(proxy.token.clone());
    let slots = proxy.hub.config().serve.concurrency;
    let shared = Arc::new(Shared {
        client: model::client(),
        confirmations: Confirmations::default(),
        slots: Arc::new(Semaphore::new(slots)),
        proxy,
    });
    let chat = |dialect| {
        let take = move |state, request| take(state, request, dialect);
        post(take).fallback(pass_on)
    };
    Router::new()
        .route("/v1/chat/completions", chat(Dialect::OpenAi))
        .route("/api/chat", chat(Dialect::Ollama))
        .fallback(any(pass_on))
        .layer(DefaultBodyLimit::max(MOST_BYTES))
        .layer(middleware::from_fn(move |request: Request, next: Next| {
            let verdict = guard.check(&request);
            async move {
                match verdict {
                    Ok(()) => next.run(request).await,
                    Err(refusal) => refusal.respond(dialect_of(request.uri().path())),
                }
            }
        }))
        .with_state(shared)
}

/// Tells in which form a client of a path expects errors.
fn dialect_of(path: &str) -> Dialect {
    if path.starts_with("/api/") { Dialect::Ollama } else { Dialect::OpenAi }
}

/// Takes a request that is no chat.
async fn pass_on(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let dialect = dialect_of(request.uri().path());
    pass::request(&shared, request).await.unwrap_or_else(|refusal| refusal.respond(dialect))
}

/// Takes a chat.
async fn take(State(shared): State<Arc<Shared>>, request: Request, dialect: Dialect) -> Response {
    match answer_chat(&shared, request, dialect).await {
        Ok(response) => response,
        Err(refusal) => refusal.respond(dialect),
    }
}

async fn answer_chat(shared: &Arc<Shared>, request: Request, dialect: Dialect) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let body = whole(&parts, body).await?;
    let written: Value = serde_json::from_slice(&body)
        .map_err(|err| Refusal::bad_request(format!("the body is no JSON: {err}")))?;
    let server = shared.proxy.dialect;
    // Ollama speaks the dialect of OpenAI too.
    let can_pass = dialect == server || server == Dialect::Ollama;
    let read = match dialect {
        Dialect::OpenAi => openai::read(&written, server),
        Dialect::Ollama => ollama::read(&written, server),
    };
    let chat = match read? {
        Read::Chat(chat) if chat.wants_no_tools && can_pass && !confirm::is_meant(&chat.messages) => {
            return pass::whole(shared, parts, body).await;
        }
        Read::Chat(chat) => chat,
        Read::Untouched(_) if can_pass => return pass::whole(shared, parts, body).await,
        Read::Untouched(why) => {
            let why =
                format!("{why} cannot be translated for this model server, which speaks another dialect");
            return Err(Refusal::bad_request(why));
        }
    };
    let Ok(slot) = Arc::clone(&shared.slots).try_acquire_owned() else { return Err(Refusal::busy()) };
    let model = shared.model(&chat)?;
    let stamp = Stamp::new(dialect, &chat, &model.name);
    let is_streamed = chat.is_streamed;
    let said = answer::begin(shared, *chat, (model, principal(&parts.headers)), slot);
    Ok(if is_streamed { reply::streamed(stamp, said).await } else { reply::whole(&stamp, said).await })
}

/// Reads a body to its end.
async fn whole(parts: &Parts, body: Body) -> Result<Bytes, Refusal> {
    let request = Request::from_parts(parts.clone(), body);
    match tokio::time::timeout(BODY, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(rejection)) => {
            let rejected = rejection.into_response().status();
            let refusal = if rejected == StatusCode::PAYLOAD_TOO_LARGE {
                Refusal::too_large()
            } else {
                Refusal::bad_request("the body broke off")
            };
            Err(refusal)
        }
        Err(_) => Err(Refusal::bad_request("the body did not come in time")),
    }
}

impl Shared {
    /// Returns the model that a chat is for.
    fn model(&self, chat: &Chat) -> Result<LanguageModel, Refusal> {
        let Proxy { agent, upstream, dialect, key, .. } = &self.proxy;
        let set = agent.model.as_ref();
        let name = chat.model.clone().or_else(|| set.map(|model| model.name.clone()));
        let name = name.ok_or_else(|| Refusal::bad_request("`model` is missing"))?;
        let path = match dialect {
            Dialect::OpenAi => "/v1/chat/completions",
            Dialect::Ollama => "/api/chat",
        };
        Ok(LanguageModel {
            url: server::under(upstream, path).into(),
            name,
            key: key.clone(),
            timeout: set.map_or(Agent::SILENCE, |model| model.timeout),
        })
    }

    /// Returns how a model uses tools in one chat.
    ///
    /// The client decides how much of a conversation it sends, so nothing of it is left out.
    fn agent(&self, wants_no_tools: bool) -> Agent {
        let mut agent = Agent { context_tokens: usize::MAX, ..self.proxy.agent.clone() };
        if wants_no_tools {
            agent.bounds.iterations = 0;
            agent.web_fallback = false;
        }
        agent
    }
}
