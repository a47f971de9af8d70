//! What clients see of the studio, and that whatever is sent gets an answer that keeps to its schema.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::studio::{Desk, SECRET, Shop, answered, outside};

fn full() -> Shop {
    Shop::with(outside(&Desk::everything()))
}

#[test]
fn c10_every_description_has_the_five_parts_and_stays_short() {
    for tool in full().pack.tools() {
        let (name, text) = (tool["name"].as_str().unwrap(), tool["description"].as_str().unwrap());
        assert!(text.chars().count() <= 1200, "{name}: {} characters", text.chars().count());
        let mut at = 0;
        for part in [
            "\n\nPREREQUISITE: ",
            "\n\nUse when user wants to:\n- ",
            "\n\nDoes NOT:\n- ",
            "\n\nArgs:\n- ",
            "\n\nReturns: ",
            "\n\nExamples:\n- ",
        ] {
            let found = text[at..].find(part).unwrap_or_else(|| panic!("{name} lacks {part:?} after {at}"));
            at += found + part.len();
        }
        assert!(text.split("\n\n").next().unwrap().ends_with('.'), "{name}");
        assert!(text.contains(&format!("{name}(")), "{name} shows no call");
        for (argument, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(text.contains(argument.as_str()), "{name} does not speak of `{argument}`");
            assert!(
                schema["description"].is_string() && schema["examples"].is_array(),
                "{name}: `{argument}`"
            );
        }
        assert!(tool["_meta"]["tags"].to_string().contains("\"domain:"), "{name}");
    }
}

#[test]
fn c10_descriptions_redirect_only_to_tools_that_exist() {
    let bare = Shop::new();
    for shop in [bare, full()] {
        let tools = shop.pack.tools();
        let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        for tool in &tools {
            let text = tool["description"].as_str().unwrap();
            for redirect in text.split("(use ").skip(1) {
                let named = redirect.split(')').next().unwrap();
                let named = named.split([' ', ',']).filter(|it| it.contains('_') && !it.starts_with("skip"));
                for name in named {
                    assert!(names.contains(&name), "{} names `{name}`", tool["name"]);
                }
            }
        }
    }
}

#[test]
fn c9_the_set_of_tools_is_as_agreed() {
    let tools = full().pack.tools();
    let lines: Vec<String> = tools
        .iter()
        .map(|tool| {
            let hints = &tool["annotations"];
            let hint = if hints["readOnlyHint"] == true {
                "reads"
            } else if hints["destructiveHint"] == true {
                "changes"
            } else {
                "adds"
            };
            format!("{} {hint} {}", tool["name"].as_str().unwrap(), tool["_meta"]["tags"])
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    manage_brand changes ["domain:brands"]
    load_brand reads ["domain:brands","core"]
    fetch_brand_detail reads ["domain:brands"]
    browse_brand_assets reads ["domain:brands"]
    manage_product changes ["domain:products"]
    list_products reads ["domain:products","core"]
    analyze_packaging reads ["domain:products","analysis"]
    update_packaging_text adds ["domain:products"]
    manage_style_reference changes ["domain:style_references"]
    get_style_reference reads ["domain:style_references"]
    get_context reads ["domain:products","domain:style_references"]
    propose_choices reads ["domain:proposals","core"]
    propose_images reads ["domain:proposals"]
    create_task_file adds ["domain:tasks_files"]
    get_remaining_tasks reads ["domain:tasks_files"]
    update_task adds ["domain:tasks_files"]
    complete_task_file adds ["domain:tasks_files"]
    check_interrupt reads ["domain:tasks_files","core"]
    read_file reads ["domain:files"]
    write_file changes ["domain:files"]
    list_files reads ["domain:files"]
    update_memory changes ["domain:memories"]
    recall_memory reads ["domain:memories"]
    generate_image adds ["domain:images"]
    web_search adds ["domain:research"]
    request_deep_research adds ["domain:research"]
    get_research_status reads ["domain:research"]
    search_research_cache reads ["domain:research"]
    "#);
}

#[test]
fn c1_every_example_of_every_argument_fits_its_schema() {
    let shop = full();
    for tool in shop.pack.tools() {
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        let required = tool["inputSchema"]["required"].as_array().unwrap();
        let example = |name: &str| properties[name]["examples"][0].clone();
        let base: Map<String, Value> = required
            .iter()
            .map(|name| name.as_str().unwrap())
            .map(|name| (name.to_owned(), example(name)))
            .collect();
        for name in properties.keys() {
            let mut arguments = base.clone();
            arguments.insert(name.clone(), example(name));
            let result = answered(&shop.pack, tool["name"].as_str().unwrap(), &arguments);
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(!text.contains(". It takes "), "{} {arguments:?}: {text}", tool["name"]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c6_any_arguments_get_an_answer_that_keeps_to_its_schema(
        calls in prop::collection::vec((0_usize..28, prop::collection::vec(any_value(), 12), any::<u16>()), 12)
    ) {
        let shop = full();
        std::fs::write(shop.home.path().join("canary.txt"), SECRET).unwrap();
        shop.ok("manage_product", json!({ "action": "create", "name": "soda" }));
        shop.ok("manage_style_reference", json!({ "action": "create", "name": "soda" }));
        shop.ok("create_task_file", json!({ "name": "soda", "tasks": ["a"] }));
        let tools = shop.pack.tools();
        for (at, values, chosen) in calls {
            let tool = &tools[at];
            let properties = tool["inputSchema"]["properties"].as_object().unwrap();
            let arguments = properties.iter().zip(&values).enumerate();
            let given: Map<String, Value> = arguments
                .filter(|(bit, ((name, _), _))| chosen >> bit & 1 == 1 || *name == "action")
                .map(|(bit, ((name, schema), value))| {
                    // Half of the values fit the schema, so that more than its check is tried.
                    let choices = schema["enum"].as_array();
                    let fitting = choices.map_or_else(
                        || schema["examples"][0].clone(),
                        |choices| choices[usize::from(chosen) % choices.len()].clone(),
                    );
                    let value = if chosen >> (bit + 2) & 1 == 1 || name == "action" { fitting } else { value.clone() };
                    let is_wait = name == "wait_seconds";
                    (name.clone(), if is_wait { json!(0) } else { value })
                })
                .collect();
            let result = answered(&shop.pack, tool["name"].as_str().unwrap(), &given);
            prop_assert!(!result.to_string().contains(SECRET));
        }
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let texts = prop::sample::select(vec![
        "soda",
        "Soda",
        "uploads/bottle.png",
        "uploads/../../canary.txt",
        "tasks/soda.md",
        "../canary.txt",
        "notes/a.md",
        "",
        " ",
        "\0",
        "🍋",
    ]);
    prop_oneof![
        4 => texts.prop_map(Value::from),
        1 => any::<String>().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => (-2_i64..120).prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => prop::collection::vec("uploads/(bottle|snow|none)\\.(png|webp)", 0..12).prop_map(Value::from),
        1 => prop::collection::vec(any::<String>(), 0..3).prop_map(Value::from),
        1 => Just(json!({ "size": 1, "positioning": "x", "deep": { "a": [] } })),
        1 => Just(json!({ "size": null, "positioning": null })),
    ]
}
