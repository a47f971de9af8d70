//! What is kept of a call of `smart_route`, and what is learnt from it and from the next one.

use std::time::{Duration, Instant};

use serde_json::Value;
use toolyard_core::decide::normalised;
use toolyard_core::tool::clean;
use toolyard_history::{Considered, FeedbackSource, Rating, Route, RouteOutcome, route_id};

use super::RouteCall;
use super::reply::Reply;
use crate::clock::now_ms;
use crate::hub::Correction;
use crate::jsonrpc::Fields;
use crate::routing::{LOCAL, LastRoute};

/// Candidates that are kept.
const KEPT: usize = 8;
/// Characters of a client's name.
const NAME_CHARS: usize = 60;

/// What a caller says about what was decided before.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Said {
    /// The decision; the last one of the conversation where none is named.
    pub(super) route: Option<String>,
    /// Whether it was right.
    pub(super) verdict: Rating,
    /// The tool that was meant.
    pub(super) meant: Option<String>,
}

impl Said {
    /// Reads `context.feedback`: `right`, `wrong`, the tool that was meant, or an object with these.
    pub(super) fn read(context: &Fields) -> Option<Self> {
        let given: Value = context.read("feedback")?;
        let word =
            |value: &Value| value.as_str().map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned);
        let verdict = |word: &str| match word.to_lowercase().as_str() {
            "right" => Some(Rating::Right),
            "wrong" => Some(Rating::Wrong),
            _ => None,
        };
        if let Some(said) = word(&given) {
            let verdict = verdict(&said);
            let meant = verdict.is_none().then_some(said);
            return Some(Self { route: None, verdict: verdict.unwrap_or(Rating::Wrong), meant });
        }
        let said = word(&given["verdict"]).and_then(|it| verdict(&it));
        let meant = word(&given["meant"]).or_else(|| word(&given["tool"]));
        if said.is_none() && meant.is_none() {
            return None;
        }
        Some(Self { route: word(&given["route"]), verdict: said.unwrap_or(Rating::Wrong), meant })
    }
}

impl RouteCall {
    /// Keeps what was decided, and returns its name.
    pub(super) fn kept(&self, reply: &Reply) -> String {
        let id = route_id();
        let hub = &self.reception.hub;
        let fields = reply.fields();
        let executed: Vec<String> = fields.read("executedTools").unwrap_or_default();
        let outcome = outcome(fields, &executed);
        let (draft, named) = (fields.object("draft"), fields.text("tool"));
        let tool = executed.first().cloned().or_else(|| draft.text("tool")).or(named);
        let candidates = self.considered();
        let reasons = self.decision.as_deref().and_then(|it| it.candidates.first());
        let arguments: Option<Value> = self.ran_with.lock().clone().or_else(|| draft.read("values"));
        let route = Route {
            id: id.clone(),
            at: now_ms() - i64::try_from(self.started.elapsed().as_millis()).unwrap_or_default(),
            who: self.person().to_owned(),
            client: self.client(),
            session: self.conversation.as_ref().map(|it| it.chars().take(12).collect()),
            words: Some(clean(&self.task).into_owned()),
            decision: outcome,
            confidence: fields.read("confidence").unwrap_or_default(),
            reasons: reasons.map(|it| it.reasons.clone()).unwrap_or_default(),
            candidates,
            shape: Value::Null,
            arguments: None,
            ran: (!executed.is_empty())
                .then(|| if fields.get("error").is_some() { "failed" } else { "answered" }.to_owned()),
            routing_ms: millis(*self.deciding.lock()),
            total_ms: millis(self.started.elapsed()),
            cached: self.provisional.is_remembered(),
            question: fields.text("clarificationQuestion"),
            tool: tool.clone(),
        };
        let considered = route.candidates.iter().map(|it| it.tool.clone()).collect();
        hub.record(route, arguments.as_ref());
        if let Some(conversation) = &self.conversation {
            let (words, ran) = (self.task.clone(), executed.into_iter().next());
            let last = LastRoute { id: id.clone(), words, ran, considered };
            hub.note_route(conversation, last, Instant::now());
        }
        id
    }

    /// Learns from what the caller says about what was decided before. Returns what to say about that.
    pub(super) async fn told(&self) -> Option<String> {
        let said = self.input.feedback.clone()?;
        let last = self.last();
        let route = said.route.or_else(|| last.map(|it| it.id));
        let Some(route) = route else {
            return Some("There is no decision before this one that the feedback could be about.".to_owned());
        };
        let (verdict, meant) = (said.verdict, said.meant);
        if let Some(name) = meant.as_deref().filter(|name| self.visible(name).is_none()) {
            let unknown = self.reception.hub.unknown_among(&self.snapshot, name, |tool| self.sees(tool));
            return Some(format!("Nothing was learnt: {}.", unknown.message));
        }
        let learnt = self.teach(Some(route), None, (verdict, meant), FeedbackSource::Client).await;
        Some(match learnt {
            Ok(()) => "The feedback was taken down.".to_owned(),
            Err(why) => format!("Nothing was learnt: {why}."),
        })
    }

