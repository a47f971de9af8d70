//! Tests of the loop, without a model.

use serde_json::json;

use super::*;

fn offer(name: &str, only_reads: bool) -> Offer {
    let definition = json!({ "name": name, "description": "Does it", "inputSchema": {
        "type": "object", "properties": { "query": { "type": "string" } },
    } });
    Offer::new(definition, only_reads)
}

fn turn(bounds: Bounds) -> Turn {
    let offers = vec![offer("web__search", true), offer("notes__create", false), offer(ACTIVATE_SKILL, true)];
    Turn::new(bounds, vec![ChatMessage::user("Who is it?")], offers)
}

fn calls(names: &[(&str, &str)]) -> Reply {
    let call = |(name, query): &(&str, &str)| RawCall {
        id: None,
        name: (*name).to_owned(),
        arguments: json!({ "query": query }).to_string(),
    };
    Reply { calls: names.iter().map(call).collect(), ..Reply::default() }
}

fn text(text: &str) -> Reply {
    Reply { text: text.to_owned(), ..Reply::default() }
}

/// Plays a turn in which every call answers with its number; returns what was asked and called.
fn play(turn: &mut Turn, replies: Vec<Reply>) -> Vec<String> {
    let (mut log, mut replies, mut made) = (Vec::new(), replies.into_iter(), 0);
    loop {
        match turn.next() {
            Next::Ask(ask) => {
                log.push(format!("ask tools={} {:?}", ask.has_tools, ask.prompt));
                let Some(reply) = replies.next() else { return log };
                let noted = turn.replied(reply);
                log.extend(noted.refinements.iter().map(|it| format!("refine {} {}", it.iteration, it.tool)));
                log.extend(noted.refusals);
            }
            Next::Call(calls) => {
                let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
                log.push(format!("call {}", names.join(" ")));
                let outcome = |_: &ToolCall| {
                    made += 1;
                    CallOutcome::of(format!("result {made}"))
                };
                turn.called(calls.iter().map(outcome).collect());
            }
            Next::Choose => {
                log.push("choose".to_owned());
                return log;
            }
            Next::Done(ending) => {
                log.push(format!("{ending:?}: {}", turn.answer()));
                return log;
            }
        }
    }
}

#[test]
fn i2_one_search_that_is_enough_is_one_iteration() {
    let mut turn = turn(Bounds::default());
    let log = play(&mut turn, vec![calls(&[("web__search", "a")]), text("It is Ann.")]);
    assert_eq!(
        log,
        ["ask tools=true None", "call web__search", "ask tools=true FollowUp", "Answered: It is Ann."]
    );
    assert_eq!(turn.iterations(), 1);
}

#[test]
fn i3_one_refinement_joins_the_context_and_i4_then_the_tools_are_gone() {
    let mut turn = turn(Bounds::default());
    let replies = vec![calls(&[("web__search", "a")]), calls(&[("web__search", "b")]), text("It is Bob.")];
    let log = play(&mut turn, replies);
    assert_eq!(
        log,
        [
            "ask tools=true None",
            "call web__search",
            "ask tools=true FollowUp",
            "refine 2 web__search",
            "call web__search",
            "ask tools=false Last",
            "Answered: It is Bob."
        ]
    );
    let results: Vec<&str> =
        turn.added().iter().map(ChatMessage::text).filter(|it| it.starts_with("result")).collect();
    assert_eq!((turn.iterations(), results), (2, vec!["result 1", "result 2"]));
}

#[test]
fn i4_a_call_without_tools_is_not_executed_and_the_model_is_asked_once_more() {
    let search = |query| calls(&[("web__search", query)]);
    let bounds = || Bounds { iterations: 1, ..Bounds::default() };
    let mut first = turn(bounds());
    let log = play(&mut first, vec![search("a"), search("b"), text("Ann.")]);
    let begin = ["ask tools=true None", "call web__search", "ask tools=false Last", "ask tools=false Last"];
    assert_eq!(log, [&begin[..], &["Answered: Ann."]].concat());
    let mut second = turn(bounds());
    let written = text("{\"name\": \"web__search\", \"arguments\": {\"query\": \"c\"}}");
    let log = play(&mut second, vec![search("a"), written, search("b")]);
    assert_eq!(log, [&begin[..], &["Unanswered: "]].concat());
    assert_eq!(second.last_result(), Some("result 1"));
}

