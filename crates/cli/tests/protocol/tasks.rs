//! Calls that answer with a task: whose it is, what it is called, and who is told of it.

use std::path::Path;

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::{Listening, bin, wait_for, wait_until};

use crate::conformance::{expected, scenarios};
use crate::scoped::{modern, register};
use crate::scripted::program;
use crate::shelf::whole;
use crate::yard::{SOON, Served, Yard, named, refusal, text};

/// The scenarios of the official suite about tasks.
const SCENARIOS: [&str; 10] = [
    "tasks-capability-negotiation",
    "tasks-dispatch-and-envelope",
    "tasks-lifecycle",
    "tasks-mrtr-composition",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-request-state-removal",
    "tasks-required-task-error",
    "tasks-status-notifications",
    "tasks-wire-fields",
];

/// What a client declares that takes tasks for answers, and can be asked.
fn following() -> Value {
    json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
}

/// A hub before the fixture of the suite.
async fn suite(serve: Value) -> Yard {
    let yard = Yard::new(json!({
        "mcpServers": {"suite": {"command": bin("conformance-server")}},
        "policy": {"rules": [{"tool": "suite__*", "then": "allow"}]},
        "toolset": {"core": ["suite__slow_compute", "suite__confirm_delete"]},
        "serve": serve,
    }));
    yard.learnt().await
}

/// Asks for a task until it is in a state.
async fn until(client: &Client, task: &str, status: &str) -> Value {
    wait_for(SOON, || async {
        let state = client.request("tasks/get", json!({"taskId": task})).await.unwrap();
        assert_eq!(state["taskId"], task, "{state}");
        (state["status"] == status).then_some(state)
    })
    .await
}

fn id(begun: &Value) -> &str {
    let id = begun["taskId"].as_str().or(begun["task"]["taskId"].as_str());
    id.unwrap_or_else(|| panic!("no task in {begun}"))
}

#[tokio::test]
async fn e3_the_suite_finds_the_same_on_a_surface_as_without_the_hub() {
    let fixture = Listening::conformance();
    let tools =
        ["greet", "slow_compute", "failing_job", "protocol_error_job", "confirm_delete", "multi_input"];
    let tools = tools.into_iter().chain(["test_tool_with_task"]);
    let aliases: serde_json::Map<String, Value> =
        tools.map(|tool| (tool.to_owned(), json!(format!("suite__{tool}")))).collect();
    let yard = Yard::new(json!({
        "mcpServers": {"suite": {"url": fixture.url()}},
        "policy": {"rules": [{"tool": "suite__*", "then": "allow"}]},
        "aliases": aliases,
        "serve": {"surface": "all"},
    }));
    let yard = yard.learnt().await;
    let direct: Vec<&str> = expected("2026-07-28")
        .lines()
        .filter(|line| line.split(' ').nth(1).is_some_and(|scenario| scenario.starts_with("tasks-")))
        .collect();
    assert!(direct.len() > SCENARIOS.len(), "{direct:#?}");
    assert_eq!(scenarios(&yard.http(&[]).url, &SCENARIOS).lines().skip(1).collect::<Vec<_>>(), direct);
}

