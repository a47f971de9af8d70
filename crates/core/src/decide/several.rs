//! Tasks of several steps: which tool each step means, and whether all of them together are a plan.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Ambiguity, Conclusion, Decide, Lack, Next, Prospect, normalised};
use crate::arguments::{self, Argument, Filling, Form, Remark, Source, Sources};
use crate::plan::{self, Choice, ChosenStep, Input, Plan, Splitting, Step};
use crate::rank::{Candidate, Decision, Intent, Verdict};
use crate::task::{Clause, Each, Shape, StandIn, names_one, stand_ins};
use crate::thresholds::thresholds;
use crate::tool::{Effect, Tool};

/// A step of a task, with the tool that it means.
struct Assigned<'a> {
    clause: Clause,
    choice: Choice,
    tool: &'a Tool,
    form: &'a Form,
    /// The tool that takes it back, and what that takes.
    inverse: Option<(&'a Tool, &'a Form)>,
}

/// What one call leaves undone of a task.
pub(super) struct Undone {
    pub(super) words: Vec<String>,
    /// Whether it does what comes first.
    pub(super) is_first_done: bool,
}

impl Decide<'_> {
    /// Decides about a task that has several steps; `None` where it has one.
    pub(super) fn several(&self) -> Result<Option<Conclusion>, Next> {
        let Some(splitting) = self.splitting().filter(|_| !self.clauses.is_empty()) else {
            return Ok(None);
        };
        if !is_several(&self.clauses) {
            return self.listed(self.clauses.clone());
        }
        let settled = self.settled(splitting)?;
        if !is_several(&settled) {
            return self.listed(settled);
        }
        let whole = self.decision(self.goal.task)?;
        let decisions = self.decisions(&settled)?;
        let ranked: Vec<&Decision> = decisions.iter().map(AsRef::as_ref).collect();
        let chosen: Vec<Option<Choice>> = plan::choose(self.world.catalog, &ranked, &whole)
            .into_iter()
            .enumerate()
            .map(|(at, choice)| Some(self.told_apart(&settled[at], ranked[at], choice?)))
            .collect();
        let sureness = |at: usize| chosen[at].map_or(0.0, |choice| choice.confidence);
        let weakest = (0..chosen.len()).min_by(|a, b| sureness(*a).total_cmp(&sureness(*b)));
        let least = weakest.map_or(0.0, sureness);
        let threshold = self.world.confidence;
        match chosen.iter().copied().collect::<Option<Vec<Choice>>>() {
            Some(choices)
                if least >= thresholds().plan.weakest_step * threshold && together(&choices) >= threshold =>
            {
                let assigned = settled.into_iter().zip(choices).map(|(clause, it)| self.assigned(clause, it));
                self.draw(&assigned.collect::<Vec<_>>()).map(Some)
            }
            _ => {
                let at = weakest.unwrap_or_default();
                let tools = chosen.iter().flatten().map(|it| it.position).collect();
                Ok(Some(Conclusion::Ask(question(&settled[at], &decisions[at], least, tools))))
            }
        }
    }

    /// Returns the requests of the task: its clauses, with what is none of its own joined to the one before.
    fn settled(&self, splitting: Splitting) -> Result<Vec<Clause>, Next> {
        let whole = self.decision(self.goal.task)?;
        let alone = self.decisions(&self.clauses)?;
        let alone: Vec<&Decision> = alone.iter().map(AsRef::as_ref).collect();
        Ok(plan::settle(self.goal.task, self.clauses.clone(), (&alone, &whole), splitting))
    }

    /// Returns what of a task one call of a tool leaves undone: parts that another tool fits, and that none of the
    /// arguments come from. Where there is to be one call, it does one of the parts that mean its tool.
    pub(super) fn undone(&self, position: usize, found: &[Argument]) -> Result<Undone, Next> {
        let (limit, mut undone) =
            (thresholds().plan.undone, Undone { words: Vec::new(), is_first_done: true });
        if self.clauses.len() < 2 {
            return Ok(undone);
        }
        let (parts, is_one_call) = match self.splitting() {
            Some(_) => (self.clauses.clone(), false),
            None => (self.settled(Splitting::Careful)?, true),
        };
        if is_one_call {
            self.decisions(&parts)?;
        }
        let texts: Vec<String> =
            found.iter().filter_map(|it| Some(it.value.as_str()?.to_lowercase())).collect();
        let mut is_done = false;
        for (at, clause) in parts.iter().enumerate() {
            let Some(decision) = self.known.get(&plan::spoken(&parts, at)) else { continue };
            let words = clause.words.to_lowercase();
            let is_its = decision.candidates.first().is_none_or(|it| it.position == position);
            let is_meant = is_its && !(is_one_call && std::mem::replace(&mut is_done, is_its));
            let is_used = texts.iter().any(|text| words.contains(text.as_str()));
            let is_request = clause.shape == Shape::Request && !is_used || decision.confidence >= limit;
            if !is_meant && is_request && clause.shape != Shape::Told {
                undone.is_first_done &= at > 0;
                undone.words.push(clause.words.clone());
            }
        }
        Ok(undone)
    }

    /// Plans one request whose words list values for a tool that takes one at a time.
    fn listed(&self, whole: Vec<Clause>) -> Result<Option<Conclusion>, Next> {
        if !arguments::may_list(self.goal.task) {
            return Ok(None);
        }
        let decision = self.decision(self.goal.task)?;
        let first = decision.candidates.first().filter(|_| decision.verdict == Verdict::Act);
        let Some(first) = first else { return Ok(None) };
        let choice = Choice { position: first.position, confidence: decision.confidence };
        let assigned: Vec<_> = whole.into_iter().take(1).map(|it| self.assigned(it, choice)).collect();
        match assigned.iter().any(|it| it.clause.each.is_some()) {
            true => self.draw(&assigned).map(Some),
            false => Ok(None),
        }
    }

    fn decisions(&self, clauses: &[Clause]) -> Result<Vec<Arc<Decision>>, Next> {
        (0..clauses.len()).map(|at| self.decision(&plan::spoken(clauses, at))).collect()
    }

    /// Raises the confidence of a choice where the tools that are likelier by their words have no place for its values.
    fn told_apart(&self, clause: &Clause, decision: &Decision, choice: Choice) -> Choice {
        let takes = |position: usize| {
            let filling = self.filling(clause, position);
            filling.arguments.iter().any(|it| it.source == Source::Text)
        };
        let is_other = |it: &&Candidate| it.position != choice.position;
        let mut likelier = decision.candidates.iter().take_while(is_other).peekable();
        if likelier.peek().is_none() || !takes(choice.position) || likelier.any(|it| takes(it.position)) {
            return choice;
        }
        let odds = choice.confidence / (1.0 - choice.confidence).max(f64::MIN_POSITIVE)
            * thresholds().plan.only_taker.exp();
        Choice { confidence: odds / (1.0 + odds), ..choice }
    }

    /// Brings a request and its tool together; one whose words list values for it is repeated for them.
    fn assigned(&self, mut clause: Clause, choice: Choice) -> Assigned<'_> {
        let (tools, knowledge) = (self.world.catalog.tools(), &self.world.index.knowledge);
        let tool = &tools[choice.position];
        let form = self.world.catalog.form(choice.position);
        if clause.each.is_none() && arguments::may_list(&clause.words) {
            let given = self.given(form);
            let sources = self.sources(&clause.words, &given);
            let filling = arguments::fill(form, &sources);
            clause.each = plan::repetition(form, knowledge.of(choice.position).effect, &sources, &filling);
        }
        let inverse = plan::inverse(self.world.catalog, knowledge, choice.position);
        let inverse = inverse.map(|at| (&tools[at], self.world.catalog.form(at)));
        Assigned { clause, choice, tool, form, inverse }
    }

    /// Draws the plan of steps whose tools are chosen, or says what one of them lacks.
    fn draw(&self, steps: &[Assigned<'_>]) -> Result<Conclusion, Next> {
        let mut fillings: Vec<Filling> =
            steps.iter().map(|it| self.filling(&it.clause, it.choice.position)).collect();
        let choices: Vec<Choice> = steps.iter().map(|it| it.choice).collect();
        let (confidence, tools) = (together(&choices), choices.iter().map(|it| it.position).collect());
        let mut advised = vec![false; steps.len()];
        loop {
            let chosen_steps: Vec<ChosenStep<'_>> =
                steps.iter().zip(&fillings).map(|(it, filling)| self.chosen(it, filling)).collect();
            let gap = match plan::draw(&plan_name(self.goal.task), &chosen_steps) {
                Ok(plan) => {
                    let single = single(steps, &plan);
                    let found = found(&plan, &fillings);
                    return Ok(Conclusion::Plan(Prospect { plan, confidence, tools, single, found }));
                }
                Err(gap) => gap,
            };
            let Assigned { clause, choice, form, .. } = &steps[gap.at];
            let words = &clause.words;
            if !self.world.advises || std::mem::replace(&mut advised[gap.at], true) {
                let (words, position) = (words.clone(), choice.position);
                let lack = Lack { words, position, missing: gap.missing, confidence, tools };
                return Ok(Conclusion::Incomplete(lack));
            }
            // What earlier steps give is known by now, so only what nobody has is looked for.
            let known = Filling { missing: gap.missing, ..fillings[gap.at].clone() };
            let (words, given) = (said(clause), self.given(form));
            let sources = self.sources(&words, &given);
            fillings[gap.at] = self.completed(gap.at, choice.position, (&sources, known))?;
        }
    }

    fn chosen<'s>(&self, step: &'s Assigned<'_>, filling: &Filling) -> ChosenStep<'s> {
        let Assigned { clause, choice, tool, form, inverse } = step;
        let knowledge = self.world.index.knowledge.of(choice.position);
        let arguments: Map<String, Value> = filling.object();
        let (words, given) = (said(clause), self.given(form));
        let sources = self.sources(&words, &given);
        // What earlier steps give is no doubt about the words.
        let known = Filling { missing: Vec::new(), ..filling.clone() };
        // What is said in plain signs, with nothing left over, needs no more.
        let is_plain =
            |it: &Argument| matches!(it.source, Source::Given | Source::Default) || it.is_certain();
        // What is listed for several calls is left over by each of them, and `the first one` is no number.
        let picks = !stand_ins(&clause.words, clause.language).is_empty();
        let is_content = |remark: Remark| remark != Remark::Word && (remark != Remark::Number || !picks);
        let leaves_over = clause.each.is_none() && known.leftover.texts.iter().any(|(it, _)| is_content(*it));
        let is_told = known.arguments.iter().all(is_plain) && !leaves_over;
        let exactness = if is_told { 1.0 } else { known.exactness(form, &sources) };
        // A name or a number that no argument has may be what the step is about.
        let limits = &thresholds().call;
        let least = if leaves_over { limits.read } else { limits.step };
        // Who asks, or says what is not to be done, orders nothing.
        let is_ordered = knowledge.effect == Effect::Read || !known.leftover.is_no_order;
        // What has to be confirmed is asked about like what destroys.
        let is_asked = (self.world.confirms)(tool, &arguments, &Intent::of(&clause.words));
        ChosenStep {
            clause,
            tool,
            form,
            action: knowledge.action,
            effect: if is_asked { Effect::Destroy } else { knowledge.effect },
            filling: filling.clone(),
            estimate_ms: (self.world.estimate_ms)(tool),
            inverse: *inverse,
            is_unsure: exactness < least || !is_ordered,
        }
    }

    /// Fills in what the words of one request say.
    fn filling(&self, clause: &Clause, position: usize) -> Filling {
        let (tool, form) = (&self.world.catalog.tools()[position], self.world.catalog.form(position));
        let (words, given) = (said(clause), self.given(form));
        let earlier: &[Value] = self.goal.previous.map_or(&[], std::slice::from_ref);
        // The reader learnt from whole requests; of a step the rules know more.
        let sources = Sources { earlier, ..self.sources(&words, &given) };
        plan::read(tool, form, clause, &sources)
    }

    /// Returns what a step is filled from, but for earlier results.
    fn sources<'s>(&self, task: &'s str, given: &'s Map<String, Value>) -> Sources<'s> {
        Sources { task, given, named: None, reading: None, earlier: &[], now: self.world.now }
    }

    /// Returns what the caller gave for a tool.
    fn given(&self, form: &Form) -> Map<String, Value> {
        let given = self.goal.given.iter().filter(|(name, _)| form.schema_of(name).is_some());
        given.map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

fn is_several(clauses: &[Clause]) -> bool {
    clauses.len() > 1 || clauses.iter().any(|it| it.each.is_some())
}

fn question(clause: &Clause, decision: &Arc<Decision>, confidence: f64, tools: Vec<usize>) -> Ambiguity {
    let words = &clause.words;
    let text = match decision.candidates.is_empty() {
        true => format!("No tool here fits the step “{words}”. How could it be done?"),
        false => format!("Which tool is meant by the step “{words}”?"),
    };
    Ambiguity { text, step: Some(words.clone()), decision: Arc::clone(decision), confidence, tools }
}

/// Returns how sure steps are together: the geometric mean, in which a weak one counts and a long plan is not punished.
fn together(choices: &[Choice]) -> f64 {
    let sum: f64 = choices.iter().map(|choice| choice.confidence.max(f64::MIN_POSITIVE).ln()).sum();
    (sum / choices.len().max(1) as f64).exp()
}

/// Returns what one request says. Where listed things belong shows when one of them stands in the words.
fn said(clause: &Clause) -> String {
    match &clause.each {
        Some(Each::Listed(items)) => format!("{} {}", clause.words, items.first().map_or("", String::as_str)),
        Some(Each::Found | Each::Values { .. }) | None => clause.words.clone(),
    }
}

/// Returns the names of the steps that speak of one thing of several: the latest, the first.
fn single(steps: &[Assigned<'_>], plan: &Plan) -> Vec<String> {
    let is_one = |clause: &Clause| {
        let picks = stand_ins(&clause.words, clause.language);
        names_one(&clause.words) || picks.contains(&StandIn::First) || picks.contains(&StandIn::Last)
    };
    let steps = steps.iter().zip(plan.steps());
    let steps = steps.filter(|(it, _)| it.clause.each.is_none() && is_one(&it.clause));
    steps.map(|(_, step)| step.name.clone()).collect()
}

/// Returns the values of a plan that were found and not given, and where they come from.
fn found(plan: &Plan, fillings: &[Filling]) -> Vec<Argument> {
    let own = |(step, filling): (&Step, &Filling)| -> Vec<Argument> {
        let is_used = |it: &&Argument| {
            let value = step.arguments.get(&it.name).and_then(Input::literal);
            it.source != Source::Given && value == Some(&it.value)
        };
        let named = |it: &Argument| Argument { name: format!("{}.{}", step.name, it.name), ..it.clone() };
        filling.arguments.iter().filter(is_used).map(named).collect()
    };
    plan.steps().iter().zip(fillings).flat_map(own).collect()
}

/// Returns a task as the name of its plan: on one line, without what cannot be seen.
fn plan_name(task: &str) -> String {
    let line = normalised(task);
    if line.is_empty() { "task".to_owned() } else { line }
}
