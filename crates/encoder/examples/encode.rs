//! Times the encoder: opening it, a query, the text of a tool, and a search among many vectors.
//!
//! Run it with `cargo run --release -p toolyard-encoder --example encode -- FILE`, where FILE was written by
//! `training/export.py`, or with a folder that holds a BERT-type sentence encoder.

#![expect(
    clippy::disallowed_methods,
    reason = "a timing needs a clock and a file; the library itself has neither"
)]
#![expect(clippy::print_stdout, reason = "what it prints is its purpose")]

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use toolyard_encoder::{Encoder, Vectors};

const QUERY: &str = "remind me to call the dentist tomorrow morning at nine";
const TOOL: &str = "create_event: Create an event in the calendar of the signed-in person. The start and the end \
    are given in the time zone of the calendar unless another one is named; an event without an end lasts one \
    hour. People who are invited get a message unless notify is false. Parameters: title, start, end, time_zone, \
    location, attendees, notify, recurrence, description, reminders. Use it when somebody wants to put a meeting \
    or an appointment on the calendar.";
const ROUNDS: usize = 200;
const VECTORS: usize = 100_000;

fn main() {
    let path = std::env::args().nth(1).expect("an encoder file or a folder is the first argument");
    let start = Instant::now();
    let encoder = open(Path::new(&path));
    println!("{encoder:?} opened in {:.1?}", start.elapsed());

    for (what, text) in [("query", QUERY), ("tool text", TOOL)] {
        let times = times(|| drop(black_box(encoder.encode(black_box(text)))));
        println!("{what:<10} least {:>8.2?}  p50 {:>8.2?}", times[0], times[ROUNDS / 2]);
    }

    let vector = encoder.encode(TOOL).pack();
    let mut vectors = Vectors::new(encoder.dims());
    (0..VECTORS).for_each(|_| vectors.push(&vector).expect("it comes from the same encoder"));
    let (query, mut scores) = (encoder.encode(QUERY), Vec::new());
    let times = times(|| vectors.score(&query, &mut scores).expect("it comes from the same encoder"));
    println!(
        "{:<10} least {:>8.2?}  p50 {:>8.2?}  for {VECTORS} vectors",
        "search",
        times[0],
        times[ROUNDS / 2]
    );
}

fn open(path: &Path) -> Encoder {
    if !path.is_dir() {
        return Encoder::open(fs::read(path).expect("the file is there")).expect("it is an encoder");
    }
    let weights = fs::read(path.join("model.safetensors")).expect("the folder has weights");
    let text = |name| fs::read_to_string(path.join(name)).expect("the folder has it");
    Encoder::from_parts(&weights, &text("tokenizer.json"), &text("config.json")).expect("it is an encoder")
}

fn times(mut work: impl FnMut()) -> Vec<Duration> {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times
}
