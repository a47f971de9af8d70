//! Values under names of the caller's own, placed without an encoder.

use jiff::civil::date;
use serde_json::{Map, Value, json};

use crate::arguments::{Filling, Form, Named, Now, Source, Sources, fill, spoken};

fn placed(form: &Form, task: &str, values: &Value) -> Filling {
    let (given, values) = (Map::new(), values.as_object().cloned().unwrap());
    let now = Now { at: date(2026, 11, 17).at(10, 0, 0, 0), offset: 0 };
    let named = Some(Named { values: &values, nearness: None });
    fill(form, &Sources { task, given: &given, named, reading: None, earlier: &[], now })
}

fn object(form: &Form, task: &str, values: &Value) -> Value {
    Value::Object(placed(form, task, values).object())
}

fn issue() -> Form {
    let schema = json!({
        "type": "object",
        "properties": {
            "owner": {"type": "string", "description": "Repository owner"},
            "repo": {"type": "string", "description": "Repository name"},
            "issue_number": {"type": "integer", "description": "The number of the issue"},
            "state": {"enum": ["open", "closed"], "description": "State of the issue"},
            "labels": {"type": "array", "items": {"type": "string"}, "description": "Labels to set"},
        },
        "required": ["owner", "repo", "issue_number"],
    });
    Form::new(("update_issue", "Update an existing issue in a GitHub repository"), schema)
}

#[test]
fn v1_values_under_other_names_find_their_fields() {
    let values =
        json!({"repository": "acme/hub", "issue number": "#41", "state": "Closed", "labels": "bug, urgent"});
    assert_eq!(
        object(&issue(), "Update an issue", &values),
        json!({"owner": "acme", "repo": "hub", "issue_number": 41, "state": "closed", "labels": ["bug", "urgent"]})
    );
}

#[test]
fn v1_one_repository_is_owner_and_name_whatever_else_is_said() {
    let schema = |more: &Value| {
        let mut properties = json!({"owner": {"type": "string"}, "repo": {"type": "string"}});
        properties.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        json!({"type": "object", "properties": properties, "required": ["owner", "repo"]})
    };
    let fork = schema(&json!({"organization": {"type": "string", "description": "Organization to fork to"}}));
    let create = schema(&json!({
        "title": {"type": "string"}, "body": {"type": "string"},
        "assignees": {"type": "array", "items": {"type": "string"}},
        "labels": {"type": "array", "items": {"type": "string"}},
    }));
    for (schema, task, more) in [
        (&fork, "Fork a repository", json!({})),
        (&create, "Create an issue", json!({"title": "It breaks", "labels": ["bug"]})),
    ] {
        let form = Form::new(("t", ""), schema.clone());
        for name in ["repository", "repo", "GitHub repository", "project"] {
            let mut values = json!({name: "acme/mobile"});
            values.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
            let mut wanted = json!({"owner": "acme", "repo": "mobile"});
            wanted.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
            let filling = placed(&form, task, &values);
            assert_eq!(Value::Object(filling.object()), wanted, "{name}");
            assert!(filling.unused.is_empty() && filling.missing.is_empty(), "{filling:?}");
        }
    }
}

#[test]
fn v1_a_tool_that_lists_no_parameters_gets_the_values_as_they_are() {
    let values = json!({"search": "terraform", "page": 2, "nothing": null});
    let filling = placed(&Form::new(("search", ""), json!({})), "Search", &values);
    assert_eq!(Value::Object(filling.object()), json!({"search": "terraform", "page": 2}));
    // The server alone knows whether it takes them.
    assert!(filling.unused.is_empty() && filling.arguments.iter().all(|it| !it.is_certain()), "{filling:?}");
    let none = Form::new(("ping", ""), json!({"type": "object", "properties": {}}));
    assert_eq!(placed(&none, "Ping", &values).unused, ["search", "page"]);
}

#[test]
fn r9_a_value_without_a_place_is_said_to_be_unused() {
    let values = json!({"owner": "me", "repo": "hub", "issue number": 41, "reaction": "🎉", "notify": false});
    let filling = placed(&issue(), "Update an issue", &values);
    // What is not wanted anyway is not lost.
    assert_eq!(filling.unused, ["reaction"]);
    assert!(filling.arguments.iter().all(|it| it.source == Source::Named), "{filling:?}");
}

