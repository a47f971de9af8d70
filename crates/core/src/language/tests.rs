//! Every file is read, and no two languages disagree.

use std::collections::HashMap;
use std::fmt::Debug;

use super::*;

#[test]
fn every_language_has_a_file_that_can_be_read() {
    for (language, words) in Language::ALL.into_iter().zip(all()) {
        assert_eq!(words.language, language);
        assert!(words.verbs.values().all(|verbs| !verbs.is_empty()), "{language:?}");
        assert!(!words.stop_words.is_empty() && !words.clauses.then.is_empty(), "{language:?}");
    }
}

/// Numbers and dates are looked up without asking for the language.
#[test]
fn a_word_of_the_calendar_or_a_number_is_the_same_in_all_languages() {
    fn agree<T: PartialEq + Copy + Debug>(of: impl Fn(&Words) -> Vec<(&str, T)>) {
        let mut known: HashMap<&str, T> = HashMap::new();
        for (word, value) in all().iter().flat_map(of) {
            assert_eq!(*known.entry(word).or_insert(value), value, "{word}");
        }
    }
    fn pairs<T: Copy>(words: &HashMap<String, T>) -> Vec<(&str, T)> {
        words.iter().map(|(word, value)| (word.as_str(), *value)).collect()
    }
    agree(|it| pairs(&it.calendar.months));
    agree(|it| pairs(&it.calendar.weekdays));
    agree(|it| pairs(&it.calendar.days));
    agree(|it| pairs(&it.calendar.parts));
    agree(|it| {
        it.calendar
            .units
            .iter()
            .flat_map(|(unit, words)| words.iter().map(|word| (word.as_str(), *unit)))
            .collect()
    });
    agree(|it| pairs(&it.numbers.words));
    agree(|it| pairs(&it.numbers.scales));
    agree(|it| pairs(&it.numbers.ordinals));
}
