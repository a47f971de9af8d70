//! What may be typed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// One plug for every tool: connects to all your MCP servers and serves them as one.
#[derive(Debug, Parser)]
#[command(name = "toolyard", version, about)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) common: Common,
    /// Say more on stderr; twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// What every command takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    /// Configuration file; otherwise toolyard.json here, then in your configuration folder
    #[arg(short, long, global = true, value_name = "FILE", env = "TOOLYARD_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Machine-readable output
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve all tools to MCP clients, over stdio or HTTP
    #[command(after_help = "Examples:
  toolyard serve                       for a client that starts Toolyard itself (stdio)
  toolyard serve --http 127.0.0.1:8808 for clients over HTTP, at http://127.0.0.1:8808/mcp
  toolyard serve --surface all         list every tool as server__tool")]
    Serve(Serve),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// Serve the client at stdin and stdout (the default)
    #[arg(long, conflicts_with = "http")]
    pub(crate) stdio: bool,
    /// Serve HTTP at this address, or at the configured one
    #[arg(long, value_name = "ADDR", num_args = 0..=1)]
    pub(crate) http: Option<Option<SocketAddr>>,
    /// Which tools clients see
    #[arg(long)]
    pub(crate) surface: Option<Surface>,
}

/// Which tools clients see.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Surface {
    Route,
    Toolset,
    Search,
    All,
}
