//! The built-in workspaces as clients see them, with real effects in their stores.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::{HeaderMap, Uri};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use serde_json::{Value, json};
use testkit::client::Client;
use testkit::wait_until;

use crate::shelf::route;
use crate::toolset::{listed, session};
use crate::yard::{SOON, Yard, text};

/// The tools that the seed's studio always has.
const CORE: [&str; 5] = [
    "activate_skill",
    "studio__load_brand",
    "studio__propose_choices",
    "studio__list_products",
    "studio__check_interrupt",
];

async fn studio() -> Yard {
    Yard::of(json!({"studio": {"builtin": "studio", "folder": "studio"}})).learnt().await
}

async fn desk() -> Yard {
    let yard = Yard::of(json!({"desk": {"builtin": "desk", "folder": "desk"}})).learnt().await;
    // A single command waits longer for what compares meanings than a serving hub does.
    let known = yard.command(&["route", "--dry-run", "show my tasks"]).output();
    assert!(known.unwrap().status.code().is_some());
    yard
}

#[tokio::test]
async fn s1_five_core_tools_and_three_skills_are_fourteen_tools_as_a_client_sees_them() {
    let yard = studio().await;
    let client = yard.stdio(&["--profile", "studio"]);
    session(&client, "Visual Studio Code").await;
    assert_eq!(listed(&client).await, CORE);
    let mut counts = Vec::new();
    for skill in ["product-management", "style-references", "task-files"] {
        client.call("activate_skill", json!({"name": skill})).await.unwrap();
        counts.push(listed(&client).await.len());
    }
    assert_eq!(counts, [8, 10, 14]);
    let last = listed(&client).await;
    assert!(last.contains(&"studio__complete_task_file".to_owned()), "{last:?}");
    // A fourth takes the place of the first.
    client.call("activate_skill", json!({"name": "brand-identity"})).await.unwrap();
    let now = listed(&client).await;
    assert!(!now.contains(&"studio__manage_product".to_owned()), "{now:?}");
    assert!(now.len() <= 14, "{now:?}");
}

#[tokio::test]
async fn s3_an_eviction_is_logged_in_the_words_of_the_seed_without_being_asked_for() {
    let yard = studio().await;
    let served = yard.http(&[]);
    let client = Client::http(&served.at("studio"), &[]);
    session(&client, "Visual Studio Code").await;
    for skill in ["product-management", "style-references", "task-files", "brand-identity"] {
        client.call("activate_skill", json!({"name": skill})).await.unwrap();
    }
    let line = "[SKILL] Evicted 'product-management' to make room for 'brand-identity'";
    wait_until(SOON, || served.stderr().contains(line)).await;
}

#[tokio::test]
async fn s1_the_list_of_a_modern_client_has_a_way_to_the_tools_of_skills() {
    let yard = studio().await;
    let client = yard.stdio(&["--profile", "studio"]);
    client.modern(json!({}));
    let mut expected = CORE.to_vec();
    expected.push("call_tool");
    assert_eq!(listed(&client).await, expected);
    let answer = client.call("activate_skill", json!({"name": "product-management"})).await.unwrap();
    let handle = answer["structuredContent"]["session"].as_str().unwrap();
    let made = client
        .call(
            "call_tool",
            json!({
                "name": "studio__manage_product",
                "arguments": {"action": "create", "name": "Cold brew"},
                "session": handle,
            }),
        )
        .await
        .unwrap();
    assert_ne!(made["isError"], true, "{made}");
    assert_eq!(listed(&client).await, expected);
}

