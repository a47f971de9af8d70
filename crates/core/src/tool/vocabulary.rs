//! The words that tool definitions are written with: names of tools, servers and parameters, and phrases of
//! descriptions.
//!
//! They are data (`data/definitions.json`), and English by convention, whatever language a request is in.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use serde::Deserialize;

/// Words in no order.
pub(crate) type Set = HashSet<String>;

/// The words of tool definitions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Vocabulary {
    pub(crate) verbs: Verbs,
    #[serde(rename = "final")]
    pub(crate) last: Final,
    pub(crate) names: Names,
    pub(crate) servers: Servers,
    pub(crate) parameters: Parameters,
    pub(crate) descriptions: Descriptions,
    /// What signs are called where one is chosen by its name.
    pub(crate) marks: HashMap<String, String>,
}

/// Verbs in the names of tools, by what they do.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verbs {
    pub(crate) reads: Set,
    /// They read as the first word of a name; later they are more likely nouns.
    pub(crate) reads_first: Set,
    pub(crate) destroys: Set,
    /// Everyday changes.
    pub(crate) changes: Set,
    pub(crate) writes: Set,
    /// Words that lead to a second verb.
    pub(crate) links: Set,
}

/// Words of tools whose work nobody can take back.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Final {
    pub(crate) verbs: Set,
    /// Verbs that are final where the name ends with a word of `made`.
    pub(crate) makes: Set,
    pub(crate) made: Set,
    /// What a merge joins for good.
    pub(crate) branches: Set,
}

/// Words in the names of tools.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Names {
    /// Words before the format that a tool makes.
    pub(crate) into: Set,
    /// Words that are no nouns.
    pub(crate) small: Set,
    /// Words that are no things.
    pub(crate) plain: Set,
}

/// Words in the names of servers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Servers {
    /// Words around a product's name.
    pub(crate) noise: Set,
    /// Words that the encoder does not see.
    pub(crate) unspoken: Set,
}

/// Words in the names of parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    /// They say which thing is meant.
    pub(crate) identity: Set,
    /// They hold what is written or told.
    pub(crate) content: Set,
    pub(crate) ids: Set,
    /// Standing last, they say that a server keeps the value, so that people rarely know it.
    pub(crate) kept: Set,
    pub(crate) revisions: Set,
    pub(crate) titles: Set,
    /// What a thing is called, most telling first.
    pub(crate) called: Vec<String>,
    /// Words of flags that do not tell what is switched.
    pub(crate) flags: Set,
    /// They are filled in only where somebody says so in plain words.
    pub(crate) guarded: Set,
    /// They take the place of a thing among others, from 0 or from 1 on.
    pub(crate) counted: Set,
    /// They take the lower end.
    pub(crate) low: Set,
    /// They take the upper end.
    pub(crate) high: Set,
    /// They take who owns something.
    pub(crate) owners: Set,
    /// They take what is owned.
    pub(crate) owned: Set,
    /// They take time zones, where they stand last.
    pub(crate) zones: Set,
    /// They take paths, where they stand last.
    pub(crate) places: Set,
    /// They say where something new goes.
    pub(crate) results: Set,
    /// They take dates where the description speaks of one.
    pub(crate) days: Set,
    /// They take the last of several days.
    pub(crate) ends: Set,
    /// They take a date or a time.
    pub(crate) dated: Set,
    /// They name a thing where the word above them says which.
    pub(crate) naming: Set,
    /// They take a path that stands in a result without a name.
    pub(crate) paths: Set,
    /// They take codes of languages.
    pub(crate) languages: Set,
    /// They take codes of currencies.
    pub(crate) currencies: Set,
    /// They take codes of countries.
    pub(crate) countries: Set,
}

/// Words in descriptions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Descriptions {
    /// Headings behind which arguments are listed.
    pub(crate) headings: Vec<String>,
    /// Words that say that a text holds several values.
    pub(crate) several: Set,
    /// Words after which a description says when a field is needed.
    pub(crate) needed: Vec<String>,
    /// Words that say that another field is not there.
    pub(crate) absent: Vec<String>,
    /// Words before examples, those that say most first.
    pub(crate) examples: Vec<String>,
}

/// Returns the words, read on first use.
pub(crate) fn vocabulary() -> &'static Vocabulary {
    static BUILTIN: LazyLock<Vocabulary> = LazyLock::new(|| {
        serde_json::from_str(include_str!("../../data/definitions.json")).expect("a test reads the words")
    });
    &BUILTIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_does_one_thing() {
        let verbs = &vocabulary().verbs;
        let lists =
            [&verbs.reads, &verbs.reads_first, &verbs.destroys, &verbs.changes, &verbs.writes, &verbs.links];
        let different: HashSet<&String> = lists.into_iter().flatten().collect();
        assert_eq!(different.len(), lists.iter().map(|list| list.len()).sum::<usize>());
    }
}
