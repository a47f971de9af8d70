//! What is listed to whom, and how tools behind a search are reached.

use serde_json::{Value, json};
use testkit::client::Client;

use crate::scripted::{self, GREETING};
use crate::yard::{SESSION, Yard, good, named, refusal, text};

#[tokio::test]
async fn r18_every_tool_is_listed_once_in_the_same_order_for_everybody() {
    let yard = Yard::of(json!({"twin": good(&[]), "good": good(&["--modern"]), "time": {"builtin": "time"}}));
    let yard = yard.learnt().await;
    let mut listings = Vec::new();
    for _ in 0..2 {
        for client in [yard.session(json!({})).await, yard.modern(json!({}))] {
            let names: Vec<String> =
                client.tools().await.unwrap().iter().map(|tool| named(tool).to_owned()).collect();
            listings.push(names);
        }
    }
    let mut unique = listings[0].clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), listings[0].len());
    assert!(unique.contains(&"good__echo".to_owned()) && unique.contains(&"twin__echo".to_owned()));
    assert!(listings.iter().all(|listing| *listing == listings[0]), "{listings:#?}");
}

#[tokio::test]
async fn names_have_at_most_sixty_characters_and_still_reach_their_tool() {
    let folder = tempfile::tempdir().unwrap();
    let long = |end: &str| format!("a_name_that_goes_on_and_on_until_nobody_remembers_how_it_began_{end}");
    let tool = |name: String| json!({"name": name, "inputSchema": {"type": "object"}});
    let tools =
        json!({"tools": [tool(long("one")), tool(long("two")), tool("with spaces & ümlauts".to_owned())]});
    let server = scripted::over_stdio(
        folder.path(),
        &[
            ("initialize", GREETING),
            ("tools/list", &format!(r#""result":{tools}"#)),
            ("tools/call", r#""result":{"content":[{"type":"text","text":"reached"}]}"#),
        ],
    );
    let yard = Yard::of(json!({"scripted": server})).keep(folder).learnt().await;
    let client = yard.session(json!({})).await;
    let mut names: Vec<String> =
        client.tools().await.unwrap().iter().map(|it| named(it).to_owned()).collect();
    assert_eq!(names.len(), 3);
    for name in &names {
        assert!(name.len() <= 60 && name.starts_with("scripted__"), "{name}");
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)), "{name}");
        assert_eq!(client.text(name, json!({})).await, "reached");
    }
    names.dedup();
    assert_eq!(names.len(), 3, "shortened names differ");
}

#[tokio::test]
async fn a_search_finds_describes_and_calls() {
    let (client, _yard) = searching().await;
    let names: Vec<Value> = client.tools().await.unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(json!(names), json!(["find_tools", "describe_tool", "call_tool"]));
    let found = client.text("find_tools", json!({"query": "repeat a text", "limit": 2})).await;
    let first = found.lines().next().unwrap();
    assert_eq!(first, "good__echo(text) - Repeats a text");
    assert!(found.lines().count() <= 2, "{found}");
    let described = client.text("describe_tool", json!({"name": "good__echo"})).await;
    let described: Value = serde_json::from_str(&described).unwrap();
    assert_eq!(described["inputSchema"]["required"], json!(["text"]));
    let called = client.text("call_tool", json!({"name": "good__echo", "arguments": {"text": "hi"}})).await;
    assert_eq!(called, "hi");
    assert_eq!(client.text("good__echo", json!({"text": "by its own name"})).await, "by its own name");
}

#[tokio::test]
async fn answers_of_a_search_are_short() {
    let (client, _yard) = searching().await;
    let all = client.text("find_tools", json!({"server": "good", "limit": 50})).await;
    assert!(all.lines().count() > 20, "{all}");
    for line in all.lines() {
        assert!(line.len() < 200 && line.starts_with("good__"), "{line}");
    }
    let listing = client.request("tools/list", json!({})).await.unwrap().to_string();
    assert!(listing.len() < 2500, "{} bytes", listing.len());
}

