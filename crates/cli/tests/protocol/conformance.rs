//! The official suite and the inspector, with and without the hub between them and a server.

use std::collections::BTreeMap;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use testkit::{Listening, bin, servers};

use crate::yard::{Served, Yard, good, named};

/// What the fixture passes of the suite, with the hub or without it.
pub(crate) fn expected(version: &str) -> &'static str {
    match version {
        "2025-11-25" => include_str!("conformance/2025-11-25.txt"),
        _ => include_str!("conformance/2026-07-28.txt"),
    }
}

#[tokio::test]
async fn the_suite_of_2025_11_25_passes_without_the_hub() {
    let fixture = Listening::conformance();
    assert_eq!(measured(fixture.url(), "2025-11-25"), expected("2025-11-25"));
}

#[tokio::test]
async fn the_suite_of_2026_07_28_passes_without_the_hub() {
    let fixture = Listening::conformance();
    assert_eq!(measured(fixture.url(), "2026-07-28"), expected("2026-07-28"));
}

#[tokio::test]
async fn the_suite_of_2025_11_25_passes_the_same_through_the_hub_over_stdio() {
    let (served, _yard) = before(json!({"command": bin("conformance-server")}));
    assert_eq!(measured(&served.at("through"), "2025-11-25"), expected("2025-11-25"));
}

#[tokio::test]
async fn the_suite_of_2026_07_28_passes_the_same_through_the_hub_over_stdio() {
    let (served, _yard) = before(json!({"command": bin("conformance-server")}));
    assert_eq!(measured(&served.at("through"), "2026-07-28"), expected("2026-07-28"));
}

#[tokio::test]
async fn the_suite_of_2025_11_25_passes_the_same_through_the_hub_over_http() {
    let fixture = Listening::conformance();
    let (served, _yard) = before(json!({"url": fixture.url()}));
    assert_eq!(measured(&served.at("through"), "2025-11-25"), expected("2025-11-25"));
}

#[tokio::test]
async fn the_suite_of_2026_07_28_passes_the_same_through_the_hub_over_http() {
    let fixture = Listening::conformance();
    let (served, _yard) = before(json!({"url": fixture.url()}));
    assert_eq!(measured(&served.at("through"), "2026-07-28"), expected("2026-07-28"));
}

#[tokio::test]
async fn the_inspector_lists_and_calls_tools_over_stdio_in_both_eras() {
    let yard = Yard::of(json!({"good": good(&[])})).learnt().await;
    for era in ["legacy", "modern"] {
        let hub = yard.command(&["serve", "--surface", "all"]);
        let words = [hub.get_program()].into_iter().chain(hub.get_args()).map(|it| it.to_str().unwrap());
        inspect(&yard, &["--"].into_iter().chain(words).collect::<Vec<_>>(), era);
    }
}

#[tokio::test]
async fn the_inspector_lists_and_calls_tools_over_http_in_both_eras() {
    let yard = Yard::of(json!({"good": good(&[])})).learnt().await;
    let served = yard.http(&["--surface", "all"]);
    for era in ["legacy", "modern"] {
        inspect(&yard, &["--server-url", &served.url, "--transport", "http"], era);
    }
}

fn before(server: Value) -> (Served, Yard) {
    let yard = Yard::new(json!({
        "mcpServers": {"suite": server},
        "serve": {"profiles": {"through": {"transparent": "suite"}}}
    }));
    (yard.http(&[]), yard)
}

/// Runs the suite and writes what came of it as text.
fn measured(url: &str, version: &str) -> String {
    told(&ran(url, &["--requirements", version])["requirements"][version])
}

/// Runs single scenarios of the suite and writes what came of them.
pub(crate) fn scenarios(url: &str, names: &[&str]) -> String {
    let args: Vec<&str> = names.iter().flat_map(|name| ["--scenario", name]).collect();
    told(&ran(url, &args)["scenarios"])
}

fn ran(url: &str, args: &[&str]) -> Value {
    let suite = servers::modules().join("../../conformance/node_modules/@modelcontextprotocol/conformance");
    assert!(suite.is_dir(), "the conformance suite is missing; run `scripts/servers conformance` first");
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/conformance");
    let output = Command::new(script).arg(url).args(args).output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("the suite did not run: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Writes a summary as text: the number of checks passed, then one line for each scenario and check with how often it
/// came out how.
fn told(summary: &Value) -> String {
    let mut checks: BTreeMap<String, usize> = BTreeMap::new();
    for check in summary["checks"].as_array().unwrap() {
        let [scenario, id, status, message] =
            ["scenario", "id", "status", "message"].map(|key| check[key].as_str().unwrap_or_default());
        *checks.entry(format!("{scenario} {id} {status} {message}").trim_end().to_owned()).or_default() += 1;
    }
    let mut text = format!("{} passed, {} failed\n", summary["passed"], summary["failed"]);
    for (check, count) in checks {
        text.push_str(&format!("{count} {check}\n"));
    }
    text
}

/// Lists the tools and calls one, as a person with the inspector does.
fn inspect(yard: &Yard, target: &[&str], era: &str) {
    let run = |args: &[&str]| {
        let mut command = servers::inspector(&[]);
        command.args(["--protocol-era", era, "--format", "json", "--quiet"]).args(args);
        // Everything it keeps goes into the folder of the test.
        command.env("HOME", yard.path()).env("TOOLYARD_CONFIG", yard.path().join("toolyard.json"));
        command.args(target);
        said(command.stdin(Stdio::null()).output().unwrap())
    };
    let listed = run(&["--method", "tools/list"]);
    let tools = listed["tools"].as_array().unwrap_or_else(|| panic!("{era}: {listed}"));
    assert!(tools.iter().any(|tool| named(tool) == "good__echo"), "{era}: {listed}");
    let called =
        run(&["--method", "tools/call", "--tool-name", "good__echo", "--tool-arg", "text=inspected"]);
    assert_eq!(called["content"][0]["text"], "inspected", "{era}: {called}");
}

fn said(output: Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let said: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text} {errors}"));
    said["result"].clone()
}
