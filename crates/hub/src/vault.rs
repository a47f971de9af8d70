//! Keeps tokens and client registrations on disk, encrypted.
//!
//! One file in the store folder holds every entry, sealed with XChaCha20-Poly1305 and replaced as a whole
//! by a rename, so a reader sees the old or the new state and never half of one. Writers of several
//! processes take turns through a lock file. The key lies in the keyring of the operating system when that
//! has a command line (`secret-tool`, `security`), otherwise in a file beside the vault that only the owner
//! may read.
//!
//! With the key in the keyring, a copy of the store folder (a backup, a synchronised folder, a lost disk)
//! gives nothing away, and neither does a locked session. With the key in a file, only a copy of the vault
//! without its key is worthless; the file modes keep other users out. Neither protects against a program
//! that runs as the same user, nor against somebody who reads this process's memory.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tracing::debug;

use crate::private;

pub use keyring::Keyring;

mod keyring;

const MAGIC: &[u8; 4] = b"TYV1";
const HEADER: usize = 4 + 1 + 8;
const NONCE: usize = 24;
/// A vault holds a few kilobytes per server; anything near this size is not one.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// One line is a key.
const MOST_KEY_BYTES: u64 = 4096;

/// What can go wrong with the vault. No variant carries a value that was stored.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The disk said no.
    #[error("cannot use `{}`: {reason}", path.display())]
    Disk {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The file was not what this program writes; it was moved out of the way.
    #[error("the stored logins were damaged and are kept as `{}`; log in again", aside.display())]
    Damaged {
        /// Where the damaged file is now.
        aside: PathBuf,
    },
    /// The file is there and its key is not.
    #[error("the key of `{}` is missing; bring it back, or remove that file and log in again", path.display())]
    KeyMissing {
        /// The vault.
        path: PathBuf,
    },
    /// The key is in the keyring, which does not answer.
    #[error("the keyring that holds the key of the stored logins does not answer: {reason}")]
    Keyring {
        /// What its command line said.
        reason: String,
    },
    /// Others may know the key, or it cannot be read.
    #[error(
        "{why}; make it yours alone (`chmod 600`) if nobody else can have read or changed it, or delete it and `{}` and \
         log in again", vault.display()
    )]
    Exposed {
        /// What is wrong with it.
        why: String,
        /// What it opens.
        vault: PathBuf,
    },
    /// The operating system has no random numbers.
    #[error("the system gives no random numbers")]
    Random,
}

/// A text that is never shown by `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Takes a text out of sight.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Shows the text, for the one place that sends it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// Tells two states of the vault's file apart without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(SystemTime, u64, u64);

/// Holds the right to do something that only one process may do at a time; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Exclusive(#[expect(dead_code, reason = "the lock lasts as long as the file is open")] File);

/// The stored entries of one folder. Cloning is cheap; every method blocks on the disk.
#[derive(Clone)]
pub struct Vault(Arc<Inner>);

struct Inner {
    folder: PathBuf,
    keyring: Option<Keyring>,
    key: Mutex<Option<Key>>,
}

type Entries = BTreeMap<String, Value>;

/// Where a key lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Keyring,
    File,
}

#[derive(Clone)]
struct Key {
    place: Place,
    /// Names the key, in the header of the vault and where the key lies; says nothing about it.
    id: [u8; 8],
    bytes: [u8; 32],
}

impl Vault {
    /// Uses the vault of a folder, which need not exist yet. The keyring matters only when the first entry
    /// is written and for a vault whose key is there.
    pub fn open(folder: &Path, keyring: Option<Keyring>) -> Self {
        Self(Arc::new(Inner { folder: folder.to_owned(), keyring, key: Mutex::new(None) }))
    }

    /// Reads one entry. An entry of another shape than `T` counts as absent.
    pub(crate) fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Error> {
        let entries = match self.0.read() {
            Ok(found) => found.map(|(_, entries)| entries).unwrap_or_default(),
            Err(Fault::Damaged) => {
                let _turn = self.0.turn()?;
                self.0.read_or_set_aside()?.map(|(_, entries)| entries).unwrap_or_default()
            }
            Err(Fault::Known(err)) => return Err(err),
        };
        let Some(value) = entries.get(name) else { return Ok(None) };
        // The text of a serde error can quote the value, so it is not logged.
        Ok(serde_json::from_value(value.clone())
            .inspect_err(|_| debug!(name, "stored entry has an old shape"))
            .ok())
    }

    /// Writes one entry.
    pub(crate) fn put<T: Serialize>(&self, name: &str, value: &T) -> Result<(), Error> {
        let value =
            serde_json::to_value(value).expect("stored types have text keys and no failing serializer");
        self.0.change(|entries| entries.insert(name.to_owned(), value))
    }

