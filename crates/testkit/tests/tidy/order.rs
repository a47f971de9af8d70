//! Who may use whom.

use std::collections::BTreeSet;

use crate::source::{lines, words};
use crate::tree::File;
use crate::{Findings, clean, file, tree};

/// Crates whose `lib.rs` is read from top to bottom.
const ORDERED: [&str; 3] = ["crates/core", "crates/hub", "crates/agent"];

/// The crates that do no I/O.
const PURE: [&str; 2] = ["crates/encoder", "crates/core"];

/// The only file with `unsafe`.
const UNSAFE: &str = "crates/encoder/src/simd.rs";

/// What the pure crate has no part in.
const IMPURE: [&str; 12] = [
    "tokio",
    "rmcp",
    "axum",
    "reqwest",
    "rusqlite",
    "clap",
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "std::io",
];

/// Modules of a crate that use one which stands below them in `lib.rs`.
fn upward(files: &[File], krate: &str) -> Findings {
    let src = format!("{krate}/src/");
    let lib = files.iter().find(|file| file.path == format!("{src}lib.rs"));
    let order: Vec<String> = lib.map(|lib| modules(&lib.text)).unwrap_or_default();
    let mut found = Vec::new();
    for file in files {
        let Some(inner) = file.path.strip_prefix(&src) else { continue };
        let own = inner.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        let Some(place) = order.iter().position(|module| module == own) else { continue };
        let code: String = lines(&file.text).into_iter().map(|line| line.code + "\n").collect();
        for (line, used) in used(&code) {
            if order[place + 1..].contains(&used) {
                found.push(format!(
                    "{}:{line}: `{own}` uses `{used}`, which is below it in lib.rs",
                    file.path
                ));
            }
        }
    }
    found
}

/// Returns the modules that a file declares, in order.
pub(crate) fn modules(text: &str) -> Vec<String> {
    let declared = lines(text).into_iter().filter_map(|line| {
        let code = line.code.trim().trim_start_matches("pub(crate) ").trim_start_matches("pub ").to_owned();
        Some(code.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
    });
    declared.filter(|name| name != "tests").collect()
}

/// Submodules of core that use one another in a circle. A module and its own submodules may know each other.
fn circles(files: &[File]) -> Findings {
    let mut uses: BTreeSet<(String, String)> = BTreeSet::new();
    let mut declared: BTreeSet<String> = BTreeSet::new();
    for file in files {
        let Some(own) = module(&file.path) else { continue };
        declared.extend(
            modules(&file.text).into_iter().map(|name| [own.as_slice(), &[name]].concat().join("::")),
        );
        let code: String = lines(&file.text).into_iter().map(|line| line.code + "\n").collect();
        let product = code.split("#[cfg(test)]").next().unwrap_or_default();
        for target in targets(product, &own) {
            let shared = own.iter().zip(&target).take_while(|(a, b)| a == b).count();
            if shared > 0 && shared < own.len() && shared < target.len() {
                uses.insert((own[..=shared].join("::"), target[..=shared].join("::")));
            }
        }
    }
    uses.retain(|(_, used)| declared.contains(used));
    let circular = uses.iter().filter(|(user, used)| reaches(&uses, used, user));
    circular.map(|(user, used)| format!("`{user}` uses `{used}`, which uses it in turn")).collect()
}

/// Returns the names that lead to a module of core; tests have none.
fn module(path: &str) -> Option<Vec<String>> {
    let inner = path.strip_prefix("crates/core/src/")?.strip_suffix(".rs")?;
    let names: Vec<String> = inner.split('/').map(str::to_owned).collect();
    (inner != "lib" && !names.iter().any(|name| name == "tests")).then_some(names)
}

/// Whether one module uses another, by itself or through others.
fn reaches(uses: &BTreeSet<(String, String)>, from: &str, to: &str) -> bool {
    let mut seen: Vec<&str> = vec![from];
    let mut at = 0;
    while at < seen.len() {
        let next = uses.iter().filter(|(user, _)| user == seen[at]).map(|(_, used)| used.as_str());
        let next: Vec<&str> = next.filter(|used| !seen.contains(used)).collect();
        seen.extend(next);
        at += 1;
    }
    seen.contains(&to)
}

/// Returns what the paths behind `crate::` and `super::` lead to.
fn targets(code: &str, own: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start).filter(|(at, _)| !code[..*at].ends_with("::")) {
            let mut rest = &code[at..];
            let mut base = own.to_vec();
            while let Some(above) = rest.strip_prefix("super::") {
                base.pop();
                rest = above;
            }
            if let Some(inner) = rest.strip_prefix("crate::") {
                (base, rest) = (Vec::new(), inner);
            }
            follow(rest, &base, &mut found);
        }
    }
    found
}

