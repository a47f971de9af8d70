//! Servers that lack a variable of the environment.

use super::{config, mistakes};

/// The servers that are there, and why others are off.
fn availability(text: &str) -> String {
    let config = config(text);
    let there = config.servers.keys().cloned();
    let off = config.off.iter().map(|(name, off)| format!("{} ({})", off.sentence(name), off.transport));
    there.chain(off).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_server_that_lacks_a_variable_is_off_and_the_others_are_there() {
    let text = r#"{ "mcpServers": {
        "git": { "command": "git" },
        "hub": { "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer ${HUB_TOKEN}" } },
        "db": { "command": "${DB_SERVER}", "args": ["${DB_URL}", "--again", "${DB_URL}"], "env": { "T": "${TOKEN}" } },
        "set": { "command": "x", "env": { "A": "${NOT_SET:-a}", "B": "${TOKEN}" } },
    }, "servers": { "notes": { "builtin": "notes", "folder": "${NOTES}", "type": "${KIND}" } } }"#;
    insta::assert_snapshot!(availability(text), @"
    git
    set
    server `db` is off: the environment variables `DB_SERVER`, `DB_URL` are not set; set them where Toolyard is started, or give defaults: `${DB_SERVER:-value}`, `${DB_URL:-value}` (stdio)
    server `hub` is off: the environment variable `HUB_TOKEN` is not set; set it where Toolyard is started, or give a default: `${HUB_TOKEN:-value}` (http)
    server `notes` is off: the environment variables `NOTES`, `KIND` are not set; set them where Toolyard is started, or give defaults: `${NOTES:-value}`, `${KIND:-value}` (builtin)
    ");
}

#[test]
fn what_names_a_server_that_is_off_still_means_it() {
    let text = r#"{ "mcpServers": { "hub": { "command": "x", "args": ["${HUB_TOKEN}"], "disabledTools": ["a"] } },
        "tiers": { "hub": 0 }, "domains": { "hub": "code" },
        "policy": { "rules": [{ "server": "hub", "then": "ask" }] },
        "serve": { "profiles": { "raw": { "transparent": "hub" }, "one": { "surface": "all", "servers": ["hub"] } } } }"#;
    insta::assert_snapshot!(availability(text), @"server `hub` is off: the environment variable `HUB_TOKEN` is not set; set it where Toolyard is started, or give a default: `${HUB_TOKEN:-value}` (stdio)");
}

#[test]
fn other_mistakes_of_a_server_that_is_off_are_mistakes() {
    let text = r#"{ "mcpServers": {
  "hub": { "comand": "x", "args": ["${HUB_TOKEN}"] },
  "ask": { "command": "x", "args": ["${HUB_TOKEN}", "${input:key}"] },
} }"#;
    insta::assert_snapshot!(mistakes(text), @"
    toolyard.json:2:12: unknown key `comand` in server `hub`
      hint: did you mean `command`?
    toolyard.json:3:53: `${input:key}` asks a person, which a hub cannot do
      hint: put the value in an environment variable and write `${KEY}`
    ");
}

#[test]
fn a_variable_that_is_not_set_outside_of_a_server_is_a_mistake() {
    let text = r#"{ "mcpServers": { "hub": { "command": "x", "args": ["${HUB_TOKEN}"] } },
  "serve": { "token": "${SERVE_TOKEN}" },
  "store": { "folder": "${FOLDER}" },
  "routing": { "semanticSearch": { "apiKey": "${KEY}" } },
}"#;
    insta::assert_snapshot!(mistakes(text), @"
    toolyard.json:2:23: the environment variable `SERVE_TOKEN` is not set
      hint: set it, or give a default: `${SERVE_TOKEN:-value}`
    toolyard.json:3:24: the environment variable `FOLDER` is not set
      hint: set it, or give a default: `${FOLDER:-value}`
    toolyard.json:3:24: `folder` in `store` is empty
    toolyard.json:4:46: the environment variable `KEY` is not set
      hint: set it, or give a default: `${KEY:-value}`
    toolyard.json:4:46: `apiKey` in `routing.semanticSearch` is empty
    ");
}
