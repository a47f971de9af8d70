//! Every fault shows: a fault that nobody can see would prove nothing.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::client::{Client, Error, Pending};
use testkit::fault::Fault;
use testkit::processes::{self, Marker};
use testkit::{bin, wait_until};

const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn every_fault_is_listed_by_name() {
    let output = std::process::Command::new(bin("fault-server")).arg("--list-faults").output().unwrap();
    let listed: Vec<String> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(listed, Fault::ALL.map(Fault::name));
    assert_eq!(listed.iter().collect::<HashSet<_>>().len(), Fault::ALL.len());
}

#[tokio::test]
async fn an_unknown_fault_is_refused() {
    let output = std::process::Command::new(bin("fault-server")).args(["--fault", "odd"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(output.stderr, b"fault-server: `odd` is not a fault; see --list-faults\n");
}

#[tokio::test]
async fn silent_reads_and_never_answers() {
    let client = start(Fault::Silent);
    let mut pending = hello(&client).await;
    stuff(&client).await;
    assert!(client.close().await.unwrap().success());
    assert!(matches!(pending.reply_so_far(), Some(Err(Error::Closed))));
}

#[tokio::test]
async fn garbage_stands_between_valid_messages() {
    let client = greeted(Fault::Garbage, &[]).await;
    assert_eq!(client.text("echo", json!({"text": "hi"})).await, "hi");
    assert!(client.strays().contains(&"Listening on stdio, have fun!".to_owned()));
}

#[tokio::test]
async fn half_lines_make_whole_messages() {
    let client = greeted(Fault::HalfLine, &[]).await;
    assert_eq!(client.text("echo", json!({"text": "hi"})).await, "hi");
}

#[tokio::test]
async fn replies_without_a_newline_run_into_each_other() {
    let client = start(Fault::NoNewline);
    hello(&client).await;
    client.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"ping\"}\n").await.unwrap();
    assert!(matches!(client.call("die", json!({})).await, Err(Error::Closed)));
    let line = &client.strays()[0];
    assert_eq!((line.matches("jsonrpc").count(), line.contains('\n')), (2, false));
}

#[tokio::test]
async fn deaf_lets_its_pipe_fill_up() {
    let deaf = start(Fault::Deaf);
    // The time only has to be more than a server that reads would need.
    assert!(tokio::time::timeout(Duration::from_secs(2), stuff(&deaf)).await.is_err());
    deaf.kill9().await;
}

#[tokio::test]
async fn huge_reply_is_50_megabytes() {
    let client = greeted(Fault::HugeReply, &[]).await;
    let tools = client.tools().await.unwrap();
    assert!(tools.last().unwrap()["description"].as_str().unwrap().len() >= 50_000_000);
}

#[tokio::test]
async fn deep_schema_is_deeper_than_parsers_go() {
    let client = greeted(Fault::DeepSchema, &[]).await;
    let _pending = client.start("tools/list", json!({})).await.unwrap();
    wait_until(SOON, || !client.strays().is_empty()).await;
    assert!(client.strays()[0].matches(r#""properties":{"in":"#).count() >= 3_000);
}

#[tokio::test]
async fn many_tools_are_20_000() {
    let client = greeted(Fault::ManyTools, &[]).await;
    assert_eq!(client.tools().await.unwrap().len(), 20_000);
}

#[tokio::test]
async fn a_repeating_cursor_leads_to_itself() {
    let client = greeted(Fault::RepeatingCursor, &[]).await;
    let first = client.request("tools/list", json!({})).await.unwrap();
    let second = client.request("tools/list", json!({"cursor": first["nextCursor"]})).await.unwrap();
    assert_eq!(first["nextCursor"], second["nextCursor"]);
    assert!(first["nextCursor"].is_string());
}

#[tokio::test]
async fn an_endless_cursor_is_always_new() {
    let client = greeted(Fault::EndlessCursor, &[]).await;
    let mut cursors = HashSet::new();
    let mut params = json!({});
    for _ in 0..50 {
        let page = client.request("tools/list", params).await.unwrap();
        assert!(cursors.insert(page["nextCursor"].as_str().unwrap().to_owned()));
        params = json!({"cursor": page["nextCursor"]});
    }
}

#[tokio::test]
async fn forks_has_a_grandchild_at_once_that_ignores_sigterm() {
    let marker = Marker::new();
    let client = Client::stdio(bin("fault-server"), &["--fault", "forks"], &[(Marker::NAME, marker.value())]);
    client.initialize("2025-11-25", json!({})).await.unwrap();
    let grandchildren = processes::descendants(client.pid());
    assert_eq!(grandchildren.len(), 1);
    processes::terminate(grandchildren[0]);
    client.kill9().await;
    assert_eq!(marker.alive(), grandchildren);
}

#[tokio::test]
async fn dies_mid_call_takes_the_connection_along() {
    let client = greeted(Fault::DiesMidCall, &[]).await;
    assert!(matches!(client.call("echo", json!({"text": "hi"})).await, Err(Error::Closed)));
}

#[tokio::test]
async fn dies_at_start_says_why_on_stderr_and_exits_with_3() {
    let client = start(Fault::DiesAtStart);
    wait_until(SOON, || client.stderr().contains("fatal: cannot open")).await;
    assert_eq!(client.close().await.unwrap().code(), Some(3));
}

#[tokio::test]
async fn hangs_on_call_answers_everything_else() {
    let client = greeted(Fault::HangsOnCall, &[]).await;
    let mut call =
        client.start("tools/call", json!({"name": "echo", "arguments": {"text": "hi"}})).await.unwrap();
    assert!(!client.tools().await.unwrap().is_empty());
    client.request("ping", json!({})).await.unwrap();
    assert!(call.reply_so_far().is_none());
}

#[tokio::test]
async fn a_slow_start_ends() {
    let client = greeted(Fault::SlowStart, &["--delay-ms", "300"]).await;
    assert_eq!(client.text("echo", json!({"text": "hi"})).await, "hi");
}

#[tokio::test]
async fn a_storm_of_changes_does_not_end() {
    let client = greeted(Fault::Storm, &[]).await;
    let changed = |it: &Value| it["method"] == "notifications/tools/list_changed";
    wait_until(SOON, || client.notifications().iter().filter(|it| changed(it)).count() > 300).await;
    assert_eq!(client.text("echo", json!({"text": "hi"})).await, "hi");
}

#[tokio::test]
async fn duplicate_names_are_two_tools() {
    let client = greeted(Fault::DuplicateNames, &[]).await;
    let tools = client.tools().await.unwrap();
    assert_eq!(tools.iter().filter(|tool| tool["name"] == "echo").count(), 2);
}

#[tokio::test]
async fn bad_utf8_is_in_the_listing_and_in_results() {
    let client = greeted(Fault::BadUtf8, &[]).await;
    // The client reads what is no UTF-8 as replacement characters.
    let tools = client.tools().await.unwrap();
    assert!(tools.last().unwrap()["description"].as_str().unwrap().contains('\u{fffd}'));
    assert!(client.text("echo", json!({"text": "hi"})).await.contains('\u{fffd}'));
}

#[tokio::test]
async fn ansi_names_have_escapes_and_invisible_characters() {
    let client = greeted(Fault::AnsiNames, &[]).await;
    let names = json!(client.tools().await.unwrap()).to_string();
    for hidden in [r"\u001b[31m", "\u{200b}", "\u{202e}", "\u{e0049}", r"\u0007"] {
        assert!(names.contains(hidden), "{hidden:?} is not in {names}");
    }
}

#[tokio::test]
async fn changes_tools_lists_others_the_second_time() {
    let client = greeted(Fault::ChangesTools, &[]).await;
    let first = client.tools().await.unwrap();
    let second = client.tools().await.unwrap();
    let names: Vec<&Value> = second.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["echo", "surprise"]);
    assert_ne!(first[0], second[0]);
    assert_eq!(client.notifications(), [Value::Null; 0]);
}

#[tokio::test]
async fn a_flood_of_stderr_does_not_end() {
    let client = greeted(Fault::StderrFlood, &[]).await;
    wait_until(SOON, || client.stderr().len() == 1 << 20).await;
    assert_eq!(client.text("echo", json!({"text": "hi"})).await, "hi");
}

#[tokio::test]
async fn a_flood_of_notifications_does_not_end() {
    let client = greeted(Fault::StdoutFlood, &[]).await;
    wait_until(SOON, || client.notifications().len() > 1_000).await;
    assert_eq!(client.text("echo", json!({"text": "hi"})).await, "hi");
}

#[tokio::test]
async fn wrong_ids_belong_to_nobody() {
    let client = greeted(Fault::WrongId, &[]).await;
    let mut call = client.start("tools/call", json!({"name": "pid"})).await.unwrap();
    let id = call.id().to_string();
    client.notification(|it| it["id"] == 1_000_000).await;
    client.notification(|it| it["id"] == id).await;
    assert!(!client.tools().await.unwrap().is_empty());
    assert!(call.reply_so_far().is_none());
}

#[tokio::test]
async fn a_bad_version_is_one_that_nobody_knows() {
    let client = start(Fault::BadVersion);
    let hello = client.initialize("2025-11-25", json!({})).await.unwrap();
    assert_eq!(hello["protocolVersion"], "1999-01-01");
    let client = Client::stdio(bin("fault-server"), &["--modern", "--fault", "bad-version"], &[]);
    client.modern(json!({}));
    let found = client.request("server/discover", json!({})).await.unwrap();
    assert_eq!(found["supportedVersions"], json!(["1999-01-01"]));
}

#[tokio::test]
async fn null_results_follow_a_good_handshake() {
    let client = greeted(Fault::NullResult, &[]).await;
    assert_eq!(client.request("tools/list", json!({})).await.unwrap(), Value::Null);
    assert_eq!(client.call("pid", json!({})).await.unwrap(), Value::Null);
}

#[tokio::test]
async fn late_answers_only_what_was_cancelled() {
    let client = greeted(Fault::Late, &[]).await;
    let mut call = client.start("tools/call", json!({"name": "pid"})).await.unwrap();
    client.request("ping", json!({})).await.unwrap();
    assert!(call.reply_so_far().is_none());
    client.cancel(&call).await.unwrap();
    assert_eq!(call.result().await.unwrap()["content"][0]["text"], client.pid().to_string());
}

#[tokio::test]
async fn faults_show_in_the_modern_era_too() {
    assert_eq!(modern(Fault::ManyTools).tools().await.unwrap().len(), 20_000);
    assert_eq!(modern(Fault::NullResult).call("pid", json!({})).await.unwrap(), Value::Null);
    let changing = modern(Fault::ChangesTools);
    assert_ne!(changing.tools().await.unwrap(), changing.tools().await.unwrap());
    assert!(matches!(modern(Fault::DiesMidCall).call("pid", json!({})).await, Err(Error::Closed)));
    let storm = modern(Fault::Storm);
    storm.request("server/discover", json!({})).await.unwrap();
    storm.notified("notifications/tools/list_changed").await;
}

fn start(fault: Fault) -> Client {
    Client::stdio(bin("fault-server"), &["--fault", fault.name()], &[])
}

async fn greeted(fault: Fault, more: &[&str]) -> Client {
    let args: Vec<&str> = ["--fault", fault.name()].iter().chain(more).copied().collect();
    let client = Client::stdio(bin("fault-server"), &args, &[]);
    client.initialize("2025-11-25", json!({})).await.expect("the server takes a client in");
    client
}

fn modern(fault: Fault) -> Client {
    let client = Client::stdio(bin("fault-server"), &["--modern", "--fault", fault.name()], &[]);
    client.modern(json!({}));
    client
}

async fn hello(client: &Client) -> Pending {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}});
    client.start("initialize", params).await.expect("a child's stdin is open")
}

/// Writes more than the client queues and a pipe holds together, in one line.
async fn stuff(client: &Client) {
    for _ in 0..80 {
        client.send_raw(&[b'x'; 100_000]).await.expect("a child's stdin is open");
    }
}
