//! A language model over HTTP, heard piece by piece.
//!
//! A question is asked again only while nothing of an answer has arrived. When an answer breaks off, the error
//! carries what had arrived. Neither keys nor the query of an address are part of an error.

mod thinking; // reasoning that is written into the text
mod frame; //    the bytes of an answer, cut into JSON
mod draft; //    a reply as far as it has arrived
mod openai; //   the dialect of OpenAI and those who followed
mod ollama; //   the dialect of Ollama
mod anthropic; // the dialect of Anthropic
mod error; //    what goes wrong, and what to do about it

use std::ops::{AddAssign, ControlFlow};
use std::time::Duration;

use reqwest::Response;
use reqwest::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use toolyard_core::turn::{ChatMessage, Reply};
use toolyard_hub::config::{LanguageModel, ModelApi};

use draft::{Draft, Stop};
use frame::{Frame, Frames};

pub use error::Error;
pub use reqwest::Client;
pub use toolyard_hub::web::client;

/// A piece of a reply, as it arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text for the person.
    Text(String),
    /// What the model thinks meanwhile.
    Reasoning(String),
}

/// What a model is asked.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// The conversation so far.
    pub messages: &'a [ChatMessage],
    /// The tools on offer, as MCP defines them: `name`, `description`, `inputSchema`.
    pub tools: &'a [Value],
    /// Members that go into the body as they are, such as `temperature`.
    pub options: &'a Map<String, Value>,
}

/// How many tokens a question took, as the service counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens of the conversation and the tools.
    pub prompt_tokens: u64,
    /// Tokens of the reply.
    pub answer_tokens: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.prompt_tokens += other.prompt_tokens;
        self.answer_tokens += other.answer_tokens;
    }
}

/// A reply that is complete.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The reply.
    pub reply: Reply,
    /// What it took.
    pub usage: Usage,
}

/// One of the two chat APIs that clients of the proxy and the servers behind it speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Ollama's own `/api/chat`.
    Ollama,
    /// `/v1/chat/completions`, as OpenAI has it.
    OpenAi,
}

/// Bytes that a reply may have.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// Bytes that may be read for a reply: services wrap each token into hundreds of them.
const MOST_READ: usize = 64 * MOST_BYTES;
/// Bytes of an error page that are read.
const MOST_PAGE: usize = 16 * 1024;
/// Pauses before a question is asked again.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(800)];
/// The longest pause that a service can ask for; with a longer one the question fails at once.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How long a reply that is complete is followed for its count of tokens.
const AFTERWARDS: Duration = Duration::from_secs(2);
/// How long the end of a body is waited for, so that its connection can serve the next question.
const LINGER: Duration = Duration::from_millis(50);

/// Asks a model and tells `heard` what it says while it says it.
///
/// `model.timeout` limits the silence before and between pieces, not the whole time. Dropping the future hangs up.
///
/// A reply with a `</think>` that nothing opened has its beginning in `reasoning`, although it was heard as text.
pub async fn ask(
    client: &Client,
    model: &LanguageModel,
    question: &ModelRequest<'_>,
    heard: &mut (dyn FnMut(Piece) + Send),
) -> Result<Answered, Error> {
    let body = match model.api() {
        ModelApi::Ollama => ollama::body(model, question),
        ModelApi::OpenAi => openai::body(model, question),
        ModelApi::Anthropic => anthropic::body(model, question),
    };
    let body = body.to_string();
    let mut pauses = PAUSES.into_iter();
    loop {
        let failure = match attempt(client, model, body.clone(), heard).await {
            Ok(answered) => return Ok(answered),
            Err(failure) => failure,
        };
        let Some((pause, least)) = pauses.next().zip(failure.again) else { return Err(*failure.error) };
        let pause = pause.max(least);
        tracing::debug!(model = %model.name, "asking again in {pause:?}: {}", failure.error);
        tokio::time::sleep(pause).await;
    }
}

/// Why an attempt brought no reply.
struct Failure {
    error: Box<Error>,
    /// The shortest pause after which it makes sense to try again, if it does at all.
    again: Option<Duration>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error: Box::new(error), again: None }
    }
}

async fn attempt(
    client: &Client,
    model: &LanguageModel,
    body: String,
    heard: &mut (dyn FnMut(Piece) + Send),
) -> Result<Answered, Failure> {
    let mut request = client
        .post(&model.url)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "text/event-stream, application/x-ndjson, application/json")
        .body(body);
    for (name, value) in model.headers() {
        request = request.header(name, value);
    }
    match timeout(model.timeout, request.send()).await {
        Ok(Ok(response)) if response.status().is_success() => listen(model, response, heard).await,
        Ok(Ok(response)) => Err(refused(model, response).await),
        Ok(Err(err)) => {
            let again = error::is_passing(&err).then_some(Duration::ZERO);
            Err(Failure { again, ..Error::unreachable(model, err).into() })
        }
        Err(_) => Err(Error::late(model, Reply { is_cut: true, ..Reply::default() }).into()),
    }
}

