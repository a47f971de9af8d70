//! What is kept of decisions, what people say about them, and what is learnt from that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::broadcast;
use toolyard_core::index::spoken;
use toolyard_core::lessons::{Liking, Similar};
use toolyard_history::{Feedback, FeedbackSource, History, Lesson, Rating, Route, route_id};
use toolyard_telemetry::{Gauges, Metrics};

use super::Hub;
use crate::audit::shape_of;
use crate::clock::now_ms;
use crate::routing::{LOCAL, LastRoute};
use crate::upstream::Upstream;

/// What somebody says about a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Correction {
    /// The decision; the words alone where there is none.
    pub route: Option<String>,
    /// The words of the request, where no decision is named.
    pub words: Option<String>,
    /// Whether it was right.
    pub verdict: Rating,
    /// The tool that was meant.
    pub meant: Option<String>,
    /// Where this comes from.
    pub source: FeedbackSource,
    /// Who says it.
    pub who: String,
}

/// Why nothing can be learnt.
#[derive(Debug, thiserror::Error)]
pub enum NotLearnt {
    /// Nothing is kept.
    #[error("decisions are not kept: `events.enabled` is false, or the store cannot be written")]
    NotKept,
    /// There is no such decision.
    #[error("there is no decision `{0}`; it may have been forgotten")]
    NoRoute(String),
    /// The words of the decision are not known.
    #[error("the words of `{0}` are not kept, so nothing can be learnt from it")]
    NoWords(String),
    /// There is no such tool.
    #[error("{0}")]
    NoTool(String),
    /// A client may choose only among what it was offered.
    #[error("`{0}` was none of the tools that this decision considered, and only a person may name another")]
    NotOffered(String),
    /// The history cannot be used.
    #[error(transparent)]
    History(#[from] toolyard_history::Error),
}

impl Hub {
    /// Returns what was decided and said, where that is kept.
    pub fn history(&self) -> Option<&History> {
        self.learnt.history()
    }

    /// Returns what was counted since the hub began.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Returns the metrics as Prometheus reads them.
    pub fn metrics_text(&self) -> String {
        self.metrics.render(&self.gauges())
    }

    pub(super) fn gauges(&self) -> Gauges {
        let state = |it: &Arc<Upstream>| (it.name.to_string(), it.state().to_string());
        Gauges {
            upstreams: self.upstreams().iter().map(state).collect(),
            tools: self.snapshot().catalog.len() as u64,
            cache_entries: self.tally().entries as u64,
            accuracy: None,
            dropped_events: self.history().map_or(0, History::dropped),
            uptime: self.began.elapsed(),
        }
    }

    /// Returns decisions as they are made.
    pub fn routes(&self) -> broadcast::Receiver<Route> {
        self.routes.subscribe()
    }

    /// Keeps a decision, as far as the configuration says. `arguments` are those of its call.
    pub fn record(&self, mut route: Route, arguments: Option<&Value>) {
        let events = self.config().events.clone();
        let took = Duration::from_secs_f64(route.routing_ms.max(0.0) / 1000.0);
        self.metrics.route(route.decision.name(), route.cached, took);
        route.shape = arguments.map_or(Value::Null, shape_of);
        route.arguments = arguments.filter(|_| events.values).cloned();
        if !events.words {
            route.words = None;
            route.question = None;
            route.reasons.clear();
            route.candidates.iter_mut().for_each(|it| it.reasons.clear());
        }
        if events.enabled
            && let Some(history) = self.history()
        {
            history.record(route.clone());
        }
        let _ = self.routes.send(route);
    }

    /// Notes what was decided last in a conversation.
    pub(crate) fn note_route(&self, conversation: &str, last: LastRoute, now: Instant) {
        self.memory.last.note(conversation, last, now);
    }

    /// Returns what was decided last in a conversation, unless it is long ago.
    pub(crate) fn last_route(&self, conversation: &str, now: Instant) -> Option<LastRoute> {
        self.memory.last.of(conversation, now)
    }

