//! One call of one tool: admitted, made, measured, and explained when it cannot be made.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use serde_json::value::RawValue;
use toolyard_core::hazard::{self, Hazard};
use toolyard_core::rank::{self, Intent};
use toolyard_core::thresholds::thresholds;
use toolyard_core::tool::{Effect, Hints, Tool, ToolId};
use toolyard_telemetry::SpanKind;

use super::Hub;
use super::results::{failed_call, is_error};
use crate::access::{Access, Grant};
use crate::audit::{Fate, Underway};
use crate::caller::Caller;
use crate::config::{Stance, Transport};
use crate::jsonrpc::{ErrorObject, Fields, raw};
use crate::live::Snapshot;
use crate::policy::{ClientTurn, Ended, Refusal, Ruling};
use crate::routing::Outcome;
use crate::skills;
use crate::upstream::{Failure, Repeat, Sent};

mod confirmation; // the argument that confirms a call
mod forward; //      one request, in as many rounds as its answer takes

use confirmation::{CONFIRM, CONFIRM_OTHERWISE, has_confirm, is_of_hub};
pub(crate) use confirmation::{CONFIRMATION, CONFIRMATIONS};
use forward::finished;
pub(crate) use forward::forward;

/// Tools of other servers that are named when one cannot be reached.
const OTHERS: usize = 3;

/// Why a call has no result of its tool.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    /// The configuration forbids it.
    Denied(ErrorObject),
    /// It makes no sense, or the server forbids it.
    Refused(ErrorObject),
    /// Not now: too many calls, or a server that is left alone for a while.
    Held(String),
    /// The server did not answer.
    Failed(Failure),
}

/// Where a call ended on its way.
enum Stop {
    Denied(Refusal),
    Held(Refusal),
    Failed(Failure),
}

impl Hub {
    /// Says what is to happen before a call: what the call would do, and what the configuration says about
    /// that. A request to remove something makes a change one that has to be confirmed.
    pub fn judge(
        &self,
        snapshot: &Snapshot,
        tool: &Tool,
        arguments: Option<&RawValue>,
        intent: Option<&Intent>,
    ) -> Ruling {
        let known = self.known_effect(snapshot, tool);
        let mut hazard = match arguments.map(|given| serde_json::from_str(given.get())) {
            Some(Ok(given)) => hazard::assess(tool, known, &given),
            None => hazard::assess(tool, known, &Value::Null),
            // Deeper than anybody reads, so nobody knows what it says.
            Some(Err(_)) => Hazard {
                effect: Effect::Destroy,
                sign: Some("its arguments are nested too deep to be read".to_owned()),
                proof: None,
            },
        };
        // Who writes the server's own hidden spelling says the same as who writes what is shown.
        match arguments.and_then(|given| tool.plain_arguments(given)) {
            Some(Ok(plain)) => {
                let plain = serde_json::from_str(plain.get()).unwrap_or_default();
                let seen = hazard::assess(tool, known, &plain);
                let is_worse = hazard.effect == Effect::Read || seen.effect == Effect::Destroy;
                if is_worse && seen.effect != hazard.effect {
                    hazard = seen;
                }
            }
            Some(Err(err)) => {
                hazard = Hazard { effect: Effect::Destroy, sign: Some(err.to_string()), proof: None };
            }
            None => {}
        }
        if hazard.effect == Effect::Write && intent.is_some_and(|intent| rank::removes(tool, intent)) {
            hazard.effect = Effect::Destroy;
        }
        self.policy().rule(tool, hazard)
    }

    /// Calls a tool by its name in the catalog. A tool that fails is a result, not an error.
    ///
    /// What has to be confirmed is, by an argument: who calls a tool by its name has seen it.
    pub async fn call(
        &self,
        snapshot: &Snapshot,
        tool: &str,
        mut params: Fields,
        caller: &Arc<Caller>,
    ) -> Result<Box<RawValue>, ErrorObject> {
        let Some(tool) = snapshot.catalog.get(tool) else {
            return self.call_consolidated(snapshot, tool, params, caller).await;
        };
        let ruling = self.judge(snapshot, tool, params.get("arguments"), None);
        if ruling.stance == Stance::Ask
            && refusal(tool, &ruling, caller).is_none()
            && params.ambiguity().is_none()
        {
            let is_confirmed = take_confirmation(self.confirmation(tool), &mut params);
            let void = self.void_answer(caller, tool).filter(|_| is_confirmed);
            if !is_confirmed || void.is_some() {
                self.noted(tool.id.as_str(), ruling.hazard.effect, &params, caller).end(Fate::Unconfirmed);
                self.ask_about(caller, tool);
                return Ok(failed_call(&format!(
                    "{} Nothing was done. If it is meant, call it again with the same arguments and `{}`: true.",
                    void.unwrap_or_else(|| ruling.reason(tool)),
                    self.confirmation(tool)
                )));
            }
        }
        self.answered(snapshot, (tool, &ruling), params, caller).await
    }

