//! The folder of notes on the disk.
//!
//! Nothing outside the folder is read or written: links are not followed, and a file is used only if
//! what was opened is what lies at that place inside the folder. Writes appear whole or not at all.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use parking_lot::{Mutex, MutexGuard};
use tempfile::NamedTempFile;

use super::{
    path::{DEEPEST, NotePath},
    sample,
};
use crate::reply::shown;

/// A note may have this many bytes.
pub(super) const LARGEST: u64 = 4 * 1024 * 1024;
/// A folder may have this many notes, and this many entries of any kind.
const MOST_NOTES: usize = 20_000;
const MOST_ENTRIES: usize = 200_000;

/// A folder of Markdown notes.
#[derive(Debug)]
pub(crate) struct Vault {
    /// Free of links itself, so that what lies below can be compared with it.
    root: PathBuf,
    writing: Mutex<()>,
}

/// A note as it was read.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) text: String,
    pub(super) modified: SystemTime,
}

/// A note as it was seen in the folder.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) path: NotePath,
    pub(super) modified: SystemTime,
}

/// What a walk through the folder found.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Sorted by path.
    pub(super) notes: Vec<Entry>,
    /// What lies there and cannot be used, with the reason.
    pub(super) skipped: Vec<(String, String)>,
    /// Whether the folder has more than is looked at.
    pub(super) cut: bool,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("there is no note `{0}`")]
    Missing(String),
    #[error(
        "`{0}` is a link, or lies behind one: links are not followed, because they can lead out of the folder"
    )]
    Link(String),
    #[error("`{0}` is no ordinary file")]
    NotAFile(String),
    #[error("`{0}` is a file and not a folder")]
    NotAFolder(String),
    #[error("`{0}` is larger than {size} MiB, or would become so", size = LARGEST / 1024 / 1024)]
    TooLarge(String),
    #[error("`{0}` is not UTF-8 text")]
    NotText(String),
    #[error(
        "there is a note `{0}` already, and creating never overwrites: change it with update_note or choose another title"
    )]
    Exists(String),
    #[error("`{0}` is read-only")]
    ReadOnly(String),
    #[error(
        "`{0}` was changed by another program in the meantime: nothing was written; read it and try again"
    )]
    Changed(String),
    #[error("another program keeps the folder of notes locked: nothing was written; try again")]
    Locked,
    #[error("the operating system refused to {doing} `{path}`: {source}")]
    System { doing: &'static str, path: String, source: io::Error },
}

/// Shows that no other call of this or another program is writing.
pub(super) struct Writing<'v> {
    vault: &'v Vault,
    _here: MutexGuard<'v, ()>,
    /// Closing the folder unlocks it.
    _elsewhere: Option<File>,
}

