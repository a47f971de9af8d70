//! Feedback and lessons as rows of the database.
//!
//! A number changes together with the lessons, in the same transaction, so that every hub on the file notices.

use rusqlite::{Connection, Row, TransactionBehavior, params};

use crate::feedback::{Feedback, FeedbackSource, Lesson, Rating};
use crate::rows::{count, named};

/// The newest lessons of a person that count, and as many that were undone.
const MOST: i64 = 5_000;

/// Whether a lesson counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Counts,
    Undone,
}

/// Writes feedback, and marks its route with it.
pub(crate) fn give(connection: &mut Connection, feedback: &Feedback) -> rusqlite::Result<()> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let replaced: Option<String> =
        change
            .query_row("SELECT max(route) FROM feedback WHERE id = ?1", [&feedback.id], |row| row.get(0))?;
    change.execute(
        "INSERT OR REPLACE INTO feedback (id, at, route, who, source, verdict, meant, weight, words)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            feedback.id,
            feedback.at,
            feedback.route,
            feedback.who,
            feedback.source.name(),
            feedback.verdict.bit(),
            feedback.meant,
            feedback.weight,
            feedback.words
        ],
    )?;
    for route in feedback.route.iter().chain(&replaced) {
        change.execute(
            "UPDATE route SET marks = coalesce((SELECT sum(DISTINCT verdict) FROM feedback WHERE route = ?1), 0)
             WHERE id = ?1",
            [route],
        )?;
    }
    change.commit()
}

/// Returns what was said about a route, oldest first.
pub(crate) fn feedback(connection: &Connection, route: &str) -> rusqlite::Result<Vec<Feedback>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, at, route, who, source, verdict, meant, weight, words FROM feedback
         WHERE route = ?1 ORDER BY at, rowid",
    )?;
    let rows = statement.query_map([route], |row| {
        Ok(Feedback {
            id: row.get(0)?,
            at: row.get(1)?,
            route: row.get(2)?,
            who: row.get(3)?,
            source: source(4, row.get_ref(4)?.as_str()?)?,
            verdict: rating(5, row.get(5)?)?,
            meant: row.get(6)?,
            weight: row.get(7)?,
            words: row.get(8)?,
        })
    })?;
    rows.collect()
}

/// Writes a lesson. The same name again replaces it, undone or not.
pub(crate) fn teach(connection: &mut Connection, lesson: &Lesson) -> rusqlite::Result<()> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    change.execute(
        "INSERT OR REPLACE INTO lesson (id, at, who, words, right_tool, wrong_tool, weight, source, route, undone)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0)",
        params![
            lesson.id,
            lesson.at,
            lesson.who,
            lesson.words,
            lesson.right,
            lesson.wrong,
            lesson.weight,
            lesson.source.name(),
            lesson.route
        ],
    )?;
    settle(&change, &lesson.who)?;
    change.commit()
}

/// Gives a lesson another standing; `false` where there is none that it could be given to.
pub(crate) fn set_standing(
    connection: &mut Connection,
    id: &str,
    standing: Standing,
) -> rusqlite::Result<bool> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut statement =
        change.prepare("UPDATE lesson SET undone = ?2 WHERE id = ?1 AND undone <> ?2 RETURNING who")?;
    let rows = statement.query_map(params![id, standing == Standing::Undone], |row| row.get(0))?;
    let who: Vec<String> = rows.collect::<rusqlite::Result<_>>()?;
    drop(statement);
    for who in &who {
        settle(&change, who)?;
    }
    change.commit()?;
    Ok(!who.is_empty())
}

/// Returns the lessons of a standing, oldest first.
pub(crate) fn lessons(connection: &Connection, standing: Standing) -> rusqlite::Result<Vec<Lesson>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, at, who, words, right_tool, wrong_tool, weight, source, route FROM lesson
         WHERE undone = ?1 ORDER BY at, rowid",
    )?;
    let rows = statement.query_map([standing == Standing::Undone], lesson)?;
    rows.collect()
}

/// Returns the number that changes with the lessons.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("SELECT value FROM counter WHERE name = 'lessons'")?
        .query_row([], |row| count(row, 0))
}

/// Reads the name of a source.
pub(crate) fn source(column: usize, name: &str) -> rusqlite::Result<FeedbackSource> {
    named(FeedbackSource::ALL.into_iter().find(|it| it.name() == name), column, name)
}

/// Reads the bit of a rating.
pub(crate) fn rating(column: usize, bit: i64) -> rusqlite::Result<Rating> {
    named(Rating::ALL.into_iter().find(|it| it.bit() == bit), column, &bit.to_string())
}

/// Keeps the lessons of a person in bounds and counts the change.
fn settle(change: &Connection, who: &str) -> rusqlite::Result<()> {
    for undone in [false, true] {
        change.execute(
            "DELETE FROM lesson WHERE rowid IN (
                 SELECT rowid FROM lesson WHERE who = ?1 AND undone = ?2
                 ORDER BY at DESC, rowid DESC LIMIT -1 OFFSET ?3)",
            params![who, undone, MOST],
        )?;
    }
    change.execute("UPDATE counter SET value = value + 1 WHERE name = 'lessons'", [])?;
    Ok(())
}

fn lesson(row: &Row<'_>) -> rusqlite::Result<Lesson> {
    Ok(Lesson {
        id: row.get(0)?,
        at: row.get(1)?,
        who: row.get(2)?,
        words: row.get(3)?,
        right: row.get(4)?,
        wrong: row.get(5)?,
        weight: row.get(6)?,
        source: source(7, row.get_ref(7)?.as_str()?)?,
        route: row.get(8)?,
    })
}
