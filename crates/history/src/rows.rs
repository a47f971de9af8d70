//! Routes as rows of the database.
//!
//! The row number is the time and, behind it, a number within the millisecond: rows that are added later never come
//! before those of the same time, so a page that was read stays as it was.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::route::{Considered, Route, RouteOutcome};

/// The columns that [`route`] reads, of `route` and `detail`.
pub(crate) const COLUMNS: &str = "route.key, id, who, client, session, words, decision, tool, confidence, ran, \
     routing_ms, total_ms, cached, candidates, shape, arguments, quoting";

/// Bits of the number within a millisecond.
const NUMBER_BITS: u32 = 20;
/// The latest time that fits into a row number, some centuries ahead.
const LATEST: i64 = (1 << (63 - NUMBER_BITS)) - 1;

/// What may quote the words of a request.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Quoting {
    reasons: Vec<String>,
    /// The reasons of each candidate.
    candidates: Vec<Vec<String>>,
    question: Option<String>,
}

/// Returns the first row number of a time.
pub(crate) fn key(at_ms: i64) -> i64 {
    at_ms.clamp(0, LATEST) << NUMBER_BITS
}

/// Returns the time of a row number.
pub(crate) fn at_ms(key: i64) -> i64 {
    key >> NUMBER_BITS
}

/// Writes a route. The same name again replaces it.
pub(crate) fn insert(connection: &Connection, route: &Route) -> rusqlite::Result<()> {
    let key = free_key(connection, route)?;
    let mut statement = connection.prepare_cached(
        "INSERT INTO route (key, id, who, client, session, words, decision, tool, confidence, ran,
             routing_ms, total_ms, cached, marks)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
             coalesce((SELECT sum(DISTINCT verdict) FROM feedback WHERE route = ?2), 0))",
    )?;
    statement.execute(params![
        key,
        route.id,
        route.who,
        route.client,
        route.session,
        route.words,
        route.decision.name(),
        route.tool,
        route.confidence,
        route.ran,
        route.routing_ms,
        route.total_ms,
        route.cached
    ])?;
    let candidates: Vec<(&str, f64)> =
        route.candidates.iter().map(|candidate| (candidate.tool.as_str(), candidate.probability)).collect();
    let mut statement = connection.prepare_cached(
        "INSERT INTO detail (key, candidates, shape, arguments, quoting) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let quoting = route.words.as_ref().map(|_| Quoting {
        reasons: route.reasons.clone(),
        candidates: route.candidates.iter().map(|candidate| candidate.reasons.clone()).collect(),
        question: route.question.clone(),
    });
    statement.execute(params![
        key,
        json(&candidates),
        json(&route.shape),
        route.arguments.as_ref().map(json),
        quoting.as_ref().map(json)
    ])?;
    Ok(())
}

/// Reads a route from [`COLUMNS`].
pub(crate) fn route(row: &Row<'_>) -> rusqlite::Result<Route> {
    let quoting: Quoting =
        row.get::<_, Option<String>>(16)?.map_or(Ok(Quoting::default()), |text| parse(16, &text))?;
    let candidates: Vec<(String, f64)> = parse(13, row.get_ref(13)?.as_str()?)?;
    let mut reasons = quoting.candidates.into_iter();
    let candidates = candidates.into_iter().map(|(tool, probability)| Considered {
        tool,
        probability,
        reasons: reasons.next().unwrap_or_default(),
    });
    Ok(Route {
        at: at_ms(row.get(0)?),
        id: row.get(1)?,
        who: row.get(2)?,
        client: row.get(3)?,
        session: row.get(4)?,
        words: row.get(5)?,
        decision: decision(6, row.get_ref(6)?.as_str()?)?,
        tool: row.get(7)?,
        confidence: row.get(8)?,
        ran: row.get(9)?,
        routing_ms: row.get(10)?,
        total_ms: row.get(11)?,
        cached: row.get(12)?,
        candidates: candidates.collect(),
        shape: parse(14, row.get_ref(14)?.as_str()?)?,
        arguments: row.get::<_, Option<String>>(15)?.map(|text| parse::<Value>(15, &text)).transpose()?,
        reasons: quoting.reasons,
        question: quoting.question,
    })
}

/// Returns the row number of a route.
pub(crate) fn key_of(connection: &Connection, id: &str) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT key FROM route WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()
}

/// Reads a count; a sum of nothing is none.
pub(crate) fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, Option<i64>>(column)?.map_or(0, i64::unsigned_abs))
}

/// Reads the name of a decision.
pub(crate) fn decision(column: usize, name: &str) -> rusqlite::Result<RouteOutcome> {
    named(RouteOutcome::ALL.into_iter().find(|it| it.name() == name), column, name)
}

/// Returns what a name in a column stands for, or that nothing does.
pub(crate) fn named<T>(found: Option<T>, column: usize, name: &str) -> rusqlite::Result<T> {
    found.ok_or_else(|| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, format!("`{name}` is unknown").into())
    })
}

/// Returns the row number that a route is written to; an earlier one of the same name is removed.
fn free_key(connection: &Connection, route: &Route) -> rusqlite::Result<i64> {
    let first = key(route.at);
    let end = first + (1 << NUMBER_BITS);
    if let Some(known) = key_of(connection, &route.id)? {
        connection.prepare_cached("DELETE FROM detail WHERE key = ?1")?.execute([known])?;
        connection.prepare_cached("DELETE FROM route WHERE key = ?1")?.execute([known])?;
        if (first..end).contains(&known) {
            return Ok(known);
        }
    }
    let mut statement =
        connection.prepare_cached("SELECT max(key) FROM route WHERE key >= ?1 AND key < ?2")?;
    let last: Option<i64> = statement.query_row([first, end], |row| row.get(0))?;
    Ok(last.map_or(first, |last| last + 1))
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("own types serialise")
}

fn parse<T: for<'a> Deserialize<'a>>(column: usize, text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text)
        .map_err(|err| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(err)))
}
