//! Clients that may come in over HTTP, each with a token and a scope of its own.

use std::num::NonZero;
use std::time::Duration;

use clap::ValueEnum;
use jiff::Timestamp;
use serde_json::{Value, json};
use toolyard_core::tool::Effect;
use toolyard_hub::access::{ClientRegistry, Error, Permissions, Registration};
use toolyard_hub::config::Config;
use toolyard_hub::workflows;

use crate::audit::span;
use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Cell, Layout};
use crate::serve;
use crate::setup::{self, Source};

/// Say who may come in over HTTP, and what each may do
///
/// Every client has a token of its own, of which only a hash is kept, and a scope: profiles, servers, and the most that
/// its calls may do. Once a client is registered, nobody comes in without a token. A running hub notices changes within a
/// second; what a revoked client has open ends.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard client add laptop
  toolyard client add ci --server github --effect read --rate 60 --expires 30d
  toolyard client add guest --profile studio --concurrency 2
  toolyard client list
  toolyard client revoke ci

The token in `serve.token` stays: who shows it may do everything.")]
pub(crate) struct ManageClients {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Add(AddClient),
    List(ListClients),
    Revoke(RevokeClient),
}

/// Register a client and print its token, once
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard client add laptop
  toolyard client add ci --server github --effect read --rate 60 --expires 30d

With --json: {\"client\", \"token\"}")]
struct AddClient {
    /// Its name, as logs show it
    name: String,
    /// Only this profile, at /mcp/NAME; may be given several times
    #[arg(long = "profile", value_name = "NAME")]
    profiles: Vec<String>,
    /// Only this server; may be given several times
    #[arg(long = "server", value_name = "NAME")]
    servers: Vec<String>,
    /// The most that its calls may do
    #[arg(long, value_name = "EFFECT", default_value = "destroy")]
    effect: Most,
    /// Calls per minute
    #[arg(long, value_name = "N")]
    rate: Option<NonZero<u32>>,
    /// Calls at the same time
    #[arg(long, value_name = "N")]
    concurrency: Option<NonZero<u16>>,
    /// End the token after this time: 12h or 30d
    #[arg(long, value_name = "TIME", value_parser = span)]
    expires: Option<Duration>,
    /// Let it administer the hub: the dashboard and the metrics, and through them every tool
    #[arg(long, conflicts_with_all = ["profiles", "servers", "effect"])]
    admin: bool,
}

/// The most that calls may do.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Most {
    /// Change nothing
    Read,
    /// Add and change
    Write,
    /// Everything, also what removes something or cannot be undone
    Destroy,
}

/// List the clients, without their tokens
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard client list
  toolyard client list --json | jq -r '.clients[].name'

With --json: {\"clients\": [{\"name\", \"created\", \"expires\", \"scope\", \"rate\", \"concurrency\"}]}")]
struct ListClients;

/// Take a client's token back
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard client revoke ci

With --json: {\"revoked\", \"left\"}")]
struct RevokeClient {
    /// The client
    name: String,
}

pub(crate) fn run(common: &Common, asked: &ManageClients) -> Result<(), Failure> {
    let config = Source::find(common)?.load()?;
    let clients = ClientRegistry::new(&config.store.folder);
    match &asked.what {
        What::Add(asked) => add(common, &config, &clients, asked),
        What::List(ListClients) => list(common, &clients),
        What::Revoke(RevokeClient { name }) => revoke(common, &clients, name),
    }
}

