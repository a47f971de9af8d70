//! The servers behind the hub: reached, supervised, and kept from spoiling one another.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::broadcast;

use crate::caller::Caller;
use crate::frame::Excess;
use crate::jsonrpc::{ErrorObject, Fields, raw};
use crate::secrets::Secrets;

pub(crate) mod patience; //  how long calls may take
pub(crate) mod link; //      requests and answers over any transport
pub(crate) mod stdio; //     a child's standard streams
pub(crate) mod http; //      streamable HTTP
pub(crate) mod sse; //       events of a stream, and the older HTTP+SSE transport
pub(crate) mod mirror; //    what HTTP headers repeat of a request's body
pub(crate) mod handshake; // which era a server speaks
pub(crate) mod skill; //     what a server says of its skills
pub(crate) mod listing; //   what a server offers
pub(crate) mod connect; //   the transport that the configuration names
pub mod supervise; //        start, restart, stop

pub use connect::log_path;
pub use handshake::SESSION_VERSIONS;
pub use listing::Listing;
pub use skill::{SkillEntry, SkillFile};
pub use supervise::{Learnt, Repeat, State, Surroundings, Upstream};

/// Why a request to a server has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// The server answered with a JSON-RPC error.
    #[error("{0}")]
    Refused(ErrorObject),
    /// The server could not be started.
    #[error("server `{server}` did not start: {reason}")]
    NotStarted {
        /// The server.
        server: Arc<str>,
        /// Why.
        reason: String,
    },
    /// The server went away.
    #[error("server `{server}` went away while it was asked: {reason}")]
    Closed {
        /// The server.
        server: Arc<str>,
        /// How it ended.
        reason: Arc<str>,
        /// Whether the request had reached it, so that it may have been carried out.
        sent: Sent,
    },
    /// No answer in time.
    #[error(
        "server `{server}` did not answer `{method}` within {limit:?}; raise `{setting}` if it needs longer"
    )]
    Late {
        /// The server.
        server: Arc<str>,
        /// What was asked.
        method: String,
        /// The time it had.
        limit: Duration,
        /// The setting that gave it so much.
        setting: &'static str,
    },
    /// The answer was too large or too deep.
    #[error("the answer of server `{server}` was not taken: {excess}")]
    Excess {
        /// The server.
        server: Arc<str>,
        /// What was too much.
        excess: Excess,
    },
    /// The answer made no sense.
    #[error("server `{server}` answered against the protocol: {what}")]
    Senseless {
        /// The server.
        server: Arc<str>,
        /// What was wrong.
        what: String,
    },
    /// An HTTP status that says no.
    #[error("server `{server}` answered HTTP {status}: {said}")]
    Http {
        /// The server.
        server: Arc<str>,
        /// The status.
        status: u16,
        /// The beginning of what it said.
        said: String,
    },
    /// The server wants to know who asks.
    #[error("{0}")]
    LoginNeeded(String),
}

/// Whether a request reached its server before the connection broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It may have been carried out.
    Perhaps,
    /// It cannot have been.
    No,
}

impl Failure {
    /// Returns the error that a client is told.
    pub fn to_error(&self) -> ErrorObject {
        match self {
            Self::Refused(error) => error.clone(),
            Self::NotStarted { .. }
            | Self::Closed { .. }
            | Self::Late { .. }
            | Self::Excess { .. }
            | Self::Senseless { .. }
            | Self::Http { .. }
            | Self::LoginNeeded(_) => ErrorObject::new(ErrorObject::INTERNAL, self.to_string()),
        }
    }
}

impl Failure {
    /// Takes what must not be shown out of what the server said.
    pub(crate) fn without(self, secrets: &Secrets) -> Self {
        let hide = |text: String| secrets.hide(&text).into_owned();
        match self {
            Self::Refused(error) => Self::Refused(secrets.hide_in(error)),
            Self::NotStarted { server, reason } => Self::NotStarted { server, reason: hide(reason) },
            Self::Closed { server, reason, sent } => {
                Self::Closed { server, reason: secrets.hide(&reason).into(), sent }
            }
            Self::Senseless { server, what } => Self::Senseless { server, what: hide(what) },
            Self::Http { server, status, said } => Self::Http { server, status, said: hide(said) },
            Self::LoginNeeded(why) => Self::LoginNeeded(hide(why)),
            other @ (Self::Late { .. } | Self::Excess { .. }) => other,
        }
    }
}

