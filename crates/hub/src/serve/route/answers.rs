//! Answers of `smart_route` that run nothing, and what they are made of.

use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;
use toolyard_core::route::{Decision, Verdict};
use toolyard_core::tool::Tool;

use super::pending::Question;
use super::pick::{Pick, pick};
use super::reply::{self, Reply, rounded, shortened};
use super::{Aside, Chosen, Course, Follow, servers};
use crate::serve::tools::one_line;
use crate::upstream::State;

impl Course {
    /// Reads an answer to a question that was put before.
    pub(super) fn follow(&self, question: &Question) -> Follow {
        let offered = self.positions(&question.offered);
        let chosen = question.chosen.as_deref().and_then(|id| self.visible(id));
        // Who knows the name of a tool may answer with one that was not offered.
        if let Some(position) = self.visible(self.asked.task.trim()) {
            return Follow::Tool(position);
        }
        match (pick(&self.asked.task, &self.tools(&offered)), chosen) {
            (Pick::Tool(at), _) => Follow::Tool(offered[at]),
            // The tool was clear and its arguments are here now.
            (_, Some(chosen)) if self.asked.arguments.is_some() => Follow::Tool(chosen),
            (Pick::Neither, _) => Follow::Neither,
            (Pick::Words, _) => match self.asked.task.trim() {
                "" => Follow::Words(question.task.clone()),
                said if said == question.task.trim() => Follow::Words(question.task.clone()),
                said => Follow::Words(format!("{} {said}", question.task)),
            },
        }
    }

    /// Answers with a question as text. With the task there is a handle for the answer.
    pub(super) fn question(
        &self,
        text: &str,
        offered: &[usize],
        (task, confidence): (Option<&str>, f64),
        aside: &Aside,
    ) -> Box<RawValue> {
        let tools = self.tools(offered);
        let reasons = aside.decision.as_deref();
        let explains = self.reception.hub.config().routing.clarification.explain_reasoning;
        let mut reply = Reply::new(&[], confidence);
        reply.set("alternatives", &reply::offer(&self.snapshot, offered, reasons.filter(|_| explains)));
        reply.set("needsClarification", &true);
        reply.set("clarificationQuestion", &text);
        reply.say(&format!("{text}{}", reply::numbered(&tools)));
        if let Some(task) = task {
            let handle = self.put(task, offered, None);
            reply.set("session", &handle);
            reply.say(&format!(
                "Answer with smart_route {{\"task\": \"1\", \"context\": {{\"session\": \"{handle}\"}}}}, a name, or other words."
            ));
        }
        self.close(reply, aside)
    }

    /// Answers with the schema of a tool whose arguments are missing. The caller knows them better than
    /// the person behind it, so no form is shown.
    pub(super) fn incomplete(&self, chosen: Chosen, missing: &[&str], aside: &Aside) -> Box<RawValue> {
        let tool = &self.snapshot.catalog.tools()[chosen.position];
        let id = tool.id.as_str();
        let text = format!("What is {} for {id}?", listed(missing));
        let offered: Vec<usize> = chosen.others.iter().copied().take(self.shown()).collect();
        let mut reply = Reply::new(&[], chosen.confidence);
        reply.alternatives(self.tools(&offered));
        reply.set("needsClarification", &true);
        reply.set("clarificationQuestion", &text);
        reply.set("tool", &id);
        reply.set("missing", &missing);
        reply.set("inputSchema", &reply::schema(tool));
        let handle = self.put(&aside.task, &offered, Some((id, chosen.arguments)));
        reply.set("session", &handle);
        reply.say(&format!("{text} {}", one_line(tool)));
        reply.say(&format!("Input schema: {}", reply::schema(tool).get()));
        reply.say(&format!(
            "Call smart_route with the same task and context {{\"session\": \"{handle}\", \"arguments\": {{…}}}}, or {id} itself."
        ));
        self.close(reply, aside)
    }

