//! State that travels through a client, closed to it.
//!
//! What is sealed names its purpose and its end, so that it serves for nothing else and
//! not for long. The key stays in the store's folder, so seals outlive the process.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::clock::ForwardClock;
use crate::private;

/// The file of the key.
const NAME: &str = "seal.key";
const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;

/// Seals and opens.
pub struct Seal {
    cipher: XChaCha20Poly1305,
    /// What marks are made with; another key than that of the cipher.
    marking: String,
    clock: ForwardClock,
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

#[derive(Serialize, Deserialize)]
struct Sealed<T> {
    until: u64,
    value: T,
}

impl Seal {
    /// Takes the key from the folder, or makes one. A damaged one is put aside; one that others may know, and a folder
    /// that cannot be written, leave a key that lasts for this process.
    pub fn open(folder: &Path) -> Self {
        let key = kept(folder).unwrap_or_else(|err| {
            tracing::warn!(
                "{err}; sessions, questions and confirmations of clients will not outlive this process{}",
                err.fix().map(|fix| format!(" ({fix})")).unwrap_or_default()
            );
            fresh_key()
        });
        let marking = URL_SAFE_NO_PAD.encode(Sha256::new_with_prefix(b"mark").chain_update(key).finalize());
        let clock = ForwardClock::open(folder);
        Self { cipher: XChaCha20Poly1305::new(&Key::from(key)), marking, clock }
    }

    /// Closes a value for one purpose and a limited time.
    pub fn close(&self, purpose: &str, value: &impl Serialize, lifetime: Duration) -> String {
        let until = self.clock.seconds(SystemTime::now()) + lifetime.as_secs();
        let text = serde_json::to_vec(&Sealed { until, value }).expect("own types serialise");
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).expect("the system has randomness");
        let payload = Payload { msg: &text, aad: purpose.as_bytes() };
        let closed =
            self.cipher.encrypt(&XNonce::from(nonce), payload).expect("encrypting in memory cannot fail");
        URL_SAFE_NO_PAD.encode([nonce.as_slice(), &closed].concat())
    }

    /// Returns a mark that tells texts apart. Without the key nobody can try out which text it stands for.
    pub fn mark(&self, parts: &[&str]) -> String {
        digest(&[&[self.marking.as_str()], parts].concat())
    }

    /// Opens what was closed for the same purpose; `None` when it was not, or its time is over.
    pub fn reopen<T: DeserializeOwned>(&self, purpose: &str, text: &str) -> Option<T> {
        self.reopen_at(purpose, text, SystemTime::now())
    }

    fn reopen_at<T: DeserializeOwned>(&self, purpose: &str, text: &str, now: SystemTime) -> Option<T> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce, closed) = bytes.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload { msg: closed, aad: purpose.as_bytes() };
        let opened = self.cipher.decrypt(&XNonce::from(*nonce), payload).ok()?;
        let sealed: Sealed<T> = serde_json::from_slice(&opened).ok()?;
        (self.clock.seconds(now) <= sealed.until).then_some(sealed.value)
    }
}

/// Why the key of a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read, or others may know it.
    #[error(transparent)]
    Key(#[from] private::Error),
    /// It is no key.
    #[error("the key `{}` is damaged: it has {bytes} bytes, not {KEY_BYTES}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How long it is.
        bytes: usize,
    },
    /// None can be made.
    #[error("no key can be kept in `{}`: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// Says what helps, where something does.
    pub fn fix(&self) -> Option<String> {
        match self {
            Self::Key(err) => Some(err.fix()),
            Self::Damaged { .. } => Some(
                "the next hub puts it aside and makes a new one; sessions, questions and confirmations that are open \
                 then end, and names in the audit log get other marks"
                    .to_owned(),
            ),
            Self::Folder { .. } => None,
        }
    }
}

/// Says what is wrong with the key of a folder, where there is one. Changes nothing.
pub fn check(folder: &Path) -> Result<(), Error> {
    read(folder).map(drop)
}

fn read(folder: &Path) -> Result<Option<[u8; KEY_BYTES]>, Error> {
    let path = folder.join(NAME);
    let Some(bytes) = private::key(&path, 2 * KEY_BYTES as u64)? else { return Ok(None) };
    let length = bytes.len();
    bytes.try_into().map(Some).map_err(|_| Error::Damaged { path, bytes: length })
}

fn kept(folder: &Path) -> Result<[u8; KEY_BYTES], Error> {
    if let Ok(Some(key)) = read(folder) {
        return Ok(key);
    }
    let failed = |source: io::Error| Error::Folder { folder: folder.to_owned(), source };
    // One hub at a time makes a key, or puts one aside that another may just have made.
    let turn = private::lockable(&folder.join("seal.lock")).map_err(failed)?;
    turn.lock().map_err(failed)?;
    match read(folder) {
        Ok(Some(key)) => return Ok(key),
        Ok(None) => {}
        Err(err @ Error::Damaged { .. }) => {
            let aside = folder.join(format!("{NAME}.damaged-{}", crate::clock::now_ms() / 1000));
            std::fs::rename(folder.join(NAME), &aside).map_err(failed)?;
            tracing::warn!(
                "{err}; it is now `{}` and a new one was made: sessions, questions and confirmations that were open \
                 are over, and names in the audit log get other marks",
                aside.display()
            );
        }
        Err(err) => return Err(err),
    }
    let key = fresh_key();
    // Renamed when it is whole, so that a hub that is killed here leaves no half of a key.
    let beside = folder.join(format!("{NAME}.new"));
    let _ = std::fs::remove_file(&beside);
    let written =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside).and_then(
            |mut file| {
                file.write_all(&key)?;
                file.sync_all()
            },
        );
    written.and_then(|()| std::fs::rename(&beside, folder.join(NAME))).map_err(failed)?;
    Ok(key)
}

