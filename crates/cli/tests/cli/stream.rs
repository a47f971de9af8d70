//! Pipes, colours and JSON.

use serde_json::Value;

use crate::place::Place;

#[test]
fn a_closed_pipe_is_no_error() {
    let place = Place::new();
    place.output(&["list"]);
    let lines: [&[&str]; 6] = [
        &["list"],
        &["list", "--json"],
        &["status"],
        &["--help"],
        &["completions", "bash"],
        &["describe", "time__add_time"],
    ];
    for args in lines {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = place.command(args).stdout(writer).output().unwrap();
        assert_eq!(place.seen(&output), "[exit 0]", "{args:?}");
    }
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let place = Place::new();
    let list = |variables: &[&str]| {
        let mut command = place.command(&["list"]);
        command.envs(variables.iter().map(|name| (name, "1")));
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let plain = list(&[]);
    assert!(!plain.contains('\u{1b}'), "{plain}");
    assert!(list(&["CLICOLOR_FORCE"]).contains('\u{1b}'));
    assert_eq!(list(&["CLICOLOR_FORCE", "NO_COLOR"]), plain);
}

#[test]
fn every_answer_can_be_json() {
    let place = Place::new();
    insta::assert_snapshot!(place.run(&["--json"]), @r#"
    {
      "version": "0.1.0",
      "config": null,
      "servers": 2,
      "tools": 0
    }
    [exit 0]
    "#);
    let (found, _) = place.json(&["find", "-n", "1", "current time", "--json"]);
    assert_eq!((&found["query"], found["tools"].as_array().unwrap().len()), (&"current time".into(), 1));
    assert_eq!(found["tools"][0]["name"], "time__current_time");
    assert!(found["tools"][0]["score"].as_f64().unwrap() > 0.0, "{found}");
    insta::assert_snapshot!(place.run(&["status", "--json"]), @r#"
    {
      "hubs": [],
      "servers": [
        {
          "name": "notes",
          "transport": "builtin",
          "state": "known",
          "reason": null,
          "tools": 6,
          "problems": [],
          "waiting": 0
        },
        {
          "name": "time",
          "transport": "builtin",
          "state": "known",
          "reason": null,
          "tools": 4,
          "problems": [],
          "waiting": 0
        }
      ],
      "lostApprovals": null
    }
    [exit 0]
    "#);
    let (list, _) = place.json(&["list", "time", "--json"]);
    insta::assert_snapshot!(format!("{:#}", list["tools"][1]), @r#"
    {
      "name": "time__convert_time",
      "server": "time",
      "tool": "convert_time",
      "title": "Convert a time between zones",
      "effect": "read",
      "summary": "Carries a time from one time zone over to another.",
      "parameters": [
        {
          "name": "time",
          "type": "string",
          "required": true
        },
        {
          "name": "to_zone",
          "type": "string",
          "required": true
        },
        {
          "name": "from_zone",
          "type": "string",
          "required": false
        }
      ]
    }
    "#);
    assert_eq!((list["tools"].as_array().unwrap().len(), &list["failed"]), (4, &Value::Array(vec![])));
    let (definition, _) = place.json(&["describe", "time__current_time", "--json"]);
    assert_eq!(definition["name"], "current_time");
    assert_eq!(definition["inputSchema"]["type"], "object");
}

#[test]
fn errors_are_json_too_and_keep_their_exit_code() {
    let place = Place::new();
    insta::assert_snapshot!(
        [
            place.run(&["call", "time__curent_time", "--json"]),
            place.run(&["find", "zzyzx", "--json"]),
            place.run(&["list", "--json", "--nonsense"]),
            place.run(&["add", "x", "--json"]),
        ]
        .join("\n"),
        @r#"
        {
          "error": {
            "message": "there is no tool `time__curent_time`; did you mean `time__current_time`?",
            "hint": "`toolyard find WORDS` finds tools by what they do, `toolyard list` shows all"
          }
        }
        [exit 2]
        {
          "query": "zzyzx",
          "tools": []
        }
        [exit 1]
        {
          "error": {
            "message": "unexpected argument '--nonsense' found\n\n  tip: to pass '--nonsense' as a value, use '-- --nonsense'\n\nUsage: toolyard list --json [SERVER]\n\nFor more information, try '--help'.",
            "hint": null
          }
        }
        [exit 2]
        {
          "error": {
            "message": "there is neither a URL nor a command",
            "hint": "toolyard add x URL, or toolyard add x -- COMMAND ARGS…"
          }
        }
        [exit 2]
        "#
    );
}
