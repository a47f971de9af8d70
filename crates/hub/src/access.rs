//! Who may come in over HTTP, and what each of them may do.
//!
//! Every caller has a grant. Whoever shows the token of the settings, and everybody where no token is asked for, has the
//! owner's, which permits everything. A grant is looked at in two places: where something is listed, and where a call is
//! made; what is not permitted is not shown, and refused when it is called all the same.

mod registry; //  the clients that a person registered, in a file
mod signature; // whether a key signed a token
mod issuer; //    tokens of an authorization server

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use toolyard_core::tool::Effect;

pub(crate) use issuer::WELL_KNOWN;
pub use issuer::{Issuer, Rejected};
pub use registry::{ClientRegistry, Error, Registration, check_name};

/// How often the file of clients is looked at.
const GLANCE: Duration = Duration::from_millis(500);
/// How often the wall clock is looked at while a grant waits for its end.
const LONGEST_REST: Duration = Duration::from_secs(30);

/// What somebody may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Permissions {
    /// Only these profiles; all, and `/mcp` itself, when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<String>,
    /// Only these servers; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// The most that a call may do.
    pub effect: Effect,
    /// Whether the dashboard, its API and the metrics may be used.
    #[serde(default)]
    pub admin: bool,
}

impl Permissions {
    /// Permits everything.
    pub const EVERYTHING: Self =
        Self { profiles: Vec::new(), servers: Vec::new(), effect: Effect::Destroy, admin: true };
}

/// Whom a grant belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Holder {
    /// The person whose hub it is.
    Owner,
    /// A client that was registered under this name.
    Client(String),
    /// Somebody whom an issuer of tokens vouches for: the issuer and its name for them.
    Subject(String),
}

/// What a caller may do, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// Whose it is.
    pub holder: Holder,
    /// What is permitted.
    pub permissions: Permissions,
    /// Calls per minute.
    pub rate: Option<u32>,
    /// Calls at the same time.
    pub concurrency: Option<usize>,
    /// When it ends by itself.
    #[serde(skip)]
    pub expires: Option<Timestamp>,
    /// Tells the tokens of one client apart, so that what was opened with a revoked one ends.
    credential: String,
}

static OWNER: LazyLock<Arc<Grant>> = LazyLock::new(|| {
    Arc::new(Grant {
        holder: Holder::Owner,
        permissions: Permissions::EVERYTHING,
        rate: None,
        concurrency: None,
        expires: None,
        credential: String::new(),
    })
});

/// Why a call is beyond what its caller may do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutOfScope {
    /// It is a tool of another server.
    #[error("tool `{tool}` is not in the scope of client `{client}`, which may use {servers}")]
    Server {
        /// The tool.
        tool: String,
        /// The client.
        client: String,
        /// The servers that it may use, in words.
        servers: String,
    },
    /// It does more.
    #[error(
        "this call of `{tool}` would {would}, and the scope of client `{client}` permits to {may} at most"
    )]
    Effect {
        /// The tool.
        tool: String,
        /// The client.
        client: String,
        /// What the call would do.
        would: &'static str,
        /// What is permitted.
        may: &'static str,
    },
}

impl Grant {
    /// Returns that of the owner.
    pub fn owner() -> Arc<Self> {
        Arc::clone(&OWNER)
    }

    /// Returns the name of the client, or `None` for the owner.
    pub fn name(&self) -> Option<&str> {
        match &self.holder {
            Holder::Owner => None,
            Holder::Client(name) | Holder::Subject(name) => Some(name),
        }
    }

    /// Returns what state of the client is bound to; `None` for the owner. It does not change with the token.
    pub fn principal(&self) -> Option<String> {
        match &self.holder {
            Holder::Owner => None,
            Holder::Client(name) => Some(format!("client:{name}")),
            Holder::Subject(name) => Some(format!("subject:{name}")),
        }
    }

    /// Whether a profile may be used, or `/mcp` itself.
    pub fn opens(&self, profile: Option<&str>) -> bool {
        let profiles = &self.permissions.profiles;
        profiles.is_empty() || profile.is_some_and(|wanted| profiles.iter().any(|name| name == wanted))
    }

