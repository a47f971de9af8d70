//! What servers say on stderr, and what they see of our environment.

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::wait_until;

use crate::yard::{SOON, Yard, appears, lines_with, listed};

#[tokio::test]
async fn what_a_server_says_on_stderr_is_in_its_log_and_nowhere_else() {
    let mut yard = Yard::new();
    let script = "echo 'hello from stderr' >&2; echo \"key is $API_KEY\" >&2; exec \"$server\"";
    yard.script("chatty", script, &json!({ "env": { "API_KEY": "sk-very-secret-1" } }));
    let client = yard.open().await;
    appears(&client, "chatty__echo").await;
    wait_until(SOON, || yard.log("chatty").contains("key is")).await;
    assert_eq!(yard.log("chatty").lines().take(2).collect::<Vec<_>>(), ["hello from stderr", "key is ***"]);
    assert!(!client.stderr().contains("hello"), "{}", client.stderr());
    assert_eq!(client.strays(), [""; 0]);
}

#[tokio::test]
async fn the_last_words_of_a_server_that_dies_at_start_are_in_its_log() {
    let mut yard = Yard::new();
    for at in 0..8 {
        let script =
            format!("echo start >> starts{at}; echo first >&2; exec \"$server\" --fault dies-at-start");
        yard.script(&format!("dead{at}"), &script, &json!({ "lazy": false }));
    }
    let client = yard.open().await;
    for at in 0..8 {
        yard.status(&format!("dead{at}"), |it| it.state == "failed").await;
    }
    assert!(client.close().await.unwrap().success());
    for at in 0..8 {
        let starts = lines_with(&yard.path(&format!("starts{at}")), "start");
        let log = yard.log(&format!("dead{at}"));
        let said = log.lines().filter(|line| line.contains("fatal: cannot open /nowhere/database")).count();
        // The last start may have been cut short by the end of the hub.
        assert!(said >= 2 && said + 1 >= starts, "{starts} starts left {log:?}");
    }
}

#[tokio::test]
async fn the_log_of_a_flood_stays_small() {
    let mut yard = Yard::new();
    yard.server("flood", &["--fault", "stderr-flood"], &json!({ "lazy": false }));
    let client = yard.open().await;
    appears(&client, "flood__echo").await;
    let older = yard.data().join("logs/flood.log.1");
    wait_until(SOON, || older.is_file()).await;
    assert_eq!(client.text("flood__echo", json!({ "text": "hi" })).await, "hi");
    // One that is put aside at this moment has no size.
    let sizes = std::fs::read_dir(yard.data().join("logs"))
        .unwrap()
        .filter_map(|it| it.unwrap().metadata().ok())
        .map(|it| it.len());
    let total: u64 = sizes.sum();
    assert!(total <= 1024 * 1024, "{total} bytes");
}

#[tokio::test]
async fn secrets_are_in_no_log_however_they_are_written() {
    let mut yard = Yard::new();
    // One secret begins like the other, and one lies across the place where long lines are cut.
    let script = "echo \"$A_SHORT $B_LONG\" >&2
        printf '%04090d%s\\n' 0 \"$B_LONG\" >&2
        printf 'x%05000d %s\\n' 0 \"$B_LONG\" >&2
        echo over >&2
        exec \"$server\"";
    let env = json!({ "A_SHORT": "sk-live-abc", "B_LONG": "sk-live-abcdefghijklmnop" });
    yard.script("leaky", script, &json!({ "env": env }));
    let client = yard.open().await;
    appears(&client, "leaky__echo").await;
    wait_until(SOON, || yard.log("leaky").contains("over")).await;
    let log = yard.log("leaky");
    for part in ["sk-l", "defghi", "mnop"] {
        assert!(!log.contains(part), "`{part}` is in {log}");
    }
    assert_eq!(log.lines().next(), Some("*** ***"));
}

#[tokio::test]
async fn a_server_sees_only_what_it_is_given() {
    let mut yard = Yard::new();
    yard.server("nosy", &[], &json!({ "env": { "GIVEN": "yes" } }));
    let mut command = yard.serve(&["--surface", "all"]);
    command
        .env("AWS_SECRET_ACCESS_KEY", "x")
        .env("GITHUB_TOKEN", "x")
        .env("LD_PRELOAD", "")
        .env("LC_ALL", "C.UTF-8");
    let client = Client::spawn(command);
    client.initialize("2025-11-25", json!({})).await.unwrap();
    listed(&client, |names| names.iter().any(|name| name == "nosy__env")).await;
    let seen: Vec<String> = serde_json::from_str(&client.text("nosy__env", json!({})).await).unwrap();
    let allowed = [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TERM",
        "TMPDIR",
        "TZ",
        "LANG",
        "LANGUAGE",
        "XDG_RUNTIME_DIR",
        "GIVEN",
        "TOOLYARD_CHILD",
        "TESTKIT_MARKER",
        "YARD_SERVER",
    ];
    let odd: Vec<&String> =
        seen.iter().filter(|name| !allowed.contains(&name.as_str()) && !name.starts_with("LC_")).collect();
    assert!(odd.is_empty(), "{odd:?}");
    for wanted in ["PATH", "HOME", "GIVEN", "LC_ALL"] {
        assert!(seen.iter().any(|name| name == wanted), "{wanted} is not among {seen:?}");
    }
}

#[tokio::test]
async fn log_messages_of_the_protocol_reach_the_client_that_calls() {
    let mut yard = Yard::new();
    yard.server("good", &[], &json!({}));
    let client = yard.open().await;
    appears(&client, "good__log").await;
    client.text("good__log", json!({ "level": "warning", "text": "mind the gap" })).await;
    let told: Value = client.notified("notifications/message").await;
    assert_eq!(
        told["params"],
        json!({ "level": "warning", "logger": "fault-server", "data": "mind the gap" })
    );
}
