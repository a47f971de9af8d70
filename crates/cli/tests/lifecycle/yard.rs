//! A home folder, servers in it, and the hub on them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use testkit::client::Client;
use testkit::processes::{self, Marker};
use testkit::{bin, wait_for, wait_until};
use toolyard_hub::store::{ServerStatus, Store};

/// A hang is a failure after this long.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// Marks the processes of one server of one yard.
const SERVER: &str = "YARD_SERVER";

/// Everything that one test has for itself.
pub(crate) struct Yard {
    home: TempDir,
    marker: Marker,
    servers: Map<String, Value>,
    settings: Map<String, Value>,
}

impl Yard {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        Self { home, marker: Marker::new(), servers: Map::new(), settings: Map::new() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.path("toolyard.json")
    }

    /// Where the hub keeps what it learnt.
    pub(crate) fn data(&self) -> PathBuf {
        self.path(".local/share/toolyard")
    }

    /// Adds or replaces a `fault-server` with these arguments; `more` are further keys of the configuration.
    pub(crate) fn server(&mut self, name: &str, args: &[&str], more: &Value) -> &mut Self {
        self.command(name, json!({ "command": bin("fault-server"), "args": args }), more)
    }

    /// Adds or replaces a `fault-server` that a shell script starts; in it `$server` is its path.
    pub(crate) fn script(&mut self, name: &str, script: &str, more: &Value) -> &mut Self {
        let script = format!(
            "server='{}'\ncd '{}'\n{script}",
            bin("fault-server").display(),
            self.home.path().display()
        );
        self.command(name, json!({ "command": "sh", "args": ["-c", script] }), more)
    }

    fn command(&mut self, name: &str, mut server: Value, more: &Value) -> &mut Self {
        server["env"] = json!({ (Marker::NAME): self.marker.value(), (SERVER): self.mark(name) });
        for (key, value) in more.as_object().into_iter().flatten() {
            match (server.get_mut(key), value) {
                (Some(Value::Object(there)), Value::Object(added)) => there.extend(added.clone()),
                _ => server[key] = value.clone(),
            }
        }
        self.servers.insert(name.to_owned(), server);
        self
    }

    pub(crate) fn remove(&mut self, name: &str) -> &mut Self {
        self.servers.remove(name);
        self
    }

    /// Sets a key beside `mcpServers`.
    pub(crate) fn set(&mut self, key: &str, value: Value) -> &mut Self {
        self.settings.insert(key.to_owned(), value);
        self
    }

    /// Writes the settings file. It is replaced as a whole, as editors do it.
    pub(crate) fn write(&self) {
        let mut settings = self.settings.clone();
        settings.insert("mcpServers".to_owned(), Value::Object(self.servers.clone()));
        self.write_text(&Value::Object(settings).to_string());
    }

    pub(crate) fn write_text(&self, text: &str) {
        let fresh = self.path("toolyard.json.new");
        fs::write(&fresh, text).unwrap();
        fs::rename(fresh, self.config()).unwrap();
    }

    /// Makes the command `toolyard serve` on the settings file.
    pub(crate) fn serve(&self, args: &[&str]) -> Command {
        self.write();
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
        command.arg("serve").arg("--config").arg(self.config()).args(args);
        self.settle(&mut command);
        command
    }

    /// Gives a command the yard's home and nothing else of the person who runs the tests.
    pub(crate) fn settle(&self, command: &mut Command) {
        command
            .current_dir(self.home.path())
            .env("HOME", self.home.path())
            .env(Marker::NAME, self.marker.value());
        for name in [
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
            "XDG_CACHE_HOME",
            "TOOLYARD_CONFIG",
            "DBUS_SESSION_BUS_ADDRESS",
        ] {
            command.env_remove(name);
        }
    }

    /// Starts the hub with every tool listed, and opens a session.
    pub(crate) async fn open(&self) -> Client {
        self.open_on(&["--surface", "all"], json!({})).await
    }

    pub(crate) async fn open_on(&self, args: &[&str], capabilities: Value) -> Client {
        let client = Client::spawn(self.serve(args));
        client.initialize("2025-11-25", capabilities).await.unwrap();
        client
    }

    /// Starts the hub over HTTP; gives its process and its address.
    pub(crate) async fn listen(&self) -> (Client, String) {
        let hub = Client::spawn(self.serve(&["--surface", "all", "--http", "127.0.0.1:0"]));
        let url = wait_for(SOON, || {
            let said = hub.stderr();
            let mut lines = said.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
            std::future::ready(lines.find_map(|line| Some(line.strip_prefix("toolyard serves ")?.to_owned())))
        })
        .await;
        (hub, url)
    }

    /// Lists the processes of one server that run.
    pub(crate) fn running(&self, server: &str) -> Vec<u32> {
        processes::with_env(SERVER, &self.mark(server))
    }

    /// Lists all processes of the yard that run: the hub, its watchdog, servers and what they started.
    pub(crate) fn processes(&self) -> Vec<u32> {
        self.marker.alive()
    }

    fn mark(&self, server: &str) -> String {
        format!("{}-{server}", self.marker.value())
    }

    /// Waits until nothing of the yard runs.
    pub(crate) async fn deserted(&self) {
        wait_until(SOON, || self.processes().is_empty()).await;
    }

    /// Waits until the hub says of a server what `fits`.
    pub(crate) async fn status(&self, server: &str, fits: impl Fn(&ServerStatus) -> bool) -> ServerStatus {
        let last = Mutex::new(None);
        let found = wait_for(2 * SOON, || {
            let hubs = Store::open(&self.data()).statuses();
            let status = hubs.into_iter().flat_map(|hub| hub.servers).find(|it| it.name == server);
            last.lock().clone_from(&status);
            std::future::ready(status.filter(&fits))
        });
        let found = tokio::time::timeout(SOON, found).await;
        found.unwrap_or_else(|_| panic!("the status of `{server}` stays {:#?}", last.lock()))
    }

    /// Waits until the hub has learnt what a server offers.
    pub(crate) async fn learnt(&self, server: &str) {
        self.status(server, |status| status.tools.is_some()).await;
    }

    /// Gives the log of a server.
    pub(crate) fn log(&self, server: &str) -> String {
        fs::read_to_string(self.data().join(format!("logs/{server}.log"))).unwrap_or_default()
    }
}

/// Gives the names of all tools that are listed.
pub(crate) async fn names(client: &Client) -> Vec<String> {
    let tools = client.tools().await.unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Waits until tools are listed whose names fit.
pub(crate) async fn listed(client: &Client, fits: impl Fn(&[String]) -> bool) {
    let fits = &fits;
    wait_for(SOON, || async move { fits(&names(client).await).then_some(()) }).await;
}

/// Waits until a tool is listed.
pub(crate) async fn appears(client: &Client, tool: &str) {
    listed(client, |names| names.iter().any(|name| name == tool)).await;
}

/// Calls a tool that must fail, and gives what it tells the model.
pub(crate) async fn failure(client: &Client, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments).await.unwrap_or_else(|error| panic!("{tool}: {error}"));
    assert_eq!(result["isError"], true, "{tool} answered {result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// Asks a server for its process id.
pub(crate) async fn pid(client: &Client, server: &str) -> u32 {
    client.text(&format!("{server}__pid"), json!({})).await.parse().unwrap()
}

/// Reads how much memory a process holds, in bytes.
pub(crate) fn memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Counts the lines of a file that contain a text.
pub(crate) fn lines_with(path: &Path, text: &str) -> usize {
    fs::read_to_string(path).unwrap_or_default().lines().filter(|line| line.contains(text)).count()
}
