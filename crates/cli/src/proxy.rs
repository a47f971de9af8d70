//! The endpoints of OpenAI and Ollama, with the hub's tools behind them.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use toolyard_agent::proxy::{self, Proxy};
use toolyard_hub::config::{Agent, Config};
use toolyard_hub::hub::Learning;

use crate::chat::{Tools, show_own_tools};
use crate::common::Common;
use crate::failure::Failure;
use crate::serve::told_to_end;
use crate::setup::{self, Source};

/// Where Ollama listens unless somebody changed it.
const OLLAMA: &str = "http://127.0.0.1:11434";

/// Give any client of OpenAI or Ollama your tools
///
/// Stands in front of a model server and speaks as it does. Each chat is offered the few tools that it needs; the model
/// calls them through the hub, and the client sees only the answer. The client's own tools are handed to it as ever.
/// What cannot be undone runs after the reply `confirm HANDLE`. Whatever is no chat passes unchanged.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard proxy-llm                   in front of the model server in agent.model, else of Ollama here
  toolyard proxy-llm --model-server https://api.example.com/v1 --api-key KEY
  TOOLYARD_TOKEN=secret toolyard proxy-llm --listen 0.0.0.0:11435

A client of OpenAI:
  OPENAI_BASE_URL=http://127.0.0.1:11435/v1 OPENAI_API_KEY=any your-client
A client of Ollama:
  OLLAMA_HOST=127.0.0.1:11435 ollama run qwen3:0.6b

Answers have a member of their own, `toolyard`, that lists the tools which were called.")]
pub(crate) struct ProxyLlm {
    /// Where clients connect
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:11435")]
    listen: SocketAddr,
    /// The model server: its address, with /v1 or /api behind it where it is not clear what it speaks
    #[arg(long, value_name = "URL")]
    model_server: Option<String>,
    /// The key that the model server wants to see
    #[arg(long, value_name = "KEY", env = "TOOLYARD_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
    /// The token that clients have to show; without one only this machine is served
    #[arg(long, value_name = "TOKEN", env = "TOOLYARD_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Which tools a model is offered [default: likely]
    #[arg(long, value_enum, value_name = "MODE")]
    tools: Option<Tools>,
}

pub(crate) async fn run(common: &Common, asked: &ProxyLlm) -> Result<(), Failure> {
    let mut config = Source::find(common)?.load()?;
    let agent = agent(asked, &config.agent);
    show_own_tools(&mut config, agent.budget.binding);
    let listener = listen(asked).await?;
    let (address, key) = server(asked, &config);
    let (upstream, dialect) = proxy::locate(&address).await.map_err(|err| Failure::usage(err.to_string()))?;
    anstream::eprintln!(
        "toolyard serves http://{}/v1 and /api, in front of {}",
        listener.local_addr()?,
        upstream.origin().ascii_serialization()
    );
    let hub = setup::hub(config, Learning::Background);
    let proxy = Proxy { hub: Arc::clone(&hub), agent, upstream, dialect, key, token: token(asked) };
    let outcome = tokio::select! {
        served = proxy::serve(listener, proxy) => served.map_err(Failure::from),
        () = told_to_end() => Ok(()),
    };
    hub.close().await;
    outcome
}

/// Puts what was typed over the settings.
fn agent(asked: &ProxyLlm, set: &Agent) -> Agent {
    let mut agent = set.clone();
    if let Some(tools) = asked.tools {
        tools.over(&mut agent);
    }
    agent
}

/// Returns the address of the model server and its key. A key of the settings is for the server of the settings alone.
fn server(asked: &ProxyLlm, config: &Config) -> (String, Option<String>) {
    let given = asked.api_key.clone().filter(|key| !key.is_empty());
    match (&asked.model_server, &config.agent.model) {
        (Some(address), _) => (address.clone(), given),
        (None, Some(model)) => (model.url.clone(), given.or_else(|| model.key.clone())),
        (None, None) => (OLLAMA.to_owned(), given),
    }
}

fn token(asked: &ProxyLlm) -> Option<String> {
    asked.token.clone().filter(|token| !token.is_empty())
}

async fn listen(asked: &ProxyLlm) -> Result<TcpListener, Failure> {
    let address = asked.listen;
    if !address.ip().is_loopback() && token(asked).is_none() {
        let message = format!("{address} can be reached from outside, and no token protects it");
        return Err(Failure::usage(message)
            .hint("give a token with --token or TOOLYARD_TOKEN, or listen at 127.0.0.1"));
    }
    TcpListener::bind(address).await.map_err(|err| {
        Failure::new(format!("{address} cannot be served: {err}"))
            .hint("choose another port with --listen ADDR")
    })
}
