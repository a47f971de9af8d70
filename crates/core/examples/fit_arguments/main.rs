//! Fits what arguments are found with, and writes `data/arguments.tsv` (which words fill which field), `data/values.tsv`
//! (which named value fills which field) and `data/exactness.json` (how likely a whole call is exact).
//!
//! Run it with `cargo run --release -p toolyard-core --example fit_arguments -- TRAIN CATALOGS TRAINING`,
//! where TRAIN holds `written_calls.jsonl.gz`, `calls.jsonl.gz` and `tools.jsonl.gz`, CATALOGS
//! `mcp_registries.jsonl.gz`, and TRAINING is the folder `training` of this repository.
//! The servers of `held_out.txt` are held out: first the weights are fitted without them and measured on them, beside
//! the rules alone (`rules.tsv`); then they are fitted on everything and written.
//!
//! `TOOLYARD_READER` names an argument reader that has not seen those servers. `ONLY=words` and `ONLY=values` do one half,
//! `ONLY=reader` writes what the reader learns from to a fourth path, and `KEEP=1` leaves `data/arguments.tsv` as it is.

#![expect(
    clippy::disallowed_methods,
    reason = "it reads data and writes weights; the library itself does not"
)]
#![expect(clippy::print_stdout, reason = "what it prints is its purpose")]

mod data;
mod exact;
mod invent;
mod learn;
mod measure;
mod named;
mod pack;
mod pairs;
mod read;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toolyard_core::arguments::FeatureWeights;
use toolyard_encoder::Encoder;

fn main() {
    let mut paths = std::env::args_os().skip(1).map(PathBuf::from);
    let mut next = |what: &str| paths.next().unwrap_or_else(|| panic!("{what} is the next argument"));
    let (train, catalogs, training) = (next("TRAIN"), next("CATALOGS"), next("TRAINING"));
    let tools = data::tools(&train, &catalogs);
    let only = std::env::var("ONLY").unwrap_or_default();
    if only == "reader" {
        let named = named::load(&tools, &training, &encoder());
        let pairs = pairs::load(&tools, &train, &training);
        return pack::write(&next("OUT"), &data::load(&tools, &train, &training), &named, &pairs);
    }
    let reader = std::env::var_os("TOOLYARD_READER").map(|path| read::Opened::open(path.as_ref(), encoder()));
    let reader = reader.as_ref();
    let words = (only != "values").then(|| words(&data::load(&tools, &train, &training), reader));
    let named = (only != "words").then(|| values(&tools, &training, reader));
    let path = data_file("exactness.json");
    let mut exactness: Value =
        serde_json::from_str(&std::fs::read_to_string(&path).expect("readable")).expect("JSON");
    for (key, weights) in [("words", words), ("named", named)] {
        if let Some(weights) = weights {
            exactness[key] = exact::written(&weights);
        }
    }
    write("exactness.json", &format!("{exactness:#}\n"));
}

/// Fits which words fill which field, and how likely all of them are exact.
fn words(cases: &[data::Case], reader: Option<&read::Opened>) -> BTreeMap<&'static str, f64> {
    let (held, kept): (Vec<_>, Vec<_>) = cases.iter().partition(|case| case.is_held_out);
    println!("{} requests to fit on, {} to measure on", kept.len(), held.len());
    let rules = FeatureWeights::parse(include_str!("rules.tsv"));
    measure::report("rules", &held, &measure::Scorer { weights: &rules, reader: None });
    let without = FeatureWeights::parse(&learn::fit(&kept));
    measure::report("fitted", &held, &measure::Scorer { weights: &without, reader: None });
    let scorer = measure::Scorer { weights: &without, reader };
    if reader.is_some() {
        measure::report("and reader", &held, &scorer);
    }
    measure::sureness("fitted", &held, &scorer);
    if std::env::var_os("KEEP").is_none() {
        write("arguments.tsv", &learn::fit(&cases.iter().collect::<Vec<_>>()));
    }
    // Steps of plans are filled in without the reader.
    let mut judged = measure::judge(&held, &scorer);
    judged.extend(measure::judge(&held, &measure::Scorer { weights: &without, reader: None }));
    exact::fit("words", &judged)
}

/// Fits which value of a caller fills which field, and how likely all of them are exact.
fn values(
    tools: &data::Tools,
    training: &Path,
    reader: Option<&read::Opened>,
) -> BTreeMap<&'static str, f64> {
    let calls = named::load(tools, training, &encoder());
    let mut judged = Vec::new();
    for quarter in 0..4 {
        let (held, kept): (Vec<_>, Vec<_>) = calls.iter().partition(|call| call.quarter == quarter);
        println!("{} calls to fit on, {} to measure on", kept.len(), held.len());
        let without = FeatureWeights::parse(&learn::fit_values(&kept));
        named::report(&held, &without, None);
        // The reader has not seen the first of them; what it says of the others is no measure.
        let (unread, read): (Vec<_>, Vec<_>) = held.into_iter().partition(|call| call.is_held_out);
        named::report(&unread, &without, reader);
        judged.extend(named::judge(&unread, &without, reader));
        judged.extend(named::judge(&read, &without, None));
    }
    write("values.tsv", &learn::fit_values(&calls.iter().collect::<Vec<_>>()));
    exact::fit("named", &judged)
}

fn encoder() -> Encoder {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/encoder.tyenc");
    Encoder::open(std::fs::read(path).expect("the encoder")).expect("an encoder")
}

fn data_file(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/data")).join(name)
}

fn write(name: &str, fitted: &str) {
    std::fs::write(data_file(name), fitted).expect("the sources can be written");
    println!("{name}: {} features, {} bytes written", fitted.lines().count(), fitted.len());
}
