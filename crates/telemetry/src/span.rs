//! One piece of work in a trace.

use std::time::SystemTime;

use crate::trace::{Context, SpanId};

/// Attributes that a span keeps.
const ATTRIBUTES: usize = 32;
/// Characters that a name, a value or a message keeps.
const LENGTH: usize = 1024;

/// One piece of work in a trace, with when it began and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// What was done.
    pub name: String,
    /// Which side of a request it is.
    pub kind: SpanKind,
    /// The trace, and the id of this span.
    pub context: Context,
    /// The span that caused it.
    pub parent: Option<SpanId>,
    /// When it began.
    pub start: SystemTime,
    /// When it ended.
    pub end: SystemTime,
    /// Facts about it.
    pub attributes: Vec<(&'static str, AttributeValue)>,
    /// How it ended.
    pub status: SpanStatus,
}

/// Which side of a request a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Work within the hub.
    Internal,
    /// A request that a client sent to the hub.
    Server,
    /// A request that the hub sent to a server.
    Client,
}

/// How a span ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanStatus {
    /// Nobody judged it.
    Unset,
    /// It went well.
    Ok,
    /// It failed, and why.
    Error(String),
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    /// A text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// True or false.
    Flag(bool),
}

impl Span {
    /// Begins work within a trace, or a trace of its own where there is no parent. Until it is finished it ends when it
    /// began.
    pub fn begin(name: &str, kind: SpanKind, parent: Option<&Context>, start: SystemTime) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            context: parent.map_or_else(Context::root, Context::child),
            parent: parent.map(Context::span_id),
            start,
            end: start,
            attributes: Vec::new(),
            status: SpanStatus::Unset,
        }
    }

    /// Adds a fact.
    pub fn set(&mut self, key: &'static str, value: AttributeValue) {
        self.attributes.push((key, value));
    }

    /// Ends it.
    #[must_use]
    pub fn finish(self, end: SystemTime, status: SpanStatus) -> Self {
        Self { end, status, ..self }
    }

    /// Cuts what is too long, so that a full queue has a bounded size.
    pub(crate) fn clip(&mut self) {
        clip(&mut self.name);
        self.attributes.truncate(ATTRIBUTES);
        for (_, value) in &mut self.attributes {
            if let AttributeValue::Text(text) = value {
                clip(text);
            }
        }
        if let SpanStatus::Error(message) = &mut self.status {
            clip(message);
        }
    }
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for AttributeValue {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<f64> for AttributeValue {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<bool> for AttributeValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

fn clip(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(LENGTH) {
        text.truncate(end);
        text.shrink_to_fit();
    }
}
