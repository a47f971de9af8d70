//! Files, attributes and types.

use std::collections::BTreeMap;

use crate::source::{Line, lines, words};
use crate::tree::File;
use crate::{Findings, clean, file, tree};

const MOST_LINES: usize = 600;

/// Public names that two product modules may share, and why.
const SHARED_NAMES: [(&str, &str); 7] = [
    ("Error", "each module has its own"),
    ("Policy", "`config::Policy` is what was written, `policy::Policy` what watches over calls"),
    ("Store", "`config::Store` is what was written, `store::Store` the database"),
    ("Toolset", "`config::Toolset` is what was written, `session::Toolset` what a conversation has"),
    ("Bounds", "`catalog::Bounds` limits what a server offers, `frame::Bounds` one message"),
    ("Next", "`decide::Next` and `run::Next` are what each state machine wants next"),
    ("Client", "`caller::Client` is connected now, `clients::Client` is a program with a settings file"),
];

/// Names that say nothing about what a thing is.
const EMPTY_NAMES: [&str; 8] =
    ["Manager", "Handler", "Helper", "Helpers", "Util", "Utils", "Processor", "Impl"];

fn too_long(files: &[File]) -> Findings {
    let long =
        files.iter().map(|file| (file, file.text.lines().count())).filter(|(_, count)| *count > MOST_LINES);
    long.map(|(file, count)| format!("{}: {count} lines", file.path)).collect()
}

fn without_a_subject(files: &[File]) -> Findings {
    let has_subject = |file: &File| {
        let first = file.text.lines().find(|line| !line.trim().is_empty() && !line.starts_with("#!"));
        first.is_some_and(|line| line.starts_with("//! "))
    };
    files.iter().filter(|file| !has_subject(file)).map(|file| file.path.clone()).collect()
}

fn badly_placed(files: &[File]) -> Findings {
    let empty = EMPTY_NAMES.map(str::to_lowercase);
    let is_bad = |file: &&File| {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let mut parts = file.path.split(['/', '.', '-', '_']);
        name == "mod.rs" || parts.any(|part| empty.iter().any(|word| part == word) || part == "misc")
    };
    files.iter().filter(is_bad).map(|file| file.path.clone()).collect()
}

/// Returns the types that lines define: how visible, and the name.
fn types(lines: &[Line]) -> impl Iterator<Item = (usize, bool, &str)> {
    lines.iter().enumerate().filter_map(|(number, line)| {
        let code = line.code.trim_start();
        let is_public = code.starts_with("pub ");
        let mut words = words(code)
            .map(|(_, word)| word)
            .filter(|word| !matches!(*word, "pub" | "crate" | "super" | "in" | "unsafe" | "auto"));
        let is_type = matches!(words.next(), Some("struct" | "enum" | "trait" | "type" | "union"));
        is_type.then(|| words.next().map(|name| (number + 1, is_public, name))).flatten()
    })
}

fn empty_names(files: &[File]) -> Findings {
    let mut found = Vec::new();
    for file in files {
        for (line, _, name) in types(&lines(&file.text)) {
            if EMPTY_NAMES.iter().any(|word| name.ends_with(word)) {
                found.push(format!("{}:{line}: `{name}`", file.path));
            }
        }
    }
    found
}

fn defined_twice(files: &[File]) -> Findings {
    let is_product = |path: &str| {
        let mut crates = ["encoder", "core", "hub", "agent", "packs", "eval", "cli"].iter();
        crates.any(|krate| path.starts_with(&format!("crates/{krate}/src/")))
    };
    let mut homes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| is_product(&file.path)) {
        let code = lines(&file.text);
        // An associated type repeats the name of its trait's.
        let outermost =
            types(&code).filter(|(line, is_public, _)| *is_public && !code[line - 1].code.starts_with(' '));
        for (line, _, name) in outermost {
            homes.entry(name.to_owned()).or_default().push(format!("{}:{line}", file.path));
        }
    }
    let is_shared = |name: &str| SHARED_NAMES.iter().any(|(shared, _)| *shared == name);
    let twice = homes.into_iter().filter(|(name, homes)| homes.len() > 1 && !is_shared(name));
    twice.map(|(name, homes)| format!("`{name}` in {}", homes.join(" and "))).collect()
}

