//! The loop of seed 001 on the wire: a scripted model, a real hub, and what each of them is sent.

mod desk; // a model before a hub
mod real; // real small models

use serde_json::json;
use testkit::oracle::Said;
use testkit::{Saying, wait_until};
use toolyard_agent::host::Event;
use toolyard_core::turn::{ChatMessage, LimitChoice, TurnEnding};

use desk::{Desk, Dialect, Listener, PATIENCE};

const FOLLOW_UP: &str = "If you need more specific info, you may search again.";
const FINAL: &str = "Answer in 1 sentence based on this information.";

fn search(query: &str) -> Saying {
    Saying::call("notes__search_notes", json!({ "query": query }))
}

const QUESTION: &str = "search my notes for bees, or for honey";

#[tokio::test(flavor = "multi_thread")]
async fn i1_i2_one_search_that_is_enough_is_one_iteration_in_both_dialects() {
    for dialect in [Dialect::OpenAi, Dialect::Ollama] {
        let desk = Desk::new(dialect, [search("bees"), Saying::text("Two notes.")]).await;
        let (ended, heard) = desk.say(QUESTION).await;
        let ended = ended.expect("the model answers");
        assert_eq!((ended.text.as_str(), ended.iterations, ended.calls), ("Two notes.", 1, 1));
        let pleas = desk.model.pleas();
        assert_eq!(pleas.len(), 2);
        assert!(pleas.iter().all(|plea| plea.body["stream"] == true));
        assert!(pleas[0].tools().contains(&"notes__search_notes"), "{:?}", pleas[0].tools());
        // What was found is in the second request, with the tools, and the person may read the answer as it comes.
        assert!(pleas[1].body["messages"].to_string().contains("\"role\":\"tool\""));
        assert!(!pleas[1].tools().is_empty());
        assert!(heard.texts().contains("Two notes."));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i3_i5_a_refinement_joins_the_context_and_the_answer_comes_without_tools() {
    for dialect in [Dialect::OpenAi, Dialect::Ollama] {
        let desk = Desk::new(dialect, [search("bees"), search("honey"), Saying::text("Both.")]).await;
        let (ended, heard) = desk.say(QUESTION).await;
        assert_eq!(ended.expect("the model answers").iterations, 2);
        let pleas = desk.model.pleas();
        let offered: Vec<bool> = pleas.iter().map(|plea| !plea.tools().is_empty()).collect();
        assert_eq!(offered, [true, true, false]);
        assert_eq!(pleas[0].last(), QUESTION);
        assert!(pleas[1].last().starts_with(FOLLOW_UP), "{}", pleas[1].last());
        assert!(pleas[2].last().starts_with(FINAL), "{}", pleas[2].last());
        // Both results are there, and neither prompt is kept.
        let last = pleas[2].body["messages"].as_array().expect("there are messages").clone();
        assert_eq!(last.iter().filter(|it| it["role"] == "tool").count(), 2);
        assert!(last.iter().all(|it| !it["content"].to_string().contains("search again")));
        let refined = heard.events.iter().find_map(|event| {
            if let Event::Refinement { iteration, tool } = event {
                Some((*iteration, tool.clone()))
            } else {
                None
            }
        });
        assert_eq!(refined, Some((2, "notes__search_notes".to_owned())));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i4_a_call_after_the_last_iteration_is_not_executed() {
    let sayings = [search("bees"), search("honey"), search("wax"), Saying::text("Enough.")];
    let desk = Desk::new(Dialect::OpenAi, sayings).await;
    let (ended, heard) = desk.say(QUESTION).await;
    assert_eq!(ended.expect("the model answers").text, "Enough.");
    assert_eq!(desk.model.pleas().len(), 4);
    assert!(desk.model.pleas()[3].tools().is_empty());
    assert_eq!(heard.calls().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn i4_a_model_that_only_calls_ends_with_the_last_result() {
    let sayings = ["a", "b", "c", "d"].map(search);
    let desk = Desk::new(Dialect::Ollama, sayings).await;
    let (ended, heard) = desk.say("search my notes for a, b, c and d").await;
    let ended = ended.expect("the turn ends");
    assert_eq!((ended.ending, heard.calls().len()), (TurnEnding::Unanswered, 2));
    assert!(!ended.text.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn i3_the_number_of_iterations_is_a_setting() {
    let sayings = [search("bees"), Saying::text("One.")];
    let desk = Desk::with(
        Dialect::OpenAi,
        sayings,
        r#""agent": { "maxIterations": 1, "finalPrompt": "Now answer." }"#,
    );
    let desk = desk.await;
    let (ended, _) = desk.say(QUESTION).await;
    assert_eq!(ended.expect("the model answers").iterations, 1);
    let pleas = desk.model.pleas();
    assert!(pleas[1].tools().is_empty() && pleas[1].last().starts_with("Now answer."));
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_a_small_model_is_offered_few_tools_of_many() {
    let desk = Desk::seed(Dialect::OpenAi, [Saying::text("Done.")]).await;
    for words in
        ["show my repositories", "search my notes for AI", "take a screenshot of the page", "list issues"]
    {
        let (ended, heard) = desk.say(words).await;
        ended.expect("the model answers");
        let (tools, tokens) = heard.bound();
        assert!(!tools.is_empty() && tools.len() < 8 && tokens < 1500, "{words}: {tools:?}, {tokens} tokens");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_written_as_text_in_pieces_or_wrongly_are_made() {
    let fenced =
        "```json\n{\"name\": \"search_notes\", \"arguments\": {\"query\": \"bees\", \"limit\": \"3\"}}\n```";
    let pieces = Said::CallInPieces {
        name: "notes__search_notes".to_owned(),
        arguments: ["{\"que", "ry\": \"be", "es\"}"].map(str::to_owned).to_vec(),
    };
    for saying in [Saying::text(fenced), Saying::Pieces(vec![pieces])] {
        let desk = Desk::new(Dialect::OpenAi, [saying, Saying::text("Found.")]).await;
        let (ended, heard) = desk.say("search my notes for bees, 3 of them").await;
        assert_eq!(ended.expect("the model answers").text, "Found.");
        let calls = heard.calls();
        assert_eq!((calls[0].0.as_str(), &calls[0].1["query"]), ("notes__search_notes", &json!("bees")));
        assert!(!heard.texts().contains("search_notes"), "a call is no text for the person");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_tool_is_answered_with_those_that_there_are() {
    let wrong = Saying::call("google_it", json!({ "q": "bees" }));
    let desk = Desk::new(Dialect::OpenAi, [wrong, search("bees"), Saying::text("Found.")]).await;
    let (ended, heard) = desk.say(QUESTION).await;
    assert_eq!(ended.expect("the model answers").iterations, 1);
    assert!(desk.model.pleas()[1].body.to_string().contains("There is no tool `google_it`"));
    assert_eq!(heard.calls().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_nobody_said_is_not_sent() {
    // What may be left out is left out; what is needed is asked about.
    let invented = Saying::call("notes__search_notes", json!({ "query": "bees", "limit": 7 }));
    let desk = Desk::new(Dialect::OpenAi, [invented, Saying::text("Found.")]).await;
    let (_, heard) = desk.say("search my notes for bees").await;
    assert_eq!(heard.calls()[0].1, json!({ "query": "bees" }).as_object().cloned().expect("an object"));
    let invented = Saying::call("notes__search_notes", json!({ "query": "quarterly budget" }));
    let desk = Desk::new(Dialect::OpenAi, [invented, Saying::text("What for?")]).await;
    let (ended, heard) = desk.say("search my notes").await;
    let draft = ended.expect("the model answers").draft.expect("a draft is left");
    assert_eq!((draft.tool.as_str(), draft.unsaid), ("notes__search_notes", vec!["query".to_owned()]));
    assert!(heard.calls().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_undone_needs_the_person_and_never_the_model() {
    let delete = || Saying::call("filesystem__delete_file", json!({ "path": "garden.md", "confirm": true }));
    let desk = Desk::seed(Dialect::OpenAi, [delete(), Saying::text("Not done.")]).await;
    let (_, heard) = desk.say("delete the file garden.md").await;
    assert!(heard.calls().is_empty());
    assert_eq!(heard.asked.len(), 1);
    let desk = Desk::seed(Dialect::OpenAi, [delete(), Saying::text("Done.")]).await;
    let mut agreeing = Listener { agrees: true, ..Listener::default() };
    let mut session = desk.session(true);
    session.say("delete the file garden.md", &mut agreeing).await.expect("the model answers");
    assert_eq!(agreeing.calls().len(), 1);
    assert!(!agreeing.calls()[0].1.contains_key("confirm"));
}

#[tokio::test(flavor = "multi_thread")]
async fn c7_an_old_name_needs_the_person_as_the_new_one_does() {
    let settings = r#""agent": { "tools": "search" }, "serve": { "surface": "search" },
        "aliases": { "clock": { "to": "time__current_time", "rename": { "place": "zone" } } },
        "policy": { "rules": [{ "tool": "time__current_time", "then": "ask" }] }"#;
    let arguments = json!({ "place": "Tokyo", "confirm": true });
    let ask = || Saying::call("call_tool", json!({ "name": "clock", "arguments": arguments }));
    let desk = Desk::with(Dialect::OpenAi, [ask(), Saying::text("Not done.")], settings).await;
    let (_, heard) = desk.say("what time is it in Tokyo?").await;
    assert!(heard.calls().is_empty(), "{:?}", heard.calls());
    assert_eq!(heard.asked.len(), 1);
    let desk = Desk::with(Dialect::OpenAi, [ask(), Saying::text("Late.")], settings).await;
    let mut agreeing = Listener { agrees: true, ..Listener::default() };
    desk.session(true).say("what time is it in Tokyo?", &mut agreeing).await.expect("the model answers");
    let expected = json!({ "zone": "Tokyo" }).as_object().cloned().expect("an object");
    assert_eq!(agreeing.calls(), [("time__current_time".to_owned(), expected)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_limit_the_person_chooses() {
    let sayings = || [search("bees"), search("honey"), search("wax"), Saying::text("Three.")];
    let words = "search my notes for bees, honey or wax";
    let desk = Desk::new(Dialect::OpenAi, sayings()).await;
    let mut on = Listener { choice: Some(LimitChoice::Continue), ..Listener::default() };
    let ended = desk.session(true).say(words, &mut on).await.expect("the model answers");
    assert_eq!((ended.iterations, ended.text.as_str()), (3, "Three."));
    let desk = Desk::new(Dialect::OpenAi, sayings()).await;
    let mut off = Listener { choice: Some(LimitChoice::Stop), ..Listener::default() };
    let ended = desk.session(true).say(words, &mut off).await.expect("the turn ends");
    assert_eq!((ended.ending, desk.model.pleas().len()), (TurnEnding::Stopped, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_breaks_off_or_is_gone_loses_nothing() {
    let broken = Saying::BreaksAfter(vec![Said::text("Two no"), Said::text("tes are")]);
    let desk = Desk::new(Dialect::OpenAi, [search("bees"), broken]).await;
    let mut session = desk.session(false);
    let mut heard = Listener::default();
    session.say(QUESTION, &mut heard).await.expect_err("the model breaks off");
    let roles: Vec<&str> = session.messages().iter().map(role).collect();
    assert_eq!(roles, ["user", "calls", "tool", "assistant"]);
    assert_eq!(session.messages()[3].text(), "Two notes are …");
    assert_eq!(heard.kept, session.messages());
    // The same conversation goes on when the service is back.
    desk.model.says(Saying::text("Here I am."));
    let ended = session.say("are you there?", &mut heard).await.expect("the model is back");
    assert_eq!(ended.text, "Here I am.");
    assert!(desk.model.pleas().last().expect("it was asked").body.to_string().contains("Two notes are"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_dropped_hangs_up_and_keeps_what_was_said() {
    let stalled = Saying::StallsAfter(vec![Said::text("Let me think")]);
    let desk = Desk::new(Dialect::Ollama, [search("bees"), stalled]).await;
    let mut session = desk.session(false);
    let mut heard = Listener::default();
    tokio::select! {
        ended = session.say(QUESTION, &mut heard) => panic!("it never ends, and yet: {ended:?}"),
        () = async { while desk.model.pleas().len() < 2 { tokio::task::yield_now().await; } } => {}
    }
    session.stop(&mut heard);
    wait_until(PATIENCE, || desk.model.hung_up() > 0).await;
    let roles: Vec<&str> = session.messages().iter().map(role).collect();
    assert_eq!(&roles[..3], ["user", "calls", "tool"]);
    assert_eq!(heard.kept, session.messages());
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_a_skill_loads_its_tools_in_the_middle_of_a_turn() {
    let skill = r#""skills": { "clock": { "when": "time zones", "instructions": "Mind the zone.",
        "tools": ["time__convert_time"] } }"#;
    let activate = Saying::call("activate_skill", json!({ "name": "clock" }));
    let desk = Desk::with(Dialect::OpenAi, [activate, Saying::text("Ready.")], skill).await;
    let (ended, heard) = desk.say("search my notes for bees").await;
    assert_eq!(ended.expect("the model answers").iterations, 0);
    let pleas = desk.model.pleas();
    assert!(!pleas[0].tools().contains(&"time__convert_time"));
    assert!(pleas[1].tools().contains(&"time__convert_time"));
    assert!(pleas[1].body.to_string().contains("Mind the zone."));
    assert!(
        pleas[0].body["messages"][0].to_string().contains("Call `activate_skill(skill_name)` to load tools")
    );
    assert!(heard.events.iter().any(|event| matches!(event, Event::Refreshed { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_hub_is_sure_of_runs_without_the_model_where_that_is_wanted() {
    let desk = Desk::with(Dialect::OpenAi, [Saying::text("No.")], r#""agent": { "direct": true }"#).await;
    let (ended, heard) = desk.say("what time is it in Tokyo").await;
    let ended = ended.expect("the hub answers");
    assert!(desk.model.pleas().is_empty(), "{}", ended.text);
    assert_eq!(heard.calls()[0].0, "time__current_time");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_removes_something_does_not_run_without_the_model() {
    let desk = Desk::with(Dialect::OpenAi, [Saying::text("No.")], r#""agent": { "direct": true }"#).await;
    let (ended, heard) = desk.say("remove the tag \"ideas\" from the note \"AI and local models\"").await;
    assert_eq!(ended.expect("the model answers").text, "No.");
    assert_eq!(heard.calls(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hubs_own_tools_are_another_way() {
    let route = Saying::call("smart_route", json!({ "task": "what time is it in Tokyo?" }));
    let settings = r#""agent": { "tools": "route" }, "serve": { "surface": "route", "callers": "small" }"#;
    let desk = Desk::with(Dialect::OpenAi, [route, Saying::text("Late.")], settings).await;
    let (ended, _) = desk.say("what time is it in Tokyo?").await;
    assert_eq!(ended.expect("the model answers").text, "Late.");
    assert_eq!(desk.model.pleas()[0].tools(), ["smart_route"]);
    assert!(desk.model.pleas()[1].body["messages"].to_string().contains("time__current_time"));
    let find = Saying::call("find_tools", json!({ "query": "time in a city" }));
    let run =
        Saying::call("call_tool", json!({ "name": "time__current_time", "arguments": { "zone": "Tokyo" } }));
    let settings = r#""agent": { "tools": "search" }, "serve": { "surface": "search" }"#;
    let desk = Desk::with(Dialect::Ollama, [find, run, Saying::text("Late.")], settings).await;
    let (ended, heard) = desk.say("what time is it in Tokyo?").await;
    assert_eq!(ended.expect("the model answers").text, "Late.");
    assert_eq!(heard.calls()[1].0, "time__current_time");
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_a_model_that_gets_a_draft_is_shown_the_tool_for_it() {
    let asked = "append a line to the note Ideas";
    let route = Saying::call("smart_route", json!({ "task": asked }));
    let says = [route, Saying::text("What shall the line say?")];
    let settings = r#""agent": { "tools": "route" }, "serve": { "surface": "route", "callers": "small" }"#;
    let desk = Desk::with(Dialect::OpenAi, says, settings).await;
    let (ended, heard) = desk.say(asked).await;
    assert!(ended.is_ok(), "{:?}", heard.events);
    let offered: Vec<Vec<String>> = desk
        .model
        .pleas()
        .iter()
        .map(|plea| plea.tools().iter().map(|it| (*it).to_owned()).collect())
        .collect();
    assert_eq!(offered[0], ["smart_route"]);
    assert_eq!(offered[1], ["smart_route", "notes__update_note"], "{:?}", heard.events);
}

#[tokio::test(flavor = "multi_thread")]
async fn t7_a_model_that_does_not_know_gets_the_web_for_that_query_alone() {
    let desk =
        Desk::seed(Dialect::OpenAi, [Saying::text("I don't know."), Saying::text("I read it on the web.")])
            .await;
    let (ended, heard) = desk.say("who is the lieutenant governor of Ohio?").await;
    assert_eq!(ended.expect("the model answers").text, "I read it on the web.");
    let is_browser = |tools: &[&str]| tools.iter().filter(|name| name.starts_with("browser__")).count() > 1;
    let pleas = desk.model.pleas();
    let offered = pleas.iter().any(|plea| is_browser(&plea.tools()));
    assert!(offered, "{:?}", heard.events);
    let (_, next) = desk.say("search my notes for AI").await;
    let (bound, _) = next.bound();
    let names: Vec<&str> = bound.iter().map(String::as_str).collect();
    assert!(!is_browser(&names), "{names:?}");
}

fn role(message: &ChatMessage) -> &'static str {
    match message {
        ChatMessage::System { .. } => "system",
        ChatMessage::User { .. } => "user",
        ChatMessage::Assistant { calls, .. } if !calls.is_empty() => "calls",
        ChatMessage::Assistant { .. } => "assistant",
        ChatMessage::Tool { .. } => "tool",
    }
}
