//! What an answer to a question says: which of the offered tools is meant, and whether it agrees.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::joint::{Phrase, begins, phrases};
use crate::language::{self, WordSet, folded};
use crate::lexicon::runs;
use crate::tool::Tool;

/// What an answer to a question says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The tool at this place of the offer.
    Tool(usize),
    /// None of them.
    Neither,
    /// Something else, which is to be routed together with the question.
    Words,
}

/// Answers longer than this say more than which one.
const MOST_WORDS: usize = 12;
const MOST_BYTES: usize = 500;
/// A description is looked into for so many words of an answer.
const MOST_TELLING: usize = 4;

/// The words of all languages with which people answer.
struct Known {
    ordinals: HashMap<String, usize>,
    last: WordSet,
    fillers: WordSet,
    yes: WordSet,
    none: WordSet,
    agreeing: Vec<Phrase>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let answers = || language::all().iter().map(|words| &words.answers);
    Known {
        ordinals: answers()
            .flat_map(|it| &it.ordinals)
            .map(|(word, number)| (folded(word), *number))
            .collect(),
        last: WordSet::of(|it| &it.answers.last),
        fillers: WordSet::of(|it| &it.answers.fillers),
        yes: WordSet::of(|it| &it.answers.yes),
        none: WordSet::of(|it| &it.answers.none),
        agreeing: answers().flat_map(|it| phrases(&it.agreeing)).collect(),
    }
});

/// Whether an answer agrees and says nothing else.
pub fn agrees(answer: &str) -> bool {
    if answer.len() > MOST_BYTES {
        return false;
    }
    let answer = folded(answer);
    let words: Vec<&str> = words(&answer).collect();
    let mut at = 0;
    while at < words.len() {
        let fitting = KNOWN.agreeing.iter().filter(|phrase| begins(&words[at..], phrase));
        match fitting.map(|phrase| phrase.len()).max() {
            Some(taken) => at += taken,
            None => return false,
        }
    }
    !words.is_empty()
}

/// Reads which of the offered tools an answer means.
pub fn pick(answer: &str, offered: &[&Tool]) -> Pick {
    if answer.len() > MOST_BYTES {
        return Pick::Words;
    }
    let answer = folded(answer.trim());
    if let Some(at) = offered.iter().position(|tool| is_named(&answer, tool)) {
        return Pick::Tool(at);
    }
    let words: Vec<&str> = words(&answer).collect();
    if words.is_empty() || words.len() > MOST_WORDS {
        return Pick::Words;
    }
    if words.iter().all(|word| KNOWN.none.has(word)) {
        return Pick::Neither;
    }
    if let Some(at) = ordinal(&words, offered.len()) {
        return Pick::Tool(at);
    }
    if offered.len() == 1 && KNOWN.yes.has(words[0]) {
        return Pick::Tool(0);
    }
    match only(offered, |tool| is_server(&words, tool)).or_else(|| best_described(&words, offered)) {
        Some(at) => Pick::Tool(at),
        None => Pick::Words,
    }
}

fn is_named(answer: &str, tool: &Tool) -> bool {
    answer == folded(tool.id.as_str()) || answer == folded(&tool.name)
}

/// Parts a folded text into words; digits are parted from scripts without spaces, as in `2番`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    runs(text).filter(|word| !word.is_empty())
}

/// A digit or an ordinal, with nothing else of content beside it.
fn ordinal(words: &[&str], offered: usize) -> Option<usize> {
    let mut found = None;
    for word in words {
        let number = if KNOWN.last.has(word) {
            Some(offered)
        } else if words.len() > 1 && KNOWN.fillers.has(word) {
            // `the second one`: the last word is not a number.
            None
        } else {
            word.parse().ok().or_else(|| KNOWN.ordinals.get(*word).copied())
        };
        match number {
            Some(number) if found.is_some_and(|known| known != number) => return None,
            Some(number) => found = Some(number),
            None if KNOWN.fillers.has(word) => {}
            None => return None,
        }
    }
    found?.checked_sub(1).filter(|at| *at < offered)
}

/// Every word of the answer is a filler or part of the server's name, and some are.
fn is_server(words: &[&str], tool: &Tool) -> bool {
    let server = folded(&tool.server);
    let of_server: Vec<&str> = self::words(&server).collect();
    let said = |word: &&&str| of_server.contains(*word) || **word == server.as_str();
    let fits = words.iter().filter(said).count();
    fits > 0 && words.iter().all(|word| said(&word) || KNOWN.fillers.has(word))
}

