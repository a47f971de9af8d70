//! What comments and documents may say.

use crate::source::{lines, words};
use crate::tree::File;
use crate::{Findings, clean, file, tree};

/// Words for what code was like. The history of a file is in the history of the repository.
const HISTORY: [&str; 9] = [
    "previously",
    "no longer",
    "formerly",
    "refactored",
    "used to be",
    "now uses",
    "was renamed",
    "backward-compatible",
    "backwards compatible",
];

/// Words that praise instead of saying something.
const PRAISE: [&str; 17] = [
    "robust",
    "comprehensive",
    "production-ready",
    "production ready",
    "powerful",
    "seamless",
    "seamlessly",
    "elegant",
    "blazing",
    "cutting-edge",
    "state-of-the-art",
    "world-class",
    "battle-tested",
    "enterprise-grade",
    "best-in-class",
    "effortless",
    "effortlessly",
];

/// Capital letters, a dash and digits that are a standard and not a ticket.
const STANDARDS: [&str; 9] = ["UTF", "SHA", "ISO", "RFC", "FNV", "GMT", "UTC", "MIT", "AES"];

/// Returns where a phrase stands in a text as whole words, in whatever case.
fn has(text: &str, phrase: &str) -> bool {
    let text = text.to_lowercase();
    let is_word = |char: Option<char>| char.is_some_and(|it| it.is_alphanumeric() || it == '-');
    text.match_indices(phrase).any(|(at, _)| {
        !is_word(text[..at].chars().next_back()) && !is_word(text[at + phrase.len()..].chars().next())
    })
}

/// Returns what a person reads: the comments of Rust, scripts and settings, and whole documents.
fn prose(file: &File) -> Vec<(usize, String)> {
    let numbered = |lines: Vec<String>| (1..).zip(lines).collect();
    if file.path.ends_with(".rs") {
        return numbered(lines(&file.text).into_iter().map(|line| line.comment).collect());
    }
    numbered(file.text.lines().map(str::to_owned).collect())
}

fn is_prose(path: &str) -> bool {
    let is_document = path.ends_with(".md") && (!path.contains('/') || path.starts_with("docs/"));
    let is_script = path.starts_with("scripts/") || path.starts_with(".ci/") || path == "justfile";
    path.ends_with(".rs") || is_document || is_script
}

fn search(files: &[File], is_bad: impl Fn(&File, &str) -> Option<String>) -> Findings {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| is_prose(&file.path)) {
        for (number, line) in prose(file) {
            found.extend(is_bad(file, &line).map(|what| format!("{}:{number}: {what}", file.path)));
        }
    }
    found
}

fn banners(files: &[File]) -> Findings {
    search(files, |file, line| {
        // In a document such a line is a heading, a table or front matter.
        if !file.path.ends_with(".rs") && !line.starts_with('#') {
            return None;
        }
        let text = line.trim_start_matches(['#', ' ']);
        let is_rule =
            |it: char| matches!(it, '-' | '=' | '*' | '_' | '~' | '+' | '#' | '─' | '━' | '═' | '/');
        let drawn = |text: &mut dyn Iterator<Item = char>| text.take_while(|it| is_rule(*it)).count() >= 4;
        let is_banner = drawn(&mut text.chars()) || drawn(&mut text.chars().rev());
        is_banner.then(|| line.to_owned())
    })
}

fn history(files: &[File]) -> Findings {
    search(files, |file, line| {
        // The changelog is the one place for it, and this file has to name the words.
        let is_free = file.path == "CHANGELOG.md" || file.path.ends_with("tests/tidy/words.rs");
        let word = HISTORY.iter().find(|word| has(line, word))?;
        (!is_free).then(|| format!("`{word}` in: {line}"))
    })
}

fn praise(files: &[File]) -> Findings {
    search(files, |file, line| {
        let word = PRAISE.iter().find(|word| has(line, word))?;
        (!file.path.ends_with("tests/tidy/words.rs")).then(|| format!("`{word}` in: {line}"))
    })
}

fn tickets(files: &[File]) -> Findings {
    search(files, |_, line| {
        let ticket = words(line).find(|(at, word)| {
            let is_name = word.len() >= 2 && word.chars().all(|it| it.is_ascii_uppercase());
            let number = line[at + word.len()..].strip_prefix('-').and_then(|rest| rest.chars().next());
            let of_tracker = *word == "issue" && line[at + word.len()..].trim_start().starts_with('#');
            of_tracker
                || (is_name && !STANDARDS.contains(word) && number.is_some_and(|it| it.is_ascii_digit()))
        });
        ticket.map(|(_, word)| format!("`{word}` in: {line}"))
    })
}

#[test]
fn comments_draw_no_banners() {
    clean(&banners(&tree::all()), "A file that needs chapters is two files.");
}

#[test]
fn a_banner_is_found() {
    let bad = "// ---------- Retry ----------\n// ════\n//! | a |\n//! |---|\n// a -- b\n/* ==== */";
    assert_eq!(banners(&[file("a.rs", bad), file("docs/a.md", "---\n| --- |\n")]).len(), 3);
    assert_eq!(banners(&[file("scripts/a", "# ------\necho ----\n")]).len(), 1);
}

#[test]
fn comments_tell_no_history() {
    clean(
        &history(&tree::all()),
        "Say what is so now; what was before is in the commits and in CHANGELOG.md.",
    );
}

#[test]
fn history_is_found() {
    let bad =
        "// It previously used a map.\n// That is No Longer so.\nlet a = \"previously\"; // unpreviously\n";
    let found = history(&[
        file("a.rs", bad),
        file("CHANGELOG.md", "previously"),
        file("docs/a.md", "It was renamed."),
    ]);
    let expected = [
        "a.rs:1: `previously` in: It previously used a map.",
        "a.rs:2: `no longer` in: That is No Longer so.",
        "docs/a.md:1: `was renamed` in: It was renamed.",
    ];
    assert_eq!(found, expected);
}

#[test]
fn nothing_is_praised() {
    clean(&praise(&tree::all()), "Say what it does, and let a number or a test say how well.");
}

#[test]
fn praise_is_found() {
    let found = praise(&[
        file("README.md", "A Robust hub.\nRobustness is measured."),
        file("a.rs", "/// powerful\nlet a = \"robust\";"),
    ]);
    assert_eq!(found, ["README.md:1: `robust` in: A Robust hub.", "a.rs:1: `powerful` in: powerful"]);
}

#[test]
fn comments_name_no_tickets() {
    clean(&tickets(&tree::all()), "A reader has no tracker at hand: write the reason itself.");
}

#[test]
fn a_ticket_is_found() {
    let found = tickets(&[file(
        "a.rs",
        "// fixes HUB-231\n// UTF-8 and SHA-256, A-1\n// see issue #7\n// issue a request",
    )]);
    assert_eq!(found, ["a.rs:1: `HUB` in: fixes HUB-231", "a.rs:3: `issue` in: see issue #7"]);
}
