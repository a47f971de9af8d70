//! Workflows that run by themselves.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::wait_until;

use crate::place::Place;
use crate::serving::Hub;

const DEADLINE: Duration = Duration::from_secs(60);
/// Milliseconds between two runs.
const PERIOD: u64 = 2000;

/// A home with a note, workflows that add to it and overwrite it, and these schedules.
fn place(schedules: &Value) -> Place {
    place_with(schedules, &json!({}))
}

/// The same, with a policy.
fn place_with(schedules: &Value, policy: &Value) -> Place {
    let place = Place::new();
    let settings = json!({
        "mcpServers": { "notes": { "builtin": "notes", "folder": "~/Notes" } },
        "schedules": schedules,
        "policy": policy,
    });
    place.configure(&settings.to_string());
    let workflow = |name: &str, tool: &str, arguments: Value| {
        let step = json!({ "name": "step", "tool": tool, "arguments": arguments });
        let written = json!({
            "name": name, "description": "Does something with notes.", "steps": [step],
            "parameters": { "properties": { "tag": { "type": "string" } } },
        });
        place.write(&format!("config/toolyard/workflows/{name}.json"), &written.to_string());
    };
    // The same tool twice, so that what one run shows of its speed changes the plan of the other.
    let more = json!({ "note": "Hive.md", "content": "{{parameters.tag}}", "mode": "append" });
    workflow("tag", "notes__update_note", more);
    let gone = json!({ "note": "Hive.md", "content": "Gone.", "mode": "replace" });
    workflow("burn", "notes__update_note", gone);
    place.write("Notes/Hive.md", "# Hive\n\nBees live here.\n");
    place
}

/// The runs of a workflow.
fn runs(place: &Place, workflow: &str) -> Vec<Value> {
    let runs = place.json(&["runs", "--json"]).0["runs"].clone();
    let runs = runs.as_array().unwrap().iter();
    runs.filter(|run| run["plan"] == workflow).cloned().collect()
}

#[tokio::test]
async fn r21_a_workflow_runs_at_its_times_and_once_however_many_hubs_serve() {
    let every = json!({ "workflow": "tag", "values": { "tag": "sweet" }, "every": PERIOD / 1000 });
    let place = place(&json!({ "tagging": every }));
    let _hubs = [Hub::serve(&place), Hub::serve(&place)];
    wait_until(DEADLINE, || runs(&place, "tag").len() >= 5).await;
    let runs = runs(&place, "tag");
    assert!(place.read("Notes/Hive.md").contains("sweet"));
    let begun: BTreeSet<u64> = runs.iter().map(|run| run["begunMs"].as_u64().unwrap()).collect();
    let times = (begun.last().unwrap() - begun.first().unwrap()) / PERIOD;
    // The first may have begun late, and the last in time.
    assert!(runs.len() as u64 <= times + 2, "one run each time: {runs:#?}");
}

#[tokio::test]
async fn r21_a_scheduled_run_that_destroys_waits_for_a_person_and_is_not_begun_again() {
    let place = place(&json!({
        "burning": { "workflow": "burn", "every": "1s" },
        "tagging": { "workflow": "tag", "values": { "tag": "sweet" }, "every": "1s" },
    }));
    let _hub = Hub::serve(&place);
    wait_until(DEADLINE, || runs(&place, "tag").len() >= 4 && !runs(&place, "burn").is_empty()).await;
    let waiting = runs(&place, "burn");
    assert_eq!((waiting.len(), &waiting[0]["ending"]), (1, &json!("open")), "{waiting:#?}");
    assert!(place.read("Notes/Hive.md").contains("Bees"));
    let (answered, exit) =
        place.json(&["runs", "resume", waiting[0]["run"].as_str().unwrap(), "--yes", "--json"]);
    assert_eq!((exit, &answered["report"]["ending"]), (0, &json!("completed")), "{answered:#}");
    assert!(!place.read("Notes/Hive.md").contains("Bees"));
}

#[tokio::test]
async fn r21_a_run_whose_hub_was_killed_is_taken_up_by_another_at_the_next_time() {
    let place = Place::with(
        r#"{ "mcpServers": { "good": { "command": "FAULT" } },
             "schedules": { "napping": { "workflow": "nap", "every": "1s" } } }"#,
    );
    let nap = json!({
        "name": "nap", "description": "Sleeps.",
        "steps": [{ "name": "sleep", "tool": "good__sleep", "arguments": { "ms": 6000 } }],
    });
    place.write("config/toolyard/workflows/nap.json", &nap.to_string());
    let first = Hub::serve(&place);
    wait_until(DEADLINE, || !runs(&place, "nap").is_empty()).await;
    // It finds the run driven when it starts, and begins none of its own.
    let _second = Hub::serve(&place);
    tokio::time::sleep(Duration::from_secs(2)).await;
    first.kill9();
    let of = || runs(&place, "nap").pop().unwrap();
    assert_eq!((runs(&place, "nap").len(), &of()["ending"]), (1, &json!("open")));
    wait_until(DEADLINE, || of()["ending"] == "completed").await;
}

