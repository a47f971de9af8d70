//! What a file was before we changed it, kept until the change is undone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Error;
use crate::config::edit;

/// A change that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The file that was written.
    pub path: PathBuf,
    /// Where its former content is kept.
    pub backup: PathBuf,
}

/// A change that was undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The file that is as it was.
    pub path: PathBuf,
    /// Whether the file existed before the change; otherwise it is gone again.
    pub existed: bool,
}

/// What is kept beside the former content.
#[derive(Serialize, Deserialize)]
struct Note {
    path: PathBuf,
    existed: bool,
    /// Digest of what we wrote, so that an undo does not overwrite what a person wrote since.
    written: String,
    /// Folders that were made for the file, the outermost first.
    folders: Vec<PathBuf>,
}

const NOTE: &str = "note.json";
const BEFORE: &str = "before";

/// Writes a file after its former content was put away.
pub(super) fn replace(path: &Path, contents: &[u8], backups: &Path) -> Result<Receipt, Error> {
    let path = std::path::absolute(path).map_err(|source| io_error(path, source))?;
    let before = match fs::read(&path) {
        Ok(before) => Some(before),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => return Err(io_error(&path, source)),
    };
    let backup = new_folder(backups).map_err(|source| io_error(backups, source))?;
    let note = Note {
        path: path.clone(),
        existed: before.is_some(),
        written: digest(contents),
        folders: missing_folders(&path),
    };
    let put_away = || {
        edit::write(&backup.join(BEFORE), before.as_deref().unwrap_or_default())?;
        let note = serde_json::to_vec_pretty(&note).map_err(io::Error::other)?;
        edit::write(&backup.join(NOTE), &note)
    };
    let written = put_away()
        .map_err(|source| io_error(&backup, source))
        .and_then(|()| edit::write(&path, contents).map_err(|source| io_error(&path, source)));
    match written {
        Ok(()) => Ok(Receipt { path, backup }),
        Err(error) => {
            // Nothing was changed, so there is nothing to undo.
            let _ = fs::remove_dir_all(&backup);
            Err(error)
        }
    }
}

/// Undoes the newest change in a folder of backups: the file is, to the byte, what it was.
pub fn undo(backups: &Path) -> Result<Restored, Error> {
    let backup = newest(backups)?.ok_or(Error::NothingToUndo)?;
    let io = |source| io_error(&backup, source);
    let note = fs::read(backup.join(NOTE)).map_err(io)?;
    let note: Note = serde_json::from_slice(&note).map_err(|error| io(error.into()))?;
    let before = fs::read(backup.join(BEFORE)).map_err(io)?;
    let now = fs::read(&note.path).ok();
    let untouched = now.as_deref().is_some_and(|now| digest(now) == note.written);
    let already = if note.existed { now.as_deref() == Some(&before[..]) } else { now.is_none() };
    if !untouched && !already {
        let advice = format!("what it was before is kept in {}", backup.join(BEFORE).display());
        return Err(Error::Changed { path: note.path, advice });
    }
    let restored = if note.existed { edit::write(&note.path, &before) } else { remove(&note) };
    restored.map_err(|source| io_error(&note.path, source))?;
    fs::remove_dir_all(&backup).map_err(io)?;
    Ok(Restored { path: note.path, existed: note.existed })
}

fn remove(note: &Note) -> io::Result<()> {
    match fs::remove_file(&note.path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    for folder in note.folders.iter().rev() {
        // A folder that is in use by now stays.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

fn digest(contents: &[u8]) -> String {
    Sha256::digest(contents).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> =
        path.ancestors().skip(1).take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Makes the next numbered folder; what it will hold is only for its owner.
fn new_folder(backups: &Path) -> io::Result<PathBuf> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(backups)?;
    builder.recursive(false);
    let mut number = numbered(backups)?.last().map_or(1, |(number, _)| number + 1);
    loop {
        let folder = backups.join(format!("{number:06}"));
        match builder.create(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            created => return created.map(|()| folder),
        }
    }
}

fn newest(backups: &Path) -> Result<Option<PathBuf>, Error> {
    match numbered(backups) {
        Ok(mut folders) => Ok(folders.pop().map(|(_, folder)| folder)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(io_error(backups, source)),
    }
}

fn numbered(backups: &Path) -> io::Result<Vec<(u32, PathBuf)>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(backups)? {
        let path = entry?.path();
        // Without its note a backup was never finished, and the file never changed.
        let number = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
        folders.extend(number.filter(|_| path.join(NOTE).is_file()).map(|number| (number, path)));
    }
    folders.sort();
    Ok(folders)
}

fn io_error(path: &Path, source: io::Error) -> Error {
    Error::Io { path: path.to_owned(), source }
}
