//! Words that are looked up without asking for the language.

use std::collections::HashSet;

use super::{Words, all, folded};

/// One list of words, gathered from all languages and folded.
#[derive(Debug)]
pub(crate) struct WordSet(HashSet<String>);

impl WordSet {
    /// Gathers a list.
    pub(crate) fn of(list: fn(&Words) -> &Vec<String>) -> Self {
        Self(all().iter().flat_map(list).map(|word| folded(word)).collect())
    }

    /// Whether a folded word is in it.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.0.contains(word)
    }
}
