//! One tool as people and programs are shown it, and how the command line names it.

use std::sync::Arc;

use owo_colors::OwoColorize;
use serde_json::{Value, json};
use toolyard_core::alias::{Alias, Phase};
use toolyard_core::tool::{Effect, Tool, ToolId, clean};
use toolyard_hub::hub::{Hub, renamed};
use toolyard_hub::live::Snapshot;

use crate::failure::Failure;
use crate::learn;
use crate::output::{Attribute, Cell, Color};

/// Characters of a summary when nothing else limits it.
const SUMMARY_CHARS: usize = 160;

/// Returns the first sentence of a tool's description, on one line.
pub(crate) fn summary(tool: &Tool) -> String {
    let line = tool.description.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = match line.find(". ") {
        Some(end) => &line[..=end],
        None => &line,
    };
    if sentence.chars().count() <= SUMMARY_CHARS {
        return sentence.to_owned();
    }
    sentence.chars().take(SUMMARY_CHARS).chain(['…']).collect()
}

/// Returns a tool as one row: its name, what it does to the world, its summary.
pub(crate) fn row(tool: &Tool) -> Vec<Cell> {
    vec![
        Cell::new(tool.id.as_str()).add_attribute(Attribute::Bold),
        effect_cell(tool.effect),
        Cell::new(summary(tool)),
    ]
}

fn effect_cell(effect: Effect) -> Cell {
    // The same width everywhere, so that the tables of several servers align.
    let cell = Cell::new(format!("{:<7}", effect_word(effect)));
    match effect {
        Effect::Read => cell.fg(Color::Green),
        Effect::Write => cell.fg(Color::Yellow),
        Effect::Destroy => cell.fg(Color::Red),
    }
}

/// Returns the word for an effect.
pub(crate) fn effect_word(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Write => "write",
        Effect::Destroy => "destroy",
    }
}

/// Returns a tool as programs read it.
pub(crate) fn to_json(tool: &Tool) -> Value {
    json!({
        "name": tool.id.as_str(),
        "server": &*tool.server,
        "tool": tool.name,
        "title": tool.title,
        "effect": effect_word(tool.effect),
        "summary": summary(tool),
        "parameters": tool.parameters.iter().map(|parameter| json!({
            "name": parameter.name, "type": parameter.kind, "required": parameter.required,
        })).collect::<Vec<_>>(),
    })
}

/// Finds the tool that the command line names, starting its server if that was never reached.
///
/// The name is `server__tool`; the tool's own name will do when only one server has it.
pub(crate) async fn find(hub: &Hub, name: &str) -> Result<(Arc<Snapshot>, Tool), Failure> {
    let snapshot = hub.snapshot();
    if let Some(tool) = snapshot.catalog.get(name) {
        let tool = tool.clone();
        return Ok((snapshot, tool));
    }
    if let Some(why) = hub.off(name, |_| true) {
        return Err(Failure::new(why));
    }
    let owner = owner(hub, name);
    learn::learn(hub, owner.as_deref()).await;
    let snapshot = hub.snapshot();
    let named: Vec<&Tool> = match snapshot.catalog.get(name) {
        Some(tool) => vec![tool],
        None => snapshot.catalog.tools().iter().filter(|tool| tool.name == name).collect(),
    };
    match named.as_slice() {
        [tool] => {
            let tool = (*tool).clone();
            Ok((snapshot, tool))
        }
        [] => Err(unknown(hub, &snapshot, owner.as_deref(), name)),
        several => {
            let ids: Vec<&str> = several.iter().map(|tool| tool.id.as_str()).collect();
            Err(Failure::usage(format!("several servers have a tool `{name}`"))
                .hint(format!("name one of {}", ids.join(", "))))
        }
    }
}

/// A tool that the command line names.
pub(crate) struct Named {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) tool: Tool,
    /// What its name stands for, where that is an old one.
    pub(crate) alias: Option<Alias>,
}

/// Finds the tool that the command line names, also by a name that it had before.
pub(crate) async fn find_named(hub: &Hub, name: &str) -> Result<Named, Failure> {
    if let Some(alias) = old_name(hub, name).await? {
        let snapshot = hub.snapshot();
        let others = snapshot.catalog.tools().iter().filter(|tool| tool.name == name);
        let others: Vec<&str> = others.map(|tool| tool.id.as_str()).collect();
        if !others.is_empty() {
            return Err(Failure::usage(format!("`{name}` is an old name of `{}`, and a tool", alias.to))
                .hint(format!("name one of {}, {}", alias.to, others.join(", "))));
        }
        if alias.phase == Phase::Gone {
            return Err(Failure::usage(alias.farewell(name, snapshot.catalog.get(&alias.to))));
        }
        let tool = snapshot.catalog.get(&alias.to).cloned();
        let tool =
            tool.ok_or_else(|| unknown(hub, &snapshot, owner(hub, &alias.to).as_deref(), &alias.to))?;
        return Ok(Named { snapshot, tool, alias: Some(alias) });
    }
    let (snapshot, tool) = find(hub, name).await?;
    Ok(Named { snapshot, tool, alias: None })
}

/// Tells a person that a name is an old one.
pub(crate) fn note_old(name: &str, usage: &str) {
    anstream::eprintln!("{} `{name}` is an old name; use {}", "note:".yellow().bold(), clean(usage));
}

/// Returns what a name stands for that is an old one, once the server of its tool was heard of.
async fn old_name(hub: &Hub, name: &str) -> Result<Option<Alias>, Failure> {
    let look = || renamed(&hub.snapshot(), name, |_| true).transpose().map_err(Failure::usage);
    let Some(alias) = look()? else { return Ok(None) };
    if hub.snapshot().catalog.get(&alias.to).is_none() {
        if let Some(why) = hub.off(&alias.to, |_| true) {
            return Err(Failure::new(why));
        }
        learn::learn(hub, owner(hub, &alias.to).as_deref()).await;
    }
    look()
}

fn owner(hub: &Hub, name: &str) -> Option<Arc<str>> {
    let owns = |server: &str| {
        name.strip_prefix(&*ToolId::server_prefix(server)).is_some_and(|rest| rest.starts_with("__"))
    };
    hub.upstreams().iter().map(|upstream| Arc::clone(&upstream.name)).find(|server| owns(server))
}

fn unknown(hub: &Hub, snapshot: &Snapshot, owner: Option<&str>, name: &str) -> Failure {
    if let Some(owner) = owner
        && let Some(status) = hub.servers().into_iter().find(|status| status.name == owner)
        && let (None, Some(reason)) = (status.tools, status.reason)
    {
        return Failure::new(format!("server `{owner}` could not be asked for its tools: {reason}"))
            .hint(format!("`toolyard doctor {owner}` tells more"));
    }
    Failure::usage(hub.unknown_tool(snapshot, name).message)
        .hint("`toolyard find WORDS` finds tools by what they do, `toolyard list` shows all")
}