/// Traits with fewer than two implementors.
fn lonely_traits(files: &[File]) -> Findings {
    let code: String = files.iter().flat_map(|file| lines(&file.text)).map(|line| line.code + "\n").collect();
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.path.contains("/src/")) {
        for (number, line) in lines(&file.text).iter().enumerate() {
            let mut words =
                words(&line.code).map(|(_, word)| word).skip_while(|word| matches!(*word, "pub" | "crate"));
            let (Some("trait"), Some(name)) = (words.next(), words.next()) else { continue };
            let implementors = code.lines().filter(|line| {
                line.trim_start().starts_with("impl")
                    && (line.contains(&format!("{name} for ")) || line.contains(&format!("{name}<")))
            });
            if implementors.count() < 2 {
                found.push(format!("{}:{}: `{name}`", file.path, number + 1));
            }
        }
    }
    found
}

/// Code that only tests see, elsewhere than in `mod tests`.
fn test_code_in_the_product(files: &[File]) -> Findings {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.path.contains("/src/")) {
        let lines = lines(&file.text);
        for (number, line) in lines.iter().enumerate() {
            let is_for_tests =
                line.code.contains("cfg(") && words(&line.code).any(|(_, word)| word == "test");
            let next = lines[number + 1..]
                .iter()
                .map(|line| line.code.trim())
                .find(|code| !code.is_empty() && !code.starts_with("#["));
            if is_for_tests && !next.is_some_and(|code| matches!(code, "mod tests;" | "mod tests {")) {
                found.push(format!("{}:{}: {}", file.path, number + 1, line.code.trim()));
            }
        }
    }
    found
}

/// Lints that are switched off without a word, or in a way that stays when it is not needed.
fn silenced(files: &[File]) -> Findings {
    let mut found = Vec::new();
    for file in files {
        let code: String = lines(&file.text).into_iter().map(|line| line.code + "\n").collect();
        for start in ["#[", "#!["] {
            for (at, _) in code.match_indices(start) {
                let attribute = code[at..].split(']').next().unwrap_or_default();
                let body = attribute[start.len()..].trim_start();
                let kind = body.split('(').next().unwrap_or_default();
                let has_reason = words(body).any(|(_, word)| word == "reason");
                // A crate of tests may allow what only some of its files need.
                let may_allow = start == "#![" && !file.path.contains("/src/");
                let is_bad =
                    (kind == "allow" && !may_allow) || (matches!(kind, "allow" | "expect") && !has_reason);
                if is_bad {
                    let line = code[..at].matches('\n').count() + 1;
                    found.push(format!("{}:{line}: {}]", file.path, attribute.replace('\n', " ")));
                }
            }
        }
    }
    found
}

#[test]
fn a_file_has_one_subject_and_fits_in_600_lines() {
    clean(&too_long(&tree::rust()), "Find the second subject in the file and give it a file of its own.");
}

#[test]
fn a_long_file_is_found() {
    assert_eq!(
        too_long(&[file("a.rs", &"\n".repeat(601)), file("b.rs", &"\n".repeat(600))]),
        ["a.rs: 601 lines"]
    );
}

#[test]
fn a_file_begins_with_what_it_is_for() {
    clean(&without_a_subject(&tree::rust()), "Begin the file with `//! ` and one sentence: what it is for.");
}

#[test]
fn a_file_without_a_subject_is_found() {
    let found = without_a_subject(&[
        file("a.rs", "use b;\n//! late\n"),
        file("b.rs", "//! Says it.\n"),
        file("c.rs", ""),
    ]);
    assert_eq!(found, ["a.rs", "c.rs"]);
}

#[test]
fn files_are_named_after_what_is_in_them() {
    clean(
        &badly_placed(&tree::rust()),
        "`foo.rs` beside `foo/` instead of `mod.rs`; a noun of the subject instead of util, helper or misc.",
    );
}

