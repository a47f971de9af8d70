//! Gets and keeps the right to use an HTTP server that wants OAuth 2.1.
//!
//! An [`Authority`] stands beside the transport of one server. The transport asks it for a token before a
//! request ([`Authority::bearer`]), tells it when the server refused one ([`Authority::renew`],
//! [`Authority::forbidden`]), and never sees where tokens come from. A person logs in through
//! [`Authority::login`], which opens nothing by itself: the caller is given the address to open.
//!
//! Tokens are kept in the [`Vault`], which is the one truth for all hubs on the machine: a login in one
//! process is seen by the next request in another, and a refresh token is used by one process at a time.

use std::panic;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use futures_util::future::Shared;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::timeout;
use tracing::{debug, warn};
use url::Url;

use crate::config;
use crate::vault::{Secret, Stamp, Vault};

use challenge::Challenge;
use client::Identity;
use discovery::{Found, canonical};
use fetch::{Fetch, printable, shown};
use login::Login;
use pkce::Attempt;
use token::{Freshness, Grant, Refused};

pub use client::DOCUMENT;
pub use error::Error;

mod error;
mod challenge;
mod pkce;
mod fetch;
mod discovery;
mod callback;
mod client;
mod token;
mod login;

/// A person has this long to log in.
const LOGIN_PATIENCE: Duration = Duration::from_secs(300);
/// A token that the server refuses this soon after its renewal is not the reason for the refusal.
const JUST_NOW: Duration = Duration::from_secs(60);
/// How long a failed renewal rests while the old token still works.
const REST: Duration = Duration::from_secs(30);

/// What the configuration says about the authorization of one server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A client that was registered by hand.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<Secret>,
    /// Scopes to ask for instead of those that the server names.
    pub scopes: Vec<String>,
    /// The document that says who we are.
    pub document: Document,
}

/// Which client metadata document to name to an authorization server that takes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    /// The one at [`DOCUMENT`], if it can be read from here.
    Published,
    /// Another one.
    At(Url),
    /// None.
    Unused,
}

impl Settings {
    /// Reads the `auth` block of a server; `None` when OAuth is off.
    pub fn of(auth: &config::Auth) -> Option<Self> {
        match auth {
            config::Auth::Automatic { client_id, client_secret, scopes } => Some(Self {
                client_id: client_id.clone(),
                client_secret: client_secret.clone().map(Secret::new),
                scopes: scopes.clone(),
                document: Document::Published,
            }),
            config::Auth::Off => None,
        }
    }
}

/// Holds the right to use one server. Cloning is cheap, and clones share everything.
#[derive(Clone)]
pub struct Authority(Arc<Inner>);

struct Inner {
    server: String,
    url: Url,
    settings: Settings,
    vault: Vault,
    fetch: Fetch,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The grant as it was read, and the vault's stamp at that time.
    known: Option<(Option<Stamp>, Option<Grant>)>,
    /// The renewal under way, with the access token that it replaces.
    flight: Option<(Secret, Flight)>,
    rest_until: Option<SystemTime>,
}

type Flight = Shared<Pin<Box<dyn Future<Output = Result<Secret, Error>> + Send>>>;

impl Authority {
    /// Stands for a server, by its name and address.
    pub fn new(server: &str, url: &str, settings: Settings, vault: Vault) -> Result<Self, Error> {
        let url = Url::parse(url).map_err(|_| Error::BadUrl { url: printable(url) })?;
        let fetch = Fetch::on_behalf_of(&url);
        let server = server.to_owned();
        Ok(Self(Arc::new(Inner { server, url, settings, vault, fetch, state: Mutex::default() })))
    }

    /// Gives the token to send, renewed when that is due; `None` when there is none that could work.
    pub async fn bearer(&self) -> Option<String> {
        self.bearer_at(SystemTime::now()).await
    }

    /// Does the same for another time than now.
    pub async fn bearer_at(&self, now: SystemTime) -> Option<String> {
        let grant = match self.0.grant().await {
            Ok(grant) => grant?,
            Err(err) => {
                warn!(server = self.0.server, %err, "stored login not readable");
                return None;
            }
        };
        let age = grant.freshness(now);
        if age == Freshness::Due && self.0.rests(now) {
            return Some(grant.access.expose().to_owned());
        }
        match (age, grant.refresh.is_some()) {
            (Freshness::Fresh, _) | (Freshness::Due, false) => Some(grant.access.expose().to_owned()),
            (Freshness::Expired, false) => None,
            (Freshness::Due | Freshness::Expired, true) => match self.refresh(&grant.access, now).await {
                Ok(token) => Some(token.expose().to_owned()),
                Err(err) => {
                    debug!(server = self.0.server, %err, "token not renewed");
                    self.0.state().rest_until = now.checked_add(REST);
                    (age == Freshness::Due).then(|| grant.access.expose().to_owned())
                }
            },
        }
    }

