//! Tasks of several steps: planned, confirmed where something is destroyed, run, and reported.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolyard_core::decide::{Lack, Prospect};
use toolyard_core::plan::{Plan, Step};
use toolyard_core::run::{Asked as Question, Confirmation, Ending, Report, Upshot};

use super::RouteCall;
use super::confirm::{self, PATIENCE};
use super::form::{self, Answered};
use super::input::Mode;
use super::reply::{Reply, shortened};
use crate::caller::Wording;
use crate::hub::{Execution, NotTaken, Pause, question};
use crate::seal::digest;

/// What the handle of a confirmation is sealed for.
const PURPOSE: &str = "workflow confirmation";

/// What a confirmation holds: its number, the run, the question, how sure the plan was, the steps of which one
/// thing is meant, and a digest of whom it is for.
type Bound = (u64, String, String, f64, Vec<String>, String);

/// A plan on its way, with what its answer needs to know.
struct Journey<'a> {
    confidence: f64,
    single: &'a [String],
}

impl RouteCall {
    /// Runs a plan, or shows it.
    pub(super) async fn planned(&mut self, prospect: Prospect) -> Box<RawValue> {
        self.settled.found.clone_from(&prospect.found);
        if self.input.mode == Mode::DryRun {
            return self.foreseen(&prospect);
        }
        let Prospect { plan, confidence, single, .. } = prospect;
        match self.reception.hub.begin_for(plan, &self.caller).await {
            Ok(execution) => self.drive(execution, &Journey { confidence, single: &single }).await,
            Err(err) => self.failed(&err.to_string(), confidence, &[]),
        }
    }

    /// Asks for the values that nobody has, before anything runs.
    pub(super) fn lacking(&self, lack: &Lack) -> Box<RawValue> {
        let tool = &self.snapshot.catalog.tools()[lack.position];
        let id = tool.id.as_str();
        let names: Vec<&str> = lack.missing.iter().map(|it| it.name.as_str()).collect();
        let named: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let words = shortened(&lack.words, 200);
        let text = format!("What is {} for the step “{words}” ({id})?", named.join(" and "));
        let mut reply = Reply::new(&[], lack.confidence);
        reply.set("alternatives", &json!([]));
        reply.set("needsClarification", &true);
        reply.set("clarificationQuestion", &text);
        reply.set("tool", &id);
        reply.set("missing", &names);
        let signature = format!("{id}{}", self.snapshot.catalog.form(lack.position).brief_signature(&names));
        reply.set("signature", &signature);
        reply.say(&format!("{text}\n{signature}"));
        reply.say(
            "Nothing was run. Call smart_route with the same task, options and context {\"arguments\": {…}}.",
        );
        self.close(reply)
    }

    /// Shows a plan without running it.
    fn foreseen(&self, prospect: &Prospect) -> Box<RawValue> {
        let plan = &prospect.plan;
        let mut reply = Reply::new(&[], prospect.confidence);
        reply.set("alternatives", &json!([]));
        reply.set("needsClarification", &false);
        reply.set("workflowSteps", &plan.steps().len());
        reply.set("estimatedDurationMs", &plan.estimate_ms());
        reply.set("plan", plan);
        if !self.settled.found.is_empty() {
            reply.set("argumentSources", &self.sources());
        }
        reply.say(&format!("Would run:\n{}", plan.render()));
        self.close(reply)
    }

    /// Drives a run to its end, or to a question that only a handle can answer.
    async fn drive(&self, mut execution: Execution, journey: &Journey<'_>) -> Box<RawValue> {
        let hub = &self.reception.hub;
        // What the servers ask meanwhile is asked within this call, whatever the era of the client.
        let caller = Arc::new((*self.caller).clone().worded(Wording::Labelled).asked_within());
        loop {
            let asked = match execution.drive(hub, &caller, &mut |_| {}).await {
                Ok(Pause::Over(report)) => return self.over(execution.run().plan(), &report, journey),
                Ok(Pause::Asked(asked)) => asked,
                Err(halted) => {
                    let mut reply = self.reported(execution.run().plan(), &halted.report, journey);
                    reply.fail(&halted.to_string());
                    return self.close(reply);
                }
            };
            let text = said(execution.run().plan(), &asked);
            let answered = match form::put(&self.caller, &text, &form::consent()).await {
                Answered::With(content) if content.read("confirm") == Some(true) => {
                    execution.agree(&asked.digest)
                }
                Answered::With(_) | Answered::Declined => execution.decline(&asked.digest),
                Answered::Not => return self.unconfirmed_run(&execution, &asked, &text, journey),
            };
            if let Err(stale) = answered {
                return self.failed(&stale.to_string(), journey.confidence, &[]);
            }
        }
    }

    /// Answers with the handle that confirms what a run asks, and with what was done before.
    fn unconfirmed_run(
        &self,
        execution: &Execution,
        asked: &Confirmation,
        text: &str,
        journey: &Journey<'_>,
    ) -> Box<RawValue> {
        let number = getrandom::u64().expect("the system has randomness");
        let owner = digest(&[&self.caller.principal, &execution.id, &asked.digest]);
        let (id, question) = (execution.id.clone(), asked.digest.clone());
        let bound: Bound = (number, id, question, journey.confidence, journey.single.to_vec(), owner);
        let handle = self.handle_of(self.reception.hub.seal.close(PURPOSE, &bound, PATIENCE));
        let mut reply = self.reported(execution.run().plan(), &execution.run().report(), journey);
        reply.set("alternatives", &json!([]));
        reply.set("needsClarification", &true);
        reply.set("clarificationQuestion", &text);
        reply.set("confirm", &handle);
        reply.say(text);
        reply.say(&confirm::how(&self.task, &handle));
        self.close(reply)
    }

