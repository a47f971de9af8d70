//! The official clients of OpenAI and Ollama, from PyPI, against the proxy.

use std::path::Path;
use std::process::Stdio;

use serde_json::json;
use testkit::oracle::Said;
use testkit::{Saying, servers};
use toolyard_agent::model::Dialect;

use crate::yard::Yard;

/// Four conversations: whole and streamed with a tool of ours, whole and streamed with one of the client.
fn sayings() -> Vec<Saying> {
    let search = Saying::call("notes__search_notes", json!({ "query": "garden" }));
    let answer = Saying::Pieces(vec![Said::text("There is "), Said::text("one.")]);
    let lamp = Saying::call("lamp", json!({ "on": true }));
    vec![search.clone(), answer.clone(), search, answer, lamp.clone(), lamp]
}

/// Runs a script against a proxy; what it asserts holds when it ends well.
async fn run(script: &str, server: Dialect) {
    if !servers::are_installed() {
        return;
    }
    let yard = Yard::with(server, sayings(), |proxy| proxy.token = Some("secret".to_owned())).await;
    let mut python = servers::python("llm_clients");
    python.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(script));
    python.arg(&yard.base).stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || python.output().expect("Python starts"))
        .await
        .expect("it is not aborted");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(yard.pleas::<6>().iter().filter(|it| it.body["stream"] == true).count(), 6);
}

#[tokio::test]
async fn i1_the_client_of_openai_is_served() {
    run("openai_client.py", Dialect::Ollama).await;
    run("openai_client.py", Dialect::OpenAi).await;
}

#[tokio::test]
async fn i1_the_client_of_ollama_is_served() {
    run("ollama_client.py", Dialect::OpenAi).await;
    run("ollama_client.py", Dialect::Ollama).await;
}
