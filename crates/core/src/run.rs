//! A plan in motion. Decides what to call next; never calls anything itself.
//!
//! A [`Run`] can be written down and read back at any moment. It is written before a call with an effect
//! is sent and after each outcome, so that whoever reads it back knows what was under way: a call that is
//! not safe to repeat is then [`Upshot::Unknown`], and never sent again unless a person says that it did
//! not happen.

mod confirm;
mod find;
mod outcome;
mod reading;
mod report;
mod undo;
mod value;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::plan::Plan;
use crate::tool::{Effect, ToolId};

pub use confirm::{Asked, Confirmation, Stale};
pub use outcome::Outcome;
pub use reading::reading;
pub use report::{Account, Ending, Report, Upshot};

/// How much one run may use. No `Default`: the configuration knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Allowance {
    /// Calls at the same time.
    pub parallel: usize,
    /// Elements that one step runs for.
    pub elements: usize,
    /// Time until no further step is begun; waiting for a person does not count.
    pub budget_ms: u64,
    /// Pause before the first repetition; it doubles each time.
    pub first_pause_ms: u64,
    /// Longest pause before a repetition.
    pub longest_pause_ms: u64,
    /// How much of all results is kept, as JSON.
    pub result_bytes: usize,
}

/// What is to be done now.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// A person must agree before anything else happens.
    Confirm(Confirmation),
    /// Start these now; they do not depend on one another.
    Call(Vec<Call>),
    /// Nothing to start until a call in flight is recorded, or until this time.
    Wait {
        /// Milliseconds of the same clock.
        until: Option<u64>,
    },
    /// It is over.
    Done(Report),
}

/// One call that is to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Which one it is.
    pub id: CallId,
    /// The tool.
    pub tool: ToolId,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// What it does to the world.
    pub effect: Effect,
    /// Which attempt this is, counted from 1.
    pub attempt: u32,
}

/// Tells the calls of a run apart; the attempts of one have the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallId {
    /// The step.
    pub step: String,
    /// The element of the list it is made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<usize>,
    /// Whether it does what the step is for, or takes it back.
    pub direction: Direction,
}

/// Whether a call does what a step is for, or takes it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Direction {
    /// Does it.
    Forth,
    /// Takes it back.
    Back,
}

/// What stays when a person stops a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Leaving {
    /// What was done stays.
    Everything,
    /// What was done is taken back where that is known.
    Nothing,
}

/// What a person found out about a call whose outcome was unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It did happen.
    Happened,
    /// It did not; it may be sent again.
    DidNot,
}

/// A plan in motion; written down, it is the checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    plan: Plan,
    allowance: Allowance,
    works: Vec<Work>,
    /// What had an effect, in the order in which it was acknowledged: step and piece.
    effects: Vec<(usize, usize)>,
    course: Course,
    stop: Option<Stop>,
    /// The digest of the plan that a person agreed to.
    agreed: Option<String>,
    asked: Option<Confirmation>,
    kept_bytes: usize,
    spent_ms: u64,
    /// Since when the time counts; not while nobody works on it.
    since_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Course {
    Forward,
    /// Nothing more is begun; what is in flight is waited for.
    Stopping,
    Undoing,
    Over,
}

/// Why a run goes no further.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stop {
    why: String,
    by_person: bool,
    leaving: Leaving,
}

/// Where one step is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Work {
    Waiting,
    Skipped {
        why: String,
    },
    /// Its calls could not even be made out.
    Failed {
        why: String,
    },
    Begun {
        /// The elements, for a step that runs for each.
        elements: Option<Vec<Value>>,
        pieces: Vec<Piece>,
    },
}

/// One call of a step, and its taking back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Piece {
    state: State,
    tries: u32,
    /// An earlier attempt may have happened without an answer.
    lost: bool,
    /// The digest of the call that a person agreed to.
    agreed: Option<String>,
    back: Back,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum State {
    Ready { not_before: u64 },
    InFlight,
    Done { value: Value },
    Failed { why: String },
    Unknown { why: String },
    Skipped { why: String },
}

/// How far the taking back of a piece is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Back {
    state: BackState,
    tries: u32,
    lost: bool,
    agreed: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum BackState {
    Ready { not_before: u64 },
    InFlight,
    Done,
    Failed { why: String },
    Unknown { why: String },
}

