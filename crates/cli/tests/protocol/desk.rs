//! The desk of the seed: eleven servers with 75 tools, each a process of its own.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use testkit::bin;
use testkit::client::Client;
use testkit::wait_for;

use crate::shelf::route;
use crate::yard::{SESSION, SOON, Yard};

/// The desk with a hub on it, and a folder where its servers leave traces.
pub(crate) struct Desk {
    pub(crate) yard: Yard,
    traces: PathBuf,
}

impl Desk {
    /// Sets the desk up and lets a hub learn it and what its tools mean.
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let traces = folder.path().to_owned();
        let yard = Yard::of(Value::Object(servers(&traces))).keep(folder).learnt().await;
        // A single command waits longer for what compares meanings than a serving hub does.
        let known = yard.command(&["route", "--dry-run", "Search my notes for AI"]).output();
        assert!(known.unwrap().status.code().is_some());
        Self { yard, traces }
    }

    /// Adds a server that the hub has not learnt yet.
    pub(crate) fn add(&self, name: &str, server: Value) {
        let mut servers = servers(&self.traces);
        servers.insert(name.to_owned(), server);
        self.yard.change(json!({"mcpServers": servers}));
    }

    /// Gives the hub these settings of routing, for those who come after.
    pub(crate) fn routes_with(&self, routing: Value) {
        self.yard.change(json!({"mcpServers": servers(&self.traces), "routing": routing}));
    }

    /// Makes a server break on whatever it is asked, until it is mended.
    pub(crate) fn breaks(&self, server: &str) {
        std::fs::write(broken(&self.traces, server), "").unwrap();
    }

    pub(crate) fn mend(&self, server: &str) {
        std::fs::remove_file(broken(&self.traces, server)).unwrap();
    }

    /// Lists the calls that a server got: names and arguments.
    pub(crate) fn calls(&self, server: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(calls(&self.traces, server)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Opens a session.
    pub(crate) async fn session(&self) -> Client {
        let client = self.yard.stdio(&[]);
        client.initialize(SESSION, json!({})).await.unwrap();
        client
    }

    /// Speaks without a session, so that no request depends on one before it.
    pub(crate) fn modern(&self) -> Client {
        let client = self.yard.stdio(&[]);
        client.modern(json!({}));
        client
    }
}

/// Waits until the hub compares the meanings of all tools; before, it decides by words or by some of them.
pub(crate) async fn understood(client: &Client) {
    let asked = json!({"task": "Search my notes for AI", "options": {"dryRun": true, "explain": true}});
    wait_for(4 * SOON, || async {
        let found = client.call("find_tools", json!({"query": "Search my notes for AI"})).await.unwrap();
        let seen = route(client, asked.clone()).await.to_string();
        (!found.to_string().contains("Still learning") && seen.contains("means what")).then_some(())
    })
    .await;
}

fn servers(traces: &Path) -> Map<String, Value> {
    let entry = |name: &str| {
        let (calls, broken) = (calls(traces, name), broken(traces, name));
        json!({
            "command": bin("seed-server"),
            "args": [name, "--calls", calls, "--broken", broken]
        })
    };
    testkit::seed::desk().into_iter().map(|part| (part.server.clone(), entry(&part.server))).collect()
}

fn calls(traces: &Path, server: &str) -> PathBuf {
    traces.join(format!("{server}.calls"))
}

fn broken(traces: &Path, server: &str) -> PathBuf {
    traces.join(format!("{server}.broken"))
}
