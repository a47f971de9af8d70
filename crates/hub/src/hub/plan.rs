//! From a task in plain words to a plan of several steps, or to what is missing for one.

use std::sync::Arc;

use serde_json::{Map, Value};
use toolyard_core::fill::{self, Argument, Form, Missing, Now, Wish};
use toolyard_core::plan::{self, Choice, Duty, Input, Plan, Splitting, Step};
use toolyard_core::route::{Candidate, Decision, Intent, Verdict};
use toolyard_core::task::{Clause, Each, StandIn, clauses, stand_ins};
use toolyard_core::tool::{Effect, Tool};

use super::Hub;
use crate::clock::now;
use crate::config::Stance;
use crate::jsonrpc::raw;
use crate::live::Snapshot;
use crate::routing::Wanted;

/// What a task may use besides its words.
#[derive(Clone, Copy, Debug)]
pub struct Errand<'a> {
    /// The task, and whose it is.
    pub wanted: Wanted<'a>,
    /// How readily it is taken apart.
    pub splitting: Splitting,
    /// Values that the caller knows.
    pub given: &'a Map<String, Value>,
    /// A result that the caller had before.
    pub previous: Option<&'a Value>,
}

/// What became of a task.
#[derive(Debug)]
pub enum Planned {
    /// It is one request.
    Whole,
    /// Nothing is sure enough for one of its requests.
    Unsure(Doubt),
    /// A value is missing that nobody has.
    Incomplete(Lack),
    /// It is a plan.
    Ready(Prospect),
}

/// A request that may mean several tools.
#[derive(Debug)]
pub struct Doubt {
    /// Its words.
    pub words: String,
    /// What it may mean.
    pub decision: Arc<Decision>,
    /// How sure the likeliest tool is.
    pub confidence: f64,
}

/// Values that are missing.
#[derive(Debug)]
pub struct Lack {
    /// The words of the request that needs them.
    pub words: String,
    /// The tool that needs them, by its position.
    pub position: usize,
    /// The values.
    pub missing: Vec<Missing>,
    /// How sure the plan is otherwise.
    pub confidence: f64,
}

/// A plan, and how sure it is.
#[derive(Debug)]
pub struct Prospect {
    /// The plan.
    pub plan: Plan,
    /// How likely its steps are right, as their geometric mean.
    pub confidence: f64,
    /// The steps of whose results one thing is meant.
    pub single: Vec<String>,
    /// The values that were found for it, named after step and parameter.
    pub found: Vec<Argument>,
}

/// A call that was never measured takes this long.
const UNMEASURED_MS: u64 = 500;

impl Hub {
    /// Plans a task of several steps.
    pub async fn plan(&self, snapshot: &Snapshot, errand: &Errand<'_>) -> Planned {
        let task = errand.wanted.task;
        let cut = clauses(task);
        let is_several = |cut: &[Clause]| cut.len() > 1 || cut.iter().any(|it| it.each.is_some());
        if !self.config().routing.enable_multi_tool {
            return Planned::Whole;
        }
        if !is_several(&cut) {
            return self.repeat(snapshot, errand, cut).await;
        }
        let whole = self.decide(snapshot, &errand.wanted).await;
        let alone = self.decide_each(snapshot, errand, &cut).await;
        let seen: Vec<&Decision> = alone.iter().map(AsRef::as_ref).collect();
        let settled = plan::settle(task, cut, (&seen, &whole), errand.splitting);
        if !is_several(&settled) {
            return self.repeat(snapshot, errand, settled).await;
        }
        let decisions = self.decide_each(snapshot, errand, &settled).await;
        let seen: Vec<&Decision> = decisions.iter().map(AsRef::as_ref).collect();
        let told = |(at, choice): (usize, Option<Choice>)| {
            Some(told(snapshot, errand, (&settled[at], seen[at]), choice?))
        };
        let chosen = plan::choose(&snapshot.catalog, &seen, &whole);
        let chosen: Vec<Option<Choice>> = chosen.into_iter().enumerate().map(told).collect();
        let threshold = self.config().routing.confidence_threshold;
        let weakest = (0..chosen.len()).min_by(|a, b| sureness(chosen[*a]).total_cmp(&sureness(chosen[*b])));
        let least = weakest.map_or(0.0, |at| sureness(chosen[at]));
        match chosen.iter().copied().collect::<Option<Vec<Choice>>>() {
            Some(choices) if least >= WEAKEST * threshold && together(&choices) >= threshold => {
                let settled = repeated(snapshot, errand, settled, &choices);
                self.draw(snapshot, errand, &settled, &choices).await
            }
            _ => {
                let at = weakest.unwrap_or_default();
                let (words, decision) = (settled[at].words.clone(), Arc::clone(&decisions[at]));
                Planned::Unsure(Doubt { words, decision, confidence: least })
            }
        }
    }

