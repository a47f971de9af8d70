//! What people said about earlier decisions, ready for the ranking.
//!
//! Lessons lie in the history, where several processes may add some. They are read again when the history says
//! that they changed, so that a correction counts from the next request on, whoever made it and wherever.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use toolyard_core::decide::normalised;
use toolyard_core::index::spoken;
use toolyard_core::lessons::{self, Lessons};
use toolyard_encoder::Packed;
use toolyard_history::{FeedbackSource, History, Retention};

use crate::meaning::{Meanings, Published};

/// How long it is believed that other processes changed nothing.
const BELIEVED: Duration = Duration::from_millis(500);

/// The lessons of a history.
#[derive(Debug)]
pub(crate) struct Learnt {
    history: Option<History>,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    lessons: Arc<Lessons>,
    /// What the history called them.
    version: u64,
    /// Whether they have vectors, and of which series.
    series: Option<u64>,
    /// Tells them from those before.
    number: u64,
    checked: Option<Instant>,
}

/// The lessons that a decision is made with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) lessons: Arc<Lessons>,
    /// Tells them from others; part of what a decision is remembered under.
    pub(crate) number: u64,
}

impl Learnt {
    /// Opens the history of a store's folder. A hub works without one.
    pub(crate) fn open(folder: &Path, retention: Option<Retention>) -> Self {
        // A history makes its file for its owner alone; one that was widened since is narrowed.
        crate::private::narrow_database(&folder.join("history.db"));
        let history = retention.and_then(|retention| match History::open(folder, retention) {
            Ok(history) => Some(history),
            Err(err) => {
                tracing::warn!("what is decided is not kept: {err}");
                None
            }
        });
        Self { history, held: Mutex::default() }
    }

    /// Returns the history, where one is kept.
    pub(crate) fn history(&self) -> Option<&History> {
        self.history.as_ref()
    }

    /// Says that lessons changed just now.
    pub(crate) fn changed(&self) {
        self.held.lock().checked = None;
    }

    /// Returns the lessons as they are now, with vectors where a model is ready.
    pub(crate) async fn known(&self, meanings: &Meanings, published: Option<&Arc<Published>>) -> Known {
        let Some(history) = &self.history else { return Known::default() };
        let series = published.map(|it| it.series().0);
        {
            let mut held = self.held.lock();
            let is_fresh = held.checked.is_some_and(|at| at.elapsed() < BELIEVED);
            if is_fresh && held.series == series {
                return held.known();
            }
            let version = history.lessons_version().unwrap_or(held.version);
            held.checked = Some(Instant::now());
            if held.version == version && (held.series == series || held.lessons.is_empty()) {
                held.series = series;
                return held.known();
            }
        }
        let version = history.lessons_version().unwrap_or_default();
        let all = match history.lessons() {
            Ok(all) => all,
            Err(err) => {
                tracing::warn!("what was learnt cannot be read: {err}");
                return self.held.lock().known();
            }
        };
        let all: Vec<lessons::Precedent> = all.into_iter().map(lesson).collect();
        let texts = all.iter().map(|it| spoken(&it.words)).collect();
        let vectors: Vec<Option<Packed>> = match published {
            Some(published) => meanings.vectors(published, texts).await,
            None => Vec::new(),
        };
        let vectors = vectors.into_iter().chain(std::iter::repeat(None));
        let lessons = Arc::new(Lessons::new(all.into_iter().zip(vectors).collect()));
        let mut held = self.held.lock();
        let number = held.number + 1;
        *held = Held { lessons, version, series, number, checked: Some(Instant::now()) };
        held.known()
    }
}

impl Held {
    fn known(&self) -> Known {
        Known { lessons: Arc::clone(&self.lessons), number: self.number }
    }
}

/// Returns a lesson as the ranking takes it.
fn lesson(kept: toolyard_history::Lesson) -> lessons::Precedent {
    let is_spoken = match kept.source {
        FeedbackSource::Dashboard | FeedbackSource::Cli => true,
        // A model that read a stranger's text may have been told to say it.
        FeedbackSource::Client
        | FeedbackSource::Picked
        | FeedbackSource::Followed
        | FeedbackSource::Repeated
        | FeedbackSource::Confirmed
        | FeedbackSource::Refused => false,
    };
    lessons::Precedent {
        id: kept.id.into(),
        words: normalised(&kept.words),
        right: kept.right.map(Arc::from),
        wrong: kept.wrong.map(Arc::from),
        weight: kept.weight.clamp(0.0, 1.0) as f32,
        who: kept.who.into(),
        is_spoken,
        at: kept.at,
    }
}
