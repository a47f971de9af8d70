//! What requests become, what runs, and what people say about it.

use serde_json::{Value, json};
use toolyard_history::Route;

use crate::yard::{SOON, Yard};

const SEARCH: &str = "search my notes for garden";

#[tokio::test]
async fn r15_a_request_is_tried_with_everything_that_speaks_for_it_and_written_down() {
    let yard = Yard::new().await;
    let tried = yard.tried(SEARCH).await;
    assert_eq!(
        (&tried["decision"], &tried["tool"]),
        (&json!("act"), &json!("notes__search_notes")),
        "{tried}"
    );
    let first = &tried["candidates"][0];
    assert_eq!(
        (&first["tool"], &first["title"], &first["server"], &first["effect"]),
        (&json!("notes__search_notes"), &json!("Search notes"), &json!("notes"), &json!("read")),
    );
    assert!(first["summary"].as_str().unwrap().starts_with("Searches the Markdown notes"), "{first}");
    assert!(first["probability"].as_f64().unwrap() > 0.5, "{first}");
    let signals = first["signals"].as_array().unwrap();
    let strength = |it: &Value| it["added"].as_f64().unwrap().abs();
    assert!(!signals.is_empty() && signals.is_sorted_by(|a, b| strength(a) >= strength(b)), "{signals:?}");
    let query = &tried["arguments"][0];
    assert_eq!(
        (&query["name"], &query["value"], &query["source"]),
        (&json!("query"), &json!("garden"), &json!("text")),
        "{tried}"
    );
    assert!(query["confidence"].is_f64() && tried["ms"].is_number());
    assert_eq!((&tried["missing"], &tried["unsure"], &tried["steps"]), (&json!([]), &json!([]), &json!([])));

    let shown = yard.get(&format!("/routes/{}", tried["routeId"].as_str().unwrap())).await;
    let route = &shown["route"];
    assert_eq!(
        (&route["client"], &route["words"], &route["tool"], &route["ran"], &route["who"]),
        (&json!("dashboard"), &json!(SEARCH), &tried["tool"], &Value::Null, &json!("local")),
    );
    assert_eq!((&route["shape"], &route["arguments"]), (&json!({ "query": "string" }), &Value::Null));
    assert_eq!(
        (&shown["feedback"], &shown["lessons"], &shown["similar"]),
        (&json!([]), &json!([]), &json!([]))
    );
}

#[tokio::test]
async fn r15_what_is_open_about_a_request_is_said() {
    let yard = Yard::new().await;
    let vague = yard.tried("do something").await;
    assert!(matches!(vague["decision"].as_str(), Some("ask" | "decline")), "{vague}");
    let lacking = yard.tried("read a note").await;
    assert_eq!((&lacking["decision"], &lacking["missing"]), (&json!("draft"), &json!(["note"])), "{lacking}");
    assert_eq!(lacking["question"], json!("What is `note`?"));
    let named = yard.tried("notes__list_notes").await;
    assert_eq!((&named["decision"], &named["candidates"][0]["probability"]), (&json!("act"), &json!(1.0)));
    let values = json!({ "task": "search notes", "values": { "query": "roses" }, "server": "notes" });
    let valued = yard.done("/try", &values).await;
    assert_eq!(
        (&valued["tool"], &valued["arguments"][0]["value"]),
        (&json!("notes__search_notes"), &json!("roses"))
    );
    let plan = yard.tried("tell me the time in Tokyo and then list my notes").await;
    assert_eq!(plan["decision"], json!("plan"), "{plan}");
    let steps: Vec<&Value> = plan["steps"].as_array().unwrap().iter().map(|it| &it["tool"]).collect();
    assert_eq!(steps, [&json!("time__current_time"), &json!("notes__list_notes")]);
}

#[tokio::test]
async fn r15_hostile_texts_come_back_as_the_strings_that_they_are() {
    let yard = Yard::new().await;
    let hostile =
        "</script><img src=x onerror=alert(1)>\u{2028}\r\n\n\ndata: {\"x\": 1}\u{0}\u{202e} ${7*7} '\"; --";
    let tried = yard.tried(hostile).await;
    let shown = yard.get(&format!("/routes/{}", tried["routeId"].as_str().unwrap())).await;
    assert_eq!(shown["route"]["words"], json!(hostile));
    let page = yard.get("/routes?text=%3Cimg%20src").await;
    assert_eq!(page["items"][0]["words"], json!(hostile));
    let run = |query: String| json!({ "tool": "notes__search_notes", "arguments": { "query": query } });
    let called = yard.done("/run", &run(hostile.replace('\0', ""))).await;
    assert_eq!(called["outcome"], json!("answered"), "{called}");
    let called = yard.done("/run", &run(hostile.to_owned())).await;
    assert_eq!(called["outcome"], json!("refused"), "servers differ in where such a text ends: {called}");
}

