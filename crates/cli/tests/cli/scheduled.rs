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

/// A home with a note, workflows that tag and overwrite it, and these schedules.
fn place(schedules: &Value) -> Place {
    let place = Place::new();
    let settings = json!({
        "mcpServers": { "notes": { "builtin": "notes", "folder": "~/Notes" } },
        "schedules": schedules,
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
    workflow("tag", "notes__tag_note", json!({ "note": "Hive.md", "add": ["{{parameters.tag}}"] }));
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
    wait_until(DEADLINE, || runs(&place, "tag").len() >= 3).await;
    let runs = runs(&place, "tag");
    assert!(place.read("Notes/Hive.md").contains("sweet"));
    let times: BTreeSet<u64> = runs.iter().map(|run| run["begunMs"].as_u64().unwrap() / PERIOD).collect();
    assert_eq!(times.len(), runs.len(), "one run each time: {runs:#?}");
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
    let health = place.run(&["doctor"]);
    assert!(health.contains("`lost` cannot run") && health.contains("under `schedules.lost`"), "{health}");
}
