//! Serve, what it refuses, and what it notices.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Stdio};
use std::time::Duration;

use serde_json::Value;
use testkit::wait_until;

use crate::place::Place;

const DEADLINE: Duration = Duration::from_secs(30);

#[test]
fn an_address_for_everybody_needs_a_token() {
    insta::assert_snapshot!(Place::new().run(&["serve", "--http", "0.0.0.0:0"]), @"
    [stderr]
    error: 0.0.0.0:0 can be reached from outside, and no token protects it
      hint: `toolyard client add NAME` makes a token, or set `serve.token` in the configuration, or bind to 127.0.0.1
    [exit 2]
    ");
}

#[tokio::test]
async fn status_shows_the_hubs_that_run() {
    let place = Place::with(r#"{ "mcpServers": { "good": { "command": "FAULT" } } }"#);
    let hub = Hub::serve(&place);
    wait_until(DEADLINE, || servers(&place) == ["good 24 stopped"]).await;
    wait_until(DEADLINE, || understood(&place)).await;
    let seen = place.run(&["status"]);
    let seen = seen.replace(&hub.address, "[ADDRESS]").replace(&hub.child.id().to_string(), "[PID]");
    insta::assert_snapshot!(seen, @"
    hub at [ADDRESS]  (process [PID], [HOME]/config/toolyard/toolyard.json)
      server  transport  state    tools
      good    stdio      stopped  24
      meaning: 24 of 24 texts read by toolyard-router
    [exit 0]
    ");
    drop(hub);
    assert_eq!(place.json(&["status", "--json"]).0["hubs"], Value::Array(vec![]));
}

/// Whether every text of the one hub that runs has a vector.
fn understood(place: &Place) -> bool {
    let meaning = &place.json(&["status", "--json"]).0["hubs"][0]["meaning"];
    meaning["all"] != 0 && meaning["known"] == meaning["all"]
}

#[tokio::test]
async fn a_change_of_the_file_is_in_force_without_a_restart() {
    let place = Place::with(r#"{ "mcpServers": { "one": { "command": "FAULT" } } }"#);
    let mut hub = Hub::serve(&place);
    wait_until(DEADLINE, || servers(&place) == ["one 24 stopped"]).await;
    // The same length, so that only the content tells.
    place.configure(r#"{ "mcpServers": { "two": { "command": "FAULT" } } }"#);
    wait_until(DEADLINE, || servers(&place) == ["two 24 stopped"]).await;
    // A mistake changes nothing, and the next good text counts again.
    place.configure(r#"{ "mcpServers": { "two": "#);
    while !hub.next_line().contains("toolyard.json:1:") {}
    assert_eq!(servers(&place), ["two 24 stopped"]);
    place.configure(r#"{ "mcpServers": { "two": { "command": "FAULT" }, "time": { "builtin": "time" } } }"#);
    wait_until(DEADLINE, || servers(&place) == ["time 4 stopped", "two 24 stopped"]).await;
}

#[tokio::test]
async fn a_first_file_is_noticed() {
    let place = Place::new();
    let _hub = Hub::serve(&place);
    wait_until(DEADLINE, || servers(&place) == ["notes 6 stopped", "time 4 stopped"]).await;
    place.output(&["remove", "notes"]);
    wait_until(DEADLINE, || servers(&place) == ["time 4 stopped"]).await;
}

/// A hub that serves over HTTP until it is dropped.
pub(crate) struct Hub {
    child: Child,
    said: BufReader<ChildStderr>,
    pub(crate) address: String,
}

impl Hub {
    pub(crate) fn serve(place: &Place) -> Self {
        let mut command = place.command(&["serve", "--http", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        let mut hub = Self { child, said, address: String::new() };
        hub.address = hub.next_line().trim().strip_prefix("toolyard serves ").unwrap().to_owned();
        hub
    }

    pub(crate) fn kill9(mut self) {
        self.child.kill().unwrap();
    }

    /// The next line on its stderr.
    fn next_line(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.said.read_line(&mut line).unwrap(), 0, "the hub ended");
        line
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        testkit::processes::terminate(self.child.id());
        self.child.wait().unwrap();
    }
}

/// The servers of the one hub that runs, with their number of tools and state.
fn servers(place: &Place) -> Vec<String> {
    // Hubs are known by the store, so the file that the hub runs on may have mistakes.
    place.write("desk/none.json", "{}");
    let (status, _) = place.json(&["status", "--json", "--config", "none.json"]);
    let servers = status["hubs"][0]["servers"].as_array().into_iter().flatten();
    let told = |it: &Value| format!("{} {} {}", text(&it["name"]), it["tools"], text(&it["state"]));
    servers.map(told).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}
