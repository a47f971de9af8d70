//! What became of a run, said exactly.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{BackState, Course, Direction, Run, State, Work};
use crate::tool::{Effect, ToolId, clean};

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// What the plan is called.
    pub plan: String,
    /// How it ended.
    pub ending: Ending,
    /// Why it went no further.
    pub why: Option<String>,
    /// What became of each call of each step.
    pub accounts: Vec<Account>,
    /// The results of steps.
    pub outputs: BTreeMap<String, Value>,
    /// What a person can do next.
    pub advice: Vec<String>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ending {
    /// Not yet: it is on its way, or waits for a person.
    Open,
    /// Everything that was to be done was done.
    Completed,
    /// It failed, and everything with an effect was taken back.
    Undone,
    /// It failed, and not everything that was done could be taken back, or nothing was done.
    Failed,
    /// A person stopped it.
    Cancelled,
    /// Something may or may not have happened; a person has to look.
    Unknown,
}

/// What became of one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// The step.
    pub step: String,
    /// The element of its list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<usize>,
    /// The tool.
    pub tool: ToolId,
    /// What a call of it does to the world.
    pub effect: Effect,
    /// What became of it.
    pub fate: Upshot,
    /// Whether what is unknown is the call itself or its taking back.
    pub direction: Direction,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What became of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Upshot {
    /// It was done, and stays.
    Done,
    /// It was done and taken back.
    Undone,
    /// It was done and could not be taken back when it should have been.
    NotUndone,
    /// It, or its taking back, may or may not have happened.
    Unknown,
    /// It failed.
    Failed,
    /// It was not to be done, or there was nothing to do.
    Skipped,
    /// It was not begun.
    NotStarted,
    /// It is under way.
    Running,
}

impl Upshot {
    /// Returns the fate as a person reads it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Undone => "undone",
            Self::NotUndone => "could not be undone",
            Self::Unknown => "unknown",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::NotStarted => "not started",
            Self::Running => "running",
        }
    }
}

impl Report {
    /// Returns the report as a person reads it.
    pub fn words(&self) -> String {
        let mut out = format!("{}: {}", clean(&self.plan), self.sentence());
        for account in &self.accounts {
            let element = account.element.map(|at| format!("[{at}]")).unwrap_or_default();
            let _ =
                write!(out, "\n  {:<20} {}{element} ({})", account.fate.words(), account.step, account.tool);
            if let Some(why) = &account.why {
                let _ = write!(out, ": {}", clean(why).replace('\n', " "));
            }
        }
        for advice in &self.advice {
            let _ = write!(out, "\n  next: {}", clean(advice).replace('\n', " "));
        }
        out
    }

    /// Returns how it ended, in a sentence.
    pub fn sentence(&self) -> String {
        let why = self.why.as_ref().map(|why| format!(": {}", clean(why))).unwrap_or_default();
        let has = |fate| self.accounts.iter().any(|account| account.fate == fate);
        let stays = self.accounts.iter().any(|it| it.fate == Upshot::Done && it.effect != Effect::Read);
        match self.ending {
            Ending::Open => "not over yet".to_owned(),
            Ending::Completed => "completed".to_owned(),
            Ending::Undone => format!("rolled back{why}; everything that had been done was undone"),
            Ending::Cancelled if stays => format!("cancelled{why}; what was done stays"),
            Ending::Cancelled => format!("cancelled{why}; nothing was changed"),
            Ending::Unknown => format!("stopped{why}; something may or may not have happened"),
            Ending::Failed if has(Upshot::NotUndone) => {
                format!("failed{why}; not everything that was done could be undone")
            }
            Ending::Failed => format!("failed{why}; no step that changes anything was completed"),
        }
    }
}

pub(super) fn report(run: &Run) -> Report {
    let accounts = accounts(run);
    let ending = ending(run, &accounts);
    let mut report = Report {
        plan: run.plan.name().to_owned(),
        ending,
        why: run.stop.as_ref().map(|stop| stop.why.clone()),
        accounts,
        outputs: run.outputs(),
        advice: Vec::new(),
    };
    report.advice = advice(&report);
    report
}

fn ending(run: &Run, accounts: &[Account]) -> Ending {
    let has = |fate| accounts.iter().any(|account| account.fate == fate);
    let by_person = run.stop.as_ref().is_some_and(|stop| stop.by_person);
    if run.course != Course::Over {
        Ending::Open
    } else if has(Upshot::Unknown) {
        Ending::Unknown
    } else if run.stop.is_none() {
        Ending::Completed
    } else if has(Upshot::Undone) && !has(Upshot::NotUndone) {
        Ending::Undone
    } else if by_person && !has(Upshot::NotUndone) {
        Ending::Cancelled
    } else {
        Ending::Failed
    }
}

