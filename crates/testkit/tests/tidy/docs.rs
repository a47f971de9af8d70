//! What documents must name, and what no file may.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::order::modules;
use crate::source::{lines, words};
use crate::tree::File;
use crate::{Findings, clean, file, tree};

/// The Markdown that may stand at the root.
const AT_THE_ROOT: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"];

/// The crates whose modules are on the map, with the file that lists them.
const ON_THE_MAP: [&str; 6] = [
    "crates/encoder/src/lib.rs",
    "crates/core/src/lib.rs",
    "crates/hub/src/lib.rs",
    "crates/agent/src/lib.rs",
    "crates/packs/src/lib.rs",
    "crates/cli/src/main.rs",
];

/// Hosts that a file of pinned versions may name; others are somebody's mirror.
const PUBLIC_HOSTS: [&str; 9] = [
    "github.com",
    "registry.npmjs.org",
    "opencollective.com",
    "www.patreon.com",
    "feross.org",
    "paulmillr.com",
    "tidelift.com",
    "pypi.org",
    "files.pythonhosted.org",
];

/// Returns the texts between single backticks.
fn quoted(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(number, line)| {
        line.split('`').enumerate().filter(|(at, _)| at % 2 == 1).map(move |(_, quoted)| (number + 1, quoted))
    })
}

/// Paths that a document names and that are not there.
fn lost(document: &File, exists: impl Fn(&str) -> bool) -> Findings {
    let is_path = |text: &str| {
        let of_ours = ["crates/", "docs/", "scripts/", "schema/", ".ci/", ".config/"];
        of_ours.iter().any(|folder| text.starts_with(folder)) && !text.contains([' ', '*', '<'])
    };
    let named =
        quoted(&document.text).filter(|(_, text)| is_path(text)).map(|(line, text)| (line, text.to_owned()));
    let linked = document.text.lines().enumerate().flat_map(|(number, line)| {
        line.split("](").skip(1).filter_map(move |rest| {
            let target = rest.split([')', '#']).next().filter(|it| !it.is_empty() && !it.contains("://"))?;
            let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            Some((number + 1, joined(folder, target)))
        })
    });
    let missing = named.chain(linked).filter(|(_, path)| !exists(path));
    missing.map(|(line, path)| format!("{}:{line}: `{path}`", document.path)).collect()
}

fn joined(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Crates that the program is built from and that the list of dependencies leaves out, and those that are listed only.
fn untold(list: &str, manifests: &[File]) -> Findings {
    let used: BTreeSet<&str> = manifests.iter().flat_map(|it| dependencies(&it.text)).collect();
    let rows = list.lines().filter_map(|line| line.strip_prefix("| "));
    let told: BTreeSet<&str> =
        rows.flat_map(|row| row.split('|').next().unwrap_or_default().split(',').map(str::trim)).collect();
    let missing = used.difference(&told).map(|name| format!("`{name}` is used and not listed"));
    let gone = told.difference(&used).filter(|name| **name != "crate");
    missing.chain(gone.map(|name| format!("`{name}` is listed and not used"))).collect()
}

/// Returns the crates of others that a manifest names, for any platform; not those of tests.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let mut is_wanted = false;
    manifest.lines().filter_map(move |line| {
        if let Some(table) = line.strip_prefix('[') {
            is_wanted =
                table.trim_end_matches(']').ends_with("dependencies") && !table.contains("dev-dependencies");
            return None;
        }
        let name = line.split(['=', '.']).next()?.trim();
        let is_own = name.starts_with("toolyard") || name == "testkit";
        (is_wanted && !name.is_empty() && !name.starts_with('#') && !is_own).then_some(name)
    })
}

/// Modules of the product that the map leaves out.
fn off_the_map(map: &str, lists: &[File]) -> Findings {
    let named: BTreeSet<&str> = quoted(map).map(|(_, text)| text).collect();
    let mut found = Vec::new();
    for list in lists {
        let folder = list.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for module in modules(&list.text) {
            let is_named =
                named.contains(module.as_str()) || named.contains(format!("{folder}/{module}.rs").as_str());
            if !is_named {
                found.push(format!("{folder}/{module}.rs"));
            }
        }
    }
    found
}

/// Keys of the schema that the manual leaves out.
fn undocumented(schema: &Value, manual: &str) -> Findings {
    let mut keys = BTreeSet::new();
    collect_keys(schema, &mut keys);
    let named: BTreeSet<&str> =
        quoted(manual).flat_map(|(_, text)| text.split(['.', '"', ':', ' '])).collect();
    keys.into_iter().filter(|key| !named.contains(key.as_str())).collect()
}

