//! Servers behind HTTP, of every age, and the real ones that people use.

use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde_json::{Value, json};
use testkit::{Listening, servers, wait_for, wait_until};

use crate::fleet::{START, real};
use crate::scripted::{OverHttp, in_session, json_response};
use crate::yard::{SOON, Yard, good, listed, named, text};

#[tokio::test]
async fn a_server_over_streamable_http_works_in_both_eras() {
    let fixture = Listening::conformance();
    let yard = Yard::of(json!({"suite": {"url": fixture.url()}})).learnt().await;
    for client in [yard.session(json!({"elicitation": {}})).await, yard.modern(json!({}))] {
        let said = client.text("suite__test_simple_text", json!({})).await;
        assert_eq!(said, "This is a simple text response for testing.");
        let params = json!({"name": "suite__test_tool_with_progress", "_meta": {"progressToken": "mine"}});
        client.request("tools/call", params).await.unwrap();
        let heard = client.notifications();
        let steps: Vec<&Value> = heard.iter().map(|it| &it["params"]["progressToken"]).collect();
        assert_eq!(steps, [&json!("mine"); 3]);
        let read = client.request("resources/read", json!({"uri": "test://static-text"})).await.unwrap();
        assert_eq!(read["contents"][0]["mimeType"], "text/plain");
    }
}

#[tokio::test]
async fn the_first_call_after_a_restart_carries_the_parameters_in_headers() {
    let fixture = Listening::conformance();
    let yard = Yard::of(json!({"suite": {"url": fixture.url()}})).learnt().await;
    for region in ["eu-west", "Zürich"] {
        let client = yard.modern(json!({}));
        let result = client.call("suite__test_custom_headers", json!({"region": region})).await.unwrap();
        assert_eq!(text(&result), "The arguments were accepted.");
    }
}

#[tokio::test]
async fn configured_headers_reach_the_server() {
    let server = OverHttp::start(|got| in_session(got, |_| Some(json!({"content": []})))).await;
    let headers = json!({"Authorization": "Bearer ${TOOLYARD_TEST_TOKEN}", "X-Team": "blue"});
    let yard = Yard::of(json!({"remote": {"url": server.url, "headers": headers}}));
    let mut command = yard.command(&["serve", "--surface", "all"]);
    command.env("TOOLYARD_TEST_TOKEN", "s3cret");
    let client = testkit::client::Client::spawn(command);
    client.modern(json!({}));
    listed(&client, "remote__hello").await;
    client.call("remote__hello", json!({})).await.unwrap();
    let got = server.got();
    assert!(got.iter().any(|it| it.method() == "tools/call"));
    for request in &got {
        assert_eq!(request.header("authorization"), Some("Bearer s3cret"), "{}", request.method());
        assert_eq!(request.header("x-team"), Some("blue"));
    }
    assert!(!client.stderr().contains("s3cret"));
}

#[tokio::test]
async fn t27_a_client_over_stdio_that_sends_too_much_is_told_its_own_setting() {
    let yard = Yard::new(json!({"mcpServers": {"good": good(&[])}, "serve": {"bodyBytes": 2048}}));
    let client = yard.session(json!({})).await;
    // Small messages pass over pipes, whatever the setting says.
    client.request("ping", json!({"_meta": {"text": "x".repeat(500_000)}})).await.unwrap();
    let large = client.request("ping", json!({"_meta": {"text": "x".repeat(1_100_000)}})).await;
    let (_, said, _) = crate::yard::refusal(large);
    assert_eq!(said, "the message has more than 1048576 bytes; raise `serve.bodyBytes` if that is wanted");
}

