//! Calls of any tool with any arguments: the judgement of what they do, and whether they can be read in two ways.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use toolyard_core::hazard::{ambiguous, rounded};
use toolyard_core::tool::Effect;
use toolyard_fuzz::{judged, text, tool};

fuzz_target!(|data: &[u8]| {
    let Some(call) = text(data) else { return };
    let (is_ambiguous, is_rounded) = (ambiguous(call).is_some(), rounded(call).is_some());
    let Ok(read) = serde_json::from_str::<Value>(call) else { return };
    if !is_ambiguous && !is_rounded {
        let written = read.to_string();
        assert_eq!(ambiguous(&written), None, "what can be read in one way stays so: {written}");
        assert_eq!(rounded(&written), None, "{written}");
    }
    let (Some(server), Some(name), arguments) =
        (read["server"].as_str(), read["name"].as_str(), &read["arguments"])
    else {
        return;
    };
    // Names that no catalog takes are looked at elsewhere.
    let is_plain = |name: &str| {
        (1..60).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let Some(given) = arguments.as_object().filter(|_| is_plain(server) && is_plain(name)) else { return };
    let properties: serde_json::Map<String, Value> =
        given.keys().map(|key| (key.clone(), json!({}))).collect();
    if properties.keys().any(|key| toolyard_core::tool::clean(key) != *key || key.is_empty()) {
        return;
    }
    let mut definition = json!({"name": name, "inputSchema": {"type": "object", "properties": properties}});
    if read["annotations"].is_object() {
        definition["annotations"] = read["annotations"].clone();
    }
    let tool = tool(server, &definition);
    let hazard = judged(&tool, arguments);
    // A word more that destroys makes no call less.
    let mut worse = given.clone();
    worse.insert("command".to_owned(), "rm -rf x".into());
    if hazard.effect != Effect::Read {
        assert_ne!(judged(&tool, &Value::Object(worse)).effect, Effect::Read, "{call}");
    }
});
