//! A server that falls, hangs, or comes late.

use std::path::Path;

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::{processes, wait_for, wait_until};

use crate::yard::{SOON, Yard, appears, failure, lines_with, pid};

#[tokio::test]
async fn a_killed_server_is_there_again_for_the_next_call() {
    for lazy in [true, false] {
        let mut yard = Yard::new();
        yard.server("victim", &[], &json!({ "lazy": lazy }));
        yard.server("other", &[], &json!({}));
        let client = yard.open().await;
        appears(&client, "victim__count").await;
        appears(&client, "other__pid").await;
        let (mut victim, other) = (pid(&client, "victim").await, pid(&client, "other").await);
        for _ in 0..3 {
            processes::kill9(victim);
            // At once, whether the hub has noticed or not.
            let again = pid(&client, "victim").await;
            assert_ne!(again, victim);
            processes::kill9(again);
            // Once the hub has noticed, a write may be sent to the new process as well.
            wait_until(SOON, || !Path::new(&format!("/proc/{again}")).exists()).await;
            assert_eq!(client.text("victim__count", json!({})).await, "1", "lazy: {lazy}");
            victim = pid(&client, "victim").await;
        }
        assert_eq!(pid(&client, "other").await, other);
    }
}

#[tokio::test]
async fn a_read_that_was_under_way_is_tried_again() {
    let mut yard = Yard::new();
    yard.server("victim", &[], &json!({ "limits": { "callMs": 60_000 } }));
    let client = yard.open().await;
    appears(&client, "victim__sleep").await;
    let victim = pid(&client, "victim").await;
    let call = json!({ "name": "victim__sleep", "arguments": { "ms": 500 } });
    let call = client.start("tools/call", call).await.unwrap();
    // An answer that comes after the call's shows that the server has both.
    pid(&client, "victim").await;
    processes::kill9(victim);
    assert_eq!(call.result().await.unwrap()["content"][0]["text"], "slept");
    assert_ne!(pid(&client, "victim").await, victim);
}

#[tokio::test]
async fn a_read_is_tried_twice_and_a_write_once() {
    let mut yard = Yard::new();
    // Every call ends this server, so that its starts count the calls that reached it.
    let script = "echo start >> starts; exec \"$server\" --fault dies-mid-call";
    yard.script("victim", script, &json!({}));
    let client = yard.open().await;
    yard.status("victim", |it| it.state == "stopped").await;
    let starts = || lines_with(&yard.path("starts"), "start");
    let before = starts();
    let said = failure(&client, "victim__count", json!({})).await;
    assert_eq!(
        (said.as_str(), starts() - before),
        (
            "server `victim` went away while it was asked: it exited with code 9. \
             The call may or may not have been carried out: check before you repeat it",
            1
        )
    );
    let before = starts();
    let said = failure(&client, "victim__count_read", json!({})).await;
    assert_eq!(
        (said.as_str(), starts() - before),
        (
            "server `victim` went away while it was asked: it exited with code 9. \
             `toolyard doctor victim` tells more",
            2
        )
    );
}

#[tokio::test]
async fn a_write_that_was_under_way_is_not_tried_again() {
    let mut yard = Yard::new();
    let state = yard.path("state");
    yard.server("victim", &["--state", state.to_str().unwrap()], &json!({}));
    let client = yard.open_on(&["--surface", "all"], json!({ "elicitation": {} })).await;
    appears(&client, "victim__ask").await;
    let victim = pid(&client, "victim").await;
    // The server asks in the middle of a write, and is killed before it hears the answer.
    client.answer_with(move |_, _| {
        processes::kill9(victim);
        Ok(json!({ "action": "accept", "content": { "name": "Ada" } }))
    });
    let said = failure(&client, "victim__ask", json!({})).await;
    assert!(
        said.contains("killed by signal 9") && said.contains("may or may not have been carried out"),
        "{said}"
    );
    let asked = client.notifications().iter().filter(|it| it["method"] == "elicitation/create").count();
    assert_eq!(asked, 1);
    assert_eq!(client.text("victim__count", json!({})).await, "1");
    assert_eq!(lines_with(&state, "count"), 1);
}

#[tokio::test]
async fn a_server_that_falls_takes_no_call_to_another_along() {
    let mut yard = Yard::new();
    let patient = json!({ "limits": { "callMs": 60_000 } });
    yard.server("victim", &[], &patient).server("other", &[], &patient);
    let client = yard.open().await;
    appears(&client, "victim__hang").await;
    appears(&client, "other__progress").await;
    let (victim, other) = (pid(&client, "victim").await, pid(&client, "other").await);
    let long = json!({ "name": "other__progress", "arguments": { "steps": 8, "ms": 50 } });
    let long = client.start("tools/call", long).await.unwrap();
    let doomed = client
        .start("tools/call", json!({ "name": "victim__die", "arguments": { "confirm": true } }))
        .await
        .unwrap();
    let said = doomed.result().await.unwrap();
    assert_eq!(said["isError"], true, "{said}");
    assert!(!processes::is_alive(victim));
    assert_eq!(long.result().await.unwrap()["content"][0]["text"], "done");
    assert_eq!(pid(&client, "other").await, other);
}

