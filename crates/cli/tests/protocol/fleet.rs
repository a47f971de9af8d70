//! Conversations with the real small fleet, as they were recorded; skipped where `scripts/servers` was not run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::client::Client;
use testkit::servers;

use crate::eras::only_question;
use crate::shelf::{route, whole};
use crate::yard::{Yard, named, text};

/// Real servers on a busy machine take their time to start.
pub(crate) const START: Duration = Duration::from_secs(120);

/// Gives a real server as an entry of the configuration.
pub(crate) fn real(name: &str, args: &[&str]) -> Value {
    let command = servers::command(name, args);
    let args: Vec<String> = command.get_args().map(|it| it.to_string_lossy().into_owned()).collect();
    // Interpreted servers need a while on a busy machine.
    let limits = json!({"startMs": 60_000, "callMs": 60_000});
    json!({"command": command.get_program().to_string_lossy(), "args": args, "limits": limits})
}

/// Whether the real servers are installed; says so where they are not.
pub(crate) fn are_there() -> bool {
    let are_there = servers::are_installed();
    if !are_there {
        use std::io::Write;
        writeln!(std::io::stderr(), "skipped: run `scripts/servers` first").expect("stderr is open");
    }
    are_there
}

/// Puts files into a folder of their own, for real servers; nothing where those are not there.
pub(crate) fn laid_out(files: &[(&str, &str)]) -> Option<(TempDir, PathBuf)> {
    if !are_there() {
        return None;
    }
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().canonicalize().unwrap();
    for (path, content) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    Some((temporary, folder))
}

/// A vault with notes, a folder with files, and the servers on them.
async fn fleet() -> Option<(Yard, PathBuf)> {
    if !are_there() {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| {
        let place = folder.path().join(name);
        std::fs::create_dir_all(&place).unwrap();
        place
    };
    let (vault, files) = (place("vault"), place("files"));
    std::fs::write(vault.join("AI.md"), "# AI\nRouters find tools.\n").unwrap();
    for old in ["Old.md", "Older.md"] {
        std::fs::write(vault.join(old), "Nobody needs this.\n").unwrap();
    }
    std::fs::write(files.join("a.txt"), "hello").unwrap();
    let memory = folder.path().join("memory.json");
    let mut graph = real("memory", &[]);
    graph["env"] = json!({"MEMORY_FILE_PATH": memory});
    let yard = Yard::of(json!({
        "obsidian": real("obsidian", &[vault.to_str().unwrap()]),
        "filesystem": real("filesystem", &[files.to_str().unwrap()]),
        "memory": graph,
        "calculator": real("calculator", &[]),
        "time": {"builtin": "time"},
    }));
    Some((yard.keep(folder).learnt_within(START).await, vault))
}

/// Routes to a tool; where several servers can do it, it may be asked which one is meant.
async fn meant(client: &Client, asked: Value, tool: &str) -> Value {
    let mut answer = route(client, asked).await;
    if answer.get("tool").is_none() {
        let context = json!({"session": answer["session"]});
        answer = route(client, json!({"task": tool, "context": context})).await;
    }
    assert_eq!(answer["tool"], tool, "{answer}");
    answer
}

/// Everything that both eras say in the same words.
async fn converse(client: &Client, vault: &Path, old: &str) {
    assert_eq!(client.tools().await.unwrap().iter().map(named).collect::<Vec<_>>(), ["smart_route"]);
    let sum = json!({"task": "calculate 17 * 23", "context": {"arguments": {"expression": "17 * 23"}}});
    let sum = route(client, sum).await;
    assert_eq!(sum["executedTools"], json!(["calculator__calculate"]), "{sum}");
    assert!(sum["result"].to_string().contains("391"), "{sum}");

    let task = "Search my notes for AI";
    let mut found = route(client, json!({"task": task})).await;
    // Several servers can search notes.
    if found["executedTools"] == json!([]) {
        let context = json!({"session": found["session"]});
        found = route(client, json!({"task": "obsidian__search_notes", "context": context})).await;
    }
    assert_eq!(found["executedTools"], json!(["obsidian__search_notes"]), "{found}");
    assert_eq!(found["result"]["items"][0]["p"], "AI.md", "{found}");

    let known = json!({"path": old, "confirmPath": old});
    let task =
        json!({"task": format!("Delete the note {old} from my vault"), "context": {"arguments": known}});
    let asked = meant(client, task, "obsidian__delete_note").await;
    assert_eq!(asked["executedTools"], json!([]), "{asked}");
    assert!(vault.join(old).exists());
    let context = json!({"confirm": asked["confirm"], "arguments": known});
    let done = route(client, json!({"task": "yes", "context": context})).await;
    assert_eq!(done["executedTools"], json!(["obsidian__delete_note"]), "{done}");
    assert!(!vault.join(old).exists());
}

#[tokio::test]
async fn r1_clients_of_both_eras_converse_with_real_servers() {
    let Some((yard, vault)) = fleet().await else { return };
    over_pipes(&yard, &vault).await;
    over_http(&yard, &vault).await;
}

/// As LM Studio and Claude Desktop speak.
async fn over_pipes(yard: &Yard, vault: &Path) {
    let client = yard.stdio(&[]);
    let info = json!({"name": "lm-studio", "version": "0.3"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
    let hello = client.request("initialize", params).await.unwrap();
    assert_eq!(hello["protocolVersion"], "2025-06-18");
    assert!(
        hello["instructions"].as_str().unwrap().contains("calculator, filesystem, memory, obsidian, time")
    );
    client.notify("notifications/initialized", json!({})).await.unwrap();
    converse(&client, vault, "Old.md").await;

    let vague = whole(&client, json!({"task": "Search for something"})).await;
    let asked = &vague["structuredContent"];
    assert_eq!(asked["needsClarification"], true, "{asked}");
    assert!(text(&vague).contains("\n2. "), "{vague}");
    let offered = asked["alternatives"].as_array().unwrap();
    assert!(offered.len() >= 2);
    let answer = json!({"task": "the second one", "context": {"session": asked["session"]}});
    let picked = route(&client, answer).await;
    let second = &offered[1]["tool"];
    assert!(picked["draft"]["tool"] == *second || picked["executedTools"] == json!([second]), "{picked}");
}

/// As clients of 2026-07-28 speak.
async fn over_http(yard: &Yard, vault: &Path) {
    let served = yard.http(&[]);
    converse(&served.modern("", json!({})), vault, "Older.md").await;

    let client = served.modern("", json!({"elicitation": {}}));
    let task = json!({"task": "Search for something"});
    let asked = whole(&client, task.clone()).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let (key, question) = only_question(&asked);
    let choices = question["params"]["requestedSchema"]["properties"]["choice"]["enum"].clone();
    let answer = json!({key: {"action": "accept", "content": {"choice": choices[0]}}});
    let params = json!({
        "name": "smart_route", "arguments": task, "inputResponses": answer, "requestState": asked["requestState"]
    });
    let done = client.request("tools/call", params).await.unwrap();
    assert_eq!(done["resultType"], "complete");
    let answer = &done["structuredContent"];
    let named = [&answer["tool"], &answer["draft"]["tool"], &answer["executedTools"][0]];
    assert!(named.contains(&&choices[0]), "{done}");
}
