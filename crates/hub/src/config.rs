//! The settings file. `raw` is what the user wrote; [`Config`] is what it means, with nothing left to check.
//!
//! Every mistake in a file is reported at once, with its place; a file with a mistake yields no configuration.

mod mistake;
mod expand;
mod folders;
mod document;
mod off;
mod yaml;
mod raw;
mod check;
mod language;
mod services;
mod events;
mod server;
mod agent;
mod enrich;
mod toolset;
mod trust;
mod remote;
mod schedule;
mod serve;
mod resolve;
mod shown;
mod page;
pub mod edit;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toolyard_core::alias::{Alias, Phase};
use toolyard_core::catalog::consolidate::Declaration;
use toolyard_core::metadata::RateLimit;
use toolyard_core::thresholds::thresholds;
use toolyard_core::tool::Effect;
use toolyard_packs::Kind;

pub use agent::{Agent, Binding, ToolBudget};
pub(crate) use document::{dialect, read_bytes_within, sentence};
pub use document::{read_bytes, read_text};
pub use enrich::Enrich;
pub use events::{Collector, Events, LearningRules, Telemetry};
pub(crate) use expand::variable_for;
pub use folders::Folders;
pub use language::{LanguageModel, ModelApi};
pub use mistake::Mistake;
pub(crate) use mistake::nearest;
pub use off::Off;
pub(crate) use page::Page;
pub use raw::schema;
pub(crate) use remote::trusted;
pub use remote::{Tls, TokenIssuer};
pub use schedule::{Schedule, Times};
pub use serve::{Callers, Profile, Serve};
pub use services::{ImageModel, StudioServices};
pub use toolset::{Activating, OwnTool, Place, Skill, Toolset};
pub use trust::{Confinement, ScreeningMode, Trust};
pub(crate) use yaml::front_matter;

/// The name of the settings file.
pub const FILE_NAME: &str = "toolyard.json";

/// Returns the settings file to use: the one that was asked for, else that of the working folder,
/// else that of the user.
pub fn find(explicit: Option<&Path>, cwd: &Path, user_config_folder: &Path) -> Option<PathBuf> {
    // A file that was asked for is used even when it is missing, so that loading it says so.
    explicit.map(Path::to_owned).or_else(|| {
        [cwd, user_config_folder].into_iter().map(|folder| folder.join(FILE_NAME)).find(|file| file.is_file())
    })
}

/// Reads and resolves a settings file.
pub fn load(
    path: &Path,
    env: &dyn Fn(&str) -> Option<String>,
    folders: &Folders,
) -> Result<Config, Vec<Mistake>> {
    let whole_file = |message: String| vec![Mistake::whole_file(path, message, None)];
    let bytes = read_bytes(path).map_err(|error| whole_file(format!("cannot be read: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()].split(|byte| *byte == b'\n').count();
        whole_file(format!("is not UTF-8 text (line {line})"))
    })?;
    parse(&text, path, env, folders)
}

/// Resolves the text of a settings file, or says everything that is wrong with it.
pub fn parse(
    text: &str,
    path: &Path,
    env: &dyn Fn(&str) -> Option<String>,
    folders: &Folders,
) -> Result<Config, Vec<Mistake>> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = absolute.parent().unwrap_or(Path::new(""));
    let mut report = mistake::Report::new(path, text);
    let expander = expand::Expander { env, home: &folders.home, folder };
    let config = document::read(text, &expander, &mut report).map(|root| {
        check::check(schema(), &root, &mut report);
        resolve::resolve(&root, folders, folder, &mut report)
    });
    let mistakes = report.finish();
    match config {
        Some(config) if mistakes.is_empty() => Ok(config),
        Some(_) | None => Err(mistakes),
    }
}

