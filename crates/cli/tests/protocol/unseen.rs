//! Characters that nobody sees, in every string of a definition, on every way to a model or a person.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::client::Client;

use crate::shelf::{calls, route, server, tool};
use crate::yard::{SESSION, Yard, named, refusal};

/// "Ignore" in tag characters.
const TAGS: &str = "\u{e0049}\u{e0067}\u{e006e}\u{e006f}\u{e0072}\u{e0065}";

/// A tool that hides something in each of its strings, and one that hides nothing.
fn tools() -> [Value; 4] {
    let veiled = json!({
        "name": "find_report",
        "title": format!("Find{TAGS} a report"),
        "description": format!("Finds a report by its topic.{TAGS}"),
        "inputSchema": {
            "type": "object",
            "description": format!("What to find\u{200b}{TAGS}"),
            "properties": {
                "to\u{200b}pic": {"type": "string", "description": format!("The topic{TAGS}\u{202e}"), "examples": [format!("cats{TAGS}")]},
                "order": {"enum": ["newest\u{e0020}", "oldest"], "title": "Or\u{ad}der"},
                "filter": {"$ref": "#/$defs/Fil\u{2060}ter"},
            },
            "required": ["to\u{200b}pic"],
            "$defs": {"Fil\u{2060}ter": {"type": "object", "properties": {"au\u{feff}thor": {"type": "string", "default": "no\u{f8ff}body"}}}},
        },
        "annotations": {"title": format!("Find{TAGS}"), "readOnlyHint": true},
        "outputSchema": {"type": "object", "properties": {"pa\u{200b}ge": {"type": "string"}}},
        "_meta": {"example.com/note": format!("hello{TAGS}"), format!("ex{TAGS}"): 1},
    });
    let plain = json!({
        "name": "send_report",
        "description": "Sends ⚠️ a report 👩‍💻 to می‌خواهم",
        "inputSchema": {"type": "object", "properties": {"to": {"type": "string", "description": "क्‍ष 1️⃣", "maxLength": 1.50}}},
    });
    let same = json!({
        "name": "count_reports",
        "description": "Counts reports",
        "inputSchema": {"type": "object", "properties": {"topic": {}, "to\u{200b}pic": {}}},
    });
    [veiled, plain, same, tool("list_reports", "Lists every report", &[])]
}

async fn archive() -> (Yard, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let yard = Yard::new(json!({
        "mcpServers": {"archive": server(folder.path(), "archive", &tools())},
        "tiers": {"archive__find_report": 0},
        "serve": {"profiles": {
            "all": {"surface": "all"}, "through": {"transparent": "archive"}, "set": {"surface": "toolset"},
            "search": {"surface": "search"}, "route": {"surface": "route"},
        }},
    }));
    (yard.keep(folder).learnt().await, path)
}

