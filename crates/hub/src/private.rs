//! Files and folders that only their owner may use.
//!
//! What the hub keeps holds words, values and keys. Folders are made for their owner alone, and so are files; those
//! that are there with wider modes and belong to us are narrowed. A link is never followed and a pipe never waited
//! for: both may have been put there by somebody else.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Everybody but the owner.
const OTHERS: u32 = 0o077;
/// Set on folders that strangers share, such as `/tmp`.
const STICKY: u32 = 0o1000;

/// Why a key is not taken from a file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Somebody else may know the key, or may have put it there.
    #[error("the key `{}` is not used: {why}", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Who may use it.
        why: &'static str,
    },
    /// It cannot be read.
    #[error("the key `{}` cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// Says what helps.
    pub fn fix(&self) -> String {
        match self {
            Self::Exposed { path, .. } => {
                let path = path.display();
                format!(
                    "delete `{path}`, and a new key is made; or, if nobody else can have read or changed it, make it \
                     yours alone: `chown \"$(id -u)\" '{path}' && chmod 600 '{path}'`. On a file system without modes \
                     that cannot be; name another `store.folder`"
                )
            }
            Self::Unreadable { path, .. } => format!("make `{}` readable for yourself alone", path.display()),
        }
    }
}

/// Makes a folder with everything above it, or narrows one of ours. A folder that strangers share stays as it is.
pub(crate) fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let about = std::fs::metadata(path)?;
    if is_ours(&about) && about.mode() & OTHERS != 0 && about.mode() & STICKY == 0 {
        narrow(path, 0o700);
    }
    Ok(())
}

/// Makes the file of a database before SQLite would, or narrows it, with the journals beside it.
pub(crate) fn database(path: &Path) -> io::Result<()> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Err(err) if err.kind() != io::ErrorKind::AlreadyExists => return Err(err),
        Ok(_) | Err(_) => {}
    }
    narrow_database(path);
    Ok(())
}

/// Narrows the file of a database that may be there. It is never opened: closing it again would drop the locks that
/// connections of this process have on it.
pub(crate) fn narrow_database(path: &Path) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let file = PathBuf::from(name);
        match std::fs::symlink_metadata(&file) {
            Ok(about) if about.is_file() && is_ours(&about) && about.mode() & OTHERS != 0 => {
                narrow(&file, 0o600);
            }
            Ok(_) | Err(_) => {}
        }
    }
}

/// Opens a file to add to, and makes it where there is none.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    let file = open(path, OpenOptions::new().read(true).append(true).create(true))?;
    let about = file.metadata()?;
    if is_ours(&about) && about.mode() & OTHERS != 0 {
        // Where modes cannot be changed, lines are still worth more than none.
        let _ = file.set_permissions(Permissions::from_mode(0o600));
    }
    Ok(file)
}

/// Opens a file to lock, and makes it where there is none.
pub(crate) fn lockable(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().write(true).create(true).truncate(false))
}

/// Opens a file of ours to read.
pub(crate) fn reading(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().read(true))
}

/// Reads a key that nobody else may know or change; `None` where there is no file. No more than `most` bytes are read.
pub(crate) fn key(path: &Path, most: u64) -> Result<Option<Vec<u8>>, Error> {
    let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
    let file = match reading(path) {
        Ok(file) => file,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(err) => return Err(unreadable(err)),
    };
    let about = file.metadata().map_err(unreadable)?;
    let exposed = |why| Err(Error::Exposed { path: path.to_owned(), why });
    if !is_ours(&about) {
        return exposed("it belongs to another user");
    }
    if about.mode() & OTHERS != 0 {
        return exposed("other users may read or change it");
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(Some(bytes))
}

/// Says what a file is that is no regular one; `None` where it is.
pub(crate) fn oddity(about: &Metadata) -> Option<&'static str> {
    let kind = about.file_type();
    if kind.is_file() {
        None
    } else if kind.is_dir() {
        Some("it is a folder")
    } else if kind.is_fifo() {
        Some("it is a pipe, not a file")
    } else if kind.is_char_device() || kind.is_block_device() {
        Some("it is a device, not a file")
    } else {
        Some("it is not a file")
    }
}