/// Returns the configuration that is used when there is no file: the built-in servers.
pub fn default(folders: &Folders) -> Config {
    let builtin = |kind| Server {
        transport: Transport::Builtin(kind),
        lazy: true,
        idle_stop: None,
        limits: Limits::default(),
        services: StudioServices::default(),
        consolidate: None,
        trust: None,
        sandbox: None,
    };
    Config {
        servers: BTreeMap::from([
            ("notes".to_owned(), builtin(Kind::Notes { folder: folders.vault() })),
            ("time".to_owned(), builtin(Kind::Time)),
        ]),
        off: BTreeMap::new(),
        order: Vec::new(),
        routing: Routing::default(),
        tiers: Vec::new(),
        domains: Vec::new(),
        aliases: Vec::new(),
        alias_phase: Phase::default(),
        toolset: Toolset::default(),
        agent: Agent::default(),
        skills: BTreeMap::new(),
        skill_files: beside(&folders.config, SKILLS),
        policy: Policy::default(),
        audit: Audit::default(),
        events: Events::default(),
        learning: LearningRules::default(),
        telemetry: Telemetry::default(),
        serve: Serve::default(),
        store: Store { folder: folders.data.clone() },
        metadata: beside(&folders.config, METADATA),
        enrich: Enrich::new(folders.config.join(METADATA)),
        workflows: workflow_folders(&folders.config),
        schedules: BTreeMap::new(),
    }
}

/// The folder beside a settings file in which a person may write about tools.
pub(crate) const METADATA: &str = "metadata";

/// The setting that names workflows, and the folder beside a settings file in which a person may write them.
pub(crate) const WORKFLOWS: &str = "workflows";

/// The folder beside a settings file in which a person may write skills.
pub(crate) const SKILLS: &str = "skills";

/// Returns the folder of that name where there is one. Most people have none, which is no mistake.
fn beside(folder: &Path, name: &str) -> Vec<PathBuf> {
    Vec::from_iter(Some(folder.join(name)).filter(|it| it.is_dir()))
}

/// Returns the folders of workflows beside a settings file; of the same name, the first one's is used.
fn workflow_folders(folder: &Path) -> Vec<PathBuf> {
    [beside(folder, WORKFLOWS), beside(&folder.join("config"), WORKFLOWS)].concat()
}

/// Some editors begin a text with it; JSON does not know it.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// Everything a hub needs to know before it starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The upstream servers by name.
    pub servers: BTreeMap<String, Server>,
    /// Servers that lack an environment variable, by name.
    pub off: BTreeMap<String, Off>,
    /// Their names in the order of the settings: of two that have the same tool, the earlier is preferred.
    pub order: Vec<String>,
    /// How requests find their tools.
    pub routing: Routing,
    /// Tier of a tool by glob over `server__tool`, first match wins.
    pub tiers: Vec<(String, u8)>,
    /// Domain of a tool by glob over `server__tool`, first match wins.
    pub domains: Vec<(String, String)>,
    /// Old names of tools that the settings have.
    pub aliases: Vec<Alias>,
    /// The phase of old names that built-in servers bring along.
    pub alias_phase: Phase,
    /// What conversations are given.
    pub toolset: Toolset,
    /// How language models use the tools.
    pub agent: Agent,
    /// Skills of the settings themselves, by name.
    pub skills: BTreeMap<String, Skill>,
    /// Files, or folders of files, with skills of a person.
    pub skill_files: Vec<PathBuf>,
    /// What may be called.
    pub policy: Policy,
    /// What is written down about calls.
    pub audit: Audit,
    /// What is kept of decisions.
    pub events: Events,
    /// What is learnt from what people say about decisions.
    pub learning: LearningRules,
    /// Who is told what the hub does.
    pub telemetry: Telemetry,
    /// How clients reach the hub.
    pub serve: Serve,
    /// Where the hub keeps what it learnt.
    pub store: Store,
    /// Files, or folders of files, in which a person wrote about tools.
    pub metadata: Vec<PathBuf>,
    /// How a language model writes about tools that nobody wrote about.
    pub enrich: Enrich,
    /// Files, or folders of files, with workflows of a person.
    pub workflows: Vec<PathBuf>,
    /// Workflows that run by themselves, by the names of their schedules.
    pub schedules: BTreeMap<String, Schedule>,
}

