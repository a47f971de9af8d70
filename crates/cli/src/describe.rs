//! One tool, with its parameters.

use owo_colors::OwoColorize;
use serde_json::Value;
use toolyard_core::metadata::Metadata;
use toolyard_core::tool::{Tool, clean};

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Attribute, Cell, Layout, count};
use crate::tools::Named;
use crate::{setup, tools};

/// Show what a tool does, its parameters and how to call it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard describe time__convert_time
  toolyard describe --json time__convert_time | jq .inputSchema

With --json: the definition exactly as the server sent it, but without hidden characters. `toolyard metadata show
TOOL --json` prints everything else that is known of it.")]
pub(crate) struct Describe {
    /// The tool as server__tool; its own name will do when only one server has it
    tool: String,
}

pub(crate) async fn run(common: &Common, asked: &Describe) -> Result<(), Failure> {
    setup::with_hub(common, async |hub| {
        let Named { tool, alias, .. } = tools::find_named(hub, &asked.tool).await?;
        if let Some(alias) = alias.filter(|_| !common.json) {
            tools::note_old(&asked.tool, &alias.usage(Some(&tool)));
        }
        if common.json {
            return Ok(output::raw_json(tool.definition.get())?);
        }
        let known = hub.metadata(&hub.snapshot(), &tool);
        let calls = hub.measured(tool.id.as_str()).map_or(0, |seen| seen.calls);
        Ok(output::text(&words(&tool, known.map(|known| (known, calls))))?)
    })
    .await
}

/// What is known of a tool beside what its server says, in a line each.
fn known_lines(known: &Metadata, calls: u32) -> String {
    let latency = known.estimated_latency.map(|ms| match calls {
        0 => format!("about {ms} ms, as written"),
        calls => format!("about {ms} ms, as measured in {}", count(calls as usize, "call")),
    });
    let example = known.example_call.clone().map(|call| Value::Object(call).to_string());
    let lines = [
        ("takes", latency),
        ("at most", known.rate_limit.map(|limit| limit.to_string())),
        ("then often", Some(known.can_chain_with.join(", "))),
        ("part of", Some(known.typical_workflows.join("; "))),
        ("example", example),
    ];
    let lines =
        lines.into_iter().filter_map(|(name, said)| Some((name, said.filter(|said| !said.is_empty())?)));
    let rows: Vec<Vec<Cell>> = lines
        .map(|(name, said)| vec![Cell::new(name).add_attribute(Attribute::Dim), Cell::new(clean(&said))])
        .collect();
    output::grid(Layout { indent: 2, ..Layout::default() }, rows)
}

fn words(tool: &Tool, known: Option<(Metadata, u32)>) -> String {
    let title = tool.title.as_ref().map(|title| format!("  {}", title.trim())).unwrap_or_default();
    let mut text = format!(
        "{}{title}\n{}  {}\n{}  {}\n",
        tool.id.as_str().bold(),
        "server".dimmed(),
        clean(&tool.server),
        "effect".dimmed(),
        tools::effect_word(tool.effect),
    );
    if !tool.description.trim().is_empty() {
        text += &format!("\n{}\n", tool.description.trim());
    }
    // A definition that nests deeper than the reader goes is shown without its parameters' descriptions.
    let schema: Value = serde_json::from_str(tool.definition.get()).unwrap_or_default();
    let rows: Vec<Vec<Cell>> = tool
        .parameters
        .iter()
        .map(|parameter| {
            let property = &schema["inputSchema"]["properties"][&parameter.name];
            let mut said = clean(property["description"].as_str().unwrap_or_default())
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            if let Some(default) = property.get("default").filter(|default| !default.is_null()) {
                said = format!("{said} [default: {}]", clean(&default.to_string())).trim().to_owned();
            }
            vec![
                Cell::new(&parameter.name).add_attribute(Attribute::Bold),
                Cell::new(&parameter.kind),
                Cell::new(if parameter.required { "required" } else { "" }),
                Cell::new(said),
            ]
        })
        .collect();
    if rows.is_empty() {
        text += "\nIt takes no parameters.\n";
    } else {
        let layout = Layout { indent: 2, ..Layout::default() };
        text += &format!("\n{}\n{}\n", "Parameters".bold(), output::grid(layout, rows));
    }
    if let Some((known, calls)) = known {
        text += &format!("\n{}\n{}\n", "Known".bold(), known_lines(&known, calls));
    }
    let required = tool.parameters.iter().filter(|parameter| parameter.required);
    let example: Vec<String> = required.map(|parameter| format!(" {}=…", parameter.name)).collect();
    text + &format!("\n{}\n  toolyard call {}{}", "Call".bold(), tool.id, example.concat())
}
