//! One client that takes whatever it can get, and others that must not notice.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};
use testkit::client::Client;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::yard::{SOON, Yard, appears, memory};

/// Calls of the other client before and during the pressure.
const CALLS: usize = 200;

#[tokio::test]
async fn t27_a_client_that_takes_all_it_can_get_makes_no_call_of_another_fail() {
    let pressure = Pressure::new().await;
    let (before, during) = pressure.measured().await;
    assert_eq!((before.len(), during.len()), (CALLS, CALLS));
}

#[tokio::test]
#[ignore = "compares times, for a machine that does nothing else: cargo nextest run -p toolyard --run-ignored only \
            -E 'test(t27_p99_under_pressure)' --no-capture"]
async fn t27_p99_under_pressure_stays_within_twice_what_it_was() {
    let pressure = Pressure::new().await;
    let (before, during) = pressure.measured().await;
    let (quiet, pressed) = (percentile(&before, 99), percentile(&during, 99));
    let medians = (percentile(&before, 50), percentile(&during, 50));
    say(&format!("p50 {medians:?}, p99 {quiet:?} before and {pressed:?} during"));
    assert!(pressed <= 2 * quiet, "p99 was {quiet:?} and is {pressed:?}");
}

#[tokio::test]
async fn m2_idle_connections_make_room_for_others() {
    let (_yard, _hub, address, grace) = served(json!({ "connections": 8 }), &json!({})).await;
    let mut idle = Vec::new();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: loc").await.unwrap();
        idle.push(stream);
    }
    for _ in 0..20 {
        assert_eq!(grace.text("good__echo", json!({ "text": "hi" })).await, "hi");
    }
    let ended = tokio::time::timeout(SOON, idle[0].read(&mut [0; 100])).await.unwrap();
    assert!(!ended.is_ok_and(|bytes| bytes > 0), "the oldest was given up");
}

#[tokio::test]
async fn m2_hung_calls_of_one_client_leave_room_for_others_at_the_door_and_at_the_server() {
    let serve = json!({ "concurrency": 16, "clientConcurrency": 8 });
    let (_yard, _hub, address, grace) = served(serve, &json!({})).await;
    let ada = session(&address).await;
    let mut hung = Vec::new();
    for id in 0..100 {
        hung.push(post(&address, &[&ada], &call(id, "good__hang", json!({}))).await);
    }
    for _ in 0..20 {
        assert_eq!(grace.text("good__echo", json!({ "text": "hi" })).await, "hi");
    }
}

#[tokio::test]
async fn m2_clients_that_do_not_read_hold_a_bounded_part_of_memory() {
    let (_yard, hub, address, grace) = served(json!({}), &json!({})).await;
    let ada = session(&address).await;
    let before = memory(hub.pid());
    let mut stalled = Vec::new();
    for id in 0..40 {
        stalled.push(post(&address, &[&ada], &call(id, "good__big", json!({ "bytes": 12_000_000 }))).await);
    }
    let mut most = 0;
    for _ in 0..200 {
        assert_eq!(grace.text("good__echo", json!({ "text": "hi" })).await, "hi");
        most = most.max(memory(hub.pid()));
    }
    let held = most.saturating_sub(before) / 1_000_000;
    say(&format!("480 MB were asked for and not read, and the hub held {held} MB more at most"));
    assert!(held < 400, "480 MB were asked for and not read, and the hub holds {held} MB");
}

#[tokio::test]
async fn m1_questions_that_one_client_leaves_unanswered_cost_nobody_else_theirs() {
    let mut yard = Yard::new();
    yard.server("good", &[], &json!({ "limits": { "concurrency": 2000 } }));
    yard.server("twin", &[], &json!({}));
    let (_hub, url) = yard.listen().await;
    let grace = Client::http(&url, &[]);
    grace.initialize("2025-11-25", json!({ "elicitation": {} })).await.unwrap();
    grace.answer_with(|_, _| Ok(json!({ "action": "accept", "content": { "name": "Grace" } })));
    appears(&grace, "good__ask").await;
    appears(&grace, "twin__ask").await;
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let ada = session(address).await;
    let mut unanswered = Vec::new();
    for id in 0..300 {
        unanswered.push(post(address, &[&ada], &call(id, "good__ask", json!({}))).await);
    }
    for _ in 0..10 {
        assert_eq!(grace.text("good__echo", json!({ "text": "hi" })).await, "hi");
        assert!(grace.text("twin__ask", json!({})).await.contains("Grace"));
    }
}