#[test]
fn a_badly_named_file_is_found() {
    let found = badly_placed(&[
        file("src/a/mod.rs", ""),
        file("src/util.rs", ""),
        file("src/json_helpers.rs", ""),
        file("src/model.rs", ""),
    ]);
    assert_eq!(found, ["src/a/mod.rs", "src/util.rs", "src/json_helpers.rs"]);
}

#[test]
fn types_are_nouns_of_the_subject() {
    clean(&empty_names(&tree::rust()), "Name the thing that it is, not that it does something with things.");
}

#[test]
fn an_empty_name_is_found() {
    let found = empty_names(&[file(
        "a.rs",
        "pub(crate) struct ToolManager;\nenum Handled {}\nlet x = \"struct AHelper\";",
    )]);
    assert_eq!(found, ["a.rs:1: `ToolManager`"]);
}

#[test]
fn a_public_name_means_one_thing() {
    clean(
        &defined_twice(&tree::rust()),
        "Use the type that is there, or name the other after what tells it apart.",
    );
}

#[test]
fn a_public_name_with_two_meanings_is_found() {
    let found = defined_twice(&[
        file("crates/core/src/a.rs", "pub struct Found;\npub enum Error {}\nstruct Own;"),
        file("crates/hub/src/b.rs", "pub type Found = u8;\npub enum Error {}\nstruct Own;"),
        file("crates/testkit/src/c.rs", "pub struct Found;"),
    ]);
    assert_eq!(found, ["`Found` in crates/core/src/a.rs:1 and crates/hub/src/b.rs:1"]);
}

#[test]
fn a_shared_name_is_shared() {
    // A name that is unique again must leave the list, so that the list stays short.
    let files = tree::rust();
    for (name, why) in SHARED_NAMES {
        let homes = files
            .iter()
            .filter(|file| types(&lines(&file.text)).any(|(_, is_public, it)| is_public && it == name));
        assert!(homes.count() > 1, "`{name}` is unique now; take it off SHARED_NAMES ({why})");
    }
}

#[test]
fn a_trait_has_two_implementors() {
    clean(&lonely_traits(&tree::rust()), "One implementor needs no trait, and a closed set is an enum.");
}

#[test]
fn a_trait_for_one_type_is_found() {
    let text =
        "pub trait One {}\nimpl One for A {}\ntrait Two: Send {}\nimpl Two for A {}\nimpl<T> Two for B<T> {}";
    assert_eq!(lonely_traits(&[file("crates/hub/src/a.rs", text)]), ["crates/hub/src/a.rs:1: `One`"]);
}

#[test]
fn the_product_holds_no_code_for_tests() {
    clean(
        &test_code_in_the_product(&tree::rust()),
        "`#[cfg(test)]` stands only before `mod tests`; test through the front door.",
    );
}

#[test]
fn test_code_in_the_product_is_found() {
    let bad = "#[cfg(test)]\npub fn empty() {}\n#[cfg(test)]\nmod tests;\n#[cfg(any(unix, test))]\nfn f() {}";
    let found = test_code_in_the_product(&[file("crates/hub/src/a.rs", bad)]);
    assert_eq!(
        found,
        ["crates/hub/src/a.rs:1: #[cfg(test)]", "crates/hub/src/a.rs:5: #[cfg(any(unix, test))]"]
    );
}

#[test]
fn lints_are_expected_with_a_reason() {
    clean(&silenced(&tree::rust()), "Mend what the lint found, or write `#[expect(lint, reason = \"…\")]`.");
}

#[test]
fn a_silenced_lint_is_found() {
    let bad = "#[allow(dead_code)]\n#[expect(dead_code)]\n#[expect(\n    dead_code,\n    reason = \"\"\n)]\nfn f() {}";
    let found = silenced(&[
        file("a/src/a.rs", bad),
        file("a/tests/b.rs", "#![allow(x, reason = \"\")]\n#![allow(y)]"),
    ]);
    assert_eq!(
        found,
        [
            "a/src/a.rs:1: #[allow(dead_code)]",
            "a/src/a.rs:2: #[expect(dead_code)]",
            "a/tests/b.rs:2: #![allow(y)]"
        ]
    );
}
