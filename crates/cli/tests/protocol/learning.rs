//! What is kept of decisions, what people say about them, and what the hub learns from it.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::Uri;
use parking_lot::Mutex;
use serde_json::{Value, json};
use testkit::client::Client;
use testkit::wait_until;
use tokio::net::TcpListener;
use toolyard_history::{Feedback, FeedbackSource, History, Rating, Retention, Route, RouteOutcome, route_id};

use crate::raw;
use crate::shelf::{route, server, tool};
use crate::toolset::session;
use crate::yard::{SOON, Yard};

/// A request that can be read as either of two tools.
const WORDS: &str = "show me what the harbour does at noon";

/// A hub with a harbour, and with what else a test wants.
async fn yard(mut config: Value) -> Yard {
    let folder = tempfile::tempdir().unwrap();
    let tools = [
        tool("harbour_log", "Shows what happened in the harbour on a day.", &[]),
        tool("noon_signal", "Shows how the time ball of the harbour works.", &[]),
        tool("list_boats", "Lists the boats in the harbour.", &[]),
    ];
    config["mcpServers"]["harbour"] = server(folder.path(), "harbour", &tools);
    let money = [tool("transfer_money", "Transfers money to an account.", &["account"])];
    config["mcpServers"]["bank"] = server(folder.path(), "bank", &money);
    Yard::new(config).keep(folder).learnt().await
}

fn told(yard: &Yard, args: &[&str]) -> Value {
    let output = yard.command(args).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{args:?}: {output:?}"))
}

