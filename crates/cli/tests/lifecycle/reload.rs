//! A settings file that changes under a running hub.

use serde_json::json;
use testkit::{processes, wait_until};

use crate::yard::{SOON, Yard, appears, failure, listed, names, pid};

#[tokio::test]
async fn only_the_changed_server_restarts_while_calls_to_others_go_on() {
    let mut yard = Yard::new();
    let patient = json!({ "limits": { "callMs": 60_000 } });
    yard.server("kept", &[], &patient).server("eager", &[], &json!({ "lazy": false }));
    yard.server("changed", &["--name", "old"], &json!({}));
    let client = yard.open().await;
    for server in ["kept", "eager", "changed"] {
        appears(&client, &format!("{server}__pid")).await;
    }
    let (kept, eager) = (pid(&client, "kept").await, pid(&client, "eager").await);
    let changed = pid(&client, "changed").await;
    let long = json!({ "name": "kept__sleep", "arguments": { "ms": 15_000 } });
    let mut long = client.start("tools/call", long).await.unwrap();
    yard.server("changed", &["--name", "new"], &json!({})).write();
    wait_until(SOON, || !processes::is_alive(changed)).await;
    assert!(long.reply_so_far().is_none(), "the call was there through the change");
    appears(&client, "changed__pid").await;
    assert_ne!(pid(&client, "changed").await, changed);
    assert_eq!(long.result().await.unwrap()["content"][0]["text"], "slept");
    assert_eq!((pid(&client, "kept").await, pid(&client, "eager").await), (kept, eager));
}

#[tokio::test]
async fn servers_that_come_and_go_change_the_list_and_say_so() {
    let mut yard = Yard::new();
    yard.server("first", &[], &json!({}));
    let client = yard.open().await;
    appears(&client, "first__pid").await;
    yard.status("first", |it| it.state == "stopped").await;
    let first = pid(&client, "first").await;
    let changes = || {
        let all = client.notifications();
        all.iter().filter(|it| it["method"] == "notifications/tools/list_changed").count()
    };
    let before = changes();
    yard.server("second", &[], &json!({})).write();
    appears(&client, "second__pid").await;
    wait_until(SOON, || changes() > before).await;
    assert_eq!(pid(&client, "first").await, first);
    let before = changes();
    yard.remove("first").write();
    listed(&client, |names| !names.iter().any(|name| name.starts_with("first__"))).await;
    wait_until(SOON, || changes() > before && !processes::is_alive(first)).await;
    assert!(client.call("first__pid", json!({})).await.is_err());
    // What was learnt is still there when the server comes back.
    yard.server("first", &[], &json!({})).write();
    appears(&client, "first__pid").await;
    assert_ne!(pid(&client, "first").await, first);
}

#[tokio::test]
async fn a_file_with_mistakes_changes_nothing_and_says_so() {
    let mut yard = Yard::new();
    yard.server("good", &[], &json!({}));
    let client = yard.open().await;
    appears(&client, "good__pid").await;
    let good = pid(&client, "good").await;
    yard.write_text("{ \"mcpServers\": { \"good\": { \"comand\": \"x\" }, \"other\": { \"url\": 7 } } ");
    wait_until(SOON, || client.stderr().contains("not used")).await;
    yard.write_text("{\n  \"mcpServers\": { \"good\": { \"comand\": \"x\" }, \"other\": { \"url\": 7 } }\n}");
    wait_until(SOON, || client.stderr().contains("comand") && client.stderr().contains("url")).await;
    assert!(client.stderr().contains("toolyard.json:2"), "{}", client.stderr());
    assert_eq!(pid(&client, "good").await, good);
    assert!(!names(&client).await.iter().any(|name| name.starts_with("other")));
    // The mended file is taken over.
    yard.server("other", &[], &json!({})).write();
    appears(&client, "other__pid").await;
    assert_eq!(pid(&client, "good").await, good);
}

#[tokio::test]
async fn a_file_that_goes_away_for_a_moment_changes_nothing() {
    let mut yard = Yard::new();
    yard.server("good", &[], &json!({}));
    let client = yard.open().await;
    appears(&client, "good__pid").await;
    let good = pid(&client, "good").await;
    std::fs::remove_file(yard.config()).unwrap();
    assert_eq!(pid(&client, "good").await, good);
    yard.server("other", &[], &json!({})).write();
    appears(&client, "other__pid").await;
    assert_eq!(pid(&client, "good").await, good);
}

#[tokio::test]
async fn a_changed_policy_is_in_force_without_a_restart_of_servers() {
    let mut yard = Yard::new();
    yard.server("good", &[], &json!({}));
    let client = yard.open().await;
    appears(&client, "good__pid").await;
    let good = pid(&client, "good").await;
    yard.set("policy", json!({ "deny": ["good__die"] })).write();
    listed(&client, |names| !names.iter().any(|name| name == "good__die")).await;
    assert!(client.call("good__die", json!({})).await.is_err());
    assert_eq!(pid(&client, "good").await, good);
}

#[tokio::test]
async fn one_server_that_lacks_a_variable_is_off_until_it_has_one() {
    let mut yard = Yard::new();
    yard.server("good", &[], &json!({}));
    yard.server("token", &[], &json!({ "env": { "KEY": "key" } }));
    let client = yard.open().await;
    for server in ["good", "token"] {
        appears(&client, &format!("{server}__pid")).await;
    }
    let good = pid(&client, "good").await;
    yard.server("token", &[], &json!({ "env": { "KEY": "${NOT_SET_ANYWHERE}" } })).write();
    listed(&client, |names| !names.iter().any(|name| name.starts_with("token__"))).await;
    let why = "server `token` is off: the environment variable `NOT_SET_ANYWHERE` is not set; \
               set it where Toolyard is started, or give a default: `${NOT_SET_ANYWHERE:-value}`";
    assert_eq!(failure(&client, "token__pid", json!({})).await, why);
    assert!(client.call("tokens__pid", json!({})).await.is_err(), "another name is still unknown");
    wait_until(SOON, || client.stderr().contains(why)).await;
    let status = yard.status("token", |it| it.state == "off").await;
    assert!(status.reason.is_some_and(|reason| why.ends_with(&reason)));
    assert_eq!(pid(&client, "good").await, good, "the others are not touched");
    yard.server("token", &[], &json!({ "env": { "KEY": "${NOT_SET_ANYWHERE:-key}" } })).write();
    // What was learnt of it is still known.
    appears(&client, "token__pid").await;
    pid(&client, "token").await;
}

#[tokio::test]
async fn a_hub_starts_without_a_variable_of_one_server() {
    let mut yard = Yard::new();
    yard.server("good", &[], &json!({}));
    yard.server("token", &[], &json!({ "env": { "KEY": "${NOT_SET_ANYWHERE}" } }));
    yard.set("serve", json!({ "profiles": { "raw": { "transparent": "token" } } }));
    for surface in ["all", "route", "search", "toolset"] {
        let client = yard.open_on(&["--surface", surface], json!({})).await;
        wait_until(SOON, || client.stderr().contains("server `token` is off")).await;
        if surface == "all" {
            appears(&client, "good__pid").await;
            pid(&client, "good").await;
        }
        let said = client.call("token__anything", json!({})).await.unwrap();
        assert_eq!(said["isError"], true, "{said}");
        assert!(
            said["content"][0]["text"].as_str().unwrap().contains("`NOT_SET_ANYWHERE` is not set"),
            "{said}"
        );
    }
}
