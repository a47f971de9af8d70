//! What decisions depend on, with the hub inside the test: the cache, the state of servers, metadata, measurements.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use toolyard_core::rank::Verdict;
use toolyard_hub::caller::Caller;
use toolyard_hub::config::{self, Config, Folders};
use toolyard_hub::hub::{Hub, Learning, Options};
use toolyard_hub::jsonrpc::{Fields, raw};
use toolyard_hub::routing::{Tally, Wanted};

use crate::desk::Desk;
use crate::shelf::{server, tool, two};
use crate::yard::{Yard, good};

/// Reads the settings of a yard.
pub(crate) fn config(yard: &Yard) -> Config {
    let home = yard.path().to_owned();
    let folders = Folders { config: home.clone(), data: home.clone(), home };
    config::load(&yard.path().join("toolyard.json"), &|_| None, &folders).unwrap()
}

/// Starts a hub within the test that learns only what it is told to.
pub(crate) fn open(config: Config) -> Arc<Hub> {
    Hub::start(config, Options { watchdog: None, learning: Learning::OnDemand })
}

/// Names the candidates for some words, the best first.
async fn names(hub: &Hub, wanted: &Wanted<'_>) -> Vec<String> {
    let snapshot = hub.snapshot();
    let decision = hub.rank(&snapshot, wanted).await;
    let tools = snapshot.catalog.tools();
    decision.candidates.iter().map(|it| tools[it.position].id.as_str().to_owned()).collect()
}

fn counts(hub: &Hub) -> (u64, u64) {
    let Tally { hits, misses, .. } = hub.tally();
    (hits, misses)
}

#[tokio::test]
async fn r12_a_decision_is_made_once_until_something_that_it_depends_on_changes() {
    let yard = two().await;
    let config = config(&yard);
    let hub = open(config.clone());
    let wanted = Wanted { conversation: Some("here"), ..Wanted::plain("list the notes") };
    let first = names(&hub, &wanted).await;
    assert_eq!(first[0], "notes__list_notes");
    assert_eq!(counts(&hub), (0, 1));
    assert_eq!(names(&hub, &Wanted { task: "  list  the\tnotes ", ..wanted }).await, first);
    assert_eq!(counts(&hub), (1, 1), "layout is no difference");
    names(&hub, &Wanted { preferred_server: Some("wiki"), ..wanted }).await;
    names(&hub, &Wanted { candidates: Some(1), ..wanted }).await;
    names(&hub, &Wanted { servers: &["wiki".to_owned()], ..wanted }).await;
    assert_eq!(counts(&hub), (1, 4));
    hub.note_use("elsewhere", "wiki__list_pages");
    names(&hub, &wanted).await;
    assert_eq!(counts(&hub), (2, 4), "another conversation is no difference");
    hub.note_use("here", "notes__list_notes");
    names(&hub, &wanted).await;
    assert_eq!(counts(&hub), (3, 4), "that it ran makes it only surer");
    hub.note_use("here", "wiki__list_pages");
    names(&hub, &wanted).await;
    assert_eq!(counts(&hub), (3, 5), "what else was used lately is");
    let mut denying = config.clone();
    denying.policy.deny.push("notes__list_*".to_owned());
    hub.apply(denying);
    assert!(!names(&hub, &wanted).await.contains(&"notes__list_notes".to_owned()));
    assert_eq!(counts(&hub), (3, 6));
    assert_eq!(hub.tally().entries, 1, "what was decided before the change is gone");
    let mut without = config.clone();
    without.servers.remove("notes");
    hub.apply(without);
    assert!(names(&hub, &wanted).await.iter().all(|name| name.starts_with("wiki__")));
    let mut forgetful = config;
    forgetful.routing.enable_caching = false;
    hub.apply(forgetful);
    let before = counts(&hub);
    names(&hub, &wanted).await;
    names(&hub, &wanted).await;
    assert_eq!(counts(&hub), before, "a cache that is switched off is not asked");
    hub.close().await;
}

