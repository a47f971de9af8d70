//! What compares meanings in a measurement, and the vectors of the sets' tools.
//!
//! Vectors are kept in a folder, so that only the first measurement of a model computes them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::RwLock;
use toolyard_core::arguments::Nearness;
use toolyard_core::catalog::Catalog;
use toolyard_core::decide::{Comparison, ToRead};
use toolyard_core::index::{Index, Meaning, asked, parts, spoken, tool_text};
use toolyard_encoder::{Embedding, Encoder, Packed, RequestReading};
use toolyard_hub::meaning::{ArgumentReader, Effort, Embedder, EmbeddingCache, TextKey, compute};
use toolyard_hub::store::Store;

use crate::Error;

/// Says what requests and tools mean.
#[derive(Debug)]
pub enum MeaningModel {
    /// Nothing does: words and metadata decide.
    Off,
    /// An encoder does.
    On(Box<Known>),
}

/// An encoder and the vectors that it made.
#[derive(Debug)]
pub struct Known {
    embedder: Embedder,
    cache: EmbeddingCache,
    vectors: RwLock<HashMap<TextKey, Packed>>,
    /// How well requests and texts fit that were read together: one request is decided about several times.
    readings: RwLock<HashMap<[TextKey; 2], f32>>,
}

impl MeaningModel {
    /// Opens the model of a name: `builtin`, `none`, or a folder. The vectors that it makes are kept in `folder`.
    pub fn named(name: &str, folder: &Path) -> Result<Self, Error> {
        let embedder = match name {
            "none" => return Ok(Self::Off),
            "builtin" | "all-MiniLM-L6-v2" => Embedder::builtin(),
            folder => Embedder::folder(Path::new(folder)),
        };
        let embedder = embedder.map_err(|err| {
            Error::new(err.to_string())
                .hint("`--model none` routes by words and metadata; a folder has model.safetensors, tokenizer.json and config.json")
        })?;
        let cache = EmbeddingCache::new(Arc::new(Store::open(folder)), &embedder);
        Ok(Self::On(Box::new(Known {
            embedder,
            cache,
            vectors: RwLock::default(),
            readings: RwLock::default(),
        })))
    }

    /// Computes what is not known of a catalog's texts, on all cores; `begin` is told how many those are.
    pub(crate) fn learn(
        &self,
        catalog: &Catalog,
        index: &Index,
        begin: impl Fn(usize),
        done: impl Fn(usize),
    ) {
        let all = (0..catalog.len()).flat_map(|position| parts(catalog, &index.knowledge, position));
        self.learn_texts(all.map(|(_, text)| text), begin, done);
    }

    /// Computes what is not known of some texts, on all cores; `begin` is told how many those are.
    pub(crate) fn learn_texts(
        &self,
        texts: impl Iterator<Item = String>,
        begin: impl Fn(usize),
        done: impl Fn(usize),
    ) {
        let Self::On(known) = self else { return };
        let mut texts: HashMap<TextKey, String> = texts.map(|text| (TextKey::of(&text), text)).collect();
        texts.retain(|key, _| !known.vectors.read().contains_key(key));
        let mut texts: Vec<(TextKey, String)> = texts.into_iter().collect();
        let keys: Vec<TextKey> = texts.iter().map(|(key, _)| *key).collect();
        let found: HashMap<TextKey, Packed> = keys
            .iter()
            .zip(known.cache.find(&keys))
            .filter_map(|(key, vector)| Some((*key, vector?)))
            .collect();
        texts.retain(|(key, _)| !found.contains_key(key));
        known.vectors.write().extend(found);
        begin(texts.len());
        let missing: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
        let mut take = |made: Vec<(usize, Packed)>| {
            let made: Vec<_> = made.into_iter().map(|(at, vector)| (texts[at].0, vector)).collect();
            known.cache.keep(&made);
            done(made.len());
            known.vectors.write().extend(made);
        };
        compute(&known.embedder, &missing, Effort::Full, &|| true, &mut take)
            .expect("only a service can fail, and none is asked");
    }

    /// Returns the vector of a text; `None` where no model is used.
    pub fn vector_of(&self, text: &str) -> Option<Embedding> {
        match self {
            Self::Off => None,
            Self::On(known) => Some(known.vector(text).unpack()),
        }
    }

    /// Returns what tells the vectors of the model from others; `None` where no model is used.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Off => None,
            Self::On(known) => Some(known.embedder.key()),
        }
    }

    /// Returns what the tools of a catalog mean.
    pub(crate) fn meaning(&self, catalog: &Catalog, index: &Index) -> Option<Meaning> {
        let Self::On(known) = self else { return None };
        let mut meaning = Meaning::new(catalog.len(), known.embedder.dims());
        for position in 0..catalog.len() {
            for (part, text) in parts(catalog, &index.knowledge, position) {
                let vector = known.vector(&text);
                meaning.add(position, &part, &vector).expect("all vectors are of one model");
            }
        }
        Some(meaning)
    }

    /// Reads a request beside the texts of tools; nothing where the model cannot.
    pub(crate) fn read(&self, task: &str, catalog: &Catalog, tools: &[usize]) -> Vec<(usize, f32)> {
        let Self::On(known) = self else { return Vec::new() };
        let task = &spoken(task);
        tools
            .iter()
            .filter_map(|at| Some((*at, known.read(task, &tool_text(&catalog.tools()[*at]))?)))
            .collect()
    }

    /// Compares the names of values with the fields of a tool.
    pub(crate) fn compare(&self, comparison: &Comparison) -> Nearness {
        let Self::On(known) = self else { return Nearness::default() };
        let vector = |text: &String| known.vector(text).unpack();
        let names: Vec<Embedding> = comparison.names.iter().map(vector).collect();
        let fields: Vec<[Embedding; 2]> =
            comparison.fields.iter().map(|field| field.each_ref().map(vector)).collect();
        Nearness::of(&names, &fields)
    }

    /// Reads a text beside a tool; nothing where no model is used.
    pub(crate) fn read_arguments(&self, catalog: &Catalog, wanted: &ToRead) -> Option<RequestReading> {
        let (tool, form) = (&catalog.tools()[wanted.position], catalog.form(wanted.position));
        let reader = ArgumentReader::builtin().filter(|_| matches!(self, Self::On(_)));
        reader.map(|it| it.read(&wanted.text, (&tool.name, &tool.description), form))
    }

    /// Returns what a request means.
    pub(crate) fn request(&self, task: &str) -> Option<Vec<Embedding>> {
        match self {
            Self::Off => None,
            Self::On(known) => Some(asked(task).iter().map(|it| known.encode(it)).collect()),
        }
    }
}

impl Known {
    fn vector(&self, text: &str) -> Packed {
        let key = TextKey::of(text);
        if let Some(vector) = self.vectors.read().get(&key) {
            return vector.clone();
        }
        let vector = self.encode(text).pack();
        self.vectors.write().insert(key, vector.clone());
        vector
    }

    fn encode(&self, text: &str) -> Embedding {
        self.encoder().encode(text)
    }

    fn read(&self, task: &str, text: &str) -> Option<f32> {
        let key = [TextKey::of(task), TextKey::of(text)];
        if let Some(fit) = self.readings.read().get(&key) {
            return Some(*fit);
        }
        let fit = self.encoder().read(task, text)?;
        self.readings.write().insert(key, fit);
        Some(fit)
    }

    fn encoder(&self) -> &Encoder {
        self.embedder.encoder().expect("no service is measured")
    }
}