fn fresh_key() -> [u8; KEY_BYTES] {
    let mut fresh = [0; KEY_BYTES];
    getrandom::fill(&mut fresh).expect("the system has randomness");
    fresh
}

/// Makes a secret that nobody can guess.
pub fn fresh_token() -> String {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns a digest that tells requests apart.
pub fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    URL_SAFE_NO_PAD.encode(&hash.finalize()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn opens_only_for_its_purpose_and_in_time_and_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let text = Seal::open(folder.path()).close("session", &("a", 1), Duration::from_secs(60));
        let seal = Seal::open(folder.path());
        assert_eq!(seal.reopen::<(String, u8)>("session", &text), Some(("a".to_owned(), 1)));
        assert_eq!(seal.reopen::<(String, u8)>("confirm", &text), None);
        let other = tempfile::tempdir().unwrap();
        assert_eq!(Seal::open(other.path()).reopen::<(String, u8)>("session", &text), None);
    }

    #[test]
    fn t27_a_key_that_others_may_know_is_not_used_and_says_what_helps() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        std::fs::write(&path, [7; KEY_BYTES]).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
        let text = Seal::open(folder.path()).close("x", &1u8, Duration::from_secs(60));
        assert_eq!(Seal::open(folder.path()).reopen::<u8>("x", &text), None, "each process has its own");
        assert_eq!(std::fs::read(&path).unwrap(), [7; KEY_BYTES], "it is left for a person to look at");
        let said = check(folder.path()).unwrap_err();
        assert!(said.fix().unwrap().contains("chmod 600"), "{said}");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let text = Seal::open(folder.path()).close("x", &1u8, Duration::from_secs(60));
        assert_eq!(Seal::open(folder.path()).reopen::<u8>("x", &text), Some(1));
    }

    #[test]
    fn t27_a_damaged_key_is_put_aside_and_a_new_one_lasts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        for damaged in [&b""[..], b"half", &[1; 33], &[1; 4000]] {
            private::append(&path).unwrap().write_all(damaged).unwrap();
            assert!(matches!(check(folder.path()), Err(Error::Damaged { .. })));
            let text = Seal::open(folder.path()).close("x", &1u8, Duration::from_secs(60));
            assert_eq!(Seal::open(folder.path()).reopen::<u8>("x", &text), Some(1));
            let mut names = std::fs::read_dir(folder.path()).unwrap().flatten().map(|it| it.file_name());
            let aside = names.find(|name| name.to_string_lossy().starts_with("seal.key.damaged-"));
            let aside = folder.path().join(aside.unwrap());
            assert_eq!(std::fs::read(&aside).unwrap(), damaged);
            std::fs::remove_file(aside).unwrap();
            std::fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn t27_hubs_that_start_together_on_a_damaged_key_agree_on_one() {
        let folder = tempfile::tempdir().unwrap();
        private::append(&folder.path().join(NAME)).unwrap().write_all(b"half").unwrap();
        let open = || Seal::open(folder.path()).mark(&["x"]);
        let marks: Vec<String> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            all.into_iter().map(|it| it.join().unwrap()).collect()
        });
        assert!(marks.iter().all(|mark| *mark == marks[0]), "{marks:?}");
    }

    #[test]
    fn c3_what_was_sealed_for_a_while_is_worth_nothing_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let seal = Seal::open(folder.path());
        let text = seal.close("confirmation", &7u8, Duration::from_secs(600));
        let after = |seconds| SystemTime::now() + Duration::from_secs(seconds);
        assert_eq!(seal.reopen_at::<u8>("confirmation", &text, after(590)), Some(7));
        assert_eq!(seal.reopen_at::<u8>("confirmation", &text, after(602)), None);
    }

    #[test]
    fn t27_what_is_over_stays_over_when_the_clock_is_set_back() {
        let folder = tempfile::tempdir().unwrap();
        let seal = Seal::open(folder.path());
        let text = seal.close("confirmation", &7u8, Duration::from_secs(600));
        let (now, later) = (SystemTime::now(), SystemTime::now() + Duration::from_secs(700));
        assert_eq!(seal.reopen_at::<u8>("confirmation", &text, now), Some(7));
        assert_eq!(seal.reopen_at::<u8>("confirmation", &text, later), None);
        assert_eq!(seal.reopen_at::<u8>("confirmation", &text, now), None);
        let restarted = Seal::open(folder.path());
        assert_eq!(restarted.reopen_at::<u8>("confirmation", &text, now), None);
        let fresh = restarted.close("confirmation", &8u8, Duration::from_secs(600));
        assert_eq!(
            restarted.reopen_at::<u8>("confirmation", &fresh, now),
            Some(8),
            "what is new has its time"
        );
    }

    proptest! {
        #[test]
        fn nothing_forged_opens(text in ".{0,80}", flip in 0usize..60) {
            let folder = tempfile::tempdir().unwrap();
            let seal = Seal::open(folder.path());
            prop_assert_eq!(seal.reopen::<u8>("x", &text), None);
            let mut good = seal.close("x", &7u8, Duration::from_secs(60)).into_bytes();
            let at = flip % good.len();
            good[at] = if good[at] == b'A' { b'B' } else { b'A' };
            prop_assert_eq!(seal.reopen::<u8>("x", &String::from_utf8(good).unwrap()), None);
        }
    }
}
