//! Which names reach a tool, and what happens when it cannot be reached.

use serde_json::json;
use testkit::client::Error;
use testkit::wait_for;

use crate::yard::{SOON, Yard, appears, failure};

#[tokio::test]
async fn r8_a_tool_of_a_server_that_cannot_start_names_its_likes() {
    let mut yard = Yard::new();
    let script = "[ -e broken ] && { echo 'no database' >&2; exit 7; }; exec \"$server\"";
    yard.script("broken", script, &json!({}));
    yard.server("well", &[], &json!({}));
    let client = yard.open().await;
    appears(&client, "broken__echo").await;
    appears(&client, "well__echo").await;
    yard.status("broken", |it| it.state == "stopped").await;
    std::fs::write(yard.path("broken"), "").unwrap();
    let said = failure(&client, "broken__echo", json!({ "text": "hi" })).await;
    assert!(said.starts_with("server `broken` did not start: it exited with code 7"), "{said}");
    assert!(said.contains("Similar tools of other servers: well__echo"), "{said}");
    // Again: it is not started anew each time, and still says why. Each failure makes the pause longer.
    wait_for(SOON, || async {
        let said = failure(&client, "broken__echo", json!({ "text": "hi" })).await;
        said.contains("exited with code 7; the next try is in ").then_some(())
    })
    .await;
    let status = yard.status("broken", |it| it.state == "failed").await;
    assert!(status.reason.unwrap().contains("exited with code 7"));
    assert_eq!(client.text("well__echo", json!({ "text": "hi" })).await, "hi");
    assert!(appears_still(&client, "broken__echo").await, "what is listed does not depend on what runs");
}

async fn appears_still(client: &testkit::client::Client, tool: &str) -> bool {
    crate::yard::names(client).await.iter().any(|name| name == tool)
}

#[tokio::test]
async fn r8_a_command_that_does_not_exist_is_named() {
    let mut yard = Yard::new();
    yard.server("gone", &[], &json!({ "command": "no-such-command-here", "args": [] }));
    yard.server("well", &[], &json!({}));
    let client = yard.open().await;
    appears(&client, "well__echo").await;
    let status = yard.status("gone", |it| it.state == "failed").await;
    assert_eq!(
        status.reason.as_deref(),
        Some("command `no-such-command-here` was not found on PATH; install it or give its full path")
    );
    let unknown = client.call("gone__anything", json!({})).await.unwrap_err();
    assert_eq!(unknown.code(), Some(-32602));
}

#[tokio::test]
async fn r18_every_tool_is_callable_by_its_own_name_on_every_surface() {
    for surface in ["all", "search"] {
        let mut yard = Yard::new();
        yard.server("good", &[], &json!({}));
        let client = yard.open_on(&["--surface", surface], json!({})).await;
        yard.learnt("good").await;
        assert_eq!(client.text("good__echo", json!({ "text": surface })).await, surface);
        let Err(Error::Rpc { code, message, .. }) = client.call("good__ecco", json!({})).await else {
            panic!("an unknown tool is an error on {surface}")
        };
        assert_eq!(
            (code, message.as_str()),
            (-32602, "there is no tool `good__ecco`; did you mean `good__echo`?")
        );
    }
}

#[tokio::test]
async fn t6_the_tools_of_a_server_that_does_not_run_are_found_by_its_name() {
    let mut yard = Yard::new();
    yard.server("first", &[], &json!({})).server("second", &[], &json!({}));
    let client = yard.open_on(&["--surface", "search"], json!({})).await;
    yard.status("first", |it| it.state == "stopped").await;
    yard.status("second", |it| it.state == "stopped").await;
    let group = client.text("find_tools", json!({ "server": "second" })).await;
    assert!(group.lines().all(|line| line.starts_with("second__")), "{group}");
    assert_eq!(group.lines().count(), testkit::fault::definition::tools().len());
    assert!(yard.running("first").is_empty() && yard.running("second").is_empty());
    let result =
        client.text("call_tool", json!({ "name": "second__add", "arguments": { "a": 1, "b": 2 } })).await;
    assert_eq!((result.as_str(), yard.running("first").len()), ("3", 0));
}

#[tokio::test]
async fn r20_a_tool_that_is_called_too_often_waits_and_others_do_not() {
    let mut yard = Yard::new();
    yard.server("good", &[], &json!({}));
    yard.set("policy", json!({ "rateLimits": { "good__count": 2 } }));
    let client = yard.open().await;
    appears(&client, "good__count").await;
    for expected in ["1", "2"] {
        assert_eq!(client.text("good__count", json!({})).await, expected);
    }
    let said = failure(&client, "good__count", json!({})).await;
    assert!(
        said.starts_with("tool `good__count` was called 2 times within a minute, which is its limit"),
        "{said}"
    );
    assert_eq!(client.text("good__count_read", json!({})).await, "2");
}

#[tokio::test]
async fn r20_the_time_of_a_call_can_be_set_for_all_servers() {
    let mut yard = Yard::new();
    yard.server("plain", &[], &json!({})).server("twin", &[], &json!({})).server(
        "own",
        &[],
        &json!({ "timeout": 2000 }),
    );
    yard.set("routing", json!({ "performance": { "timeoutMs": 1000 } }));
    let client = yard.open().await;
    for (server, limit) in [("plain", "1s"), ("twin", "1s"), ("own", "2s")] {
        let tool = format!("{server}__hang");
        appears(&client, &tool).await;
        let said = failure(&client, &tool, json!({})).await;
        assert!(said.contains(&format!("within {limit}")), "{said}");
    }
}