fn accounts(run: &Run) -> Vec<Account> {
    let mut accounts = Vec::new();
    for (at, (step, work)) in run.plan.steps().iter().zip(&run.works).enumerate() {
        let mut tell = |element, (fate, direction, why): (Upshot, Direction, Option<String>)| {
            let (step, tool, effect) = (step.name.clone(), step.tool.clone(), step.effect);
            accounts.push(Account { step, element, tool, effect, fate, direction, why });
        };
        match work {
            Work::Waiting => tell(None, (Upshot::NotStarted, Direction::Forth, None)),
            Work::Skipped { why } => tell(None, (Upshot::Skipped, Direction::Forth, Some(why.clone()))),
            Work::Failed { why } => tell(None, (Upshot::Failed, Direction::Forth, Some(why.clone()))),
            Work::Begun { pieces, .. } if pieces.is_empty() => {
                tell(None, (Upshot::Skipped, Direction::Forth, Some("its list is empty".to_owned())));
            }
            Work::Begun { elements, pieces } => {
                for piece in 0..pieces.len() {
                    tell(elements.as_ref().map(|_| piece), fate(run, at, piece));
                }
            }
        }
    }
    accounts
}

fn fate(run: &Run, at: usize, piece: usize) -> (Upshot, Direction, Option<String>) {
    let Work::Begun { pieces, .. } = &run.works[at] else {
        return (Upshot::NotStarted, Direction::Forth, None);
    };
    let forth = |fate, why: Option<&String>| (fate, Direction::Forth, why.cloned());
    let step = &run.plan.steps()[at];
    let piece = &pieces[piece];
    match &piece.state {
        State::Ready { .. } if run.course == Course::Over => forth(Upshot::NotStarted, None),
        State::Ready { .. } if piece.tries == 0 => forth(Upshot::NotStarted, None),
        State::Ready { .. } | State::InFlight => forth(Upshot::Running, None),
        State::Failed { why } => forth(Upshot::Failed, Some(why)),
        State::Unknown { why } => forth(Upshot::Unknown, Some(why)),
        State::Skipped { why } => forth(Upshot::Skipped, Some(why)),
        State::Done { .. } if step.effect == Effect::Read => forth(Upshot::Done, None),
        State::Done { .. } => match &piece.back.state {
            BackState::Done => (Upshot::Undone, Direction::Back, None),
            BackState::Failed { why } => (Upshot::NotUndone, Direction::Back, Some(why.clone())),
            BackState::Unknown { why } => {
                let why = format!("it was done; whether it was undone is not known: {why}");
                (Upshot::Unknown, Direction::Back, Some(why))
            }
            BackState::InFlight => (Upshot::Running, Direction::Back, None),
            BackState::Ready { .. } if run.was_undone() && step.undo.is_none() => {
                (Upshot::NotUndone, Direction::Back, Some("no way to undo it is known".to_owned()))
            }
            BackState::Ready { .. } => forth(Upshot::Done, None),
        },
    }
}

impl Run {
    /// Whether what was done was to be taken back.
    fn was_undone(&self) -> bool {
        let leaves_nothing = self.stop.as_ref().is_some_and(|stop| stop.leaving == super::Leaving::Nothing);
        let is_unknown = self.pieces().any(|piece| matches!(piece.state, State::Unknown { .. }));
        self.course == Course::Undoing || (self.course == Course::Over && leaves_nothing && !is_unknown)
    }
}

fn advice(report: &Report) -> Vec<String> {
    let mut advice = Vec::new();
    for account in &report.accounts {
        let element = account.element.map(|at| format!("[{at}]")).unwrap_or_default();
        let (step, tool) = (&account.step, &account.tool);
        match (account.fate, account.direction) {
            (Upshot::Unknown, Direction::Forth) => advice.push(format!(
                "look whether `{step}{element}` ({tool}) happened, then resume the run and say which"
            )),
            (Upshot::Unknown, Direction::Back) => {
                advice.push(format!("look whether what `{step}{element}` ({tool}) did is still there"));
            }
            (Upshot::NotUndone, _) => {
                advice.push(format!("undo `{step}{element}` ({tool}) yourself, if it should not stay"));
            }
            (Upshot::Failed, _) if report.ending != Ending::Open => {
                advice.push(format!("put right why `{step}{element}` failed, then run it again"));
            }
            (
                Upshot::Done
                | Upshot::Undone
                | Upshot::Failed
                | Upshot::Skipped
                | Upshot::NotStarted
                | Upshot::Running,
                _,
            ) => {}
        }
    }
    advice
}
