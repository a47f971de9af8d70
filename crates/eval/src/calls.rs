//! What becomes of a call of `smart_route`: which calls it makes, and whether they are what was asked.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};
use toolyard_core::arguments::equivalent;
use toolyard_core::rank::Judgement;

use crate::bench::{Bench, Outcome, Sent, in_parallel};
use crate::sets::{self, Case, RightStep, Sort};
use crate::{Error, Experiment, Progress};

/// What was measured on one fleet.
#[derive(Debug, Serialize)]
pub struct Calls {
    /// The name of the fleet.
    pub name: String,
    /// From people's own words.
    pub words: CallTallies,
    /// From an assistant's calls, where the fleet has them.
    pub values: Option<CallTallies>,
    /// Every request, for whoever wants to look closer.
    pub cases: Vec<Seen>,
}

/// What became of the requests of each kind.
pub type CallTallies = BTreeMap<&'static str, CallTally>;

/// What became of the requests of one kind.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CallTally {
    /// How many there are.
    pub requests: usize,
    /// Something ran, and it is exactly what was asked.
    pub ran_exact: usize,
    /// Something ran, and its tool, an argument or a missing step makes it something else.
    pub ran_wrong: usize,
    /// Some steps ran, each of them as asked, and it was said which did not.
    pub part_exact: usize,
    /// Some steps ran, one of them not as asked.
    pub part_wrong: usize,
    /// A call or a plan was shown, to be confirmed first.
    pub confirm: usize,
    /// A draft was handed back.
    pub draft: usize,
    /// Drafts whose tool is right.
    pub draft_tool: usize,
    /// Drafts whose tool and values are right as far as they go.
    pub draft_values: usize,
    /// It was asked which tool is meant.
    pub asked: usize,
    /// Of these, the right tool was offered.
    pub asked_right: usize,
    /// No tool fits, it was said.
    pub declined: usize,
}

/// What became of one request.
#[derive(Clone, Debug, Serialize)]
pub struct Seen {
    id: String,
    kind: &'static str,
    with: &'static str,
    task: String,
    what: &'static str,
    is_right: bool,
    /// How likely the call is exactly what was asked, and whether nothing is missing or unused.
    probability: f64,
    is_whole: bool,
    /// Whether the call, made or drafted, is what was asked.
    is_exact: bool,
    /// How likely the first tool is right, no tool fits, and it says too little.
    right: f64,
    nothing: f64,
    vague: f64,
    sent: Vec<(String, Map<String, Value>)>,
    wanted: Vec<Map<String, Value>>,
}

/// Decides about every request of a fleet, from its words and from an assistant's calls.
pub fn measure(
    folder: &Path,
    limit: Option<usize>,
    settings: &Experiment,
    Progress { begin, advance }: Progress,
) -> Result<Calls, Error> {
    let collection = sets::read(folder, limit)?;
    let vectors = |missing| begin(&format!("{}, vectors of tools", collection.name), missing);
    let bench = Bench::of_set(&collection.tools, settings, vectors, advance);
    begin(&collection.name, collection.cases.len());
    let all = in_parallel(&collection.cases, |case: &Case| {
        let from_words = bench.call(&case.task, None, settings);
        let assisted = case.assisted.as_deref().and_then(|it| match it {
            [only] if case.kind != Sort::Multi => Some(bench.call(&only.task, Some(&only.values), settings)),
            _ => None,
        });
        advance(1);
        (from_words, assisted)
    });
    let (mut words, mut values, mut cases) = (CallTallies::new(), CallTallies::new(), Vec::new());
    for (case, (from_words, assisted)) in collection.cases.iter().zip(all) {
        let outcomes = [("words", Some(from_words), &mut words), ("values", assisted, &mut values)];
        for (with, outcome, tallies) in outcomes {
            let Some((outcome, Judgement { right, none: nothing, vague })) = outcome else { continue };
            let is_right = tallies.entry(kind(case.kind)).or_default().add(case, &outcome);
            let (what, sent) = match outcome {
                Outcome::Ran(sent) => ("ran", sent),
                Outcome::Stopped(sent) => ("part", sent),
                Outcome::Confirm(sent) => ("confirm", sent),
                Outcome::Draft(sent) => ("draft", sent),
                Outcome::Asked(offered) => {
                    let offer =
                        |tool: usize| Sent { tool, arguments: Map::new(), probability: 0.0, is_whole: false };
                    ("asked", offered.into_iter().map(offer).collect())
                }
                Outcome::Declined => ("declined", Vec::new()),
            };
            let is_met = case.steps.first().is_some_and(|step| sent.iter().any(|it| step.is_met_by(it)));
            let first = sent.first();
            let (probability, is_whole) =
                (first.map_or(0.0, |it| it.probability), first.is_some_and(|it| it.is_whole));
            let name =
                |tool: usize| format!("{}__{}", collection.tools[tool].server, collection.tools[tool].name);
            cases.push(Seen {
                id: case.id.clone(),
                kind: kind(case.kind),
                with,
                task: case.task.clone(),
                what,
                is_right,
                probability,
                is_whole,
                is_exact: is_met,
                right,
                nothing,
                vague,
                sent: sent.into_iter().map(|it| (name(it.tool), it.arguments)).collect(),
                wanted: case.steps.iter().map(|it| it.arguments.clone()).collect(),
            });
        }
    }
    let values = Some(values).filter(|it| !it.is_empty());
    Ok(Calls { name: collection.name, words, values, cases })
}

