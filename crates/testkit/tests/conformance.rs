//! The conformance fixture over every transport, and the client over HTTP.

use std::process::Command;

use serde_json::{Value, json};
use testkit::client::{Client, Error};
use testkit::{Listening, bin};

#[tokio::test]
async fn a_session_over_http_has_an_id_and_ends() {
    let server = Listening::conformance();
    let client = legacy(&server, json!({})).await;
    let session = client.session().unwrap();
    assert!(client.tools().await.unwrap().len() > 30);
    client.close().await;
    let late = Client::http(server.url(), &[("mcp-session-id", &session)]);
    let error = late.request("tools/list", json!({})).await.unwrap_err();
    assert!(matches!(error, Error::Http { status: 404, .. }), "{error}");
}

#[tokio::test]
async fn progress_comes_on_the_stream_of_the_call() {
    let server = Listening::conformance();
    let client = legacy(&server, json!({})).await;
    let params = json!({"name": "test_tool_with_progress", "_meta": {"progressToken": 7}});
    client.request("tools/call", params).await.unwrap();
    let heard: Vec<Value> =
        client.notifications().iter().map(|it| it["params"]["progress"].clone()).collect();
    assert_eq!(json!(heard), json!([0.0, 50.0, 100.0]));
}

#[tokio::test]
async fn questions_are_answered_over_http() {
    let server = Listening::conformance();
    let client = Client::http(server.url(), &[]);
    client.answer_with(|method, params| match method {
        "elicitation/create" => Ok(json!({"action": "accept", "content": {"username": params["message"]}})),
        _ => Err(json!({"code": -1, "message": "no"})),
    });
    client.initialize("2025-11-25", json!({"elicitation": {}})).await.unwrap();
    let said = client.text("test_elicitation", json!({"message": "Who?"})).await;
    assert_eq!(said, r#"User response: action=accept, content={"username":"Who?"}"#);
}

#[tokio::test]
async fn what_belongs_to_no_call_comes_on_the_get_stream() {
    let server = Listening::conformance();
    let client = legacy(&server, json!({})).await;
    client.open_stream().await.unwrap();
    client.text("test_trigger_tool_change", json!({})).await;
    client.notified("notifications/tools/list_changed").await;
    client.text("test_tool_with_logging", json!({})).await;
    client.notification(|it| it["params"]["data"] == "Tool execution completed").await;
}

#[tokio::test]
async fn modern_requests_need_no_session() {
    let server = Listening::conformance();
    let client = modern(&server);
    let found = client.request("server/discover", json!({})).await.unwrap();
    assert!(found["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")));
    let asked = client.call("test_input_required_result_elicitation", json!({})).await.unwrap();
    assert_eq!(asked["resultType"], "input_required");
    assert_eq!(client.session(), None);
}

#[tokio::test]
async fn a_modern_listener_over_http_hears_changes() {
    let server = Listening::conformance();
    let client = modern(&server);
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let _listening = client.start("subscriptions/listen", filter).await.unwrap();
    client.notified("notifications/subscriptions/acknowledged").await;
    client.text("test_trigger_tool_change", json!({})).await;
    client.notified("notifications/tools/list_changed").await;
}

#[tokio::test]
async fn a_foreign_origin_or_host_is_refused() {
    let server = Listening::conformance();
    for header in [("origin", "http://evil.example.com"), ("host", "evil.example.com")] {
        let client = Client::http(server.url(), &[header]);
        let error = client.initialize("2025-11-25", json!({})).await.unwrap_err();
        assert!(matches!(error, Error::Http { status: 403, .. }), "{header:?}: {error}");
    }
}

#[tokio::test]
async fn stdio_serves_both_eras() {
    let old = Client::stdio(bin("conformance-server"), NONE, &[]);
    old.initialize("2025-11-25", json!({})).await.unwrap();
    assert_eq!(old.text("test_simple_text", json!({})).await, "This is a simple text response for testing.");
    let new = Client::stdio(bin("conformance-server"), NONE, &[]);
    new.modern(json!({}));
    new.request("server/discover", json!({})).await.unwrap();
    assert_eq!(new.call("test_simple_text", json!({})).await.unwrap()["resultType"], "complete");
}

#[test]
fn two_summaries_of_the_suite_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one.json"), folder.path().join("two.json"));
    let summary = |status: &str| {
        let check = json!({"scenario": "ping", "id": "ping", "status": status});
        json!({"requirements": {"2025-11-25": {"checks": [check]}}}).to_string()
    };
    std::fs::write(&one, summary("SUCCESS")).unwrap();
    std::fs::write(&two, summary("FAILURE")).unwrap();
    let compare = |other: &std::path::Path| {
        Command::new(script("conformance")).arg("--compare").arg(&one).arg(other).output().unwrap()
    };
    assert!(compare(&one).status.success());
    let differing = compare(&two);
    assert_eq!(differing.status.code(), Some(1));
    assert_eq!(differing.stdout, b"- 2025-11-25 ping ping SUCCESS\n+ 2025-11-25 ping ping FAILURE\n");
}

const NONE: &[&str] = &[];

async fn legacy(server: &Listening, capabilities: Value) -> Client {
    let client = Client::http(server.url(), &[]);
    client.initialize("2025-11-25", capabilities).await.expect("the server takes a client in");
    client
}

fn modern(server: &Listening) -> Client {
    let client = Client::http(server.url(), &[]);
    client.modern(json!({"elicitation": {}}));
    client
}

fn script(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(name)
}
