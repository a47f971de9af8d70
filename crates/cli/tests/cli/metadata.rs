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
      ],
      "examples": [
        "echo"
      ],
      "exampleCall": {
        "text": "text"
      }
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
      bad  3:31: unknown field `exmples`, expected one of `action`, `targets`, `category`, `effect`, `tags`, `keywords`, `useCases`, `examples`, `notFor`, `exampleCall`, `canChainWith`, `chainsWith`, `typicalWorkflows`, `estimatedLatency`, `rateLimit`, `source`
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
              "message": "unknown field `exmples`, expected one of `action`, `targets`, `category`, `effect`, `tags`, `keywords`, `useCases`, `examples`, `notFor`, `exampleCall`, `canChainWith`, `chainsWith`, `typicalWorkflows`, `estimatedLatency`, `rateLimit`, `source`"
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

#[test]
fn r13_vectors_are_exported_with_their_tools_and_imported_as_they_are() {
    let config = r#"{ "mcpServers": { "good": { "command": "FAULT" } } }"#;
    let (from, to) = (Place::with(config), Place::with(config));
    let (told, code) = from.json(&["metadata", "vectors", "export", "v.jsonl", "--json"]);
    assert_eq!(code, 0);
    let lines = from.read("desk/v.jsonl");
    let vectors: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(told["vectors"].as_u64(), Some(vectors.len() as u64));
    let mut echo =
        vectors.into_iter().find(|it| it["tool"] == "good__echo").expect("every tool has a vector");
    assert_eq!(echo["vector"].as_array().map(Vec::len), Some(384));

    // What was imported is used as it is, and not computed again.
    echo["vector"][0] = serde_json::json!(99);
    echo["vector"][1] = serde_json::json!(-99);
    to.write("desk/v.jsonl", &format!("{echo}\n"));
    insta::assert_snapshot!(to.run(&["metadata", "vectors", "import", "v.jsonl"]), @"
    took v.jsonl, 1 vector
    [exit 0]
    ");
    to.output(&["metadata", "vectors", "export", "all.jsonl"]);
    let all = to.read("desk/all.jsonl");
    let kept: Value = all
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .find(|it: &Value| it["tool"] == "good__echo")
        .unwrap();
    assert_eq!(kept, echo);
    assert!(all.lines().count() > 1);
    to.write("desk/broken.jsonl", "{\"model\": 1}\n");
    insta::assert_snapshot!(to.run(&["metadata", "vectors", "import", "broken.jsonl"]), @"
    [stderr]
    error: `broken.jsonl` cannot be read: line 1 is no vector: invalid type: integer `1`, expected a string at line 1 column 11
    [exit 2]
    ");
}

#[test]
fn r3_every_tool_of_a_stored_catalog_gets_an_example_call() {
    let place = Place::new();
    let fleet = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/schemas/fleet.jsonl");
    // What is odd about a listing is said beside it.
    let output = place.output(&["metadata", "export", "--catalog", fleet, "--json"]);
    assert!(output.status.success(), "{output:?}");
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sidecars = told["sidecars"].as_array().unwrap();
    assert_eq!(sidecars.len(), 32);
    let notes: Vec<&Value> =
        sidecars.iter().flat_map(|it| it["tools"].as_object().unwrap().values()).collect();
    assert_eq!(notes.len(), 643);
    for note in &notes {
        assert!(
            note["exampleCall"].is_object() && !note["examples"].as_array().unwrap().is_empty(),
            "{note}"
        );
    }
    assert!(notes.iter().any(|it| !it["chainsWith"].is_null()), "some tools follow others");
}

#[test]
fn r2_measured_times_limits_and_an_example_call_are_shown() {
    let place = Place::with(TWO);
    let own = r#"{"server": "good", "tools": {"add": {"rateLimit": {"calls": 5, "period": 10}, "estimatedLatency": 700}}}"#;
    place.write("config/toolyard/metadata/good.json", own);
    let shown = place.run(&["describe", "good__add"]);
    assert!(shown.contains("about [N] ms, as written"), "{shown}");
    assert!(shown.contains("5 times within 10 s") && shown.contains("example"), "{shown}");
    let (known, _) = place.json(&["metadata", "show", "good__add", "--json"]);
    assert_eq!(known["estimatedLatency"], 700);
    assert_eq!(known["rateLimit"], serde_json::json!({"calls": 5, "period": 10}));
    place.output(&["call", "good__add", "a=1", "b=2"]);
    let shown = place.run(&["describe", "good__add"]);
    assert!(shown.contains("as measured in 1 call"), "{shown}");
    let (known, _) = place.json(&["metadata", "show", "good__add", "--json"]);
    assert!(known["estimatedLatency"].as_u64().is_some_and(|ms| ms != 700), "{known}");
    place.write(
        "config/toolyard/metadata/good.json",
        r#"{"server": "good", "tools": {"add": {"exampleCall": {"a": "one"}}}}"#,
    );
    let checked = place.run(&["metadata", "check"]);
    assert!(checked.contains("tools.add.exampleCall: does not fit"), "{checked}");
}
