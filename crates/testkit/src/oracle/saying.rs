//! What a test wrote down for the service to say.

use serde_json::Value;

/// What the service does with a question.
///
/// A question with `stream: true` gets the reply piece by piece, another gets the same reply as one object.
#[derive(Clone, Debug)]
pub enum Saying {
    /// Answers with a message that is this JSON.
    Json(Value),
    /// Answers with a message that is this text.
    Text(String),
    /// Answers with something that is no message.
    Senseless,
    /// Answers with a status and no message.
    Status(u16),
    /// Answers with a message of this many bytes.
    Long(usize),
    /// Never answers.
    Silence,
    /// Answers with these pieces.
    Pieces(Vec<Said>),
    /// Answers with these pieces and was stopped there, because the reply became too long.
    CutAfter(Vec<Said>),
    /// Answers with these pieces; then the connection dies in the middle of the stream.
    BreaksAfter(Vec<Said>),
    /// Answers with these pieces and never goes on.
    StallsAfter(Vec<Said>),
    /// Answers with these pieces as one object, although streaming was asked for.
    WholeDespiteStream(Vec<Said>),
    /// Reports an error inside the stream. Without a stream it is a status 500.
    StreamError(String),
    /// Answers with a status, and with a message in the form that errors have in the dialect.
    Refuses {
        /// The status.
        status: u16,
        /// What is wrong.
        message: String,
        /// Seconds for the header `Retry-After`.
        retry_after: Option<u64>,
    },
    /// Answers with exactly these bytes, chunk by chunk.
    Chunks(Vec<Vec<u8>>),
}

/// One piece of a reply.
#[derive(Clone, Debug)]
pub enum Said {
    /// Text for the person.
    Text(String),
    /// Reasoning, where the dialect keeps it apart from the text.
    Reasoning(String),
    /// A call of a tool, in one piece.
    Call {
        /// The tool.
        name: String,
        /// Its arguments.
        arguments: Value,
    },
    /// A call of a tool whose arguments arrive in pieces. Ollama has no such thing and sends the whole.
    CallInPieces {
        /// The tool.
        name: String,
        /// Its arguments as JSON, cut anywhere.
        arguments: Vec<String>,
    },
}

impl Saying {
    /// Makes a reply that is a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Pieces(vec![Said::text(text)])
    }

    /// Makes a reply that calls one tool.
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self::Pieces(vec![Said::call(name, arguments)])
    }

    /// Makes a refusal with a status and a message.
    pub fn refuses(status: u16, message: impl Into<String>) -> Self {
        Self::Refuses { status, message: message.into(), retry_after: None }
    }
}

impl Said {
    /// Makes a piece of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Makes a piece of reasoning.
    pub fn reasoning(text: impl Into<String>) -> Self {
        Self::Reasoning(text.into())
    }

    /// Makes a call in one piece.
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self::Call { name: name.into(), arguments }
    }
}
