//! `smart_route`: from plain words to the right tool, or to the one question that is needed.
//!
//! Nothing that destroys runs here before a person or a handle has confirmed exactly this call.

mod answers;
mod confirm;
mod definition;
mod fill;
mod form;
mod input;
mod pending;
mod pick;
mod reply;
mod steps;

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use toolyard_core::route::{Candidate, Decision, Intent, Verdict};
use toolyard_core::tool::{Tool, clean};

use super::answer::Request;
use super::{Reception, View, learning, park};
use crate::caller::{Answer, Caller, Era, Wording};
use crate::config::Stance;
use crate::hub::{Hub, Trouble};
use crate::jsonrpc::{Fields, raw};
use crate::live::Snapshot;
use crate::routing::{Provisional, Wanted};
use crate::seal::digest;

pub(crate) use definition::{Length, NAME, definition};
pub(crate) use pending::{Pending, fresh_handle};

use fill::Filled;
use form::Answered;
use input::{Asked, Mode};
use pick::{Pick, pick};
use reply::{Reply, shortened};

/// How long after a new configuration a call still waits for servers that were never reached.
const FIRST_CALL: Duration = Duration::from_secs(2);
/// A request that is less clear than this by itself says nothing.
const VAGUE: f64 = 0.35;
/// Arguments tell tools apart only where words already say this much.
const LEAST_TOLD: f64 = 0.4;
/// A candidate that is less likely is not meant.
const LIKELY: f32 = 0.15;
/// Bytes of the arguments that words became, beside a result.
const MOST_SAID: usize = 160;
/// Servers that are named in one line.
const MOST_SERVERS: usize = 12;

/// Answers a call of `smart_route`.
pub(crate) async fn call(request: Request) -> Answer {
    let (reception, view) = (Arc::clone(&request.reception), request.view.clone());
    // Questions of the hub have no server in front of them.
    park::exchange(request, "", move |params, caller| async move {
        let hub = &reception.hub;
        hub.first_heard(FIRST_CALL.saturating_sub(hub.configured_for()), |it| view.shows(&it.name)).await;
        let snapshot = hub.snapshot();
        snapshot.indexed().await;
        let asked = Asked::read(&params.object("arguments"));
        let (hub, provisional) = (Arc::clone(hub), Arc::new(Provisional::default()));
        let learning = Arc::clone(&provisional);
        let course = Course { reception, view, caller, params, asked, snapshot, provisional };
        Ok(learning::noted(&hub, &learning, course.answer().await))
    })
    .await
}

/// Returns the conversation that a request belongs to: its session, or the handle that it shows.
pub(super) fn conversation(caller: &Caller, handle: Option<&str>) -> Option<String> {
    match (handle, caller.era) {
        (Some(handle), _) => Some(digest(&[&caller.principal, handle])),
        (None, Era::Session) if !caller.is_nobody() => Some(caller.principal.to_string()),
        (None, _) => None,
    }
}

/// Whether a question waits under a handle for an answer.
pub(super) fn is_waiting(request: &Request, handle: &str) -> bool {
    request.reception.pending.get(handle, &request.caller.principal).is_some()
}

