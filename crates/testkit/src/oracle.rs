//! A service with a language model that says what a test wrote down, in the dialects of Ollama,
//! OpenAI and Anthropic.

mod saying;
mod messages;
mod dialect;
mod script;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use dialect::{Dialect, Ending, Tokens};
use script::{Finale, Listener, Script};

pub use saying::{Said, Saying};

/// Bytes of a long message that are streamed at once.
const LONG_PIECE: usize = 16 * 1024;

/// A running service; dropping it ends it.
#[derive(Debug)]
pub struct Oracle {
    host: String,
    shared: Arc<Shared>,
    /// Ends the service when it is dropped.
    _stop: oneshot::Sender<()>,
}

/// A question that the service got.
#[derive(Clone, Debug)]
pub struct Plea {
    /// Its path.
    pub path: String,
    /// What proves who asks.
    pub authorization: String,
    /// The version of Anthropic's API that is spoken.
    pub version: String,
    /// The whole body.
    pub body: Value,
}

impl Plea {
    /// Returns what was said last.
    pub fn last(&self) -> &str {
        let messages = self.body["messages"].as_array();
        messages.and_then(|it| it.last()?["content"].as_str()).unwrap_or_default()
    }

    /// Returns the form that an answer is to have, in any dialect.
    pub fn schema(&self) -> &Value {
        if self.body.get("tool_choice").is_some() {
            return &self.body["tools"][0]["input_schema"];
        }
        self.body.get("format").unwrap_or(&self.body["response_format"]["json_schema"]["schema"])
    }

    /// Returns the data that a question is about: the line of JSON in its first message by the user.
    pub fn data(&self) -> Value {
        let messages = self.body["messages"].as_array().into_iter().flatten();
        let mut texts = messages.filter(|it| it["role"] == "user").filter_map(|it| it["content"].as_str());
        let line = texts.next().and_then(|text| text.lines().nth(1));
        line.and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default()
    }

    /// Returns the names of the tools that the model was offered.
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().into_iter().flatten();
        tools.filter_map(|it| it["function"]["name"].as_str().or_else(|| it["name"].as_str())).collect()
    }
}

#[derive(Debug, Default)]
struct Shared {
    pleas: Mutex<Vec<Plea>>,
    script: Mutex<Sayings>,
    calls: AtomicUsize,
    hung_up: Arc<AtomicUsize>,
}

/// What is still to be said.
#[derive(Debug, Default)]
struct Sayings {
    next: VecDeque<Saying>,
    last: Option<Saying>,
}

impl Sayings {
    /// Takes the next one; the last is repeated.
    fn take(&mut self) -> Saying {
        if let Some(next) = self.next.pop_front() {
            self.last = Some(next);
        }
        self.last.clone().unwrap_or(Saying::Silence)
    }
}

impl Oracle {
    /// Starts a service that answers with one saying after the other; the last is repeated.
    ///
    /// It has a thread of its own, so that tests which block can use it too.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub fn start(sayings: impl IntoIterator<Item = Saying>) -> Self {
        let shared = Arc::new(Shared::default());
        shared.script.lock().next.extend(sayings);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        listener.set_nonblocking(true).expect("a listener can be asynchronous");
        let host = listener.local_addr().expect("it listens").to_string();
        let (stop, stopped) = oneshot::channel();
        let app = routes(Arc::clone(&shared));
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime can be made").block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("it listens");
                let serving = async move { axum::serve(listener, app).await };
                // Whichever ends first: the test is over, or cannot go on.
                tokio::select! { _ = serving => {}, _ = stopped => {} }
            });
        });
        Self { host, shared, _stop: stop }
    }

    /// Returns where the service listens: the scheme, the host and the port.
    pub fn base(&self) -> String {
        format!("http://{}", self.host)
    }

    /// Returns the model `small`, as a service in the form of OpenAI has it.
    pub fn openai(&self) -> String {
        format!("{}/v1/chat/completions#small", self.base())
    }

    /// Returns the model `small`, as Ollama has it.
    pub fn ollama(&self) -> String {
        format!("{}/api/chat#small", self.base())
    }

    /// Returns the model `small`, as Anthropic has it.
    pub fn anthropic(&self) -> String {
        format!("{}/v1/messages#small", self.base())
    }

    /// Adds what is said after everything that was written down so far.
    pub fn says(&self, saying: Saying) {
        self.shared.script.lock().next.push_back(saying);
    }

    /// Returns everything that was asked so far: whatever came with a body.
    pub fn pleas(&self) -> Vec<Plea> {
        self.shared.pleas.lock().clone()
    }

    /// Returns how many clients hung up before an answer had ended.
    pub fn hung_up(&self) -> usize {
        self.shared.hung_up.load(Ordering::SeqCst)
    }
}

