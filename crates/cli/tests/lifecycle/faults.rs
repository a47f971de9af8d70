//! One bad server beside many good ones: the good ones work as if it were not there.

use std::process::Command;

use serde_json::json;
use testkit::bin;
use testkit::client::Client;
use testkit::fault::Fault;

use crate::yard::{Yard, appears, failure, listed, memory};

const GOOD: usize = 15;
/// Whatever a server sends, a hub holds less than this.
const MEMORY: u64 = 400 * 1024 * 1024;

/// What a fault comes to.
enum Fate {
    /// It works nevertheless.
    Harmless,
    /// It works, and what was wrong with its listing is told.
    Reported(&'static str),
    /// It is not usable, and the reason is told.
    Failed(&'static str),
    /// It is listed; a call to it fails with these words.
    CallFails(&'static str),
}

fn fate(fault: Fault) -> Fate {
    match fault {
        Fault::Garbage
        | Fault::HalfLine
        | Fault::Forks
        | Fault::SlowStart
        | Fault::Storm
        | Fault::ChangesTools
        | Fault::BadUtf8
        | Fault::StderrFlood
        | Fault::StdoutFlood => Fate::Harmless,
        Fault::ManyTools => Fate::Reported("more than 5000 tools"),
        Fault::RepeatingCursor => Fate::Reported("repeats its cursor `again`"),
        Fault::EndlessCursor => Fate::Reported("more than 100 pages"),
        Fault::DuplicateNames => Fate::Reported("listed twice"),
        Fault::AnsiNames => Fate::Reported("invisible"),
        Fault::Silent | Fault::NoNewline | Fault::Deaf => Fate::Failed("did not greet within"),
        Fault::DiesAtStart => Fate::Failed("exited with code 3"),
        Fault::HugeReply => Fate::Failed("more than 16777216 bytes"),
        Fault::DeepSchema => Fate::Failed("nested more than 127 levels deep"),
        Fault::BadVersion => Fate::Failed("`1999-01-01`"),
        Fault::NullResult => Fate::Failed("its result is not an object"),
        Fault::DiesMidCall => Fate::CallFails("exited with code 9"),
        Fault::HangsOnCall | Fault::WrongId | Fault::Late => {
            Fate::CallFails("did not answer `tools/call` within")
        }
    }
}

macro_rules! each_fault {
    ($($name:ident => $fault:ident,)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                beside_good_ones(Fault::$fault).await;
            }
        )*

        #[test]
        fn no_fault_is_left_out() {
            let listed = Command::new(bin("fault-server")).arg("--list-faults").output().unwrap();
            let listed: Vec<String> = serde_json::from_slice(&listed.stdout).unwrap();
            assert_eq!(listed, [$(Fault::$fault.name()),*]);
        }
    };
}

each_fault! {
    silence_spoils_nothing => Silent,
    garbage_spoils_nothing => Garbage,
    half_lines_spoil_nothing => HalfLine,
    lines_without_end_spoil_nothing => NoNewline,
    deafness_spoils_nothing => Deaf,
    a_huge_reply_spoils_nothing => HugeReply,
    a_deep_schema_spoils_nothing => DeepSchema,
    many_tools_spoil_nothing => ManyTools,
    a_repeating_cursor_spoils_nothing => RepeatingCursor,
    an_endless_cursor_spoils_nothing => EndlessCursor,
    a_grandchild_spoils_nothing => Forks,
    death_in_calls_spoils_nothing => DiesMidCall,
    death_at_start_spoils_nothing => DiesAtStart,
    hanging_calls_spoil_nothing => HangsOnCall,
    a_slow_start_spoils_nothing => SlowStart,
    a_storm_of_changes_spoils_nothing => Storm,
    duplicate_names_spoil_nothing => DuplicateNames,
    bad_utf8_spoils_nothing => BadUtf8,
    disguised_names_spoil_nothing => AnsiNames,
    changing_tools_spoil_nothing => ChangesTools,
    a_flood_of_stderr_spoils_nothing => StderrFlood,
    a_flood_of_notifications_spoils_nothing => StdoutFlood,
    wrong_ids_spoil_nothing => WrongId,
    a_bad_version_spoils_nothing => BadVersion,
    null_results_spoil_nothing => NullResult,
    late_answers_spoil_nothing => Late,
}

async fn beside_good_ones(fault: Fault) {
    let mut yard = Yard::new();
    for at in 0..GOOD {
        // Half of them start with the hub and half when they are needed.
        yard.server(&good(at), &[], &json!({ "lazy": at % 2 == 0, "limits": { "callMs": 60_000 } }));
    }
    // Only who never greets or never answers is to run out of time, however busy the machine is.
    let is_mute = matches!(fault, Fault::Silent | Fault::NoNewline | Fault::Deaf);
    let is_hanging = matches!(fault, Fault::HangsOnCall | Fault::WrongId | Fault::Late);
    let limits = json!({
        "startMs": if is_mute { 2500 } else { 60_000 },
        "callMs": if is_hanging { 1500 } else { 25_000 },
    });
    let args = ["--fault", fault.name(), "--delay-ms", "1500"];
    yard.server("bad", &args, &json!({ "lazy": false, "limits": limits }));
    let client = yard.open().await;
    listed(&client, |names| (0..GOOD).all(|at| names.contains(&format!("{}__echo", good(at))))).await;
    calls_succeed(&client).await;
    check(fault, &yard, &client).await;
    let held = memory(client.pid());
    assert!(held < MEMORY, "the hub holds {held} bytes");
    assert!(client.close().await.unwrap().success());
    yard.deserted().await;
}

fn good(at: usize) -> String {
    format!("good{at:02}")
}

async fn calls_succeed(client: &Client) {
    let mut calls = Vec::new();
    for at in 0..2 * GOOD {
        let (tool, text) = (format!("{}__echo", good(at % GOOD)), format!("text {at}"));
        let params = json!({ "name": tool, "arguments": { "text": text } });
        calls.push((client.start("tools/call", params).await.unwrap(), text));
    }
    for (call, text) in calls {
        assert_eq!(call.result().await.unwrap(), json!({ "content": [{ "type": "text", "text": text }] }));
    }
}

async fn check(fault: Fault, yard: &Yard, client: &Client) {
    match fate(fault) {
        Fate::Harmless => {
            appears(client, "bad__echo").await;
            let said = client.text("bad__echo", json!({ "text": "hi" })).await;
            let expected = if fault == Fault::BadUtf8 { "\u{fffd}\u{fffd}\u{fffd}(" } else { "hi" };
            assert_eq!(said, expected);
        }
        Fate::Reported(words) => {
            appears(client, "bad__echo").await;
            let status = yard.status("bad", |it| it.problems.iter().any(|it| it.contains(words))).await;
            assert!(status.problems.len() < 50, "{} problems", status.problems.len());
            assert_eq!(client.text("bad__echo", json!({ "text": "hi" })).await, "hi");
        }
        Fate::Failed(words) => {
            yard.status("bad", |it| {
                it.state == "failed" && it.reason.as_ref().is_some_and(|it| it.contains(words))
            })
            .await;
        }
        Fate::CallFails(words) => {
            appears(client, "bad__echo").await;
            let said = failure(client, "bad__echo", json!({ "text": "hi" })).await;
            assert!(said.contains("`bad`") && said.contains(words), "{said}");
        }
    }
}
