//! Servers that come with the program.

use serde_json::json;
use toolyard_hub::config::Transport;
use toolyard_packs::PACKS;

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Cell, Layout};
use crate::setup::Source;

/// Show the servers that come with Toolyard, ready to be used
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard packs
  toolyard add desk --builtin desk                   tasks, goals, reminders, reading, ideas
  toolyard add studio --builtin studio --folder ~/Studio
  toolyard serve --profile studio                    five core tools, and skills that bring the rest

With --json: {\"packs\": [{\"name\", \"about\", \"tools\", \"servers\"}]}")]
pub(crate) struct Packs {}

pub(crate) fn run(common: &Common) -> Result<(), Failure> {
    let config = Source::find(common)?.load()?;
    let servers = |pack: &str| -> Vec<&str> {
        let is_pack =
            |transport: &Transport| matches!(transport, Transport::Builtin(kind) if kind.name() == pack);
        let of_pack = config.servers.iter().filter(|(_, server)| is_pack(&server.transport));
        of_pack.map(|(name, _)| name.as_str()).collect()
    };
    if common.json {
        let packs: Vec<_> = PACKS
            .iter()
            .map(|it| {
                json!({ "name": it.name, "about": it.about, "tools": it.tools, "servers": servers(it.name) })
            })
            .collect();
        return Ok(output::json(&json!({ "packs": packs }))?);
    }
    let rows = PACKS.iter().map(|it| {
        let configured = servers(it.name).join(", ");
        let tools = it.tools.map_or_else(String::new, |tools| tools.to_string());
        vec![Cell::from(it.name), Cell::from(tools), Cell::from(configured), Cell::from(it.about)]
    });
    let layout = Layout { header: &["pack", "tools", "server", "what it is"], ..Layout::default() };
    output::text(&output::grid(layout, rows.collect::<Vec<_>>()))?;
    Ok(output::text("Add one with `toolyard add NAME --builtin PACK`.")?)
}
