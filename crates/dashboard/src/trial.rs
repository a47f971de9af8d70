//! What a request would become: decided as for any client, and not run.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::{Request, State};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolyard_core::arguments::{Argument, Missing};
use toolyard_core::decide::{Conclusion, Draft, Goal};
use toolyard_core::rank::{Decision, Intent};
use toolyard_core::tool::Tool;
use toolyard_history::{Considered, Route, RouteOutcome, route_id};
use toolyard_hub::clock::now_ms;
use toolyard_hub::config::Stance;
use toolyard_hub::hub::{Decided, Hub};
use toolyard_hub::jsonrpc::raw;
use toolyard_hub::live::Snapshot;
use toolyard_hub::routing::{LOCAL, Provisional, Wanted};

use crate::failure::{ApiError, Reply};
use crate::{Shared, body, show};

/// Characters of a task; longer ones are files, not requests.
pub(crate) const MOST_CHARS: usize = 20_000;
/// Candidates that are written down.
const MOST_WRITTEN: usize = 8;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Asked {
    task: String,
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    values: Option<Map<String, Value>>,
}

/// What became of a request, as it is shown and written down.
struct Outlook {
    decision: RouteOutcome,
    confidence: f64,
    tool: Option<usize>,
    ranked: Option<Arc<Decision>>,
    found: Vec<Argument>,
    missing: Vec<Missing>,
    unsure: Vec<String>,
    unused: Vec<String>,
    not_done: Vec<String>,
    question: Option<String>,
    steps: Vec<Value>,
}

/// Decides about a request and writes that down.
pub(crate) async fn take(State(shared): State<Arc<Shared>>, request: Request) -> Reply {
    let (_, asked) = body::read::<Asked>(request).await?;
    let task = asked.task.trim();
    check_task(task)?;
    let (hub, server) = (&shared.hub, body::filled(asked.server.clone()));
    if let Some(unknown) = server.as_ref().filter(|name| hub.upstream(name).is_none()) {
        let message = format!("there is no server `{unknown}`");
        return Err(ApiError::bad_request(message, "leave it out, or choose one of the list of servers"));
    }
    let snapshot = hub.snapshot();
    snapshot.indexed().await;
    let values = asked.values.filter(|values| !values.is_empty());
    let (given, provisional) = (Map::new(), Provisional::default());
    let goal = Goal { values: values.as_ref(), ..Goal::in_words(task, &given) };
    let wanted = Wanted {
        preferred_server: server.as_deref(),
        provisional: Some(&provisional),
        ..Wanted::plain(task)
    };
    let start = Instant::now();
    let Decided { conclusion, .. } = hub.decide(&snapshot, &wanted, goal).await;
    let ms = start.elapsed().as_secs_f64() * 1000.0;
    let outlook = Outlook::of(conclusion);
    let mut route = outlook.route(&snapshot, ms);
    (route.who, route.cached) = (LOCAL.to_owned(), provisional.is_remembered());
    route.words = Some(task.to_owned());
    let answer = outlook.show(hub, (&snapshot, &route), task, provisional.is_noted());
    hub.record(route, Some(&Value::Object(outlook.arguments())));
    Ok(Json(answer))
}

/// Says what is wrong with the words of a request.
pub(crate) fn check_task(task: &str) -> Result<(), ApiError> {
    if task.is_empty() {
        return Err(ApiError::bad_request("`task` is empty", "say what you want, in your own words"));
    }
    if task.chars().nth(MOST_CHARS).is_some() {
        let message = format!("`task` has more than {MOST_CHARS} characters");
        return Err(ApiError::bad_request(message, "say what you want in fewer words"));
    }
    Ok(())
}

/// Returns the word under which a conclusion is counted.
pub(crate) fn outcome(conclusion: &Conclusion) -> RouteOutcome {
    match conclusion {
        Conclusion::Call(_) => RouteOutcome::Act,
        Conclusion::Draft(_) | Conclusion::Incomplete(_) => RouteOutcome::Draft,
        Conclusion::Plan(_) => RouteOutcome::Plan,
        Conclusion::Ask(_) => RouteOutcome::Ask,
        Conclusion::Decline(_) => RouteOutcome::Decline,
    }
}

