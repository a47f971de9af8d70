//! Hubs that are servers of other hubs, and hubs that share the work.

use std::path::Path;

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::wait_for;

use crate::scripted;
use crate::shelf::{route, whole};
use crate::yard::{SESSION, SOON, Yard, good, listed};

/// Gives a hub as an entry of another one's configuration.
fn hub(yard: &Yard) -> Value {
    let config = yard.path().join("toolyard.json");
    let args = ["serve", "--stdio", "--surface", "all", "--config"].map(Value::from);
    let args: Vec<Value> = args.into_iter().chain([json!(config)]).collect();
    json!({"command": env!("CARGO_BIN_EXE_toolyard"), "args": args})
}

/// A server with a tool that destroys.
fn store(folder: &Path) -> Value {
    let wipe = json!({
        "name": "wipe", "description": "Deletes a folder", "annotations": {"destructiveHint": true},
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    });
    let listed = format!(r#""result":{}"#, json!({"tools": [wipe]}));
    let wiped = r#""result":{"content":[{"type":"text","text":"wiped"}]}"#;
    let script = [("initialize", scripted::GREETING), ("tools/list", &listed), ("tools/call", wiped)];
    scripted::over_stdio(folder, &script)
}

#[tokio::test]
async fn r21_requests_reach_the_tools_of_a_hub_behind_the_hub() {
    let folder = tempfile::tempdir().unwrap();
    let notes = json!({"builtin": "notes", "folder": "notes"});
    let team = Yard::of(json!({"notes": notes, "good": good(&[]), "store": store(folder.path())}));
    let team = team.learnt().await;
    let yard = Yard::of(json!({"team": hub(&team)})).learnt().await;
    let all = yard.session(json!({})).await;
    listed(&all, "team__good__echo").await;
    assert_eq!(all.text("team__good__echo", json!({"text": "hi"})).await, "hi");
    let client = yard.stdio(&["--surface", "route"]);
    client.initialize(SESSION, json!({})).await.unwrap();
    let found = route(&client, json!({"task": "search my notes for AI"})).await;
    let is_drafted = found["draft"]["tool"] == "team__notes__search_notes";
    assert!(is_drafted || found["executedTools"] == json!(["team__notes__search_notes"]), "{found}");
    // What is confirmed here is confirmed there.
    let wipe =
        |context: Value| json!({"task": "team__store__wipe", "values": {"path": "/x"}, "context": context});
    let asked = route(&client, wipe(json!({}))).await;
    let confirm = asked["confirm"].as_str().unwrap_or_else(|| panic!("it is asked about: {asked}"));
    let done = whole(&client, wipe(json!({"confirm": confirm}))).await;
    assert!(done["isError"] != true && done.to_string().contains("wiped"), "{done}");
}

#[tokio::test]
async fn r21_a_hub_that_starts_itself_comes_to_an_end() {
    let yard = Yard::of(json!({"good": good(&[])})).learnt().await;
    let call = |above: &str| {
        let mut command = yard.command(&["call", "good__echo", "text=hi"]);
        command.env("TOOLYARD_CHILD", above).output().unwrap()
    };
    assert!(call("1,2,3,4,5,6,7").status.success());
    let refused = call("1,2,3,4,5,6,7,8");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("8 hubs stand above this one"), "{said}");
}

#[tokio::test]
async fn r21_hubs_over_one_store_serve_the_same_clients() {
    let folder = tempfile::tempdir().unwrap();
    let yard = Yard::of(json!({"store": store(folder.path())})).learnt().await;
    let [first, second] = [yard.http(&[]), yard.http(&[])];
    let client = first.session("", json!({})).await;
    let session = client.session().unwrap();
    let there = Client::http(&second.url, &[("mcp-session-id", &session)]);
    let wipe = |context: Value| json!({"task": "store__wipe", "values": {"path": "/x"}, "context": context});
    let asked = route(&client, wipe(json!({}))).await;
    let confirm = asked["confirm"].as_str().unwrap_or_else(|| panic!("it is asked about: {asked}"));
    let stranger = second.session("", json!({})).await;
    let task = json!({"task": "store__wipe", "context": {"confirm": confirm}});
    let dry = json!({"task": "store__wipe", "context": {"confirm": confirm}, "options": {"dryRun": true}});
    for asked in [dry, task] {
        let heard = whole(&stranger, asked).await;
        assert!(!heard.to_string().contains("/x"), "nobody else hears what it is about: {heard}");
    }
    // The handle is enough.
    let done = whole(&there, json!({"task": "store__wipe", "context": {"confirm": confirm}})).await;
    assert!(done["isError"] != true && done.to_string().contains("wiped"), "{done}");
    // What was used up there is used up here.
    let again = whole(&client, wipe(json!({"confirm": confirm}))).await;
    assert!(!again.to_string().contains("wiped"), "{again}");
    client.close().await;
    // What ended here is over there.
    wait_for(SOON, async || there.request("tools/list", json!({})).await.err()).await;
}
