//! The two forms of an answer: one JSON object, or a stream of events that ends with it.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::{mpsc, watch};

use super::connections::Listens;
use super::flow::{Broken, Ending, Final, Flow, Lines, Memory, Work, carried};
use crate::jsonrpc::{ErrorObject, Id, response_line};

/// Which form an answer takes.
#[derive(Debug)]
pub(crate) enum Form {
    /// JSON, unless something is to be said before the answer.
    Shortest,
    /// A stream; in a session from the start: whoever answers may speak before it does.
    Stream,
}

/// Where the streams of a session's requests stay when their connection breaks.
pub(crate) type Home = Option<Arc<Broken>>;

/// Answers a request.
pub(crate) async fn respond(
    mut work: Work,
    mut outgoing: mpsc::Receiver<String>,
    closing: watch::Receiver<bool>,
    (form, home): (Form, Home),
) -> Response {
    let (first, ending) = match form {
        Form::Stream if home.is_some() => (Vec::new(), Ending::Pending(work)),
        Form::Stream | Form::Shortest => tokio::select! {
            biased;
            Some(line) = outgoing.recv() => (vec![line], Ending::Pending(work)),
            done = work.task() => match (outgoing.try_recv(), done) {
                (Ok(line), Ok(last)) => (vec![line], Ending::Ready(last)),
                // The modern era has a status for each kind of error, which a stream could not show.
                (Err(_), Ok(last)) if matches!(form, Form::Stream) && last.status.is_success() => {
                    (Vec::new(), Ending::Ready(last))
                }
                (Err(_), Ok(last)) => return json(last),
                // Cancelled by its client, which expects no answer any more.
                (_, Err(_)) => return accepted(),
            },
        },
    };
    let flow = Flow::new(first, outgoing, ending, closing);
    match home {
        Some(home) => sse(carried(flow.remembered(Some(Memory::new())), home)),
        None => sse(flow.bytes()),
    }
}

/// Goes on with a stream that broke.
pub(crate) fn resumed(flow: Flow<mpsc::Receiver<String>>, home: Arc<Broken>) -> Response {
    sse(carried(flow, home))
}

/// Streams what belongs to no request.
pub(crate) fn stream(outgoing: impl Lines, closing: watch::Receiver<bool>) -> Response {
    let mut response = sse(Flow::new(Vec::new(), outgoing, Ending::Never, closing).bytes());
    response.extensions_mut().insert(Listens);
    response
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
