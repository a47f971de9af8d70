//! A scripted model before a real hub, and somebody who listens.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use testkit::{Oracle, Saying};
use toolyard_agent::host::{Consent, Elicitation, Ended, Event, Host};
use toolyard_agent::model::Error;
use toolyard_agent::session::{Session, Setting};
use toolyard_core::turn::{ChatMessage, LimitChoice};
use toolyard_hub::config::{self, Folders, LanguageModel};
use toolyard_hub::hub::{Hub, Learning, Options};

/// How the model is asked.
#[derive(Clone, Copy)]
pub(crate) enum Dialect {
    OpenAi,
    Ollama,
}

/// A model and a hub.
pub(crate) struct Desk {
    pub(crate) model: Oracle,
    hub: Arc<Hub>,
    /// Where the model is, and which.
    place: String,
    _folder: tempfile::TempDir,
}

/// Longer than any answer takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
const BUILT_IN: &str = r#""time": { "builtin": "time" }, "notes": { "builtin": "notes" }"#;

impl Desk {
    /// Puts a model before the built-in servers.
    pub(crate) async fn new(dialect: Dialect, sayings: impl IntoIterator<Item = Saying>) -> Self {
        Self::with(dialect, sayings, r#""agent": {}"#).await
    }

    /// Puts a real model before the built-in servers.
    pub(crate) async fn before(place: &str) -> Self {
        let desk = Self::new(Dialect::OpenAi, []).await;
        Self { place: place.to_owned(), ..desk }
    }

    /// Does the same with further settings.
    pub(crate) async fn with(
        dialect: Dialect,
        sayings: impl IntoIterator<Item = Saying>,
        settings: &str,
    ) -> Self {
        Self::over(dialect, sayings, (BUILT_IN, settings)).await
    }

    /// Puts a model before the servers of the seed, whose browser is a last resort.
    pub(crate) async fn seed(dialect: Dialect, sayings: impl IntoIterator<Item = Saying>) -> Self {
        let program = testkit::bin("seed-server");
        let parts = testkit::seed::desk();
        let server = |name: &str| {
            let lazy = if name == "browser" { r#", "lazy": true"# } else { "" };
            format!(r#""{name}": {{ "command": {program:?}, "args": ["{name}"]{lazy} }}"#)
        };
        let servers: Vec<String> = parts.iter().map(|part| server(&part.server)).collect();
        Self::over(dialect, sayings, (&servers.join(", "), r#""tiers": { "browser": 2 }"#)).await
    }

    async fn over(
        dialect: Dialect,
        sayings: impl IntoIterator<Item = Saying>,
        (servers, settings): (&str, &str),
    ) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let home = folder.path().to_owned();
        let folders = Folders { config: home.clone(), data: home.clone(), home };
        let text = format!(r#"{{ "mcpServers": {{ {servers} }}, {settings} }}"#);
        let config = config::parse(&text, &folders.home.join("toolyard.json"), &|_| None, &folders)
            .expect("the settings are right");
        let hub = Hub::start(config, Options { watchdog: None, learning: Learning::OnDemand });
        hub.learn(|_| true, |_| ()).await;
        hub.understand(&hub.snapshot(), PATIENCE).await;
        let model = Oracle::start(sayings);
        let place = match dialect {
            Dialect::OpenAi => model.openai(),
            Dialect::Ollama => model.ollama(),
        };
        Self { model, hub, place, _folder: folder }
    }

    /// Begins a conversation; `is_attended` where somebody can be asked.
    pub(crate) fn session(&self, is_attended: bool) -> Session {
        let model = LanguageModel::parse(&self.place, None, PATIENCE).expect("it names a model");
        let setting = Setting {
            client: toolyard_agent::model::client(),
            hub: Arc::clone(&self.hub),
            model,
            agent: self.hub.config().agent.clone(),
            options: Map::from_iter([("temperature".to_owned(), 0.into())]),
            foreign: Vec::new(),
            is_attended,
        };
        Session::new(setting, Vec::new())
    }

    /// Says something in a conversation of its own that nobody attends.
    pub(crate) async fn say(&self, text: &str) -> (Result<Ended, Error>, Listener) {
        let mut listener = Listener::default();
        let ended = self.session(false).say(text, &mut listener).await;
        (ended, listener)
    }
}

/// Somebody who writes down what happens.
#[derive(Default)]
pub(crate) struct Listener {
    pub(crate) events: Vec<Event>,
    pub(crate) kept: Vec<ChatMessage>,
    pub(crate) asked: Vec<Consent>,
    pub(crate) agrees: bool,
    pub(crate) choice: Option<LimitChoice>,
}

impl Listener {
    /// Returns what could be read of the answers, as it came.
    pub(crate) fn texts(&self) -> String {
        let texts = self
            .events
            .iter()
            .filter_map(|event| if let Event::Text { text } = event { Some(text.as_str()) } else { None });
        texts.collect()
    }

    /// Returns the calls that were made.
    pub(crate) fn calls(&self) -> Vec<(String, Map<String, Value>)> {
        let calls = self.events.iter().filter_map(|event| {
            if let Event::Call { tool, arguments, .. } = event {
                Some((tool.clone(), arguments.clone()))
            } else {
                None
            }
        });
        calls.collect()
    }

    /// Returns the tools that were offered first, and their tokens.
    pub(crate) fn bound(&self) -> (Vec<String>, usize) {
        let bound = self.events.iter().find_map(|event| {
            if let Event::Bound { tools, tokens, .. } = event { Some((tools.clone(), *tokens)) } else { None }
        });
        bound.unwrap_or_default()
    }
}

impl Host for Listener {
    fn hear(&mut self, event: Event) {
        if let Event::Message { message } = &event {
            self.kept.push(message.clone());
        }
        self.events.push(event);
    }

    async fn agree(&mut self, consent: Consent) -> bool {
        self.asked.push(consent);
        self.agrees
    }

    async fn answer(&mut self, _: Elicitation) -> Option<Map<String, Value>> {
        None
    }

    async fn choose(&mut self) -> LimitChoice {
        self.choice.unwrap_or(LimitChoice::WrapUp)
    }
}
