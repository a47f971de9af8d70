//! Which tools look like attacks, remembered, and which results do.
//!
//! Rules are applied at once; sentences are read by the encoder inside the program, whatever model routing uses. What
//! was read once is kept in the store, so that a definition costs something only the first time.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use toolyard_core::screen::{
    Alarm, Excerpt, Means, Neighbours, Screened, ToolNames, excerpts_of_text, excerpts_of_tool, screen,
};
use toolyard_core::tool::{Tool, ToolId};
use toolyard_encoder::{Embedding, Packed};

use crate::live::Snapshot;
use crate::meaning::{Effort, Embedder, EmbeddingCache, TextKey, compute};
use crate::store::Store;

/// How much is read of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Only sentences whose vectors are known already.
    Known,
    /// Every sentence, while somebody waits.
    Now,
    /// Every sentence, behind everything else that runs.
    Spare,
}

/// Sentences of one result that are read.
const MOST_READ: usize = 16;

/// Remembers what was found in definitions.
#[derive(Debug)]
pub(crate) struct Screenings {
    store: Arc<Store>,
    reader: OnceLock<Option<(Embedder, EmbeddingCache)>>,
    found: Mutex<Found>,
    /// Definitions that were told of in the log.
    told: Mutex<HashSet<TextKey>>,
}

/// What was found in the tools of one snapshot, and in definitions of any.
#[derive(Debug, Default)]
struct Found {
    snapshot: u64,
    names: ToolNames,
    /// What was found, and whether every sentence was read for it.
    of_tools: HashMap<ToolId, (Arc<Screened>, bool)>,
}

impl Screenings {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store, reader: OnceLock::new(), found: Mutex::default(), told: Mutex::default() }
    }

    /// Returns what is found in a tool of a snapshot.
    pub(crate) fn of(&self, snapshot: &Snapshot, tool: &Tool, reading: Reading) -> Arc<Screened> {
        let names = {
            let mut found = self.found.lock();
            if found.snapshot != snapshot.number {
                *found = Found {
                    snapshot: snapshot.number,
                    names: ToolNames::of(&snapshot.catalog),
                    of_tools: HashMap::new(),
                };
            }
            if let Some((known, is_whole)) = found.of_tools.get(&tool.id)
                && (*is_whole || reading == Reading::Known)
            {
                return Arc::clone(known);
            }
            found.names.clone()
        };
        let excerpts = excerpts_of_tool(tool, &names.beside(&tool.server));
        let vectors = self.vectors(&excerpts, |it| !it.features.is_plain(), reading);
        let made = Arc::new(screen(&excerpts, vectors.as_deref(), Means::Both));
        let mut found = self.found.lock();
        if found.snapshot == snapshot.number {
            found.of_tools.insert(tool.id.clone(), (Arc::clone(&made), reading != Reading::Known));
        }
        made
    }

    /// Screens sentences of a result.
    pub(crate) fn of_result(&self, excerpts: &[Excerpt]) -> Screened {
        let vectors = self.vectors(excerpts, |_| true, Reading::Now);
        screen(excerpts, vectors.as_deref(), Means::Both)
    }

    /// Says whether a definition is to be told of in the log: once each.
    pub(crate) fn is_news(&self, tool: &Tool) -> bool {
        self.told.lock().insert(TextKey::of(&format!("{} {}", tool.id, tool.definition.get())))
    }

    fn vectors(
        &self,
        excerpts: &[Excerpt],
        is_read: impl Fn(&Excerpt) -> bool,
        reading: Reading,
    ) -> Option<Vec<Option<Embedding>>> {
        let open = || {
            let embedder = Embedder::builtin().ok()?;
            let cache = EmbeddingCache::new(Arc::clone(&self.store), &embedder);
            Some((embedder, cache))
        };
        let (embedder, cache) = self.reader.get_or_init(open).as_ref()?;
        let places: Vec<usize> = (0..excerpts.len()).filter(|at| is_read(&excerpts[*at])).collect();
        let keys: Vec<TextKey> = places.iter().map(|at| TextKey::of(&excerpts[*at].text)).collect();
        let mut known: Vec<Option<Packed>> = cache.find(&keys);
        if reading != Reading::Known {
            let left: Vec<usize> = (0..keys.len()).filter(|at| known[*at].is_none()).collect();
            let texts: Vec<&str> = left.iter().map(|at| excerpts[places[*at]].text.as_str()).collect();
            let effort = if reading == Reading::Now { Effort::Full } else { Effort::Spare };
            let mut take = |made: Vec<(usize, Packed)>| {
                let made: Vec<_> = made.into_iter().map(|(at, vector)| (left[at], vector)).collect();
                let kept: Vec<_> = made.iter().map(|(at, vector)| (keys[*at], vector.clone())).collect();
                cache.keep(&kept);
                made.into_iter().for_each(|(at, vector)| known[at] = Some(vector));
            };
            compute(embedder, &texts, effort, &|| true, &mut take).ok()?;
        }
        let mut vectors = vec![None; excerpts.len()];
        for (at, vector) in places.into_iter().zip(known) {
            vectors[at] = vector.map(|vector| vector.unpack());
        }
        Some(vectors)
    }
}

/// Returns the sentences of a result that are worth reading: those with more than one sign of an order.
pub(crate) fn telling(text: &str) -> Vec<Excerpt> {
    let mut excerpts = excerpts_of_text(text, &Neighbours::default());
    excerpts.retain(|it| it.features.is_telling());
    excerpts.truncate(MOST_READ);
    excerpts
}

/// Whether something is wrong enough to be told.
pub(crate) fn is_told(screened: &Screened) -> bool {
    screened.alarm != Alarm::Clean
}
