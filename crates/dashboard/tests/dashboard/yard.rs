//! A hub with the built-in servers `notes` and `time`, and its dashboard on a port of its own.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use toolyard_dashboard::Dashboard;
use toolyard_history::History;
use toolyard_hub::config::{self, Folders};
use toolyard_hub::hub::{Hub, Learning, Options};

/// Longer than anything takes that is waited for.
pub(crate) const SOON: Duration = Duration::from_secs(60);

const CONFIG: &str = r#"{
    "mcpServers": {
        "time": { "builtin": "time" },
        "notes": { "builtin": "notes" },
        "locked": { "url": "http://127.0.0.1:9/mcp", "auth": "off" }
    },
    "routing": { "arguments": { "model": "http://127.0.0.1:9/secret-path#small", "apiKey": "secret-key" } },
    "policy": { "rules": [{ "tool": "notes__create_note", "then": "ask" }], "deny": ["time__add_time"] }
}"#;

/// A workflow that changes something, which the configuration asks about.
const JOT: &str = r#"{
    "name": "jot",
    "description": "Writes a note down.",
    "parameters": { "type": "object", "properties": { "title": { "type": "string" } }, "required": ["title"] },
    "steps": [
        { "name": "look", "tool": "notes__list_notes", "arguments": {} },
        { "name": "write", "tool": "notes__create_note", "after": ["look"], "arguments": { "title": "{{parameters.title}}" } }
    ]
}"#;

/// A dashboard that runs until it is dropped.
pub(crate) struct Yard {
    pub(crate) hub: Arc<Hub>,
    pub(crate) history: History,
    pub(crate) closing: watch::Sender<bool>,
    pub(crate) base: String,
    client: reqwest::Client,
    serving: JoinHandle<()>,
    _folder: tempfile::TempDir,
}

impl Drop for Yard {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("this is no JSON: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|it| it.to_str().expect("it is text")).unwrap_or_default()
    }

    /// Returns message and hint of an error.
    pub(crate) fn error(&self) -> (String, String) {
        let json = self.json();
        let part = |name: &str| json["error"][name].as_str().unwrap_or_else(|| panic!("{json}")).to_owned();
        (part("message"), part("hint"))
    }
}

impl Yard {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let hub = hub(folder.path()).await;
        let history = hub.history().expect("the folder can be written").clone();
        let (closing, closed) = watch::channel(false);
        let dashboard = Dashboard::new(Arc::clone(&hub)).expect("it has a history").until(closed.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let base = format!("http://{}", listener.local_addr().expect("it listens"));
        let router = dashboard.router();
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
        let client = toolyard_hub::web::client();
        Self { hub, history, closing, base, client, serving, _folder: folder }
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method.parse().expect("a method"), format!("{}{path}", self.base))
    }

    /// Makes a request as the page does.
    pub(crate) fn ours(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        self.request(method, &format!("/dashboard/api{path}")).header("x-toolyard", "1")
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let answer = send(self.ours("GET", path)).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.json()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        let request = self.ours("POST", path).header("content-type", "application/json");
        send(request.body(body.to_string())).await
    }

    /// Posts what is answered.
    pub(crate) async fn done(&self, path: &str, body: &Value) -> Value {
        let answer = self.post(path, body).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.json()
    }

    /// Tries words, and returns what they would become.
    pub(crate) async fn tried(&self, task: &str) -> Value {
        let tried = self.done("/try", &json!({ "task": task })).await;
        // The list of routes shows what is on the disk.
        self.history.flush();
        tried
    }
}

pub(crate) async fn send(request: reqwest::RequestBuilder) -> Answer {
    let response = request.send().await.expect("the dashboard answers");
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Answer { status, headers, text: response.text().await.expect("the answer is whole") }
}

async fn hub(home: &Path) -> Arc<Hub> {
    std::fs::create_dir(home.join("workflows")).expect("the folder is writable");
    std::fs::write(home.join("workflows/jot.json"), JOT).expect("the folder is writable");
    let folders = Folders { config: home.to_owned(), data: home.to_owned(), home: home.to_owned() };
    let config = config::parse(CONFIG, &home.join("toolyard.json"), &|_| None, &folders);
    let options = Options { watchdog: None, learning: Learning::OnDemand };
    let hub = Hub::start(config.unwrap_or_else(|mistakes| panic!("{mistakes:?}")), options);
    hub.learn(|it| *it.name != *"locked", |_| {}).await;
    hub
}
