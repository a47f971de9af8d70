//! Tokens of an OAuth authorization server: whether they are meant for this hub, and what they permit.
//!
//! A token is believed when a key of its issuer has signed it, with an algorithm that has a public half; nothing that it
//! says about itself is looked at before. Keys are fetched when a token names one that is not known, and then not again
//! for a while, so that made-up names cost the issuer nothing. The fetch is nobody's request: whoever hangs up neither
//! ends it nor makes others wait.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use toolyard_core::tool::Effect;
use url::Url;

use super::signature;
use super::{Grant, Holder, Permissions};
use crate::config::{TokenIssuer, trusted};
use crate::web::cause;

/// What a token calls itself that is for a resource. Others are for something else, such as a login.
const TYPES: [&str; 3] = ["at+jwt", "application/at+jwt", "jwt"];
/// Seconds that clocks may differ.
const LEEWAY: u32 = 30;
/// Keys are fetched no more often than this, whatever tokens name.
const PAUSE: Duration = Duration::from_secs(30);
/// Keys are fetched again after this long, because one that was stolen is taken back by leaving it out.
const FRESH: Duration = Duration::from_secs(3600);
/// Time for an answer of the issuer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of an answer of the issuer, of a token, and characters of a name in one.
const MOST_BYTES: usize = 1024 * 1024;
const TOKEN_BYTES: usize = 16 * 1024;
const SUBJECT_CHARS: usize = 255;

/// What the scopes of tokens begin with.
const SCOPES: [(&str, Effect); 3] = [
    ("toolyard:read", Effect::Read),
    ("toolyard:write", Effect::Write),
    ("toolyard:destroy", Effect::Destroy),
];
const PROFILE: &str = "toolyard:profile:";
const ADMIN: &str = "toolyard:admin";

/// Why a token is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// It is no token of this issuer, or is over.
    #[error("{0}")]
    Invalid(&'static str),
    /// It permits nothing here.
    #[error("the token lacks the scope `{0}`")]
    Scope(String),
    /// The issuer does not say which keys it has.
    #[error("the keys of the issuer cannot be had, so no token of it is taken; the log of the hub says why")]
    Unreachable,
}

/// An authorization server whose tokens are taken.
#[derive(Debug)]
pub struct Issuer {
    settings: TokenIssuer,
    keys: Arc<Mutex<Keys>>,
    source: Arc<KeySource>,
    /// The fetch under way; it ends with the issuer.
    fetches: Mutex<JoinSet<()>>,
}

#[derive(Debug, Default)]
struct Keys {
    known: Arc<[Jwk]>,
    /// When they came.
    since: Option<Instant>,
    /// When they were last asked for, whether they came or not.
    asked: Option<Instant>,
    /// Closed when the fetch under way ends.
    fetching: Option<watch::Receiver<()>>,
}

/// Where the keys of an issuer come from.
#[derive(Debug)]
struct KeySource {
    issuer: String,
    jwks: Option<Url>,
    http: reqwest::Client,
}

/// What a token says.
#[derive(Debug, Deserialize)]
struct Claims {
    sub: Option<String>,
    /// Seconds, with a fraction where the issuer says one.
    exp: f64,
    #[serde(default)]
    scope: Value,
    #[serde(default)]
    scp: Value,
}

impl Issuer {
    /// Takes tokens of an issuer.
    pub fn new(settings: TokenIssuer) -> Self {
        signature::install();
        let (issuer, jwks) = (settings.issuer.clone(), settings.jwks.clone());
        let source = Arc::new(KeySource { issuer, jwks, http: crate::web::client() });
        Self { settings, keys: Arc::default(), source, fetches: Mutex::default() }
    }

    /// Returns what a token permits, and to whom.
    pub async fn grant(&self, token: &str) -> Result<Grant, Rejected> {
        if token.len() > TOKEN_BYTES {
            return Err(Rejected::Invalid("the token is too long"));
        }
        let header = jsonwebtoken::decode_header(token)
            .map_err(|_| Rejected::Invalid("this is no token of a kind that is taken here"))?;
        if !signature::is_checked(header.alg) {
            return Err(Rejected::Invalid("the token is signed in a way that is not taken here"));
        }
        if header.crit.is_some() {
            return Err(Rejected::Invalid("the token demands something that is not known here"));
        }
        let kind = header.typ.as_deref().unwrap_or_default().to_ascii_lowercase();
        if !TYPES.contains(&kind.as_str()) {
            return Err(Rejected::Invalid("the token is not an access token"));
        }
        let key = self.key(&header).await?;
        let mut rules = Validation::new(header.alg);
        rules.set_issuer(&[&self.settings.issuer]);
        rules.set_audience(&[
            self.settings.audience.as_str().trim_end_matches('/'),
            self.settings.audience.as_str(),
        ]);
        rules.set_required_spec_claims(&["exp", "iss", "aud"]);
        rules.validate_nbf = true;
        rules.leeway = LEEWAY.into();
        let claims =
            jsonwebtoken::decode::<Claims>(token, &key, &rules).map_err(|err| refused(err.kind()))?.claims;
        self.permitted(claims)
    }

