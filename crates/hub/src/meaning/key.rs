//! Texts, by what stands for them.

use sha2::{Digest, Sha256};

/// Stands for a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextKey(pub(super) [u8; 16]);

impl TextKey {
    /// Makes the key of a text.
    pub fn of(text: &str) -> Self {
        let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        Self(*hash.first_chunk().expect("a hash is longer"))
    }
}
