//! What is named as a file and is none.

use std::path::{Path, PathBuf};

use super::{Mistake, env, folders};
use crate::config::{load, parse};

/// Makes a pipe into which nobody writes.
fn pipe(folder: &Path) -> PathBuf {
    let path = folder.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

fn said(mistakes: Result<impl Sized, Vec<Mistake>>) -> String {
    let Err(mistakes) = mistakes else { panic!("it has no mistake") };
    mistakes.iter().map(|it| it.message.clone()).collect::<Vec<_>>().join("\n")
}

#[test]
fn t27_settings_and_env_files_that_are_pipes_or_devices_are_named_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = pipe(folder.path());
    assert_eq!(said(load(&pipe, &env, &folders())), "cannot be read: it is a pipe, not a file");
    let with = |key: &str, path: &Path| {
        let server = match key {
            "envFile" => serde_json::json!({ "command": "x", "envFile": path }),
            _ => serde_json::json!({ "builtin": "entities", "entities": path }),
        };
        let text = serde_json::json!({ "mcpServers": { "s": server } }).to_string();
        said(parse(&text, &folder.path().join("toolyard.json"), &env, &folders()))
    };
    for key in ["envFile", "entities"] {
        let begin = format!("`{key}` of server `s` cannot be read: ");
        assert_eq!(with(key, &pipe), format!("{begin}it is a pipe, not a file"));
        assert_eq!(with(key, Path::new("/dev/zero")), format!("{begin}it is a device, not a file"));
        assert_eq!(with(key, folder.path()), format!("{begin}it is a folder"));
        let large = folder.path().join("large");
        std::fs::File::create(&large).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(with(key, &large), format!("{begin}it has more than 4194304 bytes"));
    }
}
