//! Questions of `smart_route`, and their answers in every way that clients have.

use serde_json::{Value, json};
use testkit::client::Client;

use crate::eras::only_question;
use crate::shelf::{calls, route, server, tool, two, whole};
use crate::yard::{SESSION, Yard, good, text};

const VAGUE: &str = "Do something";

async fn session(yard: &Yard, capabilities: Value) -> Client {
    let client = yard.stdio(&[]);
    client.initialize(SESSION, capabilities).await.unwrap();
    client
}

/// Servers whose tools need nothing.
async fn easy() -> Yard {
    let folder = tempfile::tempdir().unwrap();
    let yard = Yard::of(json!({
        "alpha": server(folder.path(), "alpha", &[tool("list_tasks", "Lists all open tasks", &[])]),
        "beta": server(folder.path(), "beta", &[tool("list_mails", "Lists all unread mails", &[])]),
    }));
    yard.keep(folder).learnt().await
}

async fn retry(client: &Client, arguments: Value, asked: &Value, answer: Value) -> Value {
    let (key, _) = only_question(asked);
    let params = json!({
        "name": "smart_route", "arguments": arguments,
        "inputResponses": {key: answer}, "requestState": asked["requestState"]
    });
    client.request("tools/call", params).await.unwrap()
}

#[tokio::test]
async fn r7_a_vague_task_is_asked_about_and_a_follow_up_answers() {
    let yard = easy().await;
    for client in [session(&yard, json!({})).await, {
        let client = yard.stdio(&[]);
        client.modern(json!({}));
        client
    }] {
        let result = whole(&client, json!({"task": VAGUE})).await;
        let asked = &result["structuredContent"];
        assert_eq!(asked["needsClarification"], true, "{asked}");
        assert!(asked["confidence"].as_f64().unwrap() < 0.7);
        assert!(asked["clarificationQuestion"].as_str().unwrap().ends_with('?'));
        let offered = asked["alternatives"].as_array().unwrap();
        assert!(offered.len() >= 2 && offered.iter().all(|it| it["description"].as_str().unwrap().len() > 4));
        let handle = asked["session"].as_str().unwrap();
        assert!(text(&result).contains("\n2. ") && text(&result).contains(handle), "{result}");
        assert!(text(&result).len() < 1600, "{result}");
        for (answer, at) in [("the second one", 1), ("1", 0)] {
            let followed = route(&client, json!({"task": answer, "context": {"session": handle}})).await;
            assert_eq!(followed["executedTools"], json!([offered[at]["tool"]]), "{answer}: {followed}");
        }
        let name = offered[1]["tool"].as_str().unwrap();
        let server = name.split("__").next().unwrap();
        for answer in [name, server] {
            let followed = route(&client, json!({"task": answer, "context": {"session": handle}})).await;
            assert_eq!(followed["executedTools"], json!([name]), "{answer}: {followed}");
        }
        let other = json!({"task": "list the unread mails", "context": {"session": handle}});
        assert_eq!(route(&client, other).await["executedTools"], json!(["beta__list_mails"]));
    }
}