    /// Returns what a client reads to find out where its tokens come from.
    pub fn metadata(&self) -> Value {
        let mut scopes: Vec<&str> = SCOPES.iter().map(|(name, _)| *name).collect();
        scopes.extend(self.settings.scopes.iter().map(String::as_str));
        json!({
            "resource": self.settings.audience.as_str(),
            "authorization_servers": [self.settings.issuer],
            "scopes_supported": scopes,
            "bearer_methods_supported": ["header"],
            "resource_name": "Toolyard",
        })
    }

    /// Returns where that can be read, as a client from outside writes it.
    pub fn metadata_url(&self) -> String {
        let mut url = self.settings.audience.clone();
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{WELL_KNOWN}{path}"));
        url.into()
    }

    /// Returns the scopes that a token needs to permit anything, as one text.
    pub fn needed(&self) -> String {
        let least = SCOPES.first().map(|(name, _)| *name);
        let needed: Vec<&str> =
            least.into_iter().chain(self.settings.scopes.iter().map(String::as_str)).collect();
        needed.join(" ")
    }

    fn permitted(&self, claims: Claims) -> Result<Grant, Rejected> {
        let subject = claims.sub.filter(|it| !it.is_empty() && it.chars().count() <= SUBJECT_CHARS);
        let subject = subject.filter(|it| !it.chars().any(char::is_control));
        let subject = subject.ok_or(Rejected::Invalid("the token does not say whose it is"))?;
        let scopes = scopes(&claims.scope).chain(scopes(&claims.scp)).collect::<BTreeSet<_>>();
        if let Some(lacking) = self.settings.scopes.iter().find(|it| !scopes.contains(it.as_str())) {
            return Err(Rejected::Scope(lacking.clone()));
        }
        let effect = SCOPES.iter().filter(|(name, _)| scopes.contains(name)).map(|(_, effect)| *effect).max();
        let admin = scopes.contains(ADMIN);
        let Some(effect) = effect.or(admin.then_some(Effect::Destroy)) else {
            return Err(Rejected::Scope(SCOPES[0].0.to_owned()));
        };
        let profiles = scopes.iter().filter_map(|it| it.strip_prefix(PROFILE)).map(str::to_owned).collect();
        let permissions = Permissions { profiles, servers: Vec::new(), effect, admin };
        let end = SignedDuration::try_from_secs_f64(claims.exp + f64::from(LEEWAY)).ok();
        let end = end.and_then(|end| Timestamp::UNIX_EPOCH.checked_add(end).ok());
        Ok(Grant {
            holder: Holder::Subject(format!("{} {subject}", self.settings.issuer)),
            permissions,
            rate: None,
            concurrency: None,
            expires: Some(end.unwrap_or(Timestamp::MAX)),
            credential: String::new(),
        })
    }

    /// Finds the key that a token names, asking the issuer for one that is not known.
    async fn key(&self, header: &Header) -> Result<DecodingKey, Rejected> {
        if let Some(mut fetching) = self.refresh(header) {
            // Its end closes the channel.
            drop(fetching.changed().await);
        }
        let keys = self.keys.lock();
        match chosen(&keys.known, header).and_then(|key| DecodingKey::from_jwk(key).ok()) {
            Some(key) => Ok(key),
            None if keys.since.is_some() => {
                Err(Rejected::Invalid("the token is signed with a key that its issuer does not have"))
            }
            None => Err(Rejected::Unreachable),
        }
    }

    /// Has the keys fetched where they are old or lack one; returns the fetch if it is worth waiting for.
    fn refresh(&self, header: &Header) -> Option<watch::Receiver<()>> {
        let mut keys = self.keys.lock();
        let is_past = |moment: Option<Instant>, limit| moment.is_none_or(|moment| moment.elapsed() > limit);
        let is_missing = chosen(&keys.known, header).is_none();
        let is_old = is_past(keys.since, FRESH);
        // A fetch that was lost with its task has closed its channel, too.
        let is_fetching = keys.fetching.as_ref().is_some_and(|fetching| fetching.has_changed().is_ok());
        if (is_missing || is_old) && !is_fetching && is_past(keys.asked, PAUSE) {
            keys.fetching = Some(self.fetch_apart());
        }
        // Old keys are used while their issuer is in trouble, but not before it was asked.
        let is_awaited = is_missing || is_old && is_past(keys.asked, FRESH);
        keys.fetching.clone().filter(|_| is_awaited)
    }

