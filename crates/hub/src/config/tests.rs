//! What a settings file may say, and what is said about its mistakes.

mod files;
mod pipes;
mod mistakes;
mod off;
mod texts;

use std::path::Path;

use super::*;

fn folders() -> Folders {
    Folders { home: "/home/ana".into(), config: "/home/ana/.config/toolyard".into(), data: "/data".into() }
}

fn env(name: &str) -> Option<String> {
    match name {
        "TOKEN" => Some("s3cret".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

fn parsed(text: &str) -> Result<Config, Vec<Mistake>> {
    parse(text, Path::new("/etc/yard/toolyard.json"), &env, &folders())
}

fn config(text: &str) -> Config {
    parsed(text).unwrap_or_else(|mistakes| panic!("{}", shown(&mistakes)))
}

/// The mistakes as a person reads them, without the folder.
fn mistakes(text: &str) -> String {
    shown(&parsed(text).expect_err("the text has mistakes"))
}

fn shown(mistakes: &[Mistake]) -> String {
    let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    lines.join("\n").replace("/etc/yard/", "")
}

fn server(text: &str) -> Server {
    let text = format!(r#"{{ "mcpServers": {{ "it": {text} }} }}"#);
    config(&text).servers.remove("it").expect("the server is there")
}

/// A file that uses every part.
const WHOLE: &str = r#"{
  "$schema": "./toolyard.schema.json",
  // Pasted from elsewhere.
  "mcpServers": {
    "git": { "command": "uvx", "args": ["mcp-server-git"], "env": { "TOKEN": "${TOKEN}", "N": 3, "OFF": null } },
    "docs": { "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer ${TOKEN}" }, "timeout": 60000 },
    "old": { "type": "sse", "url": "http://localhost:9000/sse", "auth": "off" },
    "notes": { "builtin": "notes", "folder": "~/Notes", "lazy": false, "idleStop": "5m" },
    "gone": { "command": "${NOT_SET}", "disabled": true },
  },
  "routing": { "confidenceThreshold": 0.6 },
  "tiers": { "notes": 0, "git__*": 1, "docs__search": 2 },
  "skills": { "release": { "when": "cutting a release", "instructions": "Tag first.", "tools": ["git__tag"] } },
  "policy": {
    "deny": ["*__delete_*"], "rateLimits": { "docs__*": { "calls": 30, "period": 3600 }, "*": 600 },
    "rules": [{ "server": "git", "effect": ["write", "destroy"], "then": "ask" }, { "tool": "docs__*", "then": "deny" }],
  },
  "audit": { "values": true },
  "serve": {
    "surface": "search",
    "http": "0.0.0.0:9000",
    "token": "${TOKEN}",
    "profiles": { "raw": { "transparent": "git" }, "desk": { "surface": "all", "servers": ["git", "docs"] } },
  },
  "store": { "folder": "state" },
  "metadata": ["about", "~/tools.json"],
}"#;

#[test]
fn a_whole_file_is_read() {
    let config = config(WHOLE);
    let servers = config.servers.iter().map(|(name, it)| {
        format!(
            "{name}: {:?} lazy {} idle {:?} call {:?}",
            it.transport, it.lazy, it.idle_stop, it.limits.call
        )
    });
    insta::assert_snapshot!(servers.collect::<Vec<_>>().join("\n"), @r#"
    docs: Http { url: https://example.com/…, headers: {"Authorization": …}, auth: Automatic { client_id: None, client_secret: None, scopes: [] } } lazy true idle None call 60s
    git: Stdio { command: "uvx", args: (1), env: {"N": …, "TOKEN": …}, cwd: None } lazy true idle None call 60s
    notes: Builtin(Notes { folder: "/home/ana/Notes" }) lazy false idle Some(300s) call 60s
    old: Sse { url: http://localhost:9000/…, headers: {}, auth: Off } lazy true idle None call 60s
    "#);
    let rest = format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}",
        config.tiers, config.skills, config.policy, config.audit, config.serve, config.store, config.metadata
    );
    insta::assert_snapshot!(rest, @r#"
    [("notes__*", 0), ("git__*", 1), ("docs__search", 2)]
    {"release": Skill { when: "cutting a release", instructions: "Tag first.", tools: ["git__tag"], place: None, is_shipped: false }}
    Policy { deny: ["*__delete_*"], allow: [], rate_limits: [("docs__*", RateLimit { calls: 30, period: 3600 }), ("*", RateLimit { calls: 600, period: 60 })], read_only: false, rules: [Rule { tools: [], servers: ["git"], effects: [Write, Destroy], then: Ask }, Rule { tools: ["docs__*"], servers: [], effects: [], then: Deny }], trust: FirstUse, screening: Warn }
    Audit { enabled: true, values: true, file_bytes: 8388608, files: 4 }
    Serve { surface: Search, callers: Strong, profiles: {"desk": Surface { surface: All, servers: ["git", "docs"], callers: Strong, toolset: Toolset { core: [], own: [SmartRoute, ActivateSkill, FindTools, CallTool], tier: 0, caps: Caps { max_tools: 10, max_domains: 3, max_skills: 3, max_listed: 15 }, activating: Asked, tokens: None, parameters: All, chooser: None } }, "raw": Transparent { server: "git" }}, http: 0.0.0.0:9000, token: Some(…), tls: None, oauth: None, allowed_hosts: [], body_bytes: 4194304, concurrency: 4096, client_concurrency: 1024, connections: 2048, compact: false, app: true, result_bytes: 65536 }
    Store { folder: "/etc/yard/state" }
    ["/etc/yard/about", "/home/ana/tools.json"]
    "#);
}

#[test]
fn secrets_are_not_shown() {
    let text = r#"{ "mcpServers": {
        "a": { "command": "x", "args": ["--key=${TOKEN}"], "env": { "A": "${TOKEN}" } },
        "b": { "url": "https://u:${TOKEN}@example.com/mcp?key=${TOKEN}", "headers": { "B": "${TOKEN}" },
               "auth": { "clientId": "c", "clientSecret": "${TOKEN}" } },
        "c": { "type": "sse", "url": "https://example.com/${TOKEN}/sse" } },
        "serve": { "token": "${TOKEN}" } }"#;
    let shown = format!("{:?}", config(text));
    assert!(!shown.contains("s3cret"), "{shown}");
}

#[test]
fn secrets_are_kept_as_they_are() {
    let config = config(WHOLE);
    let Transport::Stdio { env, .. } = &config.servers["git"].transport else { panic!("git is a command") };
    assert_eq!(env["TOKEN"], "s3cret");
    assert_eq!(config.serve.token.as_deref(), Some("s3cret"));
}

#[test]
fn a_file_of_another_client_is_a_configuration() {
    let config = config(r#"{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}"#);
    assert_eq!(config.servers.keys().collect::<Vec<_>>(), ["time"]);
    assert_eq!(config.store.folder, Path::new("/data"));
    assert_eq!(config.serve, Serve::default());
}

#[test]
fn r6_servers_keep_the_order_of_the_file() {
    let server = r#"{ "command": "x" }"#;
    let config =
        config(&format!(r#"{{"mcpServers": {{"zeta": {server}, "alpha": {server}, "mid": {server}}}}}"#));
    let ordered = |config: &Config| config.ordered().into_iter().map(|it| it.0.clone()).collect::<Vec<_>>();
    assert_eq!(ordered(&config), ["zeta", "alpha", "mid"]);
    let unordered = Config { order: vec!["mid".to_owned()], ..config };
    assert_eq!(ordered(&unordered), ["mid", "alpha", "zeta"], "what is not named comes last");
}

#[test]
fn no_file_at_all_means_the_built_in_servers() {
    let config = default(&folders());
    assert_eq!(config.servers["time"].transport, Transport::Builtin(Kind::Time));
    let notes = Transport::Builtin(Kind::Notes { folder: "/data/vault".into() });
    assert_eq!(config.servers["notes"].transport, notes);
}

#[test]
fn t27_trust_is_for_all_servers_or_for_one_and_built_in_ones_need_none() {
    let text = r#"{ "mcpServers": { "a": { "command": "x" }, "b": { "command": "x", "trust": "first-use" },
        "c": { "url": "https://example.com/mcp", "trust": true }, "time": { "builtin": "time" } },
        "policy": { "trust": "ask" } }"#;
    let config = parsed(text).unwrap();
    let trusted = |name: &str| config.servers[name].trusted(&config.policy);
    assert_eq!(["a", "b", "c"].map(trusted), [Some(Trust::Ask), Some(Trust::FirstUse), Some(Trust::Ask)]);
    assert_eq!(trusted("time"), None);
}

#[test]
fn keys_that_clients_write_are_accepted() {
    for entry in [
        r#"{ "command": "x", "alwaysAllow": ["a"], "disabled": false, "autoApprove": [] }"#,
        r#"{ "type": "stdio", "command": "x", "gallery": "https://g", "version": "1.0", "dev": { "watch": "*" } }"#,
        r#"{ "httpUrl": "https://example.com/mcp", "trust": true, "includeTools": ["a"], "timeout": 30000 }"#,
        r#"{ "serverUrl": "https://example.com/mcp", "headers": {} }"#,
        r#"{ "type": "http", "url": "https://example.com/mcp", "oauth": { "clientId": "a", "callbackPort": 80 } }"#,
        r#"{ "type": "streamableHttp", "url": "https://example.com/mcp", "auth": { "CLIENT_ID": "a" } }"#,
        r#"{ "type": "streamable-http", "url": "https://example.com/mcp", "description": "d", "icon": "i" }"#,
        r#"{ "source": "custom", "command": "x", "args": [], "env": {}, "settings": {} }"#,
        r#"{ "type": "local", "command": "x", "tools": ["*"] }"#,
    ] {
        server(entry);
    }
}

#[test]
fn t27_a_sandbox_names_what_a_program_may_use() {
    let sandbox = |text: &str| server(&format!(r#"{{ "command": "x", "sandbox": {text} }}"#)).sandbox;
    let given = sandbox(r#"{ "network": false, "read": ["shown", "/etc/hosts"], "write": ["~/notes"] }"#);
    let (read, write) = (vec!["/etc/yard/shown".into(), "/etc/hosts".into()], vec!["/home/ana/notes".into()]);
    assert_eq!(given, Some(Confinement { network: false, read, write }));
    let nothing = Confinement { network: true, read: Vec::new(), write: Vec::new() };
    assert_eq!(sandbox("{}"), Some(nothing));
    assert_eq!(server(r#"{ "command": "x" }"#).sandbox, None);
    // The key means something else to VS Code.
    assert_eq!(
        sandbox(r#"{ "filesystem": { "allowWrite": ["."] }, "network": { "allowedDomains": [] } }"#),
        None
    );
    let wrong = |text: &str| mistakes(&format!(r#"{{ "mcpServers": {{ "s": {text} }} }}"#));
    insta::assert_snapshot!(
        [
            wrong(r#"{ "url": "https://a.example", "sandbox": {} }"#),
            wrong(r#"{ "command": "x", "sandbox": { "network": false, "filesystem": {} } }"#),
            wrong(r#"{ "command": "x", "sandbox": { "wirte": ["a"] } }"#),
            wrong(r#"{ "command": "x", "sandbox": true }"#),
        ]
        .join("\n"),
        @"
    toolyard.json:1:65: `sandbox` is only for servers with a `command`
    toolyard.json:1:53: `sandbox` of server `s` mixes what Toolyard and VS Code write
      hint: keep `network` (true or false), `read` and `write`, and delete the rest
    toolyard.json:1:55: unknown key `wirte` in `sandbox` of server `s`
      hint: did you mean `write`?
    toolyard.json:1:53: `sandbox` in server `s` must be an object, not true or false
    "
    );
}

#[test]
fn tools_that_a_client_switched_off_stay_off() {
    let text = r#"{ "mcpServers": { "git": { "command": "x", "disabledTools": ["push"], "excludeTools": ["reset"] } } }"#;
    assert_eq!(config(text).policy.deny, ["git__push", "git__reset"]);
}

#[test]
fn paths_start_in_the_folder_of_the_file() {
    let stdio = |text: &str| match server(text).transport {
        Transport::Stdio { command, cwd, .. } => (command, cwd),
        other @ (Transport::Http { .. } | Transport::Sse { .. } | Transport::Builtin(_)) => {
            panic!("{other:?}")
        }
    };
    assert_eq!(
        stdio(r#"{ "command": "./bin/server", "cwd": "work" }"#),
        ("/etc/yard/bin/server".to_owned(), Some("/etc/yard/work".into()))
    );
    assert_eq!(
        stdio(r#"{ "command": "~/bin/server", "cwd": "~" }"#),
        ("/home/ana/bin/server".to_owned(), Some("/home/ana".into()))
    );
    assert_eq!(
        stdio(r#"{ "command": "npx", "cwd": "${workspaceFolder}/a" }"#),
        ("npx".to_owned(), Some("/etc/yard/a".into()))
    );
}

#[test]
fn references_to_the_environment_are_expanded() {
    let args = |args: &str| match server(&format!(r#"{{ "command": "x", "args": [{args}] }}"#)).transport {
        Transport::Stdio { args, .. } => args.join("|"),
        other @ (Transport::Http { .. } | Transport::Sse { .. } | Transport::Builtin(_)) => {
            panic!("{other:?}")
        }
    };
    assert_eq!(args(r#""${TOKEN}", "${env:TOKEN}", "a${TOKEN}b""#), "s3cret|s3cret|as3cretb");
    assert_eq!(args(r#""${NOT_SET:-x:y}", "${EMPTY:-full}", "${EMPTY}", "${NOT_SET:-}""#), "x:y|full||");
    assert_eq!(args(r#""$${TOKEN}", "$$", "$HOME", "a$", "${userHome}""#), "${TOKEN}|$|$HOME|a$|/home/ana");
}

#[test]
fn limits_have_defaults_and_can_be_set() {
    assert_eq!(server(r#"{ "command": "x" }"#).limits, Limits::default());
    let limits =
        server(r#"{ "command": "x", "timeout": 9000, "limits": { "startMs": 10, "nesting": 64 } }"#).limits;
    let expected = Limits {
        call: Duration::from_secs(9),
        start: Duration::from_millis(10),
        nesting: 64,
        ..Limits::default()
    };
    assert_eq!(limits, expected);
}

#[test]
fn r20_a_call_has_a_minute_unless_somebody_wrote_something_else() {
    let seconds = |limits: Limits| [limits.call, limits.call_total].map(|it| it.as_secs());
    let of = |limits: &str| seconds(server(&format!(r#"{{ "command": "x", "limits": {limits} }}"#)).limits);
    assert_eq!(of("{}"), [60, 600]);
    assert_eq!(of(r#"{ "callMs": 5000 }"#), [5, 600]);
    assert_eq!(of(r#"{ "callMs": 3600000 }"#), [3600, 3600], "a longer call is not cut short");
    assert_eq!(of(r#"{ "callMs": 90000, "callTotalMs": 30000 }"#), [90, 30]);
    let text = r#"{ "mcpServers": { "it": { "command": "x" }, "own": { "command": "x", "timeout": 7000 } },
                    "routing": { "performance": { "timeoutMs": 5000 } } }"#;
    let mut config = config(text);
    assert_eq!(seconds(config.servers.remove("it").unwrap().limits), [5, 600]);
    assert_eq!(seconds(config.servers.remove("own").unwrap().limits), [7, 600]);
}

#[test]
fn authorisation_is_automatic_unless_switched_off() {
    let auth =
        |entry: &str| match server(&format!(r#"{{ "url": "https://example.com", {entry} }}"#)).transport {
            Transport::Http { auth, .. } => auth,
            other @ (Transport::Stdio { .. } | Transport::Sse { .. } | Transport::Builtin(_)) => {
                panic!("{other:?}")
            }
        };
    let automatic = |id: Option<&str>, secret: Option<&str>, scopes: &[&str]| Auth::Automatic {
        client_id: id.map(str::to_owned),
        client_secret: secret.map(str::to_owned),
        scopes: scopes.iter().map(|it| (*it).to_owned()).collect(),
    };
    assert_eq!(auth(r#""headers": {}"#), automatic(None, None, &[]));
    assert_eq!(auth(r#""auth": "off""#), Auth::Off);
    assert_eq!(
        auth(r#""oauth": { "clientId": "a", "scopes": "x y" }"#),
        automatic(Some("a"), None, &["x", "y"])
    );
    assert_eq!(
        auth(r#""auth": { "clientId": "a", "clientSecret": "b", "scopes": ["x"] }"#),
        automatic(Some("a"), Some("b"), &["x"])
    );
}

#[test]
fn r14_the_routing_block_of_the_seed_is_accepted_with_every_key() {
    let seed = r#"{ "routing": {
        "confidenceThreshold": 0.7, "maxCandidates": 5, "enableMultiTool": true, "enableCaching": true,
        "cacheSize": 1000, "cacheTTL": 3600,
        "semanticSearch": { "enabled": false, "model": "all-MiniLM-L6-v2", "similarityThreshold": 0.75 },
        "clarification": { "enabled": true, "showAlternatives": 3, "explainReasoning": true },
        "performance": { "maxRoutingTime": 100, "timeoutMs": 5000, "enableMetrics": true } } }"#;
    let semantic_search =
        SemanticSearch { enabled: false, model: Model::Builtin, similarity_threshold: Some(0.75) };
    let performance = Performance { timeout: Some(Duration::from_secs(5)), ..Performance::default() };
    let clarification = Clarification { explain_reasoning: true, ..Clarification::default() };
    let expected = Routing { semantic_search, performance, clarification, ..Routing::default() };
    assert_eq!(config(seed).routing, expected);
}

#[test]
fn r14_without_the_block_semantic_search_is_on() {
    assert!(config("{}").routing.semantic_search.enabled);
    assert!(config(r#"{ "routing": { "maxCandidates": 3 } }"#).routing.semantic_search.enabled);
}

#[test]
fn r14_every_key_of_the_routing_block_is_read() {
    let changed = r#"{ "routing": { "profile": "seed",
        "confidenceThreshold": 0.5, "maxCandidates": 9, "enableMultiTool": false, "enableCaching": false,
        "cacheSize": 10, "cacheTTL": 60,
        "semanticSearch": { "enabled": false, "model": "./weights", "similarityThreshold": 0.5 },
        "arguments": { "model": "ollama:qwen3:4b", "apiKey": "${TOKEN}", "timeoutMs": 900 },
        "ranker": { "tool": "mine__rank", "timeoutMs": 300 },
        "clarification": { "enabled": false, "showAlternatives": 2, "explainReasoning": false },
        "performance": { "maxRoutingTime": 50, "timeoutMs": 700, "enableMetrics": false } },
        "mcpServers": { "a": { "command": "a" }, "b": { "command": "b", "timeout": 8000 } } }"#;
    let config = config(changed);
    insta::assert_debug_snapshot!(config.routing, @r#"
    Routing {
        profile: Seed,
        confidence_threshold: 0.5,
        max_candidates: 9,
        enable_multi_tool: false,
        enable_caching: false,
        cache_size: 10,
        cache_ttl: 60s,
        semantic_search: SemanticSearch {
            enabled: false,
            model: Folder(
                "/etc/yard/weights",
            ),
            similarity_threshold: Some(
                0.5,
            ),
        },
        adviser: Some(
            LanguageModel {
                url: http://127.0.0.1:11434/…,
                name: "qwen3:4b",
                key: Some(
                    …,
                ),
                timeout: 900ms,
            },
        ),
        ranker: Some(
            OwnRanker {
                tool: "mine__rank",
                timeout: 300ms,
            },
        ),
        clarification: Clarification {
            enabled: false,
            show_alternatives: 2,
            explain_reasoning: false,
        },
        performance: Performance {
            max_routing_time: 50ms,
            timeout: Some(
                700ms,
            ),
            enable_metrics: false,
        },
    }
    "#);
    assert_eq!(config.routing.adviser.as_ref().and_then(|it| it.key.as_deref()), Some("s3cret"));
    assert_eq!(config.servers["a"].limits.call, Duration::from_millis(700));
    assert_eq!(config.servers["b"].limits.call, Duration::from_millis(8000));
}

#[test]
fn r14_a_model_is_the_one_inside_a_folder_or_an_endpoint() {
    let model = |written: &str| {
        let text =
            format!(r#"{{ "routing": {{ "semanticSearch": {{ "model": "{written}", "apiKey": "k" }} }} }}"#);
        config(&text).routing.semantic_search.model
    };
    let endpoint = |url: &str, name: &str| Model::Endpoint {
        url: url.to_owned(),
        name: name.to_owned(),
        key: Some("k".to_owned()),
    };
    for builtin in ["builtin", "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"] {
        assert_eq!(model(builtin), Model::Builtin);
    }
    assert_eq!(model("weights"), Model::Folder("/etc/yard/weights".into()));
    assert_eq!(
        model("ollama:nomic-embed-text"),
        endpoint("http://127.0.0.1:11434/api/embed", "nomic-embed-text")
    );
    let url = "https://example.org/v1/embeddings";
    assert_eq!(model(&format!("{url}#text-embedding-3-small")), endpoint(url, "text-embedding-3-small"));
    let shown = format!("{:?}", model(&format!("{url}#small")));
    assert_eq!(shown, r#"Endpoint { url: https://example.org/…, name: "small", key: Some(…) }"#);
}
