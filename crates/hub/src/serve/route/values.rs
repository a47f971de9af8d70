//! Values that a call lacks, or that its server did not take.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolyard_core::arguments::{Argument, Missing, Settled};
use toolyard_core::tool::Tool;

use super::form::{self, Answered};
use super::{Chosen, RouteCall, reply};
use crate::jsonrpc::{Fields, raw};

impl RouteCall {
    /// Says where each value comes from, shortly.
    pub(super) fn sources(&self) -> Vec<Value> {
        let source = |it: &Argument| json!({ "name": it.name, "value": it.value, "source": it.source, "confidence": reply::rounded(it.confidence) });
        self.settled.found.iter().map(source).collect()
    }

    /// Returns the names of the values that are missing.
    pub(super) fn missing_names(&self) -> Vec<&str> {
        self.settled.missing.iter().map(|it| it.name.as_str()).collect()
    }

    /// Finds other arguments where a server did not take those of a call; the caller's own stay.
    pub(super) async fn amended(&mut self, chosen: &Chosen, refusal: &str) -> Option<Chosen> {
        let tool = &self.snapshot.catalog.tools()[chosen.position];
        let mut given: Map<String, Value> = chosen
            .arguments
            .as_deref()
            .and_then(|it| serde_json::from_str(it.get()).ok())
            .unwrap_or_default();
        given.retain(|name, _| !self.settled.found.iter().any(|it| it.name == *name));
        // Nobody is asked a third time.
        let mut adviser = self.adviser.take()?;
        let task = if self.visible(self.task.trim()).is_some() { "" } else { &self.task };
        let found = adviser.amend(tool, task, (&given, &self.settled.found), refusal).await?;
        self.settled = Settled { found, ..Settled::default() };
        let mut next =
            Chosen { others: chosen.others.clone(), arguments: chosen.arguments.clone(), ..*chosen };
        next.put(&self.settled.found);
        Some(next)
    }

    /// Asks for what is missing: with a form where the client shows forms, or else with a text and a handle.
    pub(super) async fn complete(&mut self, mut chosen: Chosen) -> Box<RawValue> {
        let tool = &self.snapshot.catalog.tools()[chosen.position];
        let Some(schema) = form::values(&self.settled.missing, &self.settled.guesses) else {
            return self.drafted(chosen);
        };
        let Answered::With(content) = form::put(&self.caller, &question(tool, &self.settled), &schema).await
        else {
            return self.drafted(chosen);
        };
        let mut whole = Fields::parse(chosen.arguments.as_deref()).unwrap_or_default();
        for missing in &self.settled.missing {
            if let Some(value) = content.get(&missing.name).filter(|it| it.get() != "null") {
                whole.set(&missing.name, value.to_owned());
            }
        }
        chosen.arguments = Some(raw(&whole));
        let is_whole = self.settled.missing.iter().all(|it| whole.get(&it.name).is_some());
        let arguments: Map<String, Value> = serde_json::from_str(raw(&whole).get()).unwrap_or_default();
        if !is_whole || !self.snapshot.catalog.form(chosen.position).admits(&arguments) {
            return self.drafted(chosen);
        }
        self.go(chosen).await
    }

    /// Takes an answer in words as the one value that was missing, where it fits.
    pub(super) fn answered(&mut self, position: usize, missing: &[String]) {
        let ([only], said) = (missing, self.input.task.trim()) else { return };
        let form = self.snapshot.catalog.form(position);
        let mut whole = Fields::parse(self.input.arguments.as_deref()).unwrap_or_default();
        let forms = [json!(said), serde_json::from_str(said).unwrap_or_default()];
        let fits = |value: &Value| {
            form.has(only) && form.admits_part(&[(only.clone(), value.clone())].into_iter().collect())
        };
        if let Some(value) = forms.iter().find(|value| fits(value) && whole.get(only).is_none()) {
            whole.set(only, raw(value));
            self.input.arguments = Some(raw(&whole));
        }
    }
}

impl Chosen {
    /// Adds arguments; what the caller gave stays as it was written.
    pub(super) fn put(&mut self, found: &[Argument]) {
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

/// The one question for everything that is missing.
pub(super) fn question(tool: &Tool, settled: &Settled) -> String {
    let asked = |missing: &Missing| {
        let guess = settled.guesses.iter().find(|it| it.name == missing.name);
        let guess = guess.map(|it| format!(" ({}?)", it.value));
        let choices: Vec<String> = missing
            .choices
            .iter()
            .take(12)
            .map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned))
            .collect();
        let choices = if choices.is_empty() { String::new() } else { format!(" ({})", choices.join(", ")) };
        format!("`{}`{}", missing.name, guess.unwrap_or(choices))
    };
    let names: Vec<String> = settled.missing.iter().take(8).map(asked).collect();
    let listed = match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    };
    format!("What is {listed} for {}?", tool.id.as_str())
}