    /// Fetches the keys for everybody who needs them, whoever asked first.
    fn fetch_apart(&self) -> watch::Receiver<()> {
        let (ended, fetching) = watch::channel(());
        let (keys, source) = (Arc::clone(&self.keys), Arc::clone(&self.source));
        let mut fetches = self.fetches.lock();
        while fetches.try_join_next().is_some() {}
        fetches.spawn(async move {
            let fetched = tokio::time::timeout(PATIENCE, source.fetch()).await;
            let issuer = &source.issuer;
            let mut keys = keys.lock();
            keys.asked = Some(Instant::now());
            match fetched {
                Ok(Ok(fetched)) => {
                    keys.known = fetched;
                    keys.since = keys.asked;
                }
                Ok(Err(why)) => tracing::error!("the keys of `{issuer}` cannot be had: {why}"),
                Err(_) => tracing::error!("`{issuer}` did not say its keys within {PATIENCE:?}"),
            }
            drop((keys, ended));
        });
        fetching
    }
}

impl KeySource {
    async fn fetch(&self) -> Result<Arc<[Jwk]>, String> {
        let place = match &self.jwks {
            Some(place) => place.clone(),
            None => self.discover().await?,
        };
        let set: Value = self.get(&place).await?;
        let keys = set["keys"].as_array().ok_or_else(|| format!("`{place}` holds no keys"))?;
        // A key of a kind that is not known here spoils none of the others.
        Ok(keys.iter().filter_map(|key| serde_json::from_value(key.clone()).ok()).collect())
    }

    /// Finds where the keys are by what the issuer says about itself.
    async fn discover(&self) -> Result<Url, String> {
        let issuer = &self.issuer;
        let base = Url::parse(issuer).map_err(|err| err.to_string())?;
        let path = base.path().trim_end_matches('/').to_owned();
        let at = |path: &str| {
            let mut url = base.clone();
            url.set_path(path);
            url
        };
        let places = [
            at(&format!("/.well-known/oauth-authorization-server{path}")),
            at(&format!("{path}/.well-known/openid-configuration")),
        ];
        let mut why = String::new();
        for place in places {
            let said: Value = match self.get(&place).await {
                Ok(said) => said,
                Err(err) => {
                    why = err;
                    continue;
                }
            };
            if said["issuer"].as_str() != Some(issuer) {
                return Err(format!("`{place}` speaks of another issuer"));
            }
            let keys = said["jwks_uri"].as_str().and_then(trusted);
            return keys.ok_or_else(|| format!("`{place}` names no address of keys that can be trusted"));
        }
        Err(why)
    }

    async fn get(&self, place: &Url) -> Result<Value, String> {
        let failed = |err: reqwest::Error| format!("`{place}`: {}", cause(&err));
        let mut response = self.http.get(place.clone()).send().await.map_err(failed)?;
        if !response.status().is_success() {
            return Err(format!("`{place}` answered {}", response.status().as_u16()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            body.extend_from_slice(&chunk);
            if body.len() > MOST_BYTES {
                return Err(format!("`{place}` says more than {MOST_BYTES} bytes"));
            }
        }
        serde_json::from_slice(&body).map_err(|err| format!("`{place}` says no JSON: {err}"))
    }
}

/// Where the metadata of a protected resource lies.
pub(crate) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Returns the key that a token is signed with, as far as it says so; one without a name may be the only one that fits.
fn chosen<'k>(keys: &'k [Jwk], header: &Header) -> Option<&'k Jwk> {
    let mut fitting = keys.iter().filter(|key| fits(key, header.alg));
    match &header.kid {
        Some(kid) => fitting.find(|key| key.common.key_id.as_deref() == Some(kid)),
        None => fitting.next().filter(|_| fitting.next().is_none()),
    }
}

/// Whether a key is for signatures of this kind.
fn fits(key: &Jwk, algorithm: Algorithm) -> bool {
    let of_kind = DecodingKey::from_jwk(key).is_ok_and(|it| it.family().algorithms().contains(&algorithm));
    let for_signing = matches!(key.common.public_key_use, None | Some(PublicKeyUse::Signature));
    let named = |it: Value| it.as_str().map(str::to_owned);
    let meant = key.common.key_algorithm.and_then(|it| named(json!(it)));
    let of_algorithm = meant.is_none_or(|it| named(json!(algorithm)) == Some(it));
    of_kind && for_signing && of_algorithm
}

/// Reads scopes as issuers write them: one text, or a list.
fn scopes(claim: &Value) -> impl Iterator<Item = &str> {
    let texts = claim.as_array().map_or(std::slice::from_ref(claim), Vec::as_slice);
    texts.iter().filter_map(Value::as_str).flat_map(str::split_whitespace)
}

/// Says why a token is not taken, without repeating what it says.
fn refused(why: &ErrorKind) -> Rejected {
    let is = |known: &ErrorKind| std::mem::discriminant(known) == std::mem::discriminant(why);
    let words = [
        (ErrorKind::ExpiredSignature, "the token has expired"),
        (ErrorKind::ImmatureSignature, "the token is not valid yet"),
        (ErrorKind::InvalidIssuer, "the token is of another issuer"),
        (ErrorKind::InvalidAudience, "the token is meant for somebody else"),
        (ErrorKind::InvalidSignature, "the signature of the token is wrong"),
    ];
    let said = words.into_iter().find(|(known, _)| is(known)).map(|(_, words)| words);
    Rejected::Invalid(said.unwrap_or("the token cannot be read, or lacks something"))
}
