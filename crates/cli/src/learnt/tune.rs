//! How sure the hub must be, from what people said about its decisions.

use std::time::Duration;

use serde_json::{Value, json};
use toolyard_core::lessons::{JudgedDecision, Tuning};
use toolyard_history::{FeedbackSource, History, Rating, RouteSearch};
use toolyard_hub::config::edit;

use crate::audit::span;
use crate::common::Common;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::{output, routes};

/// Decisions that are looked at, right and wrong ones each.
const MOST: usize = 10_000;

/// Find how sure the hub must be so that few of its decisions are wrong
///
/// Counts the decisions that people judged: on the dashboard, with `toolyard feedback`, or by picking another tool. The least
/// confidence is found from which on no more than the wanted share is expected to be wrong; below it the hub asks.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard learnt tune
  toolyard learnt tune --error-rate 0.02 --since 90d
  toolyard learnt tune --apply

`toolyard replay --threshold X` shows which requests another threshold would change.
With --json: {\"judged\", \"errorRate\", \"now\": {\"confidence\", \"right\", \"wrong\"}, \"found\": {…} or null, \"applied\"}")]
pub(crate) struct Tune {
    /// The share of decisions that may be wrong
    #[arg(long, value_name = "SHARE", default_value_t = 0.05)]
    error_rate: f64,
    /// Only the last so long: 90s, 5m, 1h or 7d
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "30d")]
    since: Duration,
    /// Write what was found to the settings, as `routing.confidenceThreshold`
    #[arg(long)]
    apply: bool,
}

pub(crate) fn run(common: &Common, asked: &Tune) -> Result<(), Failure> {
    if !(asked.error_rate > 0.0 && asked.error_rate < 1.0) {
        return Err(Failure::usage("an error rate is between 0 and 1, such as 0.05"));
    }
    let judged = judged(&routes::opened(common)?, routes::since(asked.since))?;
    let settings = Settings::open(common)?;
    let now = Tuning::at(settings.load()?.routing.confidence_threshold, &judged);
    let found = Tuning::find(&judged, asked.error_rate).map(rounded);
    let is_applied = match found {
        Some(found) if asked.apply => {
            let text = edit::set_confidence(&settings.text, found.confidence);
            settings.write(&text.map_err(|err| settings.refused(&err))?)?;
            true
        }
        Some(_) | None => false,
    };
    if common.json {
        let side = |it: Tuning| json!({ "confidence": it.confidence, "right": it.right, "wrong": it.wrong });
        return Ok(output::json(&json!({
            "judged": judged.len(), "errorRate": asked.error_rate, "now": side(now),
            "found": found.map_or(Value::Null, side), "applied": is_applied,
        }))?);
    }
    output::text(&format!(
        "People judged {}. From {} on, where the hub acts now, {}.",
        output::count(judged.len(), "decision"),
        now.confidence,
        came(now)
    ))?;
    let percent = asked.error_rate * 100.0;
    match found {
        Some(found) if is_applied => output::text(&format!(
            "`routing.confidenceThreshold` is {} now: from there on {}.",
            found.confidence,
            came(found)
        ))?,
        Some(found) => output::text(&format!(
            "From {} on at most {percent}% are expected to be wrong: {}. --apply writes it to the settings.",
            found.confidence,
            came(found)
        ))?,
        None => output::text(&format!(
            "Too little is known to say where at most {percent}% are wrong: `toolyard feedback` says whether a decision was right."
        ))?,
    }
    Ok(())
}

/// Returns what people judged, one by one. What they disagree about says nothing.
fn judged(history: &History, since: i64) -> Result<Vec<JudgedDecision>, Failure> {
    let mut judged = Vec::new();
    for rating in Rating::ALL {
        let search = RouteSearch { marked: Some(rating), since: Some(since), ..RouteSearch::default() };
        for route in routes::latest(history, search, MOST)? {
            let said = history.feedback(&route.id).map_err(|err| Failure::new(err.to_string()))?;
            let mut by_people = said.iter().filter(|it| is_by_person(it.source)).peekable();
            let is_clear = by_people.peek().is_some() && by_people.all(|it| it.verdict == rating);
            if is_clear && route.tool.is_some() {
                judged
                    .push(JudgedDecision { confidence: route.confidence, is_right: rating == Rating::Right });
            }
        }
    }
    Ok(judged)
}

/// Whether a person said it, and about the tool.
fn is_by_person(source: FeedbackSource) -> bool {
    match source {
        FeedbackSource::Dashboard | FeedbackSource::Cli | FeedbackSource::Picked => true,
        FeedbackSource::Client
        | FeedbackSource::Followed
        | FeedbackSource::Repeated
        | FeedbackSource::Confirmed
        | FeedbackSource::Refused => false,
    }
}

/// Three digits are enough, and never more than was found: the decision with exactly that confidence counts.
fn rounded(found: Tuning) -> Tuning {
    Tuning { confidence: (found.confidence * 1000.0).floor() / 1000.0, ..found }
}

fn came(tuning: Tuning) -> String {
    format!("{} were right and {} wrong", tuning.right, tuning.wrong)
}
