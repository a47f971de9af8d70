//! The nine clients, on files as they write them.

mod reading;
mod texts;
mod writing;

use super::*;

/// A file as the client writes it.
fn fixture(client: Client) -> &'static str {
    match client {
        Client::ClaudeDesktop => include_str!("../../tests/clients/claude_desktop_config.json"),
        Client::ClaudeCode => include_str!("../../tests/clients/claude.json"),
        Client::Cursor => include_str!("../../tests/clients/cursor.json"),
        Client::VsCode => include_str!("../../tests/clients/vscode.json"),
        Client::Windsurf => include_str!("../../tests/clients/windsurf.json"),
        Client::LmStudio => include_str!("../../tests/clients/lm_studio.json"),
        Client::Codex => include_str!("../../tests/clients/codex.toml"),
        Client::Zed => include_str!("../../tests/clients/zed.json"),
        Client::GeminiCli => include_str!("../../tests/clients/gemini.json"),
    }
}

fn stdio() -> Entry {
    Entry::stdio(Path::new("/opt/toolyard/bin/toolyard"))
}

fn url() -> Entry {
    Entry::Url { url: "http://127.0.0.1:8808/mcp".to_owned(), token: Some("s3cret".to_owned()) }
}

#[test]
fn a_client_is_known_by_its_name() {
    for client in Client::ALL {
        assert_eq!(client.name().parse(), Ok(client));
    }
    let refused = |name: &str| name.parse::<Client>().unwrap_err().to_string();
    assert_eq!(refused("curser"), "`curser` is not a known client; did you mean `cursor`?");
    assert!(refused("emacs").contains("known are claude-desktop, claude-code"));
}
