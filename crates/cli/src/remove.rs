//! One server less.

use serde_json::json;
use toolyard_hub::config::edit;

use crate::common::Common;
use crate::failure::Failure;
use crate::output;
use crate::settings::Settings;

/// Remove a server from the configuration
///
/// The file keeps its comments and layout. What the server itself keeps is not touched.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard remove files

With --json: {\"removed\", \"file\"}")]
pub(crate) struct Remove {
    /// The server
    name: String,
}

pub(crate) fn run(common: &Common, asked: &Remove) -> Result<(), Failure> {
    let settings = Settings::open(common)?;
    let text = edit::remove_server(&settings.text, &asked.name).map_err(|err| settings.refused(&err))?;
    settings.write(&text)?;
    if common.json {
        return Ok(output::json(&json!({ "removed": asked.name, "file": settings.path }))?);
    }
    Ok(output::text(&format!("Removed `{}` from {}.", asked.name, settings.path.display()))?)
}
