//! Words of human languages are data. In code there are only words that a protocol, a format or a program knows.

use std::collections::BTreeSet;

use crate::tree::File;
use crate::{Findings, clean, file, tree};

/// A list of fewer words is a case that is told apart, not a vocabulary.
const MANY: usize = 3;

/// Letters in signs of units and ordinals.
const SIGNS: [char; 2] = ['µ', 'º'];

/// What lists of lower-case words may be made of: all words of a list are of one kind.
const KNOWN: [(&str, &str); 20] = [
    (
        "types and keywords of JSON Schema",
        "string number integer boolean object array null const enum default examples items properties required type \
         description definitions uri url iri pattern minimum maximum name format title annotations if then else",
    ),
    (
        "keys of settings files and of arguments of the hub's own tools",
        "confirm feedback more session arguments command args env cwd url headers enabled type name when description tools servers serve store routing toolset \
         arguments session confirm more model ranker tool schedules",
    ),
    (
        "members of definitions and of tokens, switches and headers of tables of this program",
        "annotations description icons name title aud exp iss profiles servers effect client may use a minute at once \
         after hostile server runs set until schedule workflow when next",
    ),
    ("names that parameters have by convention", "url uri website domain path filename directory folder"),
    ("dates in names of parameters, written together", "startdate enddate duedate birthdate"),
    ("keys under which a hub wraps what is no object", "text value result"),
    (
        "names of arguments that are not written down",
        "token secret passw passphrase credential authorization cookie privatekey apikey accesskey signature mnemonic \
         otp pin",
    ),
    ("ends of domains", "com org net io dev de fr es it uk jp cn edu gov eu ai app"),
    ("hosts of repositories", "github gitlab bitbucket codeberg"),
    ("endings and names of file formats", "png jpg gif svg webp wav json yaml yml text plain plaintext"),
    ("ends of English words that the stemmer cuts", "ss us is x ch sh s sses xes ches shes zzes"),
    (
        "first words of SQL statements",
        "select with explain desc describe pragma values copy load attach detach vacuum handler rename purge commit \
         begin rollback do replace reindex analyze import export install start refresh optimize flush reset use show",
    ),
    (
        "what the program itself prints or starts",
        "id words decision sure right wrong weight for requests like counts lessons request then now before after n assistant calls \
         skill when tools run state workflow who tool arguments outcome ms server transport domain belief why set from kind \
         requests ran wrong part confirm draft and values asked offered declined \
         calls valid exact recall precision invented repeated queries µs acts right asks offers the one declines \
         rightly tokens s score findings essential utility fallback client file npx npm node pipx python \
         pack what it is catalog sarif servers corrections texts noticed rules classifier",
    ),
    (
        "what models call the name and the arguments of a call",
        "name tool tool_name function arguments parameters args params input tool_input",
    ),
    ("members of a request to a model server", "model messages tools stream stream_options"),
    (
        "headers that belong to one connection",
        "connection keep-alive te trailer trailers upgrade transfer-encoding",
    ),
    ("how descriptions name the standard of dates", "iso date format timestamp"),
    ("columns of the list of runs", "run begun state workflow"),
    ("states of a task of the protocol", "working input_required completed failed cancelled"),
    ("what servers say of wrong arguments", "validation error invalid argument param input"),
];

/// A string of a Rust file.
struct Literal {
    line: usize,
    text: String,
    /// What stands between it and the one before, without spaces.
    before: String,
}

/// Reads the strings and characters of a Rust text up to its tests.
fn literals(text: &str) -> Vec<Literal> {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let (mut found, mut before, mut rest, mut line) = (Vec::new(), String::new(), text, 1);
    while let Some(first) = rest.chars().next() {
        let (skipped, inner) = token(rest);
        if let Some(inner) = inner {
            found.push(Literal { line, text: inner.to_owned(), before: std::mem::take(&mut before) });
        } else if skipped == first.len_utf8() && !first.is_whitespace() {
            before.push(first);
        }
        line += rest[..skipped].matches('\n').count();
        rest = &rest[skipped..];
    }
    found
}

/// Returns how many bytes the first comment, string or other character takes, and what stands in a string.
fn token(rest: &str) -> (usize, Option<&str>) {
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), None);
    }
    if rest.starts_with("/*") {
        return (rest.find("*/").map_or(rest.len(), |end| end + 2), None);
    }
    let hashes = rest.strip_prefix('r').map(|it| it.len() - it.trim_start_matches('#').len());
    if let Some(hashes) = hashes.filter(|hashes| rest[1 + hashes..].starts_with('"')) {
        let (open, close) = (2 + hashes, format!("\"{}", "#".repeat(hashes)));
        let end = rest[open..].find(&close).map_or(rest.len(), |end| open + end);
        return ((end + close.len()).min(rest.len()), Some(&rest[open..end]));
    }
    if let Some(inner) = rest.strip_prefix('"') {
        let end = closing(inner, '"');
        return ((end + 2).min(rest.len()), Some(&inner[..end]));
    }
    let mut chars = rest.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some('\''), Some('\\'), _) => (closing(&rest[1..], '\'') + 2, None),
        (Some('\''), Some(char), Some('\'')) => (char.len_utf8() + 2, Some(&rest[1..=char.len_utf8()])),
        (first, ..) => (first.map_or(1, char::len_utf8), None),
    }
}

