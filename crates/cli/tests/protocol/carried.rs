//! What a hub must not change: definitions, results, errors, in every byte that means something.

use serde_json::{Value, json};
use testkit::bin;
use testkit::client::Client;
use testkit::fault::definition;

use crate::raw::{self, ask, post};
use crate::scripted::{self, GREETING};
use crate::yard::{SESSION, Yard, good, listed, named, refusal};

/// A tool as no library would write it: odd order, odd numbers, odd escapes, unknown members.
const ODD_TOOL: &str = r#"{"x-first":1.50,"inputSchema":{"type":"object","properties":{"n":{"default":1e3,"x-big":123456789012345678901234567890}}},"description":"\u00fc \ud83d\ude00 ü","_meta":{"a.b/c":[null,-0.0,{"z":1,"a":2}]},"name":"odd","annotations":{"readOnlyHint":true,"x":[]}}"#;
/// A result in the same spirit.
const ODD_RESULT: &str = r#""result":{"x-vendor":{"b":1,"a":2},"structuredContent":{"n":1.0,"big":18446744073709551616,"small":1E-7,"text":"\u0041\/ \u2028"},"content":[{"x":0,"text":"ü","type":"text"}],"_meta":{"k":1.10}}"#;

#[tokio::test]
async fn every_byte_of_a_definition_and_a_result_survives() {
    let (served, _yard) = odd_server().await;
    let session = raw::open_session(&served.at("through"), &[], json!({})).await;
    let headers = [("mcp-session-id", session.as_str())];
    let listed = post(&served.at("through"), &headers, &ask("tools/list", json!({}))).await;
    assert!(listed.body.contains(ODD_TOOL), "{}", listed.body);
    let called = post(&served.at("through"), &headers, &call("odd")).await;
    assert!(called.body.contains(ODD_RESULT), "{}", called.body);
}

