//! What a request asks for, as far as its words tell.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::Serialize;

use crate::language::{self, WordSet};
use crate::lexicon::{Action, Categories, Language, Reading, Word};
use crate::thresholds::thresholds;

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Intent {
    /// What is to be done.
    pub action: Action,
    /// What it is to be done to, as written; empty when no known noun is there.
    pub target: String,
    /// The field of use; empty when nothing points to one.
    pub category: String,
    /// The words with content, in order, each once.
    pub keywords: Vec<String>,
    /// What is wanted, in two words.
    pub use_case: String,
    /// How clear the request is by itself, from 0 to 1.
    pub confidence: f64,
    /// The language it is in.
    pub language: Language,
    /// The action, the noun, the product, and how many other words have content.
    #[serde(skip)]
    pub(crate) clues: Clues,
}

/// What the words of a request give away.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Clues {
    pub(crate) has_target: bool,
    pub(crate) names_product: bool,
    /// Words such as `something` or `it`, which stand for what was not said.
    pub(crate) stand_ins: usize,
    /// Words with content besides actions, nouns and products.
    pub(crate) details: usize,
    /// Whether some word speaks of removing, forcing or undoing, be it not the first verb.
    pub(crate) removes: bool,
}

/// Keywords beyond this are details.
const MAX_KEYWORDS: usize = 24;

/// Verbs that say little: a later one tells what is wanted.
static WEAK: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.intent.weak_verbs));
/// Words that ask for more than an ordinary change, without the ending of adverbs.
static FORCING: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let words = language::all().iter().flat_map(|it| &it.intent.forcing);
    words.map(|word| without_ly(word)).collect()
});
/// Words such as `something` or `it`.
static VAGUE: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.intent.vague));

impl Intent {
    /// Reads what a request asks for.
    ///
    /// ```
    /// use toolyard_core::lexicon::Action;
    /// use toolyard_core::rank::Intent;
    ///
    /// let intent = Intent::of("List my GitHub repositories");
    /// assert_eq!((intent.action, intent.target.as_str()), (Action::List, "repositories"));
    /// assert_eq!(intent.category, "version-control");
    /// ```
    pub fn of(task: &str) -> Self {
        Self::from_reading(&Reading::of(task))
    }

    /// Whether it says nothing about what is to be acted on.
    pub(crate) fn is_empty(&self) -> bool {
        self.clues.details == 0 && !self.clues.has_target && !self.clues.names_product
    }

    pub(crate) fn from_reading(reading: &Reading) -> Self {
        let categories = Categories::builtin();
        let words = &reading.words;
        let action = action(words);
        let mut clues = Clues::default();
        let (mut target, mut target_category, mut product) = (String::new(), None, None);
        let mut keywords: Vec<String> = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let english = word.english.as_deref().unwrap_or(&word.text);
            clues.removes |= word.action == Some(Action::Delete) || FORCING.contains(without_ly(english));
            if VAGUE.has(english) {
                clues.stand_ins += 1;
                continue;
            }
            if word.is_stop {
                continue;
            }
            if keywords.len() < MAX_KEYWORDS && !keywords.contains(&word.text) {
                keywords.push(word.text.clone());
            }
            let pair = words.get(at + 1).map(|next| format!("{english} {}", next.text));
            let noun = pair.and_then(|pair| categories.noun(&pair)).or_else(|| noun(english));
            match noun {
                Some(noun) if noun.is_product => {
                    product = product.or(Some(noun.category));
                    clues.names_product = true;
                }
                Some(_) if word.action.is_some() && at == 0 => {}
                Some(noun) if target.is_empty() => {
                    target.clone_from(&word.text);
                    target_category = Some(noun.category);
                    clues.has_target = true;
                }
                Some(_) => clues.details += 1,
                None if word.action.is_none() => clues.details += 1,
                None => {}
            }
        }
        let voted = || categories.vote(&reading.english());
        let category = product.or(target_category).or_else(voted);
        let shown = if target.is_empty() { "something" } else { &target };
        Self {
            action,
            use_case: format!("{} {shown}", action.as_str()),
            target,
            category: category.map(|at| categories.name(at).to_owned()).unwrap_or_default(),
            keywords,
            confidence: confidence(action, clues),
            language: reading.language,
            clues,
        }
    }
}

fn noun(english: &str) -> Option<crate::lexicon::Noun> {
    let categories = Categories::builtin();
    // A gloss may be several words, of which the first one known decides.
    categories.noun(english).or_else(|| english.split(' ').find_map(|word| categories.noun(word)))
}

/// The first verb decides, unless it says little and another follows.
fn action(words: &[Word]) -> Action {
    let verbs = || words.iter().filter_map(|word| word.action.map(|action| (word, action)));
    let strong = verbs().find(|(word, _)| !WEAK.has(&word.text));
    strong.or_else(|| verbs().next()).map_or(Action::Unknown, |(_, action)| action)
}

fn without_ly(word: &str) -> &str {
    word.strip_suffix("ly").unwrap_or(word)
}

fn confidence(action: Action, clues: Clues) -> f64 {
    let adds = &thresholds().intent;
    let mut confidence = adds.base;
    if action != Action::Unknown {
        confidence += adds.action;
    }
    if clues.has_target {
        confidence += adds.target;
    }
    if clues.names_product {
        confidence += adds.product;
    }
    confidence += adds.detail * clues.details.min(2) as f64;
    if clues.stand_ins > 0 && clues.details == 0 && !clues.has_target {
        confidence = f64::min(confidence, adds.stand_in);
    }
    confidence.clamp(adds.least, adds.most)
}