#[tokio::test]
async fn r15_a_tool_is_run_and_its_end_is_told() {
    let yard = Yard::new().await;
    let run = async |body: Value| yard.done("/run", &body).await;
    let answered =
        run(json!({ "task": SEARCH, "tool": "notes__search_notes", "arguments": { "query": "garden" } }))
            .await;
    assert_eq!(answered["outcome"], json!("answered"));
    assert!(answered["result"]["structuredContent"]["results"].is_array(), "{answered}");
    let failed =
        run(json!({ "tool": "notes__read_note", "arguments": { "note": "There is no such note" } })).await;
    assert_eq!(
        (&failed["outcome"], &failed["result"]["isError"]),
        (&json!("failed"), &json!(true)),
        "{failed}"
    );
    let denied = run(json!({ "tool": "time__add_time", "arguments": {} })).await;
    assert_eq!((&denied["outcome"], &denied["result"]), (&json!("denied"), &Value::Null), "{denied}");
    assert!(denied["message"].as_str().unwrap().contains("policy.deny"), "{denied}");
    let unknown = yard.post("/run", &json!({ "tool": "notes__serch_notes" })).await;
    assert_eq!(unknown.status, 404);
    assert!(unknown.error().0.contains("did you mean `notes__search_notes`"), "{}", unknown.text);
    assert_eq!(
        yard.post("/run", &json!({ "tool": "notes__search_notes", "arguments": [1] })).await.status,
        400
    );
}

#[tokio::test]
async fn r15_what_destroys_runs_only_when_it_was_confirmed() {
    let yard = Yard::new().await;
    let create = json!({ "tool": "notes__create_note", "arguments": { "title": "Plan", "content": "Dig." } });
    let asked = yard.done("/run", &create).await;
    assert_eq!((&asked["outcome"], &asked["result"]), (&json!("unconfirmed"), &Value::Null));
    assert!(asked["needsConfirmation"].as_str().unwrap().contains("policy.rules[0]"), "{asked}");
    let read = json!({ "tool": "notes__read_note", "arguments": { "note": "Plan" } });
    assert_eq!(yard.done("/run", &read).await["outcome"], json!("failed"), "nothing was made yet");
    let mut confirmed = create.clone();
    confirmed["confirm"] = json!(true);
    assert_eq!(yard.done("/run", &confirmed).await["outcome"], json!("answered"));
    assert_eq!(yard.done("/run", &read).await["outcome"], json!("answered"));

    // The words say that something is removed, which the tool alone would not be asked about.
    let update = json!({
        "task": "delete everything in the note Plan", "tool": "notes__update_note",
        "arguments": { "note": "Plan", "content": "", "mode": "replace" },
    });
    let asked = yard.done("/run", &update).await;
    assert_eq!(asked["outcome"], json!("unconfirmed"), "{asked}");
    assert!(asked["needsConfirmation"].as_str().unwrap().contains("notes__update_note"), "{asked}");
}

#[tokio::test]
async fn r15_routes_are_listed_in_pages_and_searched() {
    let yard = Yard::new().await;
    for task in ["what time is it in Tokyo", SEARCH, "list my notes"] {
        yard.tried(task).await;
    }
    let words = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|it| it["words"].as_str().unwrap().to_owned()).collect()
    };
    let first = yard.get("/routes?limit=2").await;
    assert_eq!(words(&first), ["list my notes", SEARCH]);
    let next = first["next"].as_str().unwrap();
    assert_eq!(
        words(&yard.get(&format!("/routes?limit=2&before={next}")).await),
        ["what time is it in Tokyo"]
    );
    assert_eq!(words(&yard.get("/routes?text=garden").await), [SEARCH]);
    assert_eq!(words(&yard.get("/routes?tool=notes__search_notes&text=&decision=act").await), [SEARCH]);
    assert_eq!(words(&yard.get("/routes?server=time").await), ["what time is it in Tokyo"]);
    assert_eq!(words(&yard.get("/routes?decision=decline").await), Vec::<String>::new());
    assert_eq!(words(&yard.get("/routes?marked=right").await), Vec::<String>::new());
}

#[tokio::test]
async fn r16_feedback_becomes_a_lesson_that_can_be_taken_back() {
    let yard = Yard::new().await;
    let tried = yard.tried(SEARCH).await;
    let wrong = json!({ "route": tried["routeId"], "verdict": "wrong", "meant": "notes__list_notes" });
    let given = yard.done("/feedback", &wrong).await;
    let lesson = &given["lesson"];
    assert_eq!(
        (&given["ok"], &lesson["words"], &lesson["right"], &lesson["wrong"], &lesson["source"]),
        (
            &json!(true),
            &json!(SEARCH),
            &json!("notes__list_notes"),
            &json!("notes__search_notes"),
            &json!("dashboard")
        ),
    );
    let shown = yard.get(&format!("/routes/{}", tried["routeId"].as_str().unwrap())).await;
    assert_eq!((&shown["feedback"][0]["verdict"], &shown["lessons"]), (&json!("wrong"), &json!([lesson])));
    assert_eq!(
        (&shown["similar"][0]["id"], &shown["similar"][0]["similarity"]),
        (&lesson["id"], &json!(1.0))
    );
    assert_eq!(yard.get("/routes?marked=wrong").await["items"][0]["id"], tried["routeId"]);
    let tool = yard.get("/tools/notes__list_notes").await;
    assert_eq!(tool["lessons"], json!(1));

    assert_eq!(yard.get("/lessons").await, json!({ "lessons": [lesson], "undone": [] }));
    let path = format!("/lessons/{}", lesson["id"].as_str().unwrap());
    assert_eq!(yard.done(&format!("{path}/undo"), &json!({})).await, json!({ "ok": true }));
    assert_eq!(yard.get("/lessons").await, json!({ "lessons": [], "undone": [lesson] }));
    assert_eq!(yard.post(&format!("{path}/undo"), &json!({})).await.status, 404);
    assert_eq!(yard.get("/overview").await["learning"], json!({ "lessons": 0, "undone": 1 }));
    yard.done(&format!("{path}/redo"), &json!({})).await;
    assert_eq!(yard.get("/lessons").await, json!({ "lessons": [lesson], "undone": [] }));
}

