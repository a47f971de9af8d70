//! Add, remove, and files with mistakes.

use crate::place::Place;

const FILE: &str = r#"{
  // Mine.
  "mcpServers": {
    "git": { "command": "git-mcp" }, // local
    /* far away */
    "docs": { "url": "https://example.com/mcp" },
  },
}
"#;

#[test]
fn adding_to_nothing_makes_a_file_with_the_built_in_servers() {
    let place = Place::new();
    insta::assert_snapshot!(
        place.run(&["add", "files", "--env", "KEY=a=b", "--cwd", ".", "--", "./server", "--root", "/tmp"]),
        @"
        Added `files` to [HOME]/config/toolyard/toolyard.json (new, with the built-in servers).
        Next: `toolyard doctor files` checks that it works, `toolyard list files` shows its tools.
        [exit 0]
        "
    );
    insta::assert_snapshot!(place.read("config/toolyard/toolyard.json"), @r#"
    {
      "mcpServers": {
        // Built in; delete what you do not need.
        "notes": { "builtin": "notes" },
        "time": { "builtin": "time" },
        "files": {
          "command": "[HOME]/desk/server",
          "args": ["--root", "/tmp"],
          "env": {
            "KEY": "a=b"
          },
          "cwd": "[HOME]/desk"
        }
      }
    }
    "#);
    let (status, _) = place.json(&["status", "--json"]);
    let names: Vec<&str> =
        status["servers"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["files", "notes", "time"]);
}

#[test]
fn adding_and_removing_keep_comments() {
    let place = Place::new();
    place.write("desk/toolyard.json", FILE);
    insta::assert_snapshot!(
        place.run(&["add", "web", "https://example.org/mcp", "--header", "X-Key=${HOME}"]),
        @"
        Added `web` to [HOME]/desk/toolyard.json.
        Next: `toolyard doctor web` checks that it works, `toolyard list web` shows its tools.
        [exit 0]
        "
    );
    insta::assert_snapshot!(place.read("desk/toolyard.json"), @r#"
    {
      // Mine.
      "mcpServers": {
        "git": { "command": "git-mcp" }, // local
        /* far away */
        "docs": { "url": "https://example.com/mcp" },
        "web": {
          "url": "https://example.org/mcp",
          "headers": {
            "X-Key": "${HOME}",
          },
        },
      },
    }
    "#);
    insta::assert_snapshot!(place.run(&["remove", "web"]), @"
    Removed `web` from [HOME]/desk/toolyard.json.
    [exit 0]
    ");
    assert_eq!(place.read("desk/toolyard.json"), FILE);
    insta::assert_snapshot!(place.run(&["remove", "git", "--json"]), @r#"
    {
      "removed": "git",
      "file": "[HOME]/desk/toolyard.json"
    }
    [exit 0]
    "#);
}

#[test]
fn a_file_that_is_named_is_made() {
    let place = Place::new();
    place.output(&["add", "web", "https://example.org/mcp", "--config", "mine.json"]);
    assert!(place.read("desk/mine.json").contains("https://example.org/mcp"));
}

#[test]
fn what_cannot_be_added_or_removed_changes_nothing() {
    let place = Place::new();
    place.write("desk/toolyard.json", FILE);
    insta::assert_snapshot!(
        [
            place.run(&["add", "git", "--", "other"]),
            place.run(&["add", "new"]),
            place.run(&["add", "new", "npx"]),
            place.run(&["add", "new", "http://"]),
            place.run(&["add", "new", "https://example.org", "--header", "X-Key=${NOT_SET_ANYWHERE}"]),
            place.run(&["add", "new", "--env", "KEY", "--", "x"]),
            place.run(&["remove", "gti"]),
        ]
        .join("\n"),
        @r#"
        [stderr]
        error: there is already a server `git`
          hint: choose another name, or `toolyard remove git` first
        [exit 2]
        [stderr]
        error: there is neither a URL nor a command
          hint: toolyard add new URL, or toolyard add new -- COMMAND ARGS…
        [exit 2]
        [stderr]
        error: `npx` is not an address
          hint: a command stands after two dashes: toolyard add new -- npx
        [exit 2]
        [stderr]
        error: [HOME]/desk/toolyard.json:8:14: the `url` of server `new` is not usable: empty host
          hint: write it like "https://example.com/mcp"
          hint: nothing was changed
        [exit 2]
        [stderr]
        error: [HOME]/desk/toolyard.json:10:18: the environment variable `NOT_SET_ANYWHERE` is not set
          hint: set it, or give a default: `${NOT_SET_ANYWHERE:-value}`
          hint: nothing was changed
        [exit 2]
        [stderr]
        error: `KEY` is not NAME=VALUE
          hint: put quotes around it if it has spaces
        [exit 2]
        [stderr]
        error: there is no server `gti`; did you mean `git`?
        [exit 2]
        "#
    );
    assert_eq!(place.read("desk/toolyard.json"), FILE);
}

#[test]
fn every_mistake_in_the_file_is_told_at_once() {
    let place = Place::with(
        r#"{
  "mcpServers": {
    "git": { "comand": "git-mcp" },
    "docs": { "url": "ftp://example.com" }
  },
  "serve": { "surface": "everything" }
}
"#,
    );
    for command in ["list", "status", "serve"] {
        let output = place.output(&[command]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert_eq!(output.stdout, b"", "{command}");
    }
    insta::assert_snapshot!(place.run(&["list"]), @r#"
    [stderr]
    error: 3 mistakes
    [HOME]/config/toolyard/toolyard.json:3:14: unknown key `comand` in server `git`
      hint: did you mean `command`?
    [HOME]/config/toolyard/toolyard.json:4:22: the `url` of server `docs` is not usable: `ftp` is not http or https
      hint: write it like "https://example.com/mcp"
    [HOME]/config/toolyard/toolyard.json:6:25: `surface` in `serve` cannot be `everything`
      hint: one of `route`, `toolset`, `search`, `all`, `auto`
    [exit 2]
    "#);
    insta::assert_snapshot!(place.run(&["list", "--json"]), @r#"
    {
      "error": {
        "message": "3 mistakes\n[HOME]/config/toolyard/toolyard.json:3:14: unknown key `comand` in server `git`\n  hint: did you mean `command`?\n[HOME]/config/toolyard/toolyard.json:4:22: the `url` of server `docs` is not usable: `ftp` is not http or https\n  hint: write it like \"https://example.com/mcp\"\n[HOME]/config/toolyard/toolyard.json:6:25: `surface` in `serve` cannot be `everything`\n  hint: one of `route`, `toolset`, `search`, `all`, `auto`",
        "hint": null,
        "mistakes": [
          {
            "file": "[HOME]/config/toolyard/toolyard.json",
            "line": 3,
            "column": 14,
            "message": "unknown key `comand` in server `git`",
            "hint": "did you mean `command`?"
          },
          {
            "file": "[HOME]/config/toolyard/toolyard.json",
            "line": 4,
            "column": 22,
            "message": "the `url` of server `docs` is not usable: `ftp` is not http or https",
            "hint": "write it like \"https://example.com/mcp\""
          },
          {
            "file": "[HOME]/config/toolyard/toolyard.json",
            "line": 6,
            "column": 25,
            "message": "`surface` in `serve` cannot be `everything`",
            "hint": "one of `route`, `toolset`, `search`, `all`, `auto`"
          }
        ]
      }
    }
    [exit 2]
    "#);
    insta::assert_snapshot!(place.run(&["doctor"]), @r#"
    configuration
      bad  [HOME]/config/toolyard/toolyard.json:3:14: unknown key `comand` in server `git`
          fix: did you mean `command`?
      bad  [HOME]/config/toolyard/toolyard.json:4:22: the `url` of server `docs` is not usable: `ftp` is not http or https
          fix: write it like "https://example.com/mcp"
      bad  [HOME]/config/toolyard/toolyard.json:6:25: `surface` in `serve` cannot be `everything`
          fix: one of `route`, `toolset`, `search`, `all`, `auto`
    No server was checked: first the file must be right.
    [exit 1]
    "#);
}

#[test]
fn a_file_with_mistakes_can_be_made_better() {
    let place = Place::with(
        r#"{ "mcpServers": { "bad": { "url": "ftp://example.com" }, "time": { "builtin": "time" } } }"#,
    );
    insta::assert_snapshot!(place.run(&["remove", "bad"]), @"
    Removed `bad` from [HOME]/config/toolyard/toolyard.json.
    [exit 0]
    ");
    assert_eq!(place.output(&["list"]).status.code(), Some(0));
}
