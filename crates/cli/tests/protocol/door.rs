//! Who and what is let in over HTTP, and how the rest is told.

use std::pin::pin;

use serde_json::{Value, json};

use crate::raw::{JSON, Line, Reply, ask, initialize, modern, open_session, post, send};
use crate::scripted::{self, GREETING};
use crate::yard::{Served, Yard, good};

const NEW: (&str, &str) = ("mcp-protocol-version", "2026-07-28");

#[tokio::test]
async fn a_foreign_origin_or_host_gets_403() {
    let (served, _yard) = plain(json!({"allowedHosts": ["hub.example"]})).await;
    for header in [
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("origin", "http://localhost.evil.example"),
        ("host", "evil.example"),
        ("host", "127.0.0.1.evil.example:80"),
    ] {
        for method in ["POST", "GET", "DELETE", "OPTIONS"] {
            let headers = [&JSON[..], &[header]].concat();
            let reply = send(&served.url, method, &headers, &initialize(json!({})).to_string()).await;
            assert_eq!(reply.status, 403, "{method} {header:?}: {reply:?}");
        }
    }
    for header in
        [("origin", "http://localhost:3000"), ("origin", "https://hub.example"), ("host", "hub.example")]
    {
        assert_eq!(post(&served.url, &[header], &initialize(json!({}))).await.status, 200, "{header:?}");
    }
}

#[tokio::test]
async fn a_token_is_asked_for_where_one_is_set() {
    let (served, _yard) = plain(json!({"token": "secret"})).await;
    for headers in [vec![], vec![("authorization", "Bearer wrong")], vec![("authorization", "secret")]] {
        let reply = post(&served.url, &headers, &initialize(json!({}))).await;
        assert_eq!(reply.status, 401, "{reply:?}");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
    }
    for shown in ["Bearer secret", "bearer secret"] {
        let reply = post(&served.url, &[("authorization", shown)], &initialize(json!({}))).await;
        assert_eq!(reply.status, 200, "{shown}: {reply:?}");
    }
}

#[tokio::test]
async fn an_address_that_others_can_reach_needs_a_token() {
    let yard = Yard::of(json!({"time": {"builtin": "time"}}));
    let output = yard.command(&["serve", "--http", "0.0.0.0:0"]).output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("serve.token"), "{said}");
}

#[tokio::test]
async fn bodies_are_json_and_answers_are_taken_in_both_forms() {
    let (served, _yard) = plain(json!({})).await;
    let body = initialize(json!({})).to_string();
    let status = async |headers: &[(&str, &str)]| send(&served.url, "POST", headers, &body).await.status;
    let (kind, accept) = (JSON[0], JSON[1]);
    assert_eq!(status(&[accept]).await, 415);
    assert_eq!(status(&[("content-type", "text/plain"), accept]).await, 415);
    assert_eq!(status(&[("content-type", "application/json; charset=utf-8"), accept]).await, 200);
    assert_eq!(status(&[kind, ("accept", "application/json")]).await, 406);
    assert_eq!(status(&[kind, ("accept", "text/event-stream")]).await, 406);
    assert_eq!(status(&[kind, ("accept", "*/*")]).await, 200);
    assert_eq!(send(&served.url, "PUT", &[kind, accept], &body).await.status, 405);
    let session = open_session(&served.url, &[], json!({})).await;
    let get = [("accept", "application/json"), ("mcp-session-id", session.as_str())];
    assert_eq!(send(&served.url, "GET", &get, "").await.status, 406);
}

#[tokio::test]
async fn a_body_that_is_too_large_gets_413() {
    let (served, _yard) = plain(json!({"bodyBytes": 2048})).await;
    let large = ask("ping", json!({"text": "x".repeat(3000)}));
    assert_eq!(post(&served.url, &[], &large).await.status, 413);
    let chunked = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.to_string().len());
    let headers = [&JSON[..], &[("transfer-encoding", "chunked")]].concat();
    assert_eq!(send(&served.url, "POST", &headers, &chunked).await.status, 413);
    assert_eq!(post(&served.url, &[], &initialize(json!({}))).await.status, 200);
}

