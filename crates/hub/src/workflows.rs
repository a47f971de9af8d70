//! Workflows that a person wrote down: files of steps with parameters, each offered as a tool of its own.
//!
//! A file with a mistake is not used, and every mistake in it is reported at once with its line. A
//! workflow is offered where all servers that it needs are configured, and listed when their tools are known.

mod expression; // values with references in them
mod raw; //        a workflow as it is written
mod template; //   a workflow as it is meant

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use toolyard_core::tool::ToolId;

use crate::config::Mistake;

pub use raw::schema;
pub use template::Template;

/// The server whose tools the workflows are.
pub const SERVER: &str = "workflows";

/// The endings of files that are read as workflows.
const ENDINGS: [&str; 3] = ["json", "yaml", "yml"];

/// Workflows that come with the program.
const SHIPPED: [(&str, &str); 6] = [
    ("commit-all.json", include_str!("../workflows/commit-all.json")),
    ("forget-topic.json", include_str!("../workflows/forget-topic.json")),
    ("issue-from-latest-commit.json", include_str!("../workflows/issue-from-latest-commit.json")),
    ("papers-to-notes.json", include_str!("../workflows/papers-to-notes.json")),
    ("save-page-as-note.json", include_str!("../workflows/save-page-as-note.json")),
    ("standup-note.json", include_str!("../workflows/standup-note.json")),
];

/// Reads the workflows of files and folders, and those that come with the program. One of a person takes
/// the place of one that comes with the program and has the same name.
pub fn read(paths: &[PathBuf]) -> (Vec<Template>, Vec<Mistake>) {
    let (mut templates, mut mistakes): (Vec<Template>, Vec<Mistake>) = (Vec::new(), Vec::new());
    let mut files_of: BTreeMap<String, PathBuf> = BTreeMap::new();
    let found: Vec<PathBuf> = paths.iter().flat_map(|path| files(path, &mut mistakes)).collect();
    for file in found {
        match load(&file) {
            Ok(template) if let Some(first) = files_of.get(&template.name) => {
                let what = format!(
                    "its workflow `{}` is not used: {} has one of that name, which comes first",
                    template.name,
                    first.display()
                );
                mistakes.push(Mistake::whole_file(&file, what, None));
            }
            Ok(template) => {
                files_of.insert(template.name.clone(), file);
                templates.push(template);
            }
            Err(wrong) => mistakes.extend(wrong),
        }
    }
    for template in shipped() {
        if templates.iter().all(|it| it.name != template.name) {
            templates.push(template);
        }
    }
    templates.sort_by(|a, b| a.name.cmp(&b.name));
    (templates, mistakes)
}

/// Whether a file is written like a workflow, as its name says.
pub fn is_written(file: &Path) -> bool {
    file.extension().is_some_and(|it| ENDINGS.iter().any(|ending| it == *ending))
}

/// Reads the workflow of a file.
pub fn load(file: &Path) -> Result<Template, Vec<Mistake>> {
    let unreadable = |why: String| vec![Mistake::whole_file(file, why, None)];
    let bytes =
        crate::config::read_bytes(file).map_err(|err| unreadable(format!("cannot be read: {err}")))?;
    let text = String::from_utf8(bytes).map_err(|_| unreadable("is not UTF-8 text".to_owned()))?;
    Template::parse(&text, file)
}

/// Keeps the workflows all of whose servers are there.
pub fn offered<'s>(templates: Vec<Template>, servers: impl IntoIterator<Item = &'s str>) -> Vec<Template> {
    let there: BTreeSet<_> = servers.into_iter().map(ToolId::server_prefix).collect();
    let is_there = |template: &Template| template.servers().iter().all(|it| there.contains(*it));
    templates.into_iter().filter(is_there).collect()
}

fn shipped() -> impl Iterator<Item = Template> {
    SHIPPED.iter().filter_map(|(name, text)| Template::parse(text, Path::new(name)).ok())
}

fn files(path: &Path, mistakes: &mut Vec<Mistake>) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    match std::fs::read_dir(path) {
        Ok(entries) => {
            let is_one = |file: &PathBuf| is_written(file) && file.is_file();
            let mut files: Vec<PathBuf> = entries.flatten().map(|it| it.path()).filter(is_one).collect();
            files.sort();
            files
        }
        Err(err) => {
            mistakes.push(Mistake::whole_file(path, format!("the folder cannot be read: {err}"), None));
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests;