fn only(offered: &[&Tool], fits: impl Fn(&Tool) -> bool) -> Option<usize> {
    let mut found = offered.iter().enumerate().filter(|(_, tool)| fits(tool)).map(|(at, _)| at);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The tool whose name and description have every word of a short answer, when it is the only one.
fn best_described(words: &[&str], offered: &[&Tool]) -> Option<usize> {
    let telling: Vec<&&str> = words.iter().filter(|word| !KNOWN.fillers.has(word)).collect();
    if telling.is_empty() || telling.len() > MOST_TELLING {
        return None;
    }
    only(offered, |tool| {
        let own = folded(&format!("{} {} {}", tool.server, tool.name.replace('_', " "), tool.description));
        let own: Vec<&str> = self::words(&own).collect();
        telling.iter().all(|word| own.iter().any(|known| is_same(known, word)))
    })
}

/// The same word, or one of them with an ending.
fn is_same(known: &str, word: &str) -> bool {
    known == word
        || (word.len() > 3 && known.starts_with(word))
        || (known.len() > 3 && word.starts_with(known))
}

#[cfg(test)]
mod tests {
    use serde_json::value::to_raw_value;

    use super::*;
    use crate::catalog::{Advertised, Bounds, Catalog};

    fn catalog() -> Catalog {
        let bounds = Bounds { tools: 9, name_chars: 99, description_chars: 999, nesting: 9 };
        let server = |server: &str, name: &str, description: &str| {
            let definition = serde_json::json!({"name": name, "description": description});
            let tools = vec![to_raw_value(&definition).unwrap()];
            (Advertised { server: server.into(), tools }, bounds)
        };
        Catalog::gather([
            server("notion", "search", "Search pages by title"),
            server("obsidian", "search_notes", "Search notes by content"),
            server("zz", "delete_file", "Deletes a file"),
        ])
        .0
    }

    #[test]
    fn r7_an_answer_picks_by_number_name_server_or_description() {
        let catalog = catalog();
        let offered: Vec<&Tool> = catalog.tools().iter().collect();
        for (answer, expected) in [
            ("2", Pick::Tool(1)),
            ("#3.", Pick::Tool(2)),
            ("option 1", Pick::Tool(0)),
            ("the second one", Pick::Tool(1)),
            ("one", Pick::Tool(0)),
            ("The LAST one, please", Pick::Tool(2)),
            ("obsidian", Pick::Tool(1)),
            ("in Obsidian", Pick::Tool(1)),
            ("obsidian__search_notes", Pick::Tool(1)),
            ("delete_file", Pick::Tool(2)),
            ("by content", Pick::Tool(1)),
            ("search", Pick::Tool(0)),
            ("search by", Pick::Words),
            ("neither of these", Pick::Neither),
            ("7", Pick::Words),
            ("0", Pick::Words),
            ("the first or the second", Pick::Words),
            ("", Pick::Words),
            ("the weather in Paris tomorrow", Pick::Words),
        ] {
            assert_eq!(pick(answer, &offered), expected, "{answer}");
        }
        assert_eq!(pick("yes", &offered[..1]), Pick::Tool(0));
        assert_eq!(pick("yes", &offered), Pick::Words);
        assert_eq!(pick("1", &[]), Pick::Words);
    }

    #[test]
    fn r7_an_answer_picks_in_every_language() {
        let catalog = catalog();
        let offered: Vec<&Tool> = catalog.tools().iter().collect();
        for (second, last, none) in [
            ("the second one", "the last", "none of them"),
            ("der zweite bitte", "das letzte", "keins davon"),
            ("la deuxième", "le dernier", "aucun d'entre eux"),
            ("el segundo", "la última, por favor", "ninguno de ellos"),
            ("o segundo", "a última", "nenhum deles"),
            ("la seconda", "l'ultimo", "nessuno di loro"),
            ("de tweede", "de laatste graag", "geen van deze"),
            ("drugi", "ostatni", "żaden z nich"),
            ("второй", "последнюю, пожалуйста", "ни один из них"),
            ("ikincisi", "sonuncusu", "hiçbiri"),
            ("2番目", "最後", "なし"),
            ("第二个", "最后一个", "都不是"),
            ("두 번째", "마지막", "없어요"),
            ("الثاني", "الأخير", "لا شيء منها"),
            ("दूसरा वाला", "आखिरी", "इनमें से कोई नहीं"),
        ] {
            assert_eq!(pick(second, &offered), Pick::Tool(1), "{second}");
            assert_eq!(pick(last, &offered), Pick::Tool(2), "{last}");
            assert_eq!(pick(none, &offered), Pick::Neither, "{none}");
        }
    }

    #[test]
    fn an_answer_agrees_only_when_it_says_nothing_else() {
        for answer in [
            "yes",
            "Yes, go ahead",
            "do it please",
            "ja bitte",
            "d'accord",
            "sí, por favor",
            "sim",
            "va bene",
            "graag",
            "tak, proszę",
            "да, конечно",
            "evet",
            "はい、お願いします",
            "好的",
            "네",
            "نعم",
            "हाँ, ठीक है",
        ] {
            assert!(agrees(answer), "{answer}");
        }
        for answer in ["", "no", "yes, but not that file", "claro que no", "nein", "ja, aber", "不", "de"] {
            assert!(!agrees(answer), "{answer}");
        }
    }

    #[test]
    fn no_word_both_agrees_and_declines() {
        for phrase in &KNOWN.agreeing {
            assert!(!phrase.iter().all(|word| KNOWN.none.has(word)), "{phrase:?}");
        }
    }
}
