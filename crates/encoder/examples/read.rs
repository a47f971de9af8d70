//! Times the reader of arguments, beside the encoder on a text of about as many tokens.
//!
//! Run it with `cargo run --release -p toolyard-encoder --example read -- ENCODER READER`.

#![expect(
    clippy::disallowed_methods,
    reason = "a timing needs a clock and a file; the library itself has neither"
)]
#![expect(clippy::print_stdout, reason = "what it prints is its purpose")]

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use toolyard_encoder::{Encoder, FieldText, Reader, ReaderInput};

const REQUEST: &str =
    "put a meeting with Ana and Ben about the budget on my calendar tomorrow from nine to ten in room 4";
const ABOUT: &str = "Create an event in the calendar of the signed-in person";
const DESCRIPTION: &str =
    "When the event begins, in the time zone of the calendar unless another one is named";
const ROUNDS: usize = 200;

fn main() {
    let mut files = std::env::args().skip(1).map(|path| fs::read(path).expect("the file is there"));
    let encoder =
        Encoder::open(files.next().expect("an encoder is the first argument")).expect("it is an encoder");
    let file = files.next().expect("a reader is the second argument");
    let start = Instant::now();
    let reader = Reader::open(file, &encoder).expect("it is a reader of this encoder");
    println!("{reader:?} opened in {:.1?}", start.elapsed());

    let options = ["private", "public", "only for guests"].map(str::to_owned);
    let parameter =
        FieldText { name: "start time", description: DESCRIPTION, kind: "date and time", options: &[] };
    for count in [1, 3, 6, 12, 24] {
        let mut parameters = vec![parameter; count];
        parameters[0].options = &options;
        let question =
            ReaderInput { request: REQUEST, tool: "create event", about: ABOUT, parameters: &parameters };
        let times = times(|| drop(black_box(reader.read(&encoder, black_box(&question)))));
        println!("{count:>3} parameters  least {:>8.2?}  p50 {:>8.2?}", times[0], times[ROUNDS / 2]);
    }
    let text = DESCRIPTION.repeat(9);
    let times = times(|| drop(black_box(encoder.encode(black_box(&text)))));
    println!("encoder, full   least {:>8.2?}  p50 {:>8.2?}", times[0], times[ROUNDS / 2]);
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
