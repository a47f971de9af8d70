//! A file, changed at once or not at all.
//!
//! What a file was is on disk before it is replaced, and a file that somebody else changed meanwhile is left alone.

use std::ffi::OsString;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

/// Files of more bytes are left to a person.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// Copies of one file that are kept.
const MOST_COPIES: usize = 1000;

/// Where copies are kept of what files were.
#[derive(Debug)]
pub(super) enum Backup {
    /// Beside each file, with a `~` at the end.
    Beside,
    /// In a folder, under the path of each file.
    Folder(PathBuf),
}

impl Backup {
    /// Keeps copies in a folder, which is made where it is not there.
    pub(super) fn in_folder(folder: &Path) -> io::Result<Self> {
        if !folder.is_dir() {
            fs::create_dir_all(folder)?;
            // Copies have old names, which nobody wants to find or to commit.
            fs::write(folder.join(".gitignore"), "*\n")?;
        }
        Ok(Self::Folder(folder.to_owned()))
    }

    /// Returns the folder, where there is one.
    pub(super) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Beside => None,
            Self::Folder(folder) => Some(folder),
        }
    }

    /// Keeps a copy. One that is there already is never written over.
    pub(super) fn keep(&self, file: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
        let place = match self {
            Self::Beside => file.to_owned(),
            Self::Folder(folder) => {
                let is_below = file.is_relative() && !file.components().any(|it| it == Component::ParentDir);
                let whole = if is_below { file.to_owned() } else { std::path::absolute(file)? };
                let plain = whole.components().filter(|part| matches!(part, Component::Normal(_)));
                let place = folder.join(plain.collect::<PathBuf>());
                fs::create_dir_all(place.parent().unwrap_or(folder))?;
                place
            }
        };
        let permissions = fs::metadata(file)?.permissions();
        for number in 1..=MOST_COPIES {
            let copy =
                if number == 1 { named(&place, "", "~") } else { named(&place, "", &format!(".{number}~")) };
            match write_new(&copy, bytes, &permissions) {
                Ok(()) => return Ok(copy),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if fs::read(&copy).is_ok_and(|kept| kept == bytes) {
                        return Ok(copy);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(format!("there are {MOST_COPIES} copies already")))
    }
}

/// Reads a file that may be changed, or says why it may not be.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, String> {
    let metadata = fs::symlink_metadata(file).map_err(|error| error.to_string())?;
    if metadata.is_symlink() {
        return Err("it is a link; fix the file that it leads to".to_owned());
    }
    if metadata.permissions().readonly() {
        return Err("it is read-only".to_owned());
    }
    if metadata.len() > MOST_BYTES {
        return Err(format!("it has more than {MOST_BYTES} bytes"));
    }
    fs::read(file).map_err(|error| error.to_string())
}

/// Replaces what a file had by something else.
pub(super) fn replace(file: &Path, had: &[u8], fresh: &[u8]) -> Result<(), String> {
    let replaced = || -> io::Result<bool> {
        let permissions = fs::metadata(file)?.permissions();
        let beside = temporary(file);
        write_out(&beside, fresh, &permissions)?;
        let is_same = fs::read(file).is_ok_and(|now| now == had);
        let renamed = if is_same { fs::rename(&beside, file) } else { Ok(()) };
        if !is_same || renamed.is_err() {
            let _ = fs::remove_file(&beside);
        }
        renamed.map(|()| is_same)
    };
    match replaced() {
        Ok(true) => Ok(()),
        Ok(false) => Err("somebody else changed it meanwhile".to_owned()),
        Err(error) => Err(format!("it cannot be replaced: {error}")),
    }
}

/// Writes a file that must not be there yet, so that it is there as a whole or not at all.
fn write_new(file: &Path, bytes: &[u8], permissions: &Permissions) -> io::Result<()> {
    if fs::symlink_metadata(file).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let beside = temporary(file);
    write_out(&beside, bytes, permissions)?;
    // Unlike renaming, a link is never made over another file.
    let linked = fs::hard_link(&beside, file);
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => fs::rename(&beside, file),
        Ok(()) | Err(_) => {
            let _ = fs::remove_file(&beside);
            linked
        }
    }
}

fn write_out(file: &Path, bytes: &[u8], permissions: &Permissions) -> io::Result<()> {
    let written = || {
        let mut out = OpenOptions::new().write(true).create(true).truncate(true).open(file)?;
        out.write_all(bytes)?;
        out.set_permissions(permissions.clone())?;
        out.sync_all()
    };
    written().inspect_err(|_| {
        let _ = fs::remove_file(file);
    })
}

/// Names a file beside another, for this process alone; its name ends like that of a copy.
fn temporary(file: &Path) -> PathBuf {
    named(file, ".", &format!(".{}.toolyard~", std::process::id()))
}

fn named(file: &Path, before: &str, behind: &str) -> PathBuf {
    let mut name = OsString::from(before);
    name.push(file.file_name().unwrap_or_default());
    name.push(behind);
    file.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c8_copies_are_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.md");
        fs::write(&file, "one").unwrap();
        let keep = |bytes: &[u8]| Backup::Beside.keep(&file, bytes).unwrap();
        assert_eq!(keep(b"one"), folder.path().join("a.md~"));
        assert_eq!(keep(b"one"), folder.path().join("a.md~"));
        assert_eq!(keep(b"two"), folder.path().join("a.md.2~"));
        assert_eq!(fs::read(folder.path().join("a.md~")).unwrap(), b"one");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing temporary is left");
    }

    #[test]
    fn c8_a_file_that_somebody_else_changed_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.md");
        fs::write(&file, "theirs").unwrap();
        let refused = replace(&file, b"ours before", b"ours after").unwrap_err();
        assert_eq!(refused, "somebody else changed it meanwhile");
        assert_eq!(fs::read(&file).unwrap(), b"theirs");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing temporary is left");
    }
}
