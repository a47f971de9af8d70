//! Clients over HTTP that must not see each other.

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::wait_until;

use crate::yard::{SOON, Yard, appears};

/// Two clients in sessions of their own, each with its stream open.
async fn pair(url: &str) -> [Client; 2] {
    let mut pair = Vec::new();
    for name in ["Ada", "Grace"] {
        let client = Client::http(url, &[]);
        client.initialize("2025-11-25", json!({ "elicitation": {}, "sampling": {} })).await.unwrap();
        client.open_stream().await.unwrap();
        client.answer_with(move |_, _| Ok(json!({ "action": "accept", "content": { "name": name } })));
        pair.push(client);
    }
    pair.try_into().unwrap()
}

/// Gives what came to a client beside announcements of changed lists.
fn heard(client: &Client) -> Vec<Value> {
    let is_public = |it: &Value| it["method"].as_str().is_some_and(|it| it.ends_with("/list_changed"));
    client.notifications().into_iter().filter(|it| !is_public(it)).collect()
}

#[tokio::test]
async fn s9_progress_and_log_messages_reach_only_the_client_that_called() {
    let mut yard = Yard::new();
    yard.server("good", &[], &json!({}));
    let (hub, url) = yard.listen().await;
    let [ada, grace] = pair(&url).await;
    assert_ne!(ada.session(), grace.session());
    appears(&ada, "good__progress").await;
    let call = json!({ "name": "good__progress", "arguments": { "steps": 3, "ms": 20 }, "_meta": { "progressToken": 1 } });
    // Both with the same token at the same time.
    let (first, second) =
        tokio::join!(ada.request("tools/call", call.clone()), grace.request("tools/call", call));
    assert_eq!(first.unwrap()["content"], second.unwrap()["content"]);
    assert_eq!((heard(&ada).len(), heard(&grace).len()), (3, 3));
    ada.text("good__log", json!({ "text": "for Ada" })).await;
    ada.notified("notifications/message").await;
    // An answer to Grace comes after whatever would have been sent to her by mistake.
    grace.text("good__echo", json!({ "text": "hi" })).await;
    assert_eq!(heard(&grace).len(), 3);
    hub.kill9().await;
    yard.deserted().await;
}

#[tokio::test]
async fn s9_a_question_reaches_only_the_client_that_called() {
    let mut yard = Yard::new();
    yard.server("good", &[], &json!({ "limits": { "callMs": 60_000 } }));
    let (hub, url) = yard.listen().await;
    let [ada, grace] = pair(&url).await;
    appears(&ada, "good__ask").await;
    assert!(ada.text("good__ask", json!({})).await.contains("Ada"));
    assert!(grace.text("good__ask", json!({})).await.contains("Grace"));
    assert_eq!((heard(&ada).len(), heard(&grace).len()), (1, 1));
    // While both have calls at one server, nobody is asked for the other.
    let other =
        ada.start("tools/call", json!({ "name": "good__sleep", "arguments": { "ms": 800 } })).await.unwrap();
    ada.text("good__echo", json!({ "text": "hi" })).await;
    let said = grace.text("good__ask", json!({})).await;
    assert!(said.contains("several clients") || said.contains("Grace"), "{said}");
    other.result().await.unwrap();
    assert_eq!(heard(&ada).len(), 1);
    hub.kill9().await;
}

#[tokio::test]
async fn s9_a_subscription_is_heard_only_by_the_client_that_made_it() {
    let mut yard = Yard::new();
    yard.server("good", &[], &json!({}));
    let (hub, url) = yard.listen().await;
    let [ada, grace] = pair(&url).await;
    appears(&ada, "good__touch_resource").await;
    ada.request("resources/subscribe", json!({ "uri": "fault://note" })).await.unwrap();
    testkit::wait_for(SOON, || async {
        grace.text("good__touch_resource", json!({})).await;
        (!heard(&ada).is_empty()).then_some(())
    })
    .await;
    assert_eq!(heard(&grace), [Value::Null; 0]);
    // One that ends its subscription does not end another's.
    grace.request("resources/subscribe", json!({ "uri": "fault://note" })).await.unwrap();
    ada.request("resources/unsubscribe", json!({ "uri": "fault://note" })).await.unwrap();
    let before = heard(&ada).len();
    grace.text("good__touch_resource", json!({})).await;
    wait_until(SOON, || !heard(&grace).is_empty()).await;
    grace.text("good__echo", json!({ "text": "hi" })).await;
    assert_eq!(heard(&ada).len(), before);
    hub.kill9().await;
}

#[tokio::test]
async fn s9_one_client_cannot_cancel_the_request_of_another() {
    let mut yard = Yard::new();
    yard.server("good", &[], &json!({ "limits": { "callMs": 60_000 } }));
    let (hub, url) = yard.listen().await;
    let [ada, grace] = pair(&url).await;
    appears(&ada, "good__sleep").await;
    let sleep = json!({ "name": "good__sleep", "arguments": { "ms": 700 } });
    let call = tokio::join!(ada.start("tools/call", sleep), async {
        wait_until(SOON, || !yard.running("good").is_empty()).await;
        for id in 0..50 {
            grace.notify("notifications/cancelled", json!({ "requestId": id })).await.unwrap();
        }
    });
    assert_eq!(call.0.unwrap().result().await.unwrap()["content"][0]["text"], "slept");
    hub.kill9().await;
}

#[tokio::test]
async fn s9_a_session_that_ended_is_over_and_the_other_goes_on() {
    let mut yard = Yard::new();
    yard.server("good", &[], &json!({}));
    let (hub, url) = yard.listen().await;
    let [ada, grace] = pair(&url).await;
    appears(&ada, "good__echo").await;
    let session = ada.session().unwrap();
    ada.close().await;
    let thief = Client::http(&url, &[("mcp-session-id", &session)]);
    assert!(thief.request("tools/list", json!({})).await.is_err());
    assert_eq!(grace.text("good__echo", json!({ "text": "hi" })).await, "hi");
    hub.kill9().await;
}

#[tokio::test]
async fn a_hub_over_http_drains_when_it_is_told_to_end() {
    let mut yard = Yard::new();
    yard.server("good", &[], &json!({ "limits": { "callMs": 60_000 } }));
    let (hub, url) = yard.listen().await;
    let [ada, grace] = pair(&url).await;
    appears(&ada, "good__sleep").await;
    ada.text("good__echo", json!({ "text": "hi" })).await;
    let call = json!({ "steps": 9, "ms": 100 });
    let call = json!({ "name": "good__progress", "arguments": call, "_meta": { "progressToken": 1 } });
    // The first report shows that the call is with the server.
    let call = ada.start("tools/call", call).await.unwrap();
    testkit::processes::terminate(hub.pid());
    assert_eq!(call.result().await.unwrap()["content"][0]["text"], "done");
    drop(grace);
    yard.deserted().await;
}

#[tokio::test]
async fn nothing_is_said_to_a_client_before_its_session_is_open() {
    let mut yard = Yard::new();
    yard.server("good", &[], &json!({}));
    let client = Client::spawn(yard.serve(&["--surface", "all"]));
    yard.learnt("good").await;
    client.request("ping", json!({})).await.unwrap();
    assert_eq!(client.notifications(), [Value::Null; 0]);
    client.initialize("2025-11-25", json!({})).await.unwrap();
    client.text("good__add_tool", json!({ "name": "fresh" })).await;
    client.notified("notifications/tools/list_changed").await;
}
