//! Finds old names of tools in a tree of prompts, skills, code and tests, and puts the new ones in their place.

mod encoding; // text in UTF-16, read as UTF-8
mod names; //    which names are old, and what takes their place
mod search; //   where they stand in a text
mod walk; //     the files of a tree
mod rewrite; //  what a text becomes
mod replace; //  a file, changed at once or not at all

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use owo_colors::OwoColorize;
use serde_json::{Value, json};
use toolyard_core::tool::clean;

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, count};
use names::{Name, Names};
use replace::Backup;
use rewrite::Place;
use search::Searcher;
use walk::Found;

/// Find old names of tools in prompts, skills, code and tests
///
/// Old names are those of `aliases` in the configuration, those that built-in servers bring along, and those of
/// --names. Binaries, backups (names that end in ~) and what .gitignore and .ignore exclude are left out.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard audit-names
  toolyard audit-names prompts tests --names old-names.txt
  toolyard audit-names --fix --backup ../before
  toolyard audit-names --json | jq '.found[].file'

FILE of --names has lines `OLD NEW [USAGE]`, or JSON as `aliases` has it.
--fix writes new names, and arguments where a call can be rewritten with certainty; it says what is left to do.
Exit codes: 0 nothing old is left, 1 something is, or a file could not be read, 2 it was asked wrongly.
With --json: {\"found\": [{\"file\", \"line\", \"column\", \"name\", \"new\", \"usage\"}], \"names\": {NAME: count},
\"searched\", \"unread\": [{\"file\", \"why\"}], \"fixed\": [{\"file\", \"backup\", \"places\": [{\"line\", \"column\",
\"name\", \"new\", \"remark\"}]}], \"left\": [{\"file\", \"why\"}]}")]
pub(crate) struct AuditNames {
    /// Files and folders to search
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// A file with further old names
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// Write the new names into the files; each keeps a copy of what it was
    #[arg(long)]
    fix: bool,
    /// Keep the copies in this folder, and not beside the files with a ~ at the end
    #[arg(long, value_name = "DIR", requires = "fix")]
    backup: Option<PathBuf>,
    /// Say nothing on stdout; the exit code tells
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(common: &Common, asked: &AuditNames) -> Result<(), Failure> {
    let names = Names::gather(common, asked.names.as_deref())?;
    for path in &asked.paths {
        if let Err(error) = std::fs::metadata(path) {
            return Err(Failure::usage(format!("`{}` cannot be searched: {error}", path.display())));
        }
    }
    let backup = match &asked.backup {
        Some(folder) => Backup::in_folder(folder).map_err(|error| {
            Failure::new(format!("no copies can be kept in `{}`: {error}", folder.display()))
                .hint("nothing was changed; name another folder with --backup")
        })?,
        None => Backup::Beside,
    };
    let searcher = Searcher::new(&names).map_err(|error| Failure::usage(error.to_string()))?;
    let walked = walk::search(&asked.paths, &searcher, backup.folder());
    let mut outcome = Outcome { names: &names, walked, fixed: Vec::new(), left: Vec::new() };
    if asked.fix {
        outcome.fix(&searcher, &backup);
    }
    outcome.show(common, asked)?;
    if outcome.is_clean(asked) { Ok(()) } else { Err(Failure::silent(1)) }
}

/// What was found, and what was done about it.
struct Outcome<'n> {
    names: &'n Names,
    walked: walk::Walked,
    fixed: Vec<Fixed>,
    /// Files that stay as they are, and why.
    left: Vec<(PathBuf, String)>,
}

/// A file that was changed.
struct Fixed {
    path: PathBuf,
    backup: PathBuf,
    places: Vec<Place>,
}

