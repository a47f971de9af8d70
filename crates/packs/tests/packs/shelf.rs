//! A pack over a database to try things on.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolyard_packs::{Clock, Entity, Kind, Pack};

use crate::definitions::keeps_to;

/// A pack whose clock stands still, in a folder of its own.
pub(crate) struct Shelf {
    _folder: TempDir,
    pub(crate) pack: Pack,
}

impl Shelf {
    /// Opens an empty desk.
    pub(crate) fn desk() -> Self {
        let folder = TempDir::new().unwrap();
        let pack = desk(folder.path());
        Self { _folder: folder, pack }
    }

    /// Opens an empty server of the collections that are declared.
    pub(crate) fn declared(entities: &Value) -> Self {
        let folder = TempDir::new().unwrap();
        let pack = declared(folder.path(), entities);
        Self { _folder: folder, pack }
    }

    /// Calls a tool, checks the form of its answer and returns it.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Value {
        call(&self.pack, tool, arguments)
    }

    /// Returns the data of an answer that is no error.
    pub(crate) fn data(&self, tool: &str, arguments: &Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool} {arguments}: {}", result["content"][0]["text"]);
        result["structuredContent"].clone()
    }

    /// Returns the text of an answer that is an error.
    pub(crate) fn refusal(&self, tool: &str, arguments: &Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Creates items of which every one must succeed, and returns their slugs.
    pub(crate) fn create(&self, tool: &str, items: &Value) -> Vec<String> {
        let data = self.data(tool, &sent(items));
        assert_eq!(data["failed"], json!([]));
        slugs(&data["created"])
    }

    /// Returns the slugs that a query finds.
    pub(crate) fn found(&self, tool: &str, arguments: &Value) -> Vec<String> {
        slugs(&self.data(tool, arguments)["items"])
    }
}

/// Opens the desk of a folder.
pub(crate) fn desk(folder: &Path) -> Pack {
    Pack::open_with_clock(&Kind::Desk { folder: folder.to_owned() }, clock()).unwrap()
}

/// Opens the server of a folder with the collections that are declared.
pub(crate) fn declared(folder: &Path, entities: &Value) -> Pack {
    let entities = Entity::read_all(entities).unwrap();
    Pack::open_with_clock(&Kind::Entities { folder: folder.to_owned(), entities }, clock()).unwrap()
}

/// A Sunday at noon in Berlin.
pub(crate) fn clock() -> Clock {
    Clock::Fixed("2026-03-01T12:00:00+01:00[Europe/Berlin]".parse().unwrap())
}

/// Calls a tool and checks the form of its answer.
pub(crate) fn call(pack: &Pack, tool: &str, arguments: &Value) -> Value {
    let result = pack.call(tool, arguments.as_object().unwrap()).unwrap();
    let text = result["content"][0]["text"].as_str().unwrap();
    if result["isError"] == false {
        let definition = pack.tools().into_iter().find(|it| it["name"] == tool).unwrap();
        keeps_to(&definition["outputSchema"], &result["structuredContent"]).unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result["structuredContent"]);
    }
    result
}

pub(crate) fn slugs(items: &Value) -> Vec<String> {
    items.as_array().unwrap().iter().map(|item| item["slug"].as_str().unwrap().to_owned()).collect()
}

/// Returns the arguments that create these items in one call.
pub(crate) fn sent(items: &Value) -> Value {
    let (first, more) = items.as_array().and_then(|all| all.split_first()).unwrap();
    let mut arguments = first.clone();
    if !more.is_empty() {
        arguments["more"] = json!(more);
    }
    arguments
}