impl Config {
    /// Returns the servers in the order of the settings; those that it does not name come last.
    pub fn ordered(&self) -> Vec<(&String, &Server)> {
        let place = |name: &String| self.order.iter().position(|it| it == name).unwrap_or(usize::MAX);
        let mut servers: Vec<(&String, &Server)> = self.servers.iter().collect();
        servers.sort_by_key(|(name, _)| place(name));
        servers
    }

    /// Returns what conversations are given at a profile, or without one.
    pub fn toolset_of(&self, profile: Option<&str>) -> &Toolset {
        match profile.and_then(|name| self.serve.profiles.get(name)) {
            Some(Profile::Surface { toolset, .. }) => toolset,
            Some(Profile::Transparent { .. }) | None => &self.toolset,
        }
    }
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
    /// What the built-in `studio` may use outside.
    pub services: StudioServices,
    /// The families of tools that are declared, where families are presented as one tool each.
    pub consolidate: Option<Vec<Declaration>>,
    /// What happens to tools that nobody has seen before, where the server has its own word on it.
    pub trust: Option<Trust>,
    /// What its program may use of this machine; everything when `None`.
    pub sandbox: Option<Confinement>,
}

/// How to reach a server.
#[derive(Clone, PartialEq)]
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
#[derive(Clone, PartialEq)]
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
    /// Time per call; progress begins it anew.
    pub call: Duration,
    /// Time of one call in all, however much progress it reports.
    pub call_total: Duration,
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
    /// Calls under way at the same time.
    pub concurrency: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(30),
            call: Duration::from_secs(60),
            call_total: Duration::from_secs(600),
            message_bytes: 16 * 1024 * 1024,
            nesting: 127,
            tools: 5000,
            pages: 100,
            name_chars: 128,
            description_chars: 16_384,
            concurrency: 32,
        }
    }
}

/// How requests find their tools (the `routing` block).
#[derive(Clone, Debug, PartialEq)]
pub struct Routing {
    /// How tools are ranked.
    pub profile: Ranking,
    /// Asks instead of acting below this confidence.
    pub confidence_threshold: f64,
    /// How many tools are considered at most.
    pub max_candidates: usize,
    /// Whether one request may become several calls.
    pub enable_multi_tool: bool,
    /// Whether decisions are remembered.
    pub enable_caching: bool,
    /// How many decisions are remembered.
    pub cache_size: usize,
    /// How long a decision is remembered.
    pub cache_ttl: Duration,
    /// Finding tools by meaning.
    pub semantic_search: SemanticSearch,
    /// What finds arguments that words alone did not give; the person is asked when `None`.
    pub adviser: Option<LanguageModel>,
    /// A tool that has a say in how tools rank.
    pub ranker: Option<OwnRanker>,
    /// Asking back.
    pub clarification: Clarification,
    /// Time budgets and measurements.
    pub performance: Performance,
}

impl Default for Routing {
    fn default() -> Self {
        Self {
            profile: Ranking::Fitted,
            confidence_threshold: thresholds().decision.confidence,
            max_candidates: 5,
            enable_multi_tool: true,
            enable_caching: true,
            cache_size: 1000,
            cache_ttl: Duration::from_secs(3600),
            semantic_search: SemanticSearch::default(),
            adviser: None,
            ranker: None,
            clarification: Clarification::default(),
            performance: Performance::default(),
        }
    }
}

/// A tool that says how well others fit a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnRanker {
    /// The tool, as `server__tool`.
    pub tool: String,
    /// How long it is waited for.
    pub timeout: Duration,
}

/// How tools are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranking {
    /// By all signals, with weights that were fitted on requests.
    Fitted,
    /// By category, keywords, use case and availability: 40, 30, 20 and 10.
    Seed,
}

