//! Which model is in use, and what happens when it fails.
//!
//! A model that fails gives its place to the one inside, with one warning, and is tried again later.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cache::EmbeddingCache;
use super::endpoint::Endpoint;
use super::error::Error;
use super::model::Embedder;
use crate::config::Model;

/// The place of the model that compares meanings.
#[derive(Debug, Default)]
pub(super) struct ModelSlot {
    /// What the configuration names; `None` where meaning is switched off.
    chosen: Option<Model>,
    /// Grows whenever another model is to be used.
    turn: u64,
    loaded: Option<Arc<LoadedModel>>,
    fallen: Option<Fall>,
    has_warned: bool,
    /// Requests in a row that had no answer.
    misses: u32,
    /// Whether not even the model inside can be used.
    is_empty: bool,
}

/// A model in use.
#[derive(Debug)]
pub(super) struct LoadedModel {
    pub(super) turn: u64,
    pub(super) embedder: Embedder,
    pub(super) cache: EmbeddingCache,
}

#[derive(Debug)]
struct Fall {
    at: Instant,
    why: String,
}

/// What is to be done before vectors can be computed.
#[derive(Debug)]
pub(super) enum Opening {
    /// Nothing, this is in use.
    Open(Arc<LoadedModel>),
    /// Nothing can be in use.
    Nothing,
    /// This is to be opened.
    Wanted(ToOpen),
}

/// A model that is to be opened.
#[derive(Debug)]
pub(super) struct ToOpen {
    turn: u64,
    model: Model,
}

/// A service that is late once may be busy; one that is late so often is too slow.
const MOST_MISSES: u32 = 3;
/// How long a model that failed is left alone.
const REST: Duration = Duration::from_secs(300);

impl ToOpen {
    /// Opens it; a service is asked within the runtime in which this thread is.
    pub(super) fn open(&self, http: &reqwest::Client) -> Result<Embedder, Error> {
        match &self.model {
            Model::Builtin => Embedder::builtin(),
            Model::Folder(folder) => Embedder::folder(folder),
            Model::Endpoint { url, name, key } => {
                let reaching = Endpoint::reach(http.clone(), url, name, key.clone());
                let endpoint = tokio::runtime::Handle::current().block_on(reaching)?;
                Ok(Embedder::Remote(Arc::new(endpoint)))
            }
        }
    }
}

impl ModelSlot {
    /// Takes over what the configuration names, and says whether that is something else.
    pub(super) fn choose(&mut self, chosen: Option<Model>) -> bool {
        let is_other = self.chosen != chosen;
        if is_other {
            *self = Self { chosen, turn: self.turn + 1, ..Self::default() };
        }
        is_other
    }

    pub(super) fn opening(&self) -> Opening {
        match (&self.loaded, &self.chosen) {
            (Some(loaded), _) => Opening::Open(Arc::clone(loaded)),
            (None, Some(chosen)) if !self.is_empty => {
                let model = if self.fallen.is_some() { Model::Builtin } else { chosen.clone() };
                Opening::Wanted(ToOpen { turn: self.turn, model })
            }
            (None, _) => Opening::Nothing,
        }
    }

    /// Puts a model that was opened into its place, unless another was chosen meanwhile.
    pub(super) fn opened(&mut self, opening: &ToOpen, opened: Result<(Embedder, EmbeddingCache), Error>) {
        if opening.turn != self.turn {
            return;
        }
        match opened {
            Ok((embedder, cache)) => {
                self.loaded = Some(Arc::new(LoadedModel { turn: self.turn, embedder, cache }));
            }
            Err(err) if opening.model == Model::Builtin => {
                tracing::debug!("words and metadata choose alone: {err}");
                self.is_empty = true;
            }
            Err(err) => self.give_way(&err.to_string()),
        }
    }

    /// Whether a model is still the one to use.
    pub(super) fn is_current(&self, loaded: &LoadedModel) -> bool {
        loaded.turn == self.turn
    }

    /// Notes that a model failed, so that the one inside takes its place.
    pub(super) fn fall(&mut self, loaded: &LoadedModel, why: &str) {
        if self.is_current(loaded) {
            self.give_way(why);
        }
    }

    /// Counts a request that a model answered, or did not; says whether that was one too many.
    pub(super) fn count(&mut self, loaded: &LoadedModel, failed: Option<&str>) -> bool {
        let Some(why) = failed.filter(|_| self.is_current(loaded)) else {
            self.misses = 0;
            return false;
        };
        self.misses += 1;
        let is_too_many = self.misses >= MOST_MISSES;
        if is_too_many {
            self.give_way(why);
        }
        is_too_many
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.fallen.as_ref().map(|fall| fall.why.clone())
    }

    pub(super) fn retry_at(&self) -> Option<Instant> {
        self.fallen.as_ref().map(|fall| fall.at + REST)
    }

    /// Gives the chosen model another chance.
    pub(super) fn retry(&mut self) {
        self.turn += 1;
        (self.fallen, self.loaded, self.misses) = (None, None, 0);
    }

    fn give_way(&mut self, why: &str) {
        if self.has_warned {
            tracing::debug!("{why}; the built-in model compares meanings");
        } else {
            tracing::warn!("{why}; the built-in model compares meanings instead");
        }
        self.turn += 1;
        (self.loaded, self.misses, self.has_warned) = (None, 0, true);
        self.fallen = Some(Fall { at: Instant::now(), why: why.to_owned() });
    }
}
