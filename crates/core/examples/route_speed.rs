//! Times route decisions over catalogs of growing size, beside plain word search over the same tools.
//!
//! Run it with `cargo run --release -p toolyard-core --example route_speed -- CATALOGS`, the folder that
//! holds `mcp_registries.jsonl.gz`. Beyond the tools that it has, they are taken again with other words.

#![expect(clippy::disallowed_methods, reason = "a timing needs a clock; the library itself has none")]
#![expect(clippy::print_stdout, reason = "what it prints is its purpose")]

use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::value::RawValue;
use toolyard_core::catalog::{Advertised, Bounds, Catalog};
use toolyard_core::index::Index;
use toolyard_core::metadata::{Knowledge, Library};
use toolyard_core::rank::{self, Method, Reasons, Request, Rules, Scope, Sense, Weights};

const BOUNDS: Bounds = Bounds { tools: 1_000, name_chars: 128, description_chars: 4_096, nesting: 64 };
const TOOLS_PER_SERVER: usize = 20;
const ROUNDS: usize = 40;

const REQUESTS: [&str; 12] = [
    "Search my notes for AI",
    "show me what changed in the repository since monday",
    "create an issue about the login button that does nothing",
    "how far is it from Lisbon to Porto by car",
    "wo habe ich über die Hypothek geschrieben",
    "remind me to call the dentist tomorrow at nine",
    "what's the weather like in Oslo this weekend",
    "turn off the lights in the bedroom",
    "convert report.docx into a PDF and keep the headings",
    "which pods keep restarting in the staging cluster",
    "найди статьи о квантовых вычислениях",
    "take a screenshot of the checkout page on a small screen",
];

#[derive(Deserialize)]
struct Listed {
    name: String,
    description: Option<String>,
    input_schema: Option<Box<RawValue>>,
}

fn main() {
    let folder = PathBuf::from(std::env::args_os().nth(1).expect("the folder of catalogs is the argument"));
    let listed = read(&folder.join("mcp_registries.jsonl.gz"));
    println!(
        "{:>8} {:>10} {:>10} {:>10} {:>10} {:>12}",
        "tools", "index", "p50", "p95", "words p50", "p50 / words"
    );
    for size in [75, 1_000, 10_000, 100_000] {
        let (catalog, _) = Catalog::gather(advertised(&listed, size));
        let start = Instant::now();
        let knowledge = Knowledge::gather(&catalog, Some(Library::builtin()), &[], |_| None);
        let index = Index::new(&catalog, knowledge);
        let built = start.elapsed();
        let [tools, phrases, sentences] = [0; 3].map(|_| numbers(catalog.len()));
        let sense = Sense { tools, phrases, sentences };
        let routed = times(|task| decide(&index, &catalog, task, &sense));
        let words = times(|task| index.words.search(task, 5).len());
        let (p50, p95, plain) = (middle(&routed), routed[routed.len() * 95 / 100], middle(&words));
        let ratio = p50.as_secs_f64() / plain.as_secs_f64();
        println!("{size:>8} {built:>10.1?} {p50:>10.1?} {p95:>10.1?} {plain:>10.1?} {ratio:>12.1}");
    }
}

fn decide(index: &Index, catalog: &Catalog, task: &str, sense: &Sense) -> usize {
    let method = Method::Fitted(Weights::builtin());
    let rules = Rules { method, confidence: 0.7, candidates: 5, reasons: Reasons::Given };
    let request = Request { task, sense: Some(sense) };
    rank::decide(Scope::plain(catalog, index), request, rules).candidates.len()
}

fn times(decide: impl Fn(&str) -> usize) -> Vec<Duration> {
    let mut found = 0;
    let mut times: Vec<Duration> = Vec::new();
    for round in 0..ROUNDS {
        for task in REQUESTS {
            let start = Instant::now();
            found += decide(task);
            // The first round warms caches up.
            if round > 0 {
                times.push(start.elapsed());
            }
        }
    }
    assert!(found > 0, "the requests share words with the tools");
    times.sort_unstable();
    times
}

fn middle(times: &[Duration]) -> Duration {
    times[times.len() / 2]
}

/// Vectors are made elsewhere; here any numbers do.
fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|at| (at * 7919 % 1000) as f32 / 1000.0).collect()
}

fn advertised(listed: &[Listed], size: usize) -> Vec<(Advertised, Bounds)> {
    let definitions: Vec<Box<RawValue>> =
        (0..size).map(|at| definition(&listed[at % listed.len()], at / listed.len())).collect();
    definitions
        .chunks(TOOLS_PER_SERVER)
        .enumerate()
        .map(|(at, tools)| {
            (Advertised { server: format!("server{at}").into(), tools: tools.to_vec() }, BOUNDS)
        })
        .collect()
}

fn definition(tool: &Listed, copy: usize) -> Box<RawValue> {
    let description = tool.description.clone().unwrap_or_default();
    let words = description.split(' ').enumerate().map(|(at, word)| {
        if copy > 0 && at % 5 == copy % 5 { format!("{word}{copy}") } else { word.to_owned() }
    });
    let schema: serde_json::Value =
        tool.input_schema.as_ref().and_then(|it| serde_json::from_str(it.get()).ok()).unwrap_or_default();
    let definition = serde_json::json!({
        "name": format!("{}{}", tool.name, "_x".repeat(copy)),
        "description": words.collect::<Vec<_>>().join(" "),
        "inputSchema": schema,
    });
    RawValue::from_string(definition.to_string()).expect("a value printed as JSON is JSON")
}

fn read(path: &std::path::Path) -> Vec<Listed> {
    let bytes = std::fs::read(path).unwrap_or_else(|err| panic!("{}: {err}", path.display()));
    let mut text = String::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("a compressed text");
    text.lines().map(|line| serde_json::from_str(line).expect("one tool a line")).collect()
}
