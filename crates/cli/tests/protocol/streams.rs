//! Streams and sessions over HTTP: broken, resumed, crowded, and at the end of a hub.

use serde_json::{Value, json};
use testkit::{processes, wait_for};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use crate::raw::{self, JSON, Line, ask, open_session, post, send};
use crate::yard::{SOON, Served, Yard, good, named};

#[tokio::test]
async fn a_session_has_one_stream_at_a_time() {
    let (served, _yard) = two_views().await;
    let session = open_session(&served.url, &[], json!({})).await;
    let headers = [("mcp-session-id", session.as_str()), ("accept", "text/event-stream")];
    let first = Line::open(&served.url, "GET", &headers, "").await;
    assert_eq!((first.head.status, first.head.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(send(&served.url, "GET", &headers, "").await.status, 409);
    drop(first);
    // The hub learns that the first is gone when it next looks.
    wait_for(SOON, async || {
        let again = Line::open(&served.url, "GET", &headers, "").await;
        (again.head.status == 200).then_some(())
    })
    .await;
}

#[tokio::test]
async fn what_a_session_missed_is_sent_again() {
    let (served, _yard) = two_views().await;
    let views = [(served.url.clone(), "good__progress"), (served.at("through"), "progress")];
    for ((url, tool), broken) in views.iter().flat_map(|view| [(view, true), (view, false)]) {
        let session = open_session(url, &[], json!({})).await;
        let headers = [&JSON[..], &[("mcp-session-id", session.as_str())]].concat();
        let arguments = json!({"steps": 30, "ms": 10});
        let call =
            ask("tools/call", json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}}));
        let mut line = Line::open(url, "POST", &headers, &call.to_string()).await;
        let mut seen = Vec::new();
        let mut last = String::new();
        while seen.len() < 3 {
            let (id, data) = line.event().await.unwrap();
            last = id.expect("every event of a session's call has an id");
            if !data.is_empty() {
                seen.push(serde_json::from_str(&data).unwrap());
            }
        }
        // The hub may not have noticed yet that the connection broke, or it may never notice.
        let held = (!broken).then_some(line);
        let resume =
            [("mcp-session-id", session.as_str()), ("accept", "text/event-stream"), ("last-event-id", &last)];
        let mut rest = Line::open(url, "GET", &resume, "").await;
        while let Some(message) = rest.message().await {
            seen.push(message);
        }
        let steps: Vec<&Value> = seen[..seen.len() - 1].iter().map(|it| &it["params"]["progress"]).collect();
        assert_eq!(json!(steps), json!((1..=30).collect::<Vec<u32>>()), "{tool}");
        assert_eq!(seen.last().unwrap()["result"]["content"][0]["text"], "done");
        drop(held);
    }
}

#[tokio::test]
async fn a_broken_connection_does_not_cancel_the_call_of_a_session() {
    let (served, _yard) = two_views().await;
    let session = open_session(&served.url, &[], json!({})).await;
    let headers = [&JSON[..], &[("mcp-session-id", session.as_str())]].concat();
    let call = ask(
        "tools/call",
        json!({"name": "good__progress", "arguments": {"steps": 20, "ms": 5}, "_meta": {"progressToken": 1}}),
    );
    let mut line = Line::open(&served.url, "POST", &headers, &call.to_string()).await;
    line.message().await.unwrap();
    drop(line);
    let other = served.modern("", json!({}));
    other.call("good__sleep", json!({"ms": 200})).await.unwrap();
    assert_eq!(other.text("good__cancelled", json!({})).await, "[]");
}

#[tokio::test]
async fn sessions_outlive_the_hub() {
    let yard = Yard::of(json!({"good": good(&[])})).learnt().await;
    let first = yard.http(&["--surface", "all"]);
    let session = open_session(&first.url, &[], json!({"elicitation": {}})).await;
    first.terminate().await;
    let second = yard.http(&["--surface", "all"]);
    let headers = [("mcp-session-id", session.as_str())];
    let pid = ask("tools/call", json!({"name": "good__client", "arguments": {}}));
    let reply = post(&second.url, &headers, &pid).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let said: Value =
        serde_json::from_str(reply.json()["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        said["capabilities"]["elicitation"],
        json!({}),
        "what the client said of itself is still known"
    );
    assert_eq!(send(&second.url, "DELETE", &headers, "").await.status, 204);
    assert_eq!(post(&second.url, &headers, &pid).await.status, 404);
}

#[tokio::test]
async fn requests_in_flight_are_answered_when_the_hub_ends() {
    let (served, _yard) = two_views().await;
    let mut answers = JoinSet::new();
    for (profile, tool) in [("", "good__sleep"), ("through", "sleep")] {
        let url = served.at(profile);
        let session = open_session(&url, &[], json!({})).await;
        // The server runs before the hub is told to end.
        let pid = tool.replace("sleep", "pid");
        let call =
            |name: &str, arguments: Value| ask("tools/call", json!({"name": name, "arguments": arguments}));
        post(&url, &[("mcp-session-id", &session)], &call(&pid, json!({}))).await;
        let slow = call(tool, json!({"ms": 1500})).to_string();
        let mut stream = raw::connect(&url).await;
        let headers = [&JSON[..], &[("mcp-session-id", session.as_str()), ("connection", "close")]].concat();
        stream.write_all(&raw::request(&url, "POST", &headers, slow.as_bytes())).await.unwrap();
        answers.spawn(async move {
            let mut answer = String::new();
            tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut answer).await.unwrap();
            answer
        });
        // A request that is answered after it came after it.
        post(&url, &[("mcp-session-id", &session)], &ask("ping", json!({}))).await;
    }
    let (pid, url) = (served.pid(), served.url.clone());
    processes::terminate(pid);
    while let Some(answer) = answers.join_next().await {
        let answer = answer.unwrap();
        assert!(answer.contains("slept"), "{answer}");
    }
    served.terminate().await;
    let authority = url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap().to_owned();
    assert!(tokio::net::TcpStream::connect(authority).await.is_err());
}

