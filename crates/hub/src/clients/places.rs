//! Where each client keeps its servers.

use std::path::{Path, PathBuf};

use super::Client;

/// An operating system, as far as folders are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Os {
    /// Linux and other systems with the folders of the XDG rules.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl Os {
    /// Returns the system that this program runs on.
    pub fn current() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }
}

/// Returns where a client may keep the servers of a user, the likeliest place first.
pub fn locations(client: Client, os: Os, home: &Path, env: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let folder = |name: &str| env(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let roaming = || folder("APPDATA").unwrap_or_else(|| home.join("AppData").join("Roaming"));
    let xdg = || folder("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
    let settings = match os {
        Os::Linux => xdg(),
        Os::MacOs => home.join("Library").join("Application Support"),
        Os::Windows => roaming(),
    };
    match client {
        Client::ClaudeDesktop => {
            let file = Path::new("Claude").join("claude_desktop_config.json");
            let mut places = vec![settings.join(&file)];
            if os == Os::Windows {
                // The packaged application reads its own copy of the roaming folder.
                let local = folder("LOCALAPPDATA").unwrap_or_else(|| home.join("AppData").join("Local"));
                let package = local.join("Packages").join("Claude_pzs8sxrjxfjjc");
                places.insert(0, package.join("LocalCache").join("Roaming").join(&file));
            }
            places
        }
        Client::ClaudeCode => {
            vec![folder("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.to_owned()).join(".claude.json")]
        }
        Client::Cursor => vec![home.join(".cursor").join("mcp.json")],
        Client::VsCode => ["Code", "Code - Insiders"]
            .map(|edition| settings.join(edition).join("User").join("mcp.json"))
            .into(),
        Client::Windsurf => ["windsurf", "windsurf-next"]
            .map(|edition| home.join(".codeium").join(edition).join("mcp_config.json"))
            .into(),
        // Versions that were installed before the folder moved still use the second place.
        Client::LmStudio => vec![
            home.join(".lmstudio").join("mcp.json"),
            home.join(".cache").join("lm-studio").join("mcp.json"),
        ],
        Client::Codex => {
            vec![folder("CODEX_HOME").unwrap_or_else(|| home.join(".codex")).join("config.toml")]
        }
        Client::Zed => {
            let settings = match os {
                Os::Linux => xdg().join("zed"),
                Os::MacOs => home.join(".config").join("zed"),
                Os::Windows => roaming().join("Zed"),
            };
            vec![settings.join("settings.json")]
        }
        Client::GeminiCli => vec![home.join(".gemini").join("settings.json")],
    }
}

/// Returns where a client keeps the servers of a project, relative to its folder.
pub fn project_location(client: Client) -> Option<&'static str> {
    match client {
        Client::ClaudeCode => Some(".mcp.json"),
        Client::Cursor => Some(".cursor/mcp.json"),
        Client::VsCode => Some(".vscode/mcp.json"),
        Client::Codex => Some(".codex/config.toml"),
        Client::Zed => Some(".zed/settings.json"),
        Client::GeminiCli => Some(".gemini/settings.json"),
        Client::ClaudeDesktop | Client::Windsurf | Client::LmStudio => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(os: Os, home: &str, env: &dyn Fn(&str) -> Option<String>) -> String {
        let line = |client: Client| {
            let paths = locations(client, os, Path::new(home), env);
            let paths: Vec<String> = paths.iter().map(|it| it.display().to_string()).collect();
            format!("{client}: {}", paths.join(" | "))
        };
        Client::ALL.map(line).join("\n").replace('\\', "/")
    }

    #[test]
    fn on_linux() {
        insta::assert_snapshot!(places(Os::Linux, "/home/ana", &|_| None), @"
        Claude Desktop: /home/ana/.config/Claude/claude_desktop_config.json
        Claude Code: /home/ana/.claude.json
        Cursor: /home/ana/.cursor/mcp.json
        VS Code: /home/ana/.config/Code/User/mcp.json | /home/ana/.config/Code - Insiders/User/mcp.json
        Windsurf: /home/ana/.codeium/windsurf/mcp_config.json | /home/ana/.codeium/windsurf-next/mcp_config.json
        LM Studio: /home/ana/.lmstudio/mcp.json | /home/ana/.cache/lm-studio/mcp.json
        Codex: /home/ana/.codex/config.toml
        Zed: /home/ana/.config/zed/settings.json
        Gemini CLI: /home/ana/.gemini/settings.json
        ");
    }

    #[test]
    fn on_macos() {
        insta::assert_snapshot!(places(Os::MacOs, "/Users/ana", &|_| None), @"
        Claude Desktop: /Users/ana/Library/Application Support/Claude/claude_desktop_config.json
        Claude Code: /Users/ana/.claude.json
        Cursor: /Users/ana/.cursor/mcp.json
        VS Code: /Users/ana/Library/Application Support/Code/User/mcp.json | /Users/ana/Library/Application Support/Code - Insiders/User/mcp.json
        Windsurf: /Users/ana/.codeium/windsurf/mcp_config.json | /Users/ana/.codeium/windsurf-next/mcp_config.json
        LM Studio: /Users/ana/.lmstudio/mcp.json | /Users/ana/.cache/lm-studio/mcp.json
        Codex: /Users/ana/.codex/config.toml
        Zed: /Users/ana/.config/zed/settings.json
        Gemini CLI: /Users/ana/.gemini/settings.json
        ");
    }

    #[test]
    fn on_windows() {
        insta::assert_snapshot!(places(Os::Windows, "C:/Users/ana", &|_| None), @"
        Claude Desktop: C:/Users/ana/AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json | C:/Users/ana/AppData/Roaming/Claude/claude_desktop_config.json
        Claude Code: C:/Users/ana/.claude.json
        Cursor: C:/Users/ana/.cursor/mcp.json
        VS Code: C:/Users/ana/AppData/Roaming/Code/User/mcp.json | C:/Users/ana/AppData/Roaming/Code - Insiders/User/mcp.json
        Windsurf: C:/Users/ana/.codeium/windsurf/mcp_config.json | C:/Users/ana/.codeium/windsurf-next/mcp_config.json
        LM Studio: C:/Users/ana/.lmstudio/mcp.json | C:/Users/ana/.cache/lm-studio/mcp.json
        Codex: C:/Users/ana/.codex/config.toml
        Zed: C:/Users/ana/AppData/Roaming/Zed/settings.json
        Gemini CLI: C:/Users/ana/.gemini/settings.json
        ");
    }

    #[test]
    fn where_variables_say() {
        let env = |name: &str| match name {
            "XDG_CONFIG_HOME" => Some("/x".to_owned()),
            "CODEX_HOME" => Some("/codex".to_owned()),
            "CLAUDE_CONFIG_DIR" => Some("/claude".to_owned()),
            _ => None,
        };
        insta::assert_snapshot!(places(Os::Linux, "/home/ana", &env), @"
        Claude Desktop: /x/Claude/claude_desktop_config.json
        Claude Code: /claude/.claude.json
        Cursor: /home/ana/.cursor/mcp.json
        VS Code: /x/Code/User/mcp.json | /x/Code - Insiders/User/mcp.json
        Windsurf: /home/ana/.codeium/windsurf/mcp_config.json | /home/ana/.codeium/windsurf-next/mcp_config.json
        LM Studio: /home/ana/.lmstudio/mcp.json | /home/ana/.cache/lm-studio/mcp.json
        Codex: /codex/config.toml
        Zed: /x/zed/settings.json
        Gemini CLI: /home/ana/.gemini/settings.json
        ");
    }
}
