//! Families as their users see them, and calls there and back.

mod property; // any server, any call

use std::sync::Arc;

use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::*;
use crate::catalog::{Advertised, Bounds, Catalog};

const SERVER: &str = "shop";

/// Lists tools as a server does.
fn tools(definitions: &[Value]) -> Vec<Tool> {
    let bounds = Bounds { tools: 999, name_chars: 99, description_chars: 9999, nesting: 50 };
    let tools = definitions.iter().map(|it| to_raw_value(it).unwrap()).collect();
    let (catalog, problems) = Catalog::gather([(Advertised { server: Arc::from(SERVER), tools }, bounds)]);
    assert_eq!(problems, []);
    catalog.tools().to_vec()
}

/// Defines a tool whose parameters are texts; those behind `?` are optional.
fn plain(name: &str, parameters: &str) -> Value {
    let mut properties = Map::new();
    let mut required: Vec<&str> = Vec::new();
    for word in parameters.split_whitespace() {
        let parameter = word.trim_end_matches('?');
        properties.insert(
            parameter.to_owned(),
            json!({"type": "string", "description": format!("The {parameter}.")}),
        );
        required.extend((parameter == word).then_some(word));
    }
    tool(
        name,
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false}),
    )
}

fn tool(name: &str, schema: Value) -> Value {
    let about = format!("Does what {name} says, on the server, for whoever asks.");
    let mut tool = json!({"name": name, "description": about});
    tool["inputSchema"] = schema;
    tool
}

fn product_tools() -> Vec<Tool> {
    tools(&[
        plain("create_product", "name description? attributes?"),
        plain("update_product", "slug name? description? attributes?"),
        plain("delete_product", "product_slug"),
        plain("add_product_image", "product_slug image_path"),
        plain("set_product_primary_image", "slug image_path"),
        plain("analyze_product_packaging", "slug"),
        plain("analyze_all_product_packaging", "offset? limit?"),
        plain("update_product_packaging_text", "slug field value"),
    ])
}

fn style_tools() -> Vec<Tool> {
    tools(&[
        plain("list_style_references", "offset? limit?"),
        plain("get_style_reference_detail", "slug"),
        plain("create_style_reference", "name description? image_path? default_strict?"),
        plain("create_style_references_from_images", "image_paths default_strict?"),
        plain("update_style_reference", "slug name? description? default_strict?"),
        plain("add_style_reference_image", "slug image_path reanalyze?"),
        plain("reanalyze_style_reference", "slug"),
        plain("delete_style_reference", "slug"),
    ])
}

/// Shows every call that new tools offer, with the original tool behind it.
fn shown(made: &Consolidation) -> String {
    let mut lines = Vec::new();
    for tool in &made.tools {
        let line =
            |action: &FamilyAction| format!("{} <- {} {:?}", tool.usage(action), action.tool, action.effect);
        lines.extend(tool.actions().iter().map(line));
    }
    lines.push(format!("kept: {}", made.kept.join(" ")));
    lines.join("\n")
}

fn names(tools: &[Tool]) -> String {
    shown(&consolidate(SERVER, tools, &[]))
}

fn map(value: Value) -> Map<String, Value> {
    let Value::Object(members) = value else { panic!("{value} is no object") };
    members
}

fn one(tool: &str, arguments: Value) -> Result<Resolved, Error> {
    Ok(Resolved::One(OriginalCall { tool: tool.to_owned(), arguments: map(arguments), is_confirmed: false }))
}

fn refused(made: &Consolidation, tool: &str, arguments: Value) -> String {
    made.resolve(tool, &map(arguments)).unwrap_err().to_string()
}

