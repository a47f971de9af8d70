//! Puts the files of the metadata library into the program, so that adding a file is all it takes.

#![expect(
    clippy::disallowed_methods,
    reason = "it runs before the crate is there; the crate itself does no I/O"
)]

use std::fmt::Write;
use std::path::Path;

fn main() {
    embed("../../library", "library.rs");
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
