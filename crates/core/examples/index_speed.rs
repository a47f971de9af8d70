//! Times gathering, indexing and searching synthetic catalogs of growing size.
//!
//! Run it with `cargo run --release -p toolyard-core --example index_speed`.

#![expect(clippy::disallowed_methods, reason = "a timing needs a clock; the library itself has none")]
#![expect(clippy::print_stdout, reason = "what it prints is its purpose")]

use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use toolyard_core::catalog::{Advertised, Bounds, Catalog};
use toolyard_core::index::Words;

const BOUNDS: Bounds = Bounds { tools: 1_000, name_chars: 128, description_chars: 4_096, nesting: 64 };
const TOOLS_PER_SERVER: usize = 50;
const QUERIES: usize = 2_000;

const VERBS: [&str; 12] = [
    "create", "list", "search", "delete", "update", "get", "send", "export", "import", "merge", "sync", "tag",
];

fn main() {
    println!(
        "{:>8} {:>10} {:>10} {:>10} {:>10} {:>14}",
        "tools", "gather", "index", "p50", "p99", "p50 / smallest"
    );
    let mut smallest = None;
    for size in [1_000, 10_000, 100_000] {
        let advertised = advertised(size);
        let start = Instant::now();
        let (catalog, problems) = Catalog::gather(advertised);
        let gather = start.elapsed();
        assert!(problems.is_empty() && catalog.len() == size, "the synthetic tools are all sound");

        let start = Instant::now();
        let index = Words::new(&catalog);
        let build = start.elapsed();

        let mut times = search_times(&index);
        times.sort_unstable();
        let (p50, p99) = (times[QUERIES / 2], times[QUERIES * 99 / 100]);
        let ratio = p50.as_secs_f64() / smallest.get_or_insert(p50).as_secs_f64();
        println!("{size:>8} {gather:>10.1?} {build:>10.1?} {p50:>10.1?} {p99:>10.1?} {ratio:>14.1}");
    }
}

fn search_times(index: &Words) -> Vec<Duration> {
    let mut numbers = Numbers(7);
    let mut found = 0;
    let times = (0..QUERIES)
        .map(|_| {
            let query = format!("{} {} {} the", numbers.pick(&VERBS), numbers.word(), numbers.word());
            let start = Instant::now();
            found += index.search(&query, 10).len();
            start.elapsed()
        })
        .collect();
    assert!(found > 0, "the queries share words with the tools");
    times
}

fn advertised(size: usize) -> Vec<(Advertised, Bounds)> {
    let mut numbers = Numbers(42);
    let servers = size / TOOLS_PER_SERVER;
    (0..servers)
        .map(|server| {
            let tools = (0..TOOLS_PER_SERVER).map(|at| tool(at, &mut numbers)).collect();
            (Advertised { server: format!("server{server}").into(), tools }, BOUNDS)
        })
        .collect()
}

fn tool(at: usize, numbers: &mut Numbers) -> Box<RawValue> {
    let description: Vec<String> = (0..25).map(|_| numbers.word()).collect();
    let properties: serde_json::Map<_, _> = (0..5)
        .map(|_| (numbers.word(), serde_json::json!({"type": "string", "description": "A value to use"})))
        .collect();
    let definition = serde_json::json!({
        "name": format!("{}_{}_{at}", numbers.pick(&VERBS), numbers.word()),
        "description": description.join(" "),
        "inputSchema": {"type": "object", "properties": properties},
    });
    RawValue::from_string(definition.to_string()).expect("a value printed as JSON is JSON")
}

/// A fixed sequence, so that two runs measure the same work.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[(self.next() % words.len() as u64) as usize]
    }

    /// A made-up word; as in real text, a few are very common and most are rare.
    fn word(&mut self) -> String {
        const SYLLABLES: [&str; 16] =
            ["ba", "do", "fi", "gu", "ka", "lo", "mi", "nu", "pa", "ro", "si", "tu", "va", "wo", "xi", "zu"];
        let even = (self.next() % 1_000_000) as f64 / 1_000_000.0;
        let mut number = (even.powi(4) * 20_000.0) as usize;
        let mut word = String::new();
        for _ in 0..4 {
            word.push_str(SYLLABLES[number % SYLLABLES.len()]);
            number /= SYLLABLES.len();
        }
        word
    }
}