#[tokio::test]
async fn r12_the_cache_holds_as_many_decisions_as_it_may_for_as_long_as_it_may() {
    let yard = two().await;
    let mut config = config(&yard);
    config.routing.cache_size = 2;
    let hub = open(config.clone());
    for task in ["list notes", "list pages", "search notes", "list notes"] {
        names(&hub, &Wanted::plain(task)).await;
    }
    assert_eq!((counts(&hub), hub.tally().entries), ((0, 4), 2));
    config.routing.cache_ttl = std::time::Duration::ZERO;
    hub.apply(config);
    names(&hub, &Wanted::plain("list notes")).await;
    names(&hub, &Wanted::plain("list notes")).await;
    assert_eq!(counts(&hub), (0, 6), "a decision whose time is over is made again");
    hub.close().await;
}

/// Replays the day of the seed as requests are served, and gives the share of decisions that were remembered.
async fn replay(hub: &Hub, conversation: impl Fn(&str) -> Option<String>) -> f64 {
    let snapshot = hub.snapshot();
    for moment in testkit::seed::day() {
        let conversation = conversation(&moment.who);
        let wanted = Wanted { conversation: conversation.as_deref(), ..Wanted::plain(&moment.task) };
        let decision = hub.rank(&snapshot, &wanted).await;
        if let (Verdict::Act, Some(conversation)) = (&decision.verdict, &conversation) {
            let tool = &snapshot.catalog.tools()[decision.candidates[0].position];
            hub.note_use(conversation, tool.id.as_str());
        }
    }
    let (hits, misses) = counts(hub);
    hits as f64 / (hits + misses) as f64
}

#[tokio::test]
async fn r12_on_a_day_of_repeated_tasks_most_decisions_are_remembered() {
    let desk = Desk::new().await;
    for is_talking in [false, true] {
        let hub = open(config(&desk.yard));
        let share = replay(&hub, |who| is_talking.then(|| who.to_owned())).await;
        assert!(share > 0.6, "{share}, in conversations: {is_talking}");
        hub.close().await;
    }
}

#[tokio::test]
async fn r8_a_server_that_does_not_start_lowers_its_tools() {
    let folder = tempfile::tempdir().unwrap();
    let same = [tool("list_tasks", "Lists all open tasks of the team and who owns them", &[])];
    let yard = Yard::of(json!({
        "alpha": server(folder.path(), "alpha", &same),
        "beta": server(folder.path(), "beta", &same),
    }));
    let script = folder.path().join("alpha/server.sh");
    let yard = yard.keep(folder).learnt().await;
    std::fs::remove_file(script).unwrap();
    let hub = open(config(&yard));
    let wanted = Wanted::plain("list open tasks");
    assert_eq!(names(&hub, &wanted).await[0], "alpha__list_tasks", "equals are in the order of their names");
    hub.learn(|upstream| &*upstream.name == "alpha", |_| {}).await;
    assert_eq!(names(&hub, &wanted).await[0], "beta__list_tasks");
    assert_eq!(counts(&hub), (0, 2), "a server that fell is a reason to decide anew");
    hub.close().await;
}

#[tokio::test]
async fn t1_a_fallback_comes_after_its_equals() {
    let folder = tempfile::tempdir().unwrap();
    let same = [tool("list_tasks", "Lists all open tasks of the team and who owns them", &[])];
    let servers = json!({
        "alpha": server(folder.path(), "alpha", &same),
        "beta": server(folder.path(), "beta", &same),
    });
    let yard = Yard::new(json!({"mcpServers": servers, "tiers": {"alpha": 2}})).keep(folder).learnt().await;
    let hub = open(config(&yard));
    assert_eq!(names(&hub, &Wanted::plain("list open tasks")).await[0], "beta__list_tasks");
    hub.close().await;
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(name), text).unwrap();
}

#[tokio::test]
async fn r2_what_a_person_wrote_about_a_tool_is_used_for_the_versions_it_names() {
    let yard = two().await;
    let about = |versions: &str| {
        let tools = json!({"list_pages": {"examples": ["summon the kraken of old"]}});
        json!({"server": "wiki", "versions": versions, "tools": tools}).to_string()
    };
    let folder = yard.path().join("metadata");
    write(&folder, "wiki.json", &about(">=2"));
    write(&folder, "wrong.json", "{\n  \"server\": \"wiki\",\n  \"tuls\": {}\n}");
    write(&folder, "stranger.json", "{\"server\": \"nowhere\", \"tools\": {}}");
    let hub = open(config(&yard));
    let wanted = Wanted::plain("summon the kraken");
    assert_ne!(
        names(&hub, &wanted).await.first().map(String::as_str),
        Some("wiki__list_pages"),
        "it is version 1"
    );
    let problems = hub.metadata_problems();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains("wrong.json") && problems[0].contains("line 3"), "{problems:?}");
    assert!(problems[1].contains("`nowhere`"), "{problems:?}");
    write(&folder, "wiki.json", &about("<2"));
    hub.apply(config(&yard));
    assert_eq!(
        names(&hub, &wanted).await[0],
        "wiki__list_pages",
        "files are read again with the configuration"
    );
    hub.close().await;
}

