//! Drives runs: makes the calls that a run decides on, and writes down everything before and after.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::watch;
use toolyard_core::arguments::Form;
use toolyard_core::hazard;
use toolyard_core::plan::{Input, Plan, Step};
use toolyard_core::run::{
    Allowance, Call, CallId, Confirmation, Direction, Ending, Finding, Leaving, Next, Outcome, Report, Run,
    Stale, reading,
};
use toolyard_core::tool::{Effect, Tool, ToolId};

use super::migrate::migrated_call;
use super::results::{is_error, wants_input};
use super::{Hub, Trouble};
use crate::access::Grant;
use crate::caller::Caller;
use crate::config::Stance;
use crate::journal::{self, Beginning, Journal, Kept, Lease, now_ms};
use crate::jsonrpc::{ErrorObject, Fields, raw};
use crate::live::Snapshot;
use crate::pins::Pin;
use crate::policy::{Refusal, Ruling};
use crate::seal::digest;
use crate::store::fingerprint;
use crate::upstream::{Failure, Sent, State};

/// What one run may use.
const ALLOWANCE: Allowance = Allowance {
    parallel: 4,
    elements: 200,
    budget_ms: 10 * 60 * 1000,
    first_pause_ms: 200,
    longest_pause_ms: 10_000,
    result_bytes: 32 << 20,
};
/// A call that ended: which, how, and what its tool answered.
type Ended = (CallId, Outcome, Option<Box<RawValue>>);

/// How often a wish of another process to stop is looked for.
const LISTENING: Duration = Duration::from_millis(500);

/// A run that this process drives.
#[derive(Debug)]
pub struct Execution {
    /// Names the run.
    pub id: String,
    run: Run,
    /// The tools of its plan as they were when it was begun.
    pins: BTreeMap<String, Pin>,
    journal: Arc<Journal>,
    stop: watch::Sender<Option<Leaving>>,
    _lease: Lease,
}

/// Where a run stands when it is not driven.
#[derive(Clone, Debug, PartialEq)]
pub enum Pause {
    /// A person must agree first.
    Asked(Confirmation),
    /// It is over.
    Over(Report),
}

/// What happens while a run is driven.
#[derive(Clone, Copy, Debug)]
pub enum Moment<'a> {
    /// A call was sent.
    Sent(&'a Call),
    /// A tool answered, in its own words; what the run makes of it comes next.
    Answered(&'a CallId, &'a RawValue),
    /// A call came back.
    Came(&'a CallId, &'a Outcome),
}

/// Nothing more was sent because it could not be written down.
#[derive(Debug, thiserror::Error)]
#[error("{source}; nothing more was sent")]
pub struct Halted {
    /// What happened until then.
    pub report: Box<Report>,
    source: journal::Error,
}

/// Why a run cannot be taken up.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    /// There is no such run.
    #[error("there is no run `{0}`")]
    Missing(String),
    /// Another process drives it.
    #[error("the run `{0}` is driven by another process")]
    Driven(String),
    /// The journal could not be used.
    #[error(transparent)]
    Journal(#[from] journal::Error),
}

