//! The front door: keeps routes, takes feedback and lessons, and answers questions about them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::Connection;

use crate::database::{Database, Durability};
use crate::error::Error;
use crate::feedback::{Feedback, Lesson};
use crate::lessons::{self, Standing};
use crate::prune;
use crate::retention::Retention;
use crate::route::{Page, Route, RouteSearch, now_ms};
use crate::search;
use crate::summary::{self, SessionSummary, Summary};
use crate::writer::Writer;

/// The history of a folder. Several processes may have it open; clones share one.
#[derive(Clone, Debug)]
pub struct History(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    retention: Retention,
    writer: Writer,
    /// For what is shown to people, which may take a while.
    reader: Mutex<Database>,
    /// For feedback and lessons that are given.
    changes: Mutex<Database>,
    /// For lessons that are used. Routing asks for their version each time, so it waits for nobody else.
    lessons: Mutex<Database>,
}

impl History {
    /// Opens the history of a folder; both are made when they do not exist.
    ///
    /// A damaged file is moved aside and a new one begun.
    pub fn open(folder: &Path, retention: Retention) -> Result<Self, Error> {
        let database = |durability| Database::new(folder, retention, durability);
        let mut writing = database(Durability::Process);
        writing.run(|connection| lessons::version(connection))?;
        Ok(Self(Arc::new(Inner {
            folder: folder.to_owned(),
            retention,
            writer: Writer::start(writing, retention),
            reader: Mutex::new(database(Durability::Process)),
            changes: Mutex::new(database(Durability::Power)),
            lessons: Mutex::new(database(Durability::Process)),
        })))
    }

    /// Keeps a route, soon. Never waits; what comes too fast is dropped and counted. The same name again replaces
    /// the route.
    ///
    /// A route without words is kept without its question and reasons too, because they may quote the words.
    pub fn record(&self, route: Route) {
        self.0.writer.write(route.bounded());
    }

    /// Returns how many routes were not kept, because they came too fast or the disk could not be written.
    pub fn dropped(&self) -> u64 {
        self.0.writer.dropped()
    }

    /// Waits until every route that was recorded before is on the disk. Dropping the last clone does so, too.
    pub fn flush(&self) {
        self.0.writer.flush();
    }

    /// Returns a page of the routes that fit, newest first.
    ///
    /// What is recorded meanwhile neither repeats nor hides a route on later pages.
    pub fn routes(&self, search: &RouteSearch) -> Result<Page<Route>, Error> {
        self.read(|connection| search::routes(connection, search))
    }

    /// Returns the route of a name. One that was just recorded is waited for.
    pub fn route(&self, id: &str) -> Result<Option<Route>, Error> {
        let is_idle = self.0.writer.is_idle();
        let found = self.read(|connection| search::route(connection, id))?;
        if found.is_some() || is_idle {
            return Ok(found);
        }
        self.flush();
        self.read(|connection| search::route(connection, id))
    }

    /// Keeps feedback. It is on the disk when this returns.
    pub fn give(&self, feedback: Feedback) -> Result<(), Error> {
        let feedback = feedback.bounded();
        self.0.changes.lock().run(|connection| lessons::give(connection, &feedback))
    }

    /// Returns what was said about a route, oldest first.
    pub fn feedback(&self, route: &str) -> Result<Vec<Feedback>, Error> {
        self.read(|connection| lessons::feedback(connection, route))
    }

    /// Counts what happened since a time, in intervals of a length.
    pub fn summary(&self, since_ms: i64, step_ms: i64) -> Result<Summary, Error> {
        self.read(|connection| summary::summary(connection, since_ms, step_ms))
    }

    /// Returns the sessions that were active since a time, the latest first. Sessions with nothing among the
    /// newest 50,000 routes are left out.
    pub fn sessions(&self, since_ms: i64, limit: usize) -> Result<Vec<SessionSummary>, Error> {
        self.read(|connection| summary::sessions(connection, since_ms, limit))
    }

    /// Keeps a lesson. It is on the disk when this returns. The same name again replaces it.
    ///
    /// Of each person the newest 5,000 are kept.
    pub fn teach(&self, lesson: Lesson) -> Result<(), Error> {
        let lesson = lesson.bounded();
        self.0.changes.lock().run(|connection| lessons::teach(connection, &lesson))
    }

    /// Returns the lessons that count, oldest first.
    pub fn lessons(&self) -> Result<Vec<Lesson>, Error> {
        self.0.lessons.lock().run(|connection| lessons::lessons(connection, Standing::Counts))
    }

    /// Makes a lesson count for nothing; `false` where no lesson of that name counts.
    pub fn undo(&self, id: &str) -> Result<bool, Error> {
        self.0.changes.lock().run(|connection| lessons::set_standing(connection, id, Standing::Undone))
    }

    /// Returns the lessons that were undone, oldest first.
    pub fn undone(&self) -> Result<Vec<Lesson>, Error> {
        self.0.lessons.lock().run(|connection| lessons::lessons(connection, Standing::Undone))
    }

    /// Makes a lesson count again; `false` where none of that name was undone.
    pub fn redo(&self, id: &str) -> Result<bool, Error> {
        self.0.changes.lock().run(|connection| lessons::set_standing(connection, id, Standing::Counts))
    }

    /// Returns a number that changes whenever lessons do, also by another process. Cheap.
    pub fn lessons_version(&self) -> Result<u64, Error> {
        self.0.lessons.lock().run(|connection| lessons::version(connection))
    }

    /// Removes what is too old or does not fit. The writer does so by itself.
    pub fn prune(&self) -> Result<(), Error> {
        self.prune_at(now_ms())
    }

    /// Removes what is too old at a time, in milliseconds since 1970, or does not fit.
    pub fn prune_at(&self, now_ms: i64) -> Result<(), Error> {
        self.flush();
        // A connection of its own: it takes a while, and nobody is to wait for it.
        let retention = self.0.retention;
        Database::new(&self.0.folder, retention, Durability::Process)
            .run(|connection| prune::prune(connection, retention, now_ms))
    }

    fn read<T>(&self, work: impl FnMut(&mut Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        self.0.reader.lock().run(work)
    }
}
