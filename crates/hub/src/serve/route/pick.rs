//! Which of the offered tools an answer means.

use toolyard_core::tool::Tool;

/// What an answer to a question says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
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

/// Ordinals, by what they stand for.
const ORDINALS: [(&[&str], usize); 9] = [
    (
        &[
            "first",
            "1st",
            "one",
            "erste",
            "ersten",
            "erstes",
            "primero",
            "primera",
            "premier",
            "première",
            "former",
        ],
        1,
    ),
    (
        &["second", "2nd", "two", "zweite", "zweiten", "zweites", "segundo", "segunda", "deuxième", "second"],
        2,
    ),
    (&["third", "3rd", "three", "dritte", "dritten", "drittes", "tercero", "tercera", "troisième"], 3),
    (&["fourth", "4th", "four", "vierte", "cuarto", "quatrième"], 4),
    (&["fifth", "5th", "five", "fünfte", "quinto", "cinquième"], 5),
    (&["sixth", "6th", "six"], 6),
    (&["seventh", "7th", "seven"], 7),
    (&["eighth", "8th", "eight"], 8),
    (&["ninth", "9th", "nine"], 9),
];

/// Words that may stand beside an ordinal without saying more.
const FILLERS: [&str; 24] = [
    "the", "one", "option", "number", "no", "nr", "choice", "answer", "please", "use", "take", "with", "i",
    "mean", "meant", "der", "die", "das", "el", "la", "le", "tool", "in", "yes",
];

/// Words with which people agree, and those that stand beside them.
const AGREEING: [&str; 19] = [
    "yes",
    "y",
    "ok",
    "okay",
    "sure",
    "ja",
    "sí",
    "si",
    "oui",
    "confirm",
    "confirmed",
    "do",
    "it",
    "go",
    "ahead",
    "please",
    "bitte",
    "that",
    "this",
];

/// Whether an answer agrees and says nothing else.
pub(super) fn agrees(answer: &str) -> bool {
    let answer = answer.trim().to_lowercase();
    answer.len() <= MOST_BYTES
        && words(&answer).next().is_some()
        && words(&answer).all(|word| AGREEING.contains(&word))
}

/// Reads which of the offered tools an answer means.
pub(super) fn pick(answer: &str, offered: &[&Tool]) -> Pick {
    if answer.len() > MOST_BYTES {
        return Pick::Words;
    }
    let answer = answer.trim().to_lowercase();
    if let Some(at) = offered.iter().position(|tool| named(&answer, tool)) {
        return Pick::Tool(at);
    }
    let words: Vec<&str> = words(&answer).collect();
    if words.is_empty() || words.len() > MOST_WORDS {
        return Pick::Words;
    }
    if words.iter().all(|word| ["none", "neither", "nothing", "of", "these", "them", "cancel"].contains(word))
    {
        return Pick::Neither;
    }
    if let Some(at) = ordinal(&words, offered.len()) {
        return Pick::Tool(at);
    }
    if let ([_], Some(true)) = (offered, agreement(&words)) {
        return Pick::Tool(0);
    }
    match only(offered, |tool| is_server(&words, tool)).or_else(|| best_described(&words, offered)) {
        Some(at) => Pick::Tool(at),
        None => Pick::Words,
    }
}

fn named(answer: &str, tool: &Tool) -> bool {
    answer == tool.id.as_str().to_lowercase() || answer == tool.name.to_lowercase()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn agreement(words: &[&str]) -> Option<bool> {
    match words {
        ["yes" | "y" | "ok" | "okay" | "sure" | "ja" | "sí" | "si" | "oui", ..] => Some(true),
        ["no" | "n" | "nein" | "non", ..] => Some(false),
        _ => None,
    }
}

/// A digit or an ordinal, with nothing else of content beside it.
fn ordinal(words: &[&str], offered: usize) -> Option<usize> {
    let mut found = None;
    for word in words {
        let spelled =
            ORDINALS.iter().find(|(spellings, _)| spellings.contains(word)).map(|(_, number)| *number);
        let number = match *word {
            "last" | "latter" | "letzte" | "último" | "dernier" => Some(offered),
            // `the second one`: the last word is not a number.
            "one" if words.len() > 1 => None,
            _ => word.parse().ok().or(spelled),
        };
        match number {
            Some(number) if found.is_some_and(|known| known != number) => return None,
            Some(number) => found = Some(number),
            None if FILLERS.contains(word) => {}
            None => return None,
        }
    }
    found?.checked_sub(1).filter(|at| *at < offered)
}

/// Every word of the answer is a filler or part of the server's name, and some are.
fn is_server(words: &[&str], tool: &Tool) -> bool {
    let server = tool.server.to_lowercase();
    let of_server: Vec<&str> = self::words(&server).collect();
    let said = |word: &&&str| of_server.contains(*word) || **word == server.as_str();
    let fits = words.iter().filter(said).count();
    fits > 0 && words.iter().all(|word| said(&word) || FILLERS.contains(word))
}

fn only(offered: &[&Tool], fits: impl Fn(&Tool) -> bool) -> Option<usize> {
    let mut found = offered.iter().enumerate().filter(|(_, tool)| fits(tool)).map(|(at, _)| at);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The tool whose name and description have every word of a short answer, when it is the only one.
fn best_described(words: &[&str], offered: &[&Tool]) -> Option<usize> {
    let telling: Vec<&&str> = words.iter().filter(|word| !FILLERS.contains(word)).collect();
    if telling.is_empty() || telling.len() > 4 {
        return None;
    }
    only(offered, |tool| {
        let own =
            format!("{} {} {}", tool.server, tool.name.replace('_', " "), tool.description).to_lowercase();
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
    use super::*;
    use toolyard_core::catalog::{Advertised, Bounds, Catalog};

    fn catalog() -> Catalog {
        let bounds = Bounds { tools: 9, name_chars: 99, description_chars: 999, nesting: 9 };
        let server = |server: &str, name: &str, description: &str| {
            let definition = serde_json::json!({"name": name, "description": description});
            let tools = vec![crate::jsonrpc::raw(&definition)];
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
            ("el segundo", Pick::Tool(1)),
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
}
