//! Talking to a language model, as a person or a script does it.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::oracle::Said;
use testkit::{Oracle, Saying};

use crate::place::Place;

const DEADLINE: Duration = Duration::from_secs(60);

fn search(query: &str) -> Saying {
    Saying::call("notes__search_notes", json!({ "query": query }))
}

/// Runs `toolyard chat` with a scripted model; returns exit code, stdout and stderr.
fn chat(place: &Place, model: &Oracle, args: &[&str]) -> (i32, String, String) {
    let (address, mut all) = (model.openai(), vec!["chat", "--model"]);
    all.push(&address);
    all.extend(args);
    let output = place.command(&all).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// Returns the files of conversations.
fn transcripts(place: &Place) -> Vec<PathBuf> {
    let folder = place.path("data/toolyard/chats");
    let files = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|it| it == "jsonl")).collect()
}

/// Returns who said something in a transcript.
fn roles(path: &PathBuf) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| line["role"].as_str().map(str::to_owned)).collect()
}

#[test]
fn i6_a_refinement_is_logged_with_its_iteration_and_its_tool() {
    let place = Place::new();
    let model = Oracle::start([search("bees"), search("honey"), Saying::text("Both are there.")]);
    let (exit, out, log) = chat(&place, &model, &["-v", "--once", "search my notes for bees or honey"]);
    assert_eq!((exit, out.as_str()), (0, "Both are there.\n"), "{log}");
    let line =
        log.lines().find(|line| line.contains("Model requesting refinement search")).unwrap_or_default();
    assert!(line.contains("iteration=2") && line.contains("tool=notes__search_notes"), "{log}");
    assert!(log.contains("→ notes__search_notes query=bees"), "{log}");
    let quiet =
        chat(&place, &Oracle::start([search("bees"), Saying::text("One.")]), &["--once", "find bees"]);
    assert!(!quiet.2.contains("refinement"));
}

#[test]
fn i6_a_skill_in_the_middle_of_a_run_is_logged_with_the_number_of_tools() {
    let place = Place::with(
        r#"{ "mcpServers": { "time": { "builtin": "time" }, "notes": { "builtin": "notes" } },
             "skills": { "clock": { "when": "time zones", "tools": ["time__convert_time"] } } }"#,
    );
    let model =
        Oracle::start([Saying::call("activate_skill", json!({ "name": "clock" })), Saying::text("Ready.")]);
    let (_, _, log) = chat(&place, &model, &["-v", "--once", "list my notes"]);
    let tools = model.pleas()[1].tools().len();
    assert!(log.contains(&format!("[AGENT] Refreshed tools: {tools} tools available")), "{log}");
}

#[test]
fn events_are_lines_of_json() {
    let place = Place::new();
    let model = Oracle::start([search("bees"), Saying::text("Two notes.")]);
    let (exit, out, _) = chat(&place, &model, &["--json", "--once", "search my notes for bees"]);
    let events: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = events.iter().filter_map(|it| it["event"].as_str()).collect();
    assert_eq!(exit, 0);
    assert_eq!(
        names,
        ["message", "bound", "message", "call", "result", "message", "text", "message", "answer"]
    );
    let answer = events.last().unwrap();
    assert_eq!(
        (&answer["text"], &answer["iterations"], &answer["calls"]),
        (&json!("Two notes."), &json!(1), &json!(1))
    );
}

#[test]
fn a_conversation_is_kept_and_goes_on() {
    let place = Place::new();
    let model = Oracle::start([Saying::text("Hello Ann."), Saying::text("Ann.")]);
    chat(&place, &model, &["--once", "my name is Ann"]);
    let (exit, out, _) = chat(&place, &model, &["--continue", "--once", "what is my name?"]);
    assert_eq!((exit, out.as_str()), (0, "Ann.\n"));
    let sent = model.pleas()[1].body["messages"].to_string();
    assert!(sent.contains("my name is Ann") && sent.contains("Hello Ann."), "{sent}");
    let kept = transcripts(&place);
    assert_eq!(roles(&kept[0]), ["user", "assistant", "user", "assistant"]);
    chat(&place, &model, &["--no-save", "--once", "and now?"]);
    assert_eq!(transcripts(&place).len(), 1);
}

#[test]
fn a_model_that_dies_or_is_not_there_leaves_the_transcript_whole() {
    let place = Place::new();
    let broken = Saying::BreaksAfter(vec![Said::text("Two no")]);
    let model = Oracle::start([search("bees"), broken]);
    let (exit, _, log) = chat(&place, &model, &["--once", "search my notes for bees"]);
    assert_eq!(exit, 1, "{log}");
    assert_eq!(roles(&transcripts(&place)[0]), ["user", "assistant", "tool", "assistant"]);
    let gone = place.output(&["chat", "--model", "http://127.0.0.1:9/v1#small", "--once", "hello"]);
    assert_eq!(gone.status.code(), Some(1));
    let said = String::from_utf8(gone.stderr).unwrap();
    assert!(said.contains("`small`") && said.contains("127.0.0.1:9"), "{said}");
}

#[test]
fn a_program_that_is_killed_loses_nothing_that_was_said() {
    let place = Place::new();
    let model = Oracle::start([search("bees"), Saying::StallsAfter(vec![Said::text("Let me")])]);
    let address = model.openai();
    let args = ["chat", "--model", &address, "--once", "search my notes for bees"];
    let mut child = place.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(testkit::wait_until(DEADLINE, || model.pleas().len() == 2));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(roles(&transcripts(&place)[0]), ["user", "assistant", "tool"]);
}

#[test]
fn ctrl_c_stops_at_once_and_keeps_what_was_said() {
    let place = Place::new();
    let model = Oracle::start([Saying::StallsAfter(vec![Said::text("Once upon a time")])]);
    let address = model.ollama();
    let args = ["chat", "--model", &address, "--once", "tell me a story"];
    let mut child = place.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(testkit::wait_until(DEADLINE, || model.pleas().len() == 1));
    let interrupt =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("stopped"), "{said}");
    assert_eq!(roles(&transcripts(&place)[0])[0], "user");
}

#[test]
fn a_value_that_nobody_said_is_an_open_question() {
    let place = Place::new();
    let model = Oracle::start([search("quarterly budget"), Saying::text("What should I search for?")]);
    let (exit, out, said) = chat(&place, &model, &["--once", "search my notes"]);
    assert_eq!((exit, out.as_str()), (3, "What should I search for?\n"));
    assert!(
        said.contains("nobody said query") && said.contains("toolyard call notes__search_notes"),
        "{said}"
    );
}

#[test]
fn without_a_model_the_way_to_one_is_told() {
    let place = Place::new();
    let output = place.output(&["chat", "--once", "hello"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("there is no model") && said.contains("agent.model"), "{said}");
    let output = place.output(&["chat", "--model", "qwen", "--once", "hello"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn lines_of_a_pipe_are_messages() {
    let place = Place::new();
    let model = Oracle::start([Saying::text("One."), Saying::text("Two.")]);
    let address = model.openai();
    let mut command = place.command(&["chat", "--model", &address]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"first\n\nsecond\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "One.\nTwo.\n");
    assert!(model.pleas()[1].body.to_string().contains("first"));
}
