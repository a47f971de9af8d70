//! What happens before a call, however it comes: rules, confirmations, limits, and what is written down.

use serde_json::{Value, json};
use testkit::client::Client;

use crate::raw;
use crate::scripted::{GREETING, over_stdio};
use crate::shelf::{calls, route, server, tool, whole};
use crate::yard::{SESSION, Yard, good, named, refusal, text};

/// A server with a tool that reads, one that writes, one that destroys and one that runs commands.
async fn desk(policy: Value) -> (Yard, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let tools = [
        tool("read_note", "Reads a note", &["path"]),
        tool("write_note", "Writes a note", &["path"]),
        tool("delete_note", "Deletes a note for good", &["path"]),
        tool("run_command", "Runs a command in a terminal", &["command"]),
    ];
    let servers = json!({"desk": server(folder.path(), "desk", &tools)});
    let yard = Yard::of(servers.clone()).keep(folder).learnt().await;
    yard.change(json!({"mcpServers": servers, "policy": policy}));
    (yard, path)
}

async fn on(yard: &Yard, surface: &str) -> Client {
    let client = yard.stdio(&["--surface", surface]);
    client.initialize(SESSION, json!({})).await.unwrap();
    client
}

/// Calls by name, directly or through `call_tool`, and gives the result.
async fn by_name(client: &Client, surface: &str, name: &str, arguments: Value) -> Value {
    match surface {
        "search" => client.call("call_tool", json!({"name": name, "arguments": arguments})).await.unwrap(),
        _ => client.call(name, arguments).await.unwrap(),
    }
}

#[tokio::test]
async fn c3_called_by_name_what_destroys_needs_confirm() {
    let (yard, folder) = desk(json!({})).await;
    for (at, surface) in ["all", "search", "route"].into_iter().enumerate() {
        let client = on(&yard, surface).await;
        for arguments in [json!({"path": "a"}), json!({"path": "a", "confirm": false})] {
            let asked = by_name(&client, surface, "desk__delete_note", arguments).await;
            assert_eq!(asked["isError"], true, "{asked}");
            assert!(text(&asked).contains("`confirm`: true"), "{asked}");
        }
        assert_eq!(calls(&folder, "desk"), at, "nothing was called");
        let done =
            by_name(&client, surface, "desk__delete_note", json!({"path": "a", "confirm": true})).await;
        assert_eq!(text(&done), "from desk", "{done}");
    }
    let got = std::fs::read_to_string(folder.join("desk/calls")).unwrap();
    assert!(!got.contains("confirm"), "the hub takes it out, because the tool has no such parameter: {got}");
    let client = on(&yard, "search").await;
    let beside = json!({"name": "desk__delete_note", "arguments": {"path": "a"}, "confirm": true});
    assert_eq!(text(&client.call("call_tool", beside).await.unwrap()), "from desk");
}

#[tokio::test]
async fn c3_what_has_to_be_confirmed_says_so_in_the_listing() {
    let (yard, _) = desk(json!({})).await;
    let client = on(&yard, "all").await;
    let tools = client.tools().await.unwrap();
    let has_confirm = |name: &str| {
        let tool = tools.iter().find(|tool| named(tool) == name).unwrap();
        tool["inputSchema"]["properties"]["confirm"]["type"] == "boolean"
    };
    assert!(has_confirm("desk__delete_note"));
    assert!(!has_confirm("desk__read_note") && !has_confirm("desk__write_note"));
}

#[tokio::test]
async fn c3_the_arguments_decide_not_the_tool_alone() {
    let (yard, folder) = desk(json!({})).await;
    let client = on(&yard, "all").await;
    let run = |line: &str| client.call("desk__run_command", json!({"command": line}));
    assert_eq!(text(&run("git push").await.unwrap()), "from desk");
    let asked = run("git push --force").await.unwrap();
    assert!(text(&asked).contains("`git push --force` in `command`"), "{asked}");
    assert_eq!(calls(&folder, "desk"), 1);
    let client = on(&yard, "route").await;
    let context = json!({"arguments": {"command": "git reset --hard HEAD~3"}});
    let asked = route(&client, json!({"task": "desk__run_command", "context": context})).await;
    let question = asked["clarificationQuestion"].as_str().unwrap();
    assert!(
        question.contains("git reset --hard HEAD~3") && question.contains("desk__run_command"),
        "{asked}"
    );
    assert_eq!((&asked["executedTools"], asked["confirm"].is_string()), (&json!([]), true));
    assert_eq!(calls(&folder, "desk"), 1);
}

