//! Which reach of lessons brings most and harms least.
//!
//! `cargo run --release -p toolyard-eval --example fit_lessons -- SET FOLDER`: a set of requests for tools that the ranking
//! may be chosen on, and a folder for vectors. For each reach it prints the share of requests whose first tool is right:
//! the corrected ones, others for the same tools, and all others.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what it prints is its purpose")]

use std::path::Path;

use serde_json::json;
use toolyard_core::rank::Weights;
use toolyard_core::thresholds::LessonLimits;
use toolyard_eval::corrections::{Reach, compared};
use toolyard_eval::{Experiment, MeaningModel, Progress};

const STRENGTHS: [f32; 4] = [1.0, 2.0, 3.0, 4.0];

fn limits(unrelated: f64, sharpness: f64, wrong: f64) -> LessonLimits {
    let entry = |value: f64| json!({"value": value, "meaning": "", "source": ""});
    let all = json!({
        "unrelated": entry(unrelated), "sharpness": entry(sharpness), "wrong": entry(wrong),
        "half_life_days": entry(120.0), "other": entry(1.0), "relayed": entry(1.0),
        "settled": entry(2.0), "settled_confidence": entry(1.0),
    });
    serde_json::from_value(all).expect("these are all the limits")
}

fn main() {
    let mut paths = std::env::args().skip(1);
    let (Some(set), Some(folder)) = (paths.next(), paths.next()) else {
        eprintln!("usage: fit_lessons SET FOLDER");
        std::process::exit(2);
    };
    let model = MeaningModel::named("builtin", Path::new(&folder)).expect("the model inside can be read");
    let (weights, metadata) = (Some(Weights::builtin().clone()), Vec::new());
    let settings = Experiment { weights, threshold: 0.7, has_library: true, metadata, model };
    let mut grid = Vec::new();
    for unrelated in [0.4, 0.55, 0.7] {
        for sharpness in [1.0, 2.0] {
            for wrong in [0.0, 0.5] {
                for strength in STRENGTHS {
                    grid.push((limits(unrelated, sharpness, wrong), strength));
                }
            }
        }
    }
    let reaches: Vec<Reach<'_>> =
        grid.iter().map(|(limits, strength)| Reach { limits, strength: *strength }).collect();
    let progress = Progress { begin: &|part, steps| eprintln!("{part}: {steps}"), advance: &|_| {} };
    let all = compared(Path::new(&set), None, &settings, (progress, &reaches)).expect("the set can be read");
    println!("unrelated sharpness wrong strength  corrected  same tools  others");
    for (reach, it) in reaches.iter().zip(all) {
        let LessonLimits { unrelated, sharpness, wrong, .. } = reach.limits;
        println!(
            "{unrelated:9} {sharpness:9} {wrong:5} {:8}  {:9.3}  {:.3} {:+.3}  {:.3} {:+.3}",
            reach.strength,
            it.again.after,
            it.same_tools.after,
            it.same_tools.after - it.same_tools.before,
            it.other_tools.after,
            it.other_tools.after - it.other_tools.before,
        );
    }
}
