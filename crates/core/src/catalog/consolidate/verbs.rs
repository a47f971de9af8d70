//! The words that names of tools in a family are made of.
//!
//! They are data (`data/families.json`), beside the verbs that the effect of a tool is read from.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::tool::vocabulary::vocabulary;

/// Words in no order.
type Set = HashSet<String>;

/// What the verb of a name does, as far as families go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VerbKind {
    /// Reads one thing.
    Get,
    /// Reads many things.
    List,
    /// Reads in another way.
    Read,
    /// Looks for something, measures it or makes a report of it.
    Analyse,
    /// Adds, changes or removes something.
    Change,
    /// A verb whose effect only the server knows.
    Other,
}

/// The words of families.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FamilyWords {
    analysis: Set,
    gets: Set,
    lists: Set,
    /// Verbs that make something new.
    pub(super) creates: Set,
    others: Set,
    /// Words before a verb.
    pub(super) adverbs: Set,
    /// Words before a noun that say nothing.
    pub(super) articles: Set,
    /// Words before a noun that say how many.
    pub(super) quantities: Set,
    /// Words behind which no part of the entity comes.
    pub(super) prepositions: Set,
    /// Last words of a name that reads many things.
    pub(super) listings: Set,
    /// Words behind a noun that mean the whole thing.
    pub(super) details: Set,
}

/// Returns the words, read on first use.
pub(super) fn family_words() -> &'static FamilyWords {
    static BUILTIN: LazyLock<FamilyWords> = LazyLock::new(|| {
        serde_json::from_str(include_str!("../../../data/families.json")).expect("tests read the words")
    });
    &BUILTIN
}

/// Classifies a word as a verb; `None` where it is no verb that is known.
pub(super) fn verb_kind(word: &str) -> Option<VerbKind> {
    let (own, verbs) = (family_words(), &vocabulary().verbs);
    let kinds = [
        (&own.analysis, VerbKind::Analyse),
        (&own.gets, VerbKind::Get),
        (&own.lists, VerbKind::List),
        (&verbs.reads, VerbKind::Read),
        (&verbs.reads_first, VerbKind::Read),
        (&verbs.changes, VerbKind::Change),
        (&verbs.writes, VerbKind::Change),
        (&verbs.destroys, VerbKind::Change),
        (&own.others, VerbKind::Other),
    ];
    kinds.into_iter().find(|(known, _)| known.contains(word)).map(|(_, kind)| kind)
}

/// Whether a word joins two verbs.
pub(super) fn is_link(word: &str) -> bool {
    vocabulary().verbs.links.contains(word)
}
