//! The clients that a person registered, in a file that only the owner may read.
//!
//! Tokens are not in it, only their SHA-256: a token has 256 random bits, so nobody finds it by trying, and a slow hash
//! would add nothing. The file is replaced as a whole by a rename, and who changes it holds a lock, so several processes
//! can do so. One that cannot be understood is an error and never an empty list.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Permissions;
use crate::seal::fresh_token;

const FILE: &str = "clients.json";
const LOCK: &str = "clients.lock";
/// What tokens begin with, so that people and scanners of secrets know them.
const PREFIX: &str = "toolyard_";
const VERSION: u32 = 1;
const NAME_CHARS: usize = 64;
/// A file of clients is far smaller than this.
const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// Names that stand for somebody else.
const RESERVED: [&str; 2] = ["local", "owner"];

/// Why clients cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk said no.
    #[error("`{}` cannot be used: {source}", path.display())]
    Disk {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not what this program writes.
    #[error(
        "the file of clients `{}` is damaged: {why}; bring back a copy, or remove it and add the clients again",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// There is such a client already.
    #[error("there is a client `{0}` already; revoke it first to give it another token or scope")]
    Taken(String),
    /// There is no such client.
    #[error("there is no client `{0}`")]
    Missing(String),
    /// The name cannot be used.
    #[error("`{name}` cannot be the name of a client: {why}")]
    Name {
        /// What was given.
        name: String,
        /// Why not.
        why: &'static str,
    },
}

/// One client as it is registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Registration {
    /// Its name.
    pub name: String,
    /// The SHA-256 of its token, in hexadecimal digits.
    pub sha256: String,
    /// When it was registered.
    pub created: Timestamp,
    /// When its token ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// What it may do.
    #[serde(rename = "scope")]
    pub permissions: Permissions,
    /// Calls per minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
    /// Calls at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<usize>,
}

impl Registration {
    /// Registers a client that may do everything but administer the hub; its token is made when it is added.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            sha256: String::new(),
            created: Timestamp::now(),
            expires: None,
            permissions: Permissions { admin: false, ..Permissions::EVERYTHING },
            rate: None,
            concurrency: None,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Book {
    version: u32,
    clients: Vec<Registration>,
}

/// Tells two states of the file apart; `None` where there is none.
pub(super) type Stamp = Option<(u64, u64, i64, i64)>;

/// The file of clients of one store.
#[derive(Clone, Debug)]
pub struct ClientRegistry {
    folder: PathBuf,
}

impl ClientRegistry {
    /// Uses the file in a store's folder, which need not exist yet.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Returns where the clients are.
    pub fn path(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    /// Returns the clients, by name; `None` where none was ever registered.
    pub fn read(&self) -> Result<Option<Vec<Registration>>, Error> {
        let path = self.path();
        let mut text = String::new();
        let damaged = |why: String| Error::Damaged { path: self.path(), why };
        let disk = |source| Error::Disk { path: path.clone(), source };
        let about = match fs::metadata(&path) {
            Ok(about) => about,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(disk(source)),
        };
        // Opening a pipe would wait for somebody who writes into it.
        if !about.is_file() {
            return Err(damaged("it is no regular file".to_owned()));
        }
        if about.mode() & 0o022 != 0 || ![0, rustix::process::geteuid().as_raw()].contains(&about.uid()) {
            return Err(damaged(
                "somebody else may have written it; `chmod 600` it if you know what it says".to_owned(),
            ));
        }
        let read = File::open(&path).and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text));
        read.map_err(disk)?;
        if text.len() as u64 > MOST_BYTES {
            return Err(damaged(format!("it has more than {MOST_BYTES} bytes")));
        }
        let book: Book = serde_json::from_str(&text).map_err(|err| damaged(err.to_string()))?;
        if book.version != VERSION {
            return Err(damaged(format!(
                "it has version {}, and this program knows {VERSION}",
                book.version
            )));
        }
        let is_hash =
            |it: &Registration| it.sha256.len() == 64 && it.sha256.bytes().all(|b| b.is_ascii_hexdigit());
        if let Some(wrong) = book.clients.iter().find(|it| !is_hash(it) || check_name(&it.name).is_err()) {
            return Err(damaged(format!("the entry of `{}` makes no sense", wrong.name)));
        }
        let names = |at: usize| book.clients[..at].iter().any(|it| it.name == book.clients[at].name);
        if let Some(twice) = (0..book.clients.len()).find(|at| names(*at)) {
            return Err(damaged(format!("`{}` is in it twice", book.clients[twice].name)));
        }
        Ok(Some(book.clients))
    }

