//! Requests in, replies out.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, BufRead, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value, json};

use super::kind::Fault;
use super::options::{Era, Options};
use super::wire::Wire;
use super::{LEGACY_VERSION, MODERN_VERSION, definition, listing, tool};

/// A server that nobody ended has done its work after this time.
const LIFETIME: Duration = Duration::from_secs(900);

/// Everything that requests share.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) options: Options,
    pub(super) wire: Wire,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// What `initialize` said: capabilities, name, version.
    pub(super) client: Option<Value>,
    pub(super) cancelled: Vec<Value>,
    pub(super) added: Vec<String>,
    pub(super) count: usize,
    listings: usize,
    watched: HashSet<String>,
    /// `subscriptions/listen` requests by id, with what each wants to hear.
    listeners: Vec<(Value, Value)>,
    asked: HashMap<String, mpsc::Sender<Value>>,
    questions: usize,
}

/// One request with its parameters and the era that it was sent in.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Value,
    pub(super) modern: bool,
}

/// Serves stdin until it ends.
pub fn serve(options: Options) -> ExitCode {
    // Tests start many of these; none may outlive a test that was killed.
    thread::spawn(|| {
        thread::sleep(LIFETIME);
        std::process::exit(0);
    });
    match options.fault {
        Some(Fault::DiesAtStart) => {
            return match writeln!(io::stderr(), "fatal: cannot open /nowhere/database: no such file") {
                Ok(()) | Err(_) => ExitCode::from(3),
            };
        }
        Some(Fault::Deaf) => loop {
            thread::park();
        },
        Some(Fault::SlowStart) => thread::sleep(options.delay),
        Some(Fault::StderrFlood) => {
            thread::spawn(flood_stderr);
        }
        Some(Fault::Forks) => {
            fork(Tie::Loose, Pipes::Inherited);
        }
        _ => {}
    }
    let server = Arc::new(Server { wire: Wire::new(options.fault), options, state: Mutex::default() });
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        server.take(&line);
    }
    ExitCode::SUCCESS
}

impl Server {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Sends a request to the client and waits for its answer.
    pub(super) fn ask(&self, method: &str, params: &Value) -> Value {
        let (sender, answer) = mpsc::channel();
        let id = {
            let mut state = self.state();
            state.questions += 1;
            let id = format!("question-{}", state.questions);
            state.asked.insert(id.clone(), sender);
            id
        };
        self.wire.ask(&id, method, params);
        answer.recv().unwrap_or_else(|_| json!({"error": "the client went away"}))
    }

    /// Tells the client that a list changed or a resource was updated, if it wants to hear it.
    pub(super) fn announce(&self, method: &str, params: &Value) {
        let uri = params.get("uri").and_then(Value::as_str).map(str::to_owned);
        let (watched, listeners) = {
            let state = self.state();
            let watched = uri.as_ref().is_none_or(|uri| state.watched.contains(uri));
            (state.client.is_some() && watched, state.listeners.clone())
        };
        if watched {
            self.wire.notify(method, params);
        }
        for (id, filter) in listeners {
            let wanted = match &uri {
                Some(uri) => filter["resourceSubscriptions"]
                    .as_array()
                    .is_some_and(|uris| uris.iter().any(|it| it.as_str() == Some(uri))),
                None => filter["toolsListChanged"] == true,
            };
            if wanted {
                let mut params = params.clone();
                params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": id});
                self.wire.notify(method, &params);
            }
        }
    }

    fn take(self: &Arc<Self>, line: &str) {
        if self.options.fault == Some(Fault::Silent) || line.trim().is_empty() {
            return;
        }
        let message: Value = match serde_json::from_str(line) {
            Ok(message) => message,
            Err(error) => {
                let error = json!({"code": -32700, "message": error.to_string()});
                return self.wire.reply_error(&Value::Null, &error);
            }
        };
        let id = message.get("id").cloned();
        let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
        match (id, method) {
            (Some(id), Some(method)) => self.request(id, method, params),
            (None, Some(method)) => self.notification(&method, &params),
            (Some(id), None) => self.answer(&id, message),
            (None, None) => {}
        }
    }

