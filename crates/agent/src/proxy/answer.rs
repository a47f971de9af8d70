//! One turn for a client, as a stream of what is said. Dropping the stream stops the turn.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::ready;
use futures_util::stream::{self, BoxStream, StreamExt};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{self, UnboundedSender};
use toolyard_core::turn::{ChatMessage, LimitChoice, ToolCall};
use toolyard_hub::config::LanguageModel;
use toolyard_hub::pins::Pin;

use super::Shared;
use super::chat::Chat;
use super::confirm::{self, Waiting};
use super::refusal::Refusal;
use crate::host::{Consent, Elicitation, Ended, Event, Host, Why};
use crate::model::{Dialect, Usage};
use crate::session::{Session, Setting};

/// Something that the client is log.
#[derive(Debug)]
pub(super) enum Said {
    /// A piece of the answer.
    Text(String),
    /// A piece of what the model thinks.
    Reasoning(String),
    /// The turn is over.
    Done(Box<Done>),
    /// The turn failed.
    Failed(Box<Failed>),
}

/// How a turn ended.
#[derive(Debug)]
pub(super) struct Done {
    /// Calls for the client to make.
    pub(super) foreign: Vec<ToolCall>,
    /// What the model counted.
    pub(super) usage: Usage,
    /// What was called here.
    pub(super) log: CallLog,
}

/// How a turn failed.
#[derive(Debug)]
pub(super) struct Failed {
    /// Why.
    pub(super) refusal: Refusal,
    /// What had been called here before.
    pub(super) log: CallLog,
}

impl Failed {
    /// Writes it as an object of a dialect.
    pub(super) fn object(&self, dialect: Dialect) -> Value {
        let mut object = self.refusal.object(dialect);
        if !self.log.calls.is_empty() {
            object["toolyard"] = json!(self.log);
        }
        object
    }
}

/// Which tools were called here, and which were not.
#[derive(Debug, Default, Serialize)]
pub(super) struct CallLog {
    /// The calls, in their order.
    pub(super) calls: Vec<Made>,
    /// Why calls of the model were not made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_called: Vec<String>,
}

/// A call that was made here.
#[derive(Debug, Serialize)]
pub(super) struct Made {
    #[serde(skip)]
    id: String,
    tool: String,
    arguments: Map<String, Value>,
    /// `None` while it is under way.
    ok: Option<bool>,
    ms: u64,
}

/// Begins a turn; it goes on while the stream is read.
pub(super) fn begin(
    shared: &Arc<Shared>,
    chat: Chat,
    (model, principal): (LanguageModel, String),
    slot: OwnedSemaphorePermit,
) -> BoxStream<'static, Said> {
    let (out, mut said) = mpsc::unbounded_channel();
    let client = Client {
        shared: Arc::clone(shared),
        principal,
        out,
        log: CallLog::default(),
        waiting: Vec::new(),
        reply: String::new(),
        is_new_reply: false,
        has_said: false,
    };
    let handle = confirm::handle(&chat.messages);
    let agent = shared.agent(chat.wants_no_tools);
    let setting = Setting {
        client: shared.client.clone(),
        hub: Arc::clone(&shared.proxy.hub),
        model,
        agent,
        options: chat.options,
        foreign: chat.foreign,
        is_attended: false,
    };
    let session = Session::new(setting, chat.messages);
    let turn = async move {
        let _slot = slot;
        converse(session, client, handle).await;
    };
    // The turn itself says nothing: what is heard in it arrives through the channel.
    let turn = stream::once(turn).filter_map(|()| ready(None::<Said>));
    stream::select(stream::poll_fn(move |cx| said.poll_recv(cx)), turn).boxed()
}

async fn converse(mut session: Session, mut client: Client, handle: Option<String>) {
    if let Some(handle) = handle {
        let confirmations = &client.shared.confirmations;
        let Some(call) = confirmations.take(&client.principal, &handle, Instant::now()) else {
            client.say(&confirm::unknown(&handle));
            return client.close(Vec::new(), Usage::default());
        };
        let snapshot = client.shared.proxy.hub.snapshot();
        let tool = snapshot.catalog.get(&call.tool);
        if tool.is_some_and(|tool| Pin::of(&tool.definition) != call.pin) {
            client.say(&confirm::changed(&call.tool));
            return client.close(Vec::new(), Usage::default());
        }
        session.run(&call.tool, call.arguments, &mut client).await;
    }
    match session.resume(&mut client).await {
        Ok(ended) => client.finish(ended),
        Err(error) => {
            tracing::warn!("{error}");
            client.fail(Refusal::from(&error));
        }
    }
}