    /// Calls a tool whose call a person has confirmed.
    pub async fn call_confirmed(
        &self,
        snapshot: &Snapshot,
        tool: &Tool,
        params: Fields,
        caller: &Arc<Caller>,
    ) -> Result<Box<RawValue>, ErrorObject> {
        let ruling = self.judge(snapshot, tool, params.get("arguments"), None);
        self.answered(snapshot, (tool, &ruling), params, caller).await
    }

    async fn answered(
        &self,
        snapshot: &Snapshot,
        (tool, ruling): (&Tool, &Ruling),
        params: Fields,
        caller: &Arc<Caller>,
    ) -> Result<Box<RawValue>, ErrorObject> {
        match self.carry_out(snapshot, (tool, ruling), params, caller).await {
            Ok(result) => Ok(result),
            Err(Trouble::Denied(error) | Trouble::Refused(error)) => Err(error),
            Err(Trouble::Held(why)) => Ok(failed_call(&self.with_others(snapshot, tool, &why, caller))),
            Err(Trouble::Failed(failure)) => {
                Ok(failed_call(&self.with_advice(snapshot, tool, &failure, caller)))
            }
        }
    }

    /// Calls a tool that was confirmed where that is needed, or says why that has no result.
    pub(crate) async fn attempt(
        &self,
        snapshot: &Snapshot,
        tool: &Tool,
        params: Fields,
        caller: &Arc<Caller>,
    ) -> Result<Box<RawValue>, Trouble> {
        let ruling = self.judge(snapshot, tool, params.get("arguments"), None);
        self.carry_out(snapshot, (tool, &ruling), params, caller).await
    }

    /// Returns who may come in over HTTP.
    pub fn access(&self) -> &Arc<Access> {
        &self.access
    }

    /// Whether models may see a tool that does no more than `effect`, as far as is known before its arguments are.
    pub(crate) fn permits_up_to(&self, effect: Effect, snapshot: &Snapshot, tool: &Tool) -> bool {
        tool.is_for_models() && self.permits_client(effect, snapshot, tool)
    }

    /// Whether a client may list it, for a model or for apps.
    pub(crate) fn permits_client(&self, effect: Effect, snapshot: &Snapshot, tool: &Tool) -> bool {
        (effect == Effect::Destroy || self.known_effect(snapshot, tool) <= effect)
            && self.permits(snapshot, tool)
    }

    /// Returns what a tool does to the world before its arguments are known. A built-in tool that takes a confirmation
    /// asks for it where an action needs one, so its arguments decide.
    pub(super) fn known_effect(&self, snapshot: &Snapshot, tool: &Tool) -> Effect {
        effect_before_arguments(snapshot, tool, || self.is_builtin(&tool.server))
    }

