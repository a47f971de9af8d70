//! A name becomes a note: its path or its title, exact, then in any case, then in part.

use super::{
    markdown,
    path::{self, NotePath},
    vault::{self, Vault},
};
use crate::{
    fold::fold,
    reply::{quoted, shown},
};

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    Path(#[from] path::Error),
    #[error("there is no note `{name}`{near}; list_notes and search_notes find what there is")]
    Unknown { name: String, near: String },
    #[error("`{name}` can be any of {count} notes: send the path of one, such as {candidates}")]
    Several { name: String, count: usize, candidates: String },
}

/// A note that can be addressed.
struct Known {
    path: NotePath,
    title: String,
}

/// Finds the one note that a name stands for.
pub(super) fn find(vault: &Vault, name: &str) -> Result<NotePath, Error> {
    // People copy links out of other notes.
    let name = name.trim();
    let name = name.strip_prefix("[[").and_then(|it| it.strip_suffix("]]")).unwrap_or(name).trim();
    let parsed = NotePath::parse(name);
    if let Ok(path) = &parsed
        && vault.holds(path)
    {
        return Ok(path.clone());
    }
    let known = known(vault);
    let exact = |note: &Known| note.title == name || note.path.stem() == name;
    let wanted = fold(name);
    let bare = wanted.strip_suffix(".md").unwrap_or(&wanted);
    let alike = |note: &Known| {
        fold(&note.title) == wanted || fold(note.path.stem()) == bare || fold(note.path.bare()) == bare
    };
    let partly = |note: &Known| fold(&note.title).contains(bare) || fold(note.path.bare()).contains(bare);
    if bare.is_empty() {
        return Err(Error::Unknown { name: shown(name), near: String::new() });
    }
    let ways: [&dyn Fn(&Known) -> bool; 3] = [&exact, &alike, &partly];
    for way in ways {
        let fitting: Vec<&Known> = known.iter().filter(|note| way(note)).collect();
        match fitting.as_slice() {
            [] => {}
            [one] => return Ok(one.path.clone()),
            several => {
                let candidates = quoted(several.iter().take(5).map(|note| note.path.as_str()));
                return Err(Error::Several { name: shown(name), count: several.len(), candidates });
            }
        }
    }
    // A path that leads out is refused as such, and not as a note that is missing.
    parsed?;
    Err(Error::Unknown { name: shown(name), near: nearest(bare, &known) })
}

fn known(vault: &Vault) -> Vec<Known> {
    let title = |path: &NotePath| -> Result<String, vault::Error> {
        Ok(markdown::title(&vault.read(path)?.text, path.stem()))
    };
    let notes = vault.walk().notes.into_iter();
    notes
        .map(|entry| {
            // A note that cannot be read still has a name, and reading it says what is wrong.
            let title = title(&entry.path).unwrap_or_else(|_| entry.path.stem().to_owned());
            Known { path: entry.path, title }
        })
        .collect()
}

fn nearest(wanted: &str, known: &[Known]) -> String {
    if 200 < wanted.len() {
        return String::new();
    }
    let mut near: Vec<(f64, &str)> = known
        .iter()
        .map(|note| {
            let by_title = strsim::jaro_winkler(wanted, &fold(&note.title));
            (by_title.max(strsim::jaro_winkler(wanted, &fold(note.path.stem()))), note.path.as_str())
        })
        .filter(|(score, _)| 0.75 < *score)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    if near.is_empty() {
        return String::new();
    }
    format!(", but {}", quoted(near.iter().take(3).map(|(_, path)| path)))
}
