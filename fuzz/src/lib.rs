//! What several fuzz targets need.

mod places;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolyard_core::arguments::{Now, Sources};
use toolyard_core::catalog::{Advertised, Bounds, Catalog};
use toolyard_core::hazard::{Hazard, assess};
use toolyard_core::tool::{Effect, Tool};

pub use places::check_places;

/// What is taken of a server's listing.
pub const LISTING: Bounds = Bounds { tools: 50, name_chars: 128, description_chars: 2000, nesting: 64 };

/// Returns the text of an input; `None` where it is none.
pub fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// Returns the two texts of an input, which a line of equal signs parts.
pub fn halves(data: &[u8]) -> Option<(&str, &str)> {
    text(data)?.split_once("\n====\n")
}

/// Returns a tool by its definition.
pub fn tool(server: &str, definition: &Value) -> Tool {
    let definition = RawValue::from_string(definition.to_string()).expect("it is JSON");
    let (catalog, problems) =
        Catalog::gather([(Advertised { server: server.into(), tools: vec![definition] }, LISTING)]);
    catalog.tools().first().unwrap_or_else(|| panic!("{problems:?}")).clone()
}

/// Returns a tool that does what its one argument says.
pub fn runner(server: &str, name: &str, argument: &str) -> Tool {
    let schema =
        json!({"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]});
    tool(server, &json!({"name": name, "inputSchema": schema}))
}

/// Judges a call, and checks what holds for every judgement.
pub fn judged(tool: &Tool, arguments: &Value) -> Hazard {
    let hazard = assess(tool, tool.effect, arguments);
    let sent: Value = serde_json::from_str(&arguments.to_string()).expect("a value is JSON");
    assert_eq!(assess(tool, tool.effect, &sent), hazard, "the same call, sent: {arguments}");
    assert!(hazard.sign.is_none() || hazard.effect == Effect::Destroy, "{hazard:?}");
    assert!(hazard.proof.is_none() || hazard.effect != Effect::Destroy, "{hazard:?}");
    hazard
}

/// Returns sources with nothing but words.
pub fn words<'a>(task: &'a str, given: &'a Map<String, Value>) -> Sources<'a> {
    let at = "2026-03-04T05:06:07".parse().expect("it is a time");
    Sources { task, given, named: None, reading: None, earlier: &[], now: Now { at, offset: 3600 } }
}
