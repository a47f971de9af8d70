//! The files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold what was built, installed, recorded or found by chance, not what was written.
const NOT_OURS: [&str; 8] =
    ["target", ".servers", ".git", "node_modules", "proptest-regressions", "corpus", "grown", "artifacts"];

/// A text file.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository is there")
}

/// Returns every text file of the repository.
pub(crate) fn all() -> Vec<File> {
    let root = root();
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder that was listed can be read").flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if path.is_dir() {
                if !NOT_OURS.contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if name != ".git"
                && let Ok(text) = fs::read_to_string(&path)
            {
                let relative = path.strip_prefix(&root).expect("it was found below the root");
                files.push(File { path: relative.to_string_lossy().replace('\\', "/"), text });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// Returns every Rust file.
pub(crate) fn rust() -> Vec<File> {
    all().into_iter().filter(|file| file.path.ends_with(".rs")).collect()
}

/// Returns the Markdown that people read: at the root and in `docs`.
pub(crate) fn documents() -> Vec<File> {
    let is_document =
        |path: &str| path.ends_with(".md") && (!path.contains('/') || path.starts_with("docs/"));
    all().into_iter().filter(|file| is_document(&file.path)).collect()
}

#[test]
fn the_repository_is_found() {
    let paths: Vec<String> = all().into_iter().map(|file| file.path).collect();
    for expected in ["Cargo.toml", ".config/nextest.toml", "crates/core/src/lib.rs", "scripts/servers"] {
        assert!(paths.iter().any(|path| path == expected), "{expected} is missing from {paths:?}");
    }
}
