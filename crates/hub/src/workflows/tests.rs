//! Workflows that are right, and everything that is wrong with those that are not.

use serde_json::{Map, Value, json};
use toolyard_core::catalog::{Advertised, Bounds, Catalog};

use super::*;
use crate::jsonrpc::raw;

#[test]
fn r11_every_mistake_of_a_file_is_told_with_its_line() {
    let text = r#"{
  "name": "no good",
  "description": "Wrong in many ways.",
  "parameters": { "properties": { "topic": {} }, "required": ["other"] },
  "steps": [
    { "name": "a", "tool": "not a tool", "arguments": { "x": "{{oops" } },
    { "name": "b", "tool": "workflows__c", "when": { "value": 1, "present": true, "filled": true } }
  ]
}"#;
    insta::assert_snapshot!(wrong(text), @r"
    w.json:2:3: a name has 1 to 48 letters, digits, `_` and `-`
    w.json:4:50: `other` is required, but is no parameter
    w.json:6:20: `not a tool` is not the name of a tool; expected `server__tool`
    w.json:6:57: `{{` without `}}` in `{{oops`
    w.json:7:20: a workflow cannot call a workflow
    w.json:7:44: a condition is a `value` with one test (`present`, `filled`, `equals`, `contains`, `above`, `below`), or one of `all`, `any` and `not`
    ");
    let text = r#"{
  "name": "circle", "description": "Steps that need what is not there.",
  "steps": [
    { "name": "a", "tool": "s__a", "arguments": { "x": "{{b.y}}" } },
    { "name": "b", "tool": "s__b", "after": ["c"], "arguments": { "x": "{{parameters.p}}", "y": "{{item}}" } }
  ]
}"#;
    insta::assert_snapshot!(wrong(text), @r"
    w.json:5:36: step `b` needs the step `c`, which there is not
    w.json:5:52: step `b` uses the parameter `p`, which there is not
    w.json:5:52: step `b` uses `item`, but has no `each` to take it from
    ");
    insta::assert_snapshot!(wrong(r#"{ "nam": "x", "steps": {} }"#), @r"
    w.json:1:1: `name` is missing at the top level
    w.json:1:1: `description` is missing at the top level
    w.json:1:3: unknown key `nam` at the top level
      hint: did you mean `name`?
    w.json:1:24: `steps` must be a list, not an object
    ");
}

#[test]
fn r11_a_required_name_that_is_no_parameter_is_told_where_all_else_is_right() {
    let text = r#"{"name": "w", "description": "d", "parameters": {"type": "object", "required": ["page"]},
        "steps": [{"name": "read", "tool": "notes__list_notes"}]}"#;
    let told = mistakes(text, "w.json");
    assert!(told.contains("`page` is required, but is no parameter"), "{told}");
}

#[test]
fn r11_yaml_is_read_like_json_and_its_mistakes_have_lines_too() {
    let yaml = r#"# Comments are fine.
name: tagging
title: Tag notes
description: Tags what a search finds.
parameters:
  properties:
    query: { type: string }
    limit: { type: integer, default: 3 }
    tag: {}
  required: [query]
steps:
  - name: search
    tool: notes__search
    arguments:
      q: "{{parameters.query}}"
      n: "{{parameters.limit}}"
  - name: tag
    tool: notes__tag
    each: "{{search.results}}"
    retries: 1
    when: { value: "{{item.path}}", filled: true }
    arguments:
      path: "{{item.path}}"
      tag: "{{parameters.tag}}"
    undo:
      tool: notes__untag
      arguments: { path: "{{item.path}}", tag: new }
"#;
    for name in ["tagging.yaml", "tagging.yml"] {
        assert_eq!(Template::parse(yaml, Path::new(name)).unwrap(), template());
    }
    insta::assert_snapshot!(wrong_yaml("name: no good\ndescription: Größe\nsteps:\n  - {name: a, tool: x}\n"), @"
    w.yaml:1:1: a name has 1 to 48 letters, digits, `_` and `-`
    w.yaml:4:15: `x` is not the name of a tool; expected `server__tool`
    ");
    insta::assert_snapshot!(wrong_yaml("nam: x\ndescription: on\nsteps: 7\nsteps: []\n"), @"
    w.yaml:1:1: unknown key `nam` at the top level
      hint: did you mean `name`?
    w.yaml:1:1: `name` is missing at the top level
    w.yaml:3:8: `steps` must be a list, not a number
    w.yaml:4:1: the key `steps` is written twice
      hint: keep one of the two
    ");
    insta::assert_snapshot!(wrong_yaml("name: a\n  description: b\n"), @"w.yaml:2:14: mapping values are not allowed in this context");
    insta::assert_snapshot!(wrong_yaml("name: a\nsteps:\n  - arguments: {path: {{item}}}\n"), @"
    w.yaml:3:24: a key must be a text
      hint: put a text with `{{` in quotes
    ");
    insta::assert_snapshot!(wrong_yaml("name: &n a\ndescription: *n\n"), @"
    w.yaml:2:14: an alias is not read
      hint: write the value again
    ");
    insta::assert_snapshot!(wrong_yaml("name: !!str a\n"), @"
    w.yaml:1:7: the tag `tag:yaml.org,2002:!str` is not read
      hint: leave it out; put a text that looks like a number in quotes
    ");
    insta::assert_snapshot!(wrong_yaml("name: a\n---\nname: b\n"), @"
    w.yaml:3:1: a second document begins here
      hint: one file has one document; put the other one into a file of its own
    ");
    insta::assert_snapshot!(wrong_yaml("# nothing\n"), @"w.yaml:1:1: the file is empty");
    insta::assert_snapshot!(wrong_yaml(&"[".repeat(300)), @"w.yaml:1:256: recursion limit exceeded");
    insta::assert_snapshot!(wrong_yaml(&"- ".repeat(300)), @"w.yaml:1:201: more than 100 levels of nesting");
}

#[test]
fn r11_the_workflows_that_are_shipped_are_right() {
    for (name, text) in SHIPPED {
        if let Err(mistakes) = Template::parse(text, Path::new(name)) {
            panic!("{}", mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
        }
    }
}

#[test]
fn r11_a_workflow_is_offered_where_its_servers_are() {
    let names = |servers: &[&str]| {
        let (templates, _) = read(&[]);
        let offered = offered(templates, servers.iter().copied());
        offered.into_iter().map(|it| it.name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&[]), "");
    assert_eq!(names(&["memory", "time"]), "forget-topic");
    assert_eq!(names(&["git", "obsidian"]), "commit-all standup-note");
}

#[test]
fn r11_values_and_tools_make_a_plan() {
    let template = template();
    let values = |value: Value| value.as_object().cloned().unwrap_or_default();
    let plan = |given: Value| {
        let plan = template.plan(&catalog(), &values(given), |_| Some(1200));
        plan.map_or_else(|problems| problems.join("\n"), |plan| plan.render())
    };
    insta::assert_snapshot!(plan(json!({"query": "AI"})), @r#"
    tagging: 2 steps, about 2.4 s
     1 ─ search: notes__search (reads)
           n = 3
           q = "AI"
     2 ─ tag: notes__tag (changes), after search
           for each of search.results
           only if item.path is not empty
           path = item.path
           tried again up to 1 times
           taken back with notes__untag (path = item.path, tag = "new")
    "#);
    insta::assert_snapshot!(plan(json!({"limit": "many", "qery": "AI"})), @r#"
    the parameter `query` is missing
    the parameter `limit` must be integer, not "many"
    there is no parameter `qery`; did you mean `query`?
    "#);
    let empty = template.plan(&Catalog::default(), &Map::new(), |_| None).unwrap_err();
    insta::assert_snapshot!(empty.join("\n"), @r"
    the parameter `query` is missing
    step `search` needs the tool `notes__search`, which there is not
    step `tag` needs the tool `notes__tag`, which there is not
    undoing `tag` needs the tool `notes__untag`, which there is not
    ");
}

#[test]
fn r10_a_tool_that_only_sounds_like_reading_is_not_called_twice() {
    let text = TEMPLATE.replace("notes__tag", "notes__count");
    let definition =
        json!({"name": "count", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": false}});
    let counts = Advertised { server: "notes".into(), tools: vec![raw(&definition)] };
    let search = json!({"name": "search", "inputSchema": {"type": "object"}});
    let reads = Advertised { server: "notes".into(), tools: vec![raw(&search)] };
    let text = text.replace(r#""undo": { "tool": "notes__untag""#, r#""undo": { "tool": "notes__count""#);
    let bounds = Bounds { tools: 9, name_chars: 99, description_chars: 99, nesting: 99 };
    let (catalog, _) = Catalog::gather([(reads, bounds), (counts, bounds)]);
    let template = Template::parse(&text, Path::new("w.json")).unwrap();
    let values = json!({"query": "AI"}).as_object().cloned().unwrap();
    let plan = template.plan(&catalog, &values, |_| None).unwrap();
    let repeatable: Vec<bool> = plan.steps().iter().map(|step| step.repeatable).collect();
    assert_eq!(repeatable, [true, false]);
}

#[test]
fn r11_a_workflow_is_listed_like_a_tool() {
    let listed = template().on(&catalog()).expect("its tools are there");
    insta::assert_snapshot!(format!("{:#}", listed.definition()), @r#"
    {
      "name": "tagging",
      "description": "Tags what a search finds.",
      "inputSchema": {
        "type": "object",
        "properties": {
          "limit": {
            "type": "integer",
            "default": 3
          },
          "query": {
            "type": "string"
          },
          "tag": {}
        },
        "required": [
          "query"
        ],
        "additionalProperties": false
      },
      "annotations": {
        "readOnlyHint": false,
        "destructiveHint": false,
        "idempotentHint": true
      },
      "title": "Tag notes"
    }
    "#);
    assert!(template().on(&Catalog::default()).is_none(), "a workflow without its tools is not listed");
}

#[test]
fn r11_files_of_a_person_come_first_and_wrong_ones_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("own.json", &TEMPLATE.replace("\"tagging\"", "\"commit-all\""));
    write("twice.json", &TEMPLATE.replace("\"tagging\"", "\"commit-all\""));
    write("wrong.json", "{");
    write("wrong.yml", "name: [");
    write("other.txt", "not looked at");
    let (templates, mistakes) = read(&[folder.path().to_owned(), folder.path().join("missing.json")]);
    let own = templates.iter().find(|it| it.name == "commit-all").unwrap();
    assert!(own.definition()["description"].as_str().unwrap().starts_with("Tags what"));
    let files: Vec<String> =
        mistakes.iter().map(|it| it.path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(files, ["twice.json", "wrong.json", "wrong.yml", "missing.json"]);
}

const TEMPLATE: &str = r#"{
  // Comments are fine.
  "name": "tagging",
  "title": "Tag notes",
  "description": "Tags what a search finds.",
  "parameters": {
    "properties": { "query": { "type": "string" }, "limit": { "type": "integer", "default": 3 }, "tag": {} },
    "required": ["query"],
  },
  "steps": [
    { "name": "search", "tool": "notes__search", "arguments": { "q": "{{parameters.query}}", "n": "{{parameters.limit}}" } },
    {
      "name": "tag", "tool": "notes__tag", "each": "{{search.results}}", "retries": 1,
      "when": { "value": "{{item.path}}", "filled": true },
      "arguments": { "path": "{{item.path}}", "tag": "{{parameters.tag}}" },
      "undo": { "tool": "notes__untag", "arguments": { "path": "{{item.path}}", "tag": "new" } }
    }
  ]
}"#;

fn template() -> Template {
    Template::parse(TEMPLATE, Path::new("tagging.json")).unwrap()
}

fn catalog() -> Catalog {
    let tool = |name: &str, required: &[&str], annotations: Value| {
        let properties: Map<String, Value> =
            ["q", "n", "path", "tag"].iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        let schema = json!({"type": "object", "properties": properties, "required": required});
        raw(&json!({"name": name, "description": "", "inputSchema": schema, "annotations": annotations}))
    };
    let tools = vec![
        tool("search", &["q"], json!({"readOnlyHint": true})),
        tool("tag", &["path"], json!({"idempotentHint": true, "destructiveHint": false})),
        tool("untag", &["path", "tag"], json!({})),
    ];
    let bounds = Bounds { tools: 9, name_chars: 99, description_chars: 99, nesting: 99 };
    Catalog::gather([(Advertised { server: "notes".into(), tools }, bounds)]).0
}

fn wrong(text: &str) -> String {
    mistakes(text, "w.json")
}

fn wrong_yaml(text: &str) -> String {
    mistakes(text, "w.yaml")
}

fn mistakes(text: &str, file: &str) -> String {
    let mistakes = Template::parse(text, Path::new(file)).unwrap_err();
    mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn t27_a_pipe_in_the_place_of_a_workflow_is_named_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (_, mistakes) = read(&[pipe]);
    assert_eq!(mistakes.len(), 1, "{mistakes:?}");
    assert_eq!(mistakes[0].message, "cannot be read: it is a pipe, not a file");
}
