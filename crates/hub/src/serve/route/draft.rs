//! A call that is handed back to be finished: what was understood, what is unsure, and what the tool takes.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolyard_core::arguments::{Argument, taken};
use toolyard_core::metadata::giver;
use toolyard_core::task::agrees;

use super::pending::Question;
use super::reply::{Reply, shortened};
use super::{Chosen, RouteCall, merged};
use crate::clock::now;
use crate::jsonrpc::{Fields, raw};

/// Says that a draft is right as it is.
pub(super) const GO: &str = "run it";
/// Bytes of the values of a draft that are said; programs get them whole.
const MOST_SAID: usize = 300;

impl RouteCall {
    /// Answers with a call that is not sure, or lacks values, so that one more call can finish it.
    pub(super) fn drafted(&self, mut chosen: Chosen) -> Box<RawValue> {
        let tool = &self.snapshot.catalog.tools()[chosen.position];
        let id = tool.id.as_str();
        chosen.put(&self.settled.guesses);
        let values: Map<String, Value> = chosen
            .arguments
            .as_deref()
            .and_then(|it| serde_json::from_str(it.get()).ok())
            .unwrap_or_default();
        let missing: Vec<&str> =
            self.missing_names().into_iter().filter(|name| !values.contains_key(*name)).collect();
        let unsure: Vec<&str> = self.unsure().collect();
        // A value without a place may belong to any parameter.
        let wanted: Vec<&str> = match self.settled.unused.is_empty() {
            true => values.keys().map(String::as_str).collect(),
            false => tool.parameters.iter().map(|it| it.name.as_str()).collect(),
        };
        let form = self.snapshot.catalog.form(chosen.position);
        // What is whole as it is needs no list of what else there is.
        let is_whole = missing.is_empty() && self.settled.unused.is_empty();
        let takes = if is_whole { form.brief_signature(&wanted) } else { form.signature(&wanted) };
        let signature = format!("{id}{takes}");
        let shown = self.shown_beside(chosen.confidence);
        let offered: Vec<usize> = chosen.others.iter().copied().take(shown).collect();
        let found_by = self.found_by(chosen.position, &missing);
        let names = missing.iter().map(|name| (*name).to_owned()).collect();
        let handle = self.put(&self.task, &offered, Some((id, chosen.arguments.clone(), names)));
        let unused = &self.settled.unused;
        let mut reply = Reply::new(&[], chosen.confidence);
        reply.alternatives(self.tools(&offered));
        reply.set("needsClarification", &false);
        let mut draft = json!({
            "tool": id, "signature": signature, "values": values, "unsure": unsure, "unused": unused,
            "missing": missing,
        });
        if !found_by.is_empty() {
            draft["foundBy"] = json!(found_by);
        }
        reply.set("draft", &draft);
        reply.set("session", &handle);
        reply.say(&format!("Draft, not run: {signature}"));
        // Models copy this line, so it is whole as it stands.
        let given: Map<String, Value> = missing.iter().map(|name| ((*name).to_owned(), "…".into())).collect();
        let (given, advice) = match (given.is_empty(), unsure.is_empty() && unused.is_empty()) {
            (false, _) => (format!(", \"values\": {}", Value::Object(given)), ""),
            (true, false) => (String::new(), " (\"values\" corrects it)"),
            (true, true) => (String::new(), ""),
        };
        let mut said = format!("values {}", shortened(&Value::Object(values.clone()).to_string(), MOST_SAID));
        let with_giver = |name: &&str| match found_by.get(*name) {
            Some(giver) => format!("{name} ({giver} finds it)"),
            None => (*name).to_owned(),
        };
        for (what, names) in [
            ("missing", missing.iter().map(with_giver).collect()),
            ("unsure", unsure.iter().map(|name| (*name).to_owned()).collect()),
            ("unused", unused.clone()),
        ] {
            if !names.is_empty() {
                said += &format!("; {what}: {}", names.join(", "));
            }
        }
        reply.say(&said);
        reply.say(&format!(
            "Finish it: smart_route {{\"task\": \"{GO}\", \"context\": {{\"session\": \"{handle}\"}}{given}}}{advice}"
        ));
        self.close(reply)
    }

    /// Names for each missing value the tool that finds it, where there is one that the caller may use.
    fn found_by(&self, position: usize, missing: &[&str]) -> BTreeMap<String, &str> {
        let (catalog, knowledge) = (&self.snapshot.catalog, &self.snapshot.index().knowledge);
        let giver = |name: &&str| {
            let tool = &catalog.tools()[giver(catalog, knowledge, position, name)?];
            self.sees(tool).then(|| ((*name).to_owned(), tool.id.as_str()))
        };
        missing.iter().filter_map(giver).collect()
    }

    /// Returns the names of the values that are not sure.
    pub(super) fn unsure(&self) -> impl Iterator<Item = &str> {
        let is_doubtful = |it: &&Argument| it.is_doubtful() || !it.is_certain();
        let found = self.settled.found.iter().filter(is_doubtful);
        found.chain(&self.settled.guesses).map(|it| it.name.as_str())
    }

    /// Whether this call finishes a draft: it gives values, or says that the draft is right.
    pub(super) fn finishes(&self) -> bool {
        let said = self.input.task.trim();
        self.input.arguments.is_some()
            || self.input.values.is_some()
            || said.eq_ignore_ascii_case(GO)
            || agrees(said)
    }

    /// Takes up a tool that was offered or drafted, with what is known for it.
    pub(super) fn take_up(&mut self, question: Question, position: usize) {
        let id = self.snapshot.catalog.tools()[position].id.as_str();
        let given = self.input.arguments.take();
        if question.chosen.as_deref() != Some(id) {
            // The values of another tool have other names here.
            let values = self.input.values.take();
            self.input.values = match (question.values, values) {
                (Some(known), Some(values)) => Some(known.into_iter().chain(values).collect()),
                (known, values) => known.or(values),
            };
            let is_unnamed = self.input.values.is_none();
            self.input.arguments = merged(question.arguments.filter(|_| is_unnamed), given);
            self.task = question.task;
            return;
        }
        let form = self.snapshot.catalog.form(position);
        let mut exact = Fields::parse(given.as_deref()).unwrap_or_default();
        let mut other = Map::new();
        for (name, value) in self.input.values.take().unwrap_or_default() {
            let is_own = form.has(&name);
            // What its parameter cannot take is read as a value of any other name, and is told where it has no place.
            match taken(form, &name, &value, now()).filter(|_| is_own) {
                Some(taken) => exact.set(&name, raw(&taken)),
                None if form.is_unlisted() => exact.set(&name, raw(&value)),
                None => drop(other.insert(name, value)),
            }
        }
        self.input.values = Some(other).filter(|it| !it.is_empty());
        self.input.arguments = merged(question.arguments, Some(raw(&exact)));
        // What was shown is what is meant: words are not read again.
        self.task = String::new();
    }
}
