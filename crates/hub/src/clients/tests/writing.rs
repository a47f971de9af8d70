//! What is written, and that it can be taken back.

use std::fs;

use serde_json::json;

use super::*;

/// A folder with one file in it, and a place for backups.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("sub/file")
    }

    fn with(text: &str) -> Self {
        let place = Self::new();
        fs::create_dir(place.folder.path().join("sub")).unwrap();
        fs::write(place.file(), text).unwrap();
        place
    }

    fn backups(&self) -> PathBuf {
        self.folder.path().join("backups")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }
}

fn found_in(client: Client, text: &str) -> Found {
    let (servers, problems) = read(client, text);
    Found { client, path: client.name().into(), project: None, servers, problems }
}

fn one(client: Client, name: &str, server: Value) -> Found {
    Found {
        client,
        path: client.name().into(),
        project: None,
        servers: vec![(name.to_owned(), server)],
        problems: vec![],
    }
}

/// The plan as a person reads it.
fn shown(plan: &Takeover) -> String {
    let additions = plan.additions.iter().map(|it| {
        let renamed =
            if it.conflicts() { format!(" (`{}` is taken)", it.source.name) } else { String::new() };
        let disabled = it.disabled_because.as_ref().map_or(String::new(), |why| format!(" disabled: {why}"));
        format!("+ {} from {}{renamed}{disabled}", it.name, it.source.client)
    });
    let same =
        plan.same.iter().map(|it| format!("= {} of {} is {}", it.source.name, it.source.client, it.name));
    let own = plan.own.iter().map(|it| format!("- {} of {}", it.name, it.client));
    let problems = plan.problems.iter().map(|(path, problem)| format!("! {}: {problem}", path.display()));
    additions.chain(same).chain(own).chain(problems).collect::<Vec<_>>().join("\n")
}

fn set(_: &str) -> Option<String> {
    Some("set".to_owned())
}

const OURS: &str =
    "{\n  // Mine.\n  \"mcpServers\": {\n    \"github\": { \"command\": \"my-github\" }, // keep\n  },\n}\n";

#[test]
fn importing_every_client_can_be_undone_to_the_byte() {
    for client in Client::ALL {
        for before in [None, Some(OURS), Some("")] {
            let place = before.map_or_else(Place::new, Place::with);
            let plan = plan(&[found_in(client, fixture(client))], before.unwrap_or_default(), &set).unwrap();
            let receipt = apply(&plan, &place.file(), &place.backups()).unwrap().unwrap();
            assert_eq!(receipt.path, place.file());
            let folders = config::Folders { home: "/h".into(), config: "/c".into(), data: "/d".into() };
            let loaded = config::load(&place.file(), &set, &folders);
            assert!(loaded.is_ok(), "{client}: {loaded:?}\n{}", place.text());
            let restored = undo(&place.backups()).unwrap();
            assert_eq!(restored, Restored { path: place.file(), existed: before.is_some() });
            assert_eq!(fs::read_to_string(place.file()).ok().as_deref(), before, "{client}");
            assert_eq!(place.file().parent().unwrap().exists(), before.is_some());
            assert!(matches!(undo(&place.backups()), Err(Error::NothingToUndo)));
        }
    }
}

