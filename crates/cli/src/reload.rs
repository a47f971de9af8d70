//! The settings file, and files about tools and workflows beside it, as a serving hub watches them.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toolyard_hub::config::Config;

/// How often the file is looked at.
const GLANCE: Duration = Duration::from_millis(250);
/// A file up to this size is read at every glance, which costs less than missing a change.
const SMALL: u64 = 1024 * 1024;

/// Endings of files beside the settings, in folders.
const READ: [&str; 3] = ["json", "yaml", "yml"];
/// Files of one folder that are looked at.
const MOST_FILES: usize = 1000;

/// What tells one state of a file from another.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mark {
    Missing,
    Read { path: PathBuf, hash: u64 },
    Large { path: PathBuf, inode: u64, bytes: u64, modified: (i64, i64) },
}

/// The state of everything that is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    settings: Mark,
    beside: u64,
}

impl Look {
    /// Looks at the settings file, and at files and folders about tools and with workflows.
    pub(crate) fn at(settings: Option<&Path>, config: &Config) -> Self {
        // The folder of what a model wrote comes into being with its first file.
        let beside = config.metadata.iter().chain(&config.enrich.folder).chain(&config.workflows);
        Self { settings: mark(settings), beside: stamp(&beside.collect()) }
    }
}

/// Watches files.
#[derive(Debug)]
pub(crate) struct Watch {
    seen: Look,
}

impl Watch {
    /// Begins with the files as they are.
    pub(crate) fn new(seen: Look) -> Self {
        Self { seen }
    }

    /// Waits until something has changed and is at rest.
    ///
    /// A settings file that is gone is no change: editors remove a file for a moment to replace it.
    pub(crate) async fn changed(&mut self, look: impl Fn() -> Look) {
        let mut before = self.seen.clone();
        loop {
            tokio::time::sleep(GLANCE).await;
            let now = look();
            let is_gone = now.settings == Mark::Missing && self.seen.settings != Mark::Missing;
            // A file that is being written looks different at every glance.
            if now != self.seen && now == before && !is_gone {
                self.seen = now;
                return;
            }
            before = now;
        }
    }
}

fn mark(path: Option<&Path>) -> Mark {
    let Some((path, about)) = path.and_then(|path| Some((path, std::fs::metadata(path).ok()?))) else {
        return Mark::Missing;
    };
    let path = path.to_owned();
    if about.len() > SMALL {
        let modified = (about.mtime(), about.mtime_nsec());
        return Mark::Large { path, inode: about.ino(), bytes: about.len(), modified };
    }
    match toolyard_hub::config::read_bytes(&path) {
        Ok(bytes) => {
            let mut hasher = DefaultHasher::new();
            bytes.hash(&mut hasher);
            Mark::Read { path, hash: hasher.finish() }
        }
        Err(_) => Mark::Missing,
    }
}

/// Returns a number that changes with the files, as far as their names, sizes and times tell.
fn stamp(paths: &BTreeSet<&PathBuf>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for path in paths {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_read =
            |file: &PathBuf| file.extension().is_some_and(|it| READ.iter().any(|extension| it == *extension));
        let mut files: Vec<PathBuf> = entries.filter(is_read).collect();
        files.sort();
        for file in files.into_iter().take(MOST_FILES).chain([PathBuf::clone(path)]) {
            // A folder has other times whenever something is written beside the files.
            if let Some(about) = std::fs::metadata(&file).ok().filter(Metadata::is_file) {
                (file, about.ino(), about.len(), about.mtime(), about.mtime_nsec()).hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::mark;

    #[test]
    fn a_change_of_the_same_length_and_time_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("toolyard.json");
        std::fs::write(&path, "{ }").unwrap();
        let (time, before) = (std::fs::metadata(&path).unwrap().modified().unwrap(), mark(Some(&path)));
        assert_eq!(mark(Some(&path)), before);
        std::fs::write(&path, "{}\n").unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        assert_ne!(mark(Some(&path)), before);
    }

    #[test]
    fn a_large_file_that_was_replaced_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("toolyard.json"), folder.path().join("other"));
        let text = " ".repeat(2 * 1024 * 1024);
        std::fs::write(&path, &text).unwrap();
        std::fs::write(&other, &text).unwrap();
        let time = std::fs::metadata(&path).unwrap().modified().unwrap();
        std::fs::File::options().write(true).open(&other).unwrap().set_modified(time).unwrap();
        let before = mark(Some(&path));
        assert_eq!(mark(Some(&path)), before);
        std::fs::rename(&other, &path).unwrap();
        assert_ne!(mark(Some(&path)), before);
    }
}