fn collect_keys(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::Object(properties)) = members.get("properties") {
                keys.extend(properties.keys().cloned());
            }
            members.values().for_each(|member| collect_keys(member, keys));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_keys(item, keys)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Commands that documents show and that the program does not have.
fn unknown_commands(documents: &[File], args: &str) -> Findings {
    let body =
        args.split("enum Command {").nth(1).and_then(|rest| rest.split("\n}").next()).unwrap_or_default();
    let variants = lines(body).into_iter().filter_map(|line| {
        let code = line.code.trim().to_owned();
        let name = words(&code).next().map(|(_, word)| word.to_lowercase())?;
        code.starts_with(|it: char| it.is_ascii_uppercase()).then_some(name)
    });
    let known: BTreeSet<String> = variants.chain(["help".to_owned()]).collect();
    let mut found = Vec::new();
    for document in documents {
        let mut is_fenced = false;
        for (number, line) in document.text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                is_fenced = !is_fenced;
                continue;
            }
            let typed: Vec<&str> = match is_fenced {
                true => {
                    line.split("$ ").skip(1).chain(line.strip_prefix("toolyard ").map(|_| line)).collect()
                }
                false => line.split('`').skip(1).step_by(2).collect(),
            };
            let commands = typed.iter().filter_map(|typed| {
                let after =
                    typed.strip_prefix("toolyard ").or_else(|| typed.split("-p toolyard -- ").nth(1))?;
                after.split_whitespace().next().filter(|word| word.chars().all(|it| it.is_ascii_lowercase()))
            });
            let unknown = commands.filter(|command| !known.contains(*command));
            found.extend(unknown.map(|it| format!("{}:{}: `toolyard {it}`", document.path, number + 1)));
        }
    }
    found
}

/// Places of one machine in files that are for all.
fn of_this_machine(files: &[File], places: &[String]) -> Findings {
    let mut found = Vec::new();
    for file in files {
        for (number, line) in file.text.lines().enumerate() {
            let place = places.iter().find(|place| {
                line.match_indices(place.as_str()).any(|(at, _)| {
                    line[at + place.len()..].chars().next().is_none_or(|next| !next.is_alphanumeric())
                })
            });
            found.extend(place.map(|place| format!("{}:{}: `{place}`", file.path, number + 1)));
        }
    }
    found
}

/// Hosts in files of pinned versions that are not public ones.
fn mirrors(files: &[File]) -> Findings {
    let is_pin = |path: &str| {
        path.ends_with("Cargo.lock")
            || path.ends_with("package-lock.json")
            || path.starts_with("crates/testkit/servers/")
    };
    let mut found = Vec::new();
    for file in files.iter().filter(|file| is_pin(&file.path)) {
        for (number, line) in file.text.lines().enumerate() {
            for url in line.split("://").skip(1) {
                let host = url.split(['/', '"', ' ', ':', '?']).next().unwrap_or_default();
                if !PUBLIC_HOSTS.contains(&host) {
                    found.push(format!("{}:{}: `{host}`", file.path, number + 1));
                }
            }
        }
    }
    found
}

fn stray(files: &[File]) -> Findings {
    let at_root = files.iter().filter(|file| !file.path.contains('/') && file.path.ends_with(".md"));
    at_root.filter(|file| !AT_THE_ROOT.contains(&file.path.as_str())).map(|file| file.path.clone()).collect()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(tree::root().join(path)).unwrap_or_else(|err| panic!("{path}: {err}"))
}

#[test]
fn documents_name_only_files_that_exist() {
    let root = tree::root();
    for document in tree::documents() {
        clean(&lost(&document, |path| root.join(path).exists()), "Name the file as it is called now.");
    }
}

#[test]
fn a_lost_path_is_found() {
    let text = "`crates/core/src/gone.rs` and `crates/core` and `x/y`\n[a](b.md#c) [d](https://e) [f](../g.md) [h](#i)";
    let found = lost(&file("docs/a.md", text), |path| path == "crates/core" || path == "g.md");
    assert_eq!(found, ["docs/a.md:1: `crates/core/src/gone.rs`", "docs/a.md:2: `docs/b.md`"]);
}

#[test]
fn t27_every_dependency_says_why_it_is_trusted() {
    let is_product = |path: &str| {
        path.ends_with("/Cargo.toml") && path.starts_with("crates/") && !path.starts_with("crates/testkit/")
    };
    let manifests: Vec<File> = tree::all().into_iter().filter(|file| is_product(&file.path)).collect();
    assert!(manifests.len() > 5);
    clean(&untold(&read("docs/dependencies.md"), &manifests), "Correct docs/dependencies.md.");
}

