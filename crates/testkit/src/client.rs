//! A raw MCP client over stdio and HTTP.
//!
//! It keeps what it receives as it came, so that a test can compare whole
//! messages. It panics when a test is to blame and returns an [`Error`] when
//! the server is.

mod http; //  POST, answers as JSON or events, and the GET stream
mod stdio; // a child process and its pipes

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

/// How long a reply or a notification may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// Says why a request has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server answered with an error.
    #[error("error {code}: {message}")]
    Rpc {
        /// The JSON-RPC code.
        code: i64,
        /// The server's words.
        message: String,
        /// What came with it, or null.
        data: Value,
    },
    /// The connection ended before the reply.
    #[error("the connection ended before the reply")]
    Closed,
    /// Nothing came within the client's patience.
    #[error("no reply within {PATIENCE:?}")]
    Deadline,
    /// The server answered with a status and no JSON-RPC message.
    #[error("HTTP {status}: {body}")]
    Http {
        /// The status.
        status: u16,
        /// The body, as text.
        body: String,
    },
    /// Nobody listens there.
    #[error("cannot connect: {0}")]
    Connect(String),
}

impl Error {
    /// Gives the JSON-RPC code, if the server sent one.
    pub fn code(&self) -> Option<i64> {
        match self {
            Self::Rpc { code, .. } => Some(*code),
            Self::Closed | Self::Deadline | Self::Http { .. } | Self::Connect(_) => None,
        }
    }
}

/// One connection to a server.
#[derive(Debug)]
pub struct Client {
    shared: Arc<Shared>,
    transport: Transport,
    next: AtomicU64,
}

#[derive(Debug)]
enum Transport {
    Stdio(stdio::Pipe),
    Http(http::Endpoint),
}

/// A request that was sent and not yet answered.
#[derive(Debug)]
pub struct Pending {
    id: u64,
    reply: oneshot::Receiver<Result<Value, Error>>,
}

/// What the reading side and the client share.
struct Shared {
    pending: Mutex<HashMap<u64, oneshot::Sender<Result<Value, Error>>>>,
    /// Everything that came and was no reply to a request of ours.
    received: watch::Sender<Vec<Value>>,
    answer: Mutex<Box<Answer>>,
    era: Mutex<Era>,
}

type Answer = dyn Fn(&str, &Value) -> Result<Value, Value> + Send;

#[derive(Clone, Debug)]
enum Era {
    Fresh,
    Legacy { version: String },
    Modern { version: String, capabilities: Value },
}

impl Client {
    /// Starts a server and speaks with it over its pipes.
    ///
    /// # Panics
    ///
    /// If the command cannot be started.
    pub fn stdio<S: AsRef<OsStr>>(command: impl AsRef<OsStr>, args: &[S], envs: &[(&str, &str)]) -> Self {
        let mut command = std::process::Command::new(command);
        command.args(args).envs(envs.iter().copied());
        Self::spawn(command)
    }

    /// Starts a server from a command that was set up by the test.
    ///
    /// # Panics
    ///
    /// If the command cannot be started.
    pub fn spawn(command: std::process::Command) -> Self {
        let shared = Arc::new(Shared::new());
        let transport = Transport::Stdio(stdio::Pipe::open(command, &shared));
        Self { shared, transport, next: AtomicU64::new(1) }
    }

    /// Speaks with a server at an `http://` address; nothing is sent yet.
    ///
    /// # Panics
    ///
    /// If the address is not one.
    pub fn http(url: &str, headers: &[(&str, &str)]) -> Self {
        let transport = Transport::Http(http::Endpoint::new(url, headers));
        Self { shared: Arc::new(Shared::new()), transport, next: AtomicU64::new(1) }
    }