impl Outlook {
    fn of(conclusion: Conclusion) -> Self {
        let ranked = conclusion.decision().cloned();
        let plain = Self {
            decision: outcome(&conclusion),
            confidence: ranked.as_ref().map_or(0.0, |it| it.confidence),
            tool: conclusion.tools().first().copied(),
            ranked,
            found: Vec::new(),
            missing: Vec::new(),
            unsure: Vec::new(),
            unused: Vec::new(),
            not_done: Vec::new(),
            question: None,
            steps: Vec::new(),
        };
        match conclusion {
            Conclusion::Call(draft) => plain.with(draft),
            Conclusion::Draft(draft) => {
                let mut drafted = plain.with(draft);
                let question = show::question_for(&drafted.missing);
                drafted.question = Some(question.unwrap_or_else(|| "Is this what you mean?".to_owned()));
                drafted
            }
            Conclusion::Plan(prospect) => Self {
                confidence: prospect.confidence,
                found: prospect.found,
                steps: prospect.plan.steps().iter().map(show::step).collect(),
                ..plain
            },
            Conclusion::Incomplete(lack) => Self {
                confidence: lack.confidence,
                tool: Some(lack.position),
                question: show::question_for(&lack.missing),
                missing: lack.missing,
                ..plain
            },
            Conclusion::Ask(question) => {
                // A question settles on no tool.
                Self { confidence: question.confidence, tool: None, question: Some(question.text), ..plain }
            }
            Conclusion::Decline(_) => Self { tool: None, ..plain },
        }
    }

    fn with(self, draft: Draft) -> Self {
        let Draft { position, confidence, settled, not_done, .. } = draft;
        let unsure = settled.guesses.iter().map(|it| it.name.clone()).collect();
        let mut found = settled.found;
        found.extend(settled.guesses);
        let (missing, unused) = (settled.missing, settled.unused);
        Self { confidence, tool: Some(position), found, missing, unsure, unused, not_done, ..self }
    }

    fn arguments(&self) -> Map<String, Value> {
        self.found.iter().map(|it| (it.name.clone(), it.value.clone())).collect()
    }

    fn chosen<'s>(&self, snapshot: &'s Snapshot) -> Option<&'s Tool> {
        self.tool.map(|position| &snapshot.catalog.tools()[position])
    }

    /// Returns what is written down, before it is known who asked and in which words.
    fn route(&self, snapshot: &Snapshot, ms: f64) -> Route {
        let id = |position: usize| snapshot.catalog.tools()[position].id.as_str().to_owned();
        let candidates = self.ranked.iter().flat_map(|it| &it.candidates).take(MOST_WRITTEN);
        let considered = candidates.map(|it| Considered {
            tool: id(it.position),
            probability: f64::from(it.probability),
            reasons: it.reasons.clone(),
        });
        let candidates: Vec<Considered> = considered.collect();
        Route {
            id: route_id(),
            at: now_ms(),
            who: String::new(),
            client: "dashboard".to_owned(),
            session: None,
            words: None,
            decision: self.decision,
            tool: self.tool.map(id),
            confidence: self.confidence,
            reasons: candidates.first().map(|it| it.reasons.clone()).unwrap_or_default(),
            candidates,
            shape: Value::Null,
            arguments: None,
            ran: None,
            routing_ms: ms,
            total_ms: ms,
            cached: false,
            question: self.question.clone(),
        }
    }

    fn show(
        &self,
        hub: &Hub,
        (snapshot, route): (&Snapshot, &Route),
        task: &str,
        is_provisional: bool,
    ) -> Value {
        let tool = self.chosen(snapshot);
        let candidates = match (&self.ranked, tool) {
            (Some(decision), _) => show::candidates(snapshot, decision),
            (None, Some(tool)) if self.steps.is_empty() => vec![show::named(snapshot, tool)],
            (None, _) => Vec::new(),
        };
        let consent = tool.filter(|_| self.decision == RouteOutcome::Act).and_then(|tool| {
            let (arguments, intent) = (raw(&self.arguments()), Intent::of(task));
            let ruling = hub.judge(snapshot, tool, Some(&arguments), Some(&intent));
            (ruling.stance == Stance::Ask).then(|| ruling.reason(tool))
        });
        json!({
            "routeId": route.id,
            "decision": self.decision,
            "confidence": show::round(self.confidence),
            "tool": tool.map(|tool| tool.id.as_str()),
            "candidates": candidates,
            "arguments": self.found,
            "missing": self.missing.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(),
            "missingFields": self.missing,
            "unsure": self.unsure,
            "unused": self.unused,
            "notDone": self.not_done,
            "question": self.question,
            "needsConfirmation": consent,
            "steps": self.steps,
            "provisional": is_provisional,
            "cached": route.cached,
            "ms": show::round(route.routing_ms),
        })
    }
}
