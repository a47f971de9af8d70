//! A service with a language model that says what a test wrote down, in the dialects of Ollama and OpenAI.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// A running service; dropping it ends it.
#[derive(Debug)]
pub struct Oracle {
    host: String,
    shared: Arc<Shared>,
    /// Ends the service when it is dropped.
    _stop: oneshot::Sender<()>,
}

/// What the service does with a question.
#[derive(Clone, Debug)]
pub enum Saying {
    /// Answers with a message that is this JSON.
    Json(Value),
    /// Answers with a message that is this text.
    Text(String),
    /// Answers with something that is no message.
    Senseless,
    /// Answers with a status and no message.
    Status(u16),
    /// Answers with a message of this many bytes.
    Long(usize),
    /// Never answers.
    Silence,
}

/// A question that the service got.
#[derive(Clone, Debug)]
pub struct Plea {
    /// Its path.
    pub path: String,
    /// What proves who asks.
    pub authorization: String,
    /// The whole body.
    pub body: Value,
}

impl Plea {
    /// Returns what was said last.
    pub fn last(&self) -> &str {
        let messages = self.body["messages"].as_array();
        messages.and_then(|it| it.last()?["content"].as_str()).unwrap_or_default()
    }

    /// Returns the form that an answer is to have, in either dialect.
    pub fn schema(&self) -> &Value {
        self.body.get("format").unwrap_or(&self.body["response_format"]["json_schema"]["schema"])
    }

    /// Returns the data that a question is about: the line of JSON in its first message by the user.
    pub fn data(&self) -> Value {
        let messages = self.body["messages"].as_array().into_iter().flatten();
        let mut texts = messages.filter(|it| it["role"] == "user").filter_map(|it| it["content"].as_str());
        let line = texts.next().and_then(|text| text.lines().nth(1));
        line.and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default()
    }
}

#[derive(Debug)]
struct Shared {
    pleas: Mutex<Vec<Plea>>,
    sayings: Mutex<VecDeque<Saying>>,
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
        let shared =
            Arc::new(Shared { pleas: Mutex::default(), sayings: Mutex::new(sayings.into_iter().collect()) });
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        listener.set_nonblocking(true).expect("a listener can be asynchronous");
        let host = listener.local_addr().expect("it listens").to_string();
        let (stop, stopped) = oneshot::channel();
        let app = Router::new()
            .route("/v1/chat/completions", post(answer))
            .route("/api/chat", post(answer))
            .with_state(Arc::clone(&shared));
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

    /// Returns the model `small`, as a service in the form of OpenAI has it.
    pub fn openai(&self) -> String {
        format!("http://{}/v1/chat/completions#small", self.host)
    }

    /// Returns the model `small`, as Ollama has it.
    pub fn ollama(&self) -> String {
        format!("http://{}/api/chat#small", self.host)
    }

    /// Returns everything that was asked so far.
    pub fn pleas(&self) -> Vec<Plea> {
        self.shared.pleas.lock().clone()
    }
}

async fn answer(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let authorization = headers.get("authorization").and_then(|it| it.to_str().ok()).unwrap_or_default();
    let path = uri.path().to_owned();
    let plea = Plea { path: path.clone(), authorization: authorization.to_owned(), body };
    shared.pleas.lock().push(plea);
    let saying = {
        let mut sayings = shared.sayings.lock();
        match sayings.len() {
            0 => Saying::Silence,
            1 => sayings[0].clone(),
            _ => sayings.pop_front().expect("there are several"),
        }
    };
    let said = match saying {
        Saying::Json(value) => value.to_string(),
        Saying::Text(text) => text,
        Saying::Long(bytes) => "x".repeat(bytes),
        Saying::Senseless => return "<html>It works!</html>".into_response(),
        Saying::Status(status) => {
            return StatusCode::from_u16(status).unwrap_or(StatusCode::IM_A_TEAPOT).into_response();
        }
        Saying::Silence => std::future::pending().await,
    };
    let message = json!({ "role": "assistant", "content": said });
    let answer = if path == "/api/chat" {
        json!({ "model": "small", "message": message, "done": true })
    } else {
        json!({ "object": "chat.completion", "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] })
    };
    ([("content-type", "application/json")], answer.to_string()).into_response()
}
