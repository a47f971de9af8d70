//! What requests are compared with: words, phrasings and names over the catalog.

mod copies;
mod meaning;
mod names;
mod phrases;
mod words;

use crate::catalog::Catalog;
use crate::lexicon::Related;
use crate::metadata::Knowledge;

pub use copies::Copies;
pub use meaning::{Meaning, Part, Sense, asked, parts, spoken, tool_text};
pub use names::Names;
pub use phrases::Phrases;
pub use words::{Hit, Words};

/// Everything about a catalog that requests are compared with.
#[derive(Clone, Debug)]
pub struct Index {
    /// The words of each tool's own text.
    pub words: Words,
    /// What people say when they need a tool, where somebody wrote it down.
    pub phrases: Phrases,
    /// What servers are called.
    pub names: Names,
    /// Which tools are copies of one another.
    pub copies: Copies,
    /// What is known of each tool.
    pub knowledge: Knowledge,
    /// Which words of tools go with which words of requests.
    pub related: &'static Related,
}

impl Index {
    /// Reads every tool of a catalog.
    pub fn new(catalog: &Catalog, knowledge: Knowledge) -> Self {
        Self {
            words: Words::new(catalog),
            phrases: Phrases::new(catalog, &knowledge),
            names: Names::new(catalog, &knowledge),
            copies: Copies::new(catalog),
            knowledge,
            related: Related::builtin(),
        }
    }
}
