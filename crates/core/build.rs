//! Puts the files of the metadata library into the program, so that adding a file is all it takes, and makes a table of
//! the weights of arguments, so that nobody has to read 200,000 lines before the first request.

#![expect(
    clippy::disallowed_methods,
    reason = "it runs before the crate is there; the crate itself does no I/O"
)]

#[expect(dead_code, reason = "it looks nothing up")]
#[path = "src/arguments/weights/table.rs"]
mod table;

use std::fmt::Write;
use std::path::Path;

fn main() {
    embed("../../library", "library.rs");
    tabulate("data/arguments.tsv", "arguments.table");
    tabulate("data/values.tsv", "values.table");
}

/// Writes a list of the name and text of every file in a folder.
fn embed(folder: &str, list: &str) {
    let folder = Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join(folder);
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = std::fs::read_dir(&folder).expect("the folder comes with the sources");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let mut source = String::from("pub(super) static FILES: &[(&str, &str)] = &[\n");
    for path in paths {
        let name = path.file_stem().expect("it has an extension").to_string_lossy();
        let path = std::fs::canonicalize(&path).expect("it was just listed");
        writeln!(source, "    ({name:?}, include_str!({path:?})),").expect("a string takes everything");
    }
    source.push_str("];\n");
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join(list), source).expect("cargo made the folder");
}

/// Writes the table of a file of weights.
fn tabulate(lines: &str, table: &str) {
    println!("cargo::rerun-if-changed={lines}");
    println!("cargo::rerun-if-changed=src/arguments/weights/table.rs");
    let lines = std::fs::read_to_string(lines).expect("the weights come with the sources");
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join(table), table::table(&lines)).expect("cargo made the folder");
}
