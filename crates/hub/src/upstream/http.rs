//! A server behind streamable HTTP, of either era.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use parking_lot::Mutex;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use url::Url;

use super::link::{Link, MODERN_VERSION};
use super::mirror::{self, Mirrored};
use super::sse::Events;
use super::{Failure, Sent};
use crate::frame::{Frame, excess};
use crate::jsonrpc::{Fields, Message};
use crate::oauth::Authority;
use crate::secrets::Secrets;

/// Bytes of an error page that are shown.
const SHOWN: usize = 300;
/// Events that may come before the answer to a request, and how many messages' bytes they may have.
const MOST_EVENTS: usize = 200_000;
const MOST_MESSAGES: usize = 4;
/// Bytes of an error page in which secrets are looked for before it is cut.
const LOOKED_AT: usize = 64 * 1024;

/// Where requests go, and what proves that we may send them.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) client: Client,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) authority: Option<Authority>,
    /// What the server is told and must not repeat to others.
    pub(crate) secrets: Secrets,
}

impl Endpoint {
    /// Sends a request; a 401 renews the token once.
    pub(crate) async fn send(
        &self,
        server: &str,
        request: impl Fn(&Client) -> RequestBuilder,
    ) -> Result<Response, Failure> {
        let mut token = match &self.authority {
            Some(authority) => authority.bearer().await,
            None => None,
        };
        let mut renewed = false;
        loop {
            let mut builder = request(&self.client).headers(self.headers.clone());
            if let Some(token) = &token {
                self.secrets.add_token(token);
                builder = builder.bearer_auth(token);
            }
            let response = builder.send().await.map_err(|err| self.unreachable(server, &err))?;
            let challenge = challenge(&response);
            match (response.status(), &self.authority) {
                (StatusCode::UNAUTHORIZED, Some(authority)) if !renewed => {
                    let fresh = authority.renew(token.as_deref(), challenge.as_deref()).await;
                    token = Some(fresh.map_err(|err| Failure::LoginNeeded(err.to_string()))?);
                    renewed = true;
                }
                (StatusCode::UNAUTHORIZED, Some(_)) => {
                    let why = format!(
                        "server `{server}` refuses its own fresh token; run `toolyard login {server}`"
                    );
                    return Err(Failure::LoginNeeded(why));
                }
                (StatusCode::UNAUTHORIZED, None) => {
                    let why =
                        format!("server `{server}` refuses the configured `headers` (401); correct them");
                    return Err(Failure::LoginNeeded(why));
                }
                (StatusCode::FORBIDDEN, Some(authority)) => match authority.forbidden(challenge.as_deref()) {
                    Some(err) => return Err(Failure::LoginNeeded(err.to_string())),
                    None => return Ok(response),
                },
                _ => return Ok(response),
            }
        }
    }

    fn unreachable(&self, server: &str, err: &reqwest::Error) -> Failure {
        let mut reason = if err.is_connect() {
            format!("nothing answers at {}", self.url.origin().ascii_serialization())
        } else {
            // The address may hold a key in its query.
            let err = std::error::Error::source(err)
                .map_or_else(|| "the request failed".to_owned(), ToString::to_string);
            format!("the connection broke: {err}")
        };
        reason.truncate(reason.floor_char_boundary(SHOWN));
        let sent = if err.is_connect() { Sent::No } else { Sent::Perhaps };
        Failure::Closed { server: server.into(), reason: reason.into(), sent }
    }
}

fn challenge(response: &Response) -> Option<String> {
    Some(response.headers().get(WWW_AUTHENTICATE)?.to_str().ok()?.to_owned())
}

/// Speaks streamable HTTP.
#[derive(Debug)]
pub(crate) struct HttpWire {
    pub(crate) endpoint: Endpoint,
    /// The version in the header of every request, once one is agreed on or tried.
    pub(crate) version: Mutex<Option<String>>,
    session: Mutex<Option<HeaderValue>>,
    /// Parameters that are repeated in headers, by tool.
    mirrored: Mutex<HashMap<String, Vec<Mirrored>>>,
}