    /// Gives another token after a 401 for `rejected`, or for a request without one. The caller repeats its
    /// request once with it; a token that was only just renewed is not renewed again.
    pub async fn renew(&self, rejected: Option<&str>, challenge: Option<&str>) -> Result<String, Error> {
        if let Some(err) = self.forbidden(challenge) {
            return Err(err);
        }
        let now = SystemTime::now();
        let login_needed = || Error::LoginNeeded { server: self.0.server.clone() };
        let grant = self.0.reread().await?.ok_or_else(login_needed)?;
        // Another request or another process was faster.
        if rejected != Some(grant.access.expose()) && grant.freshness(now) != Freshness::Expired {
            return Ok(grant.access.expose().to_owned());
        }
        let just_now = now.duration_since(grant.obtained).is_ok_and(|age| age < JUST_NOW);
        if grant.refresh.is_none() || (grant.renewed && just_now) {
            return Err(login_needed());
        }
        Ok(self.refresh(&grant.access, now).await?.expose().to_owned())
    }

    /// Explains a 403: the error to report when the challenge asks for more scope.
    pub fn forbidden(&self, challenge: Option<&str>) -> Option<Error> {
        let challenge = Challenge::parse(challenge?);
        let server = self.0.server.clone();
        challenge.wants_more_scope().then_some(Error::ScopeNeeded { server, scopes: challenge.scopes })
    }

    /// Lets a person log in. `open` is given the address for the browser; the future ends when the person
    /// is done, and dropping it calls the login off. Without a challenge the server is asked for one.
    pub async fn login(
        &self,
        challenge: Option<&str>,
        extra_scopes: &[String],
        open: impl FnOnce(&Url) + Send,
    ) -> Result<(), Error> {
        let inner = &self.0;
        inner.fetch.check(&inner.url)?;
        let challenge = match challenge {
            Some(challenge) => Challenge::parse(challenge),
            None => Challenge::parse(&inner.fetch.challenge().await?.unwrap_or_default()),
        };
        let found = discovery::discover(&inner.fetch, &inner.url, &challenge).await?;
        let before = inner.stored().await?;
        inner.check_binding(&found, before.as_ref())?;
        let (server, fetch, vault, settings) = (&inner.server, &inner.fetch, &inner.vault, &inner.settings);
        let identity = client::Desk { server, fetch, vault, settings }.identify(&found.issuer).await?;
        let Identity { client, callback, registration } = identity;
        let scopes = login::scopes(settings, &challenge, &found, before.as_ref(), extra_scopes);
        let login = Login { attempt: Attempt::new()?, redirect: callback.redirect(), client, scopes, found };

        open(&login.address());
        let answer = timeout(LOGIN_PATIENCE, callback.wait(&login.attempt.state)).await;
        let answer = answer.map_err(|_| Error::TooLate)??;
        let ended = match login.redeem(&inner.fetch, &inner.url, &answer).await {
            Ok(grant) => inner.store(grant).await,
            Err(err) => Err(err),
        };
        if let Some(registration) = registration
            && !matches!(ended, Err(Error::UnknownClient { .. }))
        {
            let kept = inner.keep(client::registration_key(&login.found.issuer.id), registration).await;
            if let Err(err) = kept {
                warn!(server = inner.server, %err, "registration not stored; the next login registers again");
            }
        }
        let told = ended.as_ref().map(|()| inner.server.as_str()).map_err(ToString::to_string);
        answer.close(told.as_ref().map(|server| *server).map_err(String::as_str)).await;
        ended
    }

    /// Drops the tokens of this server. Works on the disk, so it blocks for a moment.
    pub fn forget(&self) -> Result<(), Error> {
        *self.0.state() = State::default();
        Ok(self.0.vault.remove(&self.0.entry())?)
    }

