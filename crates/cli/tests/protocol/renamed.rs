//! Calls of old names: they work with a warning, then they say what to call instead, and they are judged as the new
//! call is.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::wait_until;

use crate::shelf::{calls, server, tool, whole};
use crate::yard::{SESSION, SOON, Yard, named, refusal, text};

/// A server whose eight tools became one.
fn studio(folder: &Path) -> Value {
    let mut manage = tool("manage_product", "Creates, updates and deletes products", &["action"]);
    for name in ["slug", "name"] {
        manage["inputSchema"]["properties"][name] = json!({"type": "string"});
    }
    json!({"studio": server(folder, "studio", &[manage]), "shop": server(folder, "shop", &[tool("buy", "Buys", &[])])})
}

fn aliases() -> Value {
    json!({
        "create_product": {
            "to": "studio__manage_product", "arguments": {"action": "create"}, "rename": {"product_slug": "slug"},
            "usage": "manage_product(action=\"create\", name=\"...\")",
        },
        "delete_product": {
            "to": "studio__manage_product", "arguments": {"action": "delete", "confirm": true},
            "rename": {"product_slug": "slug"},
        },
        "legacy__make": "studio__create_product",
        "gone_product": {"to": "studio__manage_product", "arguments": {"action": "create"}, "phase": "gone"},
    })
}

async fn yard_with(more: Value) -> (Yard, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let servers = studio(folder.path());
    let yard = Yard::of(servers.clone()).keep(folder).learnt().await;
    let mut config = json!({"mcpServers": servers, "aliases": aliases()});
    for (key, value) in more.as_object().unwrap() {
        config[key] = value.clone();
    }
    yard.change(config);
    (yard, path)
}

async fn on(yard: &Yard, surface: &str) -> Client {
    let client = yard.stdio(&["--surface", surface]);
    client.initialize(SESSION, json!({})).await.unwrap();
    client
}

/// Gives the arguments of the last call that the studio got.
fn last(folder: &Path) -> Value {
    let got = std::fs::read_to_string(folder.join("studio/calls")).unwrap();
    let call: Value = serde_json::from_str(got.lines().last().unwrap()).unwrap();
    assert_eq!(call["params"]["name"], "manage_product", "{call}");
    call["params"]["arguments"].clone()
}

fn noted(result: &Value) -> (&str, &str) {
    let note = &result["_meta"]["toolyard/deprecated"];
    (note["name"].as_str().unwrap_or_default(), note["usage"].as_str().unwrap_or_default())
}

const USAGE: &str = "manage_product(action=\"create\", name=\"...\")";

#[tokio::test]
async fn c7_an_old_name_runs_the_new_tool_on_every_surface_and_says_so_beside_the_content() {
    let (yard, folder) = yard_with(json!({"toolset": {"core": ["studio__manage_product"]}})).await;
    let given = || json!({"product_slug": "lamp", "name": "Lamp"});
    let expected = json!({"slug": "lamp", "name": "Lamp", "action": "create"});
    for surface in ["all", "search", "route", "toolset"] {
        let client = on(&yard, surface).await;
        for name in ["create_product", "studio__create_product", "legacy__make"] {
            let mut ways = vec![client.call(name, given()).await.unwrap()];
            assert_eq!(last(&folder), expected);
            if surface != "all" {
                let inner = json!({"name": name, "arguments": given()});
                ways.push(client.call("call_tool", inner).await.unwrap());
                assert_eq!(last(&folder), expected);
                let as_text = json!({"name": name, "arguments": given().to_string()});
                ways.push(client.call("call_tool", as_text).await.unwrap());
                assert_eq!(last(&folder), expected);
            }
            for result in ways {
                assert_eq!(text(&result), "from studio", "{result}");
                assert_eq!(noted(&result), (name, USAGE), "{result}");
            }
        }
        let direct = client.call("studio__manage_product", json!({"action": "list"})).await.unwrap();
        assert!(direct.get("_meta").is_none(), "{direct}");
        wait_until(SOON, || client.stderr().matches("is deprecated").count() == 3).await;
        let said = client.stderr();
        assert!(
            said.contains("`create_product` is deprecated") && said.contains("manage_product(action="),
            "{said}"
        );
        let names: Vec<String> =
            client.tools().await.unwrap().iter().map(|it| named(it).to_owned()).collect();
        assert!(
            !names.iter().any(|name| name.contains("create_product") || name.contains("legacy")),
            "{names:?}"
        );
    }
    assert_eq!(calls(&folder, "studio"), 4 * 4 + 3 * 6, "nothing was called twice");
}