impl HttpWire {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, version: Mutex::default(), session: Mutex::default(), mirrored: Mutex::default() }
    }

    pub(crate) fn set_version(&self, version: Option<&str>) {
        *self.version.lock() = version.map(str::to_owned);
    }

    pub(crate) fn set_mirrored(&self, mirrored: HashMap<String, Vec<Mirrored>>) {
        *self.mirrored.lock() = mirrored;
    }

    /// Posts one message and takes in everything that the server sends back on it.
    pub(crate) async fn post(
        &self,
        link: &Arc<Link>,
        line: String,
        request: Option<(&str, &Fields)>,
        scope: Option<u64>,
    ) -> Result<(), Failure> {
        let headers = self.headers(request);
        let response = self.endpoint.send(&link.server, |client| {
            client.post(self.endpoint.url.clone()).headers(headers.clone()).body(line.clone())
        });
        let response = response.await?;
        if let Some(session) = response.headers().get("mcp-session-id") {
            *self.session.lock() = Some(session.clone());
        }
        let status = response.status();
        let had_session = self.session.lock().is_some();
        if status == StatusCode::NOT_FOUND && had_session {
            let reason = "it forgot our session";
            let forgotten =
                Failure::Closed { server: Arc::clone(&link.server), reason: reason.into(), sent: Sent::No };
            // This request was refused, whatever became of others in the same session.
            if let Some(id) = scope {
                link.settle(id, Err(forgotten.clone()));
            }
            link.close(reason);
            return Err(forgotten);
        }
        if is_event_stream(&response) && status.is_success() {
            return read_events(link, response, scope).await;
        }
        read_body(link, response, scope).await
    }

    fn headers(&self, request: Option<(&str, &Fields)>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if let Some(session) = &*self.session.lock() {
            headers.insert("mcp-session-id", session.clone());
        }
        let version = self.version.lock().clone();
        let Some(version) = version else { return headers };
        if let Ok(value) = HeaderValue::from_str(&version) {
            headers.insert("mcp-protocol-version", value);
        }
        if let Some((method, params)) = request
            && version == MODERN_VERSION
        {
            self.mirror(&mut headers, method, params);
        }
        headers
    }

    fn mirror(&self, headers: &mut HeaderMap, method: &str, params: &Fields) {
        let mut set = |name: &str, value: &str| {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(value)) {
                headers.insert(name, value);
            }
        };
        set("mcp-method", method);
        let Some(name) = mirror::name_of(method, params) else { return };
        set("mcp-name", &mirror::encode(&name));
        let mirrored = self.mirrored.lock();
        if method == "tools/call"
            && let Some(mirrored) = mirrored.get(&name)
        {
            let arguments: Value = params.read("arguments").unwrap_or_default();
            for one in mirrored {
                if let Some(value) = mirror::header_value(&arguments, &one.path) {
                    set(&one.header, &value);
                }
            }
        }
    }

    /// Listens for what a server of the session era says unasked, until it refuses or the link ends.
    pub(crate) async fn listen(&self, link: &Arc<Link>) {
        let mut pause = Duration::from_secs(1);
        loop {
            let mut headers = self.headers(None);
            headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
            let response = self
                .endpoint
                .send(&link.server, |client| client.get(self.endpoint.url.clone()).headers(headers.clone()));
            match response.await {
                Ok(response) if response.status().is_success() && is_event_stream(&response) => {
                    pause = Duration::from_secs(1);
                    let _ = read_events(link, response, None).await;
                }
                Ok(_) | Err(Failure::LoginNeeded(_)) => return,
                Err(_) => {}
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(30));
        }
    }

    /// Ends the session at the server, if it has one.
    pub(crate) async fn end_session(&self, server: &str) {
        let session = self.session.lock().take();
        let Some(session) = session else { return };
        let request = self.endpoint.send(server, |client| {
            client.delete(self.endpoint.url.clone()).header("mcp-session-id", session.clone())
        });
        let _ = tokio::time::timeout(Duration::from_millis(500), request).await;
    }
}

fn is_event_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with("text/event-stream"))
}

async fn read_events(link: &Arc<Link>, response: Response, scope: Option<u64>) -> Result<(), Failure> {
    let mut stream = response.bytes_stream();
    let mut events = Events::default();
    let (mut bytes, mut count) = (0usize, 0usize);
    while let Some(Ok(chunk)) = stream.next().await {
        bytes = bytes.saturating_add(chunk.len());
        for (_, frame) in events.feed(&chunk, link.bounds) {
            count += 1;
            link.receive_frame(frame, scope);
        }
        // The stream of no request has no end.
        if scope.is_some() && (count > MOST_EVENTS || bytes / MOST_MESSAGES > link.bounds.bytes) {
            let what = format!("it sent {count} events and {bytes} bytes before its answer");
            return Err(Failure::Senseless { server: Arc::clone(&link.server), what });
        }
        // A server that sends without a pause must not keep the clock of its call from being looked at.
        tokio::task::coop::consume_budget().await;
    }
    Ok(())
}

async fn read_body(link: &Arc<Link>, response: Response, scope: Option<u64>) -> Result<(), Failure> {
    let status = response.status();
    let mut body = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(Ok(chunk)) = stream.next().await {
        body.extend_from_slice(&chunk);
        if body.len() > link.bounds.bytes {
            break;
        }
    }
    if let Some((_, excess)) = excess(&body, link.bounds) {
        link.receive_frame(Frame::Rejected { id: None, excess }, scope);
        return Ok(());
    }
    match Message::parse(&body) {
        // Some servers leave the id out of errors; the request's own reply needs none.
        Ok(Message::Response { outcome: Err(error), .. }) if !status.is_success() => {
            Err(Failure::Refused(error))
        }
        Ok(message) => {
            link.receive(message, scope);
            Ok(())
        }
        Err(_) if status.is_success() => Ok(()),
        Err(_) => {
            if let Ok(fields) = serde_json::from_slice::<Fields>(&body)
                && let Some(error) = fields.read("error")
            {
                return Err(Failure::Refused(error));
            }
            // What is hidden goes before the text is cut: a part of it would not be recognised.
            let text = String::from_utf8_lossy(&body[..body.len().min(LOOKED_AT)]);
            let text =
                link.wire.secrets().map_or(text.clone(), |secrets| secrets.hide(&text).into_owned().into());
            let mut said = text.trim().to_owned();
            said.truncate(said.floor_char_boundary(SHOWN));
            Err(Failure::Http { server: Arc::clone(&link.server), status: status.as_u16(), said })
        }
    }
}
