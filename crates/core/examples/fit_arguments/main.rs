//! Fits the weights of arguments to requests whose calls are known, and writes `data/arguments.tsv`.
//!
//! Run it with `cargo run --release -p toolyard-core --example fit_arguments -- TRAIN CATALOGS TRAINING`,
//! where TRAIN holds `written_calls.jsonl.gz`, `calls.jsonl.gz` and `tools.jsonl.gz`, CATALOGS
//! `mcp_registries.jsonl.gz`, and TRAINING is the folder `training` of this repository.
//! A quarter of the tools is held out: first the weights are fitted without them and measured on them, beside
//! the rules alone (`rules.tsv`); then they are fitted on everything and written.

#![expect(
    clippy::disallowed_methods,
    reason = "it reads data and writes weights; the library itself does not"
)]
#![expect(clippy::print_stdout, reason = "what it prints is its purpose")]

mod data;
mod invent;
mod learn;
mod measure;

use std::path::PathBuf;

use toolyard_core::arguments::FeatureWeights;

fn main() {
    let mut paths = std::env::args_os().skip(1).map(PathBuf::from);
    let mut next = |what: &str| paths.next().unwrap_or_else(|| panic!("{what} is the next argument"));
    let (train, catalogs, training) = (next("TRAIN"), next("CATALOGS"), next("TRAINING"));
    let cases = data::load(&train, &catalogs, &training);
    let (held, kept): (Vec<_>, Vec<_>) = cases.iter().partition(|case| case.is_held_out);
    println!("{} requests to fit on, {} to measure on", kept.len(), held.len());
    measure::report("rules", &held, &FeatureWeights::parse(include_str!("rules.tsv")));
    let without = FeatureWeights::parse(&learn::fit(&kept));
    measure::report("fitted", &held, &without);
    measure::sureness("fitted", &held, &without);
    let all: Vec<&data::Case> = cases.iter().collect();
    let fitted = learn::fit(&all);
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/data/arguments.tsv"));
    std::fs::write(&path, &fitted).expect("the sources can be written");
    println!("{} features, {} bytes written", fitted.lines().count(), fitted.len());
}