#[tokio::test]
async fn more_than_can_be_served_at_once_waits_for_its_turn() {
    for profile in ["", "through"] {
        let yard = Yard::new(json!({
            "mcpServers": {"good": good(&[])},
            "serve": {"surface": "all", "concurrency": 2, "profiles": {"through": {"transparent": "good"}}}
        }));
        let yard = yard.learnt().await;
        let served = yard.http(&[]);
        let url = served.at(profile);
        let tool = if profile.is_empty() { "good__progress" } else { "progress" };
        let session = open_session(&url, &[], json!({})).await;
        let headers = [("mcp-session-id", session.as_str())];
        let all = [&JSON[..], &headers].concat();
        let mut running = Vec::new();
        for id in [1, 2] {
            let arguments = json!({"steps": 100, "ms": 20});
            let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            let mut line = Line::open(&url, "POST", &all, &call.to_string()).await;
            assert_eq!(line.message().await.unwrap()["method"], "notifications/progress");
            running.push(line);
        }
        let ping = ask("ping", json!({}));
        let mut waiting = pin!(post(&url, &headers, &ping));
        tokio::select! {
            biased;
            answered = &mut waiting => panic!("{profile}: {} while two others run", answered.status),
            _ = running[0].message() => {}
        }
        let read = async {
            for mut line in running {
                while line.message().await.is_some() {}
            }
        };
        let (answered, ()) = tokio::join!(waiting, read);
        assert_eq!(answered.status, 200, "{profile}");
    }
}

#[tokio::test]
async fn what_is_no_message_gets_400_and_a_json_rpc_error() {
    let (served, _yard) = plain(json!({})).await;
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let batch = json!([ask("ping", json!({}))]).to_string();
    for (body, code) in [
        ("", -32700),
        ("{", -32700),
        ("hello", -32700),
        ("\u{0}\u{1}", -32700),
        ("[]", -32600),
        (batch.as_str(), -32600),
        ("42", -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32602),
        (deep.as_str(), -32600),
    ] {
        let reply = send(&served.url, "POST", &JSON, body).await;
        assert_eq!(reply.verdict(), (400, code), "{}: {reply:?}", &body[..body.len().min(60)]);
    }
}

#[tokio::test]
async fn a_session_is_named_by_its_id_until_it_is_ended() {
    let (served, _yard) = plain(json!({})).await;
    let session = open_session(&served.url, &[], json!({})).await;
    let named = [("mcp-session-id", session.as_str())];
    let list = ask("tools/list", json!({}));
    assert_eq!(post(&served.url, &named, &list).await.status, 200);
    assert_eq!(post(&served.url, &[], &list).await.status, 400);
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(&served.url, &named, &notice).await.status, 202);
    assert_eq!(post(&served.url, &[], &notice).await.status, 400);
    for unknown in ["unknown", &session[..session.len() - 2]] {
        let unknown = [("mcp-session-id", unknown)];
        assert_eq!(post(&served.url, &unknown, &list).await.status, 404);
        assert_eq!(send(&served.url, "DELETE", &unknown, "").await.status, 404);
        assert_eq!(send(&served.url, "GET", &unknown, "").await.status, 404);
    }
    assert_eq!(send(&served.url, "DELETE", &[], "").await.status, 400);
    assert_eq!(send(&served.url, "DELETE", &named, "").await.status, 204);
    assert_eq!(send(&served.url, "DELETE", &named, "").await.status, 404);
    assert_eq!(post(&served.url, &named, &list).await.status, 404);
    assert_eq!(post(&served.url, &named, &notice).await.status, 404);
}

#[tokio::test]
async fn a_session_stays_at_the_profile_where_it_was_opened() {
    let (served, _yard) = plain(json!({"profiles": {"other": {"surface": "search"}}})).await;
    let session = open_session(&served.url, &[], json!({})).await;
    let named = [("mcp-session-id", session.as_str())];
    assert_eq!(post(&served.at("other"), &named, &ask("tools/list", json!({}))).await.status, 404);
    assert_eq!(post(&served.at("none"), &[], &initialize(json!({}))).await.status, 404);
    assert_eq!(send(&served.at("none"), "GET", &named, "").await.status, 404);
    assert_eq!(send(&served.at("other"), "DELETE", &named, "").await.status, 404);
    assert_eq!(post(&served.url, &named, &ask("tools/list", json!({}))).await.status, 200);
}

