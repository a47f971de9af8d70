//! Calls that change something are made from words only with what the words surely say.

use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::client::Client;

use crate::desk::understood;
use crate::shelf::{answering, calls, route, tool};
use crate::yard::{SESSION, Yard};

/// A tool with texts that may be left out beside those that it requires.
fn with_optional(mut tool: Value, names: &[&str]) -> Value {
    for name in names {
        tool["inputSchema"]["properties"][*name] = json!({"type": "string"});
    }
    tool
}

async fn yard() -> (Yard, Client, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let text = |text: &str| format!(r#""result":{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
    let found = text(r#"[{\"path\":\"AI.md\"},{\"path\":\"Models.md\"}]"#);
    let issues = [
        with_optional(tool("create_issue", "Creates an issue on GitHub", &["title"]), &["body"]),
        tool("close_issue", "Closes an issue on GitHub", &["repo", "issue_number"]),
        tool("list_issues", "Lists the issues of a GitHub repository", &["repo"]),
    ];
    let notes = [
        tool("search_notes", "Searches notes for words", &["query"]),
        with_optional(tool("update_note", "Updates a note", &["path"]), &["content"]),
        tool("read_note", "Reads a note", &["path"]),
    ];
    let servers = json!({
        "github": answering(folder.path(), "github", &issues, &[("", &text("done"))]),
        "notes": answering(folder.path(), "notes", &notes, &[("search_notes", &found), ("", &text("done"))]),
    });
    let yard = Yard::of(servers).keep(folder).learnt().await;
    let client = yard.stdio(&[]);
    client.initialize(SESSION, json!({})).await.unwrap();
    understood(&client).await;
    (yard, client, path)
}

#[tokio::test]
async fn r9_what_a_write_needs_and_nobody_said_is_asked_for() {
    let (_yard, client, folder) = yard().await;
    for task in [
        "issue 41 is fixed, close it please",
        "Create GitHub issue",
        "create an issue on GitHub",
        "please close the GitHub issue",
        "Search notes for AI and update them",
        "update the note AI.md",
    ] {
        let answer = route(&client, json!({"task": task})).await;
        let is_open = answer["needsClarification"] == true || answer["draft"].is_object();
        assert!(is_open, "{task}: {answer}");
        assert_eq!(answer["executedTools"], json!([]), "{task}: {answer}");
    }
    assert_eq!((calls(&folder, "github"), calls(&folder, "notes")), (0, 0));
}

#[tokio::test]
async fn r9_a_write_runs_with_values_that_are_quoted_named_or_have_a_form_of_their_own() {
    let (_yard, client, folder) = yard().await;
    for (task, sent) in [
        ("create a GitHub issue titled \"Login is broken\"", r#""title":"Login is broken""#),
        ("close issue 41 of the GitHub repo web", r#""repo":"web""#),
        ("update the note AI.md with the content 'Models are small.'", r#""content":"Models are small.""#),
    ] {
        let answer = route(&client, json!({"task": task})).await;
        let answer = match answer.get("confirm") {
            Some(handle) => route(&client, json!({"task": task, "context": {"confirm": handle}})).await,
            None => answer,
        };
        assert_eq!(answer["needsClarification"], false, "{task}: {answer}");
        let seen = ["github", "notes"].map(|it| std::fs::read_to_string(folder.join(it).join("calls")));
        let seen: String = seen.into_iter().flatten().collect();
        assert!(seen.contains(sent), "{task}: {seen}");
    }
}

#[tokio::test]
async fn v1_values_under_names_of_the_caller_reach_the_tool_under_its_own() {
    let (_yard, client, folder) = yard().await;
    let values = json!({"repository": "web", "issue number": "41"});
    let answer = route(&client, json!({"task": "Close an issue on GitHub", "values": values})).await;
    let answer = match answer["draft"].is_object() {
        true => {
            assert_eq!(answer["draft"]["values"], json!({"repo": "web", "issue_number": "41"}), "{answer}");
            let context = json!({"session": answer["session"]});
            route(&client, json!({"task": "run it", "context": context, "values": {}})).await
        }
        false => answer,
    };
    assert_eq!(answer["executedTools"], json!(["github__close_issue"]), "{answer}");
    let seen = std::fs::read_to_string(folder.join("github/calls")).unwrap();
    assert!(seen.contains(r#""repo":"web""#) && seen.contains(r#""issue_number":"41""#), "{seen}");
}

#[tokio::test]
async fn v3_a_draft_says_which_tool_finds_an_id_that_it_lacks() {
    let (_yard, client, folder) = yard().await;
    let asked = json!({"task": "Close an issue on GitHub", "values": {"repository": "web"}});
    let result = client.call("smart_route", asked).await.unwrap();
    let answer = &result["structuredContent"];
    assert_eq!(answer["draft"]["missing"], json!(["issue_number"]), "{answer}");
    assert_eq!(answer["draft"]["foundBy"], json!({"issue_number": "github__list_issues"}), "{answer}");
    let said = result["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("missing: issue_number (github__list_issues finds it)"), "{said}");
    // It runs under its name, with the value that is known.
    let values = json!({"repository": "web"});
    let listed = route(&client, json!({"task": "github__list_issues", "values": values})).await;
    assert_eq!(listed["executedTools"], json!(["github__list_issues"]), "{listed}");
    assert_eq!(calls(&folder, "github"), 1);
}

#[tokio::test]
async fn v2_a_value_that_has_no_place_is_named_in_a_draft_and_nothing_runs() {
    let (_yard, client, folder) = yard().await;
    let values = json!({"repository": "web", "issue number": "41", "reaction": "thumbs up"});
    let answer = route(&client, json!({"task": "Close an issue on GitHub", "values": values})).await;
    assert_eq!(answer["draft"]["unused"], json!(["reaction"]), "{answer}");
    assert_eq!((calls(&folder, "github"), &answer["needsClarification"]), (0, &json!(false)), "{answer}");
    // Another tool's name takes the same values there.
    let context = json!({"session": answer["session"]});
    let other = route(&client, json!({"task": "github__list_issues", "context": context})).await;
    let is_taken = other["executedTools"] == json!(["github__list_issues"])
        || other["draft"]["values"] == json!({"repo": "web"});
    assert!(is_taken, "{other}");
}
