//! A tool's name as verb and entity: `add_product_image`, `listIssues`, `monitor.create`, `API-update-a-block`.
//!
//! A name that cannot be read this way has no family, and its tool stays as it is.

use std::collections::{BTreeMap, BTreeSet};

use super::verbs::{VerbKind, family_words, is_link, verb_kind};
use crate::tool::words::words;

/// One noun of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Noun {
    /// As the server writes it, in lower case.
    pub(super) written: String,
    /// In the singular, for comparing.
    pub(super) singular: String,
}

/// A name, taken apart.
#[derive(Clone, Debug)]
pub(super) struct ParsedName {
    /// The word that some tools of the server begin with and others do not, such as `jira`.
    pub(super) space: Option<String>,
    /// The verb with all that belongs to it, such as `create or update`.
    pub(super) verb: Vec<String>,
    /// `None` where the word is taken as a verb for its place alone.
    pub(super) kind: Option<VerbKind>,
    /// How many: `all`.
    pub(super) quantities: Vec<String>,
    /// What it acts on; never empty.
    pub(super) nouns: Vec<Noun>,
    /// The rest, from the first preposition on.
    pub(super) tail: Vec<String>,
}

/// How a name is about an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Match {
    /// About a part of it: `product image` for `product`.
    Part,
    /// About some kind of it, or those of something else: `board issues` for `issue`.
    Kind,
    /// About itself.
    Whole,
}

/// More words beside the entity are about something else.
const MOST_BESIDE: usize = 2;
/// So many tools make a common first word the name of a part of the server.
const LEAST_SPACE: usize = 3;

impl ParsedName {
    /// Returns how the name is about an entity, given as nouns in the singular.
    pub(super) fn matches(&self, entity: &[String]) -> Option<Match> {
        let nouns = || self.nouns.iter().map(|noun| &noun.singular);
        let beside = self.nouns.len().checked_sub(entity.len())?;
        if beside == 0 {
            return nouns().eq(entity).then_some(Match::Whole);
        }
        // `line or paragraph` is no kind of paragraph.
        if beside > MOST_BESIDE || self.nouns.iter().any(|noun| is_link(&noun.written)) {
            return None;
        }
        if nouns().skip(beside).eq(entity) {
            return Some(Match::Kind);
        }
        nouns().take(entity.len()).eq(entity).then_some(Match::Part)
    }

    /// Whether it speaks of more than one of an entity.
    pub(super) fn is_many(&self, entity: &[String]) -> bool {
        self.nouns.iter().any(|noun| noun.written != noun.singular && entity.contains(&noun.singular))
    }

    /// Whether it is about a whole entity, or says so in other words: `product details`.
    pub(super) fn is_about_one(&self, entity: &[String]) -> bool {
        let details = &family_words().details;
        let is_whole = match self.matches(entity) {
            Some(Match::Whole) => true,
            Some(Match::Part) => {
                self.nouns[entity.len()..].iter().all(|noun| details.contains(&noun.written))
            }
            Some(Match::Kind) | None => false,
        };
        is_whole && self.tail.is_empty() && self.quantities.is_empty()
    }

    /// Returns the nouns in the singular.
    pub(super) fn entity(&self) -> Vec<String> {
        self.nouns.iter().map(|noun| noun.singular.clone()).collect()
    }

    /// Returns the words that say which of the tools on an entity this is, without those of the entity.
    pub(super) fn label(&self, entity: &[String], reads: bool) -> String {
        let beside = self.nouns.len().saturating_sub(entity.len());
        let own = match self.matches(entity) {
            Some(Match::Part) => &self.nouns[entity.len()..],
            Some(Match::Kind) => &self.nouns[..beside],
            Some(Match::Whole) => &[],
            None => &self.nouns[..],
        };
        let own = own.iter().map(|noun| &noun.written);
        let rest: Vec<&str> =
            self.quantities.iter().chain(own).chain(&self.tail).map(String::as_str).collect();
        let is_plain = matches!(self.kind, Some(VerbKind::Get | VerbKind::List));
        if reads && is_plain && !rest.is_empty() {
            return rest.join("_");
        }
        let verb = self.verb.iter().map(String::as_str);
        verb.chain(rest).collect::<Vec<_>>().join("_")
    }
}

/// Takes the names of all tools of a server apart; `None` for those that cannot be read.
pub(super) fn parse_all(names: &[&str]) -> Vec<Option<ParsedName>> {
    let split: Vec<Vec<String>> =
        names.iter().map(|name| words(name).map(str::to_lowercase).collect()).collect();
    let common = common_words(&split);
    let split: Vec<&[String]> = split.iter().map(|words| &words[common..]).collect();
    let spaces = spaces(&split);
    split.iter().map(|words| parse(words, &spaces)).collect()
}

/// Returns a word in the singular, as far as its ending tells.
pub(super) fn singular(word: &str) -> String {
    let keeps = ["ss", "us", "is"].iter().any(|end| word.ends_with(end));
    if word.len() < 4 || keeps || !word.ends_with('s') {
        return word.to_owned();
    }
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 1) {
        return format!("{stem}y");
    }
    let hisses = ["sses", "xes", "ches", "shes"].iter().any(|end| word.ends_with(end));
    word[..word.len() - if hisses { 2 } else { 1 }].to_owned()
}

