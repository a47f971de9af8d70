//! What changed of the tools that wait for a person, word by word.

use owo_colors::OwoColorize;
use serde_json::{Value, json};
use toolyard_core::tool::clean;
use toolyard_hub::hub::{Hub, UndecidedTool};
use toolyard_hub::pins::{Alteration, WaitingFor, WordChange, WordRun};

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, count};
use crate::{learn, setup};

/// Show how tools differ from what was approved
///
/// A tool whose definition changed is withheld from everybody until you approve it, and so is a tool that nobody
/// approved where `policy.trust` is "ask". What of the new words looks like an instruction to a model is marked; a text
/// without a mark may still be one. A tool of which only numbers, dates or times changed is shown, too, and stays.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard diff
  toolyard diff files
  toolyard diff files__read_file
  toolyard diff --json | jq -r '.tools[] | select(.state == \"changed\") | .name'

Removed words are written [-so-], new ones {+so+}.
With --json: {\"tools\": [{\"name\", \"server\", \"tool\", \"state\": \"new\" | \"changed\", \"approvedAt\", \"approvedBy\",
\"changes\": [{\"path\", \"before\", \"after\", \"remarks\"}]}], \"renumbered\": [the same of tools that stay]}")]
pub(crate) struct Diff {
    /// Servers, or tools as server__tool; all that wait without any
    #[arg(value_name = "SERVER[__TOOL]")]
    names: Vec<String>,
}

pub(crate) async fn run(common: &Common, asked: &Diff) -> Result<(), Failure> {
    setup::with_hub(common, async |hub| {
        let waiting = chosen(hub, &asked.names).await?;
        let mut renumbered = hub.renumbered();
        renumbered.retain(|it| is_named(it, &asked.names));
        let shows = |tools: &[UndecidedTool]| tools.iter().map(|it| to_json(hub, it)).collect::<Vec<Value>>();
        if common.json {
            let (tools, renumbered) = (shows(&waiting), shows(&renumbered));
            return Ok(output::json(&json!({ "tools": tools, "renumbered": renumbered }))?);
        }
        let like = renumbered.iter().map(|it| compared(hub, it, "only numbers changed: it stays".dimmed()));
        let like: String = like.collect();
        if waiting.is_empty() {
            let none = "No tool waits: all definitions are as they were approved";
            let but = if like.is_empty() { "." } else { ", but for numbers." };
            return Ok(output::text(&format!("{like}{none}{but}"))?);
        }
        let shown: String = waiting.iter().map(|it| words(hub, it)).collect();
        Ok(output::text(&format!("{like}{shown}{}", summary(&waiting)))?)
    })
    .await
}

/// Returns the tools that wait and are named, after servers that were never reached were asked.
pub(crate) async fn chosen(hub: &Hub, names: &[String]) -> Result<Vec<UndecidedTool>, Failure> {
    let owner = |name: &str| {
        let mut servers = hub.upstreams().into_iter().map(|it| it.name.to_string());
        servers.find(|server| name == server || name.starts_with(&format!("{server}__")))
    };
    match names {
        [] => learn::learn(hub, None).await,
        names => {
            for name in names {
                let server = owner(name).ok_or_else(|| setup::no_server(&hub.config(), name))?;
                learn::learn(hub, Some(&server)).await;
            }
        }
    }
    let mut waiting = hub.undecided();
    let snapshot = hub.snapshot();
    for name in names.iter().filter(|name| hub.upstream(name).is_none()) {
        let is_known = snapshot.withheld(name).is_some() || snapshot.catalog.get(name).is_some();
        if !is_known {
            return Err(Failure::usage(hub.unknown_tool(&snapshot, name).message)
                .hint("`toolyard diff` alone shows every tool that waits"));
        }
    }
    waiting.retain(|it| is_named(it, names));
    Ok(waiting)
}

fn is_named(it: &UndecidedTool, names: &[String]) -> bool {
    names.is_empty() || names.iter().any(|name| *name == *it.tool.server || name == it.tool.id.as_str())
}

/// Says how a tool differs from what was approved.
pub(crate) fn words(hub: &Hub, waiting: &UndecidedTool) -> String {
    let state = match waiting.tool.why {
        WaitingFor::New => "new: nobody has approved it".yellow().to_string(),
        WaitingFor::Unknown => "new: what was approved before is lost".yellow().to_string(),
        WaitingFor::Changed => "changed".red().to_string(),
    };
    compared(hub, waiting, state)
}

fn compared(hub: &Hub, waiting: &UndecidedTool, state: impl std::fmt::Display) -> String {
    let skill = waiting.tool.skill().map(|uri| format!("  skill {uri}")).unwrap_or_default();
    let mut text = format!("{}{skill}  {state}\n", clean(waiting.tool.id.as_str()).bold());
    for Alteration { path, pieces, remarks } in waiting.difference(|name| is_tool(hub, waiting, name)) {
        text += &format!("  {}\n", clean(&path).dimmed());
        let shown: String = pieces.iter().map(piece).collect();
        text += &format!("    {}\n", shown.replace('\n', "\n    "));
        for remark in remarks {
            text += &format!("    {} {}\n", "!".red().bold(), clean(&remark).red());
        }
    }
    if waiting.approval.as_ref().is_some_and(|it| it.definition.is_none()) {
        text += "  The approved definition is too long to be kept, so all of this is shown as new.\n";
    }
    text.push('\n');
    text
}

fn piece(piece: &WordRun) -> String {
    let text = clean(&piece.text);
    match piece.change {
        WordChange::Kept => text.into_owned(),
        WordChange::Removed => format!("[-{text}-]").red().to_string(),
        WordChange::Added => format!("{{+{text}+}}").green().to_string(),
    }
}

fn is_tool(hub: &Hub, waiting: &UndecidedTool, name: &str) -> bool {
    let snapshot = hub.snapshot();
    let is_other = name != waiting.tool.name && name != waiting.tool.id.as_str();
    is_other && snapshot.catalog.tools().iter().any(|tool| tool.name == name || tool.id.as_str() == name)
}

fn summary(waiting: &[UndecidedTool]) -> String {
    let mut servers: Vec<&str> = waiting.iter().map(|it| &*it.tool.server).collect();
    servers.dedup();
    format!(
        "{} withheld. `toolyard approve {}` accepts what is shown here.",
        count(waiting.len(), "tool"),
        clean(&servers.join(" "))
    )
}

/// Returns how a tool differs as programs read it.
pub(crate) fn to_json(hub: &Hub, waiting: &UndecidedTool) -> Value {
    let side = |pieces: &[WordRun], left_out: WordChange| {
        pieces.iter().filter(|it| it.change != left_out).map(|it| it.text.as_str()).collect::<String>()
    };
    let changes = waiting.difference(|name| is_tool(hub, waiting, name)).into_iter().map(|it| {
        json!({
            "path": it.path,
            "before": side(&it.pieces, WordChange::Added),
            "after": side(&it.pieces, WordChange::Removed),
            "remarks": it.remarks,
        })
    });
    let by = |by_person: bool| if by_person { "person" } else { "first-use" };
    json!({
        "name": waiting.tool.id.as_str(),
        "server": &*waiting.tool.server,
        "tool": waiting.tool.name,
        "state": waiting.tool.why.name(),
        "approvedAt": waiting.approval.as_ref().map(|it| it.at),
        "approvedBy": waiting.approval.as_ref().map(|it| by(it.by_person)),
        "changes": changes.collect::<Vec<_>>(),
    })
}
