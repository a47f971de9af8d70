//! A ranker of the person's own: a tool that says how well others fit a request.
//!
//! Its word counts like what a client said about such a request before, no more: it cannot let a call run that the policy
//! asks about, nor bring in a tool that is not offered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use toolyard_core::metadata::gist;
use toolyard_core::run::reading;
use toolyard_core::thresholds::thresholds;

use super::{Hub, is_error, text_of};
use crate::caller::Caller;
use crate::config::OwnRanker;
use crate::jsonrpc::{Fields, raw};
use crate::live::Snapshot;

/// A ranker that did not answer is left alone for so long.
const REST: Duration = Duration::from_secs(10);

/// What the tool answers.
#[derive(Deserialize)]
struct Scores {
    scores: BTreeMap<String, Value>,
}

impl Hub {
    /// Asks how well tools fit a request, unless there was no answer a moment ago; `None` without one.
    pub(super) async fn hear_ranker(
        &self,
        ranker: &OwnRanker,
        of: (&Snapshot, &str),
        tools: &[usize],
    ) -> Option<Vec<(usize, f32)>> {
        let rests = self.memory.ranker_failed.lock().is_some_and(|at| at.elapsed() < REST);
        if rests {
            return None;
        }
        match self.ask_ranker(ranker, of, tools).await {
            Ok(said) => {
                let most = thresholds().lessons.relayed as f32;
                Some(said.into_iter().map(|(position, score)| (position, score * most)).collect())
            }
            Err(why) => {
                tracing::warn!("`{}` has no say in how tools rank: {why}", ranker.tool);
                *self.memory.ranker_failed.lock() = Some(Instant::now());
                None
            }
        }
    }

    /// Asks how well tools fit a request, from -1 to 1 each; why there is no answer otherwise. Boxed, because the answer is
    /// the call of a tool.
    fn ask_ranker<'a>(
        &'a self,
        ranker: &'a OwnRanker,
        (snapshot, task): (&'a Snapshot, &'a str),
        tools: &'a [usize],
    ) -> BoxFuture<'a, Result<Vec<(usize, f32)>, String>> {
        Box::pin(async move {
            let shown = tools.iter().map(|at| &snapshot.catalog.tools()[*at]);
            let shown = shown.map(|tool| json!({ "name": tool.id.as_str(), "description": gist(tool) }));
            let mut params = Fields::default();
            params.set("arguments", raw(&json!({ "task": task, "tools": shown.collect::<Vec<_>>() })));
            let nobody = Arc::new(Caller::nobody());
            let call = self.call(snapshot, &ranker.tool, params, &nobody);
            let result = match tokio::time::timeout(ranker.timeout, call).await {
                Ok(Ok(result)) => result,
                Ok(Err(error)) => return Err(error.message),
                Err(_) => return Err(format!("it did not answer within {:?}", ranker.timeout)),
            };
            if is_error(&result) {
                return Err(text_of(&result));
            }
            let said = reading(&serde_json::from_str(result.get()).unwrap_or_default());
            let Ok(Scores { scores }) = Scores::deserialize(&said) else {
                return Err("it answers without `scores`, an object of numbers by tool".to_owned());
            };
            let score = |at: &usize| {
                let score = scores.get(snapshot.catalog.tools()[*at].id.as_str())?.as_f64()?;
                Some((*at, score.clamp(-1.0, 1.0) as f32))
            };
            Ok(tools.iter().filter_map(score).collect())
        })
    }

    /// Asks the ranker of the settings about one request, to see whether it answers as it should; `None` without one.
    pub async fn probe_ranker(&self) -> Option<Result<(), String>> {
        let config = self.config();
        let ranker = config.routing.ranker.as_ref()?;
        let snapshot = self.snapshot();
        let tools: Vec<usize> = (0..snapshot.catalog.tools().len()).take(1).collect();
        Some(self.ask_ranker(ranker, (&snapshot, "Are you ready?"), &tools).await.map(drop))
    }
}
