//! The settings file as a whole: what was written becomes what it means.

mod agent;
mod alias;
mod metadata;
mod schedule;
mod toolset;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use toolyard_core::metadata::{MINUTE, RateLimit};
use toolyard_core::tool::Effect;

use super::check::shortened;
use super::document::{Member, Node, Value};
use super::events;
use super::mistake::Report;
use super::raw::{
    RawAgent, RawArguments, RawAudit, RawCallers, RawCallsPerPeriod, RawClarification, RawEffect, RawEffects,
    RawNames, RawOwnRanker, RawPerformance, RawPolicy, RawProfile, RawRanking, RawRateLimit, RawRouting,
    RawRule, RawScreening, RawSemanticSearch, RawServe, RawServer, RawSkill, RawSkills, RawStance, RawStore,
    RawSurface, RawTls, RawTokenIssuer, RawToolset, Tier,
};
use super::remote::Tls;
use super::server::{self, Surroundings, resolve_path};
use super::{
    Audit, Callers, Clarification, Config, Folders, LanguageModel, Model, Off, OwnRanker, Performance,
    Policy, Profile, Ranking, Routing, Rule, SKILLS, ScreeningMode, SemanticSearch, Serve, Server, Skill,
    Stance, Store, Surface, Toolset, WORKFLOWS, beside, trust, workflow_folders,
};

/// The names of the encoder inside the program. It is a fine-tune of the one whose name people write.
const BUILTIN_MODELS: [&str; 3] = ["builtin", "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"];
/// How long a model may take to find arguments before the person is asked.
const ADVISING: Duration = Duration::from_secs(10);
/// How long a tool may take that has a say in how others rank.
const RANKING: Duration = Duration::from_millis(500);
/// Where Ollama listens unless somebody changed it.
const OLLAMA: &str = "http://127.0.0.1:11434/api/embed";

/// Turns a tree that was compared with the schema into a configuration, and reports what is wrong with it.
///
/// The result is only of use when nothing was reported.
pub(super) fn resolve(root: &Node, folders: &Folders, folder: &Path, report: &mut Report<'_>) -> Config {
    let names = servers_of(root).map(|member| member.key.as_str()).collect();
    let mut resolving = Resolving { root, folders, folder, report, names, disabled: BTreeSet::new() };
    let routing = resolving.routing();
    let Servers { servers, off, denied } = resolving.servers(routing.performance.timeout);
    let mut policy = resolving.policy();
    policy.deny.extend(denied);
    let raw: RawToolset = resolving.section("toolset");
    let toolset =
        toolset::resolve(raw, Toolset::default(), resolving.at(&["toolset", "model"]), resolving.report);
    let raw: RawAgent = resolving.section("agent");
    let agent = agent::resolve(raw, resolving.at(&["agent", "model"]), resolving.report);
    let (skills, skill_files) = resolving.skills();
    let (aliases, alias_phase) = resolving.aliases();
    let (metadata, enrich) = resolving.metadata();
    let mut serve = resolving.serve(&toolset);
    serve.add_workspaces(&servers, &toolset);
    Config {
        tiers: resolving.tiers(),
        domains: resolving.domains(),
        aliases,
        alias_phase,
        skills,
        skill_files,
        policy,
        audit: audit(&resolving.section("audit")),
        events: events::events(&resolving.section("events")),
        learning: events::learning(&resolving.section("learning")),
        telemetry: events::telemetry(resolving.section("telemetry")),
        serve,
        toolset,
        agent,
        store: resolving.store(),
        metadata,
        enrich,
        workflows: resolving.workflows(),
        schedules: resolving.schedules(),
        servers,
        off,
        order: servers_of(root).map(|member| member.key.clone()).collect(),
        routing,
    }
}

/// What is written about servers.
#[derive(Default)]
struct Servers {
    servers: BTreeMap<String, Server>,
    /// Those that lack a variable.
    off: BTreeMap<String, Off>,
    /// Their tools that may not be called.
    denied: Vec<String>,
}

struct Resolving<'r, 'n, 'a> {
    root: &'n Node,
    folders: &'n Folders,
    folder: &'n Path,
    report: &'r mut Report<'a>,
    names: BTreeSet<&'n str>,
    disabled: BTreeSet<&'n str>,
}

