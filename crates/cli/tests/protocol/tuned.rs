//! What each key of the `routing` block changes while a hub runs.

use serde_json::{Value, json};
use testkit::client::Client;

use crate::decided::{config, open};
use crate::raw;
use crate::shelf::{calls, route, server, tool, whole};
use crate::yard::{SESSION, Yard, good, text};

/// A shelf of tools that words without content may all mean.
async fn shelf(routing: Value) -> Yard {
    let folder = tempfile::tempdir().unwrap();
    let things = ["notes", "pages", "mails", "songs", "photos", "invoices"];
    let tools = things.map(|it| tool(&format!("search_{it}"), &format!("Search the {it}"), &["query"]));
    let shelf = server(folder.path(), "shelf", &tools);
    let yard = Yard::new(json!({"mcpServers": {"shelf": shelf}, "routing": routing}));
    yard.keep(folder).learnt().await
}

async fn session(yard: &Yard) -> Client {
    let client = yard.stdio(&[]);
    client.initialize(SESSION, json!({})).await.unwrap();
    client
}

/// Notes that can be listed and archived, where that leads to one call or to several.
async fn notes(enable_multi_tool: bool) -> (Yard, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let tools = [
        tool("list_notes", "List every note", &[]),
        tool("archive_notes", "Archive the notes", &[]),
        tool("read_note", "Read one note", &["path"]),
    ];
    let servers = json!({"notes": server(folder.path(), "notes", &tools)});
    let yard = Yard::new(json!({"mcpServers": servers, "routing": {"enableMultiTool": enable_multi_tool}}));
    (yard.keep(folder).learnt().await, path)
}

#[tokio::test]
async fn r14_without_several_tools_the_first_step_runs_and_the_rest_is_named() {
    let task = "list every note, then archive the notes";
    let (yard, folder) = notes(false).await;
    let client = session(&yard).await;
    let result = whole(&client, json!({"task": task})).await;
    let answer = &result["structuredContent"];
    assert_eq!(answer["executedTools"], json!(["notes__list_notes"]), "{answer}");
    assert_eq!(answer["notDone"], json!(["archive the notes"]), "{answer}");
    assert!(text(&result).contains("Not done: “archive the notes”."), "{}", text(&result));
    assert_eq!(calls(&folder, "notes"), 1);
    let dry = route(&client, json!({"task": task, "options": {"dryRun": true}})).await;
    assert_eq!((&dry["tool"], &dry["notDone"]), (&json!("notes__list_notes"), &json!(["archive the notes"])));
    // The second of two things that one tool would do is not done either.
    let twice =
        route(&client, json!({"task": "read the note \"a.md\" and then read the note \"b.md\""})).await;
    assert_eq!(twice["notDone"], json!(["read the note \"b.md\""]), "{twice}");
    // A person at a shell is told the same.
    let shown = yard.command(&["route", task]).output().unwrap();
    let (said, warned) = (String::from_utf8_lossy(&shown.stdout), String::from_utf8_lossy(&shown.stderr));
    assert!(said.contains("from notes") && warned.contains("Not done: archive the notes"), "{said}{warned}");
    let planned = yard.command(&["route", "--dry-run", task]).output().unwrap();
    let said = String::from_utf8_lossy(&planned.stdout);
    assert!(said.contains("Not done: archive the notes"), "{said}");
    let shown = yard.command(&["route", "--json", task]).output().unwrap();
    let said: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(
        (&said["tool"], &said["notDone"]),
        (&json!("notes__list_notes"), &json!(["archive the notes"]))
    );

    let (yard, _) = notes(true).await;
    let both = route(&session(&yard).await, json!({"task": task})).await;
    assert_eq!(both["executedTools"], json!(["notes__list_notes", "notes__archive_notes"]), "{both}");
    assert!(both.get("notDone").is_none(), "{both}");
}

#[tokio::test]
async fn r1_a_caller_who_forbids_several_tools_is_told_what_was_not_done() {
    let (yard, _) = notes(true).await;
    let client = session(&yard).await;
    let task = "list every note, then archive the notes";
    for asked in [
        json!({"task": task, "options": {"allowMultiTool": false}}),
        json!({"task": task, "context": {"multiStepMode": false}}),
    ] {
        let answer = route(&client, asked).await;
        assert_eq!(answer["executedTools"], json!(["notes__list_notes"]), "{answer}");
        assert_eq!(answer["notDone"], json!(["archive the notes"]), "{answer}");
    }
}

