//! State that travels through a client, closed to it.
//!
//! What is sealed names its purpose and its end, so that it serves for nothing else and
//! not for long. The key stays in the store's folder, so seals outlive the process.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;

/// Seals and opens.
pub struct Seal {
    cipher: XChaCha20Poly1305,
    /// What marks are made with; another key than that of the cipher.
    marking: String,
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
    /// Takes the key from the folder, or makes one. Without a writable folder the key lasts for this process.
    pub fn open(folder: &Path) -> Self {
        let path = folder.join("seal.key");
        let read = || std::fs::read(&path).ok().and_then(|bytes| <[u8; KEY_BYTES]>::try_from(bytes).ok());
        let key = read().unwrap_or_else(|| {
            let mut fresh = [0; KEY_BYTES];
            getrandom::fill(&mut fresh).expect("the system has randomness");
            let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
            match file.and_then(|mut file| file.write_all(&fresh)) {
                Ok(()) => fresh,
                // Another hub may have been faster.
                Err(_) => read().unwrap_or(fresh),
            }
        });
        let marking = URL_SAFE_NO_PAD.encode(Sha256::new_with_prefix(b"mark").chain_update(key).finalize());
        Self { cipher: XChaCha20Poly1305::new(&Key::from(key)), marking }
    }

    /// Closes a value for one purpose and a limited time.
    pub fn close(&self, purpose: &str, value: &impl Serialize, lifetime: Duration) -> String {
        let until = seconds(SystemTime::now()) + lifetime.as_secs();
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
        (seconds(now) <= sealed.until).then_some(sealed.value)
    }
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

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
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
    fn c3_what_was_sealed_for_a_while_is_worth_nothing_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let seal = Seal::open(folder.path());
        let text = seal.close("confirmation", &7u8, Duration::from_secs(600));
        let after = |seconds| SystemTime::now() + Duration::from_secs(seconds);
        assert_eq!(seal.reopen_at::<u8>("confirmation", &text, after(590)), Some(7));
        assert_eq!(seal.reopen_at::<u8>("confirmation", &text, after(602)), None);
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