#[tokio::test]
async fn e3_a_task_is_followed_to_its_end_on_every_surface() {
    let surface = |name: &str| json!({"surface": name});
    let profiles = json!({"search": surface("search"), "set": surface("toolset")});
    let yard = suite(json!({"surface": "all", "profiles": profiles})).await;
    let served = yard.http(&[]);
    for profile in ["", "search", "set"] {
        let client = served.modern(profile, following());
        let begin = async |tool: &str, arguments: Value| {
            let name = format!("suite__{tool}");
            let begun = match profile {
                "" | "set" => client.call(&name, arguments).await,
                _ => client.call("call_tool", json!({"name": name, "arguments": arguments})).await,
            };
            let begun = begun.unwrap();
            assert_eq!(begun["resultType"], "task", "{profile} {tool}: {begun}");
            id(&begun).to_owned()
        };
        let slow = begin("slow_compute", json!({"seconds": 0.2})).await;
        let done = until(&client, &slow, "completed").await;
        assert_eq!(
            (&done["resultType"], text(&done["result"])),
            (&json!("complete"), "The computation is done")
        );

        let asking = begin("confirm_delete", json!({"filename": "a.txt"})).await;
        let asked = until(&client, &asking, "input_required").await;
        let (key, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
        assert_eq!(question["params"]["message"], "[suite] Delete a.txt?");
        let answers = json!({key: {"action": "accept", "content": {"confirm": true}}});
        let update = json!({"taskId": asking, "inputResponses": answers});
        client.request("tasks/update", update).await.unwrap();
        let done = until(&client, &asking, "completed").await;
        assert_eq!(text(&done["result"]), "a.txt: true");

        let long = begin("slow_compute", json!({"seconds": 60})).await;
        client.request("tasks/cancel", json!({"taskId": long})).await.unwrap();
        until(&client, &long, "cancelled").await;
    }
}

#[tokio::test]
async fn e3_a_client_that_follows_no_tasks_gets_results_or_hears_what_it_lacks() {
    let profiles = json!({"route": {"surface": "route"}});
    let yard = suite(json!({"surface": "all", "profiles": profiles})).await;
    let served = yard.http(&[]);
    let session = served.session("", json!({"elicitation": {}})).await;
    session.answer_with(|_, _| Ok(json!({"action": "accept", "content": {"confirm": true}})));
    let called = session.call("suite__confirm_delete", json!({"filename": "b.txt"})).await.unwrap();
    assert_eq!(text(&called), "b.txt: true", "{called}");
    let failed = session.call("suite__failing_job", json!({})).await.unwrap();
    assert_eq!((&failed["isError"], text(&failed)), (&json!(true), "This job always fails"));
    let (_, broken, _) = refusal(session.call("suite__protocol_error_job", json!({})).await);
    assert_eq!(broken, "This job always breaks");

    // A call in words is answered by a result, whatever its client follows.
    let routed = served.modern("route", following());
    let said =
        whole(&routed, json!({"task": "suite__slow_compute", "context": {"arguments": {"seconds": 0.2}}}))
            .await;
    assert!(said.to_string().contains("The computation is done"), "{said}");

    let plain = served.modern("", json!({}));
    let needs = json!({"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
    let began =
        served.modern("", following()).call("suite__slow_compute", json!({"seconds": 60})).await.unwrap();
    let task = json!({"taskId": id(&began)});
    let listen = json!({"notifications": {"taskIds": [id(&began)]}});
    let call = json!({"name": "suite__failing_job", "arguments": {}});
    for (method, params) in [
        ("tools/call", &call),
        ("tasks/get", &task),
        ("tasks/update", &task),
        ("tasks/cancel", &task),
        ("subscriptions/listen", &listen),
    ] {
        let (code, _, data) = refusal(plain.request(method, params.clone()).await);
        assert_eq!(
            (code, &data["requiredCapabilities"]),
            (-32021, &needs["requiredCapabilities"]),
            "{method}"
        );
    }
}

/// Gives a modern server whose only task has the same name as that of every other, and says who it is. It writes down
/// what it is asked.
fn alike(folder: &Path, name: &str) -> Value {
    let folder = folder.join(name);
    std::fs::create_dir(&folder).unwrap();
    let asked = folder.join("asked").display().to_string();
    let discovered = r#""result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;
    let tools = r#""result":{"resultType":"complete","tools":[{"name":"dig","description":"Digs","inputSchema":{"type":"object"}}]}"#;
    let state = r#""taskId":"one","createdAt":"2026-11-01T00:00:00Z","lastUpdatedAt":"2026-11-01T00:00:00Z","ttlMs":null,"pollIntervalMs":60"#;
    let script = format!(
        r#"say() {{ printf '{{"jsonrpc":"2.0","id":%s,%s}}\n' "$id" "$1"; }}
tell() {{ printf '{{"jsonrpc":"2.0","method":"notifications/%s","params":{{%s}}}}\n' "$1" "$2"; }}
while IFS= read -r line; do
printf '%s\n' "$line" >> '{asked}'
id=${{line#*'"id":'}}
id=${{id%%,*}}
case "$line" in
*'"method":"server/discover"'*) say '{discovered}' ;;
*'"method":"tools/list"'*) say '{tools}' ;;
*'"method":"tools/call"'*) say '"result":{{"resultType":"task","status":"working",{state}}}' ;;
*'"method":"tasks/get"'*) say '"result":{{"resultType":"complete","status":"working","statusMessage":"{name}",{state}}}' ;;
*'"method":"tasks/cancel"'*) say '"result":{{"resultType":"complete"}}' ;;
*'"method":"subscriptions/listen"'*) tell subscriptions/acknowledged '"notifications":{{"taskIds":["one"]}}'
tell tasks '"status":"completed","result":{{"content":[{{"type":"text","text":"gold of {name}"}}]}},{state}' ;;
*'"id":'*) say '"error":{{"code":-32601,"message":"no"}}' ;;
esac
done"#
    );
    program(&folder, &script)
}

