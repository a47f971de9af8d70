//! The vectors of one catalog, as far as they are known.

use std::collections::HashMap;
use std::sync::Arc;

use toolyard_core::embed::{Embedding, Packed};
use toolyard_core::index::{Meaning, Part, Sense, parts};

use super::seat::Seated;
use super::shelf::TextKey;
use crate::live::Snapshot;

/// The vectors of a snapshot while they are put together.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) seated: Arc<Seated>,
    pub(super) snapshot: Arc<Snapshot>,
    /// How many texts have a vector.
    pub(super) known: usize,
    /// How many texts there are.
    pub(super) all: usize,
    meaning: Meaning,
    /// Whether each tool's own text has a vector.
    has_text: Vec<bool>,
}

/// The vectors of a snapshot as requests see them.
#[derive(Debug)]
pub(crate) struct Published {
    /// Tells them from those before; later ones have a larger number.
    pub(crate) number: u64,
    pub(super) seated: Arc<Seated>,
    snapshot: Arc<Snapshot>,
    meaning: Meaning,
    has_text: Vec<bool>,
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
    /// Gathers the vectors that are known, and the texts that have none: tools' own texts first.
    pub(super) fn new(seated: &Arc<Seated>, snapshot: &Arc<Snapshot>) -> (Self, Vec<Missing>) {
        let count = snapshot.catalog.len();
        let mut draft = Self {
            seated: Arc::clone(seated),
            snapshot: Arc::clone(snapshot),
            known: 0,
            all: 0,
            meaning: Meaning::new(count, seated.embedder.dims()),
            has_text: vec![false; count],
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
            let found = seated.shelf.find(&keys);
            for (((position, part, text), key), found) in texts.into_iter().zip(keys).zip(found) {
                draft.all += 1;
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
        missing.sort_by_key(|it| (it.places[0].1 == Part::Phrase, it.places[0].0, it.key));
        (draft, missing)
    }

    /// Adds a vector that was computed.
    pub(super) fn add(&mut self, missing: &Missing, vector: &Packed) {
        for (position, part) in &missing.places {
            self.put(*position, part, vector);
        }
    }

    fn put(&mut self, position: usize, part: &Part, vector: &Packed) {
        if self.meaning.add(position, part, vector).is_ok() {
            self.known += 1;
            self.has_text[position] |= *part == Part::Text;
        }
    }

    /// Whether enough tools have a vector.
    pub(super) fn is_enough(&self) -> bool {
        is_enough(self.has_text.iter().filter(|has| **has).count(), self.has_text.len())
    }

    pub(super) fn publish(&self, number: u64) -> Published {
        Published {
            number,
            seated: Arc::clone(&self.seated),
            snapshot: Arc::clone(&self.snapshot),
            meaning: self.meaning.clone(),
            has_text: self.has_text.clone(),
        }
    }
}

impl Published {
    /// Whether enough tools of a snapshot have a vector here, be it from an earlier snapshot.
    pub(crate) fn covers(&self, snapshot: &Snapshot) -> bool {
        let count = if self.snapshot.number == snapshot.number {
            self.has_text.iter().filter(|has| **has).count()
        } else {
            self.places(snapshot).filter(|place| place.is_some_and(|place| self.has_text[place])).count()
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
