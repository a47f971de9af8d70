//! Answers of `smart_route` that run nothing, and what they are made of.

use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;
use toolyard_core::rank::{Candidate, Decision, Signal, Verdict};
use toolyard_core::task::{Pick, pick};
use toolyard_core::thresholds::thresholds;
use toolyard_core::tool::Tool;

use super::pending::Question;
use super::reply::{self, Reply, rounded, shortened};
use super::{Chosen, Follow, RouteCall, input, servers, values};
use crate::jsonrpc::raw;
use crate::pins::Pin;
use crate::policy::Refusal;
use crate::serve::tools::one_line;
use crate::upstream::State;

/// A tool that is meant, with the arguments it has and the names of those it has not.
pub(super) type Open<'a> = (&'a str, Option<Box<RawValue>>, Vec<String>);

impl RouteCall {
    /// Reads an answer to a question that was put before.
    pub(super) fn follow(&self, question: &Question) -> Follow {
        let offered = self.positions(&question.offered);
        let chosen = question.chosen.as_deref().and_then(|id| self.visible(id));
        // Who knows the name of a tool may answer with one that was not offered.
        if let Some(position) = self.visible(self.input.task.trim()) {
            return Follow::Tool(position);
        }
        match (pick(&self.input.task, &self.tools(&offered)), chosen) {
            (Pick::Tool(at), _) => Follow::Tool(offered[at]),
            // The tool was clear and its arguments are here now, or are right as they were shown.
            (_, Some(chosen)) if self.finishes() => Follow::Tool(chosen),
            (Pick::Neither, _) => Follow::Neither,
            // Only values were asked for, so words are values.
            (Pick::Words, Some(chosen))
                if !matches!(self.input.task.trim(), "")
                    && self.input.task.trim() != question.task.trim() =>
            {
                Follow::Values(chosen)
            }
            (Pick::Words, _) => match self.input.task.trim() {
                "" => Follow::Words(question.task.clone()),
                said if said == question.task.trim() => Follow::Words(question.task.clone()),
                said => Follow::Words(format!("{} {said}", question.task)),
            },
        }
    }

    /// Says that an answer is for a tool that is not what it was when it was shown.
    pub(super) fn outdated(&self, question: &Question, position: usize) -> Option<Box<RawValue>> {
        let tool = &self.snapshot.catalog.tools()[position];
        let shown = question.pins.iter().find(|(id, _)| id == tool.id.as_str())?;
        let refusal = Refusal::Changed { tool: tool.id.as_str().to_owned() };
        (shown.1 != Pin::of(&tool.definition)).then(|| self.failed(&refusal.to_string(), 0.0, &[]))
    }

    /// Answers with a question as text. With the task there is a handle for the answer.
    pub(super) fn question(
        &self,
        text: &str,
        offered: &[usize],
        task: Option<&str>,
        confidence: f64,
    ) -> Box<RawValue> {
        let tools = self.tools(offered);
        let reasons = self.decision.as_deref();
        let explains = self.reception.hub.config().routing.clarification.explain_reasoning;
        let mut reply = Reply::new(&[], confidence);
        reply.set("alternatives", &reply::offer(&self.snapshot, offered, reasons.filter(|_| explains)));
        reply.set("needsClarification", &true);
        reply.set("clarificationQuestion", &text);
        reply.say(&format!("{text}{}", reply::numbered(&self.snapshot, &tools)));
        if let Some(task) = task {
            let handle = self.put(task, offered, None);
            reply.set("session", &handle);
            reply.say(&format!(
                "Answer with smart_route {{\"task\": \"1\", \"context\": {{\"session\": \"{handle}\"}}}}, a name, or other words."
            ));
        }
        self.close(reply)
    }