    /// Whether a server may be used.
    pub fn shows(&self, server: &str) -> bool {
        let servers = &self.permissions.servers;
        servers.is_empty() || servers.iter().any(|name| name == server)
    }

    /// Returns the servers of a view that may be used, `None` where that is none of them. All are meant by an empty list,
    /// in both.
    pub fn narrowed(&self, servers: &[String]) -> Option<Vec<String>> {
        let own = &self.permissions.servers;
        if own.is_empty() {
            return Some(servers.to_vec());
        }
        let both: Vec<String> = match servers {
            [] => own.clone(),
            servers => servers.iter().filter(|name| own.contains(name)).cloned().collect(),
        };
        (!both.is_empty()).then_some(both)
    }

    /// Says why a call is not permitted, when it is not.
    pub fn refusal(&self, tool: &str, server: &str, effect: Effect) -> Option<OutOfScope> {
        let (tool, client) = (tool.to_owned(), self.name().unwrap_or_default().to_owned());
        if !self.shows(server) {
            let servers: Vec<String> = self.permissions.servers.iter().map(|it| format!("`{it}`")).collect();
            return Some(OutOfScope::Server { tool, client, servers: servers.join(", ") });
        }
        let may = self.permissions.effect;
        (effect > may).then(|| OutOfScope::Effect { tool, client, would: verb(effect), may: verb(may) })
    }

    /// Whether its time is over.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|end| end <= now)
    }

    /// Returns what a view of this client is told apart by. One whose scope changed, or whose token was revoked, is
    /// another.
    pub(crate) fn mark(&self) -> String {
        match self.holder {
            Holder::Owner => String::new(),
            Holder::Client(_) | Holder::Subject(_) => {
                crate::seal::digest(&[&serde_json::to_string(self).expect("own types serialise")])
            }
        }
    }
}

/// Says what a call with an effect does.
fn verb(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Write => "write",
        Effect::Destroy => "destroy",
    }
}

/// Which tools are shown: those of some servers, or of all when none is named, that do no more than this.
#[derive(Clone, Copy, Debug)]
pub struct Within<'a> {
    /// The servers.
    pub servers: &'a [String],
    /// The most that a tool may do.
    pub effect: Effect,
}

impl<'a> Within<'a> {
    /// Shows whatever these servers have.
    pub fn servers(servers: &'a [String]) -> Self {
        Self { servers, effect: Effect::Destroy }
    }

    /// Whether a server is one of them.
    pub fn shows(&self, server: &str) -> bool {
        self.servers.is_empty() || self.servers.iter().any(|name| name == server)
    }
}

/// Why a token lets nobody in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Turned {
    /// No client has it.
    #[error("this token is not known here")]
    Unknown,
    /// Its time is over.
    #[error("the token of client `{0}` has expired")]
    Expired(String),
    /// Nobody can say whose it is.
    #[error(
        "the file of clients cannot be read, so no client is let in; the log of the hub says what is wrong with it"
    )]
    Unreadable,
}

/// The clients that are registered at this moment.
#[derive(Debug, Default)]
struct Roll {
    /// By the hash of their tokens.
    grants: HashMap<String, Arc<Grant>>,
    is_registering: bool,
    is_damaged: bool,
}

impl Roll {
    fn read(registry: &ClientRegistry) -> Self {
        match registry.read() {
            Ok(None) => Self::default(),
            Ok(Some(registered)) => Self {
                grants: registered.into_iter().map(|it| (it.sha256.clone(), Arc::new(it.into()))).collect(),
                is_registering: true,
                is_damaged: false,
            },
            Err(err) => {
                tracing::error!("{err}; until then no client is let in");
                Self { grants: HashMap::new(), is_registering: true, is_damaged: true }
            }
        }
    }
}

impl From<Registration> for Grant {
    fn from(registration: Registration) -> Self {
        let Registration { name, sha256: credential, permissions, rate, concurrency, expires, .. } =
            registration;
        let holder = Holder::Client(name);
        Self { holder, permissions, rate, concurrency, expires, credential }
    }
}

