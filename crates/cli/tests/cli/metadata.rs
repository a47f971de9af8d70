//! What is known of tools, as files.

use serde_json::Value;

use crate::place::{Place, names};

const TWO: &str = r#"{ "mcpServers": { "time": { "builtin": "time" }, "good": { "command": "FAULT" } } }"#;

#[test]
fn r3_what_is_known_is_written_for_each_server_and_can_be_edited() {
    let place = Place::with(TWO);
    insta::assert_snapshot!(place.run(&["metadata", "export"]), @"
    wrote [HOME]/config/toolyard/metadata/good.json, 24 tools
    wrote [HOME]/config/toolyard/metadata/time.json, 4 tools
    Next: edit what you know better, delete the rest, then `toolyard metadata check`.
    [exit 0]
    ");
    assert_eq!(names(&place.path("config/toolyard/metadata")), ["good.json", "time.json"]);
    let written: Value = serde_json::from_str(&place.read("config/toolyard/metadata/good.json")).unwrap();
    insta::assert_snapshot!(format!("{:#}", written["tools"]["echo"]), @r#"
    {
      "action": "read",
      "targets": [
        "echos"
      ],
      "effect": "read",
      "tags": [
        "read",
        "echos",
        "good"
      ],
      "keywords": [
        "echo",
        "repeat",
        "text"
      ],
      "useCases": [
        "read echos",
        "Repeats a text"
      ]
    }
    "#);
    insta::assert_snapshot!(place.run(&["metadata", "check"]), @"
    [HOME]/config/toolyard/metadata/good.json
      ok  24 tools of `good`
    [HOME]/config/toolyard/metadata/time.json
      ok  4 tools of `time`
    2 of 2 files in order
    [exit 0]
    ");

    // What a person wrote stays, and is what is known from then on.
    let own = r#"{"server": "good", "tools": {"add": {"useCases": ["sum up the bill"]}}}"#;
    place.write("config/toolyard/metadata/good.json", own);
    insta::assert_snapshot!(place.run(&["metadata", "export", "good"]), @"
    left [HOME]/config/toolyard/metadata/good.json as it is
    `--force` replaces files that are there.
    Next: edit what you know better, delete the rest, then `toolyard metadata check`.
    [exit 0]
    ");
    assert_eq!(place.read("config/toolyard/metadata/good.json"), own);
    let (known, _) = place.json(&["metadata", "export", "good", "--json"]);
    assert_eq!(known["sidecars"][0]["tools"]["add"]["useCases"], serde_json::json!(["sum up the bill"]));
    place.output(&["metadata", "export", "good", "--force"]);
    assert!(place.read("config/toolyard/metadata/good.json").contains("\"keywords\""));
}

#[test]
fn r3_files_go_where_they_are_asked_to() {
    let place = Place::with(TWO);
    insta::assert_snapshot!(place.run(&["metadata", "export", "time", "-o", "drafts"]), @"
    wrote drafts/time.json, 4 tools
    Next: edit what you know better, delete the rest, then `toolyard metadata check`.
    [exit 0]
    ");
    assert_eq!(names(&place.path("desk/drafts")), ["time.json"]);
    insta::assert_snapshot!(place.run(&["metadata", "export", "clock"]), @"
    [stderr]
    error: there is no server `clock`
      hint: configured servers: good, time
    [exit 2]
    ");
}

#[test]
fn r2_what_is_wrong_with_a_file_is_told_with_its_place() {
    let place = Place::with(TWO);
    place
        .write("desk/a.json", "{\n  \"server\": \"good\",\n  \"tools\": { \"add\": { \"exmples\": [] } }\n}");
    place.write("desk/b.json", "{ \"server\": \"good\", ");
    place.write(
        "desk/c.json",
        r#"{"server": "good", "tools": {"ad": {}, "unlike_any": {"chainsWith": ["add"]}}}"#,
    );
    place.write("desk/d.json", r#"{"server": "god", "tools": {}}"#);
    place.write("desk/e.json", r#"{"server": "elsewhere", "tools": {"a": {}}}"#);
    place.write("desk/f.json", r#"{"server": "time", "versions": ">=99", "tools": {"current_time": {}}}"#);
    insta::assert_snapshot!(
        place.run(&["metadata", "check", "a.json", "b.json", "c.json", "d.json", "e.json", "f.json", "g.json"]),
        @"
        a.json
          bad  3:31: unknown field `exmples`, expected one of `action`, `targets`, `category`, `effect`, `tags`, `keywords`, `useCases`, `examples`, `notFor`, `chainsWith`, `rateLimit`, `source`
        b.json
          bad  1:20: EOF while parsing a value
        c.json
          bad  tools.unlike_any: there is no tool `add` in this file
          bad  tools.ad: `good` has no such tool; did you mean `add`?
          bad  tools.unlike_any: `good` has no such tool
        d.json
          bad  there is no server `god` in the configuration; did you mean `good`?
        e.json
          note  there is no server `elsewhere` in the configuration, so its tools were not compared
        f.json
          note  it holds for `>=99` and `time` is version 0.1.0, so it is not used now
        g.json
          bad  it cannot be read: No such file or directory (os error 2)
        2 of 7 files in order
        [exit 1]
        "
    );
    insta::assert_snapshot!(place.run(&["metadata", "check", "a.json", "e.json", "--json"]), @r#"
    {
      "ok": false,
      "files": [
        {
          "file": "a.json",
          "ok": false,
          "server": null,
          "tools": null,
          "findings": [
            {
              "level": "bad",
              "line": 3,
              "column": 31,
              "message": "unknown field `exmples`, expected one of `action`, `targets`, `category`, `effect`, `tags`, `keywords`, `useCases`, `examples`, `notFor`, `chainsWith`, `rateLimit`, `source`"
            }
          ]
        },
        {
          "file": "e.json",
          "ok": true,
          "server": "elsewhere",
          "tools": 1,
          "findings": [
            {
              "level": "note",
              "line": null,
              "column": null,
              "message": "there is no server `elsewhere` in the configuration, so its tools were not compared"
            }
          ]
        }
      ]
    }
    [exit 1]
    "#);
}

#[test]
fn r2_without_files_there_is_nothing_to_check() {
    insta::assert_snapshot!(Place::new().run(&["metadata", "check"]), @"
    Nothing to check: there is no folder `metadata` beside the configuration. `toolyard metadata export` writes files to begin with.
    [exit 0]
    ");
}
