//! Calls that a person has to agree to wait for `confirm HANDLE`.

use serde_json::{Value, json};
use testkit::Saying;
use toolyard_agent::model::Dialect;
use toolyard_hub::config::Binding;

use crate::yard::{DIALECTS, Yard, text};

const ASKED: &str = "make a note called Groceries";

fn creates() -> [Saying; 3] {
    let create = Saying::call("notes__create_note", json!({ "title": "Groceries" }));
    [create, Saying::text("I need your word."), Saying::text("It is made.")]
}

fn notes(yard: &Yard) -> usize {
    let mut folders = vec![yard.folder.path().to_owned()];
    let mut found = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            }
            found += usize::from(entry.file_name() == "Groceries.md");
        }
    }
    found
}

/// Asks for the note and returns the handle that is offered.
async fn offered(yard: &Yard, client: Dialect) -> String {
    let object = yard.whole(client, ASKED, &json!({})).await;
    let said = text(std::slice::from_ref(&object));
    let line = said.strip_prefix("I need your word.\n\n").expect("the answer comes first");
    let start = r#"To run notes__create_note {"title":"Groceries"}, reply: confirm "#;
    let handle = line.strip_prefix(start).unwrap_or_else(|| panic!("{said}"));
    assert_eq!(object["toolyard"]["calls"], json!([]));
    assert_eq!(object["toolyard"]["not_called"].as_array().map(Vec::len), Some(1));
    handle.to_owned()
}

/// Says something after the handle was offered.
async fn then(yard: &Yard, client: Dialect, said: &str) -> Value {
    let messages = json!([
        { "role": "user", "content": ASKED },
        { "role": "assistant", "content": "I need your word." },
        { "role": "user", "content": said },
    ]);
    yard.whole(client, "", &json!({ "messages": messages })).await
}

#[tokio::test]
async fn i7_what_needs_a_yes_runs_only_after_confirm_and_only_once() {
    for client in DIALECTS {
        let yard = Yard::new(Dialect::OpenAi, creates()).await;
        let handle = offered(&yard, client).await;
        assert_eq!((handle.len(), notes(&yard)), (8, 0));
        let object = then(&yard, client, &format!(" Confirm {} \n", handle.to_uppercase())).await;
        assert_eq!((text(std::slice::from_ref(&object)).as_str(), notes(&yard)), ("It is made.", 1));
        let call = &object["toolyard"]["calls"][0];
        assert_eq!((&call["tool"], &call["ok"]), (&json!("notes__create_note"), &json!(true)));
        let [.., plea] = yard.pleas::<3>();
        assert!(plea.body["messages"].as_array().unwrap().iter().any(|it| it["role"] == "tool"));
        let object = then(&yard, client, &format!("confirm {handle}")).await;
        assert!(text(std::slice::from_ref(&object)).starts_with("Nothing was run: "), "{object}");
        assert_eq!(yard.pleas::<3>().len(), 3, "the model is not asked about a handle that is spent");
    }
}

#[tokio::test]
async fn i7_another_client_cannot_confirm() {
    let yard = Yard::new(Dialect::OpenAi, creates()).await;
    let handle = offered(&yard, Dialect::OpenAi).await;
    let body =
        json!({ "model": "small", "messages": [{ "role": "user", "content": format!("confirm {handle}") }] });
    let request = yard.request("POST", "/v1/chat/completions").bearer_auth("another").body(body.to_string());
    let reply = yard.send(request).await;
    assert!(reply.body.contains("Nothing was run: "), "{}", reply.body);
    assert_eq!(notes(&yard), 0);
    then(&yard, Dialect::OpenAi, &format!("confirm {handle}")).await;
    assert_eq!(notes(&yard), 1);
}

#[tokio::test]
async fn i7_a_stream_tells_how_to_confirm_too() {
    let yard = Yard::new(Dialect::Ollama, creates()).await;
    let said = text(&yard.chat(Dialect::Ollama, ASKED, &json!({ "stream": true })).await.objects());
    assert!(said.contains("I need your word.\n\nTo run notes__create_note "), "{said}");
    assert_eq!(notes(&yard), 0);
}

#[tokio::test]
async fn i7_a_model_is_given_nothing_that_confirms() {
    let says = [Saying::call("smart_route", json!({ "task": ASKED })), Saying::text("I may not.")];
    let yard = Yard::with(Dialect::OpenAi, says, |proxy| proxy.agent.budget.binding = Binding::Route).await;
    let object = yard.whole(Dialect::OpenAi, ASKED, &json!({})).await;
    assert_eq!(text(std::slice::from_ref(&object)), "I may not.");
    let [_, second] = yard.pleas();
    let messages = second.body["messages"].as_array().unwrap();
    let result = messages.iter().find(|it| it["role"] == "tool").expect("the model is told");
    assert_eq!(result["content"], "Not confirmed: notes__create_note was not run.");
    assert_eq!(notes(&yard), 0);
}

#[tokio::test]
async fn values_that_nobody_said_are_not_used() {
    let create = Saying::call("notes__create_note", json!({ "title": "Zanzibar" }));
    let yard = Yard::new(Dialect::OpenAi, [create, Saying::text("Which title?")]).await;
    let object = yard.whole(Dialect::OpenAi, "make a note", &json!({})).await;
    assert_eq!(text(std::slice::from_ref(&object)), "Which title?");
    let why = object["toolyard"]["not_called"][0].as_str().unwrap();
    assert!(why.contains("nobody said title"), "{why}");
}