impl Piece {
    fn new() -> Self {
        let back = BackState::Ready { not_before: 0 };
        Self {
            state: State::Ready { not_before: 0 },
            tries: 0,
            lost: false,
            agreed: None,
            back: Back { state: back, tries: 0, lost: false, agreed: None },
        }
    }
}

impl Run {
    /// Puts a plan in motion; nothing has happened yet.
    pub fn new(plan: Plan, allowance: Allowance) -> Self {
        let works = plan.steps().iter().map(|_| Work::Waiting).collect();
        Self {
            plan,
            allowance,
            works,
            effects: Vec::new(),
            course: Course::Forward,
            stop: None,
            agreed: None,
            asked: None,
            kept_bytes: 0,
            spent_ms: 0,
            since_ms: None,
        }
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the question that is open.
    pub fn asked(&self) -> Option<&Confirmation> {
        self.asked.as_ref()
    }

    /// Whether nothing more will happen by itself.
    pub fn is_over(&self) -> bool {
        self.course == Course::Over
    }

    /// Decides what is to be done now. Calls that it returns count as sent.
    pub fn advance(&mut self, now: u64) -> Next {
        if let Some(asked) = &self.asked {
            return Next::Confirm(asked.clone());
        }
        let since = *self.since_ms.get_or_insert(now);
        let spent = self.spent_ms.saturating_add(now.saturating_sub(since));
        if self.course == Course::Forward {
            if self.plan.effect() == Effect::Destroy && self.agreed.as_ref() != Some(&self.plan.digest()) {
                return self.ask(Asked::Plan, now);
            }
            if spent >= self.allowance.budget_ms && self.has_work() {
                let limit = self.allowance.budget_ms;
                self.fail(format!("it took longer than the {limit} ms that it had"));
            }
        }
        loop {
            match self.course {
                Course::Forward => {
                    let until = since.saturating_add(self.allowance.budget_ms.saturating_sub(self.spent_ms));
                    if let Some(next) = self.forward(now, until) {
                        return next;
                    }
                }
                Course::Stopping if self.in_flight() > 0 => return Next::Wait { until: None },
                Course::Stopping => self.stopped(),
                Course::Undoing => {
                    if let Some(next) = self.backward(now) {
                        return next;
                    }
                }
                Course::Over => return Next::Done(self.report()),
            }
        }
    }

    /// Stops: nothing more is begun, and what is in flight is waited for.
    pub fn cancel(&mut self, leaving: Leaving) {
        if matches!(self.course, Course::Forward | Course::Stopping) {
            self.stop = Some(Stop { why: "it was cancelled".to_owned(), by_person: true, leaving });
            self.course = Course::Stopping;
            self.asked = None;
        }
    }

    /// Takes note that whoever drove this run is gone, so that no answer will come for what was in flight.
    pub fn recover(&mut self) {
        self.since_ms = None;
        let why = "the program ended while the call was under way";
        for (at, step) in self.plan.steps().iter().enumerate() {
            let Work::Begun { pieces, .. } = &mut self.works[at] else { continue };
            for piece in pieces {
                if piece.state == State::InFlight {
                    if step.repeatable {
                        piece.state = State::Ready { not_before: 0 };
                        piece.lost = true;
                        // What the program did is not the tool's fault.
                        piece.tries = piece.tries.saturating_sub(1);
                    } else {
                        piece.state = State::Unknown { why: why.to_owned() };
                        self.course = Course::Stopping;
                    }
                }
                if piece.back.state == BackState::InFlight {
                    let is_repeatable = step.undo.as_ref().is_some_and(|undo| undo.repeatable);
                    piece.back.lost = true;
                    piece.back.state = match is_repeatable {
                        true => BackState::Ready { not_before: 0 },
                        false => BackState::Unknown { why: why.to_owned() },
                    };
                }
            }
        }
    }

    /// Takes what a person found out about a call whose outcome was unknown; `false` when it was not.
    pub fn settle(&mut self, id: &CallId, finding: Finding) -> bool {
        let Some((at, piece)) = self.place(id) else { return false };
        let Work::Begun { pieces, .. } = &mut self.works[at] else { return false };
        let found = &mut pieces[piece];
        match id.direction {
            Direction::Forth if matches!(found.state, State::Unknown { .. }) => {
                found.lost = false;
                found.state = match finding {
                    Finding::Happened => State::Done { value: Value::Null },
                    Finding::DidNot => State::Ready { not_before: 0 },
                };
                if finding == Finding::Happened && self.plan.steps()[at].effect != Effect::Read {
                    self.effects.push((at, piece));
                }
                self.course = if self.stop.is_some() { Course::Stopping } else { Course::Forward };
            }
            Direction::Back if matches!(found.back.state, BackState::Unknown { .. }) => {
                found.back.lost = false;
                found.back.state = match finding {
                    Finding::Happened => BackState::Done,
                    Finding::DidNot => BackState::Ready { not_before: 0 },
                };
                self.course = Course::Undoing;
            }
            Direction::Forth | Direction::Back => return false,
        }
        true
    }

    /// Says what happened so far.
    pub fn report(&self) -> Report {
        report::report(self)
    }

    fn has_work(&self) -> bool {
        self.works.iter().any(|work| !is_over(work))
    }

    fn in_flight(&self) -> usize {
        let pieces = self.pieces();
        pieces.filter(|it| it.state == State::InFlight || it.back.state == BackState::InFlight).count()
    }

    fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.works.iter().flat_map(|work| match work {
            Work::Begun { pieces, .. } => pieces.as_slice(),
            Work::Waiting | Work::Skipped { .. } | Work::Failed { .. } => &[],
        })
    }

