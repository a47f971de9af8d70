//! The vectors of one catalog, as far as they are known.

use std::collections::HashMap;
use std::sync::Arc;

use toolyard_core::index::{Meaning, Part, Sense, parts};
use toolyard_encoder::{Embedding, Packed};

use super::key::TextKey;
use super::slot::LoadedModel;
use crate::live::Snapshot;

/// The vectors of a snapshot while they are put together.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) loaded: Arc<LoadedModel>,
    pub(super) snapshot: Arc<Snapshot>,
    /// How many texts have a vector.
    pub(super) known: usize,
    /// How many texts there are.
    pub(super) all: usize,
    /// What was published is not written to any more.
    meaning: Arc<Meaning>,
    tools: Vec<Progress>,
}

/// How many texts of a tool have a vector.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Whether its own text has one.
    has_text: bool,
    /// How many of its texts have none yet.
    missing: usize,
}

/// The vectors of a snapshot as requests see them.
#[derive(Debug)]
pub(crate) struct Published {
    pub(super) loaded: Arc<LoadedModel>,
    snapshot: Arc<Snapshot>,
    meaning: Arc<Meaning>,
    tools: Vec<Progress>,
}

/// A text without a vector, and the tools that have it.
#[derive(Debug)]
pub(super) struct Missing {
    pub(super) key: TextKey,
    pub(super) text: String,
    places: Vec<(usize, Part)>,
}

/// Of fewer of the tools than one in so many, meaning says too little to be weighed against words.
const LEAST_SHARE: usize = 2;
/// Tools whose vectors are looked up at once.
const CHUNK: usize = 256;

impl Draft {
    /// Gathers the vectors that are known, and the texts that have none: those of the `first` tools, then tools' own texts.
    pub(super) fn new(
        loaded: &Arc<LoadedModel>,
        snapshot: &Arc<Snapshot>,
        first: &[usize],
    ) -> (Self, Vec<Missing>) {
        let count = snapshot.catalog.len();
        let mut draft = Self {
            loaded: Arc::clone(loaded),
            snapshot: Arc::clone(snapshot),
            known: 0,
            all: 0,
            meaning: Arc::new(Meaning::new(count, loaded.embedder.dims())),
            tools: vec![Progress::default(); count],
        };
        let mut missing: HashMap<TextKey, Missing> = HashMap::new();
        let knowledge = &snapshot.index().knowledge;
        let positions: Vec<usize> = (0..count).collect();
        for chunk in positions.chunks(CHUNK) {
            let texts: Vec<(usize, Part, String)> = chunk
                .iter()
                .flat_map(|at| {
                    parts(&snapshot.catalog, knowledge, *at).into_iter().map(|(part, text)| (*at, part, text))
                })
                .collect();
            let keys: Vec<TextKey> = texts.iter().map(|(_, _, text)| TextKey::of(text)).collect();
            let found = loaded.cache.find(&keys);
            for (((position, part, text), key), found) in texts.into_iter().zip(keys).zip(found) {
                draft.all += 1;
                draft.tools[position].missing += 1;
                match found {
                    Some(vector) => draft.put(position, &part, &vector),
                    None => missing
                        .entry(key)
                        .or_insert_with(|| Missing { key, text, places: Vec::new() })
                        .places
                        .push((position, part)),
                }
            }
        }
        let mut missing: Vec<Missing> = missing.into_values().collect();
        // Without order, each run would compute something else first.
        missing.sort_by_key(|it| (!it.is_of(first), it.places[0].1 == Part::Phrase, it.places[0].0, it.key));
        (draft, missing)
    }

    /// Adds a vector that was computed.
    pub(super) fn add(&mut self, missing: &Missing, vector: &Packed) {
        for (position, part) in &missing.places {
            self.put(*position, part, vector);
        }
    }

    fn put(&mut self, position: usize, part: &Part, vector: &Packed) {
        if Arc::make_mut(&mut self.meaning).add(position, part, vector).is_ok() {
            self.known += 1;
            self.tools[position].has_text |= *part == Part::Text;
        }
        // A vector that does not fit is not computed again.
        self.tools[position].missing -= 1;
    }

    /// Whether enough tools have a vector.
    pub(super) fn is_enough(&self) -> bool {
        is_enough(self.tools.iter().filter(|tool| tool.has_text).count(), self.tools.len())
    }

    pub(super) fn publish(&self) -> Published {
        Published {
            loaded: Arc::clone(&self.loaded),
            snapshot: Arc::clone(&self.snapshot),
            meaning: Arc::clone(&self.meaning),
            tools: self.tools.clone(),
        }
    }
}

impl Missing {
    /// Whether it is a text of one of these tools.
    pub(super) fn is_of(&self, tools: &[usize]) -> bool {
        self.places.iter().any(|(position, _)| tools.contains(position))
    }
}

impl Published {
    /// Tells them from those of another model or catalog; later ones have a larger number. Vectors that are added
    /// change nothing about it.
    pub(crate) fn series(&self) -> (u64, u64) {
        (self.loaded.turn, self.snapshot.number)
    }

    /// Whether every text of these tools of a snapshot has a vector.
    pub(super) fn knows(&self, snapshot: &Snapshot, tools: &[usize]) -> bool {
        if self.snapshot.number == snapshot.number {
            return tools.iter().all(|at| self.tools[*at].missing == 0);
        }
        // Where the catalog has moved on, the vectors that a request waits for will not come any more.
        let place = |at: &usize| self.snapshot.catalog.position(snapshot.catalog.tools()[*at].id.as_str());
        let is_known = |at: &usize| place(at).is_none_or(|place| self.tools[place].missing == 0);
        self.snapshot.number > snapshot.number && tools.iter().all(is_known)
    }

    /// Whether every text of every tool of a snapshot has a vector.
    pub(super) fn is_complete(&self, snapshot: &Snapshot) -> bool {
        self.knows(snapshot, &(0..snapshot.catalog.len()).collect::<Vec<_>>())
    }

    /// Whether enough tools of a snapshot have a vector here, be it from an earlier snapshot.
    pub(crate) fn covers(&self, snapshot: &Snapshot) -> bool {
        let count = if self.snapshot.number == snapshot.number {
            self.tools.iter().filter(|tool| tool.has_text).count()
        } else {
            let has_text = |place: &Option<usize>| place.is_some_and(|place| self.tools[place].has_text);
            self.places(snapshot).filter(has_text).count()
        };
        is_enough(count, snapshot.catalog.len())
    }

    /// Compares a request with the tools of a snapshot. A tool that came later is as far away as it can be.
    pub(super) fn sense(&self, snapshot: &Snapshot, request: &[Embedding]) -> Option<Sense> {
        let sense = self.meaning.sense(request).ok()?;
        if self.snapshot.number == snapshot.number {
            return Some(sense);
        }
        let of =
            |values: &[f32]| self.places(snapshot).map(|place| place.map_or(0.0, |at| values[at])).collect();
        Some(Sense { tools: of(&sense.tools), phrases: of(&sense.phrases), sentences: of(&sense.sentences) })
    }

    /// The places here of another snapshot's tools.
    fn places(&self, snapshot: &Snapshot) -> impl Iterator<Item = Option<usize>> {
        snapshot.catalog.tools().iter().map(|tool| self.snapshot.catalog.position(tool.id.as_str()))
    }
}

fn is_enough(count: usize, all: usize) -> bool {
    count > 0 && count * LEAST_SHARE >= all
}