    /// Keeps a question until it is answered; returns its handle.
    fn put(&self, task: &str, offered: &[usize], chosen: Option<(&str, Option<Box<RawValue>>)>) -> String {
        let (chosen, arguments) =
            chosen.map_or((None, None), |(id, arguments)| (Some(id.to_owned()), arguments));
        let arguments = arguments.or_else(|| self.asked.arguments.clone());
        let offered = self.tools(offered).iter().map(|tool| tool.id.as_str().to_owned()).collect();
        let question = Question {
            principal: self.caller.principal.to_string(),
            task: shortened(task, 20_000),
            offered,
            chosen,
            arguments,
        };
        self.reception.pending.put(self.asked.session.as_deref(), question)
    }

    /// Says that no tool fits.
    pub(super) fn nothing(&self, confidence: f64, aside: &Aside) -> Box<RawValue> {
        let mut reply = Reply::new(&[], confidence);
        reply.set("alternatives", &json!([]));
        reply.set("needsClarification", &false);
        let servers = servers(&self.reception.hub, &self.view);
        reply.say(&format!("No tool here fits this. Configured servers: {servers}."));
        self.close(reply, aside)
    }

    /// Says why something did not work, and what may work instead.
    pub(super) fn failed(
        &self,
        why: &str,
        confidence: f64,
        others: &[usize],
        aside: &Aside,
    ) -> Box<RawValue> {
        let mut reply = Reply::new(&[], confidence);
        let others: Vec<&Tool> = self.tools(others).into_iter().take(self.shown().max(1)).collect();
        reply.alternatives(others.iter().copied());
        reply.set("needsClarification", &false);
        reply.fail(why);
        reply.say(&shortened(why, 1200));
        if !others.is_empty() {
            let names: Vec<&str> = others.iter().map(|tool| tool.id.as_str()).collect();
            reply.say(&format!("Tools of other servers that may do instead: {}", names.join(", ")));
        }
        self.close(reply, aside)
    }

    /// Answers with the tools that may be meant and their schemas.
    pub(super) fn candidates(&self, decision: &Decision, aside: &Aside) -> Box<RawValue> {
        let most = self.asked.max_results.unwrap_or(decision.candidates.len());
        let shown = &decision.candidates[..most.min(decision.candidates.len())];
        let tool = |position: usize| &self.snapshot.catalog.tools()[position];
        let entries: Vec<Box<RawValue>> =
            shown.iter().map(|it| reply::candidate(tool(it.position), it.probability, &it.reasons)).collect();
        let mut reply = Reply::new(&[], decision.confidence);
        reply.alternatives(shown.iter().map(|it| tool(it.position)));
        reply.set("needsClarification", &false);
        reply.set("candidates", &entries);
        let lines: Vec<String> = shown.iter().map(|it| one_line(tool(it.position))).collect();
        reply.say(if lines.is_empty() { "No tool fits." } else { "Nothing was run. Candidates:" });
        lines.iter().for_each(|line| reply.say(line));
        self.close(reply, aside)
    }

    /// Says what would be done.
    pub(super) fn forecast(&self, chosen: &Chosen, missing: &[&str], aside: &Aside) -> Box<RawValue> {
        let tool = &self.snapshot.catalog.tools()[chosen.position];
        let mut reply = Reply::new(&[], chosen.confidence);
        reply.alternatives(self.tools(&chosen.others).into_iter().take(self.shown()));
        reply.set("needsClarification", &!missing.is_empty());
        reply.set("tool", &tool.id.as_str());
        reply.set("effect", &self.snapshot.index().knowledge.of(chosen.position).effect);
        if !missing.is_empty() {
            reply.set("missing", &missing);
            reply.set("clarificationQuestion", &format!("What is {}?", listed(missing)));
        }
        reply.say(&format!(
            "Would run {} (confidence {:.2}). Nothing was run.",
            tool.id.as_str(),
            rounded(chosen.confidence)
        ));
        self.close(reply, aside)
    }

