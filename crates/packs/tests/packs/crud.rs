//! Collections declared as data, through the front door.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolyard_packs::{Entity, Kind, Pack, crud};

use crate::shelf::{Shelf, call, declared, sent};

#[test]
fn d1_a_declaration_alone_makes_a_server() {
    let shelf = Shelf::declared(&recipes());
    let tools = shelf.pack.tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "query_recipes",
            "get_recipe",
            "create_recipes",
            "update_recipe",
            "query_samples",
            "get_sample",
            "create_samples",
            "update_sample",
        ]
    );
    assert_eq!(tools[0]["_meta"]["tags"], json!(["domain:recipes", "query", "list"]));
    insta::assert_snapshot!(tools[2]["description"].as_str().unwrap(), @r#"Creates one or several recipes: dishes to cook. Use when the user wants to add or write down recipes: "keep this recipe". Does not change what exists (use update_recipe); not for what is weighed (use create_samples). Args: title (required), minutes, vegetarian, course, cost, cooked, dinner, tags, like; more, up to 9 further objects with the same. Times may be words: "next friday 17:00", "in 3 hours". Returns created (with the slug of each recipe), failed, total, success_count: a mistake in one does not stop the others. Example: {"title":"Minestrone","cooked":"2026-11-20"}."#);
    insta::assert_snapshot!(tools[3]["inputSchema"].to_string(), @r#"{"type":"object","properties":{"slug":{"type":"string","description":"Which recipe: its slug, or its `title`.","minLength":1,"maxLength":300,"examples":["minestrone"]},"title":{"type":"string","maxLength":20000,"minLength":1,"description":"Title.","examples":["Minestrone"]},"minutes":{"type":["integer","null"],"minimum":1,"maximum":600,"description":"Minutes.","examples":[1]},"vegetarian":{"type":["boolean","null"],"description":"Vegetarian.","examples":[true]},"course":{"type":["string","null"],"enum":["starter","main","dessert",null],"description":"Course."},"cost":{"type":["number","null"],"description":"Cost.","examples":[1.5]},"cooked":{"type":["string","null"],"minLength":1,"maxLength":200,"description":"Cooked.","examples":["2026-11-20","tomorrow","next friday","in 3 days"]},"dinner":{"type":["string","null"],"minLength":1,"maxLength":200,"description":"Dinner.","examples":["tomorrow 9am","next friday 17:00","2026-11-20T17:00"]},"tags":{"type":["array","null"],"items":{"type":"string","minLength":1,"maxLength":200},"maxItems":50,"description":"Tags.","examples":[["home"]]},"like":{"type":["string","null"],"minLength":1,"maxLength":200,"description":"Like.","examples":["one-of-recipes"]},"deleted":{"type":"boolean","description":"true deletes, false restores.","examples":[true,false]}},"required":["slug"],"additionalProperties":false}"#);
    shelf.create("create_recipes", &json!([{ "title": "Minestrone", "minutes": 45.0, "cost": 4 }]));
    let item = &shelf.data("get_recipe", &json!({ "slug": "minestrone" }))["item"];
    assert_eq!((&item["minutes"], &item["cost"], &item["tags"]), (&json!(45), &json!(4), &json!([])));
    assert_eq!((&item["course"], &item["vegetarian"]), (&json!("main"), &json!(false)));
}

#[test]
fn d1_items_without_a_title_are_numbered() {
    let shelf = Shelf::declared(&recipes());
    let items = json!([{ "weight": 1.5 }, { "weight": 2.5 }, { "weight": -1 }]);
    let data = shelf.data("create_samples", &sent(&items));
    assert_eq!(crate::shelf::slugs(&data["created"]), ["sample-1", "sample-2"]);
    assert_eq!(
        data["failed"][0]["problems"],
        json!(["`weight` is -1, under 0: send a number, for example 0"])
    );
    assert_eq!(shelf.create("create_samples", &json!([{ "weight": 2.5, "recipe": null }])), ["sample-3"]);
    assert_eq!(shelf.found("query_samples", &json!({ "weight": 2.5 })), ["sample-3", "sample-2"]);
    assert_eq!(shelf.found("query_samples", &json!({ "weight_max": 2.4 })), ["sample-1"]);
    let refusal = shelf.refusal("get_sample", &json!({ "slug": "sample-9" }));
    assert_eq!(
        refusal,
        "there is no sample `sample-9`: did you mean `sample-1`, `sample-2`, `sample-3`? Send its slug; query_samples finds what there is"
    );
}

#[test]
fn d1_a_time_without_an_hour_is_refused_where_none_is_declared() {
    let shelf = Shelf::declared(&recipes());
    let refusal = shelf.refusal("create_recipes", &json!({ "title": "Stew", "dinner": "tomorrow" }));
    insta::assert_snapshot!(refusal, @"no recipe was created. `dinner` is `tomorrow`, which names no time of day: send for example `tomorrow 9am`, `next friday 17:00`, `in 3 hours` or `2026-11-20T17:00`");
}

#[test]
fn d1_every_mistake_of_a_declaration_is_reported_with_its_place() {
    let declared = json!([
        {
            "singular": "Task", "plural": "tasks", "descripton": "x", "slug_from": "name", "not_for": { "nothing": "x" },
            "requests": { "list": [] },
            "fields": [
                { "name": "deleted", "type": "text" },
                { "name": "due", "type": "date", "default": "today" },
                { "name": "due_before", "type": "text" },
                { "name": "status", "type": "enum", "choices": ["a", "a"], "default": "b" },
                { "name": "size", "type": "integer", "minimum": 5, "maximum": 1, "required": true, "default": 2 },
                { "name": "kind", "type": "sort" },
                { "name": "goal", "type": "reference", "to": "goals" },
                { "type": "text", "to": "x", "required": "yes", "examples": "x" },
                { "name": "at", "type": "datetime", "default_time": "late", "examples": [5] },
                "text",
            ],
        },
        { "singular": "thing", "plural": "tasks", "description": "things", "fields": [] },
        7,
    ]);
    let crud::Error::Declaration { problems } = Entity::read_all(&declared).unwrap_err() else { panic!() };
    insta::assert_snapshot!(problems.join("\n"), @r#"
    entities[0]: there is no key `descripton`: did you mean `description`?
    entities[0].singular: `Task` is no name: a name has up to 40 of a-z, 0-9 and _, and begins with a letter
    entities[0]: `description` is missing
    entities[0].requests: there is no key `list`
    entities[0].fields[0].name: `deleted` is a name that the tools use themselves: choose another
    entities[0].fields[1].default: dates and references have no default: leave it out
    entities[0].fields[3].choices: has the same choice twice
    entities[0].fields[3].default: is `b`, which is no choice
    entities[0].fields[4]: `minimum` 5 is over `maximum` 1
    entities[0].fields[4].default: a field with a default is never missing: leave out `required`
    entities[0].fields[4].default: is 2, under 5
    entities[0].fields[5].type: `sort` is no type: write one of `text`, `integer`, `number`, `boolean`, `date`, `datetime`, `enum`, `texts`, `reference`
    entities[0].fields[7]: `name` is missing
    entities[0].fields[7].to: a field of type `text` has no `to`: leave it out
    entities[0].fields[7].examples: is a string and not a list
    entities[0].fields[7].required: is not true or false
    entities[0].fields[8].default_time: is no time of day: write for example "09:00"
    entities[0].fields[8].examples[0]: is a number and not a string
    entities[0].fields[9]: is a string and not an object
    entities[0].slug_from: `name` is no required text field: name one
    entities[0]: two fields make a filter `due_before`: rename one of them
    entities[1].fields: has 0 fields: declare from 1 to 30
    entities[2]: is a number and not an object
    entities[0].not_for: `nothing` is the plural of no other entity
    entities[0].fields `goal`: `to` names no entity: write the plural of one, `tasks`, `tasks`
    entities[1].plural: another entity has this name: choose one of its own
    "#);
    for nothing in [json!([]), json!({}), json!(null)] {
        assert!(Entity::read_all(&nothing).is_err(), "{nothing}");
    }
}

#[test]
fn d1_entities_that_do_not_fit_together_are_not_opened() {
    let folder = tempfile::TempDir::new().unwrap();
    let mut entities = Entity::read_all(&recipes()).unwrap();
    entities.remove(0);
    let error = Pack::open(&Kind::Entities { folder: folder.path().to_owned(), entities }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the declaration of entities cannot be used: entities[0].fields `recipe`: `to` names no entity: write the \
         plural of one, `samples`"
    );
}

#[test]
fn d1_a_changed_declaration_keeps_what_was_written() {
    let folder = tempfile::TempDir::new().unwrap();
    let before = declared(folder.path(), &recipes());
    call(&before, "create_recipes", &json!({ "title": "Minestrone", "course": "starter", "minutes": 45 }));
    drop(before);
    let mut changed = recipes();
    let fields = changed[0]["fields"].as_array_mut().unwrap();
    fields.retain(|field| field["name"] != "minutes");
    fields[2]["choices"] = json!(["main", "dessert"]);
    fields.push(json!({ "name": "stars", "type": "integer", "default": 3 }));
    fields.push(json!({ "name": "source", "type": "text", "required": true }));
    let after = declared(folder.path(), &changed);
    let found = call(&after, "query_recipes", &json!({ "stars": 3 }))["structuredContent"].clone();
    insta::assert_snapshot!(serde_json::to_string_pretty(&found).unwrap(), @r#"
    {
      "items": [
        {
          "slug": "minestrone",
          "title": "Minestrone",
          "vegetarian": false,
          "course": null,
          "cost": null,
          "cooked": null,
          "dinner": null,
          "tags": [],
          "like": null,
          "stars": 3,
          "source": null,
          "created": "2026-03-01T12:00:00+01:00",
          "changed": "2026-03-01T12:00:00+01:00",
          "deleted": false
        }
      ],
      "total_count": 1,
      "has_more": false,
      "offset": 0,
      "limit": 20,
      "remarks": [
        "`course` of `minestrone` is kept as \"starter\", which does not fit its declaration and is not shown: change it with update_recipe"
      ]
    }
    "#);
    // A value that does not fit is not taken for the default.
    let main = call(&after, "query_recipes", &json!({ "course": "main" }));
    assert_eq!(main["structuredContent"]["total_count"], 0);
    call(&after, "update_recipe", &json!({ "slug": "minestrone", "source": "Nonna" }));
    drop(after);
    // Going back shows what the changed declaration did not know.
    let again = declared(folder.path(), &recipes());
    let item = &call(&again, "get_recipe", &json!({ "slug": "minestrone" }))["structuredContent"]["item"];
    assert_eq!((&item["course"], &item["minutes"]), (&json!("starter"), &json!(45)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn d1_the_tools_answer_any_arguments_and_keep_to_their_schemas(calls in calls()) {
        let shelf = Shelf::declared(&recipes());
        shelf.create("create_recipes", &json!([{ "title": "a" }]));
        for (tool, arguments) in calls {
            let result = shelf.call(&tool, &Value::Object(arguments));
            prop_assert!(!result["content"][0]["text"].as_str().unwrap().is_empty());
        }
        // Whatever was sent, the collections can still be read.
        shelf.data("query_recipes", &json!({ "include_deleted": true }));
    }

    #[test]
    fn d1_any_declaration_is_read_or_refused(declared in any_declaration()) {
        match Entity::read_all(&declared) {
            Ok(entities) => prop_assert!(!entities.is_empty()),
            Err(error) => prop_assert!(error.to_string().contains("entities")),
        }
    }
}

/// Calls of every tool, with its own arguments and values that often fit.
fn calls() -> impl Strategy<Value = Vec<(String, Map<String, Value>)>> {
    let tools = Shelf::declared(&recipes()).pack.tools();
    let call = prop::sample::select(tools).prop_flat_map(|tool| {
        let name = tool["name"].as_str().unwrap().to_owned();
        let properties = tool["inputSchema"]["properties"].as_object().unwrap().clone();
        let arguments: Vec<_> = properties
            .into_iter()
            .map(|(name, schema)| {
                let weight = if name == "slug" || name == "title" || name == "more" { 0.95 } else { 0.2 };
                (Just(name), prop::option::weighted(weight, fitting(&schema)))
            })
            .collect();
        let stray = prop::option::weighted(0.1, (".{0,9}", any::<i64>().prop_map(Value::from)));
        (arguments, stray).prop_map(move |(given, stray)| {
            let given = given.into_iter().filter_map(|(name, value)| Some((name, value?)));
            (name.clone(), given.chain(stray).collect())
        })
    });
    prop::collection::vec(call, 1..8)
}

/// Values that often fit a schema.
fn fitting(schema: &Value) -> BoxedStrategy<Value> {
    let mut some: Vec<Value> = schema["examples"].as_array().cloned().unwrap_or_default();
    some.extend(schema["enum"].as_array().cloned().unwrap_or_default());
    some.extend([
        json!(null),
        json!("a"),
        json!("recipe"),
        json!(-1),
        json!(2.5),
        json!(true),
        json!([]),
        json!({}),
    ]);
    let any = prop_oneof![
        4 => prop::sample::select(some),
        1 => any::<String>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => prop::collection::vec(".{0,9}", 0..12).prop_map(Value::from),
    ];
    let Some(properties) = schema["items"]["properties"].as_object() else { return any.boxed() };
    let fields: Vec<_> = properties
        .iter()
        .map(|(name, schema)| (Just(name.clone()), prop::option::weighted(0.6, fitting(schema))))
        .collect();
    let item = fields.prop_map(|given| {
        Value::Object(given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
    });
    prop_oneof![8 => prop::collection::vec(item, 0..12).prop_map(Value::from), 1 => any].boxed()
}

/// Declarations in which something was replaced by something else.
fn any_declaration() -> impl Strategy<Value = Value> {
    let other = prop::sample::select(vec![
        json!(null),
        json!(""),
        json!("Name"),
        json!("title"),
        json!("recipes"),
        json!(5),
        json!(-0.5),
        json!([]),
        json!({}),
        json!(["a", "a"]),
        json!("date"),
        json!("enum"),
        json!(true),
        json!("created"),
        json!("9:00"),
    ]);
    let keys = prop::sample::select(vec![
        "singular",
        "plural",
        "description",
        "slug_from",
        "not_for",
        "requests",
        "fields",
        "other",
    ]);
    let field_keys = prop::sample::select(vec![
        "name",
        "type",
        "required",
        "default",
        "examples",
        "description",
        "minimum",
        "maximum",
        "choices",
        "to",
        "default_time",
        "other",
    ]);
    (other.clone(), keys, prop::collection::vec((0_usize..9, field_keys, other), 0..3)).prop_map(
        |(value, key, changes)| {
            let mut declared = recipes();
            for (at, key, value) in changes {
                declared[0]["fields"][at][key] = value;
            }
            if value != json!(5) {
                declared[1][key] = value;
            }
            declared
        },
    )
}

fn recipes() -> Value {
    json!([
        {
            "singular": "recipe", "plural": "recipes", "description": "dishes to cook", "slug_from": "title",
            "not_for": { "samples": "what is weighed" },
            "requests": { "create": ["keep this recipe"] },
            "fields": [
                { "name": "title", "type": "text", "required": true, "examples": ["Minestrone"] },
                { "name": "minutes", "type": "integer", "minimum": 1, "maximum": 600 },
                { "name": "vegetarian", "type": "boolean", "default": false },
                { "name": "course", "type": "enum", "choices": ["starter", "main", "dessert"], "default": "main" },
                { "name": "cost", "type": "number" },
                { "name": "cooked", "type": "date" },
                { "name": "dinner", "type": "datetime" },
                { "name": "tags", "type": "texts" },
                { "name": "like", "type": "reference", "to": "recipes" },
            ],
        },
        {
            "singular": "sample", "plural": "samples", "description": "what was weighed",
            "fields": [
                { "name": "weight", "type": "number", "required": true, "minimum": 0 },
                { "name": "recipe", "type": "reference", "to": "recipes" },
            ],
        },
    ])
}