#[tokio::test]
async fn m1_ending_a_session_ends_its_calls_and_their_questions() {
    let (_yard, _hub, address, grace) = served(json!({}), &json!({})).await;
    let ada = session(&address).await;
    let mut asking = post(&address, &[&ada], &call(1, "good__ask", json!({}))).await;
    heard(&mut asking, "elicitation/create").await;
    let path = "DELETE /mcp HTTP/1.1\r\nContent-Length: 0";
    let mut deleting = request(&address, path, &[&ada], "").await;
    heard(&mut deleting, "204 No Content").await;
    wait_until_cancelled(&grace, 1).await;
}

#[tokio::test]
async fn m6_a_flood_of_progress_reaches_the_client_as_a_trickle_that_ends_with_the_newest() {
    let (_yard, _hub, _address, grace) = served(json!({}), &json!({})).await;
    let steps = 5000;
    let params = json!({ "name": "good__progress", "arguments": { "steps": steps, "ms": 0 }, "_meta": { "progressToken": 7 } });
    grace.request("tools/call", params).await.unwrap();
    let heard = grace.notifications();
    let progress: Vec<&Value> =
        heard.iter().filter(|it| it["method"] == "notifications/progress").map(|it| &it["params"]).collect();
    assert!(progress.len() < 2000, "{} of {steps} reports", progress.len());
    assert_eq!(progress.last().map(|it| &it["progress"]), Some(&json!(steps)));
    assert!(progress.iter().all(|it| it["progressToken"] == 7));
}

#[tokio::test]
async fn t27_a_session_that_ended_is_over_after_a_restart_too() {
    let mut yard = Yard::new();
    yard.server("good", &[], &json!({}));
    let (hub, url) = yard.listen().await;
    let [ada, grace] = [Client::http(&url, &[]), Client::http(&url, &[])];
    for client in [&ada, &grace] {
        client.initialize("2025-11-25", json!({})).await.unwrap();
    }
    let (ended, kept) = (ada.session().unwrap(), grace.session().unwrap());
    ada.close().await;
    hub.kill9().await;
    let (hub, url) = yard.listen().await;
    let list = |session: String| {
        let client = Client::http(&url, &[("mcp-session-id", &session)]);
        async move { client.request("tools/list", json!({})).await }
    };
    assert!(list(ended).await.is_err());
    assert!(list(kept).await.is_ok(), "one that did not end goes on");
    hub.kill9().await;
}

#[tokio::test]
async fn t27_a_hub_that_was_stopped_for_a_while_blames_no_server() {
    let (_yard, hub, _address, grace) = served(json!({}), &json!({ "limits": { "callMs": 4000 } })).await;
    let grace = Arc::new(grace);
    let mut sleeping = JoinSet::new();
    for _ in 0..6 {
        let grace = Arc::clone(&grace);
        sleeping.spawn(async move { grace.text("good__sleep", json!({ "ms": 1000 })).await });
    }
    // The answer shows that the others are with the server.
    assert_eq!(grace.text("good__echo", json!({ "text": "hi" })).await, "hi");
    let signal = |name: &str| Command::new("kill").args([name, &hub.pid().to_string()]).status().unwrap();
    assert!(signal("-STOP").success());
    // Longer than any call may take.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(signal("-CONT").success());
    assert!(sleeping.join_all().await.iter().all(|said| said == "slept"));
    assert_eq!(grace.text("good__echo", json!({ "text": "hi" })).await, "hi");
}

#[tokio::test]
async fn t27_a_workflow_can_be_called_by_name_right_after_the_first_start() {
    let mut yard = Yard::new();
    yard.script("slow", "sleep 1; exec \"$server\"", &json!({}));
    let workflow = json!({
        "name": "greet", "description": "Greets.",
        "steps": [{ "name": "say", "tool": "slow__echo", "arguments": { "text": "hi" } }],
    });
    std::fs::create_dir(yard.path("workflows")).unwrap();
    std::fs::write(yard.path("workflows/greet.json"), workflow.to_string()).unwrap();
    let client = yard.open_on(&["--surface", "route"], json!({})).await;
    let result = client.call("workflows__greet", json!({})).await.unwrap();
    assert_ne!(result["isError"], true, "{result}");
}

#[tokio::test]
async fn t27_a_transparent_profile_refuses_what_is_denied_in_other_letters_too() {
    let mut yard = Yard::new();
    yard.server("good", &[], &json!({}));
    yard.set("serve", json!({ "profiles": { "plain": { "transparent": "good" } } }));
    yard.set("policy", json!({ "deny": ["good__Echo"] }));
    let (_hub, url) = yard.listen().await;
    let client = Client::http(&format!("{url}/plain"), &[]);
    client.initialize("2025-11-25", json!({})).await.unwrap();
    for name in ["echo", "ECHO", "Echo"] {
        let refused = client.call(name, json!({ "text": "hi" })).await.unwrap_err().to_string();
        assert!(refused.contains("policy.deny"), "{name}: {refused}");
    }
}

