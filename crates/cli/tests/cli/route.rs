//! A request in plain words, on the command line.

use testkit::{Oracle, Saying};

use crate::place::Place;

/// Acts on nearly everything, so that what is tested does not depend on fitted numbers.
const BOLD: &str = r#"{ "mcpServers": { "good": { "command": "FAULT" } },
    "routing": { "confidenceThreshold": 0.01 } }"#;
/// Asks about everything.
const SHY: &str = r#"{ "mcpServers": { "good": { "command": "FAULT" }, "time": { "builtin": "time" } },
    "routing": { "confidenceThreshold": 1 } }"#;

#[test]
fn r1_a_clear_wish_runs_its_tool() {
    let place = Place::with(BOLD);
    insta::assert_snapshot!(place.run(&["route", "repeat", "a text", "--arg", "text=hello there"]), @r#"
    hello there
    [stderr]
    Running good__echo text="hello there"
    [exit 0]
    "#);
    insta::assert_snapshot!(masked(&place.run(&["route", "repeat a text"])), @"
    good__echo ([N]% sure) needs text=… (string).
    [stderr]
    Nothing was run: say the same again with --arg text=….
    [exit 3]
    ");
    insta::assert_snapshot!(place.run(&["route", "adds two numbers", "--args", r#"{"a": 1, "b": 2}"#]), @"
    3
    [stderr]
    Running good__add a=1 b=2
    [exit 0]
    ");
    insta::assert_snapshot!(masked(&place.run(&["route", "repeat a text", "--arg", "text=a", "--dry-run"])), @"
    Would run good__echo text=a ([N]% sure).
    [exit 0]
    ");
    insta::assert_snapshot!(place.run(&["route", "fails with a message for the model"]), @"
    [stderr]
    Running good__fail
    error: the printer is on fire; use another one
    [exit 1]
    ");
}

#[test]
fn r7_a_question_that_one_tool_answers_is_answered() {
    // A question mark makes it a little vaguer, but the tool is sure and nothing is open.
    let place = Place::new();
    let (answer, exit) = place.json(&["route", "what time is it in Tokyo?", "--json"]);
    assert_eq!(
        (exit, &answer["tool"], &answer["ran"]),
        (0, &"time__current_time".into(), &true.into()),
        "{answer}"
    );
}

#[test]
fn r7_an_unclear_wish_is_asked_about() {
    let place = Place::with(SHY);
    let seen = place.run(&["route", "repeat a text"]);
    assert!(seen.contains("?\n  good__echo ") && seen.ends_with("[exit 3]"), "{seen}");
    let (asked, exit) = place.json(&["route", "repeat a text", "--json"]);
    assert_eq!((exit, &asked["verdict"], &asked["ran"]), (3, &"ask".into(), &false.into()), "{asked}");
    assert!(asked["question"].as_str().is_some_and(|question| question.ends_with('?')), "{asked}");
    assert_eq!(asked["alternatives"][0]["tool"], "good__echo");
    assert!(
        asked["alternatives"][0]["summary"].is_string() && asked["alternatives"][0]["reasons"].is_array()
    );
    assert!(asked["alternatives"].as_array().unwrap().len() >= 2, "{asked}");
}

#[test]
fn r7_what_no_tool_can_do_is_declined() {
    let place = Place::with(r#"{ "mcpServers": { "good": { "command": "FAULT" } } }"#);
    let (declined, exit) = place.json(&["route", "walk the dog around the block tonight", "--json"]);
    assert_eq!((exit, &declined["verdict"], &declined["ran"]), (1, &"abstain".into(), &false.into()));
    let seen = place.run(&["route", "walk the dog around the block tonight"]);
    assert!(seen.contains("error: no tool fits this request") && seen.ends_with("[exit 1]"), "{seen}");
}

#[test]
fn c3_what_cannot_be_taken_back_needs_a_yes() {
    let place = Place::with(BOLD);
    let own =
        r#"{"server": "good", "tools": {"die": {"examples": ["pull the plug"], "keywords": ["plug"]}}}"#;
    place.write("config/toolyard/metadata/good.json", own);
    insta::assert_snapshot!(masked(&place.run(&["route", "pull the plug"])), @"
    Would run good__die ([N]% sure), which cannot be taken back.
    [stderr]
    Nothing was run: say the same again with --yes.
    [exit 3]
    ");
    let (held, exit) = place.json(&["route", "pull the plug", "--json"]);
    assert_eq!((exit, &held["verdict"], &held["tool"]), (3, &"ask".into(), &"good__die".into()), "{held}");
    let ran = place.run(&["route", "pull the plug", "--yes"]);
    assert!(ran.contains("it exited with code 9"), "{ran}");
}

#[test]
fn r6_a_choice_is_explained() {
    let place = Place::with(BOLD);
    let seen = place.run(&["route", "repeat a text", "--explain", "--dry-run", "--arg", "text=a"]);
    let rows: Vec<&str> = seen.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(rows[..5], ["request", "reads", "decision", "tool", "good__echo"], "{seen}");
    assert!(seen.contains("shares repeat, text") && seen.contains("sense +"), "{seen}");
    assert!(!seen.contains("has a sentence that means"), "one sentence means what the whole means: {seen}");
    assert!(seen.contains("\n                ") && seen.contains("behind in "), "{seen}");
    let (told, exit) =
        place.json(&["route", "repeat a text", "--explain", "--dry-run", "--json", "--arg", "text=a"]);
    assert_eq!((exit, &told["verdict"], &told["ran"]), (0, &"act".into(), &false.into()));
    assert!(told["intent"]["keywords"].as_array().unwrap().contains(&"text".into()), "{told}");
    assert!(told["judgement"]["right"].is_f64() && told["judgement"]["vague"].is_f64(), "{told}");
    let first = &told["alternatives"][0];
    let added: f64 =
        first["signals"].as_object().unwrap().values().map(|it| it["added"].as_f64().unwrap()).sum();
    // What the signals added is the whole score, or the explanation is wrong.
    assert!((added - first["score"].as_f64().unwrap()).abs() < 0.02, "{told}");
}

#[test]
fn r5_an_unclear_wish_is_read_beside_the_tools() {
    let place = Place::with(SHY);
    let (told, _) = place.json(&["route", "something with words", "--explain", "--dry-run", "--json"]);
    assert!(told["alternatives"][0]["signals"]["reading"]["added"].is_number(), "{told}");
}

#[test]
fn r1_a_preferred_server_is_lifted() {
    let place = Place::with(
        r#"{ "mcpServers": { "one": { "command": "FAULT" }, "two": { "command": "FAULT" } },
            "routing": { "confidenceThreshold": 0.01 } }"#,
    );
    for server in ["one", "two"] {
        let (told, _) = place.json(&["route", "repeat a text", "--dry-run", "--json", "--server", server]);
        assert_eq!(told["alternatives"][0]["tool"], format!("{server}__echo"), "{told}");
    }
    insta::assert_snapshot!(place.run(&["route", "repeat a text", "--server", "three"]), @"
    [stderr]
    error: there is no server `three`
      hint: configured servers: one, two
    [exit 2]
    ");
}

#[test]
fn r1_the_result_as_json_is_the_servers_own() {
    let place = Place::with(BOLD);
    let (told, exit) = place.json(&["route", "answers with structured content", "--json"]);
    assert_eq!((exit, &told["ran"], &told["tool"]), (0, &true.into(), &"good__structured".into()), "{told}");
    assert_eq!(told["result"]["structuredContent"]["answer"], 42);
    let (failed, exit) = place.json(&["route", "fails with a message for the model", "--json"]);
    assert_eq!((exit, &failed["ran"], &failed["result"]["isError"]), (1, &true.into(), &true.into()));
}

#[test]
fn r9_what_is_told_before_a_wish_is_not_run_and_a_second_question_is() {
    let place = Place::new();
    let told = "Our release went out this morning and everyone is tired. Search my notes for AI";
    // What was told besides may matter, so it is shown before it runs.
    insta::assert_snapshot!(masked(&place.run(&["route", told, "--dry-run"])), @"
    Draft: notes__search_notes query=AI.
    [exit 3]
    ");
    for both in [
        "what time is it in Tokyo and which of my notes mention AI?",
        "search my notes for AI, and then what time is it in Tokyo?",
    ] {
        let seen = place.run(&["route", both, "--dry-run"]);
        for line in [
            ": time__current_time (reads)",
            "zone = \"Tokyo\"",
            ": notes__search_notes (reads)",
            "query = \"AI\"",
        ] {
            assert!(seen.contains(line), "{line} in {seen}");
        }
    }
}

#[test]
fn r17_odd_wishes_end_in_a_question_or_an_answer() {
    let place = Place::with(BOLD);
    let long = "word ".repeat(20_000);
    for wish in ["", "   ", "?!…", "🙂🙂", "ابحث عن ملاحظاتي", "'; rm -rf / #`$(x)`", "\u{1b}[31mred", &long]
    {
        let output = place.output(&["route", wish, "--dry-run"]);
        let exit = output.status.code().unwrap();
        assert!([0, 1, 3].contains(&exit), "{wish:.40}: {}", place.seen(&output));
        assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b), "{wish:.40}");
    }
}

/// Takes out how sure it is: that is fitted anew from time to time.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    for (at, part) in text.split("% sure").enumerate() {
        if at > 0 {
            masked.truncate(masked.trim_end_matches(|c: char| c.is_ascii_digit()).len());
            masked += "[N]% sure";
        }
        masked += part;
    }
    masked
}

/// A server whose tool needs to know what words do not say.
const WORKSHOP: &str = r#"while IFS= read -r line; do
id=$${line#*'"id":'}
id=$${id%%,*}
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
case "$line" in
*'"method":"initialize"'*) say '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"w","version":"1"}}' ;;
*'"method":"tools/list"'*) say '{"tools":[{"name":"report_fault","description":"Reports a fault to the workshop","inputSchema":{"type":"object","required":["urgency"],"properties":{"urgency":{"type":"string","enum":["routine","emergency"]}}}}]}' ;;
*'"method":"tools/call"'*) say '{"content":[{"type":"text","text":"reported"}]}' ;;
esac
done"#;

fn advised(model: &str) -> Place {
    let settings = serde_json::json!({
        "mcpServers": {"shop": {"command": "sh", "args": ["-c", WORKSHOP]}},
        "routing": {
            "confidenceThreshold": 0.01,
            "arguments": {"model": model, "apiKey": "${ORACLE_KEY:-sk-oracle}", "timeoutMs": 120_000},
        },
    });
    Place::with(&settings.to_string())
}

#[test]
fn r9_a_model_finds_what_words_did_not_give_and_the_explanation_says_so() {
    let oracle = Oracle::start([Saying::Json(serde_json::json!({"urgency": "emergency", "a": 1}))]);
    for model in [oracle.openai(), oracle.ollama()] {
        let place = advised(&model);
        let wish = ["route", "report a fault,", "it burns"];
        let ran = place.run(&wish);
        let expected = "reported\n[stderr]\nRunning shop__report_fault urgency=emergency\n[exit 0]";
        assert_eq!(ran, expected, "{ran}");
        let (told, exit) = place.json(&[&wish[..], &["--explain", "--dry-run", "--json"]].concat());
        assert_eq!((exit, &told["arguments"]), (0, &serde_json::json!({"urgency": "emergency"})), "{told}");
        assert_eq!(told["argumentSources"][0]["source"], "model", "{told}");
        let seen = place.run(&[&wish[..], &["--explain", "--dry-run"]].concat());
        assert!(
            seen.contains("urgency = \"emergency\" (found in the words by the language model)"),
            "{seen}"
        );
    }
    assert_eq!(oracle.pleas()[0].authorization, "Bearer sk-oracle");
}

#[test]
fn r9_without_an_answer_of_the_model_the_person_is_asked() {
    // What is wrong may be mended once; what does not answer is left alone.
    for (saying, pleas) in
        [(Saying::Json(serde_json::json!({"urgency": "albatross"})), 2), (Saying::Status(503), 1)]
    {
        let oracle = Oracle::start([saying.clone()]);
        let place = advised(&oracle.ollama());
        let (told, exit) = {
            let output = place.output(&["route", "report a fault", "--json"]);
            let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            (told, output.status.code().unwrap())
        };
        assert_eq!((exit, &told["missing"]), (3, &serde_json::json!(["urgency"])), "{saying:?}: {told}");
        assert_eq!(oracle.pleas().len(), pleas);
    }
}

/// A server whose tool wants a unit that its schema does not require; it says which arguments it got.
const PICKY: &str = r#"while IFS= read -r line; do
id=${line#*'"id":'}
id=${id%%,*}
say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
case "$line" in
*'"method":"initialize"'*) say '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"}}' ;;
*'"method":"tools/list"'*) say '"result":{"tools":[{"name":"set_warmth","description":"Sets how warm a room is","inputSchema":{"type":"object","required":["room"],"properties":{"room":{"type":"string"},"unit":{"enum":["celsius","kelvin"]}}}}]}' ;;
*'"unit":"kelvin"'*) say '"result":{"content":[{"type":"text","text":"warm"}]}' ;;
*'"method":"tools/call"'*) say '"error":{"code":-32602,"message":"the unit is missing"}' ;;
*'"id":'*) say '"error":{"code":-32601,"message":"no"}' ;;
esac
done"#;

#[test]
fn r9_arguments_that_a_server_refuses_are_mended_once() {
    let oracle = Oracle::start([Saying::Json(serde_json::json!({"unit": "kelvin"}))]);
    let place = Place::new();
    place.write("desk/picky.sh", PICKY);
    let script = place.path("desk/picky.sh");
    place.configure(&format!(
        r#"{{ "mcpServers": {{ "picky": {{ "command": "sh", "args": [{script:?}] }} }}, "routing": {{
            "confidenceThreshold": 0.01, "arguments": {{ "model": "{}", "timeoutMs": 120000 }} }} }}"#,
        oracle.openai()
    ));
    let wish = ["route", "set how warm the room is, for physicists", "--arg", "room=attic"];
    insta::assert_snapshot!(place.run(&wish), @"
    warm
    [stderr]
    Running picky__set_warmth room=attic
    Running picky__set_warmth room=attic unit=kelvin
    [exit 0]
    ");
    let plea = oracle.pleas().remove(0);
    assert_eq!(plea.data()["refusal"], "the unit is missing");
    assert_eq!(plea.schema()["required"], serde_json::json!(["unit"]), "what was given stays: {plea:?}");
}
