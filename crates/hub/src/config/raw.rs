//! The settings file as it is written. The schema that editors use is made from these types,
//! and their comments are the help that editors show.

mod agent;
mod alias;
mod consolidate;
mod events;
mod limits;
mod metadata;
mod policy;
mod profile;
mod remote;
mod sandbox;
mod schedule;
mod services;
mod toolset;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) use agent::{RawAgent, RawBinding, RawToolBudget};
pub(super) use alias::{RawAlias, RawPhase, RawReplacement};
pub(super) use consolidate::RawConsolidate;
pub(super) use events::{RawCollector, RawEvents, RawLearning, RawTelemetry};
pub(super) use limits::RawLimits;
pub(super) use metadata::{RawEnrich, RawMetadata};
pub(super) use policy::RawServerTrust;
pub(super) use policy::{
    RawAudit, RawCallsPerPeriod, RawEffect, RawEffects, RawNames, RawPolicy, RawRateLimit, RawRule,
    RawScreening, RawStance, RawTrust,
};
pub(super) use profile::RawProfile;
pub(super) use remote::{RawTls, RawTokenIssuer};
pub(super) use sandbox::RawSandbox;
pub(super) use schedule::{RawDay, RawSchedule};
pub(super) use services::RawServices;
pub(super) use toolset::{RawBudget, RawOwnTool, RawParameters, RawSkill, RawSkills, RawToolset, Tier};

/// Returns the JSON Schema of `toolyard.json`.
pub fn schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> =
        LazyLock::new(|| SchemaSettings::draft07().into_generator().into_root_schema_for::<Raw>().to_value());
    &SCHEMA
}

/// The settings of Toolyard, one plug for every tool.
#[derive(JsonSchema)]
#[schemars(title = "toolyard.json", rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used: the parts are read one by one")]
struct Raw {
    /// The JSON Schema of this file, for editors.
    #[schemars(rename = "$schema")]
    schema: Option<String>,
    /// The MCP servers by name, in the form that Claude Desktop, Cursor and LM Studio use.
    mcp_servers: Option<BTreeMap<String, RawServer>>,
    /// The MCP servers by name, under the key that VS Code uses; the same as `mcpServers`.
    servers: Option<BTreeMap<String, RawServer>>,
    /// Accepted as VS Code writes it; not used, because a hub cannot ask for input when it starts.
    inputs: Option<Value>,
    /// How requests find their tools.
    routing: Option<RawRouting>,
    /// Tier of tools: 0 essential, 1 utility, 2 fallback. The key is a server, a tool as
    /// `server__tool`, or a glob such as `browser__*`; the first key that fits wins.
    tiers: Option<BTreeMap<String, Tier>>,
    /// Domain of tools. The key is a server, a tool as `server__tool`, or a glob; the first key that fits wins.
    domains: Option<BTreeMap<String, String>>,
    /// Sets of tools with instructions, loaded on demand, by name; or files and folders of `.md` files with them,
    /// relative to the folder of this file. The folder `skills` beside this file is read unless files are named.
    skills: Option<RawSkills>,
    /// Old names of tools, and what is called instead. The key is the old name, alone or as `server__tool`.
    aliases: Option<BTreeMap<String, RawAlias>>,
    /// Whether calls of old names still work, where an alias does not say; "warn" by default.
    alias_phase: Option<RawPhase>,
    /// What conversations are given on the surface `toolset`.
    toolset: Option<RawToolset>,
    /// How language models use the tools, in `toolyard chat` and `toolyard proxy-llm`.
    agent: Option<RawAgent>,
    /// What may be called.
    policy: Option<RawPolicy>,
    /// What is written down about calls.
    audit: Option<RawAudit>,
    /// What is kept of decisions.
    events: Option<RawEvents>,
    /// What is learnt from corrections.
    learning: Option<RawLearning>,
    /// Who is told what the hub does.
    telemetry: Option<RawTelemetry>,
    /// How clients reach the hub.
    serve: Option<RawServe>,
    /// Where the hub keeps what it learnt.
    store: Option<RawStore>,
    /// Files, or folders of `.json` files, in which you wrote about tools; relative to the folder of this
    /// file. The folder `metadata` beside this file by default. Or an object that says who else writes about them.
    metadata: Option<RawMetadata>,
    /// Files, or folders of `.json` files, with workflows; relative to the folder of this file. The folders
    /// `workflows` and `config/workflows` beside this file by default.
    workflows: Option<Vec<String>>,
    /// Workflows that a serving hub runs by itself, by names of your choice.
    schedules: Option<BTreeMap<String, RawSchedule>>,
}