impl<'n> Resolving<'_, 'n, '_> {
    /// Reads one part of the file, unless something in it was already reported.
    fn read<T: DeserializeOwned>(&mut self, node: &Node) -> Option<T> {
        if self.report.touches(&node.span) {
            return None;
        }
        match serde_json::from_value(node.json()) {
            Ok(read) => Some(read),
            Err(error) => {
                self.report.add(node.span.start, error.to_string(), None);
                None
            }
        }
    }

    /// Reads a part of the file in which every key may be left out, without the keys that are wrong.
    fn section<T: DeserializeOwned + Default>(&mut self, key: &str) -> T {
        let node = self.root.member(key).map(|member| &member.node);
        let Some(node) = node.filter(|node| matches!(node.value, Value::Object(_))) else {
            return T::default();
        };
        serde_json::from_value(node.json_without_mistakes(self.report)).unwrap_or_else(|error| {
            if !self.report.touches(&node.span) {
                self.report.add(node.span.start, error.to_string(), None);
            }
            T::default()
        })
    }

    fn servers(&mut self, call: Option<Duration>) -> Servers {
        let around = Surroundings { folders: self.folders, folder: self.folder, call };
        let mut found = Servers::default();
        let mut seen = BTreeSet::new();
        for member in servers_of(self.root) {
            if !seen.insert(member.key.as_str()) {
                let message = format!("server `{}` is in `mcpServers` and in `servers`", member.key);
                self.report.add(member.key_at, message, Some("keep one of the two".to_owned()));
                continue;
            }
            if let Some(off) = server::off(member, self.report) {
                found.off.insert(member.key.clone(), off);
                continue;
            }
            let Some(raw) = self.read::<RawServer>(&member.node) else { continue };
            if raw.disabled == Some(true) || raw.enabled == Some(false) {
                self.disabled.insert(&member.key);
                continue;
            }
            let tools = raw.disabled_tools.iter().flatten().chain(raw.exclude_tools.iter().flatten());
            found.denied.extend(tools.map(|tool| format!("{}__{tool}", member.key)));
            if let Some(server) = server::resolve(member, raw, &around, self.report) {
                found.servers.insert(member.key.clone(), server);
            }
        }
        found
    }

    fn routing(&mut self) -> Routing {
        let raw: RawRouting = self.section("routing");
        let standard = Routing::default();
        Routing {
            profile: raw.profile.map_or(standard.profile, ranking),
            confidence_threshold: raw.confidence_threshold.unwrap_or(standard.confidence_threshold),
            max_candidates: raw.max_candidates.unwrap_or(standard.max_candidates),
            enable_multi_tool: raw.enable_multi_tool.unwrap_or(standard.enable_multi_tool),
            enable_caching: raw.enable_caching.unwrap_or(standard.enable_caching),
            cache_size: raw.cache_size.unwrap_or(standard.cache_size),
            cache_ttl: raw.cache_ttl.map_or(standard.cache_ttl, Duration::from_secs),
            semantic_search: self.semantic_search(raw.semantic_search.unwrap_or_default()),
            adviser: self.adviser(raw.arguments.unwrap_or_default()),
            ranker: raw.ranker.and_then(|raw| self.ranker(raw)),
            clarification: clarification(&raw.clarification.unwrap_or_default()),
            performance: performance(&raw.performance.unwrap_or_default()),
        }
    }

    fn adviser(&mut self, raw: RawArguments) -> Option<LanguageModel> {
        let timeout = raw.timeout_ms.map_or(ADVISING, Duration::from_millis);
        let at = self.at(&["routing", "arguments", "model"]);
        LanguageModel::read(&raw.model?, (raw.api_key, timeout), ("routing.arguments.model", at), self.report)
    }

    fn ranker(&mut self, raw: RawOwnRanker) -> Option<OwnRanker> {
        if !raw.tool.contains("__") {
            let at = self.at(&["routing", "ranker", "tool"]);
            let message = format!("`{}` in `routing.ranker` is not the name of a tool", shortened(&raw.tool));
            self.report.add(at, message, Some("write it as server__tool".to_owned()));
            return None;
        }
        let timeout = raw.timeout_ms.map_or(RANKING, Duration::from_millis);
        Some(OwnRanker { tool: raw.tool, timeout })
    }

