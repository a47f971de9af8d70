//! A conversation played message by message: what it is given, and why.

use owo_colors::OwoColorize;
use serde_json::{Value, json};
use toolyard_core::domain::DOMAIN;
use toolyard_core::session::Toolset as Active;
use toolyard_core::tool::clean;
use toolyard_hub::config::OwnTool;
use toolyard_hub::hub::Supply;
use toolyard_hub::live::Snapshot;
use toolyard_hub::routing::Wanted;

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, count};
use crate::{learn, setup};

/// Play a conversation and show which tools it is given, message by message
///
/// Each message is one turn. Shown are the active skills and domains, the tools of the list with its tokens beside
/// those of all tools, and what changed and why. Nothing is called.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard toolset \"search my notes for bees\"
  toolyard toolset \"create a task\" \"add a reminder\" \"what are my goals?\"
  toolyard toolset --skill release \"tag the last commit\"
  toolyard toolset --current desk__query_tasks,desk__get_task \"what are my goals?\"
  toolyard toolset --json \"what time is it\" | jq '.turns[0].tools'

With --json: {\"all\": {\"tools\", \"tokens\"}, \"turns\": [{\"message\", \"skills\", \"domains\", \"tools\",
\"bound\", \"tokens\", \"why\"}]}")]
pub(crate) struct Toolset {
    /// What is said, one message each
    #[arg(required = true, value_name = "MESSAGE")]
    messages: Vec<String>,
    /// Tools that the conversation has before the first message, the oldest first; separated by commas or repeated
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    current: Vec<String>,
    /// A skill that is activated before; may be repeated
    #[arg(long, value_name = "NAME")]
    skill: Vec<String>,
    /// The profile whose settings hold
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
}

/// Bytes of one token, as budgets count them.
const TOKEN_BYTES: usize = 4;

/// One message and what is there then.
struct Turn<'a> {
    message: &'a str,
    skills: Vec<String>,
    domains: Vec<String>,
    tools: Vec<String>,
    bound: Vec<String>,
    tokens: usize,
    why: String,
}

pub(crate) async fn run(common: &Common, asked: &Toolset) -> Result<(), Failure> {
    setup::with_hub(common, async |hub| {
        learn::learn_all(hub).await;
        let snapshot = hub.snapshot();
        learn::understand(hub, &snapshot).await;
        let config = hub.config();
        if let Some(profile) = &asked.profile {
            setup::known_profile(&config, profile)?;
        }
        let servers = match asked.profile.as_ref().and_then(|name| config.serve.profiles.get(name)) {
            Some(toolyard_hub::config::Profile::Surface { servers, .. }) => servers.clone(),
            Some(toolyard_hub::config::Profile::Transparent { .. }) | None => Vec::new(),
        };
        let supply = hub.supply(&snapshot, &servers, config.toolset_of(asked.profile.as_deref())).await;
        let current = current(&supply, &asked.current)?;
        let mut active = Active::with_tools(&supply.stock(), &current);
        for skill in &asked.skill {
            active.activate(&supply.stock(), skill).map_err(|unknown| Failure::usage(unknown.to_string()))?;
        }
        let mut turns = Vec::new();
        for message in &asked.messages {
            let wanted = Wanted { servers: &servers, ..Wanted::plain(message) };
            let selection = hub.take_in(&snapshot, &supply, &wanted, &mut active).await;
            turns.push(turn(message, &selection.reasoning, &active, &snapshot, &supply));
        }
        show(common, (&snapshot, &supply), &turns)
    })
    .await
}

/// Returns the names of the tools that a conversation has before its first message.
fn current<'a>(supply: &Supply, named: &'a [String]) -> Result<Vec<&'a str>, Failure> {
    let is_known = |name: &str| supply.registry.get(name).is_some() || OwnTool::named(name).is_some();
    let names: Vec<&str> = named.iter().map(String::as_str).collect();
    match names.iter().find(|name| !is_known(name)) {
        Some(unknown) => Err(Failure::usage(format!("there is no tool `{}`", clean(unknown)))
            .hint("`toolyard list` shows the tools by their names, such as server__tool")),
        None => Ok(names),
    }
}

fn turn<'a>(message: &'a str, why: &str, active: &Active, snapshot: &Snapshot, supply: &Supply) -> Turn<'a> {
    let names = active.listed(&supply.stock());
    let of_servers: Vec<&str> =
        names.iter().map(|name| &**name).filter(|name| OwnTool::named(name).is_none()).collect();
    let is_shown = |name: &&std::sync::Arc<str>| names.contains(name);
    Turn {
        message,
        skills: active.skills().iter().map(ToString::to_string).collect(),
        domains: active.domains().map(|domain| domain.trim_start_matches(DOMAIN).to_owned()).collect(),
        bound: active.bound().iter().filter(is_shown).map(ToString::to_string).collect(),
        tokens: tokens(snapshot, of_servers.iter().copied()),
        tools: of_servers.into_iter().map(str::to_owned).collect(),
        why: why.to_owned(),
    }
}

/// Counts the tokens of definitions as they are listed.
pub(crate) fn tokens<'a>(snapshot: &Snapshot, names: impl Iterator<Item = &'a str>) -> usize {
    let bytes: usize =
        names.filter_map(|name| snapshot.catalog.get(name)).map(|tool| tool.listed().len()).sum();
    bytes.div_ceil(TOKEN_BYTES)
}

fn show(
    common: &Common,
    (snapshot, supply): (&Snapshot, &Supply),
    turns: &[Turn<'_>],
) -> Result<(), Failure> {
    let every = supply.registry.tools_up_to_tier(u8::MAX);
    let all = tokens(snapshot, every.iter().map(|tool| &*tool.name));
    if common.json {
        let turn = |it: &Turn<'_>| -> Value {
            json!({
                "message": it.message, "skills": it.skills, "domains": it.domains, "tools": it.tools,
                "bound": it.bound, "tokens": it.tokens, "why": it.why,
            })
        };
        let turns: Vec<Value> = turns.iter().map(turn).collect();
        return Ok(output::json(&json!({ "all": { "tools": every.len(), "tokens": all }, "turns": turns }))?);
    }
    let mut text = String::new();
    for (at, turn) in turns.iter().enumerate() {
        let or_none = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        text += &format!("{} {}\n", format!("{}.", at + 1).bold(), clean(turn.message).bold());
        text += &format!("  skills   {}\n", or_none(&turn.skills));
        text += &format!("  domains  {}\n", or_none(&turn.domains));
        text += &format!("  tools    {}, about {} tokens\n", turn.tools.len(), turn.tokens);
        for tool in &turn.tools {
            let mark = if turn.bound.contains(tool) {
                "  (this message only)".dimmed().to_string()
            } else {
                String::new()
            };
            text += &format!("    {tool}{mark}\n");
        }
        text += &format!("  why      {}\n\n", clean(&turn.why));
    }
    text += &format!("All {} are about {all} tokens.", count(every.len(), "tool"));
    Ok(output::text(&text)?)
}
