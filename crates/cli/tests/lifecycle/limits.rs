//! Answers and listings that are too much fail at once, each with its reason, and nothing else does.

use serde_json::json;

use crate::yard::{Yard, appears, failure, pid};

/// Longer than the client of the test waits, so that only an error that comes at once passes.
const NEVER: u64 = 3_600_000;

#[tokio::test]
async fn a_huge_answer_fails_its_call_at_once() {
    let mut yard = Yard::new();
    yard.server("big", &[], &json!({ "limits": { "messageBytes": 200_000, "callMs": NEVER } }));
    let client = yard.open().await;
    appears(&client, "big__big").await;
    let before = pid(&client, "big").await;
    assert_eq!(client.text("big__big", json!({ "bytes": 150_000 })).await.len(), 150_000);
    let other = client
        .start("tools/call", json!({ "name": "big__sleep", "arguments": { "ms": 300 } }))
        .await
        .unwrap();
    for bytes in [200_000, 5_000_000, 40_000_000] {
        assert_eq!(
            failure(&client, "big__big", json!({ "bytes": bytes })).await,
            "the answer of server `big` was not taken: the message has more than 200000 bytes; \
             raise `limits.messageBytes` if that is wanted"
        );
    }
    assert_eq!(other.result().await.unwrap()["content"][0]["text"], "slept");
    assert_eq!(pid(&client, "big").await, before);
}

#[tokio::test]
async fn a_deep_answer_fails_its_call_at_once() {
    let mut yard = Yard::new();
    yard.server("deep", &[], &json!({ "limits": { "callMs": NEVER } }));
    let client = yard.open().await;
    appears(&client, "deep__deep").await;
    let before = pid(&client, "deep").await;
    assert_eq!(client.text("deep__deep", json!({ "levels": 100 })).await, "deep");
    for levels in [127, 5_000, 500_000] {
        assert_eq!(
            failure(&client, "deep__deep", json!({ "levels": levels })).await,
            "the answer of server `deep` was not taken: the message is nested more than 127 levels deep; \
             raise `limits.nesting` if that is wanted"
        );
    }
    assert_eq!(pid(&client, "deep").await, before);
}

#[tokio::test]
async fn an_answer_that_is_no_result_fails_its_call_at_once() {
    let mut yard = Yard::new();
    let patient = json!({ "limits": { "callMs": NEVER } });
    // A good server first, to be learnt; then one that answers everything with null.
    let script = "[ -e learnt ] && exec \"$server\" --fault null-result; exec \"$server\"";
    yard.script("null", script, &patient);
    let client = yard.open().await;
    yard.status("null", |it| it.state == "stopped").await;
    std::fs::write(yard.path("learnt"), "").unwrap();
    let result = client.call("null__echo", json!({ "text": "hi" })).await;
    assert!(
        result.as_ref().is_ok_and(|it| it["isError"] == true
            && it["content"][0]["text"].as_str().unwrap().contains("against the protocol")),
        "{result:?}"
    );
}

#[tokio::test]
async fn a_listing_that_is_too_long_is_cut_and_reported() {
    let mut yard = Yard::new();
    yard.server("many", &["--fault", "many-tools", "--many", "300"], &json!({ "limits": { "tools": 100 } }));
    yard.server(
        "paged",
        &["--fault", "many-tools", "--many", "300", "--page-size", "40"],
        &json!({ "limits": { "tools": 100 } }),
    );
    yard.server("pages", &["--fault", "endless-cursor"], &json!({ "limits": { "pages": 5 } }));
    yard.server("round", &["--fault", "repeating-cursor"], &json!({}));
    let client = yard.open().await;
    for server in ["many", "paged"] {
        let status = yard.status(server, |it| !it.problems.is_empty()).await;
        assert_eq!(status.tools, Some(100), "{status:?}");
        assert!(status.problems[0].contains("more than 100 tools"), "{status:?}");
    }
    let status = yard.status("pages", |it| !it.problems.is_empty()).await;
    assert_eq!(
        status.problems,
        ["`tools/list` has more than 5 pages; the rest is left out (`limits.pages`)"]
    );
    let status = yard.status("round", |it| !it.problems.is_empty()).await;
    assert!(status.problems[0].contains("`tools/list` repeats its cursor `again`"), "{status:?}");
    for server in ["many", "paged", "pages", "round"] {
        assert_eq!(client.text(&format!("{server}__echo"), json!({ "text": "hi" })).await, "hi");
    }
}

#[tokio::test]
async fn names_and_descriptions_that_are_too_long_are_reported() {
    let mut yard = Yard::new();
    yard.server("names", &[], &json!({ "limits": { "nameChars": 8 } }));
    yard.server("words", &[], &json!({ "limits": { "descriptionChars": 12 } }));
    let client = yard.open().await;
    let status = yard.status("names", |it| !it.problems.is_empty()).await;
    assert!(
        status.problems.iter().any(|it| it.contains("`structured`") && it.contains("left out")),
        "{status:?}"
    );
    appears(&client, "names__echo").await;
    let status = yard.status("words", |it| !it.problems.is_empty()).await;
    assert!(status.problems.iter().all(|it| it.contains("changed")), "{status:?}");
    let tools = client.tools().await.unwrap();
    let own = tools.iter().filter(|tool| tool["name"].as_str().unwrap().starts_with("words__"));
    let longest = own.map(|tool| tool["description"].as_str().unwrap().chars().count()).max().unwrap();
    assert!(longest <= 13, "{longest} characters");
}