    /// Removes one entry, if it is there.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Error> {
        if self.stamp().is_none() {
            return Ok(());
        }
        self.0.change(|entries| entries.remove(name))
    }

    /// Tells whether the vault was written since an earlier stamp; `None` when there is no vault.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        let about = fs::metadata(self.0.file()).ok()?;
        Some(Stamp(about.modified().ok()?, about.len(), inode(&about)))
    }

    /// Waits until no other holder, in this process or another, has the same name.
    pub(crate) fn exclusive(&self, name: &str) -> Result<Exclusive, Error> {
        let digest = Sha256::digest(name.as_bytes());
        self.0.lock(&format!("vault-{}.lock", URL_SAFE_NO_PAD.encode(&digest[..9])))
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vault").field("folder", &self.0.folder).finish_non_exhaustive()
    }
}

/// What reading meets: damage is dealt with by whoever holds the lock.
enum Fault {
    Damaged,
    Known(Error),
}

impl From<Error> for Fault {
    fn from(err: Error) -> Self {
        Self::Known(err)
    }
}

impl Inner {
    fn file(&self) -> PathBuf {
        self.folder.join("vault.bin")
    }

    fn key_file(&self) -> PathBuf {
        self.folder.join("vault.key")
    }

    fn turn(&self) -> Result<Exclusive, Error> {
        self.lock("vault.lock")
    }

    fn lock(&self, name: &str) -> Result<Exclusive, Error> {
        private::folder(&self.folder).map_err(|err| disk(&self.folder, &err))?;
        let path = self.folder.join(name);
        let file = private::lockable(&path).map_err(|err| disk(&path, &err))?;
        file.lock().map_err(|err| disk(&path, &err))?;
        Ok(Exclusive(file))
    }

    fn change<R>(&self, edit: impl FnOnce(&mut Entries) -> R) -> Result<(), Error> {
        let _turn = self.turn()?;
        let (key, mut entries) = match self.read_or_set_aside()? {
            Some(found) => found,
            None => (self.new_key()?, Entries::new()),
        };
        edit(&mut entries);
        let sealed = seal(&key, &entries)?;
        let path = self.file();
        replace(&path, &sealed).map_err(|err| disk(&path, &err))
    }

    /// Moves a damaged vault out of the way, so that the next attempt starts anew. Needs the turn.
    fn read_or_set_aside(&self) -> Result<Option<(Key, Entries)>, Error> {
        match self.read() {
            Ok(found) => Ok(found),
            Err(Fault::Known(err)) => Err(err),
            Err(Fault::Damaged) => {
                let path = self.file();
                let aside = self.aside("vault.damaged");
                fs::rename(&path, &aside).map_err(|err| disk(&path, &err))?;
                Err(Error::Damaged { aside })
            }
        }
    }

    fn read(&self) -> Result<Option<(Key, Entries)>, Fault> {
        let path = self.file();
        let mut bytes = Vec::new();
        match private::reading(&path) {
            Ok(file) => {
                file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|err| disk(&path, &err))?;
            }
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(err) => return Err(disk(&path, &err).into()),
        }
        let (place, id) = header(&bytes).ok_or(Fault::Damaged)?;
        let key = self.key(place, id)?;
        let entries = unseal(&key, &bytes).ok_or(Fault::Damaged)?;
        Ok(Some((key, entries)))
    }

    fn key(&self, place: Place, id: [u8; 8]) -> Result<Key, Error> {
        let mut known = self.key.lock();
        if let Some(key) = known.as_ref()
            && (key.place, key.id) == (place, id)
        {
            return Ok(key.clone());
        }
        let text = match (place, &self.keyring) {
            (Place::File, _) => self.read_key_file()?.filter(|key| key.id == id).map(|key| key.bytes),
            (Place::Keyring, None) => {
                return Err(Error::Keyring { reason: "its command line was not found".to_owned() });
            }
            (Place::Keyring, Some(keyring)) => {
                let text = keyring.find(&account(id)).map_err(|reason| Error::Keyring { reason })?;
                text.and_then(|text| decode_key(&text))
            }
        };
        let bytes = text.ok_or_else(|| Error::KeyMissing { path: self.file() })?;
        let key = Key { place, id, bytes };
        *known = Some(key.clone());
        Ok(key)
    }

    /// Makes the key of a new vault and puts it where it will be looked for. Needs the turn.
    fn new_key(&self) -> Result<Key, Error> {
        let mut key = Key { place: Place::Keyring, id: random()?, bytes: random()? };
        let kept = self.keyring.as_ref().is_some_and(|keyring| {
            let text = STANDARD.encode(key.bytes);
            // A keyring may take a value and lose it (a session collection); only what comes back counts.
            let kept = keyring
                .keep(&account(key.id), &text)
                .and_then(|()| Ok(keyring.find(&account(key.id))?.is_some_and(|found| found == text)));
            kept.inspect_err(|reason| debug!(%reason, "keyring not usable; the key goes to a file"))
                .unwrap_or(false)
        });
        if !kept {
            key.place = Place::File;
            match self.read_key_file()? {
                // The key may outlive its vault, and another vault may still need it.
                Some(found) => key = found,
                None => {
                    let line = format!("{} {}\n", URL_SAFE_NO_PAD.encode(key.id), STANDARD.encode(key.bytes));
                    let path = self.key_file();
                    if path.exists() {
                        // It is no key, but perhaps somebody can make one of it.
                        let aside = self.aside("vault.key.damaged");
                        fs::rename(&path, &aside).map_err(|err| disk(&path, &err))?;
                    }
                    replace(&path, line.as_bytes()).map_err(|err| disk(&path, &err))?;
                }
            }
        }
        *self.key.lock() = Some(key.clone());
        Ok(key)
    }

    fn read_key_file(&self) -> Result<Option<Key>, Error> {
        let exposed = |err: private::Error| Error::Exposed { why: err.to_string(), vault: self.file() };
        let read = private::key(&self.key_file(), MOST_KEY_BYTES).map_err(exposed)?;
        Ok(read.and_then(|bytes| parse_key(std::str::from_utf8(&bytes).ok()?)))
    }

    fn aside(&self, name: &str) -> PathBuf {
        let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        (0..)
            .map(|n| self.folder.join(format!("{name}-{seconds}-{n}")))
            .find(|aside| !aside.exists())
            .expect("a free number exists")
    }
}