/// Follows a path such as `a::{B, c::D}` from a module.
fn follow(path: &str, base: &[String], found: &mut Vec<Vec<String>>) {
    let path = path.trim_start();
    if let Some(group) = path.strip_prefix('{') {
        members(group).iter().for_each(|member| follow(member, base, found));
        return;
    }
    let Some((_, name)) = words(path).next().filter(|(at, _)| *at == 0) else { return };
    let inner = [base, &[name.to_owned()]].concat();
    match path[name.len()..].strip_prefix("::") {
        Some(rest) => follow(rest, &inner, found),
        None => found.push(inner),
    }
}

/// Returns the modules that stand directly behind `crate::`, with their lines.
fn used(code: &str) -> Vec<(usize, String)> {
    let mut used = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let line = code[..at].matches('\n').count() + 1;
        let rest = &code[at + "crate::".len()..];
        let paths = rest.strip_prefix('{').map_or_else(|| vec![rest.to_owned()], members);
        used.extend(paths.iter().filter_map(|path| first(path)).map(|head| (line, head)));
    }
    used
}

fn first(path: &str) -> Option<String> {
    words(path).next().map(|(_, word)| word.to_owned())
}

/// Returns the paths of a `{a::B, c::{D, E}}`, whose opening brace was taken off.
fn members(group: &str) -> Vec<String> {
    let (mut depth, mut members, mut path) = (1, Vec::new(), String::new());
    for char in group.chars() {
        match char {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 || (depth == 1 && char == ',') {
            members.push(std::mem::take(&mut path));
        } else {
            path.push(char);
        }
        if depth == 0 {
            break;
        }
    }
    members
}

/// What is not pure in the crates of decisions and of the encoder.
fn impure(files: &[File]) -> Findings {
    let mut found = Vec::new();
    for file in files {
        let within = PURE.iter().find_map(|krate| file.path.strip_prefix(krate)?.strip_prefix('/'));
        let Some(within) = within else { continue };
        if within == "Cargo.toml" {
            let dependencies = file.text.split("[dev-dependencies]").next().unwrap_or_default();
            for name in IMPURE.iter().filter(|name| dependencies.lines().any(|line| depends_on(line, name))) {
                found.push(format!("{}: it depends on `{name}`", file.path));
            }
        }
        if !within.starts_with("src/") || !within.ends_with(".rs") {
            continue;
        }
        for (number, line) in lines(&file.text).iter().enumerate() {
            let clocks = ["Instant::now", "SystemTime::now"];
            for name in IMPURE.iter().chain(&clocks).filter(|name| mentions(&line.code, name)) {
                found.push(format!("{}:{}: `{name}`", file.path, number + 1));
            }
        }
    }
    found
}

fn mentions(code: &str, path: &str) -> bool {
    let is_word = |char: Option<char>| char.is_some_and(|it| it.is_alphanumeric() || it == '_');
    code.match_indices(path).any(|(at, _)| {
        !is_word(code[..at].chars().next_back()) && !is_word(code[at + path.len()..].chars().next())
    })
}

fn depends_on(line: &str, name: &str) -> bool {
    line.split(['=', '.']).next().is_some_and(|key| key.trim() == name)
}

/// Uses of the protocol's library outside the crate of fixtures.
fn sdk(files: &[File]) -> Findings {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !file.path.starts_with("crates/testkit/")) {
        let is_manifest = file.path.ends_with("Cargo.toml");
        if is_manifest && file.text.lines().any(|line| depends_on(line, "rmcp")) {
            found.push(format!("{}: it depends on `rmcp`", file.path));
        }
        if file.path.ends_with(".rs") {
            let code = lines(&file.text);
            let named = code.iter().enumerate().filter(|(_, line)| mentions(&line.code, "rmcp"));
            found.extend(named.map(|(number, _)| format!("{}:{}: `rmcp`", file.path, number + 1)));
        }
    }
    found
}

/// Lines of code with `unsafe` outside the one file that has it.
fn unsafe_elsewhere(files: &[File]) -> Findings {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs") && file.path != UNSAFE) {
        for (number, line) in lines(&file.text).iter().enumerate() {
            if mentions(&line.code, "unsafe") || mentions(&line.code, "expect(unsafe_code") {
                found.push(format!("{}:{}: `unsafe`", file.path, number + 1));
            }
        }
    }
    found
}

/// Product crates that depend on the crate of fixtures outside their tests.
fn fixtures_in_the_product(files: &[File]) -> Findings {
    let manifests = files.iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    let product = |file: &&File| {
        let before = file.text.split("[dev-dependencies]").next().unwrap_or_default();
        before.lines().any(|line| depends_on(line, "testkit"))
    };
    manifests.filter(product).map(|file| format!("{}: it depends on `testkit`", file.path)).collect()
}

#[test]
fn a_module_uses_only_those_above_it() {
    let files = tree::rust();
    for krate in ORDERED {
        let lib = format!("{krate}/src/lib.rs");
        assert!(
            files.iter().any(|file| file.path == lib && modules(&file.text).len() > 2),
            "{lib} has no order"
        );
        clean(
            &upward(&files, krate),
            "Data flows down the list in lib.rs. Move what is used up the list, or pass it in as an argument.",
        );
    }
}

