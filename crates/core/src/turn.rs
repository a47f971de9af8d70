//! One turn of a conversation with a model that may call tools: what is asked, called and answered next.
//!
//! The loop is bounded. A reply that calls tools is one iteration, however many it calls. After the last iteration the
//! tools are taken away and the model has to answer. The machine decides and does nothing: whoever drives it asks the
//! model, makes the calls and reports back.

mod message; // what is said
mod offer; //   tools as a model is offered them
mod lenient; // JSON as models write it
mod repair; //  a written call becomes one that fits its schema
mod written; // calls that stand in the text of a reply
mod shown; //   text that can be shown before a reply is whole

pub use message::{ChatMessage, RawCall, Reply, ToolCall};
pub use offer::Offer;
pub use shown::Shown;

use serde::Serialize;
use serde_json::{Map, Value};

/// What may follow after results, as long as tools are offered.
pub const FOLLOW_UP: &str = "If you need more specific info, you may search again.";
/// What follows after the last results, when no tools are offered.
pub const FINAL: &str = "Answer in 1 sentence based on this information.";
/// The tool that loads further tools; calling it is no iteration.
pub const ACTIVATE_SKILL: &str = "activate_skill";
/// The tool by which a running job learns that somebody wants it to stop.
pub const CHECK_INTERRUPT: &str = "check_interrupt";

/// Replies without one usable call that are answered with the schema before they count as iterations.
const MOST_CORRECTIONS: usize = 2;
/// Bytes of a question that is repeated after results.
const MOST_REPEATED: usize = 2000;
/// Rounds of nothing but skills before they count as iterations.
const MOST_ACTIVATIONS: usize = 4;

/// How a turn is bounded, and what the model is told on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Replies with calls before the model has to answer.
    pub iterations: usize,
    /// Said after results while tools are offered.
    pub follow_up: String,
    /// Said after the last results.
    pub last: String,
    /// What happens at the limit.
    pub at_limit: AtLimit,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            iterations: 2,
            follow_up: FOLLOW_UP.to_owned(),
            last: FINAL.to_owned(),
            at_limit: AtLimit::Answer,
        }
    }
}

/// What happens when all iterations are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtLimit {
    /// The model has to answer with what it has.
    Answer,
    /// A person chooses.
    Choose,
}

/// What a person chooses at the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitChoice {
    /// As many iterations again.
    Continue,
    /// An answer with what is known.
    WrapUp,
    /// Nothing more.
    Stop,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Ask the model.
    Ask(Ask),
    /// Make these calls, all of one reply, and report what each gave.
    Call(Vec<ToolCall>),
    /// All iterations are used: ask the person how to go on.
    Choose,
    /// The turn is over.
    Done(TurnEnding),
}

/// A question to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Whether tools are offered.
    pub has_tools: bool,
    /// What is said after everything else, and not kept.
    pub prompt: Prompt,
}

/// What is said to the model after everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// Nothing: the person's message is the last.
    None,
    /// That it may search again.
    FollowUp,
    /// That it has to answer.
    Last,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TurnEnding {
    /// The model answered.
    Answered,
    /// It had nothing to say; the results stand for themselves.
    Unanswered,
    /// Somebody stopped it.
    Stopped,
}

/// What one call gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallOutcome {
    /// The result, as the model is told it.
    pub text: String,
    /// Whether it was not carried out at all; a call like it may then be made again.
    pub was_refused: bool,
    /// Whether a running job is to stop.
    pub interrupts: bool,
    /// What the tool leaves for the person or for later turns.
    pub pending: Pending,
}

impl CallOutcome {
    /// Makes the outcome of a call that was carried out.
    pub fn of(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Makes the outcome of a call that was not carried out.
    pub fn refused(why: impl Into<String>) -> Self {
        Self { text: why.into(), was_refused: true, ..Self::default() }
    }
}

/// What tools leave open at the end of a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Pending {
    /// Something that the person is to choose or answer.
    #[serde(rename = "pending_interaction", skip_serializing_if = "Option::is_none")]
    pub interaction: Option<Value>,
    /// Something that is to be remembered if the person agrees.
    #[serde(rename = "pending_memory_update", skip_serializing_if = "Option::is_none")]
    pub memory_update: Option<Value>,
    /// Research that goes on elsewhere.
    #[serde(rename = "pending_research", skip_serializing_if = "Option::is_none")]
    pub research: Option<Value>,
}

impl Pending {
    /// Reads what a structured result leaves open.
    pub fn read(result: &Value) -> Self {
        let open = |key: &str| result.get(key).filter(|it| !it.is_null()).cloned();
        Self {
            interaction: open("pending_interaction"),
            memory_update: open("pending_memory_update"),
            research: open("pending_research"),
        }
    }

