//! Talks to a language model that has the hub's tools.

mod transcript; // what was said, on disk as it happens
mod script; //     a conversation without a person: one message, lines of a pipe, events for programs
mod terminal; //   a conversation at a terminal
mod command; //    what begins with a slash

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};
use toolyard_agent::session::{Session, Setting};
use toolyard_hub::config::{Agent, Binding, Callers, Config, LanguageModel, Surface};
use toolyard_hub::hub::Hub;

use crate::common::Common;
use crate::failure::Failure;
use crate::setup::{self, Source};
use crate::{call, learn};
use transcript::Transcript;

/// Talk to a language model that has your tools
///
/// The model is offered the few tools that each message needs, calls them through the hub and answers. What cannot be
/// undone is asked about first. Without --once, and with a terminal, this is a conversation; lines of a pipe are
/// messages, one each.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard chat --model ollama:qwen3:0.6b
  toolyard chat --model http://127.0.0.1:1234/v1#local-model --once \"what time is it in Tokyo?\"
  toolyard chat --once \"list my notes\" --json | jq 'select(.event == \"call\")'
  toolyard chat --continue
  printf 'what time is it?\\nand in Tokyo?\\n' | toolyard chat

The model can be set once, as agent.model in toolyard.json. Conversations are kept as JSON lines in the
folder `chats` of the store, each message as soon as it is said.
Exit codes with --once: 0 it answered, 1 the model failed, 3 a call waits for a value or a yes.
With --json: one event per line: {\"event\": \"bound\" | \"text\" | \"call\" | \"result\" | \"notCalled\" |
\"refinement\" | \"message\" | \"answer\" | …}")]
pub(crate) struct Chat {
    /// The model: ollama:NAME, or the address of a service and the model, such as http://127.0.0.1:1234/v1#NAME
    #[arg(short, long, env = "TOOLYARD_MODEL")]
    model: Option<String>,
    /// The key that the service wants to see
    #[arg(long, value_name = "KEY", env = "TOOLYARD_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
    /// Say this, print the answer and end
    #[arg(long, value_name = "MESSAGE")]
    once: Option<String>,
    /// Which tools the model is offered [default: likely]
    #[arg(long, value_enum)]
    tools: Option<Tools>,
    /// Replies with tool calls before the model has to answer [default: 2]
    #[arg(long, value_name = "N")]
    max_iterations: Option<usize>,
    /// Run what the hub is sure of without the model
    #[arg(long)]
    direct: bool,
    /// Something to send with every question, such as temperature=0; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    option: Vec<String>,
    /// Go on with the latest conversation
    #[arg(long = "continue", conflicts_with = "resume")]
    goes_on: bool,
    /// Go on with the conversation in this file
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Keep no transcript
    #[arg(long)]
    no_save: bool,
    /// Agree to everything that would be asked; for scripts
    #[arg(long)]
    yes: bool,
}

/// Which tools a model is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Tools {
    /// Those that the router finds likeliest for a message
    Likely,
    /// Those of the active tiers, domains and skills
    Toolset,
    /// smart_route alone
    Route,
    /// Tools that find and call others
    Search,
    /// All of them, as far as the budget goes
    All,
}

impl Tools {
    /// Puts what was typed over the settings.
    pub(crate) fn over(self, agent: &mut Agent) {
        agent.budget.binding = self.into();
        agent.models.iter_mut().for_each(|(_, budget)| budget.binding = self.into());
        if self == Self::All {
            agent.budget.tools = usize::MAX;
            agent.budget.tokens = agent.budget.tokens.max(agent.context_tokens);
        }
    }
}

impl From<Tools> for Binding {
    fn from(tools: Tools) -> Self {
        match tools {
            Tools::Likely => Self::Likely,
            Tools::Toolset => Self::Toolset,
            Tools::Route => Self::Route,
            Tools::Search => Self::Search,
            Tools::All => Self::All,
        }
    }
}

