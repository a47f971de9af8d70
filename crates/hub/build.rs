//! Puts the encoder and the vectors of the metadata library into the program where they come with the sources.

use std::path::Path;

fn main() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    println!("cargo::rerun-if-changed={}", models.display());
    let mut source = String::new();
    for (name, file) in [("ENCODER", "encoder.tyenc"), ("LIBRARY", "library.vectors")] {
        let path = models.join(file);
        println!("cargo::rerun-if-changed={}", path.display());
        let value = match std::fs::canonicalize(&path) {
            Ok(path) => format!("Some(&Aligned(*include_bytes!({path:?})))"),
            Err(_) => "None".to_owned(),
        };
        source += &format!("pub(super) static {name}: Option<&Aligned<[u8]>> = {value};\n");
    }
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join("models.rs"), source).expect("cargo made the folder");
}
