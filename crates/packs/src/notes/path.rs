//! Where a note is: a path inside the folder of notes, checked before it touches the disk.
//!
//! A [`NotePath`] never leads out of the folder by its words alone. Links on the disk are the
//! vault's business.

use std::path::{Component, Path};

use crate::{reply::shown, sandbox::portable};

/// A path to a note: relative, with `/` between its parts, ending in `.md`, nothing hidden.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NotePath(String);

/// A path to a folder inside the folder of notes; the empty one is that folder itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FolderPath(String);

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("`{0}` is an absolute path: send one inside the folder of notes, for example `Projects/Plan.md`")]
    Absolute(String),
    #[error(
        "`{0}` leads out of the folder of notes, or might: send a path without `..`, such as `Projects/Plan.md`"
    )]
    Outside(String),
    #[error("`{0}` is hidden (a part of it begins with a dot): hidden files and folders are not notes")]
    Hidden(String),
    #[error(
        "`{0}` has an empty part or a character that no name may have: send one such as `Projects/Plan.md`"
    )]
    Malformed(String),
    #[error(
        "`{0}` is too long: a name may have {LONGEST_NAME} bytes, a path {LONGEST_PATH} and {DEEPEST} parts"
    )]
    TooLong(String),
    #[error("`{0}` cannot be the name of a note on every computer: {1}")]
    NotPortable(String, String),
    #[error("the title `{0}` has a slash: send the folder as `folder` and the title without it")]
    SlashInTitle(String),
}

/// Leaves room for `.md` and for the name of a temporary file.
const LONGEST_NAME: usize = 200;
const LONGEST_PATH: usize = 1000;
pub(super) const DEEPEST: usize = 16;

impl NotePath {
    /// Reads a path as a person would write it, with or without `.md`.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let path = relative(text)?;
        Ok(Self(if is_markdown(&path) { path } else { format!("{path}.md") }))
    }

    /// Makes the path of a note that does not exist yet, by rules that hold on every system.
    pub(super) fn for_new(folder: &FolderPath, title: &str) -> Result<Self, Error> {
        let title = title.trim();
        if title.contains(['/', '\\']) {
            return Err(Error::SlashInTitle(shown(title)));
        }
        let stem = if is_markdown(title) { &title[..title.len() - ".md".len()] } else { title };
        // What a title may have and a file name may not is left out of the name only.
        let name: String = stem
            .chars()
            .map(|letter| if letter.is_control() || "<>:\"|?*".contains(letter) { ' ' } else { letter })
            .collect();
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        let name = name.trim_start_matches(['.', ' ']).trim_end_matches(['.', ' ']);
        let path = format!("{}{name}.md", folder.prefix());
        if name.is_empty() {
            return Err(Error::NotPortable(shown(title), "it has no letters or digits".to_owned()));
        }
        let path = relative(&path)?;
        for part in path.split('/') {
            portable(part).map_err(|why| Error::NotPortable(shown(part), why))?;
        }
        Ok(Self(path))
    }

    /// Takes a path that was found on the disk by walking the folder; `None` when it is no note.
    pub(super) fn found(path: &str) -> Option<Self> {
        (is_markdown(path) && relative(path).is_ok()).then(|| Self(path.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the file's name without `.md`.
    pub(super) fn stem(&self) -> &str {
        let name = self.0.rsplit('/').next().unwrap_or(&self.0);
        &name[..name.len() - ".md".len()]
    }

    /// Returns the path without `.md`.
    pub(super) fn bare(&self) -> &str {
        &self.0[..self.0.len() - ".md".len()]
    }

    /// Returns the names of the folders on the way to the note, from the outside in.
    pub(super) fn folders(&self) -> Vec<&str> {
        let mut parts: Vec<&str> = self.0.split('/').collect();
        parts.pop();
        parts
    }
}

impl FolderPath {
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        if matches!(text, "" | "." | "/" | "./") {
            return Ok(Self(String::new()));
        }
        relative(text.strip_suffix('/').unwrap_or(text)).map(Self)
    }

    /// Says whether a note lies in this folder or below it.
    pub(super) fn holds(&self, note: &NotePath) -> bool {
        note.as_str().starts_with(&self.prefix())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    fn prefix(&self) -> String {
        if self.0.is_empty() { String::new() } else { format!("{}/", self.0) }
    }
}

fn is_markdown(path: &str) -> bool {
    let Some(stem) = path.len().checked_sub(".md".len()) else { return false };
    let ends = path.get(stem..).is_some_and(|end| end.eq_ignore_ascii_case(".md"));
    ends && 0 < stem && !path[..stem].ends_with('/')
}

/// Checks that a path stays inside by its words, and returns it without a leading `./`.
fn relative(text: &str) -> Result<String, Error> {
    let text = text.trim();
    let path = text.strip_prefix("./").unwrap_or(text);
    if Path::new(path).has_root() || path.starts_with(['/', '\\', '~']) {
        return Err(Error::Absolute(shown(text)));
    }
    let parts: Vec<&str> = path.split('/').collect();
    if parts.contains(&"..") || path.contains('\\') {
        return Err(Error::Outside(shown(text)));
    }
    for part in &parts {
        // What the system itself would take apart, such as `C:notes`, is no single name.
        let mut seen = Path::new(part).components();
        let single = matches!(seen.next(), Some(Component::Normal(name)) if name == *part);
        if part.starts_with('.') && *part != "." {
            return Err(Error::Hidden(shown(text)));
        }
        if !single || seen.next().is_some() || part.chars().any(char::is_control) || part.trim() != *part {
            return Err(Error::Malformed(shown(text)));
        }
    }
    let long = parts.iter().any(|part| LONGEST_NAME < part.len());
    if long || LONGEST_PATH < path.len() || DEEPEST < parts.len() {
        return Err(Error::TooLong(shown(text)));
    }
    Ok(path.to_owned())
}
