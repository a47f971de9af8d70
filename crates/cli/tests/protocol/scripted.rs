//! Servers that say exactly what a test writes down, byte for byte.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Gives the configuration of a server over stdio that answers each method with a fixed text: the
/// member `result` or `error` of the response, with its name. Lines before it are messages of their own.
pub(crate) fn over_stdio(folder: &Path, answers: &[(&str, &str)]) -> Value {
    let mut cases = String::new();
    for (number, (method, answer)) in answers.iter().enumerate() {
        let (before, answer) = answer.rsplit_once('\n').unwrap_or(("", answer));
        let file = |name: &str, text: &str| {
            let file = folder.join(format!("{name}-{number}"));
            std::fs::write(&file, text).unwrap();
            file.display().to_string()
        };
        let before = if before.is_empty() { String::new() } else { format!("{before}\n") };
        let (before, answer) = (file("before", &before), file("answer", answer));
        cases.push_str(&format!("*'\"method\":\"{method}\"'*) cat {before}; say {answer} ;;\n"));
    }
    let script = format!(
        r#"say() {{ printf '{{"jsonrpc":"2.0","id":%s,' "$id"; cat "$1"; printf '}}\n'; }}
while IFS= read -r line; do
id=${{line#*'"id":'}}
id=${{id%%,*}}
case "$line" in
{cases}*'"id":'*) printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"no"}}}}\n' "$id" ;;
esac
done"#
    );
    program(folder, &script)
}

/// Gives the configuration of a server that is a shell script.
pub(crate) fn program(folder: &Path, script: &str) -> Value {
    let file = folder.join("server.sh");
    std::fs::write(&file, script).unwrap();
    json!({"command": "sh", "args": [file]})
}

/// What a server of the session era greets with.
pub(crate) const GREETING: &str = r#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"scripted","version":"1"}}"#;

/// One request that a server over HTTP got.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) http: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) message: Value,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub(crate) fn method(&self) -> &str {
        self.message["method"].as_str().unwrap_or_default()
    }
}

/// A server over HTTP that answers as a closure says and keeps what it got.
pub(crate) struct OverHttp {
    pub(crate) url: String,
    got: Arc<Mutex<Vec<Got>>>,
    serving: JoinHandle<()>,
}

impl OverHttp {
    pub(crate) async fn start(answer: impl Fn(&Got) -> Response + Clone + Send + Sync + 'static) -> Self {
        Self::at(TcpListener::bind("127.0.0.1:0").await.unwrap(), answer)
    }

    pub(crate) fn at(
        listener: TcpListener,
        answer: impl Fn(&Got) -> Response + Clone + Send + Sync + 'static,
    ) -> Self {
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let got = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&got);
        let take = move |http: Method, headers: HeaderMap, body: Bytes| {
            let got = Got { http, headers, message: serde_json::from_slice(&body).unwrap_or_default() };
            kept.lock().push(got.clone());
            let answer = answer(&got);
            async move { answer }
        };
        let router = Router::new().fallback(take);
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, got, serving }
    }

    /// Gives everything it got so far.
    pub(crate) fn got(&self) -> Vec<Got> {
        self.got.lock().clone()
    }
}

impl Drop for OverHttp {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Answers a request of the session era with a result; notifications are taken and streams refused.
pub(crate) fn in_session(got: &Got, result: impl Fn(&str) -> Option<Value>) -> Response {
    if got.http != Method::POST {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let Some(id) = got.message.get("id") else { return StatusCode::ACCEPTED.into_response() };
    let result = match got.method() {
        "initialize" => Some(json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "by hand", "version": "1"}
        })),
        "tools/list" => Some(json!({"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]})),
        method => result(method),
    };
    let answer = match result {
        Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        None => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}}),
    };
    json_response(StatusCode::OK, &answer)
}

/// Writes a response with a JSON body.
pub(crate) fn json_response(status: StatusCode, body: &Value) -> Response {
    (status, [("content-type", "application/json")], body.to_string()).into_response()
}