#[tokio::test]
async fn r16_a_correction_made_with_a_token_settles_the_same_words_for_everybody_here() {
    let yard = Yard::new().await;
    let tried = yard.tried(SEARCH).await;
    let wrong = json!({ "route": tried["routeId"], "verdict": "wrong", "meant": "notes__list_notes" });
    let request = yard.ours("POST", "/feedback").header("content-type", "application/json");
    let answer = crate::yard::send(request.bearer_auth("s3cret").body(wrong.to_string())).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let again = yard.tried(SEARCH).await;
    assert_eq!((&again["tool"], &again["decision"]), (&json!("notes__list_notes"), &json!("act")), "{again}");
}

#[tokio::test]
async fn r16_feedback_that_makes_no_sense_is_refused() {
    let yard = Yard::new().await;
    let tried = yard.tried(SEARCH).await;
    for (body, status) in [
        (json!({ "route": "nothing", "verdict": "right" }), 404),
        (json!({ "route": tried["routeId"], "verdict": "perhaps" }), 400),
        (json!({ "route": tried["routeId"], "verdict": "wrong", "meant": "nothing" }), 400),
        (json!({ "route": tried["routeId"], "verdict": "wrong", "meant": tried["tool"] }), 400),
    ] {
        let answer = yard.post("/feedback", &body).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text);
    }
    assert_eq!(yard.get("/lessons").await, json!({ "lessons": [], "undone": [] }));
    // What has no words cannot be like anything, but what was said about it is kept.
    let wordless =
        Route { words: None, ..yard.history.route(tried["routeId"].as_str().unwrap()).unwrap().unwrap() };
    yard.history.record(Route { id: toolyard_history::route_id(), ..wordless });
    yard.history.flush();
    let wordless = yard.get("/routes").await["items"][0]["id"].clone();
    let given = yard.done("/feedback", &json!({ "route": wordless, "verdict": "right" })).await;
    assert_eq!(given, json!({ "ok": true, "lesson": null }));
}

#[tokio::test]
async fn r15_a_preview_tells_what_another_threshold_would_change_and_changes_nothing() {
    let yard = Yard::new().await;
    yard.tried(SEARCH).await;
    yard.tried(SEARCH).await;
    let before = yard.hub.tally();
    let same = yard.done("/settings/preview", &json!({})).await;
    assert_eq!((&same["total"], &same["changed"]), (&json!(2), &json!([])));
    let strict = yard.done("/settings/preview", &json!({ "confidenceThreshold": 1.0 })).await;
    let changed = strict["changed"].as_array().unwrap();
    assert_eq!((strict["total"].clone(), changed.len()), (json!(2), 2), "{strict}");
    assert_eq!(
        (&changed[0]["words"], &changed[0]["before"], &changed[0]["after"]),
        (&json!(SEARCH), &json!("act"), &json!("ask"))
    );
    assert_eq!(yard.hub.tally(), before);
    assert_eq!(yard.tried(SEARCH).await["decision"], json!("act"));
    for threshold in [json!(1.5), json!(-1), json!("high")] {
        let answer = yard.post("/settings/preview", &json!({ "confidenceThreshold": threshold })).await;
        assert_eq!(answer.status, 400, "{threshold}");
    }
}

#[tokio::test]
async fn r15_conversations_are_listed() {
    let yard = Yard::new().await;
    let tried = yard.tried(SEARCH).await;
    let route = yard.history.route(tried["routeId"].as_str().unwrap()).unwrap().unwrap();
    let id = toolyard_history::route_id();
    yard.history.record(Route {
        id,
        session: Some("talk-1".to_owned()),
        client: "cursor 1.2".to_owned(),
        ..route
    });
    yard.history.flush();
    let listed = testkit::wait_for(SOON, || async {
        let sessions = yard.get("/sessions").await["sessions"].clone();
        sessions.as_array()?.iter().find(|it| it["session"] == "talk-1").cloned()
    });
    let session = listed.await;
    assert_eq!((&session["client"], &session["routes"]), (&json!("cursor 1.2"), &json!(1)), "{session}");
}