    /// Whether nothing is open.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn add(&mut self, later: Self) {
        let Self { interaction, memory_update, research } = later;
        self.interaction = interaction.or_else(|| self.interaction.take());
        self.memory_update = memory_update.or_else(|| self.memory_update.take());
        self.research = research.or_else(|| self.research.take());
    }
}

/// What a reply came to, for whoever writes it down.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noted {
    /// A search after the first: its iteration, and the tool that it calls.
    pub refinements: Vec<Refinement>,
    /// Calls that were mended, and how.
    pub repairs: Vec<String>,
    /// Calls that were not made, and what the model was told instead.
    pub refusals: Vec<String>,
}

/// A search after the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refinement {
    /// The iteration; the first search was 1.
    pub iteration: usize,
    /// The tool.
    pub tool: String,
}

/// A turn in motion.
#[derive(Clone, Debug)]
pub struct Turn {
    bounds: Bounds,
    messages: Vec<ChatMessage>,
    /// Where this turn begins among the messages.
    begun: usize,
    offers: Vec<Offer>,
    state: State,
    iterations: usize,
    granted: usize,
    corrections: usize,
    activations: usize,
    /// What was called in this turn, and what it gave.
    known: Vec<Known>,
    pending: Pending,
}

#[derive(Clone, Debug)]
enum State {
    Asking(Ask),
    /// Tools are gone, and the model called one all the same.
    Insisting,
    Calling(Vec<ToolCall>),
    Choosing,
    Done(TurnEnding),
}

#[derive(Clone, Debug)]
struct Known {
    name: String,
    arguments: Map<String, Value>,
    text: String,
}

impl Turn {
    /// Begins a turn: `messages` end with what the person said.
    pub fn new(bounds: Bounds, messages: Vec<ChatMessage>, offers: Vec<Offer>) -> Self {
        let granted = bounds.iterations;
        let has_tools = !offers.is_empty() && granted > 0;
        Self {
            bounds,
            begun: messages.len(),
            messages,
            offers,
            state: State::Asking(Ask { has_tools, prompt: Prompt::None }),
            iterations: 0,
            granted,
            corrections: 0,
            activations: 0,
            known: Vec::new(),
            pending: Pending::default(),
        }
    }

    /// Says what is to be done next. Asking twice changes nothing.
    pub fn next(&self) -> Next {
        match &self.state {
            State::Asking(ask) => Next::Ask(*ask),
            State::Insisting => Next::Ask(Ask { has_tools: false, prompt: Prompt::Last }),
            State::Calling(calls) => Next::Call(calls.clone()),
            State::Choosing => Next::Choose,
            State::Done(ending) => Next::Done(*ending),
        }
    }

    /// Returns what the model is sent for a question.
    pub fn sent(&self, ask: Ask) -> Vec<ChatMessage> {
        let prompt = match ask.prompt {
            Prompt::None => None,
            Prompt::FollowUp => Some(self.bounds.follow_up.as_str()),
            Prompt::Last => Some(self.bounds.last.as_str()),
        };
        let prompt = prompt.filter(|it| !it.is_empty());
        // A small model answers what it reads last, so it reads the question again.
        let asked =
            self.messages[..self.begun].iter().rev().find(|it| matches!(it, ChatMessage::User { .. }));
        let question = asked.map(ChatMessage::text).filter(|it| !it.is_empty() && it.len() <= MOST_REPEATED);
        let prompt = prompt.map(|prompt| match question {
            Some(question) => ChatMessage::user(format!("{prompt}\n\nQuestion: {question}")),
            None => ChatMessage::user(prompt),
        });
        self.messages.iter().cloned().chain(prompt).collect()
    }

    /// Returns the tools that are offered.
    pub fn offers(&self) -> &[Offer] {
        &self.offers
    }

    /// Returns what the model is shown of them.
    pub fn definitions(&self) -> Vec<Value> {
        let shown = self.offers.iter().filter(|offer| offer.is_shown);
        shown.map(|offer| offer.definition.clone()).collect()
    }

    /// Returns the whole conversation.
    pub fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    /// Returns what this turn added to the conversation.
    pub fn added(&self) -> &[ChatMessage] {
        &self.messages[self.begun..]
    }

    /// Returns how many iterations there were.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// Returns what tools left open.
    pub fn pending(&self) -> &Pending {
        &self.pending
    }

