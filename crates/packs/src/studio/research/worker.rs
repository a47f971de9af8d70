//! A research in the background.
//!
//! Whoever works on a research holds a lease on it, so that two programs never work on the same one, and one that was
//! left behind is taken up again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use rusqlite::params;
use serde_json::{Value, json};

use super::{RUNNING, Research, written};
use crate::{
    Clock,
    reply::Refusal,
    sandbox::Sandbox,
    studio::{Studio, interrupt, outside::Outside, store::Store},
};

/// A step may take this long, in seconds, before another program may take the research over.
const LEASE: i64 = 600;
const MOST_QUERIES: usize = 4;

/// What the researches of one studio share: the wish to end, and news for those who wait.
#[derive(Debug, Default)]
pub(in crate::studio) struct Background {
    ends: AtomicBool,
    steps: Mutex<()>,
    news: Condvar,
}

/// Works on a research with a connection of its own.
pub(super) struct Worker {
    store: Store,
    sandbox: Sandbox,
    outside: Outside,
    clock: Clock,
    background: Arc<Background>,
}

/// How a research ends.
enum End {
    Done(String),
    Failed(String),
    /// The user asked for it.
    Stopped,
    /// The program ends; somebody else goes on.
    Left,
}

impl Background {
    /// Waits until something holds, at most for this many seconds.
    pub(in crate::studio) fn wait(&self, seconds: usize, holds: impl Fn() -> bool) {
        let until = Instant::now() + Duration::from_secs(seconds as u64);
        // News come with this lock, so none is missed between a look and the wait.
        let mut steps = self.steps.lock();
        while !holds() && Instant::now() < until {
            // Another program may work on it, and sends no news.
            let soon = Instant::now() + Duration::from_secs(1);
            self.news.wait_until(&mut steps, until.min(soon));
        }
    }

    /// Lets every research end at its next step.
    pub(in crate::studio) fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
    }

    fn tell(&self) {
        let _steps = self.steps.lock();
        self.news.notify_all();
    }
}

impl Worker {
    pub(super) fn new(studio: &Studio, outside: &Outside) -> Result<Self, Refusal> {
        Ok(Self {
            store: Store::open(&studio.folder)?,
            sandbox: Sandbox::open(&studio.folder)?,
            outside: outside.clone(),
            clock: studio.clock.clone(),
            background: Arc::clone(&studio.background),
        })
    }

    /// Starts to work on a research unless somebody does already.
    pub(super) fn start(self, id: i64) -> Result<(), Refusal> {
        let now = self.clock.now().timestamp().as_second();
        let sql = "UPDATE research SET lease = ?2 WHERE id = ?1 AND status = ?3 AND lease < ?4";
        let taken =
            self.store.write(|writing| Ok(writing.execute(sql, params![id, now + LEASE, RUNNING, now])?))?;
        if taken == 0 {
            return Ok(());
        }
        // The thread ends by itself at the next step after the studio is closed; what it found is kept.
        thread::Builder::new().name(format!("research {id}")).spawn(move || self.work(id))?;
        Ok(())
    }

    fn work(&self, id: i64) {
        let end = self.steps(id).unwrap_or_else(|error| End::Failed(error.text().to_owned()));
        let (status, report) = match &end {
            End::Done(report) => ("done", report.as_str()),
            End::Failed(why) => ("failed", why.as_str()),
            End::Stopped => ("stopped", "Stop was asked for; request it again to go on"),
            End::Left => (RUNNING, ""),
        };
        // Where even this cannot be written, the lease runs out and the research is taken up again.
        let _ = self.store.write(|writing| {
            let sql = "UPDATE research SET status = ?2, report = ?3, lease = 0 WHERE id = ?1";
            Ok(writing.execute(sql, params![id, status, report])?)
        });
        self.background.tell();
    }

    fn steps(&self, id: i64) -> Result<End, Refusal> {
        let mut research = self.store.read(|connection| Research::read(connection, id))?;
        if research.queries.is_empty() {
            research.queries = self.plan(&research.question);
            let queries = json!(research.queries).to_string();
            self.store.write(|writing| {
                Ok(writing.execute("UPDATE research SET queries = ?2 WHERE id = ?1", params![id, queries])?)
            })?;
        }
        let mut problems = Vec::new();
        for query in &research.queries {
            if research.found.iter().any(|(known, _)| known == query) {
                continue;
            }
            if self.background.ends.load(Ordering::Relaxed) {
                return Ok(End::Left);
            }
            if interrupt::asked(&self.sandbox) {
                return Ok(End::Stopped);
            }
            match self.outside.services().search(query) {
                Ok(hits) => self.record(id, query, &written(&hits))?,
                Err(error) => problems.push(error),
            }
            self.background.tell();
        }
        let research = self.store.read(|connection| Research::read(connection, id))?;
        if research.found.is_empty() {
            return Ok(End::Failed(format!("the web could not be searched: {}", problems.join("; "))));
        }
        if self.background.ends.load(Ordering::Relaxed) {
            return Ok(End::Left);
        }
        Ok(End::Done(self.report(&research, &problems)))
    }

    /// Writes down what a query found, and holds on to the research.
    fn record(&self, id: i64, query: &str, hits: &[Value]) -> Result<(), Refusal> {
        let now = self.clock.now().timestamp();
        self.store.write(|writing| {
            writing.execute(
                "INSERT INTO finding (research, query, hits, created) VALUES (?1, ?2, ?3, ?4)",
                params![id, query, Value::from(hits).to_string(), now.to_string()],
            )?;
            writing.execute(
                "UPDATE research SET lease = ?2 WHERE id = ?1",
                params![id, now.as_second() + LEASE],
            )?;
            Ok(())
        })
    }

    /// Turns the question into queries; a model, where one is offered, adds some.
    fn plan(&self, question: &str) -> Vec<String> {
        let mut queries = vec![question.to_owned()];
        if self.outside.abilities().answers {
            let prompt = format!(
                "Write {} web search queries, one on each line and nothing else, that together answer this question: \
                 {question}",
                MOST_QUERIES - 1
            );
            // Without the model's help the question itself is searched for.
            let more = self.outside.services().answer(&prompt, &[]).unwrap_or_default();
            let clean = |line: &str| line.trim().trim_start_matches(['-', '*', ' ']).to_owned();
            for query in more.lines().map(clean).filter(|it| !it.is_empty() && it.len() <= 300) {
                if !queries.contains(&query) && queries.len() < MOST_QUERIES {
                    queries.push(query);
                }
            }
        }
        queries
    }

    fn report(&self, research: &Research, problems: &[String]) -> String {
        let mut list = String::new();
        for (query, hits) in &research.found {
            list.push_str(&format!("## {query}\n\n"));
            for hit in hits {
                let said = |name: &str| hit[name].as_str().unwrap_or_default().to_owned();
                list.push_str(&format!("- {} ({}): {}\n", said("title"), said("url"), said("snippet")));
            }
            list.push('\n');
        }
        for problem in problems {
            list.push_str(&format!("Not searched: {problem}\n"));
        }
        if !self.outside.abilities().answers {
            return list;
        }
        let prompt = format!(
            "Answer this question from the search results below, with the addresses as sources, and say what they do \
             not answer.\n\nQuestion: {}\n\n{list}",
            research.question
        );
        match self.outside.services().answer(&prompt, &[]) {
            Ok(report) => report,
            Err(error) => format!("The model could not be asked: {error}\n\n{list}"),
        }
    }
}
