//! What is taken from each client's file.

use std::fs;

use serde_json::json;

use super::*;

/// One line per server, then the problems.
fn taken(client: Client, text: &str) -> String {
    let (servers, problems) = read(client, text);
    let servers = servers.into_iter().map(|(name, server)| format!("{name}: {server}"));
    let problems = problems.into_iter().map(|problem| format!("! {problem}"));
    servers.chain(problems).collect::<Vec<_>>().join("\n")
}

#[test]
fn claude_desktop_has_literal_strings() {
    insta::assert_snapshot!(taken(Client::ClaudeDesktop, fixture(Client::ClaudeDesktop)), @r#"
    filesystem: {"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","/Users/ana/Documents"]}
    billing: {"command":"/usr/local/bin/billing-mcp","args":["--price","$$$5","--template","$${total}"],"env":{"BILLING_KEY":"bk-literal"}}
    "#);
}

#[test]
fn claude_code_has_servers_of_projects_as_well() {
    insta::assert_snapshot!(taken(Client::ClaudeCode, fixture(Client::ClaudeCode)), @r#"
    linear: {"url":"https://mcp.linear.app/mcp","headers":{"Authorization":"Bearer ${LINEAR_KEY:-none}"}}
    asana: {"type":"sse","url":"https://mcp.asana.com/sse","auth":{"clientId":"abc","scopes":["read","write"]}}
    postgres: {"command":"uvx","args":["postgres-mcp","--access-mode=restricted"],"env":{"DATABASE_URI":"${DATABASE_URI}"}}
    "#);
}

#[test]
fn cursor_refers_to_the_environment() {
    insta::assert_snapshot!(taken(Client::Cursor, fixture(Client::Cursor)), @r#"
    github: {"url":"https://api.githubcopilot.com/mcp/","headers":{"Authorization":"Bearer ${GITHUB_TOKEN}"},"auth":{"clientId":"cid","clientSecret":"${GITHUB_SECRET}","scopes":["repo"]}}
    local: {"command":"./scripts/server.sh","args":["--root","${workspaceFolder}","--home","${userHome}"],"envFile":".env","disabled":true}
    "#);
}

#[test]
fn vs_code_asks_for_input() {
    insta::assert_snapshot!(taken(Client::VsCode, fixture(Client::VsCode)), @r#"
    playwright: {"command":"npx","args":["-y","@playwright/mcp@latest"]}
    perplexity: {"command":"npx","args":["-y","server-perplexity-ask"],"env":{"PERPLEXITY_API_KEY":"${PERPLEXITY_KEY}","RETRIES":"3"}}
    docs: {"url":"https://learn.microsoft.com/api/mcp"}
    "#);
}

#[test]
fn windsurf_has_its_own_key_for_urls() {
    insta::assert_snapshot!(taken(Client::Windsurf, fixture(Client::Windsurf)), @r#"
    remote: {"url":"https://example.com/mcp","headers":{"API_KEY":"Bearer ${AUTH_TOKEN}"}}
    github: {"command":"docker","args":["run","-i","--rm","-e","GITHUB_PERSONAL_ACCESS_TOKEN","ghcr.io/github/github-mcp-server"],"env":{"GITHUB_PERSONAL_ACCESS_TOKEN":"ghp_literal"},"disabledTools":["delete_file"]}
    "#);
}

#[test]
fn lm_studio_has_timeouts() {
    insta::assert_snapshot!(taken(Client::LmStudio, fixture(Client::LmStudio)), @r#"hf-mcp-server: {"url":"https://huggingface.co/mcp","headers":{"Authorization":"Bearer hf_literal"},"limits":{"callMs":60000}}"#);
}

#[test]
fn codex_is_toml() {
    insta::assert_snapshot!(taken(Client::Codex, fixture(Client::Codex)), @r#"
    context7: {"command":"npx","args":["-y","@upstash/context7-mcp"],"env":{"NODE_OPTIONS":"--no-$${warnings}","CONTEXT7_KEY":"${CONTEXT7_KEY}"},"limits":{"callMs":45500,"startMs":20000}}
    figma: {"url":"https://mcp.figma.com/mcp","headers":{"X-Figma-Region":"us-east-1","X-Team":"${FIGMA_TEAM}","Authorization":"Bearer ${FIGMA_OAUTH_TOKEN}"},"disabled":true,"disabledTools":["export"]}
    "#);
}

#[test]
fn zed_has_extensions() {
    insta::assert_snapshot!(taken(Client::Zed, fixture(Client::Zed)), @r#"
    hexdocs: {"command":"npx","args":["-y","hexdocs-mcp@0.5.0"]}
    older: {"command":"older-server","args":["run"],"env":{"MODE":"a"}}
    ! `mcp-server-context7` comes from an extension, which only its editor can start
    "#);
}

#[test]
fn gemini_cli_has_bare_references() {
    insta::assert_snapshot!(taken(Client::GeminiCli, fixture(Client::GeminiCli)), @r#"
    python-tools: {"command":"python","args":["-m","my_mcp_server","--port","8080"],"env":{"DATABASE_URL":"${DB_CONNECTION_STRING}","API_KEY":"${EXTERNAL_API_KEY}","PRICE":"5$"},"cwd":"./mcp-servers/python","limits":{"callMs":15000},"disabledTools":["drop_table"]}
    http-server: {"url":"http://localhost:3000/mcp","headers":{"X-Custom-Header":"custom-value"}}
    ! `python-tools` shows only some tools (`includeTools`); say so in `policy.allow`
    "#);
}

#[test]
fn everything_that_is_taken_is_valid_in_our_settings() {
    let folders = config::Folders { home: "/h".into(), config: "/c".into(), data: "/d".into() };
    let set = |_: &str| Some("set".to_owned());
    for client in Client::ALL {
        for (name, mut server) in read(client, fixture(client)).0 {
            // The file that it names is not here.
            server.as_object_mut().unwrap().remove("envFile");
            let text = json!({ "mcpServers": { name: server } }).to_string();
            let parsed = config::parse(&text, Path::new("/c/toolyard.json"), &set, &folders);
            assert!(parsed.is_ok(), "{client}: {parsed:?}");
        }
    }
}

#[test]
fn what_is_literal_to_a_client_stays_literal() {
    let folders = config::Folders { home: "/h".into(), config: "/c".into(), data: "/d".into() };
    let (servers, _) = read(Client::ClaudeDesktop, fixture(Client::ClaudeDesktop));
    let text = json!({ "mcpServers": { "billing": servers[1].1 } }).to_string();
    let config = config::parse(&text, Path::new("/c/toolyard.json"), &|_| None, &folders).unwrap();
    let config::Transport::Stdio { args, .. } = &config.servers["billing"].transport else { panic!() };
    assert_eq!(*args, ["--price", "$$5", "--template", "${total}"]);
}

#[test]
fn unusable_files_and_entries_are_problems() {
    insta::assert_snapshot!(taken(Client::Cursor, "{ \"mcpServers\": "), @"! line 1, column 17: expected value after colon in object property");
    insta::assert_snapshot!(taken(Client::Cursor, "[]"), @"! the file is not an object");
    insta::assert_snapshot!(taken(Client::Codex, "a = \n"), @"! line 1: string values must be quoted, expected literal string");
    insta::assert_snapshot!(taken(Client::Codex, "mcp_servers = 1"), @"! `mcp_servers` is not a table");
    insta::assert_snapshot!(
        taken(Client::Cursor, r#"{ "mcpServers": { "a": 1, "": { "command": "x" }, "b": {}, "c": { "command": "x", "args": [[]] } } }"#),
        @r#"
    c: {"command":"x"}
    ! `a` is not an object
    ! `` has no name
    ! `b` has neither a command nor a URL
    ! `c` has arguments that are not text; they were left out
    "#
    );
    assert_eq!(taken(Client::Cursor, ""), "");
    assert_eq!(taken(Client::Cursor, r#"{ "mcpServers": null }"#), "");
}

#[test]
fn configurations_of_the_user_and_of_the_project_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let (home, project) = (folder.path().join("home"), folder.path().join("shop"));
    let put = |path: PathBuf, text: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put(home.join(".cursor/mcp.json"), fixture(Client::Cursor));
    put(home.join(".codex/config.toml"), "a = ");
    put(project.join(".cursor/mcp.json"), fixture(Client::Cursor));
    put(project.join(".vscode/mcp.json"), "{}");
    let found = found(Os::Linux, &home, &project, &|_| None);
    let shown: Vec<String> = found
        .iter()
        .map(|it| {
            let path = it.path.strip_prefix(folder.path()).unwrap().display().to_string();
            format!("{} {path} {} servers, {:?}", it.client, it.servers.len(), it.problems)
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    Cursor home/.cursor/mcp.json 2 servers, []
    Cursor shop/.cursor/mcp.json 2 servers, []
    VS Code shop/.vscode/mcp.json 0 servers, []
    Codex home/.codex/config.toml 0 servers, ["line 1: string values must be quoted, expected literal string"]
    "#);
    let local = |found: &Found| found.servers.iter().find(|it| it.0 == "local").unwrap().1.clone();
    assert_eq!(local(&found[0])["command"], "./scripts/server.sh");
    let settled = local(&found[1]);
    assert_eq!(settled["command"], json!(project.join("scripts/server.sh")));
    assert_eq!(settled["args"][1], json!(project));
    assert_eq!(settled["envFile"], json!(project.join(".env")));
}
