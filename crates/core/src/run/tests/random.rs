//! Random workflows with random faults, against a model of the world that knows what really happened.
//!
//! The model never looks into a [`Run`]: it counts what each call did, and holds the report against that.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRng, TestRunner};
use serde_json::json;

use crate::plan::{Input, Origin, Plan, Step, Undo};
use crate::run::{Allowance, Call, Direction, Ending, Leaving, Next, Outcome, Report, Run, Upshot};
use crate::tool::{Effect, ToolId};

#[test]
fn r10_five_hundred_random_workflows_report_what_really_happened() {
    let mut runner = TestRunner::new_with_rng(
        Config { cases: 500, failure_persistence: None, ..Config::default() },
        TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let cases = (proptest::collection::vec(sketch(), 1..9), proptest::collection::vec(any::<u8>(), 400));
    let mut endings: BTreeMap<String, usize> = BTreeMap::new();
    let seen = std::cell::RefCell::new(&mut endings);
    runner
        .run(&cases, |(sketches, dice)| {
            let mut model = Model::new(plan(&sketches), dice);
            let report = model.play();
            *seen.borrow_mut().entry(format!("{:?}", report.ending)).or_default() += 1;
            model.judge(&report).map_err(|why| TestCaseError::fail(format!("{why}\n{}", report.words())))
        })
        .unwrap();
    // A generator that only ever makes one kind of run would prove little.
    for ending in ["Completed", "Undone", "Failed", "Unknown", "Cancelled"] {
        assert!(endings.get(ending).is_some_and(|count| *count >= 5), "{endings:?}");
    }
}

/// One step, as dice give it.
#[derive(Clone, Debug)]
struct Sketch {
    kind: u8,
    retries: u32,
    needs: Vec<usize>,
    elements: Option<usize>,
    undo: u8,
}

fn sketch() -> impl Strategy<Value = Sketch> {
    let needs = proptest::collection::vec(0_usize..8, 0..3);
    let elements = proptest::option::weighted(0.3, 0_usize..4);
    (0_u8..8, 0_u32..3, needs, elements, 0_u8..4).prop_map(|(kind, retries, needs, elements, undo)| Sketch {
        kind,
        retries,
        needs,
        elements,
        undo,
    })
}

fn plan(sketches: &[Sketch]) -> Plan {
    let steps = sketches.iter().enumerate().map(|(at, sketch)| {
        let (effect, repeatable) = match sketch.kind {
            0 | 1 => (Effect::Read, true),
            2 => (Effect::Write, true),
            7 => (Effect::Destroy, false),
            _ => (Effect::Write, false),
        };
        let needed = sketch.needs.iter().filter(|_| at > 0).map(|need| need % at.max(1));
        let arguments = needed.map(|need| {
            let input = Input::Output { step: format!("s{need}"), path: crate::plan::Path::default() };
            (format!("a{need}"), input)
        });
        let undo = (effect != Effect::Read && sketch.undo > 0).then(|| Undo {
            tool: ToolId::new("w", "undo"),
            arguments: BTreeMap::new(),
            repeatable: sketch.undo == 2,
            origin: if sketch.undo == 3 { Origin::Inferred } else { Origin::Written },
        });
        Step {
            name: format!("s{at}"),
            tool: ToolId::new("w", "tool"),
            effect,
            repeatable,
            arguments: arguments.collect(),
            after: Vec::new(),
            each: sketch.elements.map(|count| Input::Literal(json!(vec![0; count]))),
            when: None,
            retries: sketch.retries,
            undo,
            estimate_ms: 0,
            words: String::new(),
            is_unsure: sketch.kind % 4 == 1,
        }
    });
    Plan::new("random", steps.collect()).unwrap()
}

/// What really happened to one call.
#[derive(Clone, Copy, Debug, Default)]
struct Truth {
    /// How often it took effect.
    happened: u32,
    undone: u32,
    sent: u32,
    /// Its answer was recorded and written down.
    acknowledged: bool,
}

struct Model {
    run: Run,
    /// What a crash goes back to.
    written: String,
    dice: Vec<u8>,
    thrown: usize,
    now: u64,
    truths: BTreeMap<(String, Option<usize>), Truth>,
    in_flight: Vec<Call>,
    wrong: Vec<String>,
}

impl Model {
    fn new(plan: Plan, dice: Vec<u8>) -> Self {
        let allowance = Allowance {
            parallel: 3,
            elements: 10,
            budget_ms: 5000,
            first_pause_ms: 10,
            longest_pause_ms: 100,
            result_bytes: 1000,
        };
        let run = Run::new(plan, allowance);
        let written = serde_json::to_string(&run).unwrap();
        let truths = BTreeMap::new();
        Self { run, written, dice, thrown: 0, now: 0, truths, in_flight: Vec::new(), wrong: Vec::new() }
    }

    fn throw(&mut self, sides: u8) -> u8 {
        self.thrown += 1;
        self.dice[self.thrown % self.dice.len()] % sides
    }

    fn write(&mut self) {
        self.written = serde_json::to_string(&self.run).unwrap();
    }

    fn play(&mut self) -> Report {
        for _ in 0..2000 {
            match self.throw(40) {
                0 => self.crash(),
                1 if self.throw(4) == 0 => {
                    let leaving = if self.throw(2) == 0 { Leaving::Everything } else { Leaving::Nothing };
                    self.run.cancel(leaving);
                    self.write();
                }
                _ => {}
            }
            match self.run.advance(self.now) {
                Next::Confirm(asked) => {
                    let answered = match self.throw(4) {
                        0 => self.run.decline(&asked.digest),
                        _ => self.run.agree(&asked.digest),
                    };
                    answered.unwrap();
                    self.write();
                }
                Next::Call(calls) => {
                    self.write();
                    calls.into_iter().for_each(|call| self.send(call));
                }
                Next::Wait { until } => {
                    if self.in_flight.is_empty() {
                        self.now = until.expect("nothing is in flight, so there is a time");
                    } else {
                        self.land();
                    }
                }
                Next::Done(report) => return report,
            }
        }
        panic!("a run must end");
    }

    /// The program dies; what it had sent is carried out or not, and nobody hears of it.
    fn crash(&mut self) {
        for call in std::mem::take(&mut self.in_flight) {
            if self.throw(2) == 0 {
                self.take_effect(&call);
            }
        }
        self.run = serde_json::from_str(&self.written).unwrap();
        self.run.recover();
        self.write();
    }

    fn send(&mut self, call: Call) {
        let step = self.run.plan().step(&call.id.step).unwrap().clone();
        for need in step.needs() {
            let is_open = |it: &Call| it.id.step == need && it.id.direction == call.id.direction;
            if call.id.direction == Direction::Forth && self.in_flight.iter().any(is_open) {
                self.wrong.push(format!("`{}` was sent while `{need}` was under way", call.id.step));
            }
        }
        if self.in_flight.len() >= 3 {
            self.wrong.push("more calls at the same time than allowed".to_owned());
        }
        if call.id.direction == Direction::Forth {
            let truth = self.truths.entry((call.id.step.clone(), call.id.element)).or_default();
            truth.sent += 1;
            if truth.acknowledged {
                self.wrong.push(format!("`{}` was acknowledged and sent again", call.id.step));
            }
        }
        self.in_flight.push(call);
    }

    fn take_effect(&mut self, call: &Call) {
        let step = self.run.plan().step(&call.id.step).unwrap();
        let (effect, repeatable) = (step.effect, step.repeatable);
        let truth = self.truths.entry((call.id.step.clone(), call.id.element)).or_default();
        match call.id.direction {
            Direction::Back => truth.undone += 1,
            Direction::Forth if effect == Effect::Read => {}
            Direction::Forth if repeatable => truth.happened = 1,
            Direction::Forth => {
                truth.happened += 1;
                if truth.happened > 1 {
                    self.wrong.push(format!("`{}` took effect twice", call.id.step));
                }
            }
        }
    }

    /// One call in flight comes back, in any order.
    fn land(&mut self) {
        let sides = u8::try_from(self.in_flight.len()).unwrap();
        let at = usize::from(self.throw(sides));
        let call = self.in_flight.remove(at);
        self.now += 7;
        let outcome = match self.throw(16) {
            0 => Outcome::ToolFailed("no".to_owned()),
            1 => Outcome::NotSent("not sent".to_owned()),
            2 => Outcome::Refused("forbidden".to_owned()),
            3 => {
                if self.throw(2) == 0 {
                    self.take_effect(&call);
                }
                Outcome::Lost("lost".to_owned())
            }
            _ => {
                self.take_effect(&call);
                Outcome::Value(json!(1))
            }
        };
        let is_value = matches!(outcome, Outcome::Value(_));
        self.run.record(&call.id, outcome, self.now);
        self.write();
        if is_value && call.id.direction == Direction::Forth {
            self.truths.entry((call.id.step.clone(), call.id.element)).or_default().acknowledged = true;
        }
    }

    /// Holds the report against what really happened.
    fn judge(&self, report: &Report) -> Result<(), String> {
        if let Some(wrong) = self.wrong.first() {
            return Err(wrong.clone());
        }
        let mut told = BTreeSet::new();
        for account in &report.accounts {
            let key = (account.step.clone(), account.element);
            let truth = self.truths.get(&key).copied().unwrap_or_default();
            told.insert(key);
            let is_true = match account.fate {
                Upshot::Done if account.effect == Effect::Read => truth.sent > 0,
                Upshot::Done => truth.happened == 1 && truth.undone == 0,
                Upshot::Undone => truth.happened == 1 && truth.undone >= 1,
                // Taking back may fail, or have had no effect, but it must not have worked unnoticed.
                Upshot::NotUndone => truth.happened == 1 && truth.undone == 0,
                Upshot::Failed | Upshot::Skipped | Upshot::NotStarted => truth.happened == 0,
                Upshot::Unknown => truth.sent > 0,
                Upshot::Running => false,
            };
            let is_lost = truth.acknowledged
                && !matches!(account.fate, Upshot::Done | Upshot::Undone | Upshot::NotUndone)
                && !(account.fate == Upshot::Unknown && account.direction == Direction::Back);
            if !is_true || is_lost {
                return Err(format!("{account:?} is not true: {truth:?}"));
            }
        }
        if let Some(untold) = self.truths.keys().find(|key| !told.contains(*key)) {
            return Err(format!("nothing is said about {untold:?}"));
        }
        let stands = |truth: &Truth| truth.happened > 0 && truth.undone == 0;
        let is_honest = match report.ending {
            Ending::Undone => !self.truths.values().any(stands),
            Ending::Completed => {
                report.accounts.iter().all(|it| matches!(it.fate, Upshot::Done | Upshot::Skipped))
            }
            Ending::Unknown => report.accounts.iter().any(|it| it.fate == Upshot::Unknown),
            Ending::Failed | Ending::Cancelled => true,
            Ending::Open => false,
        };
        let words = report.words();
        let claims = words.contains("nothing was changed") && self.truths.values().any(stands);
        if !is_honest || claims || (words.contains("rolled back") != (report.ending == Ending::Undone)) {
            return Err(format!("the ending is not true: {:?}", self.truths));
        }
        Ok(())
    }
}
