//! Servers that other MCP clients already have.

use std::io::{IsTerminal, Write};

use owo_colors::OwoColorize;
use serde_json::{Value, json};
use toolyard_core::tool::clean;
use toolyard_hub::clients::{self, Addition, Client, Os, Receipt, Takeover};

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Attribute, Cell, Color, Layout, count};
use crate::settings::Settings;
use crate::setup::env;

/// Take over the servers of other MCP clients
///
/// Looks at the configurations of claude-desktop, claude-code, cursor, vscode, windsurf, lm-studio, codex,
/// zed and gemini-cli, shows what it would take over and asks before it writes. The file as it was is kept,
/// and --undo brings it back. The other clients' files are only read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard import                  show what there is and ask
  toolyard import cursor vscode    only from these
  toolyard import --yes            take over without asking
  toolyard import --undo           as if the last import had not been

With --json: {\"file\", \"additions\": [{\"name\", \"from\": {\"client\", \"file\", \"name\"}, \"conflict\",
\"disabledBecause\"}], \"same\", \"own\", \"problems\": [{\"file\", \"message\"}], \"written\", \"backup\"};
nothing is written without --yes")]
pub(crate) struct Import {
    /// Only from these clients
    #[arg(value_name = "CLIENT")]
    clients: Vec<Client>,
    /// Write without asking
    #[arg(short, long)]
    yes: bool,
    /// Bring back the configuration as it was before the last import
    #[arg(long, conflicts_with_all = ["clients", "yes"])]
    undo: bool,
}

pub(crate) fn run(common: &Common, asked: &Import) -> Result<(), Failure> {
    let settings = Settings::open(common)?;
    let backups = settings.backups("import");
    if asked.undo {
        return undo(common, &backups);
    }
    let mut found = clients::found(Os::current(), &settings.folders().home, &std::env::current_dir()?, &env);
    found.retain(|found| asked.clients.is_empty() || asked.clients.contains(&found.client));
    let plan = clients::plan(&found, &settings.text, &env).map_err(|err| settings.refused(&err))?;
    let plan = if settings.is_new { plan.for_new_file() } else { plan };
    if !common.json {
        output::text(&words(&plan, &settings))?;
    }
    let is_wanted = !plan.additions.is_empty() && (asked.yes || (!common.json && consents()));
    let receipt = if is_wanted {
        settings.check(plan.text())?;
        clients::apply(&plan, &settings.path, &backups).map_err(|err| Failure::new(err.to_string()))?
    } else {
        None
    };
    if common.json {
        return Ok(output::json(&to_json(&plan, &settings, receipt.as_ref()))?);
    }
    match receipt {
        Some(receipt) => Ok(output::text(&format!(
            "Wrote {}. `toolyard import --undo` brings it back as it was.\nNext: `toolyard doctor` checks that all of it works.",
            receipt.path.display()
        ))?),
        None if plan.additions.is_empty() => Ok(()),
        None => Ok(output::text("Nothing was written; --yes writes.")?),
    }
}

/// Brings a file back that a command changed.
pub(crate) fn undo(common: &Common, backups: &std::path::Path) -> Result<(), Failure> {
    let restored = clients::undo(backups).map_err(|err| Failure::new(err.to_string()))?;
    if common.json {
        return Ok(output::json(&json!({ "file": restored.path, "existed": restored.existed }))?);
    }
    let how = if restored.existed { "is as it was" } else { "is gone again" };
    Ok(output::text(&format!("{} {how}.", restored.path.display()))?)
}

/// Asks on a terminal; where nobody can answer, the answer is no.
fn consents() -> bool {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return false;
    }
    anstream::eprint!("Take them over? [y/N] ");
    let _ = anstream::stderr().flush();
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

fn words(plan: &Takeover, settings: &Settings) -> String {
    let mut text = String::new();
    if plan.additions.is_empty() {
        text += "There is nothing to take over.\n";
    } else {
        let target = settings.path.display();
        text += &format!("{} for {target}:\n", count(plan.additions.len(), "server"));
        let rows = plan.additions.iter().map(row).collect();
        text += &output::grid(Layout { indent: 2, ..Layout::default() }, rows);
        text.push('\n');
    }
    if !plan.same.is_empty() {
        let names: Vec<&str> = plan.same.iter().map(|same| same.name.as_str()).collect();
        text += &format!("Here already: {}\n", clean(&names.join(", ")));
    }
    for (path, problem) in &plan.problems {
        text += &format!("{} {}: {}\n", "left out:".yellow(), path.display(), clean(problem));
    }
    text
}

/// Shows where a server comes from and how it is reached; keys in its entry stay unseen.
fn row(addition: &Addition) -> Vec<Cell> {
    let reached = match (addition.server["command"].as_str(), addition.server["url"].as_str()) {
        (Some(command), _) => command.to_owned(),
        (None, Some(url)) => url.split('?').next().unwrap_or_default().to_owned(),
        (None, None) => String::new(),
    };
    let mut remarks = Vec::new();
    if addition.conflicts() {
        remarks.push(format!("`{}` is another server here, so it gets this name", addition.source.name));
    }
    if let Some(why) = &addition.disabled_because {
        remarks.push(format!("added as disabled: {why}"));
    }
    vec![
        Cell::new(clean(&addition.name)).add_attribute(Attribute::Bold),
        Cell::new(addition.source.client.title()),
        Cell::new(clean(&reached)),
        Cell::new(clean(&remarks.join("; "))).fg(Color::Yellow),
    ]
}

fn to_json(plan: &Takeover, settings: &Settings, receipt: Option<&Receipt>) -> Value {
    let from = |source: &clients::Mention| json!({ "client": source.client.name(), "file": source.path, "name": source.name });
    json!({
        "file": settings.path,
        "additions": plan.additions.iter().map(|addition| json!({
            "name": addition.name,
            "from": from(&addition.source),
            "conflict": addition.conflicts(),
            "disabledBecause": addition.disabled_because,
        })).collect::<Vec<_>>(),
        "same": plan.same.iter().map(|same| json!({ "name": same.name, "from": from(&same.source) })).collect::<Vec<_>>(),
        "own": plan.own.iter().map(from).collect::<Vec<_>>(),
        "problems": plan.problems.iter().map(|(path, problem)| json!({ "file": path, "message": problem })).collect::<Vec<_>>(),
        "written": receipt.is_some(),
        "backup": receipt.map(|receipt| &receipt.backup),
    })
}
