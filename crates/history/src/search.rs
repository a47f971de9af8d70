//! Pages of routes, newest first.
//!
//! Every page is read through one index in the order of time. What the index does not answer is checked row by row,
//! over a bounded number of rows.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params_from_iter};

use crate::feedback::Rating;
use crate::route::{Page, Route, RouteSearch};
use crate::rows;

/// The most routes of a page.
const MOST: usize = 500;
/// The most rows that are checked for one page, where they lie one after the other.
const CHECKED_BY_TIME: i64 = 50_000;
/// The most rows that are checked for one page, where an index leads to each.
const CHECKED_BY_INDEX: i64 = 20_000;
/// Routes are counted up to this many; a larger total is not cheap.
const COUNTED: i64 = 10_000;

/// Returns a page of the routes that fit.
pub(crate) fn routes(connection: &mut Connection, search: &RouteSearch) -> rusqlite::Result<Page<Route>> {
    // One state for everything that is asked, whoever writes meanwhile.
    let state = connection.transaction()?;
    let query = Query::of(search);
    let end = match &search.before {
        // The oldest go first, so nothing is left behind a route that went.
        Some(id) => rows::key_of(&state, id)?.unwrap_or(0),
        None => i64::MAX,
    };
    let last = if query.checks.is_empty() { None } else { query.last_checked(&state, end)? };
    let limit = search.limit.clamp(1, MOST);
    let mut items = query.page(&state, end, last, limit + 1)?;
    let next = if items.len() > limit {
        items.truncate(limit);
        items.last().map(|route| route.id.clone())
    } else {
        last.map(|key| state.query_row("SELECT id FROM route WHERE key = ?1", [key], |row| row.get(0)))
            .transpose()?
    };
    let total = if query.checks.is_empty() {
        query.count(&state)?
    } else {
        (search.before.is_none() && next.is_none()).then(|| u64::try_from(items.len()).unwrap_or(u64::MAX))
    };
    Ok(Page { items, next, total })
}

/// Returns the route of a name.
pub(crate) fn route(connection: &Connection, id: &str) -> rusqlite::Result<Option<Route>> {
    let sql = format!("SELECT {} FROM route CROSS JOIN detail USING (key) WHERE id = ?1", rows::COLUMNS);
    connection.prepare_cached(&sql)?.query_row([id], rows::route).optional()
}

/// How a search is answered.
#[derive(Debug)]
pub(crate) struct Query {
    /// Which index gives the rows.
    index: &'static str,
    /// What the index answers.
    lead: Option<Condition>,
    /// What is checked row by row.
    checks: Vec<Condition>,
    /// The first row number.
    start: i64,
}

#[derive(Debug)]
struct Condition {
    sql: String,
    values: Vec<Value>,
}

impl Query {
    /// Decides how a search is answered: by the index that is likely to give the fewest rows.
    pub(crate) fn of(search: &RouteSearch) -> Self {
        let equal = |index, column: &str, value: &str| {
            (index, Condition { sql: format!("{column} = ?"), values: vec![Value::Text(value.to_owned())] })
        };
        let marked = |rating: Rating| {
            let index = match rating {
                Rating::Right => "INDEXED BY route_right",
                Rating::Wrong => "INDEXED BY route_wrong",
            };
            (index, Condition { sql: format!("marks & {}", rating.bit()), values: Vec::new() })
        };
        let by_index = [
            search.session.as_ref().map(|it| equal("INDEXED BY route_session", "session", it)),
            search.marked.map(marked),
            search.tool.as_ref().map(|it| equal("INDEXED BY route_tool", "tool", it)),
            search.server.as_ref().map(|it| equal("INDEXED BY route_server", "server", it)),
            search.decision.map(|it| equal("INDEXED BY route_decision", "decision", it.name())),
        ];
        let mut by_index = by_index.into_iter().flatten();
        let (index, lead) =
            by_index.next().map_or(("NOT INDEXED", None), |(index, lead)| (index, Some(lead)));
        let mut checks: Vec<Condition> = by_index.map(|(_, condition)| condition).collect();
        checks.extend(search.text.as_ref().filter(|text| !text.is_empty()).map(|text| contains(text)));
        Self { index, lead, checks, start: rows::key(search.since.unwrap_or(0)) }
    }