fn parse_key(text: &str) -> Option<Key> {
    let (id, bytes) = text.trim().split_once(' ')?;
    let id = URL_SAFE_NO_PAD.decode(id).ok()?.try_into().ok()?;
    Some(Key { place: Place::File, id, bytes: decode_key(bytes)? })
}

fn account(id: [u8; 8]) -> String {
    format!("vault-{}", URL_SAFE_NO_PAD.encode(id))
}

fn decode_key(text: &str) -> Option<[u8; 32]> {
    STANDARD.decode(text.trim()).ok()?.try_into().ok()
}

fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| Error::Random)?;
    Ok(bytes)
}

fn header(bytes: &[u8]) -> Option<(Place, [u8; 8])> {
    let head = bytes.get(..HEADER)?;
    if &head[..4] != MAGIC || bytes.len() as u64 > MOST_BYTES {
        return None;
    }
    let place = match head[4] {
        b'k' => Place::Keyring,
        b'f' => Place::File,
        _ => return None,
    };
    Some((place, head[5..].try_into().expect("the header ends with eight bytes")))
}

fn seal(key: &Key, entries: &Entries) -> Result<Vec<u8>, Error> {
    let mut out = MAGIC.to_vec();
    out.push(match key.place {
        Place::Keyring => b'k',
        Place::File => b'f',
    });
    out.extend(key.id);
    let nonce: [u8; NONCE] = random()?;
    let plain = serde_json::to_vec(entries).expect("a map of JSON values is JSON");
    let sealed = XChaCha20Poly1305::new(&key.bytes.into())
        .encrypt(&XNonce::from(nonce), Payload { msg: &plain, aad: &out })
        .expect("a vault is far smaller than the cipher's limit");
    out.extend(nonce);
    out.extend(sealed);
    Ok(out)
}

fn unseal(key: &Key, bytes: &[u8]) -> Option<Entries> {
    let nonce: [u8; NONCE] = bytes.get(HEADER..HEADER + NONCE)?.try_into().ok()?;
    let payload = Payload { msg: &bytes[HEADER + NONCE..], aad: &bytes[..HEADER] };
    let plain = XChaCha20Poly1305::new(&key.bytes.into()).decrypt(&XNonce::from(nonce), payload).ok()?;
    serde_json::from_slice(&plain).ok()
}

fn disk(path: &Path, err: &io::Error) -> Error {
    Error::Disk { path: path.to_owned(), reason: err.to_string() }
}

/// Writes beside the file and renames, so that nobody sees half of it.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let suffix: [u8; 6] = random().map_err(io::Error::other)?;
    let beside = path.with_extension(format!("{}.tmp", URL_SAFE_NO_PAD.encode(suffix)));
    let written = (|| {
        let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    })();
    written.inspect_err(|_| _ = fs::remove_file(&beside))
}

#[cfg(unix)]
fn inode(about: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(about)
}

#[cfg(not(unix))]
fn inode(_about: &fs::Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests;
