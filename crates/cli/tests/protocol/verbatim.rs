//! What is judged is what is sent: the same bytes on every surface, and nothing that servers read differently.

use serde_json::{Value, json};

use crate::raw;
use crate::shelf::{calls, server, tool};
use crate::yard::{Served, Yard};

/// Arguments whose numbers and escapes change when they are read and written again.
const ARGUMENTS: &str = r#"{"path":"a","snowflake":9007199254740993,"big":123456789012345678901234567890,"decimal":0.10000000000000000555,"one":1.0,"exponent":1E2,"zero":-0,"escaped":"\u00e9\/\ud83d\ude00","map":{"b":1,"a":2,"A":3}}"#;

/// A hub with every surface before one server that writes down the lines it gets.
async fn counter(policy: Value) -> (Yard, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let mut query = tool("execute_sql", "Runs SQL", &["sql"]);
    query["annotations"] = json!({"destructiveHint": true});
    let mut run = tool("run_command", "Runs a command in a shell", &["command"]);
    run["annotations"] = json!({"destructiveHint": true});
    let mut format = tool("provision", "Prepares a volume", &["volume", "command"]);
    format["annotations"] = json!({"destructiveHint": true});
    let mut row = tool("read_row", "Reads a row", &["row"]);
    row["inputSchema"]["properties"]["row"] = json!({"type": "integer"});
    let tools = [tool("read_note", "Reads a note", &["path"]), query, run, format, row];
    let yard = Yard::new(json!({
        "mcpServers": {"desk": server(folder.path(), "desk", &tools)},
        "policy": policy,
        "toolset": {"core": ["desk__read_note"]},
        "serve": {"profiles": {
            "all": {"surface": "all"}, "search": {"surface": "search"}, "route": {"surface": "route"},
            "set": {"surface": "toolset"}, "through": {"transparent": "desk"},
        }},
    }));
    std::fs::create_dir_all(yard.path().join("workflows")).unwrap();
    let workflow = json!({
        "name": "read-one", "description": "Reads a row",
        "parameters": {"properties": {"row": {"type": "integer"}}, "required": ["row"]},
        "steps": [{"name": "read", "tool": "desk__read_row", "arguments": {"row": "{{parameters.row}}"}}],
    });
    std::fs::write(yard.path().join("workflows/read.json"), workflow.to_string()).unwrap();
    (yard.keep(folder).learnt().await, path)
}

/// Sends a call as it is written, and gives the answer as text.
async fn sent(served: &Served, profile: &str, params: &str) -> String {
    let url = served.at(profile);
    let session = raw::open_session(&url, &[], json!({})).await;
    let headers = [&raw::JSON[..], &[("mcp-session-id", session.as_str())]].concat();
    let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    raw::send(&url, "POST", &headers, &message).await.body
}

