//! What `toolyard` alone says.

use owo_colors::OwoColorize;
use serde_json::json;

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, count};
use crate::setup::{self, Source};

pub(crate) async fn run(common: &Common) -> Result<(), Failure> {
    let source = Source::find(common)?;
    setup::with_config(source.load()?, async |hub| {
        let servers = hub.servers();
        let known: Vec<usize> = servers.iter().filter_map(|server| server.tools).collect();
        let tools: usize = known.iter().sum();
        if common.json {
            return Ok(output::json(&json!({
                "version": env!("CARGO_PKG_VERSION"),
                "config": source.path,
                "servers": servers.len(),
                "tools": tools,
            }))?);
        }
        let config = match &source.path {
            Some(path) => path.display().to_string(),
            None => "built in; there is no configuration yet".to_owned(),
        };
        let off = servers.iter().filter(|server| server.is_off()).count();
        let new = servers.len() - known.len() - off;
        let mut learnt = format!("{} known", count(tools, "tool"));
        for (servers, are) in [(new, "not reached yet"), (off, "off: `toolyard status` tells why")] {
            if servers > 0 {
                learnt += &format!(", {servers} {are}");
            }
        }
        Ok(output::text(&format!(
            "{} {}: one plug for every tool

  toolyard list          every tool of every server
  toolyard find WORDS    the tools that fit these words
  toolyard serve         serve them all to an MCP client

{}, {learnt} ({config})
`toolyard help` shows everything else.",
            "toolyard".bold(),
            env!("CARGO_PKG_VERSION"),
            count(servers.len(), "server"),
        ))?)
    })
    .await
}
