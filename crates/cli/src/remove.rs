//! One server less.

use serde_json::json;
use toolyard_hub::config::edit;
use toolyard_hub::store::Store;

use crate::common::Common;
use crate::failure::Failure;
use crate::output;
use crate::settings::Settings;
use crate::setup::Source;

/// Remove a server from the configuration
///
/// The file keeps its comments and layout. What the server itself keeps is not touched. Which of its tools were approved
/// is forgotten.
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
    // Whoever adds another server under this name starts anew with it.
    let store = Source::find(common)?.load().map(|config| Store::open(&config.store.folder));
    settings.write(&text)?;
    if let Ok(store) = store {
        store.forget_pins(&asked.name).map_err(|err| Failure::new(err.to_string()))?;
    }
    if common.json {
        return Ok(output::json(&json!({ "removed": asked.name, "file": settings.path }))?);
    }
    Ok(output::text(&format!("Removed `{}` from {}.", asked.name, settings.path.display()))?)
}
