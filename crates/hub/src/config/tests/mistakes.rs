//! What is said about mistakes.

use toolyard_core::alias::Phase;

use super::{config, mistakes, parsed};

#[test]
fn r14_a_wrong_key_in_the_routing_block_names_its_place() {
    insta::assert_snapshot!(mistakes(
        r#"{ "routing": {
  "confidenceTreshold": 0.5,
  "maxCandidates": 0,
  "cacheTTL": "3600",
  "semanticSearch": { "similarityThreshold": 7, "modle": "x", "enabled": "true" },
} }"#), @"
    toolyard.json:2:3: unknown key `confidenceTreshold` in `routing`
      hint: did you mean `confidenceThreshold`?
    toolyard.json:3:20: `maxCandidates` in `routing` must be between 1 and 100, not 0
      hint: how many tools are considered at most; 5 by default
    toolyard.json:4:15: `cacheTTL` in `routing` must be a whole number, not a string
      hint: write 3600 without quotes
    toolyard.json:5:46: `similarityThreshold` in `routing.semanticSearch` must be between 0 and 1, not 7
      hint: how alike request and tool must be, as a share of how alike the nearest tool is; all count by default
    toolyard.json:5:49: unknown key `modle` in `routing.semanticSearch`
      hint: did you mean `model`?
    toolyard.json:5:74: `enabled` in `routing.semanticSearch` must be true or false, not a string
      hint: write true without quotes
    ");
}

const SERVERS: &str = r#"{
  "mcpServers": {
    "git": { "comand": "git", "args": "serve" },
    "both": { "command": "x", "url": "https://example.com" },
    "none": {},
    "": { "command": "x" },
    "kind": { "type": "htp", "url": "https://example.com" },
    "mixed": { "type": "http", "command": "x" },
    "unset": { "command": "x", "env": { "KEY": "${API_KEY}", "INPUT": "${input:api-key}", "OPEN": "${A" } },
    "url": { "url": "example.com/mcp" },
    "ws": { "url": "ws://example.com/mcp" },
    "header": { "url": "https://example.com", "headers": { "a b": "c", "d": "e\nf" } },
    "time": { "builtin": "clock" },
    "idle": { "command": "x", "idleStop": "5 weeks", "timeout": 60, "limits": { "pages": -1, "nesting": 500 } },
    "auth": { "url": "https://example.com", "auth": "of" },
    "secret": { "url": "https://example.com", "auth": { "clientSecret": "s" } },
    "git": { "command": "x" },
    "number": { "command": 5, "args": [1], "env": { "A": [] }, "lazy": "no" },
    "file": { "command": "x", "envFile": "no.env" },
    "folder": { "command": "x", "folder": "f" }
  }
}"#;

