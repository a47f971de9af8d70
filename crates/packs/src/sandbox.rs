//! A folder that nothing leads out of: files are read, written and listed only below it.
//!
//! Every folder on the way is opened by itself, from the one before it and without following links, and what is read
//! or written is reached through those handles. A link that is swapped in after a check changes nothing.

mod path; // what a path may say

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::OwnedFd,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat},
    io::Errno,
};

pub(crate) use self::path::{Error as PathError, SafePath, portable};
use crate::reply::shown;

/// A folder that nothing leads out of.
#[derive(Debug)]
pub(crate) struct Sandbox {
    root: OwnedFd,
    temporary: AtomicU64,
}

/// What lies in a folder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) path: SafePath,
    pub(crate) shape: Shape,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An ordinary file and how many bytes it has.
    File(u64),
    /// A folder.
    Folder,
}

/// What a listing found.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Sorted by path.
    pub(crate) entries: Vec<Entry>,
    /// Names that lie there and are not offered, such as links.
    pub(crate) skipped: usize,
    /// Whether there is more than is looked at.
    pub(crate) cut: bool,
}

/// Whether a write may replace a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writing {
    /// Only where nothing lies yet.
    New,
    /// Also over an ordinary file.
    Replace,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("there is no file `{0}`: list_files shows what there is")]
    Missing(String),
    #[error("`{0}` is a link, or lies behind one: links are not followed, because they can lead out")]
    Link(String),
    #[error(
        "`{0}` has another name elsewhere (a hard link): it is not used, because it may lie outside as well"
    )]
    HardLink(String),
    #[error("`{0}` is no ordinary file")]
    NotAFile(String),
    #[error("`{0}` is not a folder, or a part on the way to it is not")]
    NotAFolder(String),
    #[error("`{path}` has more than {most} bytes, the most that is used")]
    TooLarge { path: String, most: u64 },
    #[error("there is a file `{0}` already: nothing was written")]
    Exists(String),
    #[error("`{0}` is read-only: nothing was written")]
    ReadOnly(String),
    #[error("the operating system refused to {doing} `{path}`: {source}")]
    System { doing: &'static str, path: String, source: io::Error },
}

