//! What a person wrote about tools, in files beside the configuration.
//!
//! A file that cannot be used is skipped and named; it never keeps the hub from working.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toolyard_core::metadata::Sidecar;

use crate::config::read_bytes_within;

/// A larger file is not one of metadata.
const MOST_BYTES: usize = 8 * 1024 * 1024;
/// Files of one folder that are read.
const MOST_FILES: usize = 1000;

/// Reads files, and all `.json` files of folders, in the order of their names. What is wrong is said in
/// sentences that name the file and, where there is one, the line.
pub fn read(paths: &[PathBuf]) -> (Vec<Sidecar>, Vec<String>) {
    let (mut sidecars, mut problems) = (Vec::new(), Vec::new());
    for path in paths {
        for file in files(path, &mut problems) {
            match parse(&file) {
                Ok(sidecar) => {
                    let unsound = sidecar.problems().into_iter();
                    problems.extend(unsound.map(|it| format!("{}: {it}", file.display())));
                    sidecars.push(sidecar);
                }
                Err(why) => problems.push(format!("{}: {why}; the file is not used", file.display())),
            }
        }
    }
    (sidecars, problems)
}

/// Says which files are about servers that are not configured.
pub fn strangers(sidecars: &[Sidecar], servers: &BTreeSet<&str>) -> Vec<String> {
    let unknown = sidecars.iter().filter(|sidecar| !servers.contains(sidecar.server.as_str()));
    unknown
        .map(|sidecar| {
            format!("metadata is about server `{}`, which is not in the configuration", sidecar.server)
        })
        .collect()
}

fn files(path: &Path, problems: &mut Vec<String>) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(err) => {
            problems.push(format!("{}: the folder cannot be read: {err}", path.display()));
            return Vec::new();
        }
    };
    let is_json = |file: &PathBuf| file.extension().is_some_and(|it| it == "json") && file.is_file();
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_json).collect();
    files.sort();
    if files.len() > MOST_FILES {
        problems.push(format!("{}: has more than {MOST_FILES} files; the rest is not used", path.display()));
        files.truncate(MOST_FILES);
    }
    files
}

fn parse(file: &Path) -> Result<Sidecar, String> {
    let bytes = read_bytes_within(file, MOST_BYTES).map_err(|err| format!("cannot be read: {err}"))?;
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())?;
    let text = text.strip_prefix(crate::config::BYTE_ORDER_MARK).unwrap_or(&text);
    Sidecar::parse(text).map_err(|err| err.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2_a_wrong_file_is_named_with_its_line_and_the_others_are_used() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("a.json", "{\n  \"server\": \"a\",\n  \"tulz\": {}\n}");
        write("b.json", "\u{feff}{\"server\": \"b\", \"tools\": {\"t\": {\"keywords\": [\"k\"]}}}");
        write("c.txt", "not looked at");
        let missing = folder.path().join("missing.json");
        let (sidecars, problems) = read(&[folder.path().to_owned(), missing]);
        assert_eq!(sidecars.iter().map(|it| it.server.as_str()).collect::<Vec<_>>(), ["b"]);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].contains("a.json: unknown field `tulz`") && problems[0].contains("line 3"));
        assert!(problems[1].contains("missing.json: cannot be read"));
        let known = BTreeSet::from(["a"]);
        assert_eq!(strangers(&sidecars, &known).len(), 1);
    }

    #[test]
    fn t27_pipes_and_devices_in_the_place_of_metadata_are_named_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (_, problems) = read(&[pipe, PathBuf::from("/dev/zero")]);
        assert!(problems[0].contains("it is a pipe, not a file"), "{problems:?}");
        assert!(problems[1].contains("it is a device, not a file"), "{problems:?}");
    }
}
