//! The words that join the parts of a task, in many languages.
//!
//! They are data (`language/data`): what joins requests, what only leads over to one, what begins to tell what
//! something says, and what stands for something found before.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::language::{self, Language, VerbPlace, Words};
use crate::lexicon::folded;

/// How one part of a task follows another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Joint {
    /// A colon, behind which something is told more exactly.
    Colon,
    /// A comma, which joins words as often as requests.
    Comma,
    /// `and`, which joins words as often as requests.
    And,
    /// The end of a sentence or a line.
    Stop,
    /// `then`: what follows is done afterwards.
    Then,
    /// `before`: what follows is done afterwards although it may be said first.
    Before,
    /// `after`: what follows is done first.
    After,
    /// `for each`: what follows is a list.
    Each,
}

/// A phrase, as the folded words it has.
pub(super) type Phrase = Box<[Box<str>]>;

/// The joints and small words of one language.
#[derive(Debug)]
pub(super) struct Joints {
    /// Whether verbs stand at the end.
    pub(super) has_verb_last: bool,
    joints: Vec<(Phrase, Joint)>,
    polite: Vec<Phrase>,
    report: Vec<Phrase>,
    content: Vec<Phrase>,
    asks: Vec<Phrase>,
    either: Vec<Phrase>,
    never: Vec<Phrase>,
    objects: Vec<Phrase>,
    pub(super) stand_ins: Vec<(Phrase, StandIn)>,
}

/// What a word stands for that was said or found before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandIn {
    /// One thing.
    One,
    /// Several things.
    Many,
    /// The first of several.
    First,
    /// The last of several.
    Last,
}

impl Joints {
    /// Returns the joints of a language.
    pub(super) fn of(language: Language) -> &'static Self {
        static BUILTIN: OnceLock<HashMap<Language, Joints>> = OnceLock::new();
        let all = BUILTIN.get_or_init(|| {
            language::all().iter().map(|words| (words.language, Self::read(words))).collect()
        });
        all.get(&language).expect("every language has a file")
    }

    fn read(words: &Words) -> Self {
        let clauses = &words.clauses;
        let kinds = [
            (&clauses.then, Joint::Then),
            (&clauses.and, Joint::And),
            (&clauses.before, Joint::Before),
            (&clauses.after, Joint::After),
            (&clauses.each, Joint::Each),
        ];
        let stand_ins = [
            (&words.stand_ins.first, StandIn::First),
            (&words.stand_ins.last, StandIn::Last),
            (&words.stand_ins.many, StandIn::Many),
            (&words.stand_ins.one, StandIn::One),
        ];
        Self {
            has_verb_last: clauses.verb == VerbPlace::Last,
            joints: longest_first(&kinds),
            polite: phrases(&clauses.polite),
            report: phrases(&clauses.report),
            content: phrases(&clauses.content),
            asks: phrases(&words.questions),
            either: phrases(&clauses.nouns_or_verbs),
            never: phrases(&clauses.never_verbs),
            objects: phrases(&clauses.object_starts),
            stand_ins: longest_first(&stand_ins),
        }
    }

    /// Returns the longest joint that words begin with, and how many words it takes.
    pub(super) fn leading(&self, words: &[&str]) -> Option<(usize, Joint)> {
        self.joints
            .iter()
            .find(|(phrase, _)| begins(words, phrase))
            .map(|(phrase, joint)| (phrase.len(), *joint))
    }

    /// Returns the longest joint that a text without spaces begins with, in bytes of the text.
    pub(super) fn leading_text(&self, text: &str) -> Option<(usize, Joint)> {
        let found = self.joints.iter().find(|(phrase, _)| phrase.len() == 1 && text.starts_with(&*phrase[0]));
        found.map(|(phrase, joint)| (phrase[0].len(), *joint))
    }

    /// Returns how many words at the beginning only lead over to a request.
    pub(super) fn polite(&self, words: &[&str]) -> usize {
        let mut at = 0;
        while let Some(phrase) =
            self.polite.iter().filter(|it| begins(&words[at..], it)).max_by_key(|it| it.len())
        {
            at += phrase.len();
        }
        at
    }

    /// Whether words begin to tell what something says or is for, which may hold verbs of its own.
    pub(super) fn opens_content(&self, words: &[&str]) -> bool {
        self.content.iter().any(|phrase| begins(words, phrase))
    }

    /// Whether a request only says how the answer to the one before it is told.
    pub(super) fn reports(&self, words: &[&str]) -> bool {
        match self.has_verb_last {
            true => {
                self.report.iter().any(|it| words.iter().rev().take(2).any(|word| word.contains(&*it[0])))
            }
            false => self.report.iter().any(|phrase| begins(words, phrase)),
        }
    }

    /// Whether a word is a noun as often as a verb.
    pub(super) fn is_either(&self, word: &str) -> bool {
        has(&self.either, word)
    }

    /// Whether a word never begins a command.
    pub(super) fn is_never(&self, word: &str) -> bool {
        has(&self.never, word) || has(&self.asks, word)
    }

    /// Whether a text without spaces has a word that never is in a command.
    pub(super) fn has_never(&self, text: &str) -> bool {
        let mut never = self.never.iter().chain(&self.asks);
        never.any(|phrase| text.contains(&*phrase[0]))
    }

    /// Whether words begin with one that asks.
    pub(super) fn begins_asking(&self, words: &[&str]) -> bool {
        self.asks.iter().any(|phrase| begins(words, phrase))
    }

    /// Whether a text has a word that asks, wherever it stands.
    pub(super) fn has_asking(&self, text: &str) -> bool {
        self.asks.iter().any(|phrase| text.contains(&*phrase[0]))
    }

    /// Whether a word begins the object of a verb.
    pub(super) fn is_object(&self, word: &str) -> bool {
        has(&self.objects, word)
    }
}

fn longest_first<T: Copy>(kinds: &[(&Vec<String>, T)]) -> Vec<(Phrase, T)> {
    let mut all: Vec<(Phrase, T)> = kinds
        .iter()
        .flat_map(|(texts, kind)| phrases(texts).into_iter().map(move |phrase| (phrase, *kind)))
        .collect();
    let bytes = |phrase: &Phrase| phrase.iter().map(|word| word.len()).sum::<usize>();
    all.sort_by_key(|(phrase, _)| std::cmp::Reverse((phrase.len(), bytes(phrase))));
    all
}

pub(super) fn phrases(texts: &[String]) -> Vec<Phrase> {
    texts.iter().map(|text| folded(text).split_whitespace().map(Into::into).collect()).collect()
}

pub(super) fn begins(words: &[&str], phrase: &Phrase) -> bool {
    words.len() >= phrase.len() && words.iter().zip(phrase).all(|(word, known)| **word == **known)
}

fn has(phrases: &[Phrase], word: &str) -> bool {
    phrases.iter().any(|phrase| phrase.len() == 1 && *phrase[0] == *word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_of_the_lexicon_has_joints() {
        for language in Language::ALL {
            let joints = Joints::of(language);
            assert!(joints.joints.iter().any(|(_, joint)| *joint == Joint::Then), "{language:?}");
        }
        assert!(!Joints::of(Language::De).joints.iter().any(|(phrase, _)| *phrase[0] == *"then"));
    }

    #[test]
    fn the_longest_joint_counts() {
        let joints = Joints::of(Language::En);
        assert_eq!(joints.leading(&["and", "then", "go"]), Some((2, Joint::Then)));
        assert_eq!(joints.leading(&["and", "go"]), Some((1, Joint::And)));
        assert_eq!(joints.leading(&["go"]), None);
    }
}