impl Hub {
    /// Returns where runs are written down.
    pub fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }

    /// Writes a plan down as a run that has not begun.
    pub async fn begin(&self, plan: Plan) -> Result<Execution, journal::Error> {
        self.begin_for(plan, &Caller::nobody()).await
    }

    /// Does the same for a caller. What is left of the run after a crash is done with no more rights than theirs.
    pub async fn begin_for(&self, plan: Plan, caller: &Caller) -> Result<Execution, journal::Error> {
        self.reach(plan.steps().iter().map(|step| &step.tool)).await;
        let plan = self.judged(plan);
        let journal = Arc::clone(&self.journal);
        let grant = Some(&*caller.grant).filter(|it| it.name().is_some()).cloned();
        let beginning = Beginning { servers: self.servers_of(&plan), pins: self.pins_of(&plan), grant };
        let run = Run::new(plan, ALLOWANCE);
        let (id, lease, run, pins) = blocking(move || {
            let (id, lease) = journal.begin(&run, &beginning)?;
            Ok((id, lease, run, beginning.pins))
        })
        .await?;
        Ok(self.execution(id, (run, pins), lease))
    }

    /// Takes up a run that another process left.
    pub async fn take_up(&self, id: &str) -> Result<Execution, NotTaken> {
        let (journal, wanted) = (Arc::clone(&self.journal), id.to_owned());
        let (record, lease) = tokio::task::spawn_blocking(move || {
            let record = journal.find(&wanted)?.ok_or(NotTaken::Missing(wanted))?;
            let lease = journal.lease(&record.id)?.ok_or_else(|| NotTaken::Driven(record.id.clone()))?;
            // Read again: whoever had the lease may have gone on after the first look.
            let record = journal.find(&record.id)?.ok_or(NotTaken::Missing(record.id))?;
            Ok::<_, NotTaken>((record, lease))
        })
        .await
        .expect("reading does not panic")?;
        let Kept { id, mut run, pins, .. } = record;
        run.recover();
        self.reach(run.plan().steps().iter().map(|step| &step.tool)).await;
        let execution = self.execution(id, (run, pins), lease);
        execution.write_down().await?;
        Ok(execution)
    }

    /// Takes up every run that no process drives any more, begun with the servers that are configured.
    /// One that waits for a person goes on waiting.
    pub async fn resume(&self) {
        let journal = Arc::clone(&self.journal);
        let left = match blocking(move || journal.unfinished()).await {
            Ok(left) => left,
            Err(err) => return tracing::warn!("{err}; workflows that were under way are not resumed"),
        };
        let ours = left.into_iter().filter(|it| it.run.asked().is_none());
        for record in ours.filter(|it| it.servers == self.servers_of(it.run.plan())) {
            let grant =
                record.grant.as_ref().map_or_else(|| Some(Grant::owner()), |it| self.access.renewed(it));
            let Some(grant) = grant else {
                tracing::warn!(
                    "the workflow `{}` was begun by a client that is gone: `toolyard runs resume {}` goes on with it",
                    record.name,
                    record.id
                );
                continue;
            };
            match self.take_over(&record, grant).await {
                Ok(()) | Err(NotTaken::Driven(_) | NotTaken::Missing(_)) => {}
                Err(NotTaken::Journal(err)) => tracing::error!("{err}"),
            }
        }
    }

    /// Goes on with a run that nobody drives any more, with the rights of who began it.
    pub(super) async fn take_over(&self, record: &Kept, grant: Arc<Grant>) -> Result<(), NotTaken> {
        let execution = self.take_up(&record.id).await?;
        tracing::info!("the workflow `{}` ({}) is resumed", record.name, record.id);
        self.drive_alone(execution, &Arc::new(Caller::nobody().granted(grant))).await;
        Ok(())
    }

    /// Drives a run for which nobody is there, and says in the log what became of it.
    pub(super) async fn drive_alone(&self, mut execution: Execution, caller: &Arc<Caller>) {
        match execution.drive(self, caller, &mut |_| {}).await {
            Ok(Pause::Over(report)) if report.ending == Ending::Completed => {
                tracing::info!("{}", report.words());
            }
            Ok(Pause::Over(report)) => tracing::warn!("run {}: {}", execution.id, report.words()),
            Ok(Pause::Asked(_)) => tracing::warn!(
                "the workflow `{}` waits for a person: `toolyard runs resume {}`",
                execution.run().plan().name(),
                execution.id
            ),
            Err(halted) => tracing::error!("{halted}"),
        }
    }

    /// Counts every step that the configuration asks about as one that is confirmed before anything runs.
    pub(super) fn judged(&self, plan: Plan) -> Plan {
        let snapshot = self.snapshot();
        let judged = |step: &Step| {
            let asks = self.ruling(&snapshot, step).is_some_and(|(_, ruling)| ruling.stance == Stance::Ask);
            Step { effect: if asks { Effect::Destroy } else { step.effect }, ..step.clone() }
        };
        let steps = plan.steps().iter().map(judged).collect();
        Plan::new(plan.name(), steps).unwrap_or(plan)
    }

    /// Says why the configuration forbids a step of a plan, where that is known before it runs.
    pub(super) fn forbidden(&self, plan: &Plan) -> Option<Refusal> {
        let snapshot = self.snapshot();
        plan.steps().iter().find_map(|step| {
            let (tool, ruling) = self.ruling(&snapshot, step)?;
            let is_known = step.arguments.values().all(|input| input.literal().is_some());
            ruling.refusal(tool).filter(|_| is_known || !self.permits(&snapshot, tool))
        })
    }

    /// Says what is to happen before a step, as far as its arguments are known; `None` where its tool is not.
    fn ruling<'s>(&self, snapshot: &'s Snapshot, step: &Step) -> Option<(&'s Tool, Ruling)> {
        let tool = snapshot.catalog.get(step.tool.as_str())?;
        let value = |input: &Input| input.literal().cloned().unwrap_or_else(|| hazard::LATER.into());
        let known: Map<String, Value> =
            step.arguments.iter().map(|(name, input)| (name.clone(), value(input))).collect();
        Some((tool, self.judge(snapshot, tool, Some(&raw(&known)), None)))
    }

    fn execution(&self, id: String, (run, pins): (Run, BTreeMap<String, Pin>), lease: Lease) -> Execution {
        let stop = watch::Sender::new(None);
        Execution { id, run, pins, journal: Arc::clone(&self.journal), stop, _lease: lease }
    }

    /// Starts the servers of these tools that were never reached, so that their tools are known.
    pub async fn reach<'t>(&self, tools: impl Iterator<Item = &'t ToolId>) {
        let snapshot = self.snapshot();
        let unknown = tools.filter(|tool| snapshot.catalog.get(tool.as_str()).is_none());
        let prefixes: Vec<&str> =
            unknown.filter_map(|tool| Some(tool.as_str().split_once("__")?.0)).collect();
        let owns = |server: &str| prefixes.contains(&&*ToolId::server_prefix(server));
        if self.upstreams().iter().any(|upstream| owns(&upstream.name)) {
            self.learn(|it| it.state() == State::Configured && owns(&it.name), |_| {}).await;
        }
    }

    /// Returns the tools that a plan uses as they are now; what a person agrees to is a plan on these.
    fn pins_of(&self, plan: &Plan) -> BTreeMap<String, Pin> {
        let snapshot = self.snapshot();
        let undo = plan.steps().iter().filter_map(|step| Some(&step.undo.as_ref()?.tool));
        let used = plan.steps().iter().map(|step| &step.tool).chain(undo);
        let tools = used.filter_map(|tool| snapshot.catalog.get(tool.as_str()));
        tools.map(|tool| (tool.id.as_str().to_owned(), Pin::of(&tool.definition))).collect()
    }

    /// Names the servers that a plan uses as they are configured now.
    fn servers_of(&self, plan: &Plan) -> String {
        let undo = plan.steps().iter().filter_map(|step| Some(&step.undo.as_ref()?.tool));
        let tools: Vec<&ToolId> = plan.steps().iter().map(|step| &step.tool).chain(undo).collect();
        let is_used = |server: &str| {
            let prefix = ToolId::server_prefix(server);
            tools.iter().any(|tool| tool.as_str().split_once("__").is_some_and(|(it, _)| it == prefix))
        };
        let upstreams = self.upstreams();
        let used = upstreams.iter().filter(|upstream| is_used(&upstream.name));
        let parts: Vec<String> =
            used.map(|it| format!("{} {}", it.name, fingerprint(&it.config.transport))).collect();
        digest(&parts.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Makes one call of a run, and says what became of it, with the answer where there is one. `late` names the
    /// arguments that nobody has checked yet.
    async fn outcome(
        &self,
        call: &Call,
        late: &[String],
        (caller, pins): (&Arc<Caller>, &BTreeMap<String, Pin>),
    ) -> (Outcome, Option<Box<RawValue>>) {
        let snapshot = self.snapshot();
        let turned = migrated_call(&snapshot, call, late);
        let (call, late) = match &turned {
            None => (call, late),
            Some(Ok((call, late))) => (call, late.as_slice()),
            Some(Err(why)) => return (Outcome::Refused(why.clone()), None),
        };
        let Some(tool) = snapshot.catalog.get(call.tool.as_str()) else {
            let sees = |tool: &Tool| caller.grant.shows(&tool.server);
            let unknown = match self.off(call.tool.as_str(), |server| caller.grant.shows(server)) {
                Some(why) => why,
                None => self.unknown_among(&snapshot, call.tool.as_str(), sees).message,
            };
            return (Outcome::Refused(unknown), None);
        };
        if pins.get(tool.id.as_str()).is_some_and(|pin| *pin != Pin::of(&tool.definition)) {
            let why = format!(
                "the definition of `{}` changed since this run was begun; look at it, and begin a new run",
                tool.id
            );
            return (Outcome::Refused(why), None);
        }
        if let Some(unfit) = unfit(tool, call, late) {
            return (Outcome::Refused(unfit), None);
        }
        let mut params = Fields::default();
        params.set("arguments", raw(&call.arguments));
        // What a step destroys was agreed to before; what only its late arguments show was not.
        let ruling = self.judge(&snapshot, tool, params.get("arguments"), None);
        if ruling.stance == Stance::Ask && call.effect != Effect::Destroy {
            let reason = ruling.reason(tool);
            let refusal = format!("{reason} Call it by itself, so that it can be confirmed.");
            return (Outcome::Refused(refusal), None);
        }
        let trouble = match self.attempt(&snapshot, tool, params, caller).await {
            Ok(result) => return (read(&result), Some(result)),
            Err(trouble) => trouble,
        };
        let outcome = match trouble {
            Trouble::Refused(error) if error.code == ErrorObject::INTERNAL => {
                Outcome::ToolFailed(error.message)
            }
            Trouble::Denied(error) | Trouble::Refused(error) => Outcome::Refused(error.message),
            Trouble::Held(why) => Outcome::NotSent(why),
            Trouble::Failed(failure) => unanswered(&failure),
        };
        (outcome, None)
    }
}

/// Says what a result means to a run.
fn read(result: &RawValue) -> Outcome {
    if wants_input(result) {
        return Outcome::Refused("it asks something that nobody can answer within a workflow".to_owned());
    }
    let answer: Value = serde_json::from_str(result.get()).unwrap_or_default();
    if is_error(result) {
        Outcome::ToolFailed(said(&reading(&answer)))
    } else {
        Outcome::Value(reading(&answer))
    }
}

/// Names the arguments of a call that were found only while the plan ran.
fn late(plan: &Plan, call: &Call) -> Vec<String> {
    let step = plan.step(&call.id.step);
    let arguments = step.and_then(|step| match call.id.direction {
        Direction::Forth => Some(&step.arguments),
        Direction::Back => step.undo.as_ref().map(|undo| &undo.arguments),
    });
    let is_late = |(_, input): &(&String, &Input)| !input.is_known();
    arguments.into_iter().flatten().filter(is_late).map(|(name, _)| name.clone()).collect()
}

/// Says which value that was found on the way does not fit the schema of its tool: such a call is not sent.
fn unfit(tool: &Tool, call: &Call, late: &[String]) -> Option<String> {
    let form = Form::of(tool);
    let misfits = |name: &&String| {
        let value = call.arguments.get(*name)?;
        let alone = Map::from_iter([((*name).clone(), value.clone())]);
        (form.is_judged() && !form.admits_part(&alone)).then(|| said(value))
    };
    late.iter().find_map(|name| {
        let value = misfits(&name)?;
        let schema = form.schema_of(name).map(said).unwrap_or_default();
        Some(format!(
            "`{name}` was found to be {value}, which `{}` does not take; it takes {schema}",
            tool.id
        ))
    })
}

/// Whether a call without an answer may have reached its tool.
fn unanswered(failure: &Failure) -> Outcome {
    let why = failure.to_string();
    match failure {
        Failure::NotStarted { .. } | Failure::Closed { sent: Sent::No, .. } => Outcome::NotSent(why),
        Failure::LoginNeeded(_)
        | Failure::Refused(_)
        | Failure::Http { status: 400..=428 | 430..=499, .. } => Outcome::Refused(why),
        Failure::Http { status: 429 | 503, .. } => Outcome::NotSent(why),
        Failure::Closed { sent: Sent::Perhaps, .. }
        | Failure::Late { .. }
        | Failure::Excess { .. }
        | Failure::Senseless { .. }
        | Failure::Http { .. } => Outcome::Lost(why),
    }
}

/// The words of a failure, as far as they can be read.
fn said(answer: &Value) -> String {
    const CHARS: usize = 500;
    let text = answer.as_str().map_or_else(|| answer.to_string(), ToOwned::to_owned);
    match text.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

impl Execution {
    /// Returns the run as it is now.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Returns what stops the run while it is driven.
    pub fn stopper(&self) -> watch::Sender<Option<Leaving>> {
        self.stop.clone()
    }

    /// Agrees to what is asked.
    pub fn agree(&mut self, digest: &str) -> Result<(), Stale> {
        self.run.agree(digest)
    }

    /// Does not agree to what is asked.
    pub fn decline(&mut self, digest: &str) -> Result<(), Stale> {
        self.run.decline(digest)
    }

    /// Takes what a person found out about a call whose outcome was unknown; `false` when it was not.
    pub fn settle(&mut self, id: &CallId, finding: Finding) -> bool {
        self.run.settle(id, finding)
    }

    /// Stops the run; the next drive brings it to its end.
    pub fn cancel(&mut self, leaving: Leaving) {
        self.run.cancel(leaving);
    }

    /// Goes on until the run is over or a person must agree. Dropping it is like the end of the process:
    /// the run can be taken up again, and what was in flight is then repeated or unknown.
    pub async fn drive(
        &mut self,
        hub: &Hub,
        caller: &Arc<Caller>,
        tell: &mut (dyn FnMut(Moment<'_>) + Send),
    ) -> Result<Pause, Halted> {
        let mut in_flight: FuturesUnordered<BoxFuture<'_, Ended>> = FuturesUnordered::new();
        let mut told = self.stop.subscribe();
        let mut listening = tokio::time::interval(LISTENING);
        loop {
            match self.run.advance(now_ms()) {
                Next::Call(calls) => {
                    if calls.iter().any(|call| call.effect != Effect::Read) {
                        self.keep().await?;
                    }
                    for call in calls {
                        tell(Moment::Sent(&call));
                        let (late, pins) = (late(self.run.plan(), &call), self.pins.clone());
                        in_flight.push(Box::pin(async move {
                            let (outcome, answer) = hub.outcome(&call, &late, (caller, &pins)).await;
                            (call.id, outcome, answer)
                        }));
                    }
                }
                Next::Wait { until } => {
                    let pause = until.map(|until| Duration::from_millis(until.saturating_sub(now_ms())));
                    let rest = async {
                        match pause {
                            Some(pause) => tokio::time::sleep(pause).await,
                            None => std::future::pending().await,
                        }
                    };
                    tokio::select! {
                        Some((id, outcome, answer)) = in_flight.next() => {
                            if let Some(answer) = &answer {
                                tell(Moment::Answered(&id, answer));
                            }
                            tell(Moment::Came(&id, &outcome));
                            self.run.record(&id, outcome, now_ms());
                            self.keep().await?;
                        }
                        Ok(()) = told.changed() => {
                            let leaving = *told.borrow_and_update();
                            self.stop_with(leaving).await?;
                        }
                        _ = listening.tick() => {
                            let leaving = self.asked_elsewhere().await;
                            self.stop_with(leaving).await?;
                        }
                        () = rest => {}
                    }
                }
                Next::Confirm(asked) => {
                    self.keep().await?;
                    return Ok(Pause::Asked(asked));
                }
                Next::Done(report) => {
                    self.keep().await?;
                    return Ok(Pause::Over(report));
                }
            }
        }
    }

    async fn keep(&mut self) -> Result<(), Halted> {
        let halted = |source| Halted { report: Box::new(self.run.report()), source };
        self.write_down().await.map_err(halted)
    }

    async fn write_down(&self) -> Result<(), journal::Error> {
        let (journal, id, run) = (Arc::clone(&self.journal), self.id.clone(), self.run.clone());
        blocking(move || journal.write(&id, &run)).await
    }

    /// Returns whether another process asked, through the journal, to stop the run.
    async fn asked_elsewhere(&self) -> Option<Leaving> {
        let (journal, id) = (Arc::clone(&self.journal), self.id.clone());
        blocking(move || journal.asked_to_stop(&id)).await.ok().flatten()
    }

    async fn stop_with(&mut self, leaving: Option<Leaving>) -> Result<(), Halted> {
        let Some(leaving) = leaving else { return Ok(()) };
        self.run.cancel(leaving);
        self.keep().await
    }
}

/// Writing through to the disk takes milliseconds; other requests are served meanwhile.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, journal::Error> + Send + 'static,
) -> Result<T, journal::Error> {
    tokio::task::spawn_blocking(work).await.expect("the journal does not panic")
}
