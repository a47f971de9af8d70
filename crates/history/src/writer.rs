//! The thread that writes routes.
//!
//! Keeping a route never delays the request that made it: a bounded queue takes it, what does not fit is dropped and
//! counted, and a disk that cannot be written is said once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::TransactionBehavior;

use crate::database::Database;
use crate::error::Error;
use crate::prune;
use crate::retention::Retention;
use crate::route::{Route, now_ms};
use crate::rows;

/// Routes that wait to be written; more are dropped.
const WAITING: usize = 4096;
/// How often old routes are removed.
const PRUNE_EVERY: Duration = Duration::from_secs(15 * 60);

/// Takes routes and has them written.
#[derive(Debug)]
pub(crate) struct Writer {
    jobs: Option<SyncSender<Job>>,
    task: Option<JoinHandle<()>>,
    progress: Arc<Progress>,
}

/// What the writer did not write, or not yet.
#[derive(Debug, Default)]
struct Progress {
    waiting: AtomicU64,
    dropped: AtomicU64,
    is_full: AtomicBool,
}

enum Job {
    Write(Box<Route>),
    /// Answers when everything before it is written.
    Flush(SyncSender<()>),
}

impl Writer {
    /// Starts to write into a database.
    pub(crate) fn start(database: Database, retention: Retention) -> Self {
        let (sender, jobs) = sync_channel(WAITING);
        let progress = Arc::new(Progress::default());
        let mut task = Task { database, retention, progress: Arc::clone(&progress), is_failing: false };
        let task = std::thread::spawn(move || task.run(&jobs));
        Self { jobs: Some(sender), task: Some(task), progress }
    }

    /// Has a route written, unless too many wait.
    pub(crate) fn write(&self, route: Route) {
        self.progress.waiting.fetch_add(1, Ordering::Relaxed);
        let sent = self.jobs.as_ref().map(|jobs| jobs.try_send(Job::Write(Box::new(route))));
        match sent {
            Some(Ok(())) => self.progress.is_full.store(false, Ordering::Relaxed),
            Some(Err(TrySendError::Full(_) | TrySendError::Disconnected(_))) | None => {
                self.progress.waiting.fetch_sub(1, Ordering::Relaxed);
                self.progress.dropped.fetch_add(1, Ordering::Relaxed);
                if !self.progress.is_full.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        "routes come faster than they can be kept; some are left out of the history"
                    );
                }
            }
        }
    }

    /// Returns how many routes were not written.
    pub(crate) fn dropped(&self) -> u64 {
        self.progress.dropped.load(Ordering::Relaxed)
    }

    /// Whether everything is written.
    pub(crate) fn is_idle(&self) -> bool {
        self.progress.waiting.load(Ordering::Acquire) == 0
    }

    /// Waits until everything is written.
    pub(crate) fn flush(&self) {
        let (done, written) = sync_channel(1);
        if let Some(jobs) = &self.jobs
            && jobs.send(Job::Flush(done)).is_ok()
        {
            // An error means that the writer ended, and then there is nothing to wait for.
            let _ = written.recv();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(task) = self.task.take() {
            let _ = task.join();
        }
    }
}

struct Task {
    database: Database,
    retention: Retention,
    progress: Arc<Progress>,
    is_failing: bool,
}

impl Task {
    fn run(&mut self, jobs: &Receiver<Job>) {
        let mut due = Instant::now();
        loop {
            if due <= Instant::now() {
                let retention = self.retention;
                let pruned = self.database.run(|connection| prune::prune(connection, retention, now_ms()));
                self.say_once(&pruned, "old routes could not be removed");
                due = Instant::now() + PRUNE_EVERY;
            }
            match jobs.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(job) => self.take(job, jobs),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Writes a job and those that wait behind it in one transaction.
    fn take(&mut self, first: Job, jobs: &Receiver<Job>) {
        let (mut routes, mut flushes) = (Vec::new(), Vec::new());
        let mut next = Some(first);
        while let Some(job) = next {
            match job {
                Job::Write(route) => routes.push(*route),
                Job::Flush(done) => flushes.push(done),
            }
            next = if routes.len() < self.retention.batch() { jobs.try_recv().ok() } else { None };
        }
        self.write(&routes);
        for done in flushes {
            let _ = done.send(());
        }
    }

    fn write(&mut self, routes: &[Route]) {
        if routes.is_empty() {
            return;
        }
        let retention = self.retention;
        let written = self.database.run(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for route in routes {
                rows::insert(&transaction, route)?;
            }
            transaction.commit()
        });
        let count = u64::try_from(routes.len()).unwrap_or(u64::MAX);
        if written.is_err() {
            self.progress.dropped.fetch_add(count, Ordering::Relaxed);
        }
        self.progress.waiting.fetch_sub(count, Ordering::Release);
        let fitted = written.and_then(|()| self.database.run(|connection| prune::fit(connection, retention)));
        self.say_once(&fitted, "routes are not kept");
    }

    fn say_once(&mut self, done: &Result<(), Error>, what: &str) {
        if let Err(err) = done
            && !self.is_failing
        {
            tracing::warn!("{what}: {err}");
        }
        self.is_failing = done.is_err();
    }
}