    fn fail(&mut self, why: String) {
        if self.stop.is_none() {
            self.stop = Some(Stop { why, by_person: false, leaving: Leaving::Nothing });
        }
        if self.course == Course::Forward {
            self.course = Course::Stopping;
        }
    }

    /// What comes after everything in flight has landed.
    fn stopped(&mut self) {
        for (step, work) in self.plan.steps().iter().zip(&mut self.works) {
            let Work::Begun { pieces, .. } = work else { continue };
            let waiting = pieces.iter_mut().filter(|it| matches!(it.state, State::Ready { .. }));
            // It would have been tried again, which is all that could have told.
            for piece in waiting.filter(|piece| piece.lost && step.effect != Effect::Read) {
                piece.state = State::Unknown { why: "no answer came before the run was stopped".to_owned() };
            }
        }
        let is_unknown = self.pieces().any(|piece| matches!(piece.state, State::Unknown { .. }));
        let leaving = self.stop.as_ref().map_or(Leaving::Everything, |stop| stop.leaving);
        // What may have happened may need what came before it: a person looks first.
        let undoes = !is_unknown && leaving == Leaving::Nothing;
        self.course = if undoes { Course::Undoing } else { Course::Over };
    }

    /// Begins what can be begun; `None` when the course changed.
    fn forward(&mut self, now: u64, deadline: u64) -> Option<Next> {
        while self.begin_steps() {}
        let mut calls = Vec::new();
        let mut unconfirmed = Vec::new();
        let mut wake: Option<u64> = None;
        let mut room = self.allowance.parallel.max(1).saturating_sub(self.in_flight());
        for at in 0..self.works.len() {
            for piece in self.startable(at) {
                let Work::Begun { pieces, .. } = &self.works[at] else { continue };
                let State::Ready { not_before } = pieces[piece].state else { continue };
                if not_before > now {
                    wake = Some(wake.map_or(not_before, |wake| wake.min(not_before)));
                    continue;
                }
                let call = match value::call(self, at, piece) {
                    Ok(Some(call)) => call,
                    Ok(None) => {
                        self.set(at, piece, State::Skipped { why: "its condition does not hold".to_owned() });
                        return self.forward(now, deadline);
                    }
                    Err(why) => {
                        self.set(at, piece, State::Failed { why: why.clone() });
                        self.fail(format!(
                            "step `{}` could not be made out: {why}",
                            self.plan.steps()[at].name
                        ));
                        return None;
                    }
                };
                if self.needs_agreement(at, piece, &call) {
                    unconfirmed.push(call);
                } else if room > 0 {
                    room -= 1;
                    calls.push(self.send(at, piece, call));
                }
            }
        }
        if !calls.is_empty() {
            return Some(Next::Call(calls));
        }
        if self.in_flight() > 0 {
            return Some(Next::Wait { until: Some(wake.map_or(deadline, |wake| wake.min(deadline))) });
        }
        if !unconfirmed.is_empty() {
            return Some(self.ask(Asked::Calls(unconfirmed), now));
        }
        if let Some(wake) = wake {
            return Some(Next::Wait { until: Some(wake.min(deadline)) });
        }
        self.course = Course::Over;
        None
    }