#[tokio::test]
async fn c9_every_tool_of_the_studio_is_core_or_in_a_skill() {
    let yard = studio().await;
    let told = yard.command(&["skills", "--json"]).output().unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let skills = told["skills"].as_array().unwrap().iter();
    let named = skills.flat_map(|skill| skill["tools"].as_array().unwrap().iter());
    let mut reached: BTreeSet<String> = named.map(|tool| tool.as_str().unwrap().to_owned()).collect();
    reached.extend(CORE.iter().map(|tool| (*tool).to_owned()));
    reached.remove("activate_skill");
    let client = yard.session(json!({})).await;
    let all: BTreeSet<String> = listed(&client).await.into_iter().collect();
    assert_eq!(all, reached);
}

#[tokio::test]
async fn c3_a_product_is_deleted_only_with_a_confirmation_that_the_hub_enforces() {
    let yard = studio().await;
    let client = yard.session(json!({})).await;
    let call = async |arguments: Value| client.call("studio__manage_product", arguments).await.unwrap();
    call(json!({"action": "create", "name": "Cold brew"})).await;
    let refused = call(json!({"action": "delete", "slug": "cold-brew"})).await;
    assert_eq!(refused["isError"], true);
    assert!(text(&refused).contains("`confirm`: true"), "{refused}");
    let there = client.call("studio__list_products", json!({})).await.unwrap();
    assert_eq!(there["structuredContent"]["total_count"], 1, "{there}");
    let deleted = call(json!({"action": "delete", "slug": "cold-brew", "confirm": true})).await;
    assert_ne!(deleted["isError"], true, "{deleted}");
    let gone = client.call("studio__list_products", json!({})).await.unwrap();
    assert_eq!(gone["structuredContent"]["total_count"], 0, "{gone}");
}

#[tokio::test]
async fn c7_an_old_name_of_the_studio_runs_the_new_tool_and_says_so() {
    let yard = studio().await;
    let client = yard.session(json!({})).await;
    let made = client.call("studio__create_product", json!({"name": "Cold brew"})).await.unwrap();
    assert_ne!(made["isError"], true, "{made}");
    let usage = made["_meta"]["toolyard/deprecated"]["usage"].as_str().unwrap();
    assert!(usage.contains("manage_product(action=\"create\""), "{usage}");
    assert!(!listed(&client).await.contains(&"studio__create_product".to_owned()));
}

async fn tasks(client: &Client) -> Value {
    client.call("desk__query_tasks", json!({})).await.unwrap()["structuredContent"]["items"].clone()
}

#[tokio::test]
async fn d5_the_conversation_of_the_seed_changes_the_store() {
    let yard = desk().await;
    let client = yard.stdio(&["--surface", "toolset"]);
    session(&client, "Visual Studio Code").await;
    // "Create a task called buy groceries": the whole domain comes, and the tool that creates is used.
    client.call("find_tools", json!({"query": "Create a task called buy groceries"})).await.unwrap();
    let now = listed(&client).await;
    for tool in ["query_tasks", "get_task", "create_tasks", "update_task"] {
        assert!(now.contains(&format!("desk__{tool}")), "{now:?}");
    }
    let made = client
        .call("desk__create_tasks", json!({"title": "Buy groceries", "due": "tomorrow"}))
        .await
        .unwrap();
    assert_eq!(made["structuredContent"]["success_count"], 1, "{made}");
    // "Actually, delete that task": no tool is missing.
    client.call("find_tools", json!({"query": "Actually, delete that task"})).await.unwrap();
    let gone =
        client.call("desk__update_task", json!({"slug": "buy-groceries", "deleted": true})).await.unwrap();
    assert_ne!(gone["isError"], true, "{gone}");
    assert_eq!(tasks(&client).await, json!([]));
    // It can be taken back.
    client.call("desk__update_task", json!({"slug": "buy-groceries", "deleted": false})).await.unwrap();
    assert_eq!(tasks(&client).await[0]["slug"], "buy-groceries");
}

