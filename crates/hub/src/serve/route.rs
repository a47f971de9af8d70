//! `smart_route`: from plain words to the right tool, or to the one question that is needed.
//!
//! Nothing that destroys runs here before a person or a handle has confirmed exactly this call.

mod answers;
mod confirm;
mod definition;
mod draft;
mod form;
mod input;
mod pending;
mod reply;
mod steps;
mod trace;
mod values;

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use toolyard_core::arguments::Settled;
use toolyard_core::decide::{Ambiguity, Conclusion, Draft, Goal};
use toolyard_core::rank::{Decision, Intent};
use toolyard_core::task::{Pick, pick};
use toolyard_core::tool::{Tool, clean};
use toolyard_telemetry::SpanKind;

use super::answer::Request;
use super::{Reception, View, apps, learning, park};
use crate::caller::{Answer, Caller, Era, Wording};
use crate::config::Stance;
use crate::hub::{Adviser, Decided, Hub, Trouble, is_error};
use crate::jsonrpc::{Fields, raw};
use crate::live::Snapshot;
use crate::routing::{Provisional, Wanted};
use crate::seal::digest;

pub(crate) use definition::{Length, NAME, definition};
pub(super) use input::object;
pub(crate) use pending::{Pending, fresh_handle};

use form::Answered;
use input::{Input, Mode};
use reply::{Reply, shortened};

/// How long after a new configuration a call still waits for servers that were never reached.
const FIRST_CALL: Duration = Duration::from_secs(2);
/// Bytes of the arguments of a call that ran, beside its result.
const MOST_SAID: usize = 300;
/// Servers that are named in one line.
const MOST_SERVERS: usize = 12;

/// Answers a call of `smart_route`.
pub(crate) async fn call(request: Request) -> Answer {
    let (reception, view) = (Arc::clone(&request.reception), request.view.clone());
    let asker = Arc::clone(&request.caller);
    // Questions of the hub have no server in front of them.
    let answer = park::exchange(request, "", move |params, caller| async move {
        let hub = &reception.hub;
        hub.first_heard(FIRST_CALL.saturating_sub(hub.configured_for()), |it| view.shows(&it.name)).await;
        let snapshot = hub.snapshot();
        snapshot.indexed().await;
        let mut input = Input::read(&params.object("arguments"));
        input.server = input.server.map(|wanted| configured(hub, wanted));
        let (hub, provisional) = (Arc::clone(hub), Arc::new(Provisional::default()));
        let mut params = params;
        let span = hub.begin_span(NAME, SpanKind::Server, &mut params);
        let learning = Arc::clone(&provisional);
        let call = RouteCall {
            task: input.task.clone(),
            conversation: conversation(&caller, input.session.as_deref()),
            reception,
            view,
            caller,
            params,
            input,
            snapshot,
            provisional,
            note: None,
            decision: None,
            settled: Settled::default(),
            not_done: Vec::new(),
            adviser: None,
            has_asked: false,
            started: Instant::now(),
            deciding: Mutex::default(),
            ran_with: Mutex::default(),
        };
        let answer = call.answer().await;
        hub.end_span(span, is_error(&answer).then(|| "the request failed".to_owned()));
        Ok(learning::noted(&hub, &learning, answer))
    });
    Ok(apps::mark_answer(&asker, answer.await?))
}

/// Returns the conversation that a request belongs to: its session, or the handle that it shows.
pub(super) fn conversation(caller: &Caller, handle: Option<&str>) -> Option<String> {
    match (handle, caller.era) {
        (Some(handle), _) => Some(digest(&[&caller.principal, handle])),
        (None, Era::Session) if !caller.is_nobody() => Some(caller.principal.to_string()),
        (None, _) => None,
    }
}

/// Returns the name of the configured server that somebody means, whatever the case of its letters.
fn configured(hub: &Hub, wanted: String) -> String {
    let config = hub.config();
    let known = config.servers.keys().find(|name| name.eq_ignore_ascii_case(wanted.trim()));
    known.cloned().unwrap_or(wanted)
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
struct RouteCall {
    reception: Arc<Reception>,
    view: View,
    caller: Arc<Caller>,
    params: Fields,
    input: Input,
    snapshot: Arc<Snapshot>,
    /// Is told of decisions that were made before the tools were understood.
    provisional: Arc<Provisional>,
    /// The conversation that it belongs to.
    conversation: Option<String>,
    /// The words that are routed.
    task: String,
    /// What is said beside the answer.
    note: Option<String>,
    /// How its tool was ranked.
    decision: Option<Arc<Decision>>,
    /// What words became, and what is still missing.
    settled: Settled,
    /// What of the task is left undone, in its own words.
    not_done: Vec<String>,
    /// What may find other values when a server does not take these.
    adviser: Option<Adviser>,
    /// Whether a person was asked by a form which tool is meant.
    has_asked: bool,
    started: Instant,
    /// How long decisions took.
    deciding: Mutex<Duration>,
    /// The arguments of the call that was made.
    ran_with: Mutex<Option<Value>>,
}

/// Whether a call is surely what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sureness {
    Sure,
    Unsure,
}