fn kind(sort: Sort) -> &'static str {
    match sort {
        Sort::Single => "single",
        Sort::Multi => "multi",
        Sort::Vague => "vague",
        Sort::Unanswerable => "unanswerable",
        Sort::Destructive => "destructive",
    }
}

impl CallTally {
    /// Counts what became of a request; says whether it is right.
    fn add(&mut self, case: &Case, outcome: &Outcome) -> bool {
        let first = &case.steps[..case.steps.len().min(1)];
        let needed = if case.kind == Sort::Multi { &case.steps[..] } else { first };
        let is_served = matches!(case.kind, Sort::Single | Sort::Multi | Sort::Destructive);
        let is_allowed = |sent: &Sent| case.steps.iter().any(|step| step.tools.contains(&sent.tool));
        self.requests += 1;
        match outcome {
            Outcome::Ran(sent) => {
                let is_done = |step: &RightStep| sent.iter().any(|it| step.is_met_by(it));
                let is_exact = is_served && needed.iter().all(is_done) && sent.iter().all(is_allowed);
                *(if is_exact { &mut self.ran_exact } else { &mut self.ran_wrong }) += 1;
                is_exact
            }
            Outcome::Stopped(sent) => {
                let is_step = |it: &Sent| needed.iter().any(|step| step.is_met_by(it));
                let is_exact = is_served && sent.iter().all(is_step);
                *(if is_exact { &mut self.part_exact } else { &mut self.part_wrong }) += 1;
                is_exact
            }
            Outcome::Confirm(sent) => {
                self.confirm += 1;
                sent.iter().all(is_allowed)
            }
            Outcome::Draft(sent) => {
                let is_right = is_served && sent.iter().all(is_allowed);
                let agrees = |it: &Sent| needed.iter().any(|step| step.agrees_with(it));
                self.draft += 1;
                self.draft_tool += usize::from(is_right);
                self.draft_values += usize::from(is_right && sent.iter().all(agrees));
                is_right
            }
            Outcome::Asked(offered) => {
                let is_right = offered.iter().any(|it| case.steps.iter().any(|step| step.tools.contains(it)));
                self.asked += 1;
                self.asked_right += usize::from(is_right);
                is_right
            }
            Outcome::Declined => {
                self.declined += 1;
                !is_served
            }
        }
    }
}

impl RightStep {
    /// Whether a call is this step, with everything that the request determines.
    fn is_met_by(&self, sent: &Sent) -> bool {
        let has =
            |name: &String, value: &Value| sent.arguments.get(name).is_some_and(|it| equivalent(value, it));
        let has_somewhere = |value: &Value| sent.arguments.values().any(|it| equivalent(value, it));
        match self.tools.iter().position(|tool| *tool == sent.tool) {
            None => false,
            Some(0) => self.arguments.iter().all(|(name, value)| has(name, value)),
            // Other tools have other names for the same values.
            Some(_) => self.arguments.values().all(has_somewhere),
        }
    }

    /// Whether nothing in a call contradicts this step.
    fn agrees_with(&self, sent: &Sent) -> bool {
        let agrees = |(name, value): (&String, &Value)| {
            self.arguments.get(name).is_none_or(|it| equivalent(it, value))
        };
        self.tools.contains(&sent.tool) && sent.arguments.iter().all(agrees)
    }
}
