//! What was learnt from what people said.

mod tune;

use serde_json::json;
use toolyard_history::{History, Lesson};
use toolyard_hub::routing::LOCAL;

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Cell, Layout};
use crate::{learn, routes, setup};

/// Show what was learnt from corrections, explain it, take it back
///
/// Every lesson says which tool is right, or wrong, for requests like its words. One that is taken back counts no more and
/// can be put in force again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard learnt
  toolyard learnt why \"what did I write about bees\"
  toolyard learnt undo 01KABC…
  toolyard learnt redo 01KABC…
  toolyard learnt tune --error-rate 0.05 --apply
  toolyard learnt --json > lessons.json

With --json: {\"lessons\": [{\"id\", \"at\", \"who\", \"words\", \"right\", \"wrong\", \"weight\", \"source\"}], \"undone\": […]}")]
pub(crate) struct Learnt {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Take a lesson back
    Undo {
        /// The lesson
        id: String,
    },
    /// Put a lesson in force again
    Redo {
        /// The lesson
        id: String,
    },
    /// Find how sure the hub must be so that few of its decisions are wrong
    Tune(tune::Tune),
    /// Say which lessons count for a request, and how much
    Why {
        /// The request
        #[arg(required = true)]
        words: Vec<String>,
    },
}

pub(crate) async fn run(common: &Common, asked: &Learnt) -> Result<(), Failure> {
    match &asked.what {
        None => list(common, &routes::opened(common)?),
        Some(What::Undo { id }) => {
            let is_done = routes::opened(common)?.undo(id).map_err(|err| Failure::new(err.to_string()))?;
            changed(common, id, is_done, "taken back")
        }
        Some(What::Redo { id }) => {
            let is_done = routes::opened(common)?.redo(id).map_err(|err| Failure::new(err.to_string()))?;
            changed(common, id, is_done, "in force again")
        }
        Some(What::Tune(asked)) => tune::run(common, asked),
        Some(What::Why { words }) => why(common, &words.join(" ")).await,
    }
}

fn list(common: &Common, history: &History) -> Result<(), Failure> {
    let lessons = history.lessons().map_err(|err| Failure::new(err.to_string()))?;
    let undone = history.undone().map_err(|err| Failure::new(err.to_string()))?;
    if common.json {
        return Ok(output::json(&json!({ "lessons": lessons, "undone": undone }))?);
    }
    if lessons.is_empty() && undone.is_empty() {
        anstream::eprintln!("Nothing was learnt yet: `toolyard feedback` says whether a decision was right.");
        return Ok(());
    }
    let header = &["id", "when", "for requests like", "right", "wrong", "from", "weight", ""];
    let rows = lessons.iter().map(|it| row(it, "")).chain(undone.iter().map(|it| row(it, "taken back")));
    let layout = Layout { header, cut: true, ..Layout::default() };
    Ok(output::text(&output::grid(layout, rows.collect()))?)
}

fn row(lesson: &Lesson, state: &str) -> Vec<Cell> {
    vec![
        Cell::new(&lesson.id),
        Cell::new(routes::when(lesson.at)),
        Cell::new(&lesson.words),
        Cell::new(lesson.right.as_deref().unwrap_or_default()),
        Cell::new(lesson.wrong.as_deref().unwrap_or_default()),
        Cell::new(lesson.source.name()),
        Cell::new(format!("{:.1}", lesson.weight)),
        Cell::new(state),
    ]
}

fn changed(common: &Common, id: &str, is_done: bool, what: &str) -> Result<(), Failure> {
    if !is_done {
        return Err(Failure::new(format!("there is no lesson `{id}` of which that could be said"))
            .hint("`toolyard learnt` shows them all"));
    }
    if common.json {
        return Ok(output::json(&json!({ "id": id, "state": what }))?);
    }
    Ok(output::text(&format!("Lesson {id} is {what}."))?)
}

async fn why(common: &Common, words: &str) -> Result<(), Failure> {
    setup::with_hub(common, async |hub| {
        learn::learn(hub, None).await;
        let snapshot = hub.snapshot();
        learn::understand(hub, &snapshot).await;
        let (likings, _) = hub.likings(words, LOCAL).await;
        if common.json {
            let shown: Vec<_> = likings
                .iter()
                .map(|it| json!({ "tool": &*it.tool, "value": it.value, "because": because(&it.because) }))
                .collect();
            return Ok(output::json(&json!({ "likings": shown }))?);
        }
        if likings.is_empty() {
            anstream::eprintln!("No lesson is near this request.");
            return Ok(());
        }
        let header = &["tool", "counts", "lessons"];
        let rows = likings.iter().map(|it| {
            let lessons: Vec<&str> = it.because.iter().map(|(id, _)| &**id).collect();
            vec![Cell::new(&*it.tool), Cell::new(format!("{:+.2}", it.value)), Cell::new(lessons.join(", "))]
        });
        Ok(output::text(&output::grid(Layout { header, ..Layout::default() }, rows.collect()))?)
    })
    .await
}

fn because(lessons: &[(std::sync::Arc<str>, f32)]) -> Vec<serde_json::Value> {
    lessons.iter().map(|(id, counts)| json!({ "lesson": &**id, "counts": counts })).collect()
}
