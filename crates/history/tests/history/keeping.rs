//! Routes, pages and searches.

use serde_json::{Value, json};
use toolyard_history::{History, Rating, Retention, Route, RouteOutcome, RouteSearch, route_id};

use crate::{DAY, NOW, all, feedback, found, opened, recorded, route};

#[test]
fn r15_a_route_comes_back_as_it_was_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let bare = Route {
        session: None,
        tool: None,
        reasons: Vec::new(),
        candidates: Vec::new(),
        shape: Value::Null,
        arguments: None,
        ran: None,
        question: None,
        cached: true,
        ..route(2)
    };
    let history = opened(folder.path());
    recorded(&history, [route(1), bare.clone()]);
    drop(history);
    let history = opened(folder.path());
    assert_eq!(history.route(&route(1).id).unwrap(), Some(route(1)));
    assert_eq!(
        history.routes(&RouteSearch { limit: 9, ..RouteSearch::default() }).unwrap().items,
        [bare, route(1)]
    );
    assert_eq!(history.route("unknown").unwrap(), None);
}

#[test]
fn r15_a_route_and_its_outcomes_are_camel_case_in_json() {
    let text = serde_json::to_value(route(1)).unwrap();
    assert_eq!(text["routingMs"], 1.5);
    assert_eq!(text["decision"], "act");
    assert_eq!(text["candidates"][0]["probability"], 0.75);
    assert_eq!(serde_json::from_value::<Route>(text).unwrap(), route(1));
    for outcome in RouteOutcome::ALL {
        assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.name());
    }
}

#[test]
fn r15_a_route_that_is_asked_for_at_once_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    for number in 0..200 {
        history.record(route(number));
        assert_eq!(history.route(&route(number).id).unwrap(), Some(route(number)));
    }
}

#[test]
fn r15_the_same_name_again_replaces_a_route() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    let ended = Route { ran: Some("failed".to_owned()), ..route(1) };
    let moved = Route { at: NOW + DAY, ..route(2) };
    recorded(&history, [route(1), route(2), route(3), ended.clone(), moved.clone()]);
    assert_eq!(
        history.routes(&RouteSearch { limit: 9, ..RouteSearch::default() }).unwrap().items,
        [moved, route(3), ended]
    );
}

#[test]
fn r15_what_does_not_fit_is_cut_and_numbers_that_are_none_are_zero() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    let huge = "\u{e4}".repeat(1 << 20);
    let mut candidates = vec![route(1).candidates[0].clone(); 9];
    candidates[0].probability = f64::NAN;
    let sent = Route {
        words: Some(huge.clone()),
        reasons: vec![huge.clone(); 99],
        arguments: Some(json!({"text": huge.clone()})),
        confidence: f64::INFINITY,
        candidates,
        ..route(1)
    };
    recorded(&history, [sent]);
    let kept = history.route(&route(1).id).unwrap().unwrap();
    assert!(huge.starts_with(kept.words.as_deref().unwrap()) && kept.words.unwrap().chars().count() == 8_000);
    assert_eq!((kept.reasons.len(), kept.candidates.len()), (16, 8));
    assert_eq!((kept.confidence, kept.candidates[0].probability, kept.arguments), (0.0, 0.0, None));
    assert_eq!(history.dropped(), 0);
}

#[test]
fn r15_pages_have_no_gaps_and_no_repeats_while_others_write() {
    let folder = tempfile::tempdir().unwrap();
    let (history, other) = (opened(folder.path()), opened(folder.path()));
    // Ten of each millisecond: the order within one is the order in which they came.
    recorded(&history, (0..100).map(|number| Route { at: NOW + number / 10, ..route(number) }));
    let mut search = RouteSearch { limit: 7, ..RouteSearch::default() };
    let mut seen = Vec::new();
    for round in 0.. {
        let page = history.routes(&search).unwrap();
        assert!(page.items.len() <= 7);
        seen.extend(page.items.into_iter().map(|route| route.id));
        let Some(next) = page.next else { break };
        search.before = Some(next);
        recorded(&other, (0..5).map(|it| Route { at: NOW + 9, ..route(1_000 + round * 5 + it) }));
    }
    let expected: Vec<String> = (0..100).rev().map(|number| route(number).id).collect();
    assert_eq!(seen, expected);
}

