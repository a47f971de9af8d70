//! A recorded server behind the hub, and the ledger that it writes.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::place::Place;

#[test]
fn a_recorded_server_is_listed_and_called_like_a_real_one() {
    let place = replayed();
    insta::assert_snapshot!(place.run(&["list"]), @"
    clock  1 tool
      clock__now            read     Tell the time

    memory  2 tools
      memory__read_graph    read     Read the entire knowledge graph
      memory__search_nodes  read     Search for nodes in the knowledge graph

    3 tools of 2 servers
    [exit 0]
    ");
    insta::assert_snapshot!(place.run(&["call", "memory__read_graph"]), @"
    ok: read_graph was called with {}. This is a recorded server without data behind it: treat the call as successful and do not repeat it.
    [exit 0]
    ");
    insta::assert_snapshot!(place.run(&["call", "memory__search_nodes", "query=Ana\nBen", "limit=3"]), @r#"
    ok: search_nodes was called with {"query":"Ana\nBen","limit":3}. This is a recorded server without data behind it: treat the call as successful and do not repeat it.
    [exit 0]
    "#);
    assert_eq!(
        ledger(&place),
        [
            json!({ "tool": "memory__read_graph", "arguments": {}, "missing": [] }),
            json!({ "tool": "memory__search_nodes", "arguments": { "query": "Ana\nBen", "limit": 3 }, "missing": [] }),
        ]
    );
}

#[test]
fn servers_share_a_ledger() {
    let place = replayed();
    place.run(&["call", "memory__read_graph"]);
    place.run(&["call", "clock__now"]);
    let tools: Vec<Value> = ledger(&place).into_iter().map(|mut it| it["tool"].take()).collect();
    assert_eq!(tools, ["memory__read_graph", "clock__now"]);
}

#[test]
fn a_recorded_server_answers_each_request_on_one_line_and_writes_down_what_was_missing() {
    let place = replayed();
    let answers = said(
        &place,
        &[
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"search_nodes","arguments":{"limit":3}}}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"forget"}}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"prompts/list"}"#,
            "no message",
        ],
    );
    insta::assert_snapshot!(answers, @r#"
    {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{ "name": "memory-server", "version": "0.6.3" }}}
    {"jsonrpc":"2.0","id":"a","result":{}}
    {"jsonrpc":"2.0","id":2,"result":{"tools":[{ "name": "read_graph", "description": "Read the entire knowledge graph", "inputSchema": { "type": "object", "properties": {} }, "annotations": { "readOnlyHint": true } },{ "name": "search_nodes", "description": "Search for nodes in the knowledge graph", "inputSchema": { "type": "object", "required": [ "query" ], "properties": { "query": { "type": "string" }, "limit": { "type": "integer" } } }, "annotations": { "readOnlyHint": true }, "x-vendor": "kept" }]}}
    {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"error: search_nodes was not run; required arguments are missing: query"}],"isError":true}}
    {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"there is no tool `forget`"}}
    {"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"method `prompts/list` is not served here"}}
    {"jsonrpc":"2.0","error":{"code":-32700,"message":"the message is not valid JSON: expected ident at line 1 column 2"}}
    [exit 0]
    "#);
    assert_eq!(
        ledger(&place),
        [
            json!({ "tool": "memory__search_nodes", "arguments": { "limit": 3 }, "missing": ["query"] }),
            json!({ "tool": "memory__forget", "arguments": {}, "missing": [] }),
        ]
    );
}

#[test]
fn a_server_that_was_not_recorded_is_told_with_those_that_were() {
    let place = replayed();
    insta::assert_snapshot!(place.run(&["recorded", "../catalog.json", "git", "../ledger.jsonl"]), @"
    [stderr]
    error: `../catalog.json` has no server `git`
      hint: it has memory, clock
    [exit 2]
    ");
    insta::assert_snapshot!(place.run(&["recorded", "../absent.json", "git", "../ledger.jsonl"]), @"
    [stderr]
    error: `../absent.json` cannot be read: No such file or directory (os error 2)
    [exit 2]
    ");
}

#[test]
fn the_command_for_recorded_servers_is_not_shown() {
    let place = Place::new();
    for args in [&["--help"][..], &["help"], &["man"]] {
        assert!(!place.run(args).contains("recorded"), "{args:?}");
    }
}

/// A home whose servers are recordings that share a ledger.
fn replayed() -> Place {
    let place = Place::new();
    let catalog = json!([
        { "server": "memory", "info": { "name": "memory-server", "version": "0.6.3" }, "tools": [
            { "name": "read_graph", "description": "Read the entire knowledge graph",
              "inputSchema": { "type": "object", "properties": {} }, "annotations": { "readOnlyHint": true } },
            { "name": "search_nodes", "description": "Search for nodes in the knowledge graph",
              "inputSchema": { "type": "object", "required": ["query"], "properties": {
                  "query": { "type": "string" }, "limit": { "type": "integer" } } },
              "annotations": { "readOnlyHint": true }, "x-vendor": "kept" },
        ] },
        { "server": "clock", "tools": [
            { "name": "now", "description": "Tell the time", "inputSchema": { "type": "object" },
              "annotations": { "readOnlyHint": true } },
        ] },
    ]);
    // Over several lines, as people keep such files.
    place.write("catalog.json", &format!("{catalog:#}"));
    let server = |name: &str| {
        let files = ["catalog.json", "ledger.jsonl"].map(|it| place.path(it));
        json!({ "command": env!("CARGO_BIN_EXE_toolyard"), "args": ["recorded", files[0], name, files[1]] })
    };
    let servers = json!({ "memory": server("memory"), "clock": server("clock") });
    place.configure(&json!({ "mcpServers": servers }).to_string());
    place
}

/// The lines of the ledger, whose times are checked and taken out.
fn ledger(place: &Place) -> Vec<Value> {
    let lines = place.read("ledger.jsonl");
    let mut entries: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for entry in &mut entries {
        let at = entry.as_object_mut().unwrap().remove("at").unwrap();
        assert!(at.as_f64().is_some_and(|at| at > 1.7e9), "{at}");
    }
    entries
}

/// What the recorded server `memory` answers to these lines, without the layout of its catalog.
fn said(place: &Place, lines: &[&str]) -> String {
    let mut child = place
        .command(&["recorded", "../catalog.json", "memory", "../ledger.jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.join("\n").as_bytes()).unwrap();
    let seen = place.seen(&child.wait_with_output().unwrap());
    let lines = seen.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}
