//! Whatever tools a server has, every call comes back unchanged.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{SERVER, tool, tools};
use crate::catalog::consolidate::{
    Consolidated, Declaration, OriginalCall, Resolved, consolidate, lost, sample,
};
use crate::form::Form;
use crate::tool::Effect;

/// Any schema of a parameter that servers write.
fn parameter() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "string", "minLength": 3})),
        Just(json!({"type": "integer", "minimum": 2, "default": 5})),
        Just(json!({"type": "boolean", "default": false})),
        Just(json!({"enum": ["a", "b"]})),
        Just(json!({"enum": ["b", "c"], "description": "Which of them is meant, in few words."})),
        Just(json!({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null})),
        Just(json!({"$ref": "#/$defs/Point"})),
        Just(json!({})),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|it| json!({"type": "array", "items": it, "minItems": 1})),
            inner.prop_map(
                |it| json!({"type": "object", "properties": {"inside": it}, "required": ["inside"]})
            ),
        ]
    })
}

/// Any tool on few entities, with few names, so that many of them meet.
fn any_tool() -> impl Strategy<Value = Value> {
    let names = "id|note_id|noteId|name|action|view|confirm|extra|items|text";
    let names: Vec<&str> = names.split('|').collect();
    let parameters =
        proptest::collection::vec((proptest::sample::select(names), parameter(), any::<bool>()), 0..5);
    let verbs = vec!["create", "update", "delete", "get", "list", "archive", "move", "read"];
    let nouns = vec!["note", "notes", "note_image", "user", "board_notes"];
    let name = (proptest::sample::select(verbs), proptest::sample::select(nouns));
    let others =
        proptest::sample::select(vec![json!(false), json!(true), Value::Null, json!({"type": "string"})]);
    (name, parameters, others, any::<bool>()).prop_map(|((verb, noun), parameters, others, is_number)| {
        let mut schema = json!({"type": "object", "properties": {}, "required": []});
        for (name, property, is_required) in parameters {
            schema["properties"][name] = property;
            if is_required && !schema["required"].as_array().unwrap().contains(&json!(name)) {
                schema["required"].as_array_mut().unwrap().push(json!(name));
            }
        }
        if !others.is_null() {
            schema["additionalProperties"] = others;
        }
        let kind = if is_number { "number" } else { "string" };
        schema["$defs"] =
            json!({"Point": {"type": "object", "properties": {"x": {"type": kind}}, "required": ["x"]}});
        tool(&format!("{verb}_{noun}"), schema)
    })
}

/// Names that a new tool may take as something else.
const HARD: [&str; 9] =
    ["action", "view", "confirm", "extra", "items", "id", "note_id", "toolyard_confirm", "zzz"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn c1_every_call_of_every_original_tool_comes_back_unchanged(
        definitions in proptest::collection::vec(any_tool(), 3..14),
        seed in 2u64..,
        more in proptest::sample::subsequence(HARD.to_vec(), 0..4),
        is_declared in any::<bool>(),
    ) {
        let mut definitions = definitions;
        definitions.sort_by_key(|it| it["name"].to_string());
        definitions.dedup_by_key(|it| it["name"].to_string());
        let tools = tools(&definitions);
        let all = Declaration {
            entity: "note".to_owned(),
            tools: tools.iter().map(|it| it.name.clone()).collect(),
            batch: seed % 2 == 0,
            ..Declaration::default()
        };
        let declared: &[Declaration] = if is_declared { &[all] } else { &[] };
        let made = consolidate(SERVER, &tools, declared);
        let reached: usize = made.kept.len() + made.tools.iter().map(|it| it.actions().len()).sum::<usize>();
        prop_assert_eq!(reached, tools.len());
        prop_assert!(lost(&made, &tools).is_empty());
        // A family that a person declares is never silently left as it is.
        prop_assert!(made.problems.is_empty(), "{:?}", made.problems);
        for it in &tools {
            let Some(owner) = made.owner(&it.name) else { continue };
            let (form, original) = (of(owner), Form::of(it));
            let mut arguments = sample(it, seed);
            for name in &more {
                let mut wider = arguments.clone();
                wider.entry(*name).or_insert(json!("more"));
                if original.admits(&wider) {
                    arguments = wider;
                }
            }
            let (name, folded) = made.fold(&it.name, &arguments).unwrap();
            prop_assert!(!original.admits(&arguments) || form.admits(&folded), "{folded:?} in {}", owner.definition());
            let back = made.resolve(name, &folded);
            let expected = OriginalCall { tool: it.name.clone(), arguments, is_confirmed: false };
            prop_assert_eq!(back, Ok(Resolved::One(expected)));
        }
        for it in &made.tools {
            prop_assert!(it.name().len() <= 64 && !tools.iter().any(|tool| tool.name == it.name()));
            let reads = it.actions().iter().filter(|action| action.effect == Effect::Read).count();
            prop_assert!(reads == 0 || reads == it.actions().len());
        }
    }
}

fn of(made: &Consolidated) -> Form {
    let definition: Value = serde_json::from_str(made.definition().get()).unwrap();
    Form::new((made.name(), ""), definition["inputSchema"].clone())
}