    /// Begins a legacy session, and gives what the server said of itself.
    pub async fn initialize(&self, version: &str, capabilities: Value) -> Result<Value, Error> {
        let info = json!({"name": "testkit", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": info});
        let result = self.request("initialize", params).await?;
        let version = result["protocolVersion"].as_str().unwrap_or(version).to_owned();
        self.shared.set_era(Era::Legacy { version });
        self.notify("notifications/initialized", json!({})).await?;
        Ok(result)
    }

    /// Speaks the protocol without sessions from here on: every request says who we are.
    pub fn modern(&self, capabilities: Value) {
        self.shared.set_era(Era::Modern { version: crate::fault::MODERN_VERSION.to_owned(), capabilities });
    }

    /// Answers requests of the server: the method and parameters become a result or an error.
    pub fn answer_with(&self, answer: impl Fn(&str, &Value) -> Result<Value, Value> + Send + 'static) {
        *self.shared.answer.lock() = Box::new(answer);
    }

    /// Sends a request and waits for its result.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, Error> {
        self.start(method, params).await?.result().await
    }

    /// Sends a request; its result can be waited for or cancelled.
    pub async fn start(&self, method: &str, params: Value) -> Result<Pending, Error> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, reply) = oneshot::channel();
        self.shared.pending.lock().insert(id, sender);
        let params = self.shared.era().dress(params);
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&message).await?;
        Ok(Pending { id, reply })
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Value) -> Result<(), Error> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await
    }

    /// Tells the server that nobody waits for a request any more.
    pub async fn cancel(&self, pending: &Pending) -> Result<(), Error> {
        self.notify("notifications/cancelled", json!({"requestId": pending.id})).await
    }

    /// Gives everything received so far that was no reply to a request of ours.
    pub fn notifications(&self) -> Vec<Value> {
        self.shared.received.borrow().clone()
    }

    /// Waits for a message that matches; one that came before counts, too.
    ///
    /// # Panics
    ///
    /// If none comes within the client's patience.
    pub async fn notification(&self, matches: impl Fn(&Value) -> bool) -> Value {
        let mut received = self.shared.received.subscribe();
        let found = timeout(PATIENCE, received.wait_for(|all| all.iter().any(&matches))).await;
        let Ok(Ok(all)) = found else {
            panic!("no such notification among {:#?}", self.notifications());
        };
        all.iter().find(|message| matches(message)).expect("one was just found").clone()
    }

    /// Waits for a notification of this method.
    ///
    /// # Panics
    ///
    /// If none comes within the client's patience.
    pub async fn notified(&self, method: &str) -> Value {
        self.notification(|message| message["method"] == method).await
    }

    /// Lists the tools, all pages of them.
    pub async fn tools(&self) -> Result<Vec<Value>, Error> {
        let mut tools = Vec::new();
        let mut params = json!({});
        loop {
            let page = self.request("tools/list", params).await?;
            tools.extend(page["tools"].as_array().cloned().unwrap_or_default());
            match page.get("nextCursor") {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => return Ok(tools),
            }
        }
    }

    /// Calls a tool and gives the whole result.
    pub async fn call(&self, name: &str, arguments: Value) -> Result<Value, Error> {
        self.request("tools/call", json!({"name": name, "arguments": arguments})).await
    }

    /// Calls a tool and gives the text of its first content.
    ///
    /// # Panics
    ///
    /// If the call fails or its first content is no text.
    pub async fn text(&self, name: &str, arguments: Value) -> String {
        let result = self.call(name, arguments).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let text = result["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{name} gave no text: {result}")).to_owned()
    }

    /// Opens the stream on which an HTTP server sends what belongs to no request.
    ///
    /// # Panics
    ///
    /// If this is no HTTP client.
    pub async fn open_stream(&self) -> Result<(), Error> {
        self.endpoint().open_stream(&self.shared).await
    }

    /// Gives the session that an HTTP server opened for us.
    ///
    /// # Panics
    ///
    /// If this is no HTTP client.
    pub fn session(&self) -> Option<String> {
        self.endpoint().session()
    }

    /// Sends bytes as they are to a child's stdin.
    ///
    /// # Panics
    ///
    /// If this client has no child.
    pub async fn send_raw(&self, bytes: &[u8]) -> Result<(), Error> {
        self.pipe().write(bytes).await
    }

    /// Gives the process id of the child.
    ///
    /// # Panics
    ///
    /// If this client has no child.
    pub fn pid(&self) -> u32 {
        self.pipe().pid()
    }

    /// Gives what the child wrote to stderr, up to the first megabyte.
    ///
    /// # Panics
    ///
    /// If this client has no child.
    pub fn stderr(&self) -> String {
        self.pipe().stderr()
    }

    /// Gives the lines of the child that were no JSON.
    ///
    /// # Panics
    ///
    /// If this client has no child.
    pub fn strays(&self) -> Vec<String> {
        self.pipe().strays()
    }

    /// Ends the connection politely: closes stdin and waits for the child to exit, or
    /// ends the HTTP session.
    ///
    /// # Panics
    ///
    /// If the child does not exit within the client's patience.
    pub async fn close(self) -> Option<ExitStatus> {
        match self.transport {
            Transport::Stdio(pipe) => Some(pipe.close(PATIENCE).await),
            Transport::Http(endpoint) => {
                endpoint.end_session(&self.shared).await;
                None
            }
        }
    }

    /// Kills the child at once and waits until it is gone.
    ///
    /// # Panics
    ///
    /// If this client has no child.
    pub async fn kill9(self) {
        match self.transport {
            Transport::Stdio(pipe) => pipe.kill().await,
            Transport::Http(_) => panic!("an HTTP client has no child"),
        }
    }

    async fn send(&self, message: &Value) -> Result<(), Error> {
        match &self.transport {
            Transport::Stdio(pipe) => pipe.write(format!("{message}\n").as_bytes()).await,
            Transport::Http(endpoint) => endpoint.post(&self.shared, message).await,
        }
    }

    fn pipe(&self) -> &stdio::Pipe {
        match &self.transport {
            Transport::Stdio(pipe) => pipe,
            Transport::Http(_) => panic!("an HTTP client has no child"),
        }
    }

    fn endpoint(&self) -> &http::Endpoint {
        match &self.transport {
            Transport::Http(endpoint) => endpoint,
            Transport::Stdio(_) => panic!("a stdio client has no address"),
        }
    }
}

