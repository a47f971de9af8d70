//! How well tools are documented, and which are hard to tell apart.
//!
//! Reading thousands of tools takes a while, so it is done once for each catalog, beside the requests.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use toolyard_core::lint::lint;
use toolyard_hub::live::Snapshot;

/// A catalog of usual size is read within this time, and its scores are there with the first answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// The scores of the newest catalog.
#[derive(Debug, Default)]
pub(crate) struct Scores(watch::Sender<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The number of the snapshot that they belong to.
    number: u64,
    scores: Option<Arc<ToolScores>>,
    is_running: bool,
}

/// What was found in one catalog, by the ids of tools.
#[derive(Debug, Default)]
pub(crate) struct ToolScores {
    /// From 0 to 100, with what could be better.
    tools: HashMap<String, (u8, Value)>,
    /// Tools that are hard to tell apart, and how alike they are.
    confusable: HashMap<String, Vec<(String, f64)>>,
}

impl Scores {
    /// Returns the scores of a snapshot; `None` while they are made.
    pub(crate) async fn of(self: &Arc<Self>, snapshot: &Arc<Snapshot>) -> Option<Arc<ToolScores>> {
        let number = snapshot.number;
        let is_due = self.0.send_if_modified(|known| {
            let is_due = !known.is_running && known.number != number;
            known.is_running |= is_due;
            is_due
        });
        if is_due {
            let (this, snapshot) = (Arc::clone(self), Arc::clone(snapshot));
            // It ends by itself and changes nothing but these scores, so nobody needs to wait for it.
            tokio::task::spawn_blocking(move || {
                let scores = Arc::new(ToolScores::of(&snapshot));
                this.0
                    .send_modify(|known| *known = Known { number, scores: Some(scores), is_running: false });
            });
        }
        let mut changes = self.0.subscribe();
        let made = tokio::time::timeout(PATIENCE, changes.wait_for(|known| known.number == number)).await;
        made.ok()?.ok()?.scores.clone()
    }
}

impl ToolScores {
    fn of(snapshot: &Snapshot) -> Self {
        let report = lint(&snapshot.catalog);
        let tools = report.tools.into_iter().map(|it| (it.id, (it.score, json!(it.diagnostics))));
        let mut confusable: HashMap<String, Vec<(String, f64)>> = HashMap::new();
        for pair in report.pairs {
            let [one, other] = pair.tools;
            confusable.entry(one.clone()).or_default().push((other.clone(), pair.similarity));
            confusable.entry(other).or_default().push((one, pair.similarity));
        }
        Self { tools: tools.collect(), confusable }
    }

    pub(crate) fn score(&self, tool: &str) -> Option<u8> {
        self.tools.get(tool).map(|(score, _)| *score)
    }

    pub(crate) fn diagnostics(&self, tool: &str) -> Option<&Value> {
        self.tools.get(tool).map(|(_, diagnostics)| diagnostics)
    }

    pub(crate) fn confusable(&self, tool: &str) -> Vec<Value> {
        let found = self.confusable.get(tool).into_iter().flatten();
        found.map(|(tool, similarity)| json!({ "tool": tool, "similarity": similarity })).collect()
    }
}