    /// Adds what is said besides, and ends the answer.
    pub(super) fn close(&self, mut reply: Reply, aside: &Aside) -> Box<RawValue> {
        if let Some(rest) = &aside.remaining {
            reply.set("remainingTask", rest);
            reply.say(&format!("Only the first step was routed. Still to do: {rest}"));
        }
        if let Some(note) = &aside.note {
            reply.set("note", note);
            reply.say(note);
        }
        if let Some(decision) = aside.decision.as_deref().filter(|_| self.asked.explains) {
            reply.set("explanation", &reply::explanation(&self.snapshot, decision));
            if let Some(first) = decision.candidates.first() {
                reply.say(&format!("Why: {}.", first.reasons.join("; ")));
            }
        }
        reply.finish()
    }

    /// The tools that a question offers: the likeliest, and where there are fewer than two, what there is.
    pub(super) fn offered(&self, decision: &Decision) -> Vec<usize> {
        let shown = self.shown();
        let mut offered: Vec<usize> = decision.candidates.iter().map(|it| it.position).take(shown).collect();
        let mut start = 0;
        for (_, count) in self.snapshot.catalog.servers() {
            let is_open = offered.len() < shown.min(2);
            let tool = &self.snapshot.catalog.tools()[start..start + count];
            let first = tool.iter().find(|tool| self.sees(tool)).map(|tool| tool.id.as_str());
            let position = first.and_then(|id| self.snapshot.catalog.position(id));
            offered.extend(position.filter(|it| is_open && !offered.contains(it)));
            start += count;
        }
        offered
    }

    pub(super) fn others(&self, decision: &Decision, fits: impl Fn(&Tool) -> bool) -> Vec<usize> {
        let positions = decision.candidates.iter().map(|it| it.position);
        positions.filter(|position| fits(&self.snapshot.catalog.tools()[*position])).collect()
    }

    /// How many alternatives are shown.
    pub(super) fn shown(&self) -> usize {
        self.asked.max_results.unwrap_or(self.reception.hub.config().routing.clarification.show_alternatives)
    }

    pub(super) fn sees(&self, tool: &Tool) -> bool {
        self.view.shows(&tool.server) && self.reception.hub.permits(tool)
    }

    pub(super) fn visible(&self, id: &str) -> Option<usize> {
        let position = self.snapshot.catalog.position(id)?;
        self.sees(&self.snapshot.catalog.tools()[position]).then_some(position)
    }

    pub(super) fn positions(&self, ids: &[String]) -> Vec<usize> {
        ids.iter().filter_map(|id| self.visible(id)).collect()
    }

    pub(super) fn tools(&self, positions: &[usize]) -> Vec<&Tool> {
        positions.iter().map(|position| &self.snapshot.catalog.tools()[*position]).collect()
    }

    /// A server that is asked for by name and of which nothing is known because it does not work. Servers
    /// are called `time` and `notes`, so a tool that is meant and has the word itself goes first.
    pub(super) fn unreachable(&self, task: &str, decision: &Decision) -> Option<(Arc<str>, String)> {
        let meant = decision.candidates.first().filter(|_| decision.verdict == Verdict::Act);
        let meant = meant.map(|it| &self.snapshot.catalog.tools()[it.position]);
        let own = meant.map(|tool| format!("{} {}", tool.id.as_str(), tool.description).to_lowercase());
        let is_named = |server: &str| {
            let is_wanted = self.asked.server.as_deref().is_some_and(|it| it.eq_ignore_ascii_case(server));
            let is_explained = own.as_ref().is_some_and(|own| own.contains(&server.to_lowercase()));
            let mut words = task.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_')).take(1000);
            is_wanted || (!is_explained && words.any(|word| word.eq_ignore_ascii_case(server)))
        };
        let hub = &self.reception.hub;
        hub.upstreams().into_iter().find_map(|upstream| {
            let State::Failed { reason, .. } = upstream.state() else { return None };
            let is_unknown = self.snapshot.catalog.of_server(&upstream.name).is_empty();
            let is_meant = is_unknown && self.view.shows(&upstream.name) && is_named(&upstream.name);
            is_meant.then(|| (Arc::clone(&upstream.name), reason))
        })
    }
}

/// Lists names in a sentence.
fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().take(8).map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => quoted.concat(),
    }
}
