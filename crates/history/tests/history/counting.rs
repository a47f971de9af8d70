//! Summaries and sessions.

use toolyard_history::{Feedback, FeedbackSource, Rating, Route, RouteOutcome};

use crate::{DAY, NOW, feedback, opened, recorded, route};

const HOUR: i64 = 3_600_000;

#[test]
fn r15_a_summary_counts_what_happened_in_each_interval() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    let at = |number: i64, at: i64| Route { at: NOW + at, ..route(number) };
    recorded(
        &history,
        [
            at(0, -1),
            at(1, 0),
            Route { cached: true, routing_ms: 0.5, total_ms: 9.75, ..at(2, HOUR - 1) },
            Route { decision: RouteOutcome::Ask, tool: None, ran: None, ..at(3, HOUR - 1) },
            Route { ran: Some("unreachable".to_owned()), ..at(4, 3 * HOUR) },
            Route {
                tool: Some("chat__post".to_owned()),
                ran: Some("denied".to_owned()),
                ..at(5, 3 * HOUR + 1)
            },
            Route { decision: RouteOutcome::Failed, tool: None, ran: None, ..at(6, 3 * HOUR + 2) },
        ],
    );
    history.give(feedback("f1", Some(&route(1).id), Rating::Wrong)).unwrap();
    history.give(feedback("f2", None, Rating::Wrong)).unwrap();
    let picked = Feedback { source: FeedbackSource::Picked, ..feedback("f3", None, Rating::Right) };
    history.give(picked).unwrap();
    history.give(Feedback { at: NOW - 1, ..feedback("f4", None, Rating::Right) }).unwrap();
    let summary = history.summary(NOW, HOUR).unwrap();
    let fields = serde_json::to_value(&summary).unwrap();
    let lines = fields.as_object().unwrap().iter().map(|(name, value)| match value.as_array() {
        Some(items) => {
            format!("{name}:\n{}", items.iter().map(|item| format!("  {item}\n")).collect::<String>())
        }
        None => format!("{name}: {value}\n"),
    });
    insta::assert_snapshot!(lines.collect::<String>(), @r#"
    since: 4000000000000
    step: 3600000
    routes: 6
    decisions: {"act":4,"ask":1,"failed":1}
    cached: 1
    routingMs: 1.3333333333333333
    totalMs: 18.5
    intervals:
      {"at":4000000000000,"routes":3,"decisions":{"act":2,"ask":1},"cached":1,"routingMs":1.1666666666666667,"totalMs":16.75}
      {"at":4000010800000,"routes":3,"decisions":{"act":2,"failed":1},"cached":0,"routingMs":1.5,"totalMs":20.25}
    tools:
      {"tool":"mail__send_message","routes":3,"failed":1,"totalMs":16.75}
      {"tool":"chat__post","routes":1,"failed":0,"totalMs":20.25}
    failures:
      {"tool":null,"ran":"failed","routes":1}
      {"tool":"chat__post","ran":"denied","routes":1}
      {"tool":"mail__send_message","ran":"unreachable","routes":1}
    feedback:
      {"source":"dashboard","verdict":"wrong","count":2}
      {"source":"picked","verdict":"right","count":1}
    "#);
}

#[test]
fn r15_a_summary_of_nothing_is_empty_and_a_long_one_has_longer_intervals() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    let empty = history.summary(NOW, HOUR).unwrap();
    assert_eq!((empty.routes, empty.total_ms, empty.intervals.len(), empty.step), (0, 0.0, 0, HOUR));
    recorded(&history, (0..300).map(|number| Route { at: NOW + number * DAY / 10, ..route(number) }));
    let summary = history.summary(0, 1).unwrap();
    assert_eq!(summary.intervals.iter().map(|it| it.routes).sum::<u64>(), 300);
    assert!(summary.intervals.len() <= 300 && summary.step > 1, "{}", summary.step);
    assert!(summary.intervals.is_sorted_by(|a, b| a.at < b.at));
}

#[test]
fn r15_sessions_are_listed_by_their_last_route() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    let of = |number: i64, session: &str, tool: &str| Route {
        session: Some(session.to_owned()),
        tool: Some(tool.to_owned()),
        client: format!("client of {session} at {number}"),
        ..route(number)
    };
    recorded(
        &history,
        [
            of(1, "old", "a__a"),
            of(2, "long", "a__a"),
            of(3, "short", "a__a"),
            of(4, "long", "b__b"),
            of(5, "long", "b__b"),
            Route { session: None, ..route(6) },
        ],
    );
    let shown = |since: i64, limit: usize| {
        let sessions = history.sessions(NOW + since, limit).unwrap().into_iter();
        let shown = sessions.map(|it| {
            let (first, last) = (it.first - NOW, it.last - NOW);
            format!(
                "{} | {} | {} | {first}-{last} | {} | {:?}\n",
                it.session, it.client, it.who, it.routes, it.tools
            )
        });
        shown.collect::<String>()
    };
    insta::assert_snapshot!(shown(2, 9), @r#"
    long | client of long at 5 | local | 2-5 | 3 | ["b__b", "a__a"]
    short | client of short at 3 | local | 3-3 | 1 | ["a__a"]
    "#);
    assert_eq!(shown(3, 1), "long | client of long at 5 | local | 4-5 | 2 | [\"b__b\"]\n");
}
