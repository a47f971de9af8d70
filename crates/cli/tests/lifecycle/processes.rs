//! Nothing is left of a hub, however it ends.

use std::process::Command;
use std::time::Duration;

use serde_json::json;
use testkit::client::Client;
use testkit::{processes, wait_until};
use tokio::task::JoinSet;

use crate::yard::{SOON, Yard, appears};

/// Hubs that are killed, and how many of them live at the same time.
const KILLS: u64 = 50;
const AT_ONCE: u64 = 5;

#[tokio::test]
async fn a_killed_hub_leaves_nothing_behind() {
    for round in 0..KILLS / AT_ONCE {
        let mut hubs = JoinSet::new();
        for at in 0..AT_ONCE {
            hubs.spawn(kill_at(round * AT_ONCE + at));
        }
        while let Some(done) = hubs.join_next().await {
            done.unwrap();
        }
    }
}

/// Kills a hub at one of many moments of its life.
async fn kill_at(moment: u64) {
    let mut yard = families();
    if moment % 5 == 3 {
        with_bare(&mut yard);
    }
    let hub = Client::spawn(yard.serve(&["--surface", "all"]));
    match moment % 5 {
        // While it starts, a little later each time.
        0 => tokio::time::sleep(Duration::from_millis(moment)).await,
        // With the first of its servers.
        1 => wait_until(SOON, || !yard.running("forks").is_empty() || !yard.running("cuts").is_empty()).await,
        2 => {
            hub.initialize("2025-11-25", json!({})).await.unwrap();
            tokio::time::sleep(Duration::from_millis(2 * moment)).await;
        }
        // With all of its servers and what they started.
        3 => {
            hub.initialize("2025-11-25", json!({})).await.unwrap();
            appears(&hub, "bare__pid").await;
            wait_until(SOON, || all_run(&yard) && bare(&yard).is_some()).await;
        }
        // In the middle of calls that start more.
        _ => {
            hub.initialize("2025-11-25", json!({})).await.unwrap();
            appears(&hub, "plain__fork").await;
            for setsid in [true, false] {
                hub.text("plain__fork", json!({ "setsid": setsid, "inherit": true })).await;
                let params = json!({ "name": "plain__fork", "arguments": { "setsid": setsid } });
                drop(hub.start("tools/call", params).await.unwrap());
            }
        }
    }
    hub.kill9().await;
    yard.deserted().await;
    wait_until(SOON, || bare(&yard).is_none()).await;
}

/// Servers with grandchildren of every kind.
fn families() -> Yard {
    let mut yard = Yard::new();
    yard.server("forks", &["--fault", "forks"], &json!({ "lazy": false }));
    yard.script("cuts", "trap '' TERM; setsid sleep 1000 & \"$server\"; wait", &json!({ "lazy": false }));
    yard.server("plain", &[], &json!({}));
    yard
}

/// Adds a server with a grandchild that lost its environment. It is known by its process group, from the
/// moment on that the hub has heard of that.
fn with_bare(yard: &mut Yard) {
    let script = "env -i sleep 1000 & echo $! > bare; exec \"$server\"";
    yard.script("bare", script, &json!({ "lazy": false }));
}

/// Gives the grandchild without an environment, if it runs.
fn bare(yard: &Yard) -> Option<u32> {
    let pid = std::fs::read_to_string(yard.path("bare")).ok()?.trim().parse().ok()?;
    processes::is_alive(pid).then_some(pid)
}

fn all_run(yard: &Yard) -> bool {
    ["forks", "cuts"].iter().all(|server| yard.running(server).len() >= 2)
}

#[tokio::test]
async fn a_hub_whose_client_leaves_ends_in_good_order() {
    let (yard, hub) = settled().await;
    assert!(hub.close().await.unwrap().success());
    yard.deserted().await;
    assert_eq!(bare(&yard), None);
}

#[tokio::test]
async fn a_hub_that_is_told_to_end_takes_everything_along() {
    for signal in ["TERM", "INT"] {
        let (yard, hub) = settled().await;
        send(signal, hub.pid());
        yard.deserted().await;
        assert_eq!(bare(&yard), None);
        assert!(hub.close().await.unwrap().success());
    }
}

/// Starts a hub and waits until everything runs.
async fn settled() -> (Yard, Client) {
    let mut yard = families();
    with_bare(&mut yard);
    let hub = yard.open().await;
    appears(&hub, "plain__fork").await;
    hub.text("plain__fork", json!({ "setsid": true, "inherit": true })).await;
    wait_until(SOON, || all_run(&yard) && bare(&yard).is_some()).await;
    (yard, hub)
}

#[tokio::test]
async fn a_hub_ends_while_a_server_is_still_starting() {
    for end in ["EOF", "TERM"] {
        let mut yard = Yard::new();
        // Far more than the patience of the test's client.
        let limits = json!({ "startMs": 600_000 });
        yard.server("silent", &["--fault", "silent"], &json!({ "lazy": false, "limits": limits }));
        yard.server("mute", &["--fault", "deaf"], &json!({ "limits": limits }));
        let hub = yard.open().await;
        wait_until(SOON, || !yard.running("silent").is_empty() && !yard.running("mute").is_empty()).await;
        if end == "TERM" {
            send("TERM", hub.pid());
        }
        assert!(hub.close().await.unwrap().success());
        yard.deserted().await;
    }
}

#[tokio::test]
async fn calls_in_flight_do_not_keep_a_hub_from_ending() {
    let mut yard = Yard::new();
    yard.server("plain", &[], &json!({ "limits": { "callMs": 600_000 } }));
    let hub = yard.open().await;
    appears(&hub, "plain__hang").await;
    let _call = hub.start("tools/call", json!({ "name": "plain__hang" })).await.unwrap();
    wait_until(SOON, || !yard.running("plain").is_empty()).await;
    send("TERM", hub.pid());
    yard.deserted().await;
}

#[tokio::test]
async fn a_killed_watchdog_is_replaced_with_the_next_server() {
    let mut yard = Yard::new();
    yard.server("first", &[], &json!({}));
    yard.server("second", &["--fault", "forks"], &json!({}));
    let hub = yard.open().await;
    appears(&hub, "first__pid").await;
    appears(&hub, "second__pid").await;
    hub.text("first__pid", json!({})).await;
    processes::kill9(watchdog(&hub).unwrap());
    wait_until(SOON, || watchdog(&hub).is_none()).await;
    hub.text("second__pid", json!({})).await;
    assert!(watchdog(&hub).is_some());
    hub.kill9().await;
    yard.deserted().await;
}

fn watchdog(hub: &Client) -> Option<u32> {
    let words = |pid: &u32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let is_watchdog = |pid: &u32| words(pid).split(|byte| *byte == 0).nth(1) == Some(b"watchdog");
    processes::descendants(hub.pid()).into_iter().find(is_watchdog)
}

fn send(signal: &str, pid: u32) {
    let sent = Command::new("kill").arg(format!("-{signal}")).arg(pid.to_string()).status().unwrap();
    assert!(sent.success());
}