    /// Keeps a question until it is answered; returns its handle.
    pub(super) fn put(&self, task: &str, offered: &[usize], chosen: Option<Open<'_>>) -> String {
        let (chosen, arguments, missing) = chosen
            .map_or_else(Default::default, |(id, arguments, missing)| {
                (Some(id.to_owned()), arguments, missing)
            });
        let arguments = arguments.or_else(|| self.input.arguments.clone());
        let shown = self.tools(offered);
        let offered = shown.iter().map(|tool| tool.id.as_str().to_owned()).collect();
        let meant = chosen.as_deref().and_then(|id| self.snapshot.catalog.get(id));
        let pins = shown.into_iter().chain(meant).map(|tool| {
            let pin = Pin::of(&tool.definition);
            (tool.id.as_str().to_owned(), pin)
        });
        let question = Question {
            principal: self.caller.principal.to_string(),
            owner: self.caller.owner(),
            task: shortened(task, 20_000),
            offered,
            chosen,
            arguments,
            values: self.input.values.clone(),
            missing,
            pins: pins.collect(),
        };
        self.reception.pending.put(self.input.session.as_deref(), question, |handle| self.is_ours(handle))
    }

    /// Says that no tool fits, and which server comes nearest.
    pub(super) fn nothing(&self, decision: Option<&Decision>) -> Box<RawValue> {
        let mut reply = Reply::new(&[], 0.0);
        reply.set("alternatives", &json!([]));
        reply.set("needsClarification", &false);
        let nearest = decision.and_then(|it| it.candidates.first());
        let server = |it: &Candidate| &*self.snapshot.catalog.tools()[it.position].server;
        reply.say(&match nearest {
            Some(it) if it.signals[Signal::Named as usize] > 0.0 => {
                format!("No tool here fits this: none of {} does it.", server(it))
            }
            Some(it) => format!("No tool here fits this. The nearest server is {}.", server(it)),
            None => format!("No tool here fits this. Servers: {}.", servers(&self.reception.hub, &self.view)),
        });
        self.close(reply)
    }

    /// Answers somebody who only said something about what was decided before.
    pub(super) fn acknowledged(&self, note: &str) -> Box<RawValue> {
        let mut reply = Reply::new(&[], 1.0);
        reply.set("alternatives", &json!([]));
        reply.set("needsClarification", &false);
        reply.set("note", &note);
        reply.say(note);
        reply.finish(None)
    }

    /// Takes a result over as far as it fits, with a handle for the rest.
    pub(super) fn fit(&self, reply: &mut Reply, result: Box<RawValue>) {
        let budget = self.reception.hub.config().serve.result_bytes;
        let fitted = self.reception.remainders.fit(result, budget, &self.caller);
        reply.result(&fitted.result);
        if let Some(rest) = &fitted.rest {
            reply.goes_on(rest);
        }
    }

    /// Answers with the next page of a long result.
    pub(super) fn going_on(&self, handle: &str) -> Box<RawValue> {
        let budget = self.reception.hub.config().serve.result_bytes;
        let page = self.reception.remainders.page(handle, budget, &self.caller.principal);
        let Some(page) = page else {
            let why = "this result is not kept here, or its time is over; say the task again";
            return self.failed(why, 0.0, &[]);
        };
        let mut reply = Reply::new(&[], 1.0);
        reply.set("alternatives", &json!([]));
        reply.set("needsClarification", &false);
        let text = json!({ "content": [{ "type": "text", "text": page.text }] });
        reply.result(&raw(&text));
        if let Some(rest) = &page.rest {
            reply.goes_on(rest);
        }
        self.close(reply)
    }

    /// Says why something did not work, and what may work instead.
    pub(super) fn failed(&self, why: &str, confidence: f64, others: &[usize]) -> Box<RawValue> {
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
        self.close(reply)
    }

    /// Answers with the tools that may be meant and their schemas.
    pub(super) fn candidates(&self, decision: &Decision) -> Box<RawValue> {
        let most = self.input.max_results.unwrap_or(decision.candidates.len());
        let shown = &decision.candidates[..most.min(decision.candidates.len())];
        let tool = |position: usize| &self.snapshot.catalog.tools()[position];
        let whole = self.input.explains;
        let entries: Vec<Box<RawValue>> =
            shown.iter().map(|it| reply::candidate(&self.snapshot, it, whole)).collect();
        let mut reply = Reply::new(&[], decision.confidence);
        reply.alternatives(shown.iter().map(|it| tool(it.position)));
        reply.set("needsClarification", &false);
        reply.set("candidates", &entries);
        let lines: Vec<String> = shown.iter().map(|it| one_line(&self.snapshot, tool(it.position))).collect();
        reply.say(if lines.is_empty() { "No tool fits." } else { "Nothing was run. Candidates:" });
        lines.iter().for_each(|line| reply.say(line));
        self.close(reply)
    }

