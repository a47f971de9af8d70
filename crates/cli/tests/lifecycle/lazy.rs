//! Started when needed, stopped when idle.

use serde_json::json;
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

#[tokio::test]
async fn t5_servers_are_learnt_in_turn() {
    let cores = std::thread::available_parallelism().unwrap().get();
    let all = 3 * cores;
    let mut yard = Yard::new();
    for at in 0..all {
        // Says when it begins and when it is done.
        let script = "echo begin >> order; \"$server\"; echo end >> order";
        yard.script(&format!("new{at}"), script, &json!({}));
    }
    let client = yard.open().await;
    listed(&client, |names| (0..all).all(|at| names.contains(&format!("new{at}__echo")))).await;
    wait_until(SOON, || lines_with(&yard.path("order"), "end") == all).await;
    // A machine that is slow lets a few more begin, never all at once.
    let order = std::fs::read_to_string(yard.path("order")).unwrap();
    let mut at_once = 0;
    let most = order.lines().map(|line| {
        at_once = if line == "begin" { at_once + 1 } else { at_once - 1 };
        at_once
    });
    assert!(most.max().unwrap() < all, "{order}");
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
