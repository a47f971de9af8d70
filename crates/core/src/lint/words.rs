//! The words and numbers that documentation is judged with.
//!
//! They are data (`data/lint.json`). The words are English, and only few: text in another language is judged by its
//! structure alone.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::{Deserialize, Deserializer};

/// What documentation is judged with.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LintWords {
    pub(super) markers: Markers,
    pub(super) names: NameWords,
    pub(super) parameters: ParameterWords,
    pub(super) stuffing: Stuffing,
    pub(super) numbers: Numbers,
}

/// Beginnings of phrases with which a description turns to a part of the form.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Markers {
    pub(super) uses: Vec<String>,
    pub(super) boundaries: Vec<String>,
    pub(super) returns: Vec<String>,
    pub(super) examples: Vec<String>,
    /// Words of a description that says where an identifier comes from.
    pub(super) sources: Vec<String>,
}

/// Words in the names of tools.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NameWords {
    /// A name of these words alone does not say what is done.
    pub(super) vague: HashSet<String>,
    /// A name that begins with one of these says that something changes.
    pub(super) changes: HashSet<String>,
}

/// Words in the names of parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ParameterWords {
    /// They fit every parameter.
    pub(super) unclear: HashSet<String>,
}

/// Words that speak for a tool and not about it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stuffing {
    pub(super) praise: HashSet<String>,
    /// Phrases that tell a model to prefer a tool.
    pub(super) pushing: Vec<String>,
}

/// Numbers that decide, each with its meaning in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Numbers {
    #[serde(deserialize_with = "number")]
    pub(super) confusable: f64,
    #[serde(deserialize_with = "number")]
    pub(super) name_weight: f64,
    #[serde(deserialize_with = "number")]
    pub(super) text_weight: f64,
    #[serde(deserialize_with = "number")]
    pub(super) schema_weight: f64,
    #[serde(deserialize_with = "number")]
    pub(super) other_action: f64,
    #[serde(deserialize_with = "number")]
    pub(super) other_thing: f64,
    #[serde(deserialize_with = "number")]
    pub(super) name_word: f64,
    #[serde(deserialize_with = "number")]
    pub(super) lead_word: f64,
}

/// Returns the words and numbers, read on first use.
pub(super) fn lint_words() -> &'static LintWords {
    static BUILTIN: LazyLock<LintWords> = LazyLock::new(|| {
        serde_json::from_str(include_str!("../../data/lint.json")).expect("a test reads the words")
    });
    &BUILTIN
}

fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Entry {
        value: f64,
        #[serde(rename = "meaning")]
        _meaning: String,
    }
    Entry::deserialize(deserializer).map(|entry| entry.value)
}