    fn request(self: &Arc<Self>, id: Value, method: String, params: Value) {
        let named = params["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string();
        let modern = match self.options.era {
            Era::Legacy => false,
            Era::Modern => true,
            Era::Both => named || method == "server/discover",
        };
        let request = Request { id, method, params, modern };
        if let Err(error) = self.admit(&request) {
            return self.wire.reply_error(&request.id, &error);
        }
        let handshake = matches!(request.method.as_str(), "initialize" | "server/discover");
        if self.options.fault == Some(Fault::NullResult) && !handshake {
            return self.wire.reply(&request.id, "null");
        }
        if self.options.fault == Some(Fault::WrongId) {
            self.wire.reply(&json!(1_000_000), r#"{"stray":true}"#);
            self.wire.reply(&json!(format!("{}", request.id)), r#"{"stray":true}"#);
        }
        if request.method == "tools/call" {
            let server = Arc::clone(self);
            thread::spawn(move || tool::serve(&server, &request));
            return;
        }
        match self.result(&request) {
            Ok(Some(result)) => self.wire.reply(&request.id, &result),
            Ok(None) => {}
            Err(error) => self.wire.reply_error(&request.id, &error),
        }
        if handshake {
            self.after_handshake();
        }
    }

    /// Checks that the request fits its era.
    fn admit(&self, request: &Request) -> Result<(), Value> {
        let method = request.method.as_str();
        if !request.modern {
            let early =
                self.state().client.is_none() && !matches!(method, "initialize" | "ping" | "server/discover");
            return match early {
                true => Err(json!({"code": -32600, "message": "initialize comes first"})),
                false => Ok(()),
            };
        }
        let meta = &request.params["_meta"];
        let missing = ["protocolVersion", "clientCapabilities"]
            .into_iter()
            .find(|key| meta.get(format!("io.modelcontextprotocol/{key}")).is_none());
        if let Some(key) = missing {
            return Err(json!({"code": -32602, "message": format!("_meta lacks `{key}`")}));
        }
        let version = &meta["io.modelcontextprotocol/protocolVersion"];
        if version != MODERN_VERSION {
            let data = json!({"requested": version, "supported": [MODERN_VERSION]});
            return Err(json!({"code": -32022, "message": "Unsupported protocol version", "data": data}));
        }
        Ok(())
    }

    /// Gives the text of the result; `None` if the request stays open.
    fn result(&self, request: &Request) -> Result<Option<String>, Value> {
        let params = &request.params;
        let result = match (request.method.as_str(), request.modern) {
            ("initialize", false) => self.initialize(params),
            ("server/discover", true) => self.discover(),
            ("ping" | "logging/setLevel", false) => json!({}),
            ("resources/subscribe", false) => {
                self.state().watched.insert(params["uri"].as_str().unwrap_or_default().to_owned());
                json!({})
            }
            ("resources/unsubscribe", false) => {
                self.state().watched.remove(params["uri"].as_str().unwrap_or_default());
                json!({})
            }
            ("subscriptions/listen", true) => {
                self.listen(request);
                return Ok(None);
            }
            ("tools/list", _) => return Ok(Some(self.list_tools(request))),
            ("resources/list", _) => json!({"resources": definition::resources()}),
            ("resources/templates/list", _) => json!({"resourceTemplates": definition::resource_templates()}),
            ("resources/read", modern) => {
                let uri = params["uri"].as_str().unwrap_or_default();
                let code = if modern { -32602 } else { -32002 };
                let missing = json!({"code": code, "message": "Resource not found", "data": {"uri": uri}});
                json!({"contents": definition::resource_contents(uri).ok_or(missing)?})
            }
            ("prompts/list", _) => json!({"prompts": definition::prompts()}),
            ("prompts/get", _) => prompt(params)?,
            ("completion/complete", _) => complete(params),
            (method, _) => {
                return Err(json!({"code": -32601, "message": format!("Method not found: {method}")}));
            }
        };
        Ok(Some(with(result, &extra(request)).to_string()))
    }

    fn initialize(&self, params: &Value) -> Value {
        self.state().client = Some(params.clone());
        let asked = params["protocolVersion"].as_str().unwrap_or_default();
        let version = match self.options.fault {
            Some(Fault::BadVersion) => "1999-01-01",
            _ if ["2024-11-05", "2025-03-26", "2025-06-18", LEGACY_VERSION].contains(&asked) => asked,
            _ => LEGACY_VERSION,
        };
        json!({
            "protocolVersion": version,
            "capabilities": {
                "tools": {"listChanged": true}, "resources": {"subscribe": true, "listChanged": true},
                "prompts": {}, "logging": {}, "completions": {}
            },
            "serverInfo": self.info(),
            "instructions": INSTRUCTIONS,
            "_meta": {"example.com/kept": "initialize"}
        })
    }

    fn discover(&self) -> Value {
        let version =
            if self.options.fault == Some(Fault::BadVersion) { "1999-01-01" } else { MODERN_VERSION };
        json!({
            "supportedVersions": [version],
            "capabilities": {
                "tools": {"listChanged": true}, "resources": {"subscribe": true, "listChanged": true},
                "prompts": {}, "completions": {}
            },
            "instructions": INSTRUCTIONS,
            "_meta": {"io.modelcontextprotocol/serverInfo": self.info(), "example.com/kept": "discover"}
        })
    }

    fn info(&self) -> Value {
        json!({
            "name": self.options.name, "title": "Fault server", "version": env!("CARGO_PKG_VERSION"),
            "icons": [{"src": "data:image/png;base64,AA==", "mimeType": "image/png"}]
        })
    }

    fn listen(&self, request: &Request) {
        let filter = request.params["notifications"].clone();
        let meta = json!({"io.modelcontextprotocol/subscriptionId": request.id});
        let params = json!({"_meta": meta, "notifications": filter});
        self.state().listeners.push((request.id.clone(), filter));
        self.wire.notify("notifications/subscriptions/acknowledged", &params);
    }

    fn list_tools(&self, request: &Request) -> String {
        let cursor = request.params["cursor"].as_str();
        let (added, seen) = {
            let mut state = self.state();
            let seen = state.listings;
            state.listings += usize::from(cursor.is_none());
            (state.added.clone(), seen)
        };
        listing::page(&self.options, &added, cursor, seen).text(&extra(request))
    }

    fn notification(&self, method: &str, params: &Value) {
        if method == "notifications/cancelled" {
            let id = params["requestId"].clone();
            let mut state = self.state();
            state.listeners.retain(|(listener, _)| *listener != id);
            state.cancelled.push(id);
        }
    }

    fn answer(&self, id: &Value, message: Value) {
        let waiting = id.as_str().and_then(|id| self.state().asked.remove(id));
        if let Some(waiting) = waiting {
            // A call that does not wait any more has no use for the answer.
            drop(waiting.send(message));
        }
    }

    fn after_handshake(self: &Arc<Self>) {
        let server = Arc::clone(self);
        match self.options.fault {
            Some(Fault::Storm) => thread::spawn(move || {
                loop {
                    for _ in 0..5 {
                        server.wire.notify("notifications/tools/list_changed", &json!({}));
                    }
                    thread::sleep(Duration::from_millis(5));
                }
            }),
            Some(Fault::StdoutFlood) => thread::spawn(move || {
                let params = json!({"level": "info", "logger": "flood", "data": "x".repeat(900)});
                loop {
                    for _ in 0..50 {
                        server.wire.notify("notifications/message", &params);
                    }
                    thread::sleep(Duration::from_millis(5));
                }
            }),
            _ => return,
        };
    }
}

const INSTRUCTIONS: &str = "Tools of this server do what their names say. Ask before `die`.";

/// Gives what every result of this request's era carries.
pub(super) fn extra(request: &Request) -> Map<String, Value> {
    let mut extra = Map::new();
    if request.modern {
        extra.insert("resultType".to_owned(), json!("complete"));
        let cacheable = request.method.ends_with("/list")
            || matches!(request.method.as_str(), "resources/read" | "server/discover");
        if cacheable {
            extra.insert("ttlMs".to_owned(), json!(60_000));
            extra.insert("cacheScope".to_owned(), json!("private"));
        }
    }
    extra
}

/// Adds members to a result, except those it has already.
pub(super) fn with(mut result: Value, extra: &Map<String, Value>) -> Value {
    for (key, value) in extra {
        if result.get(key).is_none() {
            result[key] = value.clone();
        }
    }
    result
}

fn prompt(params: &Value) -> Result<Value, Value> {
    if params["name"] != "greet" {
        return Err(json!({"code": -32602, "message": format!("Unknown prompt: {}", params["name"])}));
    }
    let Some(who) = params["arguments"]["who"].as_str() else {
        return Err(json!({"code": -32602, "message": "Missing argument: who"}));
    };
    let content = json!({"type": "text", "text": format!("Greet {who}.")});
    Ok(json!({"description": "A greeting", "messages": [{"role": "user", "content": content}]}))
}

fn complete(params: &Value) -> Value {
    let begun = params["argument"]["value"].as_str().unwrap_or_default();
    let values: Vec<&str> = ["Ada", "Alan", "Grace"].into_iter().filter(|it| it.starts_with(begun)).collect();
    json!({"completion": {"values": values, "total": values.len(), "hasMore": false}})
}

/// Whether a grandchild leaves the session of the server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tie {
    Loose,
    Cut,
}

/// Whether a grandchild keeps the server's stdout and stderr open.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pipes {
    Closed,
    Inherited,
}

/// Starts a process that ignores SIGTERM, and gives its id.
pub(super) fn fork(tie: Tie, pipes: Pipes) -> Option<u32> {
    // What a process ignores stays ignored in the program it becomes.
    let script = "trap '' TERM HUP INT; exec sleep 1000";
    let mut command = match tie {
        Tie::Loose => Command::new("sh"),
        Tie::Cut => {
            let mut command = Command::new("setsid");
            command.arg("sh");
            command
        }
    };
    command.args(["-c", script]).stdin(Stdio::null());
    if pipes == Pipes::Closed {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    let pid = command.spawn().ok()?.id();
    // Before it has become `sleep` it may not yet ignore what it shall ignore.
    for _ in 0..1_000 {
        if fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "sleep") {
            break;
        }
        thread::sleep(Duration::from_millis(2));
    }
    Some(pid)
}

fn flood_stderr() {
    let line = format!("{}\n", "noise ".repeat(170));
    let chunk = line.repeat(64);
    loop {
        if io::stderr().write_all(chunk.as_bytes()).is_err() {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
}
