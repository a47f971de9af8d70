//! What words mean in many languages: which action a verb asks for, which English word a noun stands for.
//!
//! The words are data (`language/data`, `data/categories.json`). A request is read once into a
//! [`Reading`]; everything after it works with English.

mod category;
mod format;
mod reading;
mod related;

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::language::{self, Words};
use crate::text::is_unparted;

pub(crate) use crate::language::folded;
pub use crate::language::{Action, Language};
pub use category::{Categories, Noun};
pub(crate) use format::{file_format, split_ending};
pub(crate) use reading::runs;
pub use reading::{Reading, Word};
pub use related::Related;

/// Every word that is known, of all languages.
#[derive(Debug)]
pub struct Lexicon {
    /// Words and phrases, folded.
    exact: HashMap<Box<str>, Vec<Meaning>>,
    /// Beginnings of inflected words.
    beginnings: HashMap<Box<str>, Vec<Meaning>>,
    /// Phrases of scripts that do not part words, by their first character, longest first.
    unparted: HashMap<char, Vec<(Box<str>, Meaning)>>,
    /// Words without content, with the languages that have them.
    stops: HashMap<Box<str>, Vec<Language>>,
}

/// What a word means in one language.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Meaning {
    language: Language,
    action: Option<Action>,
    english: Option<Box<str>>,
}

impl Meaning {
    /// A word of the lexicon may be both a verb and something else.
    fn join(&mut self, other: Self) {
        self.action = self.action.or(other.action);
        self.english = self.english.take().or(other.english);
    }
}

/// A beginning shorter than this fits too many words.
const MIN_BEGINNING: usize = 2;
/// Bytes of the longest beginning.
const MAX_BEGINNING: usize = 48;

impl Lexicon {
    /// Returns the lexicon that comes with the product, read on first use.
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Lexicon> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            let mut lexicon = Self {
                exact: HashMap::new(),
                beginnings: HashMap::new(),
                unparted: HashMap::new(),
                stops: HashMap::new(),
            };
            for words in language::all() {
                lexicon.add(words);
            }
            for phrases in lexicon.unparted.values_mut() {
                phrases.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.0.cmp(&b.0)));
            }
            lexicon
        })
    }

    fn add(&mut self, words: &Words) {
        let language = words.language;
        for (action, phrases) in &words.verbs {
            for phrase in phrases {
                self.add_word(phrase, Meaning { language, action: Some(*action), english: None });
            }
        }
        for (word, english) in &words.glosses {
            self.add_word(word, Meaning { language, action: None, english: Some(english.as_str().into()) });
        }
        for stop in &words.stop_words {
            let languages = self.stops.entry(folded(stop).into()).or_default();
            if !languages.contains(&language) {
                languages.push(language);
            }
        }
    }

    fn add_word(&mut self, word: &str, meaning: Meaning) {
        let word = folded(word);
        let (word, is_beginning) = match word.strip_suffix('*') {
            Some(beginning) => (beginning, true),
            None => (word.as_str(), false),
        };
        let Some(first) = word.chars().next() else { return };
        if is_unparted(first) {
            let known = self.unparted.entry(first).or_default();
            match known.iter_mut().find(|(it, known)| **it == *word && known.language == meaning.language) {
                Some((_, known)) => known.join(meaning),
                None => known.push((word.into(), meaning)),
            }
            return;
        }
        let words = if is_beginning { &mut self.beginnings } else { &mut self.exact };
        let known = words.entry(word.into()).or_default();
        match known.iter_mut().find(|it| it.language == meaning.language) {
            Some(known) => known.join(meaning),
            None => known.push(meaning),
        }
    }

    /// Returns what a word or phrase means in a language, or else in English.
    fn meaning(&self, word: &str, language: Language) -> Option<&Meaning> {
        let of = |meanings: &'_ Vec<Meaning>| -> Option<usize> {
            let own = meanings.iter().position(|it| it.language == language);
            own.or_else(|| meanings.iter().position(|it| it.language == Language::En))
        };
        if let Some(meaning) = self.exact.get(word).and_then(|meanings| of(meanings).map(|at| &meanings[at]))
        {
            return Some(meaning);
        }
        if word.contains(' ') {
            return None;
        }
        let own = |end: usize| self.beginnings.get(&word[..end])?.iter().find(|it| it.language == language);
        ends(word).filter_map(own).last()
    }

    /// Returns the longest phrase that `text` begins with, in a script that does not part words.
    fn leading(&self, text: &str) -> Option<(&str, &Meaning)> {
        let phrases = self.unparted.get(&text.chars().next()?)?;
        let found = phrases.iter().find(|(phrase, _)| text.starts_with(&**phrase));
        found.map(|(phrase, meaning)| (&**phrase, meaning))
    }

    /// Returns the action that an English verb stands for.
    pub fn verb(&self, word: &str) -> Option<Action> {
        self.meaning(word, Language::En).and_then(|meaning| meaning.action)
    }

    /// Returns the plain words that an English abbreviation or slang word stands for.
    pub fn english(&self, word: &str) -> Option<&str> {
        let plural = || word.strip_suffix('s').and_then(|one| self.meaning(one, Language::En));
        let meaning = self.meaning(word, Language::En).or_else(plural)?;
        meaning.english.as_deref()
    }

    /// Whether a word has no content in a language.
    pub fn is_stop(&self, word: &str, language: Language) -> bool {
        self.stops.get(word).is_some_and(|languages| languages.contains(&language))
    }
}

/// Where a beginning of a word may end, the shortest first. Endless words have no meaning.
fn ends(word: &str) -> impl Iterator<Item = usize> {
    let inner = word.char_indices().map(|(at, _)| at).skip(MIN_BEGINNING);
    inner.chain([word.len()]).take_while(|end| *end <= MAX_BEGINNING)
}

#[cfg(test)]
mod tests;