pub(crate) async fn run(common: &Common, asked: &Chat) -> Result<(), Failure> {
    let source = Source::find(common)?;
    let mut config = source.load()?;
    let model = model(asked, &config.agent)?;
    let agent = agent(asked, config.agent.clone());
    show_own_tools(&mut config, agent.budget.binding);
    let options = options(&asked.option)?;
    let is_attended = asked.once.is_none()
        && !common.json
        && std::io::stdin().is_terminal()
        && std::io::stderr().is_terminal();
    let chats = config.store.folder.join("chats");
    let (messages, path) = match (&asked.resume, asked.goes_on) {
        (Some(path), _) => (transcript::read(path)?, Some(path.clone())),
        (None, true) => {
            let latest = transcript::latest(&chats)
                .ok_or_else(|| Failure::usage("there is no conversation to go on with"))?;
            (transcript::read(&latest)?, Some(latest))
        }
        (None, false) => (Vec::new(), None),
    };
    let kept = match (asked.no_save, path) {
        (true, _) => Transcript::none(),
        (false, Some(path)) => Transcript::of(path),
        (false, None) => Transcript::new(&chats, &model.name),
    };
    setup::with_config(config, async |hub: &Arc<Hub>| {
        learn::learn_all(hub).await;
        learn::understand(hub, &hub.snapshot()).await;
        let hub = Arc::clone(hub);
        let client = toolyard_agent::model::client();
        let setting = Setting { client, hub, model, agent, options, foreign: Vec::new(), is_attended };
        let session = Session::new(setting, messages);
        match &asked.once {
            Some(message) => script::once(common, session, (message, asked.yes), kept).await,
            None if is_attended => terminal::run(session, kept).await,
            None => script::lines(common, session, asked.yes, kept).await,
        }
    })
    .await
}

/// Returns the model that is meant.
fn model(asked: &Chat, agent: &Agent) -> Result<LanguageModel, Failure> {
    match (&asked.model, &agent.model) {
        (Some(written), known) => {
            let timeout = known.as_ref().map_or(Agent::SILENCE, |it| it.timeout);
            LanguageModel::parse(written, asked.api_key.clone(), timeout).ok_or_else(|| {
                Failure::usage(format!("`{written}` does not name a model")).hint(LanguageModel::HINT)
            })
        }
        (None, Some(known)) => {
            Ok(LanguageModel { key: asked.api_key.clone().or_else(|| known.key.clone()), ..known.clone() })
        }
        (None, None) => Err(Failure::usage("there is no model to talk to").hint(
            "give one with --model ollama:NAME or --model http://HOST/v1#NAME, or set agent.model in toolyard.json",
        )),
    }
}

/// Puts what was typed over the settings.
fn agent(asked: &Chat, mut agent: Agent) -> Agent {
    if let Some(tools) = asked.tools {
        tools.over(&mut agent);
    }
    agent.bounds.iterations = asked.max_iterations.unwrap_or(agent.bounds.iterations);
    agent.direct |= asked.direct;
    agent
}

/// Has the hub show the tools of its own that a model is offered. A small model repeats words better than it finds its
/// own, so it is asked for those of the person.
pub(crate) fn show_own_tools(config: &mut Config, binding: Binding) {
    match binding {
        Binding::Route => {
            config.serve.surface = Surface::Route;
            config.serve.callers = Callers::Small;
        }
        Binding::Search => config.serve.surface = Surface::Search,
        Binding::Likely | Binding::Toolset | Binding::All => {}
    }
}

/// Reads what is sent with every question: numbers and truth values as such, all else as text.
fn options(written: &[String]) -> Result<Map<String, Value>, Failure> {
    let one = |pair: &String| {
        let (key, value) = pair.split_once('=')?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        Some((key.to_owned(), value))
    };
    let wrong = |pair: &String| Failure::usage(format!("`{pair}` is not KEY=VALUE"));
    written.iter().map(|pair| one(pair).ok_or_else(|| wrong(pair))).collect()
}

/// Writes a call as it would be typed, with the arguments cut where they are long.
fn typed(tool: &str, arguments: &Map<String, Value>) -> String {
    const MOST: usize = 300;
    let whole = call::typed(tool, arguments);
    match whole.char_indices().nth(MOST) {
        None => whole,
        Some((at, _)) => format!("{}…", &whole[..at]),
    }
}
