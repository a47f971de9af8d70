//! What the clients see: complete schemas and short descriptions, and examples that work.

use serde_json::{Map, Value, json};
use tempfile::TempDir;
use toolyard_packs::{Kind, Pack};

#[test]
fn every_tool_is_described_completely_and_shortly() {
    let mut lines = Vec::new();
    for tool in all() {
        let name = tool["name"].as_str().unwrap();
        let description = tool["description"].as_str().unwrap();
        assert!(description.chars().count() <= 600, "{name}: {} characters", description.chars().count());
        for part in ["Use ", "oes not ", "Args", "Returns "] {
            assert!(description.contains(part), "{name} lacks `{part}`");
        }
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
        assert_eq!(tool["outputSchema"]["type"], "object");
        for (argument, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(description.contains(argument.as_str()), "{name} does not speak of `{argument}`");
            assert!(schema["description"].is_string(), "{name}: `{argument}` is not described");
            let shown = schema["examples"].is_array() || schema["enum"].is_array();
            assert!(shown, "{name}: `{argument}` has no example");
        }
        lines.push(format!("{name} {} {}", tool["annotations"], tool["inputSchema"]["required"]));
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    current_time {"title":"Current time","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false} []
    convert_time {"title":"Convert a time between zones","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false} ["time","to_zone"]
    time_difference {"title":"Time between two times","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false} ["start","end"]
    add_time {"title":"Add a span to a time","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false} ["span"]
    search_notes {"title":"Search notes","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false} ["query"]
    read_note {"title":"Read a note","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false} ["note"]
    create_note {"title":"Create a note","readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false} ["title"]
    update_note {"title":"Update a note","readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false} ["note","content"]
    tag_note {"title":"Tag a note","readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false} ["note"]
    list_notes {"title":"List notes","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false} []
    "#);
}

#[test]
fn descriptions_name_only_tools_that_exist() {
    let names: Vec<String> = all().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    for tool in all() {
        let description = tool["description"].as_str().unwrap();
        let words = description.split(|it: char| !it.is_ascii_lowercase() && it != '_');
        for word in
            words.filter(|it| it.ends_with("_note") || it.ends_with("_notes") || it.ends_with("_time"))
        {
            assert!(names.iter().any(|it| it == word), "{} names `{word}`", tool["name"]);
        }
    }
}

#[test]
fn every_example_of_every_argument_is_accepted() {
    let home = TempDir::new().unwrap();
    for pack in packs(&home) {
        for tool in pack.tools() {
            let properties = tool["inputSchema"]["properties"].as_object().unwrap();
            let base: Map<String, Value> = tool["inputSchema"]["required"]
                .as_array()
                .unwrap()
                .iter()
                .map(|name| name.as_str().unwrap())
                .map(|name| (name.to_owned(), properties[name]["examples"][0].clone()))
                .collect();
            for (argument, schema) in properties {
                for example in schema["examples"].as_array().into_iter().flatten() {
                    let mut arguments = base.clone();
                    arguments.insert(argument.clone(), example.clone());
                    let result = pack.call(tool["name"].as_str().unwrap(), &arguments).unwrap();
                    let text = result["content"][0]["text"].as_str().unwrap();
                    assert!(!text.contains("was not run"), "{arguments:?}: {text}");
                    // Examples of notes and headings need not exist; times and zones must be understood.
                    if matches!(argument.as_str(), "zone" | "time" | "span" | "from_zone" | "start" | "query")
                    {
                        assert_eq!(result["isError"], false, "{arguments:?}: {text}");
                    }
                }
            }
        }
    }
}

/// Checks a value against the parts of JSON Schema that the output schemas use.
pub(crate) fn keeps_to(schema: &Value, value: &Value) -> Result<(), String> {
    let wrong = || Err(format!("{value} does not keep to {schema}"));
    let nullable = schema["type"].as_array().filter(|types| types.contains(&json!("null")));
    if value.is_null() && nullable.is_some() {
        return Ok(());
    }
    let fits = match nullable.and_then(|types| types.first()).unwrap_or(&schema["type"]).as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        _ => false,
    };
    if !fits || schema["enum"].as_array().is_some_and(|choices| !choices.contains(value)) {
        return wrong();
    }
    for item in value.as_array().into_iter().flatten() {
        keeps_to(&schema["items"], item)?;
    }
    if let Some(fields) = value.as_object() {
        // An object without properties has fields of the user's own.
        let Some(properties) = schema["properties"].as_object() else { return Ok(()) };
        if fields.keys().any(|name| !properties.contains_key(name)) {
            return wrong();
        }
        let needed =
            |name: &str| schema["required"].as_array().is_none_or(|all| all.iter().any(|it| it == name));
        for (name, schema) in properties {
            match fields.get(name) {
                Some(value) => keeps_to(schema, value).map_err(|why| format!("{name}: {why}"))?,
                None if needed(name) => return wrong(),
                None => {}
            }
        }
    }
    Ok(())
}

#[test]
fn the_check_of_schemas_notices_what_is_wrong() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "array", "items": { "type": "string" } } } });
    assert!(keeps_to(&schema, &json!({ "a": ["x"] })).is_ok());
    for wrong in [json!({ "a": [1] }), json!({}), json!({ "a": [], "b": 1 }), json!([])] {
        assert!(keeps_to(&schema, &wrong).is_err(), "{wrong}");
    }
}

fn packs(home: &TempDir) -> [Pack; 2] {
    let notes = Kind::Notes { folder: home.path().join("notes") };
    [Pack::open(&Kind::Time).unwrap(), Pack::open(&notes).unwrap()]
}

fn all() -> Vec<Value> {
    packs(&TempDir::new().unwrap()).iter().flat_map(Pack::tools).collect()
}
