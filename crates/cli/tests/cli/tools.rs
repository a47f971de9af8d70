//! List, find, describe and call on servers that are processes.

use std::io::Write;
use std::process::Stdio;

use crate::place::{Place, names};

const GOOD: &str = r#"{ "mcpServers": { "good": { "command": "FAULT" } } }"#;

#[test]
fn r18_a_tool_is_called_by_its_full_name_with_typed_words() {
    let place = Place::with(GOOD);
    insta::assert_snapshot!(place.run(&["call", "good__add", "a=1", "b=2.5"]), @"
    3.5
    [exit 0]
    ");
    insta::assert_snapshot!(place.run(&["call", "good__echo", "text=5"]), @"
    5
    [exit 0]
    ");
    insta::assert_snapshot!(place.run(&["call", "good__echo", "--args", r#"{"text": "as JSON"}"#]), @"
    as JSON
    [exit 0]
    ");
}

#[test]
fn arguments_can_come_from_stdin() {
    let place = Place::with(GOOD);
    let mut child = place
        .command(&["call", "good__echo", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(br#"{"text": "through a pipe"}"#).unwrap();
    insta::assert_snapshot!(place.seen(&child.wait_with_output().unwrap()), @"
    through a pipe
    [exit 0]
    ");
}

#[test]
fn wrong_arguments_are_told_before_the_call() {
    let place = Place::with(GOOD);
    insta::assert_snapshot!(
        [
            place.run(&["call", "good__add", "a=one", "b=2"]),
            place.run(&["call", "good__echo"]),
            place.run(&["call", "good__echo", "txt=a"]),
            place.run(&["call", "good__echo", "text"]),
            place.run(&["call", "good__echo", "--args", "[1]"]),
        ]
        .join("\n"),
        @r#"
        [stderr]
        error: `a` is a number and `one` is not
          hint: `toolyard describe good__add` shows its parameters
        [exit 2]
        [stderr]
        error: `good__echo` needs text=… (string)
          hint: `toolyard describe good__echo` shows its parameters
        [exit 2]
        [stderr]
        error: `good__echo` has no parameter `txt`
          hint: it takes text; `--args JSON` sends anything
        [exit 2]
        [stderr]
        error: `text` is not KEY=VALUE
          hint: `toolyard describe good__echo` shows its parameters
        [exit 2]
        [stderr]
        error: the arguments are not a JSON object: invalid type: sequence, expected a map at line 1 column 0
          hint: write them like '{"path": "a.txt"}'
        [exit 2]
        "#
    );
}

#[test]
fn an_unknown_tool_or_server_is_told_with_what_is_near() {
    let place = Place::with(GOOD);
    insta::assert_snapshot!(
        [
            place.run(&["call", "good__ehco", "text=a"]),
            place.run(&["describe", "nothing_like_it"]),
            place.run(&["list", "goood"]),
        ]
        .join("\n"),
        @"
        [stderr]
        error: there is no tool `good__ehco`; did you mean `good__echo`?
          hint: `toolyard find WORDS` finds tools by what they do, `toolyard list` shows all
        [exit 2]
        [stderr]
        error: there is no tool `nothing_like_it`
          hint: `toolyard find WORDS` finds tools by what they do, `toolyard list` shows all
        [exit 2]
        [stderr]
        error: there is no server `goood`
          hint: configured servers: good
        [exit 2]
        "
    );
}

#[test]
fn a_tool_that_fails_is_exit_code_1() {
    let place = Place::with(GOOD);
    insta::assert_snapshot!(place.run(&["call", "good__fail"]), @"
    [stderr]
    error: the printer is on fire; use another one
    [exit 1]
    ");
    insta::assert_snapshot!(place.run(&["call", "good__fail", "--json"]), @r#"
    {"content":[{"type":"text","text":"the printer is on fire; use another one"}],"isError":true}
    [exit 1]
    "#);
    insta::assert_snapshot!(place.run(&["call", "good__die"]), @"
    [stderr]
    error: nothing was run: good__die removes something or cannot be undone.
      hint: say the same again with --yes if it is meant
    [exit 3]
    ");
    insta::assert_snapshot!(place.run(&["call", "good__die", "--yes"]), @"
    [stderr]
    error: server `good` went away while it was asked: it exited with code 9. The call may or may not have been carried out: check before you repeat it
    [exit 1]
    ");
}

#[test]
fn what_is_no_text_is_noted_or_saved() {
    let place = Place::with(GOOD);
    insta::assert_snapshot!(place.run(&["call", "good__contents"]), @"
    plain
    [image/png, 70 bytes; --save DIR keeps it]
    [audio/wav, 4 bytes; --save DIR keeps it]
    hello there
    note: fault://note
    [hologram that cannot be shown]
    [exit 0]
    ");
    insta::assert_snapshot!(place.run(&["call", "good__contents", "--save", "pictures"]), @"
    plain
    [image/png, 70 bytes; saved as pictures/good__contents-1.png]
    [audio/wav, 4 bytes; saved as pictures/good__contents-1.wav]
    hello there
    note: fault://note
    [hologram that cannot be shown]
    [exit 0]
    ");
    place.output(&["call", "good__contents", "--save", "pictures"]);
    assert_eq!(
        names(&place.path("desk/pictures")),
        ["good__contents-1.png", "good__contents-1.wav", "good__contents-2.png", "good__contents-2.wav"]
    );
    assert!(std::fs::read(place.path("desk/pictures/good__contents-2.png")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn the_result_as_json_is_the_servers_own() {
    let place = Place::with(GOOD);
    insta::assert_snapshot!(place.run(&["call", "good__structured", "--json"]), @r#"
    {"content":[{"type":"text","text":"{\"answer\":42,\"words\":[\"a\",\"b\"]}"}],"structuredContent":{"answer":42,"words":["a","b"]},"_meta":{"example.com/kept":[1,{"two":2}]},"x-vendor":"result"}
    [exit 0]
    "#);
}

#[test]
fn servers_that_fail_are_named_and_the_others_are_listed() {
    let place = Place::with(
        r#"{ "mcpServers": {
            "dead": { "command": "FAULT", "args": ["--fault", "dies-at-start"] },
            "missing": { "command": "no-such-command-anywhere" },
            "time": { "builtin": "time" },
        } }"#,
    );
    insta::assert_snapshot!(place.run(&["list"]), @"
    time  4 tools
      time__current_time     read     Tells the current date and time in a time zone.
      time__convert_time     read     Carries a time from one time zone over to another.
      time__time_difference  read     Measures the time from one moment to another, exactly, across zones and daylight saving.
      time__add_time         read     Finds the moment a span of time after or before another.

    4 tools of 1 server; 2 servers could not be reached:
      dead     it exited with code 3
      missing  command `no-such-command-anywhere` was not found on PATH; install it or give its full path
    `toolyard doctor` tells what helps.
    [exit 0]
    ");
    insta::assert_snapshot!(place.run(&["list", "dead"]), @"
    0 tools of 0 servers; 1 server could not be reached:
      dead  it exited with code 3
    `toolyard doctor` tells what helps.
    [exit 1]
    ");
    insta::assert_snapshot!(place.run(&["call", "dead__echo", "text=a"]), @"
    [stderr]
    error: server `dead` could not be asked for its tools: it exited with code 3
      hint: `toolyard doctor dead` tells more
    [exit 1]
    ");
}

#[test]
fn tools_that_the_policy_forbids_are_neither_listed_nor_called() {
    let place = Place::with(
        r#"{ "mcpServers": { "time": { "builtin": "time" } }, "policy": { "allow": ["time__c*"] } }"#,
    );
    insta::assert_snapshot!(place.run(&["list"]), @"
    time  2 tools, 2 more not allowed by `policy`
      time__current_time  read     Tells the current date and time in a time zone.
      time__convert_time  read     Carries a time from one time zone over to another.

    2 tools of 1 server
    [exit 0]
    ");
    insta::assert_snapshot!(place.run(&["call", "time__add_time", "span=1 day"]), @"
    [stderr]
    error: tool `time__add_time` is not allowed here: `policy.allow` in the configuration decides that
    [exit 1]
    ");
}

#[test]
fn what_servers_write_cannot_act_on_the_terminal() {
    let place = Place::with(
        r#"{ "mcpServers": { "bad": { "command": "FAULT", "args": ["--fault", "ansi-names"] } } }"#,
    );
    let commands: [&[&str]; 5] = [
        &["list"],
        &["list", "--json"],
        &["doctor"],
        &["call", "bad__echo", "text=\u{1b}[31mred\u{9b}2J\u{202e}"],
        &["call", "bad__echo", "text=\u{1b}[31mred\u{9b}2J\u{202e}", "--json"],
    ];
    for args in commands {
        let output = place.output(args);
        let seen = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        let acts = |c: &char| (c.is_control() && *c != '\n') || matches!(c, '\u{200b}'..='\u{206f}');
        assert_eq!(seen.chars().find(acts), None, "{args:?}: {seen}");
    }
    // Nothing is lost for a program: the same characters are there as escapes.
    let (result, _) = place.json(&["call", "bad__echo", "text=\u{9b}2J", "--json"]);
    assert_eq!(result["content"][0]["text"], "\u{9b}2J");
}