#[test]
fn a_plan_says_what_would_be_added_what_is_here_and_what_conflicts() {
    let found: Vec<Found> = Client::ALL.map(|client| found_in(client, fixture(client))).into();
    insta::assert_snapshot!(shown(&plan(&found, OURS, &|_| None).unwrap()), @"
    + filesystem from Claude Desktop
    + billing from Claude Desktop
    + linear from Claude Code
    + asana from Claude Code
    + postgres from Claude Code disabled: the environment variable `DATABASE_URI` is not set
    + github-cursor from Cursor (`github` is taken) disabled: the environment variable `GITHUB_TOKEN` is not set
    + local from Cursor
    + playwright from VS Code
    + perplexity from VS Code disabled: the environment variable `PERPLEXITY_KEY` is not set
    + docs from VS Code
    + remote from Windsurf disabled: the environment variable `AUTH_TOKEN` is not set
    + github-windsurf from Windsurf (`github` is taken)
    + hf-mcp-server from LM Studio
    + context7 from Codex disabled: the environment variable `CONTEXT7_KEY` is not set
    + figma from Codex
    + hexdocs from Zed
    + older from Zed
    + python-tools from Gemini CLI disabled: the environment variable `DB_CONNECTION_STRING` is not set
    + http-server from Gemini CLI
    ! zed: `mcp-server-context7` comes from an extension, which only its editor can start
    ! gemini-cli: `python-tools` shows only some tools (`includeTools`); say so in `policy.allow`
    ");
}

#[test]
fn the_imported_file_keeps_what_was_there() {
    let found = [found_in(Client::Windsurf, fixture(Client::Windsurf))];
    let place = Place::with(OURS);
    let plan = plan(&found, OURS, &set).unwrap();
    apply(&plan, &place.file(), &place.backups()).unwrap();
    insta::assert_snapshot!(place.text(), @r#"
    {
      // Mine.
      "mcpServers": {
        "github": { "command": "my-github" }, // keep
        "remote": {
          "url": "https://example.com/mcp",
          "headers": {
            "API_KEY": "Bearer ${AUTH_TOKEN}",
          },
        },
        "github-windsurf": {
          "command": "docker",
          "args": ["run", "-i", "--rm", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN", "ghcr.io/github/github-mcp-server"],
          "env": {
            "GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_literal",
          },
          "disabledTools": ["delete_file"],
        },
      },
    }
    "#);
}

#[test]
fn a_second_import_adds_nothing() {
    let found: Vec<Found> = Client::ALL.map(|client| found_in(client, fixture(client))).into();
    let place = Place::with(OURS);
    let first = plan(&found, OURS, &set).unwrap();
    apply(&first, &place.file(), &place.backups()).unwrap().unwrap();
    let second = plan(&found, &place.text(), &set).unwrap();
    assert_eq!(second.additions, []);
    assert_eq!(apply(&second, &place.file(), &place.backups()).unwrap(), None);
}

#[test]
fn toolyard_never_imports_itself() {
    let entries = [
        json!({ "command": "/usr/bin/toolyard", "args": ["serve", "--stdio"] }),
        json!({ "command": "C:\\Tools\\toolyard.exe", "args": ["serve"] }),
        json!({ "command": "wsl", "args": ["toolyard", "serve", "--stdio"] }),
        json!({ "url": "http://127.0.0.1:8808/mcp/desk" }),
    ];
    for entry in entries {
        let plan = plan(&[one(Client::Cursor, "hub", entry.clone())], "", &set).unwrap();
        assert_eq!((plan.additions.len(), plan.own.len()), (0, 1), "{entry}");
    }
    let other = json!({ "command": "npx", "args": ["toolyard-notes"] });
    assert_eq!(plan(&[one(Client::Cursor, "toolyard-notes", other)], "", &set).unwrap().additions.len(), 1);
}

#[test]
fn servers_of_the_same_name_get_names_of_their_own() {
    let found = [
        one(Client::Cursor, "github", json!({ "command": "a" })),
        one(Client::Windsurf, "github", json!({ "command": "b" })),
        one(Client::Windsurf, "github", json!({ "command": "c" })),
        one(Client::Zed, "gh", json!({ "command": "a", "args": [] })),
    ];
    insta::assert_snapshot!(shown(&plan(&found, OURS, &set).unwrap()), @"
    + github-cursor from Cursor (`github` is taken)
    + github-windsurf from Windsurf (`github` is taken)
    + github-windsurf-2 from Windsurf (`github` is taken)
    = gh of Zed is github-cursor
    ");
}

#[test]
fn a_file_that_changed_since_the_plan_is_left_alone() {
    let place = Place::with(OURS);
    let plan = plan(&[one(Client::Cursor, "new", json!({ "command": "a" }))], OURS, &set).unwrap();
    fs::write(place.file(), "{}").unwrap();
    let refused = apply(&plan, &place.file(), &place.backups()).unwrap_err();
    assert!(matches!(refused, Error::Changed { .. }), "{refused}");
    assert_eq!(place.text(), "{}");
}

#[test]
fn settings_that_are_not_json_are_not_imported_into() {
    assert!(plan(&[], "{ oops", &set).is_err());
}

#[test]
fn connecting_every_client_can_be_undone_to_the_byte() {
    for client in Client::ALL {
        for before in [None, Some(fixture(client)), Some("")] {
            let place = before.map_or_else(Place::new, Place::with);
            let made = connect(client, &place.file(), &stdio(), &place.backups()).unwrap();
            assert!(matches!(made, Connected::Written(_)));
            let (servers, _) = read(client, &place.text());
            let own =
                servers.iter().find(|(name, _)| name == "toolyard").map(|(_, server)| &server["command"]);
            assert_eq!(own, Some(&json!("/opt/toolyard/bin/toolyard")), "{client}");
            let once = place.text();
            let again = connect(client, &place.file(), &stdio(), &place.backups()).unwrap();
            assert_eq!((again, place.text()), (Connected::Already, once), "{client}");
            undo(&place.backups()).unwrap();
            assert_eq!(fs::read_to_string(place.file()).ok().as_deref(), before, "{client}");
        }
    }
}

#[test]
fn connecting_touches_nothing_else() {
    for client in Client::ALL {
        let before = fixture(client);
        let after = connected(client, before, &stdio()).unwrap();
        let (mut servers, problems) = read(client, &after);
        servers.retain(|(name, _)| name != "toolyard");
        assert_eq!((servers, problems), read(client, before), "{client}");
        for line in before.lines().filter(|line| line.contains("//") || line.starts_with('#')) {
            assert!(after.contains(line), "{client} lost `{line}`");
        }
    }
}

#[test]
fn each_client_gets_its_own_form() {
    let one_line = |client: Client, entry: &Entry| match connected(client, "", entry) {
        Ok(text) if client == Client::Codex => text.trim_end().to_owned(),
        Ok(text) => config::edit::value_of(&text).unwrap().unwrap().to_string(),
        Err(refusal) => refusal.to_string(),
    };
    let all = Client::ALL
        .map(|client| format!("{client}\n{}\n{}", one_line(client, &stdio()), one_line(client, &url())));
    insta::assert_snapshot!(all.join("\n\n"), @r#"
    Claude Desktop
    {"mcpServers":{"toolyard":{"command":"/opt/toolyard/bin/toolyard","args":["serve","--stdio"]}}}
    Claude Desktop cannot be given a URL in its configuration; connect it over stdio

    Claude Code
    {"mcpServers":{"toolyard":{"type":"stdio","command":"/opt/toolyard/bin/toolyard","args":["serve","--stdio"]}}}
    {"mcpServers":{"toolyard":{"type":"http","url":"http://127.0.0.1:8808/mcp","headers":{"Authorization":"Bearer s3cret"}}}}

    Cursor
    {"mcpServers":{"toolyard":{"command":"/opt/toolyard/bin/toolyard","args":["serve","--stdio"]}}}
    {"mcpServers":{"toolyard":{"url":"http://127.0.0.1:8808/mcp","headers":{"Authorization":"Bearer s3cret"}}}}

    VS Code
    {"servers":{"toolyard":{"type":"stdio","command":"/opt/toolyard/bin/toolyard","args":["serve","--stdio"]}}}
    {"servers":{"toolyard":{"type":"http","url":"http://127.0.0.1:8808/mcp","headers":{"Authorization":"Bearer s3cret"}}}}

    Windsurf
    {"mcpServers":{"toolyard":{"command":"/opt/toolyard/bin/toolyard","args":["serve","--stdio"]}}}
    {"mcpServers":{"toolyard":{"serverUrl":"http://127.0.0.1:8808/mcp","headers":{"Authorization":"Bearer s3cret"}}}}

    LM Studio
    {"mcpServers":{"toolyard":{"command":"/opt/toolyard/bin/toolyard","args":["serve","--stdio"]}}}
    {"mcpServers":{"toolyard":{"url":"http://127.0.0.1:8808/mcp","headers":{"Authorization":"Bearer s3cret"}}}}

    Codex
    [mcp_servers.toolyard]
    command = "/opt/toolyard/bin/toolyard"
    args = ["serve", "--stdio"]
    [mcp_servers.toolyard]
    url = "http://127.0.0.1:8808/mcp"
    http_headers = { Authorization = "Bearer s3cret" }

    Zed
    {"context_servers":{"toolyard":{"source":"custom","command":"/opt/toolyard/bin/toolyard","args":["serve","--stdio"]}}}
    {"context_servers":{"toolyard":{"source":"custom","url":"http://127.0.0.1:8808/mcp","headers":{"Authorization":"Bearer s3cret"}}}}

    Gemini CLI
    {"mcpServers":{"toolyard":{"command":"/opt/toolyard/bin/toolyard","args":["serve","--stdio"]}}}
    {"mcpServers":{"toolyard":{"httpUrl":"http://127.0.0.1:8808/mcp","headers":{"Authorization":"Bearer s3cret"}}}}
    "#);
}

#[test]
fn an_entry_that_was_there_is_updated_and_keeps_what_a_person_added() {
    let before = r#"{
  "mcpServers": {
    "toolyard": { "url": "http://old:1/mcp", "command": "/old/toolyard", "timeout": 9 } // mine
  }
}"#;
    insta::assert_snapshot!(connected(Client::Cursor, before, &stdio()).unwrap(), @r#"
    {
      "mcpServers": {
        "toolyard": {
          "command": "/opt/toolyard/bin/toolyard",
          "timeout": 9,
          "args": ["serve", "--stdio"]
        } // mine
      }
    }
    "#);
    let before = "[mcp_servers.toolyard]\nurl = \"http://old\" # mine\nstartup_timeout_sec = 9\n";
    insta::assert_snapshot!(connected(Client::Codex, before, &stdio()).unwrap(), @r#"
    [mcp_servers.toolyard]
    startup_timeout_sec = 9
    command = "/opt/toolyard/bin/toolyard"
    args = ["serve", "--stdio"]
    "#);
    let before = "mcp_servers = { a = { command = \"a\" } }\n";
    insta::assert_snapshot!(connected(Client::Codex, before, &stdio()).unwrap(), @r#"mcp_servers = { a = { command = "a" } , toolyard = { command = "/opt/toolyard/bin/toolyard", args = ["serve", "--stdio"] } }"#);
}

#[test]
fn a_file_that_cannot_be_read_is_never_overwritten() {
    for (client, text) in [
        (Client::Cursor, "{ \"mcpServers\": { "),
        (Client::Cursor, "{ \"mcpServers\": [] }"),
        (Client::Zed, "not json"),
        (Client::Codex, "mcp_servers = 3"),
        (Client::Codex, "[mcp_servers"),
    ] {
        let place = Place::with(text);
        let refused = connect(client, &place.file(), &stdio(), &place.backups()).unwrap_err();
        assert!(matches!(refused, Error::Unreadable { .. }), "{refused}");
        assert_eq!(place.text(), text);
        assert!(!place.backups().exists());
    }
}

#[test]
fn an_undo_does_not_overwrite_what_a_person_wrote_since() {
    let place = Place::with("{}");
    connect(Client::Cursor, &place.file(), &stdio(), &place.backups()).unwrap();
    fs::write(place.file(), "{ \"mine\": 1 }").unwrap();
    let refused = undo(&place.backups()).unwrap_err().to_string();
    assert!(refused.contains("was changed in the meantime"), "{refused}");
    assert_eq!(place.text(), "{ \"mine\": 1 }");
    // Once the person has put it back by hand, there is only the backup to clear away.
    fs::write(place.file(), "{}").unwrap();
    undo(&place.backups()).unwrap();
    assert_eq!(place.text(), "{}");
}

#[test]
fn changes_are_undone_from_the_newest() {
    let place = Place::with("{}");
    connect(Client::Cursor, &place.file(), &stdio(), &place.backups()).unwrap();
    let first = place.text();
    connect(Client::Cursor, &place.file(), &url(), &place.backups()).unwrap();
    undo(&place.backups()).unwrap();
    assert_eq!(place.text(), first);
    undo(&place.backups()).unwrap();
    assert_eq!(place.text(), "{}");
}

#[test]
fn keys_are_not_shown() {
    let found = [one(Client::Cursor, "a", json!({ "command": "a", "env": { "K": "s3cret" } }))];
    let plan = plan(&found, "", &set).unwrap();
    let shown = format!("{found:?} {plan:?} {:?}", url());
    assert!(!shown.contains("s3cret"), "{shown}");
}
