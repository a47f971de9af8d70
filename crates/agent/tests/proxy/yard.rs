//! A proxy over a hub with the built-in servers, in front of a model that says what is written down.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Oracle, Plea, Saying};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use toolyard_agent::model::Dialect;
use toolyard_agent::proxy::{self, Proxy};
use toolyard_hub::config::{self, Agent, Folders};
use toolyard_hub::hub::{Hub, Learning, Options};

/// Longer than anything takes that is waited for.
pub(crate) const SOON: Duration = Duration::from_secs(60);
/// Both dialects.
pub(crate) const DIALECTS: [Dialect; 2] = [Dialect::OpenAi, Dialect::Ollama];

/// A proxy that runs until it is dropped.
pub(crate) struct Yard {
    pub(crate) oracle: Oracle,
    pub(crate) base: String,
    pub(crate) folder: tempfile::TempDir,
    client: reqwest::Client,
    serving: JoinHandle<()>,
    pub(crate) hub: Arc<Hub>,
}

impl Drop for Yard {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// What came back.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) body: String,
}

impl Yard {
    /// Starts a proxy for a model server of a dialect.
    pub(crate) async fn new(server: Dialect, sayings: impl IntoIterator<Item = Saying>) -> Self {
        Self::with(server, sayings, |_| {}).await
    }

    /// Starts a proxy that `change` has changed.
    pub(crate) async fn with(
        server: Dialect,
        sayings: impl IntoIterator<Item = Saying>,
        change: impl FnOnce(&mut Proxy),
    ) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let hub = hub(folder.path()).await;
        let oracle = Oracle::start(sayings);
        let mut proxy = Proxy {
            hub: Arc::clone(&hub),
            agent: Agent::default(),
            upstream: oracle.base().parse().expect("an oracle has an address"),
            dialect: server,
            key: Some("server-key".to_owned()),
            token: None,
        };
        change(&mut proxy);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let base = format!("http://{}", listener.local_addr().expect("it listens"));
        let serving = tokio::spawn(async move { proxy::serve(listener, proxy).await.expect("it serves") });
        Self { oracle, base, folder, client: toolyard_agent::model::client(), serving, hub }
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = method.parse().expect("a method");
        self.client.request(method, format!("{}{path}", self.base))
    }

    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Reply {
        let response = request.send().await.expect("the proxy answers");
        let status = response.status().as_u16();
        let kind = response
            .headers()
            .get("content-type")
            .map(|it| String::from_utf8_lossy(it.as_bytes()).into_owned());
        let body = response.text().await.expect("the answer is whole");
        Reply { status, kind: kind.unwrap_or_default(), body }
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Reply {
        let request = self.request("POST", path).header("content-type", "application/json");
        self.send(request.body(body.to_string())).await
    }

    /// Sends a chat whose only message is this, with more members.
    pub(crate) async fn chat(&self, client: Dialect, text: &str, more: &Value) -> Reply {
        let mut body = json!({ "model": "small", "messages": [{ "role": "user", "content": text }] });
        for (name, value) in more.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        self.post(path(client), &body).await
    }

    /// Sends a chat that is answered with one object.
    pub(crate) async fn whole(&self, client: Dialect, text: &str, more: &Value) -> Value {
        let mut more = more.clone();
        more["stream"] = json!(false);
        let reply = self.chat(client, text, &more).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.json()
    }

    /// Returns the only questions that the model was asked.
    pub(crate) fn pleas<const N: usize>(&self) -> [Plea; N] {
        self.oracle.pleas().try_into().expect("so many questions were asked")
    }
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("this is no JSON: {}", self.body))
    }

    /// Returns the objects of a stream.
    pub(crate) fn objects(&self) -> Vec<Value> {
        let lines = self.body.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
        let lines = lines.filter(|line| !line.is_empty() && *line != "[DONE]");
        lines.map(|line| serde_json::from_str(line).expect("each line is an object")).collect()
    }
}

/// Returns the text of an answer, or of pieces of one.
pub(crate) fn text(objects: &[Value]) -> String {
    let one = |object: &Value| {
        let choice = &object["choices"][0];
        let places =
            [&choice["delta"]["content"], &choice["message"]["content"], &object["message"]["content"]];
        places.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned()
    };
    objects.iter().map(one).collect()
}

/// Returns the calls that a client is to make, in either dialect.
pub(crate) fn calls(object: &Value) -> Value {
    let choice = &object["choices"][0];
    let places = [&choice["delta"], &choice["message"], &object["message"]];
    places.into_iter().find_map(|it| it.get("tool_calls")).cloned().unwrap_or_default()
}

pub(crate) fn path(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenAi => "/v1/chat/completions",
        Dialect::Ollama => "/api/chat",
    }
}

/// Starts a hub with the built-in servers, which asks before notes are made.
async fn hub(home: &std::path::Path) -> Arc<Hub> {
    let folders = Folders { config: home.to_owned(), data: home.to_owned(), home: home.to_owned() };
    let text = r#"{
        "mcpServers": { "time": { "builtin": "time" }, "notes": { "builtin": "notes" } },
        "policy": { "rules": [{ "tool": "notes__create_note", "then": "ask" }] }
    }"#;
    let config = config::parse(text, &home.join("toolyard.json"), &|_| None, &folders);
    let hub = Hub::start(
        config.expect("the settings are right"),
        Options { watchdog: None, learning: Learning::OnDemand },
    );
    hub.learn(|_| true, |_| {}).await;
    hub
}