#[tokio::test]
async fn c3_a_rule_that_denies_is_named_on_every_surface() {
    let rules =
        json!({"rules": [{"tool": "desk__run_*", "then": "deny"}, {"effect": "write", "then": "ask"}]});
    let (yard, folder) = desk(rules).await;
    let client = on(&yard, "all").await;
    assert!(!client.tools().await.unwrap().iter().any(|tool| named(tool) == "desk__run_command"));
    let (_, message, _) = refusal(client.call("desk__run_command", json!({"command": "ls"})).await);
    assert!(message.contains("`policy.rules[0]`"), "{message}");
    let asked = client.call("desk__write_note", json!({"path": "a"})).await.unwrap();
    assert!(text(&asked).contains("`policy.rules[1]` asks"), "{asked}");
    let client = on(&yard, "search").await;
    let denied = by_name(&client, "search", "desk__run_command", json!({"command": "ls"})).await;
    assert!(denied["isError"] == true && text(&denied).contains("rules[0]"), "{denied}");
    let client = on(&yard, "route").await;
    let context = json!({"arguments": {"path": "a"}});
    let asked = route(&client, json!({"task": "desk__write_note", "context": context})).await;
    assert!(asked["confirm"].is_string(), "{asked}");
    assert_eq!(calls(&folder, "desk"), 0);
}

#[tokio::test]
async fn c3_read_only_leaves_what_reads() {
    let (yard, folder) = desk(json!({"readOnly": true})).await;
    let client = on(&yard, "all").await;
    let names: Vec<String> = client.tools().await.unwrap().iter().map(|it| named(it).to_owned()).collect();
    assert_eq!(names, ["desk__read_note"]);
    let (_, message, _) =
        refusal(client.call("desk__write_note", json!({"path": "a", "confirm": true})).await);
    assert!(message.contains("`policy.readOnly`"), "{message}");
    assert_eq!(text(&client.call("desk__read_note", json!({"path": "a"})).await.unwrap()), "from desk");
    assert_eq!(calls(&folder, "desk"), 1);
}

#[tokio::test]
async fn c3_read_only_refuses_a_read_that_is_told_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let mut query = tool("query", "Runs a read-only SQL query", &["sql"]);
    query["annotations"] = json!({"readOnlyHint": true});
    let servers = json!({"desk": server(folder.path(), "desk", &[query])});
    let path = folder.path().to_owned();
    let yard = Yard::of(servers.clone()).keep(folder).learnt().await;
    yard.change(json!({"mcpServers": servers, "policy": {"readOnly": true}}));
    let client = on(&yard, "all").await;
    for sql in
        ["SELECT nextval('s')", "SELECT 1 INTO OUTFILE 'x'", "SELECT [a ; DROP TABLE x", "SELECT 'open"]
    {
        let (_, message, _) = refusal(client.call("desk__query", json!({"sql": sql})).await);
        assert!(message.contains("`policy.readOnly`"), "{sql}: {message}");
    }
    assert_eq!(text(&client.call("desk__query", json!({"sql": "SELECT 1"})).await.unwrap()), "from desk");
    assert_eq!(calls(&path, "desk"), 1);
}

#[tokio::test]
async fn v5_c3_a_text_that_replaces_another_is_confirmed_first() {
    let folder = tempfile::tempdir().unwrap();
    let tools = [tool("write_file", "Writes a file", &["path", "content"])];
    let path = folder.path().to_owned();
    let yard = Yard::of(json!({"desk": server(folder.path(), "desk", &tools)})).keep(folder).learnt().await;
    let client = on(&yard, "all").await;
    let listed = client.tools().await.unwrap();
    assert_eq!(listed[0]["inputSchema"]["properties"]["confirm"]["type"], "boolean", "{listed:?}");
    let mut arguments = json!({"path": "a.md", "content": "b"});
    let asked = client.call("desk__write_file", arguments.clone()).await.unwrap();
    assert!(text(&asked).contains("`content` replaces what is in `path`"), "{asked}");
    assert_eq!(calls(&path, "desk"), 0);
    arguments["confirm"] = json!(true);
    assert_eq!(text(&client.call("desk__write_file", arguments).await.unwrap()), "from desk");
}

