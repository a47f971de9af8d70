//! What was called, by whom, and how it ended.

use std::time::Duration;

use toolyard_hub::audit::{self, Fate, Record, Search};

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Cell, Layout};
use crate::setup::Source;

/// Show what was called, and how it ended
///
/// Every call of a tool is written down: when, by whom, with what kind of arguments, how it ended and how
/// long it took. The values of arguments are there only if `audit.values` is true in the configuration.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard audit
  toolyard audit --tool 'github__*' --since 1h
  toolyard audit --outcome denied --limit 200
  toolyard audit --json | jq '.calls[].tool'

Outcomes: answered, failed, refused, unreachable, denied, unconfirmed, held-back, abandoned; of definitions, which
are not calls: pinned (a tool that a server added), approved, withheld, moved.
With --json: {\"calls\": [{\"at\", \"client\", \"who\", \"tool\", \"effect\", \"shape\", \"hash\", \"outcome\", \"ms\"}]}")]
pub(crate) struct Audit {
    /// Only tools that fit, as server__tool with * for any characters
    #[arg(long, value_name = "GLOB")]
    tool: Option<String>,
    /// Only the last so long: 90s, 5m, 1h or 7d
    #[arg(long, value_name = "TIME", value_parser = span)]
    since: Option<Duration>,
    /// Only calls that ended so
    #[arg(long, value_name = "OUTCOME", value_parser = fate)]
    outcome: Option<Fate>,
    /// The latest so many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

pub(crate) fn run(common: &Common, asked: &Audit) -> Result<(), Failure> {
    let config = Source::find(common)?.load()?;
    let search =
        Search { tool: asked.tool.clone(), within: asked.since, outcome: asked.outcome, limit: asked.limit };
    let calls = audit::read(&config.store.folder, &search)?;
    if common.json {
        return Ok(output::json(&serde_json::json!({ "calls": calls }))?);
    }
    if calls.is_empty() {
        let why = if config.audit.enabled { "no call fits" } else { "`audit.enabled` is false" };
        anstream::eprintln!("Nothing is written down here: {why}.");
        return Ok(());
    }
    let layout = Layout {
        header: &["when", "who", "tool", "arguments", "outcome", "ms"],
        cut: true,
        ..Layout::default()
    };
    Ok(output::text(&output::grid(layout, calls.iter().map(row).collect()))?)
}

fn row(call: &Record) -> Vec<Cell> {
    let shown = call.arguments.as_ref().unwrap_or(&call.shape).to_string();
    vec![
        Cell::new(&call.at),
        Cell::new(call.client.iter().chain([&call.who]).map(String::as_str).collect::<Vec<_>>().join(": ")),
        Cell::new(&call.tool),
        Cell::new(toolyard_core::tool::clean(&shown)),
        Cell::new(call.outcome.name()),
        Cell::new(call.ms),
    ]
}

/// Reads how long ago something may be.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let seconds = match unit {
        "s" | "" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err("write it as 90s, 5m, 1h or 7d".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "write it as 90s, 5m, 1h or 7d".to_owned())?;
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}

fn fate(text: &str) -> Result<Fate, String> {
    Fate::ALL.into_iter().find(|fate| fate.name() == text).ok_or_else(|| {
        let names = Fate::ALL.map(Fate::name).join(", ");
        format!("there are {names}")
    })
}