fn routes(shared: Arc<Shared>) -> Router {
    let models = json!({ "object": "list", "data": [{ "id": "small", "object": "model", "created": 0, "owned_by": "oracle" }] });
    let details = json!({ "format": "gguf", "family": "oracle", "parameter_size": "1B" });
    let tags = json!({ "models": [{ "name": "small", "model": "small", "size": 1, "details": details }] });
    Router::new()
        .route("/v1/chat/completions", post(answer))
        .route("/api/chat", post(answer))
        .route("/v1/messages", post(answer))
        .route("/v1/models", get(async move || as_json(&models)))
        .route("/api/tags", get(async move || as_json(&tags)))
        .route("/api/version", get(async || as_json(&json!({ "version": "0.0.0-oracle" }))))
        .route("/api/show", post(show))
        .route("/v1/embeddings", post(embed))
        .with_state(shared)
}

async fn show(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let details = json!({ "format": "gguf", "family": "oracle", "parameter_size": "1B" });
    let known = json!({ "details": details, "model_info": {}, "capabilities": ["completion", "tools"] });
    match shared.note(&uri, &headers, &body) {
        Some(_) => as_json(&known),
        None => StatusCode::BAD_REQUEST.into_response(),
    }
}

async fn embed(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let data = json!([{ "object": "embedding", "index": 0, "embedding": [0.25, -0.5, 0.75] }]);
    let usage = json!({ "prompt_tokens": 3, "total_tokens": 3 });
    let known = json!({ "object": "list", "model": "small", "data": data, "usage": usage });
    match shared.note(&uri, &headers, &body) {
        Some(_) => as_json(&known),
        None => StatusCode::BAD_REQUEST.into_response(),
    }
}

async fn answer(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let Some(body) = shared.note(&uri, &headers, &body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let asked = Asked { dialect: Dialect::of(uri.path()), shared: &shared, body: &body };
    let saying = shared.script.lock().take();
    match saying {
        Saying::Json(value) => asked.reply(&[Said::Text(value.to_string())], Ending::Natural, Finale::End),
        Saying::Text(text) => asked.reply(&[Said::Text(text)], Ending::Natural, Finale::End),
        Saying::Long(bytes) => {
            let text = "x".repeat(bytes);
            let pieces = text.as_bytes().chunks(LONG_PIECE).map(|it| Said::Text("x".repeat(it.len())));
            asked.reply(&pieces.collect::<Vec<_>>(), Ending::Natural, Finale::End)
        }
        Saying::Senseless => "<html>It works!</html>".into_response(),
        Saying::Status(status) => code(status).into_response(),
        Saying::Silence => {
            let _listener = asked.listener();
            std::future::pending().await
        }
        Saying::Pieces(said) => asked.reply(&said, Ending::Natural, Finale::End),
        Saying::CutAfter(said) => asked.reply(&said, Ending::Cut, Finale::End),
        Saying::BreaksAfter(said) => asked.reply(&said, Ending::Missing, Finale::Break),
        Saying::StallsAfter(said) => asked.reply(&said, Ending::Missing, Finale::Stall),
        Saying::WholeDespiteStream(said) => as_json(&asked.whole(&said, Ending::Natural)),
        Saying::StreamError(message) if asked.is_streamed() => {
            let error = asked.dialect.chunk(&asked.dialect.error(&message));
            asked.stream([Bytes::from(error)], Finale::End)
        }
        Saying::StreamError(message) => asked.refuse(500, &message),
        Saying::Refuses { status, message, retry_after } => {
            let mut response = asked.refuse(status, &message);
            if let Some(seconds) = retry_after {
                response.headers_mut().insert("retry-after", seconds.into());
            }
            response
        }
        Saying::Chunks(chunks) => asked.stream(chunks.into_iter().map(Bytes::from), Finale::End),
    }
}

impl Shared {
    /// Writes down what was asked, and returns its body if that is JSON.
    fn note(&self, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Option<Value> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let header = |name: &str| headers.get(name).and_then(|it| it.to_str().ok()).map(str::to_owned);
        let authorization = header("authorization").or_else(|| header("x-api-key")).unwrap_or_default();
        let version = header("anthropic-version").unwrap_or_default();
        let path = uri.path().to_owned();
        self.pleas.lock().push(Plea { path, authorization, version, body: body.clone() });
        Some(body)
    }

    fn next_id(&self) -> String {
        format!("call_{}", self.calls.fetch_add(1, Ordering::SeqCst) + 1)
    }
}

/// A question, and what an answer to it needs.
struct Asked<'a> {
    dialect: Dialect,
    shared: &'a Shared,
    body: &'a Value,
}

