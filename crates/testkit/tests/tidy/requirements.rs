//! What `docs/requirements.md` says of each requirement, beside the tests that there are.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::lines;
use crate::tree::File;
use crate::{Findings, clean, file, tree};

/// Where the requirements are listed.
const PAGE: &str = "docs/requirements.md";

/// A row of the page.
struct Row<'a> {
    line: usize,
    id: &'a str,
    state: &'a str,
    tests: Vec<&'a str>,
}

fn rows(page: &str) -> Vec<Row<'_>> {
    let read = |(number, line)| {
        let mut cells = str::strip_prefix(line, "| ")?.split(" | ").map(|it| it.trim_matches(['|', ' ']));
        let (id, _, state, tests) = (cells.next()?, cells.next()?, cells.next()?, cells.next()?);
        let tests = tests.split('`').skip(1).step_by(2).collect();
        (id != "Id").then_some(Row { line: number + 1, id, state, tests })
    };
    page.lines().enumerate().filter_map(read).collect()
}

/// Gives the tests that claim a requirement, each with its place and whether it is run.
fn claims(files: &[File]) -> BTreeMap<String, (String, bool)> {
    let mut found = BTreeMap::new();
    for file in files {
        let mut is_set_aside = false;
        for (number, line) in lines(&file.text).iter().enumerate() {
            let code = line.code.trim_start();
            is_set_aside |= code.starts_with("#[ignore");
            let Some(name) = code.trim_start_matches("async ").strip_prefix("fn ") else { continue };
            let name = name.split(['(', '<']).next().unwrap_or_default();
            if claimed(name).is_some() {
                found.insert(name.to_owned(), (format!("{}:{}", file.path, number + 1), !is_set_aside));
            }
            is_set_aside = false;
        }
    }
    found
}

/// Gives the requirement that the name of a test begins with.
fn claimed(name: &str) -> Option<String> {
    let id = name.split_once('_')?.0.to_uppercase();
    let digits = id.strip_prefix(|it: char| "TIRVECSDHM".contains(it))?.trim_end_matches('A');
    (!digits.is_empty() && digits.chars().all(|it| it.is_ascii_digit())).then_some(id)
}

/// Rows that promise what no test shows, and tests that claim what has no row.
fn untrue(page: &File, files: &[File]) -> Findings {
    let (rows, claims) = (rows(&page.text), claims(files));
    let mut found = Vec::new();
    let mut known = BTreeSet::new();
    for row in &rows {
        let mut say = |what: String| found.push(format!("{}:{}: {what}", page.path, row.line));
        if !known.insert(row.id.to_uppercase()) {
            say(format!("{} stands here twice", row.id));
        }
        match row.state {
            "done" if row.tests.is_empty() => say(format!("{} is called done without a test", row.id)),
            "done" => {}
            open if open.starts_with("open: ") => {}
            other => say(format!("the state of {} is neither `done` nor `open: …`: {other}", row.id)),
        }
        for test in &row.tests {
            match claims.get(*test) {
                None => say(format!("there is no test `{test}`")),
                Some((_, false)) => say(format!("the test `{test}` is set aside")),
                Some(_) if claimed(test) != Some(row.id.to_uppercase()) => {
                    say(format!("the test `{test}` is not about {}", row.id));
                }
                Some(_) => {}
            }
        }
    }
    let unknown = claims.iter().filter_map(|(name, (place, _))| {
        let id = claimed(name).filter(|id| !known.contains(id))?;
        Some(format!("{place}: {id}"))
    });
    found.extend(unknown);
    found
}

#[test]
fn the_page_of_requirements_is_true() {
    let all = tree::all();
    let page = all.iter().find(|file| file.path == PAGE).expect("the page is there");
    let rust: Vec<File> =
        tree::rust().into_iter().filter(|it| !it.path.ends_with("tidy/requirements.rs")).collect();
    assert!(rows(&page.text).len() > 70, "the rows are read");
    clean(&untrue(page, &rust), "Mend the row of docs/requirements.md, or write the test that it promises.");
}

#[test]
fn an_untrue_row_is_found() {
    let page = "| Id | What | State | Shown by |\n|---|---|---|---|\n\
                | T5 | a | done | `t5_known` |\n| R1 | b | done |  |\n| R2 | c | done | `r2_gone`, `t5_known` |\n\
                | R19a | d | open: later | |\n| R3 | e | half | `r3_off` |\n| T5 | f | done | `t5_known` |\n";
    let tests = "fn t5_known() {}\n    async fn r99_unknown() {}\nfn s9() {}\n// fn r98_x\nfn d5x_y() {}\n\
                 fn r19a_words() {}\n#[test]\n#[ignore = \"slow\"]\nfn r3_off() {}\n";
    assert_eq!(
        untrue(&file(PAGE, page), &[file("a.rs", tests)]),
        [
            "docs/requirements.md:4: R1 is called done without a test",
            "docs/requirements.md:5: there is no test `r2_gone`",
            "docs/requirements.md:5: the test `t5_known` is not about R2",
            "docs/requirements.md:7: the state of R3 is neither `done` nor `open: …`: half",
            "docs/requirements.md:7: the test `r3_off` is set aside",
            "docs/requirements.md:8: T5 stands here twice",
            "a.rs:2: R99",
        ]
    );
}