#[test]
fn i5_the_prompts_are_those_of_the_seed_and_are_not_kept() {
    let mut turn = turn(Bounds::default());
    let said = |turn: &Turn| match turn.next() {
        Next::Ask(ask) => turn.sent(ask).last().map(|it| it.text().to_owned()),
        Next::Call(_) | Next::Choose | Next::Done(_) => None,
    };
    assert_eq!(said(&turn).as_deref(), Some("Who is it?"));
    turn.replied(calls(&[("web__search", "a")]));
    turn.called(vec![CallOutcome::of("one")]);
    let again = "If you need more specific info, you may search again.\n\nQuestion: Who is it?";
    assert_eq!(said(&turn).as_deref(), Some(again));
    turn.replied(calls(&[("web__search", "b")]));
    turn.called(vec![CallOutcome::of("two")]);
    let last = "Answer in 1 sentence based on this information.\n\nQuestion: Who is it?";
    assert_eq!(said(&turn).as_deref(), Some(last));
    turn.replied(text("Done."));
    assert!(
        turn.messages()
            .iter()
            .all(|it| !it.text().contains("search again") && !it.text().contains("1 sentence"))
    );
}

#[test]
fn i3_activating_a_skill_is_no_iteration() {
    let mut turn = turn(Bounds::default());
    let log =
        play(&mut turn, vec![calls(&[(ACTIVATE_SKILL, "x")]), calls(&[("web__search", "a")]), text("Ok.")]);
    assert_eq!(log[2], "ask tools=true None");
    assert_eq!(turn.iterations(), 1);
}

#[test]
fn skills_without_end_are_iterations_in_the_end() {
    let mut turn = turn(Bounds::default());
    let replies = (0..20).map(|number| calls(&[(ACTIVATE_SKILL, &number.to_string())])).collect();
    let log = play(&mut turn, replies);
    assert_eq!(log.last().map(String::as_str), Some("Unanswered: "));
    assert_eq!(turn.iterations(), 2);
}

#[test]
fn parallel_calls_of_one_reply_are_one_iteration() {
    let mut turn = turn(Bounds::default());
    let log = play(&mut turn, vec![calls(&[("web__search", "a"), ("notes__create", "b")]), text("Ok.")]);
    assert_eq!(log[1], "call web__search notes__create");
    assert_eq!(turn.iterations(), 1);
}

#[test]
fn a_repeated_call_is_answered_from_the_first_result() {
    let mut turn = turn(Bounds::default());
    let search = || calls(&[("web__search", "a")]);
    let log = play(&mut turn, vec![search(), search(), text("Ok.")]);
    assert_eq!(log.iter().filter(|it| it.starts_with("call")).count(), 1);
    let results: Vec<&str> =
        turn.added().iter().map(ChatMessage::text).filter(|it| it.starts_with("result")).collect();
    assert_eq!(results, ["result 1", "result 1"]);
}

#[test]
fn what_was_read_before_a_change_is_read_again_and_changes_are_not_repeated() {
    let mut turn = turn(Bounds { iterations: 9, ..Bounds::default() });
    let (search, create) = (|| calls(&[("web__search", "a")]), || calls(&[("notes__create", "b")]));
    let log = play(&mut turn, vec![search(), create(), search(), create(), text("Ok.")]);
    let made: Vec<&String> = log.iter().filter(|it| it.starts_with("call")).collect();
    assert_eq!(made, ["call web__search", "call notes__create", "call web__search"]);
}

#[test]
fn a_call_that_makes_no_sense_is_answered_with_the_schema_and_is_free_twice() {
    let mut turn = turn(Bounds::default());
    let wrong = || calls(&[("get_weather", "a")]);
    let log = play(&mut turn, vec![wrong(), wrong(), wrong(), calls(&[("web__search", "a")]), text("Ok.")]);
    let told = "There is no tool `get_weather`. There are: web__search, notes__create, activate_skill";
    assert_eq!(log.iter().filter(|it| *it == told).count(), 3);
    assert_eq!(log.last().map(String::as_str), Some("Answered: Ok."));
    assert_eq!(turn.iterations(), 2);
}

