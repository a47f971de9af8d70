//! A home pack to try things on.

use std::ffi::OsStr;

use serde_json::Value;
use tempfile::TempDir;
use toolyard_packs::{Clock, Kind, Network, Pack};

/// A home pack over a folder of its own, at a moment that never passes.
pub(crate) struct House {
    pub(crate) folder: TempDir,
    pub(crate) pack: Pack,
}

impl House {
    /// A simulated house on a computer without sound.
    pub(crate) fn new() -> Self {
        Self::with(&Network::Simulated, OsStr::new(""))
    }

    /// A house in this network, with programs from this search path.
    pub(crate) fn with(network: &Network, path: &OsStr) -> Self {
        let folder = TempDir::new().unwrap();
        let pack = open(&folder, network, path);
        Self { folder, pack }
    }

    /// Opens the same folder once more, as a restart does.
    pub(crate) fn reopened(self) -> Self {
        let pack = open(&self.folder, &Network::Simulated, OsStr::new(""));
        Self { folder: self.folder, pack }
    }

    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Value {
        self.pack.call(tool, arguments.as_object().unwrap()).unwrap()
    }

    /// The facts of an answer that is no error.
    pub(crate) fn facts(&self, tool: &str, arguments: &Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
        result["structuredContent"].clone()
    }

    /// The words of an answer, marked when it is an error.
    pub(crate) fn text(&self, tool: &str, arguments: &Value) -> String {
        let result = self.call(tool, arguments);
        let mark = if result["isError"] == true { "ERROR " } else { "" };
        format!("{mark}{}", result["content"][0]["text"].as_str().unwrap())
    }

    pub(crate) fn texts(&self, tool: &str, calls: &[Value]) -> String {
        let texts = calls.iter().map(|arguments| format!("{arguments}\n-> {}", self.text(tool, arguments)));
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// The state of a device in a few words.
    pub(crate) fn state(&self, device: &str) -> String {
        let facts = self.facts("get_device", &serde_json::json!({ "device": device }));
        facts["state"].as_str().unwrap().to_owned()
    }
}

fn open(folder: &TempDir, network: &Network, path: &OsStr) -> Pack {
    let at = "2026-03-01T12:00:00+01:00[Europe/Berlin]".parse().unwrap();
    let kind = Kind::Home { folder: folder.path().join("home"), network: network.clone() };
    Pack::open_with_path(&kind, Clock::Fixed(at), path).unwrap()
}
