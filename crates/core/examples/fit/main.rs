//! Fits the weights of routing to requests that were written for training, and writes `data/weights.json`.
//!
//! Run it with `cargo run --release -p toolyard-core --example fit -- TRAIN CATALOGS TRAINING
//! MEASURED…`, where TRAIN holds `written.jsonl.gz`, CATALOGS `mcp_registries.jsonl.gz`, and TRAINING is the
//! folder `training` of this repository; requests that occur under MEASURED are left out. Hubs
//! are drawn from the servers of public registries, and every request is routed in some of them: in hubs that
//! have its tool, and in hubs that have not. With TOOLYARD_ENCODER set to the file of an encoder, the weights
//! for meaning are fitted, on servers that the encoder was not trained on (`training/held_out.txt`), and on public sets
//! with TOOLYARD_UNFAMILIAR, an encoder that was trained without any of them: to those whom it serves, theirs is
//! such data. With
//! TOOLYARD_SHIPPED set as well, to an encoder that was trained on everything, the ranking stays as it is and
//! only the confidence that a tool is right is fitted: mostly on what the one encoder does not know, partly on fresh requests
//! (`training/data/fresh.jsonl`) for what the other one knows, as people have some of both, and on public sets as above.

#![expect(
    clippy::disallowed_methods,
    reason = "it reads data and writes weights; the library itself does not"
)]
#![expect(clippy::print_stdout, reason = "what it prints is its purpose")]

mod data;
mod learn;
mod relate;
mod sample;

use std::path::PathBuf;

use toolyard_core::lexicon::Related;
use toolyard_core::rank::{Signal, Table, Traits, Weights};

use learn::{Answer, Choice};
use sample::{Encoding, Hub, Look, SetHub};

const RANKING_HUBS: u64 = 36;
const JUDGING_HUBS: u64 = 24;
/// What tells apart tools that mean the same; where nothing says what they mean, it misleads.
const AMONG_ALIKE: [Signal; 3] = [Signal::Inputs, Signal::Choices, Signal::Numbers];
/// How often the requests of public sets count where there are only words.
const PUBLIC_TIMES_IN_WORDS: usize = 3;
/// Hubs of servers that the shipped encoder knows: people have more of the others.
const KNOWN_HUBS: u64 = 16;

fn main() {
    let mut paths = std::env::args_os().skip(1).map(PathBuf::from);
    let mut next = |what: &str| paths.next().unwrap_or_else(|| panic!("{what} is the next argument"));
    let (train, catalogs, training) = (next("TRAIN"), next("CATALOGS"), next("TRAINING"));
    let open = |name: &str, knows_all: bool| {
        std::env::var_os(name).map(|path| Encoding::open(&PathBuf::from(path), knows_all))
    };
    let (encoding, shipped) = (open("TOOLYARD_ENCODER", false), open("TOOLYARD_SHIPPED", true));
    let unfamiliar = open("TOOLYARD_UNFAMILIAR", false);
    let measured = data::measured(&paths.collect::<Vec<_>>());
    // Words alone cannot find what a goal needs; learning from goals would only make them less sure of the rest.
    let files: &[&str] = if encoding.is_some() { &["requests", "tasks"] } else { &["requests"] };
    let data = data::load((&train, &catalogs, &training), files, &measured);
    let known: Vec<_> = data.servers.iter().filter(|server| server.is_known).collect();
    let known_requests: usize = known.iter().map(|server| server.requests.len()).sum();
    println!(
        "{} servers, {} requests; {known_requests} of them for {} servers of the library",
        data.servers.len(),
        data.requests.len(),
        known.len()
    );

    let [even, odd, public] = &data.pairs;
    let halves: [&'static Related; 2] = [even, odd].map(|half| {
        let related: &'static Related = Box::leak(Box::new(relate::learn(half.iter().chain(public))));
        related
    });
    let unfamiliar = || unfamiliar.as_ref().expect("TOOLYARD_UNFAMILIAR is the file of an encoder");
    let mut weights = Weights::builtin().clone();
    match (&encoding, &shipped) {
        (None, _) => weights.words = fit(&data, &halves, None, Look::Once),
        (Some(encoding), None) => {
            let encodings = Some((encoding, unfamiliar()));
            weights.sense = fit(&data, &halves, encodings, Look::Once);
            // Which tools are read, the weights for meaning say.
            let first = Weights { read: weights.sense.clone(), ..weights.clone() };
            weights.read = fit(&data, &halves, encodings, Look::Twice(&first));
        }
        (Some(encoding), Some(shipped)) => {
            let strangers = strangers(&data, unfamiliar());
            let both = |look: Look, weights: &Weights| {
                let mut all = answers(&data, &halves, (Some(encoding), JUDGING_HUBS), (weights, look));
                all.extend(answers(&data, &halves, (Some(shipped), KNOWN_HUBS), (weights, look)));
                all.extend(strangers.iter().flat_map(|hub| hub.answers(weights, look)));
                // What an encoder was trained on is near whatever is asked, so that nothing seems not to fit.
                let judgements = judged(&all);
                *judgements.iter().find(|(name, _)| *name == "right").expect("it is fitted")
            };
            let right = both(Look::Once, &weights);
            weights.sense = weights.sense.judging(&[right]);
            let right = both(Look::Twice(&weights), &weights);
            weights.read = weights.read.judging(&[right]);
        }
    }
    if encoding.is_none() {
        let all = relate::learn(even.iter().chain(odd).chain(public));
        write("related.tsv", all.text());
    }
    let text = serde_json::to_string_pretty(&weights).expect("weights are plain numbers");
    write("weights.json", &(text + "\n"));
}

