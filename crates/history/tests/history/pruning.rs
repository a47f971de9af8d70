//! What is forgotten, and when.

use toolyard_history::{Feedback, History, Lesson, Rating, Retention, Route, RouteSearch};

use crate::{DAY, NOW, all, disk, feedback, is_on_disk, lesson, opened, recorded, route};

#[test]
fn r15_words_and_whatever_quotes_them_are_forgotten_after_a_week() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    let telling = |number: i64, at: i64, what: &str| {
        let mut route = Route { at, words: Some(format!("words {what}")), ..route(number) };
        route.reasons = vec![format!("reason {what}")];
        route.candidates[0].reasons = vec![format!("because {what}")];
        Route { question: Some(format!("question {what}")), ..route }
    };
    let (old, new) =
        (telling(1, NOW - 7 * DAY - 1, "pomegranate"), telling(2, NOW - 7 * DAY + 1, "tangerine"));
    recorded(&history, [old.clone(), new.clone()]);
    let said = Feedback {
        at: NOW - 8 * DAY,
        words: Some("pomegranate".to_owned()),
        ..feedback("f", Some(&old.id), Rating::Wrong)
    };
    history.give(said.clone()).unwrap();
    history.prune_at(NOW).unwrap();
    let mut forgotten = Route { words: None, question: None, reasons: Vec::new(), ..old.clone() };
    forgotten.candidates[0].reasons = Vec::new();
    assert_eq!(history.route(&old.id).unwrap(), Some(forgotten));
    assert_eq!(history.route(&new.id).unwrap(), Some(new));
    assert_eq!(history.feedback(&old.id).unwrap(), [Feedback { words: None, ..said }]);
    drop(history);
    assert!(!is_on_disk(folder.path(), "pomegranate"));
    assert!(is_on_disk(folder.path(), "tangerine"));
}

#[test]
fn r15_words_that_are_not_to_be_kept_are_nowhere_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    let mut silent = Route { words: None, reasons: vec!["says pomegranate".to_owned()], ..route(1) };
    silent.candidates[0].reasons = vec!["has pomegranate".to_owned()];
    silent.question = Some("which pomegranate?".to_owned());
    recorded(&history, [silent]);
    let kept = history.route(&route(1).id).unwrap().unwrap();
    assert_eq!((kept.words, kept.question, kept.reasons), (None, None, Vec::new()));
    assert!(is_on_disk(folder.path(), &route(1).id));
    assert!(!is_on_disk(folder.path(), "pomegranate"));
}

#[test]
fn r15_routes_go_after_their_days_and_feedback_with_them_unless_it_taught_something() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    let at = |number: i64, days: i64| Route { at: NOW - days * DAY, ..route(number) };
    recorded(&history, [at(1, 40), at(2, 31), at(3, 29), at(4, 0)]);
    let say = |id: &str, about: Option<&str>, days: i64| {
        history.give(Feedback { at: NOW - days * DAY, ..feedback(id, about, Rating::Wrong) }).unwrap();
    };
    let id = |number| route(number).id;
    say("went", Some(&id(1)), 1);
    say("taught", Some(&id(2)), 31);
    say("taught by name", Some(&id(1)), 31);
    say("stays", Some(&id(3)), 29);
    say("about nothing, old", None, 31);
    say("about nothing, new", None, 29);
    history.teach(Lesson { route: Some(id(2)), ..lesson("l1", NOW - 400 * DAY) }).unwrap();
    history.teach(lesson("taught by name", NOW - 400 * DAY)).unwrap();
    history.prune_at(NOW).unwrap();
    assert_eq!(all(&history), [id(4), id(3)]);
    let about =
        |number| history.feedback(&id(number)).unwrap().into_iter().map(|it| it.id).collect::<Vec<_>>();
    assert_eq!(about(1), ["taught by name"]);
    assert_eq!(about(2), ["taught"]);
    assert_eq!(about(3), ["stays"]);
    assert_eq!(history.lessons().unwrap().len(), 2);
    // Feedback about no route is seen only where it is counted.
    let counted = history.summary(0, DAY).unwrap().feedback;
    assert_eq!(counted.iter().map(|it| it.count).sum::<u64>(), 4);
}

#[test]
fn r15_the_files_never_grow_beyond_their_bound_and_the_oldest_routes_go() {
    let folder = tempfile::tempdir().unwrap();
    let retention = Retention { bytes: 2_000_000, ..Retention::default() };
    let history = History::open(folder.path(), retention).unwrap();
    let mut most = 0;
    for round in 0..40 {
        let padded = |number: i64| Route { words: Some("letter ".repeat(40)), ..route(number) };
        recorded(&history, (round * 100..(round + 1) * 100).map(padded));
        most = most.max(disk(folder.path()));
    }
    assert!((1_000_000..=2_000_000).contains(&most), "{most}");
    assert_eq!(history.dropped(), 0);
    let kept = all(&history);
    assert!((500..3_900).contains(&kept.len()), "{}", kept.len());
    let newest: Vec<String> = (0..4_000).rev().take(kept.len()).map(|number| route(number).id).collect();
    assert_eq!(kept, newest);
}

#[test]
fn r15_a_smaller_bound_makes_the_file_smaller_and_keeps_the_lessons() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    for round in 0..20 {
        recorded(&history, (round * 200..(round + 1) * 200).map(route));
    }
    for number in 0..100 {
        history.teach(lesson(&format!("l{number}"), number)).unwrap();
        history.give(feedback(&format!("f{number}"), Some(&route(number).id), Rating::Wrong)).unwrap();
    }
    drop(history);
    let before = disk(folder.path());
    assert!(before > 2_000_000, "{before}");
    let history =
        History::open(folder.path(), Retention { bytes: 1_500_000, ..Retention::default() }).unwrap();
    history.prune_at(NOW).unwrap();
    assert!(disk(folder.path()) <= 1_500_000, "{}", disk(folder.path()));
    assert_eq!(history.lessons().unwrap().len(), 100);
    assert_eq!(history.feedback(&route(0).id).unwrap(), []);
    assert!(all(&history).len() > 500);
}

#[test]
fn r15_a_day_without_routes_leaves_a_small_file() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    for round in 0..10 {
        recorded(&history, (round * 200..(round + 1) * 200).map(route));
    }
    history.prune_at(NOW + 40 * DAY).unwrap();
    assert_eq!(history.routes(&RouteSearch { limit: 1, ..RouteSearch::default() }).unwrap().total, Some(0));
    // The write-ahead log's index has a size of its own.
    assert!(disk(folder.path()) < 200_000, "{}", disk(folder.path()));
}
