//! The settings file, resolved: what the user's words mean, with nothing left to check.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use toolyard_packs::Kind;

/// Everything a hub needs to know before it starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The upstream servers by name.
    pub servers: BTreeMap<String, Server>,
    /// How requests find their tools.
    pub routing: Routing,
    /// Tier of a tool by glob over `server__tool`, first match wins.
    pub tiers: Vec<(String, u8)>,
    /// Skills by name.
    pub skills: BTreeMap<String, Skill>,
    /// What may be called.
    pub policy: Policy,
    /// How clients reach the hub.
    pub serve: Serve,
    /// Where the hub keeps what it learnt.
    pub store: Store,
}

/// One upstream server.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// How to reach it.
    pub transport: Transport,
    /// Whether it starts on first use and not with the hub.
    pub lazy: bool,
    /// Stops it again after this long without a call.
    pub idle_stop: Option<Duration>,
    /// What it may cost us.
    pub limits: Limits,
}

/// How to reach a server.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// A child process that speaks over its standard streams.
    Stdio {
        /// Program, looked up on PATH.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables added to the scrubbed environment.
        env: BTreeMap<String, String>,
        /// Folder it runs in.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP; falls back to the older HTTP+SSE transport when the server knows only that.
    Http {
        /// The endpoint.
        url: String,
        /// Headers added to every request.
        headers: BTreeMap<String, String>,
        /// How to authorise.
        auth: Auth,
    },
    /// The HTTP+SSE transport of 2024-11-05, asked for by name.
    Sse {
        /// The endpoint of the event stream.
        url: String,
        /// Headers added to every request.
        headers: BTreeMap<String, String>,
        /// How to authorise.
        auth: Auth,
    },
    /// A server inside the hub.
    Builtin(Kind),
}

/// How requests to an HTTP server are authorised.
#[derive(Clone, Debug, PartialEq)]
pub enum Auth {
    /// Only by the configured headers, or OAuth when the server answers 401.
    Automatic {
        /// A client id registered by hand, when the authorization server has no other way.
        client_id: Option<String>,
        /// Its secret, for confidential clients.
        client_secret: Option<String>,
        /// Scopes to ask for instead of those that the server names.
        scopes: Vec<String>,
    },
    /// Never tries OAuth.
    Off,
}

/// What one server may cost us. Each limit has a clear error.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Time until it has answered the handshake and listed its tools.
    pub start: Duration,
    /// Time per call; progress extends it.
    pub call: Duration,
    /// Bytes of one message.
    pub message_bytes: usize,
    /// Levels of nesting in one message.
    pub nesting: usize,
    /// Tools of one server.
    pub tools: usize,
    /// Pages of one listing.
    pub pages: usize,
    /// Characters of a tool's name.
    pub name_chars: usize,
    /// Characters of a tool's description.
    pub description_chars: usize,
}

/// How requests find their tools (the `routing` block).
#[derive(Clone, Debug, PartialEq)]
pub struct Routing {
    /// The block as it was written, checked against its schema.
    pub block: serde_json::Value,
}

/// A set of tools with instructions, loaded on demand.
#[derive(Clone, Debug, PartialEq)]
pub struct Skill {
    /// When to use it.
    pub when: String,
    /// What a model is told when it activates the skill.
    pub instructions: String,
    /// Tools as `server__tool`.
    pub tools: Vec<String>,
}

/// What may be called.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Globs over `server__tool` that are refused.
    pub deny: Vec<String>,
    /// When not empty, only these globs are allowed.
    pub allow: Vec<String>,
    /// Calls per minute, by glob over `server__tool`.
    pub rate_limits: Vec<(String, u32)>,
}

/// Which tools a client sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// One tool that takes plain words.
    Route,
    /// A small set that fits the session.
    Toolset,
    /// `find_tools`, `describe_tool`, `call_tool`.
    Search,
    /// Every tool as `server__tool`.
    All,
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
    },
    /// One upstream passed through unchanged, without prefix.
    Transparent {
        /// The upstream.
        server: String,
    },
}

/// How clients reach the hub.
#[derive(Clone, Debug, PartialEq)]
pub struct Serve {
    /// What is listed at `/mcp` and over stdio; `None` lets what is known of the client decide.
    pub surface: Option<Surface>,
    /// Views at `/mcp/<name>`.
    pub profiles: BTreeMap<String, Profile>,
    /// Where the HTTP server listens.
    pub http: SocketAddr,
    /// The bearer token that HTTP clients must show; required unless bound to loopback.
    pub token: Option<String>,
    /// Further values of Host and Origin that are accepted, besides loopback.
    pub allowed_hosts: Vec<String>,
    /// Bytes of one request body.
    pub body_bytes: usize,
    /// Requests in flight before new ones are shed with 503.
    pub concurrency: usize,
    /// Shorter schemas and texts in `tools/list`.
    pub compact: bool,
}

/// Where the hub keeps what it learnt.
#[derive(Clone, Debug, PartialEq)]
pub struct Store {
    /// The folder of the database, logs and tokens.
    pub folder: PathBuf,
}
