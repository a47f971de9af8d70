//! What turns texts into vectors: the encoder inside, one from a folder, or a service.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toolyard_core::index::asked;
use toolyard_encoder::{Embedding, Encoder};

use super::builtin::{self, Inside};
use super::endpoint::Endpoint;
use super::error::Error;

/// Turns texts into vectors. Cloning is cheap.
#[derive(Clone, Debug)]
pub enum Embedder {
    /// By the encoder inside the program.
    Inside(&'static Inside),
    /// By one that was read from files.
    Local(Arc<Encoder>),
    /// By asking a service.
    Remote(Arc<Endpoint>),
}

impl Embedder {
    /// Opens the encoder inside the program.
    pub fn builtin() -> Result<Self, Error> {
        builtin::inside().map(Self::Inside).ok_or(Error::NoModel)
    }

    /// Reads a BERT-type sentence encoder from a folder, and rounds its weights to bytes.
    pub fn folder(folder: &Path) -> Result<Self, Error> {
        let file = |name: &str| folder.join(name);
        let unreadable = |path: PathBuf| move |source| Error::File { path, source };
        let weights = file("model.safetensors");
        let weights = std::fs::read(&weights).map_err(unreadable(weights))?;
        let words = [file("tokenizer.json"), file("vocab.txt")];
        let words = words.iter().find(|path| path.is_file()).unwrap_or(&words[0]);
        let words = std::fs::read_to_string(words).map_err(unreadable(words.clone()))?;
        let config = file("config.json");
        let config = std::fs::read_to_string(&config).map_err(unreadable(config))?;
        let encoder = Encoder::from_parts(&weights, &words, &config);
        let encoder = encoder.map_err(|source| Error::Encoder { folder: folder.to_owned(), source })?;
        Ok(Self::Local(Arc::new(encoder)))
    }

    /// Returns the name of the model.
    pub fn name(&self) -> &str {
        match self {
            Self::Inside(inside) => &inside.title.name,
            Self::Local(encoder) => encoder.name(),
            Self::Remote(endpoint) => &endpoint.name,
        }
    }

    /// Returns what tells its vectors from those of any other model.
    pub fn key(&self) -> &str {
        match self {
            Self::Inside(inside) => &inside.title.key,
            Self::Local(encoder) => encoder.key(),
            Self::Remote(endpoint) => &endpoint.key,
        }
    }

    /// Returns how many numbers a vector has.
    pub fn dims(&self) -> usize {
        match self {
            Self::Inside(inside) => inside.title.dims,
            Self::Local(encoder) => encoder.dims(),
            Self::Remote(endpoint) => endpoint.dims,
        }
    }

    /// Returns the encoder, where it is in this process.
    pub fn encoder(&self) -> Option<&Encoder> {
        match self {
            Self::Inside(inside) => Some(inside.encoder()),
            Self::Local(encoder) => Some(encoder),
            Self::Remote(_) => None,
        }
    }

    /// Returns the vectors of a request: of the whole, then of its sentences.
    pub async fn request(&self, task: &str, limit: Duration) -> Result<Vec<Embedding>, Error> {
        let texts = asked(task);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let encoded = |encoder: &Encoder| texts.iter().map(|text| encoder.encode(text)).collect();
        match self {
            Self::Inside(inside) => Ok(encoded(inside.encoder())),
            Self::Local(encoder) => Ok(encoded(encoder)),
            Self::Remote(endpoint) => endpoint.vectors(&texts, limit).await,
        }
    }
}