/// A listing looks at this many entries.
const MOST_ENTRIES: usize = 20_000;
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Sandbox {
    /// Opens the folder, which must exist.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        // The folder itself is the person's own choice and may be reached through links.
        let root =
            rustix::fs::open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { root, temporary: AtomicU64::new(0) })
    }

    /// Reads a file of at most this many bytes.
    pub(crate) fn read(&self, path: &SafePath, most: u64) -> Result<Vec<u8>, Error> {
        let (folders, name) = path.split();
        let folder = self.descend(path, &folders, Way::Existing)?;
        // Without waiting: a pipe would keep us for ever. What was opened is looked at before it is read.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, name, flags, Mode::empty())
            .map_err(|errno| refused("read", path, errno))?;
        let seen = rustix::fs::fstat(&file).map_err(|errno| refused("look at", path, errno))?;
        ordinary(path, &seen)?;
        let too_large = || Error::TooLarge { path: shown(path.as_str()), most };
        if most < size(&seen) {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        let file = File::from(file);
        file.take(most + 1).read_to_end(&mut bytes).map_err(|source| system("read", path, source))?;
        // It may have grown since it was looked at.
        if most < bytes.len() as u64 { Err(too_large()) } else { Ok(bytes) }
    }

    /// Says whether anything lies at this path.
    pub(crate) fn holds(&self, path: &SafePath) -> bool {
        let (folders, name) = path.split();
        match self.descend(path, &folders, Way::Existing) {
            Ok(folder) => rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok(),
            Err(error) => !matches!(error, Error::Missing(_)),
        }
    }

    /// Writes a file, and makes the folders on the way; it appears whole or not at all.
    pub(crate) fn write(&self, path: &SafePath, bytes: &[u8], how: Writing) -> Result<(), Error> {
        let (folders, name) = path.split();
        let folder = self.descend(path, &folders, Way::Made)?;
        let there = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(seen) => Some(seen),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(refused("look at", path, errno)),
        };
        let mut mode = None;
        if let Some(seen) = &there {
            ordinary(path, seen)?;
            if how == Writing::New {
                return Err(Error::Exists(shown(path.as_str())));
            }
            if seen.st_mode & 0o222 == 0 {
                return Err(Error::ReadOnly(shown(path.as_str())));
            }
            mode = Some(Mode::from_raw_mode(seen.st_mode & 0o777));
        }
        let temporary = self.stage(&folder, path, bytes, mode)?;
        let moved = match how {
            Writing::New => move_new(&folder, &temporary, name),
            Writing::Replace => rustix::fs::renameat(&folder, &temporary, &folder, name),
        };
        if let Err(errno) = moved {
            // The write has failed already; a temporary file that stays is hidden and harmless.
            let _ = rustix::fs::unlinkat(&folder, &temporary, AtFlags::empty());
            return Err(refused("write", path, errno));
        }
        // The file is written either way; only its name might need the system's next sync.
        let _ = rustix::fs::fsync(&folder);
        Ok(())
    }

    /// Lists a folder (`None`: the sandbox itself), with this many levels of folders below it.
    pub(crate) fn list(&self, folder: Option<&SafePath>, levels: usize) -> Result<Listing, Error> {
        let (start, prefix) = match folder {
            Some(path) => {
                let parts: Vec<&str> = path.as_str().split('/').collect();
                (self.descend(path, &parts, Way::Existing)?, format!("{}/", path.as_str()))
            }
            None => {
                let root = SafePath::parse("workspace").map_err(|_| Error::NotAFolder(".".to_owned()))?;
                (self.descend(&root, &[], Way::Existing)?, String::new())
            }
        };
        let mut listing = Listing::default();
        let mut folders = vec![(start, prefix, levels)];
        while let Some((folder, prefix, levels)) = folders.pop() {
            for (path, shape, inside) in entries(&folder, &prefix, &mut listing) {
                if let (Some(inside), true) = (inside, 0 < levels) {
                    folders.push((inside, format!("{}/", path.as_str()), levels - 1));
                }
                listing.entries.push(Entry { path, shape });
            }
            if listing.cut {
                break;
            }
        }
        listing.entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(listing)
    }

    /// Opens the folders on the way one after the other, each from the one before it.
    fn descend(&self, path: &SafePath, folders: &[&str], way: Way) -> Result<OwnedFd, Error> {
        let mut here = rustix::fs::openat(&self.root, ".", FOLDER, Mode::empty())
            .map_err(|errno| refused("open the folder of", path, errno))?;
        for name in folders {
            if way == Way::Made {
                match rustix::fs::mkdirat(&here, *name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(refused("make the folder of", path, errno)),
                }
            }
            here = rustix::fs::openat(&here, *name, FOLDER, Mode::empty()).map_err(|errno| {
                let link = rustix::fs::statat(&here, *name, AtFlags::SYMLINK_NOFOLLOW)
                    .is_ok_and(|seen| FileType::from_raw_mode(seen.st_mode) == FileType::Symlink);
                match errno {
                    _ if link => Error::Link(shown(path.as_str())),
                    Errno::NOTDIR => Error::NotAFolder(shown(path.as_str())),
                    other => refused("open the folder of", path, other),
                }
            })?;
        }
        Ok(here)
    }

    /// Writes the bytes to a temporary file in the folder and returns its name.
    fn stage(
        &self,
        folder: &OwnedFd,
        path: &SafePath,
        bytes: &[u8],
        mode: Option<Mode>,
    ) -> Result<String, Error> {
        const TRIES: usize = 1000;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 0..TRIES {
            let number = self.temporary.fetch_add(1, Ordering::Relaxed);
            let name = format!(".toolyard-{}-{number}.tmp", std::process::id());
            let file = match rustix::fs::openat(folder, &name, flags, Mode::from_raw_mode(0o666)) {
                Ok(file) => File::from(file),
                // Another sandbox of this program, or one that was killed, has it.
                Err(Errno::EXIST) => continue,
                Err(errno) => return Err(refused("write", path, errno)),
            };
            if let Err(source) = fill(file, bytes, mode) {
                // The write has failed already; a temporary file that stays is hidden and harmless.
                let _ = rustix::fs::unlinkat(folder, &name, AtFlags::empty());
                return Err(system("write", path, source));
            }
            return Ok(name);
        }
        Err(refused("write", path, Errno::EXIST))
    }
}