#[tokio::test]
async fn t27_credentials_that_a_server_repeats_in_an_error_are_hidden() {
    let server = OverHttp::start(|got| {
        let told = got.header("authorization").unwrap_or_default();
        let key = got.header("x-api-key").unwrap_or_default();
        let (id, name) = (&got.message["id"], got.message["params"]["name"].as_str().unwrap_or_default());
        match (got.method(), name) {
            ("tools/list", _) => {
                let tool = |name| json!({"name": name, "inputSchema": {"type": "object"}});
                let tools = json!({"tools": [tool("page"), tool("error"), tool("cut")]});
                json_response(StatusCode::OK, &json!({"jsonrpc": "2.0", "id": id, "result": tools}))
            }
            ("tools/call", "page") => {
                (StatusCode::INTERNAL_SERVER_ERROR, format!("<p>bad key {key} or {told}")).into_response()
            }
            // The key lies across the place where long pages are cut.
            ("tools/call", "cut") => {
                (StatusCode::BAD_GATEWAY, format!("{}{key}", "x".repeat(290))).into_response()
            }
            ("tools/call", _) => {
                let error =
                    json!({"code": -32000, "message": format!("no: {told}"), "data": {"sent": [key]}});
                json_response(StatusCode::OK, &json!({"jsonrpc": "2.0", "id": id, "error": error}))
            }
            _ => in_session(got, |_| None),
        }
    })
    .await;
    let headers = json!({"Authorization": "Bearer tok-1234567890", "X-Api-Key": "key-1234567890"});
    let yard = Yard::of(json!({"remote": {"url": server.url, "headers": headers}})).learnt().await;
    let client = yard.session(json!({})).await;
    let mut said = String::new();
    for tool in ["page", "error", "cut"] {
        let outcome = client.call(&format!("remote__{tool}"), json!({})).await;
        said += &format!("{outcome:?}\n");
    }
    assert!(said.contains("bad key *** or ***") && said.contains("no: ***"), "{said}");
    for part in ["tok-", "key-1", "34567890"] {
        assert!(!said.contains(part), "`{part}` is in {said}");
    }
    assert!(!client.stderr().contains("34567890"));
}

#[tokio::test]
async fn a_session_that_the_server_forgot_is_opened_again() {
    let forgot = Arc::new(AtomicBool::new(false));
    let server = OverHttp::start({
        let forgot = Arc::clone(&forgot);
        move |got| {
            let is_call = got.method() == "tools/call";
            if is_call && got.header("mcp-session-id") == Some("first") && forgot.load(Ordering::SeqCst) {
                return (StatusCode::NOT_FOUND, "Session not found").into_response();
            }
            let content = json!([{"type": "text", "text": got.header("mcp-session-id")}]);
            let mut response = in_session(got, |_| Some(json!({"content": content})));
            if got.method() == "initialize" {
                let id = if forgot.load(Ordering::SeqCst) { "second" } else { "first" };
                response.headers_mut().insert("mcp-session-id", id.parse().unwrap());
            }
            response
        }
    })
    .await;
    let yard = Yard::of(json!({"remote": {"url": server.url}})).learnt().await;
    let client = yard.session(json!({})).await;
    assert_eq!(client.text("remote__hello", json!({})).await, "first");
    forgot.store(true, Ordering::SeqCst);
    assert_eq!(client.text("remote__hello", json!({})).await, "second");
}

#[tokio::test]
async fn what_worked_is_remembered_across_restarts() {
    let server = OverHttp::start(|got| in_session(got, |_| Some(json!({"content": []})))).await;
    let yard = Yard::of(json!({"remote": {"url": server.url}})).learnt().await;
    assert!(server.got().iter().any(|it| it.method() == "server/discover"), "the era is tried first");
    let seen = server.got().len();
    let client = yard.session(json!({})).await;
    client.call("remote__hello", json!({})).await.unwrap();
    let again: Vec<String> = server.got()[seen..].iter().map(|it| it.method().to_owned()).collect();
    assert!(again.contains(&"initialize".to_owned()), "{again:?}");
    assert!(!again.contains(&"server/discover".to_owned()), "{again:?}");
}

#[tokio::test]
async fn a_server_that_changed_its_era_is_met_in_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("server");
    let fault = testkit::bin("fault-server").display().to_string();
    let write = |args: &str| std::fs::write(&script, format!("exec {fault} {args}\n")).unwrap();
    let yard = Yard::of(json!({"good": {"command": "sh", "args": [script]}}));
    write("--modern");
    let yard = yard.keep(folder).learnt_within(START).await;
    for args in ["", "--modern", "--both"] {
        write(args);
        let client = yard.modern(json!({}));
        assert_eq!(client.text("good__echo", json!({"text": args})).await, args, "now {args:?}");
    }
}

#[tokio::test]
async fn m6_a_flood_of_events_before_an_answer_ends_the_call() {
    let server = OverHttp::start(|got| {
        if got.method() != "tools/call" {
            return in_session(got, |_| Some(json!({"content": []})));
        }
        let token = &got.message["params"]["_meta"]["progressToken"];
        let report = json!({"jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": token, "progress": 1}});
        let flood = format!("data: {report}\n\n").repeat(20_000);
        ([("content-type", "text/event-stream")], flood).into_response()
    })
    .await;
    let limits = json!({"messageBytes": 100_000});
    let yard = Yard::of(json!({"remote": {"url": server.url, "limits": limits}})).learnt().await;
    let client = yard.session(json!({})).await;
    let result = client.call("remote__hello", json!({})).await.unwrap();
    assert!(text(&result).contains("bytes before its answer"), "{result}");
}

