//! The real servers start and answer; skipped where `scripts/servers` was not run.

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::{bin, servers, wait_until};

const SOON: Duration = Duration::from_secs(30);

#[tokio::test]
async fn every_real_server_lists_its_tools() {
    let Some(folder) = folder() else { return };
    let vault = folder.path().to_str().unwrap();
    let memory = folder.path().join("memory.json");
    for (name, args, tool) in [
        ("everything", vec![], "echo"),
        ("filesystem", vec![vault], "read_text_file"),
        ("memory", vec![], "create_entities"),
        ("obsidian", vec![vault], "read_note"),
        ("playwright", vec!["--headless"], "browser_navigate"),
        ("git", vec![], "git_status"),
        ("time", vec![], "convert_time"),
        ("calculator", vec![], "calculate"),
    ] {
        let mut command = servers::command(name, &args);
        command.env("MEMORY_FILE_PATH", &memory);
        let client = Client::spawn(command);
        let tools = match client.initialize("2025-11-25", json!({})).await {
            Ok(_) => client.tools().await.unwrap(),
            Err(error) => panic!("{name}: {error}: {}", client.stderr()),
        };
        assert!(tools.iter().any(|it| it["name"] == tool), "{name} has no `{tool}`: {}", names(&tools));
        client.kill9().await;
    }
}

#[tokio::test]
async fn a_legacy_sse_server_opens_its_stream() {
    let Some(_) = folder() else { return };
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = servers::command("everything", &["sse"]);
    command.env("PORT", port.to_string()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    wait_until(SOON, || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
    let client = Client::http(&format!("http://127.0.0.1:{port}/sse"), &[]);
    let opened = client.open_stream().await;
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(opened.is_ok(), "{opened:?}");
}

#[tokio::test]
async fn the_inspector_lists_tools() {
    let Some(_) = folder() else { return };
    let server = bin("fault-server");
    let output = tokio::task::spawn_blocking(move || {
        let mut command = servers::inspector(&[server.to_str().unwrap(), "--method", "tools/list"]);
        command.stdin(Stdio::null()).output().unwrap()
    });
    let output = output.await.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"));
    assert_eq!(listed["tools"][0]["name"], "echo");
}

#[tokio::test]
async fn the_pinned_node_is_new_enough_for_the_inspector() {
    let Some(_) = folder() else { return };
    let output = Command::new(servers::node_binary()).arg("--version").output().unwrap();
    assert!(output.stdout.starts_with(b"v22."));
}

/// Gives a folder to work in, or nothing and a message where the servers are missing.
fn folder() -> Option<tempfile::TempDir> {
    if servers::are_installed() {
        return Some(tempfile::tempdir().expect("there is room for a folder"));
    }
    use std::io::Write;
    writeln!(std::io::stderr(), "skipped: run `scripts/servers` first").expect("stderr is open");
    None
}

fn names(tools: &[Value]) -> String {
    tools.iter().map(|tool| tool["name"].to_string()).collect::<Vec<_>>().join(" ")
}
