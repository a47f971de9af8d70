//! Numbers that decide are data, and functions take few things.

use crate::source::lines;
use crate::tree::File;
use crate::{Findings, clean, file, tree};

/// Where a number with a fraction may stand in code: it measures or shows something, and decides nothing.
const ALLOWED: [(&str, &str); 30] = [
    ("crates/core/src/arguments/values/relation.rs", "tenths of cosines"),
    ("crates/core/src/arguments/quantity.rs", "seconds of units, and how numbers are written"),
    ("crates/core/src/arguments/candidate.rs", "percentages, and numbers that floats hold exactly"),
    ("crates/core/src/arguments/score.rs", "no logarithm of nothing"),
    ("crates/core/src/arguments/result.rs", "the Dice coefficient"),
    ("crates/core/src/form/check.rs", "`multipleOf` in floats"),
    ("crates/core/src/form/sample.rs", "the middle of a range"),
    ("crates/core/src/index/phrases.rs", "rarity as BM25 has it"),
    ("crates/core/src/index/words.rs", "rarity as BM25 has it"),
    ("crates/core/src/lessons.rs", "half-lives, and milliseconds of a day"),
    ("crates/core/src/lexicon/related.rs", "percent"),
    ("crates/core/src/plan/render.rs", "milliseconds as seconds"),
    ("crates/hub/src/hub/feedback.rs", "milliseconds as seconds"),
    ("crates/hub/src/hub/workflow.rs", "milliseconds as seconds"),
    ("crates/hub/src/oauth/token.rs", "when a login is renewed"),
    ("crates/hub/src/routing/measured.rs", "how fast a mean follows"),
    ("crates/hub/src/serve/route/reply.rs", "digits that are shown"),
    ("crates/hub/src/serve/route/trace.rs", "seconds as milliseconds"),
    ("crates/hub/src/upstream/supervise/keeper.rs", "jitter between restarts"),
    ("crates/eval/src/bench.rs", "microseconds"),
    ("crates/eval/src/bm25.rs", "the baseline as it is published"),
    ("crates/eval/src/score.rs", "bins and discounts of measures"),
    ("crates/cli/src/eval/assistant.rs", "the share of tasks that are played, and milliseconds as seconds"),
    ("crates/cli/src/eval/report.rs", "digits that are shown"),
    ("crates/cli/src/find.rs", "digits that are shown"),
    (
        "crates/cli/src/learnt/tune.rs",
        "the error rate that is wanted unless another is named, and digits that are shown",
    ),
    ("crates/cli/src/route.rs", "percent"),
    ("crates/cli/src/route/explain.rs", "percent, and digits that are shown"),
    ("crates/cli/src/route/kept.rs", "seconds as milliseconds"),
    ("crates/cli/src/route/steps.rs", "percent"),
];

/// What one function takes at most; the parts of a tuple count.
const MOST_INPUTS: usize = 5;

/// Code of the product up to its tests.
fn product(files: &[File]) -> impl Iterator<Item = (&File, String)> {
    let is_ours = |path: &str| {
        let mut crates = ["core", "hub", "agent", "eval", "cli", "packs"].iter();
        crates.any(|krate| path.starts_with(&format!("crates/{krate}/src/")))
            && path.ends_with(".rs")
            && !path.contains("/tests/")
            && !path.ends_with("/tests.rs")
    };
    files.iter().filter(move |file| is_ours(&file.path)).map(|file| {
        let code = file.text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        (file, lines(code).into_iter().map(|line| line.code + "\n").collect())
    })
}

/// Finds numbers with a fraction, other than 0 and 1.
fn deciding(files: &[File]) -> Findings {
    let is_decided = |path: &str| !path.starts_with("crates/packs/") && !path.ends_with("/thresholds.rs");
    let is_allowed = |path: &str| ALLOWED.iter().any(|(allowed, _)| *allowed == path);
    let mut found = Vec::new();
    for (file, code) in product(files).filter(|(file, _)| is_decided(&file.path) && !is_allowed(&file.path)) {
        for (at, line) in code.lines().enumerate() {
            for number in fractions(line).into_iter().filter(|it| !matches!(*it, "0.0" | "1.0")) {
                found.push(format!("{}:{}: {number}", file.path, at + 1));
            }
        }
    }
    found
}

