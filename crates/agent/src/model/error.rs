//! What goes wrong with a model, and what to do about it.
//!
//! What a service says is a stranger's text: it is cleaned and cut, and secrets that it repeats are taken out.

use std::io::ErrorKind;
use std::time::Duration;

use serde_json::Value;
use toolyard_core::tool::clean;
use toolyard_core::turn::Reply;
use toolyard_hub::config::{LanguageModel, ModelApi};
use url::Url;

/// Characters of a service's message that are shown.
const MOST_SHOWN: usize = 300;
/// Parts of an address that are shorter than this are no secrets.
const LEAST_SECRET: usize = 4;

/// Why a model gave no complete reply.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody answers there.
    #[error("`{model}` cannot be reached at {origin}: {what}; is the server running?")]
    Unreachable {
        /// The model.
        model: Box<str>,
        /// Where it was looked for.
        origin: Box<str>,
        /// What is wrong.
        what: Box<str>,
    },
    /// The service answers with a status that is no success.
    #[error("`{model}` refuses with HTTP {status}: {what}")]
    Refused {
        /// The model.
        model: Box<str>,
        /// The status.
        status: u16,
        /// What is wrong, and what may help.
        what: Box<str>,
    },
    /// Nothing came for as long as it was given.
    #[error(
        "`{model}` was silent for {limit:?}; a large model may need more time, above all for its first reply"
    )]
    Late {
        /// The model.
        model: Box<str>,
        /// How long it had.
        limit: Duration,
        /// What had arrived before.
        said: Reply,
    },
    /// The reply broke off.
    #[error("the reply of `{model}` broke off: {what}")]
    Broken {
        /// The model.
        model: Box<str>,
        /// What happened.
        what: Box<str>,
        /// What had arrived before.
        said: Reply,
    },
    /// The service reports an error instead of going on.
    #[error("`{model}` gave up: {what}")]
    Failed {
        /// The model.
        model: Box<str>,
        /// What the service says.
        what: Box<str>,
        /// What had arrived before.
        said: Reply,
    },
    /// What came is no reply.
    #[error("`{model}` answers with something that is no reply; does its address end with {expected}?")]
    Senseless {
        /// The model.
        model: Box<str>,
        /// How an address of its dialect ends.
        expected: &'static str,
    },
    /// The reply is too long.
    #[error("`{model}` replies without end: more than {} MiB", limit / (1024 * 1024))]
    Endless {
        /// The model.
        model: Box<str>,
        /// Bytes that a reply may have.
        limit: usize,
    },
}

impl Error {
    /// Returns what had arrived of the reply.
    pub fn said(&self) -> Option<&Reply> {
        match self {
            Self::Late { said, .. } | Self::Broken { said, .. } | Self::Failed { said, .. } => Some(said),
            Self::Unreachable { .. }
            | Self::Refused { .. }
            | Self::Senseless { .. }
            | Self::Endless { .. } => None,
        }
    }

    pub(super) fn unreachable(model: &LanguageModel, err: reqwest::Error) -> Self {
        let origin = Url::parse(&model.url).map(|url| url.origin().ascii_serialization());
        Self::Unreachable {
            model: name(model),
            origin: origin.unwrap_or_else(|_| "an address that is none".to_owned()).into(),
            what: shown(model, &cause(err)),
        }
    }

    pub(super) fn refused(model: &LanguageModel, status: u16, page: &[u8]) -> Self {
        Self::Refused { model: name(model), status, what: refusal(model, status, page).into() }
    }

    pub(super) fn late(model: &LanguageModel, said: Reply) -> Self {
        Self::Late { model: name(model), limit: model.timeout, said }
    }

    pub(super) fn broken(model: &LanguageModel, what: &str, said: Reply) -> Self {
        Self::Broken { model: name(model), what: shown(model, what), said }
    }

    pub(super) fn failed(model: &LanguageModel, what: &str, said: Reply) -> Self {
        Self::Failed { model: name(model), what: shown(model, what), said }
    }

    pub(super) fn senseless(model: &LanguageModel) -> Self {
        let expected = match model.api() {
            ModelApi::Ollama => "`/api/chat`",
            ModelApi::OpenAi => "`/chat/completions`",
            ModelApi::Anthropic => "`/v1/messages`",
        };
        Self::Senseless { model: name(model), expected }
    }

