//! Puts the encoder and the vectors of the metadata library into the program where they come with the sources.
//!
//! A build for debugging only learns where they lie: they are large, and every test would carry them.

use std::path::Path;

fn main() {
    let models = Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../models");
    println!("cargo::rerun-if-changed={}", models.display());
    let mut source = String::new();
    for (name, file) in
        [("ENCODER", "encoder.tyenc"), ("READER", "reader.tyenc"), ("LIBRARY", "library.vectors")]
    {
        let path = models.join(file);
        println!("cargo::rerun-if-changed={}", path.display());
        let [inside, beside] = match std::fs::canonicalize(&path) {
            Ok(path) => [
                format!("Source::Inside(&super::Aligned(*include_bytes!({path:?})))"),
                format!("Source::Beside({path:?})"),
            ],
            Err(_) => ["Source::Nowhere".to_owned(), "Source::Nowhere".to_owned()],
        };
        source += &format!(
            "#[cfg(not(debug_assertions))]\npub(super) static {name}: Source = {inside};\n\
             #[cfg(debug_assertions)]\npub(super) static {name}: Source = {beside};\n"
        );
    }
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join("models.rs"), source).expect("cargo made the folder");
}