#[tokio::test]
async fn c7_smart_route_and_describe_tool_know_an_old_name() {
    let (yard, folder) = yard_with(json!({})).await;
    let client = on(&yard, "route").await;
    let asked = json!({"task": "create_product", "context": {"arguments": {"product_slug": "lamp"}}});
    let routed = whole(&client, asked).await;
    assert_eq!(routed["structuredContent"]["executedTools"][0], "studio__manage_product", "{routed}");
    assert_eq!(noted(&routed), ("create_product", USAGE));
    assert_eq!(last(&folder), json!({"slug": "lamp", "action": "create"}));
    let client = on(&yard, "search").await;
    let described = client.call("describe_tool", json!({"name": "studio__create_product"})).await.unwrap();
    assert!(text(&described).contains("\"studio__manage_product\""), "{described}");
    assert_eq!(noted(&described), ("studio__create_product", USAGE));
    let unknown = client.call("describe_tool", json!({"name": "studio__manage_produkt"})).await.unwrap();
    assert!(text(&unknown).contains("did you mean `studio__manage_product`?"), "{unknown}");
}

#[tokio::test]
async fn c7_the_new_call_is_judged_and_an_old_name_confirms_nothing() {
    let (yard, folder) = yard_with(json!({})).await;
    for surface in ["all", "search"] {
        let client = on(&yard, surface).await;
        let before = calls(&folder, "studio");
        let call = async |arguments: Value| match surface {
            "all" => client.call("delete_product", arguments).await.unwrap(),
            _ => client
                .call("call_tool", json!({"name": "delete_product", "arguments": arguments}))
                .await
                .unwrap(),
        };
        let asked = call(json!({"product_slug": "lamp"})).await;
        assert_eq!(asked["isError"], true, "{asked}");
        assert!(text(&asked).contains("studio__manage_product removes something"), "{asked}");
        assert_eq!(calls(&folder, "studio"), before, "nothing was called");
        let done = call(json!({"product_slug": "lamp", "confirm": true})).await;
        assert_eq!(text(&done), "from studio", "{done}");
        assert_eq!(last(&folder), json!({"slug": "lamp", "action": "delete"}));
    }
    let (yard, folder) = yard_with(json!({"policy": {"deny": ["studio__manage_*"]}})).await;
    let client = on(&yard, "all").await;
    let (_, message, _) = refusal(client.call("create_product", json!({})).await);
    assert!(
        message.contains("`studio__manage_product` is not allowed") && message.contains("policy.deny"),
        "{message}"
    );
    assert_eq!(calls(&folder, "studio"), 0);
    // A rule about the old name alone says nothing about the call that is made.
    let (yard, _) = yard_with(json!({"policy": {"deny": ["*create_product"]}})).await;
    let done = on(&yard, "all").await.call("create_product", json!({})).await.unwrap();
    assert_eq!(text(&done), "from studio", "{done}");
}

#[tokio::test]
async fn c7_a_name_that_is_gone_answers_with_the_new_usage() {
    let (yard, folder) = yard_with(json!({"aliasPhase": "gone"})).await;
    for surface in ["all", "search", "route", "toolset"] {
        let client = on(&yard, surface).await;
        let result = client.call("create_product", json!({"name": "x"})).await.unwrap();
        assert_eq!(result["isError"], true, "{result}");
        assert!(text(&result).contains(USAGE), "{result}");
        let made = client.call("studio__gone_product", json!({})).await.unwrap();
        assert!(text(&made).contains("studio__manage_product(action=\"create\", ...)"), "{made}");
        if surface == "search" {
            for tool in ["call_tool", "describe_tool"] {
                let inner = client.call(tool, json!({"name": "create_product"})).await.unwrap();
                assert!(inner["isError"] == true && text(&inner).contains(USAGE), "{inner}");
            }
        }
        if surface == "all" {
            let (_, message, _) = refusal(client.call("studio__manage_produkt", json!({})).await);
            assert!(message.contains("did you mean `studio__manage_product`?"), "{message}");
        }
    }
    assert_eq!(calls(&folder, "studio"), 0);
}

