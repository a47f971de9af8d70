//! The seed's examples on a real vault of notes; skipped where `scripts/servers` was not run.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::client::Client;

use crate::fleet::{START, are_there, real};
use crate::shelf::{route, whole};
use crate::yard::{Yard, text};

/// The seed's notes in a vault, and the server on it.
async fn vault() -> Option<(Yard, PathBuf)> {
    if !are_there() {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let vault = folder.path().join("vault");
    std::fs::create_dir_all(vault.join("AI")).unwrap();
    for (path, content) in [
        ("AI/ChatGPT.md", "# ChatGPT\nAI that talks.\n"),
        ("AI/LocalLLMs.md", "# Local models\nAI without a network.\n"),
        ("Bread.md", "Flour, water, salt.\n"),
        ("Old.md", "Nobody needs this.\n"),
        ("Older.md", "Nobody needed this.\n"),
    ] {
        std::fs::write(vault.join(path), content).unwrap();
    }
    let yard = Yard::of(json!({"obsidian": real("obsidian", &[vault.to_str().unwrap()])}));
    Some((yard.keep(folder).learnt_within(START).await, vault))
}

/// Routes to a tool; where the words leave a choice, it is picked by its name.
async fn meant(client: &Client, task: &str, known: &Value, tool: &str) -> Value {
    let answer = route(client, json!({"task": task, "context": {"arguments": known}})).await;
    if answer["executedTools"] == json!([tool]) || answer["tool"] == tool {
        return answer;
    }
    assert_eq!(
        (&answer["needsClarification"], &answer["executedTools"]),
        (&json!(true), &json!([])),
        "{answer}"
    );
    let context = json!({"session": answer["session"], "arguments": known});
    route(client, json!({"task": tool, "context": context})).await
}

async fn converse(client: &Client, vault: &Path, old: &str) {
    let task = "Search my notes for AI";
    let known = json!({"task": task, "context": {"arguments": {"query": "AI"}}});
    let found = route(client, known).await;
    assert_eq!(found["executedTools"], json!(["obsidian__search_notes"]), "{found}");
    assert!(found["confidence"].as_f64().unwrap() > 0.8, "{found}");
    assert_eq!(found["needsClarification"], false);
    let found = found["result"].to_string();
    assert!(found.contains("AI/ChatGPT.md") && found.contains("AI/LocalLLMs.md"), "{found}");
    assert!(!found.contains("Bread.md"), "{found}");

    let note = json!({"path": "Bread.md"});
    let read = meant(client, "Read the note Bread.md", &note, "obsidian__read_note").await;
    assert_eq!(read["executedTools"], json!(["obsidian__read_note"]), "{read}");
    assert!(read["result"].to_string().contains("Flour, water, salt."), "{read}");

    let vague = whole(client, json!({"task": "Find something"})).await;
    let asked = &vague["structuredContent"];
    assert_eq!((&asked["needsClarification"], &asked["executedTools"]), (&json!(true), &json!([])));
    assert!(asked["alternatives"].as_array().unwrap().len() > 1, "{asked}");
    assert!(text(&vague).contains("\n2. "), "{vague}");

    let known = json!({"path": old, "confirmPath": old});
    let asked = meant(client, &format!("Delete the note {old}"), &known, "obsidian__delete_note").await;
    assert_eq!((&asked["tool"], &asked["executedTools"]), (&json!("obsidian__delete_note"), &json!([])));
    assert!(vault.join(old).exists());
    let context = json!({"confirm": asked["confirm"], "arguments": known});
    let done = route(client, json!({"task": "yes", "context": context})).await;
    assert_eq!(done["executedTools"], json!(["obsidian__delete_note"]), "{done}");
    assert!(!vault.join(old).exists());
    let again = route(client, json!({"task": "yes", "context": context})).await;
    assert_eq!(again["executedTools"], json!([]), "a confirmation counts once: {again}");
}

#[tokio::test]
async fn r7_the_seeds_examples_hold_on_a_real_vault_in_both_eras() {
    let Some((yard, vault)) = vault().await else { return };
    let client = yard.stdio(&[]);
    client.initialize("2025-06-18", json!({})).await.unwrap();
    converse(&client, &vault, "Old.md").await;
    let served = yard.http(&[]);
    converse(&served.modern("", json!({})), &vault, "Older.md").await;
}
