//! Started when needed, stopped when idle.

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::{processes, wait_until};

use crate::yard::{SOON, Yard, appears, lines_with, listed, names, pid};

#[tokio::test]
async fn t5_a_server_that_was_never_seen_is_learnt_once_and_stopped() {
    let mut yard = Yard::new();
    for at in 0..4 {
        let script = format!("echo start >> starts{at}; exec \"$server\"");
        yard.script(&format!("new{at}"), &script, &json!({}));
    }
    let client = yard.open().await;
    for at in 0..4 {
        appears(&client, &format!("new{at}__echo")).await;
        yard.status(&format!("new{at}"), |it| it.state == "stopped").await;
        wait_until(SOON, || yard.running(&format!("new{at}")).is_empty()).await;
    }
    let starts = |at: usize| lines_with(&yard.path(&format!("starts{at}")), "start");
    assert_eq!([0, 1, 2, 3].map(starts), [1; 4]);
    assert!(client.close().await.unwrap().success());
    // After a restart everything is known, and nothing needs to run for it.
    let client = yard.open().await;
    let known = names(&client).await;
    assert!((0..4).all(|at| known.contains(&format!("new{at}__echo"))), "{known:?}");
    yard.status("new3", |it| it.state == "known").await;
    assert_eq!([0, 1, 2, 3].map(starts), [1; 4]);
    assert_eq!(client.text("new2__echo", json!({ "text": "hi" })).await, "hi");
    assert_eq!([0, 1, 2, 3].map(starts), [1, 1, 2, 1]);
}

/// Servers that are learnt at once besides one for each core, where they are slow.
const MOST_SLOW: usize = 8;

#[tokio::test]
async fn t5_no_more_servers_are_learnt_at_once_than_one_per_core_and_eight_slow_ones() {
    let most = std::thread::available_parallelism().unwrap().get() + MOST_SLOW;
    let all = most + 3;
    let mut yard = Yard::new();
    for at in 0..all {
        // Waits for the test to let it go on, and says every tenth of a second that it does.
        let script =
            format!("until [ -e go ]; do echo waits >> waits{at}; sleep 0.1; done; exec \"$server\"");
        yard.script(&format!("new{at}"), &script, &json!({ "limits": { "startMs": 300_000 } }));
    }
    let client = yard.open().await;
    let waits = || (0..all).map(|at| lines_with(&yard.path(&format!("waits{at}")), "waits"));
    // Each of them waited longer than a turn lasts, so that the next one could have begun.
    let is_long = |times: usize| times > 40;
    wait_until(4 * SOON, || waits().filter(|times| is_long(*times)).count() >= most).await;
    assert_eq!(waits().filter(|times| *times > 0).count(), most);
    std::fs::write(yard.path("go"), "").unwrap();
    listed(&client, |names| (0..all).all(|at| names.contains(&format!("new{at}__echo")))).await;
}