#[tokio::test]
async fn r2_latency_and_failures_are_measured_and_outlive_the_hub() {
    let yard = Yard::of(json!({"good": good(&[])})).learnt().await;
    let hub = open(config(&yard));
    let (snapshot, nobody) = (hub.snapshot(), Arc::new(Caller::nobody()));
    assert_eq!(hub.measured("good__sleep"), None);
    let mut slow = Fields::default();
    slow.set("arguments", raw(&json!({"ms": 30})));
    hub.call(&snapshot, "good__sleep", slow, &nobody).await.unwrap();
    hub.call(&snapshot, "good__fail", Fields::default(), &nobody).await.unwrap();
    let slept = hub.measured("good__sleep").unwrap();
    assert_eq!((slept.calls, slept.failures), (1, 0));
    assert!(slept.latency_ms >= 30.0, "{slept:?}");
    let failed = hub.measured("good__fail").unwrap();
    assert_eq!((failed.calls, failed.failures), (1, 1));
    hub.close().await;
    let hub = open(config(&yard));
    assert_eq!(hub.measured("good__sleep"), Some(slept));
    hub.close().await;
}

#[tokio::test]
async fn r2_a_tool_is_known_with_its_measured_time_an_example_call_and_what_follows() {
    let yard = two().await;
    let about = json!({"server": "wiki", "tools": {"list_pages": {
        "estimatedLatency": 40, "rateLimit": {"calls": 2, "period": 3600}, "typicalWorkflows": ["read it all"],
    }}});
    write(&yard.path().join("metadata"), "wiki.json", &about.to_string());
    let hub = open(config(&yard));
    let known = |tool: &str| {
        let snapshot = hub.snapshot();
        hub.metadata(&snapshot, snapshot.catalog.get(tool).unwrap()).unwrap()
    };
    let written = known("wiki__list_pages");
    assert_eq!(
        (written.estimated_latency, written.typical_workflows),
        (Some(40), vec!["read it all".to_owned()])
    );
    assert_eq!(known("notes__list_notes").estimated_latency, None, "nothing is guessed");
    for tool in hub.snapshot().catalog.tools() {
        let known = known(tool.id.as_str());
        assert!(known.example_call.is_some() && !known.examples.is_empty(), "{known:?}");
    }
    let (snapshot, nobody) = (hub.snapshot(), Arc::new(Caller::nobody()));
    hub.call(&snapshot, "notes__list_notes", Fields::default(), &nobody).await.unwrap();
    assert!(known("notes__list_notes").estimated_latency.is_some_and(|ms| ms > 0));
    for _ in 0..2 {
        hub.call(&snapshot, "wiki__list_pages", Fields::default(), &nobody).await.unwrap();
    }
    let held = hub.call(&snapshot, "wiki__list_pages", Fields::default(), &nobody).await;
    let said = format!("{held:?}");
    assert!(said.contains("2 times within 3600 s"), "{said}");
    hub.close().await;
}

#[tokio::test]
async fn d3_tools_are_selected_for_an_intent_beside_the_tools_that_are_there() {
    let yard = two().await;
    let hub = open(config(&yard));
    let selection = hub.select("list the notes", &["wiki__list_pages".to_owned()]).await;
    let has = |tool: &str| selection.tool_names.iter().any(|name| **name == *tool);
    assert!(has("notes__list_notes") && has("wiki__list_pages"), "{selection:?}");
    assert_eq!(selection.domains.len(), 2, "{selection:?}");
    assert!(selection.reasoning.contains("came: it is meant now"), "{selection:?}");
    let alone = hub.select("list the notes", &[]).await;
    assert_eq!(alone.domains.len(), 1, "{alone:?}");
    hub.close().await;
}
