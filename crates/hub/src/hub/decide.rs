//! Drives a decision from words to a call, as [`execute`](super::execute) drives a run.

use std::sync::Arc;

use serde_json::{Map, Value};
use toolyard_core::decide::{Conclusion, Decide, Goal, Next, Prospect, World};
use toolyard_core::rank::Intent;
use toolyard_core::tool::Tool;

use super::{Adviser, Hub};
use crate::clock::now;
use crate::config::Stance;
use crate::jsonrpc::raw;
use crate::live::Snapshot;
use crate::routing::Wanted;

/// A call that was never measured takes this long.
const UNMEASURED_MS: u64 = 500;

/// What became of a request, and who may still be asked about it.
#[derive(Debug)]
pub struct Decided {
    /// What became of it.
    pub conclusion: Conclusion,
    /// The language model, with the time that the request still gives it.
    pub adviser: Option<Adviser>,
}

/// What a decision is made for.
#[derive(Clone, Copy)]
enum Manner {
    /// Somebody waits for what comes of it.
    Serving,
    /// Somebody wants to know what would come of it with another least confidence.
    Rehearsing { confidence: f64 },
}

impl Hub {
    /// Decides what a request becomes. `wanted` says whose it is and where its tools may come from; its task is that of
    /// `goal`.
    pub async fn decide(&self, snapshot: &Arc<Snapshot>, wanted: &Wanted<'_>, goal: Goal<'_>) -> Decided {
        self.decide_as(Manner::Serving, snapshot, wanted, goal).await
    }

    /// Says what a request would become if this were the least confidence to act with. Nothing is remembered or
    /// counted, and no language model is asked.
    pub async fn rehearse(
        &self,
        snapshot: &Arc<Snapshot>,
        wanted: &Wanted<'_>,
        goal: Goal<'_>,
        confidence: f64,
    ) -> Conclusion {
        self.decide_as(Manner::Rehearsing { confidence }, snapshot, wanted, goal).await.conclusion
    }

    async fn decide_as(
        &self,
        manner: Manner,
        snapshot: &Arc<Snapshot>,
        wanted: &Wanted<'_>,
        goal: Goal<'_>,
    ) -> Decided {
        let config = self.config();
        let (mut adviser, confidence) = match manner {
            Manner::Serving => (self.adviser(), config.routing.confidence_threshold),
            Manner::Rehearsing { confidence } => (None, confidence),
        };
        let is_shown =
            |server: &str| wanted.servers.is_empty() || wanted.servers.iter().any(|it| it == server);
        let shows = |tool: &Tool| is_shown(&tool.server) && self.permits_up_to(wanted.effect, snapshot, tool);
        let confirms = |tool: &Tool, arguments: &Map<String, Value>, intent: &Intent| {
            self.judge(snapshot, tool, Some(&raw(arguments)), Some(intent)).stance == Stance::Ask
        };
        let estimate_ms =
            |tool: &Tool| self.estimated_ms(snapshot, tool.id.as_str()).unwrap_or(UNMEASURED_MS);
        let routing = &config.routing;
        let world = World {
            catalog: &snapshot.catalog,
            index: snapshot.index(),
            shows: &shows,
            confirms: &confirms,
            estimate_ms: &estimate_ms,
            now: now(),
            confidence,
            plans: routing.enable_multi_tool,
            advises: adviser.is_some(),
            compares: routing.semantic_search.enabled,
        };
        let mut decide = Decide::new(world, goal);
        let conclusion = loop {
            match (decide.advance(), &mut adviser) {
                (Next::Rank(words), _) => {
                    let wanted = Wanted { task: &words, ..*wanted };
                    let decision = match manner {
                        Manner::Serving => self.rank(snapshot, &wanted).await,
                        Manner::Rehearsing { confidence } => {
                            Arc::new(self.rank_unnoticed(snapshot, &wanted, confidence).await)
                        }
                    };
                    decide.ranked(words, decision);
                }
                (Next::Compare(comparison), _) => {
                    let nearness = self.meanings.compare(&comparison).await;
                    decide.compared(comparison.position, nearness.unwrap_or_default());
                }
                (Next::Read(wanted), _) => {
                    let reading = self.meanings.read_arguments(snapshot, &wanted).await;
                    decide.read(wanted, reading);
                }
                (Next::Consult(consult), Some(adviser)) => {
                    let advice = adviser.advise(&snapshot.catalog, &consult).await;
                    decide.advised(&consult, advice);
                }
                (Next::Consult(consult), None) => decide.advised(&consult, Default::default()),
                (Next::Done(conclusion), _) => break *conclusion,
            }
        };
        let conclusion = if let Conclusion::Plan(prospect) = conclusion {
            Conclusion::Plan(Prospect { plan: self.judged(prospect.plan), ..prospect })
        } else {
            conclusion
        };
        Decided { conclusion, adviser }
    }

    /// Ranks the parts of a message, the whole first.
    pub(super) async fn rank_parts(
        &self,
        snapshot: &Snapshot,
        wanted: &Wanted<'_>,
        parts: &[String],
    ) -> Vec<Arc<toolyard_core::rank::Decision>> {
        let mut decisions = Vec::with_capacity(parts.len());
        for task in parts {
            decisions.push(self.rank(snapshot, &Wanted { task, ..*wanted }).await);
        }
        decisions
    }
}