#[tokio::test]
async fn clients_that_do_not_read_or_do_not_finish_block_nobody() {
    let (served, _yard) = two_views().await;
    let session = open_session(&served.url, &[], json!({})).await;
    let headers = [&JSON[..], &[("mcp-session-id", session.as_str())]].concat();
    let mut held = Vec::new();
    for number in 0..24 {
        let mut stream = raw::connect(&served.url).await;
        // More than the buffers of a connection hold, for some of those that do not read.
        let bytes = if number < 6 { 8_000_000 } else { 1000 };
        let big = ask("tools/call", json!({"name": "good__big", "arguments": {"bytes": bytes}}));
        let whole = raw::request(&served.url, "POST", &headers, big.to_string().as_bytes());
        // A third says nothing, a third stops in the middle, a third never reads its answer.
        let sent = match number % 3 {
            0 => &whole[..0],
            1 => &whole[..whole.len() - 5],
            _ => &whole[..],
        };
        stream.write_all(sent).await.unwrap();
        held.push(stream);
    }
    let client = served.modern("", json!({}));
    for number in 0..10 {
        let text = number.to_string();
        assert_eq!(client.text("good__echo", json!({"text": text})).await, text);
    }
    drop(held);
}

#[tokio::test]
async fn clients_that_never_finish_asking_take_no_places() {
    let yard = Yard::new(json!({
        "mcpServers": {"good": good(&[])},
        "serve": {"surface": "all", "concurrency": 2}
    }));
    let yard = yard.learnt().await;
    let served = yard.http(&[]);
    let whole = raw::request(&served.url, "POST", &JSON, ask("ping", json!({})).to_string().as_bytes());
    let mut held = Vec::new();
    for _ in 0..8 {
        let mut stream = raw::connect(&served.url).await;
        stream.write_all(&whole[..whole.len() - 5]).await.unwrap();
        held.push(stream);
    }
    let client = served.modern("", json!({}));
    for _ in 0..10 {
        assert_eq!(client.text("good__echo", json!({"text": "hi"})).await, "hi");
    }
    drop(held);
}

#[tokio::test]
async fn thirty_two_clients_at_once_each_get_their_own_answers() {
    let (served, _yard) = two_views().await;
    let mut clients = JoinSet::new();
    for number in 0..32 {
        let client = match number % 4 {
            0 => served.session("", json!({})).await,
            1 => served.modern("", json!({})),
            2 => served.session("through", json!({})).await,
            _ => served.modern("through", json!({})),
        };
        let tool = |name: &str| if number % 4 < 2 { format!("good__{name}") } else { name.to_owned() };
        let (echo, progress) = (tool("echo"), tool("progress"));
        clients.spawn(async move {
            for round in 0..10 {
                let text = format!("{number}-{round}");
                assert_eq!(client.text(&echo, json!({"text": text})).await, text);
            }
            let meta = json!({"progressToken": number});
            let params = json!({"name": progress, "arguments": {"steps": 3, "ms": 5}, "_meta": meta});
            client.request("tools/call", params).await.unwrap();
            let tokens: Vec<Value> =
                client.notifications().iter().map(|it| it["params"]["progressToken"].clone()).collect();
            assert_eq!(tokens, vec![json!(number); 3], "only its own progress");
        });
    }
    while let Some(done) = clients.join_next().await {
        done.unwrap();
    }
}

#[tokio::test]
async fn a_profile_shows_its_own_servers() {
    let yard = Yard::new(json!({
        "mcpServers": {"good": good(&[]), "twin": good(&[]), "time": {"builtin": "time"}},
        "serve": {"profiles": {
            "pair": {"surface": "all", "servers": ["good", "time"]},
            "one": {"transparent": "twin"},
            "words": {"surface": "search"}
        }}
    }));
    let yard = yard.learnt().await;
    let served = yard.http(&[]);
    let prefixes = async |profile: &str| {
        let tools = served.modern(profile, json!({})).tools().await.unwrap();
        let mut servers: Vec<String> =
            tools.iter().map(|tool| named(tool).split("__").next().unwrap().to_owned()).collect();
        servers.dedup();
        servers
    };
    assert_eq!(prefixes("pair").await, ["good", "time"]);
    assert_eq!(prefixes("words").await, ["find_tools", "describe_tool", "call_tool"]);
    assert!(prefixes("one").await.contains(&"echo".to_owned()));
    let pair = served.modern("pair", json!({}));
    assert!(pair.call("twin__echo", json!({"text": "x"})).await.is_err(), "other servers are out of reach");
}

async fn two_views() -> (Served, Yard) {
    let mut server = good(&[]);
    // Large answers take their time on a busy machine.
    server["limits"] = json!({"callMs": 30_000});
    let yard = Yard::new(json!({
        "mcpServers": {"good": server},
        "serve": {"surface": "all", "profiles": {"through": {"transparent": "good"}}}
    }));
    let yard = yard.learnt().await;
    (yard.http(&[]), yard)
}