    /// Returns the argument by which a call of a tool is confirmed. It is none of the tool's own, because what that
    /// means is for the tool to say; that of a built-in server means just this.
    pub(crate) fn confirmation(&self, tool: &Tool) -> &'static str {
        if has_confirm(tool) && !self.hears_confirm(tool) { CONFIRM_OTHERWISE } else { CONFIRM }
    }

    /// Whether a tool wants to hear that its call was confirmed: one of a built-in server, or of a hub behind this one.
    fn hears_confirm(&self, tool: &Tool) -> bool {
        has_confirm(tool) && (self.is_builtin(&tool.server) || is_of_hub(tool))
    }

    fn is_builtin(&self, server: &str) -> bool {
        self.upstream(server).is_some_and(|it| matches!(it.config.transport, Transport::Builtin(_)))
    }

    async fn carry_out(
        &self,
        snapshot: &Snapshot,
        (tool, ruling): (&Tool, &Ruling),
        mut params: Fields,
        caller: &Arc<Caller>,
    ) -> Result<Box<RawValue>, Trouble> {
        // Who is here has confirmed the call where that is needed.
        if ruling.stance == Stance::Ask && self.hears_confirm(tool) {
            let mut arguments = params.object("arguments");
            arguments.set(CONFIRM, raw(&true));
            params.set("arguments", raw(&arguments));
        }
        let underway = self.noted(tool.id.as_str(), ruling.hazard.effect, &params, caller);
        let refused = refusal(tool, ruling, caller).or_else(|| {
            let why = self.quarantined(snapshot, tool)?;
            Some(Refusal::Quarantined { tool: tool.id.as_str().to_owned(), why })
        });
        let outcome = match (refused, params.ambiguity()) {
            (Some(refusal), _) => Err(Stop::Denied(refusal)),
            (None, Some(ambiguity)) => {
                let error = ErrorObject::invalid_params(ambiguity.to_string());
                Err(Stop::Failed(Failure::Refused(error)))
            }
            (None, None) => self.send(snapshot, tool, params, caller).await,
        };
        underway.end(match &outcome {
            Ok(result) if is_error(result) => Fate::Failed,
            Ok(_) => Fate::Answered,
            Err(Stop::Denied(_)) => Fate::Denied,
            Err(Stop::Held(_)) => Fate::HeldBack,
            Err(Stop::Failed(Failure::Refused(_))) => Fate::Refused,
            Err(Stop::Failed(_)) => Fate::Unreachable,
        });
        outcome.map_err(|stop| match stop {
            Stop::Denied(refusal) => Trouble::Denied(ErrorObject::invalid_params(refusal.to_string())),
            Stop::Held(refusal) => Trouble::Held(refusal.to_string()),
            Stop::Failed(Failure::Refused(error)) => Trouble::Refused(error),
            Stop::Failed(failure) => Trouble::Failed(failure),
        })
    }

    /// Makes a call when its tool and its server have room for it.
    async fn send(
        &self,
        snapshot: &Snapshot,
        tool: &Tool,
        mut params: Fields,
        caller: &Arc<Caller>,
    ) -> Result<Box<RawValue>, Stop> {
        let id = tool.id.as_str();
        let known = snapshot.facts(tool).and_then(|facts| facts.note?.rate_limit);
        let template = self.template_of(tool);
        // Whoever is beyond their own limit uses up nothing of what all share. The steps of a workflow count themselves.
        if template.is_none() {
            self.quotas.count(&caller.grant, Instant::now()).map_err(Stop::Held)?;
        }
        self.gate.count(id, &self.policy().limits(id, known), Instant::now()).map_err(Stop::Held)?;
        if let Some(template) = template {
            let called = self.call_template(&template, &params, caller).await;
            return called.map_err(|error| Stop::Failed(Failure::Refused(error)));
        }
        let upstream = self
            .upstream(&tool.server)
            .ok_or_else(|| Stop::Failed(Failure::Refused(self.unknown_tool(snapshot, id))))?;
        params.set("name", raw(&tool.name));
        own_names(tool, &mut params).map_err(|error| Stop::Failed(Failure::Refused(error)))?;
        let repeat = if tool.effect == Effect::Read { Repeat::Safe } else { Repeat::Unsafe };
        let limits = &upstream.config.limits;
        let _turn = self.quotas.turn(&caller.grant, limits.call).await.map_err(Stop::Held)?;
        let passage = self.gate.pass(&tool.server, &caller.client(), limits.concurrency, limits.call).await;
        let passage = passage.map_err(Stop::Held)?;
        let start = Instant::now();
        // A server that starts only now may list another tool than the one that was chosen.
        let started = if upstream.is_running() { Ok(()) } else { upstream.link().await.map(drop) };
        if let Some(refusal) = self.changed_since(snapshot, tool).filter(|_| started.is_ok()) {
            passage.settle(Ended::Answered);
            return Err(Stop::Denied(refusal));
        }
        let mut span = self.begin_span(&format!("tools/call {id}"), SpanKind::Client, &mut params);
        if let Some(span) = &mut span {
            span.set("mcp.method.name", "tools/call".into());
            span.set("gen_ai.tool.name", id.into());
            span.set("server.address", (&*tool.server).into());
        }
        // Some tools of the session era answer with a task or not at all.
        let is_wrapped = params.get("task").is_none() && is_task_only(tool);
        if is_wrapped {
            params.set("task", raw(&Fields::default()));
        }
        let outcome = match started {
            Ok(()) => forward(&upstream, "tools/call", params, caller, repeat).await,
            Err(failure) => Err(failure),
        };
        let outcome = match outcome {
            Ok(begun) if is_wrapped => finished(&upstream, begun, caller).await,
            other => other,
        };
        self.end_span(span, failure_of(&outcome));
        passage.settle(outcome.as_ref().err().map_or(Ended::Answered, ended));
        if self.config().routing.performance.enable_metrics {
            let how = match &outcome {
                Ok(result) if !is_error(result) => Outcome::Answered,
                Ok(_) | Err(_) => Outcome::Failed,
            };
            self.memory.measures.note(id, start.elapsed(), how);
        }
        match outcome {
            Ok(result) => Ok(self.screen_result(result).await),
            Err(failure) => Err(Stop::Failed(failure)),
        }
    }

    /// Says whether a call may pass to a server as it is, and begins to write it down. Nothing is asked:
    /// who sees one server only is confirmed by that server's own means.
    pub(crate) fn admit(
        &self,
        server: &str,
        params: &Fields,
        caller: &Caller,
    ) -> Result<Underway<'_>, ErrorObject> {
        let (name, snapshot) = (params.text("name").unwrap_or_default(), self.snapshot());
        let id = ToolId::new(server, &name);
        // A server may not care for the case of letters, so what is said of a tool counts for all its spellings.
        let like = |tool: &&Tool| tool.name.to_lowercase() == name.to_lowercase();
        let tool = snapshot.catalog.find(server, &name);
        let tool = tool.or_else(|| snapshot.catalog.of_server(server).iter().find(like));
        let (stance, rule, effect) = match tool {
            Some(tool) => {
                let Ruling { stance, rule, hazard } =
                    self.judge(&snapshot, tool, params.get("arguments"), None);
                (stance, rule, hazard.effect)
            }
            None => {
                // Nothing but its name is known, and a name is no proof that it only reads.
                let effect = match Effect::infer(&name, Hints::default()) {
                    Effect::Destroy => Effect::Destroy,
                    Effect::Write | Effect::Read => Effect::Write,
                };
                let (stance, rule) = self.policy().decide(id.as_str(), server, effect);
                (stance, rule, effect)
            }
        };
        let underway = self.noted(id.as_str(), effect, params, caller);
        let known = tool.and_then(|tool| snapshot.facts(tool)).and_then(|facts| facts.note?.rate_limit);
        let counted = tool.map_or(id.as_str(), |tool| tool.id.as_str());
        let limits = self.policy().limits(counted, known);
        let forbidden = match (caller.grant.refusal(id.as_str(), server, effect), rule) {
            (Some(beyond), _) => Some(beyond.into()),
            (None, Some(rule)) if stance == Stance::Deny => {
                Some(Refusal::Forbidden { tool: id.as_str().to_owned(), rule })
            }
            (None, _) => self.unapproved(server, &name, &snapshot).map(Refusal::Withheld).or_else(|| {
                let why = self.quarantined(&snapshot, tool?)?;
                Some(Refusal::Quarantined { tool: id.as_str().to_owned(), why })
            }),
        };
        let now = Instant::now();
        // Whoever is beyond their own limit uses up nothing of what all share.
        let count =
            || self.quotas.count(&caller.grant, now).and_then(|()| self.gate.count(counted, &limits, now));
        let refusal = match forbidden {
            Some(refusal) => Some((refusal, Fate::Denied)),
            None => count().err().map(|it| (it, Fate::HeldBack)),
        };
        match refusal {
            Some((refusal, fate)) => {
                underway.end(fate);
                Err(ErrorObject::invalid_params(refusal.to_string()))
            }
            None => Ok(underway),
        }
    }

    /// Waits until a client may make one more call at the same time of a server that is passed through.
    pub(crate) async fn client_turn(&self, server: &str, caller: &Caller) -> Result<ClientTurn, ErrorObject> {
        let patience = self.upstream(server).map_or(Duration::ZERO, |it| it.config.limits.call);
        let turn = self.quotas.turn(&caller.grant, patience).await;
        turn.map_err(|refusal| ErrorObject::invalid_params(refusal.to_string()))
    }

    /// Begins to write a call down.
    pub(crate) fn noted<'h>(
        &'h self,
        tool: &str,
        effect: Effect,
        params: &Fields,
        caller: &Caller,
    ) -> Underway<'h> {
        self.audit.begin(&self.config().audit, (tool, effect), params.get("arguments"), caller)
    }

    fn with_others(&self, snapshot: &Snapshot, tool: &Tool, why: &str, caller: &Caller) -> String {
        let others = self.similar(snapshot, tool, &caller.grant);
        let others: Vec<&str> = others.iter().map(|other| other.id.as_str()).collect();
        if others.is_empty() {
            why.to_owned()
        } else {
            format!("{why}. Similar tools of other servers: {}", others.join(", "))
        }
    }

    fn with_advice(&self, snapshot: &Snapshot, tool: &Tool, failure: &Failure, caller: &Caller) -> String {
        match failure {
            Failure::Closed { .. } if tool.effect != Effect::Read => {
                format!(
                    "{failure}. The call may or may not have been carried out: check before you repeat it"
                )
            }
            Failure::Closed { .. } | Failure::NotStarted { .. } | Failure::LoginNeeded(_) => {
                let (plain, advised) =
                    (failure.to_string(), self.with_others(snapshot, tool, &failure.to_string(), caller));
                if plain == advised {
                    format!("{plain}. `toolyard doctor {}` tells more", tool.server)
                } else {
                    advised
                }
            }
            Failure::Refused(_)
            | Failure::Late { .. }
            | Failure::Excess { .. }
            | Failure::Senseless { .. }
            | Failure::Http { .. } => failure.to_string(),
        }
    }

    /// Returns tools of other servers that do what this one does, as far as its text tells and the caller may use them.
    pub(crate) fn similar<'s>(&self, snapshot: &'s Snapshot, tool: &Tool, grant: &Grant) -> Vec<&'s Tool> {
        let (may, owns) = (grant.permissions.effect, |other: &Tool| grant.shows(&other.server));
        if !snapshot.is_indexed() {
            // Who never searches does not wait for an index because a server is down.
            let others = snapshot.catalog.tools().iter().filter(|other| other.server != tool.server);
            let alike = others.filter(|other| {
                other.name == tool.name && owns(other) && self.permits_up_to(may, snapshot, other)
            });
            return alike.take(OTHERS).collect();
        }
        let query = format!("{} {}", tool.name, tool.description.chars().take(200).collect::<String>());
        let tools = snapshot.catalog.tools();
        let others = self.find_by_words(snapshot, &query, 10).into_iter().map(|(at, _)| &tools[at]);
        let others = others.filter(|other| other.server != tool.server && owns(other));
        others.filter(|other| self.permits_up_to(may, snapshot, other)).take(OTHERS).collect()
    }

    /// Marks something that counts once as used; `false` when it was before. Hubs on the same store agree.
    pub(crate) fn spend(&self, number: u64, lifetime: Duration) -> bool {
        let is_new = self.memory.spent.note(number, Instant::now(), lifetime);
        is_new && self.store.spend(number, lifetime).unwrap_or(true)
    }

    /// Remembers that a session has ended, for as long as its id would open it again.
    pub(crate) fn end_session(&self, number: u64, lifetime: Duration) {
        if let Err(err) = self.store.spend(number, lifetime) {
            tracing::warn!("{err}; a session that ended is forgotten when the hub restarts");
        }
    }

    /// Whether a session has ended, here or in another hub on the same store.
    pub(crate) fn has_ended(&self, session: u64) -> bool {
        self.store.is_spent(session)
    }

    /// Says why the server that a tool belongs to by its name is off, where it is one of those that `shows` shows.
    pub fn off(&self, tool: &str, shows: impl Fn(&str) -> bool) -> Option<String> {
        let config = self.config();
        let server = skills::owner(tool, &config).filter(|server| shows(server))?;
        config.off.get(server).map(|off| off.sentence(server))
    }

    /// Says that there is no such tool, and which ones are near; or that its server is off, or that it waits for a
    /// person.
    pub fn unknown_tool(&self, snapshot: &Snapshot, name: &str) -> ErrorObject {
        if let Some(why) = self.waits(name, |_| true) {
            return ErrorObject::invalid_params(why);
        }
        match self.off(name, |_| true) {
            Some(why) => ErrorObject::new(ErrorObject::INTERNAL, why),
            None => self.unknown_among(snapshot, name, |_| true),
        }
    }

    /// Says so to somebody who sees only some of the tools.
    pub(crate) fn unknown_among(
        &self,
        snapshot: &Snapshot,
        name: &str,
        is_seen: impl Fn(&Tool) -> bool,
    ) -> ErrorObject {
        let shown: String = toolyard_core::tool::clean(name).chars().take(100).collect();
        // Comparing costs the product of the lengths, and the name may be as long as a message.
        let is_name = name.len() <= 2 * ToolId::MAX_CHARS;
        let near = snapshot
            .catalog
            .tools()
            .iter()
            .filter(|tool| is_name && is_seen(tool))
            .map(|tool| (strsim::jaro_winkler(tool.id.as_str(), name), tool.id.as_str()))
            .filter(|(likeness, _)| *likeness > thresholds().spelling.tool)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let hint = near.map(|(_, id)| format!("; did you mean `{id}`?")).unwrap_or_default();
        ErrorObject::invalid_params(format!("there is no tool `{shown}`{hint}"))
    }
}

