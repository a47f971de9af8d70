//! Feedback and lessons.

use toolyard_history::{Feedback, FeedbackSource, Lesson, Rating, RouteSearch};

use crate::{NOW, feedback, found, lesson, opened, recorded, route};

#[test]
fn r16_feedback_and_lessons_outlive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    let first = feedback("f1", Some("r"), Rating::Wrong);
    let second =
        Feedback { meant: None, words: None, at: NOW - 1, ..feedback("f2", Some("r"), Rating::Right) };
    history.give(first.clone()).unwrap();
    history.give(second.clone()).unwrap();
    let old = Lesson { right: None, route: Some("r".to_owned()), ..lesson("l2", NOW - 5) };
    history.teach(lesson("l1", NOW)).unwrap();
    history.teach(old.clone()).unwrap();
    drop(history);
    let history = opened(folder.path());
    assert_eq!(history.feedback("r").unwrap(), [second, first]);
    assert_eq!(history.lessons().unwrap(), [old, lesson("l1", NOW)]);
    assert_eq!(history.feedback("other").unwrap(), []);
}

#[test]
fn r16_every_source_is_kept_and_an_explicit_one_counts_most() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    for source in FeedbackSource::ALL {
        assert_eq!(serde_json::to_value(source).unwrap(), source.name());
        assert!(0.0 < source.weight() && source.weight() <= FeedbackSource::Dashboard.weight());
        let given = Feedback { source, ..feedback(source.name(), Some(source.name()), Rating::Right) };
        history.give(given.clone()).unwrap();
        assert_eq!(history.feedback(source.name()).unwrap(), [given]);
    }
}

#[test]
fn r16_changed_feedback_changes_what_a_route_is_marked_as() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    let marked = |rating| found(&history, &RouteSearch { marked: Some(rating), ..RouteSearch::default() });
    let id = route(1).id;
    // Before the route itself is there, as when it still waits to be written.
    history.give(feedback("f1", Some(&id), Rating::Wrong)).unwrap();
    recorded(&history, [route(1), route(2)]);
    assert_eq!((marked(Rating::Wrong), marked(Rating::Right)), (vec![id.clone()], Vec::new()));
    history.give(feedback("f2", Some(&id), Rating::Right)).unwrap();
    assert_eq!((marked(Rating::Wrong), marked(Rating::Right)), (vec![id.clone()], vec![id.clone()]));
    history.give(feedback("f1", Some(&id), Rating::Right)).unwrap();
    assert_eq!((marked(Rating::Wrong), marked(Rating::Right)), (Vec::new(), vec![id.clone()]));
    history.give(feedback("f1", Some(&route(2).id), Rating::Wrong)).unwrap();
    history.give(feedback("f2", Some(&route(2).id), Rating::Wrong)).unwrap();
    assert_eq!((marked(Rating::Wrong), marked(Rating::Right)), (vec![route(2).id], Vec::new()));
    assert_eq!(history.feedback(&id).unwrap(), []);
}

#[test]
fn r16_a_lesson_is_undone_and_done_again_and_every_change_is_noticed_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let (history, other) = (opened(folder.path()), opened(folder.path()));
    let mut versions = vec![other.lessons_version().unwrap()];
    let mut noticed = |is_changed: bool| {
        let version = other.lessons_version().unwrap();
        assert_eq!(versions.contains(&version), !is_changed);
        versions.push(version);
    };
    history.teach(lesson("l1", 1)).unwrap();
    noticed(true);
    history.teach(lesson("l2", 2)).unwrap();
    noticed(true);
    assert!(history.undo("l1").unwrap());
    noticed(true);
    assert_eq!(other.lessons().unwrap(), [lesson("l2", 2)]);
    assert_eq!(other.undone().unwrap(), [lesson("l1", 1)]);
    assert!(!history.undo("l1").unwrap());
    assert!(!history.undo("unknown").unwrap());
    assert!(!history.redo("l2").unwrap());
    noticed(false);
    assert!(history.redo("l1").unwrap());
    noticed(true);
    assert_eq!(other.lessons().unwrap(), [lesson("l1", 1), lesson("l2", 2)]);
    assert_eq!(other.undone().unwrap(), []);
    history.undo("l2").unwrap();
    noticed(true);
    let better = Lesson { words: "send it".to_owned(), ..lesson("l2", 3) };
    history.teach(better.clone()).unwrap();
    noticed(true);
    assert_eq!(other.lessons().unwrap(), [lesson("l1", 1), better]);
    history.give(feedback("f", None, Rating::Right)).unwrap();
    recorded(&history, [route(1)]);
    noticed(false);
}

#[test]
fn r16_one_person_has_at_most_five_thousand_lessons_and_takes_none_from_others() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    let ana = |number: i64| Lesson { who: "ana".to_owned(), ..lesson(&format!("a{number}"), number) };
    history.teach(lesson("of local", 0)).unwrap();
    history.teach(ana(0)).unwrap();
    history.undo("a0").unwrap();
    // Written beside the front door, because each lesson is brought to the disk on its own.
    let file = rusqlite::Connection::open(folder.path().join("history.db")).unwrap();
    file.execute(
        "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 5000)
         INSERT INTO lesson SELECT 'a' || n, n, 'ana', 'w', NULL, NULL, 1.0, 'cli', NULL, 0 FROM number",
        [],
    )
    .unwrap();
    assert_eq!(history.lessons().unwrap().len(), 5_001);
    history.teach(ana(5_001)).unwrap();
    let lessons = history.lessons().unwrap();
    assert_eq!(lessons.len(), 5_001);
    let first: Vec<&str> = lessons.iter().take(2).map(|lesson| lesson.id.as_str()).collect();
    assert_eq!(first, ["of local", "a2"]);
    assert_eq!(history.undone().unwrap(), [ana(0)]);
}
