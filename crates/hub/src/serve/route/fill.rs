//! Arguments from the words of a task, and what is done about those that are missing or doubtful.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolyard_core::fill::{Argument, Form, Missing, Settled, Wish, fill};
use toolyard_core::tool::Tool;

use super::form::{self, Answered};
use super::{Aside, Chosen, Course};
use crate::clock;
use crate::hub::Adviser;
use crate::jsonrpc::{Fields, raw};

/// Arguments of a call, with what they were made of.
#[derive(Debug, Default)]
pub(super) struct Filled {
    pub(super) settled: Settled,
    /// What may find other values when the server does not take these.
    adviser: Option<Adviser>,
}

impl Filled {
    pub(super) fn missing_names(&self) -> Vec<&str> {
        self.settled.missing.iter().map(|it| it.name.as_str()).collect()
    }

    /// Says where each value comes from, shortly.
    pub(super) fn sources(&self) -> Vec<Value> {
        let told = |it: &Argument| json!({ "name": it.name, "value": it.value, "source": it.source, "confidence": super::reply::rounded(it.confidence) });
        self.settled.found.iter().map(told).collect()
    }
}

impl Course {
    /// Adds to a call what the task and an earlier result say.
    pub(super) async fn fill(&self, chosen: &mut Chosen, aside: &Aside) -> Filled {
        let tool = &self.snapshot.catalog.tools()[chosen.position];
        let given = arguments(chosen);
        let form = Form::of(tool);
        let task = self.said(aside);
        let earlier: Vec<Value> =
            self.asked.previous_result.iter().map(|it| Value::String(it.clone())).collect();
        let wish = Wish { task, given: &given, earlier: &earlier, now: clock::now() };
        let mut filled = Filled { adviser: self.reception.hub.adviser(), ..Filled::default() };
        let mut filling = fill(&form, &wish);
        if let Some(adviser) = &mut filled.adviser {
            filling = adviser.complete((tool, &form), &wish, filling).await;
        }
        let knowledge = self.snapshot.index().knowledge.of(chosen.position);
        filled.settled = filling.settle(&form, &wish, knowledge.effect, knowledge.action);
        chosen.put(&filled.settled.found);
        filled
    }

    /// The words that say something about arguments: a name says which tool is meant, and nothing else.
    fn said<'a>(&self, aside: &'a Aside) -> &'a str {
        if self.visible(aside.task.trim()).is_some() { "" } else { &aside.task }
    }

    /// Finds other arguments where a server did not take those of a call; the caller's own stay.
    pub(super) async fn amended(
        &self,
        chosen: &Chosen,
        aside: &Aside,
        refusal: &str,
    ) -> Option<(Chosen, Filled)> {
        let tool = &self.snapshot.catalog.tools()[chosen.position];
        let mut given = arguments(chosen);
        given.retain(|name, _| !aside.filled.settled.found.iter().any(|it| it.name == *name));
        let mut adviser = aside.filled.adviser.clone()?;
        let known = (&given, aside.filled.settled.found.as_slice());
        let found = adviser.amend(tool, self.said(aside), known, refusal).await?;
        // Nobody is asked a third time.
        let filled = Filled { settled: Settled { found, ..Settled::default() }, ..Filled::default() };
        let mut next =
            Chosen { others: chosen.others.clone(), arguments: chosen.arguments.clone(), ..*chosen };
        next.put(&filled.settled.found);
        Some((next, filled))
    }

    /// Asks for what is missing: with a form where the client shows forms, or else with a text and a handle.
    pub(super) async fn complete(&self, mut chosen: Chosen, filled: Filled, aside: Aside) -> Box<RawValue> {
        let tool = &self.snapshot.catalog.tools()[chosen.position];
        let Some(schema) = form::values(&filled.settled.missing, &filled.settled.guesses) else {
            return self.incomplete(chosen, &filled, &aside);
        };
        let question = question(tool, &filled);
        match form::put(&self.caller, &question, &schema).await {
            Answered::With(content) => {
                let mut whole = Fields::parse(chosen.arguments.as_deref()).unwrap_or_default();
                for missing in &filled.settled.missing {
                    if let Some(value) = content.get(&missing.name).filter(|it| it.get() != "null") {
                        whole.set(&missing.name, value.to_owned());
                    }
                }
                chosen.arguments = Some(raw(&whole));
                let is_whole = filled.settled.missing.iter().all(|it| whole.get(&it.name).is_some());
                let arguments: Map<String, Value> =
                    serde_json::from_str(raw(&whole).get()).unwrap_or_default();
                if !is_whole || !Form::of(tool).admits(&arguments) {
                    return self.incomplete(chosen, &filled, &aside);
                }
                self.go(chosen, filled, aside).await
            }
            Answered::Declined | Answered::Not => self.incomplete(chosen, &filled, &aside),
        }
    }
}

impl Chosen {
    /// Adds arguments; what the caller gave stays as it was written.
    fn put(&mut self, found: &[Argument]) {
        if found.is_empty() {
            return;
        }
        let mut whole = Fields::parse(self.arguments.as_deref()).unwrap_or_default();
        for argument in found {
            whole.set(&argument.name, raw(&argument.value));
        }
        self.arguments = Some(raw(&whole));
    }
}

fn arguments(chosen: &Chosen) -> Map<String, Value> {
    let given = chosen.arguments.as_deref();
    given.and_then(|given| serde_json::from_str(given.get()).ok()).unwrap_or_default()
}

/// The one question for everything that is missing.
pub(super) fn question(tool: &Tool, filled: &Filled) -> String {
    let asked = |missing: &Missing| {
        let guess = filled
            .settled
            .guesses
            .iter()
            .find(|it| it.name == missing.name)
            .map(|it| format!(" ({}?)", it.value));
        let choices: Vec<String> = missing
            .choices
            .iter()
            .take(12)
            .map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned))
            .collect();
        let choices = if choices.is_empty() { String::new() } else { format!(" ({})", choices.join(", ")) };
        format!("`{}`{}", missing.name, guess.unwrap_or(choices))
    };
    let names: Vec<String> = filled.settled.missing.iter().take(8).map(asked).collect();
    let listed = match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    };
    format!("What is {listed} for {}?", tool.id.as_str())
}