/// Names the configured servers of a view in one line.
pub(super) fn servers(hub: &Hub, view: &View) -> String {
    let config = hub.config();
    let shown: Vec<&str> = config.servers.keys().map(String::as_str).filter(|it| view.shows(it)).collect();
    let named = shown.iter().take(MOST_SERVERS).copied().collect::<Vec<_>>().join(", ");
    match shown.len().saturating_sub(MOST_SERVERS) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// One call of `smart_route` on its way.
struct Course {
    reception: Arc<Reception>,
    view: View,
    caller: Arc<Caller>,
    params: Fields,
    asked: Asked,
    snapshot: Arc<Snapshot>,
    /// Is told of decisions that were made before the tools were understood.
    provisional: Arc<Provisional>,
}

/// The tool that is meant.
struct Chosen {
    position: usize,
    confidence: f64,
    arguments: Option<Box<RawValue>>,
    /// What else may be meant.
    others: Vec<usize>,
}

/// What is answered besides.
#[derive(Default)]
struct Aside {
    /// The words that were routed.
    task: String,
    note: Option<String>,
    decision: Option<Arc<Decision>>,
    /// The arguments that words became.
    filled: Filled,
}

impl Course {
    async fn answer(self) -> Box<RawValue> {
        if let Some(why) = &self.asked.wrong_arguments {
            return self.failed(why, 0.0, &[], &Aside::default());
        }
        if let Some(handle) = &self.asked.more {
            return self.going_on(handle);
        }
        if let Some(handle) = self.confirming() {
            return self.confirmed(handle).await;
        }
        let question = self
            .asked
            .session
            .as_deref()
            .and_then(|handle| self.reception.pending.get(handle, &self.caller.principal));
        let mut aside = Aside { task: self.asked.task.clone(), ..Aside::default() };
        match (question, &self.asked.session) {
            (Some(question), _) => match self.follow(&question) {
                Follow::Tool(position) => {
                    let arguments = merged(question.arguments, self.asked.arguments.clone());
                    let others = self.positions(&question.offered);
                    let others = others.into_iter().filter(|other| *other != position).collect();
                    let chosen = Chosen { position, confidence: 1.0, arguments, others };
                    aside.task = question.task;
                    return self.act(chosen, aside).await;
                }
                Follow::Values(position) => {
                    let others = self.positions(&question.offered);
                    let arguments = merged(question.arguments, self.asked.arguments.clone());
                    let mut chosen = Chosen { position, confidence: 1.0, arguments, others };
                    self.answered(&mut chosen, &question.missing);
                    aside.task = format!("{}\n{}", question.task, self.asked.task);
                    return self.act(chosen, aside).await;
                }
                Follow::Neither => return self.nothing(0.0, &aside),
                Follow::Words(task) => aside.task = task,
            },
            (None, Some(handle))
                if !self.is_ours(handle)
                    && pick(&self.asked.task, &[]) == Pick::Words
                    && is_short(&self.asked.task) =>
            {
                let note = "The session is not known here or has expired; say the whole task again.";
                aside.note = Some(note.to_owned());
            }
            (None, _) => {}
        }
        self.route(aside).await
    }

    /// Decides about words, and does what was decided.
    async fn route(&self, mut aside: Aside) -> Box<RawValue> {
        if let Some(position) = self.visible(aside.task.trim()) {
            let chosen = Chosen {
                position,
                confidence: 1.0,
                arguments: self.asked.arguments.clone(),
                others: Vec::new(),
            };
            return self.act(chosen, aside).await;
        }
        if self.asked.mode != Mode::Candidates
            && let Some(answer) = self.several(&mut aside).await
        {
            return answer;
        }
        let decision = self.decide(&aside.task).await;
        aside.decision = Some(Arc::clone(&decision));
        if self.asked.mode == Mode::Candidates {
            return self.candidates(&decision, &aside);
        }
        if let Some((server, why)) = self.unreachable(&aside.task, &decision) {
            let others: Vec<usize> = self.others(&decision, |tool| *tool.server != *server);
            return self.failed(&format!("server `{server}` cannot be reached: {why}"), 0.0, &others, &aside);
        }
        match &decision.verdict {
            Verdict::Act => self.act(self.first(&decision), aside).await,
            Verdict::Ask(_) if self.is_told_by_arguments(&decision) => {
                self.act(self.first(&decision), aside).await
            }
            Verdict::Ask(question) => {
                let text = question.text.clone();
                self.ask(&text, &decision, aside).await
            }
            // With nothing to compare it with, a request that says nothing is still a reason to ask.
            Verdict::Abstain if decision.candidates.is_empty() && decision.intent.confidence < VAGUE => {
                self.ask("What would you like to do?", &decision, aside).await
            }
            Verdict::Abstain => self.nothing(decision.confidence, &aside),
        }
    }

    /// Whether a handle stands for a conversation that was begun here.
    fn is_ours(&self, handle: &str) -> bool {
        conversation(&self.caller, Some(handle)).is_some_and(|key| self.reception.toolsets.knows(&key))
    }

    /// The likeliest tool, with the arguments that are given.
    fn first(&self, decision: &Decision) -> Chosen {
        Chosen {
            position: decision.candidates[0].position,
            confidence: decision.confidence,
            arguments: self.asked.arguments.clone(),
            others: decision.candidates[1..].iter().map(|it| it.position).collect(),
        }
    }

    /// Whether the arguments that are given belong to the likeliest tool, and to no other that may be meant.
    fn is_told_by_arguments(&self, decision: &Decision) -> bool {
        let given = Fields::parse(self.asked.arguments.as_deref()).unwrap_or_default();
        let takes = |candidate: &Candidate| {
            let tool = &self.snapshot.catalog.tools()[candidate.position];
            given.iter().all(|(name, _)| tool.parameters.iter().any(|it| it.name == *name))
        };
        let mut likely = decision.candidates.iter().filter(|it| it.probability >= LIKELY);
        let is_clear = decision.confidence >= LEAST_TOLD && decision.judgement.vague < VAGUE;
        given.iter().next().is_some() && is_clear && likely.next().is_some_and(takes) && !likely.any(takes)
    }

    async fn decide(&self, task: &str) -> Arc<Decision> {
        let routed = self.asked.routed(task);
        self.wanting(&routed, async |wanted| self.reception.hub.decide(&self.snapshot, &wanted).await).await
    }

    /// Says what is wanted, and by whom.
    async fn wanting<T>(&self, task: &str, then: impl AsyncFnOnce(Wanted<'_>) -> T) -> T {
        let handle = self.asked.session.as_deref();
        let conversation = conversation(&self.caller, handle);
        let config = self.reception.hub.config();
        let preferred = self.asked.server.as_deref().map(|wanted| {
            let known = config.servers.keys().find(|name| name.eq_ignore_ascii_case(wanted.trim()));
            known.map_or(wanted, String::as_str)
        });
        let servers = match &self.view {
            View::Surface { servers, .. } => servers.as_slice(),
            View::Transparent { .. } => &[],
        };
        then(Wanted {
            task,
            preferred_server: preferred,
            servers,
            conversation: conversation.as_deref(),
            candidates: self.asked.max_results.map(|most| most.max(config.routing.max_candidates)),
            provisional: Some(&self.provisional),
        })
        .await
    }

    /// Asks in the way that the client understands.
    async fn ask(&self, text: &str, decision: &Arc<Decision>, aside: Aside) -> Box<RawValue> {
        let clarification = &self.reception.hub.config().routing.clarification;
        let offered = self.offered(decision);
        if self.asked.mode == Mode::DryRun {
            return self.question(text, &offered, (None, decision.confidence), &aside);
        }
        if !clarification.enabled {
            return self.candidates(decision, &aside);
        }
        let tools = self.tools(&offered);
        match form::put(&self.caller, text, &form::choice(&tools)).await {
            Answered::With(content) => {
                let picked = content.text("choice").and_then(|id| self.visible(&id));
                let details = form::details(&content);
                if let Some(position) = picked.filter(|position| offered.contains(position)) {
                    let others = offered.into_iter().filter(|it| *it != position).collect();
                    let arguments = self.asked.arguments.clone();
                    return self.act(Chosen { position, confidence: 1.0, arguments, others }, aside).await;
                }
                match details {
                    Some(details) => self.retold(&details, aside).await,
                    None => self.question(text, &offered, (Some(&aside.task), decision.confidence), &aside),
                }
            }
            Answered::Declined | Answered::Not => {
                self.question(text, &offered, (Some(&aside.task), decision.confidence), &aside)
            }
        }
    }

    /// Routes what a person said in other words. Who was asked once is not asked by a form again.
    async fn retold(&self, details: &str, mut aside: Aside) -> Box<RawValue> {
        aside.task = format!("{} {details}", aside.task);
        let decision = self.decide(&aside.task).await;
        aside.decision = Some(Arc::clone(&decision));
        let offered = self.offered(&decision);
        match &decision.verdict {
            Verdict::Act => {
                let position = decision.candidates[0].position;
                let others = offered.into_iter().filter(|it| *it != position).collect();
                let arguments = self.asked.arguments.clone();
                self.act(Chosen { position, confidence: decision.confidence, arguments, others }, aside).await
            }
            Verdict::Ask(question) => {
                self.question(&question.text, &offered, (Some(&aside.task), decision.confidence), &aside)
            }
            Verdict::Abstain => self.nothing(decision.confidence, &aside),
        }
    }

    /// Does what is meant, unless something is missing or has to be confirmed first.
    async fn act(&self, mut chosen: Chosen, aside: Aside) -> Box<RawValue> {
        let filled = self.fill(&mut chosen, &aside).await;
        if self.asked.mode != Mode::Run {
            return self.forecast(&chosen, &filled, &aside);
        }
        if !filled.settled.missing.is_empty() {
            return self.complete(chosen, filled, aside).await;
        }
        self.go(chosen, filled, aside).await
    }

    /// Makes a call that has all its arguments, unless it has to be confirmed first.
    async fn go(&self, chosen: Chosen, filled: Filled, mut aside: Aside) -> Box<RawValue> {
        let tool = &self.snapshot.catalog.tools()[chosen.position];
        let wish = Intent::of(&aside.task);
        let ruling = self.reception.hub.judge(&self.snapshot, tool, chosen.arguments.as_deref(), Some(&wish));
        aside.filled = filled;
        match ruling.stance {
            Stance::Ask => self.with_consent(chosen, &ruling.reason(tool), aside).await,
            // What is denied is refused on the way, with the rule that does it.
            Stance::Allow | Stance::Deny => self.run(&chosen, &aside).await,
        }
    }

    /// Asks before something is done that has to be confirmed.
    async fn with_consent(&self, chosen: Chosen, reason: &str, aside: Aside) -> Box<RawValue> {
        let tool = &self.snapshot.catalog.tools()[chosen.position];
        let arguments = input::or_empty(chosen.arguments.clone());
        let shown = shortened(&clean(arguments.get()), 300);
        let text = format!("{} with {shown}? {reason}", reply::purpose(tool));
        match form::put(&self.caller, &text, &form::consent()).await {
            Answered::With(content) if content.read("confirm") == Some(true) => {
                self.run(&chosen, &aside).await
            }
            Answered::With(_) | Answered::Declined => {
                let mut reply = Reply::new(&[], chosen.confidence);
                reply.set("needsClarification", &false);
                reply.say(&format!("Not confirmed: {} was not run.", tool.id.as_str()));
                self.close(reply, &aside)
            }
            Answered::Not => self.unconfirmed(&chosen, &text, &aside),
        }
    }

    /// Answers with the handle that confirms a call.
    fn unconfirmed(&self, chosen: &Chosen, text: &str, aside: &Aside) -> Box<RawValue> {
        let tool = &self.snapshot.catalog.tools()[chosen.position];
        let arguments = input::or_empty(chosen.arguments.clone());
        let handle = self.offer(tool, &arguments, &aside.task);
        let mut reply = Reply::new(&[], chosen.confidence);
        reply.alternatives(self.tools(&chosen.others).into_iter().take(self.shown()));
        reply.set("needsClarification", &true);
        reply.set("clarificationQuestion", &text);
        reply.set("tool", &tool.id.as_str());
        reply.set("arguments", &arguments);
        reply.set("confirm", &handle);
        reply.say(text);
        reply.say(&format!(
            "Ask the user. If they agree, call smart_route with the same task and context {{\"confirm\": \"{handle}\"}}."
        ));
        self.close(reply, aside)
    }

    /// Runs a call that was confirmed, or asks again.
    async fn confirmed(&self, handle: &str) -> Box<RawValue> {
        let hub = &self.reception.hub;
        let mut aside = Aside { task: self.asked.task.clone(), ..Aside::default() };
        if let Some(answer) = self.confirmed_run(handle, &aside).await {
            return answer;
        }
        let Some(position) = confirm::tool(hub, handle).and_then(|id| self.visible(&id)) else {
            aside.note = Some(confirm::Void::Unknown.words().to_owned());
            return self.route(aside).await;
        };
        let tool = &self.snapshot.catalog.tools()[position];
        let arguments = self.confirmed_arguments(handle);
        let chosen =
            Chosen { position, confidence: 1.0, arguments: Some(arguments.clone()), others: Vec::new() };
        if self.asked.mode != Mode::Run {
            return self.forecast(&chosen, &Filled::default(), &aside);
        }
        match confirm::spend(hub, handle, &self.caller.principal, (tool, &arguments)) {
            Ok(()) => self.run(&chosen, &aside).await,
            Err(void) => {
                aside.note = Some(void.words().to_owned());
                self.act(chosen, aside).await
            }
        }
    }

    async fn run(&self, chosen: &Chosen, aside: &Aside) -> Box<RawValue> {
        let (hub, tool) = (&self.reception.hub, &self.snapshot.catalog.tools()[chosen.position]);
        let mut params = self.params.clone();
        params.retain(|key| key == "_meta");
        params.set("arguments", input::or_empty(chosen.arguments.clone()));
        // What the server asks meanwhile is asked within this call, whatever the era of the client.
        let caller = Arc::new((*self.caller).clone().worded(Wording::Labelled).asked_within());
        let outcome = hub.attempt(&self.snapshot, tool, params, &caller).await;
        let told = match &outcome {
            Ok(result) => Some(Ok(&**result)),
            Err(Trouble::Refused(error)) => Some(Err(error)),
            Err(Trouble::Denied(_) | Trouble::Held(_) | Trouble::Failed(_)) => None,
        };
        if let Some(refusal) = told.and_then(|told| hub.refusal(&self.snapshot, tool, told))
            && let Some((chosen, filled)) = self.amended(chosen, aside, &refusal).await
        {
            let Aside { task, note, decision, .. } = aside;
            let (task, note, decision) = (task.clone(), note.clone(), decision.clone());
            // It is another call, so it is judged and confirmed like any other.
            let again = self.go(chosen, filled, Aside { task, note, decision, ..Aside::default() });
            return Box::pin(again).await;
        }
        match outcome {
            Ok(result) => {
                if let Some(conversation) = conversation(&self.caller, self.asked.session.as_deref()) {
                    hub.note_use(&conversation, tool.id.as_str());
                }
                let mut reply = Reply::new(&[tool.id.as_str()], chosen.confidence);
                reply.alternatives(self.tools(&chosen.others).into_iter().take(self.shown()));
                reply.set("needsClarification", &false);
                let with = match aside.filled.settled.found.is_empty() {
                    true => String::new(),
                    false => format!(
                        " with {}",
                        shortened(input::or_empty(chosen.arguments.clone()).get(), MOST_SAID)
                    ),
                };
                reply.say(&format!("[{}, confidence {:.2}]{with}", tool.id.as_str(), chosen.confidence));
                if let Some(hint) = unused(tool, chosen) {
                    reply.say(&hint);
                }
                self.fit(&mut reply, result);
                self.close(reply, aside)
            }
            Err(trouble) => {
                let mut others: Vec<usize> = chosen.others.clone();
                others.retain(|other| self.snapshot.catalog.tools()[*other].server != tool.server);
                if others.is_empty() {
                    let similar = hub.similar(&self.snapshot, tool);
                    others = similar.iter().filter_map(|it| self.visible(it.id.as_str())).collect();
                }
                let why = match &trouble {
                    Trouble::Denied(error) | Trouble::Refused(error) => error.message.clone(),
                    Trouble::Held(why) => why.clone(),
                    Trouble::Failed(failure) => failure.to_string(),
                };
                let why = format!("{}: {why}", tool.id.as_str());
                self.failed(&why, chosen.confidence, &others, aside)
            }
        }
    }
}

/// Says what a tool would take, where it ran without any of it: words of the task may belong there.
fn unused(tool: &Tool, chosen: &Chosen) -> Option<String> {
    let is_bare = chosen
        .arguments
        .as_deref()
        .is_none_or(|given| Fields::parse(Some(given)).is_ok_and(|given| given.is_empty()));
    let names: Vec<&str> = tool.parameters.iter().take(6).map(|it| it.name.as_str()).collect();
    let is_worth_saying = is_bare && !names.is_empty();
    is_worth_saying
        .then(|| format!("It ran without arguments; context.arguments may have {}.", names.join(", ")))
}

/// How an answer to a question goes on.
enum Follow {
    Tool(usize),
    /// In words, what was missing for this tool.
    Values(usize),
    Neither,
    Words(String),
}

/// Adds arguments to those that were known before; the later ones win.
fn merged(known: Option<Box<RawValue>>, given: Option<Box<RawValue>>) -> Option<Box<RawValue>> {
    let (Some(known), Some(given)) = (&known, &given) else { return given.or(known) };
    let mut whole = Fields::parse(Some(known)).unwrap_or_default();
    for (name, value) in Fields::parse(Some(given)).unwrap_or_default().iter() {
        whole.set(name, value.to_owned());
    }
    Some(raw(&whole))
}

fn is_short(task: &str) -> bool {
    task.split_whitespace().count() <= 3
}
