//! How each client names its servers and refers to the environment.

use super::Client;
use crate::config;

/// Returns the keys under which a client keeps its servers.
pub(super) fn servers_key(client: Client) -> &'static str {
    match client {
        Client::VsCode => "servers",
        Client::Zed => "context_servers",
        Client::Codex => "mcp_servers",
        Client::ClaudeDesktop
        | Client::ClaudeCode
        | Client::Cursor
        | Client::Windsurf
        | Client::LmStudio
        | Client::GeminiCli => "mcpServers",
    }
}

/// Brings a client's references to the environment into our form; everything else stays literal.
pub(super) fn references(client: Client, text: &str) -> String {
    let mut ours = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        ours.push_str(&rest[..dollar]);
        let after = &rest[dollar + 1..];
        let braced = after.strip_prefix('{').and_then(|it| it.split_once('}'));
        if let Some((reference, tail)) = braced
            && let Some(translated) = reference_in_braces(client, reference)
        {
            ours.push_str(&format!("${{{translated}}}"));
            rest = tail;
            continue;
        }
        let bare = after.find(|it: char| !it.is_ascii_alphanumeric() && it != '_').unwrap_or(after.len());
        if client == Client::GeminiCli && after.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
        {
            ours.push_str(&format!("${{{}}}", &after[..bare]));
            rest = &after[bare..];
            continue;
        }
        // A sign that means nothing to the client must mean nothing to us.
        ours.push_str(if after.starts_with(['$', '{']) { "$$" } else { "$" });
        rest = after;
    }
    ours.push_str(rest);
    ours
}

fn reference_in_braces(client: Client, reference: &str) -> Option<String> {
    let place = matches!(reference, "workspaceFolder" | "userHome" | "pathSeparator" | "/");
    match client {
        Client::ClaudeDesktop | Client::LmStudio | Client::Codex | Client::Zed => None,
        Client::ClaudeCode | Client::GeminiCli => {
            let name = reference.split_once(":-").map_or(reference, |(name, _)| name);
            let is_name = !name.is_empty() && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
            is_name.then(|| reference.to_owned())
        }
        Client::Cursor | Client::VsCode | Client::Windsurf if place => Some(reference.to_owned()),
        Client::Cursor | Client::VsCode | Client::Windsurf => match reference.split_once(':') {
            Some(("env", name)) => Some(name.to_owned()),
            Some(("input", input)) => Some(config::variable_for(input)),
            _ => None,
        },
    }
}