#[tokio::test]
async fn a_surface_changes_the_name_of_a_tool_and_nothing_else() {
    let (served, _yard) = odd_server().await;
    let session = raw::open_session(&served.url, &[], json!({})).await;
    let headers = [("mcp-session-id", session.as_str())];
    let listed = post(&served.url, &headers, &ask("tools/list", json!({}))).await;
    let renamed = ODD_TOOL.replace(r#""name":"odd""#, r#""name":"scripted__odd""#);
    assert!(listed.body.contains(&renamed), "{}", listed.body);
    let called = post(&served.url, &headers, &call("scripted__odd")).await;
    assert!(called.body.contains(ODD_RESULT), "{}", called.body);
}

#[tokio::test]
async fn an_error_of_a_server_arrives_as_it_was_sent() {
    let (served, _yard) = odd_server().await;
    for (url, name) in [(served.at("through"), "greet"), (served.url.clone(), "scripted__greet")] {
        let session = raw::open_session(&url, &[], json!({})).await;
        let got =
            post(&url, &[("mcp-session-id", &session)], &ask("prompts/get", json!({"name": name}))).await;
        let error = r#""error":{"code":-31999,"message":"näh","data":{"z":1.0,"a":[2e0]}}"#;
        assert!(got.body.contains(error), "{}", got.body);
    }
}

#[tokio::test]
async fn results_are_the_same_with_and_without_the_hub() {
    let yard = Yard::new(json!({
        "mcpServers": {"good": good(&[])},
        "serve": {"profiles": {"through": {"transparent": "good"}}}
    }));
    let direct = Client::stdio(bin("fault-server"), &[] as &[&str], &[]);
    direct.initialize(SESSION, json!({})).await.unwrap();
    let hub = yard.session(json!({})).await;
    listed(&hub, "good__echo").await;
    let served = yard.http(&[]);
    let through = served.session("through", json!({})).await;
    for (tool, arguments) in [
        ("echo", json!({"text": "žluťoučký 🐎 \u{7} \u{2028}"})),
        ("structured", json!({})),
        ("contents", json!({})),
        ("fail", json!({})),
        ("deep", json!({"levels": 60})),
        ("big", json!({"bytes": 3_000_000})),
    ] {
        let expected = direct.call(tool, arguments.clone()).await.unwrap();
        assert!(through.call(tool, arguments.clone()).await.unwrap() == expected, "{tool} through");
        assert!(hub.call(&format!("good__{tool}"), arguments).await.unwrap() == expected, "{tool}");
    }
}

#[tokio::test]
async fn definitions_keep_unknown_fields_annotations_and_icons() {
    let yard = Yard::of(json!({"good": good(&[])})).learnt().await;
    for client in [yard.session(json!({})).await, yard.modern(json!({}))] {
        let tools = client.tools().await.unwrap();
        let mut expected = definition::tools();
        for tool in &mut expected {
            tool["name"] = json!(format!("good__{}", named(tool)));
        }
        let mut tools = tools;
        for tool in &mut tools {
            // What destroys takes a confirmation; that is all the hub adds.
            let properties = tool["inputSchema"]["properties"].as_object_mut();
            let confirm = properties.and_then(|properties| properties.remove("confirm"));
            assert_eq!(confirm.is_some(), tool["annotations"]["destructiveHint"] == true, "{tool}");
        }
        let mut names: Vec<&str> = tools.iter().map(named).collect();
        for tool in &expected {
            assert!(tools.contains(tool), "{tool}");
        }
        assert_eq!(tools.len(), expected.len());
        names.dedup();
        assert_eq!(names.len(), tools.len());
    }
}

#[tokio::test]
async fn resources_templates_and_prompts_are_listed_as_the_server_has_them() {
    let yard = Yard::of(json!({"good": good(&[])})).learnt().await;
    for client in [yard.session(json!({})).await, yard.modern(json!({}))] {
        let get =
            async |method: &str, key: &str| client.request(method, json!({})).await.unwrap()[key].clone();
        assert_eq!(get("resources/list", "resources").await, definition::resources());
        assert_eq!(
            get("resources/templates/list", "resourceTemplates").await,
            definition::resource_templates()
        );
        let mut prompts = definition::prompts();
        prompts[0]["name"] = json!("good__greet");
        assert_eq!(get("prompts/list", "prompts").await, prompts);
    }
}

#[tokio::test]
async fn resources_are_read_from_the_server_that_has_them() {
    let yard = Yard::of(json!({"time": {"builtin": "time"}, "good": good(&[])})).learnt().await;
    for (client, missing) in [(yard.session(json!({})).await, -32002), (yard.modern(json!({})), -32602)] {
        for uri in [definition::NOTE_URI, "fault://pixel", "fault://item/7"] {
            let read = client.request("resources/read", json!({"uri": uri})).await.unwrap();
            assert_eq!(read["contents"], definition::resource_contents(uri).unwrap());
        }
        let (code, _, data) = refusal(client.request("resources/read", json!({"uri": "fault://none"})).await);
        assert_eq!((code, data), (missing, json!({"uri": "fault://none"})));
    }
}

#[tokio::test]
async fn prompts_take_their_arguments_under_the_name_of_their_server() {
    let yard = Yard::of(json!({"good": good(&[])})).learnt().await;
    for client in [yard.session(json!({})).await, yard.modern(json!({}))] {
        let params = json!({"name": "good__greet", "arguments": {"who": "Ada"}});
        let got = client.request("prompts/get", params).await.unwrap();
        assert_eq!(got["messages"][0]["content"]["text"], "Greet Ada.");
        let (code, message, _) = refusal(client.request("prompts/get", json!({"name": "good__greet"})).await);
        assert_eq!((code, message.as_str()), (-32602, "Missing argument: who"));
        let (code, message, _) = refusal(client.request("prompts/get", json!({"name": "greet"})).await);
        assert_eq!(code, -32602);
        assert!(message.contains("`greet`"), "{message}");
    }
}

#[tokio::test]
async fn arguments_are_completed_by_their_server() {
    let yard = Yard::of(json!({"good": good(&[]), "time": {"builtin": "time"}})).learnt().await;
    for client in [yard.session(json!({})).await, yard.modern(json!({}))] {
        for reference in [
            json!({"type": "ref/prompt", "name": "good__greet"}),
            json!({"type": "ref/resource", "uri": "fault://item/{id}"}),
        ] {
            let params = json!({"ref": reference, "argument": {"name": "who", "value": "A"}});
            let got = client.request("completion/complete", params).await.unwrap();
            assert_eq!(got["completion"]["values"], json!(["Ada", "Alan"]));
        }
        let nobody =
            json!({"ref": {"type": "ref/prompt", "name": "none"}, "argument": {"name": "a", "value": ""}});
        assert_eq!(refusal(client.request("completion/complete", nobody).await).0, -32602);
    }
}

#[tokio::test]
async fn a_server_that_is_passed_through_speaks_for_itself() {
    let yard = through(&["--name", "itself", "--page-size", "7"]);
    let served = yard.http(&[]);
    let client = Client::http(&served.at("through"), &[]);
    let hello = client.initialize("2025-06-18", json!({})).await.unwrap();
    assert_eq!(hello["serverInfo"]["name"], "itself");
    assert!(hello["instructions"].as_str().unwrap().contains("Ask before `die`"));
    assert_eq!(hello["protocolVersion"], "2025-06-18");
    let first = client.request("tools/list", json!({})).await.unwrap();
    assert_eq!((first["tools"].as_array().unwrap().len(), &first["nextCursor"]), (7, &json!("7")));
    let tools = client.tools().await.unwrap();
    assert_eq!(tools, definition::tools());
    assert_eq!(refusal(client.call("no such tool", json!({})).await).0, -32602);
}

#[tokio::test]
async fn a_modern_server_that_is_passed_through_speaks_for_itself() {
    let yard = through(&["--name", "itself", "--modern"]);
    let served = yard.http(&[]);
    let client = served.modern("through", json!({}));
    let found = client.request("server/discover", json!({})).await.unwrap();
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "itself");
    assert_eq!(found["_meta"]["example.com/kept"], "discover");
    assert_eq!(client.tools().await.unwrap(), definition::tools());
    let read = client.request("resources/read", json!({"uri": definition::NOTE_URI})).await.unwrap();
    assert_eq!((&read["resultType"], &read["ttlMs"]), (&json!("complete"), &json!(60_000)));
}