    /// Registers a client and returns its token, which is kept nowhere.
    pub fn add(&self, client: Registration) -> Result<String, Error> {
        check_name(&client.name)?;
        let token = format!("{PREFIX}{}", fresh_token());
        self.change(|clients| {
            if clients.iter().any(|it| it.name == client.name) {
                return Err(Error::Taken(client.name.clone()));
            }
            clients.push(Registration { sha256: hash(&token), ..client });
            clients.sort_by(|a, b| a.name.cmp(&b.name));
            Ok(())
        })?;
        Ok(token)
    }

    /// Takes a client's token back; returns how many clients are left.
    pub fn revoke(&self, name: &str) -> Result<usize, Error> {
        if self.read()?.is_none() {
            return Err(Error::Missing(name.to_owned()));
        }
        self.change(|clients| {
            let before = clients.len();
            clients.retain(|it| it.name != name);
            if clients.len() == before { Err(Error::Missing(name.to_owned())) } else { Ok(clients.len()) }
        })
    }

    /// Tells whether the file was written since an earlier stamp.
    pub(super) fn stamp(&self) -> Stamp {
        let about = fs::metadata(self.path()).ok()?;
        Some((about.ino(), about.len(), about.mtime(), about.mtime_nsec()))
    }

    fn change<T>(&self, edit: impl FnOnce(&mut Vec<Registration>) -> Result<T, Error>) -> Result<T, Error> {
        let disk = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::Disk { path, source }
        };
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.map_err(disk(&self.folder))?;
        let lock = self.folder.join(LOCK);
        let turn = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&lock);
        let turn = turn.and_then(|turn| turn.lock().map(|()| turn)).map_err(disk(&lock))?;
        let mut clients = self.read()?.unwrap_or_default();
        let done = edit(&mut clients)?;
        let text =
            serde_json::to_string_pretty(&Book { version: VERSION, clients }).expect("own types serialise");
        let path = self.path();
        replace(&path, &format!("{text}\n")).map_err(disk(&path))?;
        drop(turn);
        Ok(done)
    }
}

/// Says what is wrong with a name. Names are short and plain, because they are written into logs and paths.
pub fn check_name(name: &str) -> Result<(), Error> {
    let wrong = |why| Err(Error::Name { name: name.chars().take(NAME_CHARS).collect(), why });
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if name.is_empty() || name.len() > NAME_CHARS {
        return wrong("it needs 1 to 64 characters");
    }
    if !name.bytes().all(is_plain) || !name.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        return wrong("it has letters, digits, `.`, `_` and `-`, and begins with a letter or digit");
    }
    if RESERVED.contains(&name) {
        return wrong("it stands for the person whose hub it is");
    }
    Ok(())
}

/// Returns what is kept of a token.
pub(super) fn hash(token: &str) -> String {
    Sha256::digest(token.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes beside the file and renames, so that nobody sees half of it.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut suffix = [0; 6];
    getrandom::fill(&mut suffix).map_err(io::Error::other)?;
    let beside = path.with_extension(format!("{}.tmp", URL_SAFE_NO_PAD.encode(suffix)));
    let written = (|| {
        let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        // The rename itself is on the disk when its folder is.
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    })();
    written.inspect_err(|_| _ = fs::remove_file(&beside))
}