/// One MCP server: a command to run, a URL to connect to, or a built-in.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields, transform = accept_server_keys_of_clients)]
#[schemars(rename = "Server")]
pub(super) struct RawServer {
    /// How to reach the server; usually clear from `command` or `url`.
    pub(super) r#type: Option<RawType>,
    /// The same as `type`.
    pub(super) transport: Option<RawType>,
    /// The program to run: a name on PATH, or a path (relative to the folder of this file).
    #[schemars(length(min = 1))]
    pub(super) command: Option<String>,
    /// The arguments of the program.
    pub(super) args: Option<Vec<String>>,
    /// Environment variables for the program.
    #[serde(default)]
    #[schemars(schema_with = "env_values")]
    pub(super) env: Option<BTreeMap<String, Value>>,
    /// A file of `NAME=value` lines with further environment variables; `env` wins.
    pub(super) env_file: Option<String>,
    /// The folder the program runs in, relative to the folder of this file.
    pub(super) cwd: Option<String>,
    /// What the program may use of this machine; everything by default.
    pub(super) sandbox: Option<RawSandbox>,
    /// The endpoint of a server that speaks HTTP.
    #[schemars(length(min = 1))]
    pub(super) url: Option<String>,
    /// The same as `url`, as Windsurf writes it.
    #[schemars(length(min = 1))]
    pub(super) server_url: Option<String>,
    /// The same as `url`, as Gemini CLI writes it.
    #[schemars(length(min = 1))]
    pub(super) http_url: Option<String>,
    /// Headers added to every HTTP request.
    pub(super) headers: Option<BTreeMap<String, String>>,
    /// "off", or the OAuth client to use when the server asks for authorisation.
    pub(super) auth: Option<RawAuth>,
    /// The same as `auth`, as Claude Code and Gemini CLI write it.
    pub(super) oauth: Option<RawClient>,
    /// A server inside the hub, instead of `command` or `url`.
    pub(super) builtin: Option<RawBuiltin>,
    /// The folder in which a built-in server keeps what it has, relative to the folder of this file.
    pub(super) folder: Option<String>,
    /// What a built-in `entities` keeps: declarations of entities, or a file with them.
    pub(super) entities: Option<Value>,
    /// The network of the built-in `home`: "ws://HOST:PORT" of a Z-Wave JS server, or "mqtt://HOST/PREFIX" of its
    /// gateway. A simulated one by default.
    #[schemars(length(min = 1))]
    pub(super) network: Option<String>,
    /// What the built-in `studio` may use outside.
    pub(super) services: Option<RawServices>,
    /// Leaves the server out.
    pub(super) disabled: Option<bool>,
    /// Leaves the server out when false.
    pub(super) enabled: Option<bool>,
    /// Starts the server on first use (the default) and not with the hub.
    pub(super) lazy: Option<bool>,
    /// Stops the server after this long without a call: seconds, or text such as "90s", "5m", "1h".
    pub(super) idle_stop: Option<RawSpan>,
    /// The time a call may take, in milliseconds; `limits.callMs` can be shorter than a second.
    #[schemars(range(min = 1000, max = 86_400_000))]
    pub(super) timeout: Option<u64>,
    /// What the server may cost.
    pub(super) limits: Option<RawLimits>,
    /// Presents families of tools as one each, on the surfaces `all` and `toolset`: true, or families that you declare.
    /// Off by default.
    pub(super) consolidate: Option<RawConsolidate>,
    /// What happens to tools of this server that nobody has seen before; `policy.trust` by default. A switch, as Gemini
    /// CLI writes it, is accepted and not used.
    pub(super) trust: Option<RawServerTrust>,
    /// Tools of this server that may not be called, by the server's own names.
    pub(super) disabled_tools: Option<Vec<String>>,
    /// The same as `disabledTools`, as Gemini CLI writes it.
    pub(super) exclude_tools: Option<Vec<String>>,
}

