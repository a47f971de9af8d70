//! Numbers for charts.
//!
//! Few routes are counted one by one. Many are not: the database keeps tallies of them, and a summary of many is in
//! whole hours and slots, and says so in what it returns.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use crate::feedback::{FeedbackSource, Rating};
use crate::lessons::{rating, source};
use crate::route::RouteOutcome;
use crate::rows::{self, at_ms, count as number, key};

/// The most intervals of a summary; longer ones are taken where there would be more.
const INTERVALS: i64 = 2_000;
/// The longest interval, a century.
const LONGEST_MS: i64 = 36_525 * 24 * HOUR_MS;
/// So many routes are counted one by one; of more, the tallies are added up.
const COUNTED: i64 = 20_000;
/// The length of a slot of `decision_tally`.
const SLOT_MS: i64 = 300_000;
/// The length of a slot of `tool_tally`.
const HOUR_MS: i64 = 3_600_000;
/// Tools and failures that are listed.
const LISTED: i64 = 20;
/// The newest routes in which sessions are looked for.
const ROUTES_FOR_SESSIONS: i64 = 50_000;
/// The newest routes of a session in which its tools are looked for.
const ROUTES_OF_SESSION: i64 = 1_000;

/// The statements of a summary.
pub(crate) struct Statements {
    /// Counts by interval and decision.
    pub(crate) intervals: &'static str,
    /// Counts by tool.
    pub(crate) tools: &'static str,
    /// Counts by tool and ending.
    pub(crate) failures: &'static str,
}

/// Counts the routes themselves.
pub(crate) const EXACT: Statements = Statements {
    intervals: "
        SELECT ((key >> 20) - ?2) / ?3, decision, count(*), sum(cached), sum(routing_ms), sum(total_ms)
        FROM route NOT INDEXED WHERE key >= ?1 << 20 GROUP BY 1, 2",
    tools: "
        SELECT tool, count(*), sum(ending IN ('failed', 'refused', 'unreachable')), avg(total_ms)
        FROM route NOT INDEXED WHERE key >= ?1 << 20 AND tool IS NOT NULL
        GROUP BY tool ORDER BY 2 DESC, 1 LIMIT ?2",
    failures: "
        SELECT tool, ending, count(*) FROM route NOT INDEXED
        WHERE key >= ?1 << 20 AND ending NOT IN ('', 'answered')
        GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT ?2",
};

/// Adds the tallies up.
pub(crate) const TALLIED: Statements = Statements {
    intervals: "
        SELECT (slot * 300000 - ?2) / ?3, decision, sum(routes), sum(cached), sum(routing_ms), sum(total_ms)
        FROM decision_tally WHERE slot >= ?1 / 300000 GROUP BY 1, 2",
    tools: "
        SELECT tool, sum(routes), sum(iif(ending IN ('failed', 'refused', 'unreachable'), routes, 0)),
            sum(total_ms) / sum(routes)
        FROM tool_tally WHERE hour >= ?1 / 3600000 AND tool <> ''
        GROUP BY tool ORDER BY 2 DESC, 1 LIMIT ?2",
    failures: "
        SELECT nullif(tool, ''), ending, sum(routes) FROM tool_tally
        WHERE hour >= ?1 / 3600000 AND ending NOT IN ('', 'answered')
        GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT ?2",
};

pub(crate) const MANY_SQL: &str = "
    SELECT 1 FROM route NOT INDEXED WHERE key >= ?1 LIMIT 1 OFFSET ?2";
pub(crate) const FEEDBACK_SQL: &str = "
    SELECT source, verdict, count(*) FROM feedback INDEXED BY feedback_at WHERE at >= ?1 GROUP BY 1, 2";
pub(crate) const SESSIONS_SQL: &str = "
    SELECT session FROM (
        SELECT key, session FROM route NOT INDEXED WHERE key >= ?1 AND session IS NOT NULL
        ORDER BY key DESC LIMIT ?2)
    GROUP BY session ORDER BY max(key) DESC LIMIT ?3";
pub(crate) const SESSION_SQL: &str = "
    SELECT min(key), max(key), count(*) FROM route INDEXED BY route_session WHERE session = ?1 AND key >= ?2";
pub(crate) const SESSION_TOOLS_SQL: &str = "
    SELECT tool FROM (
        SELECT tool FROM route INDEXED BY route_session WHERE session = ?1 AND key >= ?2
        ORDER BY key DESC LIMIT ?3)
    WHERE tool IS NOT NULL GROUP BY tool ORDER BY count(*) DESC, tool LIMIT ?4";

