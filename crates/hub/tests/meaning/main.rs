//! What compares meanings: its vectors, its failures, and who waits for it.

mod service;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use service::Service;
use testkit::{servers, wait_until};
use toolyard_core::rank::{Decision, Signal};
use toolyard_hub::config::{self, Config, Folders};
use toolyard_hub::hub::{Hub, Learning, Options};
use toolyard_hub::routing::{Provisional, Wanted};

const SOON: Duration = Duration::from_secs(60);
/// Enough for whatever is done in it, and endless beside the time limits that are tested.
const PATIENCE: Duration = Duration::from_secs(120);

const BUILT_IN: &str = r#""time": { "builtin": "time" }, "notes": { "builtin": "notes" }"#;

/// A hub over the built-in servers, in a folder of its own.
struct Yard {
    folder: tempfile::TempDir,
}

impl Yard {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("there is room for a folder") }
    }

    /// Reads settings whose `semanticSearch` is given.
    fn config(&self, search: &str) -> Config {
        self.config_of(search, BUILT_IN, 500)
    }

    /// Reads settings with these servers, where a request may take so many milliseconds.
    fn config_of(&self, search: &str, servers: &str, milliseconds: u64) -> Config {
        let home = self.folder.path().to_owned();
        let folders = Folders { config: home.clone(), data: home.clone(), home };
        let text = format!(
            r#"{{ "mcpServers": {{ {servers} }}, "routing": {{
                "semanticSearch": {search}, "performance": {{ "maxRoutingTime": {milliseconds} }} }} }}"#
        );
        config::parse(&text, &folders.home.join("toolyard.json"), &|_| None, &folders)
            .expect("the settings are right")
    }

    /// Starts a hub that knows the tools of its servers and computes only when it is told.
    async fn hub(&self, search: &str) -> Arc<Hub> {
        let hub = start(self.config(search), Learning::OnDemand);
        hub.learn(|_| true, |_| {}).await;
        hub
    }
}

fn start(config: Config, learning: Learning) -> Arc<Hub> {
    Hub::start(config, Options { watchdog: None, learning })
}

/// A model of a few thousand numbers, whose vectors say little and are the same everywhere.
fn tiny() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../encoder/tests/data/encoder");
    folder_model(&folder)
}

fn folder_model(folder: &Path) -> String {
    serde_json::json!({ "model": folder }).to_string()
}

async fn decide(hub: &Hub, task: &str) -> Decision {
    Decision::clone(&*hub.rank(&hub.snapshot(), &Wanted::plain(task)).await)
}

/// Whether meaning had a part in a decision.
fn has_sense(decision: &Decision) -> bool {
    decision.candidates.iter().any(|it| it.signals[Signal::Sense as usize] != 0.0)
}

fn progress(hub: &Hub) -> (usize, usize) {
    let status = hub.meaning_progress();
    (status.known, status.all)
}

#[tokio::test]
async fn r13_vectors_are_computed_in_the_background_and_known_after_a_restart() {
    let yard = Yard::new();
    let hub = start(yard.config(&tiny()), Learning::Background);
    let is_done = || matches!(progress(&hub), (known, all) if all > 100 && known == all);
    wait_until(SOON, is_done).await;
    let first = decide(&hub, "zebra").await;
    assert!(has_sense(&first));
    hub.close().await;

    let again = start(yard.config(&tiny()), Learning::OnDemand);
    again.understand(&again.snapshot(), Duration::ZERO).await;
    let (known, all) = progress(&again);
    assert_eq!((known, all > 100), (all, true), "no time was given to compute anything");
    let second = decide(&again, "zebra").await;
    let order = |decision: &Decision| decision.candidates.iter().map(|it| it.position).collect::<Vec<_>>();
    assert_eq!(order(&second), order(&first));
}

#[tokio::test]
async fn r13_the_first_route_waits_until_tools_are_read() {
    let yard = Yard::new();
    let hub = yard.hub(&tiny()).await;
    let provisional = Provisional::default();
    let wanted = Wanted { provisional: Some(&provisional), ..Wanted::plain("what time is it") };
    let first = hub.rank(&hub.snapshot(), &wanted).await;
    assert!(has_sense(&first) && !provisional.is_noted());
    hub.understand(&hub.snapshot(), PATIENCE).await;
    let again = hub.rank(&hub.snapshot(), &wanted).await;
    assert!(Arc::ptr_eq(&first, &again), "it is remembered");
}