#[tokio::test]
async fn t5_a_group_of_a_last_resort_is_listed_once_it_is_asked_for_by_name() {
    let mut yard = Yard::new();
    yard.server("desk", &[], &json!({})).server("browser", &[], &json!({}));
    yard.set("tiers", json!({ "browser": 2 }));
    yard.set(
        "serve",
        json!({ "profiles": {
        "web": { "surface": "all", "servers": ["browser"] }, "words": { "surface": "route" },
    } }),
    );
    let client = yard.open().await;
    for server in ["desk", "browser"] {
        yard.status(server, |it| it.state == "stopped").await;
    }
    let of = |names: &[String], server: &str| names.iter().filter(|it| it.starts_with(server)).count();
    let all = testkit::fault::definition::tools().len();
    let first = names(&client).await;
    assert_eq!((of(&first, "desk__"), of(&first, "browser__")), (all, 0), "{first:?}");
    assert!(
        ["find_tools", "describe_tool", "call_tool"].iter().all(|own| first.contains(&(*own).to_owned()))
    );
    // Words find it, and nothing had to run for that.
    let found = client.text("find_tools", json!({ "query": "browser echo", "limit": 50 })).await;
    assert!(found.contains("browser__echo"), "{found}");
    assert!(yard.running("browser").is_empty());
    let changes = || {
        let changed = |it: &&Value| it["method"] == "notifications/tools/list_changed";
        client.notifications().iter().filter(changed).count()
    };
    let before = changes();
    let asked = client.text("find_tools", json!({ "server": "browser" })).await;
    assert_eq!(asked.lines().filter(|line| line.starts_with("browser__")).count(), all, "{asked}");
    wait_until(SOON, || changes() > before).await;
    let then = names(&client).await;
    assert_eq!((of(&then, "desk__"), of(&then, "browser__")), (all, all), "{then:?}");
    assert!(yard.running("browser").is_empty(), "to be listed it need not run");
    assert_eq!(client.text("browser__echo", json!({ "text": "hi" })).await, "hi");
    assert!(client.close().await.unwrap().success());

    // Another session begins without it; by its name it can be called all the same.
    let (hub, url) = yard.listen().await;
    let other = Client::http(&url, &[]);
    other.modern(json!({}));
    assert_eq!(of(&names(&other).await, "browser__"), 0);
    assert_eq!(other.text("browser__echo", json!({ "text": "hi" })).await, "hi");
    other.call("find_tools", json!({ "server": "browser" })).await.unwrap();
    assert_eq!(of(&names(&other).await, "browser__"), 0, "what a modern client sees depends on no call");
    // The router knows it.
    let words = Client::http(&format!("{url}/words"), &[]);
    words.modern(json!({}));
    let task = json!({
        "task": "repeat a text", "context": { "serverPreference": "browser" }, "options": { "returnCandidates": true },
    });
    let routed = words.call("smart_route", task).await.unwrap();
    let candidates = routed["structuredContent"]["candidates"].as_array().unwrap();
    assert!(candidates.iter().any(|it| it["tool"] == "browser__echo"), "{candidates:?}");
    // A profile that names the server asks for it.
    let web = Client::http(&format!("{url}/web"), &[]);
    web.modern(json!({}));
    assert_eq!(names(&web).await.len(), all);
    drop(hub);
}

#[tokio::test]
async fn t5_a_server_that_is_not_lazy_starts_with_the_hub() {
    let mut yard = Yard::new();
    yard.server("eager", &[], &json!({ "lazy": false })).server("lazy", &[], &json!({}));
    let client = yard.open().await;
    yard.status("lazy", |it| it.state == "stopped").await;
    yard.status("eager", |it| it.state == "ready").await;
    assert!(client.close().await.unwrap().success());
    let client = yard.open().await;
    wait_until(SOON, || yard.running("eager").len() == 1).await;
    assert_eq!(pid(&client, "eager").await, yard.running("eager")[0]);
    assert_eq!(yard.running("lazy"), [0; 0]);
}

#[tokio::test]
async fn a_changed_command_is_another_server_and_is_learnt_again() {
    let mut yard = Yard::new();
    yard.server("tool", &["--fault", "ansi-names"], &json!({}));
    let client = yard.open().await;
    appears(&client, "tool__hidden_words").await;
    assert!(client.close().await.unwrap().success());
    yard.server("tool", &[], &json!({}));
    let client = yard.open().await;
    appears(&client, "tool__echo").await;
    assert!(!names(&client).await.contains(&"tool__hidden_words".to_owned()));
}

#[tokio::test]
async fn an_idle_server_is_stopped_and_starts_again() {
    for era in [&[][..], &["--modern"], &["--both"]] {
        let mut yard = Yard::new();
        yard.server("idle", era, &json!({ "idleStop": "300ms" }));
        let client = yard.open().await;
        appears(&client, "idle__pid").await;
        let first = pid(&client, "idle").await;
        wait_until(SOON, || !processes::is_alive(first)).await;
        yard.status("idle", |it| it.state == "stopped").await;
        let second = pid(&client, "idle").await;
        assert_ne!(first, second, "{era:?}");
    }
}

#[tokio::test]
async fn a_server_at_work_is_not_idle() {
    let mut yard = Yard::new();
    // Keeps what the hub says to the server.
    let script = "tee -a heard | \"$server\"";
    yard.script("busy", script, &json!({ "idleStop": "200ms", "limits": { "callMs": 60_000 } }));
    let client = yard.open().await;
    yard.status("busy", |it| it.state == "stopped").await;
    let before = lines_with(&yard.path("heard"), "tools/list");
    assert_eq!(client.text("busy__sleep", json!({ "ms": 1500 })).await, "slept");
    let asked = lines_with(&yard.path("heard"), "tools/list") - before;
    assert!(asked <= 2, "its tools were listed {asked} times during one call");
}