impl Outcome<'_> {
    fn fix(&mut self, searcher: &Searcher, backup: &Backup) {
        for Found { path, .. } in &self.walked.found {
            match fixed(path, self.names, searcher, backup) {
                Ok(Some(fixed)) => self.fixed.push(fixed),
                // Somebody else was faster.
                Ok(None) => {}
                Err(why) => self.left.push((path.clone(), why)),
            }
        }
    }

    /// Whether nothing old is left, and nothing is to be done by hand.
    fn is_clean(&self, asked: &AuditNames) -> bool {
        let is_done = self.left.is_empty()
            && self.fixed.iter().flat_map(|file| &file.places).all(|place| place.remark.is_none());
        self.walked.unread.is_empty() && (self.walked.found.is_empty() || asked.fix && is_done)
    }

    fn show(&self, common: &Common, asked: &AuditNames) -> Result<(), Failure> {
        if common.json {
            return if asked.quiet { Ok(()) } else { Ok(output::json(&self.to_json())?) };
        }
        for (path, why) in &self.walked.unread {
            anstream::eprintln!("{} `{}` was not searched: {why}", "warning:".yellow().bold(), shown(path));
        }
        if asked.quiet {
            return Ok(());
        }
        let text = if asked.fix { self.changes() } else { self.places() };
        Ok(output::text(&format!("{text}{}", self.summary(asked)))?)
    }

    /// Lists the places of each old name.
    fn places(&self) -> String {
        let mut by_name: BTreeMap<&str, (&Name, Vec<String>)> = BTreeMap::new();
        for found in &self.walked.found {
            for hit in &found.hits {
                let name = &self.names.list[hit.name];
                let place = format!("  {}:{}:{}\n", shown(&found.path), hit.line, hit.column);
                by_name.entry(&name.spelled).or_insert_with(|| (name, Vec::new())).1.push(place);
            }
        }
        let group = |(spelled, (name, places)): (&str, (&Name, Vec<String>))| {
            let times = count(places.len(), "place");
            format!("{} ({times}): use {}\n{}", spelled.bold(), clean(&name.usage), places.concat())
        };
        by_name.into_iter().map(group).collect()
    }

    /// Lists what was done to each file.
    fn changes(&self) -> String {
        let mut text = String::new();
        for Fixed { path, backup, places } in &self.fixed {
            let (path, kept) = (shown(path), shown(backup));
            text += &format!("{} {path} (as it was: {kept})\n", "fixed".green());
            for Place { line, column, name, new, remark } in places {
                let spelled = &self.names.list[*name].spelled;
                text += &format!("  {line}:{column}  {spelled} is now {}", clean(new));
                match remark {
                    Some(remark) => text += &format!("; by hand: {}\n", clean(remark)),
                    None => text.push('\n'),
                }
            }
        }
        for (path, why) in &self.left {
            text += &format!("{} {}: {why}\n", "left as it is".yellow(), shown(path));
        }
        text
    }

    fn summary(&self, asked: &AuditNames) -> String {
        let searched = count(self.walked.searched, "file");
        let hits: usize = self.walked.found.iter().map(|found| found.hits.len()).sum();
        if hits == 0 {
            return format!("No old name in {searched}.");
        }
        let (places, files) = (count(hits, "place"), count(self.walked.found.len(), "file"));
        if !asked.fix {
            return format!("Old names in {places} of {files}; {searched} searched.");
        }
        let fixed: usize = self.fixed.iter().map(|file| file.places.len()).sum();
        let open = self.fixed.iter().flat_map(|file| &file.places).filter(|it| it.remark.is_some()).count();
        format!("{fixed} of {places} fixed, {open} of them to be finished by hand; {searched} searched.")
    }

    fn to_json(&self) -> Value {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut found = Vec::new();
        for file in &self.walked.found {
            for hit in &file.hits {
                let Name { spelled, new, usage, .. } = &self.names.list[hit.name];
                *counts.entry(spelled).or_default() += 1;
                found.push(json!({
                    "file": plain(&file.path), "line": hit.line, "column": hit.column,
                    "name": spelled, "new": new, "usage": usage,
                }));
            }
        }
        let why = |list: &[(PathBuf, String)]| -> Vec<Value> {
            list.iter().map(|(path, why)| json!({ "file": plain(path), "why": why })).collect()
        };
        let place = |place: &Place| {
            json!({
                "line": place.line, "column": place.column, "name": self.names.list[place.name].spelled,
                "new": place.new, "remark": place.remark,
            })
        };
        let fixed = |file: &Fixed| {
            let places: Vec<Value> = file.places.iter().map(place).collect();
            json!({ "file": plain(&file.path), "backup": plain(&file.backup), "places": places })
        };
        json!({
            "found": found,
            "names": counts,
            "searched": self.walked.searched,
            "unread": why(&self.walked.unread),
            "fixed": self.fixed.iter().map(fixed).collect::<Vec<_>>(),
            "left": why(&self.left),
        })
    }
}

/// Changes one file; `None` where it has no old name any more.
fn fixed(path: &Path, names: &Names, searcher: &Searcher, backup: &Backup) -> Result<Option<Fixed>, String> {
    let bytes = replace::read(path)?;
    let (text, encoding) = encoding::decode(&bytes).ok_or("its text cannot be read without loss")?;
    let rewritten = rewrite::rewrite(&text, names, searcher);
    if rewritten.places.is_empty() {
        return Ok(None);
    }
    let fresh = encoding.encode(rewritten.text);
    let backup = backup.keep(path, &bytes).map_err(|error| format!("no copy of it can be kept: {error}"))?;
    replace::replace(path, &bytes, &fresh)?;
    Ok(Some(Fixed { path: path.to_owned(), backup, places: rewritten.places }))
}

/// Writes a path for a terminal.
fn shown(path: &Path) -> String {
    clean(&plain(path)).into_owned()
}

fn plain(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).to_string_lossy().into_owned()
}
