//! What travels beside answers: progress, log messages, cancellation, changes.

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::fault::definition::NOTE_URI;
use testkit::wait_for;

use crate::raw::{self, Line};
use crate::scripted::{self, GREETING};
use crate::yard::{SOON, Yard, good, listed};

#[tokio::test]
async fn progress_comes_back_under_the_token_of_the_client() {
    for args in [vec![], vec!["--modern"]] {
        let yard = Yard::of(json!({"good": good(&args)})).learnt().await;
        for client in [yard.session(json!({})).await, yard.modern(json!({}))] {
            for token in [json!("mine"), json!(7)] {
                let params = json!({"name": "good__progress", "arguments": {"steps": 2}, "_meta": {"progressToken": token}});
                client.request("tools/call", params).await.unwrap();
                let steps = heard(&client, "notifications/progress", |it| it["progressToken"] == token);
                let expected = |step: u32| {
                    let message = format!("step {step} of 2");
                    json!({"progressToken": token, "progress": step, "total": 2, "message": message})
                };
                assert_eq!(steps, [expected(1), expected(2)]);
            }
        }
    }
}

#[tokio::test]
async fn who_wants_no_progress_hears_none() {
    let yard = Yard::of(json!({"good": good(&[])})).learnt().await;
    let client = yard.session(json!({})).await;
    client.call("good__progress", json!({"steps": 3})).await.unwrap();
    assert_eq!(heard(&client, "notifications/progress", |_| true), Vec::<Value>::new());
}

#[tokio::test]
async fn progress_over_http_comes_on_the_stream_of_its_call() {
    let yard = Yard::of(json!({"good": good(&[])})).learnt().await;
    let served = yard.http(&["--surface", "all"]);
    for client in [served.session("", json!({})).await, served.modern("", json!({}))] {
        let params =
            json!({"name": "good__progress", "arguments": {"steps": 3}, "_meta": {"progressToken": "p"}});
        client.request("tools/call", params).await.unwrap();
        assert_eq!(heard(&client, "notifications/progress", |it| it["progressToken"] == "p").len(), 3);
    }
}

#[tokio::test]
async fn a_session_hears_log_messages_from_its_level_on() {
    for args in [vec![], vec!["--modern"]] {
        let yard = Yard::of(json!({"good": good(&args)})).learnt().await;
        let client = yard.session(json!({})).await;
        client.request("logging/setLevel", json!({"level": "warning"})).await.unwrap();
        for level in ["debug", "warning", "emergency"] {
            client.call("good__log", json!({"level": level, "text": level})).await.unwrap();
        }
        let said = heard(&client, "notifications/message", |_| true);
        let whole = |level: &str| json!({"level": level, "logger": "fault-server", "data": level});
        assert_eq!(said, [whole("warning"), whole("emergency")], "{args:?}");
    }
}

#[tokio::test]
async fn a_modern_request_hears_the_log_messages_it_asked_for() {
    for args in [vec![], vec!["--modern"]] {
        let yard = Yard::of(json!({"good": good(&args)})).learnt().await;
        let client = yard.modern(json!({}));
        client.call("good__log", json!({"level": "error", "text": "unasked"})).await.unwrap();
        let meta = json!({"io.modelcontextprotocol/logLevel": "info"});
        for (level, text) in [("debug", "too low"), ("notice", "heard")] {
            let arguments = json!({"level": level, "text": text});
            let params = json!({"name": "good__log", "arguments": arguments, "_meta": meta});
            client.request("tools/call", params).await.unwrap();
        }
        let said = heard(&client, "notifications/message", |it| it["data"] != "too low" || args.is_empty());
        assert_eq!(said, [json!({"level": "notice", "logger": "fault-server", "data": "heard"})], "{args:?}");
    }
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_at_its_server_and_never_answered() {
    for args in [vec![], vec!["--modern"]] {
        let yard = Yard::of(json!({"good": good(&args)})).learnt().await;
        for client in [yard.session(json!({})).await, yard.modern(json!({}))] {
            let mut hanging = client.start("tools/call", json!({"name": "good__hang"})).await.unwrap();
            assert_eq!(client.text("good__cancelled", json!({})).await, "[]");
            client.cancel(&hanging).await.unwrap();
            let cancelled = cancelled(&client).await;
            assert_eq!(cancelled.len(), 1, "{cancelled:?}");
            assert!(hanging.reply_so_far().is_none());
        }
    }
}

#[tokio::test]
async fn a_modern_client_over_http_cancels_by_hanging_up() {
    let yard = Yard::of(json!({"good": good(&[])})).learnt().await;
    let served = yard.http(&["--surface", "all"]);
    let body = raw::modern("tools/call", long_call());
    let name = ("mcp-name", "good__progress");
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), name];
    let mut line =
        Line::open(&served.url, "POST", &[&raw::JSON[..], &headers].concat(), &body.to_string()).await;
    assert_eq!(line.message().await.unwrap()["method"], "notifications/progress");
    drop(line);
    assert_eq!(cancelled(&served.modern("", json!({}))).await.len(), 1);
}

