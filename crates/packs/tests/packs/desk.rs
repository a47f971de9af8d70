//! The desk, through its front door: what people ask of it, as calls of its tools.

use serde_json::{Value, json};

use crate::shelf::{Shelf, sent, slugs};

#[test]
fn d1_the_desk_has_four_tools_for_each_of_five_domains() {
    let lines: Vec<String> = Shelf::desk()
        .pack
        .tools()
        .iter()
        .map(|tool| {
            let hints = &tool["annotations"];
            let effect = match (&hints["readOnlyHint"], &hints["destructiveHint"], &hints["idempotentHint"]) {
                (Value::Bool(true), Value::Bool(false), Value::Bool(true)) => "reads",
                (Value::Bool(false), Value::Bool(false), Value::Bool(false)) => "adds",
                (Value::Bool(false), Value::Bool(false), Value::Bool(true)) => "settles",
                hints => panic!("{hints:?}"),
            };
            format!("{} {} {}", tool["name"].as_str().unwrap(), tool["_meta"]["tags"], effect)
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    query_tasks ["domain:tasks","query","list"] reads
    get_task ["domain:tasks","get"] reads
    create_tasks ["domain:tasks","create"] adds
    update_task ["domain:tasks","update"] settles
    query_goals ["domain:goals","query","list"] reads
    get_goal ["domain:goals","get"] reads
    create_goals ["domain:goals","create"] adds
    update_goal ["domain:goals","update"] settles
    query_reminders ["domain:reminders","query","list"] reads
    get_reminder ["domain:reminders","get"] reads
    create_reminders ["domain:reminders","create"] adds
    update_reminder ["domain:reminders","update"] settles
    query_reading ["domain:reading","query","list"] reads
    get_reading_item ["domain:reading","get"] reads
    create_reading ["domain:reading","create"] adds
    update_reading_item ["domain:reading","update"] settles
    query_ideas ["domain:ideas","query","list"] reads
    get_idea ["domain:ideas","get"] reads
    create_ideas ["domain:ideas","create"] adds
    update_idea ["domain:ideas","update"] settles
    "#);
}

#[test]
fn c10_every_tool_of_the_desk_is_described_completely_and_shortly() {
    let tools = Shelf::desk().pack.tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for tool in &tools {
        let (name, description) = (tool["name"].as_str().unwrap(), tool["description"].as_str().unwrap());
        let length = description.chars().count();
        assert!(length <= 900, "{name}: {length} characters: {description}");
        for part in [
            "Use when the user wants to |Use when the user asks",
            "Does not ",
            "(use ",
            "Args",
            "Returns ",
            "Example: {",
        ] {
            assert!(part.split('|').any(|part| description.contains(part)), "{name} lacks `{part}`");
        }
        let words = description.split(|it: char| !it.is_ascii_lowercase() && it != '_');
        for word in words
            .filter(|it| ["query_", "get_", "create_", "update_"].iter().any(|verb| it.starts_with(verb)))
        {
            assert!(names.contains(&word), "{name} names `{word}`");
        }
        let mut schemas: Vec<(String, &Value)> = Vec::new();
        for (argument, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(description.contains(argument.as_str()), "{name} does not speak of `{argument}`");
            schemas.push((argument.clone(), schema));
            for (field, schema) in schema["items"]["properties"].as_object().into_iter().flatten() {
                assert!(description.contains(field.as_str()), "{name} does not speak of `{field}`");
                schemas.push((field.clone(), schema));
            }
        }
        for (argument, schema) in schemas {
            assert!(schema["description"].is_string(), "{name}: `{argument}` is not described");
            let shown = schema["examples"].is_array() || schema["enum"].is_array();
            assert!(shown, "{name}: `{argument}` has no example");
        }
    }
}

#[test]
fn c10_the_example_of_every_tool_works() {
    let desk = Shelf::desk();
    desk.create("create_goals", &json!([{ "title": "Get fit" }]));
    // Creating first, so that the items that the other examples name are there.
    let mut tools = desk.pack.tools();
    tools.sort_by_key(|tool| !tool["name"].as_str().unwrap().starts_with("create_"));
    for tool in tools {
        let (name, description) = (tool["name"].as_str().unwrap(), tool["description"].as_str().unwrap());
        let (_, example) = description.rsplit_once("Example: ").unwrap();
        let example: Value = serde_json::from_str(example.trim_end_matches('.')).unwrap();
        desk.data(name, &example);
        let base = &example;
        for (argument, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            for one in schema["examples"]
                .as_array()
                .into_iter()
                .flatten()
                .chain(schema["enum"].as_array().into_iter().flatten())
            {
                let mut arguments = base.clone();
                arguments[argument] = one.clone();
                desk.data(name, &arguments);
                if name.starts_with("update_") {
                    desk.data(name, &json!({ "slug": base["slug"], "deleted": false }));
                }
            }
        }
    }
}

#[test]
fn d1_a_task_is_created_done_deleted_and_restored_in_one_conversation() {
    let desk = Shelf::desk();
    // "Create a task called buy groceries"
    let slug = desk.create("create_tasks", &json!([{ "title": "buy groceries" }])).remove(0);
    // "Mark it as done"
    let done = desk.data("update_task", &json!({ "slug": slug, "status": "done" }));
    assert_eq!(done["changes"], json!(["status: open -> done"]));
    // "Actually, delete that task"
    let gone = desk.data("update_task", &json!({ "slug": slug, "deleted": true }));
    assert_eq!(gone["changes"], json!(["deleted: false -> true"]));
    assert_eq!(desk.found("query_tasks", &json!({})), [""; 0]);
    assert_eq!(desk.found("query_tasks", &json!({ "include_deleted": true })), ["buy-groceries"]);
    let refusal = desk.refusal("update_task", &json!({ "slug": slug, "status": "open" }));
    assert_eq!(refusal, "`buy-groceries` is deleted: send `deleted: false` along to restore and change it");
    // "No, bring it back and open it again"
    desk.data("update_task", &json!({ "slug": "Buy Groceries", "deleted": false, "status": "open" }));
    insta::assert_snapshot!(
        serde_json::to_string_pretty(&desk.data("get_task", &json!({ "slug": slug, "history": true }))).unwrap(), @r#"
    {
      "item": {
        "slug": "buy-groceries",
        "title": "buy groceries",
        "notes": null,
        "status": "open",
        "priority": "normal",
        "due": null,
        "goal": null,
        "tags": [],
        "created": "2026-03-01T12:00:00+01:00",
        "changed": "2026-03-01T12:00:00+01:00",
        "deleted": false
      },
      "earlier": [
        {
          "slug": "buy-groceries",
          "title": "buy groceries",
          "notes": null,
          "status": "done",
          "priority": "normal",
          "due": null,
          "goal": null,
          "tags": [],
          "created": "2026-03-01T12:00:00+01:00",
          "changed": "2026-03-01T12:00:00+01:00",
          "deleted": true
        },
        {
          "slug": "buy-groceries",
          "title": "buy groceries",
          "notes": null,
          "status": "done",
          "priority": "normal",
          "due": null,
          "goal": null,
          "tags": [],
          "created": "2026-03-01T12:00:00+01:00",
          "changed": "2026-03-01T12:00:00+01:00",
          "deleted": false
        },
        {
          "slug": "buy-groceries",
          "title": "buy groceries",
          "notes": null,
          "status": "open",
          "priority": "normal",
          "due": null,
          "goal": null,
          "tags": [],
          "created": "2026-03-01T12:00:00+01:00",
          "changed": "2026-03-01T12:00:00+01:00",
          "deleted": false
        }
      ],
      "earlier_count": 3,
      "remarks": []
    }
    "#);
}

#[test]
fn d1_the_conversations_of_the_other_domains_work() {
    let desk = Shelf::desk();
    // "Create a task for my fitness goal"
    desk.create("create_goals", &json!([{ "title": "Fitness", "why": "Stairs", "target": "in 6 months" }]));
    let data = desk.data("create_tasks", &json!({ "title": "Join a gym", "goal": "fitness" }));
    assert_eq!(data["created"][0]["goal"], "fitness");
    assert_eq!(desk.found("query_tasks", &json!({ "goal": "Fitness" })), ["join-a-gym"]);
    desk.data("update_goal", &json!({ "slug": "fitness", "progress": 40 }));
    assert_eq!(desk.found("query_goals", &json!({ "progress_min": 40, "progress_max": 40 })), ["fitness"]);
    // "Add a reminder for tomorrow"
    let data = desk.data("create_reminders", &json!({ "text": "Stretch", "at": "tomorrow" }));
    assert_eq!(data["created"][0]["at"], "2026-03-02T09:00:00+01:00");
    assert_eq!(
        data["remarks"],
        json!([
            "stretch: `at`: `tomorrow` was read as Monday 2026-03-02T09:00:00+01:00",
            "stretch: `at`: no time of day was given: read as 09:00:00",
        ])
    );
    // "Add an item to my reading list and create an idea"
    desk.create("create_reading", &json!([{ "title": "Dune", "author": "Frank Herbert", "kind": "book" }]));
    desk.create("create_ideas", &json!([{ "title": "Folding bike", "tags": ["work"] }]));
    desk.data("update_reading_item", &json!({ "slug": "Dune", "status": "read", "rating": 5 }));
    assert_eq!(desk.found("query_reading", &json!({ "status": "read", "rating_min": 4 })), ["dune"]);
    assert_eq!(desk.data("get_reading_item", &json!({ "slug": "dune" }))["item"]["rating"], 5);
    assert_eq!(
        desk.found("query_ideas", &json!({ "tags": ["WORK"], "search": "bike fold" })),
        ["folding-bike"]
    );
    // "Actually, update that task from earlier"
    desk.data("update_task", &json!({ "slug": "join-a-gym", "priority": "high" }));
}

#[test]
fn d1_a_task_can_serve_only_a_goal_that_is_there() {
    let desk = Shelf::desk();
    desk.create("create_goals", &json!([{ "title": "Get fit" }, { "title": "Learn Spanish" }]));
    desk.data("update_goal", &json!({ "slug": "learn-spanish", "deleted": true }));
    let refusals: Vec<String> = ["Get fitt", "Learn Spanish", "World peace"]
        .iter()
        .map(|goal| desk.refusal("create_tasks", &json!({ "title": "Run", "goal": goal })))
        .collect();
    insta::assert_snapshot!(refusals.join("\n"), @"
    no task was created. `goal`: there is no goal `Get fitt`: did you mean `get-fit` (Get fit)? Send its slug; query_goals finds what there is
    no task was created. `goal` is `Learn Spanish`, which is deleted: restore it with `deleted: false`, or send another
    no task was created. `goal`: there is no goal `World peace`; query_goals finds what there is
    ");
}

#[test]
fn c4_a_batch_reports_what_failed_and_keeps_the_rest() {
    let desk = Shelf::desk();
    let mut items: Vec<Value> = (0..8).map(|number| json!({ "title": format!("Task {number}") })).collect();
    items.insert(2, json!({ "titel": "Oops", "status": "finished", "due": "someday" }));
    items.insert(5, json!({ "title": "  ", "priority": 3 }));
    let data = desk.data("create_tasks", &sent(&json!(items)));
    assert_eq!(
        slugs(&data["created"]),
        ["task-0", "task-1", "task-2", "task-3", "task-4", "task-5", "task-6", "task-7"]
    );
    assert_eq!((&data["total"], &data["success_count"]), (&json!(10), &json!(8)));
    insta::assert_snapshot!(serde_json::to_string_pretty(&data["failed"]).unwrap(), @r#"
    [
      {
        "index": 2,
        "item": "{\"titel\":\"Oops\",\"status\":\"finished\",\"due\":\"someday\"}",
        "problems": [
          "`title` is missing: send a string, for example \"Buy groceries\"",
          "`status` is `finished`, which is no choice: send one of `open`, `doing`, `done`, `cancelled`",
          "There is no argument `titel`: did you mean `title`",
          "`due` is `someday`, which cannot be read: it has neither a date nor a time of day. Send for example `2026-11-20`, `tomorrow`, `next friday` or `in 3 days`"
        ]
      },
      {
        "index": 5,
        "item": "{\"title\":\"  \",\"priority\":3}",
        "problems": [
          "`title` is empty: send a string, for example \"Buy groceries\"",
          "`priority` is a number and not a string: send one of `low`, `normal`, `high`"
        ]
      }
    ]
    "#);
    assert_eq!(desk.data("query_tasks", &json!({}))["total_count"], 8);
}

#[test]
fn c4_ten_items_are_created_and_eleven_are_refused() {
    let desk = Shelf::desk();
    let items =
        |count: usize| -> Value { (0..count).map(|at| json!({ "title": format!("T {at}") })).collect() };
    assert_eq!(desk.create("create_tasks", &items(10)).len(), 10);
    let mut calls = vec![sent(&items(11)), json!({ "notes": "no title" })];
    calls.push(json!({ "notes": "no title", "more": [{ "title": "T", "due": "someday" }] }));
    calls.extend([json!(["T"]), json!("T")].map(|more| json!({ "title": "T", "more": more })));
    let refusals: Vec<String> = calls.iter().map(|call| desk.refusal("create_tasks", call)).collect();
    insta::assert_snapshot!(refusals.join("\n"), @r#"
    `create_tasks` was not run. `more` has 10 items, over 9: send a list of objects, for example [{"title":"Buy groceries","due":"tomorrow"}]. It takes `title`, `notes`, `status`, `priority`, `due`, `goal`, `tags`, `more`
    no task was created. `title` is missing: send a string, for example "Buy groceries"
    no task was created. `title` is missing: send a string, for example "Buy groceries". more[0]: `due` is `someday`, which cannot be read: it has neither a date nor a time of day. Send for example `2026-11-20`, `tomorrow`, `next friday` or `in 3 days`
    `create_tasks` was not run. `more` has an item that is a string and not an object: send a list of objects, for example [{"title":"Buy groceries","due":"tomorrow"}]. It takes `title`, `notes`, `status`, `priority`, `due`, `goal`, `tags`, `more`
    `create_tasks` was not run. `more` is a string and not a list: send a list of objects, for example [{"title":"Buy groceries","due":"tomorrow"}]. It takes `title`, `notes`, `status`, `priority`, `due`, `goal`, `tags`, `more`
    "#);
    assert_eq!(desk.data("query_tasks", &json!({}))["total_count"], 10);
}

#[test]
fn c6_every_mistake_of_a_call_is_named_at_once() {
    let desk = Shelf::desk();
    desk.create("create_tasks", &json!([{ "title": "Buy groceries" }, { "title": "Buy a house" }]));
    let calls = [
        (
            "update_task",
            json!({ "slug": "buy-groceries", "status": "finished", "due": "someday", "prioritty": "high", "title": null }),
        ),
        ("update_task", json!({ "slug": "buy-groceries" })),
        ("update_task", json!({ "slug": "groceries", "status": "done" })),
        ("update_task", json!({ "slug": "paint the fence", "status": "done" })),
        ("update_task", json!({ "status": "done" })),
        ("get_task", json!({ "slug": "buy" })),
        ("get_task", json!({ "slug": "bye grocery" })),
        (
            "query_tasks",
            json!({ "sort": "prio", "due_before": "03/04/2026", "status": "over", "limit": 0, "goal": "none" }),
        ),
        ("create_tasks", json!({ "items": [{ "title": "Buy groceries" }] })),
    ];
    let lines: Vec<String> = calls
        .iter()
        .map(|(tool, arguments)| format!("{tool} {arguments}\n-> {}", desk.refusal(tool, arguments)))
        .collect();
    insta::assert_snapshot!(lines.join("\n\n"), @r#"
    update_task {"slug":"buy-groceries","status":"finished","due":"someday","prioritty":"high","title":null}
    -> `update_task` was not run. `status` is `finished`, which is no choice: send one of `open`, `doing`, `done`, `cancelled`. There is no argument `prioritty`: did you mean `priority`. `title` cannot be empty: every task has one. `due` is `someday`, which cannot be read: it has neither a date nor a time of day. Send for example `2026-11-20`, `tomorrow`, `next friday` or `in 3 days`. It takes `slug`, `title`, `notes`, `status`, `priority`, `due`, `goal`, `tags`, `deleted`

    update_task {"slug":"buy-groceries"}
    -> `update_task` was not run. There is nothing to change: send at least one field beside `slug`. It takes `slug`, `title`, `notes`, `status`, `priority`, `due`, `goal`, `tags`, `deleted`

    update_task {"slug":"groceries","status":"done"}
    -> there is no task `groceries`: did you mean `buy-groceries` (Buy groceries)? Send its slug; query_tasks finds what there is

    update_task {"slug":"paint the fence","status":"done"}
    -> there is no task `paint the fence`; query_tasks finds what there is

    update_task {"status":"done"}
    -> `update_task` was not run. `slug` is missing: send a string, for example "buy-groceries". It takes `slug`, `title`, `notes`, `status`, `priority`, `due`, `goal`, `tags`, `deleted`

    get_task {"slug":"buy"}
    -> `buy` can be any of 2 tasks: send the slug of the one that is meant, such as `buy-groceries` (Buy groceries), `buy-a-house` (Buy a house)

    get_task {"slug":"bye grocery"}
    -> there is no task `bye grocery`: did you mean `buy-groceries` (Buy groceries)? Send its slug; query_tasks finds what there is

    query_tasks {"sort":"prio","due_before":"03/04/2026","status":"over","limit":0,"goal":"none"}
    -> `query_tasks` was not run. `status` is `over`, which is no choice: send one of `open`, `doing`, `done`, `cancelled`. `limit` is 0, under 1: send a whole number from 1 to 100, for example 20. `due_before` is `03/04/2026`, which cannot be read: `03/04/2026` can be read as 2026-04-03 or as 2026-03-04: send the one that is meant. Send for example `2026-11-20`, `tomorrow`, `next friday` or `in 3 days`. `goal`: there is no goal `none`; query_goals finds what there is. `sort` is `prio`, by which nothing can be sorted (did you mean `priority`?): send one of `title`, `notes`, `status`, `priority`, `due`, `goal`, `created`, `changed`, `slug`, with `-` before it to turn the order. It takes `search`, `title`, `notes`, `status`, `priority`, `due`, `due_before`, `due_after`, `goal`, `tags`, `include_deleted`, `sort`, `offset`, `limit`

    create_tasks {"items":[{"title":"Buy groceries"}]}
    -> no task was created. `title` is missing: send a string, for example "Buy groceries". There is no argument `items`
    "#);
    // Whoever only reads may name a part.
    assert_eq!(desk.data("get_task", &json!({ "slug": "GROCERIES" }))["item"]["slug"], "buy-groceries");
}

#[test]
fn d1_titles_alike_get_slugs_of_their_own_in_every_script() {
    let desk = Shelf::desk();
    let made = desk.create(
        "create_tasks",
        &json!([
            { "title": "Buy groceries" }, { "title": "buy GROCERIES!" }, { "title": "Купить хлеб" }, { "title": "купить хлеб" },
            { "title": "東京へ行く" }, { "title": "🎉" }, { "title": "🎉🎉" },
        ]),
    );
    assert_eq!(
        made,
        ["buy-groceries", "buy-groceries-2", "купить-хлеб", "купить-хлеб-2", "東京へ行く", "task", "task-2"]
    );
    // The slug of a deleted item stays taken, because the item can come back.
    desk.data("update_task", &json!({ "slug": "東京へ行く", "deleted": true }));
    assert_eq!(desk.create("create_tasks", &json!([{ "title": "東京へ行く" }])), ["東京へ行く-2"]);
    let refusal =
        desk.refusal("update_task", &json!({ "slug": "купить хлеб!", "status": "done", "due": "x" }));
    assert!(refusal.contains("`due` is `x`"), "{refusal}");
}

#[test]
fn d1_an_update_changes_only_what_is_sent_and_null_clears() {
    let desk = Shelf::desk();
    desk.create(
        "create_tasks",
        &json!([{ "title": "Paint", "due": "tomorrow", "priority": "high", "tags": ["a"], "notes": "blue" }]),
    );
    let data = desk.data(
        "update_task",
        &json!({ "slug": "paint", "due": null, "priority": null, "notes": " ", "tags": ["b", " b "] }),
    );
    let refusal = desk.refusal("update_task", &json!({ "slug": "paint", "tags": ["", "b"] }));
    assert!(refusal.contains("`tags` has an item that is empty"), "{refusal}");
    insta::assert_snapshot!(serde_json::to_string_pretty(&data).unwrap(), @r#"
    {
      "item": {
        "slug": "paint",
        "title": "Paint",
        "notes": null,
        "status": "open",
        "priority": "normal",
        "due": null,
        "goal": null,
        "tags": [
          "b"
        ],
        "created": "2026-03-01T12:00:00+01:00",
        "changed": "2026-03-01T12:00:00+01:00",
        "deleted": false
      },
      "changes": [
        "notes: blue -> nothing",
        "priority: high -> normal",
        "due: 2026-03-02 -> nothing",
        "tags: [\"a\"] -> [\"b\"]"
      ],
      "remarks": []
    }
    "#);
    let data = desk
        .data("update_task", &json!({ "slug": "paint", "title": "Paint the fence", "priority": "normal" }));
    assert_eq!(
        (&data["item"]["slug"], &data["changes"]),
        (&json!("paint"), &json!(["title: Paint -> Paint the fence"]))
    );
    let same = desk.data("update_task", &json!({ "slug": "paint", "title": "Paint the fence" }));
    assert_eq!(same["changes"], json!([]));
    assert_eq!(same["remarks"], json!(["nothing was changed: it has these values already"]));
    // A call that changed nothing leaves no version behind.
    assert_eq!(desk.data("get_task", &json!({ "slug": "paint" }))["earlier_count"], 2);
}