async fn two() -> Yard {
    let folder = tempfile::tempdir().unwrap();
    let servers = json!({"left": alike(folder.path(), "left"), "right": alike(folder.path(), "right")});
    Yard::new(json!({"mcpServers": servers, "serve": {"surface": "all"}})).keep(folder).learnt().await
}

#[tokio::test]
async fn e3_tasks_that_two_servers_call_alike_are_two() {
    let yard = two().await;
    let served = yard.http(&[]);
    let client = served.modern("", following());
    let left = client.call("left__dig", json!({})).await.unwrap();
    let right = client.call("right__dig", json!({})).await.unwrap();
    assert_ne!(id(&left), id(&right));
    for (task, server) in [(&left, "left"), (&right, "right"), (&left, "left")] {
        let state = until(&client, id(task), "working").await;
        assert_eq!(state["statusMessage"], server);
    }
}

#[tokio::test]
async fn e3_a_task_belongs_to_who_began_it_also_after_the_hub_was_started_anew() {
    let yard = two().await;
    let tokens = [register(&yard, "ana", &[]), register(&yard, "ben", &[])];
    let both = |served: &Served| {
        let [ana, ben] = &tokens;
        (modern(served, "", ana, following()), modern(served, "", ben, following()))
    };
    let served = yard.http(&[]);
    let (ana, ben) = both(&served);
    let begun = ana.call("left__dig", json!({})).await.unwrap();
    let hers = json!({"taskId": id(&begun)});
    let refused = async |client: &Client, task: &Value| {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let (code, message, _) = refusal(client.request(method, task.clone()).await);
            assert_eq!((code, message.starts_with("this client has no task")), (-32602, true), "{method}");
        }
    };
    refused(&ben, &hers).await;
    // What its server calls the task is no name here.
    refused(&ana, &json!({"taskId": "one"})).await;
    served.terminate().await;
    let again = yard.http(&[]);
    let (ana, ben) = both(&again);
    refused(&ben, &hers).await;
    assert_eq!(ana.request("tasks/get", hers.clone()).await.unwrap()["statusMessage"], "left");
}

#[tokio::test]
async fn e3_what_becomes_of_a_task_is_told_to_who_listens_for_it() {
    let yard = two().await;
    let tokens = [register(&yard, "ana", &[]), register(&yard, "ben", &[])];
    let served = yard.http(&[]);
    let [ana, ben] = tokens.map(|token| modern(&served, "", &token, following()));
    let begun = ana.call("right__dig", json!({})).await.unwrap();
    for (client, granted) in [(&ben, json!(null)), (&ana, json!([id(&begun)]))] {
        let wanted = json!({"notifications": {"taskIds": [id(&begun)]}});
        let _listening = client.start("subscriptions/listen", wanted).await.unwrap();
        let taken = client.notified("notifications/subscriptions/acknowledged").await;
        assert_eq!(taken["params"]["notifications"]["taskIds"], granted, "{taken}");
    }
    let told = ana.notified("notifications/tasks").await;
    assert_eq!(told["params"]["taskId"], begun["taskId"], "{told}");
    assert_eq!(text(&told["params"]["result"]), "gold of right");
    assert!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].is_number(), "{told}");
    ben.request("tools/list", json!({})).await.unwrap();
    assert!(!ben.notifications().iter().any(|it| it["method"] == "notifications/tasks"));
}

