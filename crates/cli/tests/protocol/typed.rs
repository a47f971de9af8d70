//! The type of every field that `smart_route` answers with: as its own output schema says, and as the documentation
//! says where the schema has no room.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use testkit::client::Client;

use crate::desk::{Desk, understood};
use crate::shelf::{route, whole};
use crate::yard::text;

/// Fields beside those of the output schema, and their types.
const OTHERS: [(&str, &str); 18] = [
    ("advice", "array"),
    ("argumentSources", "array"),
    ("arguments", "object"),
    ("candidates", "array"),
    ("confirm", "string"),
    ("effect", "string"),
    ("error", "string"),
    ("estimatedDurationMs", "integer"),
    ("explanation", "object"),
    ("inputSchema", "object"),
    ("missing", "array"),
    ("more", "string"),
    ("notDone", "array"),
    ("note", "string"),
    ("plan", "object"),
    ("steps", "array"),
    ("tool", "string"),
    ("workflowSteps", "integer"),
];
/// What only an answer before tools are understood has.
const LEARNING: &str = "learning";

/// Whether a value is what a schema says, as far as the schemas here say anything.
fn fits(schema: &Value, value: &Value) -> bool {
    let is_kind = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_u64(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        other => panic!("the type {other:?} is not known here"),
    };
    let properties = schema["properties"].as_object().into_iter().flatten();
    let fit = properties.filter_map(|(name, schema)| Some(fits(schema, value.get(name)?)));
    is_kind && fit.into_iter().all(|it| it)
}

/// Everything that can come of a request, from requests that lead there.
async fn answers(desk: &Desk, client: &Client) -> Vec<Value> {
    let search = "Search my notes for AI";
    let issue = "Find my latest commit and create a GitHub issue about it";
    let asked = [
        json!({"task": search}),
        json!({"task": search, "options": {"explain": true, "dryRun": true}}),
        json!({"task": search, "options": {"returnCandidates": true, "maxResults": 2}}),
        json!({"task": "Find something"}),
        json!({"task": "search notes"}),
        json!({"task": "search notes", "options": {"dryRun": true}}),
        json!({"task": "zxqv plonk brabble"}),
        json!({"task": ""}),
        json!({"task": issue, "options": {"dryRun": true}}),
        json!({"task": issue}),
        json!({"task": "Find note about AI and add tag #important", "options": {"allowMultiTool": false}}),
        json!({"task": "List my GitHub repositories and then search notes", "context": {"multiStepMode": true}}),
        json!({"task": "obsidian__delete_note", "context": {"arguments": {"path": "Recipes/Bread.md"}}}),
        json!({"task": "x", "context": {"arguments": "[1"}}),
        json!({"task": "", "context": {"feedback": "right"}}),
        json!({"task": "x", "context": {"more": "nothing"}}),
    ];
    let mut answers = Vec::new();
    for asked in asked {
        answers.push(whole(client, asked).await["structuredContent"].clone());
    }
    desk.breaks("github");
    answers.push(route(client, json!({"task": issue})).await);
    answers.push(route(client, json!({"task": "Show me my GitHub repositories"})).await);
    desk.mend("github");
    answers
}

#[tokio::test]
async fn r1_every_field_of_every_answer_has_the_type_that_is_promised() {
    let desk = Desk::new().await;
    let client = desk.session().await;
    understood(&client).await;
    let listed = client.tools().await.unwrap();
    let schema = &listed[0]["outputSchema"];
    let promised = schema["properties"].as_object().unwrap();
    let mut types: BTreeMap<&str, Value> =
        promised.iter().map(|(name, schema)| (name.as_str(), schema.clone())).collect();
    types.extend(OTHERS.map(|(name, kind)| (name, json!({"type": kind}))));
    let mut seen = BTreeSet::new();
    for answer in answers(&desk, &client).await {
        assert!(fits(schema, &answer), "{answer:#} does not fit {schema}");
        for (name, value) in answer.as_object().unwrap().iter().filter(|(name, _)| *name != LEARNING) {
            let schema =
                types.get(name.as_str()).unwrap_or_else(|| panic!("nobody told of `{name}`: {answer:#}"));
            assert!(fits(schema, value), "`{name}` is not {schema}: {answer:#}");
            seen.insert(name.clone());
        }
        for name in ["executedTools", "confidence", "needsClarification"] {
            assert!(answer.get(name).is_some(), "{name} is always there: {answer:#}");
        }
        assert!(answer["executedTools"].as_array().unwrap().iter().all(Value::is_string), "{answer:#}");
        assert!((0.0..=1.0).contains(&answer["confidence"].as_f64().unwrap()), "{answer:#}");
        for it in answer["alternatives"].as_array().into_iter().flatten() {
            assert!(it["tool"].is_string() && it["description"].is_string(), "{answer:#}");
        }
    }
    // A type that nothing was held against would prove nothing.
    let unseen: Vec<&&str> = types.keys().filter(|name| !seen.contains(**name)).collect();
    assert_eq!(
        unseen,
        [&"inputSchema", &"more"],
        "only a step that lacks values, and a long result, have these"
    );
}

#[tokio::test]
async fn r7_the_simple_example_of_the_seed_has_no_alternatives() {
    let desk = Desk::new().await;
    for client in [desk.session().await, desk.modern()] {
        understood(&client).await;
        let result = whole(&client, json!({"task": "Search my notes for AI"})).await;
        let answer = &result["structuredContent"];
        assert_eq!(answer["executedTools"], json!(["obsidian__search_notes"]), "{answer}");
        assert_eq!(answer["alternatives"], json!([]), "{answer}");
        assert!(answer["confidence"].as_f64().unwrap() >= 0.9, "{}", text(&result));
        // Who asks for some gets them all the same.
        let options = json!({"maxResults": 2});
        let more = route(&client, json!({"task": "Search my notes for AI", "options": options})).await;
        assert_eq!(more["alternatives"].as_array().unwrap().len(), 2, "{more}");
    }
}
