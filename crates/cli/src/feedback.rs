//! What a person says about a decision.

use toolyard_history::{FeedbackSource, Rating, RouteSearch};
use toolyard_hub::hub::Correction;
use toolyard_hub::routing::LOCAL;

use crate::common::Common;
use crate::failure::Failure;
use crate::{learn, output, routes, setup};

/// Say whether a decision was right, so that the next one is
///
/// Without --route it is about the latest request. What is learnt counts from the next request on, for requests like
/// that one, and can be taken back with `toolyard learnt undo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard feedback right
  toolyard feedback wrong --meant notes__list_notes
  toolyard feedback wrong --route 01KABC… --meant notes__list_notes
  toolyard feedback right --words \"what did I write about bees\" --meant notes__search_notes

`toolyard routes` shows decisions with their names.
With --json: {\"lesson\": {\"id\", \"words\", \"right\", \"wrong\", \"weight\", …}}")]
pub(crate) struct GiveFeedback {
    /// What it was
    #[arg(value_enum)]
    verdict: Said,
    /// The decision; the latest by default
    #[arg(long, value_name = "ID", conflicts_with = "words")]
    route: Option<String>,
    /// The tool that was meant, as server__tool
    #[arg(long, value_name = "TOOL")]
    meant: Option<String>,
    /// For these words, whatever was decided about them
    #[arg(long, value_name = "TEXT", requires = "meant")]
    words: Option<String>,
}

/// Whether a decision was right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Said {
    /// The tool was the right one
    Right,
    /// Another tool was meant, or none
    Wrong,
}

pub(crate) async fn run(common: &Common, asked: &GiveFeedback) -> Result<(), Failure> {
    setup::with_hub(common, async |hub| {
        learn::learn(hub, None).await;
        let route = match (&asked.route, &asked.words) {
            (Some(route), _) => Some(route.clone()),
            (None, Some(_)) => None,
            (None, None) => Some(latest(common)?),
        };
        let verdict = match asked.verdict {
            Said::Right => Rating::Right,
            Said::Wrong => Rating::Wrong,
        };
        let (words, meant, who) = (asked.words.clone(), asked.meant.clone(), LOCAL.to_owned());
        let said = Correction { route, words, verdict, meant, source: FeedbackSource::Cli, who };
        let lesson = hub.feedback(said).await.map_err(|why| Failure::new(why.to_string()))?;
        if common.json {
            return Ok(output::json(&serde_json::json!({ "lesson": lesson }))?);
        }
        let Some(lesson) = lesson else {
            anstream::eprintln!(
                "Taken down. Say which tool was meant with --meant TOOL, and something is learnt."
            );
            return Ok(());
        };
        let right = lesson.right.as_deref().map(|tool| format!("{tool} is right"));
        let wrong = lesson.wrong.as_deref().map(|tool| format!("{tool} is not"));
        let what: Vec<String> = right.into_iter().chain(wrong).collect();
        output::text(&format!("Learnt: for requests like “{}”, {}.", lesson.words, what.join(" and ")))?;
        anstream::eprintln!("Take it back with `toolyard learnt undo {}`.", lesson.id);
        Ok(())
    })
    .await
}

fn latest(common: &Common) -> Result<String, Failure> {
    let found = routes::latest(&routes::opened(common)?, RouteSearch::default(), 1)?;
    found.into_iter().next().map(|route| route.id).ok_or_else(|| {
        Failure::new("nothing was decided yet").hint("route something first: toolyard route \"…\"")
    })
}
