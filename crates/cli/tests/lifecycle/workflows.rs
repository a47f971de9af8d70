//! Workflows whose hub is killed at random moments: each run goes on or says what it does not know, and
//! nothing is done twice.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::wait_until;
use toolyard_core::run::{Ending, Report, Upshot};
use toolyard_hub::journal::{Journal, Kept};

use crate::yard::{SOON, Yard};

/// Kills of all tests together; `TOOLYARD_KILLS` asks for more.
const KILLS: usize = 40;

#[test]
fn r10_a_hub_killed_at_random_moments_does_nothing_twice() {
    kill_and_resume(1);
}

#[test]
fn r10_a_hub_killed_at_other_moments_does_nothing_twice() {
    kill_and_resume(2);
}

#[test]
fn r10_a_hub_killed_again_while_it_resumes_does_nothing_twice() {
    kill_and_resume(3);
}

#[test]
fn r10_a_hub_killed_over_and_over_does_nothing_twice() {
    kill_and_resume(4);
}

#[tokio::test]
async fn r10_a_serving_hub_takes_up_what_another_left() {
    let yard = yard();
    // One run is killed while its first step is under way, one before anything happened.
    let mut running = start(&yard, &["--set", "tag=left", "--set", "pause=30000"]);
    wait_until(SOON, || unfinished(&yard).iter().any(|record| has_begun(&record.run.report()))).await;
    running.kill().unwrap();
    running.wait().unwrap();
    let client = Client::spawn(yard.serve(&["--surface", "all"]));
    client.initialize("2025-11-25", json!({})).await.unwrap();
    wait_until(SOON, || unfinished(&yard).is_empty()).await;
    let record = &journal(&yard).list().unwrap()[0];
    assert_eq!(record.ending(), Ending::Unknown);
    assert!(effects(&yard, "left").values().all(|count| *count <= 1));
}