#[tokio::test]
async fn d5_a_persons_own_words_become_a_draft_that_one_more_call_runs() {
    let yard = desk().await;
    let client = yard.stdio(&[]);
    session(&client, "cursor").await;
    let draft = route(&client, json!({"task": "Create a task called buy groceries"})).await;
    assert_eq!(draft["draft"]["values"], json!({"title": "buy groceries"}), "{draft}");
    assert_eq!(draft["draft"]["missing"], json!([]), "{draft}");
    let made = route(&client, json!({"task": "run it", "context": {"session": draft["session"]}})).await;
    assert_eq!(made["executedTools"], json!(["desk__create_tasks"]), "{made}");
    let seen = yard.session(json!({})).await;
    assert_eq!(tasks(&seen).await[0]["title"], "buy groceries", "{made}");
}

#[tokio::test]
async fn d5_an_assistant_creates_a_task_and_finishes_it_through_smart_route() {
    let yard = desk().await;
    let client = yard.stdio(&[]);
    session(&client, "cursor").await;
    let values = json!({"task": "Create a task", "values": {"title": "buy groceries", "due": "tomorrow"}});
    let made = finished(&client, values).await;
    assert_eq!(made["executedTools"][0], "desk__create_tasks", "{made}");
    let seen = yard.session(json!({})).await;
    assert_eq!(tasks(&seen).await[0]["title"], "buy groceries", "{made}");
    let values = json!({"task": "Update a task", "values": {"task": "buy groceries", "status": "done"}});
    let done = finished(&client, values).await;
    assert_eq!(done["executedTools"][0], "desk__update_task", "{done}");
    assert_eq!(tasks(&seen).await[0]["status"], "done", "{done}");
}

/// Calls `smart_route`, and finishes the draft where that is what comes back.
async fn finished(client: &Client, arguments: Value) -> Value {
    let answer = route(client, arguments).await;
    let (tool, values) = (&answer["draft"]["tool"], &answer["draft"]["values"]);
    if tool.is_null() {
        return answer;
    }
    route(client, json!({"task": tool, "context": {"session": answer["session"], "arguments": values}})).await
}

#[tokio::test]
async fn t1_the_home_has_devices_in_tier_0_and_the_clock_in_tier_1() {
    let yard = Yard::of(json!({"home": {"builtin": "home", "folder": "home"}})).learnt().await;
    let told = yard.command(&["tiers", "--json"]).output().unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let of = |tier: u64| -> Vec<String> {
        let tiers = told["tiers"].as_array().unwrap().iter().filter(|it| it["tier"] == tier);
        let tools = tiers.flat_map(|it| it["tools"].as_array().unwrap());
        tools.map(|tool| tool.as_str().unwrap_or_else(|| tool["name"].as_str().unwrap()).to_owned()).collect()
    };
    let essential = of(0);
    for tool in ["list_devices", "get_device", "control_device"] {
        assert!(essential.contains(&format!("home__{tool}")), "{told}");
    }
    assert!(of(1).contains(&"home__get_datetime".to_owned()), "{told}");
}

#[tokio::test]
async fn c1_a_declared_entity_has_four_tools_and_a_domain() {
    let yard = Yard::of(json!({"garden": {"builtin": "entities", "folder": "garden", "entities": [{
        "singular": "plant", "plural": "plants", "description": "plants in the garden", "slug_from": "name",
        "fields": [{"name": "name", "type": "text", "required": true}, {"name": "planted", "type": "date"}],
    }]}}))
    .learnt()
    .await;
    let client = yard.session(json!({})).await;
    let tools = ["query_plants", "get_plant", "create_plants", "update_plant"];
    assert_eq!(listed(&client).await, tools.map(|tool| format!("garden__{tool}")));
    let made =
        client.call("garden__create_plants", json!({"name": "Fig", "planted": "2026-04-01"})).await.unwrap();
    assert_eq!(made["structuredContent"]["success_count"], 1, "{made}");
    let domains = yard.command(&["domains", "--json"]).output().unwrap();
    assert!(String::from_utf8_lossy(&domains.stdout).contains("plants"));
}