impl Vault {
    /// Opens the folder; when it does not exist it is made, with sample notes.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        if !folder.try_exists()? {
            sample::plant(folder)?;
        }
        let root = fs::canonicalize(folder)?;
        fs::read_dir(&root)?;
        Ok(Self { root, writing: Mutex::new(()) })
    }

    /// Lists the notes of the folder, as far as the limits go.
    pub(super) fn walk(&self) -> Listing {
        let mut listing = Listing::default();
        let mut entries = 0;
        let mut folders = vec![(self.root.clone(), String::new(), 1)];
        'walk: while let Some((folder, prefix, depth)) = folders.pop() {
            let inside = match fs::read_dir(&folder) {
                Ok(inside) => inside,
                Err(error) => {
                    let name = if prefix.is_empty() { "." } else { &prefix };
                    listing.skipped.push((shown(name), error.to_string()));
                    continue;
                }
            };
            for entry in inside.flatten() {
                entries += 1;
                if MOST_ENTRIES < entries || MOST_NOTES <= listing.notes.len() {
                    listing.cut = true;
                    break 'walk;
                }
                let name = entry.file_name();
                let shape = entry.file_type();
                let Some(name) = name.to_str() else {
                    listing
                        .skipped
                        .push((shown(&name.to_string_lossy()), "its name is not UTF-8".to_owned()));
                    continue;
                };
                if name.starts_with('.') {
                    continue;
                }
                let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
                match shape {
                    Ok(shape) if shape.is_dir() && depth < DEEPEST => {
                        folders.push((entry.path(), path, depth + 1));
                    }
                    Ok(shape) if shape.is_dir() => listing.cut = true,
                    Ok(shape) => listing.take(&path, shape, &entry),
                    Err(error) => listing.skipped.push((shown(&path), error.to_string())),
                }
            }
        }
        listing.notes.sort_by(|a, b| a.path.cmp(&b.path));
        listing.skipped.sort();
        listing
    }

    /// Says whether a note, or anything else, lies at this path.
    pub(super) fn holds(&self, path: &NotePath) -> bool {
        // What lies behind a link is not looked at, so a link counts as something.
        !matches!(self.check_way(path), Err(Error::Missing(_)))
    }

    /// Reads a note.
    pub(super) fn read(&self, path: &NotePath) -> Result<Contents, Error> {
        let place = self.root.join(path.as_str());
        let refused = |source| system("read", path, source);
        self.check_way(path)?;
        // Opening a pipe would wait for ever, so this is asked before.
        let seen = place.symlink_metadata().map_err(refused)?;
        if !seen.is_file() {
            return Err(Error::NotAFile(shown(path.as_str())));
        }
        let file = File::open(&place).map_err(refused)?;
        // A link may have been swapped in since the check: what counts is what was opened.
        let inside = fs::canonicalize(&place).map_err(refused)?;
        let opened = file.metadata().map_err(refused)?;
        let there = inside.symlink_metadata().map_err(refused)?;
        if !inside.starts_with(&self.root) || !same_file(&opened, &there) {
            return Err(Error::Link(shown(path.as_str())));
        }
        if LARGEST < opened.len() {
            return Err(Error::TooLarge(shown(path.as_str())));
        }
        let mut bytes = Vec::new();
        file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(refused)?;
        if LARGEST < bytes.len() as u64 {
            return Err(Error::TooLarge(shown(path.as_str())));
        }
        let text = String::from_utf8(bytes).map_err(|_| Error::NotText(shown(path.as_str())))?;
        Ok(Contents { text, modified: opened.modified().map_err(refused)? })
    }

    /// Waits until nobody else is writing, for a moment.
    pub(super) fn lock(&self) -> Result<Writing<'_>, Error> {
        const TRIES: u32 = 200;
        let here = self.writing.lock();
        // Where folders cannot be opened or locked, only this program's own calls are kept apart.
        let Ok(folder) = File::open(&self.root) else {
            return Ok(Writing { vault: self, _here: here, _elsewhere: None });
        };
        for _ in 0..TRIES {
            match folder.try_lock() {
                Ok(()) => return Ok(Writing { vault: self, _here: here, _elsewhere: Some(folder) }),
                Err(TryLockError::Error(_)) => {
                    return Ok(Writing { vault: self, _here: here, _elsewhere: None });
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
        Err(Error::Locked)
    }

    /// Checks that every folder on the way is a folder and that the note itself is no link.
    fn check_way(&self, path: &NotePath) -> Result<(), Error> {
        let mut place = self.root.clone();
        for part in path.as_str().split('/') {
            place.push(part);
            match place.symlink_metadata() {
                Ok(seen) if seen.is_symlink() => return Err(Error::Link(shown(path.as_str()))),
                Ok(_) => {}
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
                {
                    return Err(Error::Missing(shown(path.as_str())));
                }
                Err(error) => return Err(system("look at", path, error)),
            }
        }
        Ok(())
    }
}

impl Writing<'_> {
    /// Replaces a note whose text was `before`; the new text appears whole or not at all.
    pub(super) fn replace(&self, path: &NotePath, before: &str, after: &str) -> Result<(), Error> {
        let place = self.vault.root.join(path.as_str());
        let refused = |source| system("write", path, source);
        if LARGEST < after.len() as u64 {
            return Err(Error::TooLarge(shown(path.as_str())));
        }
        let permissions = place.symlink_metadata().map_err(refused)?.permissions();
        if permissions.readonly() {
            return Err(Error::ReadOnly(shown(path.as_str())));
        }
        let file = self.written(path, after, &mut hidden())?;
        file.as_file().set_permissions(permissions).map_err(refused)?;
        file.as_file().sync_all().map_err(refused)?;
        // Editors take no lock, so the last look comes right before the swap.
        if self.vault.read(path)?.text != before {
            return Err(Error::Changed(shown(path.as_str())));
        }
        file.persist(&place).map_err(|error| refused(error.error))?;
        self.settle(&place);
        Ok(())
    }

    /// Creates a note, and the folders on the way; never overwrites.
    pub(super) fn create(&self, path: &NotePath, text: &str) -> Result<(), Error> {
        let refused = |source| system("create", path, source);
        if LARGEST < text.len() as u64 {
            return Err(Error::TooLarge(shown(path.as_str())));
        }
        self.make_way(path)?;
        let place = self.vault.root.join(path.as_str());
        if let Some(taken) = self.taken(path, &place) {
            return Err(Error::Exists(shown(&taken)));
        }
        let mut builder = hidden();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As any editor would create it; the umask still applies.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let file = self.written(path, text, &mut builder)?;
        file.as_file().sync_all().map_err(refused)?;
        file.persist_noclobber(&place).map_err(|error| {
            let taken = error.error.kind() == io::ErrorKind::AlreadyExists;
            if taken { Error::Exists(shown(path.as_str())) } else { refused(error.error) }
        })?;
        self.settle(&place);
        Ok(())
    }

    /// Finds a neighbour of the same name in other capitals: some systems cannot tell the two apart.
    fn taken(&self, path: &NotePath, place: &Path) -> Option<String> {
        let name = place.file_name()?.to_str()?.to_lowercase();
        let neighbours = fs::read_dir(place.parent()?).ok()?.flatten();
        let same = neighbours
            .filter_map(|entry| entry.file_name().into_string().ok())
            .find(|neighbour| neighbour.to_lowercase() == name)?;
        let folder = path.folders().join("/");
        Some(if folder.is_empty() { same } else { format!("{folder}/{same}") })
    }

    /// Makes the folders on the way to a note, one by one, so that no link is followed.
    fn make_way(&self, path: &NotePath) -> Result<(), Error> {
        let mut place = self.vault.root.clone();
        for folder in path.folders() {
            place.push(folder);
            match fs::create_dir(&place) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(system("make the folder of", path, error)),
            }
            let seen =
                place.symlink_metadata().map_err(|error| system("look at the folder of", path, error))?;
            if seen.is_symlink() {
                return Err(Error::Link(shown(path.as_str())));
            }
            if !seen.is_dir() {
                return Err(Error::NotAFolder(shown(folder)));
            }
        }
        Ok(())
    }

    /// Writes the text to a temporary file beside the note.
    fn written(
        &self,
        path: &NotePath,
        text: &str,
        builder: &mut tempfile::Builder<'_, '_>,
    ) -> Result<NamedTempFile, Error> {
        let refused = |source| system("write", path, source);
        let place = self.vault.root.join(path.as_str());
        let folder = place.parent().unwrap_or(&self.vault.root);
        let mut file = builder.tempfile_in(folder).map_err(refused)?;
        let real = fs::canonicalize(file.path()).map_err(refused)?;
        if real.parent() != Some(folder) {
            return Err(Error::Link(shown(path.as_str())));
        }
        file.write_all(text.as_bytes()).map_err(refused)?;
        Ok(file)
    }

    /// Makes the new name itself survive a power cut, where folders can be synced.
    fn settle(&self, place: &Path) {
        if let Some(folder) = place.parent().and_then(|folder| File::open(folder).ok()) {
            // The note is written either way; only its name might need the system's next sync.
            let _ = folder.sync_all();
        }
    }
}

impl Listing {
    fn take(&mut self, path: &str, shape: fs::FileType, entry: &fs::DirEntry) {
        let note = NotePath::found(path);
        // A link without an ending may be a linked folder, which a person would miss.
        if shape.is_symlink() && (note.is_some() || Path::new(path).extension().is_none()) {
            self.skipped.push((shown(path), "it is a link, and links are not followed".to_owned()));
        } else if let Some(path) = note.filter(|_| shape.is_file()) {
            let modified =
                entry.metadata().and_then(|seen| seen.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            self.notes.push(Entry { path, modified });
        }
    }
}

/// Names temporary files so that no walk lists them: with a dot in front, without `.md`.
fn hidden() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".toolyard-").suffix(".tmp");
    builder
}

fn system(doing: &'static str, path: &NotePath, source: io::Error) -> Error {
    Error::System { doing, path: shown(path.as_str()), source }
}

#[cfg(unix)]
fn same_file(a: &fs::Metadata, b: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn same_file(a: &fs::Metadata, b: &fs::Metadata) -> bool {
    (a.len(), a.created().ok(), a.modified().ok()) == (b.len(), b.created().ok(), b.modified().ok())
}
