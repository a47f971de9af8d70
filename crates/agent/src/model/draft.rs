//! A reply as far as it has arrived.

use toolyard_core::turn::{RawCall, Reply};

use super::thinking::{Part, Splitter};
use super::{Answered, MOST_BYTES, Piece, Usage};

/// Bytes that a call takes besides its arguments.
const CALL_BYTES: usize = 64;

/// Why nothing more of an answer is read.
#[derive(Debug)]
pub(super) enum Stop {
    /// It is complete.
    Done,
    /// The body ended.
    Closed,
    /// The connection broke, for this reason.
    Broken(String),
    /// Nothing came for too long.
    Silent,
    /// The service says that it cannot go on, and why.
    Failed(String),
    /// It is something else than a reply.
    Senseless,
    /// It is too long.
    Endless,
}

/// Gathers a reply, and tells somebody about each piece.
pub(super) struct Draft<'a> {
    heard: &'a mut (dyn FnMut(Piece) + Send),
    splitter: Splitter,
    text: String,
    reasoning: String,
    size: usize,
    pub(super) calls: Vec<Drafted>,
    pub(super) usage: Usage,
    /// Whether the service stopped the model.
    pub(super) is_cut: bool,
    /// Whether the reply is complete.
    pub(super) is_done: bool,
    /// Whether anything arrived that only a reply has.
    pub(super) is_known: bool,
}

/// A call, with the place that a service gave it in its reply.
#[derive(Debug, Default)]
pub(super) struct Drafted {
    pub(super) index: Option<u64>,
    pub(super) call: RawCall,
}

impl<'a> Draft<'a> {
    pub(super) fn new(heard: &'a mut (dyn FnMut(Piece) + Send)) -> Self {
        Self {
            heard,
            splitter: Splitter::default(),
            text: String::new(),
            reasoning: String::new(),
            size: 0,
            calls: Vec::new(),
            usage: Usage::default(),
            is_cut: false,
            is_done: false,
            is_known: false,
        }
    }

    /// Takes text, which may hold reasoning between tags.
    pub(super) fn say(&mut self, text: &str) {
        self.size += text.len();
        for part in self.splitter.feed(text) {
            self.add(part);
        }
    }

    /// Takes reasoning that the service tells apart from text.
    pub(super) fn think(&mut self, text: &str) {
        if !text.is_empty() {
            self.size += text.len();
            self.add(Part::Reasoning(text.to_owned()));
        }
    }

    /// Counts a piece of a call.
    pub(super) fn count(&mut self, bytes: usize) {
        self.size += bytes + CALL_BYTES;
    }

    /// Whether it is longer than a reply may be.
    pub(super) fn is_endless(&self) -> bool {
        self.size > MOST_BYTES
    }

    /// Ends a reply that is complete.
    pub(super) fn finish(mut self) -> Answered {
        let usage = self.usage;
        self.flush();
        let mut reply = self.reply();
        if !reply.is_cut {
            // Services write nothing at all for a call without arguments.
            let empty = reply.calls.iter_mut().filter(|call| call.arguments.trim().is_empty());
            empty.for_each(|call| "{}".clone_into(&mut call.arguments));
        }
        Answered { reply, usage }
    }

    /// Ends a reply that broke off.
    pub(super) fn cut(mut self) -> Reply {
        self.flush();
        self.is_cut = true;
        self.reply()
    }

    fn flush(&mut self) {
        for part in self.splitter.finish() {
            self.add(part);
        }
    }

    fn reply(self) -> Reply {
        let calls = self.calls.into_iter().map(|it| it.call);
        Reply {
            text: self.text,
            reasoning: self.reasoning.trim().to_owned(),
            calls: calls.filter(|call| !call.name.is_empty() || !call.arguments.is_empty()).collect(),
            is_cut: self.is_cut,
        }
    }

    fn add(&mut self, part: Part) {
        match part {
            Part::Text(text) => {
                self.text.push_str(&text);
                (self.heard)(Piece::Text(text));
            }
            Part::Reasoning(text) => {
                self.reasoning.push_str(&text);
                (self.heard)(Piece::Reasoning(text));
            }
            Part::TextWasReasoning => {
                let text = std::mem::take(&mut self.text);
                self.reasoning.push_str(&text);
            }
        }
    }
}
