//! Tools of every quality, judged through the front door.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;
use crate::catalog::{Advertised, Bounds};
use crate::metadata::Sidecar;

fn catalog(servers: &[(&str, &[Value])]) -> Catalog {
    let bounds = Bounds { tools: 5_000, name_chars: 128, description_chars: 16_384, nesting: 100 };
    let advertised = servers.iter().map(|(server, tools)| {
        let raw = |tool: &Value| RawValue::from_string(tool.to_string()).expect("it is JSON");
        (Advertised { server: Arc::from(*server), tools: tools.iter().map(raw).collect() }, bounds)
    });
    let (catalog, problems) = Catalog::gather(advertised);
    assert_eq!(problems, []);
    catalog
}

fn judged(servers: &[(&str, &[Value])]) -> LintReport {
    lint(&catalog(servers))
}

fn one(tool: Value) -> ToolScore {
    judged(&[("server", &[tool])]).tools.remove(0)
}

/// The score, the parts and every diagnostic, a line each.
fn shown(tool: &ToolScore) -> String {
    let FormParts { purpose, prerequisite, uses, boundaries, args, returns, examples } = tool.parts;
    let percent = |part: Option<u8>| part.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let (prerequisite, args, examples) = (percent(prerequisite), percent(args), percent(examples));
    let mut text = format!(
        "{} {}: purpose {purpose}, prerequisite {prerequisite}, uses {uses}, boundaries {boundaries}, args {args}, \
         returns {returns}, examples {examples}\n",
        tool.name, tool.score
    );
    for Diagnostic { rule, level, place, message, .. } in &tool.diagnostics {
        text += &format!("{} {} {place}: {message}\n", level.as_str(), rule.id());
    }
    text
}

fn rules(tool: &ToolScore) -> Vec<&'static str> {
    tool.diagnostics.iter().map(|it| it.rule.id()).collect()
}

/// A tool whose parameters are fine, with this name and description.
fn named(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description, "inputSchema": { "type": "object" } })
}

/// A tool with these parameters.
fn taking(properties: &Value, required: &Value) -> Value {
    json!({
        "name": "convert_image",
        "description": "Converts an image of the gallery into another format.",
        "inputSchema": { "type": "object", "properties": properties, "required": required },
    })
}

/// Documented as the form wants it.
fn template() -> Value {
    json!({
        "name": "manage_product",
        "description": "Creates, updates or deletes a product of the active brand.\n\n\
            PREREQUISITE: A brand must be loaded; call `load_brand` first.\n\n\
            Use when user wants to:\n- Add a new product to the brand\n- Change the name or the attributes of a product\n\n\
            Does NOT:\n- Generate pictures of a product\n- Show products; use `get_product` instead\n\n\
            Args:\n    action: What to do. One of create, update, delete. Example: \"create\"\n    \
            slug: The product's short name, lower case with hyphens. Example: \"green-tea\"\n    \
            confirm: Has to be true to delete. Defaults to false.\n\n\
            Returns:\n    The product as JSON, with its slug and attributes.\n\n\
            Examples:\n    manage_product(\"create\", slug=\"green-tea\")\n    manage_product(\"delete\", slug=\"green-tea\", confirm=True)",
        "inputSchema": {
            "type": "object",
            "properties": {
                "action": { "type": "string", "enum": ["create", "update", "delete"] },
                "slug": { "type": "string" },
                "confirm": { "type": "boolean", "default": false },
            },
            "required": ["action", "slug"],
        },
    })
}

#[test]
fn c10_a_tool_in_the_five_part_form_scores_at_least_90() {
    let tool = one(template());
    assert!(tool.score >= 90, "{}", shown(&tool));
    insta::assert_snapshot!(shown(&tool), @"manage_product 100: purpose 100, prerequisite -, uses 100, boundaries 100, args 100, returns 100, examples 100");
}