/// Whether folders that are missing on the way are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Existing,
    Made,
}

fn fill(mut file: File, bytes: &[u8], mode: Option<Mode>) -> io::Result<()> {
    file.write_all(bytes)?;
    if let Some(mode) = mode {
        rustix::fs::fchmod(&file, mode)?;
    }
    file.sync_all()
}

/// Gives a file its name unless something has that name.
fn move_new(folder: &OwnedFd, from: &str, to: &str) -> rustix::io::Result<()> {
    match rustix::fs::renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
        // Some file systems cannot; for a moment the file has two names then.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            rustix::fs::linkat(folder, from, folder, to, AtFlags::empty())?;
            rustix::fs::unlinkat(folder, from, AtFlags::empty())
        }
        other => other,
    }
}

/// Returns what lies in one folder; folders come opened.
fn entries(folder: &OwnedFd, prefix: &str, listing: &mut Listing) -> Vec<(SafePath, Shape, Option<OwnedFd>)> {
    let mut found = Vec::new();
    let Ok(inside) = Dir::read_from(folder) else {
        listing.skipped += 1;
        return found;
    };
    for entry in inside.flatten() {
        let name = entry.file_name().to_bytes();
        // The folder itself, the one above it, and what is hidden.
        if name.starts_with(b".") {
            continue;
        }
        if MOST_ENTRIES <= listing.entries.len() + found.len() + listing.skipped {
            listing.cut = true;
            break;
        }
        let seen = std::str::from_utf8(name).ok().and_then(|name| {
            let path = SafePath::parse(&format!("{prefix}{name}")).ok()?;
            let seen = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            match FileType::from_raw_mode(seen.st_mode) {
                FileType::RegularFile if seen.st_nlink <= 1 => Some((path, Shape::File(size(&seen)), None)),
                FileType::Directory => {
                    let inside = rustix::fs::openat(folder, name, FOLDER, Mode::empty()).ok()?;
                    Some((path, Shape::Folder, Some(inside)))
                }
                FileType::RegularFile
                | FileType::Symlink
                | FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice
                | FileType::Unknown => None,
            }
        });
        match seen {
            Some(seen) => found.push(seen),
            None => listing.skipped += 1,
        }
    }
    found
}

/// Refuses everything but a file that has one name only.
fn ordinary(path: &SafePath, seen: &Stat) -> Result<(), Error> {
    let path = || shown(path.as_str());
    match FileType::from_raw_mode(seen.st_mode) {
        FileType::RegularFile if seen.st_nlink <= 1 => Ok(()),
        FileType::RegularFile => Err(Error::HardLink(path())),
        FileType::Symlink => Err(Error::Link(path())),
        FileType::Directory
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Err(Error::NotAFile(path())),
    }
}

fn size(seen: &Stat) -> u64 {
    u64::try_from(seen.st_size).unwrap_or(u64::MAX)
}

fn refused(doing: &'static str, path: &SafePath, errno: Errno) -> Error {
    match errno {
        Errno::NOENT => Error::Missing(shown(path.as_str())),
        Errno::LOOP => Error::Link(shown(path.as_str())),
        Errno::NOTDIR => Error::NotAFolder(shown(path.as_str())),
        Errno::EXIST => Error::Exists(shown(path.as_str())),
        // A socket or a device without a driver.
        Errno::NXIO | Errno::NODEV => Error::NotAFile(shown(path.as_str())),
        other => system(doing, path, other.into()),
    }
}

fn system(doing: &'static str, path: &SafePath, source: io::Error) -> Error {
    Error::System { doing, path: shown(path.as_str()), source }
}