#[tokio::test]
async fn a_client_with_much_to_say_about_itself_can_still_name_its_session() {
    let (served, _yard) = plain(json!({})).await;
    let much = json!({"experimental": {"words": "x".repeat(100_000)}});
    let session = open_session(&served.url, &[], much).await;
    assert!(session.len() < 8000, "{}", session.len());
    let named = [("mcp-session-id", session.as_str())];
    assert_eq!(post(&served.url, &named, &ask("tools/list", json!({}))).await.status, 200);
}

#[tokio::test]
async fn versions_that_are_not_served_get_400_and_the_list_of_those_that_are() {
    let (served, _yard) = plain(json!({})).await;
    let session = open_session(&served.url, &[], json!({})).await;
    let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "1999-01-01")];
    let reply = post(&served.url, &headers, &ask("tools/list", json!({}))).await;
    let supported = json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]);
    let told = |reply: &Reply| (reply.verdict(), reply.json()["error"]["data"].clone());
    let expected = ((400, -32022), json!({"supported": supported, "requested": "1999-01-01"}));
    assert_eq!(told(&reply), expected);
    let mut newer = modern("tools/list", json!({}));
    newer["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("1999-01-01");
    let headers = [("mcp-protocol-version", "1999-01-01"), ("mcp-method", "tools/list")];
    assert_eq!(told(&post(&served.url, &headers, &newer).await), expected);
    let named = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "1999-01-01")];
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(&served.url, &named, &notice).await.status, 400);
    let get = [&named[..], &[("accept", "text/event-stream")]].concat();
    assert_eq!(send(&served.url, "GET", &get, "").await.status, 400);
    assert_eq!(send(&served.url, "DELETE", &named, "").await.status, 400);
}

#[tokio::test]
async fn a_modern_request_says_the_same_in_headers_and_body() {
    let (served, _yard) = plain(json!({})).await;
    let call = modern("tools/call", json!({"name": "time__current_time", "arguments": {}}));
    let (method, name) = (("mcp-method", "tools/call"), ("mcp-name", "time__current_time"));
    let verdict = async |headers: &[(&str, &str)]| post(&served.url, headers, &call).await.verdict();
    assert_eq!(verdict(&[NEW, method, name]).await, (200, 0));
    assert_eq!(verdict(&[NEW, method, ("mcp-name", "=?base64?dGltZV9fY3VycmVudF90aW1l?=")]).await, (200, 0));
    for headers in [
        vec![method, name],
        vec![NEW, name],
        vec![NEW, method],
        vec![("mcp-protocol-version", "2025-11-25"), method, name],
        vec![NEW, ("mcp-method", "tools/list"), name],
        vec![NEW, ("mcp-method", "Tools/Call"), name],
        vec![NEW, method, ("mcp-name", "time__convert_time")],
        vec![NEW, method, ("mcp-name", "=?base64?dGltZV9fY3VycmVudF90dW5l?=")],
        vec![NEW, method, ("mcp-name", "=?base64?***?=")],
        vec![NEW, method, name, ("mcp-name", "time__convert_time")],
    ] {
        assert_eq!(verdict(&headers).await, (400, -32020), "{headers:?}");
    }
}