/// Keys that MCP clients write into a server, and that mean nothing to a hub.
const SERVER_KEYS_OF_CLIENTS: [(&str, &str); 26] = [
    ("alwaysAllow", "Cline, Roo Code and Windsurf: tools that need no confirmation."),
    ("alwaysLoad", "Claude Code: whether the tools are loaded up front."),
    ("authProviderType", "Gemini CLI: where credentials come from."),
    ("autoApprove", "Cline and Kiro: tools that need no confirmation."),
    ("autoStart", "Whether an editor starts the server by itself."),
    ("description", "What the server is for."),
    ("dev", "VS Code: restarts the server while it is developed."),
    ("enabledTools", "Tools that a client shows; use `policy` here."),
    ("extension", "Gemini CLI: the extension that brought the server."),
    ("extensionName", "Gemini CLI: the extension that brought the server."),
    ("fromGalleryId", "Cursor and Trae: where the server was installed from."),
    ("gallery", "VS Code: where the server was installed from."),
    ("headersHelper", "Claude Code: a script that prints headers; write them in `headers` here."),
    ("icon", "A picture for the server."),
    ("id", "A client's own number for the server."),
    ("includeTools", "Gemini CLI: tools that the client shows; use `policy` here."),
    ("name", "A display name."),
    ("provider", "Who made the server."),
    ("registry", "Windsurf: where the server was installed from."),
    ("remote", "Zed: runs the server on the remote machine."),
    ("sandboxEnabled", "VS Code: whether the server's process is limited."),
    ("settings", "Zed: settings of an extension."),
    ("source", "Zed: whether the server is custom or from an extension."),
    ("targetAudience", "Gemini CLI: for service accounts."),
    ("tools", "Copilot and Codex: tools that the client shows or asks about; use `policy` here."),
    ("version", "VS Code: the installed version."),
];

/// Keys that MCP clients write into the OAuth settings of a server.
const OAUTH_KEYS_OF_CLIENTS: [(&str, &str); 10] = [
    ("audiences", "Gemini CLI: audiences of the token."),
    ("authorizationUrl", "Gemini CLI: found by the hub itself."),
    ("authServerMetadataUrl", "Claude Code: found by the hub itself."),
    ("callbackPort", "Claude Code: the port of its own redirect."),
    ("issuer", "Gemini CLI: found by the hub itself."),
    ("redirectUri", "Gemini CLI: its own redirect."),
    ("registrationUrl", "Gemini CLI: found by the hub itself."),
    ("resource", "Codex: the hub uses the URL of the server."),
    ("tokenParamName", "Gemini CLI: a token in the URL."),
    ("tokenUrl", "Gemini CLI: found by the hub itself."),
];

fn accept_server_keys_of_clients(schema: &mut Schema) {
    accept(schema, &SERVER_KEYS_OF_CLIENTS);
}

fn accept_oauth_keys_of_clients(schema: &mut Schema) {
    accept(schema, &OAUTH_KEYS_OF_CLIENTS);
}

fn accept(schema: &mut Schema, keys: &[(&str, &str)]) {
    let properties = schema.ensure_object().entry("properties").or_insert_with(|| json!({}));
    for (key, about) in keys {
        properties[key] = json!({ "description": format!("{about} Accepted and not used.") });
    }
}

/// Clients accept numbers and switches as values, and `null` for a variable to leave out.
fn env_values(_: &mut schemars::SchemaGenerator) -> Schema {
    schemars::json_schema!({
        "type": ["object", "null"],
        "additionalProperties": { "type": ["string", "number", "boolean", "null"] }
    })
}

/// How a server is reached.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Type")]
pub(super) enum RawType {
    Stdio,
    Local,
    Http,
    StreamableHttp,
    #[serde(rename = "streamableHttp")]
    StreamableHttpInCamelCase,
    #[serde(rename = "streamable_http")]
    StreamableHttpInSnakeCase,
    Sse,
    Builtin,
}

/// The built-in servers.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Builtin")]
pub(super) enum RawBuiltin {
    Time,
    Notes,
    Desk,
    Studio,
    Home,
    Entities,
}

/// How HTTP requests are authorised.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Auth")]
pub(super) enum RawAuth {
    Word(RawAuthWord),
    Client(RawClient),
}

/// Switches OAuth.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "AuthWord")]
pub(super) enum RawAuthWord {
    Off,
    Auto,
}

