//! Calls that a client repeats under the same key: the first answer, and no second effect.

use serde_json::{Value, json};
use testkit::client::{Client, Error};

use crate::shelf::{answering, calls, server, tool};
use crate::yard::{SESSION, Yard, refusal, text};

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
    let yard = Yard::of(json!({"shop": shop})).keep(folder).learnt().await;
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