    /// Plans one request whose words list values for a tool that takes one at a time.
    async fn repeat(&self, snapshot: &Snapshot, errand: &Errand<'_>, whole: Vec<Clause>) -> Planned {
        if !fill::may_list(errand.wanted.task) {
            return Planned::Whole;
        }
        let decision = self.decide(snapshot, &errand.wanted).await;
        let first = decision.candidates.first().filter(|_| decision.verdict == Verdict::Act);
        let Some(first) = first else { return Planned::Whole };
        let choices = [Choice { position: first.position, confidence: decision.confidence }];
        let clauses = repeated(snapshot, errand, whole, &choices);
        match clauses.iter().any(|it| it.each.is_some()) {
            true => self.draw(snapshot, errand, &clauses, &choices).await,
            false => Planned::Whole,
        }
    }

    async fn decide_each(
        &self,
        snapshot: &Snapshot,
        errand: &Errand<'_>,
        cut: &[Clause],
    ) -> Vec<Arc<Decision>> {
        let mut decisions = Vec::with_capacity(cut.len());
        for at in 0..cut.len() {
            let words = plan::spoken(cut, at);
            decisions.push(self.decide(snapshot, &Wanted { task: &words, ..errand.wanted }).await);
        }
        decisions
    }

    async fn draw(
        &self,
        snapshot: &Snapshot,
        errand: &Errand<'_>,
        clauses: &[Clause],
        choices: &[Choice],
    ) -> Planned {
        let (tools, index) = (snapshot.catalog.tools(), snapshot.index());
        let form = |position: usize| (&tools[position], Form::of(&tools[position]));
        let forms: Vec<(&Tool, Form)> = choices.iter().map(|choice| form(choice.position)).collect();
        let inverse = |choice: &Choice| plan::inverse(&snapshot.catalog, &index.knowledge, choice.position);
        let inverses: Vec<Option<(&Tool, Form)>> =
            choices.iter().map(|choice| inverse(choice).map(form)).collect();
        let now = now();
        let mut fillings: Vec<fill::Filling> =
            clauses.iter().zip(&forms).map(|(clause, form)| filling(errand, clause, form, now)).collect();
        let duty = |at: usize, filling: &fill::Filling| {
            let (clause, (tool, form), position) = (&clauses[at], &forms[at], choices[at].position);
            let knowledge = index.knowledge.of(position);
            let effect = match self.step_stance(snapshot, tool, (clause, filling)) {
                // What has to be confirmed is asked about like what destroys.
                Stance::Ask => Effect::Destroy,
                Stance::Allow | Stance::Deny => knowledge.effect,
            };
            let measured = self.measured(tool.id.as_str()).filter(|it| it.calls > 0);
            Duty {
                clause,
                tool,
                form,
                action: knowledge.action,
                effect,
                filling: filling.clone(),
                estimate_ms: measured.map_or(UNMEASURED_MS, |it| it.latency_ms.max(1.0) as u64),
                inverse: inverses[at].as_ref().map(|(tool, form)| (*tool, form)),
            }
        };
        let confidence = together(choices);
        let mut adviser = self.adviser();
        let mut advised = vec![false; clauses.len()];
        loop {
            let drawn = {
                let duties: Vec<Duty<'_>> =
                    fillings.iter().enumerate().map(|(at, it)| duty(at, it)).collect();
                plan::draw(&plan_name(errand.wanted.task), &duties)
            };
            let gap = match drawn {
                Ok(plan) => {
                    let is_one = |(clause, _): &(&Clause, _)| clause.each.is_none() && means_one(clause);
                    let steps = clauses.iter().zip(plan.steps()).filter(is_one);
                    let single = steps.map(|(_, step)| step.name.clone()).collect();
                    let found = found(&plan, &fillings);
                    let plan = self.judged(plan);
                    return Planned::Ready(Prospect { plan, confidence, single, found });
                }
                Err(gap) => gap,
            };
            // What earlier steps give is known by now, so only what nobody has is looked for.
            match adviser.as_mut().filter(|_| !std::mem::replace(&mut advised[gap.at], true)) {
                Some(adviser) => {
                    let (tool, form) = &forms[gap.at];
                    let known = fill::Filling { missing: gap.missing, ..fillings[gap.at].clone() };
                    let (words, given) = said(errand, &clauses[gap.at], form);
                    let wish = Wish { task: &words, given: &given, earlier: &[], now };
                    fillings[gap.at] = adviser.complete((tool, form), &wish, known).await;
                }
                None => {
                    let (words, position) = (clauses[gap.at].words.clone(), choices[gap.at].position);
                    return Planned::Incomplete(Lack { words, position, missing: gap.missing, confidence });
                }
            }
        }
    }

    /// Says whether a step may run, as far as its arguments are known before anything ran.
    fn step_stance(
        &self,
        snapshot: &Snapshot,
        tool: &Tool,
        (clause, filling): (&Clause, &fill::Filling),
    ) -> Stance {
        let arguments: Map<String, Value> =
            filling.arguments.iter().map(|it| (it.name.clone(), it.value.clone())).collect();
        let intent = Intent::of(&clause.words);
        self.judge(snapshot, tool, Some(&raw(&arguments)), Some(&intent)).stance
    }
}