#[test]
fn r10_a_run_of_another_process_can_be_told_to_stop() {
    let yard = yard();
    let mut running = start(&yard, &["--set", "tag=told", "--set", "pause=3000"]);
    let deadline = Instant::now() + SOON;
    while !unfinished(&yard).iter().any(|record| has_begun(&record.run.report())) {
        assert!(Instant::now() < deadline, "the run does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = unfinished(&yard)[0].id.clone();
    assert!(toolyard(&yard, &["runs", "cancel", &id]).status().unwrap().success());
    assert_eq!(running.wait().unwrap().code(), Some(1));
    let report = journal(&yard).find(&id).unwrap().unwrap().run.report();
    assert_eq!(report.ending, Ending::Cancelled, "{}", report.words());
    hold_against(&yard, "told", &report);
}

fn kill_and_resume(part: u64) {
    let kills = std::env::var("TOOLYARD_KILLS").ok().and_then(|it| it.parse().ok()).unwrap_or(KILLS) / 4;
    let yard = yard();
    let begun = Instant::now();
    let undisturbed = start(&yard, &["--set", "tag=whole"]).wait().unwrap();
    let whole = begun.elapsed();
    assert!(undisturbed.success());
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ part);
    for kill in 0..kills {
        let tag = format!("k{kill}");
        let tagged = format!("tag={tag}");
        let mut running = start(&yard, &["--set", &tagged]);
        std::thread::sleep(dice.part_of(whole));
        let _ = running.kill();
        running.wait().unwrap();
        let Some(mut record) = journal(&yard).list().unwrap().into_iter().find(|it| is_tagged(it, &tag))
        else {
            assert!(effects(&yard, &tag).is_empty(), "something was done that is written nowhere");
            continue;
        };
        for again in 0..4 {
            if record.ending() != Ending::Open {
                break;
            }
            let mut resuming = toolyard(&yard, &["runs", "resume", &record.id]).spawn().unwrap();
            // The last attempt is left in peace.
            if again < 3 && dice.throw(3) == 0 {
                std::thread::sleep(dice.part_of(whole));
                let _ = resuming.kill();
            }
            resuming.wait().unwrap();
            record = journal(&yard).find(&record.id).unwrap().unwrap();
        }
        let report = record.run.report();
        assert!(matches!(report.ending, Ending::Completed | Ending::Unknown), "{}", report.words());
        hold_against(&yard, &tag, &report);
    }
}

/// Holds what is reported against what the server wrote down itself.
fn hold_against(yard: &Yard, tag: &str, report: &Report) {
    let effects = effects(yard, tag);
    for account in report.accounts.iter().filter(|account| account.step != "look") {
        let element = account.element.map(|at| format!("-{at}")).unwrap_or_default();
        let happened = effects.get(&format!("{}{element}", account.step)).copied().unwrap_or(0);
        let is_true = match account.fate {
            Upshot::Done => happened == 1,
            Upshot::Unknown => happened <= 1,
            Upshot::NotStarted | Upshot::Skipped => happened == 0,
            Upshot::Undone | Upshot::NotUndone | Upshot::Failed | Upshot::Running => false,
        };
        assert!(is_true, "{account:?} happened {happened} times\n{}", report.words());
    }
}

/// A yard with a server that counts, and a workflow of three effects of which one is a list.
fn yard() -> Yard {
    let mut yard = Yard::new();
    let state = yard.path("effects").to_string_lossy().into_owned();
    yard.server("tally", &["--state", &state], &json!({}));
    yard.write();
    let step = |name: &str, more: Value| {
        let mut step = json!({
            "name": name,
            "tool": "tally__count",
            "arguments": { "label": format!("{{{{parameters.tag}}}} {name}"), "ms": "{{parameters.pause}}" },
        });
        for (key, value) in more.as_object().unwrap() {
            step[key] = value.clone();
        }
        step
    };
    let label = "{{parameters.tag}} each-{{item}}";
    let workflow = json!({
        "name": "tally",
        "description": "Counts.",
        "parameters": {
            "properties": { "tag": { "type": "string" }, "pause": { "type": "integer", "default": 2 } },
            "required": ["tag"],
        },
        "steps": [
            { "name": "look", "tool": "tally__count_read" },
            step("one", json!({ "after": ["look"] })),
            step("two", json!({ "after": ["look"] })),
            step("each", json!({
                "after": ["one"], "each": [0, 1, 2],
                "arguments": { "label": label, "ms": "{{parameters.pause}}" },
            })),
            step("last", json!({ "after": ["two", "each"] })),
        ],
    });
    std::fs::write(yard.path("tally.json"), workflow.to_string()).unwrap();
    yard
}

fn start(yard: &Yard, args: &[&str]) -> std::process::Child {
    let file = yard.path("tally.json");
    let mut command = toolyard(yard, &["run", file.to_str().unwrap()]);
    command.args(args).spawn().unwrap()
}

fn toolyard(yard: &Yard, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
    command.args(args).arg("--config").arg(yard.config());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    yard.settle(&mut command);
    command
}

fn journal(yard: &Yard) -> std::sync::Arc<Journal> {
    Journal::new(&yard.data())
}

fn unfinished(yard: &Yard) -> Vec<Kept> {
    journal(yard).unfinished().unwrap_or_default()
}

fn has_begun(report: &Report) -> bool {
    report.accounts.iter().any(|account| account.step != "look" && account.fate == Upshot::Running)
}

fn is_tagged(record: &Kept, tag: &str) -> bool {
    serde_json::to_string(record.run.plan()).unwrap().contains(&format!("{tag:?}"))
}

/// How often each effect of a run happened, as the server wrote it down.
fn effects(yard: &Yard, tag: &str) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(yard.path("effects")).unwrap_or_default();
    let mut effects = BTreeMap::new();
    for line in text.lines() {
        if let Some(effect) = line.strip_prefix(&format!("count {tag} ")) {
            *effects.entry(effect.to_owned()).or_default() += 1;
        }
    }
    effects
}

/// Chance that is the same every time, as far as the clock allows.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn part_of(&mut self, whole: Duration) -> Duration {
        whole.mul_f64(self.throw(1000) as f64 / 1000.0)
    }
}