/// The tools that may be meant, the likeliest first.
fn ranked(yard: &Yard, words: &str) -> Vec<String> {
    let decided = told(yard, &["route", "--dry-run", "--json", words]);
    let tools = decided["alternatives"].as_array().unwrap().iter();
    tools.map(|it| it["tool"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn r16_a_correction_changes_the_next_decision_and_taking_it_back_restores_the_old_one() {
    let yard = yard(json!({})).await;
    let before = ranked(&yard, WORDS);
    let meant = before.last().unwrap().clone();
    let lesson = told(&yard, &["feedback", "wrong", "--meant", &meant, "--json"])["lesson"].clone();
    assert_eq!((&lesson["words"], &lesson["right"]), (&json!(WORDS), &json!(meant)));
    assert_eq!(ranked(&yard, WORDS)[0], meant);
    assert_eq!(told(&yard, &["learnt", "--json"])["lessons"][0]["id"], lesson["id"]);
    let why = told(&yard, &["learnt", "why", WORDS, "--json"]);
    assert_eq!(why["likings"][0]["because"][0]["lesson"], lesson["id"], "{why}");
    told(&yard, &["learnt", "undo", lesson["id"].as_str().unwrap(), "--json"]);
    assert_eq!(ranked(&yard, WORDS), before);
    told(&yard, &["learnt", "redo", lesson["id"].as_str().unwrap(), "--json"]);
    assert_eq!(ranked(&yard, WORDS)[0], meant);
}

#[tokio::test]
async fn r21_replaying_shows_what_lessons_changed() {
    let yard = yard(json!({})).await;
    let before = ranked(&yard, "list the boats");
    assert_eq!(before[0], "harbour__list_boats");
    told(&yard, &["feedback", "wrong", "--meant", "harbour__harbour_log", "--json"]);
    let now = told(&yard, &["replay", "--json"]);
    assert_eq!(now["changed"][0]["after"]["tool"], "harbour__harbour_log", "{now}");
    let without = told(&yard, &["replay", "--without-lessons", "--json"]);
    assert_eq!((&without["same"], &without["changed"]), (&json!(1), &json!([])), "{without}");
}

/// Writes down a decision and what a person or a client said of it.
fn judged(yard: &Yard, (confidence, verdict): (f64, Rating), source: FeedbackSource) {
    let history = History::open(&yard.path().join("store"), Retention::default()).unwrap();
    let (id, at) = (route_id(), toolyard_hub::clock::now_ms());
    history.record(Route {
        id: id.clone(),
        at,
        who: "local".to_owned(),
        client: "cli".to_owned(),
        session: None,
        words: None,
        decision: RouteOutcome::Act,
        tool: Some("harbour__list_boats".to_owned()),
        confidence,
        reasons: Vec::new(),
        candidates: Vec::new(),
        shape: json!({}),
        arguments: None,
        ran: None,
        routing_ms: 1.0,
        total_ms: 1.0,
        cached: false,
        question: None,
    });
    history.flush();
    let (who, weight) = ("local".to_owned(), source.weight());
    let feedback = Feedback {
        id: route_id(),
        at,
        route: Some(id),
        who,
        source,
        verdict,
        meant: None,
        weight,
        words: None,
    };
    history.give(feedback).unwrap();
}

#[tokio::test]
async fn r21_the_threshold_is_tuned_to_the_wanted_error_rate_by_what_people_said() {
    let yard = Yard::of(json!({"time": {"builtin": "time"}}));
    let tuned = |more: &[&str]| told(&yard, &[&["learnt", "tune", "--json"], more].concat());
    assert_eq!(tuned(&["--apply"])["found"], Value::Null, "nobody has said anything");
    for _ in 0..20 {
        judged(&yard, (0.85, Rating::Right), FeedbackSource::Cli);
        // What a client says of its own decisions counts for nothing here.
        judged(&yard, (0.2, Rating::Right), FeedbackSource::Client);
    }
    for _ in 0..4 {
        judged(&yard, (0.75, Rating::Wrong), FeedbackSource::Dashboard);
    }
    let seen = tuned(&[]);
    assert_eq!(seen["now"], json!({"confidence": 0.7, "right": 20, "wrong": 4}), "{seen}");
    assert_eq!(seen["found"], json!({"confidence": 0.85, "right": 20, "wrong": 0}), "{seen}");
    assert_eq!(tuned(&["--error-rate", "0.2"])["found"]["confidence"], 0.75);
    assert_eq!(tuned(&["--apply"])["applied"], true);
    assert_eq!(tuned(&[])["now"]["confidence"], 0.85, "the settings have it");
    let refused = yard.command(&["learnt", "tune", "--error-rate", "5"]).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("between 0 and 1"), "{refused:?}");
}

async fn talking(yard: &Yard) -> Client {
    let client = yard.stdio(&[]);
    session(&client, "cursor").await;
    client
}

#[tokio::test]
async fn r16_a_client_says_what_it_thinks_of_the_decision_before() {
    let yard = yard(json!({})).await;
    let client = talking(&yard).await;
    let first = route(&client, json!({"task": "list the boats"})).await;
    assert_eq!(first["executedTools"], json!(["harbour__list_boats"]), "{first}");
    let said = route(&client, json!({"task": "", "context": {"feedback": "right"}})).await;
    assert!(said["note"].as_str().unwrap().contains("taken down"), "{said}");
    let lessons = told(&yard, &["learnt", "--json"])["lessons"].clone();
    assert_eq!(
        (&lessons[0]["right"], &lessons[0]["source"]),
        (&json!("harbour__list_boats"), &json!("client"))
    );
}

#[tokio::test]
async fn r16_a_client_can_name_only_tools_that_were_considered() {
    let yard = yard(json!({"routing": {"maxCandidates": 1}})).await;
    let client = talking(&yard).await;
    route(&client, json!({"task": "list the boats"})).await;
    let feedback = json!({"verdict": "wrong", "meant": "bank__transfer_money"});
    let said = route(&client, json!({"task": "", "context": {"feedback": feedback}})).await;
    assert!(said["note"].as_str().unwrap().contains("only a person may name another"), "{said}");
    assert_eq!(told(&yard, &["learnt", "--json"])["lessons"], json!([]));
}

#[tokio::test]
async fn r15_words_are_not_kept_where_the_settings_say_so() {
    let yard = yard(json!({"events": {"words": false}})).await;
    let client = talking(&yard).await;
    route(&client, json!({"task": "list the boats of captain Zebulon"})).await;
    let kept = || told(&yard, &["routes", "--json"])["routes"].clone();
    wait_until(SOON, || kept() != json!([])).await;
    drop(client);
    let kept = kept();
    assert_eq!(
        (&kept[0]["words"], &kept[0]["tool"]),
        (&Value::Null, &json!("harbour__list_boats")),
        "{kept}"
    );
    for entry in walk(yard.path()) {
        let bytes = std::fs::read(&entry).unwrap_or_default();
        let is_there = bytes.windows(7).any(|it| it == b"Zebulon");
        assert!(!is_there || entry.extension().is_some_and(|it| it == "log"), "{}", entry.display());
    }
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.flat_map(|it| if it.path().is_dir() { walk(&it.path()) } else { vec![it.path()] }).collect()
}

#[tokio::test]
async fn r15_prometheus_is_told_what_was_decided_and_called() {
    let yard = yard(json!({})).await;
    let mut config: Value =
        serde_json::from_slice(&std::fs::read(yard.path().join("toolyard.json")).unwrap()).unwrap();
    config["serve"]["token"] = json!("s3cret");
    yard.change(config);
    let served = yard.http(&[]);
    let headers = [("authorization", "Bearer s3cret")];
    let url = served.at("").replace("/mcp", "/metrics");
    assert_eq!(raw::send(&url, "GET", &[], "").await.status, 401);
    let client = Client::http(&served.at(""), &headers);
    client.modern(json!({}));
    route(&client, json!({"task": "list the boats"})).await;
    let text = raw::send(&url, "GET", &headers, "").await.body;
    for line in [
        "toolyard_routes_total{decision=\"act\"} 1",
        "toolyard_calls_total{server=\"harbour\",tool=\"list_boats\",outcome=\"answered\"} 1",
        "toolyard_upstream_state{server=\"harbour\",state=\"ready\"} 1",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}

#[tokio::test]
async fn r15_a_collector_gets_one_trace_from_the_client_to_the_server() {
    let heard: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let kept = Arc::clone(&heard);
    let collector = Router::new().fallback(move |uri: Uri, body: Bytes| {
        kept.lock().push((uri.path().to_owned(), serde_json::from_slice(&body).unwrap()));
        async { "{}" }
    });
    tokio::spawn(async move { axum::serve(listener, collector).await });
    let yard = yard(json!({"telemetry": {"otlp": {"endpoint": format!("http://{address}")}}})).await;
    let client = talking(&yard).await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let meta = json!({"traceparent": format!("00-{trace}-00f067aa0ba902b7-01")});
    let call = json!({"name": "smart_route", "arguments": {"task": "list the boats"}, "_meta": meta});
    client.request("tools/call", call).await.unwrap();
    let spans = || -> Vec<Value> {
        let heard = heard.lock();
        let of = heard.iter().filter(|(path, _)| path == "/v1/traces");
        let of = of.flat_map(|(_, it)| it["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().cloned());
        of.flatten().collect()
    };
    wait_until(SOON, || spans().len() >= 2).await;
    let spans = spans();
    assert!(spans.iter().all(|it| it["traceId"] == trace), "{spans:?}");
    let named = |name: &str| spans.iter().find(|it| it["name"].as_str().unwrap().contains(name)).unwrap();
    assert_eq!(named("smart_route")["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!(named("harbour__list_boats")["parentSpanId"], named("smart_route")["spanId"]);
}