#[test]
fn r9_lists_of_objects_get_the_names_of_the_schema() {
    let schema = json!({
        "type": "object",
        "properties": {"items": {"type": "array", "items": {
            "type": "object",
            "properties": {"content": {"type": "string"}, "due_date": {"type": "string"}},
            "required": ["content"],
        }}},
        "required": ["items"],
    });
    let form = Form::new(("create_tasks", "Creates tasks"), schema);
    let several = json!({"items": [{"content": "bread", "due": "2026-11-18"}, {"content": "milk"}]});
    assert_eq!(
        object(&form, "Create tasks", &several),
        json!({"items": [{"content": "bread", "due_date": "2026-11-18"}, {"content": "milk"}]})
    );
    assert_eq!(
        object(&form, "Create a task", &json!({"content": "bread", "due date": "2026-11-18"})),
        json!({"items": [{"content": "bread", "due_date": "2026-11-18"}]})
    );
}

#[test]
fn r9_numbers_and_dates_take_the_form_that_the_schema_wants() {
    let schema = json!({
        "type": "object",
        "properties": {
            "timeout_ms": {"type": "integer", "description": "Timeout in milliseconds"},
            "start_date": {"type": "string", "format": "date"},
            "count": {"type": "string", "description": "How many"},
        },
    });
    let form = Form::new(("wait", "Waits"), schema);
    let values = json!({"timeout in seconds": 5, "start date": "2026-11-18", "count": 3});
    assert_eq!(
        object(&form, "Wait", &values),
        json!({"timeout_ms": 5000, "start_date": "2026-11-18", "count": "3"})
    );
}

#[test]
fn r9_words_beside_named_values_fill_nothing_but_choices() {
    let form = issue();
    let sent = object(&form, "Close the issue of octocat", &json!({"repo": "hub", "issue number": 41}));
    assert_eq!(sent.get("owner"), None, "{sent}");
}

#[test]
fn r9_what_the_reader_sees_names_every_value() {
    let values = json!({"file": "a.md", "lines": 20});
    assert_eq!(spoken("Read a file", values.as_object().unwrap()), "Read a file\nfile: a.md\nlines: 20");
}

fn rollout() -> Form {
    let schema = json!({
        "type": "object",
        "properties": {
            "subCommand": {"enum": ["history", "restart", "status"], "default": "status"},
            "resourceType": {"enum": ["deployment", "statefulset"], "description": "Type of resource"},
            "name": {"type": "string", "description": "Name of the resource"},
            "delimiter": {"enum": ["comma", "semicolon", "tab"]},
            "row_index": {"type": "integer"},
        },
        "required": ["subCommand", "resourceType", "name"],
    });
    Form::new(("rollout", "Manage the rollout of a resource"), schema)
}

#[test]
fn r9_a_choice_that_the_action_itself_says_is_taken() {
    let filling = placed(&rollout(), "Restart a deployment", &json!({"name": "web"}));
    assert_eq!(
        Value::Object(filling.object()),
        json!({"subCommand": "restart", "resourceType": "deployment", "name": "web"})
    );
}

#[test]
fn r9_the_name_of_a_value_is_no_choice_and_a_sign_is_called_by_its_name() {
    let filling =
        placed(&rollout(), "Look at something", &json!({"deployment": "payments", "delimiter": ";"}));
    let sent = filling.object();
    assert_eq!(
        (sent.get("delimiter"), sent.get("resourceType")),
        (Some(&json!("semicolon")), None),
        "{sent:?}"
    );
}

#[test]
fn r9_what_a_call_lost_on_its_way_is_said_to_be_unused() {
    let schema = json!({
        "type": "object",
        "properties": {"elements": {"type": "array", "items": {
            "type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"],
            "additionalProperties": false,
        }}},
    });
    let form = Form::new(("draw", "Draw something"), schema);
    let filling = placed(&form, "Draw", &json!({"elements": [{"id": "a", "colour of the line": "red"}]}));
    assert_eq!((filling.arguments.len(), &*filling.unused), (0, &["elements".to_owned()][..]));
}

#[test]
fn r9_a_number_is_no_sure_index() {
    let filling = placed(&rollout(), "Look at something", &json!({"row": 2}));
    let index = filling.arguments.iter().find(|it| it.name == "row_index");
    assert!(index.is_none_or(|it| it.confidence < 0.7), "{filling:?}");
}