/// Which lists have other entries than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changes {
    /// Tools.
    pub tools: bool,
    /// Prompts.
    pub prompts: bool,
    /// Resources and their templates.
    pub resources: bool,
}

impl Changes {
    /// Reads the announcement of a server.
    pub(crate) fn announced(method: &str) -> Option<Self> {
        let none = Self { tools: false, prompts: false, resources: false };
        match method {
            "notifications/tools/list_changed" => Some(Self { tools: true, ..none }),
            "notifications/prompts/list_changed" => Some(Self { prompts: true, ..none }),
            "notifications/resources/list_changed" => Some(Self { resources: true, ..none }),
            _ => None,
        }
    }

    /// Whatever there is may be different.
    pub const ALL: Self = Self { tools: true, prompts: true, resources: true };
}

/// What happens at a server without being asked for.
#[derive(Clone, Debug)]
pub enum News {
    /// The catalog changed.
    Catalog(Changes),
    /// A server says that its lists changed; whether they did is not known yet.
    Announced {
        /// The server.
        server: Arc<str>,
        /// What it says.
        changes: Changes,
    },
    /// A resource changed.
    Resource {
        /// The server.
        server: Arc<str>,
        /// The parameters of `notifications/resources/updated`.
        params: Box<RawValue>,
    },
    /// A task is in another state.
    Task {
        /// The server.
        server: Arc<str>,
        /// What the server calls the task.
        id: String,
        /// The parameters of `notifications/tasks`, or of `notifications/tasks/status` in the session era.
        params: Fields,
    },
}

impl News {
    /// Reads what a server says of one resource or task.
    pub(crate) fn of_one(server: &Arc<str>, method: &str, params: Box<RawValue>) -> Option<Self> {
        let server = Arc::clone(server);
        if method == "notifications/resources/updated" {
            return Some(Self::Resource { server, params });
        }
        let params = Fields::parse(Some(&params)).ok()?;
        Some(Self::Task { server, id: params.text("taskId")?, params })
    }
}

/// Who hears what a server says to nobody in particular.
#[derive(Clone, Debug)]
pub struct Audience {
    /// Everybody who subscribed.
    pub news: broadcast::Sender<News>,
    /// The client, when there can be only one: it may be asked even while it waits for nothing.
    pub sole: Arc<Mutex<Option<Arc<Caller>>>>,
    /// What clients so far can be asked; servers of the session era that are started for them are told so.
    pub abilities: Arc<Mutex<Fields>>,
    /// How many these are; they only grow.
    pub ability_count: Arc<AtomicUsize>,
}

impl Audience {
    /// Notes what a client can be asked.
    pub fn welcome(&self, capabilities: &Fields) {
        let mut abilities = self.abilities.lock();
        for (name, settings) in capabilities.iter() {
            // Roots belong to one client; several clients' would contradict one another.
            let is_sole = self.sole.lock().is_some();
            let parts: &[&str] = match name {
                "elicitation" => &["form", "url"],
                "sampling" => &["tools", "context"],
                "roots" if is_sole => &[],
                _ => continue,
            };
            // Every server hears of it, so a client's own words do not go in: only what they mean.
            let Ok(given) = Fields::parse(Some(settings)) else { continue };
            let mut meant = abilities.object(name);
            for part in parts.iter().filter(|part| given.read::<Fields>(part).is_some()) {
                meant.set(part, raw(&Fields::default()));
            }
            abilities.set(name, raw(&meant));
        }
        self.ability_count.store(abilities.iter().count(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_own_words_about_its_capabilities_reach_no_server() {
        let audience = Audience {
            news: broadcast::Sender::new(1),
            sole: Arc::default(),
            abilities: Arc::default(),
            ability_count: Arc::default(),
        };
        for said in [
            r#"{"sampling":true,"elicitation":5,"roots":{}}"#,
            r#"{"elicitation":{"form":{"x":"long text"},"other":{}}}"#,
            r#"{"elicitation":{},"sampling":{}}"#,
        ] {
            audience.welcome(&serde_json::from_str(said).unwrap());
        }
        let told = raw(&*audience.abilities.lock());
        assert_eq!(told.get(), r#"{"elicitation":{"form":{}},"sampling":{}}"#);
    }
}
