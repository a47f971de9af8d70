//! POST, answers as JSON or events, and the GET stream.

use std::sync::Arc;

use axum::http::header::{ACCEPT, CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{Era, Error, Shared};

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// An address of a server, and the tasks that read what it streams.
#[derive(Debug)]
pub(super) struct Endpoint {
    address: Address,
    tasks: Arc<Mutex<JoinSet<()>>>,
}

#[derive(Clone, Debug)]
struct Address {
    uri: Uri,
    headers: HeaderMap,
    session: Arc<Mutex<Option<String>>>,
}

impl Endpoint {
    pub(super) fn new(url: &str, headers: &[(&str, &str)]) -> Self {
        let uri: Uri = url.parse().unwrap_or_else(|error| panic!("`{url}` is no address: {error}"));
        let headers = headers.iter().map(|(name, value)| {
            let name: HeaderName = name.parse().unwrap_or_else(|_| panic!("`{name}` is no header"));
            let value: HeaderValue = value.parse().unwrap_or_else(|_| panic!("`{value}` is no header value"));
            (name, value)
        });
        let address = Address { uri, headers: headers.collect(), session: Arc::default() };
        Self { address, tasks: Arc::default() }
    }

    pub(super) fn session(&self) -> Option<String> {
        self.address.session.lock().clone()
    }

    /// Sends one message. What comes back is read by a task, so that an answer that
    /// is streamed can be waited for while it comes.
    pub(super) async fn post(&self, shared: &Arc<Shared>, message: &Value) -> Result<(), Error> {
        let request = self.address.request(Method::POST, shared.era(), Some(message));
        let response = self.address.exchange(request).await.inspect_err(|_| {
            shared.fail(message["id"].as_u64(), || Error::Closed);
        })?;
        if let Some(session) = response.headers().get(SESSION).and_then(|value| value.to_str().ok()) {
            *self.address.session.lock() = Some(session.to_owned());
        }
        if message.get("method").is_none() || message.get("id").is_none() {
            return refused(response).await.map_or(Ok(()), Err);
        }
        let id = message["id"].as_u64();
        let (address, shared) = (self.address.clone(), Arc::clone(shared));
        self.tasks.lock().spawn(async move { address.receive(response, &shared, id).await });
        Ok(())
    }

    pub(super) async fn open_stream(&self, shared: &Arc<Shared>) -> Result<(), Error> {
        let request = self.address.request(Method::GET, shared.era(), None);
        let response = self.address.exchange(request).await?;
        if !response.status().is_success() {
            return refused(response).await.map_or(Ok(()), Err);
        }
        let (address, shared) = (self.address.clone(), Arc::clone(shared));
        self.tasks.lock().spawn(async move { address.events(response, &shared).await });
        Ok(())
    }

    pub(super) async fn end_session(&self, shared: &Shared) {
        if self.session().is_some() {
            let request = self.address.request(Method::DELETE, shared.era(), None);
            // A server need not let clients end sessions.
            drop(self.address.exchange(request).await);
        }
    }
}

impl Address {
    fn request(&self, method: Method, era: Era, message: Option<&Value>) -> Request<Full<Bytes>> {
        let accept =
            if method == Method::POST { "application/json, text/event-stream" } else { "text/event-stream" };
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::builder().method(method).uri(path).header(ACCEPT, accept);
        if let Some(authority) = self.uri.authority()
            && !self.headers.contains_key(HOST)
        {
            request = request.header(HOST, authority.as_str());
        }
        if let Some(session) = self.session.lock().as_deref() {
            request = request.header(SESSION, session);
        }
        match era {
            Era::Fresh => {}
            Era::Legacy { version } => request = request.header(VERSION, version),
            Era::Modern { version, .. } => {
                request = request.header(VERSION, version);
                if let Some(method) = message.and_then(|it| it["method"].as_str()) {
                    request = request.header("mcp-method", method);
                }
                let params = message.map(|it| &it["params"]);
                let named = |it: &Value| {
                    ["name", "uri", "taskId"].iter().find_map(|key| it[key].as_str().map(str::to_owned))
                };
                let name = params.and_then(named);
                if let Some(name) = name {
                    request = request.header("mcp-name", name);
                }
            }
        }
        let body = match message {
            Some(message) => {
                request = request.header(CONTENT_TYPE, "application/json");
                Full::from(message.to_string())
            }
            None => Full::default(),
        };
        let mut request = request.body(body).expect("every header was checked");
        for (name, value) in &self.headers {
            request.headers_mut().insert(name, value.clone());
        }
        request
    }

    /// Sends one request over a connection of its own.
    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Error> {
        let host = self.uri.host().unwrap_or("127.0.0.1").trim_matches(['[', ']']);
        let port = self.uri.port_u16().unwrap_or(80);
        let connect = |error: &dyn std::fmt::Display| Error::Connect(error.to_string());
        let stream = TcpStream::connect((host, port)).await.map_err(|error| connect(&error))?;
        stream.set_nodelay(true).map_err(|error| connect(&error))?;
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|error| connect(&error))?;
        // It ends with the response's body, which is read by whoever holds it.
        tokio::spawn(connection);
        sender.send_request(request).await.map_err(|error| connect(&error))
    }

    /// Reads the answer to request `id` and everything that comes before it.
    async fn receive(&self, response: Response<Incoming>, shared: &Arc<Shared>, id: Option<u64>) {
        let status = response.status();
        let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            self.events(response, shared).await;
            return shared.fail(id, || Error::Closed);
        }
        let body = text(response).await;
        match serde_json::from_str::<Value>(&body) {
            Ok(message) if message.is_object() => drop(shared.take(message)),
            _ => {}
        }
        shared.fail(id, || Error::Http { status: status.as_u16(), body: body.clone() });
    }

    async fn events(&self, response: Response<Incoming>, shared: &Arc<Shared>) {
        let mut body = response.into_body();
        let mut unread: Vec<u8> = Vec::new();
        let mut data = String::new();
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(chunk) = frame.into_data() else { continue };
            unread.extend_from_slice(&chunk);
            while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = unread.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line);
                let line = line.trim_end_matches(['\n', '\r']);
                if let Some(more) = line.strip_prefix("data:") {
                    data.push_str(more.strip_prefix(' ').unwrap_or(more));
                } else if line.is_empty() {
                    let message = serde_json::from_str::<Value>(&std::mem::take(&mut data));
                    if let Some(answer) = message.ok().and_then(|message| shared.take(message)) {
                        let request = self.request(Method::POST, shared.era(), Some(&answer));
                        // A server that does not want the answer any more says so in the call.
                        drop(self.exchange(request).await);
                    }
                }
            }
        }
    }
}

async fn refused(response: Response<Incoming>) -> Option<Error> {
    let status = response.status();
    let body = text(response).await;
    let fine = matches!(status, StatusCode::OK | StatusCode::ACCEPTED | StatusCode::NO_CONTENT);
    (!fine).then(|| Error::Http { status: status.as_u16(), body })
}

async fn text(response: Response<Incoming>) -> String {
    let bytes = response.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
