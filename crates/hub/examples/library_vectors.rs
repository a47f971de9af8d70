//! Computes the vectors that come with the program: of every phrasing in the metadata library, and of the
//! tools of the built-in servers.
//!
//! Run it whenever `models/encoder.tyenc` or `library` changes, with
//! `cargo run --release -p toolyard-hub --example library_vectors -- models/library.vectors`.

#![expect(clippy::print_stdout, reason = "what it prints is its purpose")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::value::to_raw_value;
use toolyard_core::catalog::{Advertised, Bounds, Catalog};
use toolyard_core::index::tool_text;
use toolyard_core::metadata::Library;
use toolyard_hub::meaning::{Effort, Embedder, TextKey, compute, library_file};
use toolyard_packs::{Kind, Pack};

fn main() {
    let target = std::env::args().nth(1).expect("the file to write is the first argument");
    let embedder = Embedder::builtin().expect("models/encoder.tyenc is there");
    let mut texts = BTreeMap::new();
    for sidecar in Library::builtin().sidecars() {
        let phrases = sidecar.tools.values().flat_map(|note| note.examples.iter().chain(&note.use_cases));
        texts.extend(phrases.map(|text| (TextKey::of(text), text.clone())));
    }
    texts.extend(builtin_tools().into_iter().map(|text| (TextKey::of(&text), text)));
    let (keys, texts): (Vec<TextKey>, Vec<String>) = texts.into_iter().unzip();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut vectors = Vec::new();
    let mut take = |made: Vec<_>| vectors.extend(made.into_iter().map(|(at, vector)| (keys[at], vector)));
    compute(&embedder, &texts, Effort::Full, &|| true, &mut take).expect("the encoder inside does not fail");
    let file = library_file(embedder.key(), embedder.dims(), &vectors);
    std::fs::write(&target, &file).expect("the file can be written");
    println!("{}: {} vectors of {}, {} bytes", target, vectors.len(), embedder.key(), file.len());
}

/// The texts of the built-in servers' tools, under the names that those servers have by default.
fn builtin_tools() -> Vec<String> {
    let folder = std::env::temp_dir().join(format!("toolyard-vectors-{}", std::process::id()));
    let texts = [("time", Kind::Time), ("notes", Kind::Notes { folder: folder.clone() })]
        .iter()
        .flat_map(|(server, kind)| of_pack(server, kind))
        .collect();
    let _ = std::fs::remove_dir_all(Path::new(&folder));
    texts
}

fn of_pack(server: &str, kind: &Kind) -> Vec<String> {
    let bounds = Bounds { tools: 100, name_chars: 128, description_chars: 16_384, nesting: 127 };
    let definitions = Pack::open(kind).expect("it needs nothing").tools();
    let tools = definitions.iter().map(|it| to_raw_value(it).expect("a JSON value has a text")).collect();
    let (catalog, _) = Catalog::gather([(Advertised { server: Arc::from(server), tools }, bounds)]);
    catalog.tools().iter().map(tool_text).collect()
}
