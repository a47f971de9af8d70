//! Vectors of a store as others can read them, and back.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use serde::{Deserialize, Serialize};
use toolyard_core::catalog::Catalog;
use toolyard_core::index::tool_text;
use toolyard_encoder::Packed;

use super::key::TextKey;
use crate::store::{self, Store};

/// A vector of a store. Its numbers are `vector`, each multiplied with `scale`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredVector {
    /// Stands for the model that made it.
    pub model: String,
    /// Stands for its text.
    pub text: String,
    /// The tool whose text it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What the numbers are multiplied with.
    pub scale: f32,
    /// The numbers.
    pub vector: Vec<i8>,
}

/// Why vectors cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// One of them is no vector.
    #[error("vector {0} has a `model`, a `text`, a `scale` or numbers that no store has")]
    Form(usize),
    /// The store cannot be written.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Returns all vectors of a store, with the tools of a catalog that they belong to.
pub(crate) fn stored(store: &Store, catalog: &Catalog) -> Vec<StoredVector> {
    let tools: HashMap<TextKey, &str> =
        catalog.tools().iter().map(|tool| (TextKey::of(&tool_text(tool)), tool.id.as_str())).collect();
    let rows = store.all_vectors().into_iter().filter_map(|(model, text, bytes)| {
        let packed = Packed::from_bytes(&bytes).ok()?.to_bytes();
        let (scale, numbers) = packed.split_first_chunk()?;
        let key = TextKey(text.as_slice().try_into().ok()?);
        Some(StoredVector {
            model: hex(&model.to_le_bytes()),
            text: hex(&text),
            tool: tools.get(&key).map(|tool| (*tool).to_owned()),
            scale: f32::from_le_bytes(*scale),
            vector: numbers.iter().map(|byte| byte.cast_signed()).collect(),
        })
    });
    rows.collect()
}

/// Keeps vectors, all of them or none if one is wrong.
pub(crate) fn keep(store: &Store, vectors: &[StoredVector]) -> Result<(), ImportError> {
    let mut by_model: BTreeMap<i64, Vec<Row>> = BTreeMap::new();
    for (at, vector) in vectors.iter().enumerate() {
        let (model, row) = row(vector).ok_or(ImportError::Form(at + 1))?;
        by_model.entry(model).or_default().push(row);
    }
    for (model, rows) in by_model {
        let rows: Vec<(&[u8], Vec<u8>)> =
            rows.iter().map(|(text, bytes)| (text.as_slice(), bytes.clone())).collect();
        store.keep_vectors(model, &rows)?;
    }
    Ok(())
}

/// The key of a text, and the vector as the store has it.
type Row = (Vec<u8>, Vec<u8>);

fn row(vector: &StoredVector) -> Option<(i64, Row)> {
    let model = i64::from_le_bytes(bytes(&vector.model)?);
    let text: [u8; 16] = bytes(&vector.text)?;
    let numbers = vector.vector.iter().map(|number| number.cast_unsigned());
    let packed: Vec<u8> = vector.scale.to_le_bytes().into_iter().chain(numbers).collect();
    let is_vector = !vector.vector.is_empty() && Packed::from_bytes(&packed).is_ok();
    is_vector.then(|| (model, (text.to_vec(), packed)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes<const N: usize>(hex: &str) -> Option<[u8; N]> {
    let digits = hex.as_bytes();
    if digits.len() != 2 * N || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let pairs =
        digits.chunks(2).filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    pairs.collect::<Vec<u8>>().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r13_vectors_go_from_one_store_to_another_unchanged_and_nonsense_goes_nowhere() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [from, to] = folders.each_ref().map(|folder| Store::open(folder.path()));
        let vector = |numbers: [i8; 3]| {
            let numbers = numbers.map(i8::cast_unsigned);
            [&0.25_f32.to_le_bytes()[..], &numbers].concat()
        };
        let texts = ["a", "b"].map(TextKey::of);
        from.keep_vectors(-7, &[(&texts[0].0, vector([1, -127, 0])), (&texts[1].0, b"bad".to_vec())])
            .unwrap();
        from.keep_vectors(8, &[(&texts[1].0, vector([3, 2, 1]))]).unwrap();
        let out = stored(&from, &Catalog::default());
        assert_eq!(out.len(), 2, "what is damaged stays behind");
        assert_eq!((out[0].scale, out[0].vector.as_slice()), (0.25, &[1, -127, 0][..]));
        keep(&to, &out).unwrap();
        assert_eq!(stored(&to, &Catalog::default()), out);
        assert_eq!(to.vectors(-7, &[&texts[0].0]), [Some(vector([1, -127, 0]))]);
        for wrong in [
            StoredVector { model: "12".to_owned(), ..out[0].clone() },
            StoredVector { text: "zz".repeat(16), ..out[0].clone() },
            StoredVector { scale: f32::NAN, ..out[0].clone() },
            StoredVector { vector: vec![-128], ..out[0].clone() },
            StoredVector { vector: Vec::new(), ..out[0].clone() },
        ] {
            let empty = tempfile::tempdir().unwrap();
            let store = Store::open(empty.path());
            assert!(matches!(keep(&store, &[out[1].clone(), wrong]), Err(ImportError::Form(2))));
            assert_eq!(stored(&store, &Catalog::default()), []);
        }
    }
}