    /// Goes on with a run that a handle confirms; `None` where the handle is not for a run.
    pub(super) async fn confirmed_run(&self, handle: &str) -> Option<Box<RawValue>> {
        let hub = &self.reception.hub;
        let opened = hub.seal.reopen::<Bound>(PURPOSE, &confirm::sealed(hub, handle));
        let (number, id, asked, confidence, single, owner) = opened?;
        let refused = |why: &str| Some(self.failed(why, confidence, &[]));
        if owner != digest(&[&self.caller.principal, &id, &asked]) {
            return refused("the confirmation is for somebody else");
        }
        if !hub.spend(number, PATIENCE) {
            return refused("the confirmation was used already; it counts once");
        }
        let mut execution = match hub.take_up(&id).await {
            Ok(execution) => execution,
            Err(err @ (NotTaken::Missing(_) | NotTaken::Driven(_) | NotTaken::Journal(_))) => {
                return refused(&err.to_string());
            }
        };
        if let Err(stale) = execution.agree(&asked) {
            return refused(&stale.to_string());
        }
        Some(self.drive(execution, &Journey { confidence, single: &single }).await)
    }

    /// Tells what became of a run that is over.
    fn over(&self, plan: &Plan, report: &Report, journey: &Journey<'_>) -> Box<RawValue> {
        let mut reply = self.reported(plan, report, journey);
        if report.ending != Ending::Completed {
            reply.fail(&report.sentence());
        }
        if let Some(conversation) = &self.conversation {
            for step in plan.steps().iter().filter(|step| ran(report, &step.name)) {
                self.reception.hub.note_use(conversation, step.tool.as_str());
            }
        }
        self.close(reply)
    }

    fn reported(&self, plan: &Plan, report: &Report, journey: &Journey<'_>) -> Reply {
        let steps = plan.steps().iter().filter(|step| ran(report, &step.name));
        let executed: Vec<&str> = steps.map(|step| step.tool.as_str()).collect();
        let mut result = Map::new();
        for step in plan.steps() {
            if let Some(output) = report.outputs.get(&step.name) {
                let is_one = journey.single.contains(&step.name);
                let shown = step.labelled(output).map(Value::Object);
                result.insert(step.name.clone(), shown.unwrap_or_else(|| thing(&step.name, output, is_one)));
            }
        }
        let mut reply = match executed.is_empty() {
            true => Reply::new(&[], journey.confidence),
            false => Reply::with_result(&Value::Object(result), &executed, journey.confidence),
        };
        reply.set("needsClarification", &false);
        reply.set("workflowSteps", &plan.steps().len());
        let not_done = not_done(plan, report);
        if !executed.is_empty() {
            reply.say(&format!("[{}, confidence {:.2}]", executed.join(", "), journey.confidence));
        }
        if !not_done.is_empty() {
            reply.not_done(&not_done);
        }
        if !matches!(report.ending, Ending::Completed | Ending::Open) {
            reply.set("steps", &report.accounts);
            reply.set("advice", &report.advice);
            reply.say(&report.words());
        }
        reply
    }
}

/// Returns what of a request was not done, in its own words.
fn not_done<'p>(plan: &'p Plan, report: &Report) -> Vec<&'p str> {
    let stays = [Upshot::Done, Upshot::NotUndone, Upshot::Unknown];
    let is_done = |step: &Step| {
        let mut own = report.accounts.iter().filter(|account| account.step == step.name).peekable();
        own.peek().is_some() && own.all(|it| stays.contains(&it.fate))
    };
    let left = plan.steps().iter().filter(|step| !is_done(step)).map(|step| step.words.as_str());
    left.filter(|words| !words.is_empty()).collect()
}

/// Whether a call of a step was made and may have had an effect.
fn ran(report: &Report, step: &str) -> bool {
    let made = [Upshot::Done, Upshot::Undone, Upshot::NotUndone, Upshot::Unknown, Upshot::Failed];
    report.accounts.iter().any(|account| account.step == step && made.contains(&account.fate))
}

/// Takes the wrapping off a result that is named after what it wraps: of `commits`, a `commit` is one.
fn thing(name: &str, output: &Value, is_one: bool) -> Value {
    let bare = |word: &str| word.trim_end_matches('s').to_lowercase();
    let only =
        output.as_object().filter(|members| members.len() == 1).and_then(|members| members.iter().next());
    let inner = only.filter(|(key, _)| bare(key) == bare(name)).map_or(output, |(_, inner)| inner);
    let is_singular = !name.ends_with('s');
    match inner.as_array() {
        Some(items) if is_singular && (is_one || items.len() == 1) => {
            items.first().cloned().unwrap_or_default()
        }
        Some(_) | None => inner.clone(),
    }
}

/// Says what a person is asked to agree to; where that is the plan, it is shown.
fn said(plan: &Plan, asked: &Confirmation) -> String {
    match asked.asked {
        Question::Plan => format!("{}\n{}", question(asked), plan.render()),
        Question::Calls(_) | Question::Undo(_) => question(asked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r1_a_result_is_what_its_name_says() {
        let commits = json!({"commits": [{"sha": "a"}, {"sha": "b"}]});
        assert_eq!(thing("commit", &commits, true), json!({"sha": "a"}));
        assert_eq!(thing("commit", &commits, false), commits["commits"]);
        assert_eq!(thing("commits", &commits, true), commits["commits"]);
        assert_eq!(thing("note", &json!({"number": 1}), false), json!({"number": 1}));
        assert_eq!(thing("note", &json!(["a.md"]), false), json!("a.md"));
    }
}