#[tokio::test]
async fn a_session_over_http_cancels_by_saying_so_and_gets_no_answer() {
    let yard = Yard::of(json!({"good": good(&[])})).learnt().await;
    let served = yard.http(&["--surface", "all"]);
    let session = raw::open_session(&served.url, &[], json!({})).await;
    let headers = [&raw::JSON[..], &[("mcp-session-id", session.as_str())]].concat();
    let call = raw::ask("tools/call", long_call()).to_string();
    let mut line = Line::open(&served.url, "POST", &headers, &call).await;
    assert_eq!(line.message().await.unwrap()["method"], "notifications/progress");
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(raw::send(&served.url, "POST", &headers, &cancel.to_string()).await.status, 202);
    while let Some(message) = line.message().await {
        assert_eq!(message["method"], "notifications/progress");
    }
    assert_eq!(cancelled(&served.modern("", json!({}))).await.len(), 1);
}

#[tokio::test]
async fn a_server_that_takes_its_question_back_has_it_taken_back_from_the_client() {
    let folder = tempfile::tempdir().unwrap();
    let schema = r#""inputSchema":{"type":"object"}"#;
    let tools = format!(r#""result":{{"tools":[{{"name":"ask",{schema}}},{{"name":"give_up",{schema}}}]}}"#);
    let params = r#"{"message":"Well?","requestedSchema":{"type":"object","properties":{}}}"#;
    let question =
        format!(r#"{{"jsonrpc":"2.0","id":"q-1","method":"elicitation/create","params":{params}}}"#);
    let taken_back = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q-1"}}"#;
    let script = format!(
        r#"say() {{ printf '{{"jsonrpc":"2.0","id":%s,%s}}\n' "$1" "$2"; }}
while IFS= read -r line; do
id=${{line#*'"id":'}}; id=${{id%%,*}}
case "$line" in
*'"method":"initialize"'*) say "$id" '{GREETING}' ;;
*'"method":"tools/list"'*) say "$id" '{tools}' ;;
*'"name":"ask"'*) asked=$id; printf '%s\n' '{question}' ;;
*'"name":"give_up"'*) printf '%s\n' '{taken_back}'
say "$asked" '"result":{{"content":[]}}'
say "$id" '"result":{{"content":[]}}' ;;
*'"id":'*) say "$id" '"error":{{"code":-32601,"message":"no"}}' ;;
esac
done"#
    );
    let server = scripted::program(folder.path(), &script);
    let yard = Yard::of(json!({"scripted": server})).keep(folder).learnt().await;
    let served = yard.http(&["--surface", "all"]);
    let session = raw::open_session(&served.url, &[], json!({"elicitation": {}})).await;
    let headers = [&raw::JSON[..], &[("mcp-session-id", session.as_str())]].concat();
    let call = |name: &str| raw::ask("tools/call", json!({"name": name, "arguments": {}})).to_string();
    let mut line = Line::open(&served.url, "POST", &headers, &call("scripted__ask")).await;
    let asked = line.message().await.unwrap();
    assert_eq!(asked["method"], "elicitation/create");
    raw::send(&served.url, "POST", &headers, &call("scripted__give_up")).await;
    let taken = line.message().await.unwrap();
    assert_eq!(
        (&taken["method"], &taken["params"]["requestId"]),
        (&json!("notifications/cancelled"), &asked["id"])
    );
    assert_eq!(line.message().await.unwrap()["result"]["content"], json!([]));
}

#[tokio::test]
async fn a_new_tool_is_announced_and_listed() {
    for args in [vec![], vec!["--modern"]] {
        let yard = Yard::of(json!({"good": good(&args)})).learnt().await;
        let client = yard.session(json!({})).await;
        client.text("good__add_tool", json!({"name": "fresh"})).await;
        client.notified("notifications/tools/list_changed").await;
        listed(&client, "good__fresh").await;
        assert_eq!(client.text("good__fresh", json!({})).await, "fresh");
    }
}

#[tokio::test]
async fn a_modern_listener_hears_what_it_asked_for_under_its_own_id() {
    for args in [vec![], vec!["--modern"]] {
        let yard = Yard::of(json!({"good": good(&args)})).learnt().await;
        let client = yard.modern(json!({}));
        let filter = json!({"notifications": {"toolsListChanged": true}});
        let listening = client.start("subscriptions/listen", filter.clone()).await.unwrap();
        let meta = json!({"io.modelcontextprotocol/subscriptionId": listening.id()});
        let acknowledged = client.notified("notifications/subscriptions/acknowledged").await;
        assert_eq!(acknowledged["params"], json!({"notifications": filter["notifications"], "_meta": meta}));
        client.text("good__add_tool", json!({"name": "fresh"})).await;
        let changed = client.notified("notifications/tools/list_changed").await;
        assert_eq!(changed["params"]["_meta"], meta);
    }
}