    fn semantic_search(&mut self, raw: RawSemanticSearch) -> SemanticSearch {
        let standard = SemanticSearch::default();
        let model = raw.model.map(|written| self.model(&written, raw.api_key));
        SemanticSearch {
            enabled: raw.enabled.unwrap_or(standard.enabled),
            model: model.unwrap_or(standard.model),
            similarity_threshold: raw.similarity_threshold,
        }
    }

    fn model(&mut self, written: &str, key: Option<String>) -> Model {
        if BUILTIN_MODELS.contains(&written) {
            return Model::Builtin;
        }
        if let Some(name) = written.strip_prefix("ollama:") {
            return Model::Endpoint { url: OLLAMA.to_owned(), name: name.to_owned(), key };
        }
        if written.starts_with("http://") || written.starts_with("https://") {
            let (url, name) = written.split_once('#').unwrap_or((written, ""));
            if name.is_empty() || url::Url::parse(url).is_err() {
                let at = self.at(&["routing", "semanticSearch", "model"]);
                let message = format!("`{written}` in `routing.semanticSearch.model` does not name a model");
                let hint = "write it behind the address: https://HOST/v1/embeddings#MODEL";
                self.report.add(at, message, Some(hint.to_owned()));
            }
            return Model::Endpoint { url: url.to_owned(), name: name.to_owned(), key };
        }
        Model::Folder(resolve_path(written, self.folder, &self.folders.home))
    }