/// Returns what a tool does to the world before its arguments are known, to somebody who knows whether its server is
/// built in.
pub(super) fn effect_before_arguments(
    snapshot: &Snapshot,
    tool: &Tool,
    is_builtin: impl FnOnce() -> bool,
) -> Effect {
    let known = snapshot.facts(tool).map_or(tool.effect, |facts| facts.effect);
    match known {
        Effect::Destroy if has_confirm(tool) && is_builtin() => Effect::Write,
        Effect::Read | Effect::Write | Effect::Destroy => known,
    }
}

/// Says why a call is refused, when it is: it is beyond what its caller may do, or the configuration forbids it.
fn refusal(tool: &Tool, ruling: &Ruling, caller: &Caller) -> Option<Refusal> {
    let beyond = caller.grant.refusal(tool.id.as_str(), &tool.server, ruling.hazard.effect);
    beyond.map(Refusal::from).or_else(|| ruling.refusal(tool))
}

/// Puts the server's own names in the place of those that are shown without their hidden characters.
pub(crate) fn own_names(tool: &Tool, params: &mut Fields) -> Result<(), ErrorObject> {
    if let (Some(_), Some(arguments)) = (&tool.own, params.get("arguments")) {
        let own = tool.own_arguments(arguments);
        let own = own.map_err(|err| ErrorObject::invalid_params(err.to_string()))?.into_owned();
        params.set("arguments", own);
    }
    Ok(())
}

