//! Questions that a server asks in the middle of a call, between clients and servers of either era.

use serde_json::{Value, json};
use testkit::client::{Client, Error};

use crate::yard::{Yard, good, text};

const ADA: &str = r#"{"action":"accept","content":{"name":"Ada"}}"#;
const SERVERS: [&[&str]; 2] = [&[], &["--modern"]];

#[tokio::test]
async fn a_session_client_is_asked_in_the_middle_of_its_call() {
    for args in SERVERS {
        let yard = yard(args).await;
        let client = yard.session(json!({"elicitation": {}})).await;
        for (answer, said) in [(json!({"action": "accept", "content": {"name": "Ada"}}), ADA), declined()] {
            client.answer_with(move |_, _| Ok(answer.clone()));
            assert_eq!(client.text("good__ask", json!({})).await, said, "{args:?}");
        }
    }
}

#[tokio::test]
async fn a_session_client_over_http_is_asked_on_the_stream_of_its_call() {
    for args in SERVERS {
        let yard = yard(args).await;
        let served = yard.http(&["--surface", "all"]);
        let client = served.session("", json!({"elicitation": {}})).await;
        client.answer_with(|_, _| Ok(json!({"action": "accept", "content": {"name": "Ada"}})));
        assert_eq!(client.text("good__ask", json!({})).await, ADA, "{args:?}");
    }
}

#[tokio::test]
async fn a_modern_client_is_asked_by_a_result_and_answers_by_a_retry() {
    for args in SERVERS {
        let yard = yard(args).await;
        for (answer, said) in [(json!({"action": "accept", "content": {"name": "Ada"}}), ADA), declined()] {
            let client = yard.modern(json!({"elicitation": {}}));
            let asked = client.call("good__ask", json!({})).await.unwrap();
            assert_eq!(asked["resultType"], "input_required", "{args:?}: {asked}");
            let (key, question) = only_question(&asked);
            assert_eq!(question["method"], "elicitation/create");
            assert_eq!(question["params"]["requestedSchema"]["required"], json!(["name"]));
            let done = retry(&client, "good__ask", &asked, json!({key: answer})).await.unwrap();
            assert_eq!((&done["resultType"], text(&done)), (&json!("complete"), said), "{args:?}");
        }
    }
}