#[test]
fn c10_a_tool_without_a_description_scores_at_most_20() {
    let bare = one(json!({ "name": "frobnicate", "inputSchema": { "type": "object" } }));
    insta::assert_snapshot!(shown(&bare), @"
    frobnicate 0: purpose 0, prerequisite -, uses 0, boundaries 0, args -, returns 0, examples -
    error no-description : there is no description; say in one sentence what the tool does
    ");
    let mut described = template();
    described["description"] = json!("");
    let described = one(described);
    assert!(described.score <= 20, "{}", shown(&described));
}

#[test]
fn c10_documentation_in_other_languages_is_judged_by_its_structure() {
    let german = json!({
        "name": "rechnung_suchen",
        "description": "Sucht Rechnungen eines Kunden nach Nummer, Datum oder Betrag.\n\n\
            Verwenden, wenn jemand eine bestimmte Rechnung sehen oder prüfen möchte.\n\
            Ändert nichts; zum Bezahlen dient `rechnung_bezahlen`.\n\
            Liefert eine Liste mit Nummer, Datum, Betrag und Status jeder Rechnung.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "kunde": { "type": "string", "description": "Der Name des Kunden, zum Beispiel \"Bäckerei Huber\"" },
                "ab": { "type": "string", "format": "date", "description": "Nur Rechnungen ab diesem Tag" },
            },
            "required": ["kunde"],
        },
    });
    let mut terse = german.clone();
    terse["description"] = json!("Sucht Rechnungen eines Kunden nach Nummer, Datum oder Betrag.");
    let (german, terse) = (one(german), one(terse));
    assert_eq!(rules(&terse), ["no-use-cases", "no-boundaries", "no-returns"]);
    assert!(terse.score < 75, "{}", shown(&terse));
    assert!(german.score >= 75, "{}", shown(&german));
    insta::assert_snapshot!(shown(&german), @"rechnung_suchen 100: purpose 100, prerequisite -, uses 100, boundaries 100, args 100, returns 100, examples 100");
    let chinese = one(json!({
        "name": "search_poi",
        "description": "根据关键词在指定城市搜索地点。当用户想查找餐厅、酒店或景点时使用。\
            不支持路线规划，请改用路线工具。返回地点名称、地址和坐标的列表。",
        "inputSchema": {
            "type": "object",
            "properties": {
                "keywords": { "type": "string", "description": "搜索关键词，例如“火锅”或\"咖啡馆\"" },
                "city": { "type": "string", "description": "城市名称，例如\"北京\"" },
            },
            "required": ["keywords"],
        },
    }));
    assert!(chinese.score >= 75, "{}", shown(&chinese));
    insta::assert_snapshot!(shown(&chinese), @"search_poi 100: purpose 100, prerequisite -, uses 100, boundaries 100, args 100, returns 100, examples 100");
}