/// What happened since a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Since when, in milliseconds since 1970. The beginning of the hour where there are many routes.
    pub since: i64,
    /// How long an interval is, in milliseconds. Where there are many routes it is a multiple of five minutes, and
    /// longer than asked for where there would be too many intervals.
    pub step: i64,
    /// How many routes there were.
    pub routes: u64,
    /// How many were decided how.
    pub decisions: BTreeMap<RouteOutcome, u64>,
    /// How many were remembered from an equal request.
    pub cached: u64,
    /// How long a decision took on average.
    pub routing_ms: f64,
    /// How long everything took on average.
    pub total_ms: f64,
    /// The intervals in which there were routes, oldest first.
    pub intervals: Vec<Interval>,
    /// The tools that were chosen most often.
    pub tools: Vec<ToolCount>,
    /// How calls ended that were not answered, the most frequent first.
    pub failures: Vec<FailureCount>,
    /// What people said.
    pub feedback: Vec<FeedbackCount>,
}

/// What happened in one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interval {
    /// When it begins, in milliseconds since 1970.
    pub at: i64,
    /// How many routes there were.
    pub routes: u64,
    /// How many were decided how.
    pub decisions: BTreeMap<RouteOutcome, u64>,
    /// How many were remembered from an equal request.
    pub cached: u64,
    /// How long a decision took on average.
    pub routing_ms: f64,
    /// How long everything took on average.
    pub total_ms: f64,
}

/// How often a tool was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCount {
    /// The tool as `server__tool`.
    pub tool: String,
    /// How often it was chosen.
    pub routes: u64,
    /// How often its call failed, was refused by the server or did not reach it.
    pub failed: u64,
    /// How long everything took on average.
    pub total_ms: f64,
}

/// How often calls of a tool ended otherwise than with an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailureCount {
    /// The tool as `server__tool`, where one was chosen.
    pub tool: Option<String>,
    /// How the call ended, as in [`crate::Route::ran`].
    pub ran: String,
    /// How often.
    pub routes: u64,
}

/// How often a source said that routes were right or wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FeedbackCount {
    /// Where it comes from.
    pub source: FeedbackSource,
    /// What it says.
    pub verdict: Rating,
    /// How often.
    pub count: u64,
}

/// What happened in one session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    /// The session.
    pub session: String,
    /// Its client, as of the newest route.
    pub client: String,
    /// Whose it is.
    pub who: String,
    /// When its first route since the time asked for was, in milliseconds since 1970.
    pub first: i64,
    /// When its last route was.
    pub last: i64,
    /// How many routes it has since the time asked for.
    pub routes: u64,
    /// The tools that its newest routes chose, the most frequent first.
    pub tools: Vec<String>,
}

/// Counts what happened since a time, in intervals of a length.
pub(crate) fn summary(connection: &mut Connection, since_ms: i64, step_ms: i64) -> rusqlite::Result<Summary> {
    let state = connection.transaction()?;
    let since = since_ms.max(0);
    let mut summary = Summary { since, step: step_ms.clamp(1, LONGEST_MS), ..Summary::default() };
    let first = |sql: &str| -> rusqlite::Result<Option<i64>> {
        state.prepare_cached(sql)?.query_row([key(since)], |row| row.get(0))
    };
    let oldest = first("SELECT min(key) FROM route WHERE key >= ?1")?.map(at_ms);
    let newest = first("SELECT max(key) FROM route WHERE key >= ?1")?.map(at_ms);
    if let (Some(oldest), Some(newest)) = (oldest, newest) {
        summary.step = summary.step.max((newest - oldest) / INTERVALS + 1);
    }
    let mut statement = state.prepare_cached(MANY_SQL)?;
    let is_much = statement.exists(params![key(since), COUNTED])?;
    if is_much {
        summary.since -= summary.since % HOUR_MS;
        summary.step = (summary.step - 1) / SLOT_MS * SLOT_MS + SLOT_MS;
    }
    count(&state, &mut summary, if is_much { &TALLIED } else { &EXACT })?;
    let mut statement = state.prepare_cached(FEEDBACK_SQL)?;
    let feedback = statement.query_map([summary.since], |row| {
        Ok(FeedbackCount {
            source: source(0, row.get_ref(0)?.as_str()?)?,
            verdict: rating(1, row.get(1)?)?,
            count: number(row, 2)?,
        })
    })?;
    summary.feedback = feedback.collect::<rusqlite::Result<_>>()?;
    Ok(summary)
}

