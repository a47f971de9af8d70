//! A folder of notes to try things on.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use serde_json::Value;
use tempfile::TempDir;
use toolyard_packs::{Kind, Pack};

pub(crate) const GARDEN: &str =
    "---\ntags: [home]\n---\n# Garden\n\n## This week\n\n- #todo call the plumber\n- water the tomatoes\n";

/// A pack over a small folder of notes whose times are known.
pub(crate) struct Yard {
    pub(crate) folder: TempDir,
    pub(crate) pack: Pack,
}

impl Yard {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let pack = Pack::open(&Kind::Notes { folder: folder.path().to_owned() }).unwrap();
        let yard = Self { folder, pack };
        let notes = [
            ("Home/garden.md", GARDEN),
            ("Home/sweets.md", "# Crème brûlée\n\nNo plan needed. 東京で食べた。\n"),
            (
                "Work/Plan.md",
                "---\ntitle: The big plan\ntags:\n  - work/2026\n---\n## Step\n\none #todo\n\n## Step\n\ntwo\n",
            ),
            ("Thoughts.md", "# On thinking\n\nAI is in the air. \"Planning\" is half of it.\n"),
        ];
        for (age, (path, text)) in (0_u64..).zip(notes) {
            yard.write(path, text);
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_772_000_000 - age * 86_400);
            fs::File::options().write(true).open(yard.path(path)).unwrap().set_modified(time).unwrap();
        }
        yard
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), text).unwrap();
    }

    pub(crate) fn file(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Value {
        self.pack.call(tool, arguments.as_object().unwrap()).unwrap()
    }

    pub(crate) fn whole(&self, tool: &str, arguments: &Value) -> String {
        serde_json::to_string_pretty(&self.call(tool, arguments)).unwrap()
    }

    pub(crate) fn texts(&self, tool: &str, calls: &[Value]) -> String {
        let texts = calls.iter().map(|arguments| {
            let result = self.call(tool, arguments);
            let mark = if result["isError"] == true { "ERROR " } else { "" };
            let asked: String = arguments.to_string().chars().take(90).collect();
            format!("{asked}\n-> {mark}{}", result["content"][0]["text"].as_str().unwrap())
        });
        texts.collect::<Vec<_>>().join("\n\n")
    }
}
