//! Hubs that are servers of other hubs.

use serde_json::{Value, json};

use crate::shelf::route;
use crate::yard::{SESSION, Yard, good, listed};

/// Gives a hub as an entry of another one's configuration.
fn hub(yard: &Yard) -> Value {
    let config = yard.path().join("toolyard.json");
    let args = ["serve", "--stdio", "--surface", "all", "--config"].map(Value::from);
    let args: Vec<Value> = args.into_iter().chain([json!(config)]).collect();
    json!({"command": env!("CARGO_BIN_EXE_toolyard"), "args": args})
}

#[tokio::test]
async fn r21_requests_reach_the_tools_of_a_hub_behind_the_hub() {
    let team = Yard::of(json!({"notes": {"builtin": "notes", "folder": "notes"}, "good": good(&[])}));
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
    let path = json!({"path": "a.md", "content": "# A"});
    all.call("team__notes__create_note", path).await.unwrap();
    let delete = |context: Value| json!({"task": "team__notes__delete_note", "values": {"path": "a.md"}, "context": context});
    let asked = route(&client, delete(json!({}))).await;
    let confirm = asked["confirm"].as_str().unwrap_or_else(|| panic!("it is asked about: {asked}"));
    let done = route(&client, delete(json!({"confirm": confirm}))).await;
    assert_eq!(done["executedTools"], json!(["team__notes__delete_note"]), "{done}");
    assert!(done["error"].is_null(), "{done}");
    assert!(!team.path().join("notes/a.md").exists());
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