#[test]
fn at_the_limit_a_person_may_continue_wrap_up_or_stop() {
    let bounds = || Bounds { iterations: 1, at_limit: AtLimit::Choose, ..Bounds::default() };
    let at_limit = || {
        let mut turn = turn(bounds());
        let log = play(&mut turn, vec![calls(&[("web__search", "a")])]);
        assert_eq!(log.last().map(String::as_str), Some("choose"));
        turn
    };
    let mut turn = at_limit();
    turn.chose(LimitChoice::Continue);
    assert_eq!(play(&mut turn, vec![calls(&[("web__search", "b")])])[0], "ask tools=true FollowUp");
    assert_eq!(turn.next(), Next::Choose);
    turn.chose(LimitChoice::WrapUp);
    assert_eq!(play(&mut turn, vec![text("Ok.")]), ["ask tools=false Last", "Answered: Ok."]);
    let mut turn = at_limit();
    turn.chose(LimitChoice::Stop);
    assert_eq!(turn.next(), Next::Done(TurnEnding::Stopped));
}

#[test]
fn an_interrupt_ends_the_turn_and_leaves_no_call_without_an_answer() {
    let mut turn = turn(Bounds::default());
    turn.replied(calls(&[("web__search", "a"), ("notes__create", "b")]));
    turn.interrupt();
    assert_eq!(turn.next(), Next::Done(TurnEnding::Stopped));
    assert_eq!(turn.added().iter().filter(|it| matches!(it, ChatMessage::Tool { .. })).count(), 2);
    let mut asked = self::turn(Bounds::default());
    asked.replied(calls(&[("web__search", "a")]));
    asked.called(vec![CallOutcome { interrupts: true, ..CallOutcome::of("interrupted") }]);
    assert_eq!(asked.next(), Next::Done(TurnEnding::Stopped));
}

#[test]
fn what_tools_leave_open_is_carried_to_the_end() {
    let mut turn = turn(Bounds::default());
    turn.replied(calls(&[("web__search", "a"), ("notes__create", "b")]));
    let pending = |value: Value| CallOutcome { pending: Pending::read(&value), ..CallOutcome::of("ok") };
    turn.called(vec![
        pending(json!({ "pending_interaction": { "choices": ["a", "b"] }, "pending_research": 7 })),
        pending(json!({ "pending_memory_update": "likes tea", "pending_research": 8 })),
    ]);
    let expected = json!({
        "pending_interaction": { "choices": ["a", "b"] }, "pending_memory_update": "likes tea", "pending_research": 8,
    });
    assert_eq!(serde_json::to_value(turn.pending()).expect("it is data"), expected);
}

#[test]
fn a_call_in_text_is_executed_and_one_that_is_cut_off_is_not() {
    let written = "```json\n{\"name\": \"search\", \"arguments\": {\"query\": \"a\"}}\n```";
    let mut whole = turn(Bounds::default());
    assert_eq!(play(&mut whole, vec![text(written)])[1], "call web__search");
    let mut cut = turn(Bounds::default());
    let reply = Reply { text: "I would say".to_owned(), is_cut: true, ..Reply::default() };
    assert_eq!(play(&mut cut, vec![reply]).last().map(String::as_str), Some("Answered: I would say"));
}

#[test]
fn ids_of_calls_are_never_used_twice_in_a_conversation() {
    let mut first = turn(Bounds::default());
    play(&mut first, vec![calls(&[("web__search", "a")]), text("Ok.")]);
    let messages = [first.messages(), &[ChatMessage::user("And?")]].concat();
    let mut second = Turn::new(Bounds::default(), messages, vec![offer("web__search", true)]);
    let named = |id: &str, query: &str| RawCall {
        id: Some(id.to_owned()),
        name: "web__search".to_owned(),
        arguments: json!({ "query": query }).to_string(),
    };
    let reply = Reply {
        calls: vec![named("call_1", "b"), named("x", "c"), named("x", "d"), named("", "e")],
        ..Reply::default()
    };
    second.replied(reply);
    let Next::Call(made) = second.next() else { panic!("it calls") };
    let ids: Vec<&str> = made.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call_2", "x", "call_4", "call_5"]);
}

#[test]
fn marks_of_chat_templates_are_no_part_of_an_answer() {
    let mut turn = turn(Bounds::default());
    let log =
        play(&mut turn, vec![text("<tools></tools>"), text("<tool_response>\nIt is Ann.\n</tool_response>")]);
    assert_eq!(log, ["ask tools=true None", "ask tools=false Last", "Answered: It is Ann."]);
}

#[test]
fn silence_is_asked_about_once() {
    let mut turn = turn(Bounds::default());
    let log = play(&mut turn, vec![text(""), text("  ")]);
    assert_eq!(log, ["ask tools=true None", "ask tools=false Last", "Unanswered: "]);
}
