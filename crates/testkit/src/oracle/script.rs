//! The body of an answer that is sent chunk by chunk, and notices when nobody listens any more.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame};

/// What comes after the last chunk.
#[derive(Clone, Copy, Debug)]
pub(super) enum Finale {
    /// The body ends.
    End,
    /// The connection dies.
    Break,
    /// Nothing, for ever.
    Stall,
}

/// A body that is written down.
#[derive(Debug)]
pub(super) struct Script {
    chunks: VecDeque<Bytes>,
    finale: Finale,
    /// Whether the server had time to send what it got last.
    is_flushed: bool,
    listener: Listener,
}

impl Script {
    pub(super) fn new(chunks: impl IntoIterator<Item = Bytes>, finale: Finale, listener: Listener) -> Self {
        Self { chunks: chunks.into_iter().collect(), finale, is_flushed: true, listener }
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        // Without a pause the server would gather chunks, and lose them if the connection dies then.
        if !std::mem::replace(&mut self.is_flushed, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = self.chunks.pop_front();
        if self.chunks.is_empty() && !matches!(self.finale, Finale::Stall) {
            self.listener.is_served = true;
        }
        match (next, self.finale) {
            (Some(chunk), _) => {
                self.is_flushed = false;
                Poll::Ready(Some(Ok(Frame::data(chunk))))
            }
            (None, Finale::End) => Poll::Ready(None),
            (None, Finale::Break) => {
                let dead = io::Error::new(io::ErrorKind::ConnectionReset, "the script says so");
                Poll::Ready(Some(Err(dead)))
            }
            // Nobody wakes it: the server drops the body when the client hangs up.
            (None, Finale::Stall) => Poll::Pending,
        }
    }
}

/// The client of one answer; counts it when it hangs up before the end.
#[derive(Debug)]
pub(super) struct Listener {
    hung_up: Arc<AtomicUsize>,
    is_served: bool,
}

impl Listener {
    /// Begins an answer.
    pub(super) fn new(hung_up: Arc<AtomicUsize>) -> Self {
        Self { hung_up, is_served: false }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if !self.is_served {
            self.hung_up.fetch_add(1, Ordering::SeqCst);
        }
    }
}