#[tokio::test]
async fn r14_max_candidates_bounds_what_a_decision_keeps() {
    for most in [1, 2, 4] {
        let yard = shelf(json!({"maxCandidates": most})).await;
        let asked = json!({"task": "search for something", "options": {"returnCandidates": true}});
        let answer = route(&session(&yard).await, asked).await;
        assert_eq!(answer["candidates"].as_array().unwrap().len(), most, "{answer}");
    }
}

#[tokio::test]
async fn r14_show_alternatives_bounds_what_a_question_offers() {
    for most in [2, 4] {
        let yard = shelf(json!({"clarification": {"showAlternatives": most}})).await;
        let result = whole(&session(&yard).await, json!({"task": "search for something"})).await;
        let answer = &result["structuredContent"];
        assert_eq!(answer["needsClarification"], true, "{answer}");
        assert_eq!(answer["alternatives"].as_array().unwrap().len(), most, "{answer}");
        let numbered = |at: usize| text(&result).contains(&format!("\n{at}. shelf__"));
        assert!(numbered(most) && !numbered(most + 1), "{}", text(&result));
    }
}

#[tokio::test]
async fn r14_explain_reasoning_gives_the_reason_of_each_alternative() {
    for explains in [true, false] {
        let yard = shelf(json!({"clarification": {"explainReasoning": explains}})).await;
        let answer = route(&session(&yard).await, json!({"task": "search for something"})).await;
        let alternatives = answer["alternatives"].as_array().unwrap();
        assert!(alternatives.len() > 1, "{answer}");
        for it in alternatives {
            assert_eq!(it["reason"].is_string(), explains, "{answer}");
        }
    }
}

#[tokio::test]
async fn r14_enable_metrics_decides_whether_anything_is_counted_and_measured() {
    for counts in [true, false] {
        let routing = json!({"performance": {"enableMetrics": counts}});
        let yard = Yard::new(json!({"mcpServers": {"good": good(&[])}, "routing": routing})).learnt().await;
        let served = yard.http(&[]);
        let client = served.modern("", json!({}));
        let asked = json!({"task": "good__echo", "context": {"arguments": {"text": "x"}}});
        assert_eq!(route(&client, asked).await["executedTools"], json!(["good__echo"]));
        let url = served.at("").replace("/mcp", "/metrics");
        let told = raw::send(&url, "GET", &[], "").await.body;
        let routed = told.contains("toolyard_routes_total{decision=\"act\"} 1");
        let called =
            told.contains("toolyard_calls_total{server=\"good\",tool=\"echo\",outcome=\"answered\"} 1");
        assert_eq!((routed, called), (counts, counts), "{told}");
        assert!(told.contains("toolyard_upstream_state{server=\"good\",state=\"ready\"} 1"), "{told}");
        served.terminate().await;
        // What was measured is kept, and known to the next hub.
        let hub = open(config(&yard));
        assert_eq!(hub.measured("good__echo").is_some_and(|it| it.calls > 0), counts);
        hub.close().await;
    }
}

#[tokio::test]
async fn r14_r20_timeout_ms_ends_calls_of_every_server_that_says_nothing_else() {
    let mut own = good(&[]);
    own["limits"] = json!({"callMs": 2000});
    let servers = json!({"one": good(&[]), "two": good(&[]), "own": own});
    let routing = json!({"performance": {"timeoutMs": 1000}});
    let yard = Yard::new(json!({"mcpServers": servers, "routing": routing})).learnt().await;
    let client = session(&yard).await;
    for (tool, limit) in [("one__hang", "within 1s"), ("two__hang", "within 1s"), ("own__hang", "within 2s")]
    {
        let failed = whole(&client, json!({"task": tool})).await;
        assert_eq!(failed["isError"], true, "{failed}");
        assert!(text(&failed).contains(limit), "{tool}: {}", text(&failed));
    }
}