/// The client of one turn.
struct Client {
    shared: Arc<Shared>,
    principal: String,
    out: UnboundedSender<Said>,
    log: CallLog,
    /// Calls that wait for the person, with the handles that confirm them.
    waiting: Vec<(Waiting, String)>,
    /// What was said of the present reply of the model.
    reply: String,
    /// Whether what is said next belongs to another reply.
    is_new_reply: bool,
    has_said: bool,
}

impl Client {
    fn say(&mut self, text: &str) {
        if std::mem::take(&mut self.is_new_reply) {
            self.reply.clear();
            if self.has_said {
                self.send(Said::Text("\n\n".to_owned()));
            }
        }
        self.has_said |= !text.is_empty();
        self.reply += text;
        self.send(Said::Text(text.to_owned()));
    }

    /// Says something that is no part of a reply.
    fn say_apart(&mut self, text: &str) {
        self.is_new_reply = true;
        self.say(text);
    }

    fn send(&self, said: Said) {
        // Nobody listens any more when the stream is dropped, and then this is dropped too.
        _ = self.out.send(said);
    }

    fn finish(mut self, ended: Ended) {
        let text = ended.text.trim();
        let said = self.reply.trim().to_owned();
        match text.strip_prefix(said.as_str()) {
            _ if text.is_empty() || said.contains(text) => {}
            Some(rest) if !said.is_empty() => self.say(rest),
            Some(_) | None => self.say_apart(text),
        }
        self.close(ended.foreign, ended.usage);
    }

    fn close(mut self, mut foreign: Vec<ToolCall>, usage: Usage) {
        let lines: Vec<String> =
            self.waiting.iter().map(|(call, handle)| confirm::how(call, handle)).collect();
        if !lines.is_empty() {
            self.say_apart(&lines.join("\n"));
        }
        foreign.iter_mut().for_each(make_unique);
        let log = std::mem::take(&mut self.log);
        self.send(Said::Done(Box::new(Done { foreign, usage, log })));
    }

    fn fail(mut self, refusal: Refusal) {
        let log = std::mem::take(&mut self.log);
        self.send(Said::Failed(Box::new(Failed { refusal, log })));
    }
}

impl Host for Client {
    fn hear(&mut self, event: Event) {
        match event {
            Event::Text { text } => self.say(&text),
            Event::Reasoning { text } => self.send(Said::Reasoning(text)),
            Event::Call { id, tool, arguments } => {
                self.log.calls.push(Made { id, tool, arguments, ok: None, ms: 0 });
            }
            Event::Result { id, is_error, ms, .. } => {
                let made = self.log.calls.iter_mut().rev().find(|it| it.id == id && it.ok.is_none());
                if let Some(made) = made {
                    made.ok = Some(!is_error);
                    made.ms = ms;
                }
            }
            Event::NotCalled { why } => self.log.not_called.push(why),
            Event::Message { message: ChatMessage::Assistant { calls, .. } } if !calls.is_empty() => {
                self.is_new_reply = true;
            }
            Event::Refreshed { .. } => self.is_new_reply = true,
            Event::Bound { .. }
            | Event::Repaired { .. }
            | Event::Refinement { .. }
            | Event::Message { .. }
            | Event::Answer(_) => {}
        }
    }

    /// Agrees to nothing. What the person may agree to later is kept for them.
    async fn agree(&mut self, consent: Consent) -> bool {
        let Consent { tool, arguments, why } = consent;
        let snapshot = self.shared.proxy.hub.snapshot();
        match (why, snapshot.catalog.get(&tool)) {
            // What one of the hub's own tools would run cannot be run again from here.
            (Why::Unsaid(_), _) | (Why::Policy(_), None) => {}
            (Why::Policy(_), Some(known)) => {
                let call = Waiting { tool, arguments, pin: Pin::of(&known.definition) };
                if !self.waiting.iter().any(|(known, _)| *known == call) {
                    let handle =
                        self.shared.confirmations.keep(&self.principal, call.clone(), Instant::now());
                    self.waiting.push((call, handle));
                }
            }
        }
        false
    }

    async fn answer(&mut self, _: Elicitation) -> Option<Map<String, Value>> {
        None
    }

    async fn choose(&mut self) -> LimitChoice {
        LimitChoice::WrapUp
    }
}

/// Gives a call that was only numbered an id that no other turn of the conversation has.
fn make_unique(call: &mut ToolCall) {
    let number = call.id.strip_prefix("call_");
    if let Some(number) = number.filter(|it| it.bytes().all(|byte| byte.is_ascii_digit())) {
        call.id = format!("call_{:08x}_{number}", getrandom::u32().unwrap_or_default());
    }
}
