//! What carries the messages of a link.

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::secrets::Secrets;
use crate::upstream::http::HttpWire;
use crate::upstream::sse::SseWire;

/// What carries the messages.
#[derive(Debug)]
pub(crate) enum Wire {
    /// Lines to a child's standard input.
    Lines(mpsc::Sender<Outgoing>),
    /// One HTTP request per message.
    Http(HttpWire),
    /// An event stream for answers, HTTP requests for the rest.
    Sse(SseWire),
    /// A built-in server.
    Builtin(Arc<toolyard_packs::Pack>),
}

impl Wire {
    /// Returns what the server is told and must not repeat to others.
    pub(crate) fn secrets(&self) -> Option<&Secrets> {
        match self {
            Self::Http(wire) => Some(&wire.endpoint.secrets),
            Self::Sse(wire) => Some(&wire.endpoint.secrets),
            Self::Lines(_) | Self::Builtin(_) => None,
        }
    }
}

/// A line on its way to a child.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) line: String,
    /// The request that it is, if it is one.
    pub(crate) id: Option<u64>,
}
