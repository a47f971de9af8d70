//! What the surface `toolset` withholds: inactive tools, tools that nobody may see, and room that strangers take.

use serde_json::{Value, json};

use crate::shelf::{calls, server, tool};
use crate::toolset::{listed, session, workshop};
use crate::yard::{Yard, refusal, text};

#[tokio::test]
async fn s3_a_tool_of_a_server_that_was_never_reached_is_not_called_unless_it_is_active() {
    let folder = tempfile::tempdir().unwrap();
    let tools = [tool("launch_probe", "Launches a probe", &[]), tool("read_gauge", "Reads the gauge", &[])];
    let settings = |reactor: &Value| {
        json!({
            "mcpServers": {"reactor": reactor},
            "toolset": {"core": ["reactor__read_gauge"]},
            "skills": {"launch": {"when": "launching", "tools": ["reactor__launch_probe"]}},
        })
    };
    let reactor = server(folder.path(), "reactor", &tools);
    for (name, arguments) in
        [("reactor__launch_probe", json!({})), ("call_tool", json!({"name": "reactor__launch_probe"}))]
    {
        // Each has a hub that knows nothing yet.
        let yard = Yard::new(settings(&reactor));
        let client = yard.stdio(&["--surface", "toolset"]);
        session(&client, "cursor").await;
        let answer = client.call(name, arguments).await.unwrap();
        assert_eq!(answer["isError"], true, "{answer}");
        assert!(text(&answer).contains("activate_skill {\"name\": \"launch\"}"), "{answer}");
    }
    assert_eq!(calls(folder.path(), "reactor"), 0);
    let yard = Yard::new(settings(&reactor));
    let client = yard.stdio(&["--surface", "toolset"]);
    session(&client, "cursor").await;
    assert_eq!(client.text("reactor__read_gauge", json!({})).await, "from reactor");
    let (_, message, _) = refusal(client.call("reactor__lunch_probe", json!({})).await);
    assert_eq!(message, "there is no tool `reactor__lunch_probe`; did you mean `reactor__launch_probe`?");
    let unknown = client.call("call_tool", json!({"name": "reactor__lunch_probe"})).await.unwrap();
    assert!(text(&unknown).contains("there is no tool `reactor__lunch_probe`"), "{unknown}");
}

#[tokio::test]
async fn s9_failures_take_no_room_from_other_conversations() {
    let yard = workshop().await;
    let served = yard.http(&[]);
    let client = served.modern("set", json!({}));
    let activated = client.call("activate_skill", json!({"name": "paint"})).await.unwrap();
    let session = &activated["structuredContent"]["session"];
    // More than are kept.
    for _ in 0..10_050 {
        client.call("activate_skill", json!({"name": "nosuch"})).await.unwrap();
    }
    let nothing = client.call("find_tools", json!({"server": "nosuch"})).await.unwrap();
    assert!(!text(&nothing).contains("session"), "{nothing}");
    let painted =
        client.call("call_tool", json!({"name": "shop__paint_it", "session": session})).await.unwrap();
    assert_eq!(text(&painted), "from shop");
    assert!(!listed(&client).await.contains(&"shop__paint_it".to_owned()));
}
