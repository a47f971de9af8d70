//! What would be decided today about requests of the past.

use std::time::Duration;

use serde_json::{Map, json};
use toolyard_core::decide::{Conclusion, Goal};
use toolyard_history::{Route, RouteOutcome, RouteSearch};
use toolyard_hub::config::{Config, Ranking};
use toolyard_hub::hub::Hub;
use toolyard_hub::routing::Wanted;

use crate::audit::span;
use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Cell, Layout};
use crate::{learn, routes, setup};

/// Decide about yesterday's requests again, and show what would change
///
/// Takes the requests that are kept with their words, decides about each with today's tools, settings and lessons, and
/// runs nothing. Another ranking is compared on the same requests with --profile, another threshold with --threshold.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard replay
  toolyard replay --since 7d --limit 1000
  toolyard replay --without-lessons
  toolyard replay --profile seed
  toolyard replay --threshold 0.9 --json

With --json: {\"requests\", \"same\", \"changed\": [{\"id\", \"words\", \"before\": {\"decision\", \"tool\"}, \"after\": {…}}]}")]
pub(crate) struct Replay {
    /// Only the last so long: 90s, 5m, 1h or 7d
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "1d")]
    since: Duration,
    /// The latest so many
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: usize,
    /// As if nothing had been learnt
    #[arg(long)]
    without_lessons: bool,
    /// How tools are ranked
    #[arg(long, value_enum)]
    profile: Option<Profile>,
    /// Asks instead of acting below this confidence
    #[arg(long, value_name = "X")]
    threshold: Option<f64>,
}

/// How tools are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Profile {
    /// By all signals, with fitted weights
    Fitted,
    /// By category, keywords, use case and availability: 40, 30, 20 and 10
    Seed,
}

/// A request that is decided about otherwise.
struct Changed {
    route: Route,
    decision: RouteOutcome,
    tool: Option<String>,
}

pub(crate) async fn run(common: &Common, asked: &Replay) -> Result<(), Failure> {
    if asked.threshold.is_some_and(|it| !(0.0..=1.0).contains(&it)) {
        return Err(Failure::usage("a threshold is from 0 to 1"));
    }
    let search = RouteSearch { since: Some(routes::since(asked.since)), ..RouteSearch::default() };
    let mut past = routes::latest(&routes::opened(common)?, search, asked.limit)?;
    past.retain(|route| route.words.is_some() && route.decision != RouteOutcome::Failed);
    let change = |config: &mut Config| {
        config.learning.enabled &= !asked.without_lessons;
        if let Some(threshold) = asked.threshold {
            config.routing.confidence_threshold = threshold;
        }
        if let Some(profile) = asked.profile {
            config.routing.profile = match profile {
                Profile::Fitted => Ranking::Fitted,
                Profile::Seed => Ranking::Seed,
            };
        }
    };
    let mut config = setup::Source::find(common)?.load()?;
    change(&mut config);
    setup::with_config(config, async |hub| {
        learn::learn(hub, None).await;
        let snapshot = hub.snapshot();
        learn::understand(hub, &snapshot).await;
        let progress = learn::Waiting::begin("deciding again");
        let (requests, mut changed) = (past.len(), Vec::new());
        for (at, route) in past.into_iter().enumerate() {
            progress.say(&format!("deciding again, {} of {requests}", at + 1));
            let (decision, tool) = again(hub, &route).await;
            if tool != route.tool || is_act(decision) != is_act(route.decision) {
                changed.push(Changed { route, decision, tool });
            }
        }
        drop(progress);
        show(common, requests, &changed)
    })
    .await
}

async fn again(hub: &Hub, route: &Route) -> (RouteOutcome, Option<String>) {
    let (snapshot, given) = (hub.snapshot(), Map::new());
    let words = route.words.as_deref().unwrap_or_default();
    let goal = Goal::in_words(words, &given);
    let decided = hub.decide(&snapshot, &Wanted::plain(words), goal).await;
    let id = |position: usize| snapshot.catalog.tools()[position].id.as_str().to_owned();
    match decided.conclusion {
        Conclusion::Call(draft) => (RouteOutcome::Act, Some(id(draft.position))),
        Conclusion::Draft(draft) => (RouteOutcome::Draft, Some(id(draft.position))),
        Conclusion::Plan(prospect) => (RouteOutcome::Plan, prospect.tools.first().map(|at| id(*at))),
        Conclusion::Incomplete(lack) => (RouteOutcome::Ask, Some(id(lack.position))),
        Conclusion::Ask(_) => (RouteOutcome::Ask, None),
        Conclusion::Decline(_) => (RouteOutcome::Decline, None),
    }
}

/// Whether a tool is settled on; how its values came matters less.
fn is_act(decision: RouteOutcome) -> bool {
    match decision {
        RouteOutcome::Act | RouteOutcome::Draft | RouteOutcome::Plan => true,
        RouteOutcome::Ask | RouteOutcome::Decline | RouteOutcome::Candidates | RouteOutcome::Failed => false,
    }
}

fn show(common: &Common, requests: usize, changed: &[Changed]) -> Result<(), Failure> {
    if common.json {
        let side =
            |decision: RouteOutcome, tool: &Option<String>| json!({ "decision": decision, "tool": tool });
        let shown: Vec<_> = changed
            .iter()
            .map(|it| {
                let before = side(it.route.decision, &it.route.tool);
                json!({ "id": it.route.id, "words": it.route.words, "before": before, "after": side(it.decision, &it.tool) })
            })
            .collect();
        let same = requests - changed.len();
        return Ok(output::json(&json!({ "requests": requests, "same": same, "changed": shown }))?);
    }
    let said = output::count(requests, "request");
    output::text(&format!(
        "{said} decided again: {} the same, {} not.",
        requests - changed.len(),
        changed.len()
    ))?;
    if changed.is_empty() {
        return Ok(());
    }
    let side = |decision: RouteOutcome, tool: &Option<String>| match tool {
        Some(tool) => format!("{} {tool}", decision.name()),
        None => decision.name().to_owned(),
    };
    let rows = changed.iter().map(|it| {
        vec![
            Cell::new(it.route.words.as_deref().unwrap_or_default()),
            Cell::new(side(it.route.decision, &it.route.tool)),
            Cell::new(side(it.decision, &it.tool)),
        ]
    });
    let header = &["request", "then", "now"];
    Ok(output::text(&output::grid(Layout { header, cut: true, ..Layout::default() }, rows.collect()))?)
}