    /// Renews once for all who ask at the same time.
    async fn refresh(&self, stale: &Secret, now: SystemTime) -> Result<Secret, Error> {
        let flight = {
            let mut state = self.0.state();
            match &state.flight {
                Some((replaces, flight)) if replaces == stale && !matches!(flight.peek(), Some(Err(_))) => {
                    flight.clone()
                }
                _ => {
                    // A task of its own: a caller that goes away must not lose a refresh token that the
                    // server has already replaced. The limits of each request end it.
                    let task = tokio::spawn(Arc::clone(&self.0).refresh(stale.clone(), now));
                    let flight = joined(task).boxed().shared();
                    state.flight = Some((stale.clone(), flight.clone()));
                    flight
                }
            }
        };
        flight.await
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority")
            .field("server", &self.0.server)
            .field("url", &shown(&self.0.url))
            .finish_non_exhaustive()
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn entry(&self) -> String {
        format!("tokens:{}", self.server)
    }

    fn login_needed(&self) -> Error {
        Error::LoginNeeded { server: self.server.clone() }
    }

    fn rests(&self, now: SystemTime) -> bool {
        self.state().rest_until.is_some_and(|until| now < until)
    }

    /// The grant, from memory as long as the vault is unchanged.
    async fn grant(&self) -> Result<Option<Grant>, Error> {
        let stamp = self.vault.stamp();
        if let Some((seen, grant)) = &self.state().known
            && *seen == stamp
        {
            return Ok(grant.clone());
        }
        self.reread().await
    }

    async fn reread(&self) -> Result<Option<Grant>, Error> {
        // Taken before the read: a write in between is then noticed the next time.
        let stamp = self.vault.stamp();
        let grant = self.stored().await?;
        self.state().known = Some((stamp, grant.clone()));
        Ok(grant)
    }

    /// The grant on disk, if it is for the address and the client of the present configuration.
    async fn stored(&self) -> Result<Option<Grant>, Error> {
        let (vault, entry) = (self.vault.clone(), self.entry());
        let grant: Option<Grant> = blocking(move || vault.get(&entry)).await?;
        let id = self.settings.client_id.as_ref();
        Ok(grant.filter(|it| it.server == canonical(&self.url) && id.is_none_or(|id| *id == it.client.id)))
    }

    async fn keep(&self, entry: String, value: impl serde::Serialize + Send + 'static) -> Result<(), Error> {
        let vault = self.vault.clone();
        Ok(blocking(move || vault.put(&entry, &value)).await?)
    }

    async fn store(&self, grant: Grant) -> Result<(), Error> {
        let kept = self.keep(self.entry(), grant.clone()).await;
        let mut state = self.state();
        // What could not be written still works until the hub stops.
        state.known = kept.is_err().then(|| (self.vault.stamp(), Some(grant)));
        state.rest_until = None;
        kept
    }

    /// A client id that a person registered is known to one authorization server only.
    fn check_binding(&self, found: &Found, before: Option<&Grant>) -> Result<(), Error> {
        match before {
            Some(grant) if self.settings.client_id.is_some() && grant.issuer != found.issuer.id => {
                Err(Error::IssuerChanged {
                    server: self.server.clone(),
                    before: printable(&grant.issuer),
                    now: printable(&found.issuer.id),
                })
            }
            _ => Ok(()),
        }
    }

    async fn refresh(self: Arc<Self>, stale: Secret, now: SystemTime) -> Result<Secret, Error> {
        let (vault, entry) = (self.vault.clone(), self.entry());
        // A rotated refresh token works once, and using it twice ends the login. So one process at a time.
        let _turn = blocking(move || vault.exclusive(&entry)).await?;
        let mut grant = self.reread().await?.ok_or_else(|| self.login_needed())?;
        if grant.access != stale {
            return Ok(grant.access);
        }
        let Some(refresh) = grant.refresh.clone() else { return Err(self.login_needed()) };
        let desk = token::Desk {
            fetch: &self.fetch,
            endpoint: &self.fetch.parse(&grant.token_endpoint).await?,
            client: &grant.client,
            resource: &grant.resource,
        };
        let given = desk.refresh(refresh.expose()).await;
        match given {
            Ok(given) => grant.replace(given, now),
            Err(Refused::NotNow(err)) => return Err(err),
            Err(Refused::For(reason)) => {
                debug!(server = self.server, reason, "refresh token refused");
                grant.refresh = None;
            }
            Err(Refused::UnknownClient) => {
                let (vault, entry) = (self.vault.clone(), client::registration_key(&grant.issuer));
                blocking(move || vault.remove(&entry)).await?;
                grant.refresh = None;
            }
        }
        let (access, alive) = (grant.access.clone(), grant.refresh.is_some());
        if let Err(err) = self.store(grant).await {
            warn!(server = self.server, %err, "renewed token not stored");
        }
        if alive || access != stale { Ok(access) } else { Err(self.login_needed()) }
    }
}

/// Runs what waits for the disk, or for the keyring, off the threads that serve.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(err) => panic::resume_unwind(err.into_panic()),
    }
}

async fn joined(task: tokio::task::JoinHandle<Result<Secret, Error>>) -> Result<Secret, Error> {
    match task.await {
        Ok(done) => done,
        Err(err) if err.is_panic() => panic::resume_unwind(err.into_panic()),
        Err(_) => Err(Error::Stopping),
    }
}

#[cfg(test)]
mod tests {
    use super::{Authority, Document, Error, Settings, Vault};

    #[test]
    fn a_403_names_the_scopes_and_the_command() {
        let folder = tempfile::tempdir().unwrap();
        let settings =
            Settings { client_id: None, client_secret: None, scopes: Vec::new(), document: Document::Unused };
        let authority = Authority::new(
            "files",
            "https://a.example/mcp?key=hunter2",
            settings,
            Vault::open(folder.path(), None),
        )
        .unwrap();
        let told = |header: &str| {
            authority.forbidden(Some(header)).as_ref().map_or("none".to_owned(), Error::to_string)
        };
        insta::assert_snapshot!(
            [
                told(r#"Bearer error="insufficient_scope", scope="files:write admin""#),
                told(r#"Bearer error="insufficient_scope", scope="x;rm `id` --force files:write""#),
                told(r#"Bearer error="insufficient_scope""#),
                told(r#"Bearer error="invalid_token""#),
            ]
            .join("\n"),
            @"
            `files` wants more permission (files:write, admin); run `toolyard login files --scope files:write --scope admin`
            `files` wants more permission (x;rm, `id`, --force, files:write); run `toolyard login files --scope files:write`
            `files` wants more permission; run `toolyard login files`
            none
            "
        );
        assert!(!format!("{authority:?}").contains("hunter2"));
    }
}
