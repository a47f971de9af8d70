//! What passes to the model server unchanged, and who may come in.

use serde_json::json;
use testkit::Saying;
use tokio::net::TcpListener;
use toolyard_agent::model::Dialect;
use toolyard_agent::proxy;

use crate::yard::Yard;

#[tokio::test]
async fn what_is_no_chat_passes_unchanged() {
    let yard = Yard::new(Dialect::Ollama, []).await;
    let tags = yard.send(yard.request("GET", "/api/tags?x=1")).await;
    assert_eq!((tags.status, tags.kind.as_str()), (200, "application/json"));
    assert_eq!(tags.json()["models"][0]["name"], "small");
    assert_eq!(yard.send(yard.request("GET", "/v1/models")).await.json()["data"][0]["id"], "small");
    assert!(yard.send(yard.request("GET", "/api/version")).await.body.contains("oracle"));
    assert_eq!(yard.send(yard.request("GET", "/nowhere")).await.status, 404);
    let asked = json!({ "model": "small", "input": "text" });
    let request = yard.request("POST", "/v1/embeddings").bearer_auth("of-the-client").body(asked.to_string());
    assert_eq!(yard.send(request).await.json()["data"][0]["embedding"][1], -0.5);
    let [plea] = yard.pleas();
    assert_eq!((plea.path.as_str(), plea.authorization.as_str()), ("/v1/embeddings", "Bearer server-key"));
    assert_eq!(plea.body, asked);
}

#[tokio::test]
async fn chats_that_only_the_server_understands_pass_unchanged() {
    let yard = Yard::new(Dialect::OpenAi, [Saying::text("A cat.")]).await;
    let image = json!([{ "type": "image_url", "image_url": { "url": "data:image/png;base64,aGk=" } }]);
    let body =
        json!({ "model": "small", "messages": [{ "role": "user", "content": image }], "stream": false });
    let reply = yard.post("/v1/chat/completions", &body).await;
    assert_eq!(reply.json()["choices"][0]["message"]["content"], "A cat.");
    let [plea] = yard.pleas();
    assert_eq!((plea.body, plea.authorization.as_str()), (body, "Bearer server-key"));
}

#[tokio::test]
async fn pages_of_other_origins_and_other_hosts_are_refused() {
    let yard = Yard::new(Dialect::Ollama, []).await;
    let with =
        async |name: &str, value: &str| yard.send(yard.request("GET", "/api/tags").header(name, value)).await;
    assert_eq!(with("origin", "http://localhost:3000").await.status, 200);
    let refused = with("origin", "https://evil.example").await;
    assert_eq!((refused.status, refused.json()["error"].is_string()), (403, true));
    assert_eq!(with("host", "evil.example").await.status, 403);
}

#[tokio::test]
async fn a_token_is_needed_where_one_is_set_and_stays_here() {
    let yard = Yard::with(Dialect::OpenAi, [Saying::text("Hello.")], |proxy| {
        proxy.token = Some("secret".to_owned());
        proxy.key = None;
    })
    .await;
    let body = json!({ "model": "small", "messages": [{ "role": "user", "content": "Hi" }] }).to_string();
    for path in ["/v1/chat/completions", "/v1/embeddings"] {
        let request = || yard.request("POST", path).body(body.clone());
        let reply = yard.send(request()).await;
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (401, &json!("invalid_token")));
        assert_eq!(yard.send(request().bearer_auth("wrong")).await.status, 401);
        assert_eq!(yard.send(request().bearer_auth("secret")).await.status, 200);
    }
    assert!(yard.pleas::<2>().iter().all(|plea| plea.authorization.is_empty()));
}

#[tokio::test]
async fn without_a_token_only_this_machine_is_served() {
    let yard = Yard::with(Dialect::OpenAi, [], |proxy| proxy.token = Some("t".to_owned())).await;
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let proxy = proxy::Proxy {
        hub: std::sync::Arc::clone(&yard.hub),
        agent: Default::default(),
        upstream: yard.oracle.base().parse().unwrap(),
        dialect: Dialect::OpenAi,
        key: None,
        token: None,
    };
    let refused = proxy::serve(listener, proxy).await.unwrap_err();
    assert!(refused.to_string().contains("no token protects it"), "{refused}");
}

#[tokio::test]
async fn a_server_is_asked_what_it_speaks_where_its_address_does_not_tell() {
    let yard = Yard::new(Dialect::OpenAi, []).await;
    let (base, dialect) = proxy::locate(&yard.oracle.base()).await.unwrap();
    assert_eq!(
        (base.as_str().trim_end_matches('/'), dialect),
        (yard.oracle.base().as_str(), Dialect::Ollama)
    );
    let (_, dialect) = proxy::locate(&format!("{}/v1", yard.oracle.base())).await.unwrap();
    assert_eq!(dialect, Dialect::OpenAi);
    assert!(proxy::locate("ftp://h").await.is_err());
}
