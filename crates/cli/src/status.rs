//! How everything is, without starting anything.

use owo_colors::OwoColorize;
use serde_json::json;
use toolyard_core::tool::clean;
use toolyard_hub::routing::Tally;
use toolyard_hub::store::{MeaningStatus, ServerStatus, Status};

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Attribute, Cell, Color, Layout, count};
use crate::setup;

/// Show the hubs that run now and the state of their servers
///
/// When no hub runs, shows what is known of the configured servers. Starts no server.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard status
  toolyard status --json | jq '.servers[] | select(.state == \"failed\")'

States: configured (never reached), known (not running, its tools are known), starting,
ready, failed, stopped (the next call starts it), off (it lacks an environment variable).
With --json: {\"hubs\": [{\"pid\", \"serving\", \"config\", \"servers\", \"meaning\", \"routes\"}], \"servers\": [{\"name\",
\"transport\", \"state\", \"reason\", \"tools\", \"problems\", \"waiting\"}], \"lostApprovals\": null | {\"what\",
\"file\"}}; the outer \"servers\" are those of the configuration, as far as they are known when no hub is asked")]
pub(crate) struct Show {}

pub(crate) async fn run(common: &Common) -> Result<(), Failure> {
    setup::with_hub(common, async |hub| {
        let (hubs, servers, lost) = (hub.running_hubs(), hub.servers(), hub.lost_approvals());
        if common.json {
            return Ok(output::json(&json!({ "hubs": hubs, "servers": servers, "lostApprovals": lost }))?);
        }
        let lost = lost.map(|it| format!("{} {}\n\n", "!".red().bold(), clean(&it.what)));
        let mut text = lost.unwrap_or_default();
        for Status { pid, serving, config, servers, meaning, routes } in &hubs {
            let config = match config {
                Some(path) => path.display().to_string(),
                None => "no configuration file".to_owned(),
            };
            text += &format!("{} {serving}  (process {pid}, {config})\n", "hub at".bold());
            text += &format!("{}\n{}{}\n", table(servers), understood(meaning), remembered(routes));
        }
        if hubs.is_empty() {
            text += &format!("No hub is running. What is known:\n{}\n", table(&servers));
        }
        Ok(output::text(text.trim_end())?)
    })
    .await
}

/// Says how far tools are understood by meaning, in a line; nothing where nothing compares meanings.
fn understood(meaning: &MeaningStatus) -> String {
    let Some(model) = &meaning.model else { return String::new() };
    let trouble = meaning.trouble.as_ref().map(|why| format!("; {why}")).unwrap_or_default();
    let (known, all) = (meaning.known, meaning.all);
    let line = format!("  meaning: {known} of {all} texts read by {model}{trouble}");
    format!("{}\n", clean(&line))
}

/// Says how often it was remembered which tool is meant, in a line; nothing before the first request.
fn remembered(routes: &Tally) -> String {
    let all = routes.hits + routes.misses;
    let share = 100 * routes.hits / all.max(1);
    if all == 0 { String::new() } else { format!("  routes: {all}, {share}% of them remembered\n") }
}

/// Shows servers with their state, tools and problems.
fn table(servers: &[ServerStatus]) -> String {
    if servers.is_empty() {
        return "  no servers".to_owned();
    }
    let rows = servers.iter().map(|server| {
        let mut said: Vec<String> = server.reason.iter().cloned().collect();
        if !server.problems.is_empty() {
            said.push(format!(
                "{} (`toolyard doctor {}`)",
                count(server.problems.len(), "problem"),
                server.name
            ));
        }
        if server.waiting > 0 {
            said.push(format!(
                "{} withheld (`toolyard diff {}`)",
                count(server.waiting, "tool"),
                server.name
            ));
        }
        let state = Cell::new(&server.state);
        vec![
            Cell::new(clean(&server.name)).add_attribute(Attribute::Bold),
            Cell::new(&server.transport),
            match server.state.as_str() {
                "ready" => state.fg(Color::Green),
                "failed" | "off" => state.fg(Color::Red),
                _ => state,
            },
            Cell::new(server.tools.map_or_else(|| "?".to_owned(), |tools| tools.to_string())),
            Cell::new(clean(&said.join("; "))),
        ]
    });
    let header = &["server", "transport", "state", "tools", ""];
    output::grid(Layout { header, indent: 2, ..Layout::default() }, rows.collect())
}
