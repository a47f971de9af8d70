//! What goes wrong: with the model server, with requests, with clients that hang up.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::oracle::Said;
use testkit::{Saying, wait_until};
use toolyard_agent::model::Dialect;
use toolyard_hub::config::LanguageModel;

use crate::yard::{DIALECTS, SOON, Yard, path};

/// Returns the message of an error in the form of a dialect.
fn message(client: Dialect, object: &Value) -> String {
    let message = match client {
        Dialect::OpenAi => &object["error"]["message"],
        Dialect::Ollama => &object["error"],
    };
    message.as_str().unwrap_or_else(|| panic!("{object}")).to_owned()
}

#[tokio::test]
async fn a_server_that_is_down_is_a_502_in_the_form_of_the_dialect() {
    for client in DIALECTS {
        // Nobody listens on the port of a socket that was closed.
        let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let down = |proxy: &mut toolyard_agent::proxy::Proxy| {
            proxy.upstream = format!("http://{gone}").parse().unwrap()
        };
        let yard = Yard::with(Dialect::OpenAi, [], down).await;
        for is_streamed in [false, true] {
            let reply = yard.chat(client, "Hi", &json!({ "stream": is_streamed })).await;
            assert_eq!(reply.status, 502, "{}", reply.body);
            assert!(message(client, &reply.json()).contains("cannot be reached"), "{}", reply.body);
        }
        let reply = yard.send(yard.request("GET", "/v1/models")).await;
        assert_eq!(reply.status, 502);
        assert!(message(Dialect::OpenAi, &reply.json()).contains("does not answer"), "{}", reply.body);
    }
}

#[tokio::test]
async fn what_the_server_refuses_is_refused_with_its_status() {
    for client in DIALECTS {
        let yard = Yard::new(Dialect::OpenAi, [Saying::refuses(404, "no such model")]).await;
        let reply = yard.chat(client, "Hi", &json!({ "stream": true })).await;
        assert_eq!(reply.status, 404);
        assert!(message(client, &reply.json()).contains("no such model"), "{}", reply.body);
    }
    let yard = Yard::new(Dialect::OpenAi, [Saying::refuses(500, "out of memory")]).await;
    assert_eq!(yard.chat(Dialect::OpenAi, "Hi", &json!({})).await.status, 502);
}

#[tokio::test]
async fn a_server_that_is_silent_is_a_504() {
    let impatient = |proxy: &mut toolyard_agent::proxy::Proxy| {
        let timeout = Duration::from_millis(200);
        let model = LanguageModel { url: String::new(), name: "small".to_owned(), key: None, timeout };
        proxy.agent.model = Some(model);
    };
    let yard = Yard::with(Dialect::Ollama, [Saying::Silence], impatient).await;
    let messages = json!({ "messages": [{ "role": "user", "content": "Hi" }] });
    assert_eq!(yard.post("/api/chat", &messages).await.status, 504);
}

#[tokio::test]
async fn what_breaks_off_in_a_stream_ends_it_with_an_error() {
    for client in DIALECTS {
        let yard = Yard::new(Dialect::OpenAi, [Saying::BreaksAfter(vec![Said::text("Well, ")])]).await;
        let reply = yard.chat(client, "Hi", &json!({ "stream": true })).await;
        let objects = reply.objects();
        assert_eq!(reply.status, 200);
        assert!(crate::yard::text(&objects).starts_with("Well,"), "{}", reply.body);
        assert!(message(client, objects.last().unwrap()).contains("broke off"), "{}", reply.body);
        assert!(!reply.body.contains("[DONE]"));
        let reply = yard.chat(client, "Hi", &json!({ "stream": false })).await;
        assert_eq!(reply.status, 502, "{}", reply.body);
    }
}

#[tokio::test]
async fn an_error_tells_what_was_called_before() {
    let search = Saying::call("notes__search_notes", json!({ "query": "garden" }));
    let yard = Yard::new(Dialect::OpenAi, [search, Saying::refuses(400, "too long")]).await;
    let reply = yard.chat(Dialect::OpenAi, "search my notes for garden", &json!({})).await;
    assert_eq!(reply.status, 400);
    assert_eq!(reply.json()["toolyard"]["calls"][0]["tool"], "notes__search_notes");
}

#[tokio::test]
async fn a_client_that_hangs_up_stops_the_turn() {
    for is_streamed in [false, true] {
        let yard = Yard::new(Dialect::OpenAi, [Saying::StallsAfter(vec![Said::text("Well, ")])]).await;
        let messages = json!([{ "role": "user", "content": "Hi" }]);
        let body = json!({ "model": "small", "stream": is_streamed, "messages": messages });
        let request = yard.request("POST", path(Dialect::OpenAi)).body(body.to_string());
        let asking = tokio::spawn(async move { request.send().await?.chunk().await });
        wait_until(SOON, || yard.oracle.pleas().len() == 1).await;
        if is_streamed {
            // The first piece has arrived; dropping the response hangs up.
            drop(asking.await.unwrap().unwrap());
        } else {
            asking.abort();
        }
        wait_until(SOON, || yard.oracle.hung_up() == 1).await;
    }
}

#[tokio::test]
async fn what_is_no_request_is_refused() {
    let yard = Yard::new(Dialect::OpenAi, [Saying::text("Hello.")]).await;
    let image = json!([{ "role": "user", "content": "Hi", "images": ["aGk="] }]);
    for (client, body, expected) in [
        (Dialect::OpenAi, json!([]), "must be an object"),
        (Dialect::OpenAi, json!({ "model": "small" }), "`messages`"),
        (Dialect::OpenAi, json!({ "messages": [{ "role": "user", "content": "Hi" }] }), "`model` is missing"),
        (Dialect::OpenAi, json!({ "n": 2, "messages": [] }), "`n`"),
        (Dialect::Ollama, json!({ "model": "small", "messages": image }), "cannot be translated"),
    ] {
        let reply = yard.post(path(client), &body).await;
        assert_eq!(reply.status, 400, "{body}");
        assert!(message(client, &reply.json()).contains(expected), "{}", reply.body);
    }
    let request = yard.request("POST", "/api/chat").body("{");
    assert_eq!(yard.send(request).await.status, 400);
    assert!(yard.oracle.pleas().is_empty());
}

#[tokio::test]
async fn too_long_requests_are_refused() {
    let yard = Yard::new(Dialect::OpenAi, [Saying::text("Hello.")]).await;
    let long = vec![b' '; 16 * 1024 * 1024 + 1];
    for path in ["/v1/chat/completions", "/v1/embeddings"] {
        let reply = yard.send(yard.request("POST", path).body(long.clone())).await;
        assert_eq!(reply.status, 413, "{path}");
    }
}

#[tokio::test]
async fn a_request_that_does_not_say_its_length_is_bounded_too() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let reading = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
    });
    let yard = Yard::with(Dialect::OpenAi, [], |proxy| proxy.upstream = upstream).await;
    let pieces =
        futures_util::stream::iter((0..17).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1024 * 1024])));
    let request = yard.request("POST", "/v1/embeddings").body(reqwest::Body::wrap_stream(pieces));
    assert_eq!(yard.send(request).await.status, 413);
    reading.abort();
}
