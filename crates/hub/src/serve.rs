//! How clients reach the hub: over stdio and HTTP, in both eras of the protocol.

use std::collections::HashMap;
use std::sync::Arc;

use crate::access::Grant;
use crate::caller::{Caller, Era};
use crate::config::{Callers, Profile, Surface};
use crate::hub::Hub;
use parking_lot::Mutex;
use toolyard_core::tool::Effect;

pub(crate) mod era; //         which era a request belongs to, and what each expects of results
pub(crate) mod answer; //      one request, one answer
pub(crate) mod once; //        calls that may be repeated without a second effect
mod learning; //             what is said before tools are understood
pub(crate) mod remainder; //   what did not fit into an answer
mod renamed; //              calls of old names
mod unfolded; // calls of consolidated tools
mod apps; //                 pages that show what tools answered
mod apart; //                groups that are listed once somebody asks for them
pub(crate) mod tools; //       what is listed, and calls to it
pub(crate) mod toolset; //     the few tools that a conversation needs
pub(crate) mod offers; //      resources, prompts, completions
pub(crate) mod skills; //      skills, as files
pub(crate) mod transparent; // one server, passed through
pub(crate) mod tasks; //       tasks of servers, each for who began it
pub(crate) mod park; //        calls that wait for their client to come back
pub(crate) mod route; //       from plain words to the right tool
pub(crate) mod subscribe; //   what clients want to hear about
pub(crate) mod session; //     one client of the session era
pub mod stdio; //              the client that started us
pub mod http; //               clients over the network

pub use era::known_client;

/// What serving shares between all clients.
#[derive(Debug)]
pub struct Reception {
    /// The hub that answers.
    pub hub: Arc<Hub>,
    parked: park::Parked,
    pending: route::Pending,
    remainders: remainder::Remainders,
    toolsets: toolset::Toolsets,
    underways: once::Underways,
    tasks: tasks::Tasks,
    watched: Mutex<HashMap<subscribe::Watched, subscribe::Watch>>,
}

impl Reception {
    /// Opens the doors of a hub.
    pub fn new(hub: Arc<Hub>) -> Arc<Self> {
        Arc::new(Self {
            hub,
            parked: park::Parked::default(),
            pending: route::Pending::default(),
            remainders: remainder::Remainders::default(),
            toolsets: toolset::Toolsets::default(),
            underways: once::Underways::default(),
            tasks: tasks::Tasks::default(),
            watched: Mutex::default(),
        })
    }

    /// Returns what a client sees at `/mcp/<profile>`, or at `/mcp` without one: no more than it may use.
    pub(crate) fn view(&self, profile: Option<&str>, grant: &Arc<Grant>) -> Option<View> {
        let (config, grant) = (self.hub.config(), Arc::clone(grant));
        if !grant.opens(profile) {
            return None;
        }
        match profile {
            None => {
                let (surface, callers) = (config.serve.surface, config.serve.callers);
                let servers = grant.narrowed(&[])?;
                Some(View::Surface { surface, servers, callers, profile: None, grant })
            }
            Some(name) => match config.serve.profiles.get(name)? {
                Profile::Surface { surface, servers, callers, .. } => Some(View::Surface {
                    surface: *surface,
                    servers: grant.narrowed(servers)?,
                    callers: *callers,
                    profile: Some(name.to_owned()),
                    grant,
                }),
                Profile::Transparent { server } if grant.shows(server) => {
                    Some(View::Transparent { server: server.as_str().into(), grant })
                }
                Profile::Transparent { .. } => None,
            },
        }
    }
}

/// What a client sees of the hub.
#[derive(Clone, Debug)]
pub(crate) enum View {
    /// A surface over some or all servers, under the name of its profile.
    Surface {
        surface: Surface,
        servers: Vec<String>,
        callers: Callers,
        profile: Option<String>,
        grant: Arc<Grant>,
    },
    /// One server as it is.
    Transparent { server: Arc<str>, grant: Arc<Grant> },
}

impl View {
    /// Whether the view shows a server.
    pub(crate) fn shows(&self, server: &str) -> bool {
        match self {
            Self::Surface { servers, .. } => servers.is_empty() || servers.iter().any(|name| name == server),
            Self::Transparent { server: only, .. } => **only == *server,
        }
    }

    /// Returns what whoever has the view may do.
    pub(crate) fn grant(&self) -> &Arc<Grant> {
        match self {
            Self::Surface { grant, .. } | Self::Transparent { grant, .. } => grant,
        }
    }

    /// Returns the most that a call through the view may do.
    pub(crate) fn effect(&self) -> Effect {
        self.grant().permissions.effect
    }

    /// Tells views apart, also across restarts: a session belongs to one.
    pub(crate) fn mark(&self) -> String {
        let shown = match self {
            Self::Surface { surface, servers, callers, profile, .. } => {
                format!("{surface:?} {servers:?} {callers:?} {profile:?}")
            }
            Self::Transparent { server, .. } => format!("{server:?}"),
        };
        format!("{shown} {}", self.grant().mark())
    }

    /// Returns who calls through the view.
    pub(crate) fn callers(&self) -> Callers {
        match self {
            Self::Surface { callers, .. } => *callers,
            Self::Transparent { .. } => Callers::Strong,
        }
    }

    /// Returns the surface for a client. What is listed to a modern client depends on the configuration
    /// alone; a session client may get all tools when it is known to bear them.
    pub(crate) fn surface(&self, hub: &Hub, caller: &Caller) -> Surface {
        let Self::Surface { surface, .. } = self else { return Surface::All };
        match (surface, caller.era) {
            (Surface::Auto, Era::Session) => {
                let known = known_client(caller.info.as_deref());
                let snapshot = hub.snapshot();
                let tools = snapshot.catalog.tools().iter().filter(|tool| !hub.is_fallback(tool)).count();
                let bears_all = known.is_some_and(|known| tools > 0 && tools <= known.max_tools);
                if bears_all { Surface::All } else { Surface::Route }
            }
            (Surface::Auto, Era::Modern) => Surface::Route,
            (surface, _) => *surface,
        }
    }
}
