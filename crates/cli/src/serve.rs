//! The hub as a server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use toolyard_hub::config::{self, Config};
use toolyard_hub::hub::{Hub, Learning};
use toolyard_hub::serve::{Reception, http, stdio};

use crate::args::{Common, Serve, Surface};
use crate::failure::Failure;
use crate::setup::{self, Source};

/// Time for requests in flight when the hub is told to end.
const DRAIN: Duration = Duration::from_secs(5);

pub(crate) async fn run(common: &Common, asked: Serve) -> Result<(), Failure> {
    let source = Source::find(common)?;
    let load = {
        let surface = asked.surface;
        move |source: &Source| source.load().map(|config| with_surface(config, surface))
    };
    let config = load(&source)?;
    let address = asked.http.map(|given| given.unwrap_or(config.serve.http));
    let listener = match address {
        Some(address) => Some(listen(address, &config).await?),
        None => None,
    };
    let serving = match &listener {
        Some(listener) => format!("http://{}/mcp", listener.local_addr()?),
        None => "stdio".to_owned(),
    };
    let hub = setup::hub(config, Learning::Background);
    let reception = Reception::new(Arc::clone(&hub));
    let status = tokio::spawn({
        let (hub, serving, path) = (Arc::clone(&hub), serving.clone(), source.path.clone());
        async move { hub.report_status(&serving, path).await }
    });
    let reloading = tokio::spawn(reload(Arc::clone(&hub), source, load));
    let outcome = match listener {
        Some(listener) => {
            anstream::eprintln!("toolyard serves {serving}");
            over_http(reception, listener).await
        }
        None => over_stdio(reception).await,
    };
    for task in [status, reloading] {
        task.abort();
        let _ = task.await;
    }
    hub.close().await;
    outcome
}

fn with_surface(mut config: Config, surface: Option<Surface>) -> Config {
    if let Some(surface) = surface {
        config.serve.surface = Some(match surface {
            Surface::Route => config::Surface::Route,
            Surface::Toolset => config::Surface::Toolset,
            Surface::Search => config::Surface::Search,
            Surface::All => config::Surface::All,
        });
    }
    config
}

async fn listen(address: std::net::SocketAddr, config: &Config) -> Result<TcpListener, Failure> {
    if !address.ip().is_loopback() && config.serve.token.is_none() {
        return Err(Failure::usage(format!(
            "{address} can be reached from outside, and no token protects it"
        ))
        .hint("set `serve.token` in the configuration, or bind to 127.0.0.1"));
    }
    TcpListener::bind(address).await.map_err(|err| {
        Failure::new(format!("{address} cannot be served: {err}"))
            .hint("choose another port with --http ADDR")
    })
}

async fn over_stdio(reception: Arc<Reception>) -> Result<(), Failure> {
    tokio::select! {
        served = stdio::serve(reception) => Ok(served?),
        () = told_to_end() => Ok(()),
    }
}

async fn over_http(reception: Arc<Reception>, listener: TcpListener) -> Result<(), Failure> {
    let (close, closing) = watch::channel(false);
    let mut serving = tokio::spawn(http::serve(reception, listener, closing));
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

async fn told_to_end() {
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

/// Takes a changed configuration file over. One with mistakes changes nothing.
async fn reload(hub: Arc<Hub>, source: Source, load: impl Fn(&Source) -> Result<Config, Failure>) {
    let Some(path) = source.path.clone() else { return };
    let mut seen = stamp(&path);
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = stamp(&path);
        if now == seen || now.is_none() {
            continue;
        }
        seen = now;
        match load(&source) {
            Ok(config) => {
                tracing::info!("the configuration changed and is in force");
                hub.apply(config);
            }
            Err(failure) => {
                tracing::error!("the changed configuration is not used");
                let _ = failure.report();
            }
        }
    }
}

fn stamp(path: &PathBuf) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