    /// Says what would be done.
    pub(super) fn forecast(&self, chosen: &Chosen) -> Box<RawValue> {
        let tool = &self.snapshot.catalog.tools()[chosen.position];
        // What was tried out is what `run it` means from now on.
        if self.input.session.is_some() {
            let missing = self.missing_names().into_iter().map(str::to_owned).collect();
            self.put(&self.task, &chosen.others, Some((tool.id.as_str(), chosen.arguments.clone(), missing)));
        }
        let mut reply = Reply::new(&[], chosen.confidence);
        reply.alternatives(self.tools(&chosen.others).into_iter().take(self.shown()));
        reply.set("needsClarification", &!self.settled.missing.is_empty());
        reply.set("tool", &tool.id.as_str());
        reply.set("effect", &self.snapshot.index().knowledge.of(chosen.position).effect);
        let arguments = input::or_empty(chosen.arguments.clone());
        reply.set("arguments", &arguments);
        if !self.settled.found.is_empty() {
            reply.set("argumentSources", &self.sources());
        }
        if !self.settled.missing.is_empty() {
            reply.set("missing", &self.missing_names());
            reply.set("clarificationQuestion", &values::question(tool, &self.settled));
        }
        if !self.settled.unused.is_empty() {
            reply.set("unused", &self.settled.unused);
        }
        reply.say(&format!(
            "Would run {} with {} (confidence {:.2}). Nothing was run.",
            tool.id.as_str(),
            shortened(arguments.get(), 300),
            rounded(chosen.confidence)
        ));
        if !self.settled.unused.is_empty() {
            reply.say(&format!("It has no place for: {}.", self.settled.unused.join(", ")));
        }
        self.close(reply)
    }

    /// Adds what is said besides, and ends the answer.
    pub(super) fn close(&self, mut reply: Reply) -> Box<RawValue> {
        if !self.not_done.is_empty() {
            reply.not_done(&self.not_done);
        }
        if let Some(note) = &self.note {
            reply.set("note", note);
            reply.say(note);
        }
        if self.input.explains && !self.settled.found.is_empty() {
            reply.set("argumentSources", &self.sources());
        }
        if let Some(decision) = self.decision.as_deref().filter(|_| self.input.explains) {
            reply.set("explanation", &reply::explanation(&self.snapshot, decision));
            if let Some(first) = decision.candidates.first() {
                reply.say(&format!("Why: {}.", first.reasons.join("; ")));
            }
        }
        let route = self.input.more.is_none().then(|| self.kept(&reply));
        reply.finish(route.as_deref())
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
        self.input.max_results.unwrap_or(self.reception.hub.config().routing.clarification.show_alternatives)
    }

    /// How many alternatives are shown beside a tool: none where that is surely meant.
    pub(super) fn shown_beside(&self, confidence: f64) -> usize {
        let is_sure = confidence >= thresholds().decision.sure;
        if is_sure { self.input.max_results.unwrap_or(0) } else { self.shown() }
    }

    pub(super) fn sees(&self, tool: &Tool) -> bool {
        let hub = &self.reception.hub;
        self.view.shows(&tool.server) && hub.permits_up_to(self.view.effect(), &self.snapshot, tool)
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
    pub(super) fn unreachable(&self, decision: &Decision) -> Option<(Arc<str>, String)> {
        let meant = decision.candidates.first().filter(|_| decision.verdict == Verdict::Act);
        let meant = meant.map(|it| &self.snapshot.catalog.tools()[it.position]);
        let own = meant.map(|tool| format!("{} {}", tool.id.as_str(), tool.description).to_lowercase());
        let is_named = |server: &str| {
            let is_wanted = self.input.server.as_deref().is_some_and(|it| it.eq_ignore_ascii_case(server));
            let is_explained = own.as_ref().is_some_and(|own| own.contains(&server.to_lowercase()));
            let mut words =
                self.task.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_')).take(1000);
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