#[tokio::test]
async fn parameters_that_a_tool_wants_in_headers_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let properties = r#"{"region":{"type":"string","x-mcp-header":"Region"},"count":{"type":"integer","x-mcp-header":"Count"}}"#;
    let tools = format!(
        r#""result":{{"tools":[{{"name":"query","inputSchema":{{"type":"object","properties":{properties}}}}}]}}"#
    );
    let server = scripted::over_stdio(
        folder.path(),
        &[("initialize", GREETING), ("tools/list", &tools), ("tools/call", r#""result":{"content":[]}"#)],
    );
    let yard = Yard::of(json!({"db": server})).keep(folder).learnt().await;
    let served = yard.http(&["--surface", "all"]);
    let verdict = async |arguments: Value, headers: &[(&str, &str)]| {
        let call = modern("tools/call", json!({"name": "db__query", "arguments": arguments}));
        let all = [&[NEW, ("mcp-method", "tools/call"), ("mcp-name", "db__query")], headers].concat();
        post(&served.url, &all, &call).await.verdict()
    };
    let plain = json!({"region": "eu", "count": 42});
    let (region, count) = (("mcp-param-region", "eu"), ("mcp-param-count", "42"));
    assert_eq!(verdict(plain.clone(), &[region, count]).await, (200, 0));
    assert_eq!(verdict(plain.clone(), &[region, ("mcp-param-count", "42.0")]).await, (200, 0));
    let strange = json!({"region": "Zürich", "count": null});
    assert_eq!(verdict(strange.clone(), &[("mcp-param-region", "=?base64?WsO8cmljaA==?=")]).await, (200, 0));
    assert_eq!(verdict(json!({}), &[]).await, (200, 0));
    for (arguments, headers) in [
        (plain.clone(), vec![region]),
        (plain.clone(), vec![region, ("mcp-param-count", "43")]),
        (plain, vec![("mcp-param-region", "us"), count]),
        (strange.clone(), vec![("mcp-param-region", "=?base64?WsO8?=")]),
        (strange, vec![("mcp-param-region", "=?base64?!?=")]),
        (json!({}), vec![region]),
    ] {
        assert_eq!(verdict(arguments.clone(), &headers).await, (400, -32020), "{arguments} {headers:?}");
    }
}

#[tokio::test]
async fn a_modern_request_says_who_sends_it() {
    let (served, _yard) = plain(json!({})).await;
    let headers = [NEW, ("mcp-method", "tools/list")];
    let no_meta = ask("tools/list", json!({}));
    assert_eq!(post(&served.url, &headers, &no_meta).await.verdict(), (400, -32602));
    let mut no_capabilities = modern("tools/list", json!({}));
    no_capabilities["params"]["_meta"]
        .as_object_mut()
        .unwrap()
        .remove("io.modelcontextprotocol/clientCapabilities");
    assert_eq!(post(&served.url, &headers, &no_capabilities).await.verdict(), (400, -32602));
    let unknown = modern("no/such/method", json!({}));
    let headers = [NEW, ("mcp-method", "no/such/method")];
    assert_eq!(post(&served.url, &headers, &unknown).await.verdict(), (404, -32601));
    for method in ["ping", "initialize", "logging/setLevel", "resources/subscribe"] {
        let reply = post(&served.url, &[NEW, ("mcp-method", method)], &modern(method, json!({}))).await;
        assert_eq!(reply.verdict(), (404, -32601), "{method}");
    }
}

#[tokio::test]
async fn the_modern_era_has_no_sessions_and_no_get() {
    let (served, _yard) = plain(json!({})).await;
    let headers = [NEW, ("mcp-method", "tools/list"), ("mcp-session-id", "whatever")];
    let reply = post(&served.url, &headers, &modern("tools/list", json!({}))).await;
    assert_eq!((reply.status, reply.header("mcp-session-id")), (200, None));
    for method in ["GET", "DELETE"] {
        assert_eq!(send(&served.url, method, &[NEW], "").await.status, 405, "{method}");
    }
}

#[tokio::test]
async fn a_tool_that_is_denied_cannot_be_named_twice_to_get_past() {
    let yard = Yard::new(json!({
        "mcpServers": {"good": good(&[])},
        "serve": {"surface": "all"},
        "policy": {"deny": ["good__die"]}
    }));
    let yard = yard.learnt().await;
    let served = yard.http(&[]);
    let session = open_session(&served.url, &[], json!({})).await;
    let headers = [&JSON[..], &[("mcp-session-id", session.as_str())]].concat();
    for params in [r#"{"name":"good__pid","name":"die"}"#, r#"{"name":"die","name":"good__pid"}"#] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let reply = send(&served.url, "POST", &headers, &body).await.json();
        let said = reply["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        let is_pid = said.parse::<u32>().is_ok();
        assert!(is_pid || reply["error"]["code"] == -32602, "{params}: {reply}");
    }
    let pid = ask("tools/call", json!({"name": "good__pid", "arguments": {}}));
    let alive = send(&served.url, "POST", &headers, &pid.to_string()).await.json();
    assert!(alive["result"]["content"][0]["text"].is_string(), "{alive}");
}

/// A hub with nothing but the clock behind it.
async fn plain(mut serve: Value) -> (Served, Yard) {
    serve["surface"] = json!("all");
    let token = serve.as_object_mut().unwrap().remove("token");
    let yard = Yard::new(json!({"mcpServers": {"time": {"builtin": "time"}}, "serve": serve.clone()}));
    let yard = yard.learnt().await;
    if let Some(token) = token {
        serve["token"] = token;
        yard.change(json!({"mcpServers": {"time": {"builtin": "time"}}, "serve": serve}));
    }
    (yard.http(&[]), yard)
}