#[tokio::test]
async fn e3_a_task_that_nobody_waits_for_any_more_is_cancelled_at_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let asked = folder.path().join("left/asked");
    let servers = json!({"left": alike(folder.path(), "left")});
    let yard = Yard::new(json!({"mcpServers": servers, "serve": {"surface": "all"}})).keep(folder);
    let yard = yard.learnt().await;
    let client = yard.session(json!({})).await;
    let call = client.start("tools/call", json!({"name": "left__dig", "arguments": {}})).await.unwrap();
    let was_asked = |method: &str| std::fs::read_to_string(&asked).unwrap().contains(method);
    wait_until(SOON, || was_asked("tasks/get")).await;
    assert!(!was_asked("tasks/cancel"));
    client.cancel(&call).await.unwrap();
    wait_until(SOON, || was_asked("tasks/cancel")).await;
}

/// Gives a server of the session era with a tool that wants to be called as a task. It says when the task is done.
fn wanting(folder: &Path) -> Value {
    let greeting = r#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"wanting","version":"1"}}"#;
    let tools = r#""result":{"tools":[{"name":"dig","description":"Digs","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}"#;
    let state = r#""taskId":"one","createdAt":"2026-11-01T00:00:00Z","lastUpdatedAt":"2026-11-01T00:00:00Z","ttl":null,"pollInterval":60"#;
    let script = format!(
        r#"polls=0
say() {{ printf '{{"jsonrpc":"2.0","id":%s,%s}}\n' "$id" "$1"; }}
while IFS= read -r line; do
id=${{line#*'"id":'}}
id=${{id%%,*}}
case "$line" in
*'"method":"initialize"'*) say '{greeting}' ;;
*'"method":"tools/list"'*) say '{tools}' ;;
*'"method":"tools/call"'*'"task":'*) polls=0; say '"result":{{"task":{{"status":"working",{state}}}}}' ;;
*'"method":"tools/call"'*) say '"error":{{"code":-32601,"message":"only as a task"}}' ;;
*'"method":"tasks/get"'*) polls=$((polls + 1)); status=working; [ $polls -gt 1 ] && status=completed
printf '{{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{{"status":"%s",%s}}}}\n' $status '{state}'
say "\"result\":{{\"status\":\"$status\","'{state}}}' ;;
*'"method":"tasks/result"'*) say '"result":{{"content":[{{"type":"text","text":"gold"}}],"_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"one"}}}}}}' ;;
*'"method":"tasks/cancel"'*) say '"result":{{"status":"cancelled",{state}}}' ;;
*'"id":'*) say '"error":{{"code":-32601,"message":"no"}}' ;;
esac
done"#
    );
    program(folder, &script)
}

#[tokio::test]
async fn e3_tasks_of_the_session_era_are_handed_on_or_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let servers = json!({"mine": wanting(folder.path())});
    let yard = Yard::new(json!({"mcpServers": servers, "serve": {"surface": "all"}})).keep(folder);
    let yard = yard.learnt().await;
    let client = yard.stdio(&[]);
    let greeted = client.initialize("2025-11-25", json!({})).await.unwrap();
    assert_eq!(greeted["capabilities"]["tasks"], json!({"cancel": {}, "requests": {"tools": {"call": {}}}}));
    let tools = client.tools().await.unwrap();
    let tool = tools.iter().find(|tool| named(tool) == "mine__dig").unwrap();
    assert_eq!(tool["execution"]["taskSupport"], "required");

    let params = json!({"name": "mine__dig", "arguments": {}, "task": {"ttl": 60_000}});
    let begun = client.request("tools/call", params).await.unwrap();
    assert_ne!(id(&begun), "one");
    until(&client, id(&begun), "completed").await;
    let told = client.notified("notifications/tasks/status").await;
    assert_eq!(told["params"]["taskId"], begun["task"]["taskId"]);
    let task = json!({"taskId": id(&begun)});
    let result = client.request("tasks/result", task.clone()).await.unwrap();
    assert_eq!(text(&result), "gold");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/related-task"], task);
    assert_eq!(client.request("tasks/cancel", task).await.unwrap()["taskId"], begun["task"]["taskId"]);

    for client in [yard.session(json!({})).await, yard.modern(json!({})), yard.modern(following())] {
        let called = client.call("mine__dig", json!({})).await.unwrap();
        assert_eq!(text(&called), "gold", "{called}");
    }
}
