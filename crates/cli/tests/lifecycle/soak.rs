//! Many clients for a long time: what fails is the doing of a server, and never of the hub.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::client::{Client, Error};
use tokio::task::JoinSet;

use crate::yard::{Yard, appears, memory};

/// How many seconds it lasts; for half an hour, and without the limit that a test runner sets:
/// `TOOLYARD_SOAK=1800 cargo test -p toolyard --test lifecycle r19_a_long_run -- --nocapture`.
const SECONDS: &str = "TOOLYARD_SOAK";

/// Clients that ask at the same time.
const CLIENTS: u64 = 8;

/// What came of the requests of one kind.
#[derive(Debug, Default)]
struct Tally {
    requests: usize,
    /// What a server did: it fell, refused or took too long, and the answer says so.
    of_servers: usize,
    /// What the hub did: no answer, a wrong one, or an error of its own.
    own: Vec<String>,
}

/// What a client asks for, over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    List,
    Call,
    Words,
    Workflow,
    Refused,
    Falls,
    Abandoned,
    Reconnect,
}

/// Three calls and two requests in words for one of every other kind.
const KINDS: [Kind; 11] = [
    Kind::Call,
    Kind::Words,
    Kind::List,
    Kind::Call,
    Kind::Workflow,
    Kind::Refused,
    Kind::Words,
    Kind::Falls,
    Kind::Call,
    Kind::Abandoned,
    Kind::Reconnect,
];

#[tokio::test]
async fn r19_a_long_run_has_no_failure_of_the_hubs_own() {
    let wanted = std::env::var(SECONDS).ok().and_then(|it| it.parse().ok());
    // Other tests run beside this one.
    let (seconds, pause) = wanted.map_or((60, Duration::from_millis(20)), |it| (it, Duration::ZERO));
    let mut yard = Yard::new();
    yard.server("good", &[], &json!({})).server("shaky", &[], &json!({}));
    yard.set("serve", json!({ "profiles": { "route": { "surface": "route" } } }));
    let workflow = json!({
        "name": "twice", "description": "Says something twice.",
        "parameters": { "properties": { "text": { "type": "string" } }, "required": ["text"] },
        "steps": [
            { "name": "one", "tool": "good__echo", "arguments": { "text": "{{parameters.text}}" } },
            { "name": "two", "tool": "good__echo", "arguments": { "text": "{{parameters.text}}" }, "after": ["one"] },
        ],
    });
    std::fs::create_dir(yard.path("workflows")).unwrap();
    std::fs::write(yard.path("workflows/twice.json"), workflow.to_string()).unwrap();
    let (hub, url) = yard.listen().await;
    let first = opened(&url, 0).await;
    for tool in ["good__echo", "shaky__die", "workflows__twice"] {
        appears(&first, tool).await;
    }
    let (pid, end) = (hub.pid(), Instant::now() + Duration::from_secs(seconds));
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        clients.spawn(ask(url.clone(), number, (end, pause)));
    }
    let mut all: BTreeMap<Kind, Tally> = BTreeMap::new();
    let begun = memory(pid);
    for (kind, tally) in clients.join_all().await.into_iter().flatten() {
        let sum = all.entry(kind).or_default();
        sum.requests += tally.requests;
        sum.of_servers += tally.of_servers;
        sum.own.extend(tally.own);
    }
    let requests: usize = all.values().map(|it| it.requests).sum();
    let own: Vec<&String> = all.values().flat_map(|it| &it.own).collect();
    let report = format!(
        "{requests} requests in {seconds} s, {} failures of the hub's own, {} MB at first and {} MB in the end: {all:#?}\n",
        own.len(),
        begun / 1_000_000,
        memory(pid) / 1_000_000
    );
    // The harness captures what is printed, and shows it where it is wanted.
    std::io::stdout().write_all(report.as_bytes()).unwrap();
    assert!(all.len() == 8 && all.values().all(|it| it.requests > 0), "every kind was tried: {report}");
    assert!(all[&Kind::Falls].of_servers > 0, "a server that falls is seen to: {report}");
    assert!(own.len() * 1000 < requests, "{report}");
}

async fn opened(url: &str, number: u64) -> Client {
    let client = Client::http(url, &[]);
    if number.is_multiple_of(2) {
        client.initialize("2025-11-25", json!({})).await.unwrap();
    } else {
        client.modern(json!({}));
    }
    client
}

/// Asks until the end, one thing after the other.
async fn ask(url: String, number: u64, (end, pause): (Instant, Duration)) -> Vec<(Kind, Tally)> {
    let mut tallies: BTreeMap<Kind, Tally> = BTreeMap::new();
    let (mut client, route) = (opened(&url, number).await, opened(&format!("{url}/route"), number).await);
    for turn in usize::try_from(number).unwrap().. {
        if Instant::now() > end {
            break;
        }
        tokio::time::sleep(pause).await;
        // After each fall a server is given time; one client that waits for it is enough.
        let kind = KINDS[turn % KINDS.len()];
        let kind = if kind == Kind::Falls && number > 0 { Kind::Call } else { kind };
        let text = format!("word{number}x{turn}");
        let answer = match kind {
            Kind::List => client.tools().await.map(|it| json!({ "tools": it.len() })),
            Kind::Call => client.call("good__echo", json!({ "text": text })).await,
            Kind::Words => {
                let asked = json!({ "task": "echo this text", "values": { "text": text } });
                route.call("smart_route", asked).await
            }
            Kind::Workflow => client.call("workflows__twice", json!({ "text": text })).await,
            Kind::Refused => client.call("good__fail", json!({})).await,
            Kind::Falls => client.call("shaky__die", json!({ "confirm": true })).await,
            Kind::Abandoned => abandoned(&client).await,
            Kind::Reconnect => {
                client = opened(&url, number).await;
                client.call("good__echo", json!({ "text": text })).await
            }
        };
        let tally = tallies.entry(kind).or_default();
        tally.requests += 1;
        match judged(kind, &text, answer) {
            Ok(true) => tally.of_servers += 1,
            Ok(false) => {}
            Err(what) => tally.own.push(what),
        }
    }
    tallies.into_iter().collect()
}

/// Hangs up before the answer. In a session the call goes on all the same.
async fn abandoned(client: &Client) -> Result<Value, Error> {
    let call = client.call("good__sleep", json!({ "ms": 300 }));
    match tokio::time::timeout(Duration::from_millis(50), call).await {
        Ok(answer) => answer,
        Err(_) => Ok(Value::Null),
    }
}

/// Whether a server failed; an error where the hub did.
fn judged(kind: Kind, text: &str, answer: Result<Value, Error>) -> Result<bool, String> {
    let answer = answer.map_err(|error| format!("{kind:?}: {error}"))?;
    let is_error = answer["isError"] == true;
    let said = answer.to_string();
    let is_right = match kind {
        Kind::List => answer["tools"].as_u64() > Some(20),
        Kind::Call | Kind::Words | Kind::Workflow | Kind::Reconnect => !is_error && said.contains(text),
        Kind::Refused => is_error,
        Kind::Falls => is_error && said.contains("shaky"),
        Kind::Abandoned => true,
    };
    if is_right { Ok(is_error) } else { Err(format!("{kind:?}: {said}")) }
}