    fn tiers(&mut self) -> Vec<(String, u8)> {
        let written = self.by_glob("tiers");
        let read = |(glob, node): (String, &'n Node)| Some((glob, self.read::<Tier>(node)?.0));
        written.into_iter().filter_map(read).collect()
    }

    fn domains(&mut self) -> Vec<(String, String)> {
        let written = self.by_glob("domains");
        written.into_iter().filter_map(|(glob, node)| Some((glob, self.read(node)?))).collect()
    }

    /// Returns what is said about tools under a key, by glob over `server__tool`, in the order of the file.
    fn by_glob(&mut self, part: &str) -> Vec<(String, &'n Node)> {
        let mut found = Vec::new();
        for member in self.root.member(part).map_or(&[][..], |it| it.node.members()) {
            let key = member.key.as_str();
            let glob = if self.names.contains(key) {
                format!("{key}__*")
            } else if key.contains("__") || key.contains('*') {
                key.to_owned()
            } else {
                let hint = self.report.did_you_mean(key, self.names.iter().copied());
                let message = format!("`{key}` in `{part}` is neither a server, a tool nor a glob");
                self.report.add(member.key_at, message, hint);
                continue;
            };
            found.push((glob, &member.node));
        }
        found
    }

    /// Returns the place of a value in the text.
    fn at(&self, path: &[&str]) -> usize {
        let node = path.iter().try_fold(self.root, |node, key| node.member(key).map(|it| &it.node));
        node.map_or(0, |node| node.span.start)
    }

    fn skills(&mut self) -> (BTreeMap<String, Skill>, Vec<PathBuf>) {
        let Some(member) = self.root.member(SKILLS) else {
            return (BTreeMap::new(), beside(self.folder, SKILLS));
        };
        match self.read::<RawSkills>(&member.node) {
            Some(RawSkills::Files(paths)) => {
                let home = &self.folders.home;
                (BTreeMap::new(), paths.iter().map(|path| resolve_path(path, self.folder, home)).collect())
            }
            Some(RawSkills::Written(written)) => {
                let skill = |(name, raw): (String, RawSkill)| {
                    let skill = self.skill(&name, raw, member.node.member(&name)?);
                    Some((name, skill))
                };
                (written.into_iter().filter_map(skill).collect(), beside(self.folder, SKILLS))
            }
            None => (BTreeMap::new(), Vec::new()),
        }
    }

    fn skill(&mut self, name: &str, raw: RawSkill, member: &Member) -> Skill {
        if !Skill::is_name(name) {
            let shown = shortened(name);
            let message = format!("the name `{shown}` of a skill has letters, digits, `-` and `_`");
            self.report.add(member.key_at, message, None);
        }
        let RawSkill { when, instructions, mut tools } = raw;
        let mut seen = BTreeSet::new();
        tools.retain(|tool| seen.insert(tool.clone()));
        let mut skill = Skill { when, instructions, tools, place: None, is_shipped: false };
        for (key, message) in skill.settle() {
            let at = member.node.member(key).map_or(member.key_at, |it| it.node.span.start);
            self.report.add(at, message, None);
        }
        skill
    }

    fn policy(&mut self) -> Policy {
        let raw: RawPolicy = self.section("policy");
        // The order of the file decides, which a sorted map does not keep.
        let written = self.root.member("policy").and_then(|it| it.node.member("rateLimits"));
        let in_order = written.map_or(&[][..], |it| it.node.members());
        let limits = raw.rate_limits.unwrap_or_default();
        let rate_limits = in_order
            .iter()
            .filter_map(|member| {
                let limit = match limits.get(&member.key)? {
                    RawRateLimit::PerMinute(calls) => RateLimit::per_minute(*calls),
                    RawRateLimit::PerPeriod(RawCallsPerPeriod { calls, period }) => {
                        RateLimit { calls: *calls, period: period.unwrap_or(MINUTE) }
                    }
                };
                Some((member.key.clone(), limit))
            })
            .collect();
        let rules = self.rules();
        Policy {
            deny: raw.deny,
            allow: raw.allow,
            rate_limits,
            read_only: raw.read_only.unwrap_or_default(),
            rules,
            trust: raw.trust.map(trust::read).unwrap_or_default(),
            screening: match raw.screening {
                Some(RawScreening::Allow) => ScreeningMode::Allow,
                Some(RawScreening::Warn) | None => ScreeningMode::Warn,
                Some(RawScreening::Quarantine) => ScreeningMode::Quarantine,
            },
        }
    }

    fn rules(&mut self) -> Vec<Rule> {
        let written = self.root.member("policy").and_then(|it| it.node.member("rules"));
        let Some(Value::List(elements)) = written.map(|it| &it.node.value) else { return Vec::new() };
        elements.iter().filter_map(|element| self.rule(element)).collect()
    }

    fn rule(&mut self, node: &'n Node) -> Option<Rule> {
        let raw: RawRule = self.read(node)?;
        let at = |key: &str| node.member(key).map_or(node.span.start, |it| it.node.span.start);
        let (tools, servers) = (names(raw.tool), names(raw.server));
        for server in servers.iter().filter(|server| !self.names.contains(server.as_str())) {
            let hint = self.report.did_you_mean(server, self.names.iter().copied());
            let message = format!("a rule of `policy` names an unknown server `{server}`");
            self.report.add(at("server"), message, hint);
        }
        for tool in tools.iter().filter(|tool| !tool.contains("__") && !tool.contains('*')) {
            let hint = "write it as server__tool, or with * for any characters".to_owned();
            let message = format!("a rule of `policy` names `{tool}`, which is no tool");
            self.report.add(at("tool"), message, Some(hint));
        }
        Some(Rule { tools, servers, effects: effects(raw.effect), then: stance(raw.then) })
    }

    fn serve(&mut self, toolset: &Toolset) -> Serve {
        let standard = Serve::default();
        let raw: RawServe = self.section("serve");
        let at = |key: &str| {
            let member = self.root.member("serve").and_then(|it| it.node.member(key));
            member.map_or(0, |it| it.node.span.start)
        };
        let (http_at, token_at, oauth_at) = (at("http"), at("token"), at("oauth"));
        let http = raw.http.as_deref().map_or(standard.http, |written| self.address(written, http_at));
        if raw
            .token
            .as_ref()
            .is_some_and(|token| token.is_empty() || !token.bytes().all(|it| it.is_ascii_graphic()))
        {
            let hint = "use letters, digits and signs, without spaces".to_owned();
            self.report.add(token_at, "`token` in `serve` is empty or not usable in a header", Some(hint));
        }
        let usual = raw.callers.map_or(standard.callers, callers);
        let oauth = raw.oauth.map(RawTokenIssuer::resolve).transpose().unwrap_or_else(|(key, hint)| {
            let message = format!("`{key}` of `oauth` in `serve` cannot be used");
            self.report.add(oauth_at, message, Some(hint.to_owned()));
            None
        });
        let path = |written: &str| resolve_path(written, self.folder, &self.folders.home);
        let tls = raw.tls.map(|RawTls { cert, key }| Tls { cert: path(&cert), key: path(&key) });
        Serve {
            tls,
            oauth,
            surface: raw.surface.map_or(standard.surface, surface),
            callers: usual,
            profiles: self.profiles(raw.profiles.unwrap_or_default(), (toolset, usual)),
            http,
            token: raw.token,
            allowed_hosts: raw.allowed_hosts.unwrap_or_default(),
            body_bytes: raw.body_bytes.unwrap_or(standard.body_bytes),
            concurrency: raw.concurrency.unwrap_or(standard.concurrency),
            client_concurrency: raw.client_concurrency.unwrap_or(standard.client_concurrency),
            connections: raw.connections.unwrap_or(standard.connections),
            compact: raw.compact.unwrap_or(standard.compact),
            app: raw.app.unwrap_or(standard.app),
            result_bytes: raw.result_bytes.unwrap_or(standard.result_bytes),
        }
    }

    fn address(&mut self, written: &str, at: usize) -> SocketAddr {
        let numeric =
            written.strip_prefix("localhost:").map(|port| format!("{}:{port}", Ipv4Addr::LOCALHOST));
        numeric.as_deref().unwrap_or(written).parse().unwrap_or_else(|_| {
            let hint = "write an address and a port, like \"127.0.0.1:8808\"".to_owned();
            self.report.add(at, "`http` in `serve` is not an address to listen on", Some(hint));
            Serve::default().http
        })
    }

    fn profiles(
        &mut self,
        mut raw: BTreeMap<String, RawProfile>,
        usual: (&Toolset, Callers),
    ) -> BTreeMap<String, Profile> {
        let root = self.root;
        let written = root.member("serve").and_then(|it| it.node.member("profiles"));
        let mut profiles = BTreeMap::new();
        for member in written.map_or(&[][..], |it| it.node.members()) {
            let name = &member.key;
            let fits = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.');
            if !name.chars().all(fits) || name.starts_with('.') {
                let hint = "use letters, digits, `-`, `_` and `.`".to_owned();
                let message = format!("the profile `{name}` cannot be part of a URL");
                self.report.add(member.key_at, message, Some(hint));
            }
            let profile = raw.remove(name).and_then(|raw| self.profile(name, member, (raw, usual)));
            profiles.extend(profile.map(|profile| (name.clone(), profile)));
        }
        profiles
    }

    fn profile(
        &mut self,
        name: &str,
        member: &Member,
        (raw, (toolset, usual)): (RawProfile, (&Toolset, Callers)),
    ) -> Option<Profile> {
        let at = |key: &str| member.node.member(key).map_or(member.key_at, |it| it.node.span.start);
        match (raw.transparent, raw.surface, raw.servers) {
            (Some(server), None, None) if raw.toolset.is_none() && raw.callers.is_none() => {
                self.check_server(name, &server, at("transparent"));
                Some(Profile::Transparent { server })
            }
            (Some(_), _, _) => {
                let message = format!("the profile `{name}` has `transparent` beside other keys");
                let hint = "a transparent profile passes one server through unchanged".to_owned();
                self.report.add(at("transparent"), message, Some(hint));
                None
            }
            (None, Some(named), servers) => {
                let servers = servers.unwrap_or_default();
                for server in &servers {
                    self.check_server(name, server, at("servers"));
                }
                let model_at = at("toolset");
                let own = raw.toolset.unwrap_or_default();
                let toolset = toolset::resolve(own, toolset.clone(), model_at, self.report);
                let callers = raw.callers.map_or(usual, callers);
                Some(Profile::Surface {
                    surface: surface(named),
                    servers,
                    callers,
                    toolset: Box::new(toolset),
                })
            }
            (None, None, _) => {
                let message = format!("the profile `{name}` has neither `surface` nor `transparent`");
                self.report.add(member.key_at, message, None);
                None
            }
        }
    }

    fn check_server(&mut self, profile: &str, server: &str, at: usize) {
        if !self.names.contains(server) {
            let hint = self.report.did_you_mean(server, self.names.iter().copied());
            self.report.add(at, format!("the profile `{profile}` names an unknown server `{server}`"), hint);
        } else if self.disabled.contains(server) {
            let message = format!("the profile `{profile}` names the server `{server}`, which is disabled");
            self.report.add(at, message, None);
        }
    }

    fn store(&mut self) -> Store {
        let raw: RawStore = self.section("store");
        let folder: Option<PathBuf> =
            raw.folder.map(|folder| resolve_path(&folder, self.folder, &self.folders.home));
        Store { folder: folder.unwrap_or_else(|| self.folders.data.clone()) }
    }

    /// Returns the files and folders with workflows, else the folders for them beside the settings.
    fn workflows(&mut self) -> Vec<PathBuf> {
        let written = self.root.member(WORKFLOWS).map(|member| &member.node);
        match written.and_then(|node| self.read::<Vec<String>>(node)) {
            Some(paths) => {
                paths.iter().map(|path| resolve_path(path, self.folder, &self.folders.home)).collect()
            }
            None => workflow_folders(self.folder),
        }
    }
}

/// Returns the servers of a file, under either key.
fn servers_of(root: &Node) -> impl Iterator<Item = &Member> {
    ["mcpServers", "servers"].into_iter().filter_map(|key| root.member(key)).flat_map(|it| it.node.members())
}

fn names(raw: Option<RawNames>) -> Vec<String> {
    match raw {
        Some(RawNames::One(name)) => vec![name],
        Some(RawNames::Several(names)) => names,
        None => Vec::new(),
    }
}

fn effects(raw: Option<RawEffects>) -> Vec<Effect> {
    let effect = |raw: RawEffect| match raw {
        RawEffect::Read => Effect::Read,
        RawEffect::Write => Effect::Write,
        RawEffect::Destroy => Effect::Destroy,
    };
    match raw {
        Some(RawEffects::One(one)) => vec![effect(one)],
        Some(RawEffects::Several(several)) => several.into_iter().map(effect).collect(),
        None => Vec::new(),
    }
}

fn stance(raw: RawStance) -> Stance {
    match raw {
        RawStance::Allow => Stance::Allow,
        RawStance::Ask => Stance::Ask,
        RawStance::Deny => Stance::Deny,
    }
}

fn audit(raw: &RawAudit) -> Audit {
    let standard = Audit::default();
    Audit {
        enabled: raw.enabled.unwrap_or(standard.enabled),
        values: raw.values.unwrap_or(standard.values),
        file_bytes: raw.file_bytes.unwrap_or(standard.file_bytes),
        files: raw.files.unwrap_or(standard.files),
    }
}

fn clarification(raw: &RawClarification) -> Clarification {
    let standard = Clarification::default();
    Clarification {
        enabled: raw.enabled.unwrap_or(standard.enabled),
        show_alternatives: raw.show_alternatives.unwrap_or(standard.show_alternatives),
        explain_reasoning: raw.explain_reasoning.unwrap_or(standard.explain_reasoning),
    }
}

fn performance(raw: &RawPerformance) -> Performance {
    let standard = Performance::default();
    Performance {
        max_routing_time: raw.max_routing_time.map_or(standard.max_routing_time, Duration::from_millis),
        timeout: raw.timeout_ms.map(Duration::from_millis),
        enable_metrics: raw.enable_metrics.unwrap_or(standard.enable_metrics),
    }
}

fn ranking(raw: RawRanking) -> Ranking {
    match raw {
        RawRanking::Fitted => Ranking::Fitted,
        RawRanking::Seed => Ranking::Seed,
    }
}

fn callers(raw: RawCallers) -> Callers {
    match raw {
        RawCallers::Strong => Callers::Strong,
        RawCallers::Small => Callers::Small,
    }
}

fn surface(raw: RawSurface) -> Surface {
    match raw {
        RawSurface::Route => Surface::Route,
        RawSurface::Toolset => Surface::Toolset,
        RawSurface::Search => Surface::Search,
        RawSurface::All => Surface::All,
        RawSurface::Auto => Surface::Auto,
    }
}
