//! What every command takes.

use std::path::PathBuf;

/// What every command takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    /// Configuration file; otherwise toolyard.json here, then in your configuration folder
    #[arg(short, long, global = true, value_name = "FILE", env = "TOOLYARD_CONFIG", hide_env_values = true)]
    pub(crate) config: Option<PathBuf>,
    /// Answer with JSON on stdout, errors too: {"error": {"message", "hint"}}
    #[arg(long, global = true)]
    pub(crate) json: bool,
}