#[test]
fn r15_a_total_is_given_where_it_is_cheap() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    recorded(&history, (0..30).map(route));
    let total = |search: RouteSearch| history.routes(&search).unwrap().total;
    assert_eq!(total(RouteSearch { limit: 10, ..RouteSearch::default() }), Some(30));
    let later = RouteSearch { limit: 10, before: Some(route(5).id), ..RouteSearch::default() };
    assert_eq!(total(later), Some(30));
    let text = RouteSearch { limit: 10, text: Some("letter".to_owned()), ..RouteSearch::default() };
    assert_eq!(total(text.clone()), None);
    assert_eq!(total(RouteSearch { limit: 50, ..text }), Some(30));
}

#[test]
fn r15_routes_are_found_by_each_part_and_by_all_together() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    let other = |number| Route {
        tool: Some("chat__send_all".to_owned()),
        session: Some("s2".to_owned()),
        decision: RouteOutcome::Ask,
        words: Some("\u{c4}rger melden, 100% sure_ly".to_owned()),
        ..route(number)
    };
    let own = Route { tool: Some("search_tools".to_owned()), words: None, ..route(4) };
    recorded(&history, [route(1), other(2), route(3), own, other(5)]);
    history.give(feedback("f1", Some(&route(1).id), Rating::Wrong)).unwrap();
    history.give(feedback("f2", Some(&route(5).id), Rating::Right)).unwrap();
    let none = RouteSearch::default();
    let text = |text: &str| RouteSearch { text: Some(text.to_owned()), ..none.clone() };
    let name = |it: &str| Some(it.to_owned());
    let found = |search: RouteSearch| {
        let ids = found(&history, &search).into_iter();
        ids.map(|id| id.trim_start_matches(['R', '0']).to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found(none.clone()), "5 4 3 2 1");
    assert_eq!(found(RouteSearch { tool: name("mail__send_message"), ..none.clone() }), "3 1");
    assert_eq!(found(RouteSearch { server: name("chat"), ..none.clone() }), "5 2");
    assert_eq!(found(RouteSearch { server: name("mail"), ..none.clone() }), "3 1");
    assert_eq!(found(RouteSearch { server: name("search_tools"), ..none.clone() }), "");
    assert_eq!(found(RouteSearch { decision: Some(RouteOutcome::Ask), ..none.clone() }), "5 2");
    assert_eq!(found(RouteSearch { session: name("s1"), ..none.clone() }), "4 3 1");
    assert_eq!(found(RouteSearch { marked: Some(Rating::Wrong), ..none.clone() }), "1");
    assert_eq!(found(RouteSearch { marked: Some(Rating::Right), ..none.clone() }), "5");
    assert_eq!(found(RouteSearch { since: Some(NOW + 4), ..none.clone() }), "5 4");
    assert_eq!(found(RouteSearch { before: Some(route(3).id), ..none.clone() }), "2 1");
    assert_eq!(found(RouteSearch { before: name("went"), ..none.clone() }), "");
    assert_eq!(found(text("LETTER NUMBER 3")), "3");
    assert_eq!(found(text("\u{e4}rger")), "5 2");
    assert_eq!(found(text("\u{c4}RGER")), "5 2");
    assert_eq!(found(text("rger melden")), "5 2");
    assert_eq!(found(text("100%")), "5 2");
    assert_eq!(found(text("e_ly")), "5 2");
    assert_eq!(found(text("e_l%")), "");
    assert_eq!(found(text("_tools")), "4");
    let both = RouteSearch { session: name("s2"), decision: Some(RouteOutcome::Ask), ..text("melden") };
    assert_eq!(found(both.clone()), "5 2");
    assert_eq!(found(RouteSearch { marked: Some(Rating::Right), server: name("chat"), ..both.clone() }), "5");
    assert_eq!(found(RouteSearch { tool: name("mail__send_message"), ..both }), "");
}

#[test]
fn r15_names_of_routes_sort_by_time_and_differ() {
    let names: Vec<String> = (0..10_000).map(|_| route_id()).collect();
    assert!(names.iter().all(|name| name.len() == 26 && name.chars().all(|c| c.is_ascii_alphanumeric())));
    assert!(names.is_sorted_by(|a, b| a < b));
}

#[test]
fn r15_the_file_can_be_read_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("a/b");
    let history = History::open(&below, Retention::default()).unwrap();
    recorded(&history, [route(1)]);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&below), 0o700);
    for file in std::fs::read_dir(&below).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    assert_eq!(all(&history), [route(1).id]);
}