#[tokio::test]
async fn a_server_that_wants_a_login_says_which_command_gives_it() {
    let server = OverHttp::start(|_| {
        let challenge = [("www-authenticate", "Bearer resource_metadata=\"http://127.0.0.1:1/none\"")];
        (StatusCode::UNAUTHORIZED, challenge, "who are you?").into_response()
    })
    .await;
    let yard = Yard::new(json!({
        "mcpServers": {"remote": {"url": server.url}},
        "serve": {"profiles": {"through": {"transparent": "remote"}}}
    }));
    let served = yard.http(&[]);
    let client = served.modern("through", json!({}));
    let (_, message, _) = crate::yard::refusal(client.request("tools/list", json!({})).await);
    assert!(message.contains("run `toolyard login remote`"), "{message}");
}

#[tokio::test]
async fn a_server_that_answers_nonsense_is_told_from_one_that_is_slow() {
    for (name, status, body) in [
        ("page", StatusCode::OK, "<html>hello</html>"),
        ("broken", StatusCode::INTERNAL_SERVER_ERROR, "oops"),
        ("empty", StatusCode::OK, ""),
    ] {
        let server = OverHttp::start(move |_| (status, body).into_response()).await;
        let yard = Yard::new(json!({
            "mcpServers": {"remote": {"url": server.url}},
            "serve": {"profiles": {"through": {"transparent": "remote"}}}
        }));
        let served = yard.http(&[]);
        let (_, message, _) =
            crate::yard::refusal(served.modern("through", json!({})).request("tools/list", json!({})).await);
        assert!(message.contains("`remote`") && !message.contains("startMs"), "{name}: {message}");
    }
}

#[tokio::test]
async fn an_error_in_the_body_of_an_http_error_is_passed_on() {
    let server = OverHttp::start(|got| {
        if got.method() == "tools/call" {
            let error = json!({"code": -31000, "message": "closed", "data": {"until": 8}});
            return json_response(
                StatusCode::BAD_REQUEST,
                &json!({"jsonrpc": "2.0", "id": got.message["id"], "error": error}),
            );
        }
        in_session(got, |_| None)
    })
    .await;
    let yard = Yard::of(json!({"remote": {"url": server.url}})).learnt().await;
    let client = yard.session(json!({})).await;
    let refusal = crate::yard::refusal(client.call("remote__hello", json!({})).await);
    assert_eq!(refusal, (-31000, "closed".to_owned(), json!({"until": 8})));
}

#[tokio::test]
async fn the_everything_server_works_over_streamable_http() {
    let (_server, port) = everything("streamableHttp").await;
    let yard = Yard::of(json!({"every": {"url": format!("http://127.0.0.1:{port}/mcp")}})).learnt().await;
    let client = yard.session(json!({})).await;
    assert_eq!(client.text("every__echo", json!({"message": "hi"})).await, "Echo: hi");
}

#[tokio::test]
async fn a_server_of_the_older_sse_transport_works_with_and_without_saying_so() {
    let (_server, port) = everything("sse").await;
    let url = format!("http://127.0.0.1:{port}/sse");
    for server in [json!({"url": url, "type": "sse"}), json!({"url": url})] {
        let yard = Yard::of(json!({"every": server})).learnt().await;
        for client in [yard.session(json!({})).await, yard.modern(json!({}))] {
            assert_eq!(client.text("every__echo", json!({"message": "hi"})).await, "Echo: hi", "{server}");
            let sum = client.text("every__get-sum", json!({"a": 2, "b": 3})).await;
            assert!(sum.contains('5'), "{sum}");
        }
    }
}

#[tokio::test]
async fn a_stdio_server_behind_supergateway_works() {
    let port = free_port();
    let fault = testkit::bin("fault-server").display().to_string();
    let mut command = servers::command("supergateway", &["--stdio", &fault, "--port", &port.to_string()]);
    let _server = started(&mut command, port).await;
    let yard = Yard::of(json!({"good": {"url": format!("http://127.0.0.1:{port}/sse"), "type": "sse"}}));
    let yard = yard.learnt().await;
    let client = yard.session(json!({})).await;
    assert_eq!(client.text("good__echo", json!({"text": "hi"})).await, "hi");
}

