//! What fuzz targets must have: a place in the manifest, seeds that are small, and a word in the documents.

use std::fs;

use crate::{Findings, clean, tree};

/// Bytes of all seeds together; what a run adds stays out of the repository.
const MOST_SEEDS: u64 = 300_000;

/// One target, and how many seeds it has.
struct Target {
    name: String,
    seeds: usize,
}

/// Targets without seeds, that cargo-fuzz does not build, or that nobody is told of.
fn incomplete(targets: &[Target], manifest: &str, documents: &str) -> Findings {
    let mut found = Vec::new();
    for Target { name, seeds } in targets {
        if *seeds == 0 {
            found.push(format!("fuzz/corpus/{name} has no seed"));
        }
        if !manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")) {
            found.push(format!("fuzz/Cargo.toml does not name `{name}`"));
        }
        if !documents.contains(&format!("`{name}`")) {
            found.push(format!("CONTRIBUTING.md does not name `{name}`"));
        }
    }
    found
}

/// Returns the sizes of the files of a folder; none where there is no folder.
fn sizes(folder: &str) -> Vec<u64> {
    let files = fs::read_dir(tree::root().join(folder)).into_iter().flatten().flatten();
    files.filter_map(|file| Some(file.metadata().ok()?.len())).collect()
}

#[test]
fn t27_every_fuzz_target_has_seeds_and_is_told_of() {
    let read = |path: &str| fs::read_to_string(tree::root().join(path)).expect("the file is there");
    let is_target =
        |path: &str| Some(path.strip_prefix("fuzz/fuzz_targets/")?.strip_suffix(".rs")?.to_owned());
    let names = tree::rust().into_iter().filter_map(|file| is_target(&file.path));
    let targets: Vec<Target> =
        names.map(|name| Target { seeds: sizes(&format!("fuzz/corpus/{name}")).len(), name }).collect();
    assert!(targets.len() > 10);
    clean(
        &incomplete(&targets, &read("fuzz/Cargo.toml"), &read("CONTRIBUTING.md")),
        "CONTRIBUTING.md says what a fuzz target needs.",
    );
    let bytes: u64 = targets.iter().flat_map(|it| sizes(&format!("fuzz/corpus/{}", it.name))).sum();
    assert!(bytes < MOST_SEEDS, "the seeds have {bytes} bytes; keep the small ones");
}

#[test]
fn an_incomplete_target_is_found() {
    let target = |name: &str, seeds| Target { name: name.to_owned(), seeds };
    let manifest = "path = \"fuzz_targets/good.rs\"";
    let found = incomplete(&[target("good", 1), target("bad", 0)], manifest, "`good`");
    assert_eq!(found.len(), 3, "{found:?}");
}