#[tokio::test]
async fn a_model_may_write_arguments_as_text_or_leave_them_out() {
    let (client, _yard) = searching().await;
    let call = async |arguments: Value| {
        client.call("call_tool", json!({"name": "good__echo", "arguments": arguments})).await.unwrap()
    };
    assert_eq!(text(&call(json!(r#"{"text": "as text"}"#)).await), "as text");
    assert_eq!(text(&call(json!(r#"  {"text": "padded"}"#)).await), "padded");
    for nothing in [json!(""), json!(null)] {
        assert_eq!(text(&call(nothing).await), "`text` is missing");
    }
    assert_eq!(client.text("call_tool", json!({"name": "good__count_read"})).await, "0");
    for wrong in [json!("hello"), json!(["text"]), json!(7), json!(r#"["text"]"#)] {
        let result = call(wrong.clone()).await;
        assert_eq!(result["isError"], true, "{wrong}: {result}");
        assert!(text(&result).contains("as an object"), "{wrong}: {result}");
    }
}

#[tokio::test]
async fn names_that_are_nearly_right_are_answered_with_the_right_one() {
    let (client, _yard) = searching().await;
    for (tool, arguments) in
        [("call_tool", json!({"name": "good__ecko"})), ("describe_tool", json!({"name": "good_echo"}))]
    {
        let result = client.call(tool, arguments).await.unwrap();
        assert_eq!(result["isError"], true);
        assert!(text(&result).contains("did you mean `good__echo`?"), "{result}");
    }
    let (code, message, _) = refusal(client.call("good__ecko", json!({})).await);
    assert_eq!(code, -32602);
    assert!(message.contains("good__echo"), "{message}");
    let nothing = client.text("find_tools", json!({"query": "zzzz qqqq"})).await;
    assert!(nothing.contains("good (") && nothing.contains("time ("), "{nothing}");
    let result = client.call("find_tools", json!({})).await.unwrap();
    assert!(result["isError"] == true && text(&result).contains("`query`"), "{result}");
    let wrong = client.text("find_tools", json!({"server": "gud"})).await;
    assert!(wrong.contains("no server `gud`") && wrong.contains("good ("), "{wrong}");
}

#[tokio::test]
async fn what_a_policy_denies_does_not_exist() {
    let yard = Yard::new(json!({
        "mcpServers": {"good": good(&[])},
        "policy": {"deny": ["good__d*"]},
        "serve": {"profiles": {"through": {"transparent": "good"}}}
    }));
    let yard = yard.learnt().await;
    for surface in ["all", "search", "route"] {
        let client = yard.stdio(&["--surface", surface]);
        client.initialize(SESSION, json!({})).await.unwrap();
        assert!(client.tools().await.unwrap().iter().all(|tool| !named(tool).starts_with("good__d")));
        assert_eq!(refusal(client.call("good__die", json!({})).await).0, -32602);
        if surface == "search" {
            let called = client.call("call_tool", json!({"name": "good__die"})).await.unwrap();
            assert_eq!(called["isError"], true, "{called}");
            let found = client.text("find_tools", json!({"query": "exits without an answer"})).await;
            assert!(!found.contains("good__die"), "{found}");
        }
        assert_eq!(client.text("good__echo", json!({"text": "alive"})).await, "alive");
    }
}

#[tokio::test]
async fn where_asked_for_a_known_client_with_few_tools_gets_them_all() {
    let yard = Yard::of(json!({"good": good(&[])})).learnt().await;
    for (name, gets_all) in [
        ("cursor-vscode", true),
        ("Visual Studio Code", true),
        ("claude-ai", true),
        ("lm-studio", false),
        ("somebody", false),
    ] {
        let client = introduced(&yard, name).await;
        let first = named(&client.tools().await.unwrap()[0]).to_owned();
        assert_eq!(first != "smart_route", gets_all, "{name}: {first}");
        assert_eq!(client.text("good__echo", json!({"text": name})).await, name);
    }
    let modern = yard.stdio(&["--surface", "auto"]);
    modern.modern(json!({}));
    assert_eq!(
        named(&modern.tools().await.unwrap()[0]),
        "smart_route",
        "a modern listing depends on no client"
    );
}

#[tokio::test]
async fn a_known_client_with_many_tools_gets_one() {
    let many = json!({"many": good(&["--fault", "many-tools", "--many", "120"])});
    let yard = Yard::of(many).learnt().await;
    for name in ["cursor", "Visual Studio Code", "claude-ai"] {
        let client = introduced(&yard, name).await;
        assert_eq!(named(&client.tools().await.unwrap()[0]), "smart_route", "{name}");
    }
}

#[tokio::test]
async fn instructions_fit_the_surface() {
    let yard = Yard::of(json!({"time": {"builtin": "time"}})).learnt().await;
    for (surface, word) in [("all", "server__tool"), ("search", "find_tools"), ("route", "servers: time.")] {
        let client = yard.stdio(&["--surface", surface]);
        let hello = client.initialize(SESSION, json!({})).await.unwrap();
        assert!(hello["instructions"].as_str().unwrap().contains(word), "{hello}");
        assert_eq!(hello["serverInfo"]["name"], "toolyard");
        let client = yard.stdio(&["--surface", surface]);
        client.modern(json!({}));
        let found = client.request("server/discover", json!({})).await.unwrap();
        assert!(found["instructions"].as_str().unwrap().contains(word), "{found}");
        assert_eq!(found["supportedVersions"][0], "2026-07-28");
    }
}

#[tokio::test]
async fn every_version_with_sessions_is_spoken() {
    let yard = Yard::of(json!({"time": {"builtin": "time"}})).learnt().await;
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ] {
        let client = yard.stdio(&[]);
        let hello = client.initialize(asked, json!({})).await.unwrap();
        assert_eq!(hello["protocolVersion"], agreed);
        assert!(!client.tools().await.unwrap().is_empty());
    }
}

async fn searching() -> (Client, Yard) {
    let yard = Yard::of(json!({"good": good(&[]), "time": {"builtin": "time"}})).learnt().await;
    let client = yard.stdio(&["--surface", "search"]);
    client.initialize(SESSION, json!({})).await.unwrap();
    (client, yard)
}

async fn introduced(yard: &Yard, name: &str) -> Client {
    let client = yard.stdio(&["--surface", "auto"]);
    let info = json!({"name": name, "version": "1"});
    let params = json!({"protocolVersion": SESSION, "capabilities": {}, "clientInfo": info});
    client.request("initialize", params).await.unwrap();
    client.notify("notifications/initialized", json!({})).await.unwrap();
    client
}
