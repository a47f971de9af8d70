//! Tallies and the routes that they count.

use serde_json::Value;

use super::{EXACT, HOUR_MS, Summary, TALLIED, count};
use crate::database::{Database, Durability};
use crate::{History, Retention, Route, RouteOutcome};

const DAY_MS: i64 = 24 * HOUR_MS;
/// The beginning of an hour, far ahead.
const START: i64 = 1_111_111 * HOUR_MS;

#[test]
fn r15_tallies_follow_routes_that_come_change_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let history = History::open(folder.path(), Retention::default()).unwrap();
    (0..400).for_each(|number| history.record(route(number)));
    history.flush();
    assert_eq!(tallied(&history, folder.path()).routes, 400);
    // Others in their place, and at other times.
    (0..50).for_each(|number| history.record(Route { cached: true, ran: None, ..route(number * 3) }));
    (0..50).for_each(|number| history.record(Route { at: START + number, ..route(number * 7) }));
    assert_eq!(tallied(&history, folder.path()).routes, 400);
    history.prune_at(START + 30 * DAY_MS + 4 * HOUR_MS + 7).unwrap();
    let rest = tallied(&history, folder.path());
    assert!((100..350).contains(&rest.routes), "{}", rest.routes);
    history.prune_at(START + 60 * DAY_MS).unwrap();
    assert_eq!(
        tallied(&history, folder.path()),
        Summary { since: START, step: HOUR_MS, ..Summary::default() }
    );
}

/// Returns what the tallies say, which is what the routes say.
fn tallied(history: &History, folder: &std::path::Path) -> Summary {
    history.flush();
    let mut database = Database::new(folder, Retention::default(), Durability::Process);
    let mut counted = |statements| {
        let result = database.run(|connection| {
            let mut summary = Summary { since: START, step: HOUR_MS, ..Summary::default() };
            count(connection, &mut summary, statements).map(|()| summary)
        });
        result.unwrap()
    };
    let (exact, tallied) = (counted(&EXACT), counted(&TALLIED));
    assert_eq!(rounded(&tallied), rounded(&exact));
    tallied
}

/// Sums that were added up in another order differ in their last digits.
fn rounded(summary: &Summary) -> Value {
    fn round(value: &mut Value) {
        match value {
            Value::Number(number) if number.is_f64() => {
                *value = format!("{:.6}", number.as_f64().unwrap()).into();
            }
            Value::Array(items) => items.iter_mut().for_each(round),
            Value::Object(fields) => fields.values_mut().for_each(round),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut value = serde_json::to_value(summary).unwrap();
    round(&mut value);
    value
}

#[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
fn route(number: i64) -> Route {
    let endings = ["answered", "failed", "unreachable", "denied"];
    Route {
        id: format!("R{number}"),
        at: START + number * 100_001,
        who: "local".to_owned(),
        client: "cli".to_owned(),
        session: None,
        words: None,
        decision: RouteOutcome::ALL[usize::try_from(number % 7).unwrap()],
        tool: (number % 5 > 0).then(|| format!("s__t{}", number % 3)),
        confidence: 0.5,
        reasons: Vec::new(),
        candidates: Vec::new(),
        shape: Value::Null,
        arguments: None,
        ran: (number % 4 > 0).then(|| endings[usize::try_from(number / 4 % 4).unwrap()].to_owned()),
        routing_ms: number as f64 / 7.0,
        total_ms: number as f64 / 3.0,
        cached: number % 2 == 0,
        question: None,
    }
}
