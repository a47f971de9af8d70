//! The hub as a server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use toolyard_dashboard::{Dashboard, is_public};
use toolyard_hub::access::Access;
use toolyard_hub::config::{self, Config};
use toolyard_hub::hub::{Hub, Learning};
use toolyard_hub::serve::http::tls::Certificate;
use toolyard_hub::serve::{Reception, http, stdio};

use crate::common::Common;
use crate::enrich::background;
use crate::failure::{Failure, Form};
use crate::reload::{Look, Watch};
use crate::setup::{self, Source};

/// Time for requests in flight when the hub is told to end.
const DRAIN: Duration = Duration::from_secs(5);

/// Serve all tools to MCP clients, over stdio or HTTP
///
/// Editing the configuration while the hub runs puts it in force: only servers that changed are restarted.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard serve                       for a client that starts Toolyard itself (stdio)
  toolyard serve --http 127.0.0.1:8808 for clients over HTTP, at http://127.0.0.1:8808/mcp
  toolyard serve --surface all         list every tool as server__tool
  toolyard serve --profile studio      what the profile `studio` shows

Without a surface clients see one tool, smart_route, that takes plain words.")]
pub(crate) struct Serve {
    /// Serve the client at stdin and stdout (the default)
    #[arg(long, conflicts_with = "http")]
    stdio: bool,
    /// Serve HTTP at this address, or at the configured one
    #[arg(long, value_name = "ADDR", num_args = 0..=1)]
    pub(crate) http: Option<Option<SocketAddr>>,
    /// Which tools clients see
    #[arg(long)]
    surface: Option<Surface>,
    /// Show the client at stdin what this profile shows; over HTTP each profile has its own address
    #[arg(long, value_name = "NAME", conflicts_with_all = ["http", "surface"])]
    profile: Option<String>,
}

/// Which tools clients see.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Surface {
    /// One tool that takes plain words, smart_route
    Route,
    /// The few tools that a conversation needs, which follow it
    Toolset,
    /// find_tools, describe_tool and call_tool
    Search,
    /// Every tool as server__tool
    All,
    /// Every tool for clients that are known to bear so many, else smart_route
    Auto,
}

impl From<Surface> for config::Surface {
    fn from(surface: Surface) -> Self {
        match surface {
            Surface::Route => Self::Route,
            Surface::Toolset => Self::Toolset,
            Surface::Search => Self::Search,
            Surface::All => Self::All,
            Surface::Auto => Self::Auto,
        }
    }
}

pub(crate) async fn run(common: Common, asked: Serve) -> Result<(), Failure> {
    let source = Source::find(&common)?;
    let surface = asked.surface.map(config::Surface::from);
    let config = load(&source, surface)?;
    if let Some(profile) = asked.profile.as_ref() {
        setup::known_profile(&config, profile)?;
    }
    let address = asked.http.map(|given| given.unwrap_or(config.serve.http));
    let listener = match address {
        Some(address) => Some(listen(address, &config).await?),
        None => None,
    };
    let serving = match &listener {
        Some(listener) => format!("{}://{}/mcp", scheme(&config), listener.local_addr()?),
        None => "stdio".to_owned(),
    };
    // Looked at before the hub starts, so that a change meanwhile is not lost.
    let watch = Watch::new(Look::at(source.path.as_deref(), &config));
    let hub = setup::hub(config, Learning::Background);
    let reception = Reception::new(Arc::clone(&hub));
    let status = tokio::spawn({
        let (hub, serving, path) = (Arc::clone(&hub), serving.clone(), source.path.clone());
        async move { hub.report_status(&serving, path).await }
    });
    // What an earlier hub left half done is not left to chance.
    let resuming = tokio::spawn({
        let hub = Arc::clone(&hub);
        async move { hub.resume().await }
    });
    let enriching = tokio::spawn({
        let hub = Arc::clone(&hub);
        async move { background::keep_asking(&hub).await }
    });
    let scheduling = tokio::spawn({
        let hub = Arc::clone(&hub);
        async move { hub.keep_schedules().await }
    });
    let reloading = tokio::spawn(reload(Arc::clone(&hub), common, surface, watch));
    let outcome = match listener {
        Some(listener) => {
            anstream::eprintln!("toolyard serves {serving}");
            anstream::eprintln!("dashboard at {}", page(&serving));
            over_http(reception, listener).await
        }
        None => over_stdio(reception, asked.profile.as_deref()).await,
    };
    for task in [status, reloading, resuming, enriching, scheduling] {
        task.abort();
        let _ = task.await;
    }
    hub.close().await;
    outcome
}