/// Opens a file without following a link, waiting for a pipe, or taking anything else for a file.
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = options.mode(0o600).custom_flags(flags).open(path).map_err(|err| {
        let is_link = err.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
        if is_link { io::Error::other("it is a link, which is not followed here") } else { err }
    })?;
    match oddity(&file.metadata()?) {
        Some(oddity) => Err(io::Error::other(oddity)),
        None => Ok(file),
    }
}

/// Some file systems have no modes; what is there works all the same.
fn narrow(path: &Path, mode: u32) {
    if let Err(err) = std::fs::set_permissions(path, Permissions::from_mode(mode)) {
        tracing::warn!("other users may read `{}`, and that cannot be changed: {err}", path.display());
    }
}

fn is_ours(about: &Metadata) -> bool {
    about.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn widened(path: &Path, mode: u32) {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn t27_folders_and_databases_are_made_for_their_owner_and_narrowed_when_they_are_ours() {
        let home = tempfile::tempdir().unwrap();
        let store = home.path().join("a/store");
        folder(&store).unwrap();
        assert_eq!((mode(&store), mode(&home.path().join("a"))), (0o700, 0o700));
        widened(&store, 0o755);
        folder(&store).unwrap();
        assert_eq!(mode(&store), 0o700);
        widened(&store, 0o1777);
        folder(&store).unwrap();
        assert_eq!(mode(&store), 0o1777, "what strangers share is not taken from them");
        let file = store.join("x.db");
        database(&file).unwrap();
        assert_eq!(mode(&file), 0o600);
        std::fs::write(store.join("x.db-wal"), "").unwrap();
        widened(&file, 0o644);
        widened(&store.join("x.db-wal"), 0o664);
        database(&file).unwrap();
        assert_eq!((mode(&file), mode(&store.join("x.db-wal"))), (0o600, 0o600));
    }

    #[test]
    fn t27_links_pipes_and_devices_are_neither_followed_nor_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        std::fs::write(at("victim"), "theirs").unwrap();
        std::os::unix::fs::symlink(at("victim"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("nothing"), at("dangling")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        let said = |name: &str| append(&at(name)).unwrap_err().to_string();
        assert_eq!(said("link"), "it is a link, which is not followed here");
        assert_eq!(said("dangling"), "it is a link, which is not followed here");
        assert_eq!(said("pipe"), "it is a pipe, not a file");
        assert!(reading(&at("link")).is_err() && lockable(&at("link")).is_err() && !at("nothing").exists());
        assert_eq!(reading(Path::new("/dev/zero")).unwrap_err().to_string(), "it is a device, not a file");
        append(&at("log")).unwrap().write_all(b"one").unwrap();
        widened(&at("log"), 0o644);
        append(&at("log")).unwrap().write_all(b"two").unwrap();
        assert_eq!((std::fs::read(at("log")).unwrap(), mode(&at("log"))), (b"onetwo".to_vec(), 0o600));
        assert_eq!(std::fs::read(at("victim")).unwrap(), b"theirs");
    }

    #[test]
    fn t27_a_key_that_others_may_use_is_not_taken() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("some.key");
        assert!(matches!(key(&path, 100), Ok(None)));
        std::fs::write(&path, "secret").unwrap();
        for wide in [0o666, 0o644, 0o640, 0o602, 0o620] {
            widened(&path, wide);
            assert!(matches!(key(&path, 100), Err(Error::Exposed { .. })), "{wide:o}");
        }
        widened(&path, 0o600);
        assert_eq!(key(&path, 100).unwrap().as_deref(), Some(&b"secret"[..]));
        // Only root can give a file away; elsewhere there is nothing to look at.
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(12_345), None).unwrap();
            let said = key(&path, 100).unwrap_err();
            assert!(said.to_string().ends_with("is not used: it belongs to another user"), "{said}");
        }
    }
}