#[tokio::test]
async fn r7_a_handle_of_somebody_else_or_made_up_answers_nothing() {
    let yard = easy().await;
    let served = yard.http(&[]);
    let (ana, bob) = (served.session("", json!({})).await, served.session("", json!({})).await);
    let handle = route(&ana, json!({"task": VAGUE})).await["session"].clone();
    for (client, handle) in [(&bob, &handle), (&ana, &json!("made-up"))] {
        let answer = route(client, json!({"task": "2", "context": {"session": handle}})).await;
        assert_eq!(answer["executedTools"], json!([]), "{answer}");
        assert!(answer["note"].as_str().unwrap().contains("say the whole task again"), "{answer}");
    }
    let own = route(&ana, json!({"task": "2", "context": {"session": handle}})).await;
    assert_eq!(own["executedTools"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn r7_a_session_client_with_forms_is_asked_by_one() {
    let yard = easy().await;
    let client = session(&yard, json!({"elicitation": {}})).await;
    client.answer_with(|method, params| {
        assert_eq!(method, "elicitation/create");
        assert!(params["message"].as_str().unwrap().ends_with('?'));
        let choices = params["requestedSchema"]["properties"]["choice"]["enum"].as_array().unwrap().clone();
        Ok(json!({"action": "accept", "content": {"choice": choices[1]}}))
    });
    let answer = route(&client, json!({"task": VAGUE})).await;
    assert_eq!(answer["executedTools"].as_array().unwrap().len(), 1, "{answer}");
    client
        .answer_with(|_, _| Ok(json!({"action": "accept", "content": {"details": "list the unread mails"}})));
    let answer = route(&client, json!({"task": VAGUE})).await;
    assert_eq!(answer["executedTools"], json!(["beta__list_mails"]), "other words count, too: {answer}");
    for refusal in [json!({"action": "decline"}), json!({"action": "cancel"}), json!({})] {
        client.answer_with(move |_, _| Ok(refusal.clone()));
        let answer = route(&client, json!({"task": VAGUE})).await;
        assert_eq!((&answer["executedTools"], &answer["needsClarification"]), (&json!([]), &json!(true)));
        assert!(answer["session"].is_string());
    }
}

#[tokio::test]
async fn r7_a_modern_client_with_forms_is_asked_by_a_result() {
    let yard = easy().await;
    let served = yard.http(&[]);
    let over_pipes = yard.stdio(&[]);
    over_pipes.modern(json!({"elicitation": {"form": {}}}));
    for client in [over_pipes, served.modern("", json!({"elicitation": {}}))] {
        let task = json!({"task": VAGUE});
        let asked = whole(&client, task.clone()).await;
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let question = only_question(&asked).1;
        let schema = &question["params"]["requestedSchema"]["properties"]["choice"];
        let choices = schema["enum"].as_array().unwrap();
        assert!(choices.len() >= 2 && schema["enumNames"].as_array().unwrap().len() == choices.len());
        assert!(
            !question["params"]["message"].as_str().unwrap().starts_with('['),
            "the hub asks: {question}"
        );
        let answer = json!({"action": "accept", "content": {"choice": choices[1]}});
        let done = retry(&client, task, &asked, answer).await;
        assert_eq!(done["resultType"], "complete");
        assert_eq!(done["structuredContent"]["executedTools"], json!([choices[1]]), "{done}");
    }
    let urls_only = yard.stdio(&[]);
    urls_only.modern(json!({"elicitation": {"url": {}}}));
    assert!(route(&urls_only, json!({"task": VAGUE})).await["session"].is_string());
}

#[tokio::test]
async fn r7_what_a_server_asks_meanwhile_reaches_the_client() {
    for args in [&[][..], &["--modern"][..]] {
        let yard = Yard::of(json!({"good": good(args)})).learnt().await;
        let said = r#"{"action":"accept","content":{"name":"Ada"}}"#;
        let client = session(&yard, json!({"elicitation": {}})).await;
        client.answer_with(|_, params| {
            assert_eq!(params["message"], "[good] What is your name?");
            Ok(json!({"action": "accept", "content": {"name": "Ada"}}))
        });
        assert_eq!(
            route(&client, json!({"task": "good__ask"})).await["result"],
            serde_json::from_str::<Value>(said).unwrap()
        );
        let client = yard.stdio(&[]);
        client.modern(json!({"elicitation": {}}));
        let task = json!({"task": "good__ask"});
        let asked = whole(&client, task.clone()).await;
        assert_eq!(
            only_question(&asked).1["params"]["message"],
            "[good] What is your name?",
            "{args:?}: {asked}"
        );
        let done =
            retry(&client, task, &asked, json!({"action": "accept", "content": {"name": "Ada"}})).await;
        assert_eq!(done["structuredContent"]["executedTools"], json!(["good__ask"]), "{args:?}: {done}");
    }
}

#[tokio::test]
async fn v3_a_call_that_lacks_arguments_is_a_draft_with_its_signature() {
    let yard = two().await;
    let client = session(&yard, json!({})).await;
    let result = whole(&client, json!({"task": "notes__search_notes"})).await;
    let asked = &result["structuredContent"];
    let draft = &asked["draft"];
    assert_eq!(
        (&asked["needsClarification"], &draft["missing"]),
        (&json!(false), &json!(["query"])),
        "{asked}"
    );
    assert!(draft["signature"].as_str().unwrap().starts_with("notes__search_notes(query"), "{asked}");
    assert!(text(&result).contains("missing: query"), "models that read only text see it: {result}");
    let context = json!({"session": asked["session"]});
    let values = json!({"query": "AI"});
    let done = route(&client, json!({"task": "run it", "context": context, "values": values})).await;
    assert_eq!(done["executedTools"], json!(["notes__search_notes"]), "{done}");
    let context = json!({"session": asked["session"], "arguments": {"query": "AI"}});
    let done = route(&client, json!({"task": "search", "context": context})).await;
    assert_eq!(done["executedTools"], json!(["notes__search_notes"]), "{done}");
}

#[tokio::test]
async fn r7_a_person_behind_a_form_completes_the_same_call() {
    let yard = two().await;
    let client = session(&yard, json!({"elicitation": {}})).await;
    client.answer_with(|_, params| {
        assert!(params["message"].as_str().unwrap().contains("`query`"), "{params}");
        assert_eq!(params["requestedSchema"]["required"], json!(["query"]));
        Ok(json!({"action": "accept", "content": {"query": "AI"}}))
    });
    let done = route(&client, json!({"task": "notes__search_notes"})).await;
    assert_eq!(done["executedTools"], json!(["notes__search_notes"]), "{done}");
}

#[tokio::test]
async fn r14_without_clarification_candidates_are_answered_instead_of_a_question() {
    let folder = tempfile::tempdir().unwrap();
    let yard = Yard::new(json!({
        "mcpServers": {"alpha": server(folder.path(), "alpha", &[tool("list_tasks", "Lists all open tasks", &[])])},
        "routing": {"clarification": {"enabled": false}}
    }));
    let yard = yard.keep(folder).learnt().await;
    let client = session(&yard, json!({"elicitation": {}})).await;
    let answer = route(&client, json!({"task": VAGUE})).await;
    assert_eq!(
        (&answer["needsClarification"], &answer["executedTools"]),
        (&json!(false), &json!([])),
        "{answer}"
    );
    assert!(answer["candidates"].is_array());
}

/// A server that destroys, and what it was called for.
async fn dangerous() -> (Yard, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let tools = [tool("delete_note", "Deletes a note for good", &["path"])];
    let yard = Yard::of(json!({"notes": server(folder.path(), "notes", &tools)}));
    (yard.keep(folder).learnt().await, path)
}

fn delete(path: &str, confirm: &Value) -> Value {
    let mut context = json!({"arguments": {"path": path}});
    if !confirm.is_null() {
        context["confirm"] = confirm.clone();
    }
    json!({"task": "notes__delete_note", "context": context})
}

#[tokio::test]
async fn c3_nothing_is_destroyed_without_a_confirmation_of_exactly_that() {
    let (yard, folder) = dangerous().await;
    let served = yard.http(&[]);
    let (ana, bob) = (served.session("", json!({})).await, served.session("", json!({})).await);
    let result = whole(&ana, delete("a.md", &Value::Null)).await;
    let asked = &result["structuredContent"];
    assert_eq!(
        (&asked["needsClarification"], &asked["executedTools"]),
        (&json!(true), &json!([])),
        "{asked}"
    );
    let question = asked["clarificationQuestion"].as_str().unwrap();
    assert!(question.starts_with("Delete note with") && question.contains("a.md"), "{question}");
    let handle = asked["confirm"].clone();
    assert!(text(&result).contains(handle.as_str().unwrap()));
    for (client, path, handle) in [
        (&ana, "b.md", &handle),
        (&bob, "a.md", &handle),
        (&ana, "a.md", &json!("made up")),
        (&ana, "a.md", &json!(true)),
    ] {
        let answer = route(client, delete(path, handle)).await;
        assert_eq!(answer["executedTools"], json!([]), "{answer}");
        assert!(answer["note"].as_str().unwrap().contains("confirmation"), "{answer}");
        assert!(answer["confirm"].is_string() && answer["confirm"] != *handle, "{answer}");
        assert!(answer["clarificationQuestion"].as_str().unwrap().contains(path), "{answer}");
    }
    assert_eq!(calls(&folder, "notes"), 0);
    let done = route(&ana, delete("a.md", &handle)).await;
    assert_eq!(done["executedTools"], json!(["notes__delete_note"]), "{done}");
    let again = route(&ana, delete("a.md", &handle)).await;
    assert_eq!(again["executedTools"], json!([]), "a confirmation counts once: {again}");
    assert_eq!(calls(&folder, "notes"), 1);
}

#[tokio::test]
async fn c3_the_handle_of_a_confirmation_is_enough() {
    let (yard, folder) = dangerous().await;
    let served = yard.http(&[]);
    let client = served.session("", json!({})).await;
    let known = json!({"path": "a.md"});
    for (done, again) in [
        json!({"task": "", "context": {"confirm": "HANDLE"}}),
        json!({"task": "notes__delete_note", "context": {"confirm": "HANDLE"}}),
        json!({"task": "yes", "context": {"confirm": "HANDLE", "arguments": {}}}),
        json!({"task": "yes", "context": {"confirm": "HANDLE", "arguments": known}}),
        json!({"task": "yes, please", "context": {"session": "HANDLE"}}),
        json!({"confirm": "HANDLE"}),
    ]
    .into_iter()
    .enumerate()
    {
        let asked = route(&client, delete("a.md", &Value::Null)).await;
        let handle = asked["confirm"].as_str().unwrap();
        let other = json!({"confirm": handle, "arguments": {"path": "b.md"}});
        let refused = route(&client, json!({"task": "yes", "context": other})).await;
        assert_eq!(refused["executedTools"], json!([]), "{refused}");
        for no in ["no", "yes, but only b.md"] {
            let refused = route(&client, json!({"task": no, "context": {"session": handle}})).await;
            assert_eq!(refused["executedTools"], json!([]), "{no}: {refused}");
        }
        let again: Value = serde_json::from_str(&again.to_string().replace("HANDLE", handle)).unwrap();
        let answer = route(&client, again.clone()).await;
        assert_eq!(answer["executedTools"], json!(["notes__delete_note"]), "{again}: {answer}");
        assert_eq!(route(&client, again).await["executedTools"], json!([]), "it counts once");
        assert_eq!(calls(&folder, "notes"), done + 1);
    }
    let got = std::fs::read_to_string(folder.join("notes/calls")).unwrap();
    assert_eq!(got.matches("a.md").count(), 6, "{got}");
}

#[tokio::test]
async fn c3_a_person_behind_a_form_confirms_or_does_not() {
    let (yard, folder) = dangerous().await;
    let client = session(&yard, json!({"elicitation": {}})).await;
    for answer in [json!({"action": "decline"}), json!({"action": "accept", "content": {"confirm": false}})] {
        client.answer_with(move |_, _| Ok(answer.clone()));
        let answer = route(&client, delete("a.md", &Value::Null)).await;
        assert_eq!((&answer["executedTools"], &answer["needsClarification"]), (&json!([]), &json!(false)));
    }
    assert_eq!(calls(&folder, "notes"), 0);
    client.answer_with(|_, params| {
        assert!(params["message"].as_str().unwrap().contains("a.md"));
        Ok(json!({"action": "accept", "content": {"confirm": true}}))
    });
    let done = route(&client, delete("a.md", &Value::Null)).await;
    assert_eq!(done["executedTools"], json!(["notes__delete_note"]), "{done}");
    let modern = yard.stdio(&[]);
    modern.modern(json!({"elicitation": {}}));
    let task = delete("b.md", &Value::Null);
    let asked = whole(&modern, task.clone()).await;
    assert_eq!(calls(&folder, "notes"), 1);
    let done = retry(&modern, task, &asked, json!({"action": "accept", "content": {"confirm": true}})).await;
    assert_eq!(done["structuredContent"]["executedTools"], json!(["notes__delete_note"]), "{done}");
    assert_eq!(calls(&folder, "notes"), 2);
}