    /// Learns from what the person does after a decision: asks for the same again, or calls another tool that was
    /// considered.
    pub(super) async fn observed(&self) {
        let Some(last) = self.last() else { return };
        let asked = self.task.trim();
        let other = last.considered.iter().find(|tool| **tool == asked && last.ran.as_ref() != Some(*tool));
        let about = Some(last.id.clone());
        if let Some(other) = other {
            let meant = (Rating::Wrong, Some(other.clone()));
            self.implied(about, None, meant, FeedbackSource::Followed).await;
        } else if last.ran.is_some() && normalised(&last.words) == normalised(asked) {
            self.implied(about, None, (Rating::Wrong, None), FeedbackSource::Repeated).await;
        }
    }

    /// Learns that a person picked a tool that was offered for words.
    pub(super) async fn picked(&self, words: &str, position: usize) {
        let tool = self.snapshot.catalog.tools()[position].id.as_str().to_owned();
        let meant = (Rating::Right, Some(tool));
        self.implied(None, Some(words.to_owned()), meant, FeedbackSource::Picked).await;
    }

    /// Learns from whether a person confirmed a call.
    pub(super) async fn consented(&self, position: usize, is_confirmed: bool) {
        let tool = self.snapshot.catalog.tools()[position].id.as_str().to_owned();
        let (source, meant) = match is_confirmed {
            true => (FeedbackSource::Confirmed, (Rating::Right, Some(tool))),
            false => (FeedbackSource::Refused, (Rating::Wrong, None)),
        };
        self.reception.hub.metrics().confirmation(source.name());
        let last = self.last().map(|it| it.id);
        match is_confirmed {
            true => self.implied(None, Some(self.task.clone()), meant, source).await,
            false => self.implied(last, None, meant, source).await,
        }
    }

    async fn implied(
        &self,
        route: Option<String>,
        words: Option<String>,
        said: (Rating, Option<String>),
        source: FeedbackSource,
    ) {
        let config = self.reception.hub.config();
        if !config.learning.enabled || !config.learning.implicit || !config.events.words {
            return;
        }
        if let Err(why) = self.teach(route, words, said, source).await {
            tracing::debug!("nothing was learnt from what came next: {why}");
        }
    }

    async fn teach(
        &self,
        route: Option<String>,
        words: Option<String>,
        (verdict, meant): (Rating, Option<String>),
        source: FeedbackSource,
    ) -> Result<(), String> {
        let who = self.person().to_owned();
        let said = Correction { route, words, verdict, meant, source, who };
        self.reception.hub.feedback(said).await.map(|_| ()).map_err(|why| why.to_string())
    }

    fn last(&self) -> Option<LastRoute> {
        self.reception.hub.last_route(self.conversation.as_deref()?, Instant::now())
    }

    fn considered(&self) -> Vec<Considered> {
        let candidates = self.decision.as_deref().map(|it| it.candidates.as_slice()).unwrap_or_default();
        let kept = candidates.iter().take(KEPT).map(|it| Considered {
            tool: self.snapshot.catalog.tools()[it.position].id.as_str().to_owned(),
            probability: f64::from(it.probability),
            reasons: it.reasons.clone(),
        });
        kept.collect()
    }

    /// Names who asks: the client, where it has a name here, and the person whose hub it is otherwise.
    pub(super) fn person(&self) -> &str {
        self.caller.grant.name().unwrap_or(LOCAL)
    }

    /// Names the program that calls.
    fn client(&self) -> String {
        let info = Fields::parse(self.caller.info.as_deref()).unwrap_or_default();
        let name = info.text("name").unwrap_or_else(|| "somebody".to_owned());
        clean(&name).chars().filter(|it| !it.is_control()).take(NAME_CHARS).collect()
    }
}

/// Says what became of a request, by the answer to it.
fn outcome(fields: &Fields, executed: &[String]) -> RouteOutcome {
    let is_asked = fields.read("needsClarification") == Some(true);
    if executed.len() > 1 || fields.get("plan").is_some() {
        RouteOutcome::Plan
    } else if !executed.is_empty() {
        RouteOutcome::Act
    } else if fields.get("error").is_some() {
        RouteOutcome::Failed
    } else if fields.get("draft").is_some() {
        RouteOutcome::Draft
    } else if is_asked {
        RouteOutcome::Ask
    } else if fields.get("candidates").is_some() {
        RouteOutcome::Candidates
    } else if fields.get("tool").is_some() {
        RouteOutcome::Draft
    } else {
        RouteOutcome::Decline
    }
}

fn millis(took: Duration) -> f64 {
    took.as_secs_f64() * 1000.0
}
