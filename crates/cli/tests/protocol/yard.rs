//! A hub in a folder of its own, and the clients that meet it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::client::{Client, Error};
use testkit::{bin, processes, wait_for, wait_until};

/// Long enough for a slow machine; nothing waits this long when all is well.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// The newest version with sessions.
pub(crate) const SESSION: &str = "2025-11-25";

/// A configuration and everything that hubs keep beside it.
pub(crate) struct Yard {
    folder: TempDir,
    servers: Vec<String>,
    kept: Vec<TempDir>,
}

impl Yard {
    /// Writes a configuration; the store is put beside it.
    pub(crate) fn new(config: Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let servers = config["mcpServers"].as_object().unwrap().keys().cloned().collect();
        let yard = Self { folder, servers, kept: Vec::new() };
        yard.change(config);
        yard
    }

    /// Writes another configuration in the place of the first.
    pub(crate) fn change(&self, mut config: Value) {
        config["store"] = json!({"folder": "store"});
        // Vectors are waited for twenty times as long; what is usual is too short for a busy machine.
        let performance = &mut config["routing"]["performance"];
        if performance.get("maxRoutingTime").is_none() {
            performance["maxRoutingTime"] = json!(1000);
        }
        std::fs::write(self.path().join("toolyard.json"), config.to_string()).unwrap();
    }

    /// Has these servers and nothing else to say.
    pub(crate) fn of(servers: Value) -> Self {
        Self::new(json!({"mcpServers": servers}))
    }

    /// Keeps a folder that a server needs for as long as the yard.
    pub(crate) fn keep(mut self, folder: TempDir) -> Self {
        self.kept.push(folder);
        self
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Gives the command `toolyard` with these arguments.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
        command.args(args).arg("--config").arg(self.path().join("toolyard.json"));
        command.env("HOME", self.path()).current_dir(self.path());
        command
    }

    /// Starts a hub that serves its own pipes.
    pub(crate) fn stdio(&self, args: &[&str]) -> Client {
        Client::spawn(self.command(&[&["serve", "--stdio"], args].concat()))
    }

    /// Starts a hub that lists every tool, with a client in a session.
    pub(crate) async fn session(&self, capabilities: Value) -> Client {
        let client = self.stdio(&["--surface", "all"]);
        client.initialize(SESSION, capabilities).await.unwrap();
        client
    }

    /// Starts a hub that lists every tool, with a client that needs no session.
    pub(crate) fn modern(&self, capabilities: Value) -> Client {
        let client = self.stdio(&["--surface", "all"]);
        client.modern(capabilities);
        client
    }

    /// Starts a hub that serves HTTP.
    pub(crate) fn http(&self, args: &[&str]) -> Served {
        Served::start(self.command(&[&["serve", "--http", "127.0.0.1:0"], args].concat()))
    }

    /// Starts a hub that serves HTTP at an address.
    pub(crate) fn http_at(&self, address: &str) -> Served {
        Served::start(self.command(&["serve", "--http", address]))
    }

    /// Runs a hub until it knows the tools of every server, so that the next one starts
    /// them only when they are needed.
    pub(crate) async fn learnt(self) -> Self {
        self.learnt_within(SOON).await
    }

    /// Does the same for servers that take long to start.
    pub(crate) async fn learnt_within(self, patience: Duration) -> Self {
        let served = self.http(&["--surface", "all"]);
        let client = served.modern("", json!({}));
        for server in &self.servers {
            let prefix = format!("{server}__");
            wait_for(patience, || async {
                let tools = client.tools().await.unwrap();
                let is_listed = tools.iter().any(|tool| named(tool).starts_with(&prefix));
                // What is kept apart is listed when it is asked for.
                let asked = client.call("find_tools", json!({"server": server})).await;
                (is_listed || asked.is_ok_and(|found| text(&found).starts_with(&prefix))).then_some(())
            })
            .await;
        }
        served.terminate().await;
        self
    }
}

/// A hub that serves HTTP; dropping it kills it.
pub(crate) struct Served {
    child: Child,
    pub(crate) url: String,
    stderr: Arc<Mutex<String>>,
}

impl Served {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = Arc::new(Mutex::new(String::new()));
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let url = lines
            .by_ref()
            .inspect(|line| note(&stderr, line))
            .find_map(|line| Some(line.strip_prefix("toolyard serves ")?.to_owned()));
        let url = url.unwrap_or_else(|| panic!("the hub did not start: {}", stderr.lock()));
        let kept = Arc::clone(&stderr);
        // The rest is taken too, so that the hub is never stuck on a full pipe.
        std::thread::spawn(move || lines.for_each(|line| note(&kept, &line)));
        Self { child, url, stderr }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn stderr(&self) -> String {
        self.stderr.lock().clone()
    }

    /// Gives the address of a profile, or of none.
    pub(crate) fn at(&self, profile: &str) -> String {
        if profile.is_empty() { self.url.clone() } else { format!("{}/{profile}", self.url) }
    }

    /// Opens a session.
    pub(crate) async fn session(&self, profile: &str, capabilities: Value) -> Client {
        let client = Client::http(&self.at(profile), &[]);
        client.initialize(SESSION, capabilities).await.unwrap();
        client
    }

    /// Speaks without a session.
    pub(crate) fn modern(&self, profile: &str, capabilities: Value) -> Client {
        let client = Client::http(&self.at(profile), &[]);
        client.modern(capabilities);
        client
    }

    /// Asks the hub to end and waits until it has; gives what it said.
    pub(crate) async fn terminate(mut self) -> String {
        processes::terminate(self.pid());
        wait_until(SOON, || self.child.try_wait().unwrap().is_some()).await;
        self.stderr()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended on its own.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn note(kept: &Mutex<String>, line: &str) {
    let mut kept = kept.lock();
    kept.push_str(line);
    kept.push('\n');
}

/// Gives the configuration of a good server with these arguments.
pub(crate) fn good(args: &[&str]) -> Value {
    json!({"command": bin("fault-server"), "args": args})
}

/// Gives the name in a definition.
pub(crate) fn named(definition: &Value) -> &str {
    definition["name"].as_str().unwrap_or_default()
}

/// Gives the text of a result's first content.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}

/// Waits until a tool is listed.
pub(crate) async fn listed(client: &Client, tool: &str) {
    let is_there =
        || async { client.tools().await.unwrap().iter().any(|it| named(it) == tool).then_some(()) };
    wait_for(SOON, is_there).await;
}

/// Gives code, message and data of an error.
pub(crate) fn refusal(outcome: Result<Value, Error>) -> (i64, String, Value) {
    match outcome {
        Err(Error::Rpc { code, message, data }) => (code, message, data),
        other => panic!("no JSON-RPC error: {other:?}"),
    }
}