impl Asked<'_> {
    fn is_streamed(&self) -> bool {
        self.body["stream"] == true
    }

    fn listener(&self) -> Listener {
        Listener::new(Arc::clone(&self.shared.hung_up))
    }

    fn whole(&self, said: &[Said], ending: Ending) -> Value {
        // A tool that has to be called takes what would be said otherwise.
        let forced = self.body["tool_choice"]["name"].as_str();
        let answered = forced.zip(said.first()).and_then(|(name, first)| match first {
            Said::Text(text) => Some([Said::call(name, serde_json::from_str(text).ok()?)]),
            Said::Reasoning(_) | Said::Call { .. } | Said::CallInPieces { .. } => None,
        });
        let said = answered.as_ref().map_or(said, |it| it.as_slice());
        self.dialect.whole(said, ending, &mut || self.shared.next_id())
    }

    /// Answers in pieces or as one object, as the question wants it.
    fn reply(&self, said: &[Said], ending: Ending, finale: Finale) -> Response {
        if self.is_streamed() {
            let wants_usage = self.body["stream_options"]["include_usage"] == true;
            let tokens = if wants_usage { Tokens::Counted } else { Tokens::Uncounted };
            let chunks = self.dialect.chunks(said, ending, tokens, &mut || self.shared.next_id());
            return self.stream(chunks.into_iter().map(Bytes::from), finale);
        }
        let whole = self.whole(said, ending);
        match finale {
            Finale::End => as_json(&whole),
            Finale::Break | Finale::Stall => {
                let half = Bytes::from(whole.to_string());
                let half = half.slice(..half.len() / 2);
                let script = Script::new([half], finale, self.listener());
                ([("content-type", "application/json")], Body::new(script)).into_response()
            }
        }
    }

    fn stream(&self, chunks: impl IntoIterator<Item = Bytes>, finale: Finale) -> Response {
        let script = Script::new(chunks, finale, self.listener());
        ([("content-type", self.dialect.stream_type())], Body::new(script)).into_response()
    }

    fn refuse(&self, status: u16, message: &str) -> Response {
        (code(status), as_json(&self.dialect.error(message))).into_response()
    }
}

fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::IM_A_TEAPOT)
}

fn as_json(value: &Value) -> Response {
    ([("content-type", "application/json")], value.to_string()).into_response()
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use http_body_util::{BodyExt, Full};
    use hyper_util::rt::TokioIo;
    use tokio::net::TcpStream;

    use super::*;

    /// Sends a request on a connection of its own; returns the status and the body.
    async fn send(oracle: &Oracle, method: &str, path: &str, body: &Value) -> (u16, String) {
        let stream = TcpStream::connect(&oracle.host).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        let connection = tokio::spawn(connection);
        let request = Request::builder().method(method).uri(path).header("host", &oracle.host);
        let request = request.body(Full::new(Bytes::from(body.to_string()))).unwrap();
        let response = sender.send_request(request).await.unwrap();
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        connection.abort();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn what_is_not_streamed_is_answered_with_one_object() {
        let said = vec![
            Said::reasoning("Hm."),
            Said::text("Yes"),
            Said::text("."),
            Said::call("clock__now", json!({ "zone": "UTC" })),
        ];
        let oracle = Oracle::start([Saying::Pieces(said)]);
        let (status, whole) = send(&oracle, "POST", "/v1/chat/completions", &json!({})).await;
        let whole: Value = serde_json::from_str(&whole).unwrap();
        let function = json!({ "name": "clock__now", "arguments": "{\"zone\":\"UTC\"}" });
        let calls = json!([{ "id": "call_1", "type": "function", "function": function }]);
        let message = json!({ "role": "assistant", "content": "Yes.", "reasoning_content": "Hm.", "tool_calls": calls });
        assert_eq!((status, &whole["choices"][0]["message"]), (200, &message));
        assert_eq!(whole["choices"][0]["finish_reason"], "tool_calls");
        let (status, whole) = send(&oracle, "POST", "/api/chat", &json!({ "stream": false })).await;
        let whole: Value = serde_json::from_str(&whole).unwrap();
        let calls = json!([{ "function": { "name": "clock__now", "arguments": { "zone": "UTC" } } }]);
        let message =
            json!({ "role": "assistant", "content": "Yes.", "thinking": "Hm.", "tool_calls": calls });
        assert_eq!((status, &whole["message"], &whole["done"]), (200, &message, &json!(true)));
        assert_eq!(oracle.hung_up(), 0);
    }

    #[tokio::test]
    async fn sayings_can_be_added_and_the_last_is_repeated() {
        let oracle = Oracle::start([Saying::Status(418)]);
        let mut heard = Vec::new();
        for next in [None, Some(Saying::Status(201)), None] {
            next.into_iter().for_each(|saying| oracle.says(saying));
            heard.push(send(&oracle, "POST", "/api/chat", &json!({ "stream": true })).await.0);
        }
        assert_eq!(heard, [418, 201, 201]);
    }

    #[tokio::test]
    async fn other_questions_have_answers_too() {
        let oracle = Oracle::start([]);
        for (method, path, part) in [
            ("GET", "/v1/models", r#""owned_by":"oracle""#),
            ("GET", "/api/tags", r#""name":"small""#),
            ("GET", "/api/version", "0.0.0-oracle"),
            ("POST", "/api/show", r#""capabilities":["completion","tools"]"#),
            ("POST", "/v1/embeddings", "[0.25,-0.5,0.75]"),
        ] {
            let (status, body) = send(&oracle, method, path, &json!({ "model": "small" })).await;
            assert!(status == 200 && body.contains(part), "{path}: {status} {body}");
        }
        let pleas = oracle.pleas();
        let paths: Vec<&str> = pleas.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["/api/show", "/v1/embeddings"]);
    }
}
