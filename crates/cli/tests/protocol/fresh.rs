//! Requests that come before the hub has understood its tools.

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::wait_for;

use crate::shelf::{route, server, tool, whole};
use crate::yard::{SOON, Yard, good, text};

const VERBS: [&str; 12] = [
    "list", "search", "create", "update", "delete", "archive", "export", "import", "share", "rename",
    "count", "merge",
];
const NOUNS: [&str; 18] = [
    "invoices",
    "customers",
    "orders",
    "flights",
    "recipes",
    "songs",
    "photos",
    "contracts",
    "tickets",
    "sensors",
    "lessons",
    "patients",
    "parcels",
    "budgets",
    "trees",
    "meetings",
    "rooms",
    "surveys",
];

/// Requests in the words of tools and in others.
const TASKS: [&str; 6] = [
    "list my invoices",
    "find the song that goes la la la",
    "get rid of the photo of the cat",
    "how many people are in hospital",
    "what is planned for today with the team",
    "do it",
];

/// A hub that knows some hundred tools by their listing alone; a request may take twenty times this many milliseconds.
async fn unread(milliseconds: u64) -> Yard {
    let folder = tempfile::tempdir().unwrap();
    let tools: Vec<Value> = VERBS
        .iter()
        .flat_map(|verb| {
            NOUNS.map(|noun| tool(&format!("{verb}_{noun}"), &format!("{verb} {noun} of the office"), &[]))
        })
        .collect();
    let office = server(folder.path(), "office", &tools);
    let routing = json!({"performance": {"maxRoutingTime": milliseconds}});
    Yard::new(json!({"mcpServers": {"office": office}, "routing": routing})).keep(folder).learnt().await
}

async fn decided(client: &Client, task: &str) -> Value {
    route(client, json!({"task": task, "options": {"dryRun": true}})).await
}

/// Waits until the running hub has read every tool.
async fn read(yard: &Yard) {
    wait_for(SOON * 4, || async {
        let output = yard.command(&["status", "--json"]).output().unwrap();
        let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let meaning = &said["hubs"][0]["meaning"];
        (meaning["known"].as_u64()? > 200 && meaning["known"] == meaning["all"]).then_some(())
    })
    .await;
}

#[tokio::test]
async fn r13_a_fresh_hub_decides_the_first_time_as_ever_after() {
    let yard = unread(6_000).await;
    let client = yard.stdio(&[]);
    client.modern(json!({}));
    let mut first = Vec::new();
    for task in TASKS {
        first.push(decided(&client, task).await);
    }
    read(&yard).await;
    for (task, first) in TASKS.iter().zip(&first) {
        assert!(first["note"].is_null(), "{task}: {first}");
        for _ in 0..4 {
            assert_eq!(decided(&client, task).await, *first, "{task}");
        }
    }
    // A hub that was never asked, another that serves HTTP, and the command line decide the same.
    let other = unread(6_000).await;
    let output = other.command(&["route", "--dry-run", "--json", TASKS[0]]).output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&said["tool"], &said["confidence"]), (&first[0]["tool"], &first[0]["confidence"]));
    let served = unread(6_000).await;
    let served = served.http(&[]);
    assert_eq!(decided(&served.modern("", json!({})), TASKS[1]).await, first[1]);
}

#[tokio::test]
async fn r13_an_answer_that_comes_before_tools_are_read_says_so() {
    // Reading so many tools takes far longer than a request may.
    let many = good(&["--fault", "many-tools", "--many", "3000"]);
    let routing = json!({"performance": {"maxRoutingTime": 1}});
    let yard = Yard::new(json!({"mcpServers": {"many": many}, "routing": routing})).learnt().await;
    let client = yard.stdio(&[]);
    client.modern(json!({}));
    let answer = whole(&client, json!({"task": "do the 1234th of many", "options": {"dryRun": true}})).await;
    let structured = &answer["structuredContent"];
    assert!(structured["note"].as_str().unwrap().starts_with("Still learning"), "{structured}");
    assert!(structured["learning"].is_object(), "{structured}");
    let texts = answer["content"].as_array().unwrap();
    assert!(texts.iter().any(|it| it["text"].as_str().unwrap().starts_with("Still learning")), "{answer}");

    let searching = yard.stdio(&["--surface", "search"]);
    searching.modern(json!({}));
    let found = searching.call("find_tools", json!({"query": "one of many"})).await.unwrap();
    assert!(found["content"].to_string().contains("Still learning"), "{}", text(&found));
}