#[test]
fn c10_what_is_missing_is_named_with_its_place_and_what_to_write() {
    let tool = one(json!({
        "name": "create_custom_style",
        "description": "Create a custom style in the document.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "filename": { "type": "string" },
                "size": { "type": "integer", "minimum": 6 },
                "kind": { "type": "string", "enum": ["paragraph", "character"] },
            },
            "required": ["filename", "kind"],
        },
    }));
    insta::assert_snapshot!(shown(&tool), @"
    create_custom_style 38: purpose 100, prerequisite -, uses 0, boundaries 0, args 32, returns 0, examples 0
    warning no-use-cases /description: it is not said when to use the tool; add `Use when …`
    warning parameter-undescribed /inputSchema/properties/filename: `filename` has no description; say what it is and which form it has
    warning parameter-undescribed /inputSchema/properties/size: `size` has no description; say what it is and which form it has
    note no-boundaries /description: it is not said what the tool does not do; add `Does not …; use X instead`
    note no-returns /description: nothing says what a call returns; add `Returns …` or an `outputSchema`
    note no-examples /description: there is no example of a call or of a value
    note parameter-without-example /inputSchema/properties/filename: `filename` takes any text and no example shows one; add `Example: …`
    note enum-undocumented /inputSchema/properties/kind: nothing says what the values of `kind` mean, or which one is usual
    ");
    let suggestions: Vec<Value> =
        tool.diagnostics.iter().filter_map(|it| it.suggestion.as_ref()).map(|it| json!(it)).collect();
    insta::assert_snapshot!(format!("{:#}", Value::Array(suggestions)), @r#"
    [
      {
        "text": "Use when the user wants to: Create a custom style in the document.",
        "note": {
          "useCases": [
            "create customs styles",
            "Create a custom style in the document."
          ]
        }
      },
      {
        "text": "Example: create_custom_style {\"filename\":\"<filename>\",\"kind\":\"paragraph\"}",
        "note": {
          "examples": [
            "create custom style paragraph"
          ]
        }
      }
    ]
    "#);
}

#[test]
fn c10_parameters_are_judged_by_type_description_example_and_choices() {
    let tool = one(taking(
        &json!({
            "a": { "type": "string" },
            "data": {},
            "source": { "type": "string", "description": "The source" },
            "mode": { "type": "string", "enum": ["r", "w"], "description": "How the picture is opened" },
            "image_id": { "type": "string", "description": "Which picture" },
            "steps": { "type": "array", "description": "What is done, in order", "items": { "type": "object", "properties": {
                "width": { "type": "integer" }, "angle": { "type": "number", "description": "Degrees clockwise" }, "by": {},
            } } },
            "with/slash": { "type": "boolean" },
        }),
        &json!(["a", "source", "image_id", "gone"]),
    ));
    insta::assert_snapshot!(shown(&tool), @"
    convert_image 23: purpose 100, prerequisite 0, uses 0, boundaries 0, args 53, returns 0, examples 0
    error required-unknown /inputSchema/required: `gone` is required, and `properties` does not have it; add it or correct the name
    warning no-use-cases /description: it is not said when to use the tool; add `Use when …`
    warning parameter-undescribed /inputSchema/properties/source: the description of `source` only repeats its name; say which form it has
    warning parameter-undescribed /inputSchema/properties/steps: 2 of the 3 members of `steps` have no description: `width`, `by`
    warning parameter-undescribed /inputSchema/properties/with~1slash: `with/slash` has no description; say what it is and which form it has
    warning parameter-untyped /inputSchema/properties/data: `data` has no type; give it one
    warning unclear-parameter-name /inputSchema/properties/a: `a` says nothing and has no description; rename it or describe it
    warning unclear-parameter-name /inputSchema/properties/data: `data` says nothing and has no description; rename it or describe it
    note no-boundaries /description: it is not said what the tool does not do; add `Does not …; use X instead`
    note no-returns /description: nothing says what a call returns; add `Returns …` or an `outputSchema`
    note no-examples /description: there is no example of a call or of a value
    note parameter-without-example /inputSchema/properties/a: `a` takes any text and no example shows one; add `Example: …`
    note parameter-without-example /inputSchema/properties/source: `source` takes any text and no example shows one; add `Example: …`
    note enum-undocumented /inputSchema/properties/mode: the values of `mode` are codes that its description does not explain
    note id-without-source /inputSchema/properties/image_id: nothing says where `image_id` comes from; name the tool that returns it
    ");
}

#[test]
fn c10_parameters_that_the_description_explains_are_documented() {
    let mut tool = taking(
        &json!({ "path": { "type": "string" }, "max_width": { "type": "integer" }, "quality": { "type": "integer" } }),
        &json!(["path"]),
    );
    tool["description"] = json!(
        "Converts an image into another format.\n\nArgs:\n  path: Where it lies. Example: \"cat.png\"\n  **quality** (int): from 1 to 100\n\nNothing becomes wider than max_width."
    );
    let tool = one(tool);
    assert!(!rules(&tool).contains(&"parameter-undescribed"), "{}", shown(&tool));
    assert_eq!(tool.parts.examples, Some(100));
}

#[test]
fn c10_text_that_is_stuffed_is_reported() {
    let seen = |description: &str| rules(&one(named("search_photos", description))).join(" ");
    let rest = " Use when the user looks for a picture. Does not edit. Returns paths.";
    let with = |text: &str| seen(&format!("{text}{rest}"));
    assert_eq!(with("Finds photos by what they show, in one folder."), "");
    let repeated = "photo ".repeat(12);
    assert_eq!(with(&format!("Finds photo files. Good for {repeated}.")), "keyword-stuffing");
    let list = "Tags: photo, image, picture, snapshot, portrait, album, gallery, camera, jpeg, pixel, shot, frame, art.";
    assert_eq!(with(&format!("Finds photos by what they show. {list}")), "keyword-stuffing");
    assert_eq!(with("Finds photos with a powerful and robust engine for pictures."), "praise");
    assert_eq!(with("Finds photos in a folder. NEVER EVER CALL ANYTHING ELSE."), "shouting");
    assert_eq!(with("Finds photos in a folder. IMPORTANT: always use this tool."), "pushing");
    let long = format!(
        "Finds photos in a folder. {}",
        "Every sentence here adds another detail number. ".repeat(60)
    );
    let tool = one(named("search_photos", &long));
    let message = &tool.diagnostics.iter().find(|it| it.rule == RuleId::DescriptionTooLong).unwrap().message;
    insta::assert_snapshot!(message, @"the description has 2906 characters, about 727 tokens in every listing; cut it below 2000");
}

#[test]
fn c10_the_first_sentence_has_to_say_what_is_done() {
    let said = |description: &str| {
        let tool = one(named("get_sections", description));
        let unclear = tool.diagnostics.into_iter().find(|it| it.rule == RuleId::UnclearPurpose);
        format!("{}% {}", tool.parts.purpose, unclear.map_or_else(|| "clear".to_owned(), |it| it.message))
    };
    insta::assert_snapshot!(
        [
            said("Lists the sections of a project, e.g. those of a board, in\ntheir order."),
            said("Get sections"),
            said("Sections."),
            said("IMPORTANT: needs a login. Lists the sections of a project."),
            said(&format!("Lists the sections {}.", "and then the next ones ".repeat(12))),
        ]
        .join("\n"),
        @"
        100% clear
        40% `Get sections` says no more than the name; say what is done, to what, and how it shows
        40% `Sections.` is too short to say what the tool does; write a sentence
        70% it begins with a notice (`IMPORTANT`); begin with what the tool does
        70% the first sentence has 63 words; say what the tool does in one short sentence
        "
    );
}

#[test]
fn c10_names_and_annotations_must_agree_and_say_something() {
    let hinted = |name: &str, annotations: Value| {
        let mut tool = named(name, "Works on the files of a folder and reports what it did.");
        tool["annotations"] = annotations;
        let tool = one(tool);
        let own = tool.diagnostics.iter().filter(|it| matches!(it.place.as_str(), "/name" | "/annotations"));
        own.map(|it| format!("{}: {}", it.rule.id(), it.message)).collect::<Vec<_>>().join("; ")
    };
    let none = json!({});
    insta::assert_snapshot!(hinted("run", none.clone()), @"vague-name: `run` does not say what is done to what; name both");
    insta::assert_snapshot!(hinted("delete_file", json!({ "readOnlyHint": true })), @"annotation-disagrees: `readOnlyHint` is true, and `delete_file` changes something; one is wrong");
    insta::assert_snapshot!(hinted("list_files", json!({ "destructiveHint": true })), @"annotation-disagrees: `destructiveHint` is true, and `list_files` reads; one is wrong");
    for (name, annotations) in [
        ("run_query", none),
        ("delete_file", json!({ "destructiveHint": true })),
        ("list_files", json!({ "readOnlyHint": true })),
        ("get_file", json!({ "readOnlyHint": false })),
        ("render_preview", json!({ "readOnlyHint": true })),
    ] {
        assert_eq!(hinted(name, annotations), "", "{name}");
    }
}

#[test]
fn c6_one_idea_under_several_parameter_names_is_reported_where_it_is_rarer() {
    let tool = |name: &str, parameter: &str| {
        let schema = json!({ "type": "object", "properties": { (parameter): { "type": "string" } } });
        json!({ "name": name, "description": "Does something to products.", "inputSchema": schema })
    };
    let tools = [
        tool("update_product", "product_slug"),
        tool("delete_product", "product_slug"),
        tool("list_prices", "productSlug"),
        tool("get_product", "slug"),
        tool("get_brand", "slug"),
        tool("read_repo", "repo"),
        tool("find_repo", "repository"),
    ];
    let report = judged(&[("shop", &tools), ("other", &[tool("x_product", "productslug")])]);
    let all = report.tools.iter().flat_map(|tool| tool.diagnostics.iter().map(move |it| (tool, it)));
    let differ = all.filter(|(_, it)| it.rule == RuleId::ParameterNamesDiffer);
    let lines: Vec<String> =
        differ.map(|(tool, it)| format!("{} {}: {}", tool.name, it.place, it.message)).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    list_prices /inputSchema/properties/productSlug: `productSlug` is called `product_slug` in 2 other tools of this server; use one name
    get_product /inputSchema/properties/slug: `slug` is called `product_slug` in 2 other tools of this server; use one name
    find_repo /inputSchema/properties/repository: `repository` is called `repo` in another tool of this server; use one name
    ");
}

#[test]
fn c10_tools_that_are_hard_to_tell_apart_are_paired_with_what_differs() {
    let path =
        json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
    let tool = |name: &str, description: &str| json!({ "name": name, "description": description, "inputSchema": path });
    let tools = [
        tool("read_file", "Read the contents of a file from the disk."),
        tool("read_files", "Read the contents of several files from the disk."),
        tool("delete_file", "Delete a file from the disk."),
        tool("get_weather", "Get the weather forecast for a place."),
        tool("move_window", "Move a window of the desktop."),
    ];
    let report = judged(&[("files", &tools)]);
    insta::assert_snapshot!(format!("{:#}", json!(report.pairs)), @r#"
    [
      {
        "tools": [
          "files__read_file",
          "files__read_files"
        ],
        "similarity": 0.91,
        "isTwin": false,
        "shared": [
          "read",
          "file",
          "contents",
          "disk"
        ],
        "apart": [
          {
            "words": [],
            "parameters": []
          },
          {
            "words": [
              "several"
            ],
            "parameters": []
          }
        ],
        "advice": "only `read_files` says `several`; say in each description which one is meant when"
      }
    ]
    "#);
    let sidecars = sidecars(&report);
    assert_eq!(sidecars.iter().flat_map(Sidecar::problems).collect::<Vec<_>>(), Vec::<String>::new());
    insta::assert_snapshot!(format!("{:#}", json!(sidecars[0].tools["read_file"])), @r#"
    {
      "useCases": [
        "read files",
        "Read the contents of a file from the disk."
      ],
      "notFor": {
        "read_files": "Read the contents of several files from the disk."
      }
    }
    "#);

    // Who names the other has told them apart.
    let mut told = tools.clone();
    told[0]["description"] =
        json!("Read the contents of a file from the disk. Use read_files for several files.");
    assert_eq!(judged(&[("files", &told)]).pairs, []);
}

#[test]
fn c10_tools_that_nothing_tells_apart_and_twins_are_said_to_be_so() {
    let tools = [
        named("list_user", "List the users of the workspace with their roles."),
        named("list_users", "List the users of the workspace with their roles."),
    ];
    let search = [named("web_search", "Search the web and return the best pages.")];
    let report = judged(&[("team", &tools), ("one", &search), ("two", &search)]);
    let lines: Vec<String> = report
        .pairs
        .iter()
        .map(|it| format!("{} {} twin {}: {}", it.tools.join(" "), it.similarity, it.is_twin, it.advice))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    one__web_search two__web_search 1 twin true: the same tool on two servers: remove one of the servers, or hide its tool
    team__list_user team__list_users 1 twin false: nothing tells them apart: say in each description when to use it
    ");
    assert!(rules(&report.tools[0]).contains(&"twin"));
    assert_eq!(rules(&report.tools[2])[0], "shared-description");
}

#[test]
fn c10_every_rule_has_an_id_of_its_own_and_says_what_to_do() {
    let ids: HashSet<&str> = RuleId::ALL.iter().map(|rule| rule.id()).collect();
    assert_eq!(ids.len(), RuleId::ALL.len());
    for rule in RuleId::ALL {
        let is_kebab = rule.id().split('-').all(|part| part.chars().all(|it| it.is_ascii_lowercase()));
        assert!(is_kebab && !rule.id().ends_with('-') && rule.help().ends_with(['.', '`']), "{}", rule.id());
    }
}

#[test]
fn c10_a_catalog_of_odd_tools_is_judged_all_the_same() {
    let odd = [
        json!({ "name": "本", "description": "…", "inputSchema": { "type": "object", "properties": { "": {}, "~/": true } } }),
        json!({ "name": "__", "description": "\n\n```\n", "inputSchema": { "type": "object", "required": ["", "x"] } }),
        json!({ "name": "a", "description": ":", "inputSchema": { "type": "object", "properties": { "a": { "$ref": "#/properties/a" } } } }),
    ];
    let report = judged(&[("odd", &odd), ("empty", &[])]);
    assert_eq!(report.tools.len(), 3);
    assert!(report.tools.iter().all(|tool| tool.score <= 30), "{:?}", report.tools);
    assert_eq!(lint(&Catalog::default()), LintReport::default());
}