/// An OAuth client that was registered by hand.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields, transform = accept_oauth_keys_of_clients)]
#[schemars(rename = "Client")]
pub(super) struct RawClient {
    /// Never tries OAuth when false.
    pub(super) enabled: Option<bool>,
    /// The client id.
    pub(super) client_id: Option<String>,
    /// The client secret, for confidential clients.
    pub(super) client_secret: Option<String>,
    /// The client id, as Cursor writes it.
    #[serde(rename = "CLIENT_ID")]
    pub(super) cursor_client_id: Option<String>,
    /// The client secret, as Cursor writes it.
    #[serde(rename = "CLIENT_SECRET")]
    pub(super) cursor_client_secret: Option<String>,
    /// The scopes to ask for instead of those that the server names.
    pub(super) scopes: Option<RawScopes>,
}

/// Scopes as a list, or in one string with spaces.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Scopes")]
pub(super) enum RawScopes {
    List(Vec<String>),
    Spaced(String),
}

/// Seconds, or text such as "5m".
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Span")]
pub(super) enum RawSpan {
    Seconds(#[schemars(range(min = 1, max = 31_536_000))] u64),
    Text(String),
}

/// How requests find their tools.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Routing")]
pub(super) struct RawRouting {
    /// How tools are ranked; "fitted" by default.
    pub(super) profile: Option<RawRanking>,
    /// Asks instead of acting below this confidence; 0.7 by default.
    #[schemars(range(min = 0, max = 1))]
    pub(super) confidence_threshold: Option<f64>,
    /// How many tools are considered at most; 5 by default.
    #[schemars(range(min = 1, max = 100))]
    pub(super) max_candidates: Option<usize>,
    /// Whether one request may become several calls; true by default.
    pub(super) enable_multi_tool: Option<bool>,
    /// Whether decisions are remembered; true by default.
    pub(super) enable_caching: Option<bool>,
    /// How many decisions are remembered; 1000 by default.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub(super) cache_size: Option<usize>,
    /// How long a decision is remembered, in seconds; 3600 by default.
    #[serde(rename = "cacheTTL")]
    #[schemars(range(min = 0, max = 31_536_000))]
    pub(super) cache_ttl: Option<u64>,
    /// Finding tools by meaning.
    pub(super) semantic_search: Option<RawSemanticSearch>,
    /// A language model that finds arguments which words alone did not give.
    pub(super) arguments: Option<RawArguments>,
    /// A tool of one of your servers that has a say in how tools rank.
    pub(super) ranker: Option<RawOwnRanker>,
    /// Asking back.
    pub(super) clarification: Option<RawClarification>,
    /// Time budgets and measurements.
    pub(super) performance: Option<RawPerformance>,
}

/// `fitted`: by all signals, with fitted weights; `seed`: by category 40, keywords 30, use case 20 and
/// availability 10.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Ranking")]
pub(super) enum RawRanking {
    Fitted,
    Seed,
}

/// Finding tools by meaning.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "SemanticSearch")]
pub(super) struct RawSemanticSearch {
    /// Whether meaning is used beside words; true by default.
    pub(super) enabled: Option<bool>,
    /// "builtin" or "all-MiniLM-L6-v2" for the model inside, a folder with weights, "ollama:MODEL", or the URL
    /// of an embeddings endpoint with "#MODEL" at its end.
    #[schemars(length(min = 1))]
    pub(super) model: Option<String>,
    /// The key that an embeddings endpoint wants to see.
    #[schemars(length(min = 1))]
    pub(super) api_key: Option<String>,
    /// How alike request and tool must be, as a share of how alike the nearest tool is; all count by default.
    #[schemars(range(min = 0, max = 1))]
    pub(super) similarity_threshold: Option<f64>,
}

/// A tool of one of your servers that says how well others fit a request.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "OwnRanker")]
pub(super) struct RawOwnRanker {
    /// The tool, as `server__tool`.
    #[schemars(length(min = 1))]
    pub(super) tool: String,
    /// Milliseconds that each request waits for it; 500 by default.
    #[schemars(range(min = 1, max = 60_000))]
    pub(super) timeout_ms: Option<u64>,
}

/// A language model that finds arguments which words alone did not give.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Arguments")]
pub(super) struct RawArguments {
    /// "ollama:MODEL", or the URL of a chat endpoint with "#MODEL" at its end; none by default.
    #[schemars(length(min = 1))]
    pub(super) model: Option<String>,
    /// The key that the chat endpoint wants to see.
    #[schemars(length(min = 1))]
    pub(super) api_key: Option<String>,
    /// Milliseconds that the model may take before the person is asked; 10000 by default.
    #[schemars(range(min = 1, max = 600_000))]
    pub(super) timeout_ms: Option<u64>,
}

/// Asking back.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Clarification")]
pub(super) struct RawClarification {
    /// Whether the hub asks when it is not sure; true by default.
    pub(super) enabled: Option<bool>,
    /// How many alternatives a question shows; 3 by default.
    #[schemars(range(min = 0, max = 20))]
    pub(super) show_alternatives: Option<usize>,
    /// Whether the reasons are given; true by default.
    pub(super) explain_reasoning: Option<bool>,
}

/// Time budgets and measurements.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Performance")]
pub(super) struct RawPerformance {
    /// Milliseconds that choosing a tool may take; 100 by default.
    #[schemars(range(min = 1, max = 60_000))]
    pub(super) max_routing_time: Option<u64>,
    /// Milliseconds that a call may take where its server says nothing else; 60000 by default.
    #[schemars(range(min = 1, max = 86_400_000))]
    pub(super) timeout_ms: Option<u64>,
    /// Whether measurements are kept; true by default.
    pub(super) enable_metrics: Option<bool>,
}

/// How clients reach the hub.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Serve")]
pub(super) struct RawServe {
    /// Which tools a client sees; "route" by default.
    pub(super) surface: Option<RawSurface>,
    /// Who calls: `strong` models are asked for an action and its values, `small` ones to pass a person's words on as they
    /// are; `strong` by default.
    pub(super) callers: Option<RawCallers>,
    /// Views at `/mcp/<name>`, by name.
    pub(super) profiles: Option<BTreeMap<String, RawProfile>>,
    /// The address of the HTTP server; "127.0.0.1:8808" by default.
    #[schemars(length(min = 1))]
    pub(super) http: Option<String>,
    /// The bearer token that HTTP clients must show; required unless `http` is a loopback address.
    pub(super) token: Option<String>,
    /// The certificate with which HTTPS is served; plain HTTP without.
    pub(super) tls: Option<RawTls>,
    /// The OAuth authorization server whose tokens are taken.
    pub(super) oauth: Option<RawTokenIssuer>,
    /// Further values of the Host and Origin headers that are accepted.
    pub(super) allowed_hosts: Option<Vec<String>>,
    /// Bytes of one message that a client sends; 4194304 by default. Over stdio never less than 1048576.
    #[schemars(range(min = 1024, max = 1_073_741_824))]
    pub(super) body_bytes: Option<usize>,
    /// Requests in flight at once, of all clients; 4096 by default. More wait, each client in its turn.
    #[schemars(range(min = 1, max = 65_536))]
    pub(super) concurrency: Option<usize>,
    /// Requests in flight at once, of one client; 1024 by default. More wait, and 503 is the answer to still more.
    #[schemars(range(min = 1, max = 65_536))]
    pub(super) client_concurrency: Option<usize>,
    /// Connections that are open at once; 2048 by default. One that does nothing makes room for another.
    #[schemars(range(min = 1, max = 65_536))]
    pub(super) connections: Option<usize>,
    /// Shorter schemas and texts in tool listings.
    pub(super) compact: Option<bool>,
    /// Whether the hub's own page shows what `smart_route` and `call_tool` answer, in clients that show pages; true by
    /// default.
    pub(super) app: Option<bool>,
    /// Bytes of a result that `smart_route` and `call_tool` return at once; 65536 by default.
    #[schemars(range(min = 1024, max = 1_073_741_824))]
    pub(super) result_bytes: Option<usize>,
}

/// `strong`: models that say an action in a few words and hand over every value; `small`: models that pass a person's words
/// on as they are.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Callers")]
pub(super) enum RawCallers {
    Strong,
    Small,
}

/// `route`: one tool that takes plain words; `toolset`: a small set that fits the session;
/// `search`: find, describe and call; `all`: every tool; `auto`: `all` for a client that is known to bear
/// so many, else `route`.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Surface")]
pub(super) enum RawSurface {
    Route,
    Toolset,
    Search,
    All,
    Auto,
}

/// Where the hub keeps what it learnt.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Store")]
pub(super) struct RawStore {
    /// The folder of the database, logs and tokens, relative to the folder of this file.
    #[schemars(length(min = 1))]
    pub(super) folder: Option<String>,
}
