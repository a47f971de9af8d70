//! The settings file as a serving hub watches it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often the file is looked at.
const GLANCE: Duration = Duration::from_millis(250);
/// A file up to this size is read at every glance, which costs less than missing a change.
const SMALL: u64 = 1024 * 1024;

/// What tells one state of a file from another.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mark {
    Missing,
    Read { path: PathBuf, hash: u64 },
    Large { path: PathBuf, inode: u64, bytes: u64, modified: (i64, i64) },
}

/// Watches one file.
#[derive(Debug)]
pub(crate) struct Watch {
    seen: Mark,
}

impl Watch {
    /// Begins with the file as it is.
    pub(crate) fn new(path: Option<&Path>) -> Self {
        Self { seen: mark(path) }
    }

    /// Waits until the file has changed and is at rest. `find` says where it is by now.
    ///
    /// A file that is gone is no change: editors remove a file for a moment to replace it.
    pub(crate) async fn changed(&mut self, find: impl Fn() -> Option<PathBuf>) {
        let mut before = self.seen.clone();
        loop {
            tokio::time::sleep(GLANCE).await;
            let now = mark(find().as_deref());
            // A file that is being written looks different at every glance.
            if now != self.seen && now == before && now != Mark::Missing {
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
