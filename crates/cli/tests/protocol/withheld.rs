//! What the surface `toolset` withholds: inactive tools, tools that nobody may see, and room that strangers take.

use serde_json::{Value, json};
use testkit::client::Client;

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

/// Two servers with skills across them, of which a profile shows one and the policy denies a tool.
fn divided() -> Yard {
    let folder = tempfile::tempdir().unwrap();
    let desk = [tool("read_mail", "Reads mail", &[]), tool("burn_mail", "Burns mail", &[])];
    let safe = [tool("open_safe", "Opens the safe", &[])];
    let yard = Yard::new(json!({
        "mcpServers": {"desk": server(folder.path(), "desk", &desk), "safe": server(folder.path(), "safe", &safe)},
        "policy": {"deny": ["desk__burn_mail"]},
        "skills": {
            "both": {"when": "doing all", "tools": ["desk__read_mail", "desk__burn_mail", "safe__open_safe"]},
            "burn": {"when": "burning", "tools": ["desk__burn_mail"]},
            "rob": {"when": "robbing", "tools": ["safe__open_safe"]},
            "talk": {"when": "talking", "instructions": "Be kind."},
        },
        "serve": {"profiles": {
            "set": {"surface": "toolset"},
            "desk": {"surface": "toolset", "servers": ["desk"]},
        }},
    }));
    yard.keep(folder)
}

#[tokio::test]
async fn s4_skills_show_only_what_the_profile_and_the_policy_permit() {
    let (unlearnt, learnt) = (divided(), divided().learnt().await);
    for yard in [unlearnt, learnt] {
        let served = yard.http(&[]);
        for (profile, offered, count) in
            [("set", ["both", "rob", "talk"].as_slice(), 2), ("desk", ["both", "talk"].as_slice(), 1)]
        {
            let client = Client::http(&served.at(profile), &[]);
            let hello = session(&client, "cursor").await;
            let instructions = hello["instructions"].as_str().unwrap();
            for skill in ["both", "burn", "rob", "talk"] {
                let is_offered = instructions.contains(&format!("activate_skill(\"{skill}\")"));
                assert_eq!(is_offered, offered.contains(&skill), "{skill} at {profile}: {instructions}");
            }
            // Servers that are not known yet are waited for.
            let both = client.call("activate_skill", json!({"name": "both"})).await.unwrap();
            assert_eq!(both["structuredContent"]["tools"].as_array().unwrap().len(), count, "{both}");
            assert!(!text(&both).contains("burn_mail"), "{both}");
            let said = if count == 1 { "with one tool.".to_owned() } else { format!("with {count} tools.") };
            assert!(text(&both).contains(&said), "{both}");
            let burn = client.call("activate_skill", json!({"name": "burn"})).await.unwrap();
            let expected = format!("there is no skill `burn`; skills: {}", offered.join(", "));
            assert_eq!(text(&burn), expected);
        }
        // What is not shown is no hint either.
        let client = Client::http(&served.at("desk"), &[]);
        session(&client, "cursor").await;
        for name in ["safe__open_safe", "safe__open_saf"] {
            let (_, message, _) = refusal(client.call(name, json!({})).await);
            assert_eq!(message, format!("there is no tool `{name}`"));
        }
    }
}

#[tokio::test]
async fn s3_what_the_list_has_no_room_for_is_said_and_called_through_the_hub() {
    let yard = workshop().await;
    let served = yard.http(&[]);
    // Five tools are the hub's own and the core tool.
    let client = Client::http(&served.at("tiny"), &[]);
    session(&client, "cursor").await;
    let answer = client.call("activate_skill", json!({"name": "paint"})).await.unwrap();
    assert!(text(&answer).contains("The list has no room for them: call them with call_tool"), "{answer}");
    assert!(!listed(&client).await.contains(&"shop__paint_it".to_owned()));
    assert_eq!(client.text("call_tool", json!({"name": "shop__paint_it"})).await, "from shop");
}