    /// Returns the statement that reads a page.
    pub(crate) fn page_sql(&self) -> String {
        let columns = rows::COLUMNS;
        let (index, conditions) = (self.index, self.conditions(self.lead.iter().chain(&self.checks)));
        format!(
            "SELECT {columns} FROM route {index} CROSS JOIN detail USING (key)
             WHERE {conditions} ORDER BY route.key DESC LIMIT ?"
        )
    }

    /// Returns the statement that finds the last row that is checked for a page.
    pub(crate) fn last_checked_sql(&self) -> String {
        let (index, conditions) = (self.index, self.conditions(self.lead.iter()));
        format!("SELECT key FROM route {index} WHERE {conditions} ORDER BY key DESC LIMIT 1 OFFSET ?")
    }

    /// Returns the statement that counts.
    pub(crate) fn count_sql(&self) -> String {
        let (index, conditions) = (self.index, self.conditions(self.lead.iter()));
        format!("SELECT count(*) FROM (SELECT 1 FROM route {index} WHERE {conditions} LIMIT ?)")
    }

    fn page(
        &self,
        connection: &Connection,
        end: i64,
        last_checked: Option<i64>,
        most: usize,
    ) -> rusqlite::Result<Vec<Route>> {
        let mut statement = connection.prepare_cached(&self.page_sql())?;
        let start = last_checked.unwrap_or(self.start);
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let values = values(end, start, self.lead.iter().chain(&self.checks), most);
        statement.query_map(params_from_iter(values), rows::route)?.collect()
    }

    /// Returns the last row that is checked, where there are more than can be.
    fn last_checked(&self, connection: &Connection, end: i64) -> rusqlite::Result<Option<i64>> {
        let mut statement = connection.prepare_cached(&self.last_checked_sql())?;
        let checked = if self.lead.is_some() { CHECKED_BY_INDEX } else { CHECKED_BY_TIME };
        let values = values(end, self.start, self.lead.iter(), checked - 1);
        statement.query_row(params_from_iter(values), |row| row.get(0)).optional()
    }

    fn count(&self, connection: &Connection) -> rusqlite::Result<Option<u64>> {
        let mut statement = connection.prepare_cached(&self.count_sql())?;
        let values = values(i64::MAX, self.start, self.lead.iter(), COUNTED + 1);
        let count: i64 = statement.query_row(params_from_iter(values), |row| row.get(0))?;
        Ok(u64::try_from(count).ok().filter(|_| count <= COUNTED))
    }

    fn conditions<'a>(&self, conditions: impl Iterator<Item = &'a Condition>) -> String {
        let conditions: String = conditions.map(|condition| format!(" AND {}", condition.sql)).collect();
        format!("route.key < ? AND route.key >= ?{conditions}")
    }
}

fn values<'a>(
    end: i64,
    start: i64,
    conditions: impl Iterator<Item = &'a Condition>,
    last: i64,
) -> impl Iterator<Item = Value> {
    let between = conditions.flat_map(|condition| condition.values.clone());
    [Value::Integer(end), Value::Integer(start)].into_iter().chain(between).chain([Value::Integer(last)])
}

/// Finds a text in the request or the tool's name. SQLite itself knows the case of ASCII letters only.
fn contains(text: &str) -> Condition {
    let mut spellings = vec![text.to_owned()];
    if !text.is_ascii() {
        spellings.extend([text.to_lowercase(), text.to_uppercase()]);
        spellings.dedup();
    }
    let pattern = |text: &String| {
        let escaped = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        Value::Text(format!("%{escaped}%"))
    };
    let values: Vec<Value> = spellings.iter().map(pattern).flat_map(|it| [it.clone(), it]).collect();
    let either = "words LIKE ? ESCAPE '\\' OR tool LIKE ? ESCAPE '\\'";
    Condition { sql: format!("({})", vec![either; spellings.len()].join(" OR ")), values }
}

#[cfg(test)]
mod tests;
