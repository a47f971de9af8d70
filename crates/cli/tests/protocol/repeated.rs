//! Calls that a client repeats under the same key: the first answer, and no second effect.

use serde_json::{Value, json};
use testkit::client::{Client, Error};

use crate::eras::only_question;
use crate::shelf::{answering, calls, server, tool};
use crate::yard::{SESSION, Yard, good, refusal, text};

async fn call(client: &Client, arguments: Value, key: &str) -> Result<Value, Error> {
    let meta = json!({"toolyard/idempotencyKey": key});
    let params = json!({"name": "shop__place_order", "arguments": arguments, "_meta": meta});
    client.request("tools/call", params).await
}

async fn shop() -> (Yard, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let order = [tool("place_order", "Places an order", &["item"])];
    let answer = |said: &'static str| (said, r#""result":{"content":[{"type":"text","text":"ordered"}]}"#);
    let failing = ("broken", r#""error":{"code":-32000,"message":"out of stock"}"#);
    let shop = answering(folder.path(), "shop", &order, &[failing, answer("")]);
    let profiles = json!({"one": {"surface": "all"}, "two": {"surface": "all"}});
    let config = json!({"mcpServers": {"shop": shop}, "serve": {"profiles": profiles}});
    let yard = Yard::new(config).keep(folder).learnt().await;
    (yard, path)
}

async fn on(yard: &Yard) -> Client {
    let client = yard.stdio(&["--surface", "all"]);
    client.initialize(SESSION, json!({})).await.unwrap();
    client
}

#[tokio::test]
async fn t27_the_same_call_with_the_same_key_has_one_effect_even_after_a_restart() {
    let (yard, folder) = shop().await;
    let client = on(&yard).await;
    let first = call(&client, json!({"item": "tea"}), "k1").await.unwrap();
    assert_eq!((text(&first), calls(&folder, "shop")), ("ordered", 1));
    assert_eq!(call(&client, json!({"item": "tea"}), "k1").await.unwrap(), first);
    client.kill9().await;
    let client = on(&yard).await;
    assert_eq!(call(&client, json!({"item": "tea"}), "k1").await.unwrap(), first);
    assert_eq!(calls(&folder, "shop"), 1, "nothing was ordered twice");
    call(&client, json!({"item": "tea"}), "k2").await.unwrap();
    client.call("shop__place_order", json!({"item": "tea"})).await.unwrap();
    assert_eq!(calls(&folder, "shop"), 3, "another key, and none, are other calls");
}

#[tokio::test]
async fn t27_a_key_belongs_to_one_call() {
    let (yard, folder) = shop().await;
    let client = on(&yard).await;
    call(&client, json!({"item": "tea"}), "k").await.unwrap();
    let (_, message, _) = refusal(call(&client, json!({"item": "milk"}), "k").await);
    assert!(message.contains("another call has this key"), "{message}");
    let (_, message, _) = refusal(call(&client, json!({"item": "tea"}), "").await);
    assert!(message.contains("1 to 256 bytes"), "{message}");
    assert_eq!(calls(&folder, "shop"), 1);
}

#[tokio::test]
async fn t27_what_a_server_refused_is_answered_the_same_and_what_never_reached_it_may_be_made_again() {
    let (yard, folder) = shop().await;
    let client = on(&yard).await;
    let (_, first, _) = refusal(call(&client, json!({"item": "broken"}), "k").await);
    let (_, again, _) = refusal(call(&client, json!({"item": "broken"}), "k").await);
    assert_eq!((&first, calls(&folder, "shop")), (&again, 1));
    client.close().await;
    let order = [tool("place_order", "Places an order", &["item"])];
    let servers = json!({"shop": server(&folder, "shop", &order)});
    yard.change(json!({"mcpServers": servers, "policy": {"deny": ["shop__*"]}}));
    let client = on(&yard).await;
    refusal(call(&client, json!({"item": "milk"}), "later").await);
    client.close().await;
    yard.change(json!({"mcpServers": servers}));
    let client = on(&yard).await;
    crate::yard::listed(&client, "shop__place_order").await;
    assert_eq!(text(&call(&client, json!({"item": "milk"}), "later").await.unwrap()), "from shop");
}

#[tokio::test]
async fn t27_a_repetition_waits_for_the_call_that_is_under_way() {
    let (yard, folder) = shop().await;
    let client = on(&yard).await;
    let item = || json!({"item": "tea"});
    let both =
        tokio::join!(call(&client, item(), "k"), call(&client, item(), "k"), call(&client, item(), "k"));
    let texts = [both.0.unwrap(), both.1.unwrap(), both.2.unwrap()].map(|it| text(&it).to_owned());
    assert_eq!((texts, calls(&folder, "shop")), (["ordered"; 3].map(str::to_owned), 1));
}

#[tokio::test]
async fn t27_a_call_that_asks_keeps_its_key_and_its_repetition_is_asked_the_same() {
    let servers: [&[&str]; 2] = [&[], &["--modern"]];
    for args in servers {
        let yard = Yard::of(json!({"good": good(args)})).learnt().await;
        let client = yard.modern(json!({"elicitation": {}}));
        let meta = json!({"toolyard/idempotencyKey": "k"});
        let first = json!({"name": "good__ask", "arguments": {}, "_meta": meta});
        let asked = client.request("tools/call", first.clone()).await.unwrap();
        let (question, _) = only_question(&asked);
        let again = client.request("tools/call", first.clone()).await.unwrap();
        assert_eq!(again, asked, "{args:?}: another call would have another state");
        let mut retry = first.clone();
        retry["requestState"] = asked["requestState"].clone();
        retry["inputResponses"] = json!({question: {"action": "accept", "content": {"name": "Ada"}}});
        let mut forged = retry.clone();
        forged["requestState"] = json!("made up");
        assert_eq!(refusal(client.request("tools/call", forged).await).0, -32602, "{args:?}");
        let done = client.request("tools/call", retry.clone()).await.unwrap();
        assert!(text(&done).contains("Ada"), "{args:?}: {done}");
        for repetition in [first, retry] {
            assert_eq!(client.request("tools/call", repetition).await.unwrap(), done, "{args:?}");
        }
    }
}

#[tokio::test]
async fn t27_a_key_serves_only_where_it_was_used() {
    let (yard, folder) = shop().await;
    let served = yard.http(&[]);
    let (one, two) = (served.session("one", json!({})).await, served.session("two", json!({})).await);
    let first = call(&one, json!({"item": "tea"}), "k").await.unwrap();
    let (_, message, _) = refusal(call(&two, json!({"item": "tea"}), "k").await);
    assert!(message.contains("another call has this key"), "{message}");
    assert_eq!(call(&one, json!({"item": "tea"}), "k").await.unwrap(), first);
    assert_eq!(calls(&folder, "shop"), 1);
}