/// Who may come in, as the file of clients says it at this moment.
#[derive(Debug)]
pub struct Access {
    registry: ClientRegistry,
    /// The state of the file that was read first.
    first: registry::Stamp,
    roll: watch::Sender<Arc<Roll>>,
}

impl Access {
    /// Reads the clients that are registered in a store's folder.
    pub fn open(folder: &Path) -> Self {
        let registry = ClientRegistry::new(folder);
        // Looked at before it is read, so that a change meanwhile is not lost.
        let first = registry.stamp();
        let roll = watch::Sender::new(Arc::new(Roll::read(&registry)));
        Self { registry, first, roll }
    }

    /// Whether clients are registered here, so that nobody comes in without a token. That stays so when the last one is
    /// revoked.
    pub fn is_registering(&self) -> bool {
        self.roll.borrow().is_registering
    }

    /// Returns what a token permits.
    pub fn grant(&self, token: &str) -> Result<Arc<Grant>, Turned> {
        let (roll, hash) = (Arc::clone(&self.roll.borrow()), registry::hash(token));
        match roll.grants.get(&hash) {
            Some(grant) if grant.is_over(Timestamp::now()) => {
                Err(Turned::Expired(grant.name().unwrap_or_default().to_owned()))
            }
            Some(grant) => Ok(Arc::clone(grant)),
            None if roll.is_damaged => Err(Turned::Unreadable),
            None => Err(Turned::Unknown),
        }
    }

    /// Returns what the holder of an earlier grant may do today; `None` where that is nothing.
    pub fn renewed(&self, earlier: &Grant) -> Option<Arc<Grant>> {
        match &earlier.holder {
            Holder::Owner => Some(Grant::owner()),
            Holder::Client(_) => {
                let (roll, now) = (Arc::clone(&self.roll.borrow()), Timestamp::now());
                let found = roll.grants.values().find(|grant| grant.holder == earlier.holder);
                found.filter(|grant| !grant.is_over(now)).cloned()
            }
            // Its issuer is asked about tokens, not about people.
            Holder::Subject(_) => Some(Arc::new(earlier.clone())),
        }
    }

    /// Ends when a grant does: its client was revoked, got another scope or token, or its time is over.
    pub fn ended(&self, grant: &Arc<Grant>) -> impl Future<Output = ()> + Send + use<> {
        let (mut rolls, grant) = (self.roll.subscribe(), Arc::clone(grant));
        async move {
            let is_gone = |roll: &Arc<Roll>| match &grant.holder {
                Holder::Owner | Holder::Subject(_) => false,
                Holder::Client(_) => roll.grants.get(&grant.credential) != Some(&grant),
            };
            tokio::select! {
                Ok(_) = rolls.wait_for(is_gone) => {}
                () = over(grant.expires) => {}
            }
        }
    }

    /// Ends when the holder of a grant has nothing to come back to. Whom an issuer vouches for comes back with another
    /// token.
    pub fn left(&self, grant: &Arc<Grant>) -> impl Future<Output = ()> + Send + use<> {
        let (ended, may_return) = (self.ended(grant), matches!(grant.holder, Holder::Subject(_)));
        async move {
            match may_return {
                true => std::future::pending().await,
                false => ended.await,
            }
        }
    }

    /// Follows the file of clients for as long as it is awaited.
    pub(crate) async fn follow(self: Arc<Self>) {
        let mut seen = self.first;
        loop {
            let stamp = self.registry.stamp();
            if stamp != seen {
                seen = stamp;
                self.roll.send_replace(Arc::new(Roll::read(&self.registry)));
            }
            tokio::time::sleep(GLANCE).await;
        }
    }
}

/// Waits for a moment on the wall clock, which may be set: so it is looked at again and again.
async fn over(end: Option<Timestamp>) {
    let Some(end) = end else { return std::future::pending().await };
    while let Ok(rest) = Duration::try_from(end.duration_since(Timestamp::now())) {
        if rest.is_zero() {
            return;
        }
        tokio::time::sleep(rest.min(LONGEST_REST)).await;
    }
}

#[cfg(test)]
mod tests;