/// Reads why a service does not answer.
async fn refused(model: &LanguageModel, mut response: Response) -> Failure {
    let status = response.status().as_u16();
    let pause = response.headers().get(RETRY_AFTER).and_then(|it| it.to_str().ok()?.trim().parse().ok());
    let pause = pause.map_or(Duration::ZERO, Duration::from_secs);
    let mut page = Vec::new();
    let reading = async {
        while let Ok(Some(bytes)) = response.chunk().await
            && page.len() < MOST_PAGE
        {
            page.extend_from_slice(&bytes);
        }
    };
    // A page that does not arrive leaves the status, which says most.
    _ = timeout(model.timeout, reading).await;
    let is_passing = matches!(status, 429 | 502 | 503 | 504) && pause <= LONGEST_PAUSE;
    let again = is_passing.then_some(pause);
    Failure { again, ..Error::refused(model, status, &page).into() }
}

/// Reads a reply to its end.
async fn listen(
    model: &LanguageModel,
    mut response: Response,
    heard: &mut (dyn FnMut(Piece) + Send),
) -> Result<Answered, Failure> {
    let mut reading = Reading { api: model.api(), frames: Frames::default(), draft: Draft::new(heard) };
    let mut bytes_read = 0;
    let stop = loop {
        let patience = if reading.draft.is_done { AFTERWARDS.min(model.timeout) } else { model.timeout };
        let bytes = match timeout(patience, response.chunk()).await {
            Ok(Ok(Some(bytes))) => bytes,
            Ok(Ok(None)) => break reading.finish(),
            Ok(Err(err)) => break Stop::Broken(error::cause(err)),
            Err(_) => break Stop::Silent,
        };
        bytes_read += bytes.len();
        if let ControlFlow::Break(stop) = reading.take(&bytes) {
            break stop;
        }
        if bytes_read > MOST_READ {
            break Stop::Endless;
        }
    };
    if matches!(stop, Stop::Done) {
        // Whatever comes, the reply is complete.
        _ = timeout(LINGER, response.chunk()).await;
    }
    let again = (bytes_read == 0 && matches!(stop, Stop::Broken(_))).then_some(Duration::ZERO);
    conclude(model, reading.draft, stop).map_err(|error| Failure { again, ..error.into() })
}

/// Decides what an answer is worth, now that nothing more of it is read.
fn conclude(model: &LanguageModel, draft: Draft<'_>, stop: Stop) -> Result<Answered, Error> {
    let is_known = draft.is_known;
    match stop {
        Stop::Done => Ok(draft.finish()),
        // Only the count of tokens, or the sign that nothing follows, did not arrive.
        Stop::Closed | Stop::Broken(_) | Stop::Silent if draft.is_done => Ok(draft.finish()),
        Stop::Closed if is_known => {
            Err(Error::broken(model, "the service ended it without saying that it is complete", draft.cut()))
        }
        Stop::Senseless if is_known => {
            Err(Error::broken(model, "something that is not JSON came in between", draft.cut()))
        }
        Stop::Closed | Stop::Senseless => Err(Error::senseless(model)),
        Stop::Broken(what) => Err(Error::broken(model, &what, draft.cut())),
        Stop::Silent => Err(Error::late(model, draft.cut())),
        Stop::Failed(what) => Err(Error::failed(model, &what, draft.cut())),
        Stop::Endless => Err(Error::endless(model, MOST_BYTES)),
    }
}

/// A reply that is being read.
struct Reading<'a> {
    api: ModelApi,
    frames: Frames,
    draft: Draft<'a>,
}

impl Reading<'_> {
    fn take(&mut self, bytes: &[u8]) -> ControlFlow<Stop> {
        self.frames.push(bytes);
        loop {
            match self.frames.next() {
                Ok(Some(frame)) => self.see(&frame)?,
                Ok(None) => return ControlFlow::Continue(()),
                Err(stop) => return ControlFlow::Break(stop),
            }
        }
    }

    /// Takes what stands at the end of a body without a line end.
    fn finish(&mut self) -> Stop {
        match self.frames.finish().map(|frame| self.see(&frame)) {
            Some(ControlFlow::Break(stop)) => stop,
            Some(ControlFlow::Continue(())) | None => Stop::Closed,
        }
    }

    fn see(&mut self, frame: &Frame) -> ControlFlow<Stop> {
        match (frame, self.api) {
            (Frame::End, _) => {
                ControlFlow::Break(if self.draft.is_known { Stop::Done } else { Stop::Closed })
            }
            (Frame::Json(event), ModelApi::Ollama) => ollama::take(event, &mut self.draft),
            (Frame::Json(event), ModelApi::OpenAi) => openai::take(event, &mut self.draft),
            (Frame::Json(event), ModelApi::Anthropic) => anthropic::take(event, &mut self.draft),
        }
    }
}

/// Writes the tools on offer as both chat APIs want them.
fn functions(tools: &[Value]) -> Value {
    let function = |tool: &Value| {
        let mut function = json!({ "name": tool["name"] });
        if let Some(description) = tool.get("description") {
            function["description"] = description.clone();
        }
        let nothing = || json!({ "type": "object", "properties": {} });
        function["parameters"] = tool.get("inputSchema").cloned().unwrap_or_else(nothing);
        json!({ "type": "function", "function": function })
    };
    tools.iter().map(function).collect()
}
