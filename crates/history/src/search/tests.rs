//! Which indexes pages and summaries are read through.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::path::Path;

use super::Query;
use crate::database::{Database, Durability};
use crate::rows::key;
use crate::summary::{EXACT, FEEDBACK_SQL, MANY_SQL, SESSION_SQL, SESSION_TOOLS_SQL, SESSIONS_SQL, TALLIED};
use crate::{History, Rating, Retention, RouteOutcome, RouteSearch};

/// The first route of a filled history; the others are spread over 30 days.
const START: i64 = 4_000_000_000_000;
const MONTH: i64 = 30 * 86_400_000;

#[test]
#[ignore = "filling the history takes long, and fewer routes are tested: \
            cargo nextest run -p toolyard-history --run-ignored only a_million_routes"]
fn r15_a_million_routes_are_read_through_indexes() {
    read_through_indexes(1_000_000);
}

#[test]
fn r15_fifty_thousand_routes_are_read_through_indexes() {
    read_through_indexes(50_000);
}

fn read_through_indexes(count: i64) {
    let folder = tempfile::tempdir().unwrap();
    let retention = Retention { bytes: 8 << 30, ..Retention::default() };
    let mut database = Database::new(folder.path(), retention, Durability::Process);
    database.run(|connection| fill(connection, count)).unwrap();
    for search in searches() {
        let query = Query::of(&search);
        for sql in [query.page_sql(), query.last_checked_sql(), query.count_sql()] {
            let plan = database.run(|connection| plan(connection, &sql)).unwrap();
            assert!(plan.contains("SEARCH route USING"), "{search:?}\n{plan}");
            assert!(!plan.contains("SCAN route") && !plan.contains("SCAN detail"), "{search:?}\n{plan}");
            assert!(!plan.contains("B-TREE"), "{search:?} is sorted\n{plan}");
        }
    }
    let summaries = [EXACT, TALLIED].into_iter().flat_map(|it| [it.intervals, it.tools, it.failures]);
    let others = [MANY_SQL, FEEDBACK_SQL, SESSIONS_SQL, SESSION_SQL, SESSION_TOOLS_SQL];
    for sql in summaries.chain(others) {
        let plan = database.run(|connection| plan(connection, sql)).unwrap();
        let is_searched = ["route", "feedback", "decision_tally", "tool_tally"]
            .iter()
            .any(|table| plan.contains(&format!("SEARCH {table} USING")));
        assert!(is_searched, "{sql}\n{plan}");
        let scanned = plan.lines().filter(|line| line.contains("SCAN"));
        // What a subquery has selected is small.
        let scanned: Vec<&str> = scanned.filter(|line| !line.contains("(subquery")).collect();
        assert_eq!(scanned, Vec::<&str>::new(), "{sql}");
    }
    answers(folder.path(), retention, count);
}

/// Asks through the front door, because a plan is nothing without the right answers.
fn answers(folder: &Path, retention: Retention, count: i64) {
    let history = History::open(folder, retention).unwrap();
    let page = history.routes(&RouteSearch { limit: 50, ..RouteSearch::default() }).unwrap();
    assert_eq!((page.items.len(), page.items[0].id.clone()), (50, format!("R{:08}", count - 1)));
    let deep = RouteSearch { before: Some("R00000051".to_owned()), limit: 50, ..RouteSearch::default() };
    let page = history.routes(&deep).unwrap();
    assert_eq!(
        (page.items.len(), page.next, page.items[0].id.as_str()),
        (50, Some("R00000001".to_owned()), "R00000050")
    );
    // A text that is nowhere is looked for in bounded pieces, until the end.
    let mut search = RouteSearch { text: Some("nowhere".to_owned()), limit: 50, ..RouteSearch::default() };
    let mut pieces = 0;
    loop {
        let page = history.routes(&search).unwrap();
        assert!(page.items.is_empty());
        pieces += 1;
        match page.next {
            Some(next) => search.before = Some(next),
            None => break,
        }
    }
    assert_eq!(pieces, count / super::CHECKED_BY_TIME + 1);
    let last_day = history.summary(START + MONTH - MONTH / 30, 3_600_000).unwrap();
    assert_eq!(last_day.routes, since(folder, last_day.since));
    assert!((24..=25).contains(&last_day.intervals.len()), "{}", last_day.intervals.len());
    let month = history.summary(START + 1, 60_000).unwrap();
    assert_eq!(month.routes, u64::try_from(count).unwrap());
    assert_eq!((month.since % 3_600_000, month.step % 300_000, month.tools.len()), (0, 0, 20));
    assert_eq!(history.sessions(START, 50).unwrap().len(), 50);
}