#[tokio::test]
async fn r20_a_hanging_call_errs_at_its_limit_and_others_to_the_same_server_work() {
    let mut yard = Yard::new();
    yard.server("slow", &[], &json!({ "limits": { "callMs": 6000 } }));
    let client = yard.open().await;
    appears(&client, "slow__hang").await;
    let before = pid(&client, "slow").await;
    let hanging = client.start("tools/call", json!({ "name": "slow__hang" })).await.unwrap();
    assert_eq!(client.text("slow__echo", json!({ "text": "hi" })).await, "hi");
    assert_eq!(
        hanging.result().await.unwrap(),
        json!({ "content": [{ "type": "text", "text":
            "server `slow` did not answer `tools/call` within 6s; raise `limits.callMs` if it needs longer"
        }], "isError": true })
    );
    assert_eq!(pid(&client, "slow").await, before, "a call that hangs is no reason to restart");
    let cancelled: Vec<u64> = serde_json::from_str(&client.text("slow__cancelled", json!({})).await).unwrap();
    assert_eq!(cancelled.len(), 1, "the server is told that nobody waits any more");
}

#[tokio::test]
async fn r20_progress_extends_the_limit_of_a_call() {
    let mut yard = Yard::new();
    yard.server("slow", &[], &json!({ "limits": { "callMs": 6000 } }));
    let client = yard.open().await;
    appears(&client, "slow__progress").await;
    let arguments = json!({ "steps": 5, "ms": 1500 });
    // Whether the client asks for progress or not.
    assert_eq!(client.text("slow__progress", arguments.clone()).await, "done");
    let params =
        json!({ "name": "slow__progress", "arguments": arguments, "_meta": { "progressToken": "mine" } });
    assert_eq!(client.request("tools/call", params).await.unwrap()["content"][0]["text"], "done");
    let told = client.notifications().into_iter().filter(|it| it["method"] == "notifications/progress");
    let told: Vec<Value> = told.map(|it| it["params"].clone()).collect();
    assert_eq!(told.len(), 5);
    assert!(told.iter().all(|it| it["progressToken"] == "mine"), "{told:?}");
}

#[tokio::test]
async fn r20_progress_without_end_holds_no_call_for_ever() {
    let mut yard = Yard::new();
    // The first limit is never used up: it is longer than the test may take.
    yard.server("slow", &[], &json!({ "limits": { "callMs": 600_000, "callTotalMs": 3000 } }));
    let client = yard.open().await;
    appears(&client, "slow__progress").await;
    let before = pid(&client, "slow").await;
    assert_eq!(
        failure(&client, "slow__progress", json!({ "steps": 100_000_000, "ms": 20 })).await,
        "server `slow` did not answer `tools/call` within 3s; raise `limits.callTotalMs` if it needs longer"
    );
    assert_eq!(pid(&client, "slow").await, before);
    let cancelled: Vec<u64> = serde_json::from_str(&client.text("slow__cancelled", json!({})).await).unwrap();
    assert_eq!(cancelled.len(), 1, "the server is told that nobody waits any more");
}

#[tokio::test]
async fn a_client_that_cancels_is_heard_by_the_server() {
    for modern in [false, true] {
        let mut yard = Yard::new();
        let args: &[&str] = if modern { &["--modern"] } else { &[] };
        yard.server("slow", args, &json!({ "limits": { "callMs": 600_000 } }));
        let client = yard.open().await;
        appears(&client, "slow__hang").await;
        assert_eq!(client.text("slow__cancelled", json!({})).await, "[]");
        let mut hanging = client.start("tools/call", json!({ "name": "slow__hang" })).await.unwrap();
        pid(&client, "slow").await;
        client.cancel(&hanging).await.unwrap();
        let heard = || async { client.text("slow__cancelled", json!({})).await };
        wait_for(SOON, || async { (heard().await != "[]").then_some(()) }).await;
        assert!(hanging.reply_so_far().is_none(), "what was cancelled is not answered");
    }
}

