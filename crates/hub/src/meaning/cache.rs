//! Vectors that are known already: those that come with the program, those of the store, and those that the
//! store did not take.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use toolyard_encoder::Packed;

use super::builtin::{self, Precomputed};
use super::key::TextKey;
use super::model::Embedder;
use crate::store::Store;

/// The vectors of one model that are known.
#[derive(Debug)]
pub struct EmbeddingCache {
    store: Arc<Store>,
    /// Stands for the model in the store.
    model: i64,
    dims: usize,
    library: Option<Precomputed<'static>>,
    /// What the store did not take.
    unkept: Mutex<HashMap<TextKey, Packed>>,
}

/// Rows that are read or written while others wait for the store.
const CHUNK: usize = 256;

impl EmbeddingCache {
    /// Opens what is known of a model's vectors.
    pub fn new(store: Arc<Store>, embedder: &Embedder) -> Self {
        let hash: [u8; 32] = Sha256::digest(embedder.key().as_bytes()).into();
        Self {
            store,
            model: i64::from_le_bytes(*hash.first_chunk().expect("a hash is longer")),
            dims: embedder.dims(),
            library: builtin::library(embedder.key()),
            unkept: Mutex::default(),
        }
    }

    /// Finds the vectors of texts. What is damaged or comes from elsewhere counts as not known.
    pub fn find(&self, texts: &[TextKey]) -> Vec<Option<Packed>> {
        let library = |text: &TextKey| self.library.as_ref().and_then(|library| library.find(text));
        let mut found: Vec<Option<Packed>> = texts.iter().map(library).collect();
        let left: Vec<usize> = (0..texts.len()).filter(|at| found[*at].is_none()).collect();
        for chunk in left.chunks(CHUNK) {
            let keys: Vec<&[u8]> = chunk.iter().map(|at| &texts[*at].0[..]).collect();
            for (at, bytes) in chunk.iter().zip(self.store.vectors(self.model, &keys)) {
                let vector = bytes.and_then(|bytes| Packed::from_bytes(&bytes).ok());
                found[*at] = vector.filter(|vector| vector.dims() == self.dims);
            }
        }
        let unkept = self.unkept.lock();
        for at in left {
            if found[at].is_none() {
                found[at] = unkept.get(&texts[at]).cloned();
            }
        }
        found
    }

    /// Keeps vectors for later and for others.
    pub fn keep(&self, fresh: &[(TextKey, Packed)]) {
        for chunk in fresh.chunks(CHUNK) {
            let rows: Vec<(&[u8], Vec<u8>)> =
                chunk.iter().map(|(text, vector)| (&text.0[..], vector.to_bytes())).collect();
            if let Err(err) = self.store.keep_vectors(self.model, &rows) {
                tracing::debug!("{err}; vectors are computed again after a restart");
                self.unkept.lock().extend(chunk.iter().cloned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use toolyard_encoder::Encoder;

    use super::*;

    fn tiny() -> Embedder {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../encoder/tests/data/encoder/tiny.tyenc");
        Embedder::Local(Arc::new(Encoder::open(std::fs::read(file).unwrap()).unwrap()))
    }

    #[test]
    fn r13_vectors_outlive_the_process_and_what_is_damaged_or_foreign_is_not_known() {
        let folder = tempfile::tempdir().unwrap();
        let open = || EmbeddingCache::new(Arc::new(Store::open(folder.path())), &tiny());
        let Embedder::Local(encoder) = tiny() else { unreachable!("it is local") };
        let texts = ["a", "b", "c", "d"];
        let keys = texts.map(TextKey::of);
        let vectors = texts.map(|text| encoder.encode(text).pack());
        let cache = open();
        assert_eq!(cache.find(&keys), [None, None, None, None]);
        cache.keep(&[
            (keys[0], vectors[0].clone()),
            (keys[1], vectors[1].clone()),
            (keys[2], vectors[2].clone()),
        ]);
        let short = toolyard_encoder::Embedding::new(vec![1.0, 2.0]).pack().to_bytes();
        let rows: [(&[u8], Vec<u8>); 2] = [(&keys[1].0, b"nonsense".to_vec()), (&keys[2].0, short)];
        cache.store.keep_vectors(cache.model, &rows).unwrap();
        assert_eq!(open().find(&keys), [Some(vectors[0].clone()), None, None, None]);
        cache.keep(&[(keys[1], vectors[1].clone())]);
        assert_eq!(open().find(&keys[1..2]), [Some(vectors[1].clone())]);
    }
}
