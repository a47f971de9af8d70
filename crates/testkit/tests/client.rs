//! The client and the good server, seen through each other in both eras.

use serde_json::{Value, json};
use testkit::client::{Client, Error};
use testkit::processes::{self, Marker};
use testkit::{bin, wait_until};

use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_legacy_session_says_what_the_server_is() {
    let client = Client::stdio(bin("fault-server"), &["--name", "good"], &[]);
    let hello = client.initialize("2025-06-18", json!({})).await.unwrap();
    let kept = json!([hello["protocolVersion"], hello["serverInfo"]["name"], hello["_meta"]]);
    assert_eq!(kept, json!(["2025-06-18", "good", {"example.com/kept": "initialize"}]));
    assert!(client.close().await.unwrap().success());
}

#[tokio::test]
async fn a_modern_server_is_discovered_and_knows_no_initialize() {
    let client = modern(&[]);
    let found = client.request("server/discover", json!({})).await.unwrap();
    assert_eq!(found["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(client.request("initialize", json!({})).await.unwrap_err().code(), Some(-32601));
    assert_eq!(client.request("ping", json!({})).await.unwrap_err().code(), Some(-32601));
}

#[tokio::test]
async fn a_legacy_server_knows_no_discovery_and_wants_initialize_first() {
    let client = Client::stdio(bin("fault-server"), NONE, &[]);
    assert_eq!(client.request("server/discover", json!({})).await.unwrap_err().code(), Some(-32601));
    assert_eq!(client.request("tools/list", json!({})).await.unwrap_err().code(), Some(-32600));
}

#[tokio::test]
async fn a_server_of_both_eras_serves_each_client_in_its_own() {
    let old = legacy(&["--both"]).await;
    assert_eq!(old.call("pid", json!({})).await.unwrap().get("resultType"), None);
    let new = Client::stdio(bin("fault-server"), &["--both"], &[]);
    new.modern(json!({}));
    assert_eq!(new.call("pid", json!({})).await.unwrap()["resultType"], "complete");
}

#[tokio::test]
async fn a_modern_request_of_a_strange_version_is_told_the_known_ones() {
    let client = Client::stdio(bin("fault-server"), &["--modern"], &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2030-01-01",
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    let error = client.request("tools/list", json!({"_meta": meta})).await.unwrap_err();
    let Error::Rpc { code, data, .. } = error else { panic!("{error}") };
    assert_eq!((code, &data["supported"]), (-32022, &json!(["2026-07-28"])));
}

#[tokio::test]
async fn a_listing_is_the_same_in_pages() {
    let whole = legacy(&[]).await.tools().await.unwrap();
    let paged = legacy(&["--page-size", "5"]).await.tools().await.unwrap();
    assert_eq!(whole, paged);
    assert_eq!(whole[0]["x-vendor"], json!({"unknown": "field"}));
}

#[tokio::test]
async fn tools_answer_in_both_eras() {
    for client in [legacy(&[]).await, modern(&[])] {
        assert_eq!(client.text("echo", json!({"text": "hi"})).await, "hi");
        assert_eq!(client.text("add", json!({"a": 2, "b": 0.5})).await, "2.5");
        assert_eq!(client.text("pid", json!({})).await, client.pid().to_string());
        assert_eq!(client.text("big", json!({"bytes": 100_000})).await.len(), 100_000);
        assert_eq!(client.call("fail", json!({})).await.unwrap()["isError"], true);
        assert_eq!(client.call("structured", json!({})).await.unwrap()["structuredContent"]["answer"], 42);
        assert_eq!(client.call("contents", json!({})).await.unwrap()["content"][5]["type"], "hologram");
        assert_eq!(client.call("nothing", json!({})).await.unwrap_err().code(), Some(-32602));
        let deep = client.call("deep", json!({"levels": 3})).await.unwrap();
        assert_eq!(deep["structuredContent"], json!({"nest": {"in": {"in": {"in": 0}}}}));
        let names: Vec<String> = serde_json::from_str(&client.text("env", json!({})).await).unwrap();
        assert!(names.contains(&"PATH".to_owned()));
    }
}

#[tokio::test]
async fn slow_calls_do_not_hold_up_quick_ones() {
    let client = legacy(&[]).await;
    let mut slow = client.start("tools/call", json!({"name": "hang"})).await.unwrap();
    assert_eq!(client.text("echo", json!({"text": "quick"})).await, "quick");
    assert!(slow.reply_so_far().is_none());
}

#[tokio::test]
async fn progress_comes_before_the_result() {
    let client = legacy(&[]).await;
    let params = json!({"name": "progress", "arguments": {"steps": 3}, "_meta": {"progressToken": "t"}});
    client.request("tools/call", params).await.unwrap();
    let steps: Vec<Value> =
        client.notifications().iter().map(|it| it["params"]["progress"].clone()).collect();
    assert_eq!(steps, [1, 2, 3]);
}

#[tokio::test]
async fn a_count_is_kept_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("count");
    let args = ["--state", state.to_str().unwrap()];
    let first = legacy(&args).await;
    first.text("count", json!({})).await;
    first.close().await;
    assert_eq!(legacy(&args).await.text("count", json!({})).await, "2");
    assert_eq!(legacy(&args).await.text("count_read", json!({})).await, "2");
}

#[tokio::test]
async fn a_legacy_server_asks_in_the_middle_of_a_call() {
    let client = Client::stdio(bin("fault-server"), NONE, &[]);
    client.answer_with(|method, _| match method {
        "elicitation/create" => Ok(json!({"action": "accept", "content": {"name": "Ada"}})),
        "roots/list" => Ok(json!({"roots": []})),
        _ => Err(json!({"code": -1, "message": "no"})),
    });
    let capabilities = json!({"elicitation": {}, "roots": {}, "sampling": {}});
    client.initialize("2025-11-25", capabilities).await.unwrap();
    assert_eq!(client.text("ask", json!({})).await, r#"{"action":"accept","content":{"name":"Ada"}}"#);
    assert_eq!(client.text("roots", json!({})).await, r#"{"roots":[]}"#);
    assert_eq!(client.text("sample", json!({})).await, r#"{"code":-1,"message":"no"}"#);
}

#[tokio::test]
async fn a_modern_server_asks_with_a_result() {
    let client = Client::stdio(bin("fault-server"), &["--modern"], &[]);
    client.modern(json!({"elicitation": {}}));
    let asked = client.call("ask", json!({})).await.unwrap();
    assert_eq!(asked["resultType"], "input_required");
    let answer = json!({"action": "decline"});
    let mut retry = json!({"name": "ask", "inputResponses": {"answer": answer}, "requestState": "forged"});
    assert_eq!(client.request("tools/call", retry.clone()).await.unwrap_err().code(), Some(-32602));
    retry["requestState"] = asked["requestState"].clone();
    let done = client.request("tools/call", retry).await.unwrap();
    assert_eq!(done["content"][0]["text"], answer.to_string());
}

#[tokio::test]
async fn nobody_is_asked_who_did_not_offer_it() {
    for client in [legacy(&[]).await, modern(&[])] {
        assert_eq!(client.call("ask", json!({})).await.unwrap()["isError"], true);
    }
}

#[tokio::test]
async fn a_new_tool_is_announced_and_listed() {
    let client = legacy(&[]).await;
    client.text("add_tool", json!({"name": "fresh"})).await;
    client.notified("notifications/tools/list_changed").await;
    assert!(client.tools().await.unwrap().iter().any(|tool| tool["name"] == "fresh"));
    assert_eq!(client.text("fresh", json!({})).await, "fresh");
}

#[tokio::test]
async fn a_modern_listener_hears_what_it_asked_for_under_its_id() {
    let client = modern(&[]);
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let listening = client.start("subscriptions/listen", filter).await.unwrap();
    client.notified("notifications/subscriptions/acknowledged").await;
    client.text("touch_resource", json!({})).await;
    client.text("add_tool", json!({})).await;
    let heard = client.notified("notifications/tools/list_changed").await;
    assert_eq!(heard["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], listening.id());
    assert_eq!(client.notifications().len(), 2);
}

#[tokio::test]
async fn a_touched_resource_is_announced_to_those_who_watch_it() {
    let client = legacy(&[]).await;
    client.text("touch_resource", json!({})).await;
    assert_eq!(client.notifications(), [Value::Null; 0]);
    client.request("resources/subscribe", json!({"uri": "fault://note"})).await.unwrap();
    client.text("touch_resource", json!({})).await;
    let heard = client.notified("notifications/resources/updated").await;
    assert_eq!(heard["params"], json!({"uri": "fault://note"}));
}

#[tokio::test]
async fn resources_prompts_completions_and_logs_are_served() {
    let client = legacy(&[]).await;
    let item = client.request("resources/read", json!({"uri": "fault://item/7"})).await.unwrap();
    assert_eq!(item["contents"][0]["text"], r#"{"id":"7"}"#);
    let missing = client.request("resources/read", json!({"uri": "fault://gone"})).await.unwrap_err();
    assert_eq!(missing.code(), Some(-32002));
    let params = json!({"name": "greet", "arguments": {"who": "Ada"}});
    let greeting = client.request("prompts/get", params).await.unwrap();
    assert_eq!(greeting["messages"][0]["content"]["text"], "Greet Ada.");
    let params =
        json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": "A"}});
    let values = client.request("completion/complete", params).await.unwrap();
    assert_eq!(values["completion"]["values"], json!(["Ada", "Alan"]));
    client.text("log", json!({"text": "a word"})).await;
    assert_eq!(client.notified("notifications/message").await["params"]["data"], "a word");
}

#[tokio::test]
async fn cancelled_requests_are_remembered() {
    let client = legacy(&[]).await;
    let pending = client.start("tools/call", json!({"name": "hang"})).await.unwrap();
    client.cancel(&pending).await.unwrap();
    assert_eq!(client.text("cancelled", json!({})).await, format!("[{}]", pending.id()));
}

#[tokio::test]
async fn a_call_that_kills_the_server_ends_with_the_connection() {
    let client = legacy(&[]).await;
    assert!(matches!(client.call("die", json!({})).await, Err(Error::Closed)));
}

#[tokio::test]
async fn grandchildren_outlive_a_killed_server_until_their_marker_is_dropped() {
    let marker = Marker::new();
    let client = Client::stdio(bin("fault-server"), NONE, &[(Marker::NAME, marker.value())]);
    client.initialize("2025-11-25", json!({})).await.unwrap();
    let near: u32 = client.text("fork", json!({})).await.parse().unwrap();
    let far: u32 = client.text("fork", json!({"setsid": true})).await.parse().unwrap();
    assert_eq!(sorted(processes::descendants(client.pid())), sorted(vec![near, far]));
    wait_until(SOON, || marker.alive().len() == 3).await;
    processes::terminate(near);
    client.kill9().await;
    assert_eq!(sorted(marker.alive()), sorted(vec![near, far]));
    drop(marker);
    wait_until(SOON, || !processes::is_alive(near) && !processes::is_alive(far)).await;
}

const NONE: &[&str] = &[];

async fn legacy(args: &[&str]) -> Client {
    let client = Client::stdio(bin("fault-server"), args, &[]);
    client.initialize("2025-11-25", json!({})).await.expect("the server takes a client in");
    client
}

fn modern(args: &[&str]) -> Client {
    let args: Vec<&str> = ["--modern"].iter().chain(args).copied().collect();
    let client = Client::stdio(bin("fault-server"), &args, &[]);
    client.modern(json!({}));
    client
}

fn sorted(mut pids: Vec<u32>) -> Vec<u32> {
    pids.sort_unstable();
    pids
}