    pub(super) fn endless(model: &LanguageModel, limit: usize) -> Self {
        Self::Endless { model: name(model), limit }
    }
}

/// Returns the message of an object that reports an error, in any of the forms that services have for it.
pub(super) fn complaint(answer: &Value) -> Option<String> {
    let is_error = answer["object"] == "error";
    let error = answer.get("error").or_else(|| is_error.then_some(answer));
    let error = error.filter(|it| !it.is_null() && **it != Value::Bool(false))?;
    let message = error.as_str().or_else(|| error["message"].as_str());
    let message = message.or_else(|| answer["message"].as_str()).filter(|it| !it.trim().is_empty());
    Some(message.map_or_else(|| error.to_string(), str::to_owned))
}

/// Returns what lies at the bottom of an error: it says most, and does not repeat the address.
pub(super) fn cause(err: reqwest::Error) -> String {
    let err = err.without_url();
    let mut cause: &dyn std::error::Error = &err;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// Whether a request that failed may succeed when it is sent again, and did not begin to be answered.
pub(super) fn is_passing(err: &reqwest::Error) -> bool {
    if err.is_timeout() || !err.is_request() {
        return false;
    }
    let mut causes = std::iter::successors(std::error::Error::source(err), |it| it.source());
    let is_lost = |kind| {
        matches!(
            kind,
            ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted
        )
    };
    // A connection that was made and then lost shows as a message that is incomplete.
    !err.is_connect()
        || causes.any(|it| it.downcast_ref::<std::io::Error>().is_some_and(|it| is_lost(it.kind())))
}

fn name(model: &LanguageModel) -> Box<str> {
    model.name.as_str().into()
}

fn refusal(model: &LanguageModel, status: u16, page: &[u8]) -> String {
    let said = message(page).map(|said| shown(model, &said));
    let said_or = |otherwise: &str| said.as_deref().unwrap_or(otherwise).to_owned();
    match (status, model.api()) {
        (300..=399, _) => "it redirects to another address; correct the address of the model".to_owned(),
        // What services say here often has parts of the key in it.
        (401, _) if model.key.is_some() => "the key is wrong; correct the key of the model".to_owned(),
        (401, _) => "it wants a key; add the key of the model".to_owned(),
        (403, _) => format!("{}; may the key use this model?", said_or("it is forbidden")),
        (404, ModelApi::Ollama) => {
            format!("{}; run `ollama pull {}`", said_or("the model is not there"), model.name)
        }
        (404, ModelApi::OpenAi | ModelApi::Anthropic) => {
            format!("{}; is the address right, and the name of the model?", said_or("nothing is there"))
        }
        (429, _) => format!("{}; try again later", said_or("too many requests")),
        (_, _) => said_or("it does not say why"),
    }
}

/// Returns what an error page says, if it says something that is not made for browsers.
fn message(page: &[u8]) -> Option<String> {
    if let Ok(page) = serde_json::from_slice::<Value>(page) {
        // One large service wraps its errors into a list.
        let page = if page.is_array() { &page[0] } else { &page };
        let otherwise = || page["message"].as_str().or_else(|| page["detail"].as_str()).map(str::to_owned);
        return complaint(page).or_else(otherwise);
    }
    let text = String::from_utf8_lossy(page);
    let text = text.trim();
    (!text.is_empty() && !text.starts_with('<')).then(|| text.to_owned())
}

/// Makes a text from outside fit to be shown.
fn shown(model: &LanguageModel, text: &str) -> Box<str> {
    let mut text = clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    for secret in secrets(model) {
        text = text.replace(&secret, "…");
    }
    if let Some((end, _)) = text.char_indices().nth(MOST_SHOWN) {
        text.truncate(end);
        text.push('…');
    }
    text.into()
}

/// Returns everything of a model that must not be shown.
fn secrets(model: &LanguageModel) -> Vec<String> {
    let mut secrets: Vec<String> = Vec::new();
    if let Ok(url) = Url::parse(&model.url) {
        secrets.extend(url.query().map(str::to_owned));
        secrets.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
        secrets.extend(url.password().map(str::to_owned));
        secrets.retain(|secret| secret.len() >= LEAST_SECRET);
    }
    secrets.extend(model.key.clone().filter(|key| !key.is_empty()));
    secrets
}
