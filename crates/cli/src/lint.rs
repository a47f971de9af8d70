//! How well tools are documented.

pub(crate) mod listing; // stored listings
mod report; //  for people
mod sarif; //   for code scanning

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::json;
use toolyard_core::catalog::Catalog;
use toolyard_core::lint::{LintReport, lint, sidecars};
use toolyard_hub::hub::Hub;

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, count};
use crate::{learn, setup};

use listing::StoredListing;
use sarif::Artifacts;

/// Score how well tools are documented, and find tools that are hard to tell apart
///
/// Each tool gets up to 100 points for a purpose in one sentence, for when to use it and what it does not do, for
/// its parameters, its results and examples. What is missing is said with its place in the definition and, where
/// possible, with what to write. Text in other languages than English is judged by its structure.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard lint
  toolyard lint git --worst 3
  toolyard lint --catalog tools.json --min-score 60
  toolyard lint --sarif > lint.sarif
  toolyard lint --json git | jq '.sidecars[0]' > metadata/git.json

A stored listing is a list of {\"server\", \"tools\"}, an object of servers with their tools,
an answer to `tools/list`, or a line of JSON for each tool with its \"server\"; - is stdin.
A tool below --min-score is exit code 1.
With --json: {\"tools\": [{\"id\", \"server\", \"name\", \"score\", \"tokens\", \"parts\",
\"diagnostics\": [{\"rule\", \"level\", \"place\", \"message\", \"suggestion\"}]}],
\"pairs\": [{\"tools\", \"similarity\", \"isTwin\", \"shared\", \"apart\", \"advice\"}],
\"sidecars\", \"meanScore\", \"problems\"}")]
pub(crate) struct Lint {
    /// Only these servers
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
    /// Lint a stored listing instead of the configured servers; nothing is started
    #[arg(long, value_name = "FILE")]
    catalog: Option<PathBuf>,
    /// How many tools to show, the worst first
    #[arg(long, value_name = "N", default_value_t = 10)]
    worst: usize,
    /// Fail if a tool scores less
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(..=100), conflicts_with = "rules")]
    min_score: Option<u8>,
    /// Answer with SARIF 2.1.0, for code scanning
    #[arg(long, conflicts_with_all = ["json", "rules"])]
    sarif: bool,
    /// Explain the rules instead
    #[arg(long, conflicts_with_all = ["servers", "catalog"])]
    rules: bool,
}

pub(crate) async fn run(common: &Common, asked: &Lint) -> Result<(), Failure> {
    if asked.rules {
        return show_rules(common);
    }
    if let Some(path) = &asked.catalog {
        let StoredListing { catalog, problems, lines } = listing::read(path)?;
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        check_servers(&catalog, &asked.servers)?;
        let file = path.to_string_lossy().replace('\\', "/");
        let file = Some(file).filter(|file| file != "-");
        return show(common, asked, (&catalog, &problems), &Artifacts { file, lines: &lines });
    }
    setup::with_hub(common, async |hub| {
        for name in &asked.servers {
            setup::server(hub, name)?;
        }
        learn::learn_all(hub).await;
        check_reached(hub, asked)?;
        let artifacts = Artifacts { file: None, lines: &HashMap::new() };
        show(common, asked, (&hub.snapshot().catalog, &[]), &artifacts)
    })
    .await
}

fn show_rules(common: &Common) -> Result<(), Failure> {
    use toolyard_core::lint::RuleId;
    if !common.json {
        return Ok(output::text(&report::rules())?);
    }
    let rules = RuleId::ALL.map(|it| json!({ "rule": it.id(), "level": it.level(), "help": it.help() }));
    Ok(output::json(&json!({ "rules": rules }))?)
}

/// A server that a stored listing does not have is an error.
pub(crate) fn check_servers(catalog: &Catalog, asked: &[String]) -> Result<(), Failure> {
    let known: Vec<&str> = catalog.servers().map(|(name, _)| &**name).collect();
    match asked.iter().find(|name| !known.contains(&name.as_str())) {
        Some(unknown) => Err(Failure::usage(format!("there is no server `{unknown}` in the listing"))
            .hint(format!("it has {}", known.join(", ")))),
        None => Ok(()),
    }
}

/// A server that was named and cannot be asked is an error.
fn check_reached(hub: &Hub, asked: &Lint) -> Result<(), Failure> {
    let statuses = hub.servers();
    let mut failed = statuses.iter().filter(|it| it.tools.is_none() && asked.servers.contains(&it.name));
    let Some(status) = failed.next() else { return Ok(()) };
    let reason = status.reason.as_deref().unwrap_or("it did not answer");
    Err(Failure::new(format!("server `{}` could not be asked for its tools: {reason}", status.name))
        .hint(format!("`toolyard doctor {}` tells more", status.name)))
}

/// Lints all servers, since any of their tools may be confused, and shows the wanted ones.
fn show(
    common: &Common,
    asked: &Lint,
    (catalog, problems): (&Catalog, &[String]),
    artifacts: &Artifacts<'_>,
) -> Result<(), Failure> {
    let mut report = lint(catalog);
    if !asked.servers.is_empty() {
        let is_wanted = |server: &str| asked.servers.iter().any(|name| name == server);
        let ids: Vec<String> =
            report.tools.iter().filter(|it| is_wanted(&it.server)).map(|it| it.id.clone()).collect();
        report.tools.retain(|tool| is_wanted(&tool.server));
        report.pairs.retain(|pair| pair.tools.iter().any(|id| ids.contains(id)));
    }
    if asked.sarif {
        output::json(&sarif::sarif(&report, artifacts))?;
    } else if common.json {
        output::json(&to_json(&report, problems))?;
    } else {
        for problem in problems {
            anstream::eprintln!("{problem}");
        }
        output::text(&report::words(&report, asked.worst))?;
    }
    let Some(least) = asked.min_score else { return Ok(()) };
    let below = report.tools.iter().filter(|tool| tool.score < least).count();
    match below {
        0 => Ok(()),
        _ if asked.sarif || common.json => Err(Failure::silent(1)),
        _ => Err(Failure::new(format!("{} below {least} points", count(below, "tool")))),
    }
}

/// Returns the mean score to the nearest point; there is none without tools.
fn mean_score(report: &LintReport) -> Option<usize> {
    let (tools, sum) =
        (report.tools.len(), report.tools.iter().map(|tool| usize::from(tool.score)).sum::<usize>());
    (sum + tools / 2).checked_div(tools)
}

fn to_json(report: &LintReport, problems: &[String]) -> serde_json::Value {
    let mut value = json!(report);
    value["sidecars"] = json!(sidecars(report));
    value["meanScore"] = json!(mean_score(report));
    value["problems"] = json!(problems);
    value
}
