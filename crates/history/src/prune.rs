//! Forgetting: words after their days, routes after theirs, and the oldest routes when the file is too large.
//!
//! Everything goes in small transactions, so that nobody who writes waits long. Feedback goes with its route unless
//! a lesson was made from it. Lessons stay.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use crate::database::{PATIENCE, beside};
use crate::retention::Retention;
use crate::rows::{at_ms, key};

/// How long emptying the log waits for somebody who reads from it. It is tried again later.
const CHECKPOINT_PATIENCE: Duration = Duration::from_millis(200);
/// Pages that are given back to the operating system in one transaction.
const PAGES: i64 = 256;

/// Feedback that no lesson was made from.
const WITHOUT_LESSON: &str =
    "NOT EXISTS (SELECT 1 FROM lesson WHERE lesson.id = feedback.id OR lesson.route = feedback.route)";
/// Feedback about no route, or about one that is not kept.
const WITHOUT_ROUTE: &str =
    "(route IS NULL OR NOT EXISTS (SELECT 1 FROM route WHERE route.id = feedback.route))";

/// Removes whatever is too old at a time, and then whatever does not fit.
pub(crate) fn prune(connection: &mut Connection, retention: Retention, now_ms: i64) -> rusqlite::Result<()> {
    let batch = batch(retention);
    let words = retention.oldest_words(now_ms);
    while changing(connection, |change| forget_words(change, words, batch))? {}
    let oldest = retention.oldest(now_ms);
    while changing(connection, |change| drop_routes(change, key(oldest), batch))? {}
    while changing(connection, |change| drop_feedback(change, oldest, batch))? {}
    shrink(connection, retention)?;
    give_back(connection)?;
    checkpoint(connection)
}

/// Brings the file back into its bound when it is beyond. Cheap when it is not.
pub(crate) fn fit(connection: &mut Connection, retention: Retention) -> rusqlite::Result<()> {
    if retention.file_bytes() < size(connection)?.file_bytes {
        shrink(connection, retention)?;
        give_back(connection)?;
        return checkpoint(connection);
    }
    let log = connection.path().map(|path| beside(Path::new(path), "-wal"));
    let log_bytes = log.and_then(|log| std::fs::metadata(log).ok()).map_or(0, |log| log.len());
    if 2 * retention.log_bytes() < log_bytes { checkpoint(connection) } else { Ok(()) }
}

/// How large the file is.
struct Size {
    /// Everything, except the log.
    file_bytes: u64,
    /// What is in use.
    used_bytes: u64,
    /// Pages that are not.
    free_pages: i64,
}

fn size(connection: &Connection) -> rusqlite::Result<Size> {
    let mut statement = connection.prepare_cached(
        "SELECT page_count, page_size, freelist_count
         FROM pragma_page_count(), pragma_page_size(), pragma_freelist_count()",
    )?;
    statement.query_row([], |row| {
        let (pages, page, free): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let bytes = |pages: i64| u64::try_from(pages * page).unwrap_or(0);
        Ok(Size { file_bytes: bytes(pages), used_bytes: bytes(pages - free), free_pages: free })
    })
}

/// Makes a change in a transaction of its own; says whether there is more to do.
fn changing(
    connection: &mut Connection,
    change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<bool>,
) -> rusqlite::Result<bool> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let is_changed = change(&transaction)?;
    transaction.commit()?;
    Ok(is_changed)
}

fn forget_words(change: &Transaction<'_>, before_ms: i64, batch: i64) -> rusqlite::Result<bool> {
    let which = "SELECT key FROM route INDEXED BY route_words
                 WHERE words IS NOT NULL AND key < ?1 ORDER BY key LIMIT ?2";
    let mut count = 0;
    for set in ["UPDATE detail SET quoting = NULL", "UPDATE route SET words = NULL"] {
        let mut statement = change.prepare_cached(&format!("{set} WHERE key IN ({which})"))?;
        count = statement.execute(params![key(before_ms), batch])?;
    }
    let mut statement = change.prepare_cached(
        "UPDATE feedback SET words = NULL WHERE rowid IN (
             SELECT rowid FROM feedback WHERE at < ?1 AND words IS NOT NULL LIMIT ?2)",
    )?;
    count += statement.execute(params![before_ms, batch])?;
    Ok(count > 0)
}

/// Removes the oldest routes that come before a row number, and the feedback that goes with them.
fn drop_routes(change: &Transaction<'_>, before: i64, batch: i64) -> rusqlite::Result<bool> {
    let mut statement = change.prepare_cached(
        "SELECT max(key) FROM (SELECT key FROM route WHERE key < ?1 ORDER BY key LIMIT ?2)",
    )?;
    let last: Option<i64> = statement.query_row(params![before, batch], |row| row.get(0))?;
    let Some(last) = last else { return Ok(false) };
    for sql in [
        &format!(
            "DELETE FROM feedback WHERE route IN (SELECT id FROM route WHERE key <= ?1) AND {WITHOUT_LESSON}"
        ),
        "DELETE FROM detail WHERE key <= ?1",
        "DELETE FROM route WHERE key <= ?1",
    ] {
        change.prepare_cached(sql)?.execute([last])?;
    }
    Ok(true)
}

/// Removes old feedback that has neither route nor lesson.
fn drop_feedback(change: &Transaction<'_>, before_ms: i64, batch: i64) -> rusqlite::Result<bool> {
    let mut statement = change.prepare_cached(&format!(
        "DELETE FROM feedback WHERE rowid IN (
             SELECT rowid FROM feedback WHERE at < ?1 AND {WITHOUT_ROUTE} AND {WITHOUT_LESSON}
             ORDER BY at LIMIT ?2)"
    ))?;
    Ok(statement.execute(params![before_ms, batch])? > 0)
}

/// Removes the oldest routes until the rest fits, with the feedback of their time.
fn shrink(connection: &mut Connection, retention: Retention) -> rusqlite::Result<()> {
    let now = size(connection)?;
    if now.used_bytes <= retention.file_bytes() && now.file_bytes <= retention.file_bytes() {
        return Ok(());
    }
    let batch = batch(retention);
    while retention.roomy_bytes() < size(connection)?.used_bytes {
        let is_less = changing(connection, |change| {
            let is_less = drop_routes(change, i64::MAX, batch)?;
            let oldest: Option<i64> =
                change.prepare_cached("SELECT min(key) FROM route")?.query_row([], |row| row.get(0))?;
            Ok(drop_feedback(change, oldest.map_or(i64::MAX, at_ms), batch)? || is_less)
        })?;
        if !is_less {
            tracing::warn!("the lessons alone take more room than the history may have; give it more bytes");
            break;
        }
    }
    Ok(())
}

/// Gives free pages back to the operating system.
fn give_back(connection: &Connection) -> rusqlite::Result<()> {
    let mut free = size(connection)?.free_pages;
    while free > 0 {
        let mut statement = connection.prepare_cached(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        let rest = size(connection)?.free_pages;
        if free <= rest {
            break;
        }
        free = rest;
    }
    Ok(())
}

/// Brings the log into the file and empties it.
fn checkpoint(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(CHECKPOINT_PATIENCE)?;
    let done = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    connection.busy_timeout(PATIENCE)?;
    match done {
        // Somebody reads from the log. It is emptied the next time.
        Err(err) if err.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => Ok(()),
        done => done,
    }
}

fn batch(retention: Retention) -> i64 {
    i64::try_from(retention.batch()).unwrap_or(i64::MAX)
}
