//! Bytes that no client would send. The hub runs inside the test, so that a panic shows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::time::timeout;
use toolyard_hub::config::{self, Folders};
use toolyard_hub::hub::{Hub, Learning, Options};
use toolyard_hub::serve::{Reception, http, stdio};

use crate::raw::{self, JSON, ask, initialize, modern};

const PATIENCE: Duration = Duration::from_secs(20);
static PANICS: AtomicUsize = AtomicUsize::new(0);
/// The name of the threads on which a panic counts: those of the hub, not of tests beside it.
const HOUSE: &str = "house";

#[test]
fn no_line_stops_the_hub_from_answering_the_next() {
    let house = House::open();
    let lines = prop_oneof![vec(any::<u8>(), 0..300), mutated(), twisted()];
    runner(400).run(&vec(lines, 1..4), |lines| house.over_stdio(&lines)).unwrap();
}

#[test]
fn no_body_or_header_stops_the_hub_from_answering_the_next() {
    let house = House::open();
    let url = house.listen();
    let bodies = prop_oneof![vec(any::<u8>(), 0..300), mutated(), twisted()];
    runner(250).run(&(bodies, headers()), |(body, headers)| house.over_http(&url, &body, &headers)).unwrap();
}

#[test]
fn no_bytes_on_a_connection_stop_the_hub_from_answering_the_next() {
    let house = House::open();
    let url = house.listen();
    let whole = raw::request(&url, "POST", &JSON, initialize(json!({})).to_string().as_bytes());
    let bytes = prop_oneof![vec(any::<u8>(), 0..400), mutations(Just(whole))];
    runner(250).run(&bytes, |bytes| house.connection(&url, &bytes)).unwrap();
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

/// A hub with the built-in servers and nothing else.
struct House {
    runtime: Runtime,
    reception: Arc<Reception>,
    _folder: TempDir,
}

impl House {
    fn open() -> Self {
        let default = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().name() == Some(HOUSE) {
                PANICS.fetch_add(1, Ordering::SeqCst);
            }
            default(info);
        }));
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_owned();
        let settings = config::default(&Folders { config: home.clone(), data: home.clone(), home });
        let runtime = Builder::new_multi_thread().enable_all().thread_name(HOUSE).build().unwrap();
        let reception = runtime.block_on(async {
            let hub = Hub::start(settings, Options { watchdog: None, learning: Learning::OnDemand });
            hub.learn(|_| true, |_| ()).await;
            Reception::new(hub)
        });
        Self { runtime, reception, _folder: folder }
    }

    fn listen(&self) -> String {
        let listener = self.runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (forever, closing) = watch::channel(false);
        let serving = http::serve(Arc::clone(&self.reception), listener, closing, http::Pages::default());
        self.runtime.spawn(async move {
            let _forever = forever;
            serving.await
        });
        url
    }

    fn over_stdio(&self, lines: &[Vec<u8>]) -> Result<(), TestCaseError> {
        let answered = self.runtime.block_on(async {
            let (ours, theirs) = tokio::io::duplex(1 << 20);
            let (read, write) = tokio::io::split(theirs);
            let serving = tokio::spawn(stdio::serve_streams(Arc::clone(&self.reception), read, write));
            let (read, mut write) = tokio::io::split(ours);
            for line in lines {
                write.write_all(line).await.unwrap();
                write.write_all(b"\n").await.unwrap();
            }
            let probe = json!({"jsonrpc": "2.0", "id": "probe", "method": "ping"});
            write.write_all(format!("{probe}\n").as_bytes()).await.unwrap();
            let mut answers = BufReader::new(read).lines();
            let answered = timeout(PATIENCE, async {
                loop {
                    let line = answers.next_line().await.ok()??;
                    let answer: Value = serde_json::from_str(&line).ok()?;
                    if answer["id"] == "probe" {
                        return Some(answer);
                    }
                }
            });
            let answered = answered.await;
            serving.abort();
            answered
        });
        let expected = json!({"jsonrpc": "2.0", "id": "probe", "result": {}});
        prop_assert_eq!(answered.ok().flatten(), Some(expected));
        calm()
    }

    fn over_http(&self, url: &str, body: &[u8], headers: &[(String, String)]) -> Result<(), TestCaseError> {
        let given: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.connection(url, &raw::request(url, "POST", &given, body))
    }

    /// Sends bytes on one connection, then a good request on another.
    fn connection(&self, url: &str, bytes: &[u8]) -> Result<(), TestCaseError> {
        let (first, probe) = self.runtime.block_on(async {
            let mut stream = raw::connect(url).await;
            // The hub may have closed it already.
            let _ = stream.write_all(bytes).await;
            let _ = stream.shutdown().await;
            let mut first = [0; 12];
            let answered = timeout(PATIENCE, stream.read_exact(&mut first)).await;
            drop(stream);
            let probe = timeout(PATIENCE, raw::post(url, &[], &initialize(json!({})))).await;
            (answered.map(|read| read.map(|_| String::from_utf8_lossy(&first).into_owned())), probe)
        });
        prop_assert!(first.is_ok(), "neither an answer nor an end");
        prop_assert_eq!(probe.map(|reply| reply.status).ok(), Some(200));
        calm()
    }
}