/// A call of the tool that is meant.
struct Chosen {
    position: usize,
    confidence: f64,
    arguments: Option<Box<RawValue>>,
    /// What else may be meant.
    others: Vec<usize>,
}

impl RouteCall {
    async fn answer(mut self) -> Box<RawValue> {
        if let Some(why) = self.input.wrong_arguments.take() {
            return self.failed(&why, 0.0, &[]);
        }
        if let Some(handle) = self.input.more.clone() {
            return self.going_on(&handle);
        }
        self.note = self.told().await;
        if self.task.trim().is_empty()
            && let Some(note) = &self.note
        {
            return self.acknowledged(note);
        }
        if self.note.is_none() {
            self.observed().await;
        }
        if let Some(handle) = self.confirming() {
            return self.confirmed(&handle).await;
        }
        let waiting = |handle: &str| self.reception.pending.get(handle, &self.caller.principal);
        match (self.input.session.as_deref().and_then(waiting), &self.input.session) {
            (Some(question), _) => match self.follow(&question) {
                Follow::Tool(position) | Follow::Values(position)
                    if let Some(outdated) = self.outdated(&question, position) =>
                {
                    return outdated;
                }
                Follow::Tool(position) => {
                    self.picked(&question.task, position).await;
                    let others = self.positions(&question.offered);
                    self.take_up(question, position);
                    return self.choose(position, others).await;
                }
                Follow::Values(position) => {
                    let others = self.positions(&question.offered);
                    self.input.arguments = merged(question.arguments, self.input.arguments.take());
                    self.answered(position, &question.missing);
                    self.task = format!("{}\n{}", question.task, self.input.task);
                    return self.choose(position, others).await;
                }
                Follow::Neither => return self.nothing(None),
                Follow::Words(task) => self.task = task,
            },
            (None, Some(handle))
                if !self.is_ours(handle)
                    && pick(&self.input.task, &[]) == Pick::Words
                    && is_short(&self.input.task) =>
            {
                let note = "The session is not known here or has expired; say the whole task again.";
                self.note = Some(note.to_owned());
            }
            (None, _) => {}
        }
        self.route().await
    }

    /// Decides about words, and does what was decided.
    async fn route(&mut self) -> Box<RawValue> {
        if self.input.mode == Mode::Candidates && self.visible(self.task.trim()).is_none() {
            let (given, previous) = (Map::new(), self.previous());
            let goal = Goal { previous: previous.as_ref(), ..Goal::in_words(&self.task, &given) };
            let wanted = Wanted { task: &goal.words(), ..self.wanted() };
            let start = Instant::now();
            let decision = self.reception.hub.rank(&self.snapshot, &wanted).await;
            *self.deciding.lock() += start.elapsed();
            self.decision = Some(Arc::clone(&decision));
            return self.candidates(&decision);
        }
        let conclusion = self.decide(None).await;
        if let Some(decision) = conclusion.decision()
            && let Some((server, why)) = self.unreachable(decision)
        {
            let others: Vec<usize> = self.others(decision, |tool| *tool.server != *server);
            return self.failed(&format!("server `{server}` cannot be reached: {why}"), 0.0, &others);
        }
        match conclusion {
            Conclusion::Call(draft) => self.act(draft, Sureness::Sure).await,
            Conclusion::Draft(draft) => self.act(draft, Sureness::Unsure).await,
            Conclusion::Plan(prospect) => self.planned(prospect).await,
            Conclusion::Incomplete(lack) => self.lacking(&lack),
            Conclusion::Ask(question) => self.ask(question).await,
            Conclusion::Decline(decision) => self.nothing(Some(&decision)),
        }
    }

    /// Goes on with a tool that somebody chose.
    async fn choose(&mut self, position: usize, others: Vec<usize>) -> Box<RawValue> {
        let others = others.into_iter().filter(|other| *other != position).collect();
        match self.decide(Some(position)).await {
            Conclusion::Call(draft) => self.act(Draft { others, ..draft }, Sureness::Sure).await,
            Conclusion::Draft(draft) => self.act(Draft { others, ..draft }, Sureness::Unsure).await,
            Conclusion::Plan(_) | Conclusion::Incomplete(_) | Conclusion::Ask(_) | Conclusion::Decline(_) => {
                unreachable!("a chosen tool is drafted")
            }
        }
    }

