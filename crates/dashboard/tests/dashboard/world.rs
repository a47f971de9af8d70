//! Overview, tools, servers and settings.

use serde_json::{Value, json};

use crate::yard::{Yard, send};

#[tokio::test]
async fn r15_the_overview_says_how_everything_is() {
    let yard = Yard::new().await;
    yard.tried("search my notes for garden").await;
    let shown = yard.get("/overview?hours=1").await;
    assert_eq!(shown["servers"]["total"], json!(3), "{shown}");
    let parts = ["up", "failed", "idle"].map(|part| shown["servers"][part].as_u64().unwrap());
    assert_eq!(parts.iter().sum::<u64>(), 3);
    assert_eq!(shown["version"], json!(env!("CARGO_PKG_VERSION")));
    assert!(shown["tools"].as_u64().unwrap() >= 9, "{shown}");
    assert!(shown["uptimeSeconds"].is_u64() && shown["numbers"].is_object() && shown["summary"].is_object());
    assert!(shown["meaning"].get("known").is_some(), "{shown}");
    for hours in ["0", "-5", "99999999", "9223372036854775807"] {
        yard.get(&format!("/overview?hours={hours}")).await;
    }
}

#[tokio::test]
async fn r15_tools_are_listed_with_scores_and_searched() {
    let yard = Yard::new().await;
    let all = yard.get("/tools").await;
    let items = all["items"].as_array().unwrap();
    assert_eq!(all["total"].as_u64().unwrap() as usize, items.len());
    assert!(items.iter().all(|it| it["id"] != "time__add_time"), "the policy denies it");
    let found = yard.get("/tools?text=search%20NOTES%20markdown&server=notes").await;
    assert_eq!(found["total"], json!(1), "{found}");
    let tool = &found["items"][0];
    assert_eq!(
        (&tool["id"], &tool["server"], &tool["effect"]),
        (&json!("notes__search_notes"), &json!("notes"), &json!("read"))
    );
    assert_eq!(
        (&tool["domain"], &tool["calls"], &tool["success"]),
        (&json!("notes"), &json!(0), &Value::Null),
        "{tool}"
    );
    assert!(tool["tier"].is_u64() && tool["confusableWith"].is_array(), "{tool}");
    let scored = testkit::wait_for(crate::yard::SOON, || async {
        yard.get("/tools?text=search_notes").await["items"][0]["lint"].as_u64()
    });
    assert!((1..=100).contains(&scored.await));
    let ids = |items: &[Value]| items.iter().map(|it| it["id"].clone()).collect::<Vec<_>>();
    let page = yard.get("/tools?offset=1&limit=2").await;
    assert_eq!(ids(page["items"].as_array().unwrap()), ids(&items[1..3]));
    assert_eq!(yard.get("/tools?offset=100000").await["items"], json!([]));

    yard.done("/run", &json!({ "tool": "notes__search_notes", "arguments": { "query": "garden" } })).await;
    let shown = yard.get("/tools/notes__search_notes").await;
    assert_eq!((&shown["calls"], &shown["success"]), (&json!(1), &json!(1.0)));
    assert!(
        shown["latencyMs"].is_number() && shown["description"].as_str().unwrap().contains("Does not show")
    );
    assert_eq!(shown["schema"]["required"], json!(["query"]));
    assert!(shown["examples"].is_array() && shown["diagnostics"].is_array());
}

#[tokio::test]
async fn r15_servers_are_listed_restarted_and_their_logs_read() {
    let yard = Yard::new().await;
    let servers = yard.get("/servers").await;
    let server = |servers: &Value, name: &str| {
        servers["servers"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap().clone()
    };
    let notes = server(&servers, "notes");
    assert_eq!(
        (&notes["transport"], &notes["tools"], &notes["canLogin"]),
        (&json!("builtin"), &json!(6), &json!(false))
    );
    assert_eq!(server(&servers, "locked")["canLogin"], json!(false), "`auth` is off for it");
    let restarted = yard.done("/servers/notes/restart", &json!({})).await;
    assert_eq!(restarted, json!({ "name": "notes", "state": "ready" }));
    let notes = server(&yard.get("/servers").await, "notes");
    assert_eq!((&notes["state"], &notes["restarts"]), (&json!("ready"), &json!(1)));
    assert!(notes["uptimeSeconds"].is_u64(), "{notes}");
    let called = yard.done("/run", &json!({ "tool": "notes__list_notes" })).await;
    assert_eq!(called["outcome"], json!("answered"));

    let log = yard.get("/servers/notes/log?lines=5").await;
    assert_eq!(log, json!({ "server": "notes", "lines": [], "note": "a built-in server writes no log" }));
    for path in ["/servers/nobody/restart", "/servers/nobody/login"] {
        assert_eq!(yard.post(path, &json!({})).await.status, 404, "{path}");
    }
    assert_eq!(send(yard.ours("GET", "/servers/nobody/log")).await.status, 404);
    let login = yard.post("/servers/notes/login", &json!({})).await;
    assert_eq!(login.status, 409);
    assert!(login.error().0.contains("not reached over HTTP"), "{}", login.text);
    let unreachable = yard.post("/servers/locked/restart", &json!({})).await;
    assert_eq!(unreachable.status, 502);
    assert!(unreachable.error().1.contains("toolyard doctor locked"), "{}", unreachable.text);
}

#[tokio::test]
async fn r15_settings_are_shown_without_secrets() {
    let yard = Yard::new().await;
    let shown = yard.get("/settings").await;
    let first = &shown["thresholds"][0];
    assert_eq!((&first["name"], &first["value"]), (&json!("decision.confidence"), &json!(0.7)));
    assert!(first["meaning"].as_str().unwrap().starts_with("Asks instead of acting"), "{first}");
    assert_eq!(shown["routing"]["confidenceThreshold"], json!(0.7));
    assert_eq!(shown["routing"]["arguments"], json!({ "model": "small" }));
    assert_eq!(shown["policy"]["deny"], json!(["time__add_time"]));
    assert_eq!(
        shown["policy"]["rules"][0],
        json!({ "tools": ["notes__create_note"], "servers": [], "effects": [], "then": "ask" })
    );
    assert!(!shown.to_string().contains("secret"), "{shown}");
}