#[tokio::test]
async fn s3_some_of_a_skill_are_listed_and_the_others_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let tools = ["saw", "file", "glue"].map(|name| tool(name, &format!("Does {name} wood"), &[]));
    let yard = Yard::new(json!({
        "mcpServers": {"bench": server(folder.path(), "bench", &tools)},
        "toolset": {"budget": {"tools": 6}},
        "skills": {"wood": {"when": "woodwork", "tools": ["bench__saw", "bench__file", "bench__glue"]}},
    }));
    let yard = yard.keep(folder).learnt().await;
    let client = yard.stdio(&["--surface", "toolset"]);
    session(&client, "cursor").await;
    let answer = client.call("activate_skill", json!({"name": "wood"})).await.unwrap();
    assert!(text(&answer).contains("has no room for: bench__glue. Call these with call_tool"), "{answer}");
    let now = listed(&client).await;
    assert_eq!(now[4..], ["bench__saw", "bench__file"]);
}

#[tokio::test]
async fn s5_a_session_that_is_not_known_is_told_so() {
    const LOST: &str = "This session is not known here; what it had active is gone.";
    let yard = workshop().await;
    let served = yard.http(&[]);
    let client = served.modern("set", json!({}));
    let forged = "0123456789abcdef".repeat(8);
    for session in ["made-up", &forged] {
        for (name, arguments) in [
            ("activate_skill", json!({"name": "paint", "session": session})),
            ("find_tools", json!({"query": "painting of a chair", "session": session})),
            ("find_tools", json!({"server": "nosuch", "session": session})),
            ("call_tool", json!({"name": "shop__paint_it", "session": session})),
        ] {
            let answer = client.call(name, arguments).await.unwrap();
            assert!(answer["content"].to_string().contains(LOST), "{answer}");
        }
    }
    let first = client.call("activate_skill", json!({"name": "paint"})).await.unwrap();
    let session = &first["structuredContent"]["session"];
    let again = client.call("activate_skill", json!({"name": "build", "session": session})).await.unwrap();
    assert!(!format!("{first}{again}").contains(LOST), "{first} {again}");
}

#[tokio::test]
async fn s8_a_name_that_nobody_has_is_shown_short_and_plain() {
    let yard = workshop().await;
    let client = yard.stdio(&["--surface", "toolset"]);
    session(&client, "cursor").await;
    let name = format!("\u{1b}[31m\u{202e}{}", "x".repeat(100_000));
    let answer = client.call("activate_skill", json!({"name": name})).await.unwrap();
    let shown = "x".repeat(100);
    assert_eq!(text(&answer), format!("there is no skill `{shown}`; skills: build, paint, sell, ship"));
    let answer = client.call("find_tools", json!({"server": name})).await.unwrap();
    assert!(text(&answer).starts_with(&format!("There is no server `{shown}` with tools")), "{answer}");
}

#[tokio::test]
async fn s7_a_skill_that_words_activate_is_named_and_so_is_what_went() {
    let folder = tempfile::tempdir().unwrap();
    let tools = [tool("list_chairs", "Lists every chair", &[])];
    let yard = Yard::new(json!({
        "mcpServers": {"shop": server(folder.path(), "shop", &tools)},
        "toolset": {"autoActivate": true, "maxSkills": 1},
        "skills": {
            "greet": {"when": "greeting guests kindly", "instructions": "Smile."},
            "review": {"when": "reviewing weekly goals", "instructions": "Begin with goals."},
        },
    }));
    let yard = yard.keep(folder).learnt().await;
    let client = yard.stdio(&["--surface", "toolset"]);
    session(&client, "cursor").await;
    client.call("activate_skill", json!({"name": "greet"})).await.unwrap();
    let query = json!({"query": "list chairs for reviewing my weekly goals"});
    let answer = client.call("find_tools", query).await.unwrap();
    let said = answer["content"].to_string();
    for part in ["`greet` went", "`review` came", "shows its instructions"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let review = client.call("activate_skill", json!({"name": "review"})).await.unwrap();
    assert!(text(&review).contains("Begin with goals."), "{review}");
}