#[tokio::test]
async fn a_server_that_starts_slowly_delays_nobody() {
    let mut yard = Yard::new();
    let patient = json!({ "limits": { "startMs": 600_000, "callMs": 600_000 } });
    // It waits at a gate instead of for a time, so that the rest surely happens before.
    let script = "while ! [ -e gate ]; do sleep 0.02; done; exec \"$server\"";
    yard.script("a_slow", script, &patient);
    yard.script("b_slow", script, &json!({ "lazy": false, "limits": patient["limits"] }));
    for at in 0..5 {
        yard.server(&format!("good{at}"), &[], &json!({}));
    }
    let client = yard.open().await;
    for at in 0..5 {
        appears(&client, &format!("good{at}__echo")).await;
        assert_eq!(client.text(&format!("good{at}__echo"), json!({ "text": "hi" })).await, "hi");
    }
    assert!(!crate::yard::names(&client).await.iter().any(|name| name.contains("slow")));
    std::fs::write(yard.path("gate"), "").unwrap();
    for slow in ["a_slow", "b_slow"] {
        appears(&client, &format!("{slow}__echo")).await;
        assert_eq!(client.text(&format!("{slow}__echo"), json!({ "text": "hi" })).await, "hi");
    }
}

#[tokio::test]
async fn a_call_waits_for_its_server_to_start_while_others_are_answered() {
    let mut yard = Yard::new();
    let script = "if [ -e learnt ]; then while ! [ -e gate ]; do sleep 0.02; done; fi; exec \"$server\"";
    yard.script("slow", script, &json!({ "limits": { "startMs": 600_000, "callMs": 600_000 } }));
    yard.server("good", &[], &json!({}));
    let client = yard.open().await;
    appears(&client, "good__echo").await;
    yard.status("slow", |it| it.state == "stopped").await;
    std::fs::write(yard.path("learnt"), "").unwrap();
    let mut waiting = Vec::new();
    for _ in 0..3 {
        waiting.push(client.start("tools/call", json!({ "name": "slow__pid" })).await.unwrap());
    }
    wait_until(SOON, || !yard.running("slow").is_empty()).await;
    assert_eq!(client.text("good__echo", json!({ "text": "hi" })).await, "hi");
    assert!(waiting.iter_mut().all(|call| call.reply_so_far().is_none()));
    std::fs::write(yard.path("gate"), "").unwrap();
    let mut pids = Vec::new();
    for call in waiting {
        pids.push(call.result().await.unwrap()["content"][0]["text"].clone());
    }
    assert!(pids.iter().all(|pid| pid.is_string() && *pid == pids[0]), "one process for all: {pids:?}");
}

#[tokio::test]
async fn a_server_that_keeps_falling_is_started_less_and_less_often() {
    let mut yard = Yard::new();
    // It greets, lists its tools, and leaves.
    let script = "n=0; while [ $n -lt 6 ] && read -r line; do printf '%s\\n' \"$line\"; n=$((n+1)); done | \"$server\"; exit 5";
    yard.script("flaky", script, &json!({ "lazy": false }));
    let client = yard.open().await;
    let pauses = || -> Vec<f64> {
        let said = client.stderr();
        let pauses = said.lines().filter_map(|line| line.split("the next try is in ").nth(1));
        pauses.map(|it| seconds(it.split(['\u{1b}', ' ']).next().unwrap())).collect()
    };
    wait_until(SOON, || pauses().len() >= 3).await;
    let pauses = pauses();
    assert!(pauses.is_sorted() && 2.0 * pauses[0] < pauses[2], "{pauses:?}");
    let status = yard.status("flaky", |it| it.state == "failed").await;
    assert_eq!((status.reason.as_deref(), status.tools.is_some()), (Some("it exited with code 5"), true));
}

/// Reads a length of time as the hub writes it.
fn seconds(text: &str) -> f64 {
    match text.trim().strip_suffix("ms") {
        Some(number) => number.parse::<f64>().unwrap() / 1000.0,
        None => text.trim().trim_end_matches('s').parse().unwrap(),
    }
}

#[tokio::test]
async fn what_a_client_watches_is_watched_again_after_a_fall() {
    let mut yard = Yard::new();
    yard.server("notes", &[], &json!({}));
    let client = yard.open().await;
    appears(&client, "notes__touch_resource").await;
    client.request("resources/subscribe", json!({ "uri": "fault://note" })).await.unwrap();
    touched(&client, 1).await;
    let victim = pid(&client, "notes").await;
    processes::kill9(victim);
    wait_until(SOON, || !processes::is_alive(victim)).await;
    touched(&client, 2).await;
}

/// Touches the note until the client has heard of it so many times.
async fn touched(client: &Client, times: usize) {
    let heard = || {
        let all = client.notifications();
        all.iter().filter(|it| it["method"] == "notifications/resources/updated").count()
    };
    let before = heard();
    wait_for(SOON, || async {
        client.text("notes__touch_resource", json!({})).await;
        (heard() > before && heard() >= times).then_some(())
    })
    .await;
}