/// Says why a call failed, for a trace; what a tool said itself stays out of it.
fn failure_of(outcome: &Result<Box<RawValue>, Failure>) -> Option<String> {
    match outcome {
        Ok(result) if is_error(result) => Some("the tool failed".to_owned()),
        Ok(_) => None,
        Err(failure) => Some(failure.to_string()),
    }
}

/// Takes the confirmation out of a call. Only the word `true` of JSON is one.
fn take_confirmation(name: &str, params: &mut Fields) -> bool {
    let mut arguments = params.object("arguments");
    let given = arguments.remove(name).is_some_and(|given| given.get() == "true");
    if given {
        params.set("arguments", raw(&arguments));
    }
    given
}

/// Whether a tool says that it has to be called as a task.
fn is_task_only(tool: &Tool) -> bool {
    // The text is searched first, because definitions are long and few say so.
    tool.definition.get().contains("\"taskSupport\"")
        && Fields::parse(Some(&tool.definition))
            .is_ok_and(|it| it.object("execution").text("taskSupport").as_deref() == Some("required"))
}

/// Says what a failure tells of the server. What it answers, however wrong, is a sign of life.
fn ended(failure: &Failure) -> Ended {
    match failure {
        Failure::NotStarted { .. } | Failure::Closed { sent: Sent::No, .. } => Ended::Absent,
        Failure::Closed { sent: Sent::Perhaps, .. } | Failure::Late { .. } => Ended::Failed,
        Failure::Http { status, .. } if *status >= 500 => Ended::Failed,
        Failure::Http { .. }
        | Failure::Refused(_)
        | Failure::Excess { .. }
        | Failure::Senseless { .. }
        | Failure::LoginNeeded(_) => Ended::Answered,
    }
}