/// Whether nothing in a text is there that a person could not see, but for what emoji and scripts need.
fn assert_plain(what: &str, said: &str) {
    let hides = |c: char| matches!(c, '\u{ad}' | '\u{200b}' | '\u{202e}' | '\u{2060}' | '\u{feff}' | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{10ffff}');
    assert!(!said.contains(hides), "{what} hides something: {}", said.escape_unicode());
    let escaped = ["\\u00ad", "\\u200b", "\\u202e", "\\u2060", "\\ufeff", "\\uf8ff", "\\udb40"];
    assert!(!escaped.iter().any(|hidden| said.contains(hidden)), "{what} hides something: {said}");
}

fn last_call(folder: &Path) -> Value {
    let got = std::fs::read_to_string(folder.join("archive/calls")).unwrap();
    let line: Value = serde_json::from_str(got.lines().last().unwrap()).unwrap();
    line["params"]["arguments"].clone()
}

#[tokio::test]
async fn m7_no_surface_shows_what_nobody_can_see_and_the_server_gets_its_own_names() {
    let (yard, folder) = archive().await;
    let served = yard.http(&[]);
    let given = json!({"topic": "cats", "order": "newest", "filter": {"author": "Ada"}});
    let own =
        json!({"to\u{200b}pic": "cats", "order": "newest\u{e0020}", "filter": {"au\u{feff}thor": "Ada"}});
    for (profile, name) in
        [("all", "archive__find_report"), ("set", "archive__find_report"), ("through", "find_report")]
    {
        for client in [served.session(profile, json!({})).await, served.modern(profile, json!({}))] {
            let listing = client.request("tools/list", json!({})).await.unwrap();
            assert_plain(profile, &listing.to_string());
            let tools = listing["tools"].as_array().unwrap();
            let found = tools.iter().find(|it| named(it) == name).unwrap_or_else(|| panic!("{listing}"));
            assert_eq!(found["inputSchema"]["properties"]["topic"]["description"], "The topic", "{found}");
            assert_eq!(found["inputSchema"]["required"], json!(["topic"]));
            client.call(name, given.clone()).await.unwrap();
            assert_eq!(last_call(&folder), own, "{profile}");
        }
    }
    let search = served.session("search", json!({})).await;
    for (tool, arguments) in [
        ("find_tools", json!({"query": "find a report by topic"})),
        ("describe_tool", json!({"name": "archive__find_report"})),
    ] {
        assert_plain(tool, &search.text(tool, arguments).await);
    }
    search
        .call("call_tool", json!({"name": "archive__find_report", "arguments": {"topic": "dogs"}}))
        .await
        .unwrap();
    assert_eq!(last_call(&folder), json!({"to\u{200b}pic": "dogs"}));
    served.terminate().await;
}

#[tokio::test]
async fn m7_a_route_shows_and_takes_the_names_without_hidden_characters() {
    let (yard, folder) = archive().await;
    let client = on(&yard, "route").await;
    let asked = route(&client, json!({"task": "archive__find_report"})).await;
    assert_plain("a question", &asked.to_string());
    assert!(asked.to_string().contains("topic"), "{asked}");
    let context = json!({"arguments": {"topic": "cats", "order": "newest"}});
    let done = route(&client, json!({"task": "archive__find_report", "context": context})).await;
    assert_eq!(done["executedTools"], json!(["archive__find_report"]), "{done}");
    assert_plain("an answer", &done.to_string());
    assert_eq!(last_call(&folder), json!({"to\u{200b}pic": "cats", "order": "newest\u{e0020}"}));
}

#[tokio::test]
async fn m7_the_command_line_and_its_json_hide_nothing() {
    let (yard, folder) = archive().await;
    for args in [
        &["list"][..],
        &["list", "--json"],
        &["describe", "archive__find_report"],
        &["describe", "archive__find_report", "--json"],
        &["find", "report by topic", "--json"],
        &["route", "--dry-run", "find a report about cats"],
        &["lint", "--json"],
    ] {
        let ran = yard.command(args).output().unwrap();
        assert_plain(&args.join(" "), &String::from_utf8_lossy(&ran.stdout));
    }
    let called =
        yard.command(&["call", "archive__find_report", "topic=cats", "order=newest"]).output().unwrap();
    assert!(called.status.success(), "{}", String::from_utf8_lossy(&called.stderr));
    assert_eq!(last_call(&folder), json!({"to\u{200b}pic": "cats", "order": "newest\u{e0020}"}));
}

#[tokio::test]
async fn m7_names_that_become_the_same_leave_a_tool_out_and_one_argument_is_not_given_twice() {
    let (yard, folder) = archive().await;
    let client = yard.session(json!({})).await;
    let tools = client.tools().await.unwrap();
    assert!(!tools.iter().any(|tool| named(tool) == "archive__count_reports"));
    let listed = yard.command(&["doctor"]).output().unwrap();
    let said = String::from_utf8_lossy(&listed.stdout);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("two of its names or values are both `topic` without their hidden characters"),
        "{said}"
    );
    let twice = json!({"topic": "cats", "to\u{200b}pic": "dogs"});
    let before = calls(&folder, "archive");
    let answer = client.call("archive__find_report", twice).await;
    let said = match answer {
        Ok(result) => result.to_string(),
        Err(_) => refusal(answer).1,
    };
    assert!(said.contains("`topic`"), "{said}");
    assert_eq!(calls(&folder, "archive"), before);
    let through = yard.http(&[]);
    let names: Vec<String> = through
        .session("through", json!({}))
        .await
        .tools()
        .await
        .unwrap()
        .iter()
        .map(|it| named(it).to_owned())
        .collect();
    assert_eq!(names, ["find_report", "send_report", "list_reports"]);
}

#[tokio::test]
async fn m7_a_definition_that_hides_nothing_is_carried_as_it_came() {
    let (yard, folder) = archive().await;
    let [_, plain, _, _] = tools();
    let client = yard.session(json!({})).await;
    let tools = client.tools().await.unwrap();
    let shown = tools.iter().find(|tool| named(tool) == "archive__send_report").unwrap();
    let mut expected = plain.clone();
    expected["name"] = json!("archive__send_report");
    assert_eq!(shown.to_string(), expected.to_string());
    client.call("archive__send_report", json!({"to": "a\u{200b}b"})).await.unwrap();
    assert_eq!(last_call(&folder), json!({"to": "a\u{200b}b"}), "what a caller says is not cleaned");
    let through = yard.http(&[]);
    let tools = through.session("through", json!({})).await.tools().await.unwrap();
    assert_eq!(tools[1].to_string(), plain.to_string());
}

#[tokio::test]
async fn m7_the_servers_own_spelling_does_not_get_past_the_policy() {
    let folder = tempfile::tempdir().unwrap();
    let run = json!({"name": "run", "description": "Runs a command in a terminal",
        "inputSchema": {"type": "object", "properties": {"com\u{200b}mand": {"type": "string"}}}});
    let yard = Yard::of(json!({"shell": server(folder.path(), "shell", &[run])})).learnt().await;
    let client = yard.session(json!({})).await;
    for name in ["command", "com\u{200b}mand"] {
        let asked = client.call("shell__run", json!({name: "rm -rf /srv"})).await.unwrap();
        assert!(asked["isError"] == true && asked.to_string().contains("`confirm`: true"), "{asked}");
    }
    assert_eq!(calls(folder.path(), "shell"), 0);
}

async fn on(yard: &Yard, surface: &str) -> Client {
    let client = yard.stdio(&["--surface", surface]);
    client.initialize(SESSION, json!({})).await.unwrap();
    client
}
