//! Everything that is known of one tool.

use serde_json::Value;
use toolyard_core::metadata::Metadata;
use toolyard_core::tool::clean;

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Attribute, Cell, Layout};
use crate::setup;
use crate::tools::{self, Named};

/// Show everything that is known of a tool, written or inferred
///
/// How long a call takes is measured by the hub's own calls.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard metadata show notes__search_notes
  toolyard metadata show notes__search_notes --json | jq .exampleCall

With --json: {\"name\", \"description\", \"longDescription\", \"action\", \"targets\", \"category\", \"tags\", \"keywords\",
\"useCases\", \"examples\", \"effect\", \"requiredParams\", \"optionalParams\", \"exampleCall\", \"canChainWith\",
\"typicalWorkflows\", \"estimatedLatency\", \"rateLimit\"}; what is not known is left out")]
pub(crate) struct Show {
    /// The tool as server__tool; its own name will do when only one server has it
    tool: String,
}

pub(super) async fn run(common: &Common, asked: &Show) -> Result<(), Failure> {
    setup::with_hub(common, async |hub| {
        let Named { tool, .. } = tools::find_named(hub, &asked.tool).await?;
        let Some(known) = hub.metadata(&hub.snapshot(), &tool) else {
            return Err(Failure::new(format!("nothing is known of `{}`", tool.id)));
        };
        if common.json {
            Ok(output::json(&serde_json::json!(known))?)
        } else {
            Ok(output::text(&lines(&known))?)
        }
    })
    .await
}

/// Writes each member of the JSON form that says something in a line.
fn lines(known: &Metadata) -> String {
    let members = serde_json::to_value(known).expect("metadata has a JSON form");
    let said = |value: &Value| match value {
        Value::String(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        Value::Array(items) => {
            let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            items.join("; ")
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => other.to_string(),
    };
    let members = members.as_object().into_iter().flatten().map(|(name, value)| (name, said(value)));
    let rows = members
        .filter(|(_, said)| !said.is_empty())
        .map(|(name, said)| vec![Cell::new(name).add_attribute(Attribute::Bold), Cell::new(clean(&said))]);
    output::grid(Layout::default(), rows.collect())
}