fn calm() -> Result<(), TestCaseError> {
    prop_assert_eq!(PANICS.load(Ordering::SeqCst), 0, "a task of the hub panicked");
    Ok(())
}

/// Messages that a client would send, in both eras.
fn messages() -> Vec<Value> {
    let call =
        json!({"name": "time__current_time", "arguments": {"zone": "UTC"}, "_meta": {"progressToken": 1}});
    let mut all = vec![
        initialize(json!({"elicitation": {}, "roots": {"listChanged": true}})),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
        json!({"jsonrpc": "2.0", "id": "hub-0", "result": {"action": "accept"}}),
        json!({"jsonrpc": "2.0", "id": 3, "error": {"code": -1, "message": "no", "data": [1]}}),
        ask("logging/setLevel", json!({"level": "debug"})),
        ask("resources/subscribe", json!({"uri": "x://y"})),
        ask(
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "a"}, "argument": {"name": "b", "value": "c"}}),
        ),
    ];
    for (method, params) in [
        ("server/discover", json!({})),
        ("tools/list", json!({"cursor": "a"})),
        ("tools/call", call),
        ("tools/call", json!({"name": "find_tools", "arguments": {"query": "time", "limit": 3}})),
        (
            "tools/call",
            json!({"name": "call_tool", "arguments": {"name": "time__current_time", "arguments": "{}"}}),
        ),
        (
            "tools/call",
            json!({"name": "time__current_time", "requestState": "abc", "inputResponses": {"question": {}}}),
        ),
        ("resources/read", json!({"uri": "file:///x"})),
        ("prompts/get", json!({"name": "x__y", "arguments": {"a": "b"}})),
        (
            "subscriptions/listen",
            json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["x"]}}),
        ),
    ] {
        all.push(ask(method, params.clone()));
        all.push(modern(method, params));
    }
    all
}

/// A good message with some of its bytes changed.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    mutations(select(messages()).prop_map(|message| message.to_string().into_bytes()))
}

fn mutations(whole: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    (whole, vec((any::<Index>(), 0..5u8, any::<u8>()), 0..4)).prop_map(|(mut bytes, changes)| {
        for (at, kind, byte) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => drop(bytes.remove(at)),
                3 => bytes.truncate(at),
                _ => {
                    let tail = bytes[at..].to_vec();
                    bytes.extend_from_slice(&tail);
                }
            }
        }
        bytes
    })
}

/// A good message with one of its values replaced by another.
fn twisted() -> impl Strategy<Value = Vec<u8>> {
    (select(messages()), any::<Index>(), odd_values()).prop_map(|(mut message, at, value)| {
        let mut paths = Vec::new();
        collect(&message, String::new(), &mut paths);
        let path = &paths[at.index(paths.len())];
        *message.pointer_mut(path).expect("the path was just found") = value;
        message.to_string().into_bytes()
    })
}

fn collect(value: &Value, path: String, paths: &mut Vec<String>) {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(key, it)| (key.clone(), it)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, it)| (at.to_string(), it)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (key, member) in members {
        collect(member, format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), paths);
    }
    paths.push(path);
}

fn odd_values() -> impl Strategy<Value = Value> {
    let deep = (0..200).fold(json!(0), |inner, _| json!([inner]));
    prop_oneof![
        select(vec![
            json!(null),
            json!(true),
            json!(0),
            json!(-1),
            json!(1.5),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(1e308),
            json!(""),
            json!("\u{0}"),
            json!("\u{202e}"),
            json!([]),
            json!({}),
            json!([null]),
            json!({"": ""}),
            json!({"_meta": 1}),
            deep,
        ]),
        ".{0,40}".prop_map(Value::from),
    ]
}

fn headers() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = select(vec![
        "accept",
        "content-type",
        "mcp-session-id",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "mcp-param-x",
        "last-event-id",
        "origin",
        "authorization",
        "content-length",
        "x-other",
    ]);
    let value = prop_oneof![
        select(vec![
            "application/json",
            "text/event-stream",
            "application/json, text/event-stream",
            "*/*",
            "2026-07-28",
            "2025-11-25",
            "tools/call",
            "tools/list",
            "time__current_time",
            "=?base64?dGltZV9fY3VycmVudF90aW1l?=",
            "=?base64?",
            "?=",
            "http://localhost",
            "Bearer x",
            "0",
            "99999999999999999999",
        ])
        .prop_map(str::to_owned),
        "[ -~\u{80}-\u{ff}]{0,30}",
    ];
    let one = (name.prop_map(str::to_owned), value);
    (vec(one, 0..5), any::<bool>()).prop_map(|(mut headers, polite)| {
        if polite {
            headers.extend(JSON.map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
        headers
    })
}