#[test]
fn every_mistake_in_a_server_is_reported_at_once() {
    insta::assert_snapshot!(mistakes(SERVERS), @r#"
    toolyard.json:3:14: unknown key `comand` in server `git`
      hint: did you mean `command`?
    toolyard.json:3:39: `args` in server `git` must be a list, not a string
      hint: put it in brackets: ["…"]
    toolyard.json:4:38: server `both` has both `command` and `url`
      hint: keep the one you want and delete the other
    toolyard.json:5:5: server `none` has neither `command` nor `url`
      hint: add a `command` to run, or a `url` to connect to
    toolyard.json:6:5: an empty name in `mcpServers`
    toolyard.json:7:23: `type` in server `kind` cannot be `htp`
      hint: did you mean `http`?
    toolyard.json:8:24: the `type` of server `mixed` needs a `url`
      hint: delete `type`: it is clear from the other keys
    toolyard.json:9:71: `${input:api-key}` asks a person, which a hub cannot do
      hint: put the value in an environment variable and write `${API_KEY}`
    toolyard.json:9:99: `${` has no closing `}`
      hint: write `$${` for the characters themselves
    toolyard.json:10:21: the `url` of server `url` is not usable: relative URL without a base
      hint: write it like "https://example.com/mcp"
    toolyard.json:11:20: the `url` of server `ws` is not usable: `ws` is not http or https
      hint: write it like "https://example.com/mcp"
    toolyard.json:12:67: `a b` is not the name of a header
    toolyard.json:12:77: the header `d` has a line break or control character in it
    toolyard.json:13:26: `builtin` in server `time` cannot be `clock`
      hint: one of `time`, `notes`, `desk`, `studio`, `home`, `entities`
    toolyard.json:14:65: `timeout` in server `idle` must be between 1000 and 86400000, not 60
      hint: the time a call may take, in milliseconds; `limits.callMs` can be shorter than a second
    toolyard.json:14:90: `pages` in `limits` of server `idle` must be between 1 and 100000, not -1
      hint: pages of one listing; 100 by default
    toolyard.json:14:105: `nesting` in `limits` of server `idle` must be between 8 and 127, not 500
      hint: levels of nesting in one message; 127 by default
    toolyard.json:15:53: `auth` in server `auth` cannot be `of`
      hint: did you mean `off`?
    toolyard.json:16:55: server `secret` has a client secret without a client id
      hint: add `clientId`
    toolyard.json:17:5: the key `git` is written twice
      hint: keep one of the two
    toolyard.json:18:28: `command` in server `number` must be a string, not a number
      hint: write "5"
    toolyard.json:18:40: `args[0]` in server `number` must be a string, not a number
      hint: write "1"
    toolyard.json:18:58: `A` in `env` of server `number` must be a string, a number, true or false, not a list
    toolyard.json:18:72: `lazy` in server `number` must be true or false, not a string
    toolyard.json:19:42: `envFile` of server `file` cannot be read: No such file or directory (os error 2)
      hint: it is looked for at no.env
    toolyard.json:20:43: `folder` is only for built-in servers that keep something
    "#);
}

const REST: &str = r#"{
  "mcpServers": { "git": { "comand": "x" }, "kind": { "command": "x" } },
  "tiers": { "gti": 0, "git": 7, "a__*": "1" },
  "skills": { "s": { "instructions": "x" } },
  "policy": { "rateLimits": { "*": 0, "a__*": { "calls": 5, "period": 0, "per": 1 } } },
  "serve": {
    "surface": "everything", "http": "8808",
    "profiles": { "a/b": { "surface": "all" }, "t": { "transparent": "gitt" }, "e": {}, "l": { "surface": "all", "servers": ["kindd"] } }
  },
  "stroe": {}
}"#;

