//! What clients of other machines need: TLS, and an issuer of tokens whom the hub believes.

use std::path::PathBuf;

use url::{Host, Url};

use super::raw::RawTokenIssuer;

/// The certificate of the HTTP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The file with the certificate and those that vouch for it, as PEM.
    pub cert: PathBuf,
    /// The file with its private key, as PEM.
    pub key: PathBuf,
}

/// Who issues tokens for the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenIssuer {
    /// The issuer, as its tokens name it.
    pub issuer: String,
    /// The address of the hub, as tokens that are meant for it name it.
    pub audience: Url,
    /// Scopes that every token must have, besides those that say what it permits.
    pub scopes: Vec<String>,
    /// Where the keys of the issuer are; found by its metadata otherwise.
    pub jwks: Option<Url>,
}

impl RawTokenIssuer {
    /// Says what is meant, or which key is wrong and why.
    pub(super) fn resolve(self) -> Result<TokenIssuer, (&'static str, &'static str)> {
        const SAFE: &str = "write an https address; http is for this machine alone";
        if trusted(&self.issuer).is_none() {
            return Err(("issuer", SAFE));
        }
        let audience = Url::parse(&self.audience).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let audience = audience.filter(|url| url.fragment().is_none() && url.query().is_none());
        let audience =
            audience.ok_or(("audience", "write the address of the hub, like https://hub.example/mcp"))?;
        let jwks = match self.jwks.as_deref() {
            Some(written) => Some(trusted(written).ok_or(("jwks", SAFE))?),
            None => None,
        };
        let is_scope =
            |text: &String| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic() && b != b'"');
        let scopes = self.scopes.unwrap_or_default();
        if !scopes.iter().all(is_scope) {
            return Err(("scopes", "a scope has no spaces and no quotation marks"));
        }
        Ok(TokenIssuer { issuer: self.issuer, audience, scopes, jwks })
    }
}

/// Reads an address that nobody between can answer for: an https one, or one of this machine.
pub(crate) fn trusted(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_here = match url.host()? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    (url.scheme() == "https" || (url.scheme() == "http" && is_here)).then_some(url)
}
