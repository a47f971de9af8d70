//! Whatever is sent, every tool answers, nothing outside the folder is touched, and answers keep to
//! their schema.

use std::{collections::BTreeMap, fs, path::Path};

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use toolyard_packs::{Clock, Kind, Pack};

use crate::definitions::keeps_to;

const SECRET: &str = "canary-7c1f";

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_time_tools_answer_any_arguments(calls in calls(&time()), free in any_arguments()) {
        let pack = time();
        for (tool, arguments) in calls {
            answered(&pack, &tool, &arguments);
            answered(&pack, &tool, &free);
        }
    }

    #[test]
    fn the_time_tools_answer_any_text(text in time_like(), zone in time_like()) {
        let pack = time();
        for (tool, arguments) in [
            ("current_time", json!({ "zone": zone })),
            ("convert_time", json!({ "time": text, "from_zone": zone, "to_zone": "UTC" })),
            ("convert_time", json!({ "time": text, "to_zone": "Tokyo" })),
            ("time_difference", json!({ "start": text, "end": zone })),
            ("add_time", json!({ "span": text, "time": "9998-12-31" })),
            ("add_time", json!({ "span": zone, "time": text })),
        ] {
            answered(&pack, tool, arguments.as_object().unwrap());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_notes_tools_answer_anything_and_stay_inside(
        calls in calls(&House::new().pack), free in any_arguments(), paths in prop::collection::vec(path_like(), 1..4),
    ) {
        let house = House::new();
        let before = house.outside();
        for (tool, arguments) in calls {
            answered(&house.pack, &tool, &arguments);
            answered(&house.pack, &tool, &free);
        }
        for path in paths {
            for (tool, arguments) in [
                ("read_note", json!({ "note": path })),
                ("update_note", json!({ "note": path, "content": SECRET.to_uppercase() })),
                ("tag_note", json!({ "note": path, "add": ["x"], "remove": ["todo"] })),
                ("create_note", json!({ "title": path, "content": "new" })),
                ("create_note", json!({ "title": "new", "folder": path })),
                ("list_notes", json!({ "folder": path })),
                ("search_notes", json!({ "query": path, "folder": path })),
                ("search_notes", json!({ "query": path })),
            ] {
                let result = answered(&house.pack, tool, arguments.as_object().unwrap());
                prop_assert!(!result.to_string().contains(SECRET), "{tool} {arguments} leaked: {result}");
            }
        }
        prop_assert_eq!(house.outside(), before);
    }

    #[test]
    fn any_text_in_a_note_survives_being_read_tagged_and_added_to(text in note_like(), more in note_like()) {
        let house = House::new();
        fs::write(house.notes().join("odd.md"), &text).unwrap();
        let read = answered(&house.pack, "read_note", json!({ "note": "odd.md", "max_lines": 5000 }).as_object().unwrap());
        prop_assert_eq!(read["structuredContent"]["content"].as_str(), Some(text.as_str()));
        for (tool, arguments) in [
            ("search_notes", json!({ "query": more })),
            ("tag_note", json!({ "note": "odd.md", "add": ["zeta"], "remove": ["a"] })),
            ("update_note", json!({ "note": "odd.md", "content": more, "mode": "prepend" })),
            ("update_note", json!({ "note": "odd.md", "content": more, "mode": "replace_section", "heading": "a" })),
            ("list_notes", json!({ "tag": "zeta" })),
        ] {
            answered(&house.pack, tool, arguments.as_object().unwrap());
        }
        let now = fs::read_to_string(house.notes().join("odd.md")).unwrap();
        answered(&house.pack, "update_note", json!({ "note": "odd.md", "content": "the end" }).as_object().unwrap());
        let after = fs::read_to_string(house.notes().join("odd.md")).unwrap();
        prop_assert!(after.starts_with(now.trim_end_matches(['\n', '\r'])), "{now:?} became {after:?}");
        prop_assert!(after.trim_end().ends_with("the end"));
    }
}

/// Calls a tool and checks the form of its answer.
pub(crate) fn answered(pack: &Pack, tool: &str, arguments: &Map<String, Value>) -> Value {
    let result = pack.call(tool, arguments).unwrap();
    assert!(!result["content"][0]["text"].as_str().unwrap().is_empty());
    if result["isError"] == false {
        let definition = pack.tools().into_iter().find(|it| it["name"] == tool).unwrap();
        keeps_to(&definition["outputSchema"], &result["structuredContent"]).unwrap();
    }
    result
}

fn time() -> Pack {
    let at = "2026-03-01T12:00:00+01:00[Europe/Berlin]".parse().unwrap();
    Pack::open_with_clock(&Kind::Time, Clock::Fixed(at)).unwrap()
}

/// A folder of notes with a canary beside it.
struct House {
    home: TempDir,
    pack: Pack,
}

impl House {
    fn new() -> Self {
        let home = TempDir::new().unwrap();
        fs::write(home.path().join("canary.md"), format!("# Canary\n\n{SECRET}\n")).unwrap();
        let pack = Pack::open(&Kind::Notes { folder: home.path().join("notes") }).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(home.path(), home.path().join("notes/up")).unwrap();
        Self { home, pack }
    }

    fn notes(&self) -> std::path::PathBuf {
        self.home.path().join("notes")
    }

    /// Everything that lies beside the folder of notes.
    fn outside(&self) -> BTreeMap<String, Option<String>> {
        let entries = fs::read_dir(self.home.path()).unwrap().map(|entry| entry.unwrap().path());
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        entries.map(|path| (name(&path), fs::read_to_string(&path).ok())).collect()
    }
}

/// Calls of the pack's tools with their own argument names and any values.
pub(crate) fn calls(pack: &Pack) -> impl Strategy<Value = Vec<(String, Map<String, Value>)>> + use<> {
    let tools: Vec<BoxedStrategy<(String, Map<String, Value>)>> = pack
        .tools()
        .into_iter()
        .map(|tool| {
            let name = tool["name"].as_str().unwrap().to_owned();
            let arguments = tool["inputSchema"]["properties"].as_object().unwrap().keys().cloned();
            let arguments: Vec<_> =
                arguments.map(|it| (Just(it), prop::option::weighted(0.7, any_json()))).collect();
            arguments
                .prop_map(move |given| {
                    let given = given.into_iter().filter_map(|(name, value)| Some((name, value?)));
                    (name.clone(), given.collect())
                })
                .boxed()
        })
        .collect();
    tools
}

pub(crate) fn any_arguments() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((".{0,12}", any_json()), 0..4).prop_map(|it| it.into_iter().collect())
}

pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3_i64..300).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        time_like().prop_map(Value::from),
        path_like().prop_map(Value::from),
        prop::sample::select(vec!["append", "replace", "replace_section", "name", "modified"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((".{0,6}", inner), 0..3)
                .prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
}

fn time_like() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "now",
        "today",
        "tomorrow",
        "next",
        "last",
        "friday",
        "march",
        "feb",
        "1st",
        "29",
        "2026",
        "9999",
        "-9999",
        "9am",
        "12pm",
        "14:30",
        "23:59:59.999999999",
        "24:00",
        "02:30",
        "noon",
        "T",
        "Z",
        "+14:00",
        "-12:00",
        "UTC+2",
        "EST",
        "Tokyo",
        "America/New_York",
        "[Europe/Berlin]",
        "2026-03-29",
        "9999-12-31",
        "-9999-01-01",
        "01/02/2026",
        "31.12.9999",
        "9999999999999",
        "in",
        "ago",
        "days",
        "P9999Y",
        "-P1M",
        "1000000000",
        "hours",
        "an",
        "é",
        "10h",
        ":",
    ]);
    let words = prop::collection::vec(word, 0..5);
    prop_oneof![
        words.clone().prop_map(|it| it.join(" ")),
        words.prop_map(|it| it.concat()),
        "[0-9:/.+TZ -]{0,20}",
        any::<String>(),
    ]
}

fn path_like() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "..",
        ".",
        "",
        "up",
        "canary.md",
        "canary",
        "notes",
        "Home",
        "Garden.md",
        "garden",
        "~",
        "C:",
        "\\",
        "\0",
        "con",
        ".git",
        "Work",
        "é",
        " ",
        "%2e%2e",
        "a",
        "/",
        "//",
        "[[",
        "]]",
        "\u{202e}",
        "md",
    ]);
    let parts = prop::collection::vec(part, 0..6);
    let known = prop::sample::select(vec![
        "up",
        "up/deeper",
        "up/canary.md",
        "up/canary",
        "up/notes/Home/Garden.md",
        "../canary.md",
        "Home/../../canary",
        "canary",
        "Canary",
        "Home/Garden.md",
        "garden",
    ]);
    prop_oneof![
        known.prop_map(str::to_owned),
        parts.clone().prop_map(|it| it.join("/")),
        parts.clone().prop_map(|it| it.join("\\")),
        parts.prop_map(|it| format!("/{}", it.join("/"))),
        any::<String>(),
        "[./~a-c]{0,30}",
    ]
}

fn note_like() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "---",
        "...",
        "tags: [a, b]",
        "tags:",
        "  - a",
        "- c",
        "tag: a b",
        "title: x",
        "# A",
        "## a",
        "#a",
        "#a #b",
        "```",
        "~~~~",
        "text #a",
        "`#a`",
        "",
        " ",
        "\u{feff}",
        "\r",
        "é #été",
        "- item",
        "1. item",
        "tags: &x",
        "#",
        "######",
    ]);
    let lines = prop::collection::vec(line, 0..12);
    prop_oneof![
        lines.clone().prop_map(|it| it.join("\n")),
        lines.prop_map(|it| it.join("\r\n")),
        any::<String>(),
    ]
}
