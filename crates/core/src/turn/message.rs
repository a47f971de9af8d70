//! What is said in a conversation between a person, a model and tools.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One message of a conversation, whoever carries it to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum ChatMessage {
    /// What the model is told about its work.
    System {
        /// The text.
        text: String,
    },
    /// What the person says.
    User {
        /// The text.
        text: String,
    },
    /// What the model says.
    Assistant {
        /// The text for the person.
        text: String,
        /// What it thought meanwhile; never sent back to it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reasoning: String,
        /// The tools that it calls.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// What a tool answers.
    Tool {
        /// The id of the call.
        id: String,
        /// The tool.
        name: String,
        /// The result.
        text: String,
    },
}

impl ChatMessage {
    /// Makes a message of the person.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into() }
    }

    /// Makes an answer that calls nothing.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant { text: text.into(), reasoning: String::new(), calls: Vec::new() }
    }

    /// Returns its text.
    pub fn text(&self) -> &str {
        match self {
            Self::System { text }
            | Self::User { text }
            | Self::Assistant { text, .. }
            | Self::Tool { text, .. } => text,
        }
    }
}

/// A call that a model makes, under the name that it was offered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Tells it from others in the same conversation.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

/// What a model replied, before anybody has made sense of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The text for the person.
    pub text: String,
    /// What it thought meanwhile.
    pub reasoning: String,
    /// The calls that the service told apart from the text.
    pub calls: Vec<RawCall>,
    /// Whether the service stopped it before it was done.
    pub is_cut: bool,
}

/// A call as a model wrote it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawCall {
    /// Its id, where the service gave it one.
    pub id: Option<String>,
    /// The tool's name, right or wrong.
    pub name: String,
    /// The arguments: a JSON object as text, if all is well.
    pub arguments: String,
}