/// Returns how clients speak to the hub.
pub(crate) fn scheme(config: &Config) -> &'static str {
    if config.serve.tls.is_some() { "https" } else { "http" }
}

/// Returns the address of the dashboard beside that of the endpoint.
pub(crate) fn page(serving: &str) -> String {
    format!("{}/dashboard", serving.trim_end_matches("/mcp"))
}

/// Reads the settings. What the command line says about the surface comes first.
fn load(source: &Source, surface: Option<config::Surface>) -> Result<Config, Failure> {
    let mut config = source.load()?;
    config.serve.surface = surface.unwrap_or(config.serve.surface);
    Ok(config)
}

pub(crate) async fn listen(address: SocketAddr, config: &Config) -> Result<TcpListener, Failure> {
    let is_protected = || {
        let serve = &config.serve;
        serve.token.is_some() || serve.oauth.is_some() || Access::open(&config.store.folder).is_registering()
    };
    if !address.ip().is_loopback() && !is_protected() {
        return Err(Failure::usage(format!(
            "{address} can be reached from outside, and no token protects it"
        ))
        .hint("`toolyard client add NAME` makes a token, or set `serve.token` in the configuration, or bind to 127.0.0.1"));
    }
    if let Some(tls) = &config.serve.tls {
        Certificate::load(tls)
            .map_err(|err| Failure::new(err.to_string()).hint("`serve.tls` names the files"))?;
    }
    TcpListener::bind(address).await.map_err(|err| {
        Failure::new(format!("{address} cannot be served: {err}"))
            .hint("choose another port with --http ADDR")
    })
}

async fn over_stdio(reception: Arc<Reception>, profile: Option<&str>) -> Result<(), Failure> {
    tokio::select! {
        served = stdio::serve(reception, profile) => Ok(served?),
        () = told_to_end() => Ok(()),
    }
}

pub(crate) async fn over_http(reception: Arc<Reception>, listener: TcpListener) -> Result<(), Failure> {
    let (close, closing) = watch::channel(false);
    let pages = match Dashboard::new(Arc::clone(&reception.hub)) {
        Some(dashboard) => http::Pages { router: dashboard.until(closing.clone()).router(), is_public },
        None => http::Pages::default(),
    };
    let mut serving = tokio::spawn(http::serve(reception, listener, closing, pages));
    tokio::select! {
        served = &mut serving => return Ok(served.map_err(|err| Failure::new(err.to_string()))??),
        () = told_to_end() => {}
    }
    let _ = close.send(true);
    if tokio::time::timeout(DRAIN, &mut serving).await.is_err() {
        serving.abort();
    }
    Ok(())
}

/// Waits until somebody ends the program: Ctrl-C, or the signal to terminate.
pub(crate) async fn told_to_end() {
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// Takes a changed configuration over. One with mistakes changes nothing.
async fn reload(hub: Arc<Hub>, common: Common, surface: Option<config::Surface>, mut watch: Watch) {
    // A first file may appear, or one that comes before the present one.
    let find = || Source::find(&common).ok();
    let look = || Look::at(find().and_then(|it| it.path).as_deref(), &hub.config());
    loop {
        watch.changed(look).await;
        let Some(source) = find() else { continue };
        match load(&source, surface) {
            Ok(config) => {
                tracing::info!("the settings, or files beside them, changed and are in force");
                hub.apply(config);
            }
            Err(failure) => {
                tracing::error!("the changed configuration is not used");
                let _ = failure.report(Form::Words);
            }
        }
    }
}