    /// Decides what the words become, for a chosen tool or for the one that they mean.
    async fn decide(&mut self, tool: Option<usize>) -> Conclusion {
        let given = self.input.arguments.as_deref().and_then(|it| serde_json::from_str(it.get()).ok());
        let given: Map<String, Value> = given.unwrap_or_default();
        let previous = self.previous();
        let splitting = self.input.splitting;
        let (values, previous) = (self.input.values.as_ref(), previous.as_ref());
        let message = self.input.message.as_deref();
        let asked = Goal { task: &self.task, tool, given: &given, values, message, previous, splitting };
        let start = Instant::now();
        let Decided { conclusion, adviser } =
            self.reception.hub.decide(&self.snapshot, &self.wanted(), asked).await;
        *self.deciding.lock() += start.elapsed();
        self.adviser = adviser;
        if let Some(decision) = conclusion.decision() {
            self.decision = Some(Arc::clone(decision));
        }
        conclusion
    }

    /// Returns the result that the caller had before; what reads as JSON is JSON.
    fn previous(&self) -> Option<Value> {
        self.input.previous_result.as_deref().map(|text| {
            let is_data = text.trim_start().starts_with(['{', '[']);
            is_data.then(|| serde_json::from_str(text).ok()).flatten().unwrap_or_else(|| Value::from(text))
        })
    }

    /// Whether a handle stands for a conversation that was begun here.
    fn is_ours(&self, handle: &str) -> bool {
        conversation(&self.caller, Some(handle)).is_some_and(|key| self.reception.toolsets.knows(&key))
    }