#[tokio::test]
async fn a_result_of_the_session_era_is_completed_for_a_modern_client() {
    let yard = Yard::of(json!({"good": good(&[])})).learnt().await;
    let client = yard.modern(json!({}));
    let result = client.call("good__structured", json!({})).await.unwrap();
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["x-vendor"], "result");
    assert_eq!(result["_meta"]["example.com/kept"], json!([1, {"two": 2}]));
    for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        let list = client.request(method, json!({})).await.unwrap();
        assert_eq!(list["resultType"], "complete", "{method}");
        assert!(list["ttlMs"].is_u64() && list["cacheScope"] == "private", "{method}: {list}");
    }
}

#[tokio::test]
async fn a_session_client_sees_nothing_of_the_modern_era() {
    let yard = Yard::of(json!({"good": good(&["--modern"])})).learnt().await;
    let client = yard.session(json!({})).await;
    assert_eq!(client.text("good__echo", json!({"text": "hi"})).await, "hi");
    let read = client.request("resources/read", json!({"uri": "fault://none"})).await;
    assert_eq!(refusal(read).0, -32602);
    let said: Value = serde_json::from_str(&client.text("good__client", json!({})).await).unwrap();
    assert_eq!(said["clientInfo"]["name"], "testkit");
}

async fn odd_server() -> (crate::yard::Served, Yard) {
    let folder = tempfile::tempdir().unwrap();
    let tools = format!(r#""result":{{"tools":[{ODD_TOOL}]}}"#);
    let error = r#""error":{"code":-31999,"message":"näh","data":{"z":1.0,"a":[2e0]}}"#;
    let server = scripted::over_stdio(
        folder.path(),
        &[
            ("initialize", GREETING),
            ("tools/list", &tools),
            ("tools/call", ODD_RESULT),
            ("prompts/list", r#""result":{"prompts":[{"name":"greet"}]}"#),
            ("prompts/get", error),
        ],
    );
    let yard = Yard::new(json!({
        "mcpServers": {"scripted": server},
        "serve": {"surface": "all", "profiles": {"through": {"transparent": "scripted"}}}
    }));
    let yard = yard.keep(folder).learnt().await;
    (yard.http(&[]), yard)
}

fn through(args: &[&str]) -> Yard {
    Yard::new(json!({
        "mcpServers": {"good": good(args)},
        "serve": {"profiles": {"through": {"transparent": "good"}}}
    }))
}

fn call(name: &str) -> Value {
    ask("tools/call", json!({"name": name, "arguments": {}}))
}