    /// Takes down what somebody says about a decision, and learns from it.
    pub async fn feedback(&self, said: Correction) -> Result<Option<Lesson>, NotLearnt> {
        let history = self.history().ok_or(NotLearnt::NotKept)?.clone();
        let catalog = self.snapshot();
        if let Some(name) = said.meant.as_deref().filter(|name| catalog.catalog.get(name).is_none()) {
            return Err(NotLearnt::NoTool(self.unknown_tool(&catalog, name).message));
        }
        let metrics = self.metrics.clone();
        let learnt = tokio::task::spawn_blocking(move || keep(&history, said, &metrics));
        let lesson = learnt.await.map_err(|_| NotLearnt::NotKept)??;
        self.learnt.changed();
        Ok(lesson)
    }

    /// Takes a lesson back, or puts it in force again; false where there is none.
    pub fn unlearn(&self, id: &str, is_undone: bool) -> Result<bool, NotLearnt> {
        let history = self.history().ok_or(NotLearnt::NotKept)?;
        let is_done = if is_undone { history.undo(id)? } else { history.redo(id)? };
        self.learnt.changed();
        Ok(is_done)
    }

    /// Returns what lessons say about tools for words, and how near each lesson is to them.
    pub async fn likings(&self, words: &str, who: &str) -> (Vec<Liking>, Vec<(String, f32)>) {
        let published = self.meanings.now();
        let known = self.learnt.known(&self.meanings, published.as_ref()).await;
        let meaning = match &published {
            Some(it) => self.meanings.vectors(it, vec![spoken(words)]).await,
            None => Vec::new(),
        };
        let meaning = meaning.into_iter().next().flatten().map(|it| it.unpack());
        let similar = Similar { words, meaning: meaning.as_ref(), who, now: now_ms() };
        let near = known.lessons.nearness(&similar);
        let near = known.lessons.all().iter().zip(near).map(|(it, near)| (it.id.to_string(), near)).collect();
        (known.lessons.likings(&similar), near)
    }
}

/// Writes feedback down, and the lesson that it is.
fn keep(history: &History, said: Correction, metrics: &Metrics) -> Result<Option<Lesson>, NotLearnt> {
    let Correction { route, words, verdict, meant, source, who } = said;
    let found = match &route {
        Some(id) => {
            history.flush();
            // Only the person whose hub it is speaks about what others asked.
            let found = history.route(id)?.filter(|it| who == LOCAL || it.who == who);
            Some(found.ok_or_else(|| NotLearnt::NoRoute(id.clone()))?)
        }
        None => None,
    };
    let tool = found.as_ref().and_then(|it| it.tool.clone());
    if let (FeedbackSource::Client, Some(meant), Some(found)) = (source, &meant, &found)
        && !found.candidates.iter().any(|it| it.tool == *meant)
    {
        // A text that a model read could name any tool.
        return Err(NotLearnt::NotOffered(meant.clone()));
    }
    let (right, wrong) = match verdict {
        Rating::Right => (meant.clone().or(tool), None),
        Rating::Wrong => (meant.clone(), tool.filter(|tool| Some(tool) != meant.as_ref())),
    };
    let words = words.or_else(|| found.as_ref().and_then(|it| it.words.clone()));
    let (at, weight) = (now_ms(), source.weight());
    let feedback = Feedback {
        id: route_id(),
        at,
        route: route.clone(),
        who: who.clone(),
        source,
        verdict,
        meant,
        weight,
        words: words.clone(),
    };
    history.give(feedback)?;
    metrics.feedback(verdict.name(), source.name());
    // That a question or a refusal was wrong says nothing about any tool.
    if !source.teaches() || right.is_none() && wrong.is_none() {
        return Ok(None);
    }
    let Some(words) = words else { return Err(NotLearnt::NoWords(route.unwrap_or_default())) };
    let lesson = Lesson { id: route_id(), at, who, words, right, wrong, weight, source, route };
    history.teach(lesson.clone())?;
    Ok(Some(lesson))
}