/// Returns where a quotation mark closes, past those behind a backslash.
fn closing(text: &str, mark: char) -> usize {
    let mut is_escaped = false;
    let end = text.find(|char| {
        let ends = char == mark && !is_escaped;
        is_escaped = char == '\\' && !is_escaped;
        ends
    });
    end.unwrap_or(text.len() - 1)
}

fn is_product(path: &str) -> bool {
    let is_ours = ["core", "hub", "agent", "eval", "cli"]
        .iter()
        .any(|it| path.starts_with(&format!("crates/{it}/src/")));
    is_ours && path.ends_with(".rs") && !path.contains("/tests/") && !path.ends_with("/tests.rs")
}

/// Finds lists of words that are of no known kind.
fn vocabularies(files: &[File]) -> Findings {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| is_product(&file.path)) {
        let all = literals(&file.text);
        let lists = all.chunk_by(|_, next| matches!(next.before.as_str(), "," | "|"));
        for list in lists.filter(|list| list.len() >= MANY) {
            let words: BTreeSet<&str> =
                list.iter().map(|it| it.text.as_str()).filter(|it| is_word(it)).collect();
            let is_kind = |kind: &(&str, &str)| {
                words
                    .iter()
                    .flat_map(|words| words.split(' '))
                    .all(|word| kind.1.split_whitespace().any(|known| known == word))
            };
            if words.len() >= MANY && !KNOWN.iter().any(is_kind) {
                let shown: Vec<&str> = words.into_iter().take(5).collect();
                found.push(format!("{}:{}: {}", file.path, list[0].line, shown.join(", ")));
            }
        }
    }
    found
}

/// Whether a text is a word or a phrase in lower case; single letters are none.
fn is_word(text: &str) -> bool {
    text.chars().count() > 1
        && text.split(' ').all(|word| !word.is_empty() && word.chars().all(char::is_lowercase))
}

/// Finds letters that are not those of English.
fn letters(files: &[File]) -> Findings {
    let is_foreign = |char: char| !char.is_ascii() && char.is_alphabetic() && !SIGNS.contains(&char);
    let mut found = Vec::new();
    for file in files.iter().filter(|file| is_product(&file.path)) {
        let own = literals(&file.text).into_iter().filter(|it| it.text.contains(is_foreign));
        found.extend(own.map(|it| format!("{}:{}: {}", file.path, it.line, it.text)));
    }
    found
}

#[test]
fn code_holds_no_vocabulary() {
    clean(
        &vocabularies(&tree::rust()),
        "Words of requests belong into crates/core/src/language/data, those of tools into \
         crates/core/data/definitions.json. Words of a format or a protocol belong into KNOWN of this test.",
    );
}

#[test]
fn code_is_written_in_ascii_letters() {
    clean(&letters(&tree::rust()), "Words of requests belong into crates/core/src/language/data.");
}

#[test]
fn every_language_file_is_listed() {
    let list = tree::all().into_iter().find(|file| file.path == "crates/core/src/language.rs");
    let list = list.expect("the list of languages is there").text;
    for file in tree::all() {
        let name = file.path.strip_prefix("crates/core/src/language/data/");
        if let Some(code) = name.and_then(|name| name.strip_suffix(".json")) {
            assert!(list.contains(&format!("\"{code}\"")), "{} is not in the list of languages", file.path);
        }
    }
}

#[test]
fn a_vocabulary_and_a_foreign_letter_are_found() {
    let bad = "const A: [&str; 3] = [\n    \"to\", // of English\n    \"nach\",\n    \"vers\",\n];\n\
               fn f() { matches!(x, \"latest\" | \"newest\" | \"oldest\"); }\n\
               const B: [&str; 3] = [\"github\", \"gitlab\", \"codeberg\"];\n\
               const C: &str = \"a, b\"; // 'ä'\n\
               #[cfg(test)]\nmod tests { const D: [&str; 3] = [\"one\", \"two\", \"three\"]; }";
    let files = [file("crates/hub/src/a.rs", bad), file("crates/hub/src/a/tests.rs", bad)];
    assert_eq!(
        vocabularies(&files),
        ["crates/hub/src/a.rs:2: nach, to, vers", "crates/hub/src/a.rs:6: latest, newest, oldest"]
    );
    let foreign = "let a = ['ä', '“', '\\'', 'é']; let b = r#\"für\"#; let c = \"…\";";
    assert_eq!(letters(&[file("crates/core/src/a.rs", foreign)]).len(), 3);
}