    /// Begins the steps that nothing holds back; whether there were any.
    fn begin_steps(&mut self) -> bool {
        let mut any = false;
        for at in 0..self.works.len() {
            let step = &self.plan.steps()[at];
            let is_free = self.works[at] == Work::Waiting
                && step.needs().iter().all(|name| self.work(name).is_some_and(is_over));
            if is_free {
                any = true;
                self.works[at] = value::begin(self, step);
                if let Work::Failed { why } = &self.works[at] {
                    let why = format!("step `{}` could not be made out: {why}", self.plan.steps()[at].name);
                    self.fail(why);
                    return false;
                }
            }
        }
        any
    }

    /// Returns the pieces of a step that may be started. What has an effect goes through its list in
    /// order, one after the other: a person who reads it afterwards expects that order.
    fn startable(&self, at: usize) -> Vec<usize> {
        let Work::Begun { pieces, .. } = &self.works[at] else { return Vec::new() };
        let is_ready = |piece: &&usize| matches!(pieces[**piece].state, State::Ready { .. });
        let all: Vec<usize> = (0..pieces.len()).collect();
        if self.plan.steps()[at].effect == Effect::Read {
            return all.iter().filter(is_ready).copied().collect();
        }
        let landed =
            |piece: &&usize| !matches!(pieces[**piece].state, State::Done { .. } | State::Skipped { .. });
        all.iter().find(landed).into_iter().filter(is_ready).copied().collect()
    }

    fn send(&mut self, at: usize, piece: usize, mut call: Call) -> Call {
        if let Work::Begun { pieces, .. } = &mut self.works[at] {
            pieces[piece].tries += 1;
            pieces[piece].state = State::InFlight;
            call.attempt = pieces[piece].tries;
        }
        call
    }

    fn set(&mut self, at: usize, piece: usize, state: State) {
        if let Work::Begun { pieces, .. } = &mut self.works[at] {
            pieces[piece].state = state;
        }
    }

    fn work(&self, step: &str) -> Option<&Work> {
        let at = self.plan.steps().iter().position(|it| it.name == step)?;
        Some(&self.works[at])
    }

    fn place(&self, id: &CallId) -> Option<(usize, usize)> {
        let at = self.plan.steps().iter().position(|step| step.name == id.step)?;
        let Work::Begun { elements, pieces } = &self.works[at] else { return None };
        let piece = match (elements, id.element) {
            (None, None) => 0,
            (Some(_), Some(element)) => element,
            (None, Some(_)) | (Some(_), None) => return None,
        };
        (piece < pieces.len()).then_some((at, piece))
    }

    fn id(&self, at: usize, piece: usize, direction: Direction) -> CallId {
        let element = match &self.works[at] {
            Work::Begun { elements: Some(_), .. } => Some(piece),
            Work::Begun { .. } | Work::Waiting | Work::Skipped { .. } | Work::Failed { .. } => None,
        };
        CallId { step: self.plan.steps()[at].name.clone(), element, direction }
    }

    fn pause(&self, tries: u32) -> u64 {
        let doubled = 1_u64.checked_shl(tries.saturating_sub(1)).unwrap_or(u64::MAX);
        self.allowance.first_pause_ms.saturating_mul(doubled).min(self.allowance.longest_pause_ms)
    }

    /// Returns the results so far: one value for a step that ran once, a list for one that ran for each.
    fn outputs(&self) -> BTreeMap<String, Value> {
        let steps = self.plan.steps().iter().zip(&self.works);
        let outputs = steps.filter_map(|(step, work)| Some((step.name.clone(), output(work)?)));
        outputs.collect()
    }
}

/// Returns the result of a step; `None` when there is none.
fn output(work: &Work) -> Option<Value> {
    let Work::Begun { elements, pieces } = work else { return None };
    let mut values = pieces.iter().filter_map(|piece| match &piece.state {
        State::Done { value } => Some(value.clone()),
        State::Ready { .. }
        | State::InFlight
        | State::Failed { .. }
        | State::Unknown { .. }
        | State::Skipped { .. } => None,
    });
    if elements.is_some() { Some(Value::Array(values.collect())) } else { values.next() }
}

/// Whether steps that wait for this one may begin.
fn is_over(work: &Work) -> bool {
    match work {
        Work::Waiting | Work::Failed { .. } => false,
        Work::Skipped { .. } => true,
        Work::Begun { pieces, .. } => {
            pieces.iter().all(|piece| matches!(piece.state, State::Done { .. } | State::Skipped { .. }))
        }
    }
}

#[cfg(test)]
mod tests;
