//! The random values of one login: the code verifier with its challenge, and the state.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::Error;
use crate::vault::Secret;

/// What binds the answer of the browser to the login that asked.
#[derive(Debug)]
pub(super) struct Attempt {
    pub verifier: Secret,
    pub challenge: String,
    pub state: Secret,
}

impl Attempt {
    pub(super) fn new() -> Result<Self, Error> {
        let verifier = random_text()?;
        let challenge = challenge(&verifier);
        Ok(Self { verifier: Secret::new(verifier), challenge, state: Secret::new(random_text()?) })
    }
}

fn random_text() -> Result<String, Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| Error::Random)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{Attempt, challenge};

    #[test]
    fn agrees_with_appendix_b_of_rfc_7636() {
        assert_eq!(
            challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    #[test]
    fn no_two_logins_share_a_value_and_none_is_shown() {
        let (one, two) = (Attempt::new().unwrap(), Attempt::new().unwrap());
        assert_ne!(one.verifier, two.verifier);
        assert_ne!(one.state, two.state);
        assert_ne!(one.verifier, one.state);
        assert_eq!(one.verifier.expose().len(), 43);
        assert!(!format!("{one:?}").contains(one.verifier.expose()));
    }
}