#[test]
fn an_untold_dependency_is_found() {
    let manifest = "[dependencies]\nurl = \"2\"\nlost.version = \"1\"\n[target.'cfg(unix)'.dependencies]\nfar = \"1\"\n[dev-dependencies]\ninsta = \"1\"";
    let found = untold("| crate | x |\n| url, gone | y |", &[file("crates/hub/Cargo.toml", manifest)]);
    assert_eq!(
        found,
        ["`far` is used and not listed", "`lost` is used and not listed", "`gone` is listed and not used"]
    );
}

#[test]
fn every_module_is_on_the_map() {
    let lists = ON_THE_MAP.map(|path| file(path, &read(path)));
    clean(
        &off_the_map(&read("ARCHITECTURE.md"), &lists),
        "Give the module a line in ARCHITECTURE.md: the question it answers.",
    );
}

#[test]
fn a_module_off_the_map_is_found() {
    let list = file("crates/core/src/lib.rs", "pub mod tool; // `it`\nmod gone;\n#[cfg(test)]\nmod tests;");
    assert_eq!(off_the_map("| `tool` | gone |", &[list]), ["crates/core/src/gone.rs"]);
}

#[test]
fn every_setting_is_in_the_manual() {
    let schema = serde_json::from_str(&read("schema/toolyard.schema.json")).expect("the schema is JSON");
    clean(
        &undocumented(&schema, &read("docs/configuration.md")),
        "Say in docs/configuration.md what the key does, and its default.",
    );
}

#[test]
fn an_undocumented_setting_is_found() {
    let schema = serde_json::json!({"properties": {"serve": {"$ref": "#"}, "lost": {}}, "definitions": {"a": {"properties": {"deep": {}}}}});
    assert_eq!(undocumented(&schema, "`serve.x` lost\n`deep`"), ["lost"]);
}

#[test]
fn documents_show_only_commands_that_exist() {
    clean(
        &unknown_commands(&tree::documents(), &read("crates/cli/src/args.rs")),
        "Show the command as it is typed now.",
    );
}

#[test]
fn a_command_that_does_not_exist_is_found() {
    let args = "pub(crate) enum Command {\n    /// Serves\n    Serve(Serve),\n    List(list::List),\n}\n";
    let text = "`toolyard serve` and `toolyard gone`, `toolyard --help`\n```sh\n$ toolyard lost x\ntoolyard list\n$ cargo run -p toolyard -- off\n```";
    let found = unknown_commands(&[file("README.md", text)], args);
    assert_eq!(
        found,
        ["README.md:1: `toolyard gone`", "README.md:3: `toolyard lost`", "README.md:5: `toolyard off`"]
    );
}

#[test]
fn no_file_knows_this_machine() {
    let home = std::env::var("HOME").unwrap_or_default();
    let root = tree::root().to_string_lossy().into_owned();
    // A folder such as `/` says nothing about a machine.
    let places: Vec<String> = [home, root].into_iter().filter(|place| place.len() > 4).collect();
    clean(
        &of_this_machine(&tree::all(), &places),
        "Write a relative path, or one from an example such as /home/ana.",
    );
}

#[test]
fn a_place_of_this_machine_is_found() {
    let places = ["/home/me".to_owned()];
    let found = of_this_machine(&[file("a.sh", "cd /home/me/x\ncd /home/mens\n/home/me")], &places);
    assert_eq!(found, ["a.sh:1: `/home/me`", "a.sh:3: `/home/me`"]);
}

#[test]
fn versions_are_pinned_at_public_registries() {
    clean(&mirrors(&tree::all()), "Make the lock file with the public registry, or without addresses.");
}

#[test]
fn a_mirror_is_found() {
    let lock =
        file("x/package-lock.json", "\"https://registry.npmjs.org/a\"\n\"http://mirror.example:4873/a\"");
    assert_eq!(
        mirrors(&[lock, file("a.md", "http://mirror.example")]),
        ["x/package-lock.json:2: `mirror.example`"]
    );
}

#[test]
fn the_root_holds_few_documents() {
    clean(
        &stray(&tree::all()),
        "Documents go into docs/; notes go into the commit message or the module's own comment.",
    );
}

#[test]
fn a_stray_document_is_found() {
    assert_eq!(stray(&[file("NOTES.md", ""), file("README.md", ""), file("docs/a.md", "")]), ["NOTES.md"]);
}
