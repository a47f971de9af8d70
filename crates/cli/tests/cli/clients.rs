//! Import from other clients, and connect them.

use std::fs;

use crate::place::Place;

const CURSOR: &str = r#"{
  "mcpServers": {
    "time": { "command": "uvx", "args": ["mcp-server-time", "--key", "hunter2"] },
    "docs": { "url": "https://example.com/mcp?key=hunter2" }
  }
}"#;

#[test]
fn import_shows_and_writes_only_when_told() {
    let place = Place::new();
    place.write(".cursor/mcp.json", CURSOR);
    insta::assert_snapshot!(place.run(&["import"]), @"
    2 servers for [HOME]/config/toolyard/toolyard.json:
      time-cursor  Cursor  uvx                      `time` is another server here, so it gets this name
      docs         Cursor  https://example.com/mcp
    Nothing was written; --yes writes.
    [exit 0]
    ");
    assert!(!place.path("config/toolyard/toolyard.json").exists());
    insta::assert_snapshot!(place.run(&["import", "--yes"]), @"
    2 servers for [HOME]/config/toolyard/toolyard.json:
      time-cursor  Cursor  uvx                      `time` is another server here, so it gets this name
      docs         Cursor  https://example.com/mcp
    Wrote [HOME]/config/toolyard/toolyard.json. `toolyard import --undo` brings it back as it was.
    Next: `toolyard doctor` checks that all of it works.
    [exit 0]
    ");
    insta::assert_snapshot!(place.read("config/toolyard/toolyard.json"), @r#"
    {
      "mcpServers": {
        // Built in; delete what you do not need.
        "notes": { "builtin": "notes" },
        "time": { "builtin": "time" },
        "time-cursor": {
          "command": "uvx",
          "args": ["mcp-server-time", "--key", "hunter2"]
        },
        "docs": {
          "url": "https://example.com/mcp?key=hunter2"
        }
      }
    }
    "#);
    insta::assert_snapshot!(place.run(&["import", "--undo"]), @"
    [HOME]/config/toolyard/toolyard.json is gone again.
    [exit 0]
    ");
    assert!(!place.path("config/toolyard/toolyard.json").exists());
    insta::assert_snapshot!(place.run(&["import", "--undo"]), @"
    [stderr]
    error: there is nothing to undo
    [exit 1]
    ");
}

#[test]
fn an_import_that_is_undone_leaves_every_byte_as_it_was() {
    let place = Place::with("{ // mine\n \"mcpServers\": { } }");
    place.write(".cursor/mcp.json", CURSOR);
    let before = place.read("config/toolyard/toolyard.json");
    let (done, exit) = place.json(&["import", "cursor", "--yes", "--json"]);
    assert_eq!((&done["written"], exit), (&true.into(), 0));
    assert_ne!(place.read("config/toolyard/toolyard.json"), before);
    place.output(&["import", "--undo"]);
    assert_eq!(place.read("config/toolyard/toolyard.json"), before);
    assert_eq!(fs::read_to_string(place.path(".cursor/mcp.json")).unwrap(), CURSOR);
}

#[test]
fn connect_writes_toolyard_into_a_client_and_can_undo() {
    let place = Place::new();
    place.write(".cursor/mcp.json", CURSOR);
    insta::assert_snapshot!(place.run(&["connect", "cursor"]), @"
    Cursor now has Toolyard ([HOME]/.cursor/mcp.json). `toolyard connect --undo` takes it back.
    Next: start Cursor again.
    [exit 0]
    ");
    insta::assert_snapshot!(place.read(".cursor/mcp.json"), @r#"
    {
      "mcpServers": {
        "time": { "command": "uvx", "args": ["mcp-server-time", "--key", "hunter2"] },
        "docs": { "url": "https://example.com/mcp?key=hunter2" },
        "toolyard": {
          "command": "[TOOLYARD]",
          "args": ["serve", "--stdio"]
        }
      }
    }
    "#);
    insta::assert_snapshot!(place.run(&["connect", "cursor"]), @"
    Cursor has Toolyard already ([HOME]/.cursor/mcp.json).
    [exit 0]
    ");
    insta::assert_snapshot!(place.run(&["connect", "--undo"]), @"
    [HOME]/.cursor/mcp.json is as it was.
    [exit 0]
    ");
    assert_eq!(fs::read_to_string(place.path(".cursor/mcp.json")).unwrap(), CURSOR);
}

#[test]
fn a_client_is_told_which_file_when_it_would_not_find_it() {
    let place = Place::new();
    place.write("desk/toolyard.json", "{}");
    place.output(&["connect", "lm-studio"]);
    insta::assert_snapshot!(place.read(".lmstudio/mcp.json"), @r#"
    {
      "mcpServers": {
        "toolyard": {
          "command": "[TOOLYARD]",
          "args": ["serve", "--stdio", "--config", "[HOME]/desk/toolyard.json"]
        }
      }
    }
    "#);
}

#[test]
fn connect_names_the_clients_and_what_they_cannot_do() {
    let place = Place::new();
    place.write(".cursor/mcp.json", CURSOR);
    insta::assert_snapshot!(place.run(&["connect"]), @"
    client                                 file
    claude-desktop  Claude Desktop         [HOME]/config/Claude/claude_desktop_config.json
    claude-code     Claude Code            [HOME]/.claude.json
    cursor          Cursor          found  [HOME]/.cursor/mcp.json
    vscode          VS Code                [HOME]/config/Code/User/mcp.json
    windsurf        Windsurf               [HOME]/.codeium/windsurf/mcp_config.json
    lm-studio       LM Studio              [HOME]/.lmstudio/mcp.json
    codex           Codex                  [HOME]/.codex/config.toml
    zed             Zed                    [HOME]/config/zed/settings.json
    gemini-cli      Gemini CLI             [HOME]/.gemini/settings.json
    [exit 0]
    ");
    insta::assert_snapshot!(place.run(&["connect", "cursr"]), @"
    [stderr]
    error: invalid value 'cursr' for '[CLIENT]': `cursr` is not a known client; did you mean `cursor`?

    For more information, try '--help'.
    [exit 2]
    ");
    insta::assert_snapshot!(place.run(&["connect", "claude-desktop", "--http"]), @"
    [stderr]
    error: Claude Desktop cannot be given a URL in its configuration; connect it over stdio
    [exit 2]
    ");
}
