//! Chats in both dialects: our tools are called, those of the client are handed over.

use serde_json::{Value, json};
use testkit::Saying;
use testkit::oracle::Said;
use toolyard_agent::model::Dialect;

use crate::yard::{DIALECTS, Yard, calls, text};

const ASKED: &str = "search my notes for garden";

/// Calls a tool of ours, then answers in pieces.
fn searches() -> [Saying; 2] {
    let search = Saying::Pieces(vec![
        Said::reasoning("Notes."),
        Said::text("I look."),
        Said::call("notes__search_notes", json!({ "query": "garden" })),
    ]);
    [search, Saying::Pieces(vec![Said::text("There is "), Said::text("one.")])]
}

/// A tool of the client.
fn lamp() -> Value {
    let parameters =
        json!({ "type": "object", "properties": { "on": { "type": "boolean" } }, "required": ["on"] });
    let function = json!({ "name": "lamp", "description": "Switches the lamp", "parameters": parameters });
    json!({ "tools": [{ "type": "function", "function": function }] })
}

/// Writes down what was called for the client.
fn told(object: &Value) -> String {
    let calls = object["toolyard"]["calls"].as_array().expect("it is always told");
    let call =
        |it: &Value| format!("{} {} ok={} {}", it["tool"], it["arguments"], it["ok"], it["ms"].is_u64());
    calls.iter().map(call).collect::<Vec<_>>().join("\n")
}

const SEARCHED: &str = r#""notes__search_notes" {"query":"garden"} ok=true true"#;

#[tokio::test]
async fn i1_a_tool_is_offered_and_called_for_a_client_that_has_none() {
    for server in DIALECTS {
        for client in DIALECTS {
            let yard = Yard::new(server, searches()).await;
            let object = yard.whole(client, ASKED, &json!({})).await;
            assert_eq!(
                text(std::slice::from_ref(&object)),
                "I look.\n\nThere is one.",
                "{client:?} {server:?}"
            );
            assert_eq!(told(&object), SEARCHED);
            assert_eq!(calls(&object), Value::Null);
            let [first, second] = yard.pleas();
            assert!(first.tools().contains(&"notes__search_notes"), "{:?}", first.tools());
            assert_eq!(
                (first.authorization.as_str(), &first.body["model"]),
                ("Bearer server-key", &json!("small"))
            );
            let results = second.body["messages"].as_array().unwrap();
            let result =
                results.iter().find(|it| it["role"] == "tool").expect("the model is told the result");
            assert!(result["content"].as_str().unwrap().contains("arden"), "{result}");
        }
    }
}

