//! Signatures of tokens, checked by the cryptography that TLS uses as well.
//!
//! Nothing is signed here, and no shared secret is ever a key.

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature::{Error as Unsigned, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use ring::signature::{self as ring_signature, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes this the way in which tokens are checked.
pub(super) fn install() {
    // An error means that it was done already.
    let _ = PROVIDER.install_default();
}

/// How signatures of one algorithm are checked.
enum Method {
    Rsa(&'static RsaParameters),
    Raw(&'static dyn ring_signature::VerificationAlgorithm),
}

struct Checking {
    algorithm: Algorithm,
    method: &'static Method,
    key: DecodingKey,
}

static METHODS: [(Algorithm, Method); 9] = [
    (Algorithm::RS256, Method::Rsa(&ring_signature::RSA_PKCS1_2048_8192_SHA256)),
    (Algorithm::RS384, Method::Rsa(&ring_signature::RSA_PKCS1_2048_8192_SHA384)),
    (Algorithm::RS512, Method::Rsa(&ring_signature::RSA_PKCS1_2048_8192_SHA512)),
    (Algorithm::PS256, Method::Rsa(&ring_signature::RSA_PSS_2048_8192_SHA256)),
    (Algorithm::PS384, Method::Rsa(&ring_signature::RSA_PSS_2048_8192_SHA384)),
    (Algorithm::PS512, Method::Rsa(&ring_signature::RSA_PSS_2048_8192_SHA512)),
    (Algorithm::ES256, Method::Raw(&ring_signature::ECDSA_P256_SHA256_FIXED)),
    (Algorithm::ES384, Method::Raw(&ring_signature::ECDSA_P384_SHA384_FIXED)),
    (Algorithm::EdDSA, Method::Raw(&ring_signature::ED25519)),
];

/// Whether signatures of an algorithm are checked here: it has a public half, so that whoever checks cannot sign.
pub(super) fn is_checked(algorithm: Algorithm) -> bool {
    METHODS.iter().any(|(known, _)| *known == algorithm)
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    let found = METHODS.iter().find(|(known, _)| known == algorithm);
    let (algorithm, method) = found.ok_or(ErrorKind::InvalidAlgorithm)?;
    if !key.family().algorithms().contains(algorithm) {
        return Err(ErrorKind::InvalidAlgorithm.into());
    }
    Ok(Box::new(Checking { algorithm: *algorithm, method, key: key.clone() }))
}

impl Verifier<Vec<u8>> for Checking {
    fn verify(&self, message: &[u8], signed: &Vec<u8>) -> Result<(), Unsigned> {
        let checked = match (self.method, self.key.kind()) {
            (Method::Rsa(how), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(how, message, signed)
            }
            (Method::Raw(how), DecodingKeyKind::SecretOrDer(key)) => {
                UnparsedPublicKey::new(*how, key).verify(message, signed)
            }
            (Method::Rsa(_) | Method::Raw(_), _) => return Err(Unsigned::new()),
        };
        checked.map_err(|_| Unsigned::new())
    }
}

impl JwtVerifier for Checking {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
