//! Every tool, by server.

use owo_colors::OwoColorize;
use serde_json::json;
use toolyard_core::tool::{Tool, clean};
use toolyard_hub::hub::{Hub, Suspect, alike};
use toolyard_hub::pins::{Moved, WaitingFor, WithheldTool};
use toolyard_hub::store::ServerStatus;

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Cell, Color, Layout, count};
use crate::{learn, setup, tools};

/// List every tool, by server
///
/// Servers that were never reached are started once to learn their tools; after that the list needs no
/// server running. A server that cannot be reached or is off is named at the end, and so is a tool whose text looks like
/// instructions to a model. Tools that wait for `toolyard approve` are marked `new` or `changed`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard list
  toolyard list git
  toolyard list --json | jq -r '.tools[].name'

With --json: {\"tools\": [{\"name\", \"server\", \"tool\", \"title\", \"effect\", \"summary\",
\"parameters\": [{\"name\", \"type\", \"required\"}]}], \"failed\": [{\"server\", \"reason\"}],
\"withheld\": [{\"name\", \"server\", \"tool\", \"state\": \"new\" | \"changed\"}], \"moved\": [{\"server\", \"what\",
\"since\"}], \"suspicious\": [{\"name\", \"server\", \"alarm\", \"quarantined\", \"signs\"}]}")]
pub(crate) struct List {
    /// Only this server
    server: Option<String>,
}

pub(crate) async fn run(common: &Common, asked: &List) -> Result<(), Failure> {
    setup::with_hub(common, async |hub| {
        if let Some(name) = &asked.server {
            setup::server(hub, name)?;
        }
        learn::learn(hub, asked.server.as_deref()).await;
        show(hub, asked, common)
    })
    .await
}

/// What is known of one server, with the tools of it that may be called.
struct Shelf<'a> {
    status: ServerStatus,
    tools: Vec<&'a Tool>,
    withheld: Vec<&'a WithheldTool>,
    moved: Option<Moved>,
}

fn show(hub: &Hub, asked: &List, common: &Common) -> Result<(), Failure> {
    let snapshot = hub.snapshot();
    let statuses = hub.servers().into_iter();
    let shelves: Vec<Shelf<'_>> = statuses
        .filter(|status| asked.server.as_ref().is_none_or(|only| status.name == *only))
        .map(|status| {
            let tools = snapshot.catalog.of_server(&status.name).iter();
            let withheld = snapshot.withheld.iter().filter(|it| *it.server == *status.name).collect();
            let moved = hub.moved(&status.name);
            Shelf {
                tools: tools.filter(|tool| hub.permits(&snapshot, tool)).collect(),
                withheld,
                moved,
                status,
            }
        })
        .collect();
    let mut suspects = hub.suspects(&snapshot);
    suspects.retain(|it| asked.server.as_ref().is_none_or(|only| *it.server == **only));
    let (known, failed): (Vec<_>, Vec<_>) = shelves.into_iter().partition(|it| it.status.tools.is_some());
    if common.json {
        let tools: Vec<_> =
            known.iter().flat_map(|it| it.tools.iter().map(|tool| tools::to_json(tool))).collect();
        let failed: Vec<_> =
            failed.iter().map(|it| json!({ "server": it.status.name, "reason": it.status.reason })).collect();
        let withheld = known.iter().flat_map(|it| &it.withheld).map(|it| {
            json!({ "name": it.id.as_str(), "server": &*it.server, "tool": it.name, "state": it.why.name() })
        });
        let moved = known.iter().filter_map(|it| Some((&it.status.name, it.moved.as_ref()?)));
        let moved = moved.map(|(server, it)| json!({ "server": server, "what": it.what, "since": it.since }));
        let (withheld, moved) = (withheld.collect::<Vec<_>>(), moved.collect::<Vec<_>>());
        let suspects: Vec<_> = suspects.iter().map(suspect_json).collect();
        output::json(&json!({
            "tools": tools, "failed": failed, "withheld": withheld, "moved": moved, "suspicious": suspects,
        }))?;
    } else {
        let mut text = words(&known, &failed);
        for suspects in alike(&suspects) {
            text += &format!("\n{} {}", "!".yellow(), clean(&suspects.sentence()));
        }
        output::text(&text)?;
    }
    if known.is_empty() && !failed.is_empty() { Err(Failure::silent(1)) } else { Ok(()) }
}

