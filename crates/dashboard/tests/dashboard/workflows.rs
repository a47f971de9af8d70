//! Workflows and their runs.

use serde_json::{Value, json};
use testkit::wait_for;

use crate::yard::{SOON, Yard};

#[tokio::test]
async fn r15_a_workflow_waits_for_the_answer_to_its_question() {
    let yard = Yard::new().await;
    let listed = yard.get("/workflows").await;
    let jot = listed["templates"].as_array().unwrap().iter().find(|it| it["name"] == "jot").unwrap();
    assert_eq!(
        (&jot["description"], &jot["inputs"]["required"]),
        (&json!("Writes a note down."), &json!(["title"]))
    );
    assert_eq!((&jot["steps"][1]["id"], &jot["steps"][1]["needs"]), (&json!("write"), &json!(["look"])));
    assert_eq!(listed["runs"], json!([]));

    let started = yard.done("/workflows/jot/start", &json!({ "inputs": { "title": "Kept" } })).await;
    assert_eq!(started["state"], json!("waiting"), "{started}");
    assert!(started["needsConfirmation"].as_str().unwrap().contains("cannot be taken back"), "{started}");
    assert_eq!(started["steps"][1]["state"], json!("notStarted"));
    let path = format!("/runs/{}", started["id"].as_str().unwrap());
    let unanswered = yard.done(&format!("{path}/resume"), &json!({})).await;
    assert_eq!(unanswered["state"], json!("waiting"), "nothing is agreed to by asking");
    let stale = yard.post(&format!("{path}/resume"), &json!({ "confirm": true, "digest": "another" })).await;
    assert_eq!(stale.status, 409, "{}", stale.text);
    let agreed = json!({ "confirm": true, "digest": started["digest"] });
    yard.done(&format!("{path}/resume"), &agreed).await;
    let ended =
        wait_for(SOON, || async { run(&yard, &started["id"]).await.filter(|it| it["state"] != "running") });
    let ended = ended.await;
    assert_eq!(ended["state"], json!("completed"), "{ended}");
    let states: Vec<&Value> = ended["steps"].as_array().unwrap().iter().map(|it| &it["state"]).collect();
    assert_eq!(states, [&json!("done"), &json!("done")]);
    let note = json!({ "tool": "notes__read_note", "arguments": { "note": "Kept" } });
    assert_eq!(yard.done("/run", &note).await["outcome"], json!("answered"));
}

#[tokio::test]
async fn r15_a_run_is_cancelled_and_mistakes_are_said() {
    let yard = Yard::new().await;
    let started = yard.done("/workflows/jot/start", &json!({ "inputs": { "title": "Unwanted" } })).await;
    let path = format!("/runs/{}/cancel", started["id"].as_str().unwrap());
    let cancelled = yard.done(&path, &json!({})).await;
    assert_eq!(cancelled["state"], json!("cancelled"), "{cancelled}");
    let note = json!({ "tool": "notes__read_note", "arguments": { "note": "Unwanted" } });
    assert_eq!(yard.done("/run", &note).await["outcome"], json!("failed"));
    let lacking = yard.post("/workflows/jot/start", &json!({ "inputs": {} })).await;
    assert_eq!(lacking.status, 400);
    assert!(lacking.error().0.contains("title"), "{}", lacking.text);
    assert_eq!(yard.post("/workflows/nothing/start", &json!({})).await.status, 404);
    for path in ["/runs/nothing/resume", "/runs/nothing/cancel"] {
        assert_eq!(yard.post(path, &json!({})).await.status, 404, "{path}");
    }
}

async fn run(yard: &Yard, id: &Value) -> Option<Value> {
    let listed = yard.get("/workflows").await;
    listed["runs"].as_array()?.iter().find(|it| it["id"] == *id).cloned()
}
