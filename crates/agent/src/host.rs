//! Who follows a conversation: hears what happens, and answers what only a person can.

use serde::Serialize;
use serde_json::{Map, Value};
use toolyard_core::turn::{ChatMessage, LimitChoice, Pending, ToolCall, TurnEnding};

use crate::model::Usage;

/// Whoever sits in front of a conversation: a person at a terminal, a script, a client of the proxy.
pub trait Host: Send {
    /// Is told what happens, as it happens.
    fn hear(&mut self, event: Event);

    /// Says whether a call may be made that a person has to agree to.
    fn agree(&mut self, consent: Consent) -> impl Future<Output = bool> + Send;

    /// Answers a question that a server or the hub asks; `None` where nobody can.
    fn answer(&mut self, question: Elicitation) -> impl Future<Output = Option<Map<String, Value>>> + Send;

    /// Chooses how to go on when all iterations are used.
    fn choose(&mut self) -> impl Future<Output = LimitChoice> + Send;
}

/// Nobody: hears nothing, agrees to nothing, lets the model answer with what it has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Host for Nobody {
    fn hear(&mut self, _: Event) {}

    async fn agree(&mut self, _: Consent) -> bool {
        false
    }

    async fn answer(&mut self, _: Elicitation) -> Option<Map<String, Value>> {
        None
    }

    async fn choose(&mut self) -> LimitChoice {
        LimitChoice::WrapUp
    }
}

/// Something that a person has to agree to.
#[derive(Clone, Debug, PartialEq)]
pub struct Consent {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// Why it is asked.
    pub why: Why,
}

/// Why a person is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// The configuration says so, usually because it cannot be undone.
    Policy(String),
    /// These values were said by nobody: where each lies, and what it is.
    Unsaid(Vec<(String, Value)>),
}

/// A question in the form of an elicitation.
#[derive(Clone, Debug, PartialEq)]
pub struct Elicitation {
    /// What is asked.
    pub message: String,
    /// The form of the answer.
    pub schema: Value,
}

/// Something that happens in a conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// The tools that the model is offered for a message.
    Bound {
        /// Their names.
        tools: Vec<String>,
        /// About how many tokens their definitions have.
        tokens: usize,
        /// Why these.
        why: String,
    },
    /// A piece of the answer that can be shown at once.
    Text {
        /// The piece.
        text: String,
    },
    /// A piece of what the model thinks.
    Reasoning {
        /// The piece.
        text: String,
    },
    /// A tool is called.
    Call {
        /// Tells the call from others.
        id: String,
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Map<String, Value>,
    },
    /// A call has ended.
    Result {
        /// The call.
        id: String,
        /// The tool.
        tool: String,
        /// What the model is told.
        text: String,
        /// Whether the tool failed.
        is_error: bool,
        /// How long it took.
        ms: u64,
    },
    /// A call was not made.
    NotCalled {
        /// What the model is told instead.
        why: String,
    },
    /// A call was written wrongly and could be read all the same.
    Repaired {
        /// What was read as what.
        what: String,
    },
    /// The model searches again.
    Refinement {
        /// The iteration; the first search was 1.
        iteration: usize,
        /// The tool.
        tool: String,
    },
    /// Other tools are offered from now on in this turn.
    Refreshed {
        /// Their names.
        tools: Vec<String>,
        /// Why.
        why: String,
    },
    /// A message joined the conversation. Whoever writes all of them down can go on from there.
    Message {
        /// The message.
        message: ChatMessage,
    },
    /// The turn is over.
    Answer(Box<Ended>),
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    /// The answer; the last result where the model had nothing to say.
    pub text: String,
    /// How it ended.
    pub ending: TurnEnding,
    /// Replies with calls.
    pub iterations: usize,
    /// Questions to the model.
    pub asked: usize,
    /// Calls that the model made.
    pub calls: usize,
    /// What the model counted.
    #[serde(flatten)]
    pub usage: Usage,
    /// A call that was not made because nobody said one of its values: something for the person to finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<OpenCall>,
    /// Calls of tools of somebody else, who makes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<ToolCall>,
    /// What tools leave open.
    #[serde(skip_serializing_if = "Pending::is_empty")]
    pub pending: Pending,
}

/// A call for the person to finish.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenCall {
    /// The tool.
    pub tool: String,
    /// The arguments that are known.
    pub arguments: Map<String, Value>,
    /// Where values lie that nobody said.
    pub unsaid: Vec<String>,
}
