//! Requests over small catalogs.

use proptest::prelude::*;
use serde_json::value::RawValue;

use super::*;
use crate::catalog::{Advertised, Bounds};

const DESK: &[(&str, &str, &str)] = &[
    ("mail", "send_message", "Sends an email to a person"),
    ("mail", "search_messages", "Searches the mailbox"),
    ("chat", "post_message", "Tells a channel or a person something"),
    ("files", "read_file", "Reads the whole text of a file"),
    ("files", "write_file", "Writes text to a file"),
    ("github", "createIssue", "Opens an issue in a repository"),
    ("notes", "検索", "ノートを検索する"),
];

#[test]
fn the_tool_that_shares_more_words_comes_first() {
    insta::assert_snapshot!(found(DESK, "read a file"), @r"
    files__read_file 9.0
    files__write_file 4.5
    ");
}

#[test]
fn forms_of_a_word_and_of_an_identifier_are_found() {
    assert_eq!(first(DESK, "creating issues on GitHub"), "github__createIssue");
    assert_eq!(first(DESK, "searching my e-mails"), "mail__search_messages");
    assert_eq!(first(DESK, "ノート 検索"), "notes__tool_b95d15e4");
}

#[test]
fn parameters_are_searched() {
    assert_eq!(first(DESK, "recipient"), "mail__send_message");
}

#[test]
fn a_request_without_a_known_word_finds_nothing() {
    assert_eq!(found(DESK, "meaning of life"), "");
    assert_eq!(found(DESK, "to the"), "");
    assert_eq!(found(DESK, ""), "");
    assert_eq!(found(&[], "read"), "");
}

#[test]
fn saying_a_word_often_does_not_win() {
    let stuffed = "weather forecast ".repeat(200);
    let tools =
        [("spam", "best_tool", &*stuffed), ("weather", "get_forecast", "Weather forecast for a city")];
    assert_eq!(first(&tools, "weather forecast"), "weather__get_forecast");
    let everything =
        (0..500).map(|at| format!("word{at} forecast weather city mail file ")).collect::<String>();
    let tools = [("spam", "best_tool", &*everything), ("x", "y", "Weather forecast for a city")];
    assert_eq!(first(&tools, "weather in the city"), "x__y");
}

#[test]
fn repeating_a_word_in_the_request_changes_nothing() {
    assert_eq!(found(DESK, "file file file read"), found(DESK, "read file"));
}

#[test]
fn r6_equal_tools_are_ordered_by_name_and_the_limit_holds() {
    let tools = [("b", "same", "x"), ("a", "zame", "x"), ("a", "same", "x"), ("c", "same", "x")];
    let index = Words::new(&catalog(&tools));
    let ids = |limit| {
        let hits = index.search("x", limit);
        hits.iter().map(|hit| catalog(&tools).tools()[hit.position].id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(ids(9), ["b__same", "a__same", "c__same", "a__zame"]);
    assert_eq!(ids(2), ["b__same", "a__same"]);
    assert_eq!(ids(0), [""; 0]);
}

#[test]
fn a_request_of_a_thousand_words_still_finds_the_rare_one() {
    let long = (0..1000).map(|at| format!("file text person word{at} ")).collect::<String>() + "repository";
    assert!(found(DESK, &long).contains("github__createIssue"));
}

proptest! {
    #[test]
    fn no_text_and_no_request_panics(
        tools in proptest::collection::vec((any::<String>(), any::<String>()), 0..6),
        query in any::<String>(),
        limit in 0_usize..9,
    ) {
        let tools: Vec<(&str, &str, &str)> = tools.iter().map(|(name, text)| ("s", &**name, &**text)).collect();
        let catalog = catalog(&tools);
        let hits = Words::new(&catalog).search(&query, limit);
        prop_assert!(hits.len() <= limit);
        prop_assert!(hits.iter().all(|hit| hit.position < catalog.len() && hit.score > 0.0 && hit.score.is_finite()));
        prop_assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
    }
}

fn found(tools: &[(&str, &str, &str)], query: &str) -> String {
    let catalog = catalog(tools);
    let hits = Words::new(&catalog).search(query, 10);
    let line = |hit: &Hit| format!("{} {:.1}", catalog.tools()[hit.position].id, hit.score);
    hits.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn first(tools: &[(&str, &str, &str)], query: &str) -> String {
    found(tools, query).split(' ').next().unwrap().to_owned()
}

/// The only place in this file that knows how to build a catalog.
fn catalog(tools: &[(&str, &str, &str)]) -> Catalog {
    let bounds = Bounds { tools: 100, name_chars: 100, description_chars: 100_000, nesting: 16 };
    let advertised = tools.iter().map(|(server, name, description)| {
        let properties = if *name == "send_message" { serde_json::json!({"recipient": {}}) } else { serde_json::json!({}) };
        let definition = serde_json::json!({
            "name": name, "description": description, "inputSchema": {"type": "object", "properties": properties},
        });
        let tools = vec![RawValue::from_string(definition.to_string()).unwrap()];
        (Advertised { server: (*server).into(), tools }, bounds)
    });
    Catalog::gather(advertised).0
}