/// Counts the first words that all names share. A verb is none of them, and every name keeps a word.
fn common_words(split: &[Vec<String>]) -> usize {
    let Some((first, rest)) = split.split_first().filter(|(_, rest)| rest.len() + 1 >= LEAST_SPACE) else {
        return 0;
    };
    let is_common = |at: usize| {
        let word = &first[at];
        verb_kind(word).is_none() && rest.iter().all(|words| words.len() > at + 1 && words[at] == *word)
    };
    (0..first.len().saturating_sub(1)).take_while(|at| is_common(*at)).count()
}

/// Returns the first words that stand before verbs in several names: `jira_get_issue`, `monitor_create`.
fn spaces<'a>(split: &[&'a [String]]) -> BTreeSet<&'a str> {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for words in split {
        let [first, rest @ ..] = words else { continue };
        let (begun, led) = counts.entry(first).or_default();
        *begun += 1;
        *led += usize::from(rest.first().is_some_and(|next| verb_kind(next).is_some() && rest[0] != *first));
    }
    let is_space = |word: &str, begun: usize, led: usize| match verb_kind(word) {
        None => begun >= LEAST_SPACE && led >= 2,
        // `order_create` and `order_cancel`, but not `get_list` among many that begin with `get`.
        Some(_) => led >= 2 && 3 * led >= 2 * begun,
    };
    let found = counts.into_iter().filter(|(word, (begun, led))| is_space(word, *begun, *led));
    found.map(|(word, _)| word).collect()
}

fn parse(words: &[String], spaces: &BTreeSet<&str>) -> Option<ParsedName> {
    let (first, rest) = words.split_first()?;
    if spaces.contains(first.as_str()) && !rest.is_empty() {
        if let Some(parsed) = verb_first(rest) {
            return Some(ParsedName { space: Some(first.clone()), ..parsed });
        }
        // The verb alone: what it acts on is what the names begin with.
        return noun_first(words);
    }
    verb_first(words).or_else(|| noun_first(words)).or_else(|| supposed(words))
}

/// Reads `create_or_update_file_from_template`; the first words must be a verb that is known.
fn verb_first(words: &[String]) -> Option<ParsedName> {
    let known = family_words();
    let adverbs = words.iter().take_while(|word| known.adverbs.contains(*word)).count();
    let kind = verb_kind(words.get(adverbs)?)?;
    let mut end = adverbs + 1;
    while let [link, next, ..] = &words[end..]
        && is_link(link)
        && verb_kind(next).is_some()
    {
        end += 2;
    }
    object(&words[..end], Some(kind), &words[end..])
}

/// Reads `backup_create`: what it acts on, then the verb.
fn noun_first(words: &[String]) -> Option<ParsedName> {
    let (last, rest) = words.split_last().filter(|(_, rest)| !rest.is_empty())?;
    let kind = verb_kind(last)?;
    let parsed = object(std::slice::from_ref(last), Some(kind), rest)?;
    // `search_and_replace` acts on nothing that its name says.
    let has_link = rest.iter().any(|word| is_link(word));
    let has_verb = rest.len() > 1 && rest.iter().any(|word| verb_kind(word).is_some());
    (!has_link && !has_verb && parsed.tail.is_empty()).then_some(parsed)
}

/// Takes the first word as a verb, whatever it is; whether it is one shows when its nouns are an entity.
fn supposed(words: &[String]) -> Option<ParsedName> {
    let (first, rest) = words.split_first()?;
    object(std::slice::from_ref(first), None, rest)
}

fn object(verb: &[String], kind: Option<VerbKind>, words: &[String]) -> Option<ParsedName> {
    let known = family_words();
    let mut nouns: Vec<&String> = Vec::new();
    let mut quantities = Vec::new();
    let mut at = 0;
    // The last word of a name is no preposition: `update_send_as`.
    let is_behind = |at: usize| at > 0 && at + 1 < words.len() && known.prepositions.contains(&words[at]);
    while let Some(word) = words.get(at).filter(|_| !is_behind(at)) {
        at += 1;
        if known.quantities.contains(word) {
            quantities.push(word.clone());
        } else if !known.articles.contains(word) {
            nouns.push(word);
        }
    }
    let (mut verb, mut kind) = (verb.to_vec(), kind);
    let is_listing =
        |nouns: &[&String]| nouns.len() > 1 && nouns.last().is_some_and(|it| known.listings.contains(*it));
    if kind == Some(VerbKind::Get) && is_listing(&nouns) {
        (verb, kind) = (vec![nouns.pop()?.clone()], Some(VerbKind::List));
    }
    let nouns: Vec<Noun> =
        nouns.into_iter().map(|it| Noun { singular: singular(it), written: it.clone() }).collect();
    let parsed = ParsedName { space: None, verb, kind, quantities, nouns, tail: words[at..].to_vec() };
    (!parsed.nouns.is_empty()).then_some(parsed)
}