    /// Returns what the model said last to the person.
    pub fn answer(&self) -> &str {
        match self.added().last() {
            Some(ChatMessage::Assistant { text, .. }) => text,
            Some(ChatMessage::System { .. } | ChatMessage::User { .. } | ChatMessage::Tool { .. }) | None => {
                ""
            }
        }
    }

    /// Returns the text of the last result.
    pub fn last_result(&self) -> Option<&str> {
        self.known.last().map(|it| it.text.as_str())
    }

    /// Offers other tools from now on.
    pub fn rebind(&mut self, offers: Vec<Offer>) {
        self.offers = offers;
    }

    /// Begins anew with other tools, where the model has answered without any: it did not know.
    pub fn retry_with(&mut self, offers: Vec<Offer>) {
        self.messages.truncate(self.begun);
        self.offers = offers;
        self.state = State::Asking(Ask { has_tools: true, prompt: Prompt::None });
    }

    /// Ends the turn where it stands. Calls that were not reported yet are told to be stopped.
    pub fn interrupt(&mut self) {
        if let State::Calling(calls) = &self.state {
            let stopped = |call: &ToolCall| ChatMessage::Tool {
                id: call.id.clone(),
                name: call.name.clone(),
                text: "Stopped by the person before it ended; it may or may not have been carried out."
                    .to_owned(),
            };
            let messages: Vec<ChatMessage> = calls.iter().map(stopped).collect();
            self.messages.extend(messages);
        }
        self.state = State::Done(TurnEnding::Stopped);
    }

    /// Takes what a person chose at the limit.
    pub fn chose(&mut self, choice: LimitChoice) {
        self.state = match choice {
            LimitChoice::Continue => {
                self.granted = self.iterations + self.bounds.iterations.max(1);
                State::Asking(Ask { has_tools: true, prompt: Prompt::FollowUp })
            }
            LimitChoice::WrapUp => State::Asking(Ask { has_tools: false, prompt: Prompt::Last }),
            LimitChoice::Stop => State::Done(TurnEnding::Stopped),
        };
    }

    /// Takes a reply of the model.
    pub fn replied(&mut self, reply: Reply) -> Noted {
        let has_tools = matches!(&self.state, State::Asking(ask) if ask.has_tools);
        let Reply { text, reasoning, mut calls, is_cut } = reply;
        let (text, in_text) = written::calls(&text, &self.offers);
        let text = written::without_template(&text);
        // What stops in the middle of a call is no call.
        if calls.is_empty() && !is_cut {
            calls = in_text;
        }
        match (has_tools, calls.is_empty()) {
            (true, false) => return self.take_calls(text, reasoning, calls),
            (_, true) if !text.trim().is_empty() => {
                self.say(text.trim(), reasoning);
                self.state = State::Done(TurnEnding::Answered);
            }
            (false, false) if !text.trim().is_empty() && matches!(self.state, State::Insisting) => {
                self.say(text.trim(), reasoning);
                self.state = State::Done(TurnEnding::Answered);
            }
            // Nothing was said, or a tool was called although none is offered.
            _ => {
                self.state = match self.state {
                    State::Insisting => State::Done(TurnEnding::Unanswered),
                    State::Asking(_) | State::Calling(_) | State::Choosing | State::Done(_) => {
                        State::Insisting
                    }
                };
            }
        }
        Noted::default()
    }

    /// Takes what the calls of the last reply gave, in their order.
    pub fn called(&mut self, outcomes: Vec<CallOutcome>) {
        let State::Calling(calls) = std::mem::replace(&mut self.state, State::Insisting) else { return };
        let is_activation = calls.iter().all(|call| call.name == ACTIVATE_SKILL);
        let mut is_interrupted = false;
        for (call, outcome) in calls.into_iter().zip(outcomes) {
            is_interrupted |= outcome.interrupts;
            self.pending.add(outcome.pending);
            self.tell(&call, outcome.text.clone());
            if !outcome.was_refused {
                self.remember(call, outcome.text);
            }
        }
        if is_interrupted {
            self.state = State::Done(TurnEnding::Stopped);
        } else {
            self.go_on(if is_activation { Prompt::None } else { Prompt::FollowUp });
        }
    }

