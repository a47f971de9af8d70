//! What is kept of a decision that a person asked for at the terminal.

use std::time::Duration;

use serde_json::{Map, Value};
use toolyard_core::arguments::Argument;
use toolyard_core::decide::Conclusion;
use toolyard_history::{Considered, Route, RouteOutcome, route_id};
use toolyard_hub::clock::now_ms;
use toolyard_hub::routing::{LOCAL, Provisional};

use super::Way;

/// Candidates that are kept.
const KEPT: usize = 8;

/// Keeps a decision, before the person settles what it leaves open.
pub(super) fn keep(way: &Way<'_>, conclusion: &Conclusion, deciding: Duration, how: &Provisional) {
    let (decision, question) = match conclusion {
        Conclusion::Call(_) => (RouteOutcome::Act, None),
        Conclusion::Draft(_) => (RouteOutcome::Draft, None),
        Conclusion::Plan(_) => (RouteOutcome::Plan, None),
        Conclusion::Incomplete(_) => (RouteOutcome::Ask, None),
        Conclusion::Ask(question) => (RouteOutcome::Ask, Some(question.text.clone())),
        Conclusion::Decline(_) => (RouteOutcome::Decline, None),
    };
    let id = |position: usize| way.snapshot.catalog.tools()[position].id.as_str().to_owned();
    let candidates = way.decision.as_deref().map(|it| it.candidates.as_slice()).unwrap_or_default();
    let considered = candidates.iter().take(KEPT).map(|it| Considered {
        tool: id(it.position),
        probability: f64::from(it.probability),
        reasons: it.reasons.clone(),
    });
    // A question offers tools and settles on none.
    let tool = match conclusion {
        Conclusion::Ask(_) => None,
        Conclusion::Call(_)
        | Conclusion::Draft(_)
        | Conclusion::Plan(_)
        | Conclusion::Incomplete(_)
        | Conclusion::Decline(_) => conclusion.tools().first().map(|at| id(*at)),
    };
    let took = deciding.as_secs_f64() * 1000.0;
    let route = Route {
        id: route_id(),
        at: now_ms(),
        who: LOCAL.to_owned(),
        client: "cli".to_owned(),
        session: None,
        words: Some(way.task.clone()),
        decision,
        tool,
        confidence: way.confidence,
        reasons: candidates.first().map(|it| it.reasons.clone()).unwrap_or_default(),
        candidates: considered.collect(),
        shape: Value::Null,
        arguments: None,
        ran: None,
        routing_ms: took,
        total_ms: took,
        cached: how.is_remembered(),
        question,
    };
    way.hub.record(route, arguments(conclusion).map(Value::Object).as_ref());
}

fn arguments(conclusion: &Conclusion) -> Option<Map<String, Value>> {
    let (Conclusion::Call(draft) | Conclusion::Draft(draft)) = conclusion else { return None };
    let entry = |it: &Argument| (it.name.clone(), it.value.clone());
    Some(draft.settled.found.iter().chain(&draft.settled.guesses).map(entry).collect())
}