/// What it is worth that no tool that is likelier by its words takes what a step says, as a logarithm of odds.
const TOLD: f64 = 1.0;

/// Raises the confidence of a choice where the tools that are likelier by their words have no place for the values.
fn told(
    snapshot: &Snapshot,
    errand: &Errand<'_>,
    (clause, decision): (&Clause, &Decision),
    choice: Choice,
) -> Choice {
    let takes = |position: usize| {
        let tool = &snapshot.catalog.tools()[position];
        let filling = filling(errand, clause, &(tool, Form::of(tool)), now());
        filling.arguments.iter().any(|it| it.source == fill::Source::Text)
    };
    let is_other = |it: &&Candidate| it.position != choice.position;
    let mut likelier = decision.candidates.iter().take_while(is_other).peekable();
    if likelier.peek().is_none() || !takes(choice.position) || likelier.any(|it| takes(it.position)) {
        return choice;
    }
    let odds = choice.confidence / (1.0 - choice.confidence).max(f64::MIN_POSITIVE) * TOLD.exp();
    Choice { confidence: odds / (1.0 + odds), ..choice }
}

/// How much of the threshold the least sure step of a plan may miss when the others are surer.
const WEAKEST: f64 = 0.75;

fn sureness(choice: Option<Choice>) -> f64 {
    choice.map_or(0.0, |choice| choice.confidence)
}

/// Returns how sure steps are together: the geometric mean, in which a weak one counts and a long plan is not punished.
fn together(choices: &[Choice]) -> f64 {
    let sum: f64 = choices.iter().map(|choice| choice.confidence.max(f64::MIN_POSITIVE).ln()).sum();
    (sum / choices.len().max(1) as f64).exp()
}

/// Returns the values of a plan that were found and not given, and where they come from.
fn found(plan: &Plan, fillings: &[fill::Filling]) -> Vec<Argument> {
    let own = |(step, filling): (&Step, &fill::Filling)| -> Vec<Argument> {
        let is_used = |it: &&Argument| {
            let input = step.arguments.get(&it.name);
            it.source != fill::Source::Given
                && matches!(input, Some(Input::Literal(value)) if *value == it.value)
        };
        let named = |it: &Argument| Argument { name: format!("{}.{}", step.name, it.name), ..it.clone() };
        filling.arguments.iter().filter(is_used).map(named).collect()
    };
    plan.steps().iter().zip(fillings).flat_map(own).collect()
}

/// Fills in what the words of one request say.
fn filling(errand: &Errand<'_>, clause: &Clause, (tool, form): &(&Tool, Form), now: Now) -> fill::Filling {
    let (words, given) = said(errand, clause, form);
    let earlier: &[Value] = errand.previous.map_or(&[], std::slice::from_ref);
    plan::read(tool, form, clause, &Wish { task: &words, given: &given, earlier, now })
}

/// Repeats the requests whose words list values for a tool that takes one at a time.
fn repeated(
    snapshot: &Snapshot,
    errand: &Errand<'_>,
    clauses: Vec<Clause>,
    choices: &[Choice],
) -> Vec<Clause> {
    let now = now();
    let repeat = |(clause, choice): (Clause, &Choice)| {
        if clause.each.is_some() || !fill::may_list(&clause.words) {
            return clause;
        }
        let form = Form::of(&snapshot.catalog.tools()[choice.position]);
        let effect = snapshot.index().knowledge.of(choice.position).effect;
        let (words, given) = said(errand, &clause, &form);
        let wish = Wish { task: &words, given: &given, earlier: &[], now };
        let each = plan::repetition(&form, effect, &wish, &fill::fill(&form, &wish));
        Clause { each, ..clause }
    };
    clauses.into_iter().zip(choices).map(repeat).collect()
}

/// Returns what one request says, and what the caller gave for its tool.
fn said(errand: &Errand<'_>, clause: &Clause, form: &Form) -> (String, Map<String, Value>) {
    let given = errand.given.iter().filter(|(name, _)| form.schema_of(name).is_some());
    // Where the listed things belong shows when one of them stands in the words.
    let words = match &clause.each {
        Some(Each::Listed(items)) => format!("{} {}", clause.words, items.first().map_or("", String::as_str)),
        Some(Each::Found | Each::Values { .. }) | None => clause.words.clone(),
    };
    (words, given.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Whether a request speaks of one thing of several: the latest, the first.
fn means_one(clause: &Clause) -> bool {
    const ONE: [&str; 6] = ["latest", "newest", "recent", "last", "first", "oldest"];
    let is_said = clause.words.split_whitespace().any(|word| ONE.contains(&word.to_lowercase().as_str()));
    let picks = stand_ins(&clause.words, clause.language);
    is_said || picks.contains(&StandIn::First) || picks.contains(&StandIn::Last)
}

fn plan_name(task: &str) -> String {
    let line = crate::routing::normalised(task);
    if line.is_empty() { "task".to_owned() } else { line }
}