fn add(common: &Common, config: &Config, clients: &ClientRegistry, asked: &AddClient) -> Result<(), Failure> {
    for profile in &asked.profiles {
        setup::known_profile(config, profile)?;
    }
    let is_known = |name: &str| {
        config.servers.contains_key(name) || config.off.contains_key(name) || name == workflows::SERVER
    };
    if let Some(unknown) = asked.servers.iter().find(|name| !is_known(name)) {
        let known: Vec<&str> = config.servers.keys().map(String::as_str).collect();
        return Err(Failure::usage(format!("there is no server `{unknown}`"))
            .hint(format!("the servers are {}", known.join(", "))));
    }
    let effect = match asked.effect {
        Most::Read => Effect::Read,
        Most::Write => Effect::Write,
        Most::Destroy => Effect::Destroy,
    };
    let (profiles, servers) = (asked.profiles.clone(), asked.servers.clone());
    let expires = asked.expires.map(|after| Timestamp::now().checked_add(after)).transpose();
    let expires = expires.map_err(|_| Failure::usage("`--expires` is too far away"))?;
    let token = clients
        .add(Registration {
            expires,
            permissions: Permissions { profiles, servers, effect, admin: asked.admin },
            rate: asked.rate.map(NonZero::get),
            concurrency: asked.concurrency.map(|it| usize::from(it.get())),
            ..Registration::new(&asked.name)
        })
        .map_err(failed)?;
    if common.json {
        return Ok(output::json(&json!({ "client": asked.name, "token": token }))?);
    }
    output::text(&token)?;
    let place = asked.profiles.first().map(|name| format!("/{name}")).unwrap_or_default();
    anstream::eprintln!(
        "This token is shown once; only its hash is kept. {} sends it with every request to {}://{}/mcp{place}:",
        asked.name,
        serve::scheme(config),
        config.serve.http
    );
    anstream::eprintln!("  Authorization: Bearer {token}");
    Ok(())
}

fn list(common: &Common, clients: &ClientRegistry) -> Result<(), Failure> {
    let known = clients.read().map_err(failed)?.unwrap_or_default();
    if common.json {
        let shown: Vec<Value> = known.iter().map(shown).collect();
        return Ok(output::json(&json!({ "clients": shown }))?);
    }
    if known.is_empty() {
        anstream::eprintln!("No client is registered: `toolyard client add NAME` makes a token for one.");
        return Ok(());
    }
    let header = &["client", "may use", "may", "a minute", "at once", "until"];
    let rows = known.iter().map(|it| row(it, Timestamp::now())).collect();
    Ok(output::text(&output::grid(Layout { header, ..Layout::default() }, rows))?)
}

/// Shows a client without anything that its token leaves behind.
fn shown(client: &Registration) -> Value {
    json!({
        "name": client.name,
        "created": client.created,
        "expires": client.expires,
        "scope": client.permissions,
        "rate": client.rate,
        "concurrency": client.concurrency,
    })
}

fn row(client: &Registration, now: Timestamp) -> Vec<Cell> {
    let Permissions { profiles, servers, effect, admin } = &client.permissions;
    let named =
        |what: &str, names: &[String]| (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")));
    let scope: Vec<String> = named("profile", profiles).into_iter().chain(named("server", servers)).collect();
    let may = match (admin, effect) {
        (true, _) => "administer",
        (false, Effect::Read) => "read",
        (false, Effect::Write) => "write",
        (false, Effect::Destroy) => "destroy",
    };
    let until = match client.expires {
        Some(end) if end <= now => "expired".to_owned(),
        Some(end) => end.round(jiff::Unit::Second).unwrap_or(end).to_string(),
        None => "revoked".to_owned(),
    };
    vec![
        Cell::new(&client.name),
        Cell::new(if scope.is_empty() { "everything".to_owned() } else { scope.join("; ") }),
        Cell::new(may),
        Cell::new(client.rate.map(|it| it.to_string()).unwrap_or_default()),
        Cell::new(client.concurrency.map(|it| it.to_string()).unwrap_or_default()),
        Cell::new(until),
    ]
}

fn revoke(common: &Common, clients: &ClientRegistry, name: &str) -> Result<(), Failure> {
    let left = clients.revoke(name).map_err(failed)?;
    if common.json {
        return Ok(output::json(&json!({ "revoked": name, "left": left }))?);
    }
    output::text(&format!("{name} is revoked: its token lets nobody in, and what it has open ends."))?;
    if left == 0 {
        anstream::eprintln!(
            "No client is left. A token is still needed over HTTP; remove `{}` to let every program of this machine in.",
            clients.path().display()
        );
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "it stands where errors are mapped")]
fn failed(err: Error) -> Failure {
    let said = err.to_string();
    match err {
        Error::Missing(_) => Failure::usage(said).hint("`toolyard client list` shows them all"),
        Error::Name { .. } | Error::Taken(_) => Failure::usage(said),
        Error::Damaged { .. } | Error::Disk { .. } => Failure::new(said),
    }
}