#[tokio::test]
async fn an_answer_of_openai_has_all_its_members() {
    let yard = Yard::new(Dialect::Ollama, searches()).await;
    let mut object = yard.whole(Dialect::OpenAi, ASKED, &json!({})).await;
    assert!(object["created"].as_u64().is_some_and(|it| it > 1_700_000_000));
    assert!(object["id"].as_str().is_some_and(|it| it.starts_with("chatcmpl-")));
    for member in ["id", "created", "toolyard"] {
        object[member] = json!(0);
    }
    insta::assert_snapshot!(object, @r#"{"id":0,"object":"chat.completion","created":0,"model":"small","choices":[{"index":0,"message":{"role":"assistant","content":"I look.\n\nThere is one.","reasoning_content":"Notes."},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":10,"total_tokens":30},"toolyard":0}"#);
}

#[tokio::test]
async fn an_answer_of_ollama_has_all_its_members() {
    let yard = Yard::new(Dialect::OpenAi, searches()).await;
    let mut object = yard.whole(Dialect::Ollama, ASKED, &json!({})).await;
    for member in ["created_at", "total_duration", "toolyard"] {
        assert!(!object[member].is_null(), "{member}");
        object[member] = json!(0);
    }
    insta::assert_snapshot!(object, @r#"{"model":"small","created_at":0,"message":{"role":"assistant","content":"I look.\n\nThere is one.","thinking":"Notes."},"done":true,"done_reason":"stop","total_duration":0,"prompt_eval_count":20,"eval_count":10,"toolyard":0}"#);
}

#[tokio::test]
async fn i1_an_answer_is_streamed_as_openai_does() {
    for server in DIALECTS {
        let yard = Yard::new(server, searches()).await;
        let more = json!({ "stream": true, "stream_options": { "include_usage": true } });
        let reply = yard.chat(Dialect::OpenAi, ASKED, &more).await;
        assert_eq!((reply.status, reply.kind.as_str()), (200, "text/event-stream; charset=utf-8"));
        assert!(reply.body.ends_with("data: [DONE]\n\n"), "{}", reply.body);
        let objects = reply.objects();
        let shown: Vec<String> = objects
            .iter()
            .map(|it| match it["choices"][0].is_null() {
                true => it["usage"].to_string(),
                false => format!("{} {}", it["choices"][0]["delta"], it["choices"][0]["finish_reason"]),
            })
            .collect();
        insta::allow_duplicates! { insta::assert_snapshot!(shown.join("\n"), @r#"
        {"role":"assistant","content":""} null
        {"reasoning_content":"Notes."} null
        {"content":"I look."} null
        {"content":"\n\n"} null
        {"content":"There is "} null
        {"content":"one."} null
        {} "stop"
        {"prompt_tokens":20,"completion_tokens":10,"total_tokens":30}
        "#); }
        assert_eq!(told(&objects[objects.len() - 2]), SEARCHED);
    }
}

#[tokio::test]
async fn i1_an_answer_is_streamed_as_ollama_does() {
    for server in DIALECTS {
        let yard = Yard::new(server, searches()).await;
        let reply = yard.chat(Dialect::Ollama, ASKED, &json!({})).await;
        assert_eq!((reply.status, reply.kind.as_str()), (200, "application/x-ndjson"));
        let objects = reply.objects();
        let shown: Vec<String> = objects
            .iter()
            .map(|it| format!("{} {} {}", it["message"], it["done"], it["eval_count"]))
            .collect();
        insta::allow_duplicates! { insta::assert_snapshot!(shown.join("\n"), @r#"
        {"role":"assistant","content":"","thinking":"Notes."} false null
        {"role":"assistant","content":"I look."} false null
        {"role":"assistant","content":"\n\n"} false null
        {"role":"assistant","content":"There is "} false null
        {"role":"assistant","content":"one."} false null
        {"role":"assistant","content":""} true 10
        "#); }
        assert_eq!(told(objects.last().unwrap()), SEARCHED);
    }
}

#[tokio::test]
async fn i7_a_tool_of_the_client_is_handed_over_and_never_called() {
    let says = || [Saying::Pieces(vec![Said::text("Light!"), Said::call("lamp", json!({ "on": true }))])];
    for (client, server) in DIALECTS.into_iter().flat_map(|it| DIALECTS.map(|server| (it, server))) {
        let yard = Yard::new(server, says()).await;
        let object = yard.whole(client, "switch the lamp on", &lamp()).await;
        let call = &calls(&object)[0];
        assert_eq!(call["function"]["name"], "lamp");
        assert!(call["id"].as_str().is_some_and(|id| !id.is_empty()));
        let expected = match client {
            Dialect::OpenAi => json!("{\"on\":true}"),
            Dialect::Ollama => json!({ "on": true }),
        };
        assert_eq!(call["function"]["arguments"], expected);
        assert_eq!(text(std::slice::from_ref(&object)), "Light!");
        assert_eq!((told(&object), yard.pleas::<1>().len()), (String::new(), 1));
        if client == Dialect::OpenAi {
            assert_eq!(object["choices"][0]["finish_reason"], "tool_calls");
        }
    }
}

#[tokio::test]
async fn i7_the_client_answers_its_call_and_the_conversation_goes_on() {
    for server in DIALECTS {
        let yard =
            Yard::new(server, [Saying::call("lamp", json!({ "on": true })), Saying::text("It is on.")]).await;
        let mut more = lamp();
        more["stream"] = json!(true);
        let objects = yard.chat(Dialect::OpenAi, "switch the lamp on", &more).await.objects();
        let call = objects.iter().map(calls).find(|it| !it.is_null()).expect("it is handed over")[0].clone();
        assert_eq!(call["index"], 0);
        let mut messages = vec![json!({ "role": "user", "content": "switch the lamp on" })];
        messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
        messages.push(json!({ "role": "tool", "tool_call_id": call["id"], "content": "done" }));
        more["messages"] = json!(messages);
        let objects = yard.chat(Dialect::OpenAi, "", &more).await.objects();
        assert_eq!(text(&objects), "It is on.");
        let [_, second] = yard.pleas();
        let sent = second.body["messages"].as_array().unwrap();
        let roles: Vec<&str> = sent.iter().filter_map(|it| it["role"].as_str()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool"]);
        assert_eq!(sent[3]["content"], "done");
    }
}

#[tokio::test]
async fn i7_of_calls_of_both_only_those_of_the_client_are_handed_over() {
    let both = Saying::Pieces(vec![
        Said::call("notes__search_notes", json!({ "query": "garden" })),
        Said::call("lamp", json!({ "on": true })),
    ]);
    let yard = Yard::new(Dialect::OpenAi, [both]).await;
    let object =
        yard.whole(Dialect::OpenAi, "search my notes for garden and switch the lamp on", &lamp()).await;
    let calls = calls(&object);
    assert_eq!(calls.as_array().map(Vec::len), Some(1), "{calls}");
    assert_eq!((&calls[0]["function"]["name"], told(&object).as_str()), (&json!("lamp"), ""));
}

#[tokio::test]
async fn a_call_of_ours_may_come_before_one_of_the_client() {
    let [search, _] = searches();
    let yard = Yard::new(Dialect::OpenAi, [search, Saying::call("lamp", json!({ "on": true }))]).await;
    let asked = "search my notes for garden and switch the lamp on";
    let object = yard.whole(Dialect::OpenAi, asked, &lamp()).await;
    assert_eq!(told(&object), SEARCHED);
    assert_eq!(calls(&object)[0]["function"]["name"], "lamp");
    assert_eq!(text(std::slice::from_ref(&object)), "I look.");
}

#[tokio::test]
async fn where_the_model_has_nothing_to_say_the_result_is_the_answer_once() {
    let [search, _] = searches();
    for is_streamed in [false, true] {
        let yard = Yard::new(Dialect::OpenAi, [search.clone(), Saying::text("")]).await;
        let reply = yard.chat(Dialect::OpenAi, ASKED, &json!({ "stream": is_streamed })).await;
        let said = text(&reply.objects());
        assert!(said.starts_with("I look.\n\n"), "{said}");
        assert_eq!(said.matches("total_count").count().max(said.matches("Garden.md").count()), 1, "{said}");
    }
}

#[tokio::test]
async fn nothing_is_offered_to_a_client_that_wants_no_tools() {
    for server in DIALECTS {
        let yard = Yard::new(server, [Saying::text("Hello.")]).await;
        let mut more = lamp();
        more["tool_choice"] = json!("none");
        let object = yard.whole(Dialect::OpenAi, ASKED, &more).await;
        assert_eq!(text(std::slice::from_ref(&object)), "Hello.");
        let [plea] = yard.pleas();
        // It passed unchanged: what the client offers is the model server's business then.
        assert_eq!((plea.path.as_str(), plea.tools()), ("/v1/chat/completions", vec!["lamp"]));
    }
}

#[tokio::test]
async fn options_reach_the_model() {
    let yard = Yard::new(Dialect::Ollama, [Saying::text("Hello.")]).await;
    yard.whole(Dialect::OpenAi, "Hi", &json!({ "temperature": 0.5, "max_tokens": 7 })).await;
    yard.whole(Dialect::Ollama, "Hi", &json!({ "options": { "num_ctx": 4096 }, "keep_alive": "5m" })).await;
    let [first, second] = yard.pleas();
    assert_eq!(first.body["options"], json!({ "temperature": 0.5, "num_predict": 7 }));
    assert_eq!(
        (&second.body["options"], &second.body["keep_alive"]),
        (&json!({ "num_ctx": 4096 }), &json!("5m"))
    );
}

#[tokio::test]
async fn a_long_conversation_is_sent_whole() {
    let yard = Yard::new(Dialect::OpenAi, [Saying::text("Hello.")]).await;
    let said = |at: usize| json!({ "role": if at.is_multiple_of(2) { "user" } else { "assistant" }, "content": "x".repeat(4000) });
    let messages: Vec<Value> = (0..41).map(said).collect();
    yard.whole(Dialect::OpenAi, "", &json!({ "messages": messages })).await;
    let [plea] = yard.pleas();
    assert_eq!(plea.body["messages"].as_array().map(Vec::len), Some(42));
}
