//! The two forms of an answer: one JSON object, or a stream of events that ends with it.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::jsonrpc::{ErrorObject, Id, response_line};

/// Quiet streams get a comment this often, so that nobody between us takes them for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The last line of an answer.
#[derive(Debug)]
pub(crate) struct Final {
    pub(crate) status: StatusCode,
    pub(crate) line: String,
}

/// The task that makes the answer, and what becomes of it when the client leaves.
#[derive(Debug)]
pub(crate) enum Work {
    /// It is cancelled.
    Cancelled(JoinHandle<Final>),
    /// It goes on; the client can cancel it by name.
    Finished(JoinHandle<Final>),
}

impl Work {
    fn task(&mut self) -> &mut JoinHandle<Final> {
        match self {
            Self::Cancelled(task) | Self::Finished(task) => task,
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Self::Cancelled(task) = self {
            task.abort();
        }
    }
}

/// Answers with JSON if the answer comes first, or with a stream if something else does.
pub(crate) async fn respond(
    mut work: Work,
    mut outgoing: mpsc::Receiver<String>,
    closing: watch::Receiver<bool>,
) -> Response {
    let first = tokio::select! {
        biased;
        Some(line) = outgoing.recv() => line,
        done = work.task() => {
            return match (outgoing.try_recv(), done) {
                (Ok(line), Ok(last)) => sse(events(vec![line], outgoing, Ending::Ready(last), closing)),
                (Err(_), Ok(last)) => json(last),
                // Cancelled by its client, which expects no answer any more.
                (_, Err(_)) => accepted(),
            };
        }
    };
    sse(events(vec![first], outgoing, Ending::Pending(work), closing))
}

/// Streams what belongs to no request.
pub(crate) fn stream(outgoing: impl Lines, closing: watch::Receiver<bool>) -> Response {
    sse(events(Vec::new(), outgoing, Ending::Never, closing))
}

/// Where the lines of a stream come from.
pub(crate) trait Lines: Send + 'static {
    /// Returns the next line, or `None` when there will be no more.
    fn next(&mut self) -> impl Future<Output = Option<String>> + Send;
}

impl Lines for mpsc::Receiver<String> {
    async fn next(&mut self) -> Option<String> {
        self.recv().await
    }
}

enum Ending {
    Ready(Final),
    Pending(Work),
    Never,
    Over,
}

struct Flow<L> {
    waiting: std::collections::VecDeque<String>,
    outgoing: L,
    has_more: bool,
    ending: Ending,
    closing: watch::Receiver<bool>,
    is_draining: bool,
}

fn events<L: Lines>(
    first: Vec<String>,
    outgoing: L,
    ending: Ending,
    closing: watch::Receiver<bool>,
) -> impl futures_util::Stream<Item = Result<Bytes, Infallible>> {
    let flow = Flow { waiting: first.into(), outgoing, has_more: true, ending, closing, is_draining: false };
    stream::unfold(flow, |mut flow| async move { flow.next().await.map(|bytes| (Ok(bytes), flow)) })
}

impl<L: Lines> Flow<L> {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(line) = self.waiting.pop_front() {
                return Some(event(&line));
            }
            match &mut self.ending {
                Ending::Over => return None,
                Ending::Ready(_) => {
                    let Ending::Ready(last) = std::mem::replace(&mut self.ending, Ending::Over) else {
                        continue;
                    };
                    // What was said before the answer goes out before it.
                    while let Some(Some(line)) = futures_util::FutureExt::now_or_never(self.outgoing.next()) {
                        self.waiting.push_back(line);
                    }
                    self.waiting.push_back(last.line);
                    continue;
                }
                Ending::Pending(_) | Ending::Never => {}
            }
            tokio::select! {
                biased;
                line = self.outgoing.next(), if self.has_more => match line {
                    Some(line) => self.waiting.push_back(line),
                    None => {
                        self.has_more = false;
                        if matches!(self.ending, Ending::Never) {
                            return None;
                        }
                    }
                },
                done = finished(&mut self.ending) => {
                    self.ending = done.map_or(Ending::Over, Ending::Ready);
                }
                _ = self.closing.wait_for(|closing| *closing), if !self.is_draining => {
                    // A stream that never ends by itself must not hold the hub up.
                    if matches!(self.ending, Ending::Never) {
                        return None;
                    }
                    self.is_draining = true;
                }
                () = tokio::time::sleep(KEEP_ALIVE) => return Some(Bytes::from_static(b": still here\n\n")),
            }
        }
    }
}

async fn finished(ending: &mut Ending) -> Option<Final> {
    match ending {
        Ending::Pending(work) => work.task().await.ok(),
        Ending::Never | Ending::Ready(_) | Ending::Over => std::future::pending().await,
    }
}

fn event(line: &str) -> Bytes {
    Bytes::from(format!("event: message\ndata: {line}\n\n"))
}

fn sse(events: impl futures_util::Stream<Item = Result<Bytes, Infallible>> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn json(last: Final) -> Response {
    (last.status, [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], last.line)
        .into_response()
}

/// Says that a message was taken and has no answer.
pub(crate) fn accepted() -> Response {
    StatusCode::ACCEPTED.into_response()
}

/// Refuses a request in the protocol's own words.
pub(crate) fn refused(status: StatusCode, id: Option<&Id>, error: ErrorObject) -> Response {
    json(Final { status, line: response_line(id, &Err(error)) })
}
