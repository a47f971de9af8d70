//! An embeddings endpoint that answers, refuses or says nothing, as a test wants it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A running endpoint.
pub(crate) struct Service {
    pub(crate) host: String,
    pub(crate) seen: Arc<Seen>,
    task: JoinHandle<()>,
}

/// What was asked of it, and how it is to behave.
#[derive(Default)]
pub(crate) struct Seen {
    /// The number of texts of each question.
    pub(crate) asked: Mutex<Vec<usize>>,
    pub(crate) keys: Mutex<Vec<String>>,
    /// Whether it goes on to answer.
    pub(crate) is_silent: AtomicBool,
    /// How long it thinks about each question, in milliseconds.
    pub(crate) thinks: AtomicU64,
    /// How many questions it answers before it falls silent by itself; 0 is all.
    pub(crate) answers: AtomicUsize,
}

impl Service {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let host = listener.local_addr().expect("it listens").to_string();
        let seen = Arc::new(Seen::default());
        let app = Router::new()
            .route("/v1/embeddings", post(answer))
            .route("/api/embed", post(answer))
            .with_state(Arc::clone(&seen));
        let task = tokio::spawn(async move { axum::serve(listener, app).await.expect("it listens") });
        Self { host, seen, task }
    }

    /// Returns how many questions there were.
    pub(crate) fn asked(&self) -> usize {
        self.seen.asked.lock().len()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    State(seen): State<Arc<Seen>>,
    uri: axum::http::Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Result<String, StatusCode> {
    let question: Value = serde_json::from_slice(&body).map_err(|_| StatusCode::BAD_REQUEST)?;
    let texts = question["input"].as_array().ok_or(StatusCode::BAD_REQUEST)?;
    let key = headers.get("authorization").and_then(|it| it.to_str().ok()).unwrap_or_default();
    seen.keys.lock().push(key.to_owned());
    let count = {
        let mut asked = seen.asked.lock();
        asked.push(texts.len());
        asked.len()
    };
    let most = seen.answers.load(Ordering::Relaxed);
    if seen.is_silent.load(Ordering::Relaxed) || (most > 0 && count > most) {
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(Duration::from_millis(seen.thinks.load(Ordering::Relaxed))).await;
    let vectors = texts.iter().map(|text| vector(text.as_str().unwrap_or_default()));
    let answer = if uri.path() == "/api/embed" {
        json!({ "model": question["model"], "embeddings": vectors.collect::<Vec<_>>() })
    } else {
        // The order of the list is not promised; the index is.
        let mut data: Vec<Value> =
            vectors.enumerate().map(|(index, it)| json!({ "index": index, "embedding": it })).collect();
        data.reverse();
        json!({ "object": "list", "data": data })
    };
    Ok(answer.to_string())
}

/// Texts that share letters are near one another.
fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.1_f32; 26];
    for letter in text.to_lowercase().bytes().filter(u8::is_ascii_lowercase) {
        vector[usize::from(letter - b'a')] += 1.0;
    }
    vector
}
