//! The dashboard of a hub, for a person at this machine.

use std::net::SocketAddr;
use std::sync::Arc;

use toolyard_hub::hub::Learning;
use toolyard_hub::seal;
use toolyard_hub::serve::Reception;

use crate::common::Common;
use crate::failure::Failure;
use crate::setup::{self, Source};
use crate::{login, output, serve};

/// See what the hub decides and why, correct it, and watch it learn
///
/// Serves the dashboard at an address of this machine until Ctrl-C, and opens it in the browser. It shows what every
/// Toolyard on this machine decided, because they share a store. `toolyard serve --http` has it at /dashboard, too.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard dashboard
  toolyard dashboard --no-open
  toolyard dashboard --http 127.0.0.1:8809")]
pub(crate) struct ShowDashboard {
    /// Serve it at this address
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    http: SocketAddr,
    /// Only print the address
    #[arg(long)]
    no_open: bool,
}

pub(crate) async fn run(common: &Common, asked: &ShowDashboard) -> Result<(), Failure> {
    let mut config = Source::find(common)?.load()?;
    if !config.events.enabled {
        return Err(Failure::new("there is nothing to show: `events.enabled` is false in the configuration"));
    }
    if asked.http.ip().is_loopback() {
        // The certificate has the name under which others know this machine.
        config.serve.tls = None;
    }
    let listener = serve::listen(asked.http, &config).await?;
    // Other people of this machine can reach the address, so only who knows this may ask for anything.
    let token = config.serve.token.get_or_insert_with(seal::fresh_token).clone();
    let address = format!("{}://{}/dashboard#token={token}", serve::scheme(&config), listener.local_addr()?);
    let hub = setup::hub(config, Learning::Background);
    if hub.history().is_none() {
        hub.close().await;
        return Err(Failure::new("the store cannot be written, so there is nothing to show")
            .hint("`toolyard doctor` says what is wrong with it"));
    }
    output::text(&address)?;
    anstream::eprintln!("Ctrl-C ends it.");
    if !asked.no_open && login::expects_browser() {
        // Who has no browser here reads the address.
        login::open(&address);
    }
    let outcome = serve::over_http(Reception::new(Arc::clone(&hub)), listener).await;
    hub.close().await;
    outcome
}