#[tokio::test]
async fn r21_a_scheduled_step_of_which_nobody_knows_whether_it_happened_is_not_repeated() {
    let place = Place::new();
    let args = json!(["--state", place.path("tally")]);
    let settings = json!({
        "mcpServers": { "good": { "command": "FAULT", "args": args } },
        "schedules": { "counting": { "workflow": "tally", "every": "1s" } },
    });
    place.configure(&settings.to_string());
    let tally = json!({
        "name": "tally", "description": "Counts.",
        "steps": [{ "name": "count", "tool": "good__count", "arguments": { "ms": 3000 } }],
    });
    place.write("config/toolyard/workflows/tally.json", &tally.to_string());
    let first = Hub::serve(&place);
    let fate = |run: &Value| {
        let report = place.json(&["runs", "show", run["run"].as_str().unwrap(), "--json"]).0;
        report["report"]["accounts"][0]["fate"].clone()
    };
    wait_until(DEADLINE, || runs(&place, "tally").first().is_some_and(|run| fate(run) == "running")).await;
    first.kill9();
    let _second = Hub::serve(&place);
    wait_until(DEADLINE, || runs(&place, "tally")[0]["ending"] == "unknown").await;
    // Several of its times pass.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let left = runs(&place, "tally");
    assert_eq!((left.len(), &left[0]["ending"]), (1, &json!("unknown")), "{left:#?}");
    let counted = std::fs::read_to_string(place.path("tally")).unwrap_or_default();
    assert!(counted.lines().count() <= 1, "{counted}");
    let finding = ["runs", "resume", left[0]["run"].as_str().unwrap(), "--did-not", "count", "--json"];
    let (resumed, exit) = place.json(&finding);
    assert_eq!((exit, &resumed["report"]["ending"]), (0, &json!("completed")), "{resumed:#}");
}

#[test]
fn r21_schedules_are_listed_with_their_times_and_what_is_wrong_with_them() {
    let place = place(&json!({
        "morning": { "workflow": "tag", "values": { "tag": "new" }, "at": "08:00", "on": ["mon", "fri"], "timeZone": "UTC" },
        "often": { "workflow": "tag", "values": { "tag": "new" }, "every": "6h" },
        "lost": { "workflow": "tidy", "every": "1d" },
    }));
    let (said, exit) = place.json(&["runs", "scheduled", "--json"]);
    let of = |name: &str| said["schedules"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap();
    assert_eq!((exit, of("morning")["when"].as_str()), (0, Some("at 08:00 on Mon, Fri (UTC)")), "{said:#}");
    assert!(of("morning")["next"].as_str().unwrap().ends_with("T08:00:00Z"), "{said:#}");
    assert_eq!((&of("often")["when"], &of("often")["problem"]), (&json!("every 6h"), &Value::Null));
    assert_eq!(of("lost")["problem"], "there is no workflow `tidy` for the configured servers");
    let seen = place.run(&["runs", "scheduled"]);
    assert!(seen.contains("cannot run: there is no workflow `tidy`"), "{seen}");
    assert!(of("lost")["next"].is_null() && seen.contains("08:00:00 UTC"), "{said:#}\n{seen}");
    let health = place.run(&["doctor"]);
    assert!(health.contains("`lost` cannot run") && health.contains("under `schedules.lost`"), "{health}");
}

#[test]
fn r21_a_schedule_that_the_policy_forbids_is_told_before_its_time() {
    let tagging = json!({ "workflow": "tag", "values": { "tag": "new" }, "every": "6h" });
    let place = place_with(&json!({ "tagging": tagging }), &json!({ "readOnly": true }));
    let (said, _) = place.json(&["runs", "scheduled", "--json"]);
    let problem = said["schedules"][0]["problem"].as_str();
    assert!(problem.is_some_and(|why| why.contains("`policy.readOnly`")), "{said:#}");
    let health = place.run(&["doctor"]);
    assert!(health.contains("`tagging` cannot run: tool `notes__update_note` is not allowed"), "{health}");
}
