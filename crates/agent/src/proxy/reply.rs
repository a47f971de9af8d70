//! What is said in a turn, as a response: piece by piece, or as one object.

use std::convert::Infallible;
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, BoxStream, StreamExt};
use jiff::Timestamp;

use super::answer::Said;
use super::chat::Chat;
use super::{ollama, openai};
use crate::model::Dialect;

/// What every piece of an answer carries.
#[derive(Clone, Debug)]
pub(super) struct Stamp {
    /// What the client speaks.
    pub(super) dialect: Dialect,
    /// Tells the answer from others.
    pub(super) id: String,
    /// The model that answers.
    pub(super) model: String,
    /// When it was asked.
    pub(super) created: Timestamp,
    /// The same, for measuring.
    pub(super) begun: Instant,
    /// Whether a stream ends with how many tokens it took.
    pub(super) counts_tokens: bool,
}

impl Stamp {
    pub(super) fn new(dialect: Dialect, chat: &Chat, model: &str) -> Self {
        Self {
            dialect,
            id: format!("{:016x}", getrandom::u64().unwrap_or_default()),
            model: model.to_owned(),
            created: Timestamp::now(),
            begun: Instant::now(),
            counts_tokens: chat.counts_tokens,
        }
    }

    fn written(&self, said: &Said) -> String {
        match self.dialect {
            Dialect::OpenAi => openai::events(self, said),
            Dialect::Ollama => ollama::lines(self, said),
        }
    }

    fn opening(&self) -> Option<String> {
        match self.dialect {
            Dialect::OpenAi => Some(openai::opening(self)),
            Dialect::Ollama => None,
        }
    }

    fn stream_type(&self) -> &'static str {
        match self.dialect {
            Dialect::OpenAi => "text/event-stream; charset=utf-8",
            Dialect::Ollama => "application/x-ndjson",
        }
    }
}

/// All that was said in a turn.
#[derive(Debug, Default)]
pub(super) struct Collected {
    /// The answer.
    pub(super) text: String,
    /// What the model thought.
    pub(super) reasoning: String,
}

/// Answers piece by piece. What fails before the first piece is an error of HTTP.
pub(super) async fn streamed(stamp: Stamp, mut said: BoxStream<'static, Said>) -> Response {
    let first = said.next().await;
    if let Some(Said::Failed(failed)) = &first {
        return failed.refusal.respond_with(&failed.object(stamp.dialect));
    }
    let headers = [(header::CONTENT_TYPE, stamp.stream_type()), (header::CACHE_CONTROL, "no-cache")];
    let opening = stream::iter(stamp.opening());
    let pieces = stream::iter(first).chain(said).map(move |it| stamp.written(&it));
    let pieces = opening.chain(pieces).map(|piece| Ok::<_, Infallible>(Bytes::from(piece)));
    (headers, Body::from_stream(pieces)).into_response()
}

/// Answers with one object.
pub(super) async fn whole(stamp: &Stamp, mut said: BoxStream<'static, Said>) -> Response {
    let mut all = Collected::default();
    while let Some(next) = said.next().await {
        match next {
            Said::Text(text) => all.text += &text,
            Said::Reasoning(text) => all.reasoning += &text,
            Said::Done(done) => {
                let object = match stamp.dialect {
                    Dialect::OpenAi => openai::object(stamp, &all, &done),
                    Dialect::Ollama => ollama::object(stamp, &all, &done),
                };
                return ([(header::CONTENT_TYPE, "application/json")], object.to_string()).into_response();
            }
            Said::Failed(failed) => return failed.refusal.respond_with(&failed.object(stamp.dialect)),
        }
    }
    // A turn always says how it ended.
    axum::http::StatusCode::INTERNAL_SERVER_ERROR.into_response()
}