    fn take_calls(&mut self, text: String, reasoning: String, written: Vec<RawCall>) -> Noted {
        let mut noted = Noted::default();
        let (mut all, mut told, mut ready) = (Vec::new(), Vec::new(), Vec::new());
        for raw in written {
            let id = self.fresh_id(raw.id.as_deref(), &all);
            match repair::repair(&raw, &self.offers) {
                Ok(repaired) => {
                    let call = ToolCall { id, name: repaired.name, arguments: repaired.arguments };
                    noted.repairs.extend(repaired.what);
                    match self.known(&call).or_else(|| same(&ready, &call)) {
                        Some(text) => told.push((call.clone(), text)),
                        None => ready.push(call.clone()),
                    }
                    all.push(call);
                }
                Err(refusal) => {
                    let call = ToolCall { id, name: raw.name, arguments: Map::new() };
                    noted.refusals.push(refusal.clone());
                    told.push((call.clone(), refusal));
                    all.push(call);
                }
            }
        }
        let is_correction = ready.is_empty() && noted.refusals.len() == all.len();
        let is_activation = !ready.is_empty() && ready.iter().all(|call| call.name == ACTIVATE_SKILL);
        let counts = match (is_correction, is_activation) {
            (true, _) => count(&mut self.corrections, MOST_CORRECTIONS),
            (_, true) => count(&mut self.activations, MOST_ACTIVATIONS),
            (false, false) => true,
        };
        if counts {
            self.iterations += 1;
        }
        if self.iterations > 1 && counts {
            let of = |call: &ToolCall| Refinement { iteration: self.iterations, tool: call.name.clone() };
            noted.refinements = ready.iter().map(of).collect();
        }
        self.messages.push(ChatMessage::Assistant { text, reasoning, calls: all });
        for (call, text) in told {
            self.tell(&call, text);
        }
        if ready.is_empty() {
            self.go_on(if is_correction { Prompt::None } else { Prompt::FollowUp });
        } else {
            self.state = State::Calling(ready);
        }
        noted
    }

    /// Returns an id that no other call of the conversation has: that of the service, where it is such a one.
    fn fresh_id(&self, given: Option<&str>, beside: &[ToolCall]) -> String {
        let calls = self.messages.iter().filter_map(|it| match it {
            ChatMessage::Assistant { calls, .. } => Some(calls),
            ChatMessage::System { .. } | ChatMessage::User { .. } | ChatMessage::Tool { .. } => None,
        });
        let taken: Vec<&str> = calls.flatten().chain(beside).map(|call| call.id.as_str()).collect();
        let own = given.filter(|id| !id.is_empty() && !taken.contains(id)).map(str::to_owned);
        let mut numbered = (taken.len() + 1..).map(|number| format!("call_{number}"));
        own.or_else(|| numbered.find(|id| !taken.contains(&id.as_str()))).unwrap_or_default()
    }

    /// Goes on after results: with tools, or at the limit without.
    fn go_on(&mut self, prompt: Prompt) {
        self.state = match (self.iterations < self.granted, self.bounds.at_limit) {
            (true, _) => State::Asking(Ask { has_tools: true, prompt }),
            (false, AtLimit::Choose) => State::Choosing,
            (false, AtLimit::Answer) => State::Asking(Ask { has_tools: false, prompt: Prompt::Last }),
        };
    }

    fn say(&mut self, text: &str, reasoning: String) {
        self.messages.push(ChatMessage::Assistant { text: text.to_owned(), reasoning, calls: Vec::new() });
    }

    fn tell(&mut self, call: &ToolCall, text: String) {
        self.messages.push(ChatMessage::Tool { id: call.id.clone(), name: call.name.clone(), text });
    }

    /// Returns what a call gave that was made before with the same arguments.
    fn known(&self, call: &ToolCall) -> Option<String> {
        let is_it = |it: &&Known| it.name == call.name && it.arguments == call.arguments;
        self.known.iter().find(is_it).map(|it| it.text.clone())
    }

    /// Keeps what a call gave. What was read before something changed is not kept any longer: it may be stale.
    fn remember(&mut self, ToolCall { name, arguments, .. }: ToolCall, text: String) {
        let reads = |name: &str| self.offers.iter().any(|it| it.name == name && it.only_reads);
        if !reads(&name) && name != ACTIVATE_SKILL {
            let kept: Vec<Known> = self.known.iter().filter(|it| !reads(&it.name)).cloned().collect();
            self.known = kept;
        }
        self.known.push(Known { name, arguments, text });
    }
}

/// Answers a call that stands twice in one reply.
fn same(ready: &[ToolCall], call: &ToolCall) -> Option<String> {
    let twin = ready.iter().find(|it| it.name == call.name && it.arguments == call.arguments)?;
    Some(format!("The same call as `{}`, whose result counts for both.", twin.id))
}

/// Counts something that is free a few times; returns whether it costs now.
fn count(times: &mut usize, free: usize) -> bool {
    *times += 1;
    *times > free
}

#[cfg(test)]
mod tests;