#[tokio::test]
async fn c3_only_the_word_true_confirms_and_never_a_parameter_of_the_tool() {
    let folder = tempfile::tempdir().unwrap();
    let tools = [
        tool("delete_note", "Deletes a note for good", &["path"]),
        tool("delete_all", "Deletes everything", &["confirm"]),
    ];
    let path = folder.path().to_owned();
    let yard = Yard::of(json!({"desk": server(folder.path(), "desk", &tools)})).keep(folder).learnt().await;
    let client = on(&yard, "all").await;
    let asked = client.call("desk__delete_note", json!({"path": "a", "confirm": "true"})).await.unwrap();
    assert!(asked["isError"] == true && text(&asked).contains("`confirm`: true"), "{asked}");
    let asked = client.call("desk__delete_all", json!({"confirm": true})).await.unwrap();
    assert!(text(&asked).contains("`toolyard_confirm`: true"), "{asked}");
    let listed = client.tools().await.unwrap();
    let all = listed.iter().find(|tool| named(tool) == "desk__delete_all").unwrap();
    assert_eq!(all["inputSchema"]["properties"]["toolyard_confirm"]["type"], "boolean", "{all}");
    assert_eq!(calls(&path, "desk"), 0);
    let meant = json!({"confirm": true, "toolyard_confirm": true});
    assert_eq!(text(&client.call("desk__delete_all", meant).await.unwrap()), "from desk");
    let client = on(&yard, "search").await;
    let inner = json!({"name": "desk__delete_all", "arguments": {"confirm": true}});
    assert_eq!(client.call("call_tool", inner).await.unwrap()["isError"], true);
    let beside = json!({"name": "desk__delete_all", "arguments": {"confirm": true}, "confirm": true});
    assert_eq!(text(&client.call("call_tool", beside).await.unwrap()), "from desk");
    let got = std::fs::read_to_string(path.join("desk/calls")).unwrap();
    assert!(!got.contains("toolyard_confirm") && got.matches(r#""confirm":true"#).count() == 2, "{got}");
}

#[tokio::test]
async fn c3_what_is_said_twice_is_refused_however_it_comes() {
    let (yard, folder) = desk(json!({})).await;
    let served = yard.http(&[]);
    let session = raw::open_session(&served.url, &[], json!({})).await;
    let headers = [&raw::JSON[..], &[("mcp-session-id", session.as_str())]].concat();
    for params in [
        r#"{"name":"desk__run_command","arguments":{"command":"rm -rf /x","command":"ls"}}"#,
        r#"{"name":"desk__run_command","arguments":{"command":"rm -rf /x","c\u006fmmand":"ls"}}"#,
        r#"{"name":"desk__run_command","arguments":{"x":[{"a":1,"a":2}],"command":"ls"}}"#,
        r#"{"name":"desk__delete_note","arguments":{"path":"a","confirm":false,"confirm":true}}"#,
        r#"{"name":"desk__read_note","name":"desk__delete_note","arguments":{"path":"a"}}"#,
        r#"{"name":"desk__read_note","arguments":{"path":"a"},"arguments":{"path":"b"}}"#,
        r#"{"name":"call_tool","arguments":{"name":"desk__read_note","arguments":{"path":"a","path":"b"}}}"#,
        r#"{"name":"call_tool","arguments":{"name":"desk__read_note","arguments":"{\"path\":\"a\",\"path\":\"b\"}"}}"#,
        r#"{"name":"smart_route","arguments":{"task":"desk__read_note","context":{"arguments":{"path":"a","path":"b"}}}}"#,
        r#"{"name":"smart_route","arguments":{"task":"desk__read_note","context":{"arguments":"{\"path\":\"a\",\"path\":\"b\"}"}}}"#,
    ] {
        let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let reply = raw::send(&served.url, "POST", &headers, &message).await;
        assert!(reply.body.contains("is there twice"), "{params}: {}", reply.body);
    }
    assert_eq!(calls(&folder, "desk"), 0);
}

#[tokio::test]
async fn r20_a_limit_holds_however_a_tool_is_called() {
    let (yard, folder) = desk(json!({"rateLimits": {"desk__read_*": 1}})).await;
    let client = on(&yard, "route").await;
    let read = json!({"task": "desk__read_note", "context": {"arguments": {"path": "a"}}});
    assert_eq!(route(&client, read.clone()).await["executedTools"], json!(["desk__read_note"]));
    let held = route(&client, read).await;
    assert!(held["error"].as_str().unwrap().contains("try again in"), "{held}");
    let held = client.call("desk__read_note", json!({"path": "a"})).await.unwrap();
    assert!(held["isError"] == true && text(&held).contains("try again in"), "{held}");
    assert_eq!(calls(&folder, "desk"), 1);
}

#[tokio::test]
async fn r8_a_server_that_keeps_failing_is_left_alone_and_others_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let echo = [tool("echo", "Repeats a text", &["text"])];
    let yard = Yard::of(json!({"good": good(&[]), "twin": server(folder.path(), "twin", &echo)}));
    let yard = yard.keep(folder).learnt().await;
    let client = on(&yard, "all").await;
    // It rests for a few seconds only.
    let resting = testkit::wait_for(crate::yard::SOON, || async {
        for _ in 0..5 {
            client.call("good__die", json!({"confirm": true})).await.unwrap();
        }
        let told = client.call("good__echo", json!({"text": "hi"})).await.unwrap();
        text(&told).contains("try again in").then_some(told)
    })
    .await;
    assert!(text(&resting).contains("twin__echo"), "{resting}");
    assert_eq!(client.text("twin__echo", json!({"text": "hi"})).await, "from twin");
}

#[tokio::test]
async fn c3_every_call_is_written_down_without_its_values() {
    let (yard, _) = desk(json!({"deny": ["*__write_*"]})).await;
    let client = on(&yard, "all").await;
    client.call("desk__read_note", json!({"path": "hidden-value"})).await.unwrap();
    client.call("desk__write_note", json!({"path": "hidden-value"})).await.unwrap_err();
    client.call("desk__delete_note", json!({"path": "hidden-value"})).await.unwrap();
    let audit = |args: &[&str]| {
        let output = yard.command(&[&["audit", "--json"], args].concat()).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["calls"].as_array().unwrap().clone()
    };
    let all =
        testkit::wait_for(crate::yard::SOON, || async { Some(audit(&[])).filter(|all| all.len() == 3) })
            .await;
    let told: Vec<[&str; 2]> =
        all.iter().map(|it| [it["tool"].as_str().unwrap(), it["outcome"].as_str().unwrap()]).collect();
    let expected = [
        ["desk__read_note", "answered"],
        ["desk__write_note", "denied"],
        ["desk__delete_note", "unconfirmed"],
    ];
    assert_eq!(told, expected);
    assert_eq!(all[0]["shape"], json!({"path": "string"}));
    assert!(!json!(all).to_string().contains("hidden-value"));
    assert_eq!(audit(&["--tool", "*__read_*", "--since", "1h"]).len(), 1);
    assert_eq!(audit(&["--outcome", "denied"]).len(), 1);
    assert_eq!(audit(&["--limit", "2"]).len(), 2);
}

/// A server whose one tool answers with a long text of strange characters.
async fn talkative() -> (Yard, String) {
    let folder = tempfile::tempdir().unwrap();
    let long: String = (0..4000).map(|at| format!("{at} \u{200b}\u{1b}[31mred\n")).collect();
    let result = json!({"content": [{"type": "text", "text": long}]});
    let list = json!({"tools": [tool("read_all", "Reads everything", &[])]});
    let answers = [
        ("initialize", GREETING.to_owned()),
        ("tools/list", format!(r#""result":{list}"#)),
        ("tools/call", format!(r#""result":{result}"#)),
    ];
    let answers: Vec<(&str, &str)> =
        answers.iter().map(|(method, answer)| (*method, answer.as_str())).collect();
    let server = over_stdio(folder.path(), &answers);
    let yard = Yard::new(json!({"mcpServers": {"long": server.clone()}, "serve": {"resultBytes": 20_000}}));
    (yard.keep(folder).learnt().await, long)
}

#[tokio::test]
async fn r1_a_long_result_goes_on_by_its_handle_and_is_passed_on_as_it_is() {
    let (yard, long) = talkative().await;
    let client = on(&yard, "route").await;
    let mut answer = whole(&client, json!({"task": "long__read_all"})).await;
    let mut read = answer["content"][1]["text"].as_str().unwrap().to_owned();
    while let Some(more) = answer["structuredContent"]["more"].as_str().map(str::to_owned) {
        assert!(answer.to_string().len() < 100_000);
        assert!(!text(&answer).contains('\u{1b}'), "what is said besides is clean");
        answer = whole(&client, json!({"task": "more", "context": {"more": more}})).await;
        read.push_str(answer["content"][1]["text"].as_str().unwrap());
    }
    assert_eq!(read, long);
    let direct = client.call("long__read_all", json!({})).await.unwrap();
    assert_eq!(text(&direct), long, "by its own name nothing is cut");
    let client = on(&yard, "search").await;
    let cut = client.call("call_tool", json!({"name": "long__read_all"})).await.unwrap();
    let said = cut["content"][1]["text"].as_str().unwrap();
    let handle = said.rsplit('"').nth(1).unwrap();
    let page = client.call("call_tool", json!({"name": "long__read_all", "more": handle})).await.unwrap();
    let read = format!("{}{}", text(&cut), text(&page));
    assert!(long.starts_with(&read) && read.len() > 30_000, "{said}");
    let unknown = client.call("call_tool", json!({"name": "long__read_all", "more": "x.0"})).await.unwrap();
    assert_eq!(unknown["isError"], true);
}