/// Finding tools by meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct SemanticSearch {
    /// Whether meaning is used beside words.
    pub enabled: bool,
    /// What compares meanings.
    pub model: Model,
    /// How alike request and tool must be, as a share of how alike the nearest tool is; otherwise the tool
    /// gets no credit for its meaning. All get it when `None`.
    pub similarity_threshold: Option<f64>,
}

impl Default for SemanticSearch {
    fn default() -> Self {
        Self { enabled: true, model: Model::Builtin, similarity_threshold: None }
    }
}

/// What compares meanings.
#[derive(Clone, PartialEq, Eq)]
pub enum Model {
    /// The encoder inside the program.
    Builtin,
    /// A folder with a BERT-type sentence encoder.
    Folder(PathBuf),
    /// A service that computes vectors.
    Endpoint {
        /// Where texts are sent.
        url: String,
        /// The model that is asked for.
        name: String,
        /// The key that is shown.
        key: Option<String>,
    },
}

/// Asking back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clarification {
    /// Whether the hub asks when it is not sure.
    pub enabled: bool,
    /// How many alternatives a question shows.
    pub show_alternatives: usize,
    /// Whether the reasons are given.
    pub explain_reasoning: bool,
}

impl Default for Clarification {
    fn default() -> Self {
        Self { enabled: true, show_alternatives: 3, explain_reasoning: false }
    }
}

/// Time budgets and measurements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Performance {
    /// How long choosing a tool may take.
    pub max_routing_time: Duration,
    /// How long a call may take where its server says nothing else; already part of every server's limits.
    pub timeout: Option<Duration>,
    /// Whether measurements are kept.
    pub enable_metrics: bool,
}

impl Default for Performance {
    fn default() -> Self {
        Self { max_routing_time: Duration::from_millis(100), timeout: None, enable_metrics: true }
    }
}

/// What may be called.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    /// Globs over `server__tool` that are refused.
    pub deny: Vec<String>,
    /// When not empty, only these globs are allowed.
    pub allow: Vec<String>,
    /// How often tools may be called, by glob over `server__tool`.
    pub rate_limits: Vec<(String, RateLimit)>,
    /// Whether every call that does more than read is refused.
    pub read_only: bool,
    /// What happens before a call; the first that fits decides.
    pub rules: Vec<Rule>,
    /// What happens to tools that nobody has seen before.
    pub trust: Trust,
    /// What happens to texts that look like instructions to a model.
    pub screening: ScreeningMode,
}

/// What happens before calls of some tools. An empty list fits everything.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Globs over `server__tool`.
    pub tools: Vec<String>,
    /// Servers by name.
    pub servers: Vec<String>,
    /// What the call does to the world.
    pub effects: Vec<Effect>,
    /// What happens.
    pub then: Stance,
}

/// What happens before a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stance {
    /// It runs.
    Allow,
    /// It runs when it was confirmed.
    Ask,
    /// It is refused.
    Deny,
}

/// What is written down about calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// Whether calls are written down.
    pub enabled: bool,
    /// Whether the values of their arguments are.
    pub values: bool,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Files that are kept.
    pub files: usize,
}

impl Default for Audit {
    fn default() -> Self {
        Self { enabled: true, values: false, file_bytes: 8 * 1024 * 1024, files: 4 }
    }
}

/// Which tools a client sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// Every tool for a client that is known to bear them, else [`Surface::Route`].
    Auto,
    /// One tool that takes plain words.
    Route,
    /// A small set that fits the session.
    Toolset,
    /// `find_tools`, `describe_tool`, `call_tool`.
    Search,
    /// Every tool as `server__tool`.
    All,
}

/// Where the hub keeps what it learnt.
#[derive(Clone, Debug, PartialEq)]
pub struct Store {
    /// The folder of the database, logs and tokens.
    pub folder: PathBuf,
}