#[tokio::test]
async fn only_subscribers_hear_of_a_resource_and_only_until_they_leave() {
    for args in [vec![], vec!["--modern"]] {
        let yard = Yard::of(json!({"good": good(&args)})).learnt().await;
        let served = yard.http(&["--surface", "all"]);
        let (reader, other) = (served.session("", json!({})).await, served.session("", json!({})).await);
        reader.open_stream().await.unwrap();
        other.open_stream().await.unwrap();
        let uri = json!({"uri": NOTE_URI});
        reader.request("resources/subscribe", uri.clone()).await.unwrap();
        other.text("good__touch_resource", json!({})).await;
        let update = reader.notified("notifications/resources/updated").await;
        assert_eq!(update["params"]["uri"], NOTE_URI);
        reader.request("resources/unsubscribe", uri).await.unwrap();
        other.text("good__touch_resource", json!({})).await;
        // What is announced after the second touch comes after it, if it comes at all.
        for client in [&reader, &other] {
            client.text("good__add_tool", json!({"name": "mark"})).await;
            client.notified("notifications/tools/list_changed").await;
        }
        assert_eq!(heard(&reader, "notifications/resources/updated", |_| true).len(), 1, "{args:?}");
        assert_eq!(heard(&other, "notifications/resources/updated", |_| true), Vec::<Value>::new());
    }
}

#[tokio::test]
async fn a_modern_subscriber_hears_of_its_resource() {
    for args in [vec![], vec!["--modern"]] {
        let yard = Yard::of(json!({"good": good(&args)})).learnt().await;
        let client = yard.modern(json!({}));
        let filter = json!({"notifications": {"resourceSubscriptions": [NOTE_URI]}});
        let listening = client.start("subscriptions/listen", filter).await.unwrap();
        client.notified("notifications/subscriptions/acknowledged").await;
        client.text("good__touch_resource", json!({})).await;
        let update = client.notified("notifications/resources/updated").await;
        let meta = json!({"io.modelcontextprotocol/subscriptionId": listening.id()});
        assert_eq!(update["params"], json!({"uri": NOTE_URI, "_meta": meta}));
    }
}

#[tokio::test]
async fn a_listener_over_http_is_acknowledged_first_and_ends_with_the_hub() {
    let yard = Yard::of(json!({"good": good(&[])})).learnt().await;
    let served = yard.http(&["--surface", "all"]);
    let body = raw::modern("subscriptions/listen", json!({"notifications": {"promptsListChanged": true}}));
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "subscriptions/listen")];
    let mut line =
        Line::open(&served.url, "POST", &[&raw::JSON[..], &headers].concat(), &body.to_string()).await;
    assert_eq!(line.head.header("x-accel-buffering"), Some("no"));
    assert_eq!(line.message().await.unwrap()["method"], "notifications/subscriptions/acknowledged");
    let ended = tokio::spawn(async move { while line.event().await.is_some() {} });
    served.terminate().await;
    ended.await.unwrap();
}

#[tokio::test]
async fn a_line_that_is_no_message_is_refused_and_the_next_one_is_answered() {
    let yard = Yard::of(json!({"time": {"builtin": "time"}})).learnt().await;
    let client = yard.stdio(&["--surface", "all"]);
    let early = client.request("tools/list", json!({})).await.unwrap_err();
    assert_eq!(early.code(), Some(-32600), "a session is opened first");
    for (line, id, code) in [
        ("hello", Value::Null, -32700),
        ("{\"jsonrpc\":\"2.0\",", Value::Null, -32700),
        ("[]", Value::Null, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null, -32600),
        (r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":7}"#, json!("a"), -32602),
    ] {
        let seen = client.notifications().len();
        client.send_raw(format!("{line}\n").as_bytes()).await.unwrap();
        client.request("ping", json!({})).await.unwrap();
        let said = client.notifications();
        assert_eq!(said.len(), seen + 1, "{line}: {said:?}");
        assert_eq!((&said[seen]["id"], &said[seen]["error"]["code"]), (&id, &json!(code)), "{line}");
    }
    assert_eq!(client.strays(), Vec::<String>::new());
    assert!(client.close().await.unwrap().success());
}

fn heard(client: &Client, method: &str, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
    let all = client.notifications().into_iter().filter(|it| it["method"] == method);
    all.map(|it| it["params"].clone()).filter(fits).collect()
}

/// Waits until the server was told of a cancelled request, and gives all it was told of.
async fn cancelled(client: &Client) -> Vec<Value> {
    wait_for(SOON, || async {
        let all: Vec<Value> = serde_json::from_str(&client.text("good__cancelled", json!({})).await).unwrap();
        (!all.is_empty()).then_some(all)
    })
    .await
}

/// A call that reports progress for longer than any test lasts.
fn long_call() -> Value {
    let arguments = json!({"steps": 100_000, "ms": 10});
    json!({"name": "good__progress", "arguments": arguments, "_meta": {"progressToken": "p"}})
}