/// Returns the numbers of a line that have a point between digits.
fn fractions(line: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
    let numbers = line.split(|c: char| !is_part(c)).filter(|it| it.starts_with(|c: char| c.is_ascii_digit()));
    numbers
        .map(|it| it.trim_end_matches("_f32").trim_end_matches("_f64"))
        .filter(|it| it.matches('.').count() == 1 && !it.contains(".."))
        .filter(|it| it.split('.').all(|part| part.starts_with(|c: char| c.is_ascii_digit())))
        .collect()
}

/// Finds functions that take more than a reader can hold.
fn crowded(files: &[File]) -> Findings {
    let mut found = Vec::new();
    for (file, code) in product(files) {
        for (at, _) in code.match_indices("fn ") {
            let is_word = code[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
            let rest = &code[at + 3..];
            let Some(open) =
                rest.find(['(', ';', '{']).filter(|open| is_word && rest[*open..].starts_with('('))
            else {
                continue;
            };
            let count: usize = parts(inside(&rest[open..])).map(inputs).sum();
            if count > MOST_INPUTS {
                let line = code[..at].matches('\n').count() + 1;
                found.push(format!("{}:{line}: `{}` takes {count} things", file.path, rest[..open].trim()));
            }
        }
    }
    found
}

/// Returns what stands in the parentheses that a text begins with.
fn inside(text: &str) -> &str {
    let mut depth = 0;
    let end = text.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    });
    text.get(1..end.unwrap_or(1)).unwrap_or_default()
}

/// Parts a list at the commas that stand in no brackets.
fn parts(list: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut before) = (0, ' ');
    let pieces = list.split(move |c| {
        let opens = matches!(c, '(' | '[' | '{' | '<');
        let closes = matches!(c, ')' | ']' | '}') || c == '>' && before != '-';
        depth += i32::from(opens) - i32::from(closes);
        before = c;
        c == ',' && depth == 0
    });
    pieces.map(str::trim).filter(|piece| !piece.is_empty())
}

/// Counts what a parameter brings in.
fn inputs(parameter: &str) -> usize {
    let bare = parameter.trim_start_matches(['&', '\'']).trim();
    if bare == "self" || bare.ends_with(" self") || bare.starts_with("self:") {
        return 0;
    }
    match parameter.split_once(':').map(|(_, kind)| kind.trim()) {
        Some(kind) if kind.starts_with('(') => parts(inside(kind)).count(),
        _ => 1,
    }
}

#[test]
fn numbers_that_decide_are_data() {
    clean(
        &deciding(&tree::rust()),
        "Give it a name and a meaning in crates/core/data/thresholds.json, or say in ALLOWED what it measures.",
    );
    let bad =
        file("crates/hub/src/hub/rank.rs", "const VAGUE: f64 = 0.35;\nlet x = 0.0..1.0;\nlet y = a.0.1;");
    assert_eq!(deciding(&[bad]), ["crates/hub/src/hub/rank.rs:1: 0.35"]);
}

#[test]
fn functions_take_at_most_five_things() {
    clean(&crowded(&tree::rust()), "Bring what belongs together into a type of its own.");
    let bad =
        "fn a(&self, b: u8, (c, d): (u8, u8), e: &(dyn Fn(u8, u8) -> u8), f: HashMap<u8, u8>, g: u8) {}";
    assert_eq!(crowded(&[file("crates/core/src/a.rs", bad)]), ["crates/core/src/a.rs:1: `a` takes 6 things"]);
    let good = "fn a(self: Arc<Self>, b: u8, c: u8, d: u8, e: u8, f: u8) {}";
    assert!(crowded(&[file("crates/core/src/a.rs", good)]).is_empty());
}
