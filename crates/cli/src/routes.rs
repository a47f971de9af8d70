//! What was decided about requests.

use std::time::Duration;

use toolyard_history::{History, Route, RouteSearch};
use toolyard_hub::clock::now_ms;

use crate::audit::span;
use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Cell, Layout};
use crate::setup::Source;

/// Show what was decided about requests
///
/// Every request in words is kept with what became of it; its words for a week, unless `events.words` is false in the
/// configuration. The values of arguments are there only if `events.values` is true.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard routes
  toolyard routes garden --since 1d
  toolyard routes --tool notes__search_notes --limit 5
  toolyard routes --json | jq '.routes[].tool'

`toolyard feedback` says whether one was right.
With --json: {\"routes\": [{\"id\", \"at\", \"words\", \"decision\", \"tool\", \"confidence\", \"candidates\", …}]}")]
pub(crate) struct Routes {
    /// Only with this in the words or in the name of the tool
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// Only this tool, as server__tool
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,
    /// Only the last so long: 90s, 5m, 1h or 7d
    #[arg(long, value_name = "TIME", value_parser = span)]
    since: Option<Duration>,
    /// The latest so many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

pub(crate) fn run(common: &Common, asked: &Routes) -> Result<(), Failure> {
    let history = opened(common)?;
    let search = RouteSearch {
        text: asked.text.clone(),
        tool: asked.tool.clone(),
        since: asked.since.map(since),
        ..RouteSearch::default()
    };
    let routes = latest(&history, search, asked.limit)?;
    if common.json {
        return Ok(output::json(&serde_json::json!({ "routes": routes }))?);
    }
    if routes.is_empty() {
        anstream::eprintln!("No decision is kept that fits.");
        return Ok(());
    }
    let header = &["id", "when", "words", "decision", "tool", "sure"];
    let layout = Layout { header, cut: true, ..Layout::default() };
    Ok(output::text(&output::grid(layout, routes.iter().map(row).collect()))?)
}

/// Opens what is kept, without a hub.
pub(crate) fn opened(common: &Common) -> Result<History, Failure> {
    let config = Source::find(common)?.load()?;
    if !config.events.enabled {
        return Err(Failure::new("decisions are not kept: `events.enabled` is false in the configuration"));
    }
    History::open(&config.store.folder, config.events.retention).map_err(|err| Failure::new(err.to_string()))
}

/// Returns the time so long ago, in milliseconds since 1970.
pub(crate) fn since(ago: Duration) -> i64 {
    now_ms().saturating_sub(i64::try_from(ago.as_millis()).unwrap_or(i64::MAX))
}

/// Returns the latest decisions that fit, the newest first.
pub(crate) fn latest(
    history: &History,
    mut search: RouteSearch,
    limit: usize,
) -> Result<Vec<Route>, Failure> {
    let mut found = Vec::new();
    loop {
        search.limit = (limit - found.len()).clamp(1, 500);
        let page = history.routes(&search).map_err(|err| Failure::new(err.to_string()))?;
        found.extend(page.items);
        match page.next {
            Some(next) if found.len() < limit => search.before = Some(next),
            Some(_) | None => break,
        }
    }
    found.truncate(limit);
    Ok(found)
}

fn row(route: &Route) -> Vec<Cell> {
    vec![
        Cell::new(&route.id),
        Cell::new(when(route.at)),
        Cell::new(route.words.as_deref().unwrap_or("(not kept)")),
        Cell::new(route.decision.name()),
        Cell::new(route.tool.as_deref().unwrap_or_default()),
        Cell::new(format!("{:.2}", route.confidence)),
    ]
}

/// Writes a time as people here read it.
pub(crate) fn when(at: i64) -> String {
    let Ok(at) = jiff::Timestamp::from_millisecond(at) else { return String::new() };
    at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}