#[tokio::test]
async fn r13_what_is_decided_before_tools_are_read_is_not_remembered() {
    let service = Service::start().await;
    // It says how long its vectors are, and then nothing for longer than a request may take.
    service.seen.answers.store(1, Ordering::Relaxed);
    let yard = Yard::new();
    let search = format!(r#"{{ "model": "http://{}/api/embed#letters" }}"#, service.host);
    let hub = start(yard.config_of(&search, BUILT_IN, 100), Learning::OnDemand);
    hub.learn(|_| true, |_| {}).await;
    let is_provisional = async || {
        let provisional = Provisional::default();
        let wanted = Wanted { provisional: Some(&provisional), ..Wanted::plain("what time is it") };
        assert!(!hub.rank(&hub.snapshot(), &wanted).await.candidates.is_empty());
        provisional.is_noted()
    };
    assert!(is_provisional().await);
    assert_eq!(hub.tally().entries, 0);
    service.seen.answers.store(0, Ordering::Relaxed);
    hub.understand(&hub.snapshot(), PATIENCE).await;
    assert!(!is_provisional().await);
}

#[tokio::test]
async fn r13_many_first_routes_at_once_wait_together() {
    let yard = Yard::new();
    let hub = yard.hub(&tiny()).await;
    let tasks =
        ["what time is it", "search my notes", "zebra", "add a line to a note", "how late is it in Oslo"];
    let ask = async |task: &str| decide(&hub, task).await;
    let together = tokio::join!(ask(tasks[0]), ask(tasks[1]), ask(tasks[2]), ask(tasks[3]), ask(tasks[4]));
    let together = [together.0, together.1, together.2, together.3, together.4];
    hub.understand(&hub.snapshot(), PATIENCE).await;
    let fresh = Yard::new().hub(&tiny()).await;
    fresh.understand(&fresh.snapshot(), PATIENCE).await;
    for (task, decision) in tasks.iter().zip(&together) {
        assert!(has_sense(decision), "{task}");
        assert_eq!(decide(&fresh, task).await.confidence, decision.confidence, "{task}");
    }
}

#[tokio::test]
async fn r13_new_tools_are_read_before_the_next_route() {
    let yard = Yard::new();
    let two = r#""time": { "builtin": "time" }, "clock": { "builtin": "time" }"#;
    let hub = start(yard.config_of(&tiny(), r#""time": { "builtin": "time" }"#, 500), Learning::OnDemand);
    hub.learn(|_| true, |_| {}).await;
    hub.understand(&hub.snapshot(), PATIENCE).await;
    hub.apply(yard.config_of(&tiny(), two, 500));
    hub.learn(|_| true, |_| {}).await;
    let snapshot = hub.snapshot();
    let wanted = Wanted { candidates: Some(50), ..Wanted::plain("zebra") };
    let decision = hub.rank(&snapshot, &wanted).await;
    let sensed = |server: &str| {
        let mut own = decision.candidates.iter();
        own.any(|it| {
            *snapshot.catalog.tools()[it.position].server == *server
                && it.signals[Signal::Sense as usize] != 0.0
        })
    };
    assert!(sensed("time") && sensed("clock"));
}

#[tokio::test]
async fn r13_a_folder_that_is_no_model_gives_way_to_the_model_inside() {
    let yard = Yard::new();
    let hub = yard.hub(r#"{ "model": "./weights" }"#).await;
    hub.understand(&hub.snapshot(), Duration::ZERO).await;
    let status = hub.meaning_progress();
    let trouble = status.trouble.unwrap();
    assert!(trouble.contains("weights/model.safetensors` cannot be read"), "{trouble}");
    assert_ne!(status.model.as_deref(), Some("weights"));
    assert!(!decide(&hub, "what time is it").await.candidates.is_empty());
}

#[tokio::test]
async fn r13_an_endpoint_is_asked_for_tools_in_batches_and_once_for_a_request() {
    let service = Service::start().await;
    for path in ["v1/embeddings", "api/embed"] {
        let yard = Yard::new();
        let search =
            format!(r#"{{ "model": "http://{}/{path}#letters", "apiKey": "secret" }}"#, service.host);
        let hub = start(yard.config_of(&search, BUILT_IN, 60_000), Learning::OnDemand);
        hub.learn(|_| true, |_| {}).await;
        hub.understand(&hub.snapshot(), PATIENCE).await;
        let status = hub.meaning_progress();
        assert_eq!((status.model.as_deref(), status.trouble), (Some("letters"), None));
        assert_eq!((status.known, status.all > 100), (status.all, true));
        let asked = service.asked();
        assert!(asked < 40, "{asked} questions for {} texts", status.all);
        assert!(has_sense(&decide(&hub, "zebra").await), "{path}");
        assert_eq!(service.seen.asked.lock()[asked..], [1]);
        service.seen.asked.lock().clear();
    }
    assert!(service.seen.keys.lock().iter().all(|key| key == "Bearer secret"));
}

#[tokio::test]
async fn r13_an_endpoint_that_is_not_there_gives_way() {
    let gone = Service::start().await.host.clone();
    let yard = Yard::new();
    let hub = yard.hub(&format!(r#"{{ "model": "http://{gone}/v1/embeddings#letters" }}"#)).await;
    hub.understand(&hub.snapshot(), Duration::ZERO).await;
    let trouble = hub.meaning_progress().trouble.unwrap();
    assert!(
        trouble.starts_with(&format!("the embeddings endpoint at `{gone}` cannot be reached")),
        "{trouble}"
    );
    assert!(!decide(&hub, "what time is it").await.candidates.is_empty());
}

#[tokio::test]
async fn r13_an_endpoint_that_is_too_slow_for_requests_gives_way() {
    let service = Service::start().await;
    let yard = Yard::new();
    let search = format!(r#"{{ "model": "http://{}/api/embed#letters" }}"#, service.host);
    let hub = yard.hub(&search).await;
    hub.understand(&hub.snapshot(), PATIENCE).await;
    service.seen.is_silent.store(true, Ordering::Relaxed);
    for task in ["one", "two", "three"] {
        assert!(!has_sense(&decide(&hub, task).await), "words choose when the model says nothing");
    }
    hub.understand(&hub.snapshot(), Duration::ZERO).await;
    let status = hub.meaning_progress();
    assert!(status.trouble.unwrap().contains("did not answer within"));
    assert_ne!(status.model.as_deref(), Some("letters"));
    let asked = service.asked();
    decide(&hub, "four").await;
    assert_eq!(service.asked(), asked, "it is left alone");
}

#[tokio::test]
async fn r14_max_routing_time_is_what_a_slow_model_may_take() {
    let service = Service::start().await;
    let yard = Yard::new();
    let search = format!(r#"{{ "model": "http://{}/api/embed#letters" }}"#, service.host);
    for (milliseconds, is_waited_for) in [(60_000, true), (50, false)] {
        service.seen.thinks.store(0, Ordering::Relaxed);
        let hub = start(yard.config_of(&search, BUILT_IN, milliseconds), Learning::OnDemand);
        hub.learn(|_| true, |_| {}).await;
        hub.understand(&hub.snapshot(), PATIENCE).await;
        service.seen.thinks.store(2_000, Ordering::Relaxed);
        let decision = decide(&hub, "search my notes for a zebra").await;
        assert_eq!(has_sense(&decision), is_waited_for, "within {milliseconds} ms");
        assert!(!decision.candidates.is_empty(), "words choose without the model");
        hub.close().await;
    }
}

#[tokio::test]
async fn r13_closing_waits_for_no_model() {
    let service = Service::start().await;
    service.seen.answers.store(2, Ordering::Relaxed);
    let yard = Yard::new();
    let search = format!(r#"{{ "model": "http://{}/api/embed#letters" }}"#, service.host);
    let hub = start(yard.config(&search), Learning::Background);
    wait_until(SOON, || service.asked() > 2).await;
    // The model would be given a minute.
    tokio::time::timeout(Duration::from_secs(30), hub.close()).await.unwrap();
}

#[tokio::test]
async fn r14_meaning_that_is_switched_off_is_not_there() {
    let yard = Yard::new();
    let hub = yard.hub(r#"{ "enabled": false }"#).await;
    hub.understand(&hub.snapshot(), PATIENCE).await;
    assert_eq!(hub.meaning_progress(), toolyard_hub::store::MeaningStatus::default());
    assert!(!has_sense(&decide(&hub, "what time is it").await));
    hub.apply(yard.config(&tiny()));
    hub.understand(&hub.snapshot(), PATIENCE).await;
    assert!(has_sense(&decide(&hub, "what time is it").await), "switched on again");
}

#[tokio::test]
async fn r14_the_similarity_threshold_is_a_share_of_the_nearest_tool() {
    let yard = Yard::new();
    let credited = async |threshold: &str| {
        let mut search: serde_json::Value = serde_json::from_str(&tiny()).unwrap();
        search["similarityThreshold"] = threshold.parse::<f64>().unwrap().into();
        let hub = yard.hub(&search.to_string()).await;
        hub.understand(&hub.snapshot(), PATIENCE).await;
        let wanted = Wanted { candidates: Some(50), ..Wanted::plain("what time is it in Tokyo") };
        let decision = hub.rank(&hub.snapshot(), &wanted).await;
        let near = [Signal::Sense as usize, Signal::PhraseSense as usize];
        decision.candidates.iter().filter(|it| near.iter().any(|at| it.signals[*at] != 0.0)).count()
    };
    assert_eq!(credited("1").await, 1);
    assert!(credited("0").await > 5);
}

#[tokio::test]
#[expect(clippy::print_stderr, reason = "a test that is left out must say so")]
async fn r13_minilm_from_a_folder_works_end_to_end() {
    let Some(folder): Option<PathBuf> = servers::sentence_encoder() else {
        eprintln!("left out: the weights are not installed; `scripts/servers` installs them");
        return;
    };
    let yard = Yard::new();
    let hub = yard.hub(&folder_model(&folder)).await;
    hub.understand(&hub.snapshot(), PATIENCE).await;
    let status = hub.meaning_progress();
    assert_eq!((status.known, status.trouble), (status.all, None));
    let snapshot = hub.snapshot();
    // None of these shares a word with the tool that is nearest in meaning.
    for (task, tool) in [
        ("how late is it over there in Japan", "time__current_time"),
        ("jot something down for later", "notes__create_note"),
    ] {
        let decision = decide(&hub, task).await;
        let near = |at: usize| decision.candidates[at].signals[Signal::Sense as usize];
        let nearest = (0..decision.candidates.len()).max_by(|a, b| near(*a).total_cmp(&near(*b))).unwrap();
        let nearest = decision.candidates[nearest].position;
        assert_eq!(snapshot.catalog.tools()[nearest].id.as_str(), tool, "{task}");
    }
}