/// Returns the sessions that were active last.
pub(crate) fn sessions(
    connection: &mut Connection,
    since_ms: i64,
    limit: usize,
) -> rusqlite::Result<Vec<SessionSummary>> {
    let state = connection.transaction()?;
    let since = key(since_ms);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = state.prepare_cached(SESSIONS_SQL)?;
    let names = statement.query_map(params![since, ROUTES_FOR_SESSIONS, limit], |row| row.get(0))?;
    let names: Vec<String> = names.collect::<rusqlite::Result<_>>()?;
    names.into_iter().map(|session| session_summary(&state, session, since)).collect()
}

fn session_summary(state: &Connection, session: String, since: i64) -> rusqlite::Result<SessionSummary> {
    let (first, last, routes): (i64, i64, u64) = state
        .prepare_cached(SESSION_SQL)?
        .query_row(params![session, since], |row| Ok((row.get(0)?, row.get(1)?, number(row, 2)?)))?;
    let (client, who) = state
        .prepare_cached("SELECT client, who FROM route WHERE key = ?1")?
        .query_row([last], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut statement = state.prepare_cached(SESSION_TOOLS_SQL)?;
    let tools = statement.query_map(params![session, since, ROUTES_OF_SESSION, LISTED], |row| row.get(0))?;
    let tools = tools.collect::<rusqlite::Result<_>>()?;
    Ok(SessionSummary { session, client, who, first: at_ms(first), last: at_ms(last), routes, tools })
}

/// Counts routes, tools and failures.
fn count(state: &Connection, summary: &mut Summary, statements: &Statements) -> rusqlite::Result<()> {
    count_intervals(state, summary, statements)?;
    let mut statement = state.prepare_cached(statements.tools)?;
    let tools = statement.query_map(params![summary.since, LISTED], |row| {
        Ok(ToolCount {
            tool: row.get(0)?,
            routes: number(row, 1)?,
            failed: number(row, 2)?,
            total_ms: row.get(3)?,
        })
    })?;
    summary.tools = tools.collect::<rusqlite::Result<_>>()?;
    let mut statement = state.prepare_cached(statements.failures)?;
    let failures = statement.query_map(params![summary.since, LISTED], |row| {
        Ok(FailureCount { tool: row.get(0)?, ran: row.get(1)?, routes: number(row, 2)? })
    })?;
    summary.failures = failures.collect::<rusqlite::Result<_>>()?;
    Ok(())
}

/// Counts the routes of each interval. Until all are counted, the times are sums.
fn count_intervals(
    state: &Connection,
    summary: &mut Summary,
    statements: &Statements,
) -> rusqlite::Result<()> {
    let mut statement = state.prepare_cached(statements.intervals)?;
    let mut rows = statement.query(params![summary.since, summary.since, summary.step])?;
    while let Some(row) = rows.next()? {
        let at = summary.since + row.get::<_, i64>(0)? * summary.step;
        let decision = rows::decision(1, row.get_ref(1)?.as_str()?)?;
        let (routes, cached): (u64, u64) = (number(row, 2)?, number(row, 3)?);
        let (routing_ms, total_ms): (f64, f64) = (row.get(4)?, row.get(5)?);
        if summary.intervals.last().is_none_or(|last| last.at != at) {
            summary.intervals.push(Interval { at, ..Interval::default() });
        }
        let interval = summary.intervals.last_mut().expect("was pushed above");
        interval.routes += routes;
        interval.cached += cached;
        interval.routing_ms += routing_ms;
        interval.total_ms += total_ms;
        interval.decisions.insert(decision, routes);
        summary.routes += routes;
        summary.cached += cached;
        summary.routing_ms += routing_ms;
        summary.total_ms += total_ms;
        *summary.decisions.entry(decision).or_default() += routes;
    }
    for interval in &mut summary.intervals {
        interval.routing_ms = mean(interval.routing_ms, interval.routes);
        interval.total_ms = mean(interval.total_ms, interval.routes);
    }
    summary.routing_ms = mean(summary.routing_ms, summary.routes);
    summary.total_ms = mean(summary.total_ms, summary.routes);
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "nobody counts so many routes")]
fn mean(sum: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}

#[cfg(test)]
mod tests;