    /// Says what is wanted, and by whom.
    fn wanted(&self) -> Wanted<'_> {
        let most = self.reception.hub.config().routing.max_candidates;
        Wanted {
            task: &self.task,
            preferred_server: self.input.server.as_deref(),
            servers: match &self.view {
                View::Surface { servers, .. } => servers.as_slice(),
                View::Transparent { .. } => &[],
            },
            conversation: self.conversation.as_deref(),
            person: self.person(),
            effect: self.view.effect(),
            candidates: self.input.max_results.map(|wanted| wanted.max(most)),
            provisional: Some(&self.provisional),
        }
    }

    /// Asks which tool is meant, in the way that the client understands. Who was asked once by a form is not asked so
    /// again.
    async fn ask(&mut self, question: Ambiguity) -> Box<RawValue> {
        let Ambiguity { text, step, decision, confidence, .. } = question;
        let offered = self.offered(&decision);
        if self.input.mode == Mode::DryRun || step.is_some() {
            return self.question(&text, &offered, None, confidence);
        }
        if !self.reception.hub.config().routing.clarification.enabled {
            return self.candidates(&decision);
        }
        let answered = match std::mem::replace(&mut self.has_asked, true) {
            false => form::put(&self.caller, &text, &form::choice(&self.tools(&offered))).await,
            true => Answered::Not,
        };
        if let Answered::With(content) = answered {
            let picked = content.text("choice").and_then(|id| self.visible(&id));
            if let Some(position) = picked.filter(|position| offered.contains(position)) {
                self.picked(&self.task, position).await;
                return self.choose(position, offered).await;
            }
            if let Some(details) = form::details(&content) {
                self.task = format!("{} {details}", self.task);
                return Box::pin(self.route()).await;
            }
        }
        self.question(&text, &offered, Some(&self.task), confidence)
    }

    /// Does what is meant, unless something is missing or has to be confirmed first.
    async fn act(&mut self, draft: Draft, sureness: Sureness) -> Box<RawValue> {
        let Draft { position, confidence, settled, others, not_done, .. } = draft;
        self.not_done = not_done;
        let arguments = self.input.arguments.clone();
        let mut chosen = Chosen { position, confidence, arguments, others };
        chosen.put(&settled.found);
        self.settled = settled;
        if self.input.mode != Mode::Run {
            return self.forecast(&chosen);
        }
        match sureness {
            Sureness::Sure => self.go(chosen).await,
            // A person is shown a form; whoever speaks for one finishes the draft.
            Sureness::Unsure if self.input.values.is_none() && !self.settled.missing.is_empty() => {
                self.complete(chosen).await
            }
            // What has to be confirmed is shown whole by that.
            Sureness::Unsure if self.is_guessed_whole() && self.needs_consent(&chosen) => {
                chosen.put(&self.settled.guesses);
                self.go(chosen).await
            }
            Sureness::Unsure => self.drafted(chosen),
        }
    }

    /// Whether nothing is missing that was not guessed, and nothing unused or left to another call.
    fn is_guessed_whole(&self) -> bool {
        let is_guessed = |name: &&str| self.settled.guesses.iter().any(|it| it.name == **name);
        self.missing_names().iter().all(is_guessed)
            && self.settled.unused.is_empty()
            && self.not_done.is_empty()
    }

    /// Whether a call has to be confirmed before it is made.
    fn needs_consent(&self, chosen: &Chosen) -> bool {
        let (tool, intent) = (&self.snapshot.catalog.tools()[chosen.position], Intent::of(&self.task));
        let arguments = chosen.arguments.as_deref();
        self.reception.hub.judge(&self.snapshot, tool, arguments, Some(&intent)).stance == Stance::Ask
    }

    /// Makes a call that has all its arguments, unless it has to be confirmed first.
    async fn go(&mut self, chosen: Chosen) -> Box<RawValue> {
        let tool = &self.snapshot.catalog.tools()[chosen.position];
        let intent = Intent::of(&self.task);
        let ruling =
            self.reception.hub.judge(&self.snapshot, tool, chosen.arguments.as_deref(), Some(&intent));
        match ruling.stance {
            Stance::Ask => {
                let reason = ruling.reason(tool);
                self.with_consent(chosen, &reason).await
            }
            // What is denied is refused on the way, with the rule that does it.
            Stance::Allow | Stance::Deny => self.run(chosen).await,
        }
    }

    /// Asks before something is done that has to be confirmed.
    async fn with_consent(&mut self, chosen: Chosen, reason: &str) -> Box<RawValue> {
        let tool = &self.snapshot.catalog.tools()[chosen.position];
        let arguments = input::or_empty(chosen.arguments.clone());
        let shown = shortened(&clean(arguments.get()), 300);
        let text = format!("{} with {shown}? {reason}", reply::purpose(tool));
        match form::put(&self.caller, &text, &form::consent()).await {
            Answered::With(content) if content.read("confirm") == Some(true) => {
                self.consented(chosen.position, true).await;
                self.run(chosen).await
            }
            Answered::With(_) | Answered::Declined => {
                self.consented(chosen.position, false).await;
                let mut reply = Reply::new(&[], chosen.confidence);
                reply.set("needsClarification", &false);
                reply.say(&format!("Not confirmed: {} was not run.", tool.id.as_str()));
                self.close(reply)
            }
            Answered::Not => self.unconfirmed(&chosen, &text),
        }
    }

    /// Answers with the handle that confirms a call.
    fn unconfirmed(&self, chosen: &Chosen, text: &str) -> Box<RawValue> {
        let tool = &self.snapshot.catalog.tools()[chosen.position];
        let arguments = input::or_empty(chosen.arguments.clone());
        let handle = self.offer(tool, &arguments, &self.task);
        self.reception.hub.metrics().confirmation("asked");
        let mut reply = Reply::new(&[], chosen.confidence);
        let shown = self.shown_beside(chosen.confidence);
        reply.alternatives(self.tools(&chosen.others).into_iter().take(shown));
        reply.set("needsClarification", &true);
        reply.set("clarificationQuestion", &text);
        reply.set("tool", &tool.id.as_str());
        reply.set("arguments", &arguments);
        reply.set("confirm", &handle);
        reply.say(text);
        let unsure: Vec<&str> = self.unsure().collect();
        if !unsure.is_empty() {
            reply.set("unsure", &unsure);
            reply.say(&format!("Unsure: {}.", unsure.join(", ")));
        }
        reply.say(&confirm::how(&self.task, &handle));
        self.close(reply)
    }

    /// Runs a call that was confirmed, or asks again.
    async fn confirmed(&mut self, handle: &str) -> Box<RawValue> {
        if let Some(answer) = self.confirmed_run(handle).await {
            return answer;
        }
        let meant = confirm::tool(&self.reception.hub, handle);
        let waits = |id: &String| self.reception.hub.waits(id, |server| self.view.shows(server));
        if let Some(why) = meant.as_ref().and_then(waits) {
            return self.failed(&why, 0.0, &[]);
        }
        let Some(position) = meant.and_then(|id| self.visible(&id)) else {
            self.note = Some(confirm::Void::Unknown.words().to_owned());
            return self.route().await;
        };
        let tool = &self.snapshot.catalog.tools()[position];
        let arguments = self.confirmed_arguments(handle);
        let spent = |hub: &Hub| confirm::spend(hub, handle, &self.caller.principal, (tool, &arguments));
        let void = match self.input.mode {
            Mode::Run => spent(&self.reception.hub).err(),
            Mode::Candidates | Mode::DryRun => None,
        };
        let chosen =
            Chosen { position, confidence: 1.0, arguments: Some(arguments.clone()), others: Vec::new() };
        match (self.input.mode, void) {
            (Mode::Candidates | Mode::DryRun, _) => self.forecast(&chosen),
            (Mode::Run, None) => {
                self.consented(position, true).await;
                self.run(chosen).await
            }
            (Mode::Run, Some(void)) => {
                self.note = Some(void.words().to_owned());
                self.input.arguments = Some(arguments);
                self.choose(position, Vec::new()).await
            }
        }
    }

    async fn run(&mut self, chosen: Chosen) -> Box<RawValue> {
        let (hub, tool) = (&self.reception.hub, &self.snapshot.catalog.tools()[chosen.position]);
        let mut params = self.params.clone();
        params.retain(|key| key == "_meta");
        let arguments = input::or_empty(chosen.arguments.clone());
        *self.ran_with.lock() = serde_json::from_str(arguments.get()).ok();
        params.set("arguments", arguments);
        // What the server asks meanwhile is asked within this call, whatever the era of the client.
        let caller = Arc::new((*self.caller).clone().worded(Wording::Labelled).asked_within());
        let outcome = hub.attempt(&self.snapshot, tool, params, &caller).await;
        let answered = match &outcome {
            Ok(result) => Some(Ok(&**result)),
            Err(Trouble::Refused(error)) => Some(Err(error)),
            Err(Trouble::Denied(_) | Trouble::Held(_) | Trouble::Failed(_)) => None,
        };
        if let Some(refusal) = answered.and_then(|answered| hub.refusal(&self.snapshot, tool, answered))
            && let Some(amended) = self.amended(&chosen, &refusal).await
        {
            // It is another call, so it is judged and confirmed like any other.
            return Box::pin(self.go(amended)).await;
        }
        match outcome {
            Ok(result) => self.ran(&chosen, result),
            Err(trouble) => self.troubled(&chosen, &trouble),
        }
    }

    /// Answers with the result of a call.
    fn ran(&self, chosen: &Chosen, result: Box<RawValue>) -> Box<RawValue> {
        let tool = &self.snapshot.catalog.tools()[chosen.position];
        if let Some(conversation) = &self.conversation {
            self.reception.hub.note_use(conversation, tool.id.as_str());
        }
        let mut reply = Reply::new(&[tool.id.as_str()], chosen.confidence);
        reply.alternatives(self.tools(&chosen.others).into_iter().take(self.shown_beside(chosen.confidence)));
        reply.set("needsClarification", &false);
        let arguments = input::or_empty(chosen.arguments.clone());
        let with = match arguments.get() {
            "{}" => String::new(),
            arguments => format!(" with {}", shortened(arguments, MOST_SAID)),
        };
        reply.say(&format!("[{}, confidence {:.2}]{with}", tool.id.as_str(), chosen.confidence));
        if let Some(hint) = unused(tool, chosen) {
            reply.say(&hint);
        }
        self.fit(&mut reply, result);
        if let Some(note) = apps::app_of(&self.caller, &self.snapshot, tool, &arguments) {
            reply.page(note);
        }
        self.close(reply)
    }

    /// Says why a call did not work, and which tools of other servers may do instead.
    fn troubled(&self, chosen: &Chosen, trouble: &Trouble) -> Box<RawValue> {
        let tool = &self.snapshot.catalog.tools()[chosen.position];
        let mut others: Vec<usize> = chosen.others.clone();
        others.retain(|other| self.snapshot.catalog.tools()[*other].server != tool.server);
        if others.is_empty() {
            let similar = self.reception.hub.similar(&self.snapshot, tool, &self.caller.grant);
            others = similar.iter().filter_map(|it| self.visible(it.id.as_str())).collect();
        }
        let why = match trouble {
            Trouble::Denied(error) | Trouble::Refused(error) => error.message.clone(),
            Trouble::Held(why) => why.clone(),
            Trouble::Failed(failure) => failure.to_string(),
        };
        self.failed(&format!("{}: {why}", tool.id.as_str()), chosen.confidence, &others)
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
    is_worth_saying.then(|| format!("It ran without arguments; values may have {}.", names.join(", ")))
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
