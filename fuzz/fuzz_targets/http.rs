//! Bodies of HTTP requests, answered by a whole hub with one built-in server.
#![no_main]

use std::cell::OnceCell;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolyard_hub::config::{self, Folders};
use toolyard_hub::frame::{Bounds, Frame, id_of};
use toolyard_hub::fuzzing::{Door, events};
use toolyard_hub::hub::{Hub, Learning, Options};
use toolyard_hub::jsonrpc::Message;
use toolyard_hub::serve::Reception;

const TYPES: [(&str, &str); 2] =
    [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
const BOUNDS: Bounds = Bounds { bytes: 1 << 24, nesting: 200 };
/// A stream that is listened to does not end.
const PATIENCE: Duration = Duration::from_secs(2);

thread_local! {
    static HOUSE: OnceCell<(Runtime, Door)> = const { OnceCell::new() };
}

fuzz_target!(|data: &[u8]| {
    HOUSE.with(|house| {
        let (runtime, door) = house.get_or_init(open);
        let modern = [TYPES[0], TYPES[1], ("mcp-protocol-version", "2026-07-28")];
        let named = method(data).map(|method| [&modern[..], &[("mcp-method", method)]].concat());
        for headers in [&TYPES[..], &modern, named.as_deref().unwrap_or_default()] {
            let answer = runtime
                .block_on(async { tokio::time::timeout(PATIENCE, door.post(headers, data.to_vec())).await });
            if let Ok((status, body)) = answer {
                check(data, status.as_u16(), &body);
            }
        }
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}).to_string();
        let (status, _) = runtime.block_on(door.post(&TYPES, ping.into_bytes()));
        assert!(status.is_success(), "the hub answers the next request: {status}");
    });
});

/// What the header of a modern request has to repeat.
fn method(data: &[u8]) -> Option<&'static str> {
    let known =
        ["tools/list", "tools/call", "server/discover", "resources/list", "resources/read", "prompts/get"];
    let body: Value = serde_json::from_slice(data).ok()?;
    known.into_iter().find(|it| body["method"] == *it)
}

fn check(data: &[u8], status: u16, body: &[u8]) {
    assert!((200..=599).contains(&status) && status != 500, "{status}");
    let lines: Vec<Vec<u8>> = if body.starts_with(b"{") {
        vec![body.to_vec()]
    } else {
        let frames = events([body], BOUNDS).into_iter();
        frames
            .filter_map(|(_, frame)| if let Frame::Line(line) = frame { Some(line) } else { None })
            .collect()
    };
    for line in lines {
        // An answer to what has no id has none either, and is no message for that reason alone.
        if serde_json::from_slice::<Value>(&line).expect("what is sent is JSON")["id"].is_null() {
            continue;
        }
        if let Message::Response { id, .. } = Message::parse(&line).expect("what is sent is a message") {
            assert_eq!(Some(id), id_of(data), "an answer is to the request");
        }
    }
}

fn open() -> (Runtime, Door) {
    let folder = std::env::temp_dir().join(format!("toolyard-fuzz-{}", std::process::id()));
    let folders = Folders { home: folder.clone(), config: folder.clone(), data: folder.clone() };
    let settings =
        json!({"mcpServers": {"time": {"builtin": "time"}}, "store": {"folder": folder.join("store")}});
    let settings = config::parse(&settings.to_string(), &folder.join("toolyard.json"), &|_| None, &folders);
    let settings = settings.expect("the settings are right");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("threads");
    let door = runtime.block_on(async {
        let hub = Hub::start(settings, Options { watchdog: None, learning: Learning::OnDemand });
        hub.learn(|_| true, |_| ()).await;
        Door::open(Reception::new(hub))
    });
    (runtime, door)
}