#[test]
fn a_use_of_a_module_below_is_found_however_it_is_written() {
    let bad = |text: &str| {
        let lib = file("crates/core/src/lib.rs", "pub mod a; // first\npub mod b;\npub mod c;\n");
        upward(&[lib, file("crates/core/src/b/inner.rs", text)], "crates/core").len()
    };
    assert_eq!(bad("use crate::c::C;"), 1);
    assert_eq!(bad("use crate::{a::{A, c}, c};\nuse crate::a::C;"), 1);
    assert_eq!(bad("fn f() -> crate::c::C { crate::c::new() }"), 2);
    assert_eq!(bad("// crate::c\nuse crate::{a::A, b::B};\nlet text = \"crate::c\";"), 0);
}

#[test]
fn submodules_use_one_another_in_one_direction() {
    clean(
        &circles(&tree::rust()),
        "Siblings read from low to high. Move what both use into a file below both, or merge the two.",
    );
}

#[test]
fn a_circle_of_submodules_is_found_however_it_is_written() {
    let found = circles(&[
        file("crates/core/src/a.rs", "mod b;\nmod c;\nmod d;\nuse b::B;"),
        file(
            "crates/core/src/a/b.rs",
            "use super::{A, c::{C, E}};\n#[cfg(test)]\nmod tests { use super::d; }",
        ),
        file("crates/core/src/a/c/inner.rs", "use super::super::d::D;\nuse super::C;"),
        file("crates/core/src/a/d.rs", "use crate::{a::{b::B, A}, x::b};\n// crate::a::c\n"),
    ]);
    let expected = [("b", "c"), ("c", "d"), ("d", "b")];
    assert_eq!(
        found,
        expected.map(|(user, used)| format!("`a::{user}` uses `a::{used}`, which uses it in turn"))
    );
}

#[test]
fn the_decisions_are_pure() {
    clean(
        &impure(&tree::all()),
        "crates/core and crates/encoder have no runtime, no I/O, no clock and no environment: take the value as an argument.",
    );
}

#[test]
fn an_impure_decision_is_found() {
    let found = impure(&[
        file("crates/core/Cargo.toml", "[dependencies]\ntokio = \"1\"\n[dev-dependencies]\nclap = \"4\"\n"),
        file(
            "crates/core/src/tool/id.rs",
            "use std::fs;\nlet now = Instant::now(); // tokio\nlet x = my_tokio();",
        ),
        file("crates/encoder/src/lib.rs", "use std::env;"),
        file("crates/hub/src/hub.rs", "use std::fs;"),
    ]);
    let expected = [
        "crates/core/Cargo.toml: it depends on `tokio`",
        "crates/core/src/tool/id.rs:1: `std::fs`",
        "crates/core/src/tool/id.rs:2: `Instant::now`",
        "crates/encoder/src/lib.rs:1: `std::env`",
    ];
    assert_eq!(found, expected);
}

#[test]
fn one_file_is_unsafe() {
    clean(
        &unsafe_elsewhere(&tree::all()),
        "Only crates/encoder/src/simd.rs reaches what the compiler cannot check.",
    );
}

#[test]
fn unsafe_code_elsewhere_is_found() {
    let found = unsafe_elsewhere(&[
        file("crates/encoder/src/lib.rs", "// unsafe\nlet x = unsafe { y };\n#![forbid(unsafe_code)]"),
        file("crates/encoder/src/simd.rs", "unsafe fn f() {}"),
    ]);
    assert_eq!(found, ["crates/encoder/src/lib.rs:2: `unsafe`"]);
}

#[test]
fn the_sdk_is_named_only_by_the_fixtures() {
    clean(
        &sdk(&tree::all()),
        "The product speaks the protocol by itself, so that what it does not understand passes through \
         unchanged; rmcp is the independent other side in crates/testkit.",
    );
}

#[test]
fn a_use_of_the_sdk_is_found() {
    let found = sdk(&[
        file("crates/hub/Cargo.toml", "[dependencies]\nrmcp = { version = \"3\" }\n"),
        file("crates/hub/src/hub.rs", "// not like rmcp\nuse rmcp::Tool;"),
        file("crates/testkit/src/lib.rs", "use rmcp::Tool;"),
    ]);
    assert_eq!(found, ["crates/hub/Cargo.toml: it depends on `rmcp`", "crates/hub/src/hub.rs:2: `rmcp`"]);
}

#[test]
fn the_product_does_without_the_fixtures() {
    clean(&fixtures_in_the_product(&tree::all()), "Only [dev-dependencies] may name testkit.");
}

#[test]
fn a_product_on_fixtures_is_found() {
    let on_tests =
        file("crates/hub/Cargo.toml", "[dependencies]\n[dev-dependencies]\ntestkit = { path = \"\" }\n");
    let on_product = file("crates/cli/Cargo.toml", "[dependencies]\ntestkit.path = \"../testkit\"\n");
    assert_eq!(fixtures_in_the_product(&[on_tests, on_product]).len(), 1);
}
