//! Tools by what they do.

use serde_json::{Value, json};
use toolyard_hub::routing::{Findings, Provisional};

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Layout};
use crate::{learn, setup, tools};

/// Find tools by what they do, the best first
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard find what time is it in Tokyo
  toolyard find -n 3 create a note
  toolyard find --json search my notes | jq -r '.tools[0].name'

Finding nothing is exit code 1.
With --json: {\"query\", \"tools\": [as in `list --json`, and \"score\"]}")]
pub(crate) struct Find {
    /// What you want to do
    #[arg(required = true)]
    words: Vec<String>,
    /// How many to show at most
    #[arg(short = 'n', long, default_value_t = 8)]
    limit: usize,
}

pub(crate) async fn run(common: &Common, asked: &Find) -> Result<(), Failure> {
    let query = asked.words.join(" ");
    setup::with_hub(common, async |hub| {
        learn::learn(hub, None).await;
        let snapshot = hub.snapshot();
        learn::understand(hub, &snapshot).await;
        let provisional = Provisional::default();
        let Findings { tools: found, is_close } =
            hub.find(&snapshot, &query, asked.limit, &provisional).await;
        learn::note(hub, &provisional);
        let found = found.iter().map(|(at, score)| (&snapshot.catalog.tools()[*at], *score));
        if common.json {
            let tools: Vec<Value> = found
                .map(|(tool, score)| {
                    let mut tool = tools::to_json(tool);
                    tool["score"] = json!((f64::from(score) * 1000.0).round() / 1000.0);
                    tool
                })
                .collect();
            output::json(&json!({ "query": query, "tools": tools }))?;
            return if tools.is_empty() { Err(Failure::silent(1)) } else { Ok(()) };
        }
        let rows: Vec<_> = found.map(|(tool, _)| tools::row(tool)).collect();
        if rows.is_empty() {
            return Err(Failure::new("no tool fits these words").hint("`toolyard list` shows every tool"));
        }
        if !is_close {
            anstream::eprintln!("No close match. The nearest:");
        }
        Ok(output::text(&output::grid(Layout { cut: true, ..Layout::default() }, rows))?)
    })
    .await
}