#[tokio::test]
async fn real_servers_are_listed_and_called_behind_one_hub() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("note.md"), "# Hello\n\nA note.\n").unwrap();
    let git = |args: &[&str]| {
        let status = std::process::Command::new("git").args(args).current_dir(folder.path()).status();
        assert!(status.unwrap().success());
    };
    git(&["init", "--quiet"]);
    let path = folder.path().to_str().unwrap().to_owned();
    let mut memory = real("memory", &[]);
    memory["env"] = json!({"MEMORY_FILE_PATH": folder.path().join("memory.json")});
    let yard = Yard::of(json!({
        "everything": real("everything", &[]),
        "filesystem": real("filesystem", &[&path]),
        "memory": memory,
        "obsidian": real("obsidian", &[&path]),
        "time": real("time", &["--local-timezone", "UTC"]),
        "git": real("git", &[]),
        "calculator": real("calculator", &[]),
        "good": good(&[])
    }));
    let yard = yard.keep(folder).learnt_within(START).await;
    let client = yard.session(json!({})).await;
    let entity = json!({"entities": [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]});
    for (tool, arguments, said) in [
        ("everything__echo", json!({"message": "hi"}), "Echo: hi"),
        ("filesystem__read_text_file", json!({"path": format!("{path}/note.md")}), "A note."),
        ("memory__create_entities", entity, "Ada"),
        ("obsidian__read_note", json!({"path": "note.md"}), "A note."),
        (
            "time__convert_time",
            json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
            "21:00",
        ),
        ("git__git_status", json!({"repo_path": path}), "note.md"),
        ("calculator__calculate", json!({"expression": "6*7"}), "42"),
    ] {
        let result = client.call(tool, arguments).await.unwrap();
        assert!(result["isError"] != true && text(&result).contains(said), "{tool}: {result}");
    }
    let tools = client.tools().await.unwrap();
    assert!(tools.iter().all(|tool| named(tool).len() <= 60));
}

/// A program that is killed at the end.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn everything(transport: &str) -> (Running, u16) {
    let port = free_port();
    let mut command = servers::command("everything", &[transport]);
    command.env("PORT", port.to_string());
    (started(&mut command, port).await, port)
}

async fn started(command: &mut std::process::Command, port: u16) -> Running {
    let running =
        Running(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    wait_until(START, || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
    running
}

/// Gives a port below those that systems hand out: nobody gets it by chance, and a connection to it before
/// anybody listens does not end at itself.
fn free_port() -> u16 {
    let first = (std::process::id() % 1_000) as u16 * 10;
    let mut ports = (0..10_000).map(|step| 20_000 + (first + step) % 10_000);
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

#[tokio::test]
async fn a_server_that_was_down_is_met_when_it_is_up() {
    // Bound and not listened at, so that it is nobody else's and refuses.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = socket.local_addr().unwrap().port();
    let yard = Yard::of(json!({"every": {"url": format!("http://127.0.0.1:{port}/mcp")}}));
    let client = yard.modern(json!({}));
    assert_eq!(client.tools().await.unwrap(), Vec::<Value>::new());
    let listener = socket.listen(64).unwrap();
    let server = OverHttp::at(listener, |got| in_session(got, |_| Some(json!({"content": []}))));
    wait_for(SOON, async || {
        let tools = client.tools().await.unwrap();
        tools.iter().any(|tool| named(tool) == "every__hello").then_some(())
    })
    .await;
    client.call("every__hello", json!({})).await.unwrap();
    drop(server);
}

#[tokio::test]
async fn a_modern_server_that_was_slow_to_start_is_met_although_it_refuses_the_second_greeting() {
    let folder = tempfile::tempdir().unwrap();
    // It reads nothing until both greetings are there, and refuses the one that it does not speak first.
    let script = r#"id() { rest=${1#*'"id":'}; printf '%s' "${rest%%,*}"; }
IFS= read -r first
IFS= read -r second
printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"not accepted"}}\n' "$(id "$second")"
printf '{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"slow","version":"1"}}}\n' "$(id "$first")"
while IFS= read -r line; do
case "$line" in
*'"method":"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","tools":[{"name":"hello","inputSchema":{"type":"object"}}]}}\n' "$(id "$line")" ;;
esac
done"#;
    let slow = crate::scripted::program(folder.path(), script);
    let yard = Yard::of(json!({"slow": slow})).keep(folder).learnt().await;
    let listed = yard.command(&["list", "--json"]).output().unwrap();
    assert!(String::from_utf8_lossy(&listed.stdout).contains("slow__hello"));
}