#[tokio::test]
async fn c7_arguments_that_contradict_each_other_are_refused_in_words() {
    let (yard, folder) = yard_with(json!({})).await;
    let client = on(&yard, "all").await;
    for (given, said) in [
        (json!({"product_slug": "a", "slug": "b"}), "`product_slug` and `slug` are one argument"),
        (json!({"action": "delete"}), "always gives `action` the value \"create\""),
    ] {
        let refused = client.call("create_product", given).await.unwrap();
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(text(&refused).contains(said) && text(&refused).contains(USAGE), "{refused}");
    }
    let refused =
        client.request("tools/call", json!({"name": "create_product", "arguments": "x"})).await.unwrap();
    assert!(text(&refused).contains("needs `arguments` as an object"), "{refused}");
    assert_eq!(calls(&folder, "studio"), 0);
    let same = client.call("create_product", json!({"product_slug": "a", "slug": "a"})).await.unwrap();
    assert_eq!(text(&same), "from studio", "{same}");
}

#[tokio::test]
async fn c7_who_does_not_see_the_server_does_not_learn_of_the_old_name() {
    let profiles = json!({"profiles": {"shop": {"surface": "all", "servers": ["shop"]}}});
    let (yard, folder) = yard_with(json!({"serve": profiles})).await;
    let served = yard.http(&[]);
    for name in ["create_product", "gone_product"] {
        let client = served.session("shop", json!({})).await;
        let (_, message, _) = refusal(client.call(name, json!({})).await);
        assert_eq!(message, format!("there is no tool `{name}`"));
    }
    let modern = served.modern("", json!({}));
    let result = modern.call("create_product", json!({})).await.unwrap();
    assert_eq!((text(&result), noted(&result).0), ("from studio", "create_product"), "{result}");
    assert_eq!(calls(&folder, "studio"), 1);
}

#[tokio::test]
async fn c7_a_tool_that_has_the_old_name_is_called_itself() {
    let folder = tempfile::tempdir().unwrap();
    let tools = [tool("manage_product", "Manages", &["action"]), tool("create_product", "Creates", &[])];
    let servers = json!({"studio": server(folder.path(), "studio", &tools)});
    let path = folder.path().to_owned();
    let yard = Yard::of(servers.clone()).keep(folder).learnt().await;
    yard.change(json!({"mcpServers": servers, "aliases": aliases()}));
    let client = on(&yard, "all").await;
    let result = client.call("studio__create_product", json!({})).await.unwrap();
    assert!(result.get("_meta").is_none(), "{result}");
    let got = std::fs::read_to_string(path.join("studio/calls")).unwrap();
    assert!(got.contains("\"create_product\"") && !got.contains("manage_product"), "{got}");
    let (_, message, _) = refusal(client.call("create_product", json!({})).await);
    assert!(message.contains("there is no tool `create_product`"), "{message}");
}

#[tokio::test]
async fn c7_an_old_name_waits_for_a_server_that_was_never_reached() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let yard = Yard::new(json!({"mcpServers": studio(folder.path()), "aliases": aliases()})).keep(folder);
    let client = on(&yard, "search").await;
    let result = client.call("call_tool", json!({"name": "create_product"})).await.unwrap();
    assert_eq!(text(&result), "from studio", "{result}");
    assert_eq!(last(&path), json!({"action": "create"}));
}

#[tokio::test]
async fn c7_a_step_of_a_workflow_may_have_an_old_name_until_it_is_gone() {
    let (yard, folder) = yard_with(json!({})).await;
    let step = |tool: &str| {
        json!({
            "name": "make-one", "description": "Makes a product",
            "parameters": {"properties": {"slug": {"type": "string"}}, "required": ["slug"]},
            "steps": [{"name": "make", "tool": tool, "arguments": {"product_slug": "{{parameters.slug}}"}}],
        })
    };
    std::fs::create_dir_all(yard.path().join("workflows")).unwrap();
    let write = |tool: &str| {
        std::fs::write(yard.path().join("workflows/make.json"), step(tool).to_string()).unwrap();
    };
    for name in ["studio__create_product", "legacy__make"] {
        write(name);
        let client = on(&yard, "all").await;
        let result = client.call("workflows__make-one", json!({"slug": "lamp"})).await.unwrap();
        assert_eq!(result["isError"], false, "{result}");
        assert_eq!(last(&folder), json!({"action": "create", "slug": "lamp"}));
        assert!(client.stderr().contains(&format!("`{name}` is deprecated")), "{}", client.stderr());
    }
    write("studio__gone_product");
    let output = yard.command(&["run", "make-one", "--set", "slug=x"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && said.contains("is gone; call studio__manage_product(action="),
        "{said}"
    );
    assert_eq!(calls(&folder, "studio"), 2);
}
