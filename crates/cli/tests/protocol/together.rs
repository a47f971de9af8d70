//! Steps of one run through the hub: those that are under way at once, and those that are taken back.

use std::path::Path;

use serde_json::{Value, json};
use testkit::client::Client;

use crate::shelf::{acting, answering, heard, route, tool};
use crate::yard::{SESSION, Yard};

/// A server that answers a call only while one of the other server is under way.
fn meeting(folder: &Path, name: &str, other: &str, tools: &[Value]) -> Value {
    let here = |name: &str| folder.join(name).join("here").display().to_string();
    let act = format!(
        ": > '{}'; until [ -e '{}' ]; do sleep 0.05; done; say '\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"met {other}\"}}]}}'",
        here(name),
        here(other)
    );
    acting(folder, name, tools, &act)
}

async fn session(yard: &Yard, surface: &str) -> Client {
    let client = yard.stdio(&["--surface", surface]);
    client.initialize(SESSION, json!({})).await.unwrap();
    client
}

fn write_workflow(yard: &Yard, workflow: &Value) {
    let folder = yard.path().join("workflows");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{}.json", workflow["name"].as_str().unwrap()));
    std::fs::write(file, workflow.to_string()).unwrap();
}

/// Two servers that wait for each other. One call after the other would wait until it is given up.
async fn pair() -> (Yard, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let yard = Yard::of(json!({
        "notes": meeting(&path, "notes", "wiki", &[tool("list_notes", "Lists every note of the vault", &[])]),
        "wiki": meeting(&path, "wiki", "notes", &[tool("list_pages", "Lists every page of the wiki", &[])]),
    }));
    (yard.keep(folder).learnt().await, path)
}

#[tokio::test]
async fn r9_independent_steps_of_a_workflow_are_under_way_at_once() {
    let (yard, folder) = pair().await;
    write_workflow(
        &yard,
        &json!({
            "name": "both", "description": "Lists the notes and the pages.",
            "steps": [{"name": "notes", "tool": "notes__list_notes"}, {"name": "pages", "tool": "wiki__list_pages"}],
        }),
    );
    let result = session(&yard, "all").await.call("workflows__both", json!({})).await.unwrap();
    let report = &result["structuredContent"]["report"];
    assert_eq!(report["ending"], "completed", "{result}");
    assert_eq!(report["outputs"], json!({"notes": "met wiki", "pages": "met notes"}), "{result}");
    assert_eq!((heard(&folder, "notes").len(), heard(&folder, "wiki").len()), (1, 1));
}

#[tokio::test]
async fn r9_independent_steps_of_a_task_in_words_are_under_way_at_once() {
    let (yard, folder) = pair().await;
    let asked = json!({
        "task": "list every note of the vault and list every page of the wiki", "context": {"multiStepMode": true},
    });
    let answer = route(&session(&yard, "route").await, asked).await;
    let mut ran: Vec<&str> =
        answer["executedTools"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    ran.sort_unstable();
    assert_eq!(ran, ["notes__list_notes", "wiki__list_pages"], "{answer}");
    assert!(answer.get("error").is_none(), "{answer}");
    assert_eq!((heard(&folder, "notes").len(), heard(&folder, "wiki").len()), (1, 1));
}

/// A stock that reserves and releases, and a courier that is full.
async fn shop(undo: Option<Value>) -> (Yard, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let structured = |text: &str| format!(r#""result":{{"content":[],"structuredContent":{text}}}"#);
    let writes = |name: &str, description: &str, required: &[&str]| {
        let mut tool = tool(name, description, required);
        tool["annotations"] = json!({"readOnlyHint": false, "destructiveHint": false});
        tool
    };
    let stock = [
        writes("reserve_item", "Reserves an item", &["item"]),
        writes("release_item", "Gives a reserved item back", &["reservation"]),
    ];
    let (reserved, released) = (structured(r#"{"reservation":"r-7"}"#), structured("{}"));
    let answers = [("reserve_item", reserved.as_str()), ("release_item", released.as_str())];
    let refused = r#""result":{"isError":true,"content":[{"type":"text","text":"every van is full"}]}"#;
    let yard = Yard::of(json!({
        "stock": answering(&path, "stock", &stock, &answers),
        "courier": answering(&path, "courier", &[writes("arrange_pickup", "Arranges that an item is picked up", &["item"])], &[("", refused)]),
    }));
    let yard = yard.keep(folder).learnt().await;
    let mut reserve = json!({"name": "reserve", "tool": "stock__reserve_item", "arguments": {"item": "{{parameters.item}}"}});
    if let Some(undo) = undo {
        reserve["undo"] = undo;
    }
    write_workflow(
        &yard,
        &json!({
            "name": "dispatch", "description": "Reserves an item and has it picked up.",
            "parameters": {"properties": {"item": {"type": "string"}}, "required": ["item"]},
            "steps": [
                reserve,
                {"name": "pickup", "tool": "courier__arrange_pickup", "arguments": {"item": "{{parameters.item}}"}, "after": ["reserve"]},
            ],
        }),
    );
    (yard, path)
}

#[tokio::test]
async fn r10_a_step_is_taken_back_through_the_hub_when_a_later_one_fails() {
    let undo =
        json!({"tool": "stock__release_item", "arguments": {"reservation": "{{reserve.reservation}}"}});
    let (yard, folder) = shop(Some(undo)).await;
    let result =
        session(&yard, "all").await.call("workflows__dispatch", json!({"item": "lamp"})).await.unwrap();
    assert_eq!(result["isError"], true, "{result}");
    let report = &result["structuredContent"]["report"];
    assert_eq!(report["ending"], "undone", "{result}");
    // What was reserved is what was given back, once, and after the pickup failed.
    assert_eq!(
        heard(&folder, "stock"),
        [
            json!({"name": "reserve_item", "arguments": {"item": "lamp"}}),
            json!({"name": "release_item", "arguments": {"reservation": "r-7"}}),
        ]
    );
    assert_eq!(heard(&folder, "courier").len(), 1);
    let fate = |step: &str| {
        let accounts = report["accounts"].as_array().unwrap();
        accounts.iter().find(|it| it["step"] == step).unwrap()["fate"].clone()
    };
    assert_eq!((fate("reserve"), fate("pickup")), (json!("undone"), json!("failed")), "{report}");
}

#[tokio::test]
async fn r10_what_nobody_can_take_back_is_said_to_stay() {
    let (yard, folder) = shop(None).await;
    let result =
        session(&yard, "all").await.call("workflows__dispatch", json!({"item": "lamp"})).await.unwrap();
    let report = &result["structuredContent"]["report"];
    assert_eq!((&result["isError"], &report["ending"]), (&json!(true), &json!("failed")), "{result}");
    assert_eq!(heard(&folder, "stock").len(), 1);
    assert!(report["advice"].to_string().len() > 2, "{report}");
}