fn words(known: &[Shelf<'_>], failed: &[Shelf<'_>]) -> String {
    if known.is_empty() && failed.is_empty() {
        return "No server is configured. Add one with `toolyard add NAME -- COMMAND` or \
                `toolyard add NAME URL`."
            .to_owned();
    }
    let ids = known.iter().flat_map(|it| &it.tools).map(|tool| tool.id.as_str().len());
    let layout = Layout {
        indent: 2,
        first: ids.max().and_then(|width| width.try_into().ok()).unwrap_or_default(),
        cut: true,
        ..Layout::default()
    };
    let mut text = String::new();
    for Shelf { status, tools, withheld, moved } in known {
        let hidden = status.tools.unwrap_or_default() - tools.len();
        let hidden =
            if hidden > 0 { format!(", {hidden} more not allowed by `policy`") } else { String::new() };
        text += &format!("{}  {}{hidden}\n", clean(&status.name).bold(), count(tools.len(), "tool"));
        if let Some(moved) = moved {
            text += &format!("  {}\n", clean(&moved.what).yellow());
        }
        if !tools.is_empty() {
            text += &output::grid(layout, tools.iter().map(|tool| tools::row(tool)).collect());
            text.push('\n');
        }
        if !withheld.is_empty() {
            text += &output::grid(layout, withheld.iter().map(|tool| waiting(tool)).collect());
            text.push('\n');
        }
        text.push('\n');
    }
    let tools: usize = known.iter().map(|it| it.tools.len()).sum();
    text += &format!("{} of {}", count(tools, "tool"), count(known.len(), "server"));
    let (off, unreached): (Vec<_>, Vec<_>) = failed.iter().partition(|it| it.status.is_off());
    if !unreached.is_empty() {
        text += &format!("; {} could not be reached:\n", count(unreached.len(), "server"));
        text += &reasons(&unreached);
        text += "\n`toolyard doctor` tells what helps.";
    }
    if !off.is_empty() {
        let (end, are) =
            (if unreached.is_empty() { "; " } else { "\n" }, if off.len() == 1 { "is" } else { "are" });
        text += &format!("{end}{} {are} off:\n{}", count(off.len(), "server"), reasons(&off));
    }
    text
}

/// Shows a tool that waits for a person.
fn waiting(tool: &WithheldTool) -> Vec<Cell> {
    let server = clean(&tool.server).into_owned();
    let helps = match tool.why {
        WaitingFor::New | WaitingFor::Unknown => {
            format!("withheld: `toolyard approve {server}` accepts it")
        }
        WaitingFor::Changed => format!("withheld: `toolyard diff {server}` shows what changed"),
    };
    let state = Cell::new(format!("{:<7}", tool.why.name())).fg(Color::Red);
    vec![Cell::new(clean(tool.id.as_str())), state, Cell::new(helps)]
}

fn suspect_json(suspect: &Suspect) -> serde_json::Value {
    json!({
        "name": suspect.tool.as_str(),
        "server": &*suspect.server,
        "alarm": suspect.screened.alarm,
        "quarantined": suspect.is_quarantined,
        "signs": suspect.screened.signs,
    })
}

/// Says of servers without tools why they have none.
fn reasons(shelves: &[&Shelf<'_>]) -> String {
    let rows = shelves.iter().map(|Shelf { status, .. }| {
        let reason = status.reason.as_deref().unwrap_or("it did not answer");
        vec![Cell::new(clean(&status.name)).fg(Color::Red), Cell::new(clean(reason))]
    });
    output::grid(Layout { indent: 2, ..Layout::default() }, rows.collect())
}