/// The tools that the seed's products had before.
fn products() -> Vec<Value> {
    let with = |name: &str, description: &str, required: &[&str], optional: &[&str]| {
        let mut tool = crate::shelf::tool(name, description, required);
        for name in optional {
            tool["inputSchema"]["properties"][name] = json!({"type": "string"});
        }
        tool
    };
    vec![
        with("create_product", "Creates a product", &["name"], &["description", "attributes"]),
        with("update_product", "Changes a product", &["slug"], &["name", "description", "attributes"]),
        with("delete_product", "Deletes a product for good", &["slug"], &[]),
        with("add_product_image", "Adds an image to a product", &["slug", "image_path"], &[]),
        with("set_product_primary_image", "Chooses the image of a product", &["slug", "image_path"], &[]),
    ]
}

#[tokio::test]
async fn c1_a_family_is_one_tool_and_its_calls_reach_the_original_ones() {
    let folder = tempfile::tempdir().unwrap();
    let mut shop = crate::shelf::server(folder.path(), "shop", &products());
    shop["consolidate"] = json!(true);
    let yard = Yard::of(json!({"shop": shop})).learnt().await;
    let client = yard.session(json!({})).await;
    assert_eq!(listed(&client).await, ["shop__manage_product"]);
    let calls = || std::fs::read_to_string(folder.path().join("shop/calls")).unwrap_or_default();
    let call = async |arguments: Value| client.call("shop__manage_product", arguments).await.unwrap();
    assert_eq!(text(&call(json!({"action": "create", "name": "Fig jam"})).await), "from shop");
    assert!(calls().contains(r#""name":"create_product""#) && calls().contains("Fig jam"), "{}", calls());
    // What is missing is named, and nothing is sent.
    let missing = call(json!({"action": "add_image", "slug": "fig-jam"})).await;
    assert_eq!(missing["isError"], true);
    assert!(text(&missing).contains("`image_path`"), "{missing}");
    assert_eq!(calls().lines().count(), 1);
    // C3: what destroys is confirmed, as the original tool would be.
    let unconfirmed = call(json!({"action": "delete", "slug": "fig-jam"})).await;
    assert_eq!(unconfirmed["isError"], true, "{unconfirmed}");
    assert_eq!(calls().lines().count(), 1);
    let confirmed = call(json!({"action": "delete", "slug": "fig-jam", "confirm": true})).await;
    assert_eq!(text(&confirmed), "from shop", "{confirmed}");
    let last = calls().lines().last().unwrap().to_owned();
    assert!(last.contains(r#""name":"delete_product""#) && !last.contains("confirm"), "{last}");
    // The original names keep working.
    let original = client.call("shop__update_product", json!({"slug": "fig-jam"})).await.unwrap();
    assert_eq!(text(&original), "from shop");
}

#[tokio::test]
async fn c4_a_batch_is_sent_one_by_one_and_reports_what_failed() {
    let folder = tempfile::tempdir().unwrap();
    let bad = r#""result":{"content":[{"type":"text","text":"no such jam"}],"isError":true}"#;
    let good = r#""result":{"content":[{"type":"text","text":"made"}]}"#;
    let mut shop = crate::shelf::answering(folder.path(), "shop", &products(), &[("bad", bad), ("", good)]);
    shop["consolidate"] = json!([{"entity": "product", "batch": true,
        "tools": ["create_product", "update_product", "delete_product"]}]);
    let yard = Yard::of(json!({"shop": shop})).learnt().await;
    let client = yard.session(json!({})).await;
    let items = json!([{"name": "fig"}, {"name": "bad"}, {"name": "plum"}]);
    let answer =
        client.call("shop__manage_product", json!({"action": "create", "items": items})).await.unwrap();
    let report = &answer["structuredContent"];
    assert_eq!((&report["total"], &report["success_count"]), (&json!(3), &json!(2)), "{answer}");
    assert_eq!(report["failed"][0]["error"], "no such jam", "{answer}");
    let eleven: Vec<Value> = (0..11).map(|at| json!({"name": format!("jam {at}")})).collect();
    let refused =
        client.call("shop__manage_product", json!({"action": "create", "items": eleven})).await.unwrap();
    assert_eq!(refused["isError"], true, "{refused}");
}

/// A picture of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A service for pictures and searches; returns its address, and what it was asked: paths, keys and bodies.
async fn services() -> (String, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    let answer = move |uri: Uri, headers: HeaderMap, body: Bytes| {
        let key = headers.get("authorization").and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned();
        kept.lock().push(format!("{uri} {key} {}", String::from_utf8_lossy(&body)));
        let answer = match uri.path() {
            "/search" => {
                json!({"results": [{"title": "Figs", "url": "https://example.com/figs", "content": "Sweet."}]})
            }
            _ => json!({"data": [{"b64_json": PIXEL}]}),
        };
        async move { answer.to_string() }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(answer)).await });
    (address, asked)
}

#[tokio::test]
async fn c9_the_six_steps_of_the_seed_run_with_the_few_tools_of_its_profile() {
    let (address, asked) = services().await;
    let yard = Yard::of(json!({"studio": {"builtin": "studio", "folder": "studio", "services": {
        "images": format!("{address}/v1#painter"), "search": format!("{address}/search"), "apiKey": "sesame",
    }}}))
    .learnt()
    .await;
    let uploads = yard.path().join("studio/uploads");
    std::fs::create_dir_all(&uploads).unwrap();
    std::fs::write(uploads.join("jam.png"), STANDARD.decode(PIXEL).unwrap()).unwrap();
    // 1. A fresh session.
    let client = yard.stdio(&["--profile", "studio"]);
    session(&client, "Visual Studio Code").await;
    let call = async |tool: &str, arguments: Value| {
        let answer = client.call(&format!("studio__{tool}"), arguments).await.unwrap();
        assert_ne!(answer["isError"], true, "{answer}");
        answer["structuredContent"].clone()
    };
    let activate = async |skill: &str| client.call("activate_skill", json!({"name": skill})).await.unwrap();
    // 2. Load the brand.
    activate("brand-identity").await;
    call("manage_brand", json!({"action": "create", "name": "Orchard", "summary": "Jam"})).await;
    assert_eq!(call("load_brand", json!({})).await["brands"][0]["slug"], "orchard");
    // 3. Create a product with an image.
    activate("product-management").await;
    call("manage_product", json!({"action": "create", "name": "Fig jam"})).await;
    call(
        "manage_product",
        json!({"action": "add_image", "slug": "fig-jam", "image_path": "uploads/jam.png"}),
    )
    .await;
    // 4. Create a style reference.
    activate("style-references").await;
    let style = json!({"action": "create", "name": "Warm", "image_path": "uploads/jam.png"});
    call("manage_style_reference", style).await;
    // 5. Generate an image with both.
    activate("image-composer").await;
    let order =
        json!({"prompt": "Jam on a table", "product_slug": "fig-jam", "style_reference_slug": "warm"});
    let image = call("generate_image", order).await;
    let path = image["path"].as_str().unwrap();
    assert_eq!(
        std::fs::read(yard.path().join("studio").join(path)).unwrap(),
        STANDARD.decode(PIXEL).unwrap()
    );
    let request = asked.lock().last().unwrap().clone();
    assert!(request.starts_with("/v1/images/edits Bearer sesame "), "{request}");
    for part in ["painter", "Jam on a table", "image/png"] {
        assert!(request.contains(part), "{request}");
    }
    // 6. All of it with at most 14 tools.
    assert!(listed(&client).await.len() <= 14);
    activate("research").await;
    let found = call("web_search", json!({"query": "figs"})).await;
    assert!(found.to_string().contains("https://example.com/figs"), "{found}");
}