#[tokio::test]
async fn h2_a_server_gets_the_bytes_that_were_judged_on_every_surface() {
    let (yard, folder) = counter(json!({})).await;
    let served = yard.http(&[]);
    let text = serde_json::to_string(ARGUMENTS).unwrap();
    let params = [
        ("all", format!(r#"{{"name":"desk__read_note","arguments":{ARGUMENTS}}}"#)),
        ("set", format!(r#"{{"name":"desk__read_note","arguments":{ARGUMENTS}}}"#)),
        ("through", format!(r#"{{"name":"read_note","arguments":{ARGUMENTS}}}"#)),
        (
            "search",
            format!(
                r#"{{"name":"call_tool","arguments":{{"name":"desk__read_note","arguments":{ARGUMENTS}}}}}"#
            ),
        ),
        (
            "search",
            format!(r#"{{"name":"call_tool","arguments":{{"name":"desk__read_note","arguments":{text}}}}}"#),
        ),
        (
            "set",
            format!(
                r#"{{"name":"call_tool","arguments":{{"name":"desk__read_note","arguments":{ARGUMENTS}}}}}"#
            ),
        ),
        (
            "route",
            format!(
                r#"{{"name":"smart_route","arguments":{{"task":"desk__read_note","context":{{"arguments":{ARGUMENTS}}}}}}}"#
            ),
        ),
        (
            "route",
            format!(
                r#"{{"name":"smart_route","arguments":{{"task":"desk__read_note","context":{{"arguments":{text}}}}}}}"#
            ),
        ),
    ];
    for (at, (profile, params)) in params.iter().enumerate() {
        let answer = sent(&served, profile, params).await;
        let got = std::fs::read_to_string(folder.join("desk/calls")).unwrap_or_default();
        assert_eq!(got.lines().count(), at + 1, "{profile} {params}: {answer}");
        let last = got.lines().last().unwrap_or_default();
        assert!(last.contains(&format!(r#""arguments":{ARGUMENTS}"#)), "{profile}: {last}");
    }
}

#[tokio::test]
async fn h2_a_workflow_passes_whole_numbers_on_and_refuses_those_it_would_round() {
    let (yard, folder) = counter(json!({})).await;
    let served = yard.http(&[]);
    let call = |row: &str| format!(r#"{{"name":"workflows__read-one","arguments":{{"row":{row}}}}}"#);
    let answer = sent(&served, "all", &call("9007199254740993")).await;
    let got = std::fs::read_to_string(folder.join("desk/calls")).unwrap_or_default();
    assert!(got.contains(r#""arguments":{"row":9007199254740993}"#), "{answer} {got}");
    let answer = sent(&served, "all", &call("123456789012345678901234567890")).await;
    assert!(answer.contains("would be rounded"), "{answer}");
    assert_eq!(calls(&folder, "desk"), 1);
}

#[tokio::test]
async fn h2_what_servers_read_differently_is_refused_however_it_comes() {
    let (yard, folder) = counter(json!({})).await;
    let served = yard.http(&[]);
    for (arguments, why) in [
        (r#"{"path":"a","Path":"b"}"#, "are one name"),
        (r#"{"path":"a","p\u200bath":"b"}"#, "are one name"),
        (r#"{"path":"a","ｐath":"b"}"#, "are one name"),
        (r#"{"path":"a","x":{"e\u0301":1,"\u00e9":2}}"#, "are one name"),
        (r#"{"path":"\ud800"}"#, "half a character"),
        (r#"{"path":"a","\udc00":1}"#, "half a character"),
        (r#"{"path":"a","n":1e999}"#, "too large"),
        (r#"{"path":"a\u0000b"}"#, "NUL"),
    ] {
        let text = serde_json::to_string(arguments).unwrap();
        for (profile, params) in [
            ("all", format!(r#"{{"name":"desk__read_note","arguments":{arguments}}}"#)),
            ("set", format!(r#"{{"name":"desk__read_note","arguments":{arguments}}}"#)),
            ("through", format!(r#"{{"name":"read_note","arguments":{arguments}}}"#)),
            (
                "search",
                format!(
                    r#"{{"name":"call_tool","arguments":{{"name":"desk__read_note","arguments":{arguments}}}}}"#
                ),
            ),
            (
                "search",
                format!(
                    r#"{{"name":"call_tool","arguments":{{"name":"desk__read_note","arguments":{text}}}}}"#
                ),
            ),
            (
                "route",
                format!(
                    r#"{{"name":"smart_route","arguments":{{"task":"desk__read_note","context":{{"arguments":{arguments}}}}}}}"#
                ),
            ),
            (
                "route",
                format!(
                    r#"{{"name":"smart_route","arguments":{{"task":"desk__read_note","context":{{"arguments":{text}}}}}}}"#
                ),
            ),
        ] {
            let answer = sent(&served, profile, &params).await;
            assert!(answer.contains(why), "{profile} {params}: {answer}");
        }
    }
    let answer =
        sent(&served, "all", r#"{"name":"desk__read_note","Name":"desk__run_command","arguments":{}}"#).await;
    assert!(answer.contains("are one name"), "{answer}");
    let url = served.at("all");
    let session = raw::open_session(&url, &[], json!({})).await;
    let headers = [&raw::JSON[..], &[("mcp-session-id", session.as_str())]].concat();
    let marked = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    assert!(raw::send(&url, "POST", &headers, marked).await.body.contains("byte order mark"));
    assert_eq!(calls(&folder, "desk"), 0);
}

#[tokio::test]
async fn h1_read_only_lets_pass_what_is_proven_to_read_and_refuses_the_rest() {
    let (yard, folder) = counter(json!({"readOnly": true})).await;
    let served = yard.http(&[]);
    let mut passed = 0;
    for (tool, arguments) in [
        ("run_command", json!({"command": "ls -la | wc -l"})),
        ("run_command", json!({"command": "git log --oneline -5"})),
        ("execute_sql", json!({"sql": "SELECT count(*) FROM t"})),
    ] {
        for (profile, name) in [("all", format!("desk__{tool}")), ("through", tool.to_owned())] {
            let answer =
                sent(&served, profile, &json!({"name": name, "arguments": arguments}).to_string()).await;
            passed += 1;
            assert!(answer.contains("from desk"), "{profile} {arguments}: {answer}");
        }
    }
    for (tool, arguments) in [
        ("provision", json!({"volume": "sda", "command": "ls"})),
        ("run_command", json!({"command": "echo x >> ~/.bashrc"})),
        ("run_command", json!({"command": "env mv a b"})),
        ("run_command", json!({"command": "sort -o f"})),
        ("run_command", json!({"command": "ls", "stdin": "x"})),
        ("execute_sql", json!({"sql": "EXPLAIN (VERBOSE, ANALYZE) DELETE FROM t"})),
        ("execute_sql", json!({"sql": "SELECT 1 # 2; DROP TABLE t"})),
        ("execute_sql", json!({"sql": "SELECT nextval('s')"})),
    ] {
        for (profile, name) in [("all", format!("desk__{tool}")), ("through", tool.to_owned())] {
            let answer =
                sent(&served, profile, &json!({"name": name, "arguments": arguments}).to_string()).await;
            assert!(answer.contains("policy.readOnly"), "{profile} {arguments}: {answer}");
        }
    }
    assert_eq!(calls(&folder, "desk"), passed);
}