#[test]
fn c1_eight_product_tools_become_one_with_five_actions_and_analysis_stays_apart() {
    insta::assert_snapshot!(names(&product_tools()), @r#"
    manage_product(action: "create", name, description?, attributes?) <- create_product Write
    manage_product(action: "update", slug, name?, description?, attributes?) <- update_product Write
    manage_product(action: "delete", slug) <- delete_product Destroy
    manage_product(action: "add_image", slug, image_path) <- add_product_image Write
    manage_product(action: "set_primary_image", slug, image_path) <- set_product_primary_image Write
    kept: analyze_product_packaging analyze_all_product_packaging update_product_packaging_text
    "#);
}

#[test]
fn c1_a_declared_family_has_the_names_that_a_person_gives() {
    let actions =
        |names: &[(&str, &str)]| names.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    let all = |names: &str| names.split_whitespace().map(str::to_owned).collect();
    let declared = [
        Declaration {
            entity: "product".to_owned(),
            tools: all(
                "create_product update_product delete_product add_product_image set_product_primary_image",
            ),
            actions: actions(&[("set_product_primary_image", "set_primary")]),
            batch: false,
        },
        Declaration {
            entity: "packaging".to_owned(),
            tools: all(
                "analyze_product_packaging analyze_all_product_packaging update_product_packaging_text gone",
            ),
            actions: actions(&[
                ("analyze_product_packaging", "single"),
                ("analyze_all_product_packaging", "all"),
            ]),
            batch: false,
        },
    ];
    let made = consolidate(SERVER, &product_tools(), &declared);
    insta::assert_snapshot!(shown(&made), @r#"
    manage_product(action: "create", name, description?, attributes?) <- create_product Write
    manage_product(action: "update", slug, name?, description?, attributes?) <- update_product Write
    manage_product(action: "delete", slug) <- delete_product Destroy
    manage_product(action: "add_image", slug, image_path) <- add_product_image Write
    manage_product(action: "set_primary", slug, image_path) <- set_product_primary_image Write
    analyze_packaging(mode: "single", slug) <- analyze_product_packaging Write
    analyze_packaging(mode: "all", offset?, limit?) <- analyze_all_product_packaging Write
    kept: update_product_packaging_text
    "#);
    let problems: Vec<String> = made.problems.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(problems.join("\n"), @"`shop`: tool `gone` changed: in a declared family: the server has no tool of this name");
}

#[test]
fn c1_the_definition_says_what_each_action_takes() {
    let made = consolidate(SERVER, &product_tools(), &[]);
    let definition: Value =
        serde_json::from_str(made.get("manage_product").unwrap().definition().get()).unwrap();
    insta::assert_snapshot!(definition["description"].as_str().unwrap(), @"
    Change product: choose `action`. `?` = optional.
    - create(name, description?, attributes?): Does what create_product says, on the server, for whoever asks.
    - update(slug, name?, description?, attributes?): Does what update_product says, on the server, for whoever asks.
    - delete(slug) [needs confirm: true]: Does what delete_product says, on the server, for whoever asks.
    - add_image(slug, image_path): Does what add_product_image says, on the server, for whoever asks.
    - set_primary_image(slug, image_path): Does what set_product_primary_image says, on the server, for whoever asks.
    ");
    let schema = &definition["inputSchema"];
    assert_eq!(schema["required"], json!(["action"]));
    assert_eq!(schema["additionalProperties"], json!(false));
    let parameters: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(parameters, ["action", "name", "description", "attributes", "slug", "image_path", "confirm"]);
}

#[test]
fn c1_wrong_calls_are_refused_with_what_is_wrong_and_the_usage() {
    let made = consolidate(SERVER, &product_tools(), &[]);
    let said = [
        refused(&made, "manage_product", json!({"slug": "a"})),
        refused(&made, "manage_product", json!({"action": "destroy"})),
        refused(&made, "manage_product", json!({"action": "add_image", "slug": "a"})),
        refused(&made, "manage_product", json!({"action": "delete", "slug": "a", "name": "b"})),
        refused(&made, "manage_product", json!({"action": "delete", "slug": "a", "colour": "b"})),
        refused(&made, "manage_product", json!({"action": "delete", "slug": "a", "product_slug": "b"})),
        refused(&made, "manage_products", json!({})),
    ];
    insta::assert_snapshot!(said.join("\n"), @r#"
    `manage_product` needs `action`: one of `create`, `update`, `delete`, `add_image`, `set_primary_image`
    `manage_product` has no action `destroy`; it has `create`, `update`, `delete`, `add_image`, `set_primary_image`
    `add_image` needs `image_path`; usage: manage_product(action: "add_image", slug, image_path)
    `delete` does not take `name`, which belongs to `create`, `update`; usage: manage_product(action: "delete", slug)
    `delete` does not take `colour`; usage: manage_product(action: "delete", slug)
    `slug` is given twice, also as `product_slug`; give it once
    there is no consolidated tool `manage_products`
    "#);
    // What clients fill in for every parameter is no mistake, and neither is the original name.
    let filled = map(json!({"action": "delete", "product_slug": "a", "name": null}));
    assert_eq!(made.resolve("manage_product", &filled), one("delete_product", json!({"product_slug": "a"})));
}

#[test]
fn c2_style_references_are_changed_by_one_tool_and_read_by_another() {
    let tools = style_tools();
    insta::assert_snapshot!(names(&tools), @r#"
    get_style_reference(slug) <- get_style_reference_detail Read
    get_style_reference(offset?, limit?) <- list_style_references Read
    manage_style_reference(action: "create", name, description?, image_path?, default_strict?) <- create_style_reference Write
    manage_style_reference(action: "create_from_images", image_paths, default_strict?) <- create_style_references_from_images Write
    manage_style_reference(action: "update", slug, name?, description?, default_strict?) <- update_style_reference Write
    manage_style_reference(action: "add_image", slug, image_path, reanalyze?) <- add_style_reference_image Write
    manage_style_reference(action: "reanalyze", slug) <- reanalyze_style_reference Write
    manage_style_reference(action: "delete", slug) <- delete_style_reference Destroy
    kept: 
    "#);
    let made = consolidate(SERVER, &tools, &[]);
    let get = |arguments: Value| made.resolve("get_style_reference", &map(arguments));
    assert_eq!(get(json!({"slug": "a"})), one("get_style_reference_detail", json!({"slug": "a"})));
    assert_eq!(get(json!({"slug": null, "limit": "5"})), one("list_style_references", json!({"limit": "5"})));
    assert_eq!(get(json!({})), one("list_style_references", json!({})));
    insta::assert_snapshot!(get(json!({"slug": "a", "limit": "5"})).unwrap_err().to_string(), @"`get` does not take `limit`, which belongs to `list`; usage: get_style_reference(slug)");
}

#[test]
fn c2_many_reads_are_told_apart_by_a_view_and_searches_stay() {
    let tools = tools(&[
        plain("get_issue", "owner repo number"),
        plain("list_issues", "owner repo state?"),
        plain("get_issue_comments", "owner repo number"),
        plain("search_issues", "query"),
        plain("export_issues", "owner repo"),
    ]);
    insta::assert_snapshot!(names(&tools), @r#"
    read_issue(view: "get", owner, repo, number) <- get_issue Read
    read_issue(view: "list", owner, repo, state?) <- list_issues Read
    read_issue(view: "comments", owner, repo, number) <- get_issue_comments Read
    kept: search_issues export_issues
    "#);
}

#[test]
fn c2_a_tool_whose_name_and_server_disagree_stays_as_it_is() {
    let hinted = |name: &str, hints: Value| {
        let mut it = plain(name, "id");
        it["annotations"] = hints;
        it
    };
    let tools = tools(&[
        plain("create_note", "text"),
        plain("update_note", "id text"),
        plain("delete_note", "id"),
        plain("list_notes", "folder?"),
        hinted("get_note", json!({"readOnlyHint": false})),
        hinted("move_note", json!({"readOnlyHint": true})),
    ]);
    let made = consolidate(SERVER, &tools, &[]);
    assert_eq!(made.kept, ["list_notes", "get_note", "move_note"]);
    let effects =
        |it: &Consolidated| it.actions().iter().map(|it| it.effect == Effect::Read).collect::<Vec<_>>();
    assert!(made.tools.iter().all(|it| effects(it).windows(2).all(|pair| pair[0] == pair[1])));
}

#[test]
fn c3_what_destroys_stays_destructive_and_takes_a_confirmation() {
    let made = consolidate(SERVER, &product_tools(), &[]);
    let manage = made.get("manage_product").unwrap();
    let destroys: Vec<&str> = manage
        .actions()
        .iter()
        .filter(|it| it.effect == Effect::Destroy)
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(
        (destroys, manage.effect(), manage.confirmation()),
        (vec!["delete"], Effect::Destroy, "confirm")
    );
    let call = |confirm: Value| {
        let resolved = manage.resolve(&map(json!({"action": "delete", "slug": "a", "confirm": confirm})));
        let Ok(Resolved::One(call)) = resolved else { panic!("{resolved:?}") };
        (call.is_confirmed, call.arguments.contains_key("confirm"))
    };
    assert_eq!(call(json!(true)), (true, false));
    assert_eq!(call(json!("true")), (false, false));
    assert_eq!(call(json!(false)), (false, false));
}

#[test]
fn c3_a_confirmation_of_the_tool_itself_is_not_ours() {
    let tools = tools(&[
        plain("create_note", "text"),
        plain("update_note", "id text"),
        plain("delete_note", "id confirm"),
    ]);
    let made = consolidate(SERVER, &tools, &[]);
    let given = map(json!({"action": "delete", "id": "1", "confirm": "yes", "toolyard_confirm": true}));
    let Ok(Resolved::One(call)) = made.resolve("manage_note", &given) else { panic!() };
    assert_eq!((call.arguments, call.is_confirmed), (map(json!({"id": "1", "confirm": "yes"})), true));
}

#[test]
fn c4_up_to_ten_are_created_at_once_where_that_is_declared() {
    let tools = product_tools();
    let names = ["create_product", "update_product", "delete_product"];
    let declared = Declaration {
        entity: "product".to_owned(),
        tools: names.iter().map(|it| (*it).to_owned()).collect(),
        batch: true,
        ..Declaration::default()
    };
    let made = consolidate(SERVER, &tools, &[declared]);
    let call =
        |items: Value| made.resolve("manage_product", &map(json!({"action": "create", "items": items})));
    let Ok(Resolved::Batch(calls)) = call(json!([{"name": "a"}, {"name": "b", "description": "c"}])) else {
        panic!()
    };
    let seen: Vec<(&str, Value)> =
        calls.iter().map(|it| (&*it.tool, Value::Object(it.arguments.clone()))).collect();
    let expected = [
        ("create_product", json!({"name": "a"})),
        ("create_product", json!({"name": "b", "description": "c"})),
    ];
    assert_eq!(seen, expected);
    let many: Vec<Value> = (0..11).map(|at| json!({"name": at.to_string()})).collect();
    let said = [
        call(json!(many)).unwrap_err().to_string(),
        call(json!([])).unwrap_err().to_string(),
        call(json!([{"name": "a"}, {"slug": "b"}])).unwrap_err().to_string(),
        refused(&made, "manage_product", json!({"action": "create", "items": [{"name": "a"}], "name": "b"})),
        refused(&made, "manage_product", json!({"action": "delete", "items": [{"slug": "a"}]})),
    ];
    insta::assert_snapshot!(said.join("\n"), @r#"
    `items` must be a list of 1 to 10 objects, and no other argument may stand beside it
    `items` must be a list of 1 to 10 objects, and no other argument may stand beside it
    item 2 of the list: `create` does not take `slug`, which belongs to `update`, `delete`; usage: manage_product(action: "create", name, description?, attributes?); nothing was done
    `items` must be a list of 1 to 10 objects, and no other argument may stand beside it
    `delete` does not take `items`; usage: manage_product(action: "delete", slug)
    "#);
    // Nobody asked for batches: nobody pays for their description.
    let plain = consolidate(SERVER, &tools, &[]);
    assert!(!plain.get("manage_product").unwrap().definition().get().contains("items"));
}

#[test]
fn c6_one_name_stands_for_one_idea() {
    let parameter = |kind: Value| json!({"type": "object", "properties": {"page_id": {"type": "string"}, "content": kind}});
    let text = json!({"type": "string", "description": "The text."});
    let blocks = json!({"type": "array", "items": {"type": "object"}, "description": "The blocks."});
    let tools = tools(&[
        tool("createPage", parameter(text.clone())),
        tool("updatePage", parameter(blocks)),
        tool("appendPage", parameter(text)),
        tool(
            "deletePage",
            json!({"type": "object", "properties": {"pageId": {"type": "string"}}, "required": ["pageId"]}),
        ),
    ]);
    insta::assert_snapshot!(names(&tools), @r#"
    manage_page(action: "create", pageId?, content?) <- createPage Write
    manage_page(action: "update", pageId?, content_update?) <- updatePage Write
    manage_page(action: "append", pageId?, content?) <- appendPage Write
    manage_page(action: "delete", pageId) <- deletePage Destroy
    kept: 
    "#);
    let made = consolidate(SERVER, &tools, &[]);
    let (name, folded) = made.fold("updatePage", &map(json!({"page_id": "1", "content": []}))).unwrap();
    assert_eq!(
        (name, Value::Object(folded)),
        ("manage_page", json!({"action": "update", "pageId": "1", "content_update": []}))
    );
}

#[test]
fn c1_names_of_every_habit_are_read() {
    let all = |names: &[&str]| {
        let tools = tools(&names.iter().map(|name| plain(name, "id text?")).collect::<Vec<_>>());
        let made = consolidate(SERVER, &tools, &[]);
        let line = |it: &Consolidated| {
            let actions: Vec<&str> = it.actions().iter().map(|it| it.name.as_str()).collect();
            format!("{}: {}", it.name(), actions.join(" "))
        };
        made.tools.iter().map(line).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(
        all(&["acme-create-a-note", "acme-update-a-note", "acme-delete-a-note"]),
        "manage_note: create update delete"
    );
    assert_eq!(
        all(&["createNote", "updateNote", "moveNotesToFolder"]),
        "manage_note: create update move_to_folder"
    );
    assert_eq!(
        all(&["note.create", "note.update", "note.delete", "ping"]),
        "manage_note: create update delete"
    );
    assert_eq!(
        all(&[
            "jira_add_issue",
            "jira_edit_issue",
            "jira_drop_issue",
            "wiki_add_page",
            "wiki_edit_page",
            "wiki_drop_page"
        ]),
        "manage_jira_issue: add edit drop; manage_wiki_page: add edit drop"
    );
    assert_eq!(
        all(&["create_or_update_file", "create_file", "delete_files"]),
        "manage_file: create_or_update create delete"
    );
    assert_eq!(all(&["create_x", "get_y", "status", "search_and_replace"]), "");
}

#[test]
fn c1_a_new_name_is_free_and_a_family_must_save_something() {
    let names = ["create_note", "update_note", "delete_note", "manage_note", "change_note"];
    let taken = tools(&names.map(|name| plain(name, "id")));
    assert_eq!(consolidate(SERVER, &taken, &[]).kept, names);
    let taken = tools(&names[..4].iter().map(|name| plain(name, "id")).collect::<Vec<_>>());
    assert_eq!(consolidate(SERVER, &taken, &[]).tools[0].name(), "change_note");
    // Two tools that share nothing are no cheaper together.
    let apart =
        tools(&[plain("create_note", "title body folder tags"), plain("delete_note", "id reason when by")]);
    assert_eq!(consolidate(SERVER, &apart, &[]).kept, ["create_note", "delete_note"]);
    let long = "a".repeat(60);
    let long = tools(&["create", "update", "delete"].map(|verb| plain(&format!("{verb}_{long}"), "id")));
    assert_eq!(consolidate(SERVER, &long, &[]).tools.len(), 0);
}

#[test]
fn c1_a_schema_that_says_more_than_its_parameters_is_left_alone() {
    let either = json!({
        "type": "object", "properties": {"id": {"type": "string"}, "name": {"type": "string"}},
        "anyOf": [{"required": ["id"]}, {"required": ["name"]}],
    });
    let tools = tools(&[
        plain("create_note", "id text"),
        plain("update_note", "id text"),
        plain("archive_note", "id text"),
        tool("delete_note", either),
    ]);
    assert_eq!(consolidate(SERVER, &tools, &[]).kept, ["delete_note"]);
}

#[test]
fn c1_definitions_of_one_name_and_two_meanings_are_kept_apart() {
    let schema = |inner: Value| {
        json!({
            "type": "object", "properties": {"id": {"type": "string"}, "range": {"$ref": "#/$defs/Range"}},
            "required": ["range"], "$defs": {"Range": inner, "Unused": {"type": "string"}},
        })
    };
    let by_number =
        json!({"type": "object", "properties": {"from": {"type": "integer"}}, "required": ["from"]});
    let by_text = json!({"type": "object", "properties": {"from": {"type": "string"}}, "required": ["from"]});
    let tools = tools(&[
        tool("create_row", schema(by_number.clone())),
        tool("update_row", schema(by_number)),
        tool("delete_row", schema(by_text)),
    ]);
    let made = consolidate(SERVER, &tools, &[]);
    let definition: Value = serde_json::from_str(made.tools[0].definition().get()).unwrap();
    let schema = &definition["inputSchema"];
    assert_eq!(schema["$defs"]["Range"]["properties"]["from"]["type"], "integer");
    assert_eq!(schema["$defs"]["Range_delete"]["properties"]["from"]["type"], "string");
    assert_eq!(schema["properties"]["range_delete"]["$ref"], "#/$defs/Range_delete");
    assert_eq!(schema["$defs"].as_object().unwrap().len(), 2);
}

#[test]
fn c1_what_only_a_description_says_of_parameters_is_kept() {
    let told = |name: &str, about: &str| {
        let schema = json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]});
        json!({"name": name, "description": about, "inputSchema": schema})
    };
    let long = "It is very careful about what it does. ".repeat(20);
    let tools = tools(&[
        told(
            "create_note",
            &format!("Creates. {long}\n\nArgs:\n    id (str): The key of the note,\n      as a number.\n"),
        ),
        told("update_note", &format!("Updates. {long}")),
        told("delete_note", &format!("Deletes. {long}")),
    ]);
    let made = consolidate(SERVER, &tools, &[]);
    let definition: Value = serde_json::from_str(made.tools[0].definition().get()).unwrap();
    assert_eq!(
        definition["inputSchema"]["properties"]["id"]["description"],
        "The key of the note, as a number."
    );
    let about = definition["description"].as_str().unwrap();
    let length = |action: &str| about.lines().find(|it| it.starts_with(action)).unwrap().len();
    assert!(length("- create") < 500 && length("- update") > 780, "{about}");
}
