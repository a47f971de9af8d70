//! The seed's performance plan: the first route, the same route again, 75 and 1,000 tools.
//!
//! Run it with `cargo build --release --workspace` and then `cargo run --release -p toolyard --example seed_plan`.
//! Decisions are timed with the hub inside this process. Whole calls are timed through the built binary over
//! its pipes, without running a tool, so they hold the client's and the system's part, too.

#![expect(clippy::print_stdout, reason = "what it prints is its purpose")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use testkit::client::Client;
use testkit::{bin, seed};
use toolyard_hub::config::{self, Config, Folders};
use toolyard_hub::hub::{Hub, Learning, Options};
use toolyard_hub::routing::Wanted;

/// Copies of every server for the large desk; 14 times 75 is over 1,000.
const COPIES: usize = 14;
/// Times that each request is asked in other words.
const VARIANTS: usize = 20;

/// Times of the first route and of the same again, each sorted.
struct Times {
    first: Vec<Duration>,
    again: Vec<Duration>,
}

impl Times {
    fn of(mut pairs: impl Iterator<Item = (Duration, Duration)>) -> Self {
        let (mut first, mut again): (Vec<_>, Vec<_>) = pairs.by_ref().unzip();
        first.sort_unstable();
        again.sort_unstable();
        Self { first, again }
    }

    fn ratio(&self) -> f64 {
        at(&self.again, 0.5).as_secs_f64() / at(&self.first, 0.5).as_secs_f64()
    }

    fn row(&self, what: &str, tools: usize) {
        let ms = |times: &[Duration], share| at(times, share).as_secs_f64() * 1e3;
        println!(
            "| {what} | {tools} | {:.3} | {:.3} | {:.3} | {:.3} | {:.2} |",
            ms(&self.first, 0.5),
            ms(&self.first, 0.95),
            ms(&self.again, 0.5),
            ms(&self.again, 0.95),
            self.ratio()
        );
    }
}

fn at(times: &[Duration], share: f64) -> Duration {
    times[((times.len() - 1) as f64 * share) as usize]
}

#[tokio::main]
async fn main() {
    println!("| | tools | first, p50 ms | p95 | again, p50 ms | p95 | again ÷ first |");
    println!("|---|---|---|---|---|---|---|");
    let mut too_slow = Vec::new();
    for (copies, allowed) in [(1, Duration::from_millis(100)), (COPIES, Duration::from_millis(200))] {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let file = folder.path().join("toolyard.json");
        std::fs::write(&file, desk(copies).to_string()).expect("the folder is ours");
        let (tools, decided) = decisions(load(&file, folder.path())).await;
        decided.row("decision", tools);
        let called = calls(&file, folder.path()).await;
        called.row("whole call", tools);
        let p95 = at(&called.first, 0.95);
        if p95 > allowed {
            too_slow.push(format!("{tools} tools: {p95:?} of {allowed:?}"));
        }
        if decided.ratio() >= 0.5 {
            too_slow.push(format!("{tools} tools: again costs {:.2} of the first", decided.ratio()));
        }
    }
    assert!(too_slow.is_empty(), "{too_slow:?}");
}

/// Every server of the desk so many times, as people have one for work and one for home.
fn desk(copies: usize) -> Value {
    let mut servers = Map::new();
    for copy in 1..=copies {
        for part in seed::desk() {
            let name = if copy == 1 { part.server.clone() } else { format!("{}-{copy}", part.server) };
            servers.insert(name, json!({"command": bin("seed-server"), "args": [part.server]}));
        }
    }
    json!({"mcpServers": servers, "store": {"folder": "store"}})
}

fn load(file: &Path, home: &Path) -> Config {
    let folders = Folders { config: home.to_owned(), data: home.to_owned(), home: home.to_owned() };
    config::load(file, &|_| None, &folders).expect("the configuration is sound")
}

/// Requests that differ from each other, so that none is remembered before its time.
fn requests() -> impl Iterator<Item = String> {
    let tasks = seed::tasks();
    (0..VARIANTS).flat_map(move |variant| {
        let said = |task: &seed::Task| format!("{} {variant}", task.task);
        tasks.iter().map(said).collect::<Vec<_>>()
    })
}

async fn decisions(config: Config) -> (usize, Times) {
    let hub = Hub::start(config, Options { watchdog: None, learning: Learning::OnDemand });
    hub.learn(|_| true, |_| {}).await;
    let snapshot = hub.snapshot();
    snapshot.indexed().await;
    let time = async |task: &str| {
        let start = Instant::now();
        drop(hub.rank(&snapshot, &Wanted::plain(task)).await);
        start.elapsed()
    };
    let mut pairs = Vec::new();
    for task in requests() {
        // The cache holds a thousand; what is asked again at once is still there.
        pairs.push((time(&task).await, time(&task).await));
    }
    let times = Times::of(pairs.into_iter());
    let tools = snapshot.catalog.len();
    drop(snapshot);
    Arc::clone(&hub).close().await;
    (tools, times)
}

async fn calls(file: &Path, home: &Path) -> Times {
    let mut command = Command::new(bin("toolyard"));
    command.args(["serve", "--stdio", "--config"]).arg(file).env("HOME", home).current_dir(home);
    let client = Client::spawn(command);
    client.modern(json!({}));
    let mut pairs = Vec::new();
    for task in requests() {
        let arguments = json!({"task": task, "options": {"dryRun": true}});
        let mut pair = [Duration::ZERO; 2];
        for took in &mut pair {
            let start = Instant::now();
            client.call("smart_route", arguments.clone()).await.expect("a route is answered");
            *took = start.elapsed();
        }
        pairs.push((pair[0], pair[1]));
    }
    client.close().await;
    Times::of(pairs.into_iter())
}