#[test]
fn every_mistake_in_the_rest_is_reported_at_once() {
    insta::assert_snapshot!(mistakes(REST), @r#"
    toolyard.json:2:28: unknown key `comand` in server `git`
      hint: did you mean `command`?
    toolyard.json:3:14: `gti` in `tiers` is neither a server, a tool nor a glob
      hint: did you mean `git`?
    toolyard.json:3:31: `git` in `tiers` must be between 0 and 2, not 7
      hint: 0 essential, 1 utility, 2 fallback
    toolyard.json:3:42: `a__*` in `tiers` must be a whole number, not a string
      hint: write 1 without quotes
    toolyard.json:4:20: `when` is missing in `skills.s`
    toolyard.json:5:36: `*` in `policy.rateLimits` must be between 1 and 1000000, not 0
      hint: calls per minute
    toolyard.json:5:71: `period` in `policy.rateLimits.a__*` must be between 1 and 2592000, not 0
      hint: within how many seconds; 60 by default
    toolyard.json:5:74: unknown key `per` in `policy.rateLimits.a__*`
      hint: did you mean `period`?
    toolyard.json:7:16: `surface` in `serve` cannot be `everything`
      hint: one of `route`, `toolset`, `search`, `all`, `auto`
    toolyard.json:7:38: `http` in `serve` is not an address to listen on
      hint: write an address and a port, like "127.0.0.1:8808"
    toolyard.json:8:19: the profile `a/b` cannot be part of a URL
      hint: use letters, digits, `-`, `_` and `.`
    toolyard.json:8:70: the profile `t` names an unknown server `gitt`
      hint: did you mean `git`?
    toolyard.json:8:80: the profile `e` has neither `surface` nor `transparent`
    toolyard.json:8:125: the profile `l` names an unknown server `kindd`
      hint: did you mean `kind`?
    toolyard.json:10:3: unknown key `stroe` at the top level
      hint: did you mean `store`?
    "#);
}

#[test]
fn syntax_errors_have_a_place() {
    let all: Vec<String> = [
        "",
        "  // nothing\n",
        "{",
        "{ \"a\" }",
        "{\n  \"a\": 1\n  \"b\": 2\n}",
        "{ 'a': 1 }",
        "[]",
        "{} {}",
        "{ \"a\": 1e999 }",
    ]
    .map(mistakes)
    .into();
    insta::assert_snapshot!(all.join("\n"), @"
    toolyard.json:1:1: the file is empty
      hint: an empty configuration is written `{}`
    toolyard.json:1:1: the file is empty
      hint: an empty configuration is written `{}`
    toolyard.json:1:1: unterminated object
    toolyard.json:1:7: expected colon after the string or word in object property
    toolyard.json:2:9: expected comma
    toolyard.json:1:3: single-quoted strings are not allowed
    toolyard.json:1:1: the file must be an object, not a list
    toolyard.json:1:4: text cannot contain more than one JSON value
    toolyard.json:1:3: unknown key `a` at the top level
    toolyard.json:1:8: `1e999` is too large for a number
    ");
}

#[test]
fn t27_an_issuer_is_one_that_nobody_between_can_answer_for() {
    let serve = |key: &str, value: &str| {
        let mut oauth =
            serde_json::json!({"issuer": "https://login.example", "audience": "https://hub.example/mcp"});
        oauth[key] = value.into();
        serde_json::json!({"serve": {"oauth": oauth}}).to_string()
    };
    for (key, value) in [
        ("issuer", "http://login.example"),
        ("issuer", "login"),
        ("audience", "hub"),
        ("audience", "https://hub.example/mcp?a=b"),
        ("jwks", "http://login.example/keys"),
    ] {
        let said = mistakes(&serve(key, value)).to_string();
        assert!(said.contains(&format!("`{key}` of `oauth` in `serve` cannot be used")), "{value}: {said}");
    }
    let taken = config(&serve("issuer", "http://127.0.0.1:9")).serve.oauth.unwrap();
    assert_eq!(
        (taken.issuer.as_str(), taken.audience.as_str()),
        ("http://127.0.0.1:9", "https://hub.example/mcp")
    );
}

#[test]
fn a_token_can_be_used_in_a_header() {
    insta::assert_snapshot!(mistakes(r#"{ "serve": { "http": "[::]:8808", "token": "" } }"#), @"
    toolyard.json:1:44: `token` in `serve` is empty or not usable in a header
      hint: use letters, digits and signs, without spaces
    ");
    assert_eq!(
        config(r#"{ "serve": { "http": "localhost:1" } }"#).serve.http,
        "127.0.0.1:1".parse().unwrap()
    );
    assert_eq!(config(r#"{ "serve": { "http": "[::1]:1" } }"#).serve.http, "[::1]:1".parse().unwrap());
}

#[test]
fn a_disabled_server_cannot_be_a_profile() {
    let text = r#"{ "mcpServers": { "a": { "command": "x", "enabled": false } },
                    "serve": { "profiles": { "p": { "transparent": "a" } } } }"#;
    insta::assert_snapshot!(mistakes(text), @"toolyard.json:2:68: the profile `p` names the server `a`, which is disabled");
}

#[test]
fn a_file_that_is_too_large_or_too_deep_is_a_mistake() {
    let large = format!("{{}}{}", " ".repeat(4 * 1024 * 1024));
    let deep = format!("{}{}", "[".repeat(101), "]".repeat(101));
    let deeper = "{\"a\":".repeat(100_000);
    insta::assert_snapshot!([&large, &deep, &deeper].map(|text| mistakes(text)).join("\n"), @"
    toolyard.json:1:1: the file has 4194306 bytes; at most 4194304 are read
    toolyard.json:1:1: the file must be an object, not a list
    toolyard.json:1:101: more than 100 levels of nesting
    toolyard.json:1:1282: maximum nesting depth exceeded
    ");
}

#[test]
fn a_hundred_mistakes_are_enough() {
    let text = format!("{{ {} }}", (0..150).map(|n| format!("\"k{n}\": 0")).collect::<Vec<_>>().join(", "));
    let mistakes = parsed(&text).unwrap_err();
    assert_eq!(mistakes.len(), 101);
    assert_eq!(mistakes[100].message, "and 50 more mistakes");
}

#[test]
fn a_mistake_does_not_show_what_a_reference_stands_for() {
    let text = r#"{ "mcpServers": { "a": { "url": "https://example.com", "type": "${TOKEN}", "auth": "${TOKEN}" } } }"#;
    insta::assert_snapshot!(mistakes(text), @"
    toolyard.json:1:64: `type` in server `a` cannot be `${TOKEN}`
      hint: one of `stdio`, `local`, `http`, `streamable-http`, `streamableHttp`, `streamable_http`, `sse`, `builtin`
    toolyard.json:1:84: `auth` in server `a` cannot be `${TOKEN}`
      hint: one of `off`, `auto`
    ");
}

#[test]
fn r14_an_endpoint_names_its_model() {
    insta::assert_snapshot!(
        mistakes(r#"{ "routing": { "semanticSearch": { "model": "https://example.org/v1/embeddings" } } }"#),
        @"
        toolyard.json:1:45: `https://example.org/v1/embeddings` in `routing.semanticSearch.model` does not name a model
          hint: write it behind the address: https://HOST/v1/embeddings#MODEL
        "
    );
}

#[test]
fn c3_every_mistake_in_a_rule_is_reported_at_once() {
    insta::assert_snapshot!(mistakes(
        r#"{ "mcpServers": { "git": { "command": "x" } }, "policy": {
  "readOnly": "yes",
  "rules": [
    { "tool": "push", "then": "ask" },
    { "server": "gti", "then": "deny" },
    { "effect": "delete", "then": "ask" },
    { "effect": ["read", "wirte"], "then": "ask" },
    { "tool": "git__*" },
    { "tools": "git__*", "then": "alow" },
  ],
}, "audit": { "value": true, "files": 0 } }"#), @"
    toolyard.json:2:15: `readOnly` in `policy` must be true or false, not a string
    toolyard.json:4:15: a rule of `policy` names `push`, which is no tool
      hint: write it as server__tool, or with * for any characters
    toolyard.json:5:17: a rule of `policy` names an unknown server `gti`
      hint: did you mean `git`?
    toolyard.json:6:17: `effect` in `policy.rules.2` cannot be `delete`
      hint: one of `read`, `write`, `destroy`
    toolyard.json:7:26: `effect[1]` in `policy.rules.3` cannot be `wirte`
      hint: did you mean `write`?
    toolyard.json:8:5: `then` is missing in `policy.rules.4`
    toolyard.json:9:7: unknown key `tools` in `policy.rules.5`
      hint: did you mean `tool`?
    toolyard.json:9:34: `then` in `policy.rules.5` cannot be `alow`
      hint: did you mean `allow`?
    toolyard.json:11:15: unknown key `value` in `audit`
      hint: did you mean `values`?
    toolyard.json:11:39: `files` in `audit` must be between 1 and 1000, not 0
      hint: files that are kept; 4 by default
    ");
}

#[test]
fn t1_what_conversations_are_given_is_checked() {
    insta::assert_snapshot!(mistakes(r#"{
  "mcpServers": { "home": { "builtin": "time" } },
  "tiers": { "hme": 0, "home": 3 },
  "domains": { "home": 1, "hom": "x" },
  "skills": { "s": { "when": "" } },
  "toolset": {
    "maxTool": 5, "budget": { "tokens": 5 }, "parameters": "some", "model": "gpt",
  },
  "serve": { "profiles": { "raw": { "transparent": "home", "toolset": {} }, "small": { "surface": "toolset", "toolset": { "model": "http://x" } } } },
}"#), @r#"
    toolyard.json:3:14: `hme` in `tiers` is neither a server, a tool nor a glob
      hint: did you mean `home`?
    toolyard.json:3:32: `home` in `tiers` must be between 0 and 2, not 3
      hint: 0 essential, 1 utility, 2 fallback
    toolyard.json:4:24: `home` in `domains` must be a string, not a number
      hint: write "1"
    toolyard.json:4:27: `hom` in `domains` is neither a server, a tool nor a glob
      hint: did you mean `home`?
    toolyard.json:5:30: `when` in `skills.s` is empty
    toolyard.json:7:5: unknown key `maxTool` in `toolset`
      hint: did you mean `maxTools`?
    toolyard.json:7:41: `tokens` in `toolset.budget` must be between 500 and 10000000, not 5
      hint: tokens, at four bytes each; any number by default
    toolyard.json:7:60: `parameters` in `toolset` cannot be `some`
      hint: one of `all`, `required`
    toolyard.json:7:77: `toolset.model` does not name a model
      hint: write "ollama:MODEL", "anthropic:MODEL", or the model behind the address: https://HOST/v1/chat/completions#MODEL
    toolyard.json:9:52: the profile `raw` has `transparent` beside other keys
      hint: a transparent profile passes one server through unchanged
    toolyard.json:9:121: `toolset.model` does not name a model
      hint: write "ollama:MODEL", "anthropic:MODEL", or the model behind the address: https://HOST/v1/chat/completions#MODEL
    "#);
}

#[test]
fn r9_a_model_for_arguments_is_named_with_its_address() {
    let arguments =
        |written: &str| format!(r#"{{ "mcpServers": {{}}, "routing": {{ "arguments": {written} }} }}"#);
    let wrong = arguments(r#"{ "model": "https://x/v1?key=${TOKEN}", "timeoutMs": 0, "url": "x" }"#);
    insta::assert_snapshot!(mistakes(&wrong), @r#"
    toolyard.json:1:58: `routing.arguments.model` does not name a model
      hint: write "ollama:MODEL", "anthropic:MODEL", or the model behind the address: https://HOST/v1/chat/completions#MODEL
    toolyard.json:1:100: `timeoutMs` in `routing.arguments` must be between 1 and 600000, not 0
      hint: milliseconds that the model may take before the person is asked; 10000 by default
    toolyard.json:1:103: unknown key `url` in `routing.arguments`
    "#);
    let shown = |written: &str| format!("{:?}", config(&arguments(written)).routing.adviser);
    insta::assert_snapshot!(shown(r#"{ "model": "https://x/v1/chat/completions#m", "apiKey": "${TOKEN}" }"#), @r#"Some(LanguageModel { url: https://x/…, name: "m", key: Some(…), timeout: 10s })"#);
    assert_eq!(shown(r#"{ "timeoutMs": 5 }"#), "None");
}

#[test]
fn i7_a_profile_puts_its_own_toolset_over_the_common_one() {
    let config = config(
        r#"{ "mcpServers": {},
        "toolset": { "maxTools": 6, "tier": 1, "model": "ollama:qwen3:0.6b", "apiKey": "${TOKEN}" },
        "serve": { "profiles": { "small": { "surface": "toolset",
            "toolset": { "budget": { "tools": 7, "tokens": 900 }, "parameters": "required", "timeoutMs": 50 } } } } }"#,
    );
    insta::assert_debug_snapshot!(config.toolset_of(Some("small")), @r#"
    Toolset {
        core: [],
        own: [
            SmartRoute,
            ActivateSkill,
            FindTools,
            CallTool,
        ],
        tier: 1,
        caps: Caps {
            max_tools: 6,
            max_domains: 3,
            max_skills: 3,
            max_listed: 7,
        },
        activating: Asked,
        tokens: Some(
            900,
        ),
        parameters: Required,
        chooser: Some(
            LanguageModel {
                url: http://127.0.0.1:11434/…,
                name: "qwen3:0.6b",
                key: Some(
                    …,
                ),
                timeout: 50ms,
            },
        ),
    }
    "#);
    assert_eq!(config.toolset_of(None), config.toolset_of(Some("nobody")));
    assert_eq!(config.toolset.caps.max_listed, 15);
}

#[test]
fn s8_names_and_texts_of_skills_are_checked() {
    let long = "w".repeat(1025);
    let written = format!(
        r#"{{ "mcpServers": {{}}, "skills": {{
  "a b | c\n": {{ "when": "x" }},
  "long": {{ "when": "{long}", "instructions": "x" }}
}} }}"#
    );
    insta::assert_snapshot!(mistakes(&written), @"
    toolyard.json:2:3: the name `a b | c` of a skill has letters, digits, `-` and `_`
    toolyard.json:3:21: what the skill is for has more than 1024 characters
    ");
    let twice = r#"{ "mcpServers": {}, "skills": { "a": { "when": "x\u202e", "tools": ["g__a", "g__b", "g__a"] } } }"#;
    let config = config(twice);
    let skill = &config.skills["a"];
    assert_eq!(
        (skill.when.as_str(), skill.tools.as_slice()),
        ("x", &["g__a".to_owned(), "g__b".to_owned()][..])
    );
}

#[test]
fn c7_old_names_that_cannot_be_followed_are_mistakes() {
    insta::assert_snapshot!(mistakes(
        r#"{ "aliasPhase": "later", "aliases": {
  "a": "s__b",
  "b": "s__a",
  "bare": "manage_product",
  "call_tool": "s__x",
  "two words": "s__x",
  "both": { "to": "s__x", "arguments": { "action": 1 }, "rename": { "verb": "action" } },
  "lacking": { "arguments": {} },
  "wrong": { "to": "s__x", "argument": {}, "phase": "past" },
} }"#), @"
    toolyard.json:1:17: `aliasPhase` cannot be `later`
      hint: one of `warn`, `gone`
    toolyard.json:2:3: `a` stands for itself, through `to` of other old names
    toolyard.json:3:3: `b` stands for itself, through `to` of other old names
    toolyard.json:4:11: `manage_product` in `aliases` is not the name of a tool
      hint: write it as server__tool
    toolyard.json:5:3: `call_tool` is a tool of the hub itself, so `aliases` cannot have it
    toolyard.json:6:3: `two words` in `aliases` is not the name of a tool
    toolyard.json:7:67: `verb` is renamed to `action`, which `arguments` fixes
      hint: keep one of the two
    toolyard.json:8:14: `to` is missing in `aliases.lacking`
    toolyard.json:9:28: unknown key `argument` in `aliases.wrong`
      hint: did you mean `arguments`?
    toolyard.json:9:53: `phase` in `aliases.wrong` cannot be `past`
      hint: one of `warn`, `gone`
    ");
}

#[test]
fn c7_an_old_name_is_written_in_short_or_with_all_that_changed() {
    let config = config(
        r#"{ "aliasPhase": "gone", "aliases": {
  "old": "s__new",
  "create": { "to": "s__manage", "arguments": { "action": "${HOME}" }, "rename": { "id": "slug" }, "usage": "u", "phase": "warn" },
} }"#,
    );
    let [old, create] = config.aliases.as_slice() else { panic!("there are two") };
    assert_eq!((old.to.as_str(), old.phase, old.changes_arguments()), ("s__new", Phase::Gone, false));
    // What is given to a tool is given as it is written.
    assert_eq!(create.fixed["action"], "${HOME}");
    assert_eq!(
        (create.argument("id"), create.usage.as_deref(), create.phase),
        ("slug", Some("u"), Phase::Warn)
    );
    assert_eq!(config.alias_phase, Phase::Gone);
}

#[test]
fn r21_schedules_that_make_no_sense_are_mistakes() {
    insta::assert_snapshot!(mistakes(
        r#"{ "schedules": {
  "never": { "workflow": "w" },
  "both": { "workflow": "w", "at": "08:00", "every": "1h" },
  "late": { "workflow": "w", "at": "25:00", "timeZone": "Mars/Base" },
  "days": { "workflow": "w", "every": "1h", "on": ["mon"] },
  "span": { "workflow": "w", "every": "soon" },
  "age": { "workflow": "w", "every": "400d" },
  "none": { "workflow": "w", "every": 0 },
  "day": { "workflow": "w", "at": "08:00", "on": ["someday"] },
  "lacking": { "at": "08:00" },
} }"#), @r#"
    toolyard.json:2:3: the schedule `never` needs `at` or `every`, and not both
      hint: write a time such as "at": "08:00", or a length of time such as "every": "6h"
    toolyard.json:3:3: the schedule `both` needs `at` or `every`, and not both
      hint: write a time such as "at": "08:00", or a length of time such as "every": "6h"
    toolyard.json:4:36: `at` of the schedule `late` is not a time of the day
      hint: write it as "08:00" or "17:30"
    toolyard.json:4:57: `timeZone` of the schedule `late` is unknown
      hint: write it as "Europe/Vienna" or "UTC"
    toolyard.json:5:3: `on` and `timeZone` of the schedule `days` go with `at` alone
    toolyard.json:6:39: `every` of the schedule `span` is not a length of time of a second to a year
      hint: write seconds, or text such as "90s", "15m" or "6h"
    toolyard.json:7:38: `every` of the schedule `age` is not a length of time of a second to a year
      hint: write seconds, or text such as "90s", "15m" or "6h"
    toolyard.json:8:39: `every` in `schedules.none` must be between 1 and 31536000, not 0
    toolyard.json:9:51: `on[0]` in `schedules.day` cannot be `someday`
      hint: one of `mon`, `tue`, `wed`, `thu`, `fri`, `sat`, `sun`
    toolyard.json:10:14: `workflow` is missing in `schedules.lacking`
    "#);
}