#[tokio::test]
async fn a_modern_client_over_http_is_asked_the_same_way() {
    for args in SERVERS {
        let yard = yard(args).await;
        let served = yard.http(&["--surface", "search"]);
        let client = served.modern("", json!({"elicitation": {}}));
        let call = json!({"name": "good__ask", "arguments": {}});
        let asked = client.call("call_tool", call.clone()).await.unwrap();
        let (key, _) = only_question(&asked);
        let answer = json!({key: {"action": "accept", "content": {"name": "Ada"}}});
        let params = json!({
            "name": "call_tool", "arguments": call,
            "inputResponses": answer, "requestState": asked["requestState"]
        });
        let done = client.request("tools/call", params).await.unwrap();
        assert_eq!(text(&done), ADA, "{args:?}");
    }
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_not() {
    for args in SERVERS {
        let yard = yard(args).await;
        for client in [yard.session(json!({})).await, yard.modern(json!({}))] {
            client.answer_with(|method, _| panic!("asked {method}"));
            for (tool, capability) in [("ask", "elicitation"), ("sample", "sampling"), ("roots", "roots")] {
                let result = client.call(&format!("good__{tool}"), json!({})).await.unwrap();
                assert_eq!(result["isError"], true, "{args:?} {tool}: {result}");
                assert_eq!(text(&result), format!("the client did not declare `{capability}`"));
            }
        }
    }
}

#[tokio::test]
async fn sampling_and_roots_are_forwarded_where_both_sides_have_them() {
    let answers = |method: &str, params: &Value| match method {
        "sampling/createMessage" => {
            let text = format!("asked for {}", params["maxTokens"]);
            Ok(json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": text}}))
        }
        "roots/list" => Ok(json!({"roots": [{"uri": "file:///home/ada"}]})),
        other => panic!("asked {other}"),
    };
    for args in SERVERS {
        let yard = yard(args).await;
        let client = yard.session(json!({"sampling": {}, "roots": {}})).await;
        client.answer_with(answers);
        assert!(client.text("good__sample", json!({})).await.contains("asked for 20"), "{args:?}");
        assert!(client.text("good__roots", json!({})).await.contains("file:///home/ada"), "{args:?}");
        let client = yard.modern(json!({"sampling": {}, "roots": {}}));
        for (tool, method) in [("good__sample", "sampling/createMessage"), ("good__roots", "roots/list")] {
            let asked = client.call(tool, json!({})).await.unwrap();
            if tool == "good__roots" && args.is_empty() {
                // A server of the session era is shared, and roots belong to one client.
                assert_eq!(asked["isError"], true, "{asked}");
                continue;
            }
            let (key, question) = only_question(&asked);
            assert_eq!(question["method"], method);
            let answer = answers(method, &question["params"]).unwrap();
            let done = retry(&client, tool, &asked, json!({key: answer})).await.unwrap();
            assert!(done.get("isError").is_none(), "{done}");
        }
    }
}

#[tokio::test]
async fn a_surface_names_the_server_that_asks_and_a_transparent_profile_does_not() {
    for args in SERVERS {
        let yard = Yard::new(json!({
            "mcpServers": {"good": good(args)},
            "serve": {"surface": "all", "profiles": {"through": {"transparent": "good"}}}
        }));
        let yard = yard.learnt().await;
        let served = yard.http(&[]);
        for (profile, tool, message) in
            [("", "good__ask", "[good] What is your name?"), ("through", "ask", "What is your name?")]
        {
            let client = served.session(profile, json!({"elicitation": {}})).await;
            client.answer_with(|_, _| Ok(json!({"action": "decline"})));
            client.call(tool, json!({})).await.unwrap();
            let asked = client.notified("elicitation/create").await;
            assert_eq!(asked["params"]["message"], message, "{args:?} session");
            let client = served.modern(profile, json!({"elicitation": {}}));
            let asked = client.call(tool, json!({})).await.unwrap();
            let (key, question) = only_question(&asked);
            assert_eq!(question["params"]["message"], message, "{args:?} modern");
            // While a call waits, the next question of its server could be meant for it.
            retry(&client, tool, &asked, json!({key: {"action": "decline"}})).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_server_that_runs_from_the_start_can_ask_too() {
    let server = json!({"command": testkit::bin("fault-server"), "lazy": false});
    let yard = Yard::of(json!({"good": server})).learnt().await;
    let client = yard.session(json!({"elicitation": {}})).await;
    client.answer_with(|_, _| Ok(json!({"action": "accept", "content": {"name": "Ada"}})));
    assert_eq!(client.text("good__ask", json!({})).await, ADA);
}

#[tokio::test]
async fn a_client_that_answers_with_an_error_is_quoted_to_the_server() {
    let yard = yard(&[]).await;
    let client = yard.session(json!({"elicitation": {}})).await;
    client.answer_with(|_, _| Err(json!({"code": -1, "message": "not now"})));
    assert_eq!(client.text("good__ask", json!({})).await, r#"{"code":-1,"message":"not now"}"#);
}

async fn yard(args: &[&str]) -> Yard {
    Yard::of(json!({"good": good(args)})).learnt().await
}

fn declined() -> (Value, &'static str) {
    (json!({"action": "decline"}), r#"{"action":"decline"}"#)
}

/// Gives the key and the request of the one question that a result asks.
pub(crate) fn only_question(asked: &Value) -> (String, Value) {
    let questions = asked["inputRequests"].as_object().unwrap_or_else(|| panic!("no question in {asked}"));
    assert_eq!(questions.len(), 1, "{asked}");
    let (key, question) = questions.iter().next().unwrap();
    (key.clone(), question.clone())
}

/// Calls a tool again with the answers to what it asked.
pub(crate) async fn retry(
    client: &Client,
    tool: &str,
    asked: &Value,
    answers: Value,
) -> Result<Value, Error> {
    let state = &asked["requestState"];
    let params = json!({"name": tool, "arguments": {}, "inputResponses": answers, "requestState": state});
    client.request("tools/call", params).await
}
