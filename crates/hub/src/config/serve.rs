//! How clients reach the hub, and what they see.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use toolyard_core::tool::ToolId;

use super::remote::{Tls, TokenIssuer};
use super::{OwnTool, Server, Surface, Toolset, Transport};

/// Who calls `smart_route`, which decides what its definition asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callers {
    /// Models that say an action in a few words and hand over every value.
    Strong,
    /// Small models, which pass a person's words on as they are.
    Small,
}

/// A named view of the hub at `/mcp/<profile>`.
#[derive(Clone, Debug, PartialEq)]
pub enum Profile {
    /// A surface over some or all servers.
    Surface {
        /// Which tools are listed.
        surface: Surface,
        /// Only these servers; all when empty.
        servers: Vec<String>,
        /// Who calls.
        callers: Callers,
        /// What conversations are given, on the surface `toolset`.
        toolset: Box<Toolset>,
    },
    /// One upstream passed through unchanged, without prefix.
    Transparent {
        /// The upstream.
        server: String,
    },
}

/// How clients reach the hub.
#[derive(Clone, PartialEq)]
pub struct Serve {
    /// What is listed at `/mcp` and over stdio.
    pub surface: Surface,
    /// Who calls.
    pub callers: Callers,
    /// Views at `/mcp/<name>`.
    pub profiles: BTreeMap<String, Profile>,
    /// Where the HTTP server listens.
    pub http: SocketAddr,
    /// The bearer token that HTTP clients must show; required unless bound to loopback.
    pub token: Option<String>,
    /// The certificate with which HTTPS is served.
    pub tls: Option<Tls>,
    /// Who issues tokens besides.
    pub oauth: Option<TokenIssuer>,
    /// Further values of Host and Origin that are accepted, besides loopback.
    pub allowed_hosts: Vec<String>,
    /// Bytes of one request body.
    pub body_bytes: usize,
    /// Requests in flight at once; more wait, each client in its turn.
    pub concurrency: usize,
    /// Requests of one client in flight at once; more wait.
    pub client_concurrency: usize,
    /// Connections that are open at once; one that does nothing makes room for another.
    pub connections: usize,
    /// Shorter schemas and texts in `tools/list`.
    pub compact: bool,
    /// Whether the hub's own page shows what `smart_route` and `call_tool` answer.
    pub app: bool,
    /// Bytes of a result that `smart_route` and `call_tool` return at once.
    pub result_bytes: usize,
}

impl Serve {
    /// Adds a profile for each built-in server that says which of its tools are always needed, unless a profile of
    /// that name is written: those tools, and skills for the rest.
    pub(super) fn add_workspaces(&mut self, servers: &BTreeMap<String, Server>, toolset: &Toolset) {
        for (name, server) in servers {
            let Transport::Builtin(kind) = &server.transport else { continue };
            if kind.core().is_empty() || self.profiles.contains_key(name) {
                continue;
            }
            let core = kind.core().iter().map(|tool| ToolId::new(name, tool).as_str().to_owned()).collect();
            let toolset = Toolset { core, own: vec![OwnTool::ActivateSkill], ..toolset.clone() };
            let profile = Profile::Surface {
                surface: Surface::Toolset,
                servers: vec![name.clone()],
                callers: self.callers,
                toolset: Box::new(toolset),
            };
            self.profiles.insert(name.clone(), profile);
        }
    }
}

impl Default for Serve {
    fn default() -> Self {
        Self {
            surface: Surface::Route,
            callers: Callers::Strong,
            profiles: BTreeMap::new(),
            http: SocketAddr::from((Ipv4Addr::LOCALHOST, 8808)),
            token: None,
            tls: None,
            oauth: None,
            allowed_hosts: Vec::new(),
            body_bytes: 4 * 1024 * 1024,
            concurrency: 4096,
            client_concurrency: 1024,
            connections: 2048,
            compact: false,
            app: true,
            result_bytes: 64 * 1024,
        }
    }
}
