//! Words that stand for something that was found before.

use std::sync::LazyLock;

use super::joint::{Joints, StandIn};
use crate::language::WordSet;
use crate::lexicon::{Language, folded};
use crate::text::{SOME_FOLDER, without_folders};

/// Returns what the words of a request stand for, in the order in which they are said.
pub fn stand_ins(words: &str, language: Language) -> Vec<StandIn> {
    let joints = Joints::of(language);
    let text = folded(&without_folders(words, SOME_FOLDER));
    if matches!(language, Language::Zh | Language::Ja | Language::Ko) {
        let found = joints.stand_ins.iter().find(|(phrase, _)| text.contains(&phrase.join(" ")));
        return found.map(|(_, kind)| *kind).into_iter().collect();
    }
    let plain: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '.' | '!' | '?' | ':' | '(' | ')'))
        .filter(|word| !word.is_empty())
        .collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < plain.len() {
        let known = joints.stand_ins.iter().find(|(phrase, _)| super::joint::begins(&plain[at..], phrase));
        match known {
            Some((phrase, kind)) => {
                found.push(*kind);
                at += phrase.len();
            }
            None => at += 1,
        }
    }
    found
}

/// Whether a text is nothing but a word for something that was found before, and so no value itself.
pub fn is_stand_in(text: &str, language: Language) -> bool {
    let text = folded(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let joints = Joints::of(language);
    joints
        .stand_ins
        .iter()
        .any(|(phrase, _)| phrase.len() == words.len() && super::joint::begins(&words, phrase))
}

/// Whether the words of a request pick one of several things: the latest, the first.
pub fn names_one(words: &str) -> bool {
    static SUPERLATIVES: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.stand_ins.superlatives));
    words.split_whitespace().any(|word| SUPERLATIVES.has(&word.to_lowercase()))
}

/// Whether one of the first words of a task, at most `most`, stands for something that was said before.
pub fn refers_back(task: &str, most: usize) -> bool {
    static PRONOUNS: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.stand_ins.pronouns));
    let words = task.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.take(most).any(|word| PRONOUNS.has(&word.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r9_words_stand_for_one_thing_several_or_one_of_several() {
        let of = |words| stand_ins(words, Language::En);
        assert_eq!(of("create an issue about it"), [StandIn::One]);
        assert_eq!(of("tag all of them"), [StandIn::Many]);
        assert_eq!(of("open the first one, then close it"), [StandIn::First, StandIn::One]);
        assert_eq!(of("list the files"), []);
        assert_eq!(stand_ins("öffne das Ergebnis", Language::De), [StandIn::One]);
        assert_eq!(stand_ins("给它添加标签", Language::Zh), [StandIn::One]);
    }

    #[test]
    fn r9_a_value_is_more_than_a_stand_in() {
        assert!(is_stand_in("It", Language::En) && is_stand_in("the result", Language::En));
        assert!(!is_stand_in("it.txt", Language::En) && !is_stand_in("that thing of yours", Language::En));
    }
}