fn write(name: &str, text: &str) {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/data")).join(name);
    std::fs::write(&path, text).expect("the sources can be written");
    println!("{} written", path.display());
}

/// Fits the weights of one look; the second encoder knows no public set.
fn fit(
    data: &data::Data,
    halves: &[&'static Related; 2],
    encodings: Option<(&Encoding, &Encoding)>,
    look: Look,
) -> Table {
    let (encoding, unfamiliar) = encodings.unzip();
    let drawn = hubs(data, halves, encoding, 0..RANKING_HUBS);
    let mut choices: Vec<Choice> = drawn.iter().flat_map(|hub| hub.choices(look)).collect();
    let mut sets: Vec<(String, Vec<Choice>)> = Vec::new();
    for set in &data.sets {
        let hub = SetHub::draw((set, &set.aside), halves[0], encoding);
        sets.push((set.name.clone(), hub.choices(look)));
    }
    for hub in unfamiliar.map(|it| strangers(data, it)).into_iter().flatten() {
        sets.push((format!("{}, unfamiliar", hub.name()), hub.choices(look)));
    }
    [encoding, unfamiliar].into_iter().flatten().for_each(Encoding::remember);
    let whole = choices.len();
    // Words are what the requests of public sets are made of; an encoder must serve people before them.
    let times = if encoding.is_none() { PUBLIC_TIMES_IN_WORDS } else { 1 };
    for _ in 0..times {
        choices.extend(sets.iter().flat_map(|(_, choices)| choices.iter().cloned()));
    }
    if encoding.is_none() {
        for signals in choices.iter_mut().flat_map(|choice| &mut choice.signals) {
            AMONG_ALIKE.iter().for_each(|signal| signals[*signal as usize] = 0.0);
        }
    }
    let (learnt, held_out) = learn::split(&choices);
    println!(
        "{} choices to learn from, {} of them in drawn hubs; {} held out",
        learnt.len(),
        whole,
        held_out.len()
    );
    let weights = learn::rank(&learnt);
    for (name, set) in [("learnt", &learnt), ("held out", &held_out)] {
        learn::report(name, set, &weights);
    }
    for (name, choices) in &sets {
        learn::report(name, &choices.iter().collect::<Vec<_>>(), &weights);
    }
    for signal in Signal::ALL {
        println!(
            "{:>20} {:?}",
            signal.name(),
            weights[signal as usize].map(|it| (it * 100.0).round() / 100.0)
        );
    }

    let table = Table::new(&weights, &[]);
    let ranking = match look {
        Look::Once => Weights { words: table.clone(), sense: table.clone(), read: table },
        Look::Twice(first) => Weights { read: table, ..first.clone() },
    };
    Table::new(&weights, &judged(&answers(data, halves, (encoding, JUDGING_HUBS), (&ranking, look))))
}

/// The public sets to an encoder that knows none of them, with words that are related by other texts.
fn strangers<'a>(data: &'a data::Data, unfamiliar: &'a Encoding) -> Vec<SetHub<'a>> {
    let [even, odd, _] = &data.pairs;
    let related: &'static Related = Box::leak(Box::new(relate::learn(even.iter().chain(odd))));
    data.sets.iter().map(|set| SetHub::draw((set, &set.learnt), related, Some(unfamiliar))).collect()
}

fn judged(answers: &[Answer]) -> Vec<(&'static str, Traits)> {
    let judgements = learn::judge(answers);
    learn::report_judgements(answers, &judgements);
    judgements
}

/// What is decided in hubs that nothing was ranked in.
///
/// The requests of public sets say more than people do: a confidence fitted on them would be too high.
fn answers(
    data: &data::Data,
    halves: &[&'static Related; 2],
    (encoding, count): (Option<&Encoding>, u64),
    (ranking, look): (&Weights, Look),
) -> Vec<Answer> {
    let hubs = hubs(data, halves, encoding, RANKING_HUBS..RANKING_HUBS + count);
    let answers = hubs.iter().flat_map(|hub| hub.answers(ranking, look)).collect();
    if let Some(encoding) = encoding {
        encoding.remember();
    }
    answers
}

/// Draws hubs on both cores.
fn hubs<'a>(
    data: &'a data::Data,
    related: &[&'static Related; 2],
    encoding: Option<&'a Encoding>,
    seeds: std::ops::Range<u64>,
) -> Vec<Hub<'a>> {
    let seeds: Vec<u64> = seeds.collect();
    std::thread::scope(|scope| {
        let halves = seeds.chunks(seeds.len().div_ceil(2).max(1));
        let drawing: Vec<_> = halves
            .map(|half| {
                scope.spawn(move || {
                    half.iter().map(|seed| Hub::draw(data, *seed, related, encoding)).collect::<Vec<_>>()
                })
            })
            .collect();
        drawing.into_iter().flat_map(|half| half.join().expect("no draw panics")).collect()
    })
}