/// Counts the routes since a time.
fn since(folder: &Path, since_ms: i64) -> u64 {
    let file = Connection::open(folder.join("history.db")).unwrap();
    let sql = "SELECT count(*) FROM route WHERE key >= ?1";
    file.query_row(sql, [key(since_ms)], |row| crate::rows::count(row, 0)).unwrap()
}

fn searches() -> Vec<RouteSearch> {
    let none = RouteSearch { limit: 50, ..RouteSearch::default() };
    let name = |it: &str| Some(it.to_owned());
    vec![
        none.clone(),
        RouteSearch { since: Some(START), before: name("R00000100"), ..none.clone() },
        RouteSearch { tool: name("server3__tool13"), ..none.clone() },
        RouteSearch { server: name("server3"), ..none.clone() },
        RouteSearch { decision: Some(RouteOutcome::Ask), ..none.clone() },
        RouteSearch { session: name("session7"), ..none.clone() },
        RouteSearch { marked: Some(Rating::Right), ..none.clone() },
        RouteSearch { marked: Some(Rating::Wrong), ..none.clone() },
        RouteSearch { text: name("letter"), ..none.clone() },
        RouteSearch { text: name("letter"), server: name("server1"), marked: Some(Rating::Right), ..none },
    ]
}

/// Fills a history by SQL alone, which is faster than route by route.
fn fill(connection: &mut Connection, count: i64) -> rusqlite::Result<()> {
    let indexes: Vec<(String, String)> = connection
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let transaction = connection.transaction()?;
    for (name, _) in &indexes {
        transaction.execute_batch(&format!("DROP INDEX {name}"))?;
    }
    let numbers = format!(
        "WITH RECURSIVE number (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n + 1 < {count})"
    );
    let at = |n: &str| format!("(({START} + {n} * {MONTH} / {count}) << 20) + {n}");
    transaction.execute_batch(&format!(
        "{numbers}
         INSERT INTO route (key, id, who, client, session, words, decision, tool, confidence, ran, routing_ms,
             total_ms, cached, marks)
         SELECT {}, printf('R%08d', n), 'local', 'cursor 1.2', 'session' || (n / 20),
             'please send the letter number ' || n || ' to somebody',
             iif(n % 5, 'act', 'ask'), 'server' || (n % 10) || '__tool' || (n % 40), 0.5,
             iif(n % 50, 'answered', 'failed'), 1.5, 20.0, n % 3 = 0, (n % 100 = 7) + 2 * (n % 100 = 9)
         FROM number;
         {numbers}
         INSERT INTO detail SELECT {}, '[[\"server1__tool1\",0.5],[\"server2__tool2\",0.25]]',
             '{{\"to\":\"string\"}}', NULL,
             '{{\"reasons\":[\"the words are those of the tool\"],\"candidates\":[],\"question\":null}}' FROM number;
         {numbers}
         INSERT INTO feedback SELECT 'f' || n, {START} + n * {MONTH} / {count}, printf('R%08d', n), 'local', 'cli',
             iif(n % 100 = 7, 1, 2), NULL, 1.0, NULL FROM number WHERE n % 100 IN (7, 9);",
        at("n"),
        at("n"),
    ))?;
    assert!(key(START) <= transaction.query_row("SELECT min(key) FROM route", [], |row| row.get(0))?);
    for (_, sql) in &indexes {
        transaction.execute_batch(sql)?;
    }
    transaction.commit()
}

fn plan(connection: &Connection, sql: &str) -> rusqlite::Result<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
    let values = vec![Value::Null; statement.parameter_count()];
    let lines = statement.query_map(params_from_iter(values), |row| row.get::<_, String>(3))?;
    Ok(lines.collect::<rusqlite::Result<Vec<_>>>()?.join("\n"))
}