impl Pending {
    /// Gives the id that the request was sent with.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Waits for the result.
    pub async fn result(self) -> Result<Value, Error> {
        match timeout(PATIENCE, self.reply).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Error::Closed),
            Err(_) => Err(Error::Deadline),
        }
    }

    /// Says whether a reply has come, and takes it.
    pub fn reply_so_far(&mut self) -> Option<Result<Value, Error>> {
        self.reply.try_recv().ok()
    }
}

impl Era {
    fn dress(&self, mut params: Value) -> Value {
        if let Self::Modern { version, capabilities } = self {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!(version);
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "testkit", "version": "1"});
            // A test may have set its own for this one request.
            if meta.get("io.modelcontextprotocol/clientCapabilities").is_none() {
                meta["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
            }
        }
        params
    }
}

impl Shared {
    fn new() -> Self {
        let refuse = |method: &str, _: &Value| {
            Err(json!({"code": -32601, "message": format!("the test does not answer `{method}`")}))
        };
        Self {
            pending: Mutex::default(),
            received: watch::Sender::new(Vec::new()),
            answer: Mutex::new(Box::new(refuse)),
            era: Mutex::new(Era::Fresh),
        }
    }

    fn era(&self) -> Era {
        self.era.lock().clone()
    }

    fn set_era(&self, era: Era) {
        *self.era.lock() = era;
    }

    /// Takes one message in; gives the answer that is to be sent if it was a request.
    fn take(&self, message: Value) -> Option<Value> {
        if message.get("method").is_none()
            && let Some(waiting) = message["id"].as_u64().and_then(|id| self.pending.lock().remove(&id))
        {
            // The test may have dropped its side.
            drop(waiting.send(outcome(message)));
            return None;
        }
        let answer = match (message.get("id"), message["method"].as_str()) {
            (Some(id), Some(method)) => {
                let answer = self.answer.lock()(method, &message["params"]);
                Some(match answer {
                    Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                    Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
                })
            }
            _ => None,
        };
        self.received.send_modify(|all| all.push(message));
        answer
    }

    /// Ends one request, or all if `id` is none.
    fn fail(&self, id: Option<u64>, error: impl Fn() -> Error) {
        let mut pending = self.pending.lock();
        let failed: Vec<u64> = match id {
            Some(id) => vec![id],
            None => pending.keys().copied().collect(),
        };
        for id in failed {
            if let Some(waiting) = pending.remove(&id) {
                // The test may have dropped its side.
                drop(waiting.send(Err(error())));
            }
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shared").field("era", &self.era()).finish_non_exhaustive()
    }
}

fn outcome(mut message: Value) -> Result<Value, Error> {
    match message.get("error") {
        Some(error) => Err(Error::Rpc {
            code: error["code"].as_i64().unwrap_or(0),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
            data: error["data"].clone(),
        }),
        None => Ok(message["result"].take()),
    }
}
