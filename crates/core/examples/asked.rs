//! How many ordinary calls would be asked about before they run, and why.
//!
//! `cargo run --example asked -- CATALOG.jsonl.gz CALLS.jsonl.gz`: tools as `{id, server, name, description,
//! input_schema}`, calls as `{tool, arguments}`. Calls of tools whose own name destroys are counted apart:
//! they are not ordinary.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what it prints is its purpose")]

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use toolyard_core::catalog::{Advertised, Bounds, Catalog};
use toolyard_core::hazard::assess;
use toolyard_core::tool::{Effect, Hints};

fn lines(path: &str) -> impl Iterator<Item = Value> {
    let file = File::open(path).expect("the file is there");
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    lines.map(|line| serde_json::from_str(&line.expect("it is text")).expect("it is JSON"))
}

fn main() {
    let mut paths = std::env::args().skip(1);
    let (Some(tools), Some(calls)) = (paths.next(), paths.next()) else {
        eprintln!("usage: asked CATALOG.jsonl.gz CALLS.jsonl.gz");
        std::process::exit(2);
    };
    let tools: HashMap<String, Value> =
        lines(&tools).map(|tool| (tool["id"].as_str().unwrap_or_default().to_owned(), tool)).collect();
    let bounds = Bounds { tools: 9, name_chars: 128, description_chars: 16_384, nesting: 127 };
    let (mut ordinary, mut asked, mut named) = (0, 0, 0);
    for call in lines(&calls) {
        let Some(tool) = call["tool"].as_str().and_then(|id| tools.get(id)) else { continue };
        let definition = json!({
            "name": tool["name"], "description": tool["description"], "inputSchema": tool["input_schema"],
            "annotations": tool["annotations"],
        });
        let server = tool["server"].as_str().unwrap_or_default().into();
        let raw = to_raw_value(&definition).expect("a JSON value has a text");
        let (catalog, _) = Catalog::gather([(Advertised { server, tools: vec![raw] }, bounds)]);
        let Some(tool) = catalog.tools().first() else { continue };
        if Effect::infer(&tool.name, Hints::default()) == Effect::Destroy {
            named += 1;
            println!("named  {}", tool.id);
            continue;
        }
        ordinary += 1;
        let hazard = assess(tool, tool.effect, &call["arguments"]);
        if hazard.effect == Effect::Destroy {
            asked += 1;
            println!("asked  {} {} {}", tool.id, hazard.sign.unwrap_or_default(), call["arguments"]);
        }
    }
    let share = 100.0 * f64::from(asked) / f64::from(ordinary.max(1));
    println!(
        "{asked} of {ordinary} ordinary calls are asked about ({share:.1} %); {named} are of tools that destroy by name"
    );
}