/// A client that presses, and another that measures.
struct Pressure {
    _yard: Yard,
    _hub: Client,
    address: String,
    grace: Client,
}

impl Pressure {
    async fn new() -> Self {
        // Thousands of connections are more files than many systems allow at first; the hub inherits the limit.
        let mut files = getrlimit(Resource::Nofile);
        files.current = files.maximum;
        setrlimit(Resource::Nofile, files).unwrap();
        let (yard, hub, address, grace) = served(json!({}), &json!({})).await;
        Self { _yard: yard, _hub: hub, address, grace }
    }

    /// Measures the calls of one client before and while another presses.
    async fn measured(&self) -> (Vec<Duration>, Vec<Duration>) {
        self.calls().await;
        let before = self.calls().await;
        let ada = session(&self.address).await;
        let mut held = Vec::new();
        for _ in 0..1000 {
            held.push(TcpStream::connect(&self.address).await.unwrap());
            let mut half = TcpStream::connect(&self.address).await.unwrap();
            half.write_all(b"POST /mcp HTTP/1.1\r\nHost: loc").await.unwrap();
            held.push(half);
        }
        for id in 0..12 {
            let big = call(id, "good__big", json!({ "bytes": 8_000_000 }));
            held.push(post(&self.address, &[&ada], &big).await);
        }
        for id in 0..600 {
            held.push(post(&self.address, &[&ada], &call(1000 + id, "good__hang", json!({}))).await);
        }
        for id in 0..1000 {
            held.push(question(&self.address, 2000 + id).await);
        }
        let during = self.calls().await;
        drop(held);
        (before, during)
    }

    async fn calls(&self) -> Vec<Duration> {
        let mut took = Vec::new();
        for _ in 0..CALLS {
            let start = Instant::now();
            assert_eq!(self.grace.text("good__echo", json!({ "text": "hi" })).await, "hi");
            took.push(start.elapsed());
        }
        took.sort();
        took
    }
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

#[expect(clippy::print_stderr, reason = "whoever runs the measurement wants to see it")]
fn say(text: &str) {
    eprintln!("{text}");
}

/// Starts a hub with one good server; gives its address and a client with a session.
async fn served(serve: Value, server: &Value) -> (Yard, Client, String, Client) {
    let mut yard = Yard::new();
    yard.server("good", &[], server);
    yard.set("serve", serve);
    let (hub, url) = yard.listen().await;
    let grace = Client::http(&url, &[]);
    grace.initialize("2025-11-25", json!({})).await.unwrap();
    appears(&grace, "good__echo").await;
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    (yard, hub, address, grace)
}

/// Opens a session that can be asked, and gives its header.
async fn session(address: &str) -> String {
    let client = Client::http(&format!("http://{address}/mcp"), &[]);
    client.initialize("2025-11-25", json!({ "elicitation": {} })).await.unwrap();
    format!("Mcp-Session-Id: {}", client.session().unwrap())
}

#[expect(clippy::needless_pass_by_value, reason = "tests write JSON where they pass it")]
fn call(id: u64, tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

/// Sends a request whose answer nobody reads.
async fn post(address: &str, headers: &[&str], message: &Value) -> TcpStream {
    let body = message.to_string();
    let start = format!("POST /mcp HTTP/1.1\r\nContent-Length: {}", body.len());
    request(address, &start, headers, &body).await
}

/// Sends a modern request that asks something back.
async fn question(address: &str, id: u64) -> TcpStream {
    let mut message = call(id, "good__ask", json!({}));
    message["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "ada", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    let headers = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: good__ask"];
    post(address, &headers, &message).await
}

async fn request(address: &str, start: &str, headers: &[&str], body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let head = format!(
        "{start}\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}\r\n{body}"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// Reads until a text has come.
async fn heard(stream: &mut TcpStream, text: &str) {
    let mut all = Vec::new();
    let reading = async {
        let mut some = [0; 1024];
        while !String::from_utf8_lossy(&all).contains(text) {
            let bytes = stream.read(&mut some).await.unwrap();
            assert!(bytes > 0, "the stream ended with {}", String::from_utf8_lossy(&all));
            all.extend_from_slice(&some[..bytes]);
        }
    };
    tokio::time::timeout(SOON, reading).await.unwrap_or_else(|_| panic!("`{text}` does not come"));
}

/// Waits until the server was told that so many calls are not waited for any more.
async fn wait_until_cancelled(client: &Client, count: usize) {
    testkit::wait_for(SOON, || async {
        let cancelled = client.text("good__cancelled", json!({})).await;
        let cancelled: Vec<Value> = serde_json::from_str(&cancelled).unwrap();
        (cancelled.len() >= count).then_some(())
    })
    .await;
}
