//! A person's yes to tools that wait for it.

use std::io::IsTerminal;

use serde_json::{Value, json};
use toolyard_core::tool::clean;
use toolyard_hub::hub::UndecidedTool;

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, count};
use crate::route::person::Person;
use crate::{diff, setup};

/// Approve tools that are new or whose definition changed
///
/// Shows the difference and asks. Hubs that run on the same store offer the tools again within a few seconds. Exactly
/// what was shown is approved: a server that lists something else by then keeps waiting.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard approve files
  toolyard approve files__read_file git
  toolyard approve --all --yes

Without a terminal it needs --yes; otherwise the exit code is 3.
With --json: {\"approved\": [as `toolyard diff --json` shows them]}")]
pub(crate) struct Approve {
    /// Servers, or tools as server__tool
    #[arg(value_name = "SERVER[__TOOL]", required_unless_present = "all")]
    names: Vec<String>,
    /// Every tool that waits
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Approve without asking
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(common: &Common, asked: &Approve) -> Result<(), Failure> {
    setup::with_hub(common, async |hub| {
        let waiting = diff::chosen(hub, &asked.names).await?;
        if !common.json && !waiting.is_empty() {
            let shown: String = waiting.iter().map(|it| diff::words(hub, it)).collect();
            output::text(&shown)?;
        }
        if !asked.yes && !waiting.is_empty() {
            confirm(common, &waiting)?;
        }
        let tools: Vec<Value> = waiting.iter().map(|it| diff::to_json(hub, it)).collect();
        hub.approve(&waiting).map_err(|err| {
            Failure::new(err.to_string())
                .hint("see whether the store's folder can be written, then try again")
        })?;
        if common.json {
            return Ok(output::json(&json!({ "approved": tools }))?);
        }
        Ok(output::text(&match waiting.len() {
            0 => "Nothing waits there: all definitions are as they were approved.".to_owned(),
            number => format!("Approved {}.", count(number, "tool")),
        })?)
    })
    .await
}

fn confirm(common: &Common, waiting: &[UndecidedTool]) -> Result<(), Failure> {
    let is_attended = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let names: Vec<&str> = waiting.iter().map(|it| it.tool.id.as_str()).collect();
    let what = format!("{}: {}", count(waiting.len(), "tool"), clean(&names.join(", ")));
    if !is_attended || common.json {
        return Err(Failure::open(format!("nothing was approved; this would approve {what}"))
            .hint("run it again with --yes if you want that"));
    }
    match Person::here().accepts(&format!("Approve {what}? Type yes: "))? {
        true => Ok(()),
        false => Err(Failure::open("nothing was approved")),
    }
}
